"""Repairs that survive, and what two of them have to do with each other: one repair at two places, or one behind it."""

from __future__ import annotations

import ast
import itertools
import re
from typing import Any

from explainer.edits.candidate import PAIRED, Candidate
from explainer.edits.changes import only_adapts
from explainer.edits.evidence import Evidence
from explainer.frozen import frozen
from explainer.oracle.judge import Judgement
from explainer.oracle.source import of_layout
from explainer.repair.features import Features, Roles, change_of
from explainer.repair.prior import has_sign, score
from explainer.replay.program import Run
from explainer.source import called, walked

_WORD = re.compile(r"[A-Za-z_]")
_TURNED = re.compile(r"\.(?:transpose|permute|movedim|swapaxes|t|T|mT)\b")
#: How much less likely, as a logarithm, what makes a value may be than what reads it.
_NEAR = 1.0
#: What is known of a model by which two runs are told to be the same.
_TOLD = ("name", "given", "held", "made", "ends")


@frozen
class Survivor:
    """A candidate with which the program runs; `score`: how likely it is, as a logarithm.

    `lost`, `counted`: see `features`.
    """

    candidate: Candidate
    run: Run
    judgement: Judgement
    score: float
    lost: int
    counted: Features

    @property
    def forgets(self) -> bool:
        """Whether a name is then read nowhere."""
        return bool(self.counted.get("forgets"))

    @property
    def smaller(self) -> bool:
        """Whether it changes an index where that is too large: any smaller one fits."""
        return bool(self.counted.get("smaller"))

    @property
    def drops(self) -> bool:
        """Whether samples are left out."""
        return bool(self.counted.get("drops-samples"))

    @property
    def odd(self) -> bool:
        """Whether a name is read no more, or a layer gets another size whose own the data have in another dimension."""
        return self.forgets or bool(self.counted.get("came-along") or self.counted.get("recomputed"))

    @property
    def kind(self) -> str:
        """Who offered it: a rule, a generator, an atom; empty where that is not known."""
        return self.candidate.source.kind if self.candidate.source is not None else ""

    @property
    def name(self) -> str:
        """The rule, generator or atom that offered it; empty where that is not known."""
        return self.candidate.source.name if self.candidate.source is not None else ""

    @property
    def line(self) -> tuple[str, int]:
        """The line that it takes for the cause."""
        return self.candidate.culprit.file, self.candidate.culprit.line


def alike(one: Survivor, first: Survivor, where: Roles, evidence: Evidence) -> bool:
    """Whether two edits are one repair, made at two places, so that the line of the first counts for both."""
    at_one_line = one.line == first.line or _handed_on(one, first, evidence)
    return at_one_line or _again(one, first) or _same_run(one, first) or downstream(one, [first], where, evidence)


def _same_run(one: Survivor, first: Survivor) -> bool:
    """Whether two edits come to the same: all models are given, hold and make the same, and end with the same."""
    told, other = (
        [[model.get(name) for name in _TOLD] for model in each.run.answer.get("seen", {}).get("models", ())]
        for each in (one, first)
    )
    return bool(told) and told == other and all(None not in row for row in told)


def downstream(one: Survivor, others: list[Survivor], where: Roles, evidence: Evidence) -> bool:
    """Whether an edit puts right, where it failed or is written, what another puts right where it went wrong."""
    behind = _overwrites(one, others) or _turns(one, others, where, evidence) or _fitted(one, others, where)
    return behind or _reads(one, others, where) or any(_evens_out(one, each) for each in others)


def _evens_out(one: Survivor, other: Survivor) -> bool:
    """Whether an edit gives a setting the number of another, `embed = 64`, where reading the one for the other will do.

    The other edit is then `cfg.embed` for `cfg.hidden`: of two settings that are the same number one would have no use.
    Nor would one that is read nowhere any more, where the other edit reads it.
    """
    before = one.candidate.edits[0].before or ""
    (old, new), *more = _changes(other.candidate)
    fields = other.name in ("size", "field") and len(old) == len(new) == 1 and not more
    if fields and one.forgets and not other.forgets and one.line != other.line and new <= _changes(one.candidate)[0][0]:
        return True
    names = [text for text in (*old, *new) if text.isidentifier()] if fields else []
    set_here = len(names) == 2 and any(re.search(rf"\b{name}\b[\"']?\s*[:=]", before) for name in names)
    return set_here and one.candidate.kind == "replace-literal" and one.line != other.line


def _fitted(one: Survivor, others: list[Survivor], where: Roles) -> bool:
    """Whether an edit turns a value around, or brings it to size where it failed, and another edit has it made so.

    Such an edit runs wherever the value went wrong; that another edit makes it come right is seldom by chance, where
    that has no doubt, exchanges nothing, and leaves all parameters as they are.
    """
    fits = _turns_around(one) or (where.stack.get(one.line) == 0 and only_adapts(one.candidate))
    makes = (each for each in others if not _turns_around(each) and each.name != "swap" and not each.lost)
    return fits and any(_upstream(each, one, where) and score(each.counted) > 0 for each in makes)


