"""Readings of checks that no symptom lists: what they quote, whose errors they leave alone, what bad input does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import explainer
from explainer import grammar
from explainer.catalogue.words import in_language, words
from explainer.crash import Crash, Frame, Raised
from explainer.diagnosis import Diagnosis
from explainer.grammar import ngrams
from explainer.locale import LANGUAGES


def read(message, kind="RuntimeError", frames=(), language="en"):
    found = grammar.read(Crash(kind, message, frames))
    if found is None:
        return None
    say = lambda field: words(in_language(found.symptom.text[field], language), {"m": found.captures})  # noqa: E731
    return Diagnosis(
        found.symptom.id, found.symptom.family, say("headline"), say("why"), "possible", found.symptom.specific
    )


@pytest.mark.parametrize(
    ("message", "family", "headline"),
    [
        ("frobnicate(): input must be 2-D, but got 3-D tensor", "shape",
         "in `frobnicate`: `input` needs 2 dimensions, but got 3 dimensions"),
        ("torch.warp: expected all tensors to be on the same device. Got cpu and meta", "device",
         "in `torch.warp`: `all tensors` needs the same device, but got `cpu and meta`"),
        ("Expected parameter frob (Tensor of shape (2,)) to satisfy the constraint Real()", "api",
         "`parameter frob (Tensor of shape (2,))` must `satisfy the constraint Real()`"),
        ("frob_dim must be divisible by num_frobs, got 30 and 4", "shape",
         "`frob_dim` needs a multiple of `num_frobs`, but got `30 and 4`"),
        ("Shape (2, 5) of the tensor is not the expected shape [8, 16]", "shape",
         "needed: the size `[8, 16]`, but got `Shape (2, 5) of the tensor`"),
        ("Can't trace 7 because this tensor is not on the tape", "compile",
         "could not be done: `trace 7 because this tensor is not on the tape`"),
        ("clone() should only be called on `tensor.holder`", "api",
         "`clone` must `only be called on 'tensor.holder'`"),
        ("element 3 of the tensors does not require grad and has no grad_fn", "autograd",
         "`element 3 of the tensors`: `does not require grad and has no grad_fn`"),
        ("distances of tensors with different event shapes cannot be computed", "shape",
         "`distances of tensors with different event shapes` cannot be `computed`"),
        ("Invalid dtype: expected torch.float32 but got torch.int64", "dtype",
         "`dtype` needs the dtype `torch.float32`, but got the dtype `torch.int64`"),
        ("DTensor requires each process to have at least the states needed by the optimizer", "distributed",
         "`DTensor` needs `each process to have at least the states needed by the optimizer`"),
        ("expected frob tensor to have 3 elements; but it actually has 5 elements (while checking arguments for frob)",
         "shape", "`frob tensor` needs 3 element(s), but got 5 element(s)"),
        ("node target has dtype torch.half but a torch.float is expected", "dtype",
         "`node target` needs the dtype `torch.float`, but got the dtype `torch.half`"),
        ("frob.stride(0) must be divisible by 4 (different tensor sizes), but got 5", "shape",
         "`frob.stride(0)` must `be divisible by 4 (different tensor sizes)`, but got `5`"),
        ("cannot call frobnicate() on an undefined tensor", "api",
         "could not be done: `call frobnicate() on an undefined tensor`"),
        ("frob(): given weight of size (2, 5), expected bias to be 1-dimensional, but got bias of size [4, 3]", "shape",
         "in `frob`: `bias` needs 1 dimension, but got `bias of size [4, 3]`"),
        ("expected scale dtype to be Float but found Half", "dtype",
         "`scale dtype` needs the dtype `Float`, but got the dtype `Half`"),
        ("frob is not implemented for sparse tensors", "unsupported", "not supported: `frob`, `for sparse tensors`"),
        ("_frob_cuda: ATen not compiled with FROBLAS support", "environment",
         "in `_frob_cuda`: `ATen`: this build of PyTorch lacks `FROBLAS support`"),
        ("frob stride must be non-negative, but got -2", "api",
         "`frob stride` needs a number not below 0, but got `-2`"),
        ("Cannot frob a tensor twice", "api", "could not be done: `frob a tensor twice`"),
        ("frob_dim cannot be negative, got -3", "api", "`frob_dim` cannot be `negative`, but got `-3`"),
        ("frob(): Frobbing a weight may not change its dtype", "dtype",
         "in `frob`: `Frobbing a weight` must `not change its dtype`"),
        ("frob received unknown mode 'x' but expected one of 'a', 'b' for tensors", "api",
         "`frob` needs `one of 'a', 'b' for tensors`, but got `unknown mode 'x'`"),
        ("frob is implemented for strided tensors only", "unsupported", "`frob` supports only the strided layout"),
        ("svd_frob: FROBPACK library not found in compilation", "environment",
         "in `svd_frob`: this build of PyTorch lacks `FROBPACK`"),
        ("The rank of frob_mask is 3, but should be 2.", "shape",
         "`The rank of frob_mask` must `be 2`, but got `3`"),
        ("It is expected frob_dilation equals to 2, but got size [4, 5]", "shape",
         "needed: `frob_dilation equals to 2`, but got the size `[4, 5]`"),
        ("frob tensor dimension must be greater than 0 (got 2)", "api",
         "`frob tensor dimension` needs a number above 0, but got `2`"),
        ("Untraceable frob_compare | Explanation: 7 defines a C method that Dynamo cannot trace into.", "compile",
         "the check says: `Untraceable frob_compare`"),
        ("tensor lane mismatch in Frob3", "api", "mismatch: `tensor lane in Frob3`"),
        ("Function 'FrobBackward0' returned nan values in its 0th output.", "nan",
         "`Function 'FrobBackward0'`: `returned nan values in its 0th output`"),
        ("tensor frobber nyi", "unsupported", "not supported: `tensor frobber nyi`"),
        ("frob kernels can only be applied to tensors", "api", "`frob kernels` can only `be applied to tensors`"),
        ("Frobbing tensors is possible only on weekdays", "api",
         "`Frobbing tensors` works only `on weekdays`"),
        ("frob returns an incorrect number of tensors: 2 instead of 5", "api",
         "`number of tensors` is not valid: `2 instead of 5`"),
        ("The below tensor could not be frobbed", "api", "`The below tensor`: not possible: `be frobbed`"),
        ("Cannot frob a tensor that requires grad", "autograd",
         "could not be done: `frob a tensor that requires grad`"),
        ("scalar frobs expected, mat1 got 3D tensors", "shape", "`scalar frobs expected, mat1`: `got 3D tensors`"),
        ("the frobs of a tensor are more than the compiled number expected (12)", "api",
         "out of range: `frobs of a tensor`, `more than the compiled number expected (12)`"),
        ("frob expects tensors that differ by one", "api", "`frob` needs `tensors that differ by one`"),
        ("frob of tensors failed because frob_ptr is null", "api",
         "`frob of tensors`: `failed because frob_ptr is null`"),
        ("failed to frob a tensor: 3: its frob must be finite", "api", "`frob` must `be finite`"),
        ("frob() has not been implemented for tensors", "unsupported", "not supported: `frob`, `for tensors`"),
        ("frobber is required to build tensors", "api", "`build tensors` needs `frobber`"),
        ("frob_tensors requires the frobber package", "environment", "`frob_tensors` needs `frobber package`"),
        ("All tensors must have one frob_dim: 2, but tensor at position 1 has 3", "shape",
         "`All tensors` must `have one frob_dim: 2`, but `tensor at position 1 has 3`"),
    ],
)  # fmt: skip
def test_a_check_is_taken_apart(message, family, headline):
    diagnosis = read(message)
    assert (diagnosis.family, diagnosis.headline) == (family, headline)


def test_the_name_of_a_site_is_no_name_of_torchs():
    told = read("frob(): expected 2 tensors, see https://pytorch.org/docs")
    assert "`torch.org`" not in f"{told.headline} {told.cause}"


def test_the_reader_is_spoken_to_in_his_language():
    message = "frobnicate(): input must be 2-D, but got 3-D tensor"
    told = [read(message, language=code).headline for code in LANGUAGES]
    assert all(name in text for text in told for name in ("frobnicate", "input", "2", "3"))
    assert "차원" in told[1]
    assert "维" in told[2]
    assert len(set(told)) == 3


def test_values_that_a_long_quotation_hides_are_listed():
    why = read("frob: weight must hold the very same long list of sizes as [2, 3] in torch.float64").cause
    assert "`[2, 3]`" in why
    assert "`torch.float64`" in why


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "operands could not be broadcast together with shapes (2,3) (4,)"),
        ("ValueError", "Expected 2D array, got 1D array instead: array=[1 2]."),
        ("ValueError", "Input 0 of layer \"dense\" is incompatible with the layer: expected axis -1"),
        ("ValueError", "Shape must be at least rank 3 but is rank 2 for '{{node BiasAdd}}'"),
        ("TypeError", "add got incompatible shapes for broadcasting: (3,), (4,) in jnp.add"),
        ("TypeError", "'NoneType' object is not callable"),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'"),
        ("ValueError", "invalid literal for int() with base 10: 'a'"), ("ValueError", "not enough values to unpack"),
        ("IndexError", "list index out of range"), ("KeyError", "'weight'"), ("RuntimeError", "Event loop is closed"),
        ("RuntimeError", "dictionary changed size during iteration"),
        ("FileNotFoundError", "[Errno 2] No such file: 'a.pt'"),
        ("ValueError", "n_splits=5 cannot be greater than the number of members in each class."),
        ("sklearn.exceptions.NotFittedError", "This instance is not fitted yet."),
        ("ValueError", "could not convert string to float: 'a'"), ("AssertionError", "expected 3 rows"),
        ("ValueError", "target_width must be >= 0. Received: target_width=-2"),
        ("TypeError", "PRNG key seed must be a scalar; got (2,)."), ("RuntimeError", "Model is not loaded"),
        ("FrobError", "weight must be 2-D, got 3-D"),
    ],
)  # fmt: skip
def test_others_errors_stay_without_a_reading(kind, message):
    assert read(message, kind) is None


@pytest.mark.parametrize(
    ("file", "code", "ours"),
    [
        ("/venv/lib/python3.11/site-packages/torch/nn/frob.py", "raise ValueError(text)", True),
        ("/venv/lib/python3.11/site-packages/frob/core.py", "raise ValueError(text)", False),
        ("train.py", "y = frob(x)", True),
        ("train.py", 'raise ValueError("weight must be 2-D")', False),
        ("/usr/lib/python3.11/random.py", "raise ValueError(text)", False),
    ],
)
def test_where_it_was_raised_decides_whose_it_is(file, code, ours):
    frame = Frame(file, 3, "f", code, user=file == "train.py")
    assert (read("weight must be 2-D, got 3-D", "ValueError", (frame,)) is not None) is ours
    assert (read("Frobs all the way down", "ValueError", (frame,)) is not None) is (ours and "/torch/" in file)
    assert read("'weight'", "KeyError", (frame,)) is None


@pytest.mark.parametrize(
    "message",
    ["", "{} must be {}, got {}", "%s must be %d", "expected input to have 3 dimen", "input must be 2-D, but got",
     "텐서의 차원이 맞지 않습니다", "input must be " + "9" * 1_000_000, "[" * 5000, "expected " * 400, "is not " * 800,
     "\x00must\x1b[31m be\n\n`tensor`", "{{ m.x }} must be {% if %} tensor"],
)  # fmt: skip
def test_bad_input_is_read_as_far_as_it_goes(message):
    for language in LANGUAGES:
        diagnosis = read(message, language=language)
        said = diagnosis.headline if diagnosis else ""
        assert len(said) < 600
        assert not any(sign in said for sign in ("`{}`", "%s", "%d", "``"))


def test_a_message_keeps_its_last_quote_and_a_part_of_a_number_is_of_its_digits():
    """Protects `x` at the end of a message, and words that cut a value short where it is a number."""
    (report,) = explainer.explain("ValueError: the tensor must match `grad_fn`").reports
    assert report.message.endswith("`grad_fn`")
    assert words("{{ m.x[:3] }}{% set y = m.x[1:] %}{{ y }}", {"m": {"x": 12345}}) == "1232345"
    assert words("{{ m.x[:3] }}", {"m": {"x": 12345}}) == "123"


def test_sentences_of_torchs_own_files_are_torchs():
    """Protects the filter of runs of words: it knows what torch's files say, also in part, and hardly anything else."""
    own = ["Unknown qengine", "SymIntArrayRef expected to contain only concrete integers",
           "Number of microbatches (3) must be greater than or equal to the number of stages (4)."]  # fmt: skip
    assert all(min(2, runs) <= held for held, runs in map(ngrams.known, own))
    anybodys = "the brewery must never be closed while somebody of the guests is still waiting for a glass of beer"
    assert ngrams.known(anybodys)[0] < 2
    assert ngrams.runs("{} must be even") == ["must be even $"]
    assert read(own[0]) is not None
    assert read("Unknown frobengine") is None


