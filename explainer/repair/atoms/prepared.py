"""What was made for a value, or of it, and left out: an encoder fitted to it, a function that nothing calls, a part."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator

from explainer.bindings import only_value
from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions, is_called, is_value, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Source, called, loaded, stored, walked

#: What something that is fitted to a value does to it where the program does not say.
_APPLIES = "transform"
#: Methods that no program calls itself.
_CALLED_BY_TORCH = {"forward", "backward", "setup_context", "extra_repr", "collate_fn", "configure_optimizers"}
#: How many names of what was made of a value there are.
_MOST = 4


def prepared(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`ids = raw` -> `ids = encoder.transform(raw)`, behind `encoder = Encoder().fit(raw)`; -> `ids = dense(raw)`."""
    functions = _uncalled(spot, evidence)
    for node in expressions(spot):
        if not is_value(spot, node) or not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            continue
        own = text(spot, node)
        for name in _fitted(spot, evidence, own):
            yield Offer("prepared", spot, node, f"{name}({own})", "fitted")
        for name in functions:
            yield Offer("prepared", spot, node, f"{name}({own})", "unread", 0.3)


def relabelled(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return edges` -> `return local[edges]`, behind `local[nodes] = torch.arange(len(nodes))`: numbers too large."""
    tables = _tables(spot) if "out of" in evidence.message else []
    for node in expressions(spot) if tables else ():
        own = text(spot, node) if is_value(spot, node) and isinstance(node, (ast.Name, ast.Call)) else "self"
        for name in tables if own.split(".")[0] != "self" else ():
            if not re.search(rf"^{name}\b", own):
                yield Offer("relabelled", spot, node, f"{name}[{own}]", "table")


def _tables(spot: Spot) -> list[str]:
    """The names above in the function that new numbers are looked up in: `local[nodes] = torch.arange(len(nodes))`."""
    line, scope = spot.place.line, spot.place.source.function_at(spot.place.line)
    writes = [one for one in walked(scope) if isinstance(one, ast.Assign) and one.lineno < line] if scope else []
    numbered = [one.targets[0] for one in writes if isinstance(one.value, ast.Call) and called(one.value) == "arange"]
    tables = [one.value for one in numbered if isinstance(one, ast.Subscript) and not isinstance(one.slice, ast.Slice)]
    return list(dict.fromkeys(one.id for one in tables if isinstance(one, ast.Name)))


def _fitted(spot: Spot, evidence: Evidence, own: str) -> list[str]:
    """The methods of what was fitted to a value above that the program has for such a value."""
    line, scope = spot.place.line, spot.place.source.scope_at(spot.place.line)
    found: list[str] = []
    statements = (one for one in walked(scope) if isinstance(one, (ast.Assign, ast.Expr))) if scope is not None else ()
    for one in statements:
        for call in (node for node in walked(one) if isinstance(node, ast.Call) and _fits(node, own)):
            if (one.end_lineno or line) < line:
                owner = one.targets[0] if isinstance(one, ast.Assign) else call.func.value  # type: ignore[attr-defined]
                methods = _applied(evidence, call) if isinstance(owner, ast.Name) else []
                found += [f"{ast.unparse(owner)}.{name}" for name in methods]
    return list(dict.fromkeys(found))


def _fits(call: ast.Call, own: str) -> bool:
    """Whether a call fits an object to a value: `Encoder().fit(raw)`."""
    fits = isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
    return fits and [ast.unparse(one) for one in call.args[:1]] == [own]


def _applied(evidence: Evidence, call: ast.Call) -> list[str]:
    """The methods beside `fit` that take one value, of the program's one class that has it; else the usual one."""
    owners = [node for source in evidence.sources_seen() for node in source.nodes() if isinstance(node, ast.ClassDef)]
    owners = [one for one in owners if any(called(call) == method.name for method in _methods(one))]
    if len(owners) != 1:
        return [_APPLIES]
    return [one.name for one in _methods(owners[0]) if _takes(one) == 2 and one.name not in ("fit", "__init__")]


def _methods(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in owner.body if isinstance(one, ast.FunctionDef)]


def _takes(function: ast.FunctionDef) -> int:
    """How many values a function must be given."""
    return len(function.args.args) - len(function.args.defaults)


def _uncalled(spot: Spot, evidence: Evidence) -> list[str]:
    """The functions of one value that a place's class or file defines, or imports, and the program reads nowhere."""
    source, line = spot.place.source, spot.place.line
    own, owner = source.function_at(line), source.class_at(line)
    found = [row for row in _unread(tuple(evidence.sources_seen())) if row[2] is not own]
    methods = [f"self.{one.name}" for _, of, one in found if of is not None and of is owner]
    functions = [(home, one.name) for home, of, one in found if of is None]
    return [*methods, *(name for home, name in functions if home is source or name in source.imported)]


@functools.lru_cache(4)
def _unread(sources: tuple[Source, ...]) -> list[tuple[Source, ast.ClassDef | None, ast.FunctionDef]]:
    """The functions and methods of one value that the program reads nowhere, with their files and classes."""
    nodes = [node for one in sources for node in one.nodes()]
    read = {one.id for one in nodes if isinstance(one, ast.Name)} | _CALLED_BY_TORCH
    read |= {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    tops = [(home, node) for home in sources for node in getattr(home.tree, "body", ())]
    owners = [(home, node) for home, node in tops if isinstance(node, ast.ClassDef)]
    methods = [(home, of, one) for home, of in owners for one in _methods(of) if not one.name.endswith("__")]
    plain = [(home, None, one) for home, one in tops if isinstance(one, ast.FunctionDef) and not one.decorator_list]
    found = [*(row for row in methods if _of_one(row[2])), *(row for row in plain if _takes(row[2]) == 1)]
    return [row for row in found if row[2].name not in read]


def _of_one(method: ast.FunctionDef) -> bool:
    """Whether a method takes one value beside its object."""
    marks = [ast.unparse(one) for one in method.decorator_list]
    plain = marks == ["staticmethod"]
    return (plain or marks in ([], ["classmethod"])) and _takes(method) == (1 if plain else 2)


def derived(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`weights(y)` -> `weights(y_train)`, behind `x_train, y_train = split(x, y)`: what was made of a value, for it.

    And the other way: `freeze(task)` -> `freeze(net)`, behind `task = Task(net)`.
    """
    for node in expressions(spot):
        if isinstance(node, ast.Name) and not is_called(spot, node) and node.id not in spot.place.source.imported:
            for other in _wrapped(spot, evidence, node) if spot.role == "before" else ():
                yield Offer("derived", spot, node, other, "wrapped", -0.5)
            for at, other in enumerate(one for one in _made_of(spot, node) if _has(spot, node, one)):
                yield Offer("derived", spot, node, other, "derived", 0.1 * at)


def _wrapped(spot: Spot, evidence: Evidence, node: ast.Name) -> list[str]:
    """The names that an object of a class of the program's own was made of."""
    made = only_value(spot.place.source.scope_at(node.lineno), node.id)
    if not isinstance(made, ast.Call) or made.lineno >= node.lineno:
        return []
    own = any(isinstance(one.node, ast.ClassDef) for one in evidence.defined(called(made)))
    return [one.id for one in made.args if isinstance(one, ast.Name)] if own else []


def _has(spot: Spot, node: ast.Name, other: str) -> bool:
    """Whether another value has what is read of a name there, as far as it is known to be a tensor."""
    above = spot.place.source.parent_of(node)
    if not isinstance(above, ast.Attribute) or not isinstance(spot.scope.get(other), list):
        return True
    return hasattr(sys.modules["torch"].Tensor, above.attr) if "torch" in sys.modules else True


def _made_of(spot: Spot, node: ast.Name) -> list[str]:
    """The names that were given values made of a name's, above in its function or file, the last first."""
    scope = spot.place.source.scope_at(node.lineno)
    above = [one for one in walked(scope) if isinstance(one, ast.Assign) and (one.end_lineno or 0) < node.lineno]
    made = [one for one in above if isinstance(one.value, ast.Call) and node.id in loaded(one.value)]
    names = [name for one in reversed(made) for name in sorted(stored(one)) if name != node.id]
    names.sort(key=lambda name: not name.startswith(node.id))
    return list(dict.fromkeys(names))[:_MOST]
