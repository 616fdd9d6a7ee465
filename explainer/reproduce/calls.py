"""The failing call of a live crash as sketches: the layer that failed, torch's own function, the user's expression."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from typing import Any

from explainer.probes.call import call_node, next_frame
from explainer.probes.module import below_user, named_module
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, is_module, is_tensor, read
from explainer.reproduce.layers import layer_source, torch_class
from explainer.reproduce.operators import is_method, name_of
from explainer.reproduce.recipe import Layer, Recipe, decoded, encoded, recipe_of, tensors_of
from explainer.reproduce.sketch import Sketch
from explainer.reproduce.source import Detail, is_plain, source_of


def sketches(scene: Scene) -> Iterator[Sketch]:
    """What may stand for the failing call, best first: the layer or function it entered, its expression."""
    for make in (_of_module, _of_expression, _of_function):
        try:
            sketch = make(scene)
        except (AttributeError, LookupError, TypeError, ValueError, SyntaxError):
            continue
        if sketch is not None:
            yield sketch


def _of_module(scene: Scene) -> Sketch | None:
    """The innermost layer of torch's own that was being called, rebuilt, on inputs like those it got."""
    called = next((one for one in reversed(below_user(scene)) if torch_class(one.module) is not None), None)
    source = layer_source(called.module) if called is not None else None
    if called is None or source is None:
        return None
    names = _Names(scene)
    forward = torch_class(called.module).forward  # type: ignore[union-attr]
    parameters = [name for name in inspect.signature(forward).parameters if name != "self"]
    given = [names.said(value, parameters[i] if i < len(parameters) else "x") for i, value in enumerate(called.args)]
    named = {word: names.said(value, word) for word, value in called.kwargs.items()}
    if None in given or None in named.values():
        return None
    said = [str(one) for one in given] + [f"{word}={one}" for word, one in named.items()]
    name = named_module(scene, called.module).name
    name = name if name.isidentifier() and name not in (*names.values, *_TAKEN) else "layer"
    return Sketch({name: Layer(source), **names.values}, (f"{name}({', '.join(said)})",))


def _of_function(scene: Scene) -> Sketch | None:
    """The Python function of torch's that the user's expression entered, on arguments like those it got."""
    inner = next_frame(scene)
    if inner is None:
        return None
    code, function = inner.frame.f_code, inner.frame.f_globals.get(inner.frame.f_code.co_name)
    name = name_of(function)
    method = name is None and is_tensor(inner.locals.get("self")) and is_method(code.co_name)
    if name is None and not method:
        return None
    names = _Names(scene)
    parameters = list(inspect.getargs(code).args)
    owner = f"{names.said(inner.locals['self'], 'x')}." if method else ""
    given = _given(inner, parameters[1:] if method else parameters, names, function)
    return Sketch(names.values, (f"{owner}{name or code.co_name}({', '.join(given)})",)) if given is not None else None


def _given(inner: LiveFrame, parameters: list[str], names: _Names, function: Any) -> list[str] | None:
    """The arguments that differ from the function's defaults."""
    defaults = inspect.signature(function).parameters if function is not None else {}
    said: list[str] = []
    for word in parameters:
        value = inner.locals.get(word, MISSING)
        default = getattr(defaults.get(word), "default", inspect.Parameter.empty)
        if value is MISSING or (not is_tensor(value) and default is not inspect.Parameter.empty and value == default):
            continue
        source = names.said(value, word)
        if source is None:
            return None
        required = default is inspect.Parameter.empty and len(said) == parameters.index(word)
        said.append(source if required else f"{word}={source}")
    return said


def _of_expression(scene: Scene) -> Sketch | None:
    """The user's failing expression with its operands replaced by values like them."""
    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None:
        return None
    node: Any = call_node(failing.node)
    statement = failing.source.statement_at(frame.line)
    assigns = isinstance(statement, (ast.Assign, ast.AugAssign))
    if isinstance(node, ast.Subscript) and assigns and _stores(node, statement):
        node = statement
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return None
    writer = _Writer(scene, frame, failing.source)
    rewritten = writer.statement(copy.deepcopy(node))
    if rewritten is None or writer.failed or not tensors_of(writer.names.values):
        return None
    line = ast.unparse(ast.fix_missing_locations(rewritten))
    return Sketch(writer.names.values, (line,))


def _stores(node: ast.Subscript, statement: Any) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(target is node for target in targets)