def test_a_symptom_of_many_messages_says_what_this_one_asks():
    """Protects the headline where a symptom's own is the same for all of its wordings: what is known stays below."""
    found = explainer.explain("RuntimeError: Tensor list must have at least one tensor.").reports[0].diagnoses[0]
    assert (found.rule, found.headline) == (
        "cat-empty-list", "`Tensor list` must `have at least one tensor`"
    )  # fmt: skip
    assert "got an empty list of tensors" in found.cause


def test_words_are_weighed_from_what_sources_raise():
    """Protects the script that makes the weights: what it takes for a message, and that words of each side tell."""
    spec = importlib.util.spec_from_file_location("ownership", Path(__file__).parents[2] / "scripts" / "ownership.py")
    ownership = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ownership)
    python = 'if x:\n    raise frob.Error(f"{x} must be " + "2-D")\nraise Frob("no %s" % x)\nraise'
    assert set(ownership.raised(python)) == {("Error", "{} must be 2-D"), ("Frob", "no %s")}
    checks = 'TORCH_CHECK_VALUE(x > 0, "x must be positive, got ", x, "!");'
    assert list(ownership.checked(checks)) == [("ValueError", "x must be positive, got {}!")]
    pytest.importorskip("torch")
    ours, others = frozenset({"tensor", "must"}), frozenset({"table", "must"})
    weights, _ = ownership.fitted([ours] * 9 + [others] * 9, [1.0] * 9 + [0.0] * 9)
    assert weights["tensor"] > 0 > weights["table"]


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        ("Unknown mode=fast, should be one of: full, lite", "`mode` must `be one of: full, lite`, but got `fast`"),
        ("Unsupported reduction op: foo", "not supported: `reduction op`, `foo`"),
        ("You must pass either a tensor or a module", "needed: to `pass either a tensor or a module`"),
        (
            "Only 3D and 4D tensors supported (got 2D) for mode nearest",
            "`mode nearest` supports only 3, 4 dimensions, but got 2 dimensions",
        ),
    ],
)  # fmt: skip
def test_what_was_refused_and_its_value_stand_apart(message, headline):
    found = grammar.read(Raised("RuntimeError", message, ()))
    assert found is not None
    assert found.captures["headline_en"] == headline


