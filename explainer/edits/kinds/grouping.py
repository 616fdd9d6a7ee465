"""The edit that gives the groups, or parameters, of one optimizer the order of another's."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, bound_above


def order_groups(at: Place, kept: Place) -> tuple[Edit, ...]:
    """The groups, or lists of parameters, that a call is given put in the order in which `kept` is given them.

    Where one of the two is given all of a model at once, `net.parameters()`, the other is given it in the same way.
    """
    own, model = _parts(at), _parts(kept)
    if len(own) == 1 or len(model) == 1:
        return in_model_order(at) if len(own) > 1 else _in_parts(own, model)
    order = _order([one.text for one in own], [one.text for one in model])
    return changed(at.source, [(one.span, own[index].text) for one, index in zip(own, order, strict=True)])


def in_model_order(at: Place) -> tuple[Edit, ...]:
    """`[*net.head.parameters(), *net.body.parameters()]` -> `net.parameters()`; EditError for parts of other models."""
    parts = [_module(one.text) for one in _parts(at)]
    whole = _shared([one for one in parts if one])
    if not whole or not all(parts) or len(parts) < 2:
        raise EditError("the parameters are not those of parts of one model")
    given = _given(at)
    named = not isinstance(at.at(given).parent(), (ast.Call, ast.keyword))
    text = f"{whole}.parameters()"
    return changed(at.source, [(at.source.span(given), f"list({text})" if named else text)])


def _in_parts(own: Sequence[Place], model: Sequence[Place]) -> tuple[Edit, ...]:
    """`net.parameters()` -> `[*net.head.parameters(), *net.body.parameters()]`, the parts of another call."""
    parts = [_module(one.text) for one in model]
    theirs, ours = _shared(parts), _module(own[0].text)
    if not theirs or not all(parts) or not ours or len(parts) < 2:
        raise EditError("the parameters are not those of parts of one model")
    text = ", ".join(f"*{ours}{part[len(theirs) :]}.parameters()" for part in parts)
    return changed(own[0].source, [(own[0].span, f"[{text}]")])


def _module(text: str) -> str:
    """`net.head` of `list(net.head.parameters())`; empty for other expressions and for groups with options."""
    found = re.fullmatch(r"\*?(?:list\()?([\w.]+)\.parameters\(\)\)?", _whole(text))
    return found[1] if found is not None else ""


def _shared(parts: Sequence[str]) -> str:
    """The module that several have in common: `self.net` of `self.net.head` and `self.net.body`."""
    owners = [one.split(".")[:-1] for one in parts]
    common = itertools.takewhile(lambda names: len(set(names)) == 1, zip(*owners, strict=False))
    return ".".join(names[0] for names in common)


def _parts(call: Place) -> list[Place]:
    """What the first argument of a call is put together from; the whole of it where it is one model's parameters."""
    given = _given(call)
    parts = [call.at(one) for one in _elements(given)]
    if len(parts) < 2:
        parts = [call.at(given)]
        if not _module(parts[0].text):
            raise EditError("the call is not given several groups")
    return parts


def _given(call: Place) -> ast.expr:
    """The first argument of a call, followed through a name."""
    node = call.node
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(node, ast.Call) and given is None:
        given = next((word.value for word in node.keywords if word.arg == "params"), None)
    if isinstance(given, ast.Name):
        scope = call.source.scope_at(node.lineno)
        bound = bound_above(scope, given.id, node.lineno) if scope is not None else None
        given = bound.value if bound is not None else None
    if given is None:
        raise EditError("the call is given nothing that is known")
    return given


def _elements(node: ast.expr | None) -> list[ast.expr]:
    """`[a, *b]`, `list(a) + list(b)`, `chain(a, b)`: what is put together."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*(_elements(node.left) or [node.left]), *(_elements(node.right) or [node.right])]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("chain", "itertools.chain"):
        return node.args
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "tuple") and len(node.args) == 1:
        return _elements(node.args[0])
    return []


def _order(own: Sequence[str], model: Sequence[str]) -> list[int]:
    """Which of its own parts stands where in the model's order; names may differ by what they are attributes of."""
    for shortened in (_whole, _parameters, _attributes, _last):
        ours, theirs = [shortened(one) for one in own], [shortened(one) for one in model]
        if len(set(ours)) == len(ours) and set(ours) == set(theirs) and len(theirs) == len(ours):
            return [ours.index(one) for one in theirs]
    raise EditError("the groups are not the same")


def _whole(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _parameters(text: str) -> str:
    """`net.head.parameters()` of `{"params": net.head.parameters(), "lr": 0.1}`."""
    found = re.search(r"[\w.\[\]\"']+\.(?:named_)?parameters\(", text)
    return found[0] if found is not None else _whole(text)


def _attributes(text: str) -> str:
    """The same without the name that it begins with: `head.parameters(`."""
    return _parameters(text).partition(".")[2]


def _last(text: str) -> str:
    """The last attribute alone: `head` of `self.net.head.parameters(`."""
    return ".".join(_parameters(text).split(".")[-2:])
