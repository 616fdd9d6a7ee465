"""Data loading: the dataset behind a loader on the stack, what cannot be pickled, which key a worker could not find."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.dataloader.loops import is_loader
from explainer.probes.files import nodes_of, sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of
from explainer.source import Source, holds, source_of
from explainer.userframes import is_user_file

_UNPICKLABLE = Pattern(r"cannot pickle '([\w.]+)' object|(h5py) objects cannot be pickled")


def loader_of(scene: Scene) -> Any:
    """The DataLoader whose frames are on the stack, or that the failing statement iterates."""
    for frame in reversed(scene.live.frames if scene.live else []):
        for name in ("self", "loader"):
            value = frame.locals.get(name)
            if is_loader(value):
                return value
            held = fields_of(value).get("_loader") if value is not None else None
            if held is not None:
                return held
    return None


def dataset_of(scene: Scene) -> Any:
    """The dataset of the loader on the stack; None where there is none."""
    for frame in reversed(scene.live.frames if scene.live else []):
        own = fields_of(frame.locals.get("self")) if "self" in frame.locals else {}
        for name in ("dataset", "_dataset"):
            if own.get(name) is not None:
                return own[name]
    return None


@probe
def unpicklable(scene: Scene) -> SpanFact | None:
    """The lambda or local function that a dataset or loader holds and that a spawned worker cannot get.

    `detail.attribute` is where it is held, `detail.function` its name, `detail.lambda` whether it is a lambda.
    """
    for path, value in _held(dataset_of(scene), loader_of(scene)):
        if isinstance(value, types.FunctionType) and "<" in value.__qualname__:
            span = _definition(value)
            if span is not None:
                name = value.__name__
                return span_fact(*span, attribute=path, function=name, is_lambda=name == "<lambda>")
    return None


@probe
def unpicklable_handle(scene: Scene) -> SpanFact | None:
    """The statement of the dataset's `__init__` that opens what cannot be sent to a worker: a file, a connection.

    `detail.attribute` is where it is held, `type` what it is, as the message says, `dataset` the dataset's class.
    """
    found = _UNPICKLABLE.search(scene.crash.message)
    dataset = fields_of(loader_of(scene)).get("dataset") if scene.live is not None else None
    what = (found[1] or found[2]).rpartition(".")[2] if found is not None else ""
    names = (
        [name for name, value in fields_of(dataset).items() if _is_handle(value, what)] if dataset is not None else []
    )
    init = getattr(type(dataset).__dict__.get("__init__"), "__code__", None)
    if len(names) != 1 or init is None or not is_user_file(init.co_filename):
        return None
    source = source_of(init.co_filename)
    function = source.function_at(init.co_firstlineno)
    opened = [node for node in ast.walk(function) if isinstance(node, ast.Assign)] if function is not None else []
    opened = [node for node in opened if source.text(node.targets[0]) == f"self.{names[0]}"]
    if len(opened) != 1 or not isinstance(opened[0].value, ast.Call):
        return None
    kind = found[1] or found[2]  # type: ignore[index]
    return span_fact(source, opened[0], attribute=names[0], type=kind, dataset=type(dataset).__name__)


def _is_handle(value: Any, what: str) -> bool:
    """Whether a value is of the class that a message names, or of h5py."""
    kind = type(value)
    return kind.__name__ == what or (what == "h5py" and kind.__module__.startswith("h5py"))


def _held(*owners: Any) -> Iterator[tuple[str, Any]]:
    """What objects hold, two levels deep, by the name of the attribute; plain containers opened."""
    for owner in owners:
        for name, value in fields_of(owner).items() if owner is not None else ():
            yield name, value
            inner = value if type(value) in (list, tuple) else value.values() if type(value) is dict else ()
            for item in [*inner, *fields_of(value).values()][:200]:
                yield name, item
                yield from ((name, part) for part in (item if type(item) in (list, tuple) else ()))


def _definition(function: types.FunctionType) -> tuple[Source, ast.AST] | None:
    code = function.__code__
    source = source_of(code.co_filename)
    kinds = (ast.Lambda, ast.FunctionDef)
    near = [node for node in source.nodes() if isinstance(node, kinds) and node.lineno == code.co_firstlineno]
    return (source, near[0]) if len(near) == 1 else None


@probe
def missing_key(scene: Scene) -> Settings | None:
    """The key that a lookup `table[key]` did not find, where the same key without spaces or capitals is there.

    `table` and `key` are the source of both, `normal` the key that is there, `method` what makes one of the other.
    """
    frame = scene.crash.user_frame
    source = scene.frame_source(frame) if frame is not None and scene.crash.name == "KeyError" else None
    if frame is None or source is None:
        return None
    asked = _literal(scene.crash.message)
    for node in source.nodes():
        if isinstance(node, ast.Subscript) and holds(node, frame.line):
            table = _module_value(frame.file, node.value)
            for method, normal in _normalised(asked):
                if type(table) is dict and asked not in table and normal in table:
                    span = source.span(node.slice)
                    return Settings(
                        (
                            ("table", source.text(node.value)),
                            ("key", source.text(node.slice)),
                            ("asked", asked),
                            ("normal", normal),
                            ("method", method),
                            ("span", span),
                        )
                    )
    return None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _normalised(key: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(key, str):
        yield "strip()", key.strip()
        yield "lower()", key.lower()
        yield "strip().lower()", key.strip().lower()
        if key.isdigit():
            yield "int", int(key)
    elif isinstance(key, int):
        yield "str", str(key)


def _module_value(file: str, node: ast.AST) -> Any:
    """A global of the loaded module of a file."""
    target = Path(file).resolve()
    for module in list(sys.modules.values()):
        held = getattr(module, "__file__", None) if isinstance(module, types.ModuleType) else None
        if held is not None and Path(held).resolve() == target and isinstance(node, ast.Name):
            return vars(module).get(node.id, MISSING)
    return MISSING


@probe
def key_span(scene: Scene, of: Settings | None = None) -> SpanFact | None:
    """The place of the key that was not found."""
    return SpanFact(of["span"], of["key"], of) if of is not None else None


@probe
def option_literal(scene: Scene, name: str, value: Any = True) -> SpanFact | None:
    """The only place in the user's loaded files that sets an option: a keyword or dict entry `name: value`."""
    every = (
        (source, given) for source, node in nodes_of(scene, ast.AST) for key, given in _options(node) if key == name
    )
    found = [(source, one) for source, one in every if isinstance(one, ast.Constant) and one.value is value]
    return span_fact(*found[0], name, name=name) if len(found) == 1 else None


