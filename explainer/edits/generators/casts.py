"""Candidates that cast: where the odd dtype enters, where it is kept, where an index is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.cut_out import is_column, shares_out
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.samples import returned_as
from explainer.edits.generators.slices import Operand, chain, editable, operands, trunk
from explainer.edits.kinds import methods
from explainer.edits.place import Place
from explainer.frozen import replace
from explainer.patterns import Pattern
from explainer.source import called, loaded, of_self, stored, walked

#: The method that gives each dtype.
CASTS = {
    "float32": "float()",
    "float64": "double()",
    "int64": "long()",
    "bool": "bool()",
    "float16": "half()",
    "bfloat16": "bfloat16()",
    "int32": "int()",
    "uint8": "byte()",
    "complex64": "to(torch.complex64)",
}
#: Dtypes that are chosen for a whole model, so that one value of another dtype is the odd one.
SHORT = ("float16", "bfloat16")
#: What values are kept as to save memory.
STORED = ("int8", "float8_e4m3fn", "float8_e5m2")
METHODS = ("float", "double", "half", "bfloat16", "long", "int", "byte", "bool", "to")
#: Calls whose results hold the values that they were given.
_MOVING = (
    "__getitem__", "view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "t", "stack", "cat",
    "contiguous", "clone", "detach", "expand", "chunk", "split", "select", "unbind", "index_select", "to", "cpu",
)  # fmt: skip
#: Calls whose first operand is what is indexed.
_INDEXED = ("__getitem__", "__setitem__", "gather", "index_select", "scatter", "scatter_", "take_along_dim")
#: What layers call with their weights.
_LAYERS = ("linear", "conv1d", "conv2d", "conv3d", "embedding", "layer_norm", "batch_norm")
#: What makes numbers between whole ones, of which the nearest is meant where one is to be an index.
_SPACED = ("linspace", "logspace", "div", "true_divide", "interpolate", "mul")
_TO_LONG = Pattern(
    r"indices|index tensor|used as ind|target dtype to be Long|scalar type Long but|expected (?:scalar type |dtype )?"
    r"(?:Long|int64)|must be (?:long|int64)|Expected dtype int32/int64|one of the following scalar types: Long",
    re.I,
)


def gathers_complex(evidence: Evidence) -> bool:
    """Whether the failing call writes complex numbers into real ones: the sum of their sizes would be another one."""
    crash = evidence.crash
    dtypes = [dtype for _, dtype in crash.before[:2]] if crash is not None else []
    return len(dtypes) == 2 and "can't be cast" in evidence.message and "float" in dtypes[0] and "complex" in dtypes[1]


def entering(evidence: Evidence) -> Iterator[Candidate]:
    """Casts that the message asks for, at the deepest place where the odd dtype already is, then nearer ones."""
    for operand, dtype in wanted(evidence) if not gathers_complex(evidence) else ():
        yield from _casts_of(evidence, operand, dtype)


def as_index(evidence: Evidence) -> Iterator[Candidate]:
    """Casts of what is used as an index, where the message finds fault with its dtype, not with its values."""
    if evidence.crash is not None and _TO_LONG.search(evidence.message):
        for operand, dtype in wanted(evidence):
            if dtype in ("int64", "bool") and not (operand.index == 0 and evidence.crash.function in _INDEXED):
                yield from _casts_of(evidence, operand, dtype)


def wanted(evidence: Evidence) -> list[tuple[Operand, str]]:
    """Which operand should have which dtype, the most likely first."""
    found = [one for one in operands(evidence) if one.place is not None or one.start is not None]
    everything = operands(evidence)
    weights = [one.dtype for one in everything if one.place is None and one.start is None]
    floats = [one.dtype for one in everything if "float" in one.dtype]
    pairs: list[tuple[Operand, str]] = []
    if _TO_LONG.search(evidence.message):
        masks = [one for one in found if "bool" in evidence.message and _compared(evidence, one)]
        pairs += [(one, "bool") for one in masks]
        pairs += [(one, "int64") for one in reversed(found) if one.dtype != "int64" and one not in masks]
    elif "bool" in evidence.message.lower():
        pairs += [(one, "bool") for one in reversed(found) if one.dtype != "bool"]
    chosen = _chosen(evidence) & set(floats)
    wide = [one.dtype for one in found if _widened(evidence, one)]
    usual = [dtype for dtype in floats if dtype == "float32"]
    goals = list(dict.fromkeys([*weights, *wide, *chosen, *usual, *floats, "float32"]))
    goals = [one for one in goals if one not in SHORT or not _autocast(evidence)]
    for dtype in goals:
        pairs += [(one, dtype) for one in reversed(found) if one.dtype != dtype and "int" not in dtype]
    return pairs


def _widened(evidence: Evidence, operand: Operand) -> bool:
    """Whether the program cast what an operand is made of to more bytes, on purpose: `self.x = x.double()`."""
    casts = [one for one in chain(evidence, operand.start) if one.function in METHODS and one.before and one.places]
    pairs = [(one.dtype, one.before[0][1]) for one in casts if isinstance(one.places[0].node, ast.Call)]
    return any("float" in new and "float" in old and _bits(new) > _bits(old) for new, old in pairs)


def _chosen(evidence: Evidence) -> set[str]:
    """The half precision that the layers on the way compute in: it was chosen for them."""
    return {one.dtype for one in evidence.steps if one.function in _LAYERS and one.dtype in SHORT}


def _autocast(evidence: Evidence) -> bool:
    """Whether a call made half precision of nothing but whole: with autocast off, nothing is to be half."""
    made = (one for one in evidence.steps if one.dtype in SHORT and one.function not in METHODS and one.before)
    return any({dtype for _, dtype in one.before} == {"float32"} for one in made)


def _compared(evidence: Evidence, operand: Operand) -> list[Step]:
    """The steps behind an operand back to the one that made numbers of truth values; none where none did."""
    found: list[Step] = []
    for step in trunk(evidence, operand.start):
        if step.dtype != operand.dtype or "float" not in step.dtype:
            return []
        found.append(step)
        if any(dtype == "bool" for _, dtype in step.before):
            return found
    return []


def _casts_of(evidence: Evidence, operand: Operand, dtype: str) -> Iterator[Candidate]:
    """Casts of an operand where it is read, and of what it was made of.

    Not of what autocast made on purpose, nor of what numpy alone cannot hold.
    """
    method = "abs()" if operand.dtype.startswith("complex") else CASTS.get(dtype, f"to(torch.{dtype})")
    if operand.dtype == "uint8" and method == "float()" and _scaled(evidence):
        method = "float().div(255)"
    leaves = evidence.crash is not None and evidence.crash.function == "numpy"
    meant = operand.place is not None and operand.dtype in SHORT and (leaves or _autocast(evidence))
    alike = [] if meant else [step for step in chain(evidence, operand.start) if step.dtype == operand.dtype]
    alike = _from_where_it_met(evidence, alike, dtype)
    chosen = _chosen(evidence)
    alike = [step for step in alike if not (step.dtype in chosen and _narrows(step))]
    if dtype == "bool":
        alike = _compared(evidence, operand) or alike
    if dtype.startswith("int") and "float" in operand.dtype:  # fractions are lost: only behind the last arithmetic
        computed = next((at for at, step in enumerate(alike) if step.function not in _MOVING), len(alike))
        alike = _cut_off(alike[: computed + 1])
    if operand.dtype in STORED:  # and computed with elsewhere
        alike = []
    held = _held(operand.place) if any(map(_narrows, alike)) else None
    if held is not None:  # what an object keeps in fewer bytes, on purpose, is cast where it is computed with
        alike = []
        yield from cast_at(evidence, held, method, operand.dtype) if held.node is not operand.place.node else ()  # type: ignore[union-attr]
    for kept in _kept_beside(operand.place, method):
        yield from (replace(one, exact=True) for one in cast_at(evidence, kept, method, operand.dtype))
    inner = [place for step in reversed(alike) for place in (*step.places[:1], *returned_as(evidence, step))]
    outer = [place for step in alike for place in step.places[1:2]]
    for place in [*inner, operand.place, *outer]:
        if place is not None and operand.place is None and _elsewhere_too(place):
            yield from _copied(evidence, place)
        elif place is not None and editable(place) and not _asked_for(place):
            followed = of_dtype(evidence, place, dtype) if evidence.passed and "float" in dtype else []
            for each in [*(f"to({like})" for like in followed), method]:  # another time it was of the other dtype
                yield from cast_at(evidence, place, each, operand.dtype)
    if dtype in chosen:
        yield from _as_beside(evidence, operand)
    for step in alike[-1:] if method == "long()" else ():
        if step.places and step.function in _SPACED and editable(step.places[0]):
            yield from cast_at(evidence, step.places[0], "round().long()", operand.dtype)


def _kept_beside(place: Place | None, method: str) -> Iterator[Place]:
    """`y` of `self.y = y` where another attribute beside is cast like that: `self.x = x.double()`."""
    own = {one.attr for one in walked(place.node) if of_self(one)} if place is not None else set()  # type: ignore[attr-defined]
    owner = place.source.class_at(place.line) if place is not None and own else None
    for node in (one for one in walked(owner) if isinstance(one, ast.Assign)) if owner is not None else ():
        beside = [one.value for one in place.source.block_of(node) if isinstance(one, ast.Assign) and one is not node]  # type: ignore[union-attr]
        cast = any(isinstance(one, ast.Call) and f"{called(one)}()" == method for one in beside)
        if cast and any(of_self(one) and one.attr in own for one in node.targets):  # type: ignore[attr-defined]
            yield place.at(node.value)  # type: ignore[union-attr]


def _as_beside(evidence: Evidence, operand: Operand) -> Iterator[Candidate]:
    """`y` -> `y.to(out.dtype)`, for another operand that has a name: the layers may run in another precision too."""
    names = [one.place for one in operands(evidence) if one.index != operand.index and one.dtype in SHORT]
    for other in names if operand.place is not None and editable(operand.place) else ():
        if other is not None and isinstance(other.node, (ast.Name, ast.Attribute)):
            yield from cast_at(evidence, operand.place, f"to({other.text}.dtype)", operand.dtype)  # type: ignore[arg-type]


def of_dtype(evidence: Evidence, place: Place, dtype: str) -> list[str]:
    """`x.dtype` for what a call reads, or its function is given, that has a dtype."""
    frame, function = evidence.frame_of(place), place.source.function_at(place.line)
    scope = frame.scope if frame is not None else evidence.scope_of(place)
    given = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    names = [one for one in (*sorted(loaded(place.node)), *given) if _is_of(scope.get(one), dtype)]
    return [f"{one}.dtype" for one in dict.fromkeys(names)][:1]


def _is_of(value: object, dtype: str) -> bool:
    return isinstance(value, list) and value[1:2] == [dtype]


def _narrows(step: Step) -> bool:
    """Whether a step is a cast that the program wrote, to a dtype of fewer bytes."""
    before = step.before[0][1] if step.before else ""
    written = step.function in METHODS and bool(step.places) and isinstance(step.places[0].node, ast.Call)
    return written and _bits(step.dtype) < _bits(before)


def _bits(dtype: str) -> int:
    return int(re.sub(r"\D+", "", dtype.partition("_")[0]) or 8)


def _held(place: Place | None) -> Place | None:
    """Where an object's attribute is read whose value a place has: the place itself, or what bound its name above."""
    node = place.node if place is not None else None
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)) and not of_self(node):
        node = node.func if isinstance(node, ast.Call) else node.value
    if place is None or of_self(node):
        return place
    scope = place.source.scope_at(place.line)
    bound = [one for one in walked(scope) if isinstance(one, ast.Assign) and isinstance(node, ast.Name)
             and node.id in stored(one) and one.lineno < place.line]  # fmt: skip
    return place.at(bound[0].value) if len(bound) == 1 and of_self(bound[0].value) else None


