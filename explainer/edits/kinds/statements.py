"""Edits of whole statements: insert, delete, move, unwrap a block, register a buffer, make a list a ModuleList."""

from __future__ import annotations

import ast
import textwrap

from explainer.diagnosis import Edit, Span
from explainer.edits.kinds.inplace import block_of, index_in
from explainer.edits.lines import EditError, changed, deleted, indentation, inserted, joined, relined, shown
from explainer.edits.place import Place, by_file, replaced_each
from explainer.source import called, loaded, stored, walked

#: Containers as they are written out.
_DISPLAYS = (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)


def insert_statement(text: str, before: Place | None = None, after: Place | None = None) -> tuple[Edit, ...]:
    """A new statement before or after another, at its indentation."""
    place = (before or after or _nowhere()).statement()
    line = _first(place.node) if before is not None else (place.node.end_lineno or 0) + 1
    return inserted(place.source, line, _indented(text, indentation(place.source, place.node.lineno)))


def surround_statement(at: Place, text: str, then: str = "") -> tuple[Edit, ...]:
    """A new statement before another, and `then` behind it. EditError where what stands behind it is not reached."""
    if not then:
        return insert_statement(text, before=at)
    if any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in walked(at.statement().node)):
        raise EditError("the statement is left before its end")
    return joined(at.source, insert_statement(text, before=at), insert_statement(then, after=at))


def append_to_body(block: Place, text: str) -> tuple[Edit, ...]:
    """A new last statement of a loop's, function's or with-block's body."""
    last = block.node.body[-1]  # type: ignore[union-attr]
    return inserted(block.source, last.end_lineno + 1, _indented(text, indentation(block.source, last.lineno)))


def delete_statement(at: Place) -> tuple[Edit, ...]:
    """A statement taken out; `pass` in its place where its block would be empty."""
    node = at.statement().node
    first, last = _first(node), node.end_lineno or 0
    try:
        return deleted(at.source, first, last)
    except EditError:
        return relined(at.source, first, last, indentation(at.source, first) + "pass")


def move_statement(at: Place, before: Place | None = None, after: Place | None = None) -> tuple[Edit, ...]:
    """A statement put before or after another of the same file, at that one's indentation."""
    moved, goal = at.statement(), (before or after or _nowhere()).statement()
    first, last = _first(moved.node), moved.node.end_lineno or 0
    text = _dedented(list(at.source.lines[first - 1 : last]))
    line = _first(goal.node) if before is not None else (goal.node.end_lineno or 0) + 1
    if first <= line <= last:
        raise EditError("the statement stands there already")
    indent = indentation(goal.source, goal.node.lineno)
    gone = Edit(_shown(at), first, last, "\n".join(at.source.lines[first - 1 : last]), None)
    put = Edit(_shown(at), line, line - 1, None, _indented(text, indent))
    return joined(at.source, [gone], [put])


def move_after_loop(at: Place) -> tuple[Edit, ...]:
    """A statement put behind the innermost loop around it."""
    line = at.statement().node.lineno
    loops = [one for one in at.source.nodes() if isinstance(one, (ast.For, ast.AsyncFor, ast.While))]
    around = [one for one in loops if one.lineno < line <= (one.end_lineno or 0)]
    if not around:
        raise EditError("no loop stands around it")
    loop = max(around, key=lambda one: one.lineno)
    if len(loop.body) == 1:
        raise EditError("nothing else is done in the loop")
    if loaded(at.statement().node) & stored(loop):
        raise EditError("it reads what each pass of the loop binds anew")
    return move_statement(at, after=at.at(loop))


def move_to_caller(at: Place, after: Place, text: str) -> tuple[Edit, ...]:
    """A statement taken out of a function, and put as `text` after one of another function, maybe in another file."""
    gone, put = delete_statement(at), insert_statement(text, after=after)
    return joined(at.source, gone, put) if at.source.file == after.source.file else (*gone, *put)


def unwrap_block(at: Place) -> tuple[Edit, ...]:
    """The body of a `with`, `if` or `try` block without the block around it."""
    node = at.statement().node
    body = getattr(node, "body", None)
    if not isinstance(node, (ast.With, ast.If, ast.Try)) or not body:
        raise EditError("no block stands here")
    if getattr(node, "orelse", None):
        raise EditError("the block has an else")
    inner = list(at.source.lines[body[0].lineno - 1 : body[-1].end_lineno])
    text = _indented(_dedented(inner), indentation(at.source, node.lineno))
    return relined(at.source, node.lineno, node.end_lineno or node.lineno, text)


