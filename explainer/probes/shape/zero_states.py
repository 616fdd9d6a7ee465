"""Hidden states of zeros that a recurrent layer is given, as it would take by itself."""

from __future__ import annotations

import ast
from typing import Any

from explainer.edits.place import place_of
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.behind import Behind
from explainer.probes.call import call_node
from explainer.probes.makers import bindings
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import read, readable
from explainer.source import Source, called, stored

#: How many values of a state are looked at.
_MOST = 1 << 20
_MAKERS = ("zeros", "new_zeros", "zeros_like")


@probe
def zero_state(scene: Scene) -> SpanFact | None:
    """The failing call of a recurrent layer that is given a state of zeros, made in the same function and not kept.

    `detail.without`: the call without the state.
    """
    frame, failing = scene.user_frame, scene.failing
    call = call_node(failing.node) if failing is not None else None
    if frame is None or failing is None or not isinstance(call, ast.Call) or len(call.args) != 2 or call.keywords:
        return None
    state, value = call.args[1], read(call.args[1], frame.frame)
    names = state.elts if isinstance(state, ast.Tuple) else [state]
    own = [one.id for one in names if isinstance(one, ast.Name) and last_binding(failing.source, frame, one.id)]
    statement = failing.source.statement_at(frame.line)
    kept = stored(statement) & set(own) if statement is not None else True
    if len(own) < len(names) or kept or not all(map(_zeros, value if type(value) is tuple else (value,))):
        return None
    text = failing.source.text
    return span_fact(failing.source, call, without=f"{text(call.func)}({text(call.args[0])})")


@probe
def zeros_made(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The call that makes the zeros of a state, `torch.zeros(2, 16, 32)`, in a script or where a helper returns it.

    Where its sizes have a name, `torch.zeros(shape)`, the expression that gives them; where a helper is given a size,
    the call of the helper. None in the failing function: the sizes of its input are at hand there.
    """
    call: Any = place_of(scene.source, of).node if of is not None else None
    failing = scene.failing
    behind = Behind(scene).parts(failing.source, call.args[1]) if failing is not None and call is not None else ()
    for home, part in behind:
        if isinstance(part, ast.Call) and called(part) in _MAKERS and failing is not None:
            if home.function_at(part.lineno) is failing.source.function_at(failing.span.line) is not None:
                return None
            if _sizes_given(home, part):
                first = call.args[1].elts[0] if isinstance(call.args[1], ast.Tuple) else call.args[1]
                return next((span_fact(*one) for one in bindings(scene, failing.source, first)), None)
            shape = part.args[0] if len(part.args) == 1 else None
            named = bindings(scene, home, shape) if isinstance(shape, ast.Name) else ()
            return span_fact(*next(iter(named), (home, part)))
    return None


def _sizes_given(home: Source, made: ast.Call) -> bool:
    """Whether the function in which a state is made is given one of its sizes."""
    function = home.function_at(made.lineno)
    args = function.args if function is not None else None
    given = {one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)} - {"self"} if args else set()
    return bool(given & {one.id for one in ast.walk(made) if isinstance(one, ast.Name)})


def _zeros(value: Any) -> bool:
    """Whether a value is zero throughout, and no state that is learned."""
    return readable(value, _MOST) and not value.requires_grad and not value.any()
