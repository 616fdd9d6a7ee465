"""The catalogue: broken files are named and left out, packs add to it, the compiled form agrees, matching chooses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from explainer.catalogue import compiled, load, sources
from explainer.catalogue.literals import literals
from explainer.catalogue.load import catalogue_of
from explainer.catalogue.match import kinds
from explainer.catalogue.packing import pack
from explainer.catalogue.rule import TOLD
from explainer.crash import Crash, Frame, Raised
from explainer.probes import Options, Scene
from explainer.weighing import held_rules

SYMPTOM = """\
id: {id}
family: shape
exception: [{exception}]
messages:
  - seen: ["?", "2.13"]
    pattern: '{pattern}'
    says: "{says}"
text:
  headline: {{en: "{says}"}}
  why: {{en: "because"}}
{more}"""


def write(folder: Path, id: str, pattern: str, says: str = "x", exception: str = "RuntimeError", more: str = ""):
    path = folder / "symptoms" / f"{id}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SYMPTOM.format(id=id, pattern=pattern, says=says, exception=exception, more=more), encoding="utf-8")
    return path


def of(folder: Path):
    return catalogue_of([pack(folder, strict=True)])


def test_the_builtin_catalogue_has_no_broken_file():
    assert load().problems == ()
    assert len(load().symptoms) > 50


def test_a_checkout_reads_its_own_rules_not_a_copy_in_the_package():
    assert sources.builtin() == Path(__file__).parents[2] / "rules"


# -- files that are wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id: [", "is no YAML"),
        ("- 1", "needs a mapping, not a list"),
        ("id: a\nfamily: shapes", "symptoms/a.yaml:2: family: 'shapes' is not one of shape, device"),
        ("id: a\nfamilly: shape", "a.yaml:2: familly: is no key here; 'family' may be meant; allowed: id, family"),
        ("id: b\nfamily: shape", 'needs the key "messages"'),
        ("id: a\nid: a", "symptoms/a.yaml:2: id: stands here twice"),
        ("id: &x a\nfamily: *x", "aliases (`*name`) are not allowed"),
        ("id: !!python/object:os.system a", "is not allowed"),
        ("\ufffe", "is no YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_with_its_place_and_what_is_allowed(tmp_path, text, said):
    path = tmp_path / "symptoms" / "a.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    problems = [str(problem) for problem in of(tmp_path).problems]
    assert any(said in problem for problem in problems), problems
    assert all("\n" not in problem for problem in problems)


@pytest.mark.parametrize("pattern", ["size (", "[a", "a{2", "(?P<a>x)(?P<a>y", "(?P<9>x)"])
def test_a_bad_pattern_of_a_pack_is_named_by_file_line_and_key(tmp_path, pattern):
    write(tmp_path, "bad-pattern", pattern)
    problems = of(tmp_path).problems
    if pattern == "a{2":  # a brace that counts nothing is text
        assert problems == ()
    else:
        assert [(problem.line, problem.key) for problem in problems] == [(6, "messages[0].pattern")]


def test_a_number_where_a_text_belongs_says_to_quote_it(tmp_path):
    path = write(tmp_path, "seen-number", "a b c d")
    path.write_text(path.read_text().replace('["?", "2.13"]', "[1.7, 2.13]"))
    assert "needs a text, not 1.7 (put it in quotes)" in str(of(tmp_path).problems[0])


def test_an_id_that_is_not_the_file_name_or_is_used_twice_is_refused(tmp_path):
    write(tmp_path, "one", "a b c").rename(tmp_path / "symptoms" / "two.yaml")
    assert "is 'one', but the file is called two.yaml" in str(of(tmp_path).problems[0])
    with_twin = tmp_path / "twin"
    write(with_twin, "matmul-shapes", "quite another text of mine")
    assert "is used by another pack" in str(load((with_twin,)).problems[-1])


def test_a_file_that_is_no_text_or_too_large_is_named(tmp_path):
    folder = tmp_path / "symptoms"
    folder.mkdir()
    (folder / "bytes.yaml").write_bytes(b"\xff\xfe\x00id: a\x80")
    (folder / "huge.yaml").write_text("#" * 500_000)
    said = [str(problem) for problem in of(tmp_path).problems]
    assert any("is not UTF-8" in text for text in said)
    assert any("a rule file has at most" in text for text in said)


def test_a_broken_file_of_a_pack_leaves_the_rest_of_it_and_the_builtin_rules_in_use(tmp_path):
    write(tmp_path, "good-one", "the flux is (?P<n>\\d+) and wrong", "the flux is 3 and wrong")
    (tmp_path / "symptoms" / "bad.yaml").write_text("id: [")
    catalogue = load((tmp_path,))
    assert len(catalogue.problems) == 1
    assert catalogue.match(Raised("RuntimeError", "the flux is 7 and wrong")).captures == {"n": 7}
    assert "matmul-shapes" in catalogue.symptoms


def test_a_folder_that_is_not_there_is_a_problem_not_an_error(tmp_path):
    assert "there is no such folder" in str(load((tmp_path / "absent",)).problems[0])


def test_a_builtin_catalogue_that_cannot_be_read_is_a_problem_not_an_error(monkeypatch):
    monkeypatch.setattr(compiled, "cached", lambda folder: 1 / 0)
    module = sys.modules["explainer.catalogue.load"]
    monkeypatch.setattr(module, "_load", module._load.__wrapped__)
    catalogue = load()
    assert "the catalogue cannot be read" in str(catalogue.problems[0])
    assert catalogue.match(Raised("RuntimeError", "mat1 and mat2")) is None


# -- the compiled form ----------------------------------------------------------------------------------------------


def test_the_compiled_catalogue_answers_like_the_files_it_was_made_of():
    made = pack(sources.builtin())
    again = catalogue_of([compiled.parse(compiled.dump(made))])
    assert list(again.symptoms) == list(made.symptoms)
    assert [list(one) for one in again.index.packs[0].entries] == json.loads(json.dumps(list(made.table.entries)))
    assert again.symptoms["matmul-shapes"] == load().symptoms["matmul-shapes"]
    error = Raised("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)")
    assert again.match(error) == load().match(error)


def test_a_compiled_file_that_was_cut_off_is_made_anew():
    data = compiled.dump(pack(sources.builtin()))
    assert compiled.parse(data[:-1]) is None


@pytest.mark.parametrize("data", [b"", b"{}", b"[1", b'{"format": 99}\n', b'{"format": 4, "key": "k"}', b"\x80\x04x"])
def test_a_compiled_file_that_is_broken_or_of_another_format_is_made_anew(data):
    assert compiled.parse(data) is None


def test_a_changed_rule_file_is_seen_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = write(tmp_path / "rules", "one", "the first wording")
    assert len(compiled.cached(tmp_path / "rules").symptoms) == 1
    path.write_text(path.read_text().replace("the first wording", "the second wording"))
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert next(compiled.cached(tmp_path / "rules").table.entries).pattern == "the second wording"


def test_a_cache_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write(tmp_path / "rules", "one", "the first wording")
    assert len(compiled.cached(tmp_path / "rules").symptoms) == 1


def test_loading_and_matching_import_neither_yaml_nor_jinja2_nor_torch():
    program = (
        "import sys; from explainer.catalogue import load; from explainer.crash import Raised\n"
        "assert load().match(Raised('RuntimeError', 'mat1 and mat2 shapes cannot be multiplied (4x5 and 6x7)'))\n"
        "print([name for name in ('torch', 'yaml', 'jinja2', 'rich') if name in sys.modules])"
    )
    load()
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_installed_packs_are_found_without_importing_them(tmp_path, monkeypatch):
    write(tmp_path / "my_pack" / "rules", "of-a-pack", "the warp core holds (?P<n>\\d+) crystals")
    (tmp_path / "my_pack" / "__init__.py").write_text("raise SystemExit('imported')")
    points = tmp_path / "my_pack-1.0.dist-info" / "entry_points.txt"
    points.parent.mkdir()
    points.write_text("[console_scripts]\nmine = my_pack:main\n\n[explainer.rules]\nmine = my_pack.rules\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [folder for _, folder in sources.installed()] == [tmp_path / "my_pack" / "rules"]
    assert "my_pack" not in sys.modules


# -- matching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        (r"sizes \((?P<a>\d+)x(?P<b>\d+)\)", [("sizes (", "x", ")")]),
        (r"(?P<which>batch1|input) must be 3D", [("batch1 must be 3d",), ("input must be 3d",)]),
        (r"a(?:bc)?d", [("a", "d")]),
        (r"ab+c{2}d{0,3}e", [("ab", "c", "e")]),
        (r"x(?=look)y[.]z[^a]w", [("x", "y.z", "w")]),
        (r"(?i)Hello \d World", [("hello ", " world")]),
        (r"plain(?: text| \w+) end|other", [("plain text end",), ("plain ", " end"), ("other",)]),
        ("(?:a|b|c|d|e)(?:f|g|h|i|j) end", [(one, " end") for one in "abcde"]),
    ],
)
def test_the_literal_text_of_a_pattern_is_what_a_match_of_each_form_contains(pattern, runs):
    assert [form.runs for form in literals(pattern)] == runs


@pytest.mark.parametrize(
    ("pattern", "words"),
    [(r"\bfrobs?\b.*\bnan\b", ("nan",)), (r"^frob is \w+", ("frob", "is")), ("frob is", ()), (r"x\Bfrob$", ())],
)
def test_words_end_where_a_pattern_says_so(pattern, words):
    assert [form.words for form in literals(pattern)] == [words]


def test_without_frames_only_rules_of_the_message_are_weighed():
    """The others are not even read: none of them holds for a message alone."""
    catalogue = load()
    named = {
        probe for name in catalogue.told for probe in [one["probe"] for one in catalogue.rules[name].facts.values()]
    }
    assert named & set(TOLD)
    for symptom in catalogue.symptoms.values():
        kind, message = (symptom.exception or ("RuntimeError",))[0], symptom.messages[0].says
        scene = Scene(Crash(kind if kind != "any" else "RuntimeError", message), Options())
        left_out = [one for one in catalogue.rules_for(symptom.id) if one.id not in catalogue.told]
        assert held_rules(left_out, scene, {"m": dict.fromkeys(symptom.captures), "crash": {}}) == []


def test_the_exceptions_own_name_goes_before_a_longer_text(tmp_path):
    write(tmp_path, "own", "sizes differ", exception="ValueError")
    write(tmp_path, "any", "the sizes differ by very much", exception="any")
    said = "the sizes differ by very much"
    assert of(tmp_path).match(Raised("ValueError", said)).symptom.id == "own"
    assert of(tmp_path).match(Raised("KeyError", said)).symptom.id == "any"


def test_the_longer_literal_text_wins_among_equals(tmp_path):
    write(tmp_path, "short", "sizes (?P<a>.*) differ")
    write(tmp_path, "long", "sizes of the left operand .* differ")
    assert of(tmp_path).match(Raised("RuntimeError", "sizes of the left operand 3 differ")).symptom.id == "long"


@pytest.mark.parametrize(
    ("kind", "matches"),
    [("RuntimeError", True), ("torch.OutOfMemoryError", True), ("torch.AcceleratorError", True), ("", True),
     ("NotImplementedError", True), ("ValueError", False), ("MyError", False)],
)  # fmt: skip
def test_an_exception_matches_under_its_name_an_alias_or_a_base_class(tmp_path, kind, matches):
    write(tmp_path, "one", "the flux is wrong")
    assert (of(tmp_path).match(Raised(kind, "the flux is wrong")) is not None) is matches


def test_a_live_exception_goes_by_the_names_of_its_classes():
    class Odd(ArithmeticError):
        pass

    assert kinds(Raised("Odd", "x", error=Odd("x"))) == ("Odd", "ArithmeticError")


def test_white_space_case_of_the_index_and_line_breaks_do_not_matter(tmp_path):
    write(tmp_path, "one", "The Flux is (?P<n>-?\\d+) and (?P<rest>.*)")
    captured = of(tmp_path).match(Raised("RuntimeError", "  The  Flux\nis -3 and\t007")).captures
    assert captured == {"n": -3, "rest": "007"}


def test_captures_of_other_wordings_are_none(tmp_path):
    second = "  - {seen: ['?', '?'], pattern: 'flux (?P<m>\\d+) high', says: flux 1 high}\ntext:"
    path = write(tmp_path, "one", "flux (?P<n>\\d+) low")
    path.write_text(path.read_text().replace("text:", second, 1))
    assert of(tmp_path).match(Raised("RuntimeError", "flux 4 low")).captures == {"n": 4, "m": None}


def test_raised_in_looks_at_the_innermost_frame_and_runner_at_what_carried_the_error(tmp_path):
    write(tmp_path, "in-torch", "only torch says it", more="raised_in: [torch/]\n")
    write(tmp_path, "in-worker", "only a worker says it", more="runner: [dataloader-worker]\n")
    catalogue = of(tmp_path)
    here, there = (Frame("/home/me/a.py", 1),), (Frame("/lib/torch/nn.py", 2),)
    assert catalogue.match(Raised("RuntimeError", "only torch says it")) is None
    assert catalogue.match(Raised("RuntimeError", "only torch says it", (*there, *here))) is None
    assert catalogue.match(Raised("RuntimeError", "only torch says it", (*here, *there)))
    assert catalogue.match(Crash("RuntimeError", "only a worker says it")) is None
    assert catalogue.match(Crash("RuntimeError", "only a worker says it", runner="dataloader-worker"))


def test_a_kernels_assertion_in_the_notes_goes_before_the_message():
    note = (
        "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1255: indexSelectSmallIndex: block: [0,0,0], thread: [32,0,0] "
        "Assertion `srcIndex < srcSelectDimSize` failed."
    )
    error = Raised("AcceleratorError", "CUDA error: device-side assert triggered", notes=(note,))
    assert load().match(error).symptom.id == "device-assert-embedding-index"
    said = "mat1 and mat2 shapes cannot be multiplied (4x5 and 6x7)"
    other = Raised("RuntimeError", said, notes=("seen in epoch 3",))
    assert load().match(other).symptom.id == "matmul-shapes"


@pytest.mark.parametrize("piece", ["x", "1", "\0\x1b[31m", "size ", "(", "CUDA out of memory. Tried to allocate 1 "])
def test_a_message_of_any_length_gets_an_answer(piece):
    load().match(Raised("RuntimeError", piece * (1_000_000 // len(piece))))


def test_a_pattern_that_takes_too_long_is_no_match_and_no_hang(tmp_path):
    write(tmp_path, "slow", "flux (?:a|aa|a+)+b of the core")
    said = "flux " + "a" * 5000 + " b of the core"
    assert of(tmp_path).match(Raised("RuntimeError", said)) is None
