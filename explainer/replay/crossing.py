"""Two losses of one iteration that share a part of the graph: the tensor in between, and which loss can detach it."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from explainer.replay.recorders.record import leaf, nodes, origin
from explainer.userframes import is_user_file

#: A place of the source: a file, a function's name and the name of a tensor there, with the node that made it.
Names = dict[tuple[str, str], dict[Any, str]]


class Backward:
    """A backward that ran: its graph, the names of tensors and the parameters of each optimizer in sight while it ran.

    `stepped` are the parameters that were stepped after it.
    """

    def __init__(self, roots: list[Any]):
        self.graph = set(nodes(roots))
        self.names = names_on_stack()
        self.optimized = _optimized_on_stack()
        self.stepped: set[int] = set()

    def step(self, optimizer: Any) -> None:
        """Note an optimizer that took a step before the next backward."""
        self.stepped |= _weights(optimizer)


def watch_steps(note: Any) -> Any:
    """Have every optimizer's step told to `note`; a handle with `remove`, None where torch has no such hook."""
    register = getattr(sys.modules["torch.optim.optimizer"], "register_optimizer_step_post_hook", None)
    return register(lambda optimizer, *_: note(optimizer)) if register is not None else None


def names_on_stack() -> Names:
    """The names under which the user's frames on the stack know tensors with a history, by file and function."""
    found: Names = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            here = found.setdefault((code.co_filename, code.co_name), {})
            for name, value in _tensors(frame.f_locals):
                here.setdefault(value.grad_fn, name)
        frame = frame.f_back
    return found


def _tensors(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(names.items()):
        held = vars(value).items() if name == "self" and hasattr(value, "__dict__") else ()
        for way, one in ((name, value), *((f"self.{key}", inner) for key, inner in held)):
            if isinstance(one, torch.Tensor) and one.grad_fn is not None:
                yield way, one


def detachable(first: Backward, second: Iterable[Any], names: Names) -> dict[str, Any] | None:
    """Where one of two losses takes a tensor that it need not train: `file`, `line`, `name`, and `loss`, which one.

    `second` are the nodes of the loss whose backward crashed, `names` what was on the stack there.
    Told by the optimizer that steps between them: it has none of the parameters behind the tensor, so that the first
    loss is not for them; or all of those and not the others of the second loss, which then is not for them. Where all
    steps come behind both, told by an optimizer that has all parameters of one loss, and none of what is the other's.
    """
    graph = set(second)
    shared = first.graph & graph
    behind = _parameters(shared)
    if not behind:
        return None
    if not first.stepped:
        return _of_optimizers(first, graph, shared, names)
    if not behind & first.stepped:
        return _entry(first.graph - shared, graph - shared, shared, first.names, "first")
    others = _parameters(graph) - behind
    if behind <= first.stepped and others and not others & first.stepped:
        return _entry(graph - shared, first.graph - shared, shared, names, "second")
    return None


def _of_optimizers(first: Backward, graph: set[Any], shared: set[Any], names: Names) -> dict[str, Any] | None:
    """The same where each of two optimizers, which share nothing, has the parameters of a loss of its own."""
    mine, others = _parameters(first.graph - shared), _parameters(graph - shared)
    behind = _parameters(shared)
    for own in first.optimized:
        if behind <= own and others <= own and _is_of_another(mine - behind, own, first.optimized):
            return _entry(first.graph - shared, graph - shared, shared, first.names, "first")
        if behind <= own and mine <= own and _is_of_another(others - behind, own, first.optimized):
            return _entry(graph - shared, first.graph - shared, shared, names, "second")
    return None


def _is_of_another(parameters: set[int], own: set[int], optimized: Iterable[set[int]]) -> bool:
    return bool(parameters) and any(parameters <= one and not one & own for one in optimized)


def _optimized_on_stack() -> list[set[int]]:
    """The parameters of each optimizer that the user's frames hold, by a name or as an attribute of `self`."""
    found: dict[int, set[int]] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            held = [*frame.f_locals.values(), *getattr(frame.f_locals.get("self"), "__dict__", {}).values()]
            found.update((id(one), _weights(one)) for one in held if isinstance(one, torch.optim.Optimizer))
        frame = frame.f_back
    return list(found.values())


def _weights(optimizer: Any) -> set[int]:
    return {id(one) for group in optimizer.param_groups for one in group["params"]}


def _parameters(graph: Iterable[Any]) -> set[int]:
    """The leaves to which gradients go from some nodes."""
    below = (child for node in graph for child, _ in node.next_functions)
    return {id(one.variable) for one in below if one is not None and leaf(one)}


def _entry(own: set[Any], other: set[Any], shared: set[Any], names: Names, loss: str) -> dict[str, Any] | None:
    """The user's line on which a loss alone takes up the shared part under a name; innermost frames first."""
    elsewhere = {(one["file"], one["line"]) for _, node in _joints(other, shared) for one in origin(node)}
    for made, node in sorted(_joints(own, shared), key=lambda one: one[1]._sequence_nr()):
        for frame in origin(node):
            name = names.get((frame["file"], frame["function"]), {}).get(made)
            if name is not None and (frame["file"], frame["line"]) not in elsewhere:
                return {"file": frame["file"], "line": frame["line"], "name": name, "loss": loss}
    return None


def _joints(own: set[Any], shared: set[Any]) -> list[tuple[Any, Any]]:
    """The shared nodes whose results a graph's own nodes took, each with such a node."""
    return [(child, node) for node in own for child, _ in node.next_functions if child in shared and not leaf(child)]
