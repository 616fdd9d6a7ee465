"""Places that a replay reports, found again in the source: positions to spans, layers to their constructors."""

from __future__ import annotations

import ast
import os
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from explainer.bindings import only_value
from explainer.facts import Settings, SpanFact
from explainer.probes.named import operation_at
from explainer.source import Function, Node, Source, called, holds, source_of

Position = Mapping[str, Any]
#: How many names a layer is followed through.
_NAMES = 5
S = TypeVar("S", bound=ast.stmt)


def place(position: Position, names: Sequence[str] = ()) -> tuple[Source, Node] | None:
    """The node of a recorded position: exact where columns are known, else by a name, else the line's statement."""
    source = source_of(position["file"])
    bounds = position["bounds"]
    node = source.node_at(*bounds) if None not in bounds else operation_at(source, position["line"], names)
    node = node or source.statement_at(position["line"])
    if isinstance(node, ast.Expr):
        node = node.value
    return (source, node) if node is not None else None


def recorded(record: Mapping[str, Any], *names: str) -> tuple[Source, Node] | None:
    """Where the user's code made a recorded call, of a function of one of these names or of a layer; None without."""
    layers = reversed(record["path"].split(".")) if record["module"] else ()
    return place(record["frames"][0], [*names, *layers]) if record["frames"] else None


def span_fact(source: Source, node: ast.AST, symbol: Any = None, **detail: Any) -> SpanFact:
    """A node as a fact, with what else is known of it."""
    return SpanFact(source.span(node, symbol), source.text(node), Settings(tuple(detail.items())))


def layer_source(position: Position) -> tuple[Source, Node] | None:
    """Where the element that a recorded layer stands for is written, followed from its owner's `__init__`.

    A layer without an owner of the user's own is looked for where the script assigns the name that is called.
    """
    owner = position.get("owner")
    if not owner:
        return _script_layer(position)
    source = source_of(owner["file"])
    function = starting_at(source, owner["line"])
    name, *rest = owner["way"].split(".")
    node = element_at(only_value(function, f"self.{name}"), rest, function) if name else None
    return (source, node) if node is not None else None


def _script_layer(position: Position) -> tuple[Source, Node] | None:
    """`net(x)` whose `net = nn.Sequential(...)` stands in the same file: the element that the path names."""
    at = recorded(position)
    if at is None or not isinstance(at[1], ast.Call) or not isinstance(at[1].func, ast.Name):
        return None
    source, name = at[0], at[1].func
    rest = position["path"].split(".") if position["path"] else []
    for scope in (source.function_at(name.lineno), source.tree):
        node = element_at(only_value(scope, name.id), rest, scope)
        if node is not None:
            return source, node
    return None


def element_at(node: ast.AST | None, rest: Sequence[str], scope: ast.AST | None) -> Any:
    """Down a path through `Sequential(...)`, `ModuleList([...])`, lists, dicts, comprehensions and plain names."""
    for key in rest:
        node = _element(_resolved(node, scope), key)
    return _resolved(node, scope)


def constructor(source: Source, node: ast.AST, layer: str) -> tuple[Source, ast.Call] | None:
    """The call of a layer's class that a node is, or that the function which the node calls holds."""
    if isinstance(node, ast.Call) and called(node) == layer:
        return source, node
    name = called(node) if isinstance(node, ast.Call) else None
    for one in _sources_with(source, name) if name else ():
        for function in one.nodes():
            if isinstance(function, ast.FunctionDef) and function.name == name:
                calls = [call for call in ast.walk(function) if isinstance(call, ast.Call) and called(call) == layer]
                if calls:
                    return one, calls[0]
    return None


def enclosing(source: Source, line: int, kinds: tuple[type[S], ...]) -> list[S]:
    """The statements of some kinds around a line, innermost first, not beyond its function."""
    function = source.function_at(line)
    first = function.lineno if function is not None else 0
    statements = [node for node in source.nodes() if isinstance(node, kinds)]
    around = [node for node in statements if first <= node.lineno and holds(node, line)]
    return sorted(around, key=lambda node: -node.lineno)


def decorators(source: Source, line: int) -> Iterator[tuple[Function, ast.expr]]:
    """The decorators of the function that holds a line."""
    function = source.function_at(line)
    for decorator in getattr(function, "decorator_list", ()):
        yield function, decorator  # type: ignore[misc]


def starting_at(source: Source, line: int) -> ast.AST | None:
    """The function that begins at a line as code objects count it: decorators belong to it."""
    functions = (node for node in source.nodes() if isinstance(node, Function))
    return next((one for one in functions if min([one.lineno, *(d.lineno for d in one.decorator_list)]) == line), None)


def _resolved(node: ast.AST | None, scope: ast.AST | None) -> ast.AST | None:
    for _ in range(_NAMES):
        if not isinstance(node, ast.Name):
            break
        node = only_value(scope, node.id)
    return node


def _element(node: Any, key: str) -> ast.AST | None:
    """One element of `nn.Sequential(...)`, `nn.ModuleList([...])`, a list, a dict or a comprehension."""
    if isinstance(node, ast.Call) and called(node) in ("ModuleList", "ModuleDict") and node.args:
        node = node.args[0]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return node.elt
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return next((value for name, value in pairs if isinstance(name, ast.Constant) and name.value == key), None)
    parts = node.args if isinstance(node, ast.Call) and called(node) == "Sequential" else getattr(node, "elts", [])
    if len(parts) == 1 and isinstance(parts[0], ast.Starred):
        return _element(parts[0].value, key)
    plain = key.isdigit() and not any(isinstance(part, ast.Starred) for part in parts)
    return parts[int(key)] if plain and int(key) < len(parts) else None


def _sources_with(source: Source, name: str) -> Iterator[Source]:
    """The file itself, and the files of the user's from which it imports a name."""
    yield source
    for file in imported_files(source.file, name):
        yield source_of(file)


def imported_files(file: str, name: str) -> list[str]:
    """Files of loaded modules that define a function of this name and lie in the same folder tree as `file`."""
    found = []
    for module in list(sys.modules.values()):
        function = vars(module).get(name) if type(module) is types.ModuleType else None
        where = getattr(getattr(function, "__code__", None), "co_filename", "")
        if where and where != file and os.path.dirname(where).startswith(os.path.dirname(file)):
            found.append(where)
    return sorted(set(found))
