"""Optimizer state loaded by position that does not fit: the parameter it came to, where the groups are built."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.kinds.inplace import block_of
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.autograd.graph import parameter_names
from explainer.probes.checkpoint.optimizers import optimizer_loads
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_optimizer, is_tensor
from explainer.source import Source

_Found = tuple[Source, ast.Call]
#: Entries of the state that torch's optimizers keep in the shape of their parameter.
_LIKE_PARAMETER = (
    "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "momentum_buffer", "square_avg", "grad_avg", "acc_delta",
    "sum", "prev", "ax",
)  # fmt: skip


@probe
def misfit_state(scene: Scene) -> Settings | None:
    """The first parameter whose state in the optimizer has another shape.

    `type` is the optimizer's, `group` and `index` say where the parameter stands, `name` what a model on the stack
    calls it ("" where none does), `key` the entry of the state, `shape` its shape, `wanted` the parameter's;
    `permuted`: whether all shapes are there, in another order.
    """
    one = _stepping(scene)
    rows = list(_rows(one)) if one is not None else []
    odd = [row for row in rows if row[3] and row[4] != tuple(row[2].shape)]
    if not odd:
        return None
    group, index, parameter, key, shape = odd[0]
    known = [(tuple(row[2].shape), row[4]) for row in rows if row[3]]
    permuted = sorted(own for own, _ in known) == sorted(held for _, held in known)
    name = next(iter(parameter_names(scene, {id(parameter)})), "")
    about = {"type": type(one).__name__, "group": group, "index": index, "name": name, "key": key}
    shapes = {"shape": list(shape), "wanted": list(parameter.shape), "permuted": permuted}
    return Settings(tuple({**about, **shapes}.items()))


def _stepping(scene: Scene) -> Any:
    """The optimizer whose step is on the stack."""
    for frame in reversed(scene.live.frames if scene.live is not None else []):
        if is_optimizer(frame.locals.get("self")):
            return frame.locals["self"]
    return None


def _rows(optimizer: Any) -> Iterator[tuple[int, int, Any, str, tuple[int, ...]]]:
    """Each parameter by group and position, with an entry of its state that should have its shape ("" for none)."""
    fields = fields_of(optimizer)
    state = fields.get("state", {})
    for number, group in enumerate(fields.get("param_groups", [])):
        for index, parameter in enumerate(group["params"]):
            held = dict.get(state, parameter) or {}
            kept = [key for key in _LIKE_PARAMETER if is_tensor(held.get(key)) and held[key].dim() > 0]
            odd = [key for key in kept if held[key].shape != parameter.shape]
            key = (odd or kept or [""])[0]
            yield number, index, parameter, key, tuple(held[key].shape) if key else ()


@probe
def restored_optimizer(scene: Scene, of: Settings | None = None) -> SpanFact | None:
    """The call that builds the optimizer into which a state is loaded."""
    calls = calls_named(scene, of["type"]) if of is not None else []
    loads = optimizer_loads(scene)
    near = [one for load in loads for one in calls if _loads_into(load, one)]
    beside = [one for load in loads for one in near if _in_one_block(load, one)]
    found = beside or near or calls
    return span_fact(*found[0]) if len(found) == 1 else None


@probe
def other_optimizers(scene: Scene, of: SpanFact | None = None) -> tuple[SpanFact, ...] | None:
    """The other calls of the program that build an optimizer like one."""
    calls = calls_named(scene, of.text.partition("(")[0].rpartition(".")[2]) if of is not None else []
    others = [span_fact(source, node) for source, node in calls]
    return tuple(one for one in others if of is not None and one.span != of.span) or None


def _in_one_block(load: _Found, built: _Found) -> bool:
    """Whether the statements of two calls stand in one block: not in two branches of an `if`."""
    if load[0].file != built[0].file:
        return False
    first, then = Place(*built).statement(), Place(*load).statement()
    try:
        return any(one is then.node for one in block_of(first))
    except EditError:
        return False


def _loads_into(load: _Found, built: _Found) -> bool:
    """Whether a call builds what another one, below it in the same function, loads into."""
    (source, node), (home, call) = load, built
    same = source.file == home.file and source.scope_at(node.lineno) is home.scope_at(call.lineno)
    owner = source.text(node.func.value)  # type: ignore[attr-defined]
    bound = [one for one in home.nodes() if isinstance(one, ast.Assign) and any(part is call for part in ast.walk(one))]
    names = [home.text(target) for one in bound for target in one.targets]
    return call.lineno < node.lineno and owner in names if same else owner.startswith("self.") and owner in names
