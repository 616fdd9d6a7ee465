"""Where edits are made: the statements that ran in iterations or evaluations, the loops that train, what was built."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from explainer.source import Source, called, source_of, stored
from explainer.training import rewrite
from explainer.training.sources import program_sources

LEARNING, EVALUATING = 1, 2
#: Calls that draw random numbers.
DRAWS = frozenset(["rand", "randn", "randint", "randperm", "normal", "uniform", "permutation", "choice", "multinomial",
                   "standard_normal", "integers", "random", "randrange", "poisson", "bernoulli"])  # fmt: skip
#: Methods of models and of datasets.
_ANSWERS = {"forward", "__call__", "__getitem__", "__iter__"}
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)


def statements(watcher: Any, phase: int) -> list[tuple[Source, ast.stmt]]:
    """The simple statements that called torch in a phase that was looked at; of an evaluation, those of it alone."""
    lines: dict[str, set[int]] = {}
    for (_, line), (code, phases) in watcher.ran.items():
        if phases & phase and (phase == LEARNING or not phases & LEARNING):
            lines.setdefault(code.co_filename, set()).add(line)
    found: list[tuple[Source, ast.stmt]] = []
    for file, ran in lines.items():
        source = source_of(file)
        for node in source.nodes():
            if isinstance(node, _SIMPLE) and any(node.lineno <= line <= (node.end_lineno or 0) for line in ran):
                found.append((source, node))
    return found


def headers(ran: Iterable[tuple[Source, ast.stmt]]) -> list[tuple[Source, ast.expr]]:
    """The conditions, and what loops go through, directly around statements that ran; not those that only tell."""
    found: dict[int, tuple[Source, ast.expr]] = {}
    for source, statement in ran:
        around = source.parent_of(statement)
        node = getattr(around, "test", None) or getattr(around, "iter", None)
        if isinstance(around, (ast.If, ast.While, ast.For)) and node is not None:
            found[id(node)] = (source, node)
    return list(found.values())


def counts(statement: ast.stmt) -> bool:
    """Whether a statement only adds up what is told: no edit of it changes what is learned."""
    inner = (called(one) for one in ast.walk(statement) if isinstance(one, ast.Call))
    return isinstance(statement, ast.AugAssign) and "item" in inner


def draws(node: ast.AST) -> bool:
    """Whether something in a node draws random numbers."""
    return any(isinstance(one, ast.Call) and called(one) in DRAWS for one in ast.walk(node))


def makes_data(source: Source, statement: ast.stmt, sources: Sequence[Source] = ()) -> bool:
    """Whether a statement's function draws samples of nothing but a number: an edit would make another task of it.

    `sources` are those that may call it besides its own.
    """
    function = source.function_at(statement.lineno)
    if function is None or not draws(function):
        return False
    given = [(where, one.args) for where in {id(each): each for each in (source, *sources)}.values()
             for one in where.nodes() if isinstance(one, ast.Call) and called(one) == function.name]  # fmt: skip
    return all(len(args) == 1 and rewrite.literal_of(where, args[0], ()) is not None for where, args in given)


def examines(watcher: Any, source: Source, statement: ast.stmt) -> bool:
    """Whether it ran in an evaluation too and belongs to what is examined with: a world that is played, a drawn sample.

    An edit there would make the examination easier. Methods of models and datasets are what is examined.
    """
    owner = source.class_at(statement.lineno)
    own = {getattr(one, "name", "") for one in owner.body} if owner is not None else set()
    function = source.function_at(statement.lineno)
    if owner is None and (function is None or not draws(function)):
        return False
    if owner is not None and (own & _ANSWERS or any(source.text(one).endswith("Module") for one in owner.bases)):
        return False
    ran = ((code.co_filename, line, phase) for (_, line), (code, phase) in watcher.ran.items())
    return any(file == source.file and line == statement.lineno and phase & EVALUATING for file, line, phase in ran)


def behind_backward(watcher: Any, source: Source, statement: ast.stmt) -> bool:
    """Whether a statement stands behind the backward of its own function: it is left out as one of the loop's."""
    scope = source.scope_at(statement.lineno)
    sites = [site[0] for site in watcher.notes.backwards.values() if site]
    lines = [one.line for one in sites if one.source() is source and source.scope_at(one.line) is scope]
    return bool(lines) and statement.lineno > max(lines)


def training_loops(watcher: Any) -> Iterator[tuple[Source, Any]]:
    """The loops around each backward, innermost first."""
    done = set()
    for site in watcher.notes.backwards.values():
        for frame in site:
            source = frame.source()
            around = [one for one in source.nodes() if isinstance(one, (ast.For, ast.While))
                      and one.lineno < frame.line <= (one.end_lineno or 0)]  # fmt: skip
            for one in sorted(around, key=lambda each: -each.lineno):
                if id(one) not in done:
                    done.add(id(one))
                    yield source, one


def not_before(watcher: Any, source: Source) -> set[int]:
    """The lines of a file that ran in iterations or evaluations, or that come behind the training in its scope."""
    lines = {line for (_, line), (code, _) in watcher.ran.items() if code.co_filename == source.file}
    ends: dict[int, tuple[int, int]] = {}
    for where, loop in training_loops(watcher):
        if where is source:
            scope = source.scope_at(loop.lineno)
            last = getattr(scope, "end_lineno", None) or len(source.lines)
            ends[id(scope)] = (max(loop.end_lineno or 0, ends.get(id(scope), (0, 0))[0]), last)
    return lines.union(*(range(end + 1, last + 1) for end, last in ends.values()))


def afterwards(watcher: Any) -> Iterator[tuple[Source, ast.Call]]:
    """The calls behind the training in its scope, and in the functions that are called from there and never trained."""
    learned = {(code.co_filename, line) for (_, line), (code, phase) in watcher.ran.items() if phase & LEARNING}
    sources, waiting, seen = program_sources(watcher), [], set[int]()
    for source, loop in training_loops(watcher):
        body = getattr(source.scope_at(loop.lineno), "body", [])
        waiting += [(source, one) for one in body if one.lineno > (loop.end_lineno or 0)]
    while waiting:
        source, scope = waiting.pop()
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and id(node) not in seen and (source.file, node.lineno) not in learned:
                seen.add(id(node))
                yield source, node
                waiting += [(where, each) for where in sources for each in where.nodes()
                            if isinstance(each, ast.FunctionDef) and each.name == called(node)]  # fmt: skip


def calls(watcher: Any) -> Iterator[tuple[Source, ast.Call]]:
    """All calls of the program."""
    for source in program_sources(watcher):
        for node in source.nodes():
            if isinstance(node, ast.Call):
                yield source, node


def loaders(watcher: Any) -> list[str]:
    """The names of loaders and datasets: one in the place of another makes another task of it, or a leak."""
    nodes = [node for source in program_sources(watcher) for node in source.nodes()]
    datasets = {one.name for one in nodes if isinstance(one, ast.ClassDef)
                and any(ast.unparse(base).endswith("Dataset") for base in one.bases)}  # fmt: skip
    known = {"DataLoader", "TensorDataset", "Subset", *datasets}
    makes = lambda node: any(isinstance(one, ast.Call) and called(one) in known for one in ast.walk(node))  # noqa: E731
    known |= {one.name for one in nodes if isinstance(one, ast.FunctionDef)
              and any(isinstance(each, ast.Return) and makes(each) for each in ast.walk(one))}  # fmt: skip
    found: list[str] = []
    for one in (node for node in nodes if isinstance(node, ast.Assign)):
        values = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
        if any(isinstance(each, ast.Call) and called(each) in known for each in values):
            found += stored(one)
    return found
