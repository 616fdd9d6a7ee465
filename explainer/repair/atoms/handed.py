"""What a function would have to know and who calls it knows; what a layer got for another of its parameters."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.edits.evidence import Evidence
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.repair.atoms.arguments import OF_DATA, replaced
from explainer.repair.atoms.common import calls, expressions, integer, integers, lengths, measured, text, wanted
from explainer.repair.atoms.signatures import lacking, optional
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot, scope_at
from explainer.source import loaded, walked, with_argument

#: How many numbers of the caller's are tried.
_MOST = 2


def handed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`bincount(ids)` -> `bincount(ids, minlength=minlength)` in a function of `ids` alone, which gets that, too.

    So is the size of the batch at hand for a state that was always made for a full one: `init()` -> `init(n)`.
    """
    function = spot.place.source.function_at(spot.place.line)
    made = evidence.calls_of(function.name) if isinstance(function, ast.FunctionDef) else []
    if not isinstance(function, ast.FunctionDef) or len(made) != 1 or not _is_plain(function.args):
        return
    caller = Spot(made[0], "caller", 0, scope=scope_at(evidence, made[0]))
    yield from _counts(spot, evidence, function, caller)
    yield from _batches(spot, evidence, function, caller) if evidence.passed else ()


def meant(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`encoder(x, pad)` -> `encoder(x, src_key_padding_mask=pad)`: what came last for another that may be left out."""
    for node in calls(spot):
        at = len(node.args) - 1
        names = optional(node, spot.place.source) if at > 0 else []
        given = {word.arg for word in node.keywords}
        if at < len(names) and names[at] and not any(isinstance(one, ast.Starred) for one in node.args):
            for name in [one for one in names if one and one != names[at] and one not in given]:
                new = replaced(spot, node, [(node.args[at], f"{name}={text(spot, node.args[at])}")])
                yield Offer("meant", spot, node, new, "parameter")


def _counts(spot: Spot, evidence: Evidence, function: ast.FunctionDef, caller: Spot) -> Iterator[Offer]:
    """How many there are of what is counted, where the function itself has no such number."""
    sizes = wanted(evidence)
    if any(value in sizes for value in integers(spot).values()):
        return
    known = {**lengths(caller, evidence), **_counted(caller), **integers(caller)}
    for node in calls(spot):
        for name in [one for one in lacking(node, evidence) if one in OF_DATA and one not in loaded(function)]:
            for at, size in enumerate([size for size, value in known.items() if value in sizes][:_MOST]):
                more = _handed_on(spot.place.source, function, caller.place, name, size)
                if more:
                    new = with_argument(spot.place.source, node, f"{name}={name}")
                    yield Offer("handed", spot, node, new, "caller", 0.1 * at, more=more)


def _batches(spot: Spot, evidence: Evidence, function: ast.FunctionDef, caller: Spot) -> Iterator[Offer]:
    """A size that is kept, which fitted other data, as the size of what the caller was given this time."""
    sizes, given = wanted(evidence), {one.arg for one in function.args.args} - {"self"}
    for node in expressions(spot):
        value = integer(spot, node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if value not in sizes or loaded(node) & given or "n" in loaded(function):
            continue
        again = [one for one in walked(function) if one is not node and ast.dump(one) == ast.dump(node)]
        for goal in sorted(sizes - {value, 0, 1}):
            for at, size in enumerate(itertools.islice(measured(caller, goal), _MOST)):
                more = _handed_on(spot.place.source, function, caller.place, "n", size)
                twins = tuple((one, "n") for one in again)
                yield Offer("handed", spot, node, "n", "batch", 0.1 * at, twins=twins, more=more)


def _is_plain(args: ast.arguments) -> bool:
    return bool(args.args) and not (args.defaults or args.vararg or args.kwonlyargs or args.kwarg)


def _counted(spot: Spot) -> dict[str, int]:
    """The lengths of what a place can name: `len(cfg.kinds)`."""
    return {name: value for name, value in spot.scope.items() if name.startswith("len(") and isinstance(value, int)}


def _handed_on(source: object, function: ast.FunctionDef, call: Place, name: str, text: str) -> tuple[Edit, ...]:
    """The edits of the function's header and of its one call."""
    home = Place(source, function.args.args[-1])  # type: ignore[arg-type]
    if not isinstance(call.node, ast.Call) or call.node.keywords:
        return ()
    given = with_argument(call.source, call.node, text)
    try:
        header = changed(home.source, [(home.span, f"{home.text}, {name}")])
        return (*header, *changed(call.source, [(call.span, given)]))
    except EditError:
        return ()
