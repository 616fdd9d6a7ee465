"""Candidates for the state of an encoder whose layers or directions are more than the decoder has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits import arguments, statements
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place, as_operand, as_primary
from explainer.edits.sites import arriving, layers_hit
from explainer.edits.slices import operands, trunk
from explainer.patterns import Pattern

_HIDDEN = Pattern(r"Expected hidden(?:\[\d\])? size \((\d+), (\d+), (\d+)\), got \[(\d+), (\d+), (\d+)\]")
_RECURRENT = ("GRU", "LSTM", "RNN")


def directions(evidence: Evidence) -> Iterator[Candidate]:
    """`memory, state = self.rnn(x)`: the two directions added or joined behind it, or its last layers taken."""
    said = _HIDDEN.search(evidence.message)
    sizes = [int(number) for number in said.groups()] if said else []
    every = operands(evidence)
    if not sizes or sizes[1] != sizes[4] or len(every) < 2:
        return
    step = next((one for one in trunk(evidence, every[1].start, 6) if _recurrent(one)), None)
    joined = _joined(sizes, step is not None and _both_ways(step))
    if joined is None:
        return
    yield from _behind(evidence, step, joined) if step is not None else ()
    place = every[1].place
    if place is not None and len(every) >= 2 and isinstance(place.node, (ast.Name, ast.Attribute)):
        pair = "hidden[" in evidence.message
        new = _of_pair(place.text, joined) if pair else joined.format(as_primary(place))
        yield from evidence.replaced(place, new, "replace", "join-state", new=new)
    for layer, _ in layers_hit(evidence) if sizes[2] == sizes[5] else ():
        if layer.calls and layer.value("num_layers") in (None, sizes[0]):
            edits = partial(arguments.set_argument, layer.calls[0].place, "num_layers", sizes[3])
            words: dict[str, Any] = {"argument": "num_layers", "layer": layer.type, "size": sizes[3]}
            yield from evidence.made(edits, "set-argument", layer.calls[0].place, "set-out", **words)


def both_ways(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Linear(hidden, n)` -> `nn.Linear(2 * hidden, n)` behind a recurrent layer that goes both ways."""
    every = operands(evidence)
    for layer, crash in layers_hit(evidence) if every else ():
        need = arriving(layer, crash)
        step = next((one for one in trunk(evidence, every[0].start, 6) if _recurrent(one)), None)
        if need is None or step is None or step.layer is None or not _both_ways(step) or not step.layer.calls:
            continue
        call, made = layer.calls[0].place, step.layer.calls[0].place
        node = arguments.argument_node(call, need[0])
        if node is not None and 2 * (layer.value(need[0]) or 0) == need[1] == step.shape[-1]:
            plain = isinstance(node, ast.Constant) and _count(made, call) == "2"
            new = str(need[1]) if plain else f"{_count(made, call)} * {as_operand(call.source.text(node))}"
            words: dict[str, Any] = {"new": new, "layer": step.layer.type}
            yield from evidence.replaced(call.at(node), new, "set-argument", "both-ways", call, **words)


def _count(made: Place, call: Place) -> str:
    """How many directions a recurrent layer has, as the function that builds both layers can say it."""
    words: Any = made.node
    given = next((one.value for one in words.keywords if one.arg == "bidirectional"), None)
    function = made.source.function_at(made.span.line)
    together = made.source is call.source and function is call.source.function_at(call.span.line)
    if given is None or isinstance(given, ast.Constant) or not together:
        return "2"
    return f"(2 if {made.source.text(given)} else 1)"


def _recurrent(step: Step) -> bool:
    return step.layer is not None and step.layer.type in _RECURRENT


def _both_ways(step: Step) -> bool:
    """Whether the layer was built with `bidirectional=True`, or with a name for it."""
    call: Any = step.layer.calls[0].place.node if step.layer is not None and step.layer.calls else None
    given = [word.value for word in call.keywords if word.arg == "bidirectional"] if isinstance(call, ast.Call) else []
    return any(not isinstance(one, ast.Constant) or one.value is True for one in given)


def _joined(sizes: list[int], both_ways: bool) -> str | None:
    """What makes the state that is needed of the one that came, by the layers and sizes of both."""
    layers, _, size, own_layers, _, own_size = sizes
    if own_layers == 2 * layers and both_ways and size == own_size:
        return "{0}[0::2] + {0}[1::2]"
    if own_layers == 2 * layers and both_ways and size == 2 * own_size:
        return "torch.cat([{0}[0::2], {0}[1::2]], dim=-1)"
    return f"{{0}}[-{layers}:]" if own_layers > layers and size == own_size and not both_ways else None


