"""Candidates for schedules that are over too early: steps rounded down, counted otherwise, or made too often."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from explainer.edits.arguments import argument_node
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.edits.statements import delete_statement, move_after_loop, move_statement
from explainer.patterns import Pattern
from explainer.source import Source, called

_STEPS = Pattern(r"Tried to step (\d+) times. The (?:specified|total) number of (?:total )?steps is (\d+)")
_ONE_CYCLE = ("optimizer", "max_lr", "total_steps", "epochs", "steps_per_epoch")
#: Words in the name of a number that counts steps.
_COUNTS = Pattern(r"step|batch|iter|total|updates", re.IGNORECASE)
_LOOPS = (ast.For, ast.While)


def rounded_up(evidence: Evidence) -> Iterator[Candidate]:
    """`len(data) // batch_size` -> `math.ceil(len(data) / batch_size)`: a loader gives the last, smaller batch too."""
    if not _STEPS.search(evidence.message):
        return
    told = {one.id for call in _schedules(evidence) for one in ast.walk(call.node) if isinstance(one, ast.Name)}
    for source in evidence.sources_seen():
        for node in source.nodes():
            division = _division(node)
            if division is None or not _counts_steps(source, node, told):
                continue
            text = f"math.ceil({source.text(division.left)} / {source.text(division.right)})"
            yield from evidence.replaced(Place(source, node), text, "replace", "rounded-up", old=source.text(node))  # type: ignore[arg-type]


def _division(node: ast.AST) -> ast.BinOp | None:
    """The division of `a // b` and of `int(a / b)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return node
    inner = node.args[0] if isinstance(node, ast.Call) and called(node) == "int" and len(node.args) == 1 else None
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div) else None


def _counts_steps(source: Source, node: ast.AST, told: set[str]) -> bool:
    """Whether a division gives what a schedule is `told`, or a name that tells of steps, or is returned by such."""
    function = source.function_at(node.lineno)  # type: ignore[attr-defined]
    statement = source.statement_at(node.lineno)  # type: ignore[attr-defined]
    if isinstance(statement, ast.Return):
        return function is None or bool(_COUNTS.search(getattr(function, "name", "")))
    names = [source.text(one) for one in getattr(statement, "targets", [])]
    words = [one.arg or "" for one in ast.walk(statement) if isinstance(one, ast.keyword)] if statement else []
    return any(name in told or _COUNTS.search(name) for name in (*names, *words))


def stepped_twice(evidence: Evidence) -> Iterator[Candidate]:
    """A schedule that is stepped after each batch and once more after each epoch: only the first is meant."""
    place = _step(evidence)
    if place is None:
        return
    steps = [one for one in place.source.nodes() if _same_step(place, one)]
    depths = {one.lineno: len(_loops(place.source, one)) for one in steps}  # type: ignore[attr-defined]
    for one in steps:
        if depths[one.lineno] < max(depths.values()):  # type: ignore[attr-defined]
            outer = place.at(one)  # type: ignore[arg-type]
            edits = partial(delete_statement, outer)
            yield from evidence.made(edits, "delete-statement", outer, "once-a-batch", what=outer.text)


def with_optimizer(evidence: Evidence) -> Iterator[Candidate]:
    """A schedule that is stepped for each batch, where the optimizer is only under a condition: put beside it."""
    place = _step(evidence)
    function = place.source.scope_at(place.span.line) if place is not None else None
    if place is None or function is None:
        return
    for node in ast.walk(function):
        held = [one for one in node.body if _calls(one, "step")] if isinstance(node, ast.If) else []
        if held and held[-1].lineno != place.span.line:
            goal, statement = place.at(held[-1]), place.statement()
            edits = partial(move_statement, statement, after=goal)
            yield from evidence.made(edits, "move-statement", statement, "beside-step", what=statement.text)


def _step(evidence: Evidence) -> Place | None:
    """The call of `step` that went too far, in the user's code."""
    found = _STEPS.search(evidence.message) is not None and evidence.frames
    return evidence.frames[-1].place if found else None


def _same_step(place: Place, node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and place.source.text(node) == place.statement().text


def _loops(source: Source, node: ast.AST) -> list[ast.AST]:
    line = node.lineno  # type: ignore[attr-defined]
    return [one for one in source.nodes() if isinstance(one, _LOOPS) and one.lineno < line <= (one.end_lineno or 0)]


def _calls(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value) == name


def epochs_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`epochs=5` of a schedule where the loop is over another number: the loop's own, as the schedule can name it."""
    place = _step(evidence)
    if place is None:
        return
    counts = [_passes(one) for source in evidence.sources_seen() for one in source.nodes()]
    for call in _schedules(evidence):
        try:
            given = argument_node(call, "epochs", _ONE_CYCLE)
        except EditError:
            continue
        for text in dict.fromkeys(filter(None, counts)):
            if given is not None and text != call.source.text(given):
                old = call.source.text(given)
                yield from evidence.replaced(call.at(given), text, "replace", "rename", new=text, old=old)


def _passes(node: ast.AST) -> str:
    """`n` of `for epoch in range(n)`."""
    over = node.iter if isinstance(node, ast.For) and "epoch" in ast.unparse(node.target) else None
    if not isinstance(over, ast.Call) or called(over) not in ("range", "trange") or len(over.args) != 1:
        return ""
    return ast.unparse(over.args[0])


def _schedules(evidence: Evidence) -> Iterator[Place]:
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and called(node) == "OneCycleLR":
                yield Place(source, node)


def total_steps(evidence: Evidence) -> Iterator[Candidate]:
    """A scheduler that is stepped for each batch and was built for as many as there are epochs, or the reverse."""
    place = _step(evidence)
    if place is None:
        return
    for call in _schedules(evidence):
        yield from _longer(evidence, call, place)
    if any(word.arg == "steps_per_epoch" for call in _schedules(evidence) for word in call.node.keywords):  # type: ignore
        return
    edits = partial(move_after_loop, place)
    yield from evidence.made(edits, "move-statement", place, "after-loop", what=place.text)


def _longer(evidence: Evidence, call: Place, step: Place) -> Iterator[Candidate]:
    """`total_steps=epochs` -> `total_steps=epochs * len(loader)`, with the loader's name as that place has it."""
    try:
        given, each = (argument_node(call, name, _ONE_CYCLE) for name in ("total_steps", "steps_per_epoch"))
    except EditError:
        return
    for name in _loaders(call.source, step):
        for node, new in ((given, f"{{}} * len({name})"), (each, f"len({name})")):
            if node is not None:
                old = call.source.text(node)
                text = new.format(old)
                yield from evidence.replaced(call.at(node), text, "replace", "rename", new=text, old=old)


def _loaders(source: Source, step: Place) -> list[str]:
    """The names of loaders: what loops around the step go through, what a file calls DataLoader's results."""
    names = []
    for node in step.source.nodes():
        if isinstance(node, ast.For) and node.lineno < step.span.line <= (node.end_lineno or 0):
            inner = node.iter.args[0] if isinstance(node.iter, ast.Call) and node.iter.args else node.iter
            names.append(step.source.text(inner))
    for node in source.nodes():
        made = node.value if isinstance(node, ast.Assign) else None
        if isinstance(made, ast.Call) and "Loader" in ast.unparse(made.func):
            names.append(source.text(node.targets[0]))  # type: ignore[attr-defined]
    return [name for name in dict.fromkeys(names) if name.replace(".", "").isidentifier()]
