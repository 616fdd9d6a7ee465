"""Facts: frozen, printable pieces of evidence. Ints, strings, tuples and other facts; never a live object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from explainer.diagnosis import Span
from explainer.frozen import frozen


@frozen
class Settings(Mapping[str, Any]):
    """A frozen mapping with attribute access for templates: a layer's configuration, a record's fields."""

    items_: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        return dict(self.items_)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.items_))

    def __len__(self) -> int:
        return len(self.items_)


@frozen
class TensorFact:
    """A tensor's metadata, read without touching its data. `name` is the source text that names it ("x", "self.mask").

    `dtype` and `device` are torch's short names ("float32", "cuda:0"); `bytes` is numel * itemsize. `kind` is the
    class of a tensor that is spread over ranks ("DTensor"), else empty.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool = False
    is_leaf: bool = True
    grad_fn: str | None = None
    is_parameter: bool = False
    is_contiguous: bool = True
    stride: tuple[int, ...] = ()
    bytes: int = 0
    span: Span | None = None
    kind: str = ""

    def __str__(self) -> str:
        """`[4, 576] float32 cpu`, as the operand table shows it."""
        more = (self.kind, "requires grad" if self.requires_grad else "")
        return " ".join([f"{list(self.shape)} {self.dtype} {self.device}", *filter(None, more)])


@frozen
class ValueFact:
    """A plain value that is no tensor: an int, a float, a string, a tuple of ints. `type` is the class's name."""

    name: str
    type: str
    value: Any = None
    span: Span | None = None

    def __str__(self) -> str:
        return str(self.value) if self.value is not None else self.type


@frozen
class ModuleFact:
    """A layer: the name the source uses ("self.fc1" -> "fc1"), its path from the root module, its configuration."""

    name: str
    type: str
    path: str = ""
    root: str = ""
    settings: Settings = field(default_factory=Settings)
    training: bool = True
    device: str | None = None
    dtype: str | None = None
    span: Span | None = None

    def __getitem__(self, name: str) -> Any:
        """`layer.in_features` in a template: what is no field is a setting of the layer."""
        return self.settings[name]

    def __str__(self) -> str:
        """`Linear(in_features=400, out_features=120)`."""
        return f"{self.type}({', '.join(f'{name}={value}' for name, value in self.settings.items())})"


@frozen
class CallFact:
    """The failing sub-expression: what was called, on what, and where it stands.

    `function` is the operator's plain name ("linear", "matmul", "add", "cross_entropy", "backward"); `text` the source
    of the call; `arguments` the operands in order, as facts, those that cannot be read left out.
    """

    function: str
    text: str
    arguments: tuple[Any, ...] = ()
    span: Span | None = None


@frozen
class OriginFact:
    """Where a value came from: `kind` is view, assigned, argument, attribute, produced or loaded.

    `operator` is what made it ("flatten"), `before`/`after` the shapes (or dtypes, devices) around it. Of a view that
    joined dimensions, `joined` are their sizes ((16, 6, 6) where [4, 16, 6, 6] became [4, 576]).
    """

    kind: str
    operator: str = ""
    before: Any = None
    after: Any = None
    joined: tuple[int, ...] = ()
    span: Span | None = None


@frozen
class SpanFact:
    """A place in the source that a rule can name, label or edit; `text` is its source, `detail` what else is known."""

    span: Span
    text: str = ""
    detail: Settings = field(default_factory=Settings)

    def __getitem__(self, name: str) -> Any:
        """`built.argument` in a template: what is no field is a detail."""
        return self.detail[name]


@frozen
class WriteFact:
    """An in-place write over a value that backward needs, found by running the forward again.

    `kind` is statement, layer (a module that works in place) or optimizer; of a write that torch refused parameter,
    input or tensor, and `update` tells whether it is made of the target's own gradient. `keeper` is the operation that
    had kept the value ("sigmoid"), `keeps` what it keeps: "result" or "input"; `kept` its place, `target` the name
    written through. `holder` names the buffer or parameter that holds the memory, `holder_kind` says which of both.
    `others` are the places of later writes, `operand` the expression in `kept` that names what was kept.
    """

    span: Span
    text: str
    operator: str
    kind: str
    node: str
    keeper: str
    keeps: str
    target: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    function: str = ""
    path: str = ""
    layer: str = ""
    holder: str = ""
    holder_kind: str = ""
    kept: SpanFact | None = None
    operand: SpanFact | None = None
    built: SpanFact | None = None
    others: tuple[SpanFact, ...] = ()
    update: bool = False

    def __str__(self) -> str:
        """`y += x`, as the evidence shows it."""
        return self.text


