"""Edits where gradients are read in the wrong place: `autograd.grad` returns them, backward keeps them."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import walked


def zip_gradients(at: Place, name: str) -> tuple[Edit, ...]:
    """`for p in ps: p -= lr * p.grad` -> `for p, p_grad in zip(ps, grads): p -= lr * p_grad`."""
    loop = at.statement().node
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        raise EditError("no loop over single values stands here")
    one = loop.target.id
    reads = [node for body in loop.body for node in walked(body) if isinstance(node, ast.Attribute)]
    reads = [node for node in reads if node.attr == "grad" and getattr(node.value, "id", "") == one]
    head = [(at.source.span(loop.target), f"{one}, {one}_grad")]
    head.append((at.source.span(loop.iter), f"zip({at.source.text(loop.iter)}, {name})"))
    return changed(at.source, [*head, *((at.source.span(node), f"{one}_grad") for node in reads)])


def as_backward(at: Place, loss: str) -> tuple[Edit, ...]:
    """`grads = torch.autograd.grad(loss, ...)` -> `loss.backward()`, which keeps gradients in the tensors."""
    statement = at.statement()
    return changed(at.source, [(statement.span, f"{loss}.backward()")])
