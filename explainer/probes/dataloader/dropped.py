"""A collate function that leaves samples out, so that nothing of a batch may be left; the loaders that use it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.dataloader.samples import by_collate, own_dataset
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, loaded, stored

_FETCH = "torch/utils/data/_utils/fetch.py"


@frozen
class Filter:
    """What leaves samples out: the `node` that does, the `target` that stands for a sample, which are `kept`."""

    node: ast.expr | ast.stmt
    target: ast.expr
    kept: str


@probe
def dropped_samples(scene: Scene) -> SpanFact | None:
    """The place in the collate function on the stack where samples of a batch are left out.

    `detail.function` is the function's name (its class's where it is a method), `target` stands for one sample, `kept`
    is the condition under which it stays, `dataset` the class of the dataset ("" where unknown), `count` how many
    samples the batch had (None where unknown).
    """
    for source, line in _collating(scene):
        function = source.function_at(line)
        found = _filter(source, function) if isinstance(function, ast.FunctionDef) else None
        if found is None or not isinstance(function, ast.FunctionDef):
            continue
        owner = source.class_at(line)
        name = owner.name if owner is not None and owner.lineno < function.lineno else function.name
        dataset = own_dataset(scene)
        about = {"target": ast.unparse(found.target), "kept": found.kept, "function": name, "count": _count(scene)}
        return span_fact(source, found.node, dataset=type(dataset).__name__ if dataset is not None else "", **about)
    return None


@probe
def collate_entered(scene: Scene) -> SpanFact | None:
    """The first statement of the program's own collate function on the stack; `detail.batch` is its parameter."""
    source, line = next(_collating(scene), (None, 0))
    function = source.function_at(line) if source is not None else None
    if source is None or not isinstance(function, ast.FunctionDef) or not by_collate(scene):
        return None
    given = [one.arg for one in function.args.args if one.arg not in ("self", "cls")]
    body = function.body[1:] if ast.get_docstring(function) is not None and function.body[1:] else function.body
    return span_fact(source, body[0], batch=given[0]) if given and body[0].lineno > function.lineno else None


@probe
def loaders_by_default(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The calls of DataLoader without a collate function of their own, where the program's is not on the stack."""
    if by_collate(scene) and next(_collating(scene), None) is not None:
        return None
    calls = calls_named(scene, "DataLoader")
    found = [(source, one) for source, one in calls if not any(word.arg == "collate_fn" for word in one.keywords)]
    return tuple(span_fact(source, one) for source, one in found) or None


def _collating(scene: Scene) -> Iterator[tuple[Source, int]]:
    """The user's lines that ran below the loader's fetching of a batch, the collate function's first."""
    fetched = False
    for frame in scene.crash.frames:
        fetched = fetched or frame.file.replace("\\", "/").endswith(_FETCH)
        source = scene.source(frame.file) if fetched and frame.user else None
        if source is not None:
            yield source, frame.line


def _count(scene: Scene) -> int | None:
    frames = [one for one in (scene.live.frames if scene.live else []) if one.file.replace("\\", "/").endswith(_FETCH)]
    data = frames[-1].locals.get("data") if frames else None
    return len(data) if type(data) is list else None


def _filter(source: Source, function: ast.FunctionDef) -> Filter | None:
    """What leaves out samples of one of the function's parameters."""
    names = {one.arg for one in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
            first = node.generators[0]
            if first.ifs and isinstance(first.iter, ast.Name) and first.iter.id in names:
                return Filter(node, first.target, " and ".join(_grouped(source, one) for one in first.ifs))
        found = _by_function(source, node, names) or _by_loop(source, node, names)
        if found is not None:
            return found
    return None


def _grouped(source: Source, node: ast.expr) -> str:
    return f"({source.text(node)})" if isinstance(node, (ast.BoolOp, ast.IfExp)) else source.text(node)


def _by_function(source: Source, node: ast.AST, names: set[str]) -> Filter | None:
    """`filter(lambda x: x is not None, batch)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "filter"):
        return None
    test, batch = node.args if len(node.args) == 2 else (None, None)
    if not (isinstance(batch, ast.Name) and batch.id in names):
        return None
    if isinstance(test, ast.Constant) and test.value is None:
        return Filter(node, ast.Name("sample"), "sample")
    if not isinstance(test, ast.Lambda) or len(test.args.args) != 1:
        return None
    return Filter(node, ast.Name(test.args.args[0].arg), source.text(test.body))


def _by_loop(source: Source, node: ast.AST, names: set[str]) -> Filter | None:
    """`for x in batch: if x is None: continue`, or with `if x is not None: kept.append(x)` alone in the loop."""
    if not (isinstance(node, ast.For) and isinstance(node.iter, ast.Name) and node.iter.id in names):
        return None
    test = node.body[0]
    if not isinstance(test, ast.If) or test.orelse:
        return None
    if len(test.body) == 1 and isinstance(test.body[0], ast.Continue):
        return Filter(test, node.target, _inverted(source, test.test))
    return Filter(test, node.target, source.text(test.test)) if len(node.body) == 1 else None


def _inverted(source: Source, test: ast.expr) -> str:
    opposite = {ast.Is: "is not", ast.Eq: "!=", ast.IsNot: "is", ast.NotEq: "==", ast.Lt: ">=", ast.Gt: "<="}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in opposite:
        return f"{source.text(test.left)} {opposite[type(test.ops[0])]} {source.text(test.comparators[0])}"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return source.text(test.operand)
    return f"not ({source.text(test)})"


@probe
def loaders_collating(scene: Scene, of: SpanFact | None = None) -> tuple[SpanFact, ...] | None:
    """What the calls of DataLoader whose `collate_fn` names a function are given as their dataset.

    None where the condition of `of` uses names that only the collate function has.
    """
    if of is None or not _stands_alone(of):
        return None
    found = []
    for source, call in calls_named(scene, "DataLoader"):
        words = {word.arg: word.value for word in call.keywords}
        given = words.get("dataset") or next(iter(call.args), None)
        collate = words.get("collate_fn")
        named = collate is not None and any(_names(one) == of["function"] for one in ast.walk(collate))
        if given is not None and named:
            found.append(span_fact(source, given))
    return tuple(found) or None


def _names(node: ast.AST) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _stands_alone(of: SpanFact) -> bool:
    """Whether a condition uses nothing but the sample, builtins and torch."""
    target, kept = loaded(ast.parse(of["target"])), ast.parse(of["kept"])
    own = target | stored(kept) | {"torch"}
    return all(one in own or hasattr(builtins, one) for one in loaded(kept))
