"""Edits of the user's source as whole lines: calls, arguments, statements put in, moved, taken out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed, deleted, indentation, inserted, joined, relined
from explainer.source import Source, called, with_argument
from explainer.training.sites import Frame, Site

Edits = tuple[Edit, ...]
#: What no sign beside it takes apart.
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)


def call_in(frame: Frame, *names: str) -> tuple[Source, ast.Call] | None:
    """The call at which a frame stood, or the one of some name on its statement."""
    found = frame.node()
    if found is not None and isinstance(found.node, ast.Call) and (not names or called(found.node) in names):
        return found.source, found.node
    source = frame.source()
    statement = source.statement_at(frame.line)
    if statement is None:
        return None
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call) and (not names or called(one) in names)]
    near = [one for one in calls if one.lineno <= frame.line <= (one.end_lineno or one.lineno)]
    return (source, near[0]) if len(near) == 1 or (near and names) else None


def argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """What a call is given under a keyword, or at a place where it may stand there too."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place is not None and len(call.args) > place else None


def operand(source: Source, node: ast.expr) -> str:
    """A node's text as it may stand beside any operator."""
    return source.text(node) if isinstance(node, _PLAIN) else f"({source.text(node)})"


def replaced(source: Source, node: ast.AST, text: str) -> Edits:
    """A node's text replaced; no edits where that cannot be done."""
    return changed_at(source, source.span(node), text)


def changed_at(source: Source, span: Span, text: str) -> Edits:
    """What lies between two positions replaced."""
    return _tried(lambda: changed(source, [(span, text)]))


def both(source: Source, pairs: Iterable[tuple[ast.AST, str]]) -> Edits:
    """Several nodes' texts replaced."""
    return _tried(lambda: changed(source, [(source.span(node), text) for node, text in pairs]))


def with_keyword(source: Source, call: ast.Call, name: str, text: str) -> Edits:
    """A call with a keyword set or added."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return replaced(source, keyword.value, text)
    return replaced(source, call, with_argument(source, call, f"{name}={text}"))


def before(source: Source, statement: ast.stmt, text: str) -> Edits:
    """Lines put in before a statement, with its indentation."""
    return _tried(lambda: inserted(source, statement.lineno, _indented(source, statement.lineno, text)))


def after(source: Source, statement: ast.stmt, text: str) -> Edits:
    """Lines put in behind a statement, with its indentation."""
    line = (statement.end_lineno or statement.lineno) + 1
    return _tried(lambda: inserted(source, line, _indented(source, statement.lineno, text)))


def after_loop(source: Source, loop: ast.For | ast.While, inside: str, behind: str) -> Edits:
    """Lines put in at the end of a loop's body, and others right behind the loop."""
    last = loop.body[-1]
    text = f"{_indented(source, last.lineno, inside)}\n{_indented(source, loop.lineno, behind)}"
    return _tried(lambda: inserted(source, (last.end_lineno or last.lineno) + 1, text))


def without(source: Source, statement: ast.stmt) -> Edits:
    """A statement taken out; `pass` in its place where it stands alone."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    try:
        return deleted(source, first, last)
    except EditError:
        return _tried(lambda: relined(source, first, last, indentation(source, first) + "pass"))


def together(source: Source, *groups: Edits) -> Edits:
    """Edits of one file put together; none where one of them could not be made."""
    if not all(groups):
        return ()
    return _tried(lambda: joined(source, *groups))


def moved(source: Source, statement: ast.stmt, where: ast.stmt, behind: bool) -> Edits:
    """A statement taken from its place and put before or behind another one."""
    text = source.text(statement)
    put = after(source, where, text) if behind else before(source, where, text)
    return together(source, without(source, statement), put)


def _indented(source: Source, line: int, text: str) -> str:
    space = indentation(source, line)
    return "\n".join(space + one if one else one for one in text.split("\n"))


def _tried(make: Callable[[], Edits]) -> Edits:
    try:
        return make()
    except EditError:
        return ()


def block_of(source: Source, statement: ast.stmt) -> tuple[list[ast.stmt], ast.AST] | None:
    """The list of statements that a statement stands in, and whose it is."""
    for node in source.nodes():
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and any(one is statement for one in body):
                return body, node
    return None


def loop_around(source: Source, statement: ast.stmt) -> Any:
    """The innermost loop around a statement, inside its function."""
    around = [
        one
        for one in source.nodes()
        if isinstance(one, (ast.For, ast.While))
        and one is not statement
        and one.lineno <= statement.lineno
        and (one.end_lineno or 0) >= (statement.end_lineno or 0)
    ]
    return max(around, key=lambda one: one.lineno, default=None)


def innermost(site: Site) -> Frame | None:
    """The innermost of the user's frames of a site."""
    return site[0] if site else None


