"""Other alignments of a broadcast: the same edit with the dimensions of size 1 that it adds at other places."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence

from explainer.diagnosis import Edit
from explainer.frozen import frozen

#: Dimensions that are tried, and how many of size 1 an edit may add.
_DIMENSIONS, _MOST = 4, 2


@frozen
class Added:
    """Dimensions of size 1 that an expression adds to `base`, at `places` from the front, or from the back."""

    text: str
    base: str
    places: tuple[int, ...]
    back: bool

    def others(self) -> Iterator[str]:
        """The expressions that add as many at other places."""
        for places in itertools.combinations(range(_DIMENSIONS), len(self.places)):
            if places != tuple(sorted(self.places)):
                calls = (f".unsqueeze({-one - 1 if self.back else one})" for one in places)
                yield self.base + "".join(calls)


def other_alignments(edits: Sequence[Edit]) -> Iterator[tuple[tuple[Edit, ...], str, str]]:
    """Edits with other alignments, each with the expression that gave way and the one in its place."""
    for number, edit in enumerate(edits):
        for added in added_in(edit):
            for text in added.others():
                after = (edit.after or "").replace(added.text, text, 1)
                other = dataclasses.replace(edit, after=after)
                yield (*edits[:number], other, *edits[number + 1 :]), added.text, text


def alignments(edits: Sequence[Edit]) -> list[Added]:
    """All dimensions of size 1 that edits add."""
    return [added for edit in edits for added in added_in(edit)]


def other_places(edits: Sequence[Edit], others: Sequence[Edit]) -> bool:
    """Whether two edits add dimensions of size 1 to the same expressions, and at other places."""
    one, other = (
        [(added.base, added.back, sorted(added.places)) for added in alignments(all)] for all in (edits, others)
    )
    return [base for base, *_ in one] == [base for base, *_ in other] and one != other


def added_in(edit: Edit) -> list[Added]:
    """What adds dimensions of size 1 in an edit's new lines and not in the old ones; a name mended adds nothing."""
    if _renames(edit):
        return []
    before, after = ({one.text: one for one in _found(text)} for text in (edit.before, edit.after))
    new = [one for text, one in after.items() if text not in before]
    return [one for one in new if not any(one is not other and one.text in other.text for other in new)]


def _renames(edit: Edit) -> bool:
    """Whether an edit only gives one name in place of another."""
    old, new = (re.findall(r"\w+|\S", text or "") for text in (edit.before, edit.after))
    changed = [(one, other) for one, other in zip(old, new, strict=False) if one != other]
    return len(old) == len(new) and len(changed) == 1 and all(one.isidentifier() for one in changed[0])


def _found(text: str | None) -> Iterator[Added]:
    code = textwrap.dedent(text or "").strip()
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        segment = ast.get_source_segment(code, node) if isinstance(node, (ast.Call, ast.Subscript)) else None
        added = _unsqueezed(code, node) or _indexed(code, node) if segment and "\n" not in segment else None
        if segment and added is not None and 0 < len(added[1]) <= _MOST:
            yield Added(segment, *added)


def _unsqueezed(code: str, node: ast.AST) -> tuple[str, tuple[int, ...], bool] | None:
    """`base.unsqueeze(1).unsqueeze(2)`, its places counted in what comes out."""
    given: list[int] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unsqueeze":
        value = _whole(node.args[0] if node.args else node.keywords[0].value if node.keywords else node)
        if value is None:
            return None
        given.insert(0, value)
        node = node.func.value
    if not given or len({one < 0 for one in given}) > 1:
        return None
    back = given[0] < 0
    places: list[int] = []
    for one in (-one - 1 if back else one for one in given):
        places = [place + (place >= one) for place in places] + [one]
    return ast.get_source_segment(code, node) or "", tuple(places), back


def _whole(node: ast.AST) -> int | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    return sign * node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _indexed(code: str, node: ast.AST) -> tuple[str, tuple[int, ...], bool] | None:
    """`base[:, None]`, `base[..., None]`."""
    if not isinstance(node, ast.Subscript):
        return None
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    kinds = [_kind(one) for one in items]
    if "none" not in kinds or "" in kinds or kinds.count("...") > 1:
        return None
    back = kinds[0] == "..."
    if "..." in kinds[1:]:
        kinds = kinds[: kinds.index("...")] if kinds[-1] == "..." else []
    places = [at for at, kind in enumerate(reversed(kinds) if back else kinds) if kind == "none"]
    return (ast.get_source_segment(code, node.value) or "", tuple(places), back) if places else None


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return "none" if node.value is None else "..." if node.value is ... else ""
    plain = isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None
    return ":" if plain else ""
