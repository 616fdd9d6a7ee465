"""The edit that puts a key into every sample: a filler on each way on which a dict is left without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from explainer.diagnosis import Edit
from explainer.edits.kinds.arguments import literal
from explainer.edits.kinds.inplace import block_of
from explainer.edits.lines import EditError, changed, indentation, inserted, joined, relined
from explainer.edits.place import Place
from explainer.source import Source, walked

_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_ADDING = ("update", "setdefault")


def fill_key(at: Place, fills: Sequence[tuple[str, str]]) -> tuple[Edit, ...]:
    """An `else:` with `sample["age"] = torch.zeros(())` behind the `if` that adds a key; so too in handlers of a `try`.

    `at` is what `keyed` gives, `fills` the key and others, each with its filler. EditError where there is no other way.
    """
    at, key = at.statement() if isinstance(at.node, ast.Call) else at, fills[0][0]
    if isinstance(at.node, (ast.IfExp, ast.Return)):
        entries = ", ".join(f"{_quoted(name)}: {literal(filler)}" for name, filler in fills)
        return (_other_dict if isinstance(at.node, ast.IfExp) else _other_returns)(at, key, entries)
    lines = [f"{_entry(at, key, name)} = {literal(filler)}" for name, filler in fills]
    if removed(at.node, key) is not None:
        return _kept(at, lines[0])
    edits = [edit for gap in _gaps(at, key, lines) for edit in gap]
    if not edits:
        raise EditError("the key is added on every way")
    return joined(at.source, _together(edits))


def companions(at: Place, key: str) -> list[str]:
    """Other keys that are added together with a key, to the same dict, and nowhere else in the function."""
    function = at.source.function_at(at.node.lineno)
    owner = _target(at.node, key)
    if function is None or removed(at.node, key) is not None:
        return []
    near = block_of(at) if isinstance(at.node, ast.stmt) and not isinstance(at.node, ast.Return) else [at.node]
    added = [name for one in near for name in _keys(one, at.source, owner)]
    every = [one.value for one in walked(function) if isinstance(one, ast.Constant) and type(one.value) is str]
    every += [one.arg for one in walked(function) if isinstance(one, ast.keyword) and one.arg]
    return [name for name in dict.fromkeys(added) if name != key and every.count(name) == 1]


def _keys(node: ast.AST, source: Source, owner: ast.expr | None) -> list[str]:
    """The keys that a statement puts into a dict; those of the dict where none owns them."""
    if owner is None:
        dicts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.Dict)]
        return [
            key.value for one in dicts for key in one.keys if isinstance(key, ast.Constant) and type(key.value) is str
        ]
    inside = [one for one in walked(node) if isinstance(one, ast.Constant) and type(one.value) is str]
    names = [str(one.value) for one in inside]
    names += [one.arg for one in walked(node) if isinstance(one, ast.keyword) and one.arg]
    targets = [(name, _target(node, name)) for name in names]
    return [name for name, found in targets if found is not None and source.text(found) == source.text(owner)]


def keyed(function: ast.AST, key: str) -> Iterator[ast.stmt | ast.IfExp]:
    """What puts a key into a dict of a function or takes it out: statements, `{"age": x} if c else {}`, returns."""
    for node in walked(function):
        dicts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
        dicts += [node.value] if isinstance(node, ast.Return) and node.value is not None else []
        if any(_entries(one, key) for one in dicts) or (_target(node, key) or removed(node, key)) is not None:
            yield node  # type: ignore[misc]


def removed(node: ast.AST, key: str) -> ast.expr | None:
    """The dict that a statement takes a key out of: `del sample["age"]`, `sample.pop("age")`."""
    if isinstance(node, ast.Delete) and len(node.targets) == 1:
        return _owner(node.targets[0], key)
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "pop":
        return call.func.value if call.args and _is(call.args[0], key) else None
    return None


def _target(node: ast.AST, key: str) -> ast.expr | None:
    """The dict that a statement adds a key to: `sample["age"] = x`, `sample.update(age=x)`."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return _owner(node.targets[0], key)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _ADDING:
        return None
    named = call.func.attr == "update" and any(word.arg == key for word in call.keywords)
    given = call.args[0] if call.args else None
    return call.func.value if named or _is(given, key) or _entries(given, key) else None


def _owner(node: ast.expr, key: str) -> ast.expr | None:
    return node.value if isinstance(node, ast.Subscript) and _is(node.slice, key) else None


def _entries(node: ast.AST | None, key: str) -> bool:
    return isinstance(node, ast.Dict) and any(_is(one, key) for one in node.keys)


def _is(node: ast.AST | None, key: str) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (str, int) and str(node.value) == key


def _quoted(key: str) -> str:
    return key if key.isdigit() else f'"{key}"' if '"' not in key and "\\" not in key else repr(key)


def _entry(at: Place, key: str, name: str) -> str:
    """`sample["age"]`: the entry of a name, beside that of the key, as an assignment writes it."""
    owner = _target(at.node, key) or removed(at.node, key)
    if not isinstance(owner, (ast.Name, ast.Attribute, ast.Subscript)):
        raise EditError("the dict has no name")
    return f"{at.source.text(owner)}[{_quoted(name)}]"


def _kept(at: Place, text: str) -> tuple[Edit, ...]:
    """The filler in the place of a statement that takes the key out under a condition."""
    if not isinstance(at.parent(), ast.If):
        raise EditError("the key is always taken out")
    return changed(at.source, [(at.span, text)])


