"""The autograd graph: cut before backward, walked twice, or never ended in a scalar."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.inplace import insertion
from mutations.layout import calls, values
from mutations.mutant import Change, Place, places
from mutations.programs import Program, Source
from mutations.uses import chain, losses, statement

AUTOGRAD = ("autograd",)
CUTS = (".detach()", ".data", ".detach().clone()", ".argmax(dim=-1).float()", ".round().long()")


def cuts(program: Program, source: Source) -> Iterator[Change]:
    """`x = f(y)` becomes `x = f(y).detach()`; a scalar loss becomes `.item()`."""
    for value in values(source):
        _, end = source.span(value)
        for text in CUTS:
            yield Change("cut", (*AUTOGRAD, "dtype"), f"{text} added", end, end, text)
        own = statement(value)
        if isinstance(own, ast.Assign) and "loss" in source.code(own.targets[0]):
            yield Change("cut", AUTOGRAD, ".item() added", end, end, ".item()")
            start = source.span(value)[0]
            yield Change("cut", AUTOGRAD, "torch.tensor(...)", start, end, f"torch.tensor({source.code(value)}.item())")


def grad_mode(program: Program, source: Source) -> Iterator[Change]:
    """A statement below `no_grad`, a `forward` that `no_grad` decorates, or gradients switched off."""
    for value in values(source):
        own = statement(value)
        if own.lineno == own.end_lineno and not isinstance(own.parent, ast.ClassDef):  # type: ignore[attr-defined]
            indent = source.indent(own.lineno)
            text = f"with torch.no_grad():\n{indent}    {source.code(own)}"
            yield Change("no-grad", AUTOGRAD, "no_grad around it", *source.span(own), text)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and "torch" in source.text and not node.decorator_list:
            text = f"@torch.no_grad()\n{source.indent(node.lineno)}"
            start = source.span(node)[0]
            yield Change("no-grad", AUTOGRAD, "decorated with no_grad", start, start, text)
    for call in calls(source, ("manual_seed",)):
        line = statement(call).lineno
        yield insertion(source, line, line, "torch.set_grad_enabled(False)", "no-grad", AUTOGRAD)


def frozen(program: Program, source: Source) -> Iterator[Change]:
    """All parameters of a model frozen after it was made; an optimizer without parameters."""
    for call in calls(source, ("parameters",)):
        own = statement(call)
        name = source.code(call.func.value)  # type: ignore[attr-defined]
        if isinstance(own, ast.Assign) and name.isidentifier():
            yield insertion(source, own.lineno - 1, own.lineno, f"{name}.requires_grad_(False)", "frozen", AUTOGRAD)
            text = f"[p for p in {name}.parameters() if p.dim() > 8]"
            yield Change("frozen", (*AUTOGRAD, "api"), "no parameters", *source.span(call), text)


def dropped_detach(program: Program, source: Source) -> Iterator[Change]:
    """`x.detach()` becomes `x`; `with torch.no_grad():` becomes `if True:`."""
    for call in calls(source, ("detach", "item")):
        inner = source.code(call.func.value)  # type: ignore[attr-defined]
        what = f"{call.func.attr} dropped"  # type: ignore[attr-defined]
        yield Change(
            "drop-detach", (*AUTOGRAD, "inplace"), what, *source.span(call), inner, chain(program, source, call), True
        )
    for node in ast.walk(source.tree):
        if isinstance(node, ast.With) and source.code(node.items[0].context_expr) == "torch.no_grad()":
            start = source.span(node)[0]
            also = places(source, range(node.lineno, (node.end_lineno or 0) + 1))
            yield Change(
                "drop-no-grad",
                (*AUTOGRAD, "inplace"),
                "no_grad dropped",
                start,
                start + len("with torch.no_grad():"),
                "if True:",
                also,
            )


def twice(program: Program, source: Source) -> Iterator[Change]:
    """A second `backward`, and a loss or its inputs computed once before the loop."""
    for call in calls(source, ("backward",)):
        own = statement(call)
        yield insertion(source, own.lineno, own.lineno, source.code(own), "second-backward", AUTOGRAD)
    for loop in [node for node in ast.walk(source.tree) if isinstance(node, ast.For)]:
        for own in [one for one in loop.body[:4] if isinstance(one, ast.Assign) and one.lineno == one.end_lineno]:
            start, end = source.starts[loop.lineno - 1], source.starts[own.lineno]
            head = source.text[start : source.starts[own.lineno - 1]]
            text = f"{source.indent(loop.lineno)}{source.code(own)}\n{head}"
            also = chain(program, source, own)
            yield Change("hoisted", (*AUTOGRAD, "inplace"), "computed once before the loop", start, end, text, also)


def not_scalar(program: Program, source: Source) -> Iterator[Change]:
    """`reduction="none"` in a loss."""
    for call in [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]:
        name = getattr(call.func, "attr", "")
        if name.endswith(("Loss", "_loss", "cross_entropy", "nll_loss")) and not any(
            one.arg == "reduction" for one in call.keywords
        ):
            end = source.span(call)[1] - 1
            text = ', reduction="none"' if call.args or call.keywords else 'reduction="none"'
            also = chain(program, source, call) | losses(program) | _called_at(program, source, statement(call))
            yield Change("not-scalar", AUTOGRAD, 'reduction="none"', end, end, text, also)


def _called_at(program: Program, source: Source, own: ast.stmt) -> frozenset[Place]:
    """Where what a statement sets (a criterion) is called."""
    name = source.code(own.targets[0]) if isinstance(own, ast.Assign) else None
    calls_of = ((one, node) for one in program.sources for node in ast.walk(one.tree) if isinstance(node, ast.Call))
    return frozenset((one.name, node.lineno) for one, node in calls_of if one.code(node.func) == name)
