"""Follows a value back through names, arguments, calls and loops to the expression that gave it a trait."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place, place_of
from explainer.facts import TensorFact
from explainer.frozen import frozen
from explainer.probes.files import sources
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, is_module, read
from explainer.source import Source, called

#: How many expressions are looked at before the search is given up.
_STEPS = 60
#: Calls whose items are those of their first argument; `enumerate` counts them besides.
_AROUND = ("enumerate", "DataLoader", "tqdm", "iter", "list", "reversed", "Subset", "cycle")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@frozen
class At:
    """An expression, the line before which its names were bound, and the user's frame (its number) that is in it.

    `part` is the way to an element of the tuples that it is, `value` what that is, where a name still holds it. Without
    a frame, names have no values: the function has returned.
    """

    source: Source
    node: ast.AST
    line: int
    frame: int | None = None
    part: tuple[int, ...] = ()
    value: Any = MISSING


def followed(scene: Scene, of: TensorFact | None, trait: Trait) -> At | None:
    """Where the operand of a fact got its trait; None where it cannot be followed, or no further than where it stands.

    Only a live crash can be followed: `scene.live` has the frames and what their names hold.
    """
    live = scene.live
    if of is None or of.span is None or live is None or not live.user:
        return None
    place = place_of(scene.source, of)
    found = Follow(live.user, trait, scene).entry(At(place.source, place.node, of.span.line, len(live.user) - 1))
    here = (of.span.file, of.span.line)
    return None if found is None or (found.source.file, found.node.lineno) == here else found  # type: ignore[attr-defined]


class Trait:
    """What is wrong with a value: it has `wanted` where others have another kind. None is not known."""

    wanted: str

    def of(self, value: Any) -> str | None:
        """The kind of a live value."""

    def of_expression(self, node: ast.AST) -> str | None:
        """The kind that an expression's source tells."""

    def of_layer(self, layer: Any) -> str | None:
        """The kind of what a module gives, whatever it is given."""

    def keeps(self, node: ast.AST) -> bool:
        """Whether an expression's result may have the trait because an operand has it."""
        return True

    def gives(self, node: ast.AST) -> bool:
        """Whether an expression may give the trait to operands that do not have it."""
        return True

    def enters(self, node: ast.AST) -> bool:
        """Whether an expression is made of values of another library: it is to be mended here, not there."""
        return False

    def asked(self, node: ast.AST) -> bool:
        """Whether an expression gives the trait because it says so, in any library."""
        return False

    def before(self, value: Any, node: ast.AST) -> str | None:
        """The kind that the operand had of an expression whose value is known, where that can be told."""


