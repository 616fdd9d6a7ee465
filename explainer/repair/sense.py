"""What an edit reads must be bound there, and be of the kind that stands there: no optimizer in a model's place."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from explainer.dimensions import MODULES
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import bends_formula
from explainer.repair.agreement import parsed, whole
from explainer.repair.atoms.common import bound_below
from explainer.repair.offer import Offer
from explainer.source import Source, called, loaded, stored, walked

#: What needs no binding: builtins, and modules whose import comes with an edit.
_BUILT_IN = frozenset([*dir(builtins), "__file__", "__name__", *MODULES, "copy", "math", "itertools"])

#: Functions of torch that compare a prediction with a target.
_LOSS = re.compile(r"loss|entropy|kl_div")
#: What an entry is when it is not only named: two of a kind say something else each.
_MADE = (ast.Call, ast.Subscript, ast.Attribute, ast.BinOp, ast.ListComp)


def reads_unbound(offer: Offer) -> bool:
    """Whether a new expression reads a name that nothing has bound there: it would only raise a NameError."""
    source, line = offer.place.source, offer.place.line
    if not isinstance(offer.node, ast.expr) or offer.more:  # which bind it
        return False
    new = _parsed(offer.text)
    known_there = loaded(offer.node) | stored(offer.node)  # targets that are unpacked in another order are no reads
    come = loaded(new) - known_there - _named_in(new) if new is not None else set()
    come -= {one.rpartition(" ")[2] for one in offer.imports}
    if not come - _BUILT_IN:
        return False
    known = _bound(source, line)
    beside = _of_comprehensions(source, offer.node) | offer.spot.scope.keys()
    return known is not None and any(name in bound_below(source, line) or name not in known | beside for name in come)


def lacks_name(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a candidate's one edit reads a name that nothing has bound there, as a row of another function has it."""
    source = evidence.sources(candidate.culprit.file)
    if len(candidate.edits) > 1 or source is None:  # others may bind it
        return False
    before, after = whole(candidate.edits[0], evidence)
    if before is None or after is None:
        return False
    known = _bound(source, candidate.edits[0].start_line)
    come = loaded(after) - loaded(before) - _named_in(after)
    return known is not None and bool(come - known)


def changes_kind(offer: Offer) -> bool:
    """Whether a name gives way to one whose value is of another kind, as far as both are known."""
    new = _parsed(offer.text) if isinstance(offer.node, ast.expr) else None
    if new is None:
        return False
    scope = offer.spot.scope
    pairs = [(kind(scope, one), kind(scope, other)) for one, other in _exchanged(offer.node, new, scope)]
    return any(one is not None and other is not None and one != other for one, other in pairs)


def repeats(offer: Offer) -> bool:
    """Whether two of a call's arguments, or entries of a dict, would say the same that differed before.

    `loss(x, y)` -> `loss(x, x)`, `{"user": f(row["item"]), "item": f(row["item"])}`; numbers may well be equal. Nor do
    both branches of a choice say the same: `(a, b) if swap else (a, b)` would take the choice away.
    """
    new = _parsed(offer.text) if isinstance(offer.node, ast.expr) else None
    if new is None:
        return False
    if _undecided(new) > _undecided(offer.node):
        return True
    above = offer.place.source.parent_of(offer.node)
    two = _compares(above) or _adds_tensors(above, new, offer)
    if _idle(new) or _no_turn(above, new) or (two and _text(new) in [_text(one) for one in _sides(above, offer)]):  # type: ignore[arg-type]
        return True
    return any(_again(before, after, offer) for before, after in _arguments(offer.node, new)) or _beside(offer, new)


@functools.lru_cache(4096)
def _undecided(node: ast.AST) -> int:
    """In how many choices of an expression both branches are the same."""
    choices = [one for one in walked(node) if isinstance(one, ast.IfExp)]
    return sum(ast.unparse(one.body) == ast.unparse(one.orelse) for one in choices)


