"""Means of nothing: a selection that is empty, or labels that are all ignored, and how else the mean can be written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.lines import EditError
from explainer.edits.place import Place, as_primary, bound_above, place_of
from explainer.facts import NanFact, SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.numerics.births import recorded_birth
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, without_methods

#: Losses that average over their targets, and those that average over all values of their input.
_OF_LABELS = ("cross_entropy", "nll_loss")
_OF_VALUES = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "soft_margin_loss", "poisson_nll_loss",
)  # fmt: skip
_MEANS = ("mean", "average")
_LIBRARIES = ("torch", "F", "torch.nn.functional", "nn.functional")
_VIEWS = ("view", "reshape", "flatten", "contiguous", "squeeze", "unsqueeze", "transpose", "permute", "to", "long")
#: What gives a mask of truth values.
_TESTS = (
    "gt", "lt", "ge", "le", "eq", "ne", "bool", "isfinite", "isnan", "isin", "logical_and", "logical_or", "logical_not",
)  # fmt: skip


@frozen
class _Mean:
    """A call that averages: what it averages over, and its mask where a name selects that."""

    at: Place
    operator: str
    picked: ast.expr
    counted: ast.expr
    mask: ast.expr | None


@probe
def empty_mean(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The call that averages over nothing.

    `detail`: `picked`, what it was given; `mask`, what selected that (empty where unknown); `summed`, the same mean
    with a divisor of at least one; `guarded`, the call behind a condition; both empty where they cannot be written.
    """
    found = _mean(scene, of) if of is not None else None
    if found is None:
        return None
    text = found.at.source.text
    mask = text(found.mask) if found.mask is not None else ""
    detail = {"picked": text(found.picked), "mask": mask, "summed": _summed(found), "guarded": _guarded(found)}
    return span_fact(found.at.source, found.at.node, **detail)


def _mean(scene: Scene, of: NanFact) -> _Mean | None:
    try:
        at = place_of(scene.source, of)
    except EditError:
        return None
    node = at.node
    if not isinstance(node, ast.Call) or (of.operator not in (*_OF_LABELS, *_OF_VALUES, *_MEANS)):
        return None
    method = called(node) in _MEANS and isinstance(node.func, ast.Attribute)
    method = method and at.source.text(node.func.value) not in _LIBRARIES  # type: ignore[attr-defined]
    given = [node.func.value, *node.args] if method else node.args  # type: ignore[attr-defined]
    if not given or any(isinstance(one, ast.Starred) for one in given[:2]):
        return None
    labels = of.operator in _OF_LABELS and len(given) > 1
    counted = without_methods(given[1 if labels else 0], _VIEWS)
    return _Mean(
        at,
        of.operator,
        given[0] if called(node) in _MEANS else without_methods(given[0], _VIEWS),
        counted,
        _mask(at.source, given),
    )


def _mask(source: Source, given: list[ast.expr]) -> ast.expr | None:
    """`keep` of `x[keep]`, where all that is selected so names the same and truth values are in it."""
    slices = [one.slice for one in given[:2] if isinstance(one, ast.Subscript)]
    rows = [one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one for one in slices]
    names = {source.text(one): one for one in rows}
    node = next(iter(names.values())) if len(names) == 1 else None
    return node if isinstance(node, (ast.Name, ast.Attribute)) and _is_test(_bound(source, node)) else None


def _bound(source: Source, node: ast.expr) -> ast.expr | None:
    statement = bound_above(source.scope_at(node.lineno), source.text(node), node.lineno)
    return statement.value if statement is not None else None


