"""A model that is built with other arguments where it is restored than where the program built the one it saved."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.checkpoint.loading import load_frame
from explainer.probes.checkpoint.restored import saved_models
from explainer.probes.makers import makers, ways
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, loaded, stored

Made = tuple[Source, ast.Call]
At = tuple[Source, ast.AST]
_NAMES = (ast.Name, ast.Attribute, ast.Subscript)


#: How many calls inward the arguments of two calls are compared.
_DEEPEST = 3


@probe
def built_here(scene: Scene) -> SpanFact | None:
    """The one call that builds the model into which the failing call loads, or what decides an argument of it.

    `detail.callee` is what it calls, `given` whether it is not that call itself but gives it an argument.
    """
    pairs = _pairs(scene)
    found = pairs[0][0] if pairs else _here(scene)
    return _fact(scene, *found) if found is not None else None


@probe
def built_when_saved(scene: Scene) -> tuple[SpanFact, ...] | None:
    """What stands for `built_here` where the models that the program saves were built: the same with other arguments.

    Each text once.
    """
    found: dict[str, SpanFact] = {}
    for here, (home, node) in _pairs(scene):
        if here == _pairs(scene)[0][0]:
            found.setdefault(home.text(node), span_fact(home, node))
    return tuple(found.values()) or None


@probe
def first_saved(scene: Scene) -> SpanFact | None:
    """The first of `built_when_saved`."""
    found = built_when_saved(scene)
    return found[0] if found else None


def _fact(scene: Scene, source: Source, node: ast.AST) -> SpanFact:
    here = _here(scene)
    callee = called(node) if isinstance(node, ast.Call) else ""
    return span_fact(source, node, callee=callee, given=here is not None and node is not here[1])


def _pairs(scene: Scene) -> list[tuple[At, At]]:
    """What decides how the model is built here, with what decides it where a model was built that is saved."""
    return scene.once("built otherwise", lambda: list(_compared(scene))) or []


def _compared(scene: Scene) -> Iterator[tuple[At, At]]:
    here = _here(scene)
    if here is None or _from_file(*here):
        return
    for source, node in saved_models(scene):
        for home, call in makers(scene, source, node):
            if called(call) == called(here[1]):
                yield from _apart(scene, here, (home, call), _DEEPEST)


def _from_file(source: Source, call: ast.AST) -> bool:
    """Whether an argument of a call is what a file holds, as `config["model"]` of a checkpoint is."""
    scope = source.scope_at(call.lineno)  # type: ignore[attr-defined]
    bound = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
    read = {name for one in bound if called(one.value) == "load" for name in stored(one)}  # type: ignore[arg-type]
    return bool(read & loaded(call))


def _apart(scene: Scene, here: At, saved: At, most: int) -> Iterator[tuple[At, At]]:
    """Where two calls of the same differ: in what names among their arguments stand for, else in their source."""
    one, other = here[1], saved[1]
    if one is other or not (isinstance(one, ast.Call) and isinstance(other, ast.Call)):
        return
    same = here[0].text(one) == saved[0].text(other)
    further = list(_in_arguments(scene, here, saved, most)) if most and _names_alone(here, saved) else []
    yield from further
    if not same and not further:
        yield here, saved


def _names_alone(here: At, saved: At) -> bool:
    """Whether two calls differ in nothing that is written in them: each argument of both is the same, or a name."""
    one, other = _given(here[1]), _given(saved[1])
    texts = ((here[0].text(one[key]), saved[0].text(other[key])) for key in one.keys() & other.keys()
             if not isinstance(one[key], _NAMES) or not isinstance(other[key], _NAMES))  # fmt: skip
    return one.keys() == other.keys() and all(own == kept for own, kept in texts)


def _in_arguments(scene: Scene, here: At, saved: At, most: int) -> Iterator[tuple[At, At]]:
    one, other = _given(here[1]), _given(saved[1])
    for key in one:
        own = _decided(scene, here, one[key])
        kept = _decided(scene, saved, other[key])
        if own is None or kept is None:
            continue
        if isinstance(own[1], ast.Call) and isinstance(kept[1], ast.Call) and called(own[1]) == called(kept[1]):
            yield from _apart(scene, own, kept, most - 1)
        elif type(own[1]) is type(kept[1]) and own[0].text(own[1]) != kept[0].text(kept[1]):
            yield own, kept


def _given(node: Any) -> dict[Any, ast.expr]:
    """The arguments of a call by position or name; a starred one as what the star is of."""
    given: dict[Any, ast.expr] = {}
    for at, one in enumerate(node.args):
        given[at] = one.value if isinstance(one, ast.Starred) else one
    return {**given, **{word.arg: word.value for word in node.keywords}}


def _decided(scene: Scene, at: At, node: ast.expr) -> At | None:
    """The one call or literal that a name, or an attribute, stands for; None where it is none or there are several."""
    if not isinstance(node, _NAMES):
        return None
    ends = [way[-1] for way in ways(scene, at[0], node)]
    found = {(home.file, one.lineno, one.col_offset): (home, one) for home, one in ends}  # type: ignore[attr-defined]
    home, one = next(iter(found.values())) if len(found) == 1 else (at[0], node)
    if isinstance(one, ast.Name):
        default = default_of(home, one)
        return (home, default) if default is not None else None
    return (home, one) if isinstance(one, (ast.Call, ast.Constant, ast.Dict, ast.List, ast.Tuple)) else None


def default_of(source: Source, node: ast.Name) -> ast.expr | None:
    """The default of the parameter that a name is."""
    function = source.function_at(node.lineno)
    if not isinstance(function, ast.FunctionDef):
        return None
    given = function.args
    behind = dict(zip([one.arg for one in reversed(given.args)], reversed(given.defaults), strict=False))
    named = {one.arg: value for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
    return {**named, **behind}.get(node.id)


def _here(scene: Scene) -> Made | None:
    failing, frame = scene.failing, load_frame(scene)
    node = call_node(failing.node) if failing is not None and frame is not None else None
    if failing is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "load_state_dict":
        return None
    made = makers(scene, failing.source, node.func.value)
    found = {(home.file, call.lineno): (home, call) for home, call in made}
    return next(iter(found.values())) if len(found) == 1 else None
