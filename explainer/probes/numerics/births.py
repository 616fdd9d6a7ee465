"""The birthplace of nan: the operation whose gradients, or values, stopped being finite, and what it was given."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from explainer.bindings import given_to_name, last_name
from explainer.facts import NanFact, Settings, SpanFact
from explainer.probes import probe
from explainer.probes.autograd.writes import plain_name
from explainer.probes.files import nodes_of, sources
from explainer.probes.places import place, span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import readable
from explainer.source import Source, called, source_of

#: What functions that take their operand as an argument are called on.
LIBRARIES = ("torch", "F", "torch.nn.functional", "nn.functional", "torch.special", "torch.linalg", "linalg", "math")
_CLAMPS = ("clamp", "clip", "clamp_min", "clamp_max")


@probe
def birth(scene: Scene) -> NanFact | None:
    """The first operation of backward that turned finite gradients bad, or the one upstream that fed it bad values."""
    found = recorded_birth(scene)
    if not found or "node" not in found:
        return None
    origin = found["source"] if found["source"] and found["source"]["frames"] else found
    at = place(origin["frames"][0]) if origin["frames"] else None
    if at is None:
        return None
    later = place(found["frames"][0]) if origin is not found and found["frames"] else None
    return _fact(at, origin, found["kind"], later)


birth.proves = True  # type: ignore[attr-defined]


@probe
def spoilt_weights(scene: Scene) -> int | None:
    """How many parameters on the way were not finite before this backward began; None where all were."""
    found = recorded_birth(scene)
    return (found or {}).get("parameters") or None


def recorded_birth(scene: Scene) -> Any:
    """What the replay found of the birth, as plain data; None where it found nothing."""
    return scene.once("birth of nan", lambda: _recorded(scene))


def _recorded(scene: Scene) -> Any:
    if scene.live is None or not scene.options.replay:
        return None
    from explainer.replay.refused import birth_before

    if _backward_raised(scene):
        from explainer.replay.recorders.nan import Nan
        from explainer.replay.run import replay

        found = replay(scene, Nan)
        return birth_before(scene) if found and _was_spoilt(found) else found
    return birth_before(scene)


def _was_spoilt(found: Mapping[str, Any]) -> bool:
    """Whether the node at which gradients turned had been given values that were not finite, and no call made them."""
    if found["parameters"] or found["source"]:
        return False
    return any(one["nan"] for one in found["saved"].values())


def _backward_raised(scene: Scene) -> bool:
    """Whether torch's own check of gradients raised, not one that the program makes."""
    return "returned nan values" in scene.crash.message


def _fact(
    at: tuple[Source, ast.AST], one: Mapping[str, Any], kind: str, later: tuple[Source, ast.AST] | None
) -> NanFact:
    source, statement = at
    operator = one["function"].strip("_").removesuffix("_") or plain_name(one["node"])
    operator = {"truediv": "div", "rtruediv": "div", "rdiv": "div", "true_divide": "div"}.get(operator, operator)
    node = _operation(statement, operator)
    operand = _operand(source, node, operator)
    counts = _counts(one["saved"], operator)
    what, count = _what(counts, operator)
    return NanFact(
        source.span(node), source.text(node), operator, what, count, counts.get("of", 0),
        tuple(counts.get("first") or ()), tuple(counts.get("shape", ())), counts.get("dtype", ""),
        source.qualified_at(node.lineno), kind, operand,  # type: ignore[attr-defined]
        span_fact(*later) if later is not None else None,
    )  # fmt: skip


def _operation(node: ast.AST, operator: str) -> ast.AST:
    """The operation within a recorded place: of a whole statement the call or sign of that name, where there is one."""
    if isinstance(node, ast.Call) and called(node) == operator:
        return node
    signs = {"div": ast.Div, "pow": ast.Pow, "mul": ast.Mult}
    names = (operator, f"arc{operator[1:]}")
    named: list[ast.expr] = [one for one in ast.walk(node) if isinstance(one, ast.Call) and called(one) in names]
    named += [one for one in ast.walk(node) if isinstance(one, ast.BinOp) and type(one.op) is signs.get(operator)]
    return named[0] if len(named) == 1 else node


