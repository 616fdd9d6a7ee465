"""The recorder of second backwards: where a graph that an earlier backward freed is taken up again."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from explainer.replay.crossing import Backward, Names, detachable, names_on_stack, watch_steps
from explainer.replay.recorders.record import Site, here, leaf, node_of, nodes, origin
from explainer.source import as_attributes
from explainer.userframes import is_user_file


class Second:
    """Runs a window with node origins recorded; nodes made before it belong to an earlier backward.

    Freed state is no evidence: the backward that failed has freed a part of the present graph as well.
    """

    def __init__(self) -> None:
        self.anomaly = torch.autograd.detect_anomaly(check_nan=False)
        self.holders: dict[Any, dict[str, Any]] = {}
        self.earlier: list[tuple[Site, Backward]] = []
        self.names: Names = {}

    @staticmethod
    def settles(seen: dict[str, Any]) -> bool:
        """Whether what freed the graph was in the window: where some of the graph is older, it was not."""
        return bool(seen["kind"] == "shared")

    def see(self, frames: Sequence[Any]) -> None:
        """Note which names and attributes hold tensors with a history before the window runs; innermost frame last."""
        for frame in reversed(frames):
            for name, value in frame.locals.items():
                self._note(value, {"name": name, "reach": name, "owner": "", "line": frame.line, "file": frame.file})

    def ran(self, roots: list[Any]) -> None:
        """Note a backward of the window itself that is not the one that crashed."""
        self.earlier.append((here(2), Backward(roots)))

    def _stepped(self, optimizer: Any) -> None:
        if self.earlier:
            self.earlier[-1][1].step(optimizer)

    def crashes(self, roots: list[Any]) -> bool:
        """Whether backward meets values that are freed or overwritten; where no node tells, it is taken to fail."""
        self.names = names_on_stack()
        states = [_spoilt(node) for node in nodes(roots) if not leaf(node)]
        return any(states) or None in states

    def __enter__(self) -> Second:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.anomaly.__enter__()
        one = torch.ones((), requires_grad=True) * 1
        self.start = one.grad_fn._sequence_nr() if one.grad_fn is not None else 0
        self.steps = watch_steps(self._stepped)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.steps is not None:
            self.steps.remove()
        self.anomaly.__exit__(*error)

    def result(self, roots: list[Any]) -> dict[str, Any] | None:
        """The new node that hangs on an old one, by its line and by what held the old one.

        `kind` is joint; shared where a backward of the same window went through the node before, repeated where the
        whole graph is older than the window.
        """
        graph = [node for node in nodes(roots) if not leaf(node)]
        joints = []
        for node in graph:
            old = [child for child, _ in node.next_functions if child is not None and self._old(child)]
            if old and not self._old(node):
                joints.append((node._sequence_nr(), node, old[0]))
        if joints:
            joints.sort(key=lambda one: one[0])
            _, node, old = joints[0]
            held = [self._held(child) for _, _, child in joints]
            return {"kind": "joint", "node": node.name(), "frames": origin(node), "held": self._held(old),
                    "all": [one for one in held if one is not None], "outdated": self._outdated(graph)}  # fmt: skip
        return self._repeated(graph)

    def _outdated(self, graph: list[Any]) -> bool:
        """Whether of the values that the graph has saved those that were overwritten are older than the window."""
        stale = [node for node in graph if _spoilt(node) == "overwritten"]
        return bool(stale) and all(self._old(node) for node in stale)

    def _repeated(self, graph: list[Any]) -> dict[str, Any] | None:
        for site, before in self.earlier:
            shared = [node for node in graph if node in before.graph]
            if shared:
                node = max(shared, key=lambda one: one._sequence_nr())
                return {"kind": "shared", "node": node.name(), "frames": origin(node), "earlier": site.data(),
                        "whole": len(shared) == len(graph), "given": detachable(before, graph, self.names)}  # fmt: skip
        if graph and all(self._old(node) for node in graph):
            return {"kind": "repeated", "node": graph[0].name(), "frames": [], "held": self._held(graph[0]),
                    "outdated": self._outdated(graph)}  # fmt: skip
        return None

    def _old(self, node: Any) -> bool:
        return not leaf(node) and node._sequence_nr() <= self.start

    def _held(self, node: Any) -> dict[str, Any] | None:
        """What held a tensor made by a node: looked for a few nodes down, past views of it."""
        for _ in range(4):
            if node in self.holders:
                return self.holders[node]
            following = [child for child, _ in node.next_functions if child is not None and not leaf(child)]
            if len(following) != 1:
                return None
            node = following[0]
        return None

    def _note(self, value: Any, where: dict[str, Any], depth: int = 3) -> None:
        if isinstance(value, torch.Tensor):
            if (node := node_of(value)) is not None:
                self.holders.setdefault(node, where)
        elif isinstance(value, (list, tuple)) and depth:
            kind = "namedtuple" if hasattr(value, "_fields") else type(value).__name__
            for item in value[:100]:
                self._note(item, {**where, "container": _inside(where, kind)}, depth - 1)
        elif isinstance(value, dict) and depth and len(value) < 1000:
            for item in value.values():
                self._note(item, {**where, "container": _inside(where, "dict")}, depth - 1)
        elif depth == 3 or isinstance(value, torch.nn.Module):
            for reach, owner, name, held in _attributes(value, where["reach"]):
                about = {**where, "name": f"self.{name}", "reach": f"{reach}.{name}", "owner": owner}
                self._note(held, about, 2)


def _inside(where: dict[str, Any], kind: str) -> str:
    """The kinds of containers around a tensor, the outermost first: `list/tuple`."""
    return f"{where['container']}/{kind}" if where.get("container") else kind


def _spoilt(node: Any) -> str | None:
    """What befell a node's values: freed, overwritten or nothing; None for a user's node that saved none this way."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    for name in names or ("saved_tensors",):
        try:
            getattr(node, name)
        except AttributeError:
            continue
        except RuntimeError as error:  # also of `hasattr`
            said = str(error)
            return "freed" if "second time" in said else "overwritten" if "inplace operation" in said else ""
    return None if not names and hasattr(node, "saved_tensors") else ""


def _attributes(value: Any, reach: str) -> Iterator[tuple[str, str, str, Any]]:
    """The attributes of a module and its layers, or of a plain object of the user's, that may hold tensors."""
    owners = [(reach, value)]
    if isinstance(value, torch.nn.Module):
        owners = [(_dotted(reach, path), module) for path, module in value.named_modules()]
    elif not _users(value):
        return
    for path, owner in owners:
        for name, held in list(vars(owner).items()) + list((vars(owner).get("_buffers") or {}).items()):
            if not name.startswith("_") or isinstance(held, torch.Tensor):
                yield path, type(owner).__name__, name, held


def _users(value: Any) -> bool:
    """Whether an object is of a class of the user's own."""
    if isinstance(value, type) or not hasattr(value, "__dict__"):
        return False
    file = getattr(sys.modules.get(type(value).__module__), "__file__", None)
    return type(value).__module__ == "__main__" or (file is not None and is_user_file(file))


def _dotted(reach: str, path: str) -> str:
    return reach + as_attributes(path)
