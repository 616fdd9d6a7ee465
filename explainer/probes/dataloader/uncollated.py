"""The part of a sample that torch's collate function cannot put into a batch, and how it is made a plain value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import only_value
from explainer.edits.place import as_operand
from explainer.edits.plain_values import plain, refused
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.samples import method_of, own_dataset, returns_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Function, called

_STEPS = 40


@probe
def uncollated(scene: Scene) -> SpanFact | None:
    """The expression of `__getitem__` that gives a part which cannot be collated: a span with `detail`.

    `kind` is the part's class, `way` where it stands in a sample (`["path"]`, `[2]`), `dataset` the dataset's class,
    `new` the source of a plain value in its place (empty where none is known).
    """
    dataset, kind = own_dataset(scene), refused(scene.crash.message)
    found = method_of(dataset, "__getitem__") if dataset is not None else None
    batch = samples_given(scene)
    if found is None or batch is None or not kind:
        return None
    way = next(ways_to(batch[0], kind), None)
    node = written_part(found[1], way) if way is not None else None
    if way is None or node is None:
        return None
    source, value = found[0], value_at(batch[0], way)
    new = _fields(value, source.text(node)) or plain(kind, source.text(node))
    return span_fact(source, node, kind=kind, way=written_way(way), dataset=type(dataset).__name__, new=new)


def samples_given(scene: Scene) -> list[Any] | None:
    """The samples that the outermost collate function was given."""
    for frame in scene.live.frames if scene.live is not None else []:
        if "utils/data/_utils/collate" in frame.file.replace("\\", "/"):
            held = frame.locals.get("batch")
            return held if type(held) is list and held else None
    return None


def ways_to(value: Any, kind: str, deep: int = 4) -> Iterator[tuple[Any, ...]]:
    """The ways to the parts of a sample that are of a class."""
    if type(value).__name__ == kind:
        yield ()
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for _, (key, one) in zip(range(_STEPS), parts if deep else (), strict=False):
        yield from ((key, *rest) for rest in ways_to(one, kind, deep - 1))


def written_way(way: tuple[Any, ...]) -> str:
    """`["targets"][0]`, as a program writes the way to a part of a sample."""
    return "".join(f'["{key}"]' if isinstance(key, str) else f"[{key}]" for key in way)


def value_at(sample: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        sample = sample[key]
    return sample


def _fields(value: Any, text: str) -> str:
    """What gives the value of an enumeration's member, or the fields of a dataclass."""
    if any(base.__name__ == "Enum" for base in type(value).__mro__):
        return f"{as_operand(text)}.value"
    return f"vars({text})" if "__dataclass_fields__" in vars(type(value)) else ""


def written_part(function: Function, way: tuple[Any, ...]) -> ast.expr | None:
    """The expression that a part of what a function returns is written as; None where it is not written out."""
    given = [one.value for one in returns_of(function) if one.value is not None]
    node: ast.expr | None = given[0] if len(given) == 1 else None
    for key in way:
        node = _entry(function, node, key)
    return node


def _entry(function: Function, node: ast.expr | None, key: Any) -> ast.expr | None:
    if isinstance(node, ast.Name):
        set_later = only_value(function, f"{node.id}[{key!r}]")
        made = only_value(function, node.id)
        return set_later or (_entry(function, made, key) if not isinstance(made, ast.Name) else None)
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts[key] if isinstance(key, int) and key < len(node.elts) else None
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return next((one for name, one in pairs if isinstance(name, ast.Constant) and name.value == key), None)
    if isinstance(node, ast.Call) and called(node) == "dict":
        return next((word.value for word in node.keywords if word.arg == key), None)
    return None