def _is_test(node: ast.expr | None) -> bool:
    """Whether an expression gives truth values: `x > 0`, `~a & b`, `x.isfinite()`."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and _is_test(node.operand)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.BitAnd, ast.BitOr)) and (_is_test(node.left) or _is_test(node.right))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and called(node) in _TESTS)


def _simple(node: ast.AST) -> bool:
    """Whether an expression can be written twice: no call in it."""
    return not any(isinstance(one, (ast.Call, ast.Await, ast.NamedExpr)) for one in ast.walk(node))


def _summed(found: _Mean) -> str:
    """`x[keep].mean()` -> `x[keep].sum() / max(x[keep].numel(), 1)`; of a loss function with `reduction="sum"`."""
    call, source = found.at.node, found.at.source
    assert isinstance(call, ast.Call)
    if called(call) != found.operator:  # a criterion, or a function of the user's
        return ""
    if found.operator in _MEANS:
        return _sum_of_values(found, call)
    words = {word.arg: source.text(word.value) for word in call.keywords}
    if found.operator in _OF_LABELS and found.counted is found.picked:
        return ""
    weighted = {"weight", "size_average", "reduce", None} & set(words)
    if weighted or words.get("reduction", "'mean'").strip("\"'") != "mean" or len(call.args) > 2:
        return ""
    given = [source.text(one) for one in (*call.args, *call.keywords) if getattr(one, "arg", "") != "reduction"]
    count = _count(found)
    return f'{source.text(call.func)}({", ".join(given)}, reduction="sum") / {count}' if count else ""


def _count(found: _Mean) -> str:
    """How many values or labels there are, at least one."""
    if found.mask is not None and found.operator in _OF_LABELS:
        return f"{found.at.source.text(found.mask)}.sum().clamp(min=1)"
    return f"max({found.at.source.text(found.counted)}.numel(), 1)" if _simple(found.counted) else ""


def _sum_of_values(found: _Mean, call: ast.Call) -> str:
    source = found.at.source
    if not _simple(found.picked):
        return ""
    picked = as_primary(found.at.at(found.picked))
    method = isinstance(call.func, ast.Attribute) and call.func.value is found.picked
    rest = [source.text(one) for one in (*call.args[0 if method else 1 :], *call.keywords)]
    dims = [*call.args[0 if method else 1 :], *(word.value for word in call.keywords)]
    if not rest:
        return f"{picked}.sum() / max({picked}.numel(), 1)"
    plain = isinstance(dims[0], ast.Constant) and type(dims[0].value) is int
    return f"{picked}.sum({', '.join(rest)}) / max({picked}.shape[{source.text(dims[0])}], 1)" if plain else ""


def _guarded(found: _Mean) -> str:
    """`criterion(x[keep], y) if keep.any() else x[keep].sum()`: zero with a graph where nothing is selected."""
    source = found.at.source
    text = " ".join(source.text(found.at.node).split())
    picked = as_primary(found.at.at(found.picked))
    if not _simple(found.picked):
        return ""
    asked = f"{source.text(found.mask)}.any()" if found.mask is not None else f"{picked}.numel()"
    return _conditional(found, f"{text} if {asked} else {picked}.sum()")


def _conditional(found: _Mean, text: str) -> str:
    """A conditional expression, in parentheses where it is not the whole value of a statement."""
    return text if isinstance(found.at.parent(), (ast.Assign, ast.Return)) else f"({text})"


@probe
def mask_of_mean(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The statement that made the mask under which nothing was left; `detail.value`: its right side."""
    source = scene.source(of.span.file) if of is not None else None
    node = next(_named(source, of), None) if source is not None and of is not None else None
    if source is None or node is None:
        return None
    statement = bound_above(source.scope_at(node.lineno), source.text(node), node.lineno)
    return None if statement is None else span_fact(source, statement, value=source.text(statement.value))


def _named(source: Source, of: SpanFact) -> Iterator[ast.expr]:
    """The mask's name within the call, else what is averaged."""
    for name in filter(None, (of["mask"], of["picked"])):
        for node in source.nodes():
            alike = isinstance(node, (ast.Name, ast.Attribute)) and source.text(node) == name
            if alike and of.span.line <= node.lineno <= (of.span.end_line or of.span.line):  # type: ignore[attr-defined]
                yield node  # type: ignore[misc]


@probe
def ignored_labels(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The call of a loss whose labels were all ignored.

    `detail`: `labels`, their source; `index`, the class that is left out; `summed` and `guarded` as `empty_mean`.
    """
    found = _mean(scene, of) if of is not None and of.what == "ignored" else None
    call = found.at.node if found is not None else None
    if found is None or not isinstance(call, ast.Call) or len(call.args) != 2 or not _simple(found.counted):
        return None
    source, words = found.at.source, {word.arg: word.value for word in call.keywords}
    index = source.text(words["ignore_index"]) if "ignore_index" in words else str(_index(scene))
    labels, summed = as_primary(found.at.at(found.counted)), ""  # type: ignore[arg-type]
    given = ", ".join(source.text(one) for one in (*call.args, *call.keywords))
    if called(call) == found.operator and set(words) <= {"ignore_index"}:
        summed = f'{source.text(call.func)}({given}, reduction="sum") / ({labels} != {index}).sum().clamp(min=1)'
    zero = f"0.0 * {as_primary(found.at.at(found.picked))}.sum()"
    guarded = _conditional(found, f"{' '.join(found.at.text.split())} if ({labels} != {index}).any() else {zero}")
    detail = {"labels": labels, "index": _index(scene), "summed": summed}
    return span_fact(source, call, **detail, guarded=guarded if _simple(found.picked) else "")


def _index(scene: Scene) -> int:
    born = recorded_birth(scene)
    return ((born["source"] or born)["saved"].get("0") or {}).get("ignore_index", -100)  # type: ignore[no-any-return]
