"""Dtypes and devices: a cast or a `to` that is missing, or one where none belongs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.layout import calls, is_torch, values
from mutations.mutant import Change
from mutations.programs import Program, Source
from mutations.sizes import layers
from mutations.uses import chain, scope

DTYPE = ("dtype", "unsupported", "index", "autograd", "dataloader")
DEVICE = ("device", "unsupported")
CASTS = ("float", "long", "int", "double", "half", "bool", "astype")
MAKERS = ("arange", "zeros", "ones", "tensor", "full", "randn", "rand", "randint", "empty", "linspace", "eye")


def dropped_casts(program: Program, source: Source) -> Iterator[Change]:
    """`x.float()` becomes `x`; `dtype=...` is left out."""
    for call in calls(source, CASTS):
        inner = call.func.value  # type: ignore[attr-defined]
        if not is_torch(inner):
            what = f"{call.func.attr} dropped"  # type: ignore[attr-defined]
            yield Change(
                "drop-cast", DTYPE, what, *source.span(call), source.code(inner), chain(program, source, call), True
            )
    for call in [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]:
        for index, keyword in enumerate(call.keywords):
            if keyword.arg == "dtype" and (index or call.args):
                start, end = source.span(keyword)
                start = source.text.rindex(",", 0, start)
                yield Change("drop-cast", DTYPE, "dtype= dropped", start, end, "", chain(program, source, call), True)


def added_casts(program: Program, source: Source) -> Iterator[Change]:
    """`x = f(y)` becomes `x = f(y).double()`, and the like; a layer built as double or half."""
    for value in values(source):
        _, end = source.span(value)
        for cast in ("double", "half", "long", "int", "bool"):
            yield Change("add-cast", DTYPE, f".{cast}() added", end, end, f".{cast}()")
    for call in layers(source):
        _, end = source.span(call)
        yield Change("add-cast", DTYPE, "layer in double", end, end, ".double()")


def other_dtypes(program: Program, source: Source) -> Iterator[Change]:
    """`np.float64` for `np.float32`, `torch.int32` for `torch.long`, floats in a list of integers."""
    others = {"float32": "float64", "long": "int32", "int64": "int32", "bool": "float32", "uint8": "int8"}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in others and is_torch(node.value):
            end = source.span(node)[1]
            yield Change(
                "other-dtype",
                DTYPE,
                f"{node.attr} became {others[node.attr]}",
                end - len(node.attr),
                end,
                others[node.attr],
            )


def on_meta(program: Program, source: Source) -> Iterator[Change]:
    """A tensor or a layer that is made on another device than the rest (meta plays it)."""
    for value in values(source, modules=True):
        _, end = source.span(value)
        yield Change("device", DEVICE, '.to("meta") added', end, end, '.to("meta")')
    for call in [*layers(source), *calls(source, MAKERS)]:
        name = call.func.attr  # type: ignore[attr-defined]
        if any(keyword.arg == "device" for keyword in call.keywords) or not (is_torch(call.func.value) and call.args):  # type: ignore[attr-defined]
            continue
        end = source.span(call)[1] - 1
        yield Change("device", DEVICE, f"{name} made on meta", end, end, ', device="meta"')


def not_moved(program: Program, source: Source) -> Iterator[Change]:
    """`.to(device)` and `device=` left out; a buffer that is a plain attribute."""
    for call in calls(source, ("to",)):
        inner = call.func.value  # type: ignore[attr-defined]
        if "device" in source.code(call):
            yield Change(
                "drop-device",
                DEVICE,
                ".to(device) dropped",
                *source.span(call),
                source.code(inner),
                chain(program, source, call),
                True,
            )
    for call in [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]:
        for index, keyword in enumerate(call.keywords):
            if keyword.arg == "device" and (index or call.args):
                start, end = source.span(keyword)
                start = source.text.rindex(",", 0, start)
                yield Change(
                    "drop-device", DEVICE, "device= dropped", start, end, "", chain(program, source, call), True
                )
    for call in calls(source, ("register_buffer",)):
        text = f"self.{call.args[0].value} = {source.code(call.args[1])}"  # type: ignore[attr-defined]
        uses = {
            (source.name, one.lineno)
            for one in ast.walk(source.tree)
            if isinstance(one, ast.Attribute) and one.attr == call.args[0].value and scope(one) is not scope(call)
        }  # type: ignore[attr-defined]
        yield Change("drop-buffer", DEVICE, "plain attribute for a buffer", *source.span(call), text, frozenset(uses))