def test_a_lookup_that_failed_on_the_way_to_a_message_is_not_the_root():
    line = '  File "/x/site-packages/torch/_inductor/__init__.py", line 3, in f\n    raise error\n'
    head = "Traceback (most recent call last):\n"
    between = "\nDuring handling of the above exception, another exception occurred:\n\n"
    message = "RuntimeError: Unrecognized mode=fastest, should be one of: default, lite\n"
    pasted = f"{head}{line}KeyError: 'fastest'\n{between}{head}{line}{message}"
    assert explainer.explain(pasted).to_dict()["reports"][0]["error"]["type"] == "RuntimeError"


def test_a_package_that_torchs_files_lead_to_is_built_on_it():
    """Its own checks are of tensors and devices; without torch's files it may be anybody's."""
    message = "warp_points_impl: at param 3, inconsistent device: cuda:0 vs cuda:1"
    own = Frame("/me/train.py", 3, "step", "net(x)", user=True)
    torchs = Frame("/v/site-packages/torch/nn/modules/module.py", 1130, "_call_impl", "return forward(x)")
    other = Frame("/v/site-packages/frobkit/ops.py", 8, "warp", "extension.warp(points)")
    assert read(message, frames=(own, torchs, other)).family == "device"
    assert read(message, frames=(own, other)) is None
    assert read("the answer of the server is no list", frames=(own, torchs, other)) is None


