"""What a requirement is about, by its vocabulary, and the family of diagnoses that it belongs to."""

from __future__ import annotations

from typing import Any

from explainer.grammar.frames import Clause
from explainer.grammar.vocabulary import lowered, words_of
from explainer.patterns import Pattern

#: What is checked, in this order, with the words that tell it and signs that are no words.
_KINDS: tuple[tuple[str, frozenset[str], Any], ...] = (
    ("device", words_of("cpu gpu cuda mps xpu hpu device devices accelerator"), Pattern(r"(?<![\w.])meta(?![\w.])")),
    ("dtype", words_of(
        "dtype dtypes float floats floating float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 "
        "integral complex fp16 fp32 bf16 complexfloat complexdouble complexhalf boolean scalartype promotion"),
     Pattern(r"\bscalar[_ ]?type|\bdata ?types?\b|quantized types?|integer (?:type|tensor)|same type|real-valued|"
         r"\breal (?:input|tensor|dtype)|torch\.(?:int|bool|uint|half|double|long|short)|\b(?:Int|Bool|Half|Double|"
         r"Long|Short|Byte|Char)(?:Tensor|\b)|\b(?:half|double|long|byte|bool)(?: and| or|,)? (?:tensor|precision|"
         r"float|double|half)")),
    ("layout", words_of(
        "layout layouts sparse strided csr csc bsr bsc coo mkldnn nhwc channelslast nested jagged dense quantized"),
     Pattern(r"memory[ _]?format")),
    ("memory",
        words_of("contiguous aligned alignment overlap overlapping storage storages alias aliases strides"),
        None),
    ("size", words_of("square divisible broadcast broadcastable"), None),
    ("rank",
        words_of("ndim ndims ndimension dimensionality dimensional scalar scalars vector vectors matrix matrices rank"),
     Pattern(
        r"\b\d\s?-?[dD]\b|[<>]=? ?\d+ dim|number of dim|\b\d+-dim|\b(?:dims?|dimensions?)\b(?=.*\b(?:at least|exactly|"
        r"more|less|fewer|than)\b)|(?:^|be |least |most |have |has |with |exactly |, |or )(?:\d+|one|two|three|four|"
        r"five)(?: or \w+)? (?:\w+ )?dim|\.dim\(\)|too many dim|one-dim|(?:same|of) dimension")),
    ("gradient", words_of(
        "gradient gradients backward autograd leaf tangent tangents inplace differentiable differentiation jacobian "
        "hessian vjp jvp hook hooks"), 
     Pattern(r"\bgrads?\b|forward[- ]mode|forward AD|in-place|inference (?:mode|tensor)")),
    ("index", words_of("index indices indexing bounds"), Pattern(r"out of range|class labels?")),
    ("size", words_of(
        "size sizes shape shapes length lengths numel element elements channel channels features divisible divide "
        "batch batches broadcast broadcastable height width column columns row rows dim dims dimension dimensions "
        "square entries empty many"),
     Pattern(r"multiple of|number of")),
    ("range", words_of(
        "positive negative nonnegative greater less larger smaller between range zero upper lower minimum maximum inf "
        "nan finite exceed higher bigger greaterthan lessthan"),
     Pattern(
         r"[<>](?:=| ?-?\d)|\s[<>]\s|at (?:least|most)|the constraint [A-Z]|\b(?:in|range|interval|between|of):? "
         r"\[\s*-?\d+(?:\.\d+)?\s*,\s*-?\d|too (?:large|small|big|many|few)")),
    ("type", words_of(
        "tensor tensors list lists tuple tuples int ints integer integers str string strings callable none instance "
        "class subclass iterable module modules dict dictionary bool number numbers type types sequence object objects "
        "python function mapping generator"), None),
    ("choice", words_of("either mode modes option options unless"), Pattern(r"\bone of\b|'\w+' (?:or|and) '|=")),
)  # fmt: skip
#: Words of a whole message that settle the family, whatever is checked.
_FIELDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("compile", words_of(
        "dynamo jit torchscript inductor export fx onnx tracing trace traced script scripted scripting graphmodule "
        "faketensor symint symbolic cudagraph cudagraphs vmap")),
    ("distributed", words_of(
        "processgroup nccl gloo world_size rendezvous dtensor mesh device_mesh fsdp ddp distributeddataparallel "
        "tcpstore rpc all_reduce allreduce all_gather allgather reduce_scatter all_to_all sharded shardedtensor "
        "pipelining placement placements init_process_group symm_mem collective collectives")),
    ("checkpoint", words_of("state_dict unpickling unpickler weights_only archive deserialize deserialization")),
    ("dataloader", words_of(
        "dataloader batch_sampler distributedsampler worker workers dataset datasets collate datapipe prefetch")),
    ("amp", words_of("autocast gradscaler unscale")),
    ("oom", words_of("allocate")),
    ("nan", words_of("nan nans nonfinite singular converge definite")),
)  # fmt: skip
_FAMILY = {
    "device": "device", "dtype": "dtype", "layout": "unsupported", "memory": "view", "rank": "shape", "size": "shape",
    "gradient": "autograd", "index": "index", "range": "api", "type": "api", "choice": "api", "other": "api",
}  # fmt: skip
#: Types that only one part of torch raises.
BY_TYPE = {
    name: family
    for family, names in (
        ("compile", "Unsupported TorchRuntimeError BackendCompilerFailed InternalTorchDynamoError InductorError "
         "UserError ConstraintViolationError RecompileError SpecViolationError OnnxExporterError SymbolicValueError"),
        ("distributed", "DistError DistBackendError DistStoreError DistNetworkError DistQueueEmptyError"),
        ("oom", "OutOfMemoryError"),
        ("checkpoint", "UnpicklingError"),
    )
    for name in names.split()
}  # fmt: skip
#: Where a class of a device's lies, which is asked for by its type; how many of what has no sizes.
_NO_KIND = Pattern(
    r"torch\.(?:cuda|xpu|mps)\.(?=[A-Z](?!\w*Tensor))|number of (?:\w+ )?(?:tensor|input|output|arg|argument|value|"
    r"parameter|stream|return|module|buffer)s\b"
)
#: What may be chosen among is no vocabulary.
_CHOICES = Pattern(r"(?<=\bone of )['\"].*")
#: What asks for another package.
_PACKAGE = Pattern(
    r"\b(?:pip|conda|[Pp]lease) install\b|\b(?:not|n't|be) installed\b|\b[Nn]eeds? \S+ installed\b|\brequires? (?:the "
    r")?[\w.-]+ (?:package|library)\b"
)
#: Frames whose requirement tells what was checked; in one of more words, `tensor` need not be what was asked for.
_LONG = 8
_REQUIRING = ("needs", "expected", "only", "match", "range")


