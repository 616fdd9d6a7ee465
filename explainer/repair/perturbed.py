"""A size that fits by chance: it does so no more once a number that the edit reads is another."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
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
_READ = (ast.Name, ast.Attribute, ast.Subscript)
#: How many names of an edit are looked at.
_NAMES = 3


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


def _with(checker: Any, candidate: Candidate, changes: tuple[Edit, ...], made: set[int | None]) -> bool | None:
    control = checker.control()
    plain = checker.tried_with(replace(candidate, edits=changes), control)
    if plain is None or not _alike(plain, control):
        return None
    both = checker.tried_with(replace(candidate, edits=(*candidate.edits, *changes)), control)
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


def _changes(evidence: Evidence, candidate: Candidate, read: list[int]) -> Iterator[tuple[Edit, ...]]:
    """For each number that an edit reads: the edits that double it wherever it is written."""
    for number in itertools.islice((one for one in read if one >= _LEAST), _NAMES):
        try:
            yield tuple(edit for one in evidence.sources_seen() for edit in _doubled(one, number, candidate))
        except EditError:
            continue


def _doubled(source: Source, number: int, candidate: Candidate) -> tuple[Edit, ...]:
    """The edits of a file's lines beside the candidate's own."""
    own = {line for edit in candidate.edits if edit.file == shown(source.file)
           for line in range(edit.start_line, edit.end_line + 1)}  # fmt: skip
    spans = (source.span(node) for node in source.nodes() if _is(node, number))
    free = [(span, str(2 * number)) for span in spans if not own & {span.line, span.end_line or span.line}]
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
