"""What belongs together, changed at random apart: an image and its mask, each with draws of its own."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sources import program_sources

#: How the random numbers of a module are kept, and begun again: (keep, begin again).
_STATES = {
    "random": ("random.getstate()", "random.setstate({})"),
    "np": ("np.random.get_state()", "np.random.set_state({})"),
    "numpy": ("numpy.random.get_state()", "numpy.random.set_state({})"),
    "torch": ("torch.get_rng_state()", "torch.set_rng_state({})"),
}
#: What puts the values of a tensor or an array in other places.
_TURNING = ("flip", "rot90", "transpose", "fliplr", "flipud", "hflip", "vflip", "roll", "permute", "rotate", "swapaxes")
Pair = tuple[ast.stmt, ast.stmt, ast.Call, ast.Call]


@finder
def drawn_apart(watcher: Any) -> Iterator[Finding]:
    """`image, mask = flip(image), flip(mask)` in a dataset: two calls of one function, two draws."""
    sources = program_sources(watcher)
    drawing = [name for name in _STATES if any(_draws(source, name) for source in sources)]
    for source in sources if drawing else ():
        for function in _reading(source):
            for pair in _pairs(source, function):
                names = {"call": source.text(pair[2].func), "one": source.text(pair[2].args[0]),
                         "other": source.text(pair[3].args[0])}  # fmt: skip
                known = [name for name in drawing if name in source.imported]
                attempts = tuple(Attempt("one-draw", _drawn_once(source, pair, name), names) for name in known)
                attempts += tuple(Attempt("together", edits, names) for edits in _together(source, pair))
                culprit = source.span(pair[2])
                # two views of a thing may be drawn apart on purpose: the trial must be overwhelming
                yield Finding("augmentation-drawn-apart", names, culprit, attempts, proved=False, weight=6)


def _draws(source: Source, name: str) -> bool:
    """Whether a program draws random numbers of a module in a function."""
    roots = {"np": "np.random.", "numpy": "numpy.random."}.get(name, f"{name}.")
    drawn = ("rand", "random", "randint", "uniform", "choice", "randn", "normal", "gauss", "bernoulli", "randrange")
    calls = (one for one in source.nodes() if isinstance(one, ast.Call) and called(one) in drawn)
    return any(source.text(one.func).startswith(roots) for one in calls)


def _reading(source: Source) -> Iterator[ast.FunctionDef]:
    """The functions of a program's datasets that give samples."""
    for node in source.nodes():
        if isinstance(node, ast.FunctionDef) and (node.name == "__getitem__" or node.name.startswith("collate")):
            yield node


def _pairs(source: Source, function: ast.FunctionDef) -> Iterator[Pair]:
    """Two calls of one function on two values: in one statement, or in one and the next."""
    for node in ast.walk(function):
        value = getattr(node, "value", None)
        if isinstance(node, (ast.Assign, ast.Return)) and isinstance(value, ast.Tuple) and len(value.elts) == 2:
            one, other = value.elts
            if _alike(source, one, other):
                yield node, node, one, other  # type: ignore[misc]
        for body in (getattr(node, name, None) for name in ("body", "orelse")):
            for first, then in itertools.pairwise(body if isinstance(body, list) else []):
                plain = isinstance(first, ast.Assign) and isinstance(then, ast.Assign)
                if plain and _alike(source, first.value, then.value):
                    yield first, then, first.value, then.value


def _alike(source: Source, one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions call the same function with one value each, and not with the same."""
    if not (isinstance(one, ast.Call) and isinstance(other, ast.Call) and len(one.args) == len(other.args) == 1):
        return False
    same = source.text(one.func) == source.text(other.func) and not (one.keywords or other.keywords)
    return same and source.text(one.args[0]) != source.text(other.args[0])


def _together(source: Source, pair: Pair) -> Iterator[Any]:
    """Both values handed to one call, one on top of the other: `image, mask = flip(torch.stack([image, mask]))`."""
    first, then, one, other = pair
    if first is then or "torch" not in source.imported:
        return
    targets = [source.text(each.targets[0]) for each in (first, then)]  # type: ignore[attr-defined]
    given = ", ".join(source.text(each.args[0]) for each in (one, other))
    call = f"{', '.join(targets)} = {source.text(one.func)}(torch.stack([{given}]))"
    yield rewrite.together(source, rewrite.replaced(source, first, call), rewrite.without(source, then))


def _drawn_once(source: Source, pair: Pair, name: str) -> Any:
    """The random numbers of the first call drawn again for the second one."""
    first, then, one, other = pair
    keep, begin = f"state = {_STATES[name][0]}", _STATES[name][1].format("state")
    if first is not then:
        return rewrite.together(source, rewrite.before(source, first, keep), rewrite.before(source, then, begin))
    if isinstance(first, ast.Return):
        lines = [keep, f"first = {source.text(one)}", begin, f"return first, {source.text(other)}"]
    else:
        target = first.targets[0]  # type: ignore[attr-defined]
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return ()
        own, also = map(source.text, target.elts)
        lines = [keep, f"{own} = {source.text(one)}", begin, f"{also} = {source.text(other)}"]
    return rewrite.replaced(source, first, f"\n{' ' * first.col_offset}".join(lines))


@finder
def turned_alone(watcher: Any) -> Iterator[Finding]:
    """`image = image.flip(-1)` in a dataset that hands out `image, mask`: the mask stays as it was."""
    for source in program_sources(watcher):
        for function in _reading(source):
            turns = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and _turns(one)]
            turned = {one.targets[0].id for one in turns}  # type: ignore[attr-defined]
            pairs = [one.value.elts for one in ast.walk(function) if isinstance(one, ast.Return)
                     and isinstance(one.value, ast.Tuple) and len(one.value.elts) == 2]  # fmt: skip
            both = next(((one.id, other.id) for one, other in pairs
                         if isinstance(one, ast.Name) and isinstance(other, ast.Name)), None)  # fmt: skip
            if both is None or turned != {both[0]}:
                continue
            edits = rewrite.together(source, *(_both_turned(source, one, both) for one in turns))
            names = {"one": both[0], "other": both[1], "text": source.text(turns[0]), "many": len(turns)}
            attempts = (Attempt("both", edits),)
            yield Finding("augmented-alone", names, source.span(turns[0]), attempts, proved=False, seen=True)


def _turns(one: ast.Assign) -> bool:
    """Whether a name gets its own values in other places: `x = x.flip(-1)`, `x = torch.rot90(x, k)`."""
    target, value = one.targets[0], one.value
    owner = value.func.value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else None
    given = [owner, *value.args[:1]] if isinstance(value, ast.Call) else []
    same = any(isinstance(each, ast.Name) and isinstance(target, ast.Name) and each.id == target.id for each in given)
    return same and called(value) in _TURNING  # type: ignore[arg-type]


def _both_turned(source: Source, one: ast.Assign, names: tuple[str, str]) -> rewrite.Edits:
    """The same for what belongs to it, in one statement."""
    value, (name, other) = source.text(one.value), names
    second = re.sub(rf"(?<![\w.]){name}(?!\w)", other, value)
    return rewrite.replaced(source, one, f"{name}, {other} = {value}, {second}")
