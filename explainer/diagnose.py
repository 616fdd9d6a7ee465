"""From a crash to its report: the stages in order, each guarded, so that a failing one takes nothing else with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar

from explainer import grammar, guarding, remedies, reporting, untried
from explainer.catalogue import Catalogue, Match
from explainer.catalogue.bounds import WordsError, for_crash, of_file
from explainer.catalogue.rule import UNLISTED
from explainer.catalogue.words import in_language, words
from explainer.crash import Crash, Known
from explainer.diagnosis import Certainty, Diagnosis, Edit, Fix, FixSource, Label, Report, Span
from explainer.facts import span_of
from explainer.frozen import mutable, replace
from explainer.grammar.told import Told
from explainer.locale import word
from explainer.probes import Options, Scene
from explainer.remedies import Remedy
from explainer.replay.trial import CannotBegin
from explainer.weighing import Held, held_rules

T = TypeVar("T")


@mutable
class Stages:
    """Runs stages; what fails is noted in one line and the rest goes on."""

    failures: list[str]

    def run(self, stage: str, work: Callable[[], T], otherwise: T) -> T:
        """The result of a stage, or `otherwise` where it failed."""
        try:
            return work()
        except KeyboardInterrupt:
            raise
        except CannotBegin:  # `untried` says so
            return otherwise
        except BaseException as error:
            self.note(stage, error)
            return otherwise

    def note(self, stage: str, error: BaseException) -> None:
        """One line on what failed; where it is the words of a file, which and why."""
        failed = str(error) if isinstance(error, WordsError) else f"{stage} failed ({type(error).__name__})"
        said = f"explainer: {failed}; the rest is shown"
        if said not in self.failures:
            self.failures.append(said)


def knowing(catalogue: Catalogue) -> Known:
    """How well an error is known: 2 where a symptom does, 1 where its message can be read, else 0."""
    return lambda error: 2 if catalogue.knows(error) else int(grammar.read(error) is not None)


def diagnose(crash: Crash, catalogue: Catalogue, options: Options) -> Report:
    """The report on one crash; without a diagnosis where nothing is known. Raises nothing but KeyboardInterrupt."""
    with for_crash():
        return _diagnosed(crash, catalogue, options)


def _diagnosed(crash: Crash, catalogue: Catalogue, options: Options) -> Report:
    stages = Stages([])
    scene = Scene(crash, options)
    match = stages.run("own files", lambda: _of_own_file(scene, catalogue), None)
    match = match or stages.run("matching", lambda: catalogue.match(crash), None)
    match = match or stages.run("graph breaks", lambda: _of_break(scene, catalogue), None)
    match = match or stages.run("reading the message", lambda: grammar.read(crash), None)
    match = match or stages.run("the signature", lambda: _of_keyword(scene, catalogue), None)
    scene.captures = match.captures if match else {}
    diagnosis = None
    if match is not None:
        diagnosis = stages.run("the diagnosis", lambda: _diagnosis(match, catalogue, scene, stages), None)
        diagnosis = diagnosis or stages.run("the symptom", lambda: of_symptom(match, scene), None)
        diagnosis = stages.run("the history of shapes", lambda: reporting.with_history(diagnosis, scene), diagnosis)
        diagnosis = stages.run("what was left out", lambda: _with_reason(diagnosis, scene), diagnosis)
    else:
        diagnosis = stages.run("the guard", lambda: guarding.alone(scene), None)
    report = stages.run("the report", lambda: reporting.report_on(scene, diagnosis), None)
    report = report or reporting.bare(crash, diagnosis, options.language)
    skipped = ("explainer: replay skipped (Ctrl-C); the rest is shown",) if scene.interrupted else ()
    remarks = (*report.remarks, *stages.failures, *skipped)
    return replace(report, remarks=remarks) if remarks != report.remarks else report


def _with_reason(diagnosis: Diagnosis | None, scene: Scene) -> Diagnosis | None:
    """A diagnosis that says why none of its fixes was tried, where that is so."""
    why = untried.reason(diagnosis, scene) if diagnosis is not None else None
    if diagnosis is None or why is None:
        return diagnosis
    scene.leave_out(why)
    return replace(diagnosis, untried=why)


def _of_keyword(scene: Scene, catalogue: Catalogue) -> Match | None:
    """The symptom of a keyword that a function of torch's lacks: what Python says of it may be about any function."""
    from explainer.probes.signatures import torchs_keyword

    found = torchs_keyword(scene)
    symptom = catalogue.symptoms.get("operator-keyword") if found else None
    if found is None or symptom is None:
        return None
    return Match(symptom, {**dict.fromkeys(symptom.captures), "op": found[0], "name": found[1]})