def test_where_it_was_raised_goes_before_words_of_other_packages():
    """Torch's own files ask for sympy and pandas too; what Python itself says is no check wherever it comes from."""
    torchs = (Frame("/v/site-packages/torch/fx/frobs.py", 7, "frob", "raise ValueError(said)"),)
    assert read("frobs need pandas, but got sympy symbols", "ValueError", torchs) is not None
    assert read("frobs need pandas, but got sympy symbols", "ValueError") is None
    assert read("'Frob' object is not callable", "TypeError", torchs) is None


def test_a_type_of_torchs_may_be_the_programs_own_where_it_raises_it():
    own = Frame("/me/store.py", 3, "read", "raise CheckpointError(why)", user=True)
    called = Frame("/me/store.py", 3, "read", "loss.backward()", user=True)
    message = "the frobs were expected to be 3, but got 4"
    assert read(message, "CheckpointError", (called,)) is not None
    assert read(message, "CheckpointError", (own,)) is None
    assert read(message, "frobkit.CheckpointError", (called,)) is None


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        ("empty frob list", "the check says: `empty frob list`"), ("Unhandled FrobOp", "not supported: `FrobOp`"),
        ("frobs haven't been flattened", "`frobs`: `haven't been flattened`"),
        ("frob_mps :Only up to 16-dim tensors supported", "`frob_mps` supports only `up to 16-dim tensors`"),
        ("Didn't support frobs of tensors", "not supported: `frobs of tensors`"),
        ("only valid string values are 'fro' and 'nuc', found max",
         "`string values` supports only `'fro' and 'nuc'`, but got `max`"),
        ("frob_map has to be one of 'matrix', 'cayley', but got qr",
         "`frob_map` must `be one of 'matrix', 'cayley'`, but got `qr`"),
        ("Currently frob tensor does not support view. Change to use reshape instead",
         "not supported: `frob tensor`, `view`"),
    ],
)  # fmt: skip
def test_refusals_of_few_words(message, headline):
    found = grammar.read(Crash("RuntimeError", message, (Frame("/v/torch/frobs.py", 7, "frob", "raise E(said)"),)))
    assert found is not None
    assert found.captures["headline_en"] == headline


