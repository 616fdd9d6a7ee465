"""Work that costs time or memory and changes nothing: done once, or not at all, the program learns just the same."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.edits.lines import EditError, indentation, relined
from explainer.source import Source, called, loaded, of_self, stored
from explainer.training import hoisting, rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.judge import gain, results
from explainer.training.kinds.memory import keepers
from explainer.training.search.gauges import gauged_names
from explainer.training.search.places import draws, training_loops
from explainer.training.sources import program_sources
from explainer.training.trials import Trials, Tried

RULE, GRAPHS = "work-repeated", "graph-kept-across-steps"
#: By which share the number must be better; how far losses may lie apart that are the same; attempts at a time.
_GAIN, _SAME, _MOST = 0.25, 1e-3, 4
_HEAVY = frozenset(["eigh", "eig", "eigvalsh", "svd", "svdvals", "inv", "pinv", "qr", "cholesky", "solve", "lstsq",
                    "matrix_exp", "matrix_power", "cdist", "sort", "argsort", "quantile", "percentile", "median",
                    "unique", "fft", "rfft", "stft", "det", "slogdet", "load", "open", "read_csv"])  # fmt: skip
_MAKING = ("__init__", "__new__", "__len__", "__repr__")


def costly(watcher: Any, trials: Trials) -> list[tuple[Finding, list[Tried]]]:
    """The finding, where a program is not content with what it takes, and takes far less with the same losses."""
    sources = program_sources(watcher)
    names = gauged_names(sources)
    if not names or trials.why or trials.left <= 0 or trials.verdict(sources) is not False:
        return []
    for rule, attempts in ((GRAPHS, _released(sources)), (RULE, _attempts(watcher, sources))):
        paying = _paying(rule, [one for one in attempts if one.edits], trials, names)
        if paying:
            return paying
    return []


def _paying(
    rule: str, attempts: Sequence[Attempt], trials: Trials, names: set[str]
) -> list[tuple[Finding, list[Tried]]]:
    """The first attempt that pays on two seeds, as the finding of a rule."""
    for at in range(0, len(attempts), _MOST):
        found = Finding(rule, {}, None, tuple(attempts[at : at + _MOST]), proved=False)
        held = [one for one in trials.tried(found, seeds=1) if _pays(one, names)]
        for one in sorted(held, key=lambda each: -gain(each.compared)):
            alone = Finding(rule, one.attempt.names, one.attempt.culprit, (one.attempt,), proved=False, seen=True)
            again = trials.tried(alone)
            if again and _pays(again[0], names) and again[0].seeds == again[0].of == 2:
                return [(alone, again)]
    return []


def _released(sources: Sequence[Source]) -> Iterator[Attempt]:
    """What loops add up or keep in lists, without the graphs that made it."""
    for source in sources:
        for statement, name, value in keepers(source):
            if rewrite.loop_around(source, statement) is None or _is_plain(value):
                continue
            text = f"{rewrite.operand(source, value)}.detach()"
            kind = "sum" if isinstance(statement, ast.AugAssign) else "list"
            told = {"name": name, "kind": kind, "count": 0, "value": source.text(value), "number": False, "text": text}
            yield Attempt("item", rewrite.replaced(source, value, text), told, source.span(statement))


def _is_plain(value: ast.expr) -> bool:
    """Whether an expression is no tensor that has a graph: a number, an item, what is cut from its graph."""
    last = called(value) if isinstance(value, ast.Call) else ""
    inner = {called(one) for one in ast.walk(value) if isinstance(one, ast.Call)}
    return last in ("len", "int", "float") or bool(inner & {"item", "detach", "tolist", "numpy"}) or not loaded(value)


def _pays(one: Tried, names: set[str]) -> bool:
    """Whether less is taken, by the program's own number, and all else is as it is without the edit."""
    pair = one.compared
    same = abs(pair.loss_before - pair.loss_after) <= _SAME * max(abs(pair.loss_before), _SAME)
    return pair.better and same and pair.metric in names and gain(pair) > _GAIN and _tells_the_same(one, names)


def _tells_the_same(one: Tried, names: set[str]) -> bool:
    """Whether the program prints the numbers that it printed without the edit, but for what it takes."""
    before, after = (results(text, names) for text in one.printed)
    near = (
        math.isclose(old, new, rel_tol=_SAME, abs_tol=_SAME) or old != old
        for (_, old), (_, new) in zip(before, after, strict=False)
    )
    return [name for name, _ in before] == [name for name, _ in after] and all(near)


