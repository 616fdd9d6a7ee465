"""Restoring gone astray: the report of a load kept for what was loaded, a state dict taken for the model it is of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.bindings import targets_of
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named, nodes_of, sources
from explainer.probes.follow import At, Follow, Trait
from explainer.probes.makers import makers
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import Source, called

#: What is read of the report that `load_state_dict` returns.
_OF_REPORT = ("missing_keys", "unexpected_keys")


@probe
def kept_reports(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The calls of `load_state_dict` whose result is used as if it were what they load into.

    The one that the failing expression names comes first. None where results are kept but none can be told to be it.
    """
    found = [(one, node) for one in sources(scene) for node in one.nodes() if _loads(node) and _kept(one, node)]
    named = [pair for pair in found if _name_of(scene) in _names_bound(*pair)]
    first = named if len(named) == 1 else found if len(found) == 1 else []
    if not first:
        return None
    ranked = [*first, *(pair for pair in found if pair not in first)]
    return tuple(span_fact(source, node, owner=source.text(node.func.value)) for source, node in ranked)  # type: ignore


@probe
def kept_report(scene: Scene) -> SpanFact | None:
    """The first of `kept_reports`."""
    found = kept_reports(scene)
    return found[0] if found else None


def _loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict"


def _kept(source: Source, node: ast.AST) -> bool:
    """Whether the result of a call goes on as a value of its own: bound to a name, returned, put into a list."""
    parent = next((one for one in source.nodes() if any(child is node for child in ast.iter_child_nodes(one))), None)
    if parent is None or isinstance(parent, (ast.Expr, ast.Lambda, ast.FormattedValue)):
        return False
    if isinstance(parent, ast.Attribute) and parent.attr in _OF_REPORT:
        return False
    if isinstance(parent, ast.Call) and called(parent) in ("print", "len", "str", "repr", "info", "debug"):
        return False
    function = source.function_at(node.lineno)  # type: ignore[attr-defined]
    names = _names_bound(source, node)
    apart = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Tuple, ast.List))
    return not (apart or getattr(function, "name", "") == "load_state_dict" or _read_as_report(source, names))


def _read_as_report(source: Source, names: set[str]) -> bool:
    asked = [node for node in source.nodes() if isinstance(node, ast.Attribute) and node.attr in _OF_REPORT]
    return any(getattr(one.value, "id", getattr(one.value, "attr", "")) in names for one in asked)


def _names_bound(source: Source, node: ast.AST) -> set[str]:
    """The names, and attributes, that the statement around an expression assigns."""
    for one in source.nodes():
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and any(part is node for part in ast.walk(one)):
            parts = [part for target in targets_of(one) for part in ast.walk(target)]
            return {part.id for part in parts if isinstance(part, ast.Name)} - {"self"} | {
                part.attr for part in parts if isinstance(part, ast.Attribute)
            }
    return set()


def _name_of(scene: Scene) -> str:
    """The last name of what the failing expression calls, or asks an attribute of."""
    node = _subject(scene)
    return getattr(node, "id", getattr(node, "attr", ""))


def _subject(scene: Scene) -> ast.AST | None:
    """What the failing expression calls (`net` of `net(x)`), or takes an attribute of (`net` of `net.eval()`)."""
    node: Any = scene.failing.node if scene.failing is not None else None
    node = getattr(node, "value", None) if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) else node
    if isinstance(node, ast.Call) and scene.crash.name == "TypeError":
        return node.func
    node = node.func if isinstance(node, ast.Call) else node
    return node.value if isinstance(node, ast.Attribute) else None


