"""What a call or a block does to more than its result: a model changed in place, all that is built in a block."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.lines import indentation
from explainer.repair.atoms.common import calls, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

#: Methods by which a module changes where its tensors lie, or their dtypes.
_MOVES, _CASTS = ("to", "cpu", "cuda"), ("to", "half", "bfloat16", "float", "double")
#: What decides where the tensors lie that are made in its block.
_DEVICES = ("device",)


def copied(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`model.to("meta")` -> `copy.deepcopy(model).to("meta")`: who gave the model goes on with it."""
    if spot.role not in ("slice", "crash", "caller"):
        return
    names = _MOVES if evidence.apart else _CASTS
    for node in calls(spot):
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in names:
            continue
        owner = node.func.value
        if isinstance(owner, (ast.Name, ast.Attribute)) and text(spot, owner) not in _given_to(spot, node):
            yield Offer("copied", spot, owner, f"copy.deepcopy({text(spot, owner)})", "copy")


def _given_to(spot: Spot, node: ast.AST) -> set[str]:
    """The names that the statement around a node gives its value: what it changes there is meant to be changed."""
    around: ast.AST | None = node
    while isinstance(around, ast.expr):
        around = spot.place.source.parent_of(around)
    return {text(spot, one) for one in around.targets} if isinstance(around, ast.Assign) else set()


def block(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`with torch.device("meta"):` around what was built, undone."""
    source = spot.place.source
    node: ast.AST | None = spot.place.node
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        maker = node.items[0].context_expr if isinstance(node, ast.With) and len(node.items) == 1 else None
        if isinstance(maker, ast.Call) and called(maker) in _DEVICES and isinstance(node, ast.With):
            lines = source.lines[node.body[0].lineno - 1 : node.body[-1].end_lineno]
            body = textwrap.dedent("\n".join(lines)).replace("\n", "\n" + indentation(source, node.lineno))
            yield Offer("block", spot, node, body, called(maker))
        node = source.parent_of(node)