def _asked_for(place: Place) -> bool:
    """Whether a dtype is a setting of the program, `net.to(getattr(torch, args.dtype))`: another would undo that."""
    node = place.node
    given = [ast.unparse(one) for one in node.args] if isinstance(node, ast.Call) and called(node) == "to" else []
    return any("dtype" in one for one in given)


def _elsewhere_too(place: Place) -> bool:
    """Whether a layer is cast for another name: `half = model.half()`, which changes `model`."""
    node, statement = place.node, place.statement().node
    cast = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
    owner = node.func.value if cast and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    names = [ast.unparse(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []
    return isinstance(owner, (ast.Name, ast.Attribute)) and bool(names) and ast.unparse(owner) not in names


def _copied(evidence: Evidence, place: Place) -> Iterator[Candidate]:
    """`half = model.half()` -> `half = copy.deepcopy(model).half()`."""
    owner = place.at(place.node.func.value)  # type: ignore[union-attr]
    new = f"copy.deepcopy({owner.text})"
    yield from evidence.replaced(owner, new, "replace", "rename", new=new, old=owner.text)


def _from_where_it_met(evidence: Evidence, steps: list[Step], dtype: str) -> list[Step]:
    """The steps down to those that met a value in half precision: a table made on its own keeps its precision."""
    met = [step for step in steps if dtype in SHORT and dtype in {one for _, one in step.before}]
    apart = {id(one) for step in met for start in step.inputs for one in chain(evidence, start)}
    return [step for step in steps if id(step) not in apart]


def _cut_off(steps: list[Step]) -> list[Step]:
    """The steps down to the one that cut the value out of a table of other values, which are to keep theirs."""
    for at, step in enumerate(steps):
        if step.place is not None and shares_out(step.place.node):
            return steps[:at]
        if step.place is not None and is_column(step.place.source, step.place.node):
            return steps[: at + 1]
    return steps


def _scaled(evidence: Evidence) -> bool:
    """Whether the program divides by 255 somewhere, as it does with the images that it learns from."""
    numbers = (node for source in evidence.sources_seen() for node in source.nodes() if isinstance(node, ast.BinOp))
    return any(isinstance(one.right, ast.Constant) and one.right.value == 255 for one in numbers)


def cast_at(evidence: Evidence, place: Place, method: str, dtype: str) -> Iterator[Candidate]:
    """A cast behind an expression; another cast that stands there already gives way to it."""
    node = place.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS[:-1]:
        name = method.partition("(")[0]
        if name == "bool" and isinstance(node.func.value, ast.Compare):  # truth values already
            edits = lambda: methods.delete_method(place)  # noqa: E731
            yield from evidence.made(edits, "cast", place, "cast", what=place.short, method=method, dtype=dtype)
            return
        if method.endswith("()") and name in METHODS:
            edits = lambda: methods.replace_call(place, name)  # noqa: E731
            yield from evidence.made(edits, "cast", place, "cast", what=place.short, method=method, dtype=dtype)
            return
    edits = lambda: methods.insert_method(place, method)  # noqa: E731
    yield from evidence.made(edits, "cast", place, "cast", what=place.short, method=method, dtype=dtype)
