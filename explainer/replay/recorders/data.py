"""The recorder of data that are not finite: the statement that made the arrays, tables or lists so that a loss was fed.

The calls that `recorders.nonfinite` watches are torch's. What numpy, pandas or a loop computes before them, it cannot
see, so here every statement of the program is looked at when it is over.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from explainer.bindings import targets_of
from explainer.replay.recorders.nonfinite import Whole
from explainer.replay.recorders.record import Site, here
from explainer.source import called, source_of

#: How many spoilt values are kept, and how many numbers of a list are looked at.
_KEPT, _LISTED = 200, 1_000
#: No instruction of a function: the place of a statement that is over is its line.
_NOWHERE = -2
_LOGS = ("log", "log2", "log10")


@dataclass
class _Spoilt:
    """A value that was not finite when a statement was over, and those that the statement had been given."""

    value: Any
    name: str
    site: Site
    given: tuple[int, ...]
    zero: str


class Data(Whole):
    """Watches statements beside torch's calls; `taken` leads from what a loss was fed to the statement that made it."""

    def __init__(self, folder: str, original: str):
        super().__init__(folder, original)
        self.spoilt: dict[int, _Spoilt] = {}
        self.at: dict[Any, tuple[int, tuple[int, ...]]] = {}
        sys.settrace(self._entered)

    def _entered(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        inner = code.co_name.startswith("<") and code.co_name != "<module>"  # comprehensions, which hand all on
        return self._stepped if code.co_filename.startswith(self.folder + os.sep) and not inner else None

    def _stepped(self, frame: Any, event: str, arg: Any) -> Any:
        """A statement begins, or the function returns: the one before it is over."""
        if event in ("line", "return") and frame in self.at and len(self.spoilt) < _KEPT:
            self._over(frame, *self.at[frame], arg if event == "return" else None)
        if event == "line":
            self.at[frame] = frame.f_lineno, tuple(self._known(frame, frame.f_lineno))
        elif event == "return":
            self.at.pop(frame, None)
        return self._stepped

    def _known(self, frame: Any, line: int) -> Iterator[int]:
        """Which of the spoilt values a statement reads."""
        for node in _read(frame.f_code.co_filename, line) if self.spoilt else ():
            value = _value(frame, node)
            if id(value) in self.spoilt:
                yield id(value)

    def _over(self, frame: Any, line: int, given: tuple[int, ...], returned: Any) -> None:
        for node in _written(frame.f_code.co_filename, line):
            self._note(_value(frame, node), ast.unparse(node), frame, line, given)
        for one in returned if isinstance(returned, (tuple, list)) and len(returned) < 10 else (returned,):
            self._note(one, "", frame, line, given)
            if id(one) in self.spoilt and frame.f_back in self.at:  # the caller's statement is given it
                begun, known = self.at[frame.f_back]
                self.at[frame.f_back] = begun, (*known, id(one))

    def _note(self, value: Any, name: str, frame: Any, line: int, given: tuple[int, ...]) -> None:
        known = self.spoilt.get(id(value))
        if known is not None:
            known.name = known.name or name  # what a function returned
        elif value is not None and _bad(value) is not None:
            site = Site(((frame.f_code, _NOWHERE, line), *here(3).frames[1:]), (), False)
            self.spoilt[id(value)] = _Spoilt(value, name, site, given, _zero_operand(frame, line))

    def taken(self, error: BaseException) -> Any:
        """The first statement of the way to what the check refused, its place and numbers; None where none is known."""
        sys.settrace(None)
        self.watching.__exit__(None, None, None)
        self.at.clear()
        entry = self._entry(self.watching.outside())
        return self._moved(_described(entry)) if entry is not None else None

    def _entry(self, fed: Any) -> _Spoilt | None:
        """From what torch was fed back through the statements that had been given spoilt values themselves."""
        found = self._met(fed) if fed is not None else None
        while found is not None and found.given:
            found = self.spoilt[found.given[0]]  # which was met before
        return found

    def _met(self, fed: Any) -> _Spoilt | None:
        """The value that a tensor is, or a copy of it with as many values that are not finite in as many."""
        if id(fed) in self.spoilt:
            return self.spoilt[id(fed)]
        bad = _bad(fed)
        alike = [one for one in self.spoilt.values() if bad is not None and _alike(one.value, bad)]
        return alike[-1] if alike else None


def _alike(value: Any, bad: Any) -> bool:
    own = _bad(value)
    return own is not None and own.shape == bad.shape and bool((own == bad).all())


def _described(one: _Spoilt) -> dict[str, Any]:
    array, bad = _numbers(one.value), _bad(one.value)
    kind = "nan" if bool(array.isnan().any()) else "inf"
    places = (array.isnan() if kind == "nan" else bad).nonzero()
    numbers = {"count": len(places), "of": array.numel(), "shape": list(array.shape), "first": places[0].tolist()}
    return {"name": one.name, "zero": one.zero, "kind": kind, **numbers, **one.site.data()}


def _bad(value: Any) -> Any:
    """Where a value is not finite, as a mask; None of what is finite or holds no floating numbers."""
    array = _numbers(value)
    bad = ~array.isfinite() if array is not None and array.numel() else None
    return bad if bad is not None and bool(bad.any()) else None


def _numbers(value: Any) -> Any:
    """The floating numbers of an array, a table's numeric columns, a list or a tensor without gradient; else None."""
    import torch

    if isinstance(value, torch.Tensor):
        plain = value.is_floating_point() and not value.requires_grad and value.layout == torch.strided
        return value.detach() if plain and value.device.type == "cpu" else None
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if hasattr(value, "select_dtypes"):
        value = value.select_dtypes("number").to_numpy(dtype="float64")
    elif type(value).__module__.startswith("pandas.") and hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif isinstance(value, list) and 0 < len(value) < _LISTED and _first(value) is not None:
        try:
            value = numpy.asarray(value, dtype="float64")
        except (TypeError, ValueError):
            return None
    plain = isinstance(value, numpy.ndarray) and value.dtype.kind == "f"
    return torch.from_numpy(numpy.ascontiguousarray(value, dtype="float64")) if plain else None


def _first(value: Any) -> float | None:
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, float) else None


