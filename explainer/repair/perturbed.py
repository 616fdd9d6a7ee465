"""A size that fits by chance: it does so no more once a number that the edit reads or writes is another."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import evaluated
from explainer.edits.lines import EditError, changed, shown
from explainer.edits.place import Place
from explainer.frozen import replace
from explainer.oracle.source import arithmetic, nodes_of
from explainer.repair.spots import scope_at
from explainer.replay.outcomes import passes
from explainer.replay.program import Run
from explainer.source import Source

#: Numbers below are dimensions, kernels and channels of images as often as sizes.
_LEAST = 4
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_READ = (ast.Name, ast.Attribute, ast.Subscript)
#: How many names of an edit are looked at.
_NAMES = 3
#: By what a number is multiplied: by twice, it may become another size that is in question.
_FACTORS = (2, 3)


def holds(checker: Any, evidence: Evidence, candidate: Candidate) -> bool | None:
    """Whether an edit that computes or names a size fits where one of the numbers it reads is another one, too.

    False: it then fails as the unedited program does, and what is asked for is what it was, or what meets there has
    nothing to do with that number: so it fits by chance. None where nothing tells, True where it reads no such number.
    """
    scope = _scope(evidence, candidate)
    read = _terms(candidate, scope)
    if not read:
        return None if computed_of(candidate) else True
    made = {evaluated(one, scope) for one in arithmetic(candidate.edits)}
    told = [_with(checker, candidate, changes, made) for changes in _changes(evidence, candidate, read)]
    return False if False in told else True if True in told else None


def outliving(checker: Any, evidence: Evidence, candidate: Candidate, rivals: Sequence[Candidate]) -> list[Candidate]:
    """The rivals of an edit that do not fail where a number is another one, and it fails as the unedited program does.

    The number is one that the edit writes or reads, wherever else it is written: what is right for the program at
    hand alone is less likely than what is right for other sizes, too. It must change one of the sizes that meet: where
    it changes both, what fits anything would win.
    """
    numbers = dict.fromkeys([*_written(candidate), *_terms(candidate, _scope(evidence, candidate))])
    for factor in _FACTORS if rivals else ():
        for changes in _changes(evidence, candidate, list(numbers), factor):
            plain, own = (_failing(checker, edits, candidate, changes) for edits in ((), candidate.edits))
            if plain and own and len(_numbers(checker.control()) - _numbers(plain)) == 1:
                return [one for one in rivals if _passes_with(checker, one, changes)]
    return []


def _failing(checker: Any, edits: tuple[Edit, ...], candidate: Candidate, changes: tuple[Edit, ...]) -> Run | None:
    """The run of edits with other numbers, where it fails as the unedited program does."""
    run = _run(checker, candidate, (*edits, *changes))
    return run if run is not None and _alike(run, checker.control()) else None


def _run(checker: Any, candidate: Candidate, edits: tuple[Edit, ...]) -> Run | None:
    """The run of the program with edits in the place of a candidate's own."""
    run: Run | None = checker.tried_with(replace(candidate, edits=edits), checker.control())
    return run


def _passes_with(checker: Any, candidate: Candidate, changes: tuple[Edit, ...]) -> bool:
    """Whether the program runs with an edit and other numbers, which stand in other lines."""
    if _lines(candidate.edits) & _lines(changes):
        return False
    run = _run(checker, candidate, (*candidate.edits, *changes))
    return run is not None and passes(run, checker.control())


def _lines(edits: tuple[Edit, ...]) -> set[tuple[str, int]]:
    return {(edit.file, line) for edit in edits for line in range(edit.start_line, edit.end_line + 1)}


def _written(candidate: Candidate) -> list[int]:
    """The numbers that an edit writes where they did not stand."""
    rows = ((_NUMBER.findall(edit.before or ""), _NUMBER.findall(edit.after or "")) for edit in candidate.edits)
    return [int(one) for old, new in rows for one in (Counter(new) - Counter(old)).elements()]


def _with(checker: Any, candidate: Candidate, changes: tuple[Edit, ...], made: set[int | None]) -> bool | None:
    control, plain = checker.control(), _failing(checker, (), candidate, changes)
    if plain is None:
        return None
    both = _run(checker, candidate, (*candidate.edits, *changes))
    if both is None:
        return None
    if passes(both, control):
        return True
    apart = _numbers(plain) == _numbers(control)
    asked = _numbers(plain) & _numbers(control) & made
    return False if (asked or apart) and _alike(both, control) else None


def _numbers(run: Run) -> set[int]:
    return {int(one) for one in re.findall(r"\d+", str(run.error["message"]))}


def _alike(run: Run, control: Run) -> bool:
    """Whether a run failed as the unedited one, numbers apart."""
    if not run.error or run.error["type"] != control.error["type"]:
        return False
    one, other = (re.sub(r"\d+", "#", str(each.error["message"])) for each in (run, control))
    places = [(file, function) for each in (run, control) for file, _, function in each.error["frames"][-1:]]
    return one == other and len(set(places)) <= 1


def _scope(evidence: Evidence, candidate: Candidate) -> Mapping[str, Any]:
    source = evidence.sources(candidate.culprit.file)
    node = source.statement_at(candidate.culprit.line) if source is not None else None
    return scope_at(evidence, Place(source, node)) if source is not None and node is not None else {}


def _changes(evidence: Evidence, candidate: Candidate, read: list[int], factor: int = 2) -> Iterator[tuple[Edit, ...]]:
    """For each number that an edit reads: the edits that double it (or else) wherever it is written."""
    for number in itertools.islice((one for one in read if one >= _LEAST), _NAMES):
        try:
            yield tuple(edit for one in evidence.sources_seen() for edit in _multiplied(one, number, factor, candidate))
        except EditError:
            continue


def _multiplied(source: Source, number: int, factor: int, candidate: Candidate) -> tuple[Edit, ...]:
    """The edits of a file's lines beside the candidate's own."""
    own = {line for file, line in _lines(candidate.edits) if file == shown(source.file)}
    spans = (source.span(node) for node in source.nodes() if _is(node, number))
    free = [(span, str(factor * number)) for span in spans if not own & {span.line, span.end_line or span.line}]
    return changed(source, free) if free else ()


def _is(node: ast.AST, number: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == number


def computed_of(candidate: Candidate) -> list[str]:
    """What the arithmetic reads that an edit brings in: names, attributes, entries."""
    sides = [side for one in arithmetic(candidate.edits) for side in (one.left, one.right)]
    return [ast.unparse(one) for one in sides if isinstance(one, _READ)]


def _terms(candidate: Candidate, scope: Mapping[str, Any]) -> list[int]:
    """The numbers that an edit reads and that were not read there, each once, those of its arithmetic first."""
    names = computed_of(candidate)
    for edit in candidate.edits:
        known = _read(edit.before)
        names += [name for name in _read(edit.after) if name not in known]
    values = [scope.get(name) for name in names]
    return list(dict.fromkeys(one for one in values if isinstance(one, int)))


def _read(text: str | None) -> list[str]:
    return [ast.unparse(one) for one in nodes_of(text) if isinstance(one, _READ)]
