"""Class weights that favour the frequent classes; arrays that are collected without a copy and changed later."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import Place, loss_call, shown
from explainer.training.kinds.strength import plain
from explainer.training.looks.weighing import known, turned_round
from explainer.training.sources import program_sources

#: Calls that make one array or tensor of a list, and how what is in such a list is copied.
_STACKS = ("stack", "vstack", "concatenate", "array", "asarray", "tensor", "as_tensor", "cat", "FloatTensor")


@finder
def weighed_inversely(watcher: Any) -> Iterator[Finding]:
    """A loss whose rarer classes weigh less than the frequent ones."""
    for seen, times in watcher.notes.of("class-weights"):
        weights, counts = known(watcher, seen.site)
        if times < 3 or not seen.site or not turned_round(weights, counts):
            continue
        found = loss_call(seen)
        name = "pos_weight" if seen.data["binary"] else "weight"
        given = rewrite.argument(found[1], name) if found is not None else None
        attempts, text = [], name
        if found is not None and given is not None:
            where, node = _value(found[0], given)
            text = found[0].text(given)
            attempts = list(_turned(where, node))
        rare = min((count, place) for place, count in enumerate(counts) if count)[1]
        often = max((count, place) for place, count in enumerate(counts) if count)[1]
        names = {
            "name": name,
            "text": text,
            "binary": seen.data["binary"],
            "rare": rare,
            "often": often,
            "share": plain(100 * counts[rare] / sum(counts)),
            "low": plain(weights[rare]),
            "high": plain(weights[often]),
            "comparable": False,
        }
        culprit = found[0].span(given) if found is not None and given is not None else shown(found, seen.site[0])
        yield Finding("class-weights-inverted", names, culprit, tuple(attempts), proved=False, seen=True, weight=7)


def _value(source: Source, node: ast.expr) -> Place | tuple[Source, ast.expr]:
    """What a name is given where that happens once; any other expression as it is."""
    if isinstance(node, ast.Name):
        values = [
            one.value
            for one in source.nodes()
            if isinstance(one, ast.Assign) and any(source.text(target) == node.id for target in one.targets)
        ]
        if len(values) == 1:
            return source, values[0]
    return source, node


def _turned(source: Source, node: ast.expr) -> Iterator[Attempt]:
    """The quotient upside down, or one over the whole."""
    quotients = [one for one in ast.walk(node) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
    if len(quotients) == 1:
        one = quotients[0]
        left, right = (_bracketed(source, each) for each in (one.left, one.right))
        yield Attempt("turn", rewrite.replaced(source, one, f"{right} / {left}"), {"new": f"{right} / {left}"})
    new = f"1 / {_bracketed(source, node)}"
    edits = rewrite.replaced(source, node, new)
    if edits and not quotients:
        yield Attempt("turn", edits, {"new": new})


def _bracketed(source: Source, node: ast.expr) -> str:
    text = source.text(node)
    return f"({text})" if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare)) else text


@finder
def collected_without_copy(watcher: Any) -> Iterator[Finding]:
    """Inputs whose rows come again and again, and a list of them that is filled with one array that is written to."""
    facts = [(seen, times) for seen, times in watcher.notes.of("rows-repeated") if times >= 3]
    if not facts:
        return
    data = facts[0][0].data
    sources = program_sources(watcher)
    for source in sources:
        for node, given, method in _collected(source, sources):
            new = f"{source.text(given)}.{method}()"
            edits = rewrite.replaced(source, given, new)
            names = {
                "text": source.text(given),
                "list": source.text(node.func).rpartition(".")[0],
                "rows": data["rows"],
                "distinct": data["distinct"],
                "new": new,
            }
            attempts = (Attempt("copy", edits, {"new": new}),)
            yield Finding(
                "collected-without-copy", names, source.span(node), attempts, proved=False, seen=True, weight=7
            )


def _collected(source: Source, sources: Sequence[Source]) -> Iterator[tuple[ast.Call, ast.expr, str]]:
    """`rows.append(x)` or `rows.append((x, y))` where such a list becomes an array, what is put, how it is copied."""
    calls = [one for one in source.nodes() if isinstance(one, ast.Call)]
    stacked = {
        source.text(one.args[0]): "clone" if source.text(one.func).startswith("torch.") else "copy"
        for one in calls
        if called(one) in _STACKS and one.args and isinstance(one.args[0], (ast.Name, ast.Attribute, ast.ListComp))
    }
    for one in calls:
        if called(one) != "append" or len(one.args) != 1 or not isinstance(one.func, ast.Attribute):
            continue
        row = isinstance(one.args[0], (ast.Tuple, ast.List))
        method = stacked.get(source.text(one.func.value)) or (next(iter(stacked.values()), "") if row else "")
        for part in getattr(one.args[0], "elts", one.args):
            shared = part.args[0] if isinstance(part, ast.Call) and called(part) == "from_numpy" and part.args else None
            if isinstance(shared, (ast.Name, ast.Attribute)):  # it shares its memory
                yield one, shared, "copy"
            elif method and (isinstance(part, (ast.Name, ast.Attribute)) or _hands_out(part, sources)):
                yield one, part, method


def _hands_out(part: ast.expr, sources: Sequence[Source]) -> bool:
    """Whether a value is a call of the program's that returns something that it holds: `return self.position`."""
    if not isinstance(part, ast.Call):
        return False
    named = [one for source in sources for one in source.nodes() if getattr(one, "name", None) == called(part)]
    returned = [one.value for each in named for one in ast.walk(each) if isinstance(one, ast.Return)]
    return any(isinstance(one, ast.Attribute) for one in returned)


@finder
def weights_of_classes(watcher: Any) -> Iterator[Finding]:
    """A sampler with fewer weights than there are samples: only as many samples as it has weights are ever drawn."""
    for entry in watcher.notes.loaders.values():
        (weights, labels), samples = entry["weighed"] or (0, []), entry["samples"] or 0
        found = [(source, node) for source in program_sources(watcher) for node in source.nodes()
                 if isinstance(node, ast.Call) and called(node) == "WeightedRandomSampler"]  # fmt: skip
        if not weights or len(found) != 1:
            continue
        source, call = found[0]
        given = rewrite.argument(call, "weights", 0)
        attempts = tuple(_for_each(source, given, labels)) if given is not None else ()
        names = {"weights": weights, "samples": samples, "text": source.text(given) if given is not None else ""}
        yield Finding("sampler-weights-per-class", names, source.span(call), attempts, weight=8)


def _for_each(source: Source, given: ast.expr, labels: Sequence[str]) -> Iterator[Attempt]:
    """The weights read at the class of each sample."""
    scope = source.scope_at(given.lineno)
    calls = [node for node in ast.walk(scope) if isinstance(node, ast.Call) and called(node) == "DataLoader"]
    call = next((one for one in calls if one.args), None)
    for reach in labels if call is not None else ():
        new = f"torch.as_tensor({source.text(given)})[{source.text(call.args[0])}{reach}]"  # type: ignore[union-attr]
        yield Attempt("each", rewrite.replaced(source, given, new), {"new": new})
