"""The part of a sample that is None for some samples of a dataset, and what can stand in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.bindings import sets
from explainer.facts import SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.dataloader.samples import in_collate, method_of, own_dataset, returns_of
from explainer.probes.dataloader.uncollated import (
    only_value,
    samples_given,
    value_at,
    ways_to,
    written_part,
    written_way,
)
from explainer.probes.files import calls_named, nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import attribute, fields_of, is_tensor
from explainer.source import Function, Source, called, stored

_TARGET = Pattern(r"(^|_)(labels?|targets?|class(es)?|y|gt|truth)($|_)", re.IGNORECASE)
#: Of more samples than this no stored value is looked at, of more loaders none is changed.
_STORED, _LOADERS = 100_000, 3
#: By what a tensor would be filled with: what stands for nothing, and what leaves all as it is by multiplying.
_FILLERS = {
    "zeros": {"bool": "False", "int": "0", "float": "0.0", "str": '""'},
    "ones": {"bool": "True", "int": "1", "float": "1.0"},
}
#: A one by what the file imports: a number of Python's would be batched as float64.
_ONES = {"torch": "torch.tensor(1.0)", "np": "np.float32(1.0)"}
_Way = tuple[Any, ...]


@probe
def missing_part(scene: Scene) -> SpanFact | None:
    """The expression of `__getitem__`, or of what made the samples, whose value is None for some: a span with `detail`.

    `dataset` is the class, `way` where the part stands in a sample (`["age"]`, `[1]`), `count` for how many it is None
    and `of` how many are known (those of the batch, or all that the dataset stores), `target` whether it is called a
    label or the like, `factor` whether something is multiplied with it where batches are read, `fill` what can stand in
    its place and `new` the expression with it (both empty where unknown).
    """
    dataset = own_dataset(scene) if in_collate(scene) and "NoneType" in scene.crash.message else None
    found = method_of(dataset, "__getitem__") if dataset is not None else None
    if found is None:
        return None
    source, function = found
    batch = samples_given(scene)
    way, values = _of_batch(batch) if batch is not None else ((), [])
    if all(one is None for one in values):
        stored_way, known = _of_stored(dataset, function)
        way, values = (stored_way, known) if known else (way, values)
    node = written_part(function, way) if way else None
    if node is None and way:
        source, function, node = _made_elsewhere(scene, way[-1]) or (source, function, None)
    if node is None or not any(one is None for one in values):
        return None
    target = any(_TARGET.search(one) for one in (str(way[-1]), source.text(node)))
    origin = _written_none(function, node) or _origin(function, node)
    there, factor = [one for one in values if one is not None], not target and _is_factor(scene, way)
    fill = _marker(scene) if target else _filler(there, "ones" if factor else "zeros")
    if factor and not there:
        fill = next((text for name, text in _ONES.items() if name in source.imported), "1.0")
    about: dict[str, Any] = {"dataset": type(dataset).__name__, "way": written_way(way), "target": target, "fill": fill}
    about |= {"count": len(values) - len(there), "of": len(values), "factor": factor}
    return span_fact(source, origin, None, **about, new=_filled(function, source.text(origin), fill))


def _made_elsewhere(scene: Scene, key: Any) -> tuple[Source, Function, ast.expr] | None:
    """The one entry of a dict that a function of the program may write as None: `__getitem__` hands the dict on."""
    found = []
    for source, node in nodes_of(scene, ast.Dict):
        function = source.function_at(node.lineno)
        rows = zip(node.keys, node.values, strict=True) if function is not None else ()
        named = [value for name, value in rows if isinstance(name, ast.Constant) and name.value == key]
        found += [(source, function, one) for one in named if function is not None and _written_none(function, one)]
    return found[0] if len(found) == 1 else None


def _of_batch(batch: list[Any]) -> tuple[_Way, list[Any]]:
    """The way to the first None in the samples of a batch, and what stands there in each."""
    way = next((way for sample in batch for way in ways_to(sample, "NoneType")), ())
    try:
        return way, [value_at(sample, way) for sample in batch]
    except (LookupError, TypeError):
        return (), []


def _of_stored(dataset: Any, function: Function) -> tuple[_Way, list[Any]]:
    """The same read from what the dataset stores, where the batch is not at hand or all None: `self.rows[i][1]`."""
    returned = [one.value for one in returns_of(function)]
    whole = returned[0] if len(returned) == 1 else None
    if isinstance(whole, ast.Name):
        whole = only_value(function, whole.id)
    keys: list[Any] = []
    if isinstance(whole, ast.Dict):
        keys = [key.value for key in whole.keys if isinstance(key, ast.Constant)]
    elif isinstance(whole, (ast.Tuple, ast.List)):
        keys = list(range(len(whole.elts)))
    for key in keys:
        part = written_part(function, (key,))
        values = _stored(dataset, function, part) if part is not None else []
        if any(one is None for one in values):
            return (key,), values
    return (), []


def _stored(dataset: Any, function: Function, node: ast.expr) -> list[Any]:
    """What an expression is for every index, where it only reads what a dataset keeps in a list; else nothing."""
    if isinstance(node, ast.Name):
        value = only_value(function, node.id)
        return _stored(dataset, function, value) if value is not None and not isinstance(value, ast.Name) else []
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
        inner = _stored(dataset, function, node.value)
        return [one[key] for one in inner] if all(_holds(one, key) for one in inner) else []
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and isinstance(node.value, ast.Attribute):
        held = attribute(dataset, node.value.attr) if ast.unparse(node.value.value) == "self" else None
        index = [one.arg for one in function.args.args][1:2]
        return list(held[:_STORED]) if isinstance(held, (list, tuple)) and index == [node.slice.id] else []
    if isinstance(node, ast.Attribute):
        fields = [fields_of(one) for one in _stored(dataset, function, node.value)]
        return [one[node.attr] for one in fields] if all(node.attr in one for one in fields) else []
    return []


def _holds(value: Any, key: Any) -> bool:
    if type(value) is dict:
        return key in value
    return type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value)


def _origin(function: Function, node: ast.expr) -> ast.expr:
    """What the name of a part is set to, where that only reads something: `age = record["age"]`."""
    value = only_value(function, node.id) if isinstance(node, ast.Name) else None
    return value if isinstance(value, (ast.Subscript, ast.Attribute)) else node


def _written_none(function: Function, node: ast.expr) -> ast.Constant | None:
    """The `None` that is written for a part where it is missing: `... if known else None`."""
    made = only_value(function, node.id) if isinstance(node, ast.Name) else node
    branches = (made.body, made.orelse) if isinstance(made, ast.IfExp) else ()
    return next((one for one in branches if isinstance(one, ast.Constant) and one.value is None), None)


def _marker(scene: Scene) -> str:
    """The one number by which the program's losses leave out what has no label, as a literal; empty where none does."""
    words = [(source, one.value) for source, one in nodes_of(scene, ast.keyword) if one.arg == "ignore_index"]
    given = {source.text(value): value for source, value in words}
    text, node = next(iter(given.items())) if len(given) == 1 else ("", None)
    if isinstance(node, ast.Name):
        named = [source.text(one.value) for source, one in nodes_of(scene, ast.Assign) if sets(one, text)]
        text = named[0] if len(named) == 1 else ""
    return text if text.lstrip("-").isdigit() else ""


