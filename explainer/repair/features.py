"""What is counted of an edit under which the program runs: what it is, where it stands, what its run showed.

Names are `group=value`, or a group with a number; `prior.WEIGHTS` has what each costs.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections import Counter
from collections.abc import Mapping

from explainer.bindings import named_values
from explainer.edits.candidate import PAIRED, Candidate
from explainer.edits.changes import drops_name, is_cast, only_adapts
from explainer.edits.evidence import Evidence
from explainer.edits.generators.sites import ENDS
from explainer.edits.generators.slices import ragged
from explainer.frozen import frozen
from explainer.oracle.judge import Judgement
from explainer.oracle.source import drops_samples, takes_other_part
from explainer.repair.agreement import (
    came_along,
    computed,
    drops_computed,
    forgets,
    multiplied,
    reads_unread,
    recomputes,
    takes_a_part,
    takes_both_directions,
    whole,
    widens_for_caller,
)
from explainer.repair.atoms.arguments import OF_DATA
from explainer.repair.atoms.common import greatest
from explainer.repair.departing import Departing, departing
from explainer.repair.meeting import above
from explainer.repair.prior import ATOM, FILLING
from explainer.repair.siblings import agrees
from explainer.repair.spots import Spot, spots
from explainer.repair.uses import misnamed, misplaced
from explainer.replay.outcomes import other_input
from explainer.replay.program import Run
from explainer.source import Source, loaded, of_self, walked

Features = Mapping[str, float]
Line = tuple[str, int]
_OF_ALL = re.compile(rf"\b(?:{'|'.join(OF_DATA)})\s*=(?!=)\s*[a-z_A-Z]")
#: What one more is said of.
_MORE = re.compile(r"(\w+) \+ 1\b")
#: What grows or shrinks from stage to stage.
_STAGED = re.compile(r"(?://|\*) 2 \*\* [a-z_]\w*")
_OWN = re.compile(r"\bself\.(\w+)")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\S")
#: From how many parameters of other shapes on a model is another one; those of one layer, and of two that meet.
_LAYER, _MEETING = 2, 4
#: How many marks there may be that the data do not hold.
_MARKS = 2
_FAR = 8
#: What is added to lengths: as far as this.
_OFFSET = 2
#: From which number on a setting is one: smaller ones stand for many things.
_SETTING = 5
#: Atoms after which all data are read in another way, those with which the call went well too.
_TURNING = ("dimension", "layout", "swap", "pattern")


@frozen
class Roles:
    """The role that each line of the slice has in a crash, with its distance; the lines of the failing stack.

    `sizes`: the lines that compute the sizes that do not fit.
    """

    lines: Mapping[Line, tuple[str, int]]
    stack: Mapping[Line, int]
    sizes: Departing

    def of(self, candidate: Candidate) -> tuple[str, int]:
        """The role of the line that a candidate takes for the cause."""
        return self.lines.get(_line_of(candidate), ("elsewhere", _FAR))


def _line_of(candidate: Candidate) -> Line:
    return candidate.culprit.file, candidate.culprit.line


def roles(evidence: Evidence) -> Roles:
    """Roles by line: where one has several, the first."""
    lines: dict[Line, tuple[str, int]] = {}
    for spot in spots(evidence):
        lines.setdefault(_line(spot), (spot.role, spot.distance))
    stack = [(frame.place.source.file, frame.place.line) for frame in reversed(evidence.frames)]
    return Roles(lines, {line: depth for depth, line in reversed(list(enumerate(stack)))}, departing(evidence))


def _line(spot: Spot) -> Line:
    return spot.place.source.file, spot.place.line


def features(
    candidate: Candidate, run: Run, control: Run, judgement: Judgement, evidence: Evidence, where: Roles
) -> Features:
    """All features of a survivor that are not 0."""
    lost, forgetting = lost_parameters(run, control), forgets(candidate, evidence)
    found: dict[str, float] = {
        "any": 1.0,
        **_of_origin(candidate),
        **_of_place(candidate, evidence, where),
        **_of_text(candidate, evidence),
        **_of_calls(candidate, evidence),
        **{f"doubt={name}": 1.0 for name in judgement.doubts},
        "reshaped": 1.0 if 0 < lost <= _LAYER else 0.0,
        "reshaped=two": 1.0 if _LAYER < lost <= _MEETING else 0.0,
        "reshaped=many": 1.0 if lost > _MEETING else 0.0,
        "reshaped=passed": float(bool(lost) and evidence.passed and "out of" not in evidence.message),
        "came-along": float(bool(lost) and came_along(evidence)),
        "warned": float(bool(set(run.answer.get("warnings", ())) - set(control.answer.get("warnings", ())))),
        "apart": float(evidence.apart),
        "as-sibling": float(agrees(candidate, evidence)),
        "input": float(candidate.literal and other_input(run, control)),
        "turned-input": float(bool(lost) and _turned_input(run, control)),
        "ungraded": float(min(int(run.answer.get("ungraded") or 0), 2)),
        "computed": float(computed(candidate)),
        "recomputed": float(
            bool(lost) and (recomputes(candidate) or drops_computed(candidate, evidence.sources_seen()))
        ),
        "widens": float(bool(lost) and "out of" not in evidence.message and widens_for_caller(candidate, evidence)),
        "forgets": float(forgetting),
        "reads-unread": float(not forgetting and reads_unread(candidate, evidence)),
        "exact": float(candidate.exact),
        "other-end": float(_other_end(candidate)),
        "kept-otherwise": float(_kept_otherwise(candidate, evidence)),
        "fills": float(_fills(candidate, evidence)),
        "counts-both": float(_counts_both(candidate, run, control, evidence)),
        "one-more": float(_one_more(candidate, run, control, evidence)),
        "numbered": float(adds_start(candidate)),
        "multiplied": float(multiplied(candidate)),
        "takes-part": float(takes_a_part(candidate, evidence)),
        "both-directions": float(bool(lost) and takes_both_directions(candidate, evidence)),
        "adapts": float(only_adapts(candidate)),
        "cast": float(is_cast(candidate)),
        "drops-name": float(drops_name(candidate)),
        "drops-samples": float(drops_samples(candidate.edits) or _takes_others(candidate, evidence)),
    }
    return {name: value for name, value in found.items() if value}


def _makes_up(candidate: Candidate) -> bool:
    """Whether an edit fits a number to what is needed: it brings one of its own, or just takes off the difference."""
    come = (token for edit in candidate.edits for token in _exchanged(edit.before, edit.after)[1])
    return candidate.exact or any(token.isdigit() and int(token) > _OFFSET for token in come)


def adds_start(candidate: Candidate) -> bool:
    """Whether just the number is added to a count with which the program begins to number."""
    return candidate.source is not None and candidate.source.name == "counted.behind_start"


def _other_end(candidate: Candidate) -> bool:
    """Whether just one end of a layer gives way to its other one: `base.in_features` -> `base.out_features`."""
    pair = _one_for_another(candidate)
    return pair is not None and ENDS.get(pair[0]) == pair[1]


def _one_for_another(candidate: Candidate) -> tuple[str, str] | None:
    """The one token that gives way to another; None where more is changed."""
    gone, come = (list(one.elements()) for one in _exchanged(candidate.edits[0].before, candidate.edits[0].after))
    return (gone[0], come[0]) if len(candidate.edits) == len(gone) == len(come) == 1 else None


def _kept_otherwise(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a parameter gives way to what its object keeps of it, which is another: `self.n = min(n, most)`, `n`."""
    edit, source = candidate.edits[0], evidence.sources(candidate.culprit.file)
    function = source.function_at(candidate.culprit.line) if source is not None else None
    old, new = (Counter(_OWN.findall(text or "")) for text in (edit.before, edit.after))
    come = list(new - old)
    if function is None or len(candidate.edits) != 1 or len(come) != 1:
        return False
    above = [one for one in walked(function) if isinstance(one, ast.Assign) and one.lineno < candidate.culprit.line]
    kept = [one.value for one in above if any(of_self(each) and each.attr == come[0] for each in one.targets)]  # type: ignore[attr-defined]
    gone, _ = _exchanged(edit.before, edit.after)
    return not gone and any(not isinstance(one, ast.Name) and come[0] in loaded(one) for one in kept)