#: Signs whose sides are two values: of one alone nothing is left, or it is what it was.
_OF_TWO = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)


def overlaps(offer: Offer) -> bool:
    """Whether one of two parts that a whole is cut into would not be cut where the other is: `x[:3]`, `x[2:]`."""
    function = offer.place.source.scope_at(offer.place.line)
    known = _cuts(function) if function is not None else set()
    if not any((base, at, not upto) in known for base, at, upto in known):
        return False
    trees = [[parsed(text) or parsed(f"{text} pass") for text in (edit.before, edit.after)] for edit in offer.edits()]
    pairs = [(_cuts(old), _cuts(new)) for old, new in trees if old is not None and new is not None]
    gone, left = (set().union(*(one - other for one, other in rows)) for rows in (pairs, [row[::-1] for row in pairs]))
    left |= known - gone
    return any((base, at, not upto) in left for base, at, upto in gone)


def senseless(offer: Offer) -> bool:
    """Whether nobody would write what an offer puts there, whatever it is for."""
    dull = repeats(offer) or overlaps(offer) or _says_nothing(offer) or _counts_on(offer)
    return dull or differentiates_itself(offer) or _bends(offer) or _fixes_batch(offer)


#: What leaves a sign nothing to say: the sign, the sides (left, right) and their number.
_DULL = (
    (ast.Pow, "left", 1),
    (ast.Pow, "right", 0),
    (ast.Mult, "left", 0),
    (ast.Mult, "right", 0),
    (ast.Mod, "right", 1),
)


def _says_nothing(offer: Offer) -> bool:
    """Whether a number would make the expression around it the same whatever the rest is: `1 ** level`."""
    above = offer.place.source.parent_of(offer.node)
    if not isinstance(above, ast.BinOp) or not offer.text.isdigit():
        return False
    sides = [side for sign, side, value in _DULL if isinstance(above.op, sign) and int(offer.text) == value]
    return any(getattr(above, side) is offer.node for side in sides)


def _counts_on(offer: Offer) -> bool:
    """Whether one is added to, or taken from, a term of a sum that ends with a number: `(n + 1) - 1`."""
    old, above = offer.place.text, offer.place.source.parent_of(offer.node)
    if not isinstance(offer.node, ast.expr) or not re.fullmatch(rf"\(?{re.escape(old)}\)? [+-] 1", offer.text):
        return False
    while isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Add, ast.Sub)):
        if isinstance(above.right, ast.Constant) and above.right is not offer.node:
            return True
        above = offer.place.source.parent_of(above)
    return False


def _bends(offer: Offer) -> bool:
    """Whether the constant of a formula would be fitted to the sizes at hand."""
    plain = isinstance(offer.node, ast.Constant) and offer.text.isdigit()
    return plain and bends_formula(offer.place.source.parent_of(offer.node), offer.node, int(offer.text))


def _fixes_batch(offer: Offer) -> bool:
    """Whether a view would have a number for its samples, of which it took as many as came: `view(-1, 8, n)`."""
    if "-1" not in offer.place.source.line(offer.place.line):
        return False
    firsts = [
        [_first_size(one) for one in _calls_in(text)] for edit in offer.edits() for text in (edit.before, edit.after)
    ]
    pairs = zip(firsts[::2], firsts[1::2], strict=True)
    return any(was == "-1" and (now or "").isdigit() for old, new in pairs if len(old) == len(new)
               for was, now in zip(old, new, strict=True))  # fmt: skip


def _calls_in(text: str | None) -> list[ast.Call]:
    tree = parsed(text) if text else None
    return [one for one in walked(tree) if isinstance(one, ast.Call)] if tree is not None else []


def _first_size(call: ast.Call) -> str:
    """The first of several sizes that a view is given; empty for any other call."""
    sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
    return _text(sizes[0]) if called(call) in ("view", "reshape") and len(sizes) > 1 else ""


