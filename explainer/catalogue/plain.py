"""Templates of facts, conditions and a few filters, rendered as jinja2 would, without it.

What has loops, settings, comments or tags among lines, or expressions that `simple` does not know, is left to jinja2.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from explainer.catalogue import simple
from explainer.catalogue.bounds import WordsError, weighed
from explainer.catalogue.simple import Names, Unlike, attribute
from explainer.patterns import Pattern

#: `{%-` takes the white space before it away.
_PIECE = Pattern(r"\{\{(.*?)\}\}|(?:\s*\{%-|\{%)(.*?)%\}", re.DOTALL)
#: Comments, and what else trims white space; jinja2 trims around tags that stand on lines of their own.
_OTHER = Pattern(r"\{#|\r|\{%.*\n|\n.*\{%|\{\{[-+]|\{%\+|[-+]\}\}|[-+]%\}", re.DOTALL)
#: `m.rows`, `x.shape[-1]`: a name and what hangs on it.
_PATH_TEXT = r"\s*([a-z]\w*(?:\.[a-zA-Z]\w*|\[-?\d+\])+)\s*"
_PATH = Pattern(_PATH_TEXT)
_STEP = Pattern(r"\.?([a-zA-Z]\w*)|\[(-?\d+)\]")
#: What most conditions ask: whether a pattern captured something.
_GIVEN = Pattern(_PATH_TEXT + r"is (not )?[nN]one\s*")

Value = Callable[[Names], Any]
Text = Callable[[Names], str]


def renderer(template: str) -> Text | None:
    """What renders a template, None where that takes jinja2."""
    if _OTHER.search(template):
        return None
    try:
        pieces, tag, _ = _sequence(_tokens(template.removesuffix("\n")))
    except Unlike:
        return None
    return None if tag else _together(pieces)


def _tokens(template: str) -> Iterator[tuple[str, str]]:
    """The kind of each piece, with its inner text."""
    at = 0
    for found in _PIECE.finditer(template):
        yield "text", template[at : found.start()]
        yield ("value", found[1]) if found[1] is not None else ("tag", found[2].strip())
        at = found.end()
    yield "text", template[at:]


def _sequence(tokens: Iterator[tuple[str, str]]) -> tuple[list[Text], str, str]:
    """The pieces up to the tag that ends a branch, with that tag and its condition; an empty tag at the end."""
    pieces: list[Text] = []
    for kind, inner in tokens:
        tag, _, condition = inner.partition(" ")
        if kind == "text" and ("{{" in inner or "{%" in inner):
            raise Unlike("an open tag")
        if kind == "text":
            pieces.append(_literal(inner))
        elif kind == "value":
            pieces.append(_printed(inner))
        elif tag in ("elif", "else", "endif"):
            return pieces, tag, condition
        elif tag == "if":
            pieces.append(_choice(tokens, condition))
        else:
            raise Unlike(tag)
    return pieces, "", ""


def _choice(tokens: Iterator[tuple[str, str]], condition: str) -> Text:
    """`{% if a %}...{% elif b %}...{% else %}...{% endif %}`, from behind the first tag on."""
    branches: list[tuple[Value, Text]] = []
    tag = "if"
    while tag != "endif":
        holds = _value(condition) if tag != "else" else _always
        pieces, following, condition = _sequence(tokens)
        if not following or (tag == "else" and following != "endif"):
            raise Unlike(following)
        branches.append((holds, _together(pieces)))
        tag = following
    return lambda names: next((text(names) for holds, text in branches if holds(names)), "")


def _always(names: Names) -> bool:
    return True


def _together(pieces: list[Text]) -> Text:
    return lambda names: "".join([piece(names) for piece in pieces])


def _literal(text: str) -> Text:
    return lambda names: text


def _printed(expression: str) -> Text:
    value = _value(expression)
    return lambda names: str(weighed(printable(value(names))))


def printable(found: Any) -> Any:
    """What a template prints. Raises WordsError for none."""
    if found is None:
        raise WordsError("a template prints none; guard it with {% if ... is not none %}")
    return found


def _value(expression: str) -> Value:
    """What an expression gives. Raises Unlike where that takes jinja2."""
    path = _PATH.fullmatch(expression)
    if path is not None:
        return _path(path[1])
    asked = _GIVEN.fullmatch(expression)
    if asked is not None:
        return _given(_path(asked[1]), asked[2] is not None)
    tree = simple.parsed(expression)
    if tree is None:
        raise Unlike(expression)
    return _made(tree)


def _made(tree: ast.expr) -> Value:
    """An expression with what most conditions are made of taken apart once."""
    if isinstance(tree, ast.BoolOp):
        return _linked([_made(one) for one in tree.values], isinstance(tree.op, ast.Or))
    asked = _GIVEN.fullmatch(text := ast.unparse(tree))
    if asked is not None:
        return _given(_path(asked[1]), asked[2] is not None)
    if _PATH.fullmatch(text):
        return _path(text)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in simple.COMPARED:
        return _compared(simple.COMPARED[type(tree.ops[0])], _made(tree.left), _made(tree.comparators[0]))
    if isinstance(tree, ast.Constant):
        return lambda names: tree.value
    return lambda names: simple.evaluated(tree, names)


def _compared(sign: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    return lambda names: sign(left(names), right(names))


def _linked(parts: list[Value], either: bool) -> Value:
    """The first of some values that decides `or`, or `and`."""

    def linked(names: Names) -> Any:
        found: Any = None
        for part in parts:
            found = part(names)
            if bool(found) is either:
                break
        return found

    return linked


def _path(text: str) -> Value:
    """What a path leads to; of most it is what a pattern captured."""
    steps: list[Any] = [name or int(place) for name, place in _STEP.findall(text)]
    if len(steps) != 2 or isinstance(steps[1], int):
        return lambda names: _followed(steps, names)
    owner, name = steps

    def field(names: Names) -> Any:
        held = names.get(owner)
        return held[name] if type(held) is dict and name in held else _followed(steps, names)

    return field


def _given(path: Value, is_asked: bool) -> Value:
    """Whether something is, or is not, none. Where it is not there, jinja2 may see no error."""

    def asked(names: Names) -> bool:
        try:
            return (path(names) is not None) is is_asked
        except WordsError as error:
            raise Unlike(str(error)) from None

    return asked


def _followed(steps: list[Any], names: Names) -> Any:
    found: Any = names
    for step in steps:
        found = found[step] if isinstance(step, int) else attribute(found, step)
    return found