def _zero_operand(frame: Any, line: int) -> str:
    """What the statement at a line divides by, or takes a logarithm of, where it holds a zero; empty elsewhere."""
    node = source_of(frame.f_code.co_filename).statement_at(line)
    for one in ast.walk(node) if node is not None else ():
        operand = not_zero(one)
        value = _numbers(_evaluated(frame, operand)) if operand is not None else None
        if operand is not None and value is not None and bool((value == 0).any()):
            return ast.unparse(operand)
    return ""


def not_zero(node: ast.AST) -> ast.expr | None:
    """The operand of a division or a logarithm that makes inf or nan of a zero; None of other nodes."""
    if isinstance(node, ast.BinOp):
        return node.right if isinstance(node.op, ast.Div) else None
    log = isinstance(node, ast.Call) and called(node) in _LOGS and len(node.args) == 1
    return node.args[0] if log else None  # type: ignore[attr-defined]


def _evaluated(frame: Any, node: ast.expr) -> Any:
    """An expression's value; None of one that calls something."""
    if any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "<operand>", "eval"), frame.f_globals, frame.f_locals)
    except Exception:
        return None


def _value(frame: Any, node: ast.expr) -> Any:
    """What a name, or an attribute of a name, stands for in a frame; None where it stands for nothing yet."""
    if isinstance(node, ast.Attribute):
        owner = _value(frame, node.value)
        return getattr(owner, "__dict__", {}).get(node.attr)
    if not isinstance(node, ast.Name):
        return None
    return frame.f_locals.get(node.id, frame.f_globals.get(node.id))


@functools.cache
def _written(file: str, line: int) -> Sequence[ast.expr]:
    """The names and attributes that the statement at a line sets or writes into: `x`, `self.x`, `x` of `x[i] = 1`."""
    node = source_of(file).statement_at(line)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return [node.value.func.value]  # `x.fill(0)`, `rows.append(row)`
    whole = targets_of(node) if node is not None else []
    flat = [part for one in whole for part in (one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one])]
    return [_owner(one) for one in flat]


def _owner(node: ast.expr) -> ast.expr:
    while isinstance(node, (ast.Subscript, ast.Starred)):
        node = node.value
    return node


@functools.cache
def _read(file: str, line: int) -> Sequence[ast.expr]:
    """The names and attributes that the statement at a line reads; of a compound one those of its head."""
    node: Any = source_of(file).statement_at(line)
    for part in ("iter", "test"):
        node = getattr(node, part, node)
    found = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))] if node is not None else []
    return [one for one in found if isinstance(one.ctx, ast.Load) or isinstance(node, ast.AugAssign)]
