"""An optimizer whose groups are those of another kind: what its `step` misses, and the load that brought them."""

from __future__ import annotations

import ast
import re

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_optimizer
from explainer.source import Source

#: Options that only one kind of optimizer has, by the kind.
_KINDS = {
    "SGD": ("dampening", "nesterov"), "RMSprop": ("alpha", "centered"), "Adadelta": ("rho",),
    "Adagrad": ("lr_decay", "initial_accumulator_value"), "Rprop": ("etas", "step_sizes"), "ASGD": ("lambd", "t0"),
    "NAdam": ("momentum_decay",), "LBFGS": ("history_size",),
    "Adam": ("betas",),
}  # fmt: skip


@probe
def foreign_groups(scene: Scene) -> Settings | None:
    """The optimizer whose step misses an option in its groups: `type`, `key`, and `other`, whose groups they look like.

    `other` is empty where the options do not tell. None where the optimizer never had such an option.
    """
    key = scene.captures.get("key")
    for frame in scene.live.frames if scene.live is not None else []:
        one = frame.locals.get("self")
        defaults = fields_of(one).get("defaults", {}) if is_optimizer(one) else {}
        groups = fields_of(one).get("param_groups", []) if is_optimizer(one) else []
        missing = [name for name in defaults if name not in groups[0]] if groups else []
        if missing and (key in missing or key not in defaults):  # else an entry of the state, of a kind of its own
            other = next((kind for kind, names in _KINDS.items() if all(name in groups[0] for name in names)), "")
            lacks = key if key in missing else missing[0]
            return Settings((("type", type(one).__name__), ("key", lacks), ("other", other)))
    return None


@probe
def optimizer_load(scene: Scene) -> SpanFact | None:
    """The only `optimizer.load_state_dict(state)` of the program; `detail`: `optimizer` and `state`, their sources."""
    found = optimizer_loads(scene)
    if len(found) != 1:
        return None
    source, node = found[0]
    optimizer = source.text(node.func.value)  # type: ignore[attr-defined]
    return span_fact(source, node, optimizer=optimizer, state=source.text(node.args[0]))


@probe
def group_added(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The only `add_param_group(...)` of the program, where it stands in a function that a load may have missed.

    `detail`: `function`, what adds the group; `call`, its call as it can stand before the load `of`, "" where its
    arguments are not known there; `own` and `saved`, how many groups the two have, 0 where not known.
    """
    added = calls_named(scene, "add_param_group")
    if len(added) != 1 or of is None:
        return None
    (source, node), counts = added[0], _counts(scene)
    function = source.function_at(node.lineno)
    if not isinstance(function, ast.FunctionDef) or function.name == "__init__" or not counts[0] < counts[1]:
        return None
    call = _before_load(scene, function, of)
    return span_fact(source, node, function=function.name, call=call, own=counts[0], saved=counts[1])


def _counts(scene: Scene) -> tuple[int, int]:
    """How many groups the optimizer has that is loaded, and how many were saved."""
    for frame in reversed(scene.live.frames if scene.live is not None else []):
        rows = frame.locals.get("groups"), frame.locals.get("saved_groups")
        if all(isinstance(one, list) for one in rows):
            return len(rows[0]), len(rows[1])  # type: ignore[arg-type]
    return 0, 0


def _before_load(scene: Scene, function: ast.FunctionDef, load: SpanFact) -> str:
    """A call of what adds a group: of the owner of the optimizer, or as the program calls it by names alone."""
    given = [one.arg for one in function.args.args]
    owner, _, attribute = load["optimizer"].rpartition(".")
    if given == ["self"]:
        return f"{owner}.{function.name}()" if owner and attribute else ""
    calls = {ast.unparse(one) for _, one in calls_named(scene, function.name) if _of_names(one)}
    made = calls.pop() if len(calls) == 1 else ""
    return made if load["optimizer"] in re.findall(r"\w+", made) else ""


def _of_names(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and not call.keywords and all(isinstance(one, ast.Name) for one in call.args)


def optimizer_loads(scene: Scene) -> list[tuple[Source, ast.Call]]:
    """The calls of the program that load an optimizer's state."""
    loads = calls_named(scene, "load_state_dict")
    return [(source, call) for source, call in loads if _of_optimizer(call) or _built_here(source, call)]


def _built_here(source: Source, load: ast.Call) -> bool:
    """Whether a file makes what a call loads into by a call of torch's optimizers: `second = torch.optim.Adam(...)`."""
    owner = source.text(load.func.value) if isinstance(load.func, ast.Attribute) else ""
    bound = [one for one in source.nodes() if isinstance(one, ast.Assign) and source.text(one.targets[0]) == owner]
    made = [source.text(one.value.func) for one in bound if isinstance(one.value, ast.Call)]
    return any("optim." in one or one in (*_KINDS, "AdamW", "Adamax") for one in made)


def _of_optimizer(node: ast.Call) -> bool:
    if len(node.args) != 1:
        return False
    owner = ast.unparse(node.func.value).lower() if isinstance(node.func, ast.Attribute) else ""
    return "opt" in owner.rpartition(".")[2] or "opt" in ast.unparse(node.args[0]).lower()