def _of_break(scene: Scene, catalogue: Catalogue) -> Match | None:
    """The symptom of a graph break of which the message is no more than the name in torch's registry."""
    if scene.crash.name != "Unsupported":
        return None
    from explainer.probes.breaks import graph_break

    found, symptom = graph_break(scene), catalogue.symptoms.get("dynamo-unsupported")
    if found is None or symptom is None:
        return None
    return Match(symptom, {**dict.fromkeys(symptom.captures), "name": found.kind})


def _of_own_file(scene: Scene, catalogue: Catalogue) -> Match | None:
    """The symptom of an own file in the place of a module: its folder tells, whatever the message is about."""
    from explainer.probes.shadows import shadow

    found, symptom = shadow(scene), catalogue.symptoms.get("module-shadowed")
    if found is None or symptom is None:
        return None
    return Match(symptom, {**dict.fromkeys(symptom.captures), **found, "file": reporting.relative(found["file"])})


#: A symptom of so many wordings is a field more than a message.
BROAD = 6
#: How many rules that hold have their edits tried.
RULES_TRIED = 3
_NOTHING = Remedy()


def _diagnosis(match: Match, catalogue: Catalogue, scene: Scene, stages: Stages) -> Diagnosis:
    """The rule whose edit worked; else the first that was not refuted, or the symptom, with what the search found."""
    fallback: tuple[Diagnosis, Remedy] | None = None
    for one in _held(match, catalogue, scene, stages)[:RULES_TRIED]:
        diagnosis, remedy = _of_held(one, scene, stages)
        if diagnosis is None:
            continue
        if remedy.checked:
            return _beside_others(diagnosis, remedy, one, match, scene, stages)
        if fallback is None or (fallback[1].refuted and not remedy.refuted):
            fallback = diagnosis, remedy
    return _searched(fallback, match, scene, stages)


def _held(match: Match, catalogue: Catalogue, scene: Scene, stages: Stages) -> list[Held]:
    """The rules of a symptom that hold, the best first."""
    told = scene.live is None and not scene.crash.stack
    rules = catalogue.rules_for(match.symptom.id if match.symptom.messages else UNLISTED, told)
    if not rules:
        return []
    names = symptom_names(match, scene)
    none: list[Held] = []
    held = stages.run("weighing rules", lambda: held_rules(rules, scene, names), none)
    for what, error in scene.failures:
        if what.startswith("rule "):
            stages.note(what, error)
    return held


def _of_held(held: Held, scene: Scene, stages: Stages) -> tuple[Diagnosis | None, Remedy]:
    """What a rule says, and its fixes tried; the words are made while the trials go on."""
    told = cache(partial(stages.run, f"rule {held.rule.id}", partial(of_rule, held, scene), None))
    scene.pending.append(told)
    remedy = stages.run("trying fixes", partial(remedies.of_rule, held, scene), Remedy())
    if scene.options.trace is not None:
        scene.options.trace.rules[held.rule.id] = _outcome(remedy)
        scene.options.trace.held[held.rule.id] = held.names
    return told(), remedy


def _beside_others(
    diagnosis: Diagnosis, remedy: Remedy, held: Held, match: Match, scene: Scene, stages: Stages
) -> Diagnosis:
    """A rule's diagnosis where its fix is the best of all; else what the message says, with the one that is."""
    wide = partial(remedies.of_search, match.symptom.family, scene, remedy, diagnosis.culprit)
    known = remedy.proves or remedy.bends or held.rule.family not in remedies.SIZES  # which rest on more than a run
    known = known and not remedies.drops(scene)
    best = remedy if known else stages.run("the search for fixes", wide, remedy)
    if best.fixes[0].edits == remedy.fixes[0].edits:
        return _with(diagnosis, best, held)
    return _with(_of_message(match, scene, stages, causes=False), best, None)


