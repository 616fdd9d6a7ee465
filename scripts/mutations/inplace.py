"""Writes in place: into a value that backward needs, into a leaf, into weights between forward and backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.layout import calls, is_torch, values
from mutations.mutant import Change
from mutations.programs import Program, Source
from mutations.uses import scope, statement

INPLACE = ("inplace", "autograd")
OPERATORS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}
TWINS = ("relu", "sigmoid", "tanh", "clamp", "masked_fill", "exp", "sqrt", "log", "mul", "add", "leaky_relu", "dropout")
WRITES = ("{0}.add_(1)", "{0} *= 0.5", "{0}[0] = 0.0", "{0}.clamp_(min=-1)", "{0}.zero_()")


def augmented(program: Program, source: Source) -> Iterator[Change]:
    """`x = x + y` becomes `x += y`."""
    for node in ast.walk(source.tree):
        if not (
            isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.targets[0], ast.Name)
        ):
            continue
        name, value = node.targets[0].id, node.value
        if type(value.op) in OPERATORS and source.code(value.left) == name:
            text = f"{name} {OPERATORS[type(value.op)]} {source.code(value.right)}"
            yield Change("inplace-op", INPLACE, text, *source.span(node), text)


def twins(program: Program, source: Source) -> Iterator[Change]:
    """`torch.relu(x)` becomes `torch.relu_(x)`, `nn.ReLU()` becomes `nn.ReLU(inplace=True)`."""
    for call in calls(source, TWINS):
        end = source.span(call.func)[1]
        yield Change("inplace-twin", INPLACE, f"{call.func.attr}_", end, end, "_")  # type: ignore[attr-defined]
    for call in calls(source, ("ReLU", "GELU", "LeakyReLU", "Sigmoid", "Dropout", "SiLU", "ELU")):
        end = source.span(call)[1] - 1
        text = ", inplace=True" if call.args else "inplace=True"
        if call.func.attr not in ("GELU", "Sigmoid"):  # type: ignore[attr-defined]
            yield Change("inplace-flag", INPLACE, "inplace=True", end, end, text)


def inserted(program: Program, source: Source) -> Iterator[Change]:
    """A write into a value in the line after the one that made it."""
    tensors = [value for value in values(source) if isinstance(value, ast.Call)]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.value in tensors:
            name = node.targets[0].id
            for write in WRITES:
                yield insertion(source, node.end_lineno or 0, node.lineno, write.format(name), "inplace-write", INPLACE)


def weights(program: Program, source: Source) -> Iterator[Change]:
    """Parameters changed between forward and backward, or outside `no_grad`."""
    for call in calls(source, ("backward",)):
        line = statement(call).lineno
        for name in sorted(_models(source)):
            loop = f"for weight in {name}.parameters():"
            indent = source.indent(line)
            safe = f"with torch.no_grad():\n{indent}    {loop}\n{indent}        weight.mul_(0.9)"
            yield insertion(source, line - 1, line, safe, "inplace-weights", INPLACE)
            yield insertion(source, line, line, f"{loop}\n{indent}    weight.add_(0.1)", "inplace-leaf", INPLACE)


def stepped(program: Program, source: Source) -> Iterator[Change]:
    """`optimizer.step()` moved up before the statement in front of it (mostly `loss.backward()`)."""
    for call in calls(source, ("step", "zero_grad")):
        own = statement(call)
        body = next((body for body in _bodies(own.parent) if own in body), [])  # type: ignore[attr-defined]
        index = body.index(own) if own in body else 0
        for back in (1, 2, 3):
            if index >= back:
                start = source.span(body[index - back])[0]
                end = source.span(own)[1]
                middle = source.text[start : source.span(body[index - 1])[1]]
                text = f"{source.code(own)}\n{source.indent(own.lineno)}{middle}"
                yield Change("step-early", (*INPLACE, "nan"), "step moved up", start, end, text)


def insertion(source: Source, after: int, like: int, text: str, kind: str, family: tuple[str, ...]) -> Change:
    """A new line after line `after`, indented as line `like`."""
    at = source.starts[after]
    return Change(kind, family, text.splitlines()[0], at, at, f"{source.indent(like)}{text}\n")


def _models(source: Source) -> set[str]:
    return {
        source.code(call.func.value)  # type: ignore[attr-defined]
        for call in calls(source, ("parameters",))
        if not is_torch(call.func.value) and isinstance(scope(call), ast.Module)  # type: ignore[attr-defined]
    }


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if isinstance(body := getattr(node, name, None), list):
            yield body
