"""What goes into calls and functions: arguments exchanged, sizes, other names, defaults, settings, steps left out."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from mutations.layout import is_torch
from mutations.mutant import Change, Place
from mutations.programs import Program, Source
from mutations.sizes import SHAPE
from mutations.uses import chain, scope, statement

RESHAPES = ("view", "reshape", "expand", "repeat", "zeros", "ones", "randn", "empty", "new_zeros", "split", "chunk")
FAMILY = (*SHAPE, "index", "api", "unsupported", "dtype")
_PLAIN = (ast.Name, ast.Attribute, ast.Constant)


def sizes(program: Program, source: Source) -> Iterator[Change]:
    """Another whole number for one among a call's arguments, in a constructor or where the program builds its model."""
    for call in _calls(source):
        if not _builds(call) or _method(call) in RESHAPES:
            continue
        for value in [*call.args, *(one.value for one in call.keywords if one.arg not in ("dim", "p"))]:
            for one in ast.walk(value) if isinstance(value, (ast.Constant, ast.List, ast.Tuple, ast.BinOp)) else ():
                if isinstance(one, ast.Constant) and type(one.value) is int and one.value > 0:
                    for number in (one.value + 1, one.value * 2, max(one.value // 2, 1)):
                        if number != one.value:
                            yield _put("size", source, one, str(number), f"{one.value} became {number}")


def reshapes(program: Program, source: Source) -> Iterator[Change]:
    """Another size in `view`, `reshape`, `expand`: two exchanged, one changed, one left out."""
    for call in _calls(source):
        if _method(call) not in RESHAPES or not call.args:
            continue
        also = chain(program, source, call)
        for one, other in zip(call.args, call.args[1:], strict=False):
            text = f"{source.code(other)}, {source.code(one)}"
            if source.code(one) != source.code(other):
                start, end = source.span(one)[0], source.span(other)[1]
                yield Change("reshape", FAMILY, "sizes exchanged", start, end, text, also)
        for one in call.args:
            if isinstance(one, _PLAIN) and source.code(one) not in ("-1", "1"):
                for text in (f"{source.code(one)} + 1", f"2 * {source.code(one)}"):
                    yield Change("reshape", FAMILY, f"{text} for a size", *source.span(one), text, also)


def swapped_arguments(program: Program, source: Source) -> Iterator[Change]:
    """Two arguments of a call exchanged, by position or by keyword."""
    for call in _calls(source):
        if _method(call) in RESHAPES or _method(call) in ("print", "isinstance", "range", "cat", "stack"):
            continue
        for one, other in zip(call.args, call.args[1:], strict=False):
            if _exchangeable(one) and _exchangeable(other) and source.code(one) != source.code(other):
                text = (
                    f"{source.code(other)}{source.text[source.span(one)[1] : source.span(other)[0]]}{source.code(one)}"
                )
                start, end = source.span(one)[0], source.span(other)[1]
                yield Change("swapped", FAMILY, "arguments exchanged", start, end, text, _definition(program, call))
        for first, second in zip(call.keywords, call.keywords[1:], strict=False):
            if first.arg and second.arg and isinstance(first.value, _PLAIN) and isinstance(second.value, _PLAIN):
                between = source.text[source.span(first.value)[1] : source.span(second.value)[0]]
                text = f"{source.code(second.value)}{between}{source.code(first.value)}"
                start, end = source.span(first.value)[0], source.span(second.value)[1]
                yield Change("swapped", FAMILY, f"{first.arg}, {second.arg} exchanged", start, end, text)


def other_names(program: Program, source: Source) -> Iterator[Change]:
    """Another parameter of the same function where one is an argument in a constructor: `dim` for `inner_dim`."""
    for call in _calls(source):
        around = scope(call)
        if not isinstance(around, ast.FunctionDef) or around.name != "__init__":
            continue
        known = [one.arg for one in (*around.args.args, *around.args.kwonlyargs)][1:]
        for one in [*call.args, *(one.value for one in call.keywords)]:
            if isinstance(one, ast.Name) and one.id in known:
                at = known.index(one.id)
                for name in known[max(at - 1, 0) : at] + known[at + 1 : at + 2]:
                    yield _put("name", source, one, name, f"{one.id} became {name}")


def defaults(program: Program, source: Source) -> Iterator[Change]:
    """Another default of a parameter: a number that is larger, a switch that is the other way."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for one in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            if isinstance(one, ast.Constant) and type(one.value) in (int, bool):
                texts = [str(not one.value)] if type(one.value) is bool else [str(one.value + 1), str(one.value * 2)]
                for text in texts:
                    also = frozenset(_called(program, node))
                    yield Change("default", FAMILY, f"{one.value} became {text}", *source.span(one), text, also)


def settings(program: Program, source: Source) -> Iterator[Change]:
    """A setting that the program gives its model: another number, another key's value, one left out."""
    if source.name != "main.py":
        return
    for call in _calls(source):
        pairs = [one for one in call.keywords if one.arg] if _method(call) == "dict" or _builds(call) else []
        for one in pairs:
            yield from _setting(source, one.value, str(one.arg))
        for one in pairs[1:]:
            start, end = source.span(one)
            start = source.text.rindex(",", 0, start)
            yield Change("setting", FAMILY, f"{one.arg} left out", start, end, "")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield from _setting(source, value, source.code(key) if key else "**")


def _setting(source: Source, value: ast.expr, name: str) -> Iterator[Change]:
    for one in ast.walk(value):
        if isinstance(one, ast.Constant) and type(one.value) is int:
            for number in (one.value + 1, one.value * 2, one.value - 1):
                yield _put("setting", source, one, str(number), f"{name}: {one.value} became {number}")


def slices(program: Program, source: Source) -> Iterator[Change]:
    """Bounds of a slice: one more, another dimension, `None` at another place."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not any(isinstance(one, ast.Slice) or source.code(one) in ("None", "...") for one in parts):
            continue
        also = chain(program, source, node)
        codes = [source.code(one) for one in parts]
        start, end = source.span(parts[0])[0], source.span(parts[-1])[1]
        texts = {", ".join(codes[1:] + codes[:1]), ", ".join([":", *codes]), ", ".join(codes[1:] or ["0"])}
        for index, one in enumerate(parts):
            for bound in _bounds(source, one):
                texts.add(", ".join((*codes[:index], bound, *codes[index + 1 :])))
        for text in sorted(texts - {", ".join(codes)}):
            yield Change("slice", FAMILY, f"[{', '.join(codes)}] became [{text}]", start, end, text, also)


def _bounds(source: Source, one: ast.expr) -> Iterator[str]:
    if isinstance(one, ast.Slice) and one.step is None:
        lower = source.code(one.lower) if one.lower else ""
        upper = source.code(one.upper) if one.upper else ""
        yield f"{lower or 0} + 1:{upper}"
        yield f"{lower}:{upper} - 1" if upper else f"{lower}:-1"
        if lower or upper:
            yield f"{upper}:{lower}"


def left_out(program: Program, source: Source) -> Iterator[Change]:
    """A projection or another step left out: `self.to_out(x)` becomes `x`; one layer of a `Sequential`."""
    for call in _calls(source):
        also = chain(program, source, call)
        layer = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
        if (
            layer
            and call.func.value.id == "self"
            and call.args
            and isinstance(statement(call), (ast.Assign, ast.Return))
        ):  # type: ignore[attr-defined]
            text = source.code(call.args[0])
            yield Change("left-out", FAMILY, f"{source.code(call.func)} left out", *source.span(call), text, also, True)
        if _method(call) == "Sequential" and len(call.args) > 1:
            for one, after in zip(call.args, call.args[1:], strict=False):
                start, end = source.span(one)[0], source.span(after)[0]
                also_here = frozenset({(source.name, one.lineno), (source.name, after.lineno)})
                yield Change("left-out", FAMILY, f"{source.code(one)[:30]} left out", start, end, "", also_here, True)
        if (
            _method(call) in ("cat", "stack", "concat")
            and call.args
            and isinstance(call.args[0], (ast.Tuple, ast.List))
        ):
            parts = call.args[0].elts
            for one, after in itertools.pairwise(parts):
                start, end = source.span(one)[0], source.span(after)[0]
                yield Change("left-out", FAMILY, f"{source.code(one)[:30]} left out", start, end, "", also, True)


def _calls(source: Source) -> Iterator[ast.Call]:
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))


def _method(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _builds(call: ast.Call) -> bool:
    """Whether a call makes an object (of a class, as far as its name tells) or reads like a factory of layers."""
    return _method(call)[:1].isupper() or (is_torch(getattr(call.func, "value", call)) and _method(call) in RESHAPES)


def _exchangeable(node: ast.expr) -> bool:
    return isinstance(node, _PLAIN) and not isinstance(getattr(node, "value", None), str)


def _definition(program: Program, call: ast.Call) -> frozenset[Place]:
    """Where a function of that name is defined: its parameters may be exchanged as well."""
    return frozenset(
        (one.name, node.lineno)
        for one in program.sources
        for node in ast.walk(one.tree)
        if isinstance(node, ast.FunctionDef) and node.name == _method(call)
    )


def _called(program: Program, node: ast.FunctionDef) -> Iterator[Place]:
    owner = getattr(node, "parent", None)
    name = owner.name if node.name == "__init__" and isinstance(owner, ast.ClassDef) else node.name
    for one in program.sources:
        for call in _calls(one):
            if _method(call) == name:
                yield one.name, call.lineno


def _put(kind: str, source: Source, node: ast.expr, text: str, what: str) -> Change:
    return Change(kind, FAMILY, what, *source.span(node), text)