def register_buffer(at: Place) -> tuple[Edit, ...]:
    """`self.mask = value` -> `self.register_buffer("mask", value)`."""
    owner, name, value = _self_assignment(at)
    text = f'{owner}.register_buffer("{name}", {at.source.text(value)})'
    return changed(at.source, [(at.source.span(at.statement().node), text)])


def is_made(value: ast.AST) -> bool:
    """Whether a value is computed, or made by a call of no class: a tensor that may be a buffer, and no layer."""
    return isinstance(value, ast.BinOp) or (isinstance(value, ast.Call) and not called(value)[:1].isupper())


def register_buffers(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """`register_buffer` for several `self.mask = value` at once, also of different files."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        changes = []
        for place in own:
            owner, name, value = _self_assignment(place)
            text = f'{owner}.register_buffer("{name}", {source.text(value)})'
            changes.append((source.span(place.statement().node), text))
        edits += changed(source, changes)
    return tuple(edits)


def parameters(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """Values wrapped as parameters: `torch.ones(n)` -> `nn.Parameter(torch.ones(n))`."""
    return replaced_each(each, lambda place: f"{nn_name(place)}.Parameter({place.text})")


def wrap_rest(at: Place, header: str) -> tuple[Edit, ...]:
    """A statement replaced by a block header, with the statements that follow it put into the block."""
    node, body = at.statement().node, block_of(at)
    rest = body[index_in(body, at) + 1 :]
    if not rest:
        raise EditError("nothing follows")
    first, last = node.lineno, rest[-1].end_lineno or rest[-1].lineno
    lines = at.source.lines[(node.end_lineno or first) : last]
    inner = [f"    {line}" if line.strip() else line for line in lines]
    return relined(at.source, first, last, "\n".join([indentation(at.source, first) + header, *inner]))


def module_list(at: Place, to: str = "") -> tuple[Edit, ...]:
    """`self.blocks = [...]` -> `nn.ModuleList([...])`, or the container `to`; a dict becomes a ModuleDict.

    Lists and dicts that are written as entries of it become such too.
    """
    return changed(at.source, [_as_registered(at, to)])


def module_lists(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """`module_list` for several containers at once, also of different files."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        edits += changed(source, [_as_registered(place) for place in own])
    return tuple(edits)


def _as_registered(at: Place, to: str = "") -> tuple[Span, str]:
    """The span of a container, and its text as one that registers what it holds."""
    node = at.node
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else node
    if not isinstance(value, (*_DISPLAYS, ast.Call, ast.Name, ast.BinOp)):
        raise EditError("no list stands here")
    wanted = f"{nn_name(at)}.{to}({_text(at, value)})" if to else _registered(at, value)
    for entry in _entries(value):
        own = _registered(at, entry)
        wanted = wanted.replace(at.source.text(entry), own) if own not in wanted else wanted
    return at.source.span(value), wanted


def _registered(at: Place, value: ast.expr) -> str:
    keyed = isinstance(value, (ast.Dict, ast.DictComp)) or (isinstance(value, ast.Call) and called(value) == "dict")
    return f"{nn_name(at)}.{'ModuleDict' if keyed else 'ModuleList'}({_text(at, value)})"


def _text(at: Place, value: ast.expr) -> str:
    text = at.source.text(value)
    return f"[{text}]" if isinstance(value, ast.Tuple) and not text.startswith("(") else text


def _entries(value: ast.expr) -> list[ast.expr]:
    """The lists and dicts that are written as entries of one."""
    if isinstance(value, (ast.ListComp, ast.DictComp)):
        entries = [value.elt if isinstance(value, ast.ListComp) else value.value]
    else:
        entries = list(getattr(value, "elts", None) or getattr(value, "values", None) or ())
    return [one for one in entries if isinstance(one, _DISPLAYS)]


def nn_name(at: Place) -> str:
    """What the file calls `torch.nn`: `nn` where it is imported under that name."""
    for node in at.source.nodes():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in node.names:
                if name.name in ("torch.nn", "nn") and (name.asname or name.name) != "torch.nn":
                    return name.asname or name.name
    return "torch.nn"


def _self_assignment(at: Place) -> tuple[str, str, ast.expr]:
    node = at.statement().node
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if isinstance(node, ast.AnnAssign):
        target = node.target
    value = getattr(node, "value", None)
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name) or value is None:
        raise EditError("no attribute of self is assigned here")
    return target.value.id, target.attr, value


def _first(node: ast.AST) -> int:
    """The first line of a statement, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])  # type: ignore[attr-defined]


def _dedented(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines))


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line.strip() else line for line in text.split("\n"))


def _shown(at: Place) -> str:
    return shown(at.source.file)


def _nowhere() -> Place:
    raise EditError("say before or after what")