@probe
def option_given(scene: Scene) -> SpanFact | None:
    """The value of the option that the message names, in the failing call or in the only dict that it unpacks.

    `detail.spread`: whether it stands in a dict; `plain`, what the option is where nothing is asked for.
    """
    name, failing = scene.captures.get("option"), scene.failing
    node = getattr(failing.node, "value", failing.node) if failing is not None else None
    node = failing.node if failing is not None and isinstance(failing.node, ast.Call) else node
    if failing is None or not name or not isinstance(node, ast.Call):
        return None
    about = Settings((("spread", False), ("plain", "False" if name == "persistent_workers" else "None")))
    for word in node.keywords:
        if word.arg == name:
            return SpanFact(failing.source.span(word.value), failing.source.text(word.value), about)
    return _in_dict(scene, name, about) if any(word.arg is None for word in node.keywords) else None


def _in_dict(scene: Scene, name: str, about: Settings) -> SpanFact | None:
    """The only value that a dict of the program gives an option."""
    pairs = [(one, given) for one in sources(scene) for node in one.nodes() for given in _values(node, name)]
    spread = Settings(tuple({**about, "spread": True}.items()))
    return SpanFact(pairs[0][0].span(pairs[0][1]), pairs[0][0].text(pairs[0][1]), spread) if len(pairs) == 1 else None


def _values(node: ast.AST, name: str) -> list[ast.AST]:
    dicts = isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict")
    return [given for key, given in _options(node) if key == name] if dicts else []


def _options(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Call):
        yield from ((word.arg, word.value) for word in node.keywords if word.arg)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from ((key.value, given) for key, given in pairs if isinstance(key, ast.Constant))  # type: ignore[misc]
