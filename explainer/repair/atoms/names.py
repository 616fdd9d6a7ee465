"""Another name of the same abstract value: a tensor for a tensor, a number for a number, a size for a size."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Mapping

from explainer.bindings import targets_of
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import named
from explainer.edits.generators.sites import ENDS
from explainer.repair.atoms.common import (
    expressions,
    integer,
    integers,
    is_called,
    lengths,
    measured,
    number,
    proportional,
    shape_of,
    tensors,
    wanted,
)
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Source, called, loaded, of_self, stored, walked

_MOST, _DERIVED = 8, 4
#: What it is worth that a number is the same field, of another object.
_SAME_FIELD = 0.6
#: What a number costs that another call of the same function is given for the same, whatever sizes are in question.
_AS_BESIDE = -0.6
#: What it costs that a size changes from stage to stage as another of the loop does.
_STAGED = -1.2
#: How many expressions there are for a number that another is to become.
_PROPORTIONAL = 5
_OF_SIZES = (ast.Mult, ast.Add, ast.Sub, ast.FloorDiv)


def name(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.u2(y, s1)` -> `self.u2(y, s0)`: another tensor that has a name there, those that nothing reads first."""
    known = {text: shape for text, shape in tensors(spot).items() if text.isidentifier()}
    function = spot.place.source.function_at(spot.place.line)
    read = loaded(function) if function is not None else set()
    for node in expressions(spot):
        if not isinstance(node, ast.Name):
            continue
        own, beside = shape_of(spot, node, evidence), _beside(spot, node)
        for other, shape in known.items() if own is not None else ():
            if other != node.id and other not in beside and shape != own and abs(len(shape) - len(own or [])) <= 1:
                weight = 1.4 + 0.4 * (len(shape) != len(own or [])) - 0.6 * (other not in read)
                yield Offer("name", spot, node, other, "unread" if other not in read else "scope", weight)


def _beside(spot: Spot, node: ast.Name) -> set[str]:
    """The names that a call of different values is given beside one of them: it is not meant to get one twice."""
    parent = spot.place.source.parent_of(node)
    given = [one.id for one in parent.args if isinstance(one, ast.Name)] if isinstance(parent, ast.Call) else []
    return set(given) if len(set(given)) == len(given) else set()