def kind_of(clause: Clause) -> tuple[str, bool]:
    """What is checked: the requirement's vocabulary, else the subject's, else that of what was given.

    With it whether that is sure: the requirement itself uses the word.
    """
    parts: tuple[str, ...] = (clause.asked, clause.subject, clause.given)
    first = clause.frame in ("match", "invalid", "exclusive", "range") or "one of " in clause.asked
    parts = (clause.subject, *parts) if first else parts
    for place, part in enumerate(parts):
        kind = _kind(part) if part else None
        if kind is not None:
            sure = place == 0 and clause.frame in _REQUIRING and kind != "choice"
            return kind, sure and (kind != "type" or part.count(" ") < _LONG)
    return "other", False


def of_id(id: str) -> tuple[str, str] | None:
    """The kind of check and the family that the id of a reading names; None for any other id."""
    parts = id.split("-")
    kind = parts[1] if parts[0] == "check" and len(parts) > 2 else None
    return (kind, _FAMILY[kind]) if kind in _FAMILY else None


def _kind(part: str) -> str | None:
    part = _NO_KIND.sub("", _CHOICES.sub("", part))
    words = lowered(part)
    words = words - {"device", "devices"} if "mesh" in words else words
    return next(
        (kind for kind, own, signs in _KINDS if own & words or (signs is not None and signs.search(part))), None
    )


def field_of(requirement: str, message: str) -> tuple[str, str]:
    """The kind and the family of a requirement that is source, by its words and those of the message."""
    kind = _kind(requirement) or _kind(message) or "other"
    return kind, family_of(Clause("needs", asked=requirement), kind, message)


def family_of(clause: Clause, kind: str, text: str) -> str:
    """The family of a check: its field's, where the message names one, else that of what is checked."""
    if clause.frame == "build" or _PACKAGE.search(text):
        return "environment"
    words = lowered(text)
    for field, own in _FIELDS:
        if own & words:
            return field
    unlimited = clause.frame in ("unsupported", "removed") or (clause.frame == "only" and kind in ("layout", "other"))
    return "unsupported" if unlimited and kind != "device" else _FAMILY[kind]
