"""What two losses share though only one is to train it: the advantage of an actor's loss, a critic's weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.graph import backward_argument
from explainer.probes.autograd.meeting import meeting
from explainer.probes.files import named
from explainer.probes.origin import last_binding
from explainer.probes.owners import items
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of, is_optimizer, is_tensor, read
from explainer.source import Source, called, holds

#: Of larger graphs nothing is said.
_MOST_NODES = 4000
_Made = tuple[Source, ast.stmt]


@probe
def shared_factors(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The local names that both losses read, where the second reads them, of an update between two backwards.

    The weights that were updated are reached by the second loss in parts alone that nothing else leads to: the gradient
    that it brings them is thrown away, and no other network gets any through them. `detail`: `name`, `optimizer`.
    """
    met = scene.once("meeting", lambda: meeting(scene))
    frame = _frame_of(scene, met.failed) if met is not None and not met.after else None
    source = scene.source(frame.file) if frame is not None else None
    if met is None or frame is None or source is None or not _apart(met.wrote, source, frame, backward_argument(scene)):
        return None
    second, first = _losses(source, met.wrote.span.line, frame)
    made = [_made(scene, source, frame, name) for name in (second, first)] if second and first else []
    if None in made or not made:
        return None
    found = [span_fact(where, node, name=node.id, optimizer=met.wrote.text.partition(".step")[0])
             for where, node in _both(made[0], made[1])]  # type: ignore[arg-type]  # fmt: skip
    return tuple(found) or None


@probe
def mingled(scene: Scene) -> bool | None:
    """Whether the failing loss sends gradients to the weights of two optimizers in sight that share none.

    Steps that wait for all backwards would then take those of a loss that is not theirs; None where there is one alone.
    """
    loss = backward_argument(scene)
    leaves = _leaves(loss.grad_fn) if is_tensor(loss) and loss.grad_fn is not None else None
    reached = leaves[loss.grad_fn] if leaves is not None else frozenset[int]()
    own = [weights for weights in map(_weights, _optimizers(scene)) if weights & reached]
    return any(not one & other for one in own for other in own) or None


def _optimizers(scene: Scene) -> list[Any]:
    """The optimizers that the user's frames hold: by a name, in a dict or list, as an attribute of an object."""
    found: dict[int, Any] = {}
    for frame in scene.live.user if scene.live is not None else ():
        held = [*frame.locals.values()]
        held += [value for one in frame.locals.values() if not is_optimizer(one) for value in fields_of(one).values()]
        every = [*held, *(inner for one in held for inner in items(one, 1))]
        found.update({id(one): one for one in every if is_optimizer(one)})
    return list(found.values())


def _weights(optimizer: Any) -> frozenset[int]:
    return frozenset(id(one) for group in fields_of(optimizer)["param_groups"] for one in group["params"])


def _frame_of(scene: Scene, failed: SpanFact) -> LiveFrame | None:
    """The frame that stands at a statement."""
    frames = scene.live.user if scene.live is not None else []
    lines = range(failed.span.line, (failed.span.end_line or failed.span.line) + 1)
    return next((one for one in frames if one.file == failed.span.file and one.line in lines), None)


def _apart(wrote: SpanFact, source: Source, frame: LiveFrame, loss: Any) -> bool:
    """Whether a loss reaches the weights of an optimizer that stepped in parts alone that hold no other weights."""
    steps = [one for one in source.nodes() if isinstance(one, ast.Call) and called(one) == "step"
             and holds(one, wrote.span.line) and isinstance(one.func, ast.Attribute)]  # fmt: skip
    optimizer = read(steps[0].func.value, frame.frame) if len(steps) == 1 else None  # type: ignore[attr-defined]
    if not is_optimizer(optimizer) or not is_tensor(loss) or loss.grad_fn is None:
        return False
    own = _weights(optimizer)
    leaves = _leaves(loss.grad_fn)
    if leaves is None or leaves[loss.grad_fn] <= own:
        return False
    nearest = [node for node, below in leaves.items() if any(_leaf(one) in own for one in _inputs(node)) and below]
    return bool(nearest) and all(leaves[node] <= own for node in nearest)


