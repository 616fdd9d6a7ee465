"""Edits that read what a function is given and never reads: lengths, a mask, weights of the samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.source import Source, called, loaded
from explainer.training import rewrite
from explainer.training.search.offer import Offer, replacing

#: What a layer may be told of padding by; a mask is True where there is padding, or where there is none.
_MASKS = ("key_padding_mask", "src_key_padding_mask")
_LOSSES = ("cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "nll_loss", "binary_cross_entropy_with_logits",
           "binary_cross_entropy", "huber_loss")  # fmt: skip


def unread(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    """All such edits of the statements that ran."""
    for statement in ran:
        scope = source.scope_at(statement.lineno)
        for name in _never_read(scope, statement):
            found = (offer for node in ast.walk(statement) for offer in _reading(source, node, name))
            yield from (replace(one, reason="unread", about=name) for one in found)


def _reading(source: Source, node: ast.AST, name: str) -> Iterator[Offer]:
    """The edits of one expression that read a name."""
    if isinstance(node, ast.Subscript):
        yield from _own_ends(source, node, name)
    elif isinstance(node, ast.BinOp):
        yield from _ended(source, node, name)
    elif isinstance(node, ast.Call):
        yield from _real_mean(source, node, name)
        yield from _real_entries(source, node, name)
        yield from _told(source, node, name)


def _never_read(scope: Any, statement: ast.stmt) -> list[str]:
    """What a statement's function is given, the targets of loops around it, and what is unpacked: the unread."""
    given = [one.arg for one in ast.walk(scope) if isinstance(one, ast.arg)]
    for loop in ast.walk(scope):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Tuple):
            continue
        if loop.lineno < statement.lineno <= (loop.end_lineno or 0):
            first = int(isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate")  # its number is no value
            given += [one.id for one in loop.target.elts[first:] if isinstance(one, ast.Name)]
    for one in ast.walk(scope):
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Tuple) and one.lineno < statement.lineno:
            given += [part.id for part in one.targets[0].elts if isinstance(part, ast.Name)]
    read = loaded(scope)
    return [name for name in dict.fromkeys(given) if name not in read and not name.startswith("_") and name != "self"]


def _own_ends(source: Source, node: ast.Subscript, name: str) -> Iterator[Offer]:
    """Each row's own last entry in the place of the last of all: `x[torch.arange(len(x)), lengths - 1]`."""
    parts = [source.text(one) for one in node.slice.elts] if isinstance(node.slice, ast.Tuple) else []
    if parts[:2] == [":", "-1"] and isinstance(node.ctx, ast.Load):
        value = source.text(node.value)
        rest = "".join(f", {one}" for one in parts[2:])
        yield replacing(source, node, f"{value}[torch.arange(len({value})), {name} - 1{rest}]", 0.2)


def _real_mean(source: Source, call: ast.Call, name: str) -> Iterator[Offer]:
    """A mean over the real entries of each row alone."""
    dim = rewrite.argument(call, "dim", 0)
    if called(call) != "mean" or not isinstance(call.func, ast.Attribute) or dim is None or source.text(dim) != "1":
        return
    value = rewrite.operand(source, call.func.value)
    real = f"{name}.unsqueeze(-1)"
    yield replacing(source, call, f"({value} * {real}).sum(1) / {real}.sum(1)", 0.3)
    real = f"(torch.arange({value}.shape[1]) < {name}.unsqueeze(1)).unsqueeze(-1)"
    yield replacing(source, call, f"({value} * {real}).sum(1) / {real}.sum(1)", 0.3)


def _real_entries(source: Source, call: ast.Call, name: str) -> Iterator[Offer]:
    """A mean over all entries, of the real ones alone: `x[torch.arange(x.shape[1]) < lengths[:, None]].mean()`."""
    if called(call) == "mean" and isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
        value = rewrite.operand(source, call.func.value)
        real = f"torch.arange({value}.shape[1], device={name}.device) < {name}.unsqueeze(1)"
        yield replacing(source, call, f"{value}[{real}].mean()", 0.3)


def _ended(source: Source, product: ast.BinOp, name: str) -> Iterator[Offer]:
    """A product that counts only where something has not ended: `gamma * value * (1 - done)`."""
    around = source.parent_of(product)
    inner = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mult)
    if isinstance(product.op, ast.Mult) and not inner:
        yield replacing(source, product, f"{source.text(product)} * (1 - {name})", 0.3)
        flags = f"torch.as_tensor({name}, dtype=torch.float32)"  # of a list, or of True and False
        yield replacing(source, product, f"{source.text(product)} * (1 - {flags})", 0.3)


def _told(source: Source, call: ast.Call, name: str) -> Iterator[Offer]:
    """A mask that a layer is told of; weights by which the losses of samples count."""
    if called(call) in _LOSSES and not any(one.arg == "reduction" for one in call.keywords):
        text = source.text(call)
        yield replacing(source, call, f'({text[:-1].rstrip().rstrip(",")}, reduction="none") * {name}).mean()', 0.45)
        return
    own = isinstance(call.func, ast.Attribute) and source.text(call.func).startswith("self.")
    if own and not any(str(one.arg).endswith("mask") for one in call.keywords):
        for keyword in _MASKS:
            for text in (f"~{name}", name):
                edits = rewrite.with_keyword(source, call, keyword, text)
                told = f"{source.text(call.func)}(..., {keyword}={text})"
                yield Offer("replace", source, call, edits, told, 0.5)


def entries(source: Source) -> Iterator[Offer]:
    """`vocab = saved["vocab"]`, where an entry of the name of what is made anew is kept, and never read.

    Of `{"words": vocab.words}` the object is made again as its class does: `vocab = Vocab(saved["words"])`.
    """
    reads = [node for node in source.nodes() if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
             and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)]  # fmt: skip
    read = {node.slice.value for node in reads}  # type: ignore[attr-defined]
    kept = _entries_kept(source)
    owners = {node.value.id for node in reads if node.slice.value in kept}  # type: ignore[attr-defined]
    for one in source.nodes():
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
        if not isinstance(one, ast.Assign) or not name or isinstance(one.value, ast.Constant):
            continue
        for key, value in kept.items() if name in kept or isinstance(one.value, ast.Call) else ():
            form = _made_of(source, name, key, value, one.value) if key not in read else ""
            for owner in owners & _known(source.scope_at(one.lineno)) if form else ():
                new = form.format(f'{owner}["{key}"]')
                yield replace(replacing(source, one.value, new, 0.3), reason="unread", about=new)


def _entries_kept(source: Source) -> dict[str, ast.expr]:
    """The entries of the dicts that a file makes, under names."""
    kept = {key.value: value for node in source.nodes() if isinstance(node, ast.Dict)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)}  # fmt: skip
    calls = [node for node in source.nodes() if isinstance(node, ast.Call) and called(node) == "dict"]
    return kept | {word.arg: word.value for node in calls for word in node.keywords if word.arg}


def _made_of(source: Source, name: str, key: str, value: ast.expr, made: ast.expr) -> str:
    """The form of what gives a name its value again, of the entry that was kept of it; empty where none does."""
    if name == key:
        return "{}"
    part = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == name
    maker = source.text(made.func).split(".") if isinstance(made, ast.Call) else []
    capital = [one for one in maker if one[:1].isupper()]
    return f"{capital[-1]}({{}})" if part and capital else ""


def _known(scope: Any) -> set[str]:
    """The names that a function is given, or reads."""
    return loaded(scope) | {one.arg for one in ast.walk(scope) if isinstance(one, ast.arg)}
