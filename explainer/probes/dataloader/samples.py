"""What a dataset hands out: the class behind the loader, what its `__getitem__` returns, why it holds nothing."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.datasets import dataset_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import attribute, fields_of
from explainer.source import Function, Source, of_self, source_of
from explainer.userframes import is_user_file

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
#: How deep transforms are looked for in transforms, and among how many parts of each.
_DEEP, _PARTS = 4, 40


def own_dataset(scene: Scene) -> Any:
    """The user's dataset behind the loader, taken out of `Subset` and other wrappers of torch; None where unknown."""
    dataset = dataset_of(scene) or _given(scene)
    for _ in range(4):
        if dataset is None or method_of(dataset, "__getitem__") is not None:
            return dataset
        dataset = fields_of(dataset).get("dataset")
    return None


def _given(scene: Scene) -> Any:
    """The dataset in a frame of torch's loader or sampler, while it is still being built."""
    for frame in reversed(scene.live.frames if scene.live else []):
        for name in ("data_source", "dataset"):
            if "torch/utils/data" in frame.file.replace("\\", "/") and frame.locals.get(name) is not None:
                return frame.locals[name]
    return None


def method_of(owner: Any, name: str) -> tuple[Source, Function] | None:
    """The source of a method that the user wrote for an object's class."""
    for base in type(owner).__mro__:
        code = getattr(base.__dict__.get(name), "__code__", None)
        if code is not None:
            return _function(code) if is_user_file(code.co_filename) else None
    return None


def _function(code: types.CodeType) -> tuple[Source, Function] | None:
    source = source_of(code.co_filename)
    node = source.function_at(code.co_firstlineno)
    return (source, node) if isinstance(node, (ast.FunctionDef, ast.Lambda)) else None


def returns_of(function: ast.AST) -> list[ast.Return]:
    """The return statements of a function, those of functions inside it left out."""
    found, stack = [], list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        if not isinstance(node, _SCOPES):
            stack += ast.iter_child_nodes(node)
    return sorted(found, key=lambda node: node.lineno)


@probe
def sample_return(scene: Scene) -> SpanFact | None:
    """The only `return` of the dataset's `__getitem__`; `detail.dataset` is the class, `count` the dataset's length."""
    dataset = own_dataset(scene)
    found = method_of(dataset, "__getitem__") if dataset is not None else None
    returns = returns_of(found[1]) if found else []
    if found is None or len(returns) != 1:
        return None
    return span_fact(found[0], returns[0], dataset=type(dataset).__name__)


@probe
def none_sample(scene: Scene) -> SpanFact | None:
    """The place from which a sample is, or holds, None; None where the source does not show it.

    `detail.dataset` is the class and `function` the function, `how` is return (`return None` or a bare one), part (None
    in what is returned), end (the function can end without a return) or transform (a function that it calls has none).
    """
    dataset = own_dataset(scene) if in_collate(scene) or by_collate(scene) else None
    found = method_of(dataset, "__getitem__") if dataset is not None else None
    if found is None:
        return None
    source, function = found
    about = {"dataset": type(dataset).__name__, "function": "__getitem__"}
    for node in returns_of(function):
        if _is_none(node.value):
            return span_fact(source, node, how="return", **about)
        helper = _helper(dataset, node.value)
        if helper is not None:
            return helper
        parts = getattr(node.value, "elts", None) or getattr(node.value, "values", None)
        if isinstance(parts, list) and any(_is_none(part) for part in parts):
            return span_fact(source, node, how="part", **about)
    if isinstance(function, ast.FunctionDef) and not _ends(function.body):
        return span_fact(source, _last(function.body), how="end", **about)
    return _transform(dataset, function)


def _helper(dataset: Any, value: ast.AST | None) -> SpanFact | None:
    """The `return None` of a function of the program's whose result `__getitem__` returns as it is."""
    called = value.func if isinstance(value, ast.Call) else None
    getters = [base.__dict__["__getitem__"] for base in type(dataset).__mro__ if "__getitem__" in base.__dict__]
    if isinstance(called, ast.Name):
        function = getattr(getters[0], "__globals__", {}).get(called.id)
    elif of_self(called):
        function = attribute(dataset, called.attr)
    else:
        return None
    code = getattr(function, "__code__", None)
    found = _function(code) if code is not None and is_user_file(code.co_filename) else None
    if code is None or found is None:
        return None
    for node in returns_of(found[1]):
        if _is_none(node.value):
            return span_fact(found[0], node, how="return", dataset=type(dataset).__name__, function=code.co_name)
    return None


def in_collate(scene: Scene) -> bool:
    """Whether torch's own collate function raised, here or in a worker."""
    frames = scene.crash.frames
    return bool(frames) and "utils/data/_utils/collate" in frames[-1].file.replace("\\", "/")


