"""Fixes: what rules offer and what the search finds, tried before they are shown as checked."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from explainer.catalogue.bounds import of_file
from explainer.catalogue.words import holds, in_language, value, words
from explainer.diagnosis import Edit, Fix, FixSource, Label, Span
from explainer.edits.candidate import PAIRED, Candidate
from explainer.edits.changes import drops_name, is_cast, only_adapts
from explainer.frozen import frozen, replace
from explainer.oracle import judge, source
from explainer.oracle.words import doubt
from explainer.probes import Scene, find
from explainer.probes.files import sources
from explainer.repair.agreement import drops_computed, recomputes
from explainer.replay.rivals import with_ties
from explainer.replay.trial import LATE, Verdict, silent, try_candidates, turned_too, whole_program, whole_script
from explainer.source import loaded, source_of
from explainer.weighing import Held

#: How many fixes a diagnosis shows.
MOST = 3
#: Families in which a value is often wrong before it gets to the failing call. That the call runs once the value is
#: adapted there does not tell where it went wrong; that it runs with another literal does, where sizes are concerned.
TRAVELS = ("shape", "view", "dtype", "device", "index")
SIZES = ("shape", "view")
DECIDING = ("set-argument", "swap-arguments", "replace-literal")

#: Families in which a search can find a repair.
WIDE = (
    *("shape", "view", "dtype", "index", "device", "unsupported", "amp", "api", "autograd", "inplace", "nan"),
    *("dataloader", "checkpoint", "oom"),
)
#: Those in which a line that no edit mends is seldom the one to blame: the others rest on more than where it failed.
FOLLOWED = (*TRAVELS, "autograd", "inplace", "dataloader")
#: How many edits that help nothing speak against a line that none of them changed.
SEARCHED = 4
#: How many parameters, those of one layer, an edit may give another shape and still show the cause.
_FEW = 2

#: Seconds of work for repairs of two edits.
PAIRS = 4.0

#: How many layers' weights a number may change that is to show the cause.
LAYER = 1


@frozen
class Remedy:
    """The fixes to show, best first, and the line to edit. `refuted`: edits were run, and none of them helped.

    `adapts`: the first only makes the failing call take what came, wherever that went wrong. `doubtful`: the first ran,
    and may do harm; `unsure`: others are as likely; `bends`: only that it gives layers other sizes keeps it from a
    proof, as any two fit once both are the same.
    """

    fixes: tuple[Fix, ...] = ()
    culprit: Span | None = None
    proves: bool = False
    refuted: bool = False
    adapts: bool = False
    doubtful: bool = False
    unsure: bool = False
    bends: bool = False

    @property
    def checked(self) -> bool:
        """Whether a fix was run and worked."""
        return any(fix.certainty == "checked" for fix in self.fixes)

    @property
    def edits(self) -> bool:
        """Whether a fix has edits."""
        return any(fix.edits for fix in self.fixes)


def of_rule(held: Held, scene: Scene) -> Remedy:
    """The fixes of a rule, tried: those that passed, or the suggestions where nothing could be run."""
    with of_file(held.rule.file):
        offered, words_only = _offers(held, scene), _plain_fixes(held, scene)
    verdicts = _tried(offered, scene)
    passed = [replace(one, judgement=judge.of_rule(one.judgement)) for one in verdicts if one.passed]
    passed.sort(key=lambda one: bool(one.judgement.doubts))
    if passed:
        first = passed[0].candidate
        adapts = held.rule.family in TRAVELS and only_adapts(first)
        either = held.rule.family in SIZES and _written_beside(first)
        proves = _proves(passed, held, scene) and not default_or_layout(scene, first)
        shown = _shown(passed, words_only, scene.options.language)
        doubtful = bool(passed[0].judgement.doubts) or either
        bends = proves and held.rule.family in SIZES and passed[0].reshaped > 0
        proves = proves and not bends and not either
        return Remedy(shown, first.culprit, proves, adapts=adapts, doubtful=doubtful, bends=bends)
    late = [one.candidate for one in verdicts if one.level == LATE]
    refuted = not late and any(one.level != "none" for one in verdicts)
    if late:
        scene.leave_out("unfinished")
    untried = () if refuted else tuple(map(_suggestion, (late or [one for _, one in offered])[:MOST]))
    return Remedy((*untried, *words_only)[:MOST], refuted=refuted)


def _proves(passed: Sequence[Verdict], held: Held, scene: Scene) -> bool:
    """Whether edits that passed show the cause: not where they only made the failing call take what came.

    Where a value may have gone wrong in several places, edits of different lines that pass leave it open which, and one
    of the line that failed does; and a number that makes another model shows nothing: any two sizes fit once both are
    the same.
    """
    family, candidate = held.rule.family, passed[0].candidate
    if _where_it_failed(candidate, scene) and (family in TRAVELS or (family == "nan" and _handed_in(candidate))):
        return False
    if (family in TRAVELS and not _of_one_line(passed)) or passed[0].level == "operator" or _keeps_graph(candidate):
        return False
    if passed[0].reshaped > LAYER or (family in TRAVELS and only_adapts(candidate)) or _behind(candidate, held):
        return False
    if family in SIZES and candidate.kind in DECIDING and drops_name(candidate):
        return False  # what is computed there may be computed wrongly
    if family in SIZES and _comes_later(candidate, scene):
        return False
    if passed[0].judgement.doubts or recomputes(candidate) or drops_computed(candidate, sources(scene)):
        return False
    if passed[0].level == "program" or (family not in TRAVELS and not _cuts_graph(candidate)):
        return True
    return family in SIZES and candidate.kind in DECIDING and not drops_name(candidate)


def _written_beside(candidate: Candidate) -> bool:
    """Whether what an edit sets is written in another call of the class, too: either of them may be the wrong one."""
    before, after = (
        Counter(re.findall(r"\w+", " ".join(texts)))
        for texts in ([edit.before or "" for edit in candidate.edits], [edit.after or "" for edit in candidate.edits])
    )
    added, line = list((after - before).elements()), candidate.culprit.line
    found = source_of(candidate.culprit.file)
    scope = found.class_at(line) or found.scope_at(line)
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and one.lineno != line] if scope else []
    given = [value for one in calls for value in (*one.args, *(word.value for word in one.keywords))]
    return len(added) == 1 and any(ast.unparse(one) == added[0] for one in given)


def _where_it_failed(candidate: Candidate, scene: Scene) -> bool:
    frame, blamed = scene.crash.user_frame, candidate.culprit
    return (
        frame is not None
        and os.path.realpath(frame.file) == os.path.realpath(blamed.file)
        and (frame.line == blamed.line)
    )


def _handed_in(candidate: Candidate) -> bool:
    """Whether an edited line reads what its function is given: whoever gives it may be to blame."""
    found, line = source_of(candidate.culprit.file), candidate.culprit.line
    function, statement = found.function_at(line), found.statement_at(line)
    given = {one.arg for one in function.args.args} - {"self"} if function is not None else set()
    return statement is not None and bool(loaded(statement) & given)


def default_or_layout(scene: Scene, candidate: Candidate) -> bool:
    """Whether an edit sets what a function decides by default, where turning a tensor around fits too."""
    return source.decides_default(candidate.edits) and turned_too(scene, candidate)


def _behind(candidate: Candidate, held: Held) -> bool:
    """Whether an edit casts a value further down than the rule saw its dtype come in."""
    span = held.culprit
    apart = span is not None and (span.file, span.line) != (candidate.culprit.file, candidate.culprit.line)
    return held.rule.family in TRAVELS and is_cast(candidate) and apart


def _comes_later(candidate: Candidate, scene: Scene) -> bool:
    """Whether the size that an edit changes was wrong before it got to that line."""
    from explainer.repair.departing import departing

    evidence, line = _recorded(scene), (candidate.culprit.file, candidate.culprit.line)
    return evidence is not None and departing(evidence).comes_later(line)


def _keeps_graph(candidate: Candidate) -> bool:
    """Whether an edit keeps a graph for another backward: that runs, whatever the graph is shared for."""
    return _puts(candidate, "retain_graph")


def _cuts_graph(candidate: Candidate) -> bool:
    """Whether an edit takes a value off its graph: what then no longer trains shows behind the crash only."""
    return _puts(candidate, "detach()")


def _puts(candidate: Candidate, text: str) -> bool:
    """Whether an edit brings a text to lines that had none of it."""
    return any(text in (edit.after or "") and text not in (edit.before or "") for edit in candidate.edits)


def of_search(family: str, scene: Scene, known: Remedy, named: Span | None = None) -> Remedy:
    """A remedy, or none yet, beside what the search finds, where the whole program can be tried again.

    It goes on where what has passed so far leaves open which line is to blame; the likeliest of all goes first. At the
    line that a rule has `named` an edit is likely enough, whatever else runs.
    """
    scene.search()
    again = scene.live is not None and (whole_program(scene) or whole_script(scene))
    evidence = _recorded(scene) if again and not _from_data(family, scene) else None
    if evidence is None:
        return known
    from explainer.repair.blame import KEPT, SURE, UNLIKELY, UNSURE

    own = known.fixes[0].edits if known.checked else ()
    with scene.replaying():  # which Ctrl-C ends; what was found until then is still weighed
        wide = _widened(family, scene, evidence, own)
    blame = _blamed(scene, evidence, own)
    first = blame.first
    if first is None:
        searched = family in FOLLOWED and len(_checker(scene).tried) >= SEARCHED
        return replace(known, refuted=known.refuted or searched)
    if own and first.candidate.edits == own:
        return replace(known, proves=known.proves and blame.share >= KEPT and not blame.odd)
    verdicts = with_ties(_checker(scene), blame.verdicts(_checker(scene)))
    told_by_rule = named is not None and first.line == (named.file, named.line)
    least = UNSURE if first.forgets or first.counted.get("came-along") else UNLIKELY  # which has a sign against it
    if blame.share < least and not told_by_rule and not _sure_pair(first.candidate):
        if known.checked and _first_of_rule(first):  # which has seen more than that it runs
            return replace(known, proves=False)
        return Remedy(
            tuple(_doubtful(one, scene.options.language, "unlikely") for one in verdicts[:MOST]), doubtful=True
        )
    best = verdicts[0]
    alone = blame.alone and best.candidate.tier != PAIRED and first.lost <= _FEW and not only_adapts(best.candidate)
    told = blame.told and not first.odd and not best.judgement.doubts
    sure = wide and whole_program(scene) and blame.counted >= SURE and alone and told
    proves = sure and not first.smaller and not default_or_layout(scene, best.candidate)
    shown = _shown(verdicts, (), scene.options.language)
    unsure, doubtful = blame.share < UNSURE, bool(best.judgement.doubts)
    return Remedy(shown, best.candidate.culprit, proves, doubtful=doubtful, unsure=unsure)


def _sure_pair(candidate: Candidate) -> bool:
    """Whether two edits are both of generators, which are tried last of all."""
    return candidate.tier == PAIRED and candidate.source is not None and candidate.source.kind != "atom"


def _first_of_rule(first: Any) -> bool:
    source = first.candidate.source
    return source is not None and source.kind == "rule"


def odd(scene: Scene) -> tuple[Span, Label, str] | None:
    """Where a recorded run first went another way than before, or a size was first computed that no tensor had.

    With words for it; None where nothing was recorded.
    """
    evidence = scene.once("recording", lambda: None)  # what the search has asked for, or nothing
    if evidence is None:
        return None
    from explainer.repair.departing import departs
    from explainer.repair.odd import odd as found

    language = scene.options.language
    return found(evidence, language) or departs(evidence, language)


def _from_data(family: str, scene: Scene) -> bool:
    """Whether data hold what is not finite, or nothing is left to choose: an edit that passes it by repairs nothing."""
    return family == "nan" and any(find(name)(scene) is not None for name in ("spoilt_data", "nothing_left"))


def drops(scene: Scene) -> bool:
    """Whether a failing file computes or makes something that nobody takes, which is to be tried then."""
    return bool(scene.once("a result that nobody takes", lambda: _drops(scene)))


def _drops(scene: Scene) -> bool:
    from explainer.repair.atoms.effects import drops_results
    from explainer.repair.atoms.unused import leaves_layers

    files = dict.fromkeys(frame.file for frame in scene.crash.frames if frame.user)
    sources = (scene.source(file) for file in files) if scene.live is not None else ()
    read = [one for one in sources if one is not None and one.tree is not None]
    return any(drops_results(one) or leaves_layers(one) for one in read)


def _widened(family: str, scene: Scene, evidence: Any, own: tuple[Edit, ...]) -> bool:
    """Search ever wider as long as nothing that passed is likely enough; whether all that atoms offer was weighed."""
    from explainer.repair.blame import LIKELY, UNLIKELY
    from explainer.repair.wide import generated, pairs, surely, widely

    made, progress = _checker(scene), scene.options.progress or silent
    blame = partial(_blamed, scene, evidence, own)
    known, wide = blame(), False
    told = drops(scene)
    if family in WIDE and (known.share < LIKELY or known.fits or told):
        offered = generated(evidence, family)
        if not own:
            surely(made, offered, progress)
        found = blame()
        if found.share < LIKELY or found.fits or told:
            made.extend()
            widely(made, evidence, progress, family, offered)
            wide = True
    if not own and blame().share < UNLIKELY:
        made.extend(PAIRS)
        pairs(made, progress, family)
    return wide


def _blamed(scene: Scene, evidence: Any, own: tuple[Edit, ...]) -> Any:
    from explainer.repair.blame import blamed

    return blamed(_checker(scene), evidence, own)


def _recorded(scene: Scene) -> Any:
    from explainer.edits.generators.driver import recorded

    return recorded(scene)


def _checker(scene: Scene) -> Any:
    from explainer.replay.programs import checker

    return checker(scene)


def _of_one_line(passed: Sequence[Verdict]) -> bool:
    return len({(one.candidate.culprit.file, one.candidate.culprit.line) for one in passed}) == 1


def _offers(held: Held, scene: Scene) -> list[tuple[str, Candidate]]:
    """The candidates of a rule's fixes, in its order, each with the check it takes."""
    from explainer.edits.candidates import candidates

    offers: dict[tuple[Edit, ...], tuple[str, Candidate]] = {}  # two fixes may come to the same edit
    for fix in held.rule.fixes:
        if not _applies(fix, held):
            continue
        for spec in fix.get("edits") or ([fix["edit"]] if "edit" in fix else []):
            rendered = {name: value(v, held.names) if isinstance(v, str) else v for name, v in spec.items()}
            title = words(in_language(fix["title"], scene.options.language), held.names)
            for candidate in candidates(scene, {**rendered, "title": title, "fix": fix["id"]}, held.facts):
                source = _source(held, fix).at(candidate.culprit)
                offers.setdefault(candidate.edits, (fix.get("check", "forward"), replace(candidate, source=source)))
    return list(offers.values())


