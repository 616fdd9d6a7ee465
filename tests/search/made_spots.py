"""A statement as a place of the search, with what is known of a run that failed there."""

from __future__ import annotations

import ast

from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.repair.atoms import ATOMS
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import parsed_source

F32 = "float32"
SCOPE = {
    "b": 4,
    "t": 6,
    "c": 8,
    "heads": 2,
    "stride": 2,
    "cin": 3,
    "x": [[4, 6, 8], F32],
    "s": [[4, 8], F32],
    "k": [[4, 6, 8], F32],
    "v": [[4, 6, 8], F32],
    'cfg["hidden"]': 8,
    'cfg["width"]': 16,
    "config.width": 8,
    "config.heads": 2,
    "len(rows)": 3,
}


def spot_of(text: str, message: str = "", role: str = "crash") -> tuple[Spot, Evidence]:
    """The expression of a statement as a place, and what is known of a run that failed there."""
    source = parsed_source("model.py", text)
    assert source.tree is not None
    statement = source.tree.body[-1]
    while isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.For)):
        statement = statement.body[-1]
    node = getattr(statement, "value", statement)
    return Spot(Place(source, node), role, 0, scope=SCOPE), Evidence(
        message, "en", sources=lambda _: source, files=("model.py",)
    )


def applied(offer: Offer) -> str:
    """The whole lines with an offer in force; empty where it changes nothing."""
    edits = offer.edits()
    return (edits[0].after or "") if edits else ""


def offered(atom: str, text: str, message: str = "") -> set[str]:
    """The whole statements with each offer of an atom in force."""
    spot, evidence = spot_of(text, message)
    return {applied(one) for one in ATOMS[atom](spot, evidence)}
