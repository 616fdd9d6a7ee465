"""Candidates for sizes: what a layer is built for, from the sizes that arrive or are expected next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.bindings import last_name, only_value
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer, Step
from explainer.edits.expressions import named, product, sized
from explainer.edits.generators.literals import solved_in
from explainer.edits.generators.shapes import BROADCAST
from explainer.edits.generators.sites import ENDS, LEAVING, Site, layers_hit, sites
from explainer.edits.generators.sites import arriving as needed
from explainer.edits.generators.slices import operands, trunk
from explainer.edits.generators.state import shuffled, viewed
from explainer.edits.kinds import statements
from explainer.edits.place import Place
from explainer.source import walked

_FOLDS = ("flatten", "view", "reshape")
_VIEWS = ("view", "reshape", "unflatten", "split", "split_with_sizes")


def arriving(evidence: Evidence) -> Iterator[Candidate]:
    """The failing layer built for the size that arrives."""
    for layer, step in layers_hit(evidence):
        need = needed(layer, step)
        alone = need is not None and need[1] == 1 and "Norm" in layer.type  # of which a norm leaves nothing
        if need is not None and layer.value(need[0]) != need[1] and not alone:
            yield from built_for(evidence, layer, *need, _folded(evidence))


def expected(evidence: Evidence) -> Iterator[Candidate]:
    """The layers behind the failing call made to give the size that is expected."""
    for size, step in _mismatches(evidence):
        if step.layer is None or step.layer.type not in LEAVING:
            continue
        argument, _ = LEAVING[step.layer.type]
        if step.layer.value(argument) not in (None, size):
            yield from built_for(evidence, step.layer, argument, size, "", "set-out")


def _parts(steps: list[Step]) -> list[int]:
    """Into how many parts along the last dimension what each step gave was split on its way, the nearest step first."""
    found, times = [], 1
    for step in steps:
        found.append(times)
        if step.function in ("chunk", "split", "tensor_split") and step.before and step.shape and step.shape[-1]:
            times *= max(step.before[0][0][-1] // step.shape[-1], 1)
    return found


def other_end(evidence: Evidence) -> Iterator[Candidate]:
    """`width = old.fc.out_features` -> `old.fc.in_features`, where `Linear(width, n)` takes the place of `old.fc`."""
    for layer, step in layers_hit(evidence):
        need = needed(layer, step)
        for site in sites(layer, need[0]) if need else ():
            scope, node = site.place.source.scope_at(site.place.line), site.place.node
            value = only_value(scope, node.id) if isinstance(node, ast.Name) else node
            if isinstance(value, ast.Attribute) and value.attr in ENDS:
                at = site.place.at(value)
                new = f"{site.place.source.text(value.value)}.{ENDS[value.attr]}"
                yield from evidence.replaced(at, new, "replace", "rename", at, old=at.text, new=new)


def named_out(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Conv2d(3, 16, 3)` -> `nn.Conv2d(3, widths[0], 3)`: a number where the layer that reads it has a name."""
    for layer, step in layers_hit(evidence):
        need = needed(layer, step)
        built = layer.value(need[0]) if need else None
        reads = list(sites(layer, need[0])) if need else []
        behind = trunk(evidence, step.inputs[0] if step.inputs else None, 12)
        before = next((one for one in behind if _leaves(one)), None)
        if built is None or before is None or before.layer is None or not reads or reads[-1].plain:
            continue
        argument, _ = LEAVING[before.layer.type]
        for site in sites(before.layer, argument):
            names = [text for text in _names(site) if site.scope[text] == built] if site.plain else []
            words: dict[str, Any] = {"argument": argument, "layer": before.layer.type, "value": built}
            for text in sorted(names, key=lambda text: text != reads[-1].place.text):
                yield from _at_site(evidence, site, text, "set-out", False, words)


def _leaves(step: Step) -> bool:
    return step.layer is not None and step.layer.type in LEAVING


def _names(site: Site) -> list[str]:
    """The plain names of numbers in scope, and the entries of lists of them."""
    return [text for text, value in site.scope.items() if type(value) is int and re.fullmatch(r"[\w.]+(\[\d\])?", text)]


def _mismatches(evidence: Evidence) -> Iterator[tuple[int, Step]]:
    """Layers on the way to the operands, each with a size of the other operand or of the failing layer."""
    every = operands(evidence)
    for size in (*viewed(evidence), *shuffled(evidence)):
        yield from ((size, one) for one in trunk(evidence, every[0].start if every else None, 4))
    for layer, step in layers_hit(evidence):
        need = needed(layer, step)
        built = layer.value(need[0]) if need else None
        behind = trunk(evidence, step.inputs[0] if step.inputs else None, 12)
        if built is not None:
            yield from ((built * times, one) for times, one in zip(_parts(behind), behind, strict=True))
    for one in every:
        for other in every:
            if one is not other and len(one.shape) == len(other.shape):
                apart = [b for a, b in zip(one.shape, other.shape, strict=True) if a != b]
                yield from ((size, step) for size in apart[:1] for step in trunk(evidence, one.start, 12))


def _folded(evidence: Evidence) -> str:
    """`16 * 5 * 5` where the operand was flattened from [N, 16, 5, 5] on the way; empty where not."""
    crash = evidence.crash
    for step in trunk(evidence, crash.inputs[0] if crash and crash.inputs else None, 6):
        before = step.before[0][0] if step.before else []
        if step.function in _FOLDS and len(before) > len(step.shape):
            sizes = before[1:] if len(step.shape) > 1 else before
            return product(sizes)
    return ""