def _gaps(at: Place, key: str, lines: Sequence[str]) -> Iterator[tuple[Edit, ...]]:
    """An insertion for every way past a statement that adds a key, in its function or the loop that makes the dict."""
    function, name = at.source.function_at(at.node.lineno), lines[0].partition("[")[0]
    if any(_made(one, name) and _entries(one.value, key) for one in walked(function or at.node)):  # type: ignore[attr-defined]
        raise EditError("the dict is made with the key")
    node: ast.AST = at.node
    while node is not function:
        outer = at.at(node).parent()  # type: ignore[arg-type]
        if isinstance(outer, ast.If):
            outer = _first_of_chain(at, outer)
            yield from _in_branches(at.source, outer, key, lines)
        elif isinstance(outer, ast.Try) and node in outer.body:
            for handler in outer.handlers:
                yield from _at_end(at.source, handler.body, key, lines)
        elif isinstance(outer, (ast.For, ast.While, ast.AsyncFor)) and any(_made(one, name) for one in outer.body):
            return
        elif isinstance(outer, (ast.For, ast.While, ast.AsyncFor)) or outer is None:
            raise EditError("the key is added in a loop")
        node = outer
    yield from _early(at, function, lines) if function is not None else ()


def _made(node: ast.AST, name: str) -> bool:
    """Whether a statement binds the name of the dict."""
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _together(edits: list[Edit]) -> list[Edit]:
    """Edits of which those at one line, the innermost first, are one."""
    at: dict[int, Edit] = {}
    for edit in edits:
        above = at.get(edit.start_line)
        at[edit.start_line] = edit if above is None else replace(above, after=f"{above.after}\n{edit.after}")
    return list(at.values())


def _first_of_chain(at: Place, node: ast.If) -> ast.If:
    """The `if` that a chain of `elif` begins with."""
    for one in at.source.nodes():
        if isinstance(one, ast.If) and one.orelse == [node] and _is_elif(at.source, node):
            return _first_of_chain(at, one)
    return node


def _is_elif(source: Source, node: ast.If) -> bool:
    return source.line(node.lineno).lstrip().startswith("elif")


def _in_branches(source: Source, node: ast.If, key: str, lines: Sequence[str]) -> Iterator[tuple[Edit, ...]]:
    """The filler at the end of each branch that lacks the key, in an `else` of its own where there is none."""
    yield from _at_end(source, node.body, key, lines)
    if not node.orelse:
        indent = indentation(source, node.lineno)
        text = _indented(lines, indent + "    ")
        yield inserted(source, (node.end_lineno or 0) + 1, f"{indent}else:\n{text}")
    elif isinstance(node.orelse[0], ast.If) and _is_elif(source, node.orelse[0]):
        yield from _in_branches(source, node.orelse[0], key, lines)
    else:
        yield from _at_end(source, node.orelse, key, lines)


def _at_end(source: Source, body: list[ast.stmt], key: str, lines: Sequence[str]) -> Iterator[tuple[Edit, ...]]:
    """The filler as the last statement of a block that does not add the key, in the place of a lone `pass`."""
    last = body[-1]
    if isinstance(last, _LEAVES) or any(_adds(one, key) for one in body):
        return
    text = _indented(lines, _indent(source, last))
    if isinstance(last, ast.Pass):
        yield relined(source, last.lineno, last.end_lineno or last.lineno, text)
    else:
        yield inserted(source, (last.end_lineno or 0) + 1, text)


def _adds(statement: ast.stmt, key: str) -> bool:
    return any(_target(one, key) is not None for one in walked(statement))


def _indented(lines: Sequence[str], indent: str) -> str:
    return "\n".join(indent + line for line in lines)


def _indent(source: Source, statement: ast.stmt) -> str:
    indent = indentation(source, statement.lineno)
    if len(indent) != statement.col_offset:
        raise EditError("the statement stands behind a colon")
    return indent


def _early(at: Place, function: ast.AST, lines: Sequence[str]) -> Iterator[tuple[Edit, ...]]:
    """The filler before each `return` of the same dict, or of nothing, above the statement that adds the key."""
    name, arguments = lines[0].partition("[")[0], {one.arg for one in function.args.args}  # type: ignore[attr-defined]
    for node in walked(function):
        if isinstance(node, ast.Return) and node.lineno < at.node.lineno:
            bare = node.value is None and name in arguments
            if bare or (node.value is not None and at.source.text(node.value) == name):
                yield _before(at.source, node, lines)


def _before(source: Source, node: ast.Return, lines: Sequence[str]) -> tuple[Edit, ...]:
    """Statements before a `return`, also before one that stands behind a colon."""
    indent, line = indentation(source, node.lineno), source.line(node.lineno)
    if len(indent) == node.col_offset:
        return inserted(source, node.lineno, _indented(lines, indent))
    head = line[: source.character(node.lineno, node.col_offset) - 1].rstrip()
    text = _indented([*lines, source.text(node)], indent + "    ")
    return relined(source, node.lineno, node.lineno, f"{head}\n{text}")


def _other_dict(at: Place, key: str, entries: str) -> tuple[Edit, ...]:
    """`{"age": x} if known else {}` -> `... else {"age": 0.0}`."""
    node = at.node
    empty = [one for one in (node.body, node.orelse) if isinstance(one, ast.Dict) and not one.keys]  # type: ignore[union-attr]
    if len(empty) != 1:
        raise EditError("no empty dict stands beside it")
    return changed(at.source, [(at.source.span(empty[0]), f"{{{entries}}}")])


def _other_returns(at: Place, key: str, entries: str) -> tuple[Edit, ...]:
    """The key put into the other dicts that a function returns."""
    function = at.source.function_at(at.node.lineno)
    returns = [one.value for one in walked(function) if isinstance(one, ast.Return)] if function is not None else []
    lacking = [one for one in returns if isinstance(one, ast.Dict) and one.values and not _entries(one, key)]
    if not lacking:
        raise EditError("no other dict is returned")
    return changed(at.source, [(at.at(one.values[-1]).end, f", {entries}") for one in lacking])
