"""Expressions that name the model's device at a place in the source: what `device=` or `.to()` can be given there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError
from explainer.edits.place import Place, replaced_each
from explainer.source import Source, called, loaded, walked

#: Attributes and methods by which a function shows that it takes a parameter for a tensor.
_OF_TENSORS = ("shape", "size", "device", "dtype", "dim", "new_zeros", "unsqueeze", "view", "float", "transpose")


def give_device(each: tuple[Place, ...], to: str) -> tuple[Edit, ...]:
    """`torch.zeros(n), torch.ones(n)` -> `torch.zeros(n, device=...), torch.ones(n, device=...)`: several at once."""
    return replaced_each(each, lambda place: _with_device(place, to))


def _with_device(call: Place, to: str) -> str:
    node = call.node
    if not isinstance(node, ast.Call) or any(word.arg == "device" for word in node.keywords):
        raise EditError("no call that takes a device stands here")
    inner = call.text[:-1].rstrip().removesuffix(",")
    return f"{inner}{', ' if node.args or node.keywords else ''}device={to})"


def devices_at(place: Place) -> Iterator[str]:
    """Expressions for a device that can be written at a place, the most certain first."""
    source, line = place.source, place.line
    function = source.function_at(line)
    owner = source.class_at(line)
    parameters = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    yield from (name for name in parameters if "device" in name.lower())
    if isinstance(function, ast.FunctionDef):
        yield from (name for name in bound_names(function, line) if "device" in name.lower())
        yield from (f"{name}.device" for name in parameters if name != "self" and _as_tensor(function, name))
        yield from _given_near(source, function, line)
        if parameters[:1] == ["self"] and owner is not None and _is_module(owner):
            yield "next(self.parameters()).device"
    yield from _of_script(source)


def _given_near(source: Source, function: ast.FunctionDef, line: int) -> Iterator[str]:
    """What calls of the same function are given for a device, in names known at a line: `cfg["device"]`."""
    known = {one.arg for one in walked(function) if isinstance(one, ast.arg)} | set(bound_names(function, line))
    for node in walked(function):
        for one in devices_given(source, node) if isinstance(node, ast.Call) else ():
            text = source.text(one)
            if text[:1] not in "\"'" and "device" in text and loaded(one) <= known:
                yield text


def devices_given(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given for a device: `device=...` of a factory, the first argument of `.to(...)`."""
    yield from (word.value for word in call.keywords if word.arg == "device")
    if called(call) == "to" and isinstance(call.func, ast.Attribute):
        yield from (one for one in call.args[:1] if "device" in source.text(one) and not isinstance(one, ast.Constant))


def moves(source: Source) -> Iterator[tuple[Place, str]]:
    """The calls `x.to(<device>)` of a file, with what each is given."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to" and node.args:
            given = source.text(node.args[0])
            if "device" in given.lower() or given.strip("\"'").partition(":")[0] in ("cpu", "cuda", "meta", "mps"):
                yield Place(source, node), given


def bound_names(scope: ast.AST, line: int) -> Iterator[str]:
    """The names that a scope binds above a line."""
    for node in walked(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno < line:
            yield node.id


def _of_script(source: Source) -> Iterator[str]:
    """Names of the module that mean a device, and what its own `.to(...)` calls are given, where that stands alone."""
    tree = source.tree
    for node in tree.body if isinstance(tree, ast.Module) else ():
        targets = node.targets if isinstance(node, ast.Assign) else []
        yield from (one.id for one in targets if isinstance(one, ast.Name) and "device" in one.id.lower())
    for _, given in moves(source):
        if given[:1] in "\"'":
            yield given


def _as_tensor(function: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and node.attr in _OF_TENSORS
        for node in walked(function)
    )


def _is_module(owner: ast.ClassDef) -> bool:
    return any(ast.unparse(base).rpartition(".")[2].endswith(("Module", "Sequential")) for base in owner.bases)
