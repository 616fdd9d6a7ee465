"""Edits of whole statements and of settings: one left out, moved, run always; a keyword, a layer, a guard left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from explainer.edits.lines import EditError, indentation, relined
from explainer.source import Source, called, loaded, stored, with_arguments
from explainer.training import hoisting, rewrite
from explainer.training.kinds.optimizers import built
from explainer.training.kinds.strength import setting
from explainer.training.search.expressions import dimensions, siblings
from explainer.training.search.offer import Offer, leaving_out, replacing
from explainer.training.search.places import LEARNING, draws, training_loops
from explainer.training.sources import program_sources

#: Calls that are left as they are: without them nothing is learned, or nothing but what is shown changes.
_KEPT = ("backward", "step", "zero_grad", "print", "append", "write", "info", "update", "set_postfix", "add_scalar",
         "extend", "manual_seed", "seed", "main", "train", "fit", "run")  # fmt: skip
#: Calls whose order is seen as it is.
_ORDERED = ("backward", "zero_grad", "clip_grad_norm_", "clip_grad_value_")
_ORDERS = ("randperm", "permutation", "shuffle", "sort", "argsort", "permuted", "roll", "flip")
_STARTS = ("normal_", "uniform_", "zeros_", "ones_", "constant_", "fill_", "zero_", "mul_", "trunc_normal_", "copy_",
           "orthogonal_", "requires_grad_", "kaiming_normal_", "xavier_uniform_", "div_", "eye_")  # fmt: skip
#: Keywords that are forgotten, with what takes them.
_ADDED = {
    "batch_first": ("LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"),
    "shuffle": ("DataLoader",),
}
_ACTIVATIONS = ("ReLU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Softplus", "Hardtanh", "ReLU6", "GELU", "ELU")


def left_out(source: Source, statement: ast.stmt) -> Iterator[Offer]:
    """A statement that ran, where all names it gives are there without it."""
    names = {called(node) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    if isinstance(statement, ast.Assign):
        parts = any(isinstance(one, ast.Subscript) for one in statement.targets)
        if parts or (stored(statement) and stored(statement) <= loaded(statement)):
            own = isinstance(statement.value, ast.Call) and source.text(statement.value.func).startswith("self.")
            yield replace(leaving_out(source, statement, 0.3 if parts else 0.7), makeshift=own)
    elif isinstance(statement, ast.AugAssign):
        yield leaving_out(source, statement, 1.0)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and not names & set(_KEPT):
        yield leaving_out(source, statement, 0.6)


def turned_sign(source: Source, statement: ast.stmt) -> Iterator[Offer]:
    """A loss with the other sign; weights that are moved by hand to the other side."""
    losses = {source.text(node.func.value) for node in source.nodes() if isinstance(node, ast.Call)
              and called(node) == "backward" and isinstance(node.func, ast.Attribute)}  # fmt: skip
    if isinstance(statement, ast.Assign) and source.text(statement.targets[0]) in losses:
        yield replacing(source, statement.value, f"-({source.text(statement.value)})", 0.8)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        sign = "-" if isinstance(statement.op, ast.Add) else "+"
        text = f"{source.text(statement.target)} {sign}= {source.text(statement.value)}"
        yield replacing(source, statement, text, 0.8)


def drawn_once(source: Source) -> Iterator[Offer]:
    """What a function draws at every call, of nothing that it is given, drawn once before it."""
    names = [called(node) for node in source.nodes() if isinstance(node, ast.Call)]
    for node in source.tree.body if source.tree is not None else ():
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or names.count(node.name) < 2:
            continue
        own = stored(node) | {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        for one in node.body:
            if isinstance(one, ast.Assign) and draws(one) and not loaded(one) & own:
                yield Offer("move", source, one, rewrite.moved(source, one, node, False), source.text(one), 0.4)


def of_loops(watcher: Any) -> Iterator[Offer]:
    """The statements of the loops that train: left out, moved past backward or step, behind their loop, run always."""
    for source, loop in training_loops(watcher):
        for one in loop.body:
            if isinstance(one, ast.If):
                yield from _guarded(source, one)
            name = called(one.value) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) else ""
            if not name or name in ("print", "append"):
                continue
            if name not in _KEPT or (name == "step" and not _of_optimizer(watcher, source, one)):
                yield leaving_out(source, one, 0.6)
            if name not in _ORDERED and not (name == "step" and _of_optimizer(watcher, source, one)):
                yield from _moved(source, loop, one)


def _of_optimizer(watcher: Any, source: Source, statement: Any) -> bool:
    owner = source.text(statement.value.func).rpartition(".")[0]
    return any(one.name == owner for one in watcher.notes.optimizers)


def _moved(source: Source, loop: Any, one: ast.stmt) -> Iterator[Offer]:
    text = source.text(one)
    put = rewrite.after(source, loop, text)
    yield Offer("move", source, one, rewrite.together(source, rewrite.without(source, one), put), text, 0.9)
    for other in loop.body:
        if isinstance(other, (ast.For, ast.While)) and hoisting.trains(source, other):
            inside = rewrite.together(source, rewrite.without(source, one), rewrite.after(source, other.body[-1], text))
            yield Offer("move", source, one, inside, text, 0.7)
        inner = {called(node) for node in ast.walk(other) if isinstance(node, ast.Call)}
        if other is one or not inner & {"backward", "step"} or not isinstance(other, ast.Expr):
            continue
        behind = other.lineno > one.lineno
        yield Offer("move", source, one, rewrite.moved(source, one, other, behind), text, 0.8)


def _guarded(source: Source, guard: ast.If) -> Iterator[Offer]:
    """What a condition guards, always; a jump out of the loop left out."""
    for one in guard.body:
        if isinstance(one, (ast.Break, ast.Continue, ast.Return)):
            yield leaving_out(source, one, 0.7)
    names = {called(node) for one in guard.body for node in ast.walk(one) if isinstance(node, ast.Call)}
    if guard.orelse or not names & {"step", "zero_grad", "update", "train", "eval", "load_state_dict"}:
        return
    space, inner = indentation(source, guard.lineno), indentation(source, guard.body[0].lineno)
    first, last = guard.body[0].lineno, guard.end_lineno or guard.lineno
    lines = [source.line(number) for number in range(first, last + 1)]
    text = "\n".join(space + line[len(inner) :] if line.startswith(inner) else line for line in lines)
    try:
        yield Offer("replace", source, guard, relined(source, guard.lineno, last, text), text.strip(), 0.8)
    except EditError:
        return


def settings(source: Source, call: ast.Call) -> Iterator[Offer]:
    """A keyword of what torch builds left out, so that the default holds; an activation of a row of layers."""
    name = called(call)
    known = any(hasattr(owner, name) for owner in (torch.nn, torch.optim, torch.optim.lr_scheduler, torch.utils.data))
    if not name[:1].isupper() or not known:
        return
    for keyword in call.keywords:
        try:
            value = ast.literal_eval(keyword.value)
        except (ValueError, SyntaxError):
            continue
        if keyword.arg and keyword.arg != "lr" and value is not None:
            new = with_arguments(source, call, [one for one in (*call.args, *call.keywords) if one is not keyword])
            yield replacing(source, call, new, 0.7 if hasattr(torch.optim, name) else 0.9)
    given = {keyword.arg for keyword in call.keywords}
    for added, names in _ADDED.items():
        if name in names and added not in given and None not in given:
            yield Offer("replace", source, call, rewrite.with_keyword(source, call, added, "True"),
                        f"{name}(..., {added}=True)", 0.5)  # fmt: skip
    if name == "Sequential" and len(call.args) > 2:
        for at, one in enumerate(call.args):
            if isinstance(one, ast.Call) and called(one) in _ACTIVATIONS:
                cost = 0.5 if at == len(call.args) - 1 else 1.3
                prefix = source.text(one.func).rpartition(".")[0]
                passed = replacing(source, one, f"{prefix}.Identity()" if prefix else "nn.Identity()", cost)
                yield replace(passed, makeshift=at < len(call.args) - 1)


def beforehand(source: Source) -> Iterator[Offer]:
    """Statements before the training that give weights their start, freeze them, or put data in another order."""
    for node in source.nodes():
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = called(node.value)
            if name in _STARTS or name in ("shuffle", "load_state_dict", "eval", "half", "bfloat16", "apply"):
                yield leaving_out(source, node, 0.8)
        elif isinstance(node, ast.Assign):
            names = {called(one) for one in ast.walk(node.value) if isinstance(one, ast.Call)}
            frozen = any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in node.targets)
            if frozen or (names & set(_ORDERS) and stored(node) and stored(node) <= loaded(node)):
                yield leaving_out(source, node, 0.6)


def learning_rates(watcher: Any) -> Iterator[Offer]:
    """The rate of each optimizer by powers of ten."""
    for one in watcher.notes.optimizers:
        written = setting(built(one), "lr", one.site) if one.site and one.steps > 8 else None
        number = written[1] if written is not None else None
        if written is None or not isinstance(number, ast.Constant) or not isinstance(number.value, (int, float)):
            continue
        for factor, cost in ((10, 0.5), (0.1, 0.5), (100, 0.9), (0.01, 0.9)):
            value = f"{factor * number.value:g}"
            edits = rewrite.replaced(written[0], number, value)
            old = f"lr={written[0].text(number)}"
            yield Offer("replace", written[0], number, edits, f"lr={value}", cost, old, makeshift=True)


def constants(watcher: Any) -> Iterator[Offer]:
    """Numbers with a name that nothing reads but what trains: ten times as large, a tenth, what is left to 1."""
    phases: dict[tuple[str, int], int] = {}
    for (_, line), (code, phase) in watcher.ran.items():
        phases[code.co_filename, line] = phases.get((code.co_filename, line), 0) | phase
    for source in program_sources(watcher):
        read_at: dict[str, list[int]] = {}
        for one in source.nodes():
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                read_at.setdefault(one.id, []).append(one.lineno)
        for node in source.nodes():
            value = node.value if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
            if not isinstance(value, ast.Constant) or type(value.value) is not float:
                continue
            reads = [line for name in stored(node) for line in read_at.get(name, ())]
            drawn = any(draws(own) for line in reads if (own := source.statement_at(line)) is not None)
            if not reads or drawn or any(phases.get((source.file, line)) != LEARNING for line in reads):
                continue
            others = [(10 * value.value, 1.0), (value.value / 10, 1.0)]
            others += [(1 - value.value, 0.8)] if 0 < value.value < 1 else []
            for new, cost in others:
                edits = rewrite.replaced(source, value, f"{new:g}")
                text = source.text(node)
                yield Offer("replace", source, value, edits, f"{text[: -len(source.text(value))]}{new:g}", cost, text)


def turned_loops(source: Source) -> Iterator[Offer]:
    """A loop that carries a value on, from the other end: returns that are summed up in the order of time."""
    for loop in source.nodes():
        if not isinstance(loop, ast.For) or not isinstance(loop.target, (ast.Name, ast.Tuple)):
            continue
        carried = any(isinstance(one, ast.Assign) and stored(one) & loaded(one.value) for one in loop.body)
        grown = [source.text(one.value.func.value) for one in loop.body if isinstance(one, ast.Expr)
                 and isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Attribute)
                 and one.value.func.attr == "append"]  # fmt: skip
        if carried and not grown and isinstance(loop.iter, ast.Call) and called(loop.iter) == "range":
            if any(_at_turn(one, loop.target) for one in loop.body):
                new = f"reversed({source.text(loop.iter)})"
                yield Offer("replace", source, loop.iter, rewrite.replaced(source, loop.iter, new), new, 0.25)
            continue
        if not carried or len(grown) != 1:
            continue
        text, (name,) = source.text(loop.iter), grown
        back = rewrite.after(source, loop, f"{name}.reverse()")
        if isinstance(loop.iter, ast.Call) and called(loop.iter) == "reversed":
            yield Offer("replace", source, loop.iter, back, f"{name}.reverse()", 0.5)
            continue
        new = f"reversed(list({text}))" if isinstance(loop.iter, ast.Call) else f"reversed({text})"
        edits = rewrite.together(source, rewrite.replaced(source, loop.iter, new), back)
        yield Offer("replace", source, loop.iter, edits, new, 0.25)


def _at_turn(statement: ast.stmt, counter: ast.expr) -> bool:
    """Whether a statement writes to the entry of its turn: `returns[t] = running`."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return isinstance(target, ast.Subscript) and ast.unparse(target.slice) == ast.unparse(counter)


def of_data(source: Source, ran: set[int]) -> Iterator[Offer]:
    """Other dimensions, and other orders of them, in what makes the data, before the training."""
    for node in source.nodes():
        if isinstance(node, (ast.Assign, ast.Return)) and node.lineno not in ran:
            for one in ast.walk(node):
                if isinstance(one, ast.Call):
                    views = siblings(source, one) if called(one) in ("view", "reshape") else ()
                    yield from (replace(offer, cost=offer.cost - 0.3) for offer in views)
                    yield from (replace(offer, cost=offer.cost + 0.3) for offer in dimensions(source, one))