def _offsets(before: str, after: str) -> bool:
    """Whether a one, or two, that is added to something or taken from it becomes a number further from it."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    apart = [at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]]
    if len(old) != len(new) or len(apart) != 1 or apart[0] < 2 or not (old[apart[0]] + new[apart[0]]).isdigit():
        return False
    one, other = int(old[apart[0]]), int(new[apart[0]])
    behind = old[apart[0] - 1] in ("+", "-") and (old[apart[0] - 2].isidentifier() or old[apart[0] - 2] in (")", "]"))
    return behind and one <= _OFFSET < abs(other - one) + 1


def _levels(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a setting becomes what another setting is already, where the two met and differ: `WIDTH, STEPS = 48, 48`.

    They were two on purpose; what a layer is given at once is no setting.
    """
    pair = _one_for_another(candidate)
    if pair is None or not "".join(pair).isdigit():
        return False
    old, new = map(int, pair)
    if not {old, new} <= set(evidence.said) or new < _SETTING:
        return False
    at = evidence.sources(candidate.culprit.file), candidate.culprit.line
    values = [row for source in evidence.sources_seen() for row in _settings(source)]
    changed = any((source, line) == at and value == old for value, source, line in values)
    return changed and any(value == new for value, _, _ in values)


@functools.lru_cache(64)
def _settings(source: Source) -> tuple[tuple[int, Source, int], ...]:
    """The whole numbers that names, parameters and fields of a file are given, with the line of each."""
    given = [value for node in source.nodes() for _, value in named_values(node)]
    values = [one for value in given for one in (value.elts if isinstance(value, ast.Tuple) else [value])]
    whole = (one for one in values if isinstance(one, ast.Constant) and type(one.value) is int)
    return tuple((one.value, source, one.lineno) for one in whole)  # type: ignore[misc]