def whole(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`planes` -> `planes * expansion`, `size - 1` -> `pad`: what its function computes of the same number elsewhere.

    The two may be worth the same in the call that was recorded, and differ in the one that failed.
    """
    scopes = spot.place.source.functions_around(spot.place.line)
    for node in expressions(spot) if scopes else ():
        plain = isinstance(node, (ast.Name, ast.Attribute)) and not is_called(spot, node)
        if (plain or isinstance(node, ast.BinOp)) and not _inside(spot, node) and not _decides(spot, node):
            found = (other for scope in scopes for other in _wholes(spot, scope, node))
            for at, other in enumerate(dict.fromkeys(found)):
                yield Offer("whole", spot, node, other, "whole", 0.2 * at)


def _wholes(spot: Spot, scope: ast.AST, node: ast.expr) -> list[str]:
    """The products and sums of a function that a number is an operand of, by their names where they have one."""
    source, own = spot.place.source, spot.place.source.text(node)
    found: list[str] = []
    for one in _sums(scope):
        if own not in [source.text(side).strip("()") for side in (one.left, one.right)]:
            continue
        above = source.parent_of(one)
        target = above.targets[0] if isinstance(above, ast.Assign) and above.lineno < node.lineno else None
        if isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(node, ast.Name) and all(each is not node for each in walked(one)):
            found.append(source.text(one))
    return list(dict.fromkeys(found))[:_DERIVED]


@functools.lru_cache(256)
def _sums(scope: ast.AST) -> tuple[ast.BinOp, ...]:
    """The products, sums and quotients of a function."""
    return tuple(one for one in walked(scope) if isinstance(one, ast.BinOp) and isinstance(one.op, _OF_SIZES))


def size(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Linear(hid, 10)` -> `Linear(width, 10)`: another name or expression of a number, what is in question first."""
    sizes, known = wanted(evidence), {**integers(spot), **lengths(spot, evidence)}
    for node in expressions(spot):
        value = integer(spot, node)
        if value is None or number(node) is not None or _inside(spot, node) or _decides(spot, node):
            continue
        exact = proportional(value, evidence) if isinstance(node, (ast.Name, ast.Attribute)) else []
        meant = sizes.union(exact)
        plain = [text for text, other in known.items() if other != value and text != spot.place.source.text(node)]
        beside = _given_beside(spot, node)
        plain.sort(key=lambda text: (text not in beside, known[text] not in meant, _apart(text, node)))
        for text in plain[:_MOST]:
            weight = 0.5 + 0.7 * (known[text] not in meant) - 0.4 * (known[text] in exact) + 0.3 * _apart(text, node)
            weight = _AS_BESIDE if text in beside else weight
            weight -= _SAME_FIELD * (isinstance(node, ast.Attribute) and text.endswith(f".{node.attr}"))
            yield Offer("size", spot, node, text, "name", weight)
        goals = sorted(sizes - {value, 0, 1})[:_MOST]
        for goal in goals if "out of" not in evidence.message else ():  # where any smaller one fits
            for text in itertools.islice(measured(spot, goal), 3):
                yield Offer("size", spot, node, text, "measured", 0.1 if evidence.passed else 1.2)
        old = spot.place.source.text(node)
        for form in (f"{old} * 2", f"{old} // 2", f"{old} * 3", f"{old} + 1", f"{old} - 1"):
            if isinstance(node, (ast.Name, ast.Attribute)):
                yield Offer("size", spot, node, form, "factor", 1.0)
        for text in _properties(spot, node) if of_self(node) else ():
            yield Offer("size", spot, node, text, "property", 0.4)
        for text in _times_beside(spot, node, value, sizes) if isinstance(node, ast.BinOp) else ():
            yield Offer("size", spot, node, text, "beside", -0.2)
        for text, weight in _by_stage(spot, node, evidence):
            yield Offer("size", spot, node, text, "stage", weight)
        for goal in goals:
            told = (_as_written(spot.place.source, text) for text in named(goal, spot.scope, old) if text not in plain)
            for text, written in sorted(told, key=lambda one: not one[1])[:3]:
                weight = 1.3 - 0.6 * written - 0.7 * (written and old in text.split())
                yield Offer("size", spot, node, text, "expression", weight)
        for goal in exact:
            forms = [text for text in named(goal, known, old) if " " in text and old in text]
            for text in forms[:_PROPORTIONAL]:
                yield Offer("size", spot, node, text, "proportional", 0.2 + 0.4 * _strange(text, node, known, evidence))


def _given_beside(spot: Spot, node: ast.expr) -> set[str]:
    """What other calls of the same function, in the same one, give to the parameter that a number is given to."""
    source, call = spot.place.source, spot.place.source.parent_of(node)
    name = call.arg if isinstance(call, ast.keyword) else None
    call = source.parent_of(call) if isinstance(call, ast.keyword) else call
    if not isinstance(call, ast.Call):
        return set()
    at = next((at for at, one in enumerate(call.args) if one is node), None)
    every = walked(source.scope_at(call.lineno))
    alike = [one for one in every if isinstance(one, ast.Call) and one is not call and called(one) == called(call)
             and ast.unparse(one.func) == ast.unparse(call.func)]  # fmt: skip
    given = [
        value
        for one in alike
        for value in (
            one.args[at : at + 1] if at is not None else [word.value for word in one.keywords if name == word.arg]
        )
    ]
    return {source.text(one) for one in given} - {source.text(node)}


def _as_written(source: Source, text: str) -> tuple[str, bool]:
    """A sum or product in the order in which the file has it somewhere, and whether it does."""
    sides = re.fullmatch(r"(\S+) ([+*]) (\S+)", text)
    other = f"{sides[3]} {sides[2]} {sides[1]}" if sides is not None else text
    for form in (text, other) if sides is not None else ():
        if re.search(rf"(?<![\w.]){re.escape(form)}(?![\w.(\[])", source.whole):
            return form, True
    return text, False


def _by_stage(spot: Spot, node: ast.AST, evidence: Evidence) -> Iterator[tuple[str, float]]:
    """`grid // 2 ** i` for the `grid` of a loop that builds stage after stage, where sizes are powers of two apart.

    Likelier where another size of the loop is worked out so: `width * 2 ** i`.
    """
    said = [one for one in evidence.said if one > 1]
    halves = any(one % other == 0 and (one // other) & (one // other - 1) == 0
                 for one in said for other in said if one > other)  # fmt: skip
    if not halves or not isinstance(node, (ast.Name, ast.Attribute)):
        return
    line, scope = node.lineno, spot.place.source.scope_at(node.lineno)
    loops = [one for one in walked(scope) if isinstance(one, ast.For) and one.lineno < line <= (one.end_lineno or 0)]
    for loop in loops:
        name = _counter(loop) if not stored(loop) & loaded(node) else ""
        weight = _STAGED if f"2 ** {name}" in ast.unparse(loop) else 0.1
        yield from ((f"{ast.unparse(node)} {form} 2 ** {name}", weight) for form in ("//", "*") if name)


def _counter(loop: ast.For) -> str:
    """The name that counts the turns of a loop: of `enumerate` or `range`."""
    call, target = loop.iter, loop.target
    if isinstance(call, ast.Call) and called(call) == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif not (isinstance(call, ast.Call) and called(call) == "range" and len(call.args) == 1):
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def _properties(spot: Spot, node: ast.AST) -> list[str]:
    """`self.act_dim` for `self.n_joints`: what the same class works out of its numbers and has as a property."""
    owner = spot.place.source.class_at(spot.place.line)
    function = spot.place.source.function_at(spot.place.line)
    rows = owner.body if owner is not None else []
    found = [one.name for one in rows if isinstance(one, ast.FunctionDef) and one is not function
             and any("property" in ast.unparse(each) for each in one.decorator_list)]  # fmt: skip
    return [f"self.{name}" for name in found if f"self.{name}" != ast.unparse(node)][:_DERIVED]


def _times_beside(spot: Spot, node: ast.expr, value: int, sizes: set[int]) -> list[str]:
    """`(kernel - 1) * dilation` for `kernel - 1`: what a constructor works out and keeps, times a number it is given.

    Those that make one of the `sizes` in question are known without.
    """
    source = spot.place.source
    function, kept = source.function_at(node.lineno), source.parent_of(node)
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__" or not isinstance(kept, ast.Assign):
        return []
    known = {one.arg: integers(spot).get(one.arg) or 0 for one in function.args.args if one.arg not in loaded(node)}
    names = [name for name, other in known.items() if other > 1 and value > 1 and value * other not in sizes]
    return [f"({source.text(node)}) * {name}" for name in names][:_DERIVED]


def _strange(text: str, node: ast.AST, known: Mapping[str, int], evidence: Evidence) -> int:
    """How many numbers of an expression are of other objects than the one it is for, or no size that the message names.

    The expression's own number, which stands there by now, is none.
    """
    names = [one for one in re.findall(r"[a-zA-Z_][\w.]*", text) if one != ast.unparse(node)]
    return sum(_apart(one, node) + (known.get(one) not in evidence.said) for one in names)


def measure(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`n += g["edges"].size(1)` -> `n += g["x"].size(0)`: another size that the same function reads."""
    function = spot.place.source.function_at(spot.place.line)
    known = [one for one in walked(function) if _measures(one)] if function is not None else []
    texts = list(dict.fromkeys(spot.place.source.text(one) for one in known))
    for node in expressions(spot):
        own = spot.place.source.text(node) if _measures(node) else None
        if own is None:
            whole = spot.place.source.text(node) if isinstance(node, ast.Call) and called(node) == "sum" else ""
            listed = _listed_beside(spot, node) if whole else []
            yield from (Offer("measure", spot, node, f"{whole} + {one}", "beside", 0.4) for one in listed)
            continue
        for mask in _masks(spot, node):
            yield Offer("measure", spot, node, f"int({mask}.sum())", "chosen", 0.3)
        lengths = [one for one in spot.scope if one.startswith("len(") and spot.scope[one] != spot.scope.get(own)
                   and "[" not in one and own.startswith("len(")]  # fmt: skip
        fields = _fields_beside(spot, node, function) if function is not None else []
        lengths.sort(key=lambda one: "." in one)  # what is counted itself before its parts
        rows = [*fields, *texts[:_MOST], *lengths[:_MOST]]
        for at, other in enumerate(dict.fromkeys(one for one in rows if one != own)):
            yield Offer("measure", spot, node, other, "function", 0.1 * at)
        for beside in _listed_beside(spot, node):
            yield from (Offer("measure", spot, node, f"{own} {sign} {beside}", "beside", 0.4) for sign in "*+")
        for one in (" - 1", " + 1"):
            if not _undone(spot, node, one) and not _wraps(spot, node):
                yield Offer("measure", spot, node, own + one, "one", 0.5)


def _undone(spot: Spot, node: ast.expr, one: str) -> bool:
    """Whether one more (or less) takes back what stands there: `(len(x) - 1) + 1`."""
    above = spot.place.source.parent_of(node)
    by_one = isinstance(above, ast.BinOp) and above.left is node and number(above.right) == 1
    return by_one and isinstance(above.op, ast.Add if "-" in one else ast.Sub)  # type: ignore[union-attr]


def _fields_beside(spot: Spot, node: ast.expr, function: ast.AST) -> list[str]:
    """`graph.count` beside `graph.edges.size(1)`: what the function reads of the same object, and does not call."""
    roots = {one.id for one in walked(node) if isinstance(one, ast.Name)}
    own = [ast.unparse(one) for one in walked(node) if isinstance(one, ast.Attribute)]
    read = [one for one in walked(function) if isinstance(one, ast.expr) and _is_field(spot, one)]
    found = dict.fromkeys(ast.unparse(one) for one in read if ast.unparse(one).partition(".")[0] in roots - {"self"})
    return [one for one in found if one not in own and not isinstance(spot.scope.get(one), list)][:_DERIVED]


def _wraps(spot: Spot, node: ast.expr) -> bool:
    """Whether numbers start again at a length, `k % len(kinds)`: there are as many as are counted."""
    parent = spot.place.source.parent_of(node)
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and parent.right is node


#: Annotations of lists, as the fields of dataclasses have them.
_LISTS = re.compile(r"(?:typing\.)?(?:[Ll]ist|[Tt]uple|Sequence)\b")
#: Displays and comprehensions of lists and dicts.
_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.DictComp)


def _listed_beside(spot: Spot, node: ast.AST) -> list[str]:
    """`len(self.scales)` beside `len(self.ratios)`: the lengths of the lists that the same class keeps.

    Or beside a sum over one of them, `sum(one.width for one in self.ratios)`.
    """
    one = node.args[0] if isinstance(node, ast.Call) and node.args and called(node) in ("len", "sum") else None
    one = one.generators[0].iter if isinstance(one, (ast.GeneratorExp, ast.ListComp)) else one
    owner = spot.place.source.class_at(spot.place.line)
    if owner is None or not isinstance(one, ast.Attribute) or not of_self(one):
        return []
    rows = [part for part in walked(owner) if isinstance(part, (ast.Assign, ast.AnnAssign))]
    listed = [part for part in rows if isinstance(part.value, _CONTAINERS)
              or (isinstance(part, ast.AnnAssign) and _LISTS.match(ast.unparse(part.annotation)))]  # fmt: skip
    names = [getattr(target, "attr", getattr(target, "id", "")) for part in listed for target in targets_of(part)]
    return [f"len(self.{name})" for name in dict.fromkeys(names) if name not in ("", one.attr)][:_DERIVED]


def _masks(spot: Spot, node: ast.AST) -> Iterator[str]:
    """The mask that `len(mask)` and `mask.size(0)` measure: how many it chooses is another number."""
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    one = owner or (node.args[0] if isinstance(node, ast.Call) and node.args else None)
    known = spot.scope.get(ast.unparse(one)) if isinstance(one, (ast.Name, ast.Attribute)) else None
    if isinstance(known, list) and known[1:2] == ["bool"]:
        yield ast.unparse(one)  # type: ignore[arg-type]


def field(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`n += g.num_edges` -> `n += g.num_nodes`: another field of the same object that the function reads."""
    function = spot.place.source.function_at(spot.place.line)
    for node in expressions(spot) if function is not None else ():
        own = ast.unparse(node) if _is_field(spot, node) else ""
        if not own or _inside(spot, node) or own in spot.scope:
            continue
        if (other := ENDS.get(node.attr)) is not None:  # type: ignore[attr-defined]
            yield Offer("field", spot, node, f"{ast.unparse(node.value)}.{other}", "end", -0.4)  # type: ignore[attr-defined]
        known = {*spot.scope, *(ast.unparse(one) for one in expressions(spot))}  # what is read there is not meant twice
        read = dict.fromkeys(ast.unparse(one) for one in walked(function) if _is_field(spot, one))  # type: ignore[arg-type]
        others = [one for one in read if one not in known and not _apart(one, node)]
        yield from (Offer("field", spot, node, one, "field", 0.1 * at) for at, one in enumerate(others[:_DERIVED]))


def _is_field(spot: Spot, node: ast.AST) -> bool:
    """Whether something is read of a named object, and not called."""
    if (
        not isinstance(node, ast.Attribute)
        or not isinstance(node.ctx, ast.Load)
        or not isinstance(node.value, ast.Name)
    ):
        return False
    return not is_called(spot, node) and node.value.id not in spot.place.source.imported


def _measures(node: ast.AST) -> bool:
    """Whether an expression is a size: `x.size(0)`, `x.shape[0]`, `len(x)`."""
    if isinstance(node, ast.Call):
        return bool(node.args) and called(node) in ("size", "len")
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _apart(text: str, node: ast.AST) -> int:
    """Whether a name belongs to another object than the one that stands there: `config.heads` for `config.width`."""
    owner = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
    return int(text.rpartition(".")[0] != owner)


def _decides(spot: Spot, node: ast.expr) -> bool:
    """Whether a number is a part of a decision, and no size: `i` of `i % 2`, `n` of `n > 1`."""
    above = [one for one in spot.place.source.up_from(node) if one is not node]
    taken = any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod) for one in above)
    return taken or any(isinstance(one, (ast.Compare, ast.BoolOp)) for one in above)


def _inside(spot: Spot, node: ast.expr) -> bool:
    """Whether a name is the owner of an attribute or a function's name."""
    parent = spot.place.source.parent_of(node)
    return isinstance(parent, (ast.Attribute, ast.keyword)) and not isinstance(parent, ast.keyword)