class _State(Trait):
    """A dict that holds tensors by name; `wanted` is the expression that loads one, or takes it out of a checkpoint."""

    wanted = "state"

    def of(self, value: Any) -> str | None:
        return "state" if isinstance(value, dict) else "other" if value is not MISSING else None

    def of_expression(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return "state" if isinstance(node.slice.value, str) else None
        return "state" if isinstance(node, ast.Call) and called(node) in ("load", "state_dict", "deepcopy") else None


@probe
def state_as_model(scene: Scene) -> SpanFact | None:
    """The expression that gave a state dict to a name which is used as a model: `torch.load(path)`.

    `detail.key` is the entry of a checkpoint that has the weights (None where it is the state dict itself), `of` the
    model whose `state_dict()` it is, None where it was loaded from a file.
    """
    frame, failing, subject = scene.user_frame, scene.failing, _subject(scene)
    if frame is None or failing is None or scene.live is None or subject is None:
        return None
    value = read(subject, frame.frame)
    if value is not MISSING and _entry(value) is None:
        return None
    frames = scene.live.user
    found = Follow(frames, _State(), scene).entry(At(failing.source, subject, frame.line, len(frames) - 1))
    at = (found.source, found.node) if found is not None else _only_state(scene)
    if at is None or not isinstance(at[1], (ast.Call, ast.Subscript)):
        return None
    of, key = _model_of(at[1]), _entry(value) if value is not MISSING else _saved_key(scene)
    return span_fact(*at, key=key or None, of=at[0].text(of) if of is not None else None)


def _only_state(scene: Scene) -> tuple[Source, ast.AST] | None:
    """The only state dict that an attribute of the name that fails is given, in whichever method."""
    found = [
        (source, node.value)
        for source, node in nodes_of(scene, ast.Assign)
        if getattr(node.targets[0], "attr", "") == _name_of(scene)
    ]
    states = [one for one in found if _State().of_expression(one[1]) is not None]
    return states[0] if len(states) == 1 else None


def _entry(value: Any) -> str | None:
    """Of a checkpoint the key of its only state dict, "" for a state dict itself; None for another value."""
    if not isinstance(value, dict) or not value:
        return None
    if all(is_tensor(one) for one in value.values()):
        return ""
    keys = [key for key, one in value.items() if type(key) is str and _entry(one) == ""]
    return keys[0] if len(keys) == 1 else None


def _saved_key(scene: Scene) -> str:
    """The key under which the program saves a model's state dict, where it does so in a dict; "" else."""
    keys = set()
    for source in sources(scene) if "OrderedDict" not in scene.crash.message else ():
        for node in (one for one in source.nodes() if isinstance(one, ast.Dict)):
            for key, value in zip(node.keys, node.values, strict=True):
                saves = source.text(value).endswith(".state_dict()") and isinstance(key, ast.Constant)
                if saves and not re.search("optim|sched|scaler", source.text(value)):
                    keys.add(str(key.value))  # type: ignore[union-attr]
    return keys.pop() if len(keys) == 1 else ""


def _model_of(node: ast.AST) -> ast.expr | None:
    """The model of `model.state_dict()`, also within `copy.deepcopy(...)`."""
    if isinstance(node, ast.Call) and called(node) == "deepcopy" and node.args:
        node = node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "state_dict":
        return node.func.value
    return None


@probe
def model_makers(scene: Scene, of: SpanFact | None = None) -> tuple[SpanFact, ...] | None:
    """The calls that made the models whose state dicts the program saves, as they can be written where `of` stands.

    One whose arguments are not to be had there is left out.
    """
    from explainer.edits.borrowed import imports_for

    source = scene.source(of.span.file) if of is not None else None
    if of is None or source is None:
        return None
    found: dict[str, SpanFact] = {}
    for place, node in saved_models(scene):
        for home, call in makers(scene, place, node):
            if imports_for(source, of.span.line, home, call) is not None:
                found.setdefault(home.text(call), span_fact(home, call))
    return tuple(found.values()) or None


def saved_models(scene: Scene) -> Iterator[tuple[Source, ast.expr]]:
    """What the program asks for its state dict: `net` of `net.state_dict()`."""
    models = ((source, _model_of(call)) for source, call in calls_named(scene, "state_dict"))
    yield from ((source, model) for source, model in models if model is not None)