def test_a_text_without_a_type_is_told_where_torchs_files_have_most_of_it():
    told = (
        "ProcessGroupNCCL's watchdog got stuck for 90 seconds without making progress in monitoring enqueued "
        "collectives."
    )
    assert read(told, kind="").family == "distributed"
    assert read("The pool of workers got stuck for 90 seconds without an answer from the printer.", kind="") is None


@pytest.mark.parametrize("kind", ["MetadataMismatchError", "torch.linalg.LinAlgError", "_LinAlgError"])
def test_types_that_only_torch_has_are_torchs(kind):
    message = "the frobs were expected to be 3, but got 4"
    assert read(message, kind) is not None
    assert read(message, "FrobkitError") is None


def test_values_are_said_where_they_stand_whole():
    unsaid = lambda told: grammar.unsaid("size 4 at -1 of torch.int8 on cpu", told, "en")  # noqa: E731
    assert unsaid("It is 40, 1 or 4.5, of torch.int and cpus") == unsaid("")
    assert unsaid("It is (4), -1, torch.int8 and cpu.") == ""


@pytest.mark.parametrize("message", ["Replacement index 2 out of range for positional args tuple",
                                     "Python int too large to convert to C long"])  # fmt: skip
def test_what_python_says_of_texts_and_numbers_is_nobodys_check(message):
    assert read(message, "IndexError") is None