def by_collate(scene: Scene) -> bool:
    """Whether a loader's collate function raised, torch's own or the program's, here or in a worker."""
    fetched = [one for one in scene.crash.frames if one.file.replace("\\", "/").endswith("utils/data/_utils/fetch.py")]
    return bool(fetched) and "collate_fn" in fetched[-1].code


def _is_none(node: ast.AST | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _last(body: list[ast.stmt]) -> ast.stmt:
    """The statement in the last line of some statements, behind which nothing is returned."""
    inner = getattr(body[-1], "orelse", None) or getattr(body[-1], "body", None)
    return _last(inner) if isinstance(body[-1], (ast.If, ast.With)) and inner else body[-1]


def can_end(body: list[ast.stmt]) -> bool:
    """Whether some statements may be left at their end, without a `return` or `raise`."""
    return not _ends(body)


def _ends(body: list[ast.stmt]) -> bool:
    """Whether no run of some statements gets past their end; a loop or `with` counts as one that does not."""
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.Try):
        return _ends(last.body) and all(_ends(one.body) for one in last.handlers)
    return isinstance(last, (ast.Return, ast.Raise, ast.While, ast.For, ast.With, ast.Match))


def _transform(dataset: Any, function: ast.AST) -> SpanFact | None:
    """The end of a function that `__getitem__` calls as `self.name(...)` and that never returns a value.

    Or of one in the transforms that are called so, however deep, that returns one on some of its ways only.
    """
    for node in ast.walk(function):
        called = node.func if isinstance(node, ast.Call) else None
        if not of_self(called):
            continue
        held = attribute(dataset, called.attr)
        for one, (source, inner) in _within(held, _DEEP):
            some = any(returned.value is not None for returned in returns_of(inner))
            if isinstance(inner, ast.FunctionDef) and (_falls_off(inner) if some else one is held):
                owner = "" if one is held else f"{type(one).__name__}."
                about = {"dataset": type(dataset).__name__, "function": f"{owner}{inner.name}"}
                return span_fact(source, _last(inner.body), how="end" if some else "transform", **about)
    return None


def _falls_off(function: ast.FunctionDef) -> bool:
    return all(one.value is not None for one in returns_of(function)) and not _ends(function.body)


def _within(value: Any, deep: int) -> Iterator[tuple[Any, tuple[Source, Function]]]:
    """A function of the program's, or the callable objects of its classes that an object holds: `Compose([Flip()])`."""
    code = getattr(value, "__code__", None) or getattr(getattr(value, "__func__", None), "__code__", None)
    if code is not None:
        found = _function(code) if is_user_file(code.co_filename) else None
    else:
        found = method_of(value, "__call__") or method_of(value, "forward")
    if found is not None:
        yield value, found
    parts = value if type(value) in (list, tuple) else () if code is not None else list(fields_of(value).values())
    for part in parts[:_PARTS] if deep else ():
        yield from _within(part, deep - 1)


@probe
def empty_list(scene: Scene) -> SpanFact | None:
    """The statement of the dataset's class that filled the list which its length comes from, and which is empty.

    `detail.dataset` is the class, `attribute` the list's name, `call` the source of what was assigned.
    """
    dataset = own_dataset(scene)
    found = method_of(dataset, "__init__") if dataset is not None else None
    length = method_of(dataset, "__len__") if dataset is not None else None
    if found is None or length is None:
        return None
    source, init = found
    used = {node.attr for node in ast.walk(length[1]) if isinstance(node, ast.Attribute)}
    empty = [name for name, held in fields_of(dataset).items() if name in used and _no_entries(held)]
    for node in ast.walk(init):
        if not isinstance(node, ast.Assign) or len(empty) != 1:
            continue
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == empty[0]:
            names = {"dataset": type(dataset).__name__, "attribute": empty[0]}
            return span_fact(source, node, call=source.text(node.value), **names)
    return None


def _no_entries(held: Any) -> bool:
    return type(held) in (list, tuple, dict) and not held


@probe
def given_dataset(scene: Scene) -> SpanFact | None:
    """The dataset as the user's call of the loader names it; `detail.type` is its class."""
    failing = scene.failing
    node = failing.node if failing else None
    call = node.value if isinstance(node, (ast.Assign, ast.Expr, ast.Return)) else node
    if failing is None or not isinstance(call, ast.Call):
        return None
    given = next((w.value for w in call.keywords if w.arg == "dataset"), call.args[0] if call.args else None)
    dataset = _given(scene)
    if given is None or dataset is None:
        return None
    return span_fact(failing.source, given, type=type(dataset).__name__)