def _searched(fallback: tuple[Diagnosis, Remedy] | None, match: Match, scene: Scene, stages: Stages) -> Diagnosis:
    """What the search finds, for a rule's diagnosis or, without one, for the message's."""
    found = _NOTHING
    if scene.live is not None:
        told = fallback[0].culprit if fallback is not None else None
        search = partial(remedies.of_search, match.symptom.family, scene, _NOTHING, told)
        found = stages.run("the search for fixes", search, _NOTHING)
    diagnosis, remedy = fallback or (_of_message(match, scene, stages, causes=not found.checked), _NOTHING)
    if not found.checked:
        if found.refuted:
            remedy = replace(remedy, refuted=True)
        if found.edits and not remedy.edits:
            known = diagnosis.culprit is not None and not remedy.refuted
            refuted = remedy.refuted or not _at_culprit(found, diagnosis)  # what runs stands elsewhere
            remedy = replace(found, culprit=None if known else found.culprit, refuted=refuted)
    return _with_odd(_with(diagnosis, found if found.checked else remedy, None), scene, stages)


def _at_culprit(found: Remedy, diagnosis: Diagnosis) -> bool:
    at = diagnosis.culprit
    return at is None or any(_stands_at(edit, at) for edit in found.fixes[0].edits)


def _with_odd(diagnosis: Diagnosis, scene: Scene, stages: Stages) -> Diagnosis:
    """A diagnosis with the call at which the run first went another way than before, where no run blames another."""
    odd = stages.run("what is unlike before", partial(remedies.odd, scene), None)
    if odd is None:
        return diagnosis
    span, label, sentence = odd
    shown = diagnosis.certainty == "proved" or any(one.certainty == "checked" for one in diagnosis.fixes)
    at = diagnosis.culprit if shown else None
    if at is not None and (at.file, at.line) != (span.file, span.line):
        return diagnosis
    told, _, _ = diagnosis.cause.partition("\n" + word("usual", scene.options.language))  # this one is no guess
    there = tuple(one for one in diagnosis.fixes if any(_stands_at(edit, span) for edit in one.edits))
    fixes = tuple(dict.fromkeys((*there, *diagnosis.fixes)))
    cause, labels = "\n".join(filter(None, (told, sentence))), (label, *diagnosis.labels)
    return replace(diagnosis, culprit=at or span, cause=cause, labels=labels, fixes=fixes)


def _stands_at(edit: Edit, span: Span) -> bool:
    return os.path.realpath(edit.file) == os.path.realpath(span.file) and (
        edit.start_line <= span.line <= edit.end_line
    )


def _of_message(match: Match, scene: Scene, stages: Stages, causes: bool) -> Diagnosis:
    """What the message says, and the guard of the raise where it has one."""
    told = of_symptom(match, scene, causes)
    wordings = len(match.symptom.messages)
    told = stages.run("the guard", lambda: guarding.with_guard(told, scene, wordings > 0, wordings >= BROAD), told)
    read = match.captures
    if scene.live is None or not isinstance(read, Told):
        return told
    return stages.run("the operand", lambda: guarding.with_operand(told, read, scene), told)


def _outcome(remedy: Remedy) -> str:
    """What became of a rule's edits, as a word of `locale`."""
    return "why_checked" if remedy.checked else "why_refuted" if remedy.refuted else "why_untried"


def _with(diagnosis: Diagnosis, remedy: Remedy, held: Held | None) -> Diagnosis:
    """A diagnosis with its fixes; a culprit whose edit was refuted is not named, unless a replay had shown it.

    Nor does the line of an edit that only adapts a value take the place of the one where it was shown to go wrong.
    """
    if remedy is _NOTHING and held is None:
        return diagnosis
    fixes = remedy.fixes if remedy.checked else (*remedy.fixes, *diagnosis.fixes)
    shown = diagnosis.certainty == "proved"
    edited = None if remedy.adapts and shown and diagnosis.culprit is not None else remedy.culprit
    culprit = edited or (None if remedy.refuted and not shown else diagnosis.culprit)
    certainty = _certainty(diagnosis.certainty, held, remedy)
    if certainty == "proved" and held is None and remedy.checked and not remedy.proves:
        of_sizes = diagnosis.family in remedies.SIZES  # of two sizes that differ either may be the wrong one
        certainty = "likely" if of_sizes or _apart(culprit, diagnosis.culprit) else certainty
    return replace(diagnosis, fixes=fixes, culprit=culprit, certainty=certainty)


def _apart(one: Span | None, other: Span | None) -> bool:
    return one is not None and other is not None and (one.file, one.line) != (other.file, other.line)


