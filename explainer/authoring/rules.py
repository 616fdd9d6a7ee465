"""Checks rules: what they name exists (symptoms, rules, probes, facts, kinds of edit), and examples are enough."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from explainer.authoring.texts import Found, named, templates
from explainer.catalogue import Catalogue, Rule
from explainer.catalogue.document import Path_
from explainer.catalogue.rule import UNLISTED

#: Names that every template may use, beside facts and `let:`.
GIVEN = {"m", "crash"}


def problems(one: Rule, catalogue: Catalogue) -> Found:
    """What is wrong with a rule, beside its schema."""
    yield from _of_ids(one, catalogue)
    yield from _of_facts(one)
    yield from _of_names(one)
    yield from _of_edits(one)
    yield from _of_examples(one)


def _of_ids(one: Rule, catalogue: Catalogue) -> Found:
    for field, known in (("symptoms", catalogue.symptoms), ("outranks", catalogue.rules)):
        for place, name in enumerate(getattr(one, field)):
            if name not in known and name != UNLISTED:
                yield (field, place), f"there is no {field.rstrip('s') if field == 'symptoms' else 'rule'} {name!r}"


def _of_facts(one: Rule) -> Found:
    from explainer.probes import probes

    known = probes()
    for name, spec in one.facts.items():
        probe = known.get(spec["probe"])
        if probe is None:
            yield ("facts", name, "probe"), f"there is no probe {spec['probe']!r}; known: {', '.join(sorted(known))}"
            continue
        allowed = list(inspect.signature(probe).parameters)[1:]
        for argument in spec.keys() - {"probe", "optional", *allowed}:
            said = f"is no argument of {spec['probe']}; allowed: {', '.join(allowed) or 'none'}"
            yield ("facts", name, argument), said


def _of_names(one: Rule) -> Found:
    """Every name in a text or expression is a fact, a `let:` before it, or given."""
    known = {*GIVEN, *one.facts}
    for name, expression in one.let.items():
        yield from _unknown(("let", name), f"{{{{ {expression} }}}}", known)
        known.add(name)
    expressions: list[tuple[Path_, str]] = [(("require", place), text) for place, text in enumerate(one.require)]
    expressions += [(("fixes", place, "when"), fix["when"]) for place, fix in enumerate(one.fixes) if "when" in fix]
    for way, text in expressions:
        yield from _unknown(way, f"{{{{ {text} }}}}", known)
    said = {"text": one.text, "fixes": [*one.fixes], "labels": [*one.labels], "notes": [*one.notes]}
    for way, _, text in templates(said):
        yield from _unknown(way, text, known)
    yield from _of_references(one, known)


def _unknown(way: tuple[Any, ...], text: str, known: set[str]) -> Found:
    for name in sorted({name.split(".")[0] for name in named(text)} - known - {"range", "dict", "namespace", "loop"}):
        yield way, f"{name!r} is no fact of this rule; known: {', '.join(sorted(known))}"


def _of_references(one: Rule, known: set[str]) -> Found:
    wanted: list[tuple[tuple[Any, ...], str]] = [(("culprit",), one.culprit)] if one.culprit else []
    wanted += [(("evidence", place), name) for place, name in enumerate(one.evidence)]
    wanted += [(("labels", place, "at"), label["at"]) for place, label in enumerate(one.labels)]
    for place, fix in enumerate(one.fixes):
        wanted += [(("fixes", place, "needs", at), name) for at, name in enumerate(fix.get("needs", ()))]
    for way, name in wanted:
        if name not in known:
            yield way, f"{name!r} is no fact of this rule; known: {', '.join(sorted(known))}"


def _of_edits(one: Rule) -> Found:
    from explainer.edits.candidates import KINDS

    for place, fix in enumerate(one.fixes):
        edits = fix.get("edits") or ([fix["edit"]] if "edit" in fix else [])
        if edits and "id" not in fix:
            yield ("fixes", place), "a fix with an edit needs an id"
        for edit in edits:
            if edit["kind"] not in KINDS:
                yield ("fixes", place, "edit", "kind"), f"{edit['kind']!r} is not one of {', '.join(sorted(KINDS))}"


def _of_examples(one: Rule) -> Found:
    if one.status == "retired":
        return
    for place, example in enumerate(one.examples):
        yield from ((("examples", place), text) for text in _of_example(one, example))
    if all(example.get("silent") for example in one.examples):
        yield ("examples",), "none of them fires; a rule needs one that does"
    if not any(example.get("silent") for example in one.examples):
        yield ("examples",), "none of them is a near miss (`silent: true`)"


def _of_example(one: Rule, example: Any) -> Iterator[str]:
    given = [name for name in ("code", "paste", "recorded") if name in example]
    if not given or {"code", "paste"} <= set(given):
        yield "needs either `code` or `paste`"
    source = "\n".join([example.get("code", ""), *example.get("files", {}).values()])
    blames = one.culprit and not all(spec.get("optional") for name, spec in one.facts.items() if name == one.culprit)
    if blames and "code" in example and not example.get("silent") and f"# explain: {one.id}" not in source:
        yield f"marks no line: the line to blame ends in `# explain: {one.id}`"