@frozen
class MeetingFact:
    """The statements of one function under which a value was `saved`, overwritten (`wrote`) and needed (`failed`).

    `after`: the write stands behind the crash, so it was made in an earlier pass of their loop. `retained`: a backward
    before the write keeps its graph, for the one that failed.
    """

    wrote: SpanFact
    failed: SpanFact
    saved: SpanFact | None = None
    after: bool = False
    retained: bool = False


@frozen
class CutFact:
    """Where the graph that leads to a loss ends: `kind` is what cut it.

    Kinds: item, detach, data, numpy, new-tensor, index, comparison, cast, gradient, no-grad, inference, other.
    `operator` is the call ("argmax"), `text` its source, `operand` what it was applied to; `block` is the
    `with torch.no_grad():` or the decorator around it, where that is the cut, `statement` the statement that holds the
    call. `many`: it was given a list of tensors.
    """

    span: Span
    text: str
    operator: str
    kind: str
    function: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    path: str = ""
    block: SpanFact | None = None
    operand: SpanFact | None = None
    statement: SpanFact | None = None
    many: bool = False

    def __str__(self) -> str:
        """`loss.item()`, as the evidence shows it."""
        return self.text


@frozen
class NanFact:
    """Where backward's gradients stop being finite: the operation, its place, and what it was given.

    `count` of `of` values of its input are `what` ("zero", "one", "negative", "inf", "nan"), the first at index
    `first`; all labels of a loss may be "ignored". `hidden` is the later operation at which finite gradients turned,
    where another fed it the bad values.
    """

    span: Span
    text: str
    operator: str
    what: str
    count: int = 0
    of: int = 0
    first: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    dtype: str = ""
    function: str = ""
    kind: str = "nan"
    operand: SpanFact | None = None
    hidden: SpanFact | None = None

    def __str__(self) -> str:
        """`sq.sqrt()`, as the evidence shows it."""
        return self.text


@frozen
class CarriedFact:
    """A value that a later backward shares with an earlier one, whose graph was freed.

    `kind` is carried (a name or attribute re-bound each time), cached (computed once, outside of the loop), shared (two
    losses of one iteration) or repeated (the same loss twice). `name` is what holds it ("h", "self.mem"), `reach` how
    the failing frame can name it ("net.lif.mem"), `others` all such ways, `container` tuple, list or dict if it is held
    in one. `span` took it up again, `call` is that statement in the failing frame, `earlier` the first backward.
    `reset` is a call that clears the state ("net.reset()"), `computed` the names to compute anew for each backward,
    `given` the tensor that one of two losses could detach. `outdated`: values that the old graph kept, and no others,
    have been written over.
    """

    span: Span
    text: str
    kind: str
    name: str = ""
    reach: str = ""
    owner: str = ""
    operator: str = ""
    function: str = ""
    container: str = ""
    others: tuple[str, ...] = ()
    reset: str = ""
    computed: tuple[str, ...] = ()
    bound: SpanFact | None = None
    call: SpanFact | None = None
    earlier: SpanFact | None = None
    given: SpanFact | None = None
    outdated: bool = False

    def __str__(self) -> str:
        """`self.mem`, as the evidence shows it."""
        return self.name or self.text


@frozen
class BreakFact:
    """What torch.compile could not trace, in torch's words: `kind`, `why`, and the `ways` out; `text` is its line."""

    kind: str
    why: str
    ways: tuple[str, ...] = ()
    text: str = ""
    span: Span | None = None


@frozen
class StageFact:
    """What torch was doing (`name`: "load", "state", "together" or "move"), asked for by the line `text`."""

    name: str
    text: str = ""
    span: Span | None = None


@frozen
class StepFact:
    """One step of a shape history: the statement at `line` gave the variable `name` a tensor of this shape."""

    line: int
    name: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)}"


def span_of(fact: Any) -> Span | None:
    """Where a fact stands in the source; None of one that stands nowhere."""
    return fact if isinstance(fact, Span) else getattr(fact, "span", None)
