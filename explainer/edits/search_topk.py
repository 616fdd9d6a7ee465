"""Candidates for `topk` with more values wanted than there are: all of them, with zeros up to that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed, joined
from explainer.edits.place import Place
from explainer.edits.statements import insert_statement
from explainer.frozen import frozen
from explainer.source import Source, called

#: Expressions that may be written twice.
_READ = (ast.Name, ast.Attribute, ast.Subscript)
_SAID = "selected index k out of range"
_PADS = {"torch.nn.functional": "pad", "torch.nn": "functional.pad"}


@frozen
class Choice:
    """A `topk` that wants too many: its call, the expression of `k`, the tensor's, and the dimension it chooses in."""

    call: Place
    k: Place
    tensor: ast.expr
    dim: int
    rank: int

    @property
    def size(self) -> str:
        """An expression for how many there are."""
        return f"{self.call.source.text(self.tensor)}.shape[{self.dim}]"


def filled_up(evidence: Evidence) -> Iterator[Candidate]:
    """`h[s.topk(k).indices]` -> `pad(h[s.topk(min(k, len(s))).indices], (0, 0, 0, k - ...))`: always k rows."""
    choice = choice_of(evidence)
    if choice is None:
        return
    function = choice.call.source.scope_at(choice.call.span.line)
    names = _names(choice)
    changes = [(choice.k.span, f"min({choice.k.text}, {choice.size})")]
    taken = list(_taken(evidence, choice, function, names))
    changes += [(choice.call.source.span(node), text) for node, text in taken]
    edits = partial(changed, choice.call.source, changes)
    values = names[0] if len(names) == 2 and _read(function, names[0], choice) else ""
    if values and choice.dim in (-1, choice.rank - 1):
        edits = partial(_with_values, edits, choice, values)
    elif not taken:
        return
    words: dict[str, Any] = {"k": choice.k.text, "new": taken[0][1][:70] if taken else values}
    yield from evidence.made(edits, "replace", choice.call, "zeros-filled-up", **words)


def _with_values(edits: Any, choice: Choice, values: str) -> Any:
    """The values, too, are filled up, behind the statement that takes them."""
    text = f"{values} = {_pad(choice.call.source, values, f'0, {choice.k.text} - {values}.shape[-1]')}"
    return joined(choice.call.source, edits(), insert_statement(text, after=choice.call))


def choice_of(evidence: Evidence) -> Choice | None:
    """The failing `topk`, where the search is about one that wants too many."""
    crash = evidence.crash
    place, node = (crash.place, crash.place.node) if crash is not None and crash.place is not None else (None, None)
    if crash is None or place is None or not isinstance(node, ast.Call) or _SAID not in evidence.message:
        return None
    plain = ast.unparse(node.func) == "torch.topk"
    given = node.args if plain else [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
    words = {one.arg: one.value for one in node.keywords}
    k, along = words.get("k", given[1] if len(given) > 1 else None), words.get("dim", given[2] if given[2:] else None)
    dim = ast.literal_eval(along) if along is not None else -1
    if called(node) != "topk" or k is None or not crash.before or not isinstance(given[0], _READ):
        return None
    return Choice(place, place.at(k), given[0], dim, len(crash.before[0][0]))


def _names(choice: Choice) -> list[str]:
    """The names that the values and the indices are given; of the indices alone where only they are taken."""
    node = choice.call.statement().node
    value, target = (node.value, node.targets[0]) if isinstance(node, ast.Assign) else (None, None)
    if value is choice.call.node and isinstance(target, ast.Tuple):
        return [one.id if isinstance(one, ast.Name) else "" for one in target.elts]
    return [target.id] if value is not None and _indices(value, choice) and isinstance(target, ast.Name) else []


def _indices(node: ast.AST, choice: Choice) -> bool:
    """`x.topk(k).indices` or `x.topk(k)[1]`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "indices" and node.value is choice.call.node
    second = isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "1"
    return second and node.value is choice.call.node  # type: ignore[attr-defined]


def _taken(evidence: Evidence, choice: Choice, function: ast.AST, names: list[str]) -> Iterator[tuple[ast.expr, str]]:
    """The rows that a function takes by the indices, with the expression that fills them up to `k`."""
    source = choice.call.source
    for node in ast.walk(function):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        by_name = isinstance(node.slice, ast.Name) and names[-1:] == [node.slice.id]
        frame = evidence.frame_of(choice.call)
        rank = len(frame.shape(source.text(node.value))) if frame is not None else 0
        if by_name and rank and choice.rank == 1:
            zeros = "0, 0, " * (rank - 1)
            yield node, _pad(source, source.text(node), f"{zeros}0, {choice.k.text} - len({names[-1]})")


def _read(function: ast.AST, name: str, choice: Choice) -> bool:
    behind = choice.call.span.line
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    return bool(name) and any(isinstance(one.ctx, ast.Load) and one.lineno > behind for one in names)


def _pad(source: Source, text: str, widths: str) -> str:
    return f"{_function(source)}({text}, ({widths}))"


def _function(source: Source) -> str:
    """How a file can name `torch.nn.functional.pad`, by an import of its own where it has one."""
    known = [
        (f"{getattr(node, 'module', '')}.{one.name}".lstrip("."), one.asname or one.name)
        for node in source.nodes()
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in node.names
        if isinstance(node, ast.ImportFrom) or one.asname
    ]
    found = [f"{name}.{_PADS[full]}" for full, name in known if full in _PADS]
    return min(found, key=len, default="torch.nn.functional.pad")