def literal_of(source: Source, node: ast.AST, site: Site) -> tuple[Source, ast.AST] | None:
    """Where a number in a call's argument is written: here, or where its name or key got it; None where unsure."""
    return _literal(source, node, 6, [frame.source() for frame in site])


def _literal(source: Source, node: ast.AST, depth: int, others: list[Source]) -> tuple[Source, ast.AST] | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return source, node
    if not depth:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return source, node
    name = None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = node.slice.value
    elif isinstance(node, ast.Attribute):
        name = node.attr
    elif isinstance(node, ast.Name):
        name = node.id
    if not isinstance(name, str):
        return None
    found: list[tuple[Source, ast.AST]] = []
    for one in dict.fromkeys([id(each) for each in (source, *others)]):
        here = next(each for each in (source, *others) if id(each) == one)
        found += [(here, value) for value in _given(here, name)]
    numbers = [
        (where, value)
        for where, value in found
        if isinstance(value, ast.Constant) and type(value.value) in (int, float)
    ]
    if len({(where.file, value.lineno, value.col_offset) for where, value in numbers}) == 1:  # type: ignore[attr-defined]
        return numbers[0]
    if numbers:
        calls = [one for one in numbers if getattr(one[1], "_from_call", False)]
        return calls[0] if len(calls) == 1 else None
    followed = [
        _literal(where, value, depth - 1, others) for where, value in found if not isinstance(value, ast.Constant)
    ]
    known = [one for one in followed if one is not None]
    return known[0] if len(known) == 1 else None


def _given(source: Source, name: str) -> list[ast.AST]:
    """Every value that a name, key, attribute, parameter or option of this name is given in a file."""
    found: list[ast.AST] = []
    for node in source.nodes():
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                same = (isinstance(target, ast.Name) and target.id == name) or (
                    isinstance(target, ast.Attribute) and target.attr == name
                )
                if same and node.value is not None:
                    found.append(node.value)
                if (
                    isinstance(target, ast.Tuple)
                    and isinstance(node.value, ast.Tuple)
                    and len(target.elts) == len(node.value.elts)
                ):
                    found += [
                        value
                        for one, value in zip(target.elts, node.value.elts, strict=True)
                        if isinstance(one, ast.Name) and one.id == name
                    ]
        elif isinstance(node, ast.Dict):
            found += [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == name
            ]
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == name:
                    found.append(keyword.value)
            if called(node) == "add_argument" and any(
                isinstance(one, ast.Constant) and str(one.value).lstrip("-").replace("-", "_") == name
                for one in node.args
            ):
                found += [keyword.value for keyword in node.keywords if keyword.arg == "default"]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            plain, defaults = [*node.args.posonlyargs, *node.args.args], node.args.defaults
            for argument, default in zip(plain[len(plain) - len(defaults) :], defaults, strict=True):
                if argument.arg == name:
                    found.append(default)
            for argument, given in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                if argument.arg == name and given is not None:
                    found.append(given)
            place = next((index for index, one in enumerate(plain) if one.arg == name), None)
            if place is not None:
                found += _passed(source, node.name, place - (bool(plain) and plain[0].arg in ("self", "cls")), node)
    return found


def _passed(source: Source, function: str, place: int, definition: ast.AST) -> list[ast.AST]:
    """What calls in the file pass at a place of a function's, or of the class's whose `__init__` it is."""
    names = {function}
    if function == "__init__":
        owner = source.class_at(definition.lineno)  # type: ignore[attr-defined]
        names = {owner.name} if owner is not None else set()
    return [
        one.args[place]
        for one in source.nodes()
        if isinstance(one, ast.Call)
        and called(one) in names
        and len(one.args) > place >= 0
        and not isinstance(one.args[place], ast.Starred)
    ]