def _reads(one: Survivor, others: list[Survivor], where: Roles) -> bool:
    """Whether an edit of what is read where it failed, or one that leaves a name unread, comes to what another does."""
    there = where.stack.get(one.line) == 0 or one.forgets
    if not there or one.kind != "atom":
        return False
    least = score(one.counted) - _NEAR
    makes = (each for each in others if not each.forgets and score(each.counted) > least)
    return any(_upstream(each, one, where) and _same_run(each, one) for each in makes)


def _upstream(one: Survivor, other: Survivor, where: Roles) -> bool:
    """Whether an edit is of another line than where it failed, alone, and without a doubt."""
    alone = one.candidate.tier != PAIRED and not one.judgement.doubts and one.line != other.line
    return alone and where.stack.get(one.line) != 0


def _turns_around(one: Survivor) -> bool:
    """Whether a method is put behind a value that has its dimensions in another order."""
    inserts = one.name.partition(".")[0] == "layout"
    return inserts and any(len(_TURNED.findall(edit.after or "")) > len(_TURNED.findall(edit.before or ""))
                           for edit in one.candidate.edits)  # fmt: skip


def _overwrites(one: Survivor, others: list[Survivor]) -> bool:
    """Whether an edit writes a number where a layer's size is worked out, and another mends what that is worked out of.

    Both leave the program with the same parameters.
    """
    old, new = _changes(one.candidate)[0]
    written = one.lost > 0 and one.candidate.kind == "set-argument" and not any(map(_WORD.match, new))
    worked_out = written and (any(map(_WORD.match, old)) or "+" in new)
    further_up = lambda each: each.candidate.kind == "replace" and each.line != one.line  # noqa: E731
    computes = lambda each: each.line != one.line and not each.candidate.literal and score(each.counted) > 0  # noqa: E731
    atoms = (each for each in others if each.kind == "atom" and (has_sign(each.name) or computes(each)))
    mends = itertools.chain(filter(further_up, others), atoms)
    return worked_out and any(_parameters(each) == _parameters(one) for each in mends)


def _turns(one: Survivor, others: list[Survivor], where: Roles, evidence: Evidence) -> bool:
    """Whether an edit turns around, where it failed, what two sizes exchanged further up made so: `h, w = size`."""
    turned = where.stack.get(one.line) == 0 and of_layout(one.candidate.edits)
    return turned and any(_of_pair(each, evidence) for each in others)


def _of_pair(one: Survivor, evidence: Evidence) -> bool:
    """Whether an edit exchanges the two of a pair that a statement makes or takes apart."""
    file, line = one.line
    source = evidence.sources(file)
    statement = source.statement_at(line) if source is not None else None
    if one.name != "swap" or not isinstance(statement, ast.Assign):
        return False
    pair, value = statement.targets[0], statement.value
    made = isinstance(value, ast.Tuple) and not any(isinstance(one, ast.Call) for one in value.elts)
    return made or (isinstance(pair, ast.Tuple) and isinstance(value, (ast.Name, ast.Attribute)))


def _parameters(one: Survivor) -> list[tuple[int, ...]]:
    return sorted(map(tuple, one.run.answer.get("every") or []))


def _handed_on(one: Survivor, other: Survivor, evidence: Evidence) -> bool:
    """Whether two edits do the same to one value: where a function hands it back, and where that is called."""
    if _changes(one.candidate) != _changes(other.candidate) or len(one.candidate.edits) != 1:
        return False
    return _returned_to(one, other, evidence) or _returned_to(other, one, evidence)


def _returned_to(one: Survivor, other: Survivor, evidence: Evidence) -> bool:
    source, caller = (evidence.sources(each.candidate.culprit.file) for each in (one, other))
    function = source.function_at(one.line[1]) if source is not None else None
    statement = source.statement_at(one.line[1]) if source is not None else None
    call = caller.statement_at(other.line[1]) if caller is not None else None
    if function is None or call is None or not isinstance(statement, ast.Return):
        return False
    return any(isinstance(each, ast.Call) and called(each) == function.name for each in walked(call))


def _again(one: Survivor, first: Survivor) -> bool:
    """Whether what has a sign of its own, such as a layer that nothing calls, is put to the same use elsewhere.

    So is a cast, wherever on the way it stands.
    """
    if one.counted.get("cast") and first.counted.get("cast"):
        return True
    alike = one.name == first.name and has_sign(one.name)
    return alike and _changes(one.candidate) == _changes(first.candidate)


def _changes(candidate: Candidate) -> list[Any]:
    return [change_of(edit.before or "", edit.after or "") for edit in candidate.edits]
