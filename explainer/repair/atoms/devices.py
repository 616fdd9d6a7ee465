"""What moves a value to the device on which others lie: where it is used, or where it was made and kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import Any

from explainer.edits.evidence import Evidence
from explainer.edits.kinds.devices import devices_at
from explainer.edits.place import Place, as_primary
from explainer.frozen import replace
from explainer.repair.atoms.common import calls, row_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Source, called, loaded

#: Where a value can be taken that is to lie elsewhere.
_ROLES = ("crash", "slice", "bound", "returned")
_VALUES = (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.BinOp)
_MOVES = ("to", "cpu", "cuda")
#: How many expressions for a device are tried at one place.
_MOST = 2


def moved(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`kept.append(z)` -> `kept.append(z.cpu())`, `i = draw(n)` -> `i = draw(n).to(device)`."""
    crash = evidence.crash
    if spot.role not in _ROLES or crash is None or not crash.devices or "meta" in crash.devices:
        return  # what is on meta holds nothing that could be moved
    ways = ["cpu()"] if "cpu" in crash.devices or not evidence.apart else []
    ways += [f"to({device})" for device in islice(devices_at(spot.place), _MOST)] if evidence.apart else []
    for node in _values(spot):
        for way in ways:
            yield Offer("moved", spot, node, f"{as_primary(spot.place.at(node))}.{way}", way[:2])


def placed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x.new_zeros(n)` -> `x.new_zeros(n, device="cpu")`: what is made after a tensor lies where that does."""
    there = evidence.crash.devices if evidence.crash is not None else ()
    ways = [f'"{one}"' for one in dict.fromkeys(there) if one != "meta"] if len(set(there)) > 1 else []
    for node in calls(spot):
        if not called(node).startswith("new_") and not called(node).endswith("_like"):
            continue
        if not any(word.arg in ("device", None) for word in node.keywords) and node.args:
            for way in [*islice(devices_at(spot.place), _MOST), *ways]:
                yield Offer("placed", spot, node, f"{text(spot, node)[:-1]}, device={way})", "device")


def again(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`net = Net().to(device)`, `net.add_head(3)`, then `net.to(device)`: what comes after the move is moved, too."""
    for source in evidence.sources_seen() if spot.role == "crash" and not spot.distance else ():
        for node in source.nodes():
            name, move = _of_move(source, node)
            behind = [one for one in source.block_of(node) if one.lineno > node.lineno] if name else []  # type: ignore[arg-type,attr-defined]
            added = [one for one in behind if _adds(one, name, evidence)]
            if added:
                whole = f"{source.text(added[-1])}\n{' ' * added[-1].col_offset}{name}.{move}"
                there = replace(spot, place=Place(source, added[-1]))
                yield Offer("again", there, row_of(added[-1:]), whole, "behind", 0.0, added[-1])


def _of_move(source: Source, node: ast.AST) -> tuple[str, str]:
    """The name of what a statement moves, and how: `net`, `to(device)`."""
    value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr not in _MOVES:
        return "", ""
    owner = node.targets[0] if isinstance(node, ast.Assign) else value.func.value
    move = f"{value.func.attr}({', '.join(source.text(one) for one in (*value.args, *value.keywords))})"
    return (owner.id, move) if isinstance(owner, ast.Name) else ("", "")


def _adds(node: ast.stmt, name: str, evidence: Evidence) -> bool:
    """Whether a statement may give an object one layer more: it sets an attribute, or calls a method of the program."""
    if isinstance(node, ast.Assign):
        targets = [one for one in node.targets if isinstance(one, (ast.Attribute, ast.Subscript))]
        return any(name in loaded(one) for one in targets)
    call = node.value if isinstance(node, ast.Expr) else None
    method = call.func if isinstance(call, ast.Call) else None
    of_name = isinstance(method, ast.Attribute) and name in loaded(method)
    return of_name and bool(evidence.defined(method.attr))  # type: ignore[union-attr]


def _values(spot: Spot) -> list[Any]:
    """The operands of the failing call; elsewhere the value itself."""
    node = spot.place.node
    inner = _operands(node) if spot.role == "crash" else [node]
    there = (one for one in inner if isinstance(one, _VALUES))
    return [one for one in there if not isinstance(one, ast.Call) or called(one) not in _MOVES]


def _operands(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
