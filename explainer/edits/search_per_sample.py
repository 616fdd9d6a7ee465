"""Candidates for values with one entry for each sample that meet all places of a sample: `self.keep[t] * images`.

The sizes of one go where the values are used, all of one kind together, where they get their name, or where a helper
returns them.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary, bound_above
from explainer.edits.search_broadcast import REDUCTIONS
from explainer.edits.search_spread import Meeting, meeting
from explainer.edits.slices import Operand, editable, trunk
from explainer.source import called

#: Methods and functions whose result has the shape of what they are given.
_EACH = ("sqrt", "rsqrt", "exp", "log", "pow", "square", "abs", "neg", "reciprocal", "clamp", "sigmoid", "softplus",
         "float", "double", "half", "to", "type_as", "detach", "clone", "cpu", "cuda")  # fmt: skip
_ARITHMETIC = ("mul", "add", "sub", "div", "where", "masked_fill", "mul_", "add_", "sub_", "div_", "lerp")
_LOOKUPS = ("gather", "__getitem__", "index_select", "take", "embedding")
#: How many statements are given sizes of one together.
_MOST = 3


def in_all_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`keep[t] * x + spoil[t] * noise` -> `keep[t][:, None, None] * x + spoil[t][:, None, None] * noise`."""
    met = _meeting(evidence)
    if met is None:
        return
    made = list(_returned(evidence, met))
    yield from (one for one, calls in made if calls > 1)
    yield from _used(evidence, met)
    yield from _bound(evidence, met)
    yield from (one for one, calls in made if calls < 2)


def _meeting(evidence: Evidence) -> Meeting | None:
    """The failing call, where the values are no reduction's and surely one for each sample."""
    met = meeting(evidence)
    if met is None or met.small.place is None or _reduced(evidence, met.small, met.large):
        return None
    return met if _plain(evidence, met.small, met.large) else None


def _scope(met: Meeting) -> ast.AST:
    """The function of the failing call, or its file."""
    return met.place.source.scope_at(met.place.span.line)  # type: ignore[no-any-return]


def _reduced(evidence: Evidence, small: Operand, large: Operand) -> bool:
    """Whether a reduction made the values: then `keepdim=True` is meant."""
    behind = trunk(evidence, small.start, 4)
    return any(one.function in REDUCTIONS and len(one.before[0][0]) == len(large.shape) for one in behind if one.before)


def _plain(evidence: Evidence, small: Operand, large: Operand) -> bool:
    """Whether no other dimensions have these sizes, or the values are looked up by an index for each sample."""
    places = itertools.combinations(range(len(large.shape)), len(small.shape))
    fits = [own for own in places if [large.shape[at] for at in own] == small.shape]
    looked_up = [one for one in trunk(evidence, small.start, 3) if one.function in _LOOKUPS]
    return len(fits) == 1 or any((small.shape, "int64") in one.before for one in looked_up)


def _used(evidence: Evidence, met: Meeting) -> Iterator[Candidate]:
    """The sizes of one at each use of the kind: in the failing statement, then in those that follow."""
    leaves = [one for one in _leaves(met.small.place.node) if _may_be(met, one)]  # type: ignore[union-attr]
    groups: dict[int, list[Place]] = {}
    for node in _in_arithmetic(_scope(met)):
        if any(_alike(node, leaf) for leaf in leaves) and node.lineno >= met.place.statement().span.line:
            place = met.place.at(node)
            groups.setdefault(place.statement().span.line, []).append(place)
    lines = sorted(groups)
    for count in range(1, min(len(lines), _MOST) + 1):
        yield from _spread(evidence, met, [place for line in lines[:count] for place in groups[line]])


def _spread(evidence: Evidence, met: Meeting, places: list[Place]) -> Iterator[Candidate]:
    if not all(editable(one) for one in places):
        return
    changes = [(one.span, f"{as_primary(one)}{met.index}") for one in places]
    what = ", ".join(dict.fromkeys(" ".join(one.text.split()) for one in places))
    words: dict[str, Any] = {"what": what[:48], "method": met.index, "shape": met.small.shape}
    yield from evidence.made(partial(changed, places[0].source, changes), "insert-method", places[0], "insert", **words)


def _bound(evidence: Evidence, met: Meeting) -> Iterator[Candidate]:
    """The sizes of one where names get such values, if nothing but arithmetic is done with the names."""
    used = {id(node) for node in _in_arithmetic(_scope(met))}
    names = [one.id for one in _leaves(met.small.place.node) if isinstance(one, ast.Name) and _may_be(met, one)]  # type: ignore[union-attr]
    for name in dict.fromkeys(names):
        made = bound_above(_scope(met), name, met.place.span.line)
        loads = [one for one in ast.walk(_scope(met)) if _loads(one, made)] if made is not None else []
        if made is not None and len(loads) > 1 and all(id(one) in used for one in loads):
            both = [
                one for one in ast.walk(_scope(met)) if isinstance(one, ast.Assign) and _alike(one.value, made.value)
            ]
            yield from _spread(evidence, met, [met.place.at(one.value) for one in both])