class _Names:
    """Names for values: the user's own where the source has one, else what torch calls the parameter."""

    def __init__(self, scene: Scene):
        self.values: dict[str, Recipe] = {}
        self._of: dict[int, str] = {}
        frame = scene.user_frame
        self._known = {id(value): name for name, value in frame.locals.items() if is_tensor(value)} if frame else {}

    def said(self, value: Any, fallback: str) -> str | None:
        """What stands for a live value in the script: a name that has been given a recipe, or the value itself."""
        if id(value) in self._of:
            return self._of[id(value)]
        recipe = recipe_of(value)
        return self.put(recipe, self._known.get(id(value), fallback), value)

    def put(self, recipe: Recipe | None, wanted: str, value: Any = None) -> str | None:
        """What stands for a recipe: a name, or the source of a plain value."""
        if recipe is None:
            return None
        if is_plain(recipe):
            return source_of(recipe, Detail())
        name = wanted.rsplit(".", 1)[-1]
        name = name if name.isidentifier() and name not in _TAKEN else "x"
        while name in self.values:
            stem = name.rstrip("0123456789")
            name = f"{stem}{int(name[len(stem) :] or 1) + 1}"
        self.values[name] = recipe
        if value is not None:
            self._of[id(value)] = name
        return name


#: Names that a script uses itself.
_TAKEN = ("torch", "nn", "F", "self", "layer", "None", "True", "False")


class _Writer:
    """Replaces the operands of an expression by names, and remembers what the names stand for."""

    def __init__(self, scene: Scene, frame: LiveFrame, source: Any):
        self.names = _Names(scene)
        self.failed = False
        self._scene, self._frame, self._source = scene, frame, source

    def statement(self, node: ast.AST) -> ast.AST | None:
        """The same operation on synthetic operands; None for what is no operation of torch's."""
        if isinstance(node, ast.AugAssign):
            node.target, node.value = self._target(node.target), self._operand(node.value)
        elif isinstance(node, ast.Assign):
            node.targets, node.value = [self._target(node.targets[0])], self._operand(node.value)
        elif isinstance(node, ast.BinOp):
            node.left, node.right = self._operand(node.left), self._operand(node.right)
        elif isinstance(node, ast.Compare):
            node.left, node.comparators = self._operand(node.left), [self._operand(one) for one in node.comparators]
        elif isinstance(node, ast.UnaryOp):
            node.operand = self._operand(node.operand)
        elif isinstance(node, ast.Subscript):
            node.value, node.slice = self._operand(node.value), self._index(node.slice)
        elif isinstance(node, ast.Call):
            return self._call(node)
        else:
            return None
        return node

    def _call(self, node: ast.Call) -> ast.Call | None:
        function = read(node.func, self._frame.frame)
        said = name_of(function) if function is not MISSING else None
        if said is not None:
            node.func = _parsed(said)
        elif isinstance(node.func, ast.Name) and node.func.id in ("float", "int", "bool", "iter", "list", "len"):
            pass
        elif isinstance(node.func, ast.Attribute) and is_method(node.func.attr) and not is_module(function):
            node.func.value = self._operand(node.func.value)
        else:
            return None
        node.args = [self._operand(one) for one in node.args]
        node.keywords = [ast.keyword(one.arg, self._operand(one.value)) for one in node.keywords]
        return node

    def _target(self, node: Any) -> Any:
        if isinstance(node, ast.Subscript):
            node.value, node.slice = self._operand(node.value), self._index(node.slice)
            return node
        named = self._operand(ast.parse(self._source.text(node), mode="eval").body)
        named.ctx = ast.Store()
        return named

    def _index(self, node: Any) -> Any:
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(one) for one in node.elts]
            return node
        if isinstance(node, ast.Slice):
            parts = [self._operand(part) if part is not None else None for part in (node.lower, node.upper, node.step)]
            node.lower, node.upper, node.step = parts
            return node
        return self._operand(node)

    def _operand(self, node: Any) -> Any:
        """The name or literal that stands for an operand."""
        if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in node.elts):
            node.elts = [self._operand(one) for one in node.elts]
            return node
        if isinstance(node, ast.Starred):
            node.value = self._operand(node.value)
            return node
        value = read(node, self._frame.frame)
        text = self._source.text(node) or ast.unparse(node)
        if value is not MISSING:
            said = self.names.said(value, text)
        else:
            said = self.names.put(_evaluated(node, self._frame, self._scene), text)
        if said is None:
            self.failed = True
            return ast.Constant(None)
        return _parsed(said)


def _parsed(source: str) -> Any:
    return ast.parse(source, mode="eval").body


def _evaluated(node: ast.expr, frame: LiveFrame, scene: Scene) -> Recipe | None:
    """The recipe of an operand that only running it can tell, found in a sandboxed fork; None without one."""
    from explainer.replay import run
    from explainer.replay.confine import sandbox

    if run.why_not(scene) is not None:
        return None
    code = compile(ast.fix_missing_locations(ast.Expression(copy.deepcopy(node))), "<operand>", "eval")

    def work() -> Any:
        return encoded(recipe_of(eval(code, frame.frame.f_globals, frame.locals)))

    return decoded(sandbox.run(work, deadline=scene.options.deadline, memory=scene.options.memory).value)