def differentiates_itself(offer: Offer) -> bool:
    """Whether the gradient of a value would be asked for by that value, which is one: `grad(x.sum(), x)`."""
    edits = offer.edits() if "grad(" in offer.place.source.line(offer.place.line) else ()
    return any(_by_itself(edit.after) > _by_itself(edit.before) for edit in edits)


def _by_itself(text: str | None) -> int:
    """How many calls of a text ask for the gradient of a value by that value."""
    calls = [one for one in _calls_in(text) if called(one) == "grad"]
    rows = [[loaded(part).difference(MODULES) for part in one.args[:2]] for one in calls]
    return sum(len(row) == 2 and row[0] == row[1] for row in rows)


@functools.lru_cache(4096)
def _cuts(node: ast.AST) -> set[tuple[str, str, bool]]:
    """Where expressions are cut in two, in one dimension: what is cut, the place, and whether it is the part before."""
    found = set()
    for one in (each for each in walked(node) if isinstance(each, ast.Subscript)):
        parts = one.slice.elts if isinstance(one.slice, ast.Tuple) else [one.slice]
        cuts = [part for part in parts if isinstance(part, ast.Slice) and (part.lower is None) != (part.upper is None)]
        if len(cuts) == 1 and cuts[0].step is None:
            rest = [_text(part) for part in parts if part is not cuts[0]]
            bound = cuts[0].upper or cuts[0].lower
            found.add((f"{_text(one.value)} {rest}", _text(bound), cuts[0].upper is not None))  # type: ignore[arg-type]
    return found


def _idle(node: ast.AST) -> bool:
    """Whether something is compared with itself."""
    return any(isinstance(one, ast.Compare) and _text(one.left) == _text(one.comparators[0]) for one in walked(node))


def _no_turn(above: ast.AST | None, new: ast.expr) -> bool:
    """Whether a loop would have no turn: `range(0)`."""
    counts = isinstance(above, ast.Call) and _text(above.func) == "range" and len(above.args) == 1
    return _text(new) == ("0" if counts else "range(0)")


def _compares(node: ast.AST | None) -> TypeGuard[ast.Compare | ast.BinOp]:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, _OF_TWO))


def _adds_tensors(node: ast.AST | None, new: ast.expr, offer: Offer) -> bool:
    """Whether a tensor would be added to something: never to itself, where it was to another."""
    adds = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    return adds and kind(offer.spot.scope, _text(new)) == "tensor"


def _sides(compared: ast.Compare | ast.BinOp, offer: Offer) -> list[ast.expr]:
    if isinstance(compared, ast.BinOp) and isinstance(compared.op, ast.Add):
        return [one for one in _addends(compared) if one is not offer.node]
    others = compared.comparators if isinstance(compared, ast.Compare) else [compared.right]
    return [one for one in (compared.left, *others) if one is not offer.node]


def _addends(node: ast.expr) -> list[ast.expr]:
    """All that a sum adds up: `a`, `b` and `c` of `a + b + c`."""
    adds = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    return [*_addends(node.left), *_addends(node.right)] if adds else [node]  # type: ignore[attr-defined]


#: The text of a node that is asked for again with each offer at its place.
_text = functools.lru_cache(4096)(ast.unparse)


def _beside(offer: Offer, new: ast.expr) -> bool:
    """Whether what the edited expression is a part of would be like an argument or entry beside it."""
    source, old, text = offer.place.source, _text(offer.node), _text(new)
    for around in source.up_from(offer.node):
        holder = source.parent_of(around)
        rows = _entries(holder)
        if any(one is around for one in rows):
            was = _text(around)
            made, beside = was.replace(old, text), [_text(one) for one in rows if one is not around]
            known = isinstance(holder, (ast.Dict, ast.IfExp)) or kind(offer.spot.scope, made) not in (None, "number")
            known = known or (offer.spot.step is not None and bool(_LOSS.search(offer.spot.step.function)))
            if known and was not in beside and made in beside and not isinstance(around, ast.Constant):
                return True
    return False


