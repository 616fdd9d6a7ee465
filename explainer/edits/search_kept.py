"""Candidates for a state that a module keeps from a batch of another size: reset before the loop, or made anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits import statements
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import Place
from explainer.edits.slices import operands
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.source import holds

_HIDDEN = Pattern(r"Expected hidden(\[\d\])? size \(\d+, (\d+), \d+\), got \[\d+, (\d+), \d+\]")
_CELL = Pattern(r"Input batch size (\d+) doesn't match hidden\d? batch size (\d+)")
Function = ast.FunctionDef


@frozen
class Kept:
    """Attributes of `self` that hold a state: `dimension` of it is `held`, not `given`; `pair` where it is a tuple."""

    names: tuple[str, ...]
    owner: ast.ClassDef
    place: Place
    given: int
    dimension: int
    pair: bool


def reset(evidence: Evidence) -> Iterator[Candidate]:
    """`model.reset()` before the loop that gives batches of another size, where the class has such a method."""
    kept = _kept(evidence)
    root = _root(evidence) if kept is not None else None
    for method, receiver in _resets(evidence, kept) if kept is not None else ():
        call = evidence.frames[root].place if root is not None else None
        if call is None or receiver is None or kept is None:
            continue
        sizes, kept_at = _sizes(evidence.frames[root or 0].scope, kept.given), kept.place
        given = _arguments(method, sizes)
        if given is not None:
            text, mode = f"{receiver}.{method.name}({given})", _mode(call, receiver)
            loop = {"after": mode} if mode is not None else {"before": _loop(call) or call}
            for where in (loop, {"before": call}):
                edits = partial(statements.insert_statement, text, **where)
                at = mode if mode is not None and where is loop else kept_at
                yield from evidence.made(edits, "insert-statement", at, "reset", new=text)


def remade(evidence: Evidence) -> Iterator[Candidate]:
    """In forward, before the state is used: dropped where it is of a batch of another size."""
    kept = _kept(evidence)
    if kept is None:
        return
    function = kept.place.source.function_at(kept.place.node.lineno)
    first = _first_use(function, kept) if isinstance(function, Function) else None
    if first is None or function is None:
        return
    own = f"self.{kept.names[0]}" + ("[0]" if kept.pair else "")
    for size in _sizes(evidence.frames[-1].scope, kept.given, [one.arg for one in function.args.args[1:]])[:2]:
        none = f"self.{kept.names[0]} is not None and " if _starts_empty(kept) else ""
        for body in _bodies(kept, own, size):
            text = f"if {none}{own}.size({kept.dimension}) != {size}:\n    {body}"
            edits = partial(statements.insert_statement, text, before=kept.place.at(first))
            yield from evidence.made(edits, "insert-statement", kept.place, "remake", what=f"self.{kept.names[0]}")


def _kept(evidence: Evidence) -> Kept | None:
    """The state that the failing call was given, where a batch of another size left it in `self`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    sizes = _batches(evidence)
    owner = place.source.class_at(place.node.lineno) if place is not None else None
    if place is None or sizes is None or not isinstance(owner, ast.ClassDef):
        return None
    stored = _stored(owner)
    names = [name for name in _read(place) if name in stored]
    pair = "[" in (_HIDDEN.search(evidence.message) or ["", ""])[0].partition("size")[0] and len(names) == 1
    return Kept(tuple(names), owner, place, *sizes, pair) if names else None


def _batches(evidence: Evidence) -> tuple[int, int] | None:
    """The batch size that came, and the dimension of the state that has another; None where that is not the fault."""
    hidden, cell = _HIDDEN.search(evidence.message), _CELL.search(evidence.message)
    if hidden is not None:
        return (int(hidden[2]), 1) if hidden[2] != hidden[3] else None
    if cell is not None:
        return int(cell[1]), 0
    every = operands(evidence)
    for one in every:
        for other in every:
            attribute = one.place is not None and _attributes(one.place.node)
            rests = len(one.shape) == len(other.shape) and one.shape[1:] == other.shape[1:]
            if attribute and rests and one.shape[:1] != other.shape[:1]:
                return other.shape[0], 0
    return None


def _read(place: Place) -> list[str]:
    """The attributes of self that the failing statement reads, itself or by a name bound to them before."""
    function = place.source.function_at(place.node.lineno)
    names = [one.id for one in ast.walk(place.node) if isinstance(one, ast.Name)]
    found = _attributes(place.node)
    for one in ast.walk(function) if function is not None else ():
        if isinstance(one, ast.Assign) and one.lineno < place.node.lineno:
            bound = {node.id for target in one.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
            found += _attributes(one.value) if bound & set(names) else []
    return list(dict.fromkeys(found))


def _attributes(node: ast.AST, context: type = ast.Load) -> list[str]:
    called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    every = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and id(one) not in called]
    own = [one for one in every if isinstance(one.value, ast.Name) and one.value.id == "self"]
    return [one.attr for one in own if isinstance(one.ctx, context)]


def _stored(owner: ast.ClassDef) -> set[str]:
    """What methods other than the constructor assign: state that is kept."""
    methods = [one for one in owner.body if isinstance(one, Function) and one.name != "__init__"]
    return {name for method in methods for name in _attributes(method, ast.Store)}