def _attempts(watcher: Any, sources: Sequence[Source]) -> Iterator[Attempt]:
    """Anomaly detection left out, what stays the same kept, what a loop does not change before it, then behind it."""
    for source in sources:
        for node in source.nodes():
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and called(call) == "set_detect_anomaly":
                yield _attempt("without", source, node, rewrite.without(source, node))  # type: ignore[arg-type]
    for source in sources:
        for function in (one for one in source.nodes() if isinstance(one, ast.FunctionDef)):
            yield from (kept_with(source, run) for run in fixed_runs(source, function))
    for source, loop in training_loops(watcher):
        for one in loop.body:
            if isinstance(one, (ast.Assign, ast.Expr)) and not hoisting.trains(source, one) and _works(one):
                if hoisting.free(one, loop) and not draws(one):
                    yield _attempt("once", source, one, rewrite.moved(source, one, loop, False))
                yield _attempt("behind", source, one, rewrite.moved(source, one, loop, True))


def _attempt(name: str, source: Source, node: ast.stmt, edits: rewrite.Edits) -> Attempt:
    text = source.text(node).split("\n")[0]
    return Attempt(name, edits, {"text": text, "how": name}, source.span(node))


def _works(one: ast.AST) -> bool:
    """Whether something is called that may take its time."""
    calls = [called(each) for each in ast.walk(one) if isinstance(each, ast.Call)]
    return any(name not in ("print", "append", "zero_grad", "train", "eval", "item", "len") for name in calls)


def fixed_runs(source: Source, function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """Statements of a method, one after the other, that are made of what the object has had since it was made."""
    owner = source.class_at(function.lineno)
    if owner is None or function.name in _MAKING or not function.args.args:
        return
    changed = {node.attr for one in owner.body if getattr(one, "name", "") not in _MAKING for node in ast.walk(one)
               if of_self(node) and isinstance(node.ctx, ast.Store)}  # fmt: skip
    known = {"self", *dir(builtins), *_outside(source)}
    run: list[ast.stmt] = []
    for one in [*function.body, ast.Pass()]:
        if _is_fixed(one, known, changed):
            run.append(one)
            known |= stored(one)
            continue
        if any(map(_works, run)):
            yield run
        run, known = [], known - (stored(one) if not isinstance(one, ast.Pass) else set())


def _is_fixed(one: ast.stmt, known: set[str], changed: set[str]) -> bool:
    plain = isinstance(one, (ast.Assign, ast.AugAssign)) and loaded(one) <= known and not draws(one)
    own = [node for node in ast.walk(one) if of_self(node)]
    calls = any(isinstance(node, ast.Call) and of_self(node.func) for node in ast.walk(one))  # of a layer, as it is now
    return plain and not calls and not any(node.attr in changed or isinstance(node.ctx, ast.Store) for node in own)


def _outside(source: Source) -> set[str]:
    """The names of a file's own level: imports, functions, what is bound once."""
    body = source.tree.body if source.tree is not None else []
    names = {getattr(one, "name", "") for one in body if not isinstance(one, ast.Assign)}
    return names | set(source.imported) | {name for one in body if isinstance(one, ast.Assign) for name in stored(one)}


def kept_with(source: Source, run: list[ast.stmt]) -> Attempt:
    """A run of statements carried out once for each object, what they bind kept with it."""
    names = list(dict.fromkeys(each for one in run for each in sorted(stored(one))))
    first, last = run[0].lineno, run[-1].end_lineno or run[-1].lineno
    space, kept = indentation(source, first), f"self._kept_{names[-1]}"
    inner = "\n".join("    " + source.line(number) for number in range(first, last + 1))
    row = names[0] if len(names) == 1 else ", ".join(names)
    text = (f'{space}if not hasattr(self, "{kept[5:]}"):\n{inner}\n'
            f"{space}    {kept} = {row}\n{space}{row} = {kept}")  # fmt: skip
    try:
        edits = relined(source, first, last, text)
    except EditError:
        edits = ()
    working = [one for one in run if _works(one)]
    told = next((one for one in working if _heavy(one)), working[0])
    return _attempt("once", source, told, edits)


def _heavy(one: ast.AST) -> bool:
    """Whether something is called whose cost grows faster than its input."""
    return any(called(each) in _HEAVY for each in ast.walk(one) if isinstance(each, ast.Call))
