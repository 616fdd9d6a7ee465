"""Where a model that is still in training mode is run for predictions, and where its mode can be set."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from explainer.facts import SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.autograd.cuts import block_around
from explainer.probes.call import call_node
from explainer.probes.files import calls_named, nodes_of
from explainer.probes.module import module_calls, root_module
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of, is_module
from explainer.source import Source, called, holds, names_in, source_of, stored

_TRAINS = Pattern(r"\.backward\(|\bautograd\.grad\(")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
#: How many functions that call each other are followed to one that trains.
_DEEP = 3


@probe
def run_in_training(scene: Scene) -> SpanFact | None:
    """The statement that a model's mode can be set before, where it is run in training mode and nothing trains it.

    That is so where gradients are switched off, or where no backward follows in any of the user's functions on the
    stack. `detail`: `model` is its text there, `call` the run, `back` whether the program trains it again after that
    without setting its mode itself.
    """
    root, frames = root_module(scene), _callers(scene)
    if root is None or not frames:
        return None
    off = [block_around([{"file": one.file, "line": one.line}]) is not None for one in frames]
    if not any(off) and any(_trains_on(one) for one in frames):
        return None
    start = off.index(True) if any(off) else _shared(scene, frames)
    for at in range(start, len(frames)):
        text, failing = _named(frames[at], root), frames[at].failing()
        if text and failing is not None:
            statement = _before_loops(failing.source, frames[at].line, text)
            back = _trained_again(scene, frames[at:])
            run = span_fact(failing.source, call_node(failing.node))
            return span_fact(failing.source, statement, model=text, call=run, back=back) if statement else None
    return None


def _callers(scene: Scene) -> list[LiveFrame]:
    """The user's frames that led to the outermost call of a model, innermost first; none where a library runs it."""
    calls = module_calls(scene)
    frames = scene.live.frames[: calls[0].index] if scene.live is not None and calls else []
    own = [one for one in frames if one.user]
    between = [one for one in frames[frames.index(own[0]) :] if not one.user] if own else []
    wrapped = all(one.file.replace("\\", "/").endswith("torch/utils/_contextlib.py") for one in between)
    return own[::-1] if own and frames[-1].user and wrapped else []


def _trains_on(frame: LiveFrame) -> bool:
    """Whether a frame's statement, a loop around it, or what follows it in the function runs a backward."""
    source = source_of(frame.file)
    own = source.statement_at(frame.line)
    parts = [*_to_come(source, frame.line), *([own] if own is not None and not hasattr(own, "body") else [])]
    return any(_TRAINS.search(source.text(one)) for one in parts)


def _to_come(source: Source, line: int) -> list[ast.stmt]:
    """The statements of a function that may run after one of its lines: those below it, and loops around it."""
    found, stack = [], list(ast.iter_child_nodes(source.scope_at(line) or ast.Module([], [])))
    while stack:
        one = stack.pop()
        if isinstance(one, ast.stmt) and (one.lineno > line or (isinstance(one, _LOOPS) and holds(one, line))):
            found.append(one)
        stack += [] if isinstance(one, _SCOPES) else ast.iter_child_nodes(one)
    return [one for one in found if not isinstance(one, _SCOPES)]


def _shared(scene: Scene, frames: Sequence[LiveFrame]) -> int:
    """The first frame, from the run outwards, whose function is called at one place alone."""
    names = [one.frame.f_code.co_name for one in frames]
    return next((at for at, name in enumerate(names) if len(calls_named(scene, name)) < 2), len(frames))


def _named(frame: LiveFrame, root: object) -> str:
    """What a frame calls a model: a name, or an attribute of `self`; empty where it has no name for it."""
    found = [name for name, value in frame.locals.items() if value is root and name.isidentifier()]
    held = frame.locals.get("self")
    parts = {**fields_of(held), **(fields_of(held).get("_modules") or {} if is_module(held) else {})}
    found += [f"self.{name}" for name, value in parts.items() if value is root and not name.startswith("__")]
    own = frame.locals.get("__name__") is None  # a function, which may read the file's names
    found += [name for name, value in frame.frame.f_globals.items() if own and value is root]
    failing = frame.failing()
    used = {failing.source.text(one) for one in names_in(failing.node)} if failing is not None else set()
    return next((one for one in found if one in used), found[0] if found else "")


def _before_loops(source: Source, line: int, model: str) -> ast.stmt | None:
    """The statement of a line, or the outermost loop around it that does not itself bind the model's name."""
    found, scope, name = source.statement_at(line), source.scope_at(line), model.partition(".")[0]
    around: ast.AST | None = found
    while around is not None and around is not scope:
        if isinstance(around, _LOOPS) and name not in stored(around):
            found = around
        around = source.parent_of(around)
    return found


def _trained_again(scene: Scene, frames: Sequence[LiveFrame]) -> bool:
    """Whether training may follow that does not call `train()`: its loop goes on around the run, or begins after it."""
    to_come = [(source_of(one.file), each) for one in frames for each in _to_come(source_of(one.file), one.line)]
    training = _training_functions(scene)
    parts = [(source, one) for source, one in to_come if _trains(source, one, training)]
    names = {called(call) for _, one in parts for call in ast.walk(one) if isinstance(call, ast.Call)}
    parts += [(source, one) for name, (source, one) in training.items() if name in names]
    return bool(parts) and not any(".train()" in source.text(one) for source, one in parts)


def _training_functions(scene: Scene) -> dict[str, tuple[Source, ast.stmt]]:
    """The program's functions, by name, that run a backward, or call one that does."""
    functions = [(source, one) for source, one in nodes_of(scene, _FUNCTIONS)]
    found: dict[str, tuple[Source, ast.stmt]] = {}
    for _ in range(_DEEP):
        found = {one.name: (source, one) for source, one in functions if _trains(source, one, found)}  # type: ignore[attr-defined]
    return found


def _trains(source: Source, node: ast.AST, functions: dict[str, tuple[Source, ast.stmt]]) -> bool:
    calls = {called(one) for one in ast.walk(node) if isinstance(one, ast.Call)}
    return bool(_TRAINS.search(source.text(node))) or bool(calls & functions.keys())