def _entries(holder: ast.AST | None) -> list[ast.expr]:
    if isinstance(holder, ast.Dict):
        return [one for one in holder.values if isinstance(one, _MADE)]
    if isinstance(holder, ast.IfExp):
        return [holder.body, holder.orelse]
    if isinstance(holder, ast.List):
        return holder.elts
    return holder.args if isinstance(holder, ast.Call) else []


def _arguments(old: ast.AST, new: ast.AST) -> Iterator[tuple[list[ast.expr], list[ast.expr]]]:
    """The arguments of the calls that stand at the same places of two expressions."""
    for one, other in zip(walked(old), walked(new), strict=False):
        if isinstance(one, ast.Call) and isinstance(other, ast.Call) and len(one.args) == len(other.args):
            yield one.args, other.args


def _again(before: list[ast.expr], after: list[ast.expr], offer: Offer) -> bool:
    """Whether one tensor, or object, is among some arguments twice that was not before."""
    counts = []
    for row in (before, after):
        names = [one.id for one in row if isinstance(one, ast.Name)]
        names = [name for name in names if kind(offer.spot.scope, name) not in (None, "number")]
        counts.append(len(names) - len(set(names)))
    return counts[0] == 0 < counts[1]


def kind(scope: Mapping[str, Any], name: str) -> str | None:
    """The kind of a name's value in a recorded scope: a number, a tensor, or what its type is called."""
    value = scope.get(name)
    if isinstance(value, list):
        return "tensor"
    return "number" if isinstance(value, int) else scope.get(f"type({name})")


def _exchanged(old: ast.AST, new: ast.AST, scope: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names at the same places of two expressions that are alike but for them; `a.n` whole where it is known."""
    if isinstance(old, (ast.Name, ast.Attribute)) and isinstance(new, type(old)):
        one, other = ast.unparse(old), ast.unparse(new)
        if isinstance(old, ast.Name) or kind(scope, one) is not None is not kind(scope, other):
            yield from [(one, other)] if one != other else []
            return
    if type(old) is type(new):
        parts, others = list(ast.iter_child_nodes(old)), list(ast.iter_child_nodes(new))
        if len(parts) == len(others):
            for part, another in zip(parts, others, strict=True):
                yield from _exchanged(part, another, scope)


@functools.lru_cache(4096)
def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _named_in(node: ast.AST) -> set[str]:
    """The names that an expression binds itself: those of comprehensions, and what its lambdas are given."""
    return stored(node) | {one.arg for one in walked(node) if isinstance(one, ast.arg)}


def _of_comprehensions(source: Source, node: ast.AST) -> set[str]:
    """What the comprehensions and lambdas around a node bind."""
    scopes = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    return {name for one in source.up_from(node) if isinstance(one, scopes) for name in _named_in(one)}


@functools.lru_cache(512)
def _bound(source: Source, line: int) -> frozenset[str] | None:
    """The names that the functions around a line and its file bind; None where a file imports all of another."""
    scope: ast.AST | None = source.scope_at(line)
    found: set[str] = set()
    while scope is not None:
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
            found |= _own(scope)
        scope = source.parent_of(scope)
    return None if "*" in found else frozenset(found) | _BUILT_IN


@functools.lru_cache(512)
def _own(scope: ast.AST) -> frozenset[str]:
    """What a function or file binds itself, its inner functions' names left out."""
    arguments = getattr(scope, "args", None)
    found = {one.arg for one in walked(arguments) if isinstance(one, ast.arg)} if arguments is not None else set()
    rest = list(ast.iter_child_nodes(scope))
    while rest:
        node = rest.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        rest.extend(ast.iter_child_nodes(node))
    return frozenset(found)