class Follow:
    """Goes from an expression to those that it was computed from, as long as they have the trait."""

    def __init__(self, frames: list[LiveFrame], trait: Trait, scene: Scene):
        self.frames, self.trait, self.scene = frames, trait, scene
        self.left = _STEPS

    def entry(self, at: At) -> At | None:
        """The expression that gave the value its trait: its operands do not have it, or it has none."""
        self.left -= 1
        if self.left < 0:
            return None
        if isinstance(at.node, ast.Name):
            return self._of_name(at)
        if isinstance(at.node, ast.Attribute):
            return self._of_attribute(at)
        if isinstance(at.node, (ast.Tuple, ast.List)):
            parts, first = at.node.elts, at.part[0] if at.part else len(at.node.elts)
            return self.entry(_to(at, parts[first], at.part[1:], at.value)) if first < len(parts) else None
        to = self.trait.of_expression(at.node)
        if to is not None:
            return at if to == self.trait.wanted else None
        if self.trait.enters(at.node):
            further = self._of_operands(at)
            return further if further is not None and self.trait.asked(further.node) else at
        before = self.trait.before(at.value, at.node) if at.value is not MISSING else None
        return at if before not in (None, self.trait.wanted) else self._of_operands(at)

    def _of_operands(self, at: At) -> At | None:
        """One of the operands that has the trait; this expression where all are known to have it not."""
        own = self._called(at)
        if own is not None:
            return self.entry(own)
        layer = self._layer(at)
        if layer is not None and self.trait.of_layer(layer) == self.trait.wanted:
            return None
        operands = list(_operands(at.node))
        kinds, wanted = [self._kind(_to(at, one)) for one in operands], self.trait.wanted
        if layer is None and kinds and None not in kinds and wanted not in kinds:
            return at if self.trait.gives(at.node) else None
        if not self.trait.keeps(at.node):
            return None
        ranked = sorted(range(len(operands)), key=lambda i: kinds[i] != wanted)
        tried = (self.entry(_to(at, operands[i])) for i in ranked if kinds[i] in (None, wanted))
        return next((one for one in tried if one is not None), None)

    def _kind(self, at: At) -> str | None:
        """What the trait makes of an expression's value; None where it is unknown or was bound again since."""
        value = self._value(at)
        return self.trait.of(value) if value is not MISSING else None

    def _value(self, at: At) -> Any:
        if at.frame is None or not isinstance(at.node, (ast.Name, ast.Attribute)):
            return MISSING
        frame = self.frames[at.frame]
        name = ast.unparse(at.node)
        if any(_binds(one, name) and at.line <= one.lineno <= frame.line for one in _statements(at)):
            return MISSING
        return read(at.node, frame.frame)

    def _layer(self, at: At) -> Any:
        """The module that a call applies, None for another call and where that is not known."""
        if not isinstance(at.node, ast.Call) or at.frame is None:
            return None
        called = read(at.node.func, self.frames[at.frame].frame)
        return called if is_module(called) else None

    def _of_name(self, at: At) -> At | None:
        name = ast.unparse(at.node)
        last = bound_above(at)
        if last is None:
            return self._given(at, name)
        if isinstance(last, ast.For):
            part = _path(last.target, name) or ()
            return self._sample(At(at.source, last.iter, last.lineno, at.frame, (*part, *at.part)))
        if not isinstance(last, (ast.Assign, ast.AnnAssign)) or last.value is None:
            return None
        part = _path(last.targets[0], name) or () if isinstance(last, ast.Assign) else ()
        value = self._value(At(at.source, at.node, last.lineno + 1, at.frame))
        value = at.value if value is MISSING else value
        return self.entry(At(at.source, last.value, last.lineno, at.frame, (*part, *at.part), value))

    def _sample(self, at: At) -> At | None:
        """An element of what a loop goes through: a loader's samples, a tensor's rows, the items of a zip."""
        self.left -= 1
        node = at.node
        if isinstance(node, ast.Name) and self.left > 0:
            bound = [one for one in _statements(at) if _binds(one, node.id) and isinstance(one, ast.Assign)]
            last = max((one for one in bound if one.lineno < at.line), key=lambda one: one.lineno, default=None)
            if isinstance(last, ast.Assign):
                return self._sample(_to(at, last.value, at.part))
            above = self._above(at, node.id)
            return self._sample(above) if above is not None else self.entry(at)
        if isinstance(node, ast.Attribute) and self.left > 0:
            kept = self._assigned(at)
            return self._sample(kept) if kept is not None else self.entry(at)
        if not isinstance(node, ast.Call):
            return self.entry(at)
        name, given = called(node), [*node.args, *(word.value for word in node.keywords if word.arg == "dataset")]
        if name in _AROUND and given:
            part = at.part[1:] if name == "enumerate" else at.part
            return self._sample(_to(at, given[0], part))
        if name in ("zip", "TensorDataset"):
            return self.entry(_to(at, given[at.part[0]], at.part[1:])) if at.part and at.part[0] < len(given) else None
        home, item = self._item(at.source, name)
        if item is None:
            return self.entry(at)
        returns = _returns(item)
        return self.entry(At(home, returns[0], returns[0].lineno, None, at.part)) if len(returns) == 1 else None

    def _item(self, source: Source, name: str) -> tuple[Source, ast.FunctionDef | None]:
        """The `__getitem__` of a class, of this file or of another of the user's."""
        for one in self._files(source):
            found = next((method for method in _methods(one, name) if method.name == "__getitem__"), None)
            if found is not None:
                return one, found
        return source, None

    def _files(self, source: Source) -> list[Source]:
        return [source, *(one for one in sources(self.scene) if one is not source)]

    def _given(self, at: At, name: str) -> At | None:
        """What the caller gave for a parameter, followed on."""
        above = self._above(at, name)
        return self.entry(dataclasses.replace(above, part=())) if above is not None else None

    def _above(self, at: At, name: str) -> At | None:
        """What the caller gave for a parameter: the frame above is in that call."""
        function = at.source.function_at(at.node.lineno)  # type: ignore[attr-defined]
        if function is None or at.frame is None or at.frame == 0:
            return None
        frame = self.frames[at.frame - 1]
        failing, source = frame.failing(), self.scene.source(frame.file)
        call = failing.node if failing is not None else None
        calls = [one for one in ast.walk(call) if isinstance(one, ast.Call)] if call is not None else []
        given = _argument(source, calls[0], function, name) if calls and source is not None else None
        return At(source, given, frame.line, at.frame - 1, at.part) if given is not None and source else None

    def _of_attribute(self, at: At) -> At | None:
        """What the one statement of the class assigns to `self.name`; a tensor's own `.T` and its like go on."""
        kept = self._assigned(at)
        if kept is not None:
            return self.entry(dataclasses.replace(kept, part=()))
        inner = at.node.value  # type: ignore[attr-defined]
        return None if isinstance(inner, ast.Name) and inner.id == "self" else self.entry(_to(at, inner))

    def _assigned(self, at: At) -> At | None:
        """What the one statement of the class assigns to `self.name`."""
        text = at.source.text(at.node)
        owner = at.source.class_at(at.node.lineno)  # type: ignore[attr-defined]
        found = [one for one in ast.walk(owner) if isinstance(one, ast.Assign) and _binds(one, text)] if owner else []
        return At(at.source, found[0].value, found[0].lineno, None, at.part) if len(found) == 1 else None

    def _called(self, at: At) -> At | None:
        """What a function of the user's returns, where it has one `return`; this file's own go first."""
        name = at.node.func.id if isinstance(at.node, ast.Call) and isinstance(at.node.func, ast.Name) else ""
        for source in self._files(at.source) if name else ():
            found = [one for one in source.nodes() if isinstance(one, _FUNCTIONS) and one.name == name]
            if found:
                returns = _returns(found[0]) if len(found) == 1 else []
                only = len(returns) == 1
                return At(source, returns[0], returns[0].lineno, None, at.part, at.value) if only else None
        return None