def _is_factor(scene: Scene, way: _Way) -> bool:
    """Whether something is multiplied with a part of samples where their batches are taken, or by what is given it."""
    names = _names_of(scene, way[0]) if type(way[0]) is int else set()
    names |= set(_handed(scene, names))
    products = ((source, one) for source, one in nodes_of(scene, ast.BinOp) if isinstance(one.op, ast.Mult))
    sides = ((source.scope_at(one.lineno), side) for source, one in products for side in (one.left, one.right))
    return any((scope, getattr(side, "id", None)) in names or _is_entry(side, way[0]) for scope, side in sides)


def _names_of(scene: Scene, at: int) -> set[tuple[Any, str]]:
    """What loops call the part of a batch at a place, with their functions: `for x, y, weight in loader`."""
    loops = [(source, one) for source, one in nodes_of(scene, ast.For) if isinstance(one.target, ast.Tuple)]
    rows = [(source.scope_at(one.lineno), one.target.elts) for source, one in loops]  # type: ignore[attr-defined]
    parts = [(scope, row[at]) for scope, row in rows if 0 <= at < len(row)]
    return {(scope, one.id) for scope, one in parts if isinstance(one, ast.Name)}


def _is_entry(node: ast.expr, key: Any) -> bool:
    """Whether an expression is the entry of something: `batch["weight"]`."""
    entry = node.slice if isinstance(node, ast.Subscript) and type(key) is str else None
    return isinstance(entry, ast.Constant) and entry.value == key


def _handed(scene: Scene, read: set[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    """The parameters of the program's functions that are given one of some names, with the functions."""
    functions = [one for _, one in nodes_of(scene, ast.FunctionDef)]
    for source, call in nodes_of(scene, ast.Call):
        scope = source.scope_at(call.lineno)
        given = [at for at, one in enumerate(call.args) if isinstance(one, ast.Name) and (scope, one.id) in read]
        for function in [one for one in functions if given and one.name == called(call)]:
            names = [one.arg for one in function.args.args if one.arg != "self"]
            yield from ((function, names[at]) for at in given if at < len(names))


def _filler(values: list[Any], like: str) -> str:
    """The source of a value like others, of zeros or ones: a number or a tensor of one shape; empty where unknown."""
    kinds = {type(one).__name__ for one in values}
    plain = _FILLERS[like]
    if kinds == {"int", "float"}:
        return plain["float"]
    if len(kinds) == 1 and kinds <= set(plain):
        return plain[kinds.pop()]
    shapes = {(tuple(one.shape), str(one.dtype)) for one in values if is_tensor(one)}
    if len(shapes) != 1 or not all(is_tensor(one) for one in values):
        return ""
    shape, dtype = shapes.pop()
    kept = "" if dtype == "torch.float32" else f", dtype={dtype}"
    return f"torch.{like}({shape if len(shape) != 1 else shape[0]}{kept})"


def _filled(function: Function, text: str, fill: str) -> str:
    """`age if age is not None else 0`, `0` for `None` itself; a call is made once."""
    if not fill or "\n" in text:
        return ""
    if text == "None":
        return fill
    if "(" not in text:
        return f"{text} if {text} is not None else {fill}"
    used = stored(function)
    name = next(one for one in ("found", "given", "there", "what") if one not in used)
    return f"{fill} if ({name} := {text}) is None else {name}"


@probe
def loaded_datasets(scene: Scene) -> tuple[SpanFact, ...] | None:
    """What the calls of DataLoader without a `collate_fn` are given as their dataset; None where there are many."""
    found = []
    for source, call in calls_named(scene, "DataLoader"):
        words = {word.arg: word.value for word in call.keywords}
        given = words.get("dataset") or next(iter(call.args), None)
        if given is not None and not {"collate_fn", "sampler", "batch_sampler"} & set(words):
            found.append(span_fact(source, given))
    return tuple(found) if 0 < len(found) <= _LOADERS else None
