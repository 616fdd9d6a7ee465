"""Tensors kept for the next call, whatever device that asks for: in a dict, an attribute, the memo of a method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.bindings import assignments
from explainer.edits.kinds.devices import bound_names, devices_given
from explainer.edits.kinds.keyed import key_made
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.behind import Behind, out_of_place
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, loaded

_MEMOS = ("lru_cache", "cache")
_LIKE = ("zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "empty_like")
_NEW = ("new_zeros", "new_ones", "new_full", "new_tensor", "new_empty")
Function = ast.FunctionDef


@probe
def kept_for_one_device(scene: Scene) -> SpanFact | None:
    """Where a tensor is kept that was made on the device asked for then, and is handed out whatever is asked later.

    `detail`: `form`: key, of a dict; test, of a name or attribute; memo, of a decorator; `table`, what keeps it;
    `device`, the expression for the device asked for; `function`. None where there are several such places.
    """
    start = out_of_place(scene)
    walk, found = Behind(scene), dict[tuple[str, int], SpanFact]()
    for source, part in walk.parts(*start) if start is not None else ():
        for home, function in [*_around(source, part), *(walk.functions(part) if isinstance(part, ast.Call) else [])]:
            for fact in _kept(home, function):
                found[fact.span.file, fact.span.line] = fact
    return next(iter(found.values())) if len(found) == 1 else None


def _around(source: Source, part: ast.AST) -> list[tuple[Source, Function]]:
    """The function that an expression stands in, where that reads what it may have kept."""
    function = source.function_at(part.lineno) if isinstance(part, (ast.Subscript, ast.Attribute)) else None
    return [(source, function)] if isinstance(function, ast.FunctionDef) else []


def _kept(source: Source, function: Function) -> Iterator[SpanFact]:
    devices = list(dict.fromkeys(_asked(source, function)))
    if len(devices) != 1:
        return
    name = function.name
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield from _of_dict(source, function, node.targets[0], devices[0])
        elif isinstance(node, ast.If):
            yield from _of_test(source, function, node, devices[0])
    for decorator in function.decorator_list:
        text = source.text(decorator).split("(")[0]
        if text.rpartition(".")[2] in _MEMOS and not _of_parameter(function, devices[0]):
            yield span_fact(source, decorator, form="memo", table=text, device=devices[0], function=name)


def _asked(source: Source, function: Function) -> Iterator[str]:
    """The devices on which a function makes tensors, as its source names them: by a parameter or by a tensor's."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield from (source.text(one) for one in devices_given(source, node) if not isinstance(one, ast.Constant))
            if called(node) in _LIKE and node.args:
                yield f"{source.text(node.args[0])}.device"
            elif called(node) in _NEW and isinstance(node.func, ast.Attribute):
                yield f"{source.text(node.func.value)}.device"


def _of_parameter(function: Function, device: str) -> bool:
    """Whether a device is a parameter or that of one: then another device is another call for the memo."""
    return bool(_names(device) & ({one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} - {"self"}))


def _known(function: Function, device: str, at: ast.AST) -> bool:
    """Whether a device is told by names that the function has, and has bound by then."""
    given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    return _names(device) <= given | set(bound_names(function, at.lineno))  # type: ignore[attr-defined]


def _names(text: str) -> set[str]:
    return loaded(ast.parse(text, mode="eval"))


def _of_dict(source: Source, function: Function, target: ast.Subscript, device: str) -> Iterator[SpanFact]:
    """`if n not in self.tables: self.tables[n] = ...`, with nothing of a device in the key."""
    table, key = source.text(target.value), target.slice
    tests = [one for one in ast.walk(function) if _asks_for(source, one, table)]
    tests += [one for node in ast.walk(function) if isinstance(node, ast.Try) for one in _tried(source, node, table)]
    made = key_made(source, function, table)
    said = " ".join([source.text(key), *(source.text(one.value) for one in assignments(function, source.text(key)))])
    at = made if made is not None else tests[0] if tests else key
    if tests and not _says(said, device) and _known(function, device, at):
        yield span_fact(source, at, form="key", table=table, device=device, function=function.name)


def _asks_for(source: Source, node: ast.AST, table: str) -> bool:
    """`key in table`, `key not in table`, `table.get(key)`."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return source.text(node.comparators[0]) == table
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return owner is not None and called(node) == "get" and source.text(owner) == table  # type: ignore[arg-type]


def _tried(source: Source, node: ast.Try, table: str) -> Iterator[ast.AST]:
    """`try: return table[key]`, with a handler for its KeyError."""
    handled = {ast.unparse(one.type) for one in node.handlers if one.type is not None}
    for part in node.body if handled & {"KeyError", "LookupError"} else ():
        entries = (one for one in ast.walk(part) if isinstance(one, ast.Subscript))
        yield from (one for one in entries if source.text(one.value) == table)


def _of_test(source: Source, function: Function, node: ast.If, device: str) -> Iterator[SpanFact]:
    """`if self.window is None: self.window = ...`, with nothing of a device in the test."""
    if _says(source.text(node.test), device) or not _known(function, device, node):
        return
    own = {name for one in ast.walk(function) if isinstance(one, ast.Global) for name in one.names}
    left = any(isinstance(one, ast.Return) for one in node.body)
    for one in ast.walk(function) if left else node.body:
        for target in one.targets if isinstance(one, ast.Assign) else ():
            name = source.text(target)
            outlives = isinstance(target, ast.Attribute) or name in own
            if outlives and _unset(source, node.test, target, ast.IsNot if left else ast.Is):
                yield span_fact(source, node.test, form="test", table=name, device=device, function=function.name)


def _says(text: str, device: str) -> bool:
    """Whether a key or a test has the device in it."""
    return "device" in text or re.search(rf"\b{re.escape(device)}\b", text) is not None


def _unset(source: Source, test: ast.expr, target: ast.expr, sign: type[ast.cmpop]) -> bool:
    """Whether a test asks if a name or attribute is still empty, or with the other sign if it is not."""
    for one in ast.walk(test):
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], sign):
            if source.text(one.left) == source.text(target):
                return True
        elif isinstance(one, ast.Call) and called(one) == "hasattr" and isinstance(target, ast.Attribute):
            return sign is ast.Is and source.text(one.args[-1]).strip("\"'") == target.attr
    return False