def _certainty(before: Certainty, held: Held | None, remedy: Remedy) -> Certainty:
    """`proved` is earned by running: a rule's fix that was checked, or a search that only one place survived."""
    cap = held.rule.certainty if held is not None else None
    if remedy.proves and cap in (None, "proved"):
        return "proved"
    if remedy.unsure:
        return "possible"
    if remedy.checked and before == "possible":
        return "likely"
    return "likely" if (remedy.refuted or remedy.doubtful) and before == "proved" else before


def symptom_names(match: Match, scene: Scene) -> dict[str, Any]:
    """What the words of a symptom may use: `m.*` (captures) and `crash.*`; `asks` is what the message asks for."""
    crash, frame = scene.crash, scene.crash.user_frame
    about = {
        "type": crash.name,
        "message": crash.message,
        "runner": crash.runner,
        "function": frame.function if frame else None,
        "code": frame.code if frame else None,
        "file": frame.file if frame else None,
        "line": frame.line if frame else None,
        "asks": None,
    }
    if match.symptom.asks:
        about["asks"] = grammar.claim(crash, scene.options.language, firm=True)
    return {"m": match.captures, "crash": about}


def of_symptom(match: Match, scene: Scene, causes: bool = True) -> Diagnosis:
    """What the message alone says: its meaning, and the usual causes where the one at work is not known."""
    with of_file(match.symptom.file):
        return _of_symptom(match, scene, causes)


def _of_symptom(match: Match, scene: Scene, causes: bool) -> Diagnosis:
    symptom, names, language = match.symptom, symptom_names(match, scene), scene.options.language
    say = lambda field: _say(symptom.text, field, names, language)  # noqa: E731
    known = in_language(symptom.text["causes"], language) if causes and "causes" in symptom.text else []
    titles = [words(in_language(fix["title"], language), names) for fix in symptom.fixes]
    source = FixSource("symptom", symptom.id) if titles else None
    fixes = tuple(Fix(title, source=source) for title in titles if title)  # one is empty where its case is not this one
    usual = [word("usual", language), *(f"- {words(cause, names)}" for cause in known)] if known else []
    headline, why = say("headline"), say("why")
    claim = grammar.claim(scene.crash, language) if _is_broad(match, headline) else None
    if claim is not None:
        headline, why = claim, f"{headline}\n{why}"
    values = grammar.unsaid(scene.crash.message, f"{headline} {why}", language) if scene.live is None else ""
    cause = "\n".join(part for part in (why, values, *usual) if part)
    return Diagnosis(
        symptom.id,
        symptom.family,
        headline,
        cause,
        "possible",
        symptom.specific,
        fixes=fixes,
        links=symptom.links,
    )


def _is_broad(match: Match, headline: str) -> bool:
    """Whether a symptom stands for many messages, and its headline says nothing that is only in this one."""
    if len(match.symptom.messages) < BROAD:
        return False
    return not any(str(value) in headline for value in match.captures.values() if value not in (None, ""))


def of_rule(held: Held, scene: Scene) -> Diagnosis:
    """What a rule says of the crash, its fixes not yet tried."""
    with of_file(held.rule.file):
        return _of_rule(held, scene)


def _of_rule(held: Held, scene: Scene) -> Diagnosis:
    rule, names, language = held.rule, held.names, scene.options.language
    say = lambda field: _say(rule.text, field, names, language)  # noqa: E731
    certainty: Certainty = "proved" if held.proved else "likely" if scene.live is not None else "possible"
    if rule.certainty is not None:
        certainty = min(certainty, rule.certainty, key=("possible", "likely", "proved").index)
    notes = tuple(words(in_language(note, language), names) for note in rule.notes)
    return Diagnosis(
        rule.id,
        rule.family,
        say("headline"),
        say("why"),
        certainty,
        True,
        say("from"),
        held.culprit,
        _labels(held, language),
        reporting.rows(held.facts.get(name) for name in rule.evidence),
        notes=notes,
        links=rule.links,
    )


def _labels(held: Held, language: str) -> tuple[Label, ...]:
    labels = []
    for label in held.rule.labels:
        span = span_of(held.facts.get(label["at"]))
        if span is not None:
            text = words(in_language(label["text"], language), held.names)
            labels.append(Label(span.file, span.line, text, span.column, span.end_column))
    return tuple(labels)


def _say(text: Mapping[str, Any], field: str, names: Mapping[str, Any], language: str) -> str:
    return " ".join(words(in_language(text[field], language), names).split()) if field in text else ""