def _to(at: At, node: ast.AST, part: tuple[int, ...] = (), value: Any = MISSING) -> At:
    return At(at.source, node, at.line, at.frame, part, value)


def _returns(function: ast.AST) -> list[ast.expr]:
    return [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]


def _methods(source: Source, name: str) -> list[ast.FunctionDef]:
    """The methods of a class of the file."""
    owners = [one for one in source.nodes() if isinstance(one, ast.ClassDef) and one.name == name]
    return [one for one in owners[0].body if isinstance(one, ast.FunctionDef)] if owners else []


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that may hold its tensors: operands, the receiver, arguments; no index or keyword."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, (ast.UnaryOp, ast.Starred)):
        yield from (part for part in (getattr(node, "operand", None), getattr(node, "value", None)) if part)
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not _library(node.func.value):
            yield node.func.value
        yield from (one for arg in node.args for one in (arg.elts if isinstance(arg, (ast.List, ast.Tuple)) else [arg])
                    if not isinstance(one, ast.Constant))  # fmt: skip


def _library(node: ast.AST) -> bool:
    """Whether a dotted name is torch, numpy or a module of the model: it has no dtype to hand on."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    name = inner.id if isinstance(inner, ast.Name) else ""
    return name in ("torch", "F", "nn", "np", "numpy", "self") or ast.unparse(node) in ("rng", "random")


def bound_above(at: At) -> ast.stmt | None:
    """The last statement above an expression's line, in its function or file, that binds the name that it is."""
    name = ast.unparse(at.node)
    bound = [one for one in _statements(at) if _binds(one, name) and one.lineno < at.line]
    return max(bound, key=lambda one: one.lineno, default=None)


def _statements(at: At) -> Iterator[ast.stmt]:
    """The statements of the function that holds an expression, or of the module outside of functions."""
    scope = at.source.scope_at(at.node.lineno)  # type: ignore[attr-defined]
    waiting: list[ast.AST] = list(getattr(scope, "body", ()))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt) and not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node
            waiting += [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.stmt, ast.excepthandler))]


def _binds(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(_path(target, name) is not None for target in targets if target is not None)


def _path(target: ast.AST, name: str) -> tuple[int, ...] | None:
    """The way to a name in a target: (1, 0) for x in `i, (x, y)`; None where it is not there."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return () if ast.unparse(target) == name else None
    below = ((i, _path(one, name)) for i, one in enumerate(target.elts))
    return next(((i, *path) for i, path in below if path is not None), None)


def _argument(source: Source, call: ast.Call, function: Any, name: str) -> ast.AST | None:
    """What a call gives for a parameter of a function, `self` not counted."""
    names = [one.arg for one in function.args.args]
    return argument_node(Place(source, call), name, names[1:] if names[:1] in (["self"], ["cls"]) else names)
