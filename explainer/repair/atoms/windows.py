"""Parts that belong to other steps: a ring written round, the last rows of a mask, inputs before what comes next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import operands
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import calls, integer, statement_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import walked


def wrapped(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`q[:, a:a + n] = x` -> `q[:, torch.arange(a, a + n) % q.size(1)] = x`: past the end it goes on in front.

    Only where the program counts round that end itself, with a `%`.
    """
    crash, statement = evidence.crash, statement_of(spot, spot.place.node)
    node = statement.targets[0] if isinstance(statement, ast.Assign) else None
    written = crash is not None and crash.function == "__setitem__" and spot.role == "crash"
    if not written or crash is None or not isinstance(node, ast.Subscript) or not _counts_round(spot):
        return
    for at, (part, size) in enumerate(zip(_parts(node), crash.before[0][0], strict=False)):
        if not isinstance(part, ast.Slice) or part.lower is None or part.upper is None or part.step is not None:
            continue
        low, high = integer(spot, part.lower), integer(spot, part.upper)
        if low is not None and high is not None and 0 <= low < size < high:
            places = f"torch.arange({text(spot, part.lower)}, {text(spot, part.upper)})"
            yield Offer("wrapped", spot, part, f"{places} % {text(spot, node.value)}.size({at})", "round")


def windowed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`a + mask[:t, :t]` -> `a + mask[n - t:n, :n]`, n = `a.size(-1)`: the last rows, where keys of before are kept."""
    every = operands(evidence) if spot.role == "crash" else []
    for one in every:
        node = one.place.node if one.place is not None else None
        ends = [_end(part) for part in _parts(node)] if isinstance(node, ast.Subscript) else []
        said = {text(spot, end) for end in ends if end is not None}
        if not isinstance(node, ast.Subscript) or len(ends) != 2 or None in ends or len(said) != 1:
            continue
        for other in every:
            wider = len(other.shape) > 1 and one.shape == [other.shape[-2]] * 2 and other.shape[-1] > other.shape[-2]
            if wider and other.place is not None:
                last = f"{as_primary(other.place)}.size(-1)"
                rows = f"{last} - {next(iter(said))}:{last}"
                yield Offer("windowed", spot, node, f"{text(spot, node.value)}[{rows}, :{last}]", "last")


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _end(part: ast.expr) -> ast.expr | None:
    """The end of a part that begins at the start: `t` of `:t`."""
    return part.upper if isinstance(part, ast.Slice) and part.lower is None and part.step is None else None


def _counts_round(spot: Spot) -> bool:
    source, line = spot.place.source, spot.place.line
    around = source.class_at(line) or source.scope_at(line)
    return any(isinstance(one, ast.Mod) for one in walked(around)) if around is not None else False


def before_next(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`model(y)` beside `loss(out, y[:, 1:])` -> `model(y[:, :-1])`: of the last step nothing comes next.

    So the other way: `loss(out, y)` beside `model(y[:, :-1])` -> `loss(out, y[:, 1:])`.
    """
    scope = spot.place.source.scope_at(spot.place.line)
    shifted = {text(spot, one.value): one for one in walked(scope)
               if isinstance(one, ast.Subscript) and _ends(one) in _SHIFTS}  # fmt: skip
    for call in calls(spot) if shifted else ():
        for given in [*call.args, *(word.value for word in call.keywords)]:
            part = shifted.get(text(spot, given)) if isinstance(given, (ast.Name, ast.Attribute)) else None
            if part is not None and _ends(part) is not None:
                cut = text(spot, part.slice).replace(*_SHIFTS[_ends(part)])  # type: ignore[index]
                yield Offer("before_next", spot, given, f"{text(spot, given)}[{cut}]", "beside", 0.0)


#: What is cut off a sequence, first or last, and what is cut off the other one then.
_SHIFTS = {"1:": ("1:", ":-1"), ":-1": (":-1", "1:")}


def _ends(node: ast.Subscript) -> str | None:
    """`1:` of `y[1:]` and `y[:, 1:]`: how the last cut of a subscript is written."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return ast.unparse(parts[-1]) if parts and isinstance(parts[-1], ast.Slice) else None
