"""The edit that leaves one tensor of a batch where it is while the others are moved."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.methods import delete_method
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place


def leave_unmoved(at: Place, part: int = -1, key: str = "") -> tuple[Edit, ...]:
    """`x.to(device)` -> `x`; of a batch that is moved whole, only the others: those without this part or key."""
    node = at.node
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and part >= 0:
        return _of_list(at, node, part)
    if isinstance(node, ast.DictComp) and key:
        return _of_dict(at, node, key)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda"):
        return delete_method(at)
    if isinstance(node, ast.Call) and node.args:
        return _of_helper(at, node, part, key)
    raise EditError("what moves it cannot leave it out")


def _of_list(at: Place, node: ast.ListComp | ast.GeneratorExp, part: int) -> tuple[Edit, ...]:
    """`[t.to(d) for t in batch]` -> `[t if at == 1 else t.to(d) for at, t in enumerate(batch)]`."""
    loop, text = node.generators[0], at.source.text
    if len(node.generators) > 1 or not isinstance(loop.target, ast.Name):
        raise EditError("no plain comprehension")
    name = loop.target.id
    chosen = f"{name} if at == {part} else {text(node.elt)}"
    spans = [(node.elt, chosen), (loop.target, f"at, {name}"), (loop.iter, f"enumerate({text(loop.iter)})")]
    return changed(at.source, [(at.source.span(one), new) for one, new in spans])


def _of_dict(at: Place, node: ast.DictComp, key: str) -> tuple[Edit, ...]:
    target = node.generators[0].target
    if not isinstance(target, ast.Tuple) or not isinstance(target.elts[1], ast.Name):
        raise EditError("no plain comprehension")
    name, value = (at.source.text(one) for one in target.elts)
    moved = at.source.text(node.value)
    return changed(at.source, [(at.source.span(node.value), f'{value} if {name} == "{key}" else {moved}')])


def _of_helper(at: Place, node: ast.Call, part: int, key: str) -> tuple[Edit, ...]:
    """`a, n, b = move(batch)`: `n = batch[1]` behind it; `batch = move(batch)`: the entry put back."""
    batch, statement = at.source.text(node.args[0]), at.statement()
    targets = statement.node.targets if isinstance(statement.node, ast.Assign) else []
    if len(targets) != 1 or not isinstance(node.args[0], ast.Name):
        raise EditError("the batch has no name")
    if key:
        return changed(at.source, [(at.span, f'{{**{at.text}, "{key}": {batch}["{key}"]}}')])
    if part >= 0 and isinstance(targets[0], ast.Tuple) and part < len(targets[0].elts):
        return insert_statement(f"{at.source.text(targets[0].elts[part])} = {batch}[{part}]", after=statement)
    if part >= 0:
        new = f"[old if at == {part} else new for at, (old, new) in enumerate(zip({batch}, {at.text}))]"
        return changed(at.source, [(at.span, new)])
    raise EditError("which part has to stay is unknown")
