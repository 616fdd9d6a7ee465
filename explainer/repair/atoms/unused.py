"""What the program has made and reads nowhere, put to use: a layer that nothing calls, a parameter nobody reads."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence

from explainer.bindings import last_name
from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.arguments import replaced
from explainer.repair.atoms.common import calls, expressions, integer, integers, is_value, tensors, text, wanted
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Function, Source, called, loaded, of_self, walked

#: What an assigned attribute is that no call should take for a layer.
_NO_LAYERS = ("Parameter", "Buffer", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Size", "device")

#: What brings a map to another size, and the dimensions of a map in front of those.
_RESAMPLING, _FRONT = ("interpolate", "upsample"), 2
#: What keeps a triangle of a matrix.
#: How many names may say by how much a triangle moves.
_PASTS = 3
_TRIANGLES = ("tril", "triu")
#: How a file calls the layers of torch.
_OF_TORCH = ("nn.", "torch.nn.")
#: What reads names without naming them.
_ALL_NAMES = {"locals", "vars", "eval", "exec"}


def uncalled(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return x` -> `return self.head(x)`: a layer that the class makes and never reads, called on a value."""
    yield from _in_chain(spot)
    if spot.role in ("built", "given"):
        return
    layers = _uncalled(spot)
    for node in expressions(spot) if layers else ():
        if not isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)) or integer(spot, node) is not None:
            continue
        if is_value(spot, node) or (isinstance(node, ast.Name) and node.id in tensors(spot)):  # also of `x.flatten(1)`
            for layer in layers:
                yield Offer("uncalled", spot, node, f"{layer}({text(spot, node)})", "unread", _weight(spot, node))


def _in_chain(spot: Spot) -> Iterator[Offer]:
    """`nn.Sequential(head)` -> `nn.Sequential(backbone, head)`: a layer that is read nowhere, in a chain of others."""
    for node in calls(spot):
        if called(node) != "Sequential" or not node.args or any(isinstance(one, ast.Starred) for one in node.args):
            continue
        for layer in _uncalled(spot):
            first, last = (text(spot, node.args[at]) for at in (0, -1))
            yield Offer("uncalled", spot, node.args[0], f"{layer}, {first}", "unread")
            yield Offer("uncalled", spot, node.args[-1], f"{last}, {layer}", "unread", 0.2)


def _weight(spot: Spot, node: ast.expr) -> float:
    """What is returned or bound as a whole is likelier to lack the layer than a part of a sum."""
    parent = spot.place.source.parent_of(node)
    return 0.0 if isinstance(parent, (ast.Return, ast.Assign)) else 0.5


def _uncalled(spot: Spot) -> list[str]:
    """The layers that a place's class, its function or else its file makes by a call and that are read nowhere."""
    source, line = spot.place.source, spot.place.line
    owner, function = source.class_at(line), source.function_at(line)
    own = list(_unread_models(function)) if function is not None else []
    return [*own, *(_unread_layers(source, owner) if owner is not None else _unread_models(source.tree))][:3]


def leaves_layers(source: Source) -> bool:
    """Whether a file makes a layer, beside others that a method calls, or a model, and reads it nowhere."""
    owners = [one for one in source.nodes() if isinstance(one, ast.ClassDef)]
    forward = [one for one in owners if any(getattr(part, "name", "") == "forward" for part in one.body)]
    return any(True for _ in _unread_models(source.tree)) or any(any(_unread_layers(source, one)) for one in forward)


@functools.lru_cache(256)
def _unread_layers(source: Source, owner: ast.ClassDef) -> tuple[str, ...]:
    """The layers that a class makes and that nothing reads, which is asked at each of its places."""
    made = [
        target.attr
        for one in walked(owner)
        if isinstance(one, ast.Assign) and any(isinstance(call, ast.Call) and _makes_layer(call) for call in _made(one))
        for target in one.targets
        if of_self(target)
    ]
    others = {id(one) for other in _of_others(source, owner) for one in walked(other) if of_self(one)}
    read = {one.attr for one in source.nodes() if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
            and id(one) not in others}  # fmt: skip
    return tuple(f"self.{name}" for name in dict.fromkeys(made) if name not in read)


def _made(statement: ast.Assign) -> list[ast.expr]:
    """What is assigned: either of two where there is a choice, `Linear(a, b) if a != b else Identity()`."""
    value = statement.value
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]