def _applies(fix: Mapping[str, Any], held: Held) -> bool:
    present = all(held.names.get(name) is not None for name in fix.get("needs", ()))
    return present and ("when" not in fix or holds(fix["when"], held.names))


def _plain_fixes(held: Held, scene: Scene) -> tuple[Fix, ...]:
    """The fixes that are words alone."""
    plain = [fix for fix in held.rule.fixes if "edit" not in fix and "edits" not in fix and _applies(fix, held)]
    say = lambda fix: words(in_language(fix["title"], scene.options.language), held.names)  # noqa: E731
    return tuple(Fix(say(fix), source=_source(held, fix)) for fix in plain)


def _source(held: Held, fix: Mapping[str, Any]) -> FixSource:
    return FixSource("rule", f"{held.rule.id}/{fix['id']}" if "id" in fix else held.rule.id)


def _tried(offers: list[tuple[str, Candidate]], scene: Scene) -> list[Verdict]:
    if not offers or scene.live is None or not scene.options.replay:
        return []
    return try_candidates(scene, [candidate for _, candidate in offers], offers[0][0], scene.options.progress)


def _shown(passed: list[Verdict], words_only: tuple[Fix, ...], language: str) -> tuple[Fix, ...]:
    fixes = tuple(_doubtful(one, language) if one.judgement.doubts else _checked(one) for one in passed)
    return (*fixes, *words_only)[:MOST]


def _checked(verdict: Verdict) -> Fix:
    candidate = verdict.candidate
    title = f"{candidate.title}: {candidate.meaning}" if candidate.meaning else candidate.title
    return Fix(title, "checked", verdict.said, candidate.edits, candidate.source)


def _doubtful(verdict: Verdict, language: str, *more: str) -> Fix:
    """An edit that ran, and may do harm: it is a suggestion that says so."""
    judgement = replace(verdict.judgement, doubts=(*verdict.judgement.doubts, *more))
    title = f"{verdict.candidate.title}: {doubt(judgement, language)}"
    return Fix(title, "suggestion", None, verdict.candidate.edits, verdict.candidate.source)


def _suggestion(candidate: Candidate) -> Fix:
    return Fix(candidate.title, "suggestion", None, candidate.edits, candidate.source)