def _operand(source: Source, node: ast.AST, operator: str) -> SpanFact | None:
    """What the operation must be guarded against: its operand, the divisor of a division; `base` without a clamp."""
    operand: ast.AST | None = None
    if isinstance(node, ast.BinOp):
        operand = node.right if operator == "div" else node.left
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        library = source.text(node.func.value) in LIBRARIES
        given = [*node.args] if library else [node.func.value, *node.args]
        operand = given[1] if operator == "div" and len(given) > 1 else given[0] if given else None
    if operand is None:
        return None
    inner = operand
    clamped = isinstance(operand, ast.Call) and called(operand) in _CLAMPS and isinstance(operand.func, ast.Attribute)
    if clamped:
        library = source.text(operand.func.value) in LIBRARIES  # type: ignore[attr-defined]
        inner = operand.args[0] if library else operand.func.value  # type: ignore[attr-defined]
    simple = isinstance(inner, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    text = source.text(inner) if simple else f"({source.text(inner)})"
    return span_fact(source, operand, base=text, clamped=clamped)


def _counts(saved: Mapping[str, Any], operator: str) -> Mapping[str, Any]:
    """The numbers about the input that matters: the divisor of a division, the base of a power."""
    order = ("1", "other", "0", "self", "result") if operator == "div" else ("0", "self", "result", "1")
    return next((saved[name] for name in order if name in saved), {})


def _what(counts: Mapping[str, Any], operator: str) -> tuple[str, int]:
    wanted = ["one"] if operator in ("acos", "asin", "arccos", "arcsin", "atanh") else ["zero", "negative"]
    for name in ("ignored", *wanted, "inf", "nan"):
        if counts.get(name):
            return name, counts[name]
    return "large", 0


@probe
def minus_infinity(scene: Scene) -> SpanFact | None:
    """The only `float("-inf")` of the user's code: what a mask is filled with."""
    texts = ('float("-inf")', "float('-inf')", "-float('inf')", '-float("inf")', "-torch.inf", "-math.inf", "-np.inf")
    nodes = nodes_of(scene, (ast.Call, ast.UnaryOp))
    found = [(source, node) for source, node in nodes if source.text(node) in texts]
    return span_fact(*found[0]) if len(found) == 1 else None


@probe
def mask_of_real(scene: Scene) -> SpanFact | None:
    """The mask of a fill with -inf, where the failing frames hold one that is True for what is real, not for padding.

    Rows of such a mask begin with True and end with False, and some have no False. `detail`: `fixed`, its inverse.
    """
    fill = minus_infinity(scene)
    found = [(source, node) for source, node in nodes_of(scene, ast.Call)
             if called(node).startswith("masked_fill") and len(node.args) == 2
             and fill is not None and source.span(node.args[1]) == fill.span]  # fmt: skip
    frames = scene.live.user if scene.live is not None else ()
    held = [value for frame in frames for value in frame.locals.values()]
    if len(found) != 1 or not any(map(_marks_real, held)) or isinstance(found[0][1].args[0], ast.UnaryOp):
        return None
    source, mask = found[0][0], found[0][1].args[0]
    return span_fact(source, mask, fixed=f"~{_bracketed(source, mask)}")


def _marks_real(value: Any) -> bool:
    """Whether a tensor is True at the beginning of each row, and False at the end of some: padding on the right."""
    import torch

    if not readable(value, 10_000_000) or value.dtype != torch.bool or value.dim() != 2 or value.shape[1] < 2:
        return False
    falling = bool((value[:, 1:] <= value[:, :-1]).all()) and bool(value[:, 0].all())
    return falling and not bool(value.all()) and bool(value.all(dim=1).any())


@probe
def root_of_divisor(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """What a divisor is the root of: `s` of `length = s ** 0.5` or `s.sqrt()`, written in the same function.

    A guard on the divisor alone would leave the root's infinite slope at zero.
    """
    if of is None or of.operand is None:
        return None
    source = source_of(of.operand.span.file)
    from explainer.edits.place import place_of

    node = place_of(scene.source, of.operand).node
    if isinstance(node, ast.Name):
        node = last_value(source, node) or node
    inner = _radicand(source, node)
    return span_fact(source, inner, base=_bracketed(source, inner)) if inner is not None else None


@probe
def bound_operand(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The statement of the same function that last bound the only name in an operation's operand; `detail`: `name`."""
    from explainer.edits.place import place_of

    if of is None or of.operand is None:
        return None
    node = place_of(scene.source, of.operand).node
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id not in LIBRARIES]
    source = source_of(of.operand.span.file)
    statement = _last_binding(source, names[0]) if len(names) == 1 else None
    return span_fact(source, statement, name=names[0].id) if statement is not None else None


def _last_binding(source: Source, name: ast.Name, alone: bool = False) -> ast.Assign | None:
    """The last assignment above a name's use, in the same function, that binds it, `alone` or with others."""
    scope = source.scope_at(name.lineno)
    bound = [
        one
        for one in (ast.walk(scope) if scope is not None else ())
        if isinstance(one, ast.Assign) and one.lineno < name.lineno and _binds(one, name.id, alone)
    ]
    return max(bound, key=lambda one: one.lineno, default=None)


def _binds(node: ast.Assign, name: str, alone: bool) -> bool:
    parts = [part for target in node.targets for part in ([target] if alone else ast.walk(target))]
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def last_value(source: Source, name: ast.Name) -> ast.expr | None:
    """What was last assigned to a name above its use, in the same function."""
    bound = _last_binding(source, name, alone=True)
    return bound.value if bound is not None else None


def _radicand(source: Source, node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and source.text(node.right) in ("0.5", "(1/2)"):
        return node.left
    if not isinstance(node, ast.Call) or called(node) not in ("sqrt", "pow"):
        return None
    library = isinstance(node.func, ast.Attribute) and source.text(node.func.value) in LIBRARIES
    given = [*node.args] if library or isinstance(node.func, ast.Name) else [node.func.value, *node.args]  # type: ignore
    half = called(node) == "sqrt" or (len(given) > 1 and source.text(given[1]) == "0.5")
    return given[0] if given and half else None


def _bracketed(source: Source, node: ast.AST) -> str:
    simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return source.text(node) if simple else f"({source.text(node)})"


@probe
def masked_rows(scene: Scene) -> Settings | None:
    """The tensor of the failing frames that has rows of -inf or nan alone: `name`, `shape`, `count`, `of`, `first`.

    Read on the CPU only, tensors of at most ten million values.
    """
    import torch

    for frame in reversed(scene.live.user[-3:]) if scene.live is not None else ():
        for name, value in frame.locals.items():
            if not readable(value, 10_000_000) or not value.is_floating_point() or value.dim() == 0:
                continue
            values = value.detach()
            rows = (torch.isneginf(values) | torch.isnan(values)).all(dim=-1).flatten()
            if bool(rows.any()) and not bool(rows.all()):
                detail = {"name": name, "shape": tuple(value.shape), "count": int(rows.sum()), "of": rows.numel(),
                          "first": int(rows.nonzero()[0])}  # fmt: skip
                return Settings(tuple(detail.items()))
    return None


@probe
def made_parameter(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The one statement that makes the parameter which an operation is given of equal values: `torch.eye(n)`."""
    name = of.operand.text if of is not None and of.operand is not None else ""
    found = [
        (source, one)
        for source, one in nodes_of(scene, ast.Assign)
        if isinstance(one.value, ast.Call) and called(one.value) == "Parameter"
        and source.text(one.targets[0]) == name
    ]  # fmt: skip
    alike = [one for one in found if re.search(r"\b(eye|zeros|ones|full)\w*\(", one[0].text(one[1]))]
    return span_fact(*alike[0], name=name) if len(found) == len(alike) == 1 else None


@probe
def deviation(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The call of `std` that the name or attribute was given which is an operation's operand."""
    from explainer.edits.place import place_of

    if of is None or of.operand is None:
        return None
    name = last_name(place_of(scene.source, of.operand).node)
    for source, value in [(one, value) for one in sources(scene) for value in given_to_name(one, name)] if name else ():
        for call in ast.walk(value):
            if isinstance(call, ast.Call) and called(call) in ("std", "std_mean", "nanstd"):
                return span_fact(source, call)
    return None


@probe
def zero_start(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The call of `zeros` that a parameter which an operation is given starts from; `detail`: `name`, `to` (ones)."""
    from explainer.edits.place import place_of

    made = made_parameter(scene, of)
    place = place_of(scene.source, made) if made is not None else None
    calls = [one for one in ast.walk(place.node) if isinstance(one, ast.Call)] if place is not None else []
    zeros = [one for one in calls if called(one) in ("zeros", "zeros_like")]
    if place is None or made is None or len(zeros) != 1:
        return None
    text = place.source.text(zeros[0])
    return span_fact(place.source, zeros[0], name=made["name"], to=text.replace("zeros", "ones", 1))