def _behind(evidence: Evidence, step: Step, joined: str) -> Iterator[Candidate]:
    """A statement behind the one that names the state: `state = state[0::2] + state[1::2]`."""
    place = step.place
    statement = place.statement() if place is not None else None
    node = statement.node if statement is not None else None
    target = (
        node.targets[0] if isinstance(node, ast.Assign) and place is not None and node.value is place.node else None
    )
    if statement is None or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return
    state = target.elts[1]
    names = [one.id for one in (state.elts if isinstance(state, ast.Tuple) else [state]) if isinstance(one, ast.Name)]
    pair = len(names) == 1 and step.layer is not None and step.layer.type == "LSTM"
    lines = [f"{name} = {_of_pair(name, joined) if pair else joined.format(name)}" for name in names]
    if lines:
        edits = partial(statements.insert_statement, "\n".join(lines), after=statement)
        yield from evidence.made(edits, "insert-statement", statement, "join-state", new=lines[0])


def _of_pair(name: str, joined: str) -> str:
    return f"tuple({joined.format('part')} for part in {name})"


def both_ends(evidence: Evidence) -> Iterator[Candidate]:
    """`fc(h[-1])` -> `fc(torch.cat([h[-2], h[-1]], dim=-1))`: the state of one direction, where both are wanted."""
    for layer, step in layers_hit(evidence):
        need, every = arriving(layer, step), operands(evidence)
        if need is None or not every or layer.value(need[0]) != 2 * need[1]:
            continue
        for one in trunk(evidence, every[0].start, 4):
            node = one.place.node if one.place is not None else None
            source = evidence.steps[one.inputs[0]] if one.inputs and one.inputs[0] is not None else None
            if one.place is None or source is None or not (_recurrent(source) and _both_ways(source)):
                continue
            state = _picked(one.place) if isinstance(node, (ast.Subscript, ast.Call)) else None
            if state is not None:
                new = f"torch.cat([{state}[-2], {state}[-1]], dim=-1)"
                yield from evidence.replaced(one.place, new, "replace", "join-state", new=new)


def _picked(place: Place) -> str | None:
    """`h` of `h[-1]`, and of `h.squeeze(0)` or `h.mean(0)`: the states of which one is made."""
    node = place.node
    if isinstance(node, ast.Subscript):
        return place.source.text(node.value) if place.source.text(node.slice) == "-1" else None
    method = node.func if isinstance(node, ast.Call) else None
    if not isinstance(method, ast.Attribute) or method.attr not in ("squeeze", "mean", "sum") or not _first(node):
        return None
    return as_primary(place.at(method.value))


def last_layer(evidence: Evidence) -> Iterator[Candidate]:
    """`h.squeeze(0)` -> `h[-1]`: the states of several layers, of which only one layer's could be squeezed."""
    for step in evidence.steps[1:30]:
        place = step.place
        node = place.node if place is not None else None
        if step.function != "squeeze" or place is None or not isinstance(node, ast.Call) or len(step.shape) != 3:
            continue
        if step.before and step.before[0][0] == step.shape and isinstance(node.func, ast.Attribute) and _first(node):
            new = f"{as_primary(place.at(node.func.value))}[-1]"
            yield from evidence.replaced(place, new, "replace", "last-layer", new=new, layers=step.shape[0])


def asked(evidence: Evidence) -> Iterator[Candidate]:
    """`h.view(layers, 2, n, size)` -> `... 2 if self.rnn.bidirectional else 1 ...`: directions a layer may lack."""
    crash, every = evidence.crash, operands(evidence)
    place = crash.place if crash is not None and crash.function in ("view", "reshape") and every else None
    step = next((one for one in trunk(evidence, every[0].start, 4) if _recurrent(one)), None) if place else None
    call: Any = step.place.node if step is not None and step.place is not None else None
    for node in ast.walk(place.node) if place is not None and isinstance(call, ast.Call) else ():
        if place is not None and isinstance(node, ast.Constant) and node.value == 2:
            layer = ast.unparse(call.func)
            new = f"2 if {layer}.bidirectional else 1"
            text = new if node in getattr(place.node, "args", ()) else f"({new})"
            yield from evidence.replaced(place.at(node), text, "replace", "directions", place, layer=layer, new=new)


def _first(call: Any) -> bool:
    """Whether a call is told the first dimension, or none."""
    given = [*call.args, *(word.value for word in call.keywords)]
    return not given or (isinstance(given[0], ast.Constant) and given[0].value == 0)
