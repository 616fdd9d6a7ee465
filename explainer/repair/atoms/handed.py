"""What a function would have to know and who calls it knows: handed to it as one more parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.edits.evidence import Evidence
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.repair.atoms.arguments import OF_DATA, with_argument
from explainer.repair.atoms.common import calls, integers, lengths, wanted
from explainer.repair.atoms.signatures import lacking
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot, scope_at
from explainer.source import loaded

#: How many numbers of the caller's are tried.
_MOST = 2


def handed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`bincount(ids)` -> `bincount(ids, minlength=minlength)` in a function of `ids` alone, which gets that, too.

    How wide a count is depends on the data unless it is said, and the function itself has no such number.
    """
    function = spot.place.source.function_at(spot.place.span.line)
    made = evidence.calls_of(function.name) if isinstance(function, ast.FunctionDef) else []
    if not isinstance(function, ast.FunctionDef) or len(made) != 1 or not _is_plain(function.args):
        return
    sizes, caller = wanted(evidence), Spot(made[0], "caller", 0, scope=scope_at(evidence, made[0]))
    if any(value in sizes for value in integers(spot).values()):
        return
    known = {**lengths(caller, evidence), **_counted(caller), **integers(caller)}
    for node in calls(spot):
        for name in [one for one in lacking(node, evidence) if one in OF_DATA and one not in loaded(function)]:
            for at, text in enumerate([text for text, value in known.items() if value in sizes][:_MOST]):
                more = _handed_on(spot.place.source, function, made[0], name, text)
                if more:
                    new = with_argument(spot, node, f"{name}={name}")
                    yield Offer("handed", spot, node, new, "caller", 0.1 * at, more=more)


def _is_plain(args: ast.arguments) -> bool:
    return bool(args.args) and not (args.defaults or args.vararg or args.kwonlyargs or args.kwarg)


def _counted(spot: Spot) -> dict[str, int]:
    """The lengths of what a place can name: `len(cfg.kinds)`."""
    return {name: value for name, value in spot.scope.items() if name.startswith("len(") and isinstance(value, int)}


def _handed_on(source: object, function: ast.FunctionDef, call: Place, name: str, text: str) -> tuple[Edit, ...]:
    """The edits of the function's header and of its one call."""
    home, last = Place(source, function.args.args[-1]), Spot(call, "caller", 0)  # type: ignore[arg-type]
    if not isinstance(call.node, ast.Call) or call.node.keywords:
        return ()
    given = with_argument(last, call.node, text)
    try:
        header = changed(home.source, [(home.span, f"{home.text}, {name}")])
        return (*header, *changed(call.source, [(call.span, given)]))
    except EditError:
        return ()