def _loads(node: ast.AST, made: ast.Assign) -> bool:
    named = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return named and node.id == ast.unparse(made.targets[0]) and node.lineno > made.lineno  # type: ignore[attr-defined]


def _returned(evidence: Evidence, met: Meeting) -> Iterator[tuple[Candidate, int]]:
    """The sizes of one where a function of the program returns the values, and how often it is called."""
    for helper in _helpers(evidence, met):
        function = helper.source.function_at(helper.span.line)
        returns = [one for one in ast.walk(function) if isinstance(one, ast.Return)] if function is not None else []
        parts = [part for one in returns for part in _parts(one.value)]
        calls = list(_calls(evidence, getattr(function, "name", "")))
        if parts and all(helper.source.function_at(one.lineno) is function for one in returns) and all(calls):
            yield from ((one, len(calls)) for one in _spread(evidence, met, [helper.at(part) for part in parts]))


def _parts(value: ast.expr | None) -> list[ast.expr]:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return [one for one in parts if one is not None]


def _helpers(evidence: Evidence, met: Meeting) -> Iterator[Place]:
    """Places in the functions that the failing one calls for the values, the outermost first."""
    scope, file = _scope(met), met.place.source.file
    for step in trunk(evidence, met.small.start, 6):
        if step.shape != met.small.shape:
            return
        own = [at for at, one in enumerate(step.places) if one.source.file == file and _holds(scope, one)]
        if own and own[0] > 0:
            yield from step.places[own[0] - 1 :: -1]
            return


def _holds(scope: ast.AST, place: Place) -> bool:
    function = place.source.function_at(place.span.line)
    return function is scope or (function is None and isinstance(scope, ast.Module))


def _calls(evidence: Evidence, name: str) -> Iterator[bool]:
    """For each call of a function whether its values may get sizes of one: what is reduced is counted otherwise."""
    for source in evidence.sources_seen():
        reduced = {id(one.value) for one in source.nodes() if isinstance(one, ast.Attribute) and one.attr not in _EACH}
        for node in source.nodes():
            if isinstance(node, ast.Call) and called(node) == name:
                yield id(node) not in reduced


def _leaves(node: ast.AST) -> list[Any]:
    """What arithmetic, element by element, is done with: `self.bar[t]` of `(1 - self.bar[t]).sqrt()`."""
    if isinstance(node, ast.BinOp):
        return [*_leaves(node.left), *_leaves(node.right)]
    if isinstance(node, ast.UnaryOp):
        return _leaves(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EACH:
        of_torch = ast.unparse(node.func.value) == "torch"
        return _leaves(node.args[0] if of_torch and node.args else node.func.value)
    return [] if isinstance(node, ast.Constant) else [node]


def _in_arithmetic(scope: ast.AST) -> list[Any]:
    """The operands of all arithmetic in a function, each once, in their order."""
    found: dict[int, Any] = {}
    for node in ast.walk(scope):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp):
            sides = [node.left, node.right]
        elif isinstance(node, ast.AugAssign):
            sides = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ARITHMETIC:
            sides = [node.func.value, *node.args]
        found.update((id(leaf), leaf) for side in sides for leaf in _leaves(side))
    return sorted(found.values(), key=lambda one: (one.lineno, one.col_offset))


def _may_be(met: Meeting, node: ast.AST) -> bool:
    """Whether an expression may hold the values: names say by their shapes."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return met.frame.shape(ast.unparse(node)) == met.small.shape
    return isinstance(node, (ast.Call, ast.Subscript)) and _made_of_tensors(node)


def _made_of_tensors(node: ast.Call | ast.Subscript) -> bool:
    """Whether an expression is no call of a builtin that gives a number."""
    return isinstance(node, ast.Subscript) or called(node) not in ("len", "int", "float", "size", "item", "max", "min")


def _alike(one: ast.AST, other: ast.AST) -> bool:
    """Whether two expressions are of a kind: the same name, one index of two tables, one helper with one argument."""
    if type(one) is not type(other):
        return False
    if ast.unparse(one) == ast.unparse(other):
        return True
    if isinstance(one, ast.Subscript) and isinstance(other, ast.Subscript):
        return ast.unparse(one.slice) == ast.unparse(other.slice)
    if not isinstance(one, ast.Call) or not isinstance(other, ast.Call) or called(one) != called(other):
        return False
    ours, theirs = [[ast.unparse(arg) for arg in call.args] for call in (one, other)]
    return len(ours) == len(theirs) and any(a == b for a, b in zip(ours, theirs, strict=True))