def _fills(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether samples are filled up by another amount: of what they are made of nothing else in numbers is edited."""
    return candidate.source is not None and candidate.source.name in FILLING and ragged(evidence)


def _counts_both(candidate: Candidate, run: Run, control: Run, evidence: Evidence) -> bool:
    """Whether two lengths are counted together, and a table then has the rows that the largest index needs, no more.

    Two marks of those that were counted may be missing among the data that failed.
    """
    counted = all(" + len(" in (edit.after or "") and " + len(" not in (edit.before or "") for edit in candidate.edits)
    most = greatest(evidence) if counted else None
    return most is not None and any(0 <= rows - most - 1 <= _MARKS for rows in _rows_made(run, control))


def _one_more(candidate: Candidate, run: Run, control: Run, evidence: Evidence) -> bool:
    """Whether a size gets one more, which is just what the largest index needs, and the smallest is 0.

    Where the program says one more of it already, that may be what made the index too large.
    """
    come = [_exchanged(edit.before, edit.after) for edit in candidate.edits]
    extents = evidence.crash.extents if evidence.crash is not None else ()
    most = greatest(evidence) if any(one is not None and one[0] == 0 for one in extents) else None
    if most is None or any(gone or sorted(new.elements()) != ["+", "1"] for gone, new in come):
        return False
    made = {name for edit in candidate.edits for name in _MORE.findall(edit.after or "")}
    known = {name for source in evidence.sources_seen() for name in _MORE.findall(source.whole)}
    return not made & known and most + 1 in _rows_made(run, control)


def _rows_made(run: Run, control: Run) -> list[int]:
    """The first sizes of the parameters that only the edited program has."""
    before, after = (Counter(map(tuple, one.answer.get("every") or [])) for one in (control, run))
    return [shape[0] for shape in after - before if shape]


def _takes_others(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether other samples are taken where one of them holds an index too large: those may only happen to fit."""
    return "out of" in evidence.message and takes_other_part(candidate.edits)


def _turned_input(run: Run, control: Run) -> bool:
    """Whether the model is given samples for features: then its layers fit whatever they are made of."""
    pairs = zip(run.answer.get("input") or [], control.answer.get("input") or [], strict=False)
    return any(new != old and sorted(new) == sorted(old) for new, old in pairs
               if isinstance(new, list) and isinstance(old, list))  # fmt: skip


def lost_parameters(run: Run, control: Run) -> int:
    """How many parameters of the program there are no more: given another shape, or left out; new ones do not count."""
    before, after = (Counter(map(tuple, one.answer.get("every") or [])) for one in (control, run))
    return sum((before - after).values())


def _of_origin(candidate: Candidate) -> dict[str, float]:
    source = candidate.source
    kind = source.kind if source is not None else "generator"
    if candidate.tier == PAIRED:
        return {"known=two": 1.0}
    if kind == "atom" and source is not None:
        return {f"atom={source.name}": 1.0, "kind": ATOM.get(source.name, 0.0)}
    if kind == "generator" or kind == "idiom":
        return {f"known={max(candidate.tier, -1)}": 1.0}
    return {"known=rule": 1.0}


def _of_place(candidate: Candidate, evidence: Evidence, where: Roles) -> dict[str, float]:
    role, distance = where.of(candidate)
    line = _line_of(candidate)
    depth = where.stack.get(line)
    return {
        "above": float(line in above(evidence)),
        "departs": float(line in where.sizes.first and not _makes_up(candidate)),
        "later": float(where.sizes.comes_later(line)),
        "met": float(line in where.sizes.met),
        f"role={role}": 1.0,
        "distance": min(distance, _FAR) / _FAR,
        "innermost": float(depth == 0),
        "smaller": float(depth == 0 and "out of" in evidence.message),
        "on-stack": float(depth is not None and depth > 0),
        "went-well": float(evidence.passed and depth is not None),
        "reads-otherwise": float(evidence.passed and not evidence.square and _turns(candidate)),
    }


def _turns(candidate: Candidate) -> bool:
    """Whether an edit reads tensors along other dimensions, or in another order."""
    return candidate.source is not None and candidate.source.name in _TURNING


def _of_calls(candidate: Candidate, evidence: Evidence) -> dict[str, float]:
    """What the arguments of calls are for, and are called, before and after; the surest generators know it better."""
    trees = [whole(edit, evidence) for edit in candidate.edits]
    return {
        "misplaced": float(any(misplaced(evidence, *pair) for pair in trees)),
        "named-so": float(candidate.tier >= 0 and any(misnamed(evidence, *pair) for pair in trees)),
    }


def _of_text(candidate: Candidate, evidence: Evidence) -> dict[str, float]:
    pairs = [(edit.before or "", edit.after or "") for edit in candidate.edits]
    gone, come = Counter[str](), Counter[str]()
    for before, after in pairs:
        left, brought = _exchanged(before, after)
        gone += left
        come += brought
    source = evidence.sources(candidate.culprit.file)
    return {
        "edits": float(len({change_of(before, after) for before, after in pairs}) - 1),
        "come": math.log1p(sum(come.values())),
        "gone": math.log1p(sum(gone.values())),
        "new-number": float(any(token.isdigit() for token in come)),
        "same-tokens": float(not gone and not come),
        "familiar": _familiar(candidate, source) if source is not None else 0.0,
        "levels": float(_levels(candidate, evidence)),
        "offset": float(any(_offsets(*pair) for pair in pairs)),
        "staged": float(any(_STAGED.search(after) and not _STAGED.search(before) for before, after in pairs)),
        "counts-all": float(any(_counts_all(*pair) for pair in pairs)),
    }


def _counts_all(before: str, after: str) -> bool:
    """Whether a count gets the length that it has for all classes, and not for those that were met alone."""
    return len(_OF_ALL.findall(after)) > len(_OF_ALL.findall(before))


def _familiar(candidate: Candidate, source: Source) -> float:
    """How much more (or less) of an edited line's runs of three tokens stand elsewhere in the file than before."""
    elsewhere = _runs(source.whole).copy()
    elsewhere.subtract(sum((_three(edit.before or "") for edit in candidate.edits), Counter()))
    there = lambda row: elsewhere[row] > 0  # noqa: E731
    total = 0.0
    for edit in candidate.edits:
        old, new = _three(edit.before or ""), _three(edit.after or "")
        gained = sum(there(row) for row in new - old)
        lost = sum(there(row) for row in old - new)
        total += gained / max(sum((new - old).values()), 1) - lost / max(sum((old - new).values()), 1)
    return total / max(len(candidate.edits), 1)


def change_of(before: str, after: str) -> tuple[frozenset[str], frozenset[str]]:
    """The tokens that an edit takes away and brings: the same at sibling places."""
    gone, come = _exchanged(before, after)
    return frozenset(gone), frozenset(come)


def _exchanged(before: str | None, after: str | None) -> tuple[Counter[str], Counter[str]]:
    """The tokens that an edit takes away and brings, each as often as it does."""
    old, new = (Counter(_TOKEN.findall(text or "")) for text in (before, after))
    return old - new, new - old


@functools.lru_cache(4)
def _runs(text: str) -> Counter[tuple[str, ...]]:
    return _three(text)


def _three(text: str) -> Counter[tuple[str, ...]]:
    tokens = _TOKEN.findall(text)
    return Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
