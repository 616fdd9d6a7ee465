"""What a check says beyond its message: the guard of the raise, the values that it met, the operand or argument."""

from __future__ import annotations

import ast

from explainer.crash import Crash
from explainer.diagnosis import Diagnosis, Label
from explainer.frozen import replace
from explainer.grammar import field_of
from explainer.grammar.conditions import is_plain, worded
from explainer.grammar.guards import Guard, guard_at, installed
from explainer.grammar.owner import is_library
from explainer.grammar.phrases import quoted
from explainer.grammar.told import Told
from explainer.locale import word
from explainer.probes import Scene
from explainer.probes.checked import checked_operand
from explainer.probes.guards import Guarded, guarded

#: Errors that say how another process ended: what their raise asks is only whether it did.
_OF_PROCESSES = frozenset(
    ["ChildFailedError", "CalledProcessError", "ProcessExitedException", "ProcessRaisedException", "BrokenProcessPool"]
)
#: Where torch's functions share their checks: what those ask of their parameters says less than a listed symptom.
_HELPERS = "torch/_prims_common/"
#: A longer requirement is told below the headline.
SHORT = 110


def with_guard(diagnosis: Diagnosis, scene: Scene, listed: bool, broad: bool) -> Diagnosis:
    """A diagnosis that rests on the message alone, with what the guard of the raise adds.

    Headline, usual causes and fixes of a `listed` symptom stay; those of a `broad` one give way, as what the grammar
    read does, where requirement and values tell what must be.
    """
    found = _found(scene)
    if found is None:
        return diagnosis
    told = _told(found, scene.options.language)
    headline = _headline(found, scene.options.language)
    before, usual, after = diagnosis.cause.partition("\n" + word("usual", scene.options.language))
    cause = "\n".join(part for part in (before, told) if part) + usual + after
    gives_way = broad and is_plain(found.unmet) and _asks_of_given(found) and _HELPERS not in _file(scene.crash)
    if headline is not None and (not listed or gives_way):
        cause = "\n".join(part for part in (told, f"{diagnosis.headline}. {before}".strip()) if part)
        diagnosis = replace(diagnosis, headline=headline, fixes=())
    return _placed(replace(diagnosis, cause=cause), found, scene)


def _asks_of_given(found: Guarded) -> bool:
    """Whether a guard asks something of what was given or is held; a list of complaints of its own says nothing."""
    nodes = list(ast.walk(found.unmet))
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    return bool(names & set(found.guard.parameters)) or any(isinstance(one, ast.Attribute) for one in nodes)


def alone(scene: Scene) -> Diagnosis | None:
    """What the guard says where the message says nothing: of torch, a library on it, or a check of tensors."""
    found = _found(scene)
    if found is None or scene.live is None or not (found.owned or is_library(_file(scene.crash))):
        return None
    headline = _headline(found, scene.options.language)
    if headline is None:
        return None
    kind, family = field_of(ast.unparse(found.unmet), scene.crash.message)
    told = _told(found, scene.options.language)
    name = found.where.rpartition(".")[2].lower().strip("_") or "call"
    return _placed(Diagnosis(f"check-{kind}-{name}", family, headline, told), found, scene)


def with_operand(diagnosis: Diagnosis, told: Told, scene: Scene) -> Diagnosis:
    """A reading with the operand that it is about, where live frames tell which one that is."""
    found = checked_operand(scene, told.clause, told.kind or "other") if scene.failing is not None else None
    if found is None or diagnosis.culprit is not None or scene.failing is None:
        return diagnosis
    fact, node = found
    values = word("g_values", scene.options.language, values=f"{quoted(fact.name)}: {fact}")
    diagnosis = replace(diagnosis, cause=f"{values} {diagnosis.cause}".strip())
    if node is None:
        return diagnosis
    span = scene.failing.source.span(node, fact.name)
    label = Label(span.file, span.line, str(fact), span.column, span.end_column)
    return replace(diagnosis, culprit=span, labels=(*diagnosis.labels, label))


def _file(crash: Crash) -> str:
    return crash.frames[-1].file.replace("\\", "/") if crash.frames else ""


def _found(scene: Scene) -> Guarded | None:
    """The guard: in live frames with its values, of a paste from the same source where it is installed here."""
    if scene.crash.name in _OF_PROCESSES:
        return None
    if scene.live is not None:
        return scene.once("guard", lambda: guarded(scene))
    guard = scene.once("guard", lambda: _pasted(scene.crash))
    return Guarded(guard, guard.check, guard.where, ()) if guard is not None else None


def _pasted(crash: Crash) -> Guard | None:
    frame = crash.frames[-1] if crash.frames else None
    source = installed(frame.file, frame.line, frame.code) if frame is not None else None
    return guard_at(source, frame.line) if source is not None and frame is not None else None


def _headline(found: Guarded, language: str) -> str | None:
    if not found.values or len(asked := worded(found.unmet, language)) > SHORT:
        return None
    claim = word("g_needs", language, where=quoted(found.where), asked=asked)
    return word("g_got", language, claim=claim, values=_values(found, language))


def _told(found: Guarded, language: str) -> str:
    asked = word("g_raises", language, where=quoted(found.guard.where), asked=f"`{found.guard.text}`")
    return " ".join([asked, word("g_values", language, values=_values(found, language))] if found.values else [asked])


def _values(found: Guarded, language: str) -> str:
    return word("listed", language).join(f"`{name}` = {value}" for name, value in found.values)


def _placed(diagnosis: Diagnosis, found: Guarded, scene: Scene) -> Diagnosis:
    """With the user's argument labelled, and blamed where nothing else is yet; where it was set by a literal, that."""
    span = found.argument or found.built
    if span is None or diagnosis.culprit is not None:
        return diagnosis
    text = word("g_argument", scene.options.language, name=quoted(span.symbol or ""))
    label = Label(span.file, span.line, text, span.column, span.end_column)
    certainty = "likely" if diagnosis.certainty == "possible" and found.argument else diagnosis.certainty
    culprit = found.given or span
    return replace(diagnosis, culprit=culprit, labels=(*diagnosis.labels, label), certainty=certainty)