def built_for(
    evidence: Evidence, layer: Layer, argument: str, value: int, folded: str = "", title: str = "set"
) -> Iterator[Candidate]:
    """A layer's argument given another value: at its site, in the literal it comes from, as a name's expression."""
    found = list(sites(layer, argument))
    words: dict[str, Any] = {"argument": argument, "layer": layer.type, "value": value}
    for site in found:
        if site.plain:
            text = folded if folded and ast.literal_eval(_computed(folded)) == value else str(value)
            yield from _at_site(evidence, site, text, title, True, words)
    for tree in layer.numbers.get(argument, ())[:2]:
        yield from solved_in(evidence, tree, value, argument)
    for site in found:
        node = site.place.node
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            yield from _at_site(evidence, site, f"{site.place.source.text(node.value)}[-1]", title, False, words)
        if not site.plain:
            old, asked = site.place.text, _asked(evidence)
            texts = dict.fromkeys([*named(value, _apart(site), old), *named(value, site.scope, old)])
            texts = {text: None for text in texts if _divides(evidence, text)}
            before = f".out{argument[2:]}" if argument.startswith("in_") else "."  # what the layer before says itself
            for text in sorted(texts, key=lambda text: (-len(_words(text) & asked), not text.endswith(before))):
                yield from _at_site(evidence, site, text, title, False, words)
    for site in reversed(found):
        for text in sized(value, site.scope):
            yield from _at_site(evidence, site, text, title, False, words)
    for site in reversed(found):
        if not site.plain and site.call is not None:
            yield from _at_site(evidence, site, folded or str(value), title, True, words)


def _apart(site: Site) -> dict[str, Any]:
    """What is in scope at a site, without the names that the call's other arguments have: `classes` is no width."""
    node = site.call.node
    given = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
    others = {word for one in given if one is not site.place.node for word in _words(ast.unparse(one))}
    others -= _words(site.place.text)
    return {name: value for name, value in site.scope.items() if not _words(name) <= others}


def own_layers(evidence: Evidence) -> Iterator[Candidate]:
    """An own layer whose values do not broadcast with what it is given, built for one of the sizes: for the other."""
    broadcast = evidence.crash is not None and evidence.crash.function in BROADCAST and not evidence.passed
    for layer in [one for one in evidence.on_stack[-1:] if one.own and broadcast]:
        for argument, trees in layer.numbers.items():
            for value in evidence.said if layer.value(argument) in evidence.said else ():
                if value != layer.value(argument) and value > 1:
                    made = built_for if len(trees) == 1 else _first_built_for
                    yield from made(evidence, layer, argument, value)


def _first_built_for(evidence: Evidence, layer: Layer, argument: str, value: int) -> Iterator[Candidate]:
    """The first number of a tuple given another value: `Scale((c, 1, 1))` -> `Scale((c // 2, 1, 1))`."""
    for site in sites(layer, argument):
        elements = getattr(site.place.node, "elts", [])
        for text in named(value, _apart(site), site.place.source.text(elements[0])) if elements else ():
            words: dict[str, Any] = {"argument": argument, "layer": layer.type, "value": value}
            inner = Site(site.place.at(elements[0]), site.scope, site.call)
            yield from _at_site(evidence, inner, text, "set", False, words)


def _divides(evidence: Evidence, text: str) -> bool:
    """Whether a quotient's divisor divides something in the program: a size is no number of epochs' part."""
    _, sign, divisor = text.partition(" // ")
    if not sign or divisor.isdigit():
        return True
    rows = [node for source in evidence.sources_seen() for node in source.nodes() if isinstance(node, ast.BinOp)]
    divisors = (last_name(one.right) for one in rows if isinstance(one.op, (ast.FloorDiv, ast.Div)))
    return divisor.rpartition(".")[2] in divisors


def _asked(evidence: Evidence) -> set[str]:
    """The names by which a failing `view` asks for sizes: an expression of the same ones is meant."""
    crash = evidence.crash
    node = crash.place.node if crash is not None and crash.place is not None else None
    if crash is None or crash.function not in _VIEWS or not isinstance(node, ast.Call):
        return set()
    return {word for one in node.args for word in _words(ast.unparse(one))} - {"self"}


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _computed(text: str) -> str:
    total = 1
    for part in text.split(" * "):
        total *= int(part)
    return str(total)


def _at_site(
    evidence: Evidence, site: Site, text: str, title: str, plain: bool, words: dict[str, Any]
) -> Iterator[Candidate]:
    size = text if text == str(words["value"]) else f"{text} = {words['value']}"
    yield from evidence.replaced(site.place, text, "set-argument", title, site.call, plain, size=size, **words)


def advanced(evidence: Evidence) -> Iterator[Candidate]:
    """A loop that builds layers lets its running size follow: `cin = cout` at the end of the body."""
    for layer, step in layers_hit(evidence):
        need = needed(layer, step)
        if need is None:
            continue
        for call in layer.calls:
            yield from _advanced_at(evidence, call.place, call.scope, layer.value(need[0]), need[1])


def _advanced_at(evidence: Evidence, call: Place, scope: object, old: int | None, new: int) -> Iterator[Candidate]:
    loop = call.source.loop_at(call.line)
    if loop is None or not isinstance(call.node, ast.Call):
        return
    names = {one.id for one in walked(call.node) if isinstance(one, ast.Name)}
    ints = {name: scope.get(name) for name in names if isinstance(scope.get(name), int)}  # type: ignore[attr-defined]
    for stale in (name for name, value in ints.items() if value == old):
        for fresh in (name for name, value in ints.items() if value == new and name != stale):
            edits = partial(statements.append_to_body, call.at(loop), f"{stale} = {fresh}")
            yield from evidence.made(edits, "append-to-body", call, "advance", old=stale, new=fresh)
