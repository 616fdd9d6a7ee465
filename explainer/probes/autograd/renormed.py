"""Lookups that renormalise an embedding's weight in place (`max_norm`), and what had kept that weight for backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.place import bound_above
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.writes import plain_name, stale, stale_values
from explainer.probes.places import constructor, layer_source, recorded, span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

#: Functions that write to their weight only where they are given a `max_norm`.
_LOOKUPS = ("embedding", "embedding_bag")
#: Of which operand a backward node keeps a value, by the name under which it does.
_SECOND = ("mat2", "other", "weight", "vec", "batch2")
_FIRST = ("self", "input", "batch1")


@probe
def renormed(scene: Scene) -> SpanFact | None:
    """The lookup that renormalised a weight which backward needs.

    `detail.weight` is the source of the weight, `layer` the class of the layer or the function, `keeper` the operation
    that had kept the weight, `shape` the kept value's, `function` where the lookup stands.
    """
    one = stale(scene)
    write = _lookup(one) if one is not None else None
    at = recorded(write, write["function"]) if write is not None else None
    if one is None or write is None or at is None:
        return None
    source, node = at
    about = {"weight": _weight(source, node, write), "layer": write["module"] or write["function"]}
    function = source.qualified_at(node.lineno)
    return span_fact(
        source, node, **about, keeper=plain_name(one["node"]), shape=tuple(one["shape"]), function=function
    )


renormed.proves = True  # type: ignore[attr-defined]


@probe
def renormed_kept(scene: Scene) -> SpanFact | None:
    """The operation that had kept the weight."""
    one = stale(scene)
    at = recorded(one["kept"], plain_name(one["node"])) if one is not None else None
    return span_fact(*at) if at is not None else None


@probe
def renormed_weights(scene: Scene, of: SpanFact | None = None) -> tuple[SpanFact, ...] | None:
    """The expressions that name the weight in each operation which had kept it before a lookup rewrote it."""
    found: dict[Any, SpanFact] = {}
    for one in stale_values(scene) if of is not None else ():
        at = recorded(one["kept"], plain_name(one["node"])) if _lookup(one) is not None else None
        if at is None or one["kept"]["module"]:
            continue
        for node in _named(at[0], at[1], one, of["weight"]):  # type: ignore[index]
            fact = span_fact(at[0], node)
            found[fact.span] = fact
    return tuple(found.values()) or None


@probe
def renormed_layer(scene: Scene) -> SpanFact | None:
    """The call of a linear layer that shares the weight and had kept it; `detail.to` is the same with a copy of it."""
    one = stale(scene)
    at = recorded(one["kept"], plain_name(one["node"])) if one is not None else None
    if one is None or at is None or one["kept"]["module"] != "Linear":
        return None
    source, node = at
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    layer, given = source.text(node.func), source.text(node.args[0])
    return span_fact(source, node, to=f"{_functional(source)}.linear({given}, {layer}.weight.clone(), {layer}.bias)")


@probe
def max_norm_given(scene: Scene) -> SpanFact | None:
    """The call that gives `max_norm`: the layer's constructor, or the lookup itself. `detail.norm` is its source."""
    one = stale(scene)
    write = _lookup(one) if one is not None else None
    at = recorded(write, write["function"]) if write is not None else None
    if write is None or at is None:
        return None
    found = _built(write) if write["module"] else at
    if found is None or not isinstance(found[1], ast.Call):
        return None
    norm = [word.value for word in found[1].keywords if word.arg == "max_norm"]
    return span_fact(*found, norm=found[0].text(norm[0])) if norm else None


def _lookup(one: dict[str, Any]) -> Any:
    """The first write over a kept value where a lookup made it."""
    first = next((write for write in one["writes"] if write["frames"]), None)
    return first if first is not None and first["function"] in _LOOKUPS else None


def _built(write: Any) -> tuple[Source, ast.AST] | None:
    at = layer_source(write)
    if at is None:
        return None
    return constructor(*at, write["module"]) or at


def _weight(source: Source, node: ast.AST, write: Any) -> str:
    """The source of a lookup's weight: `self.entity.weight` of `self.entity(x)`, `table` of `F.embedding(x, table)`."""
    if not isinstance(node, ast.Call):
        return "weight"
    if write["module"]:
        return f"{source.text(node.func)}.weight"
    named = [word.value for word in node.keywords if word.arg == "weight"]
    given = [*named, *node.args[1:2]]
    return source.text(given[0]) if given else "weight"


def _named(source: Source, node: ast.AST, one: dict[str, Any], weight: str) -> list[ast.expr]:
    """What names the weight in an operation: as the lookup does, by its attribute, or where it stands."""
    read = [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))]
    same = [part for part in read if source.text(part) == weight]
    holder = (one["holder"] or {}).get("name")
    held = [part for part in read if isinstance(part, ast.Attribute) and part.attr == holder]
    bound = [part for part in read if isinstance(part, ast.Name) and _bound_to(source, part, weight)]
    operand = list(_operand(source, node, one["attribute"]))
    return same or (held if len(held) == 1 else []) or bound or operand  # type: ignore[return-value]


def _bound_to(source: Source, name: ast.Name, weight: str) -> bool:
    """Whether a name was last bound to the weight, or to a chain of calls that begins with it."""
    scope = source.scope_at(name.lineno)
    statement = bound_above(scope, name.id, name.lineno) if scope is not None else None
    value = statement.value if statement is not None else None
    return value is not None and source.text(_receiver(value)) == weight


def _receiver(node: ast.expr) -> ast.expr:
    """What a chain of calls, indices and transpositions begins with: `w` of `w.t()`, `w[1:]` and `w.T`."""
    while True:
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ("T", "mT")):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return node


def _operand(source: Source, node: ast.AST, attribute: str) -> Iterator[ast.expr]:
    """The operand of which the node keeps a value, where it is a name or a view of one."""
    given: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        given = [node.left, node.right]
    elif isinstance(node, ast.Call) and called(node) != "einsum":
        bare = isinstance(node.func, ast.Attribute) and source.text(node.func.value).split(".")[0] not in ("torch", "F")
        given = [*([node.func.value] if bare else []), *node.args]  # type: ignore[attr-defined]
    place = 0 if len(given) == 1 or attribute in _FIRST else 1 if attribute in _SECOND else len(given)
    found = _receiver(given[place]) if place < len(given) else None
    if isinstance(found, (ast.Name, ast.Attribute)):
        yield found


def _functional(source: Source) -> str:
    """What a file calls `torch.nn.functional`."""
    for node in source.nodes():
        if isinstance(node, ast.Import):
            names = [name.asname for name in node.names if name.name == "torch.nn.functional" and name.asname]
        elif isinstance(node, ast.ImportFrom) and node.module == "torch.nn":
            names = [name.asname or name.name for name in node.names if name.name == "functional"]
        else:
            continue
        if names:
            return names[0]
    return "torch.nn.functional"