def _inputs(node: Any) -> list[Any]:
    return [one for one, _ in node.next_functions if one is not None]


def _leaf(node: Any) -> int | None:
    variable = getattr(node, "variable", None)
    return id(variable) if variable is not None else None


def _leaves(root: Any) -> dict[Any, frozenset[int]] | None:
    """The identities of the leaves below each node of a graph, itself included; None of one that is too large."""
    found: dict[Any, frozenset[int]] = {}
    stack: list[Any] = [root]
    while stack:
        node = stack[-1]
        missing = [one for one in _inputs(node) if one not in found] if node not in found else []
        if len(found) + len(stack) > _MOST_NODES:
            return None
        if missing:
            stack += missing
            continue
        stack.pop()
        own = frozenset([leaf]) if (leaf := _leaf(node)) is not None else frozenset[int]()
        found[node] = own.union(*(found[one] for one in _inputs(node)))
    return found


def _losses(source: Source, line: int, frame: LiveFrame) -> tuple[str, str]:
    """The names whose backward fails and was run last before a line, in the function of a frame."""
    scope = source.scope_at(frame.line)
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and called(one) == "backward"] if scope else []
    rooted = [(one.lineno, one.func.value.id) for one in calls
              if isinstance(one.func, ast.Attribute) and isinstance(one.func.value, ast.Name)]  # fmt: skip
    second = next((name for at, name in rooted if at == frame.line), "")
    return second, max(((at, name) for at, name in rooted if at < line), default=(0, ""))[1]


def _made(scene: Scene, source: Source, frame: LiveFrame, name: str) -> _Made | None:
    """The statement that computes a name, in the frame's function or in the one of the program that gives it."""
    bound = last_binding(source, frame, name)
    if not isinstance(bound, ast.Assign):
        return None
    target = bound.targets[0]
    if isinstance(target, ast.Name):
        return source, bound
    names = [getattr(one, "id", "") for one in target.elts] if isinstance(target, ast.Tuple) else []
    helpers = list(named(scene, ast.FunctionDef, called(bound.value))) if isinstance(bound.value, ast.Call) else []
    if len(helpers) != 1 or name not in names:
        return None
    home, function = helpers[0]
    returns = [one for one in ast.walk(function) if isinstance(one, ast.Return)]
    given = returns[0].value if len(returns) == 1 else None
    part = given.elts[names.index(name)] if isinstance(given, ast.Tuple) and len(given.elts) == len(names) else None
    return next(_assigned(home, function, part.id), None) if isinstance(part, ast.Name) else None


def _assigned(source: Source, function: ast.AST, name: str) -> Iterator[_Made]:
    """The assignments of a name in a function, the last first."""
    every = (one for one in ast.walk(function) if isinstance(one, ast.Assign) and len(one.targets) == 1)
    found = [one for one in every if isinstance(one.targets[0], ast.Name) and one.targets[0].id == name]
    yield from ((source, one) for one in sorted(found, key=lambda one: -one.lineno))


def _both(second: _Made, first: _Made) -> Iterator[tuple[Source, ast.Name]]:
    """The local names that both statements read, and the second one once: where it does."""
    scope = second[0].scope_at(second[1].lineno)
    if scope is None or second[0] is not first[0] or scope is not first[0].scope_at(first[1].lineno):
        return
    read_first = {one.id for one in _read(first[1])}
    for name in dict.fromkeys(one.id for one in _read(second[1])):
        places = [one for one in _read(second[1]) if one.id == name]
        if name in read_first and len(places) == 1 and any(_assigned(second[0], scope, name)):
            yield second[0], places[0]


def _read(statement: ast.stmt) -> list[ast.Name]:
    return [one for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