def _of_others(source: Source, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """The classes of a file whose `self` is another one: neither derived from a class nor a base of it."""
    near = lambda one: owner.name in map(last_name, one.bases) or one.name in map(last_name, owner.bases)  # noqa: E731
    classes = [one for one in source.nodes() if isinstance(one, ast.ClassDef)]
    return [one for one in classes if one is not owner and not near(one)]


def _unread_models(scope: Function | ast.Module | None) -> Iterator[str]:
    """The names that a function, or a file's top level, gives layers of torch's, and reads nowhere."""
    for one in scope.body if scope is not None else ():
        call = one.value if isinstance(one, ast.Assign) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith(_OF_TORCH) and _makes_layer(call):
            names = [target.id for target in one.targets if isinstance(target, ast.Name)]  # type: ignore[attr-defined,union-attr]
            yield from (name for name in names if name not in loaded(scope))  # type: ignore[arg-type]


def _makes_layer(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name[:1].isupper() and name not in _NO_LAYERS


def resampled(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`interpolate(x, scale_factor=2)` -> `interpolate(x, size=like.shape[-2:])`: to the size of a larger map in scope.

    A parameter that nobody reads was meant to say that size.
    """
    function = spot.place.source.function_at(spot.place.line)
    unread = _unread(function) if function is not None else ()
    known = tensors(spot)
    for node in calls(spot):
        factor = [one for one in node.keywords if one.arg == "scale_factor" and called(node) in _RESAMPLING]
        own = known.get(text(spot, node.args[0]), []) if node.args and factor else []
        for name, shape in known.items():
            if len(shape) == len(own) > _FRONT and shape[_FRONT:] > own[_FRONT:] and not _turned(own, shape):
                new = replaced(spot, node, [(factor[0], f"size={name}.shape[{_FRONT - len(shape)}:]")])
                yield Offer("resampled", spot, node, new, "beside", 0.0 if name in unread else 0.3)


def _turned(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether one map is as high for its width as another is wide for its height: rows were taken for columns."""
    return shape[-2] != shape[-1] and shape[-2] * other[-2] == shape[-1] * other[-1]


def parameter(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Linear(width, 4)` -> `Linear(hidden, 4)`: a parameter of the function that nobody reads, for another number.

    `f(dim=heads)` -> `f(dim=dim)`: a keyword that has a name of its own where the call stands.
    """
    function = spot.place.source.function_at(spot.place.line)
    unread = [name for name in _unread(function) if name in spot.scope] if function is not None else []
    known = integers(spot)
    for node in expressions(spot):
        parent = spot.place.source.parent_of(node)
        if isinstance(parent, (ast.Attribute, ast.Subscript)) or integer(spot, node) is None:
            continue
        if isinstance(parent, ast.keyword) and parent.arg in known and text(spot, node) != parent.arg:
            yield Offer("parameter", spot, node, parent.arg, "keyword", 0.2)
        for name in [one for one in unread if one in known]:
            if known[name] != integer(spot, node):
                yield Offer("parameter", spot, node, name, "unread", 0.0)
            yield from _added(spot, node, name, known[name], evidence)
        if (triangle := _triangle(spot, node)) is not None:
            fits = [one for one, value in known.items() if integer(spot, node) + value in wanted(evidence)]  # type: ignore[operator]
            for name in [one for one in fits if one not in unread and one != text(spot, node)][:_PASTS]:
                yield from _moved(spot, triangle, node, f"{name} + {text(spot, node)}", name)


def _added(spot: Spot, node: ast.expr, name: str, worth: int, evidence: Evidence) -> Iterator[Offer]:
    """`arange(n)` -> `arange(past + n)` with a parameter that nobody reads, where just that size is wanted.

    Another row of the same length begins behind it then: `arange(past, past + n)`, as those of new queries do; and the
    diagonal of a triangle moves by as much: `ones(n, past + n).tril(past)`.
    """
    old, source = text(spot, node), spot.place.source
    if (integer(spot, node) or 0) + worth not in wanted(evidence) or not isinstance(node, (ast.Name, ast.Attribute)):
        return
    same = [one for one in walked(source.scope_at(spot.place.line)) if isinstance(one, ast.Call)
            and called(one) == "arange" and len(one.args) == 1 and text(spot, one.args[0]) == old]  # fmt: skip
    rows = [(one.args[0], f"{name}, {name} + {old}") for one in same if one.args[0] is not node]
    triangle = _triangle(spot, node)
    if len(same) == 2 and len(rows) == 1:
        yield Offer("parameter", spot, node, f"{name} + {old}", "unread", -0.5, twins=tuple(rows))
    elif triangle is not None:
        yield from _moved(spot, triangle, node, f"{name} + {old}", name)
    else:
        yield Offer("parameter", spot, node, f"{name} + {old}", "unread", 0.0)


def _triangle(spot: Spot, node: ast.expr) -> ast.Call | None:
    """The triangle of whose sizes a node is a part."""
    around = (one for one in spot.place.source.up_from(node) if isinstance(one, ast.Call))
    return next((one for one in around if called(one) in _TRIANGLES), None)


def _moved(spot: Spot, triangle: ast.Call, node: ast.expr, new: str, by: str) -> Iterator[Offer]:
    """A triangle with so many more columns in front."""
    own = isinstance(triangle.func, ast.Attribute) and text(spot, triangle.func.value) != "torch"
    given = [*triangle.args[not own :], *(one.value for one in triangle.keywords if one.arg == "diagonal")]
    first = triangle.args[0] if not own and triangle.args else None
    made = triangle.func.value if own and isinstance(triangle.func, ast.Attribute) else first
    last = made.args[-1] if isinstance(made, ast.Call) and len(made.args) == 2 else None  # its columns
    if last is node and given:
        changes = [(node, new), (given[0], f"{by} + {text(spot, given[0])}")]
        yield Offer("parameter", spot, triangle, replaced(spot, triangle, changes), "unread", -0.5)
    elif last is node:
        whole = replaced(spot, triangle, [(node, new)])
        yield Offer("parameter", spot, triangle, f"{whole[:-1]}{by if own else f', {by}'})", "unread", -0.5)


def _unread(function: Function) -> Sequence[str]:
    """The parameters of a function that its body never reads."""
    given = [one.arg for one in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]]
    read = {one.id for one in walked(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    if read & _ALL_NAMES:
        return []
    return [name for name in given if name not in read and name not in ("self", "cls") and not name.startswith("_")]


def other_element(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`sum(a for a, _ in pairs)` -> `sum(b for _, b in pairs)`: what a loop leaves of what it goes over.

    It is called as another loop over the same calls it.
    """
    for node in expressions(spot):
        loop = node.generators[0] if isinstance(node, (ast.GeneratorExp, ast.ListComp)) else None
        targets = loop.target.elts if loop is not None and isinstance(loop.target, ast.Tuple) else []
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        taken = [one for one in names if one in loaded(node.elt)] if targets else []  # type: ignore[attr-defined]
        if len(names) != len(targets) or len(taken) != 1 or loop is None or len(node.generators) > 1 or loop.ifs:  # type: ignore[attr-defined]
            continue
        own = names.index(taken[0])
        others = _called_elsewhere(spot, loop, names)
        for at, other in ((at, other) for at, other in others.items() if at != own):
            read = [one for one in walked(node.elt) if isinstance(one, ast.Name) and one.id == taken[0]]  # type: ignore[attr-defined]
            changes: list[tuple[ast.AST, str]] = [(one, other) for one in (*read, targets[at])]
            changes += [(targets[own], "_")] if names[at] == "_" else []
            yield Offer("other_element", spot, node, replaced(spot, node, changes), "unread")


def _called_elsewhere(spot: Spot, loop: ast.comprehension, names: Sequence[str]) -> dict[int, str]:
    """What a loop does not name of what it goes over, as another loop of the function over the same does."""
    found = {at: name for at, name in enumerate(names) if name != "_" and names.count("_") == 0}
    own, scope = text(spot, loop.iter), spot.place.source.scope_at(loop.target.lineno)
    for other in walked(scope):
        target = other.target if isinstance(other, (ast.For, ast.comprehension)) and other is not loop else None
        if isinstance(target, ast.Tuple) and text(spot, other.iter) == own and len(target.elts) == len(names):  # type: ignore[attr-defined]
            known = [one.id if isinstance(one, ast.Name) else "_" for one in target.elts]
            found |= {at: name for at, name in enumerate(known) if name not in ("_", *names) and names[at] == "_"}
    return found


def unpacked(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`q, k, v = self.qkv(x)` -> `self.qkv(x).chunk(3, dim=-1)`: as many parts as there are names."""
    if "unpack" not in evidence.message:
        return
    try:
        statement = spot.place.statement().node
    except ValueError:
        return
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
        return
    count, value = len(statement.targets[0].elts), statement.value
    if any(isinstance(one, ast.Starred) for one in statement.targets[0].elts):
        return
    parts = [one.value for one in getattr(value, "elts", ()) if isinstance(one, ast.Starred)]
    if len(parts) == 1:  # `q, k, v = self.q(x), *self.kv(x)`
        count, value = count - len(value.elts) + 1, parts[0]  # type: ignore[attr-defined]
    source = as_primary(spot.place.at(value))
    for at, form in enumerate((f"chunk({count}, dim=-1)", f"chunk({count}, dim=1)", "unbind(0)", "unbind(-1)")):
        yield Offer("unpacked", spot, value, f"{source}.{form}", form.partition("(")[0], 0.2 * at)
    if isinstance(value, ast.Call) and value.args and isinstance(value.func, ast.Attribute):
        first = value.args[0]
        if value.func.attr in ("chunk", "split", "tensor_split") and integer(spot, first) not in (None, count):
            yield Offer("unpacked", spot, first, str(count), "count", 0.0)
