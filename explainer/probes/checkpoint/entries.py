"""The entry of a checkpoint that was asked for under a key that it does not have, and the one that was meant."""

from __future__ import annotations

import ast
import difflib
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.checkpoint.loading import load_frame, state_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read


@probe
def missing_entry(scene: Scene) -> SpanFact | None:
    """The lookup `checkpoint["model"]` of a key that a loaded dict does not have.

    `detail`: `table` its source, `asked` the key, `keys` those that are there, `meant` the one that holds such a state
    ("" where the dict is the state dict itself, None where none or several could be meant).
    """
    frame, failing = scene.user_frame, scene.failing
    node = failing.node if failing is not None else None
    looked_up = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    if frame is None or failing is None or not isinstance(node, ast.Subscript) or not looked_up:
        return None
    table, asked = read(node.value, frame.frame), node.slice.value  # type: ignore[attr-defined]
    if table is MISSING or not isinstance(table, dict) or not isinstance(asked, str) or asked in table:
        return None
    fit = [key for key, value in table.items() if type(key) is str and _fits(value, asked)]
    meant = "" if _is_state(table) and "optim" not in asked else _closest(asked, fit)
    if meant is None and not fit:
        return None
    about = {"table": failing.source.text(node.value), "asked": asked, "meant": meant}
    return span_fact(failing.source, node, keys=tuple(key for key in table if type(key) is str)[:8], **about)


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(is_tensor(one) for one in value.values())


def _fits(value: Any, asked: str) -> bool:
    """Whether an entry is what a key's name asks for: an optimizer's state, or a model's."""
    if "optim" in asked:
        return isinstance(value, dict) and "param_groups" in value
    return _is_state(value)


def _closest(asked: str, keys: list[str]) -> str | None:
    near = difflib.get_close_matches(asked, keys, n=1, cutoff=0.3) if len(keys) > 1 else keys
    return near[0] if near else None


@probe
def other_entry(scene: Scene) -> SpanFact | None:
    """The entry of a checkpoint that is loaded into a model, where only another one has the model's keys and sizes.

    `detail`: `table` the checkpoint's source, `asked` the key, `meant` the other key, `model` the model's class.
    """
    frame, failing, load = scene.user_frame, scene.failing, load_frame(scene)
    node = call_node(failing.node) if failing is not None else None
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if frame is None or failing is None or load is None or not isinstance(given, ast.Subscript):
        return None
    table, asked = read(given.value, frame.frame), getattr(given.slice, "value", None)
    own = {key: tuple(one.shape) for key, one in state_of(load.locals["self"]).items()}
    if table is MISSING or not isinstance(table, dict) or not own or not isinstance(asked, str):
        return None
    fit = [key for key, value in table.items() if type(key) is str and _is_state(value) and _shapes(value) == own]
    if len(fit) != 1 or fit[0] == asked:
        return None
    about = {"table": failing.source.text(given.value), "asked": asked, "meant": fit[0]}
    return span_fact(failing.source, given, model=type(load.locals["self"]).__name__, **about)


def _shapes(state: Any) -> dict[str, tuple[int, ...]]:
    return {key: tuple(one.shape) for key, one in state.items()}
