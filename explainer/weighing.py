"""Which rule holds: facts found in the order the rule lists them, requirements tried, the best supported first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from explainer import probes
from explainer.catalogue.bounds import Exceeded, WordsError, of_file
from explainer.catalogue.rule import Rule
from explainer.catalogue.words import holds, value
from explainer.diagnosis import Span
from explainer.facts import span_of
from explainer.frozen import frozen
from explainer.probes import Scene


@frozen
class Held:
    """A rule whose requirements held, with the names its words may use."""

    rule: Rule
    facts: Mapping[str, Any]
    names: Mapping[str, Any]
    proved: bool

    @property
    def culprit(self) -> Span | None:
        """The line that the rule blames, before any edit was tried."""
        return span_of(self.facts.get(self.rule.culprit)) if self.rule.culprit else None

    @property
    def weight(self) -> int:
        """How much evidence the rule rests on: the facts it found."""
        return sum(fact is not None for fact in self.facts.values())


def held_rules(rules: Iterable[Rule], scene: Scene, names: Mapping[str, Any]) -> list[Held]:
    """The rules that hold, best first: `outranks`, then weight, then the order of their ids."""
    found = [one for one in (_guarded(rule, scene, names) for rule in rules) if one is not None]
    found.sort(key=lambda one: (-one.weight, one.rule.id))
    beaten = {name for one in found for name in one.rule.outranks}
    return [one for one in found if one.rule.id not in beaten] + [one for one in found if one.rule.id in beaten]


def _guarded(rule: Rule, scene: Scene, names: Mapping[str, Any]) -> Held | None:
    """A rule that cannot be weighed steps aside, and takes no other rule with it."""
    try:
        with of_file(rule.file):
            return weigh(rule, scene, names)
    except Exceeded as error:
        scene.failures.append((f"rule {rule.id}", error))
        return None
    except WordsError:
        return None
    except Exception as error:
        scene.failures.append((f"rule {rule.id}", error))
        return None


def weigh(rule: Rule, scene: Scene, names: Mapping[str, Any]) -> Held | None:
    """The rule with its facts where it holds, None where a required fact is absent or a requirement fails."""
    if rule.status == "retired":
        return None
    facts: dict[str, Any] = {}
    proved = False
    for name, spec in rule.facts.items():
        found = _fact(spec, scene, facts)
        if found is None and not spec.get("optional"):
            return None
        facts[name] = found
        proved = proved or (found is not None and getattr(probes.find(spec["probe"]), "proves", False))
    known = {**names, **facts}
    for name, expression in rule.let.items():
        known[name] = value("{{ " + expression + " }}", known)
    if not all(holds(expression, known) for expression in rule.require):
        return None
    return Held(rule, facts, known, proved)


def _fact(spec: Mapping[str, Any], scene: Scene, facts: Mapping[str, Any]) -> Any:
    """One fact: arguments that name an earlier fact of the rule are given as that fact, absent ones as None."""
    given = {name: argument for name, argument in spec.items() if name not in ("probe", "optional")}
    given = {name: facts[v] if isinstance(v, str) and v in facts else v for name, v in given.items()}
    key = (spec["probe"], repr(sorted(given.items(), key=lambda item: item[0])))
    run = probes.find(spec["probe"])
    return scene.once(key, lambda: run(scene, **given))