def _resets(evidence: Evidence, kept: Kept) -> Iterator[tuple[Function, str | None]]:
    """Methods that only set the state, of its class or of one that holds it, with what the root call names the object.

    The names go from the root's call inward: `model`, then `model.encoder`.
    """
    root = _root(evidence)
    receiver: str | None = None
    for frame in evidence.frames[root:-1] if root is not None else ():
        inner = _receiver(frame)
        receiver = inner if receiver is None or inner is None else re.sub(r"^self\b", receiver, inner)
        if receiver is None:
            return
        following = evidence.frames[evidence.frames.index(frame) + 1].place
        owner = following.source.class_at(following.node.lineno)
        for method in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(method, Function) and _sets(method, kept):
                yield method, receiver


def _sets(method: Function, kept: Kept) -> bool:
    """Whether a method only sets the state, itself or by a method of the state's class."""
    if method.name in ("__init__", "forward", "__call__"):
        return False
    inner = {one.name for one in kept.owner.body if isinstance(one, Function) and _stores(one, kept)}
    called = {one.func.attr for one in ast.walk(method)
              if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)}  # fmt: skip
    gives = any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(method))
    return not gives and (_stores(method, kept) or bool(called & (inner - {"__init__", "forward"})))


def _stores(method: Function, kept: Kept) -> bool:
    every = (one for one in ast.walk(method) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    return any(one.attr in kept.names for one in every)


def _receiver(frame: Call) -> str | None:
    node = frame.place.node
    return (
        ast.unparse(node.func)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
        else None
    )


def _root(evidence: Evidence) -> int | None:
    """The frame that calls the outermost of the modules whose forward is on the stack."""
    at = [index for index, frame in enumerate(evidence.frames) if frame.function == "forward"]
    return at[0] - 1 if at and at[0] > 0 else None


def _mode(call: Place, receiver: str) -> Place | None:
    """`model.eval()` or `model.train()` before a call in its function: where the model is made ready."""
    function = call.source.function_at(call.node.lineno)
    ready = (f"{receiver}.eval()", f"{receiver}.train()", f"{receiver}.train(True)", f"{receiver}.train(False)")
    found = [one for one in ast.walk(function) if isinstance(one, ast.Expr) and ast.unparse(one.value) in ready
             and one.lineno < call.node.lineno] if function is not None else []  # fmt: skip
    return call.at(max(found, key=lambda one: one.lineno)) if found else None


def _loop(call: Place) -> Place | None:
    """The innermost loop around a call."""
    loops = [one for one in call.source.nodes() if isinstance(one, (ast.For, ast.While))]
    function = call.source.function_at(call.node.lineno)
    around = [one for one in loops if holds(one, call.node.lineno)]
    inside = [one for one in around if call.source.function_at(one.lineno) is function]
    return call.at(max(inside, key=lambda one: one.lineno)) if inside else None


def _arguments(method: Function, sizes: list[str]) -> str | None:
    """What a method must be given besides self: nothing, or a batch size; None where it takes more."""
    needed = method.args.args[1 : len(method.args.args) - len(method.args.defaults)]
    if not needed:
        return ""
    return sizes[0] if len(needed) == 1 and sizes and re.search("batch|size|^n$|bs", needed[0].arg) else None


def _sizes(scope: Any, size: int, names: list[str] | None = None) -> list[str]:
    """How a function can name a batch size: by a dimension of a tensor that it was given."""
    found = []
    for name, value in scope.items():
        shape = value[0] if isinstance(value, list) and isinstance(value[0], list) else []
        if name.isidentifier() and size in shape[:2] and (names is None or name in names):
            found.append(f"{name}.size({shape.index(size)})")
    return found


def _first_use(function: Function, kept: Kept) -> ast.stmt | None:
    return next((one for one in function.body if set(kept.names) & set(_attributes(one))), None)


def _starts_empty(kept: Kept) -> bool:
    """Whether the state is None at some time."""
    nones = [one for one in ast.walk(kept.owner) if isinstance(one, ast.Assign)
             and isinstance(one.value, ast.Constant) and one.value.value is None]  # fmt: skip
    return any(set(kept.names) & set(_attributes(one, ast.Store)) for one in nones)


def _bodies(kept: Kept, own: str, size: str) -> Iterator[str]:
    """What makes the state anew: the class's own way, else None where it begins as None, else zeros."""
    for method in kept.owner.body:
        own_way = isinstance(method, Function) and method.name not in ("__init__", "forward")
        if own_way and set(kept.names) <= set(_attributes(method, ast.Store)):
            given = _arguments(method, [size])  # type: ignore[arg-type]
            if given is not None:
                yield f"self.{method.name}({given})"  # type: ignore[attr-defined]
    if _starts_empty(kept):
        yield " = ".join([*(f"self.{name}" for name in kept.names), "None"])
    elif not kept.pair:
        rest = f"{size}, *{own}.shape[1:]" if kept.dimension == 0 else f"{own}.size(0), {size}, {own}.size(2)"
        yield f"{own} = {own}.new_zeros({rest})"
