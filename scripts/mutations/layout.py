"""Layouts: a step that reshapes is missing, is one too many, or names another dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.mutant import Change
from mutations.programs import Program, Source
from mutations.uses import chain, losses

SHAPE = ("shape", "view", "index", "dataloader")
STEPS = (
    "flatten",
    "unsqueeze",
    "squeeze",
    "transpose",
    "permute",
    "contiguous",
    "view",
    "reshape",
    "view_as",
    "t",
    "chunk",
    "expand",
    "mean",
    "sum",
)
EXTRA = (".unsqueeze(0)", ".squeeze(0)", ".flatten()", ".transpose(0, 1)", ".t()", ".mean(dim=-1)")


def dropped(program: Program, source: Source) -> Iterator[Change]:
    """`x.flatten(1)` and `torch.flatten(x, 1)` become `x`."""
    for call in calls(source, STEPS):
        owner = call.func.value  # type: ignore[attr-defined]
        inner = call.args[0] if is_torch(owner) and call.args else owner
        if is_torch(inner):
            continue
        start, end = source.span(call)
        what = f"{call.func.attr} dropped"  # type: ignore[attr-defined]
        yield Change(
            f"drop-{_group(call)}",
            _families(call),
            what,
            start,
            end,
            source.code(inner),
            chain(program, source, call) | (losses(program) if _group(call) == "reduction" else frozenset()),
            True,
        )


def doubled(program: Program, source: Source) -> Iterator[Change]:
    """`x = f(y)` becomes `x = f(y).unsqueeze(0)`, and the like."""
    for value in values(source):
        _, end = source.span(value)
        for text in EXTRA:
            yield Change("add-layout", SHAPE, f"{text} added", end, end, text)


def dimensions(program: Program, source: Source) -> Iterator[Change]:
    """Another dimension for `dim=1`, or for one of a transpose or permute."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.keyword) and node.arg == "dim" and isinstance(node.value, ast.Constant):
            numbers: list[ast.expr] = [node.value]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in (
            "transpose",
            "permute",
            "unsqueeze",
            "argmax",
            "squeeze",
            "flatten",
        ):
            numbers = list(node.args)
        else:
            continue
        for one in numbers:
            if isinstance(one, ast.Constant) and type(one.value) is int:
                for value in (one.value + 1, one.value + 3):
                    yield Change("dim", SHAPE, f"dimension {one.value} became {value}", *source.span(one), str(value))


def joined(program: Program, source: Source) -> Iterator[Change]:
    """`cat` for `stack`, `stack` for `cat`, `view` for `reshape`, `@` operands swapped."""
    for call in calls(source, ("cat", "stack", "reshape")):
        name = call.func.attr  # type: ignore[attr-defined]
        other = {"cat": "stack", "stack": "cat", "reshape": "view"}[name]
        end = source.span(call.func)[1]
        if name != "reshape" or not is_torch(call.func.value):  # type: ignore[attr-defined]
            yield Change("join", SHAPE, f"{name} became {other}", end - len(name), end, other)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            text = f"({source.code(node.right)}) @ ({source.code(node.left)})"
            yield Change("join", SHAPE, "operands of @ swapped", *source.span(node), text)


def calls(source: Source, names: tuple[str, ...]) -> Iterator[ast.Call]:
    """The calls `anything.name(...)` of these names."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
            yield node


def values(source: Source, modules: bool = False) -> Iterator[ast.expr]:
    """What one-line assignments `name = call or index or name` set and functions return; `modules`: layers too."""
    for node in ast.walk(source.tree):
        single = (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], (ast.Name, ast.Attribute))
        )
        if single or isinstance(node, ast.Return):
            value = node.value
            shown = isinstance(value, (ast.Call, ast.Subscript, ast.Name)) and value.lineno == value.end_lineno
            if shown and (modules or not _made(source, value)):
                yield value


def _made(source: Source, value: ast.expr) -> bool:
    """Whether this makes an object or a file, not a tensor, as far as names tell."""
    name = source.code(value.func if isinstance(value, ast.Call) else value).rpartition(".")[2]
    if name in ("BytesIO", "load", "build", "len", "dict", "list", "partial") or "layers" in source.code(value):
        return True
    return isinstance(value, ast.Call) and name[:1].isupper()


def is_torch(node: ast.AST) -> bool:
    """Whether this is `torch`, `F` or `np`, not a value."""
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "nn", "np", "functional", "math")


def _families(call: ast.Call) -> tuple[str, ...]:
    return (*SHAPE, "autograd", "api", "unsupported", "dtype") if _group(call) == "reduction" else (*SHAPE, "autograd")


def _group(call: ast.Call) -> str:
    name = call.func.attr  # type: ignore[attr-defined]
    return "contiguous" if name == "contiguous" else "reduction" if name in ("mean", "sum") else "layout"
