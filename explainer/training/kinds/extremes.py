"""Settings far from where they are of use, or in the place of others: a trial tells whether that was meant."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from explainer.bindings import sets
from explainer.source import Source, called, with_arguments
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.looks.fits import learned
from explainer.training.sources import program_sources

_OPTIMIZERS = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad")
_DROPS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "dropout")
_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
#: Calls, the keyword with its place, which values are worth a trial, the usual one.
_SETTINGS: tuple[tuple[tuple[str, ...], str, int | None, Callable[[float], bool], str], ...] = (
    (_DROPS[:-1], "p", 0, lambda value: value >= 0.7, "0.1"),
    (_DROPS[-1:], "p", 1, lambda value: value >= 0.7, "0.1"),
    (_NORMS, "momentum", 2, lambda value: value >= 0.9 or value < 1e-3, "0.1"),
    (_NORMS, "eps", 1, lambda value: value >= 0.1, "1e-5"),
    (_OPTIMIZERS, "momentum", None, lambda value: value >= 0.98, "0.9"),
    (_OPTIMIZERS, "eps", None, lambda value: value >= 1e-3, "1e-8"),
    (("CrossEntropyLoss", "cross_entropy"), "label_smoothing", None, lambda value: value >= 0.5, "0.1"),
)
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


@finder
def extreme(watcher: Any) -> Iterator[Finding]:
    """A setting that is written as a number and lies far off, where little was learned or it spoils evaluation."""
    done = learned(watcher) > 0.5
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.Call):
                continue
            for names, keyword, place, off, usual in _SETTINGS:
                if done and names is not _NORMS:
                    continue
                given = rewrite.argument(node, keyword, place) if called(node) in names else None
                written = _written(source, given) if given is not None else None
                if written is None or not off(written[2]):
                    continue
                home, number, value = written
                edits = rewrite.replaced(home, number, usual)
                text = home.text(number) if isinstance(number, ast.Constant) else f"{value:.3g}"
                told = {"name": keyword, "call": called(node), "value": text, "usual": usual}
                attempts = (Attempt("usual", edits, told),)
                yield Finding("setting-extreme", told, home.span(number), attempts, proved=False, seen=True)


def _written(source: Source, given: ast.expr) -> tuple[Source, ast.AST, float] | None:
    """Where a setting is written, as a number or as arithmetic with others (`1 - DECAY`), and its value."""
    found = rewrite.literal_of(source, given, ())
    if found is not None and isinstance(found[1], ast.Constant):
        return (*found, found[1].value)  # type: ignore[return-value]
    top = [one for one in getattr(source.tree, "body", ()) if isinstance(one, ast.Assign)]
    bound = [one.value for one in top if isinstance(given, ast.Name) and sets(one, given.id)]
    value = _value(source, bound[0]) if len(bound) == 1 else None
    return (source, bound[0], value) if value is not None else None


def _value(source: Source, node: ast.expr) -> float | None:
    """What arithmetic of numbers comes to, those that names of the file stand for among them."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        pair = _value(source, node.left), _value(source, node.right)
        try:
            return _ARITHMETIC[type(node.op)](*pair) if None not in pair else None
        except ArithmeticError:
            return None
    found = rewrite.literal_of(source, node, ())
    return found[1].value if found is not None and isinstance(found[1], ast.Constant) else None  # type: ignore[return-value]


@finder
def misplaced(watcher: Any) -> Iterator[Finding]:
    """A value without a keyword that has the name of another parameter than the one whose place it stands at."""
    for source in program_sources(watcher):
        for call in (node for node in source.nodes() if isinstance(node, ast.Call) and len(node.args) > 1):
            parameters, at, given = _parameters(called(call)), len(call.args) - 1, call.args[-1]
            own, taken = _own_name(given), {one.arg for one in call.keywords}
            if at >= len(parameters) or own == parameters[at] or own not in parameters or own in taken:
                continue
            new = f"{own}={source.text(given)}"
            edits = rewrite.replaced(source, call, _with_keyword(source, call, new))
            names = {"text": source.text(given), "call": called(call), "place": at + 1, "taken": parameters[at],
                     "name": own, "new": new}  # fmt: skip
            attempts = (Attempt("keyword", edits, {"new": new}),)
            yield Finding("argument-misplaced", names, source.span(given), attempts, proved=False, seen=True)


def _parameters(name: str) -> list[str]:
    """The parameters of what torch calls so, without `self`; none where nothing is called so."""
    owners = (torch.optim, torch.optim.lr_scheduler, torch.nn, torch.nn.functional, torch.utils.data)
    found = next((held for owner in owners if callable(held := getattr(owner, name, None))), None)
    try:
        return list(inspect.signature(found).parameters) if found is not None else []
    except (TypeError, ValueError):
        return []


def _own_name(node: ast.expr) -> str:
    """What a name, an attribute or an entry of a dict is called."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _with_keyword(source: Source, call: ast.Call, new: str) -> str:
    """A call whose last plain argument is given by a keyword."""
    text = with_arguments(source, call, call.args[:-1])
    rest = [source.text(one) for one in call.keywords]
    return f"{text[:-1]}, {', '.join([new, *rest])})"
