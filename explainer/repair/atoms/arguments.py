"""Arguments of a call: exchanged, left out, given too."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from explainer.dimensions import DIMENSIONS
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import named
from explainer.edits.place import Place
from explainer.repair.atoms.common import (
    calls,
    expressions,
    greatest,
    integers,
    lengths,
    number,
    tensors,
    text,
    wanted,
)
from explainer.repair.atoms.signatures import lacking, left_alone, said
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, walked, with_argument, with_arguments

#: What a call may lack and no signature tells, by its last name.
_LACKING: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("cross_entropy", "CrossEntropyLoss", "nll_loss"), ("ignore_index=-1", "ignore_index=0")),
    **dict.fromkeys(("arange",), ("2",)),
    **dict.fromkeys(("meshgrid",), ('indexing="ij"',)),
    **dict.fromkeys(("load_state_dict",), ("strict=False",)),
}
#: What numbers may stand for one whose default is known, besides those in scope.
_NUMBERS = (1, 2, 0)
#: What nobody means and forgets to say.
_SELDOM = ("dilation", "groups")
#: What it costs that a parameter is a flag, a dimension, a number.
_FLAG, _DIMENSION, _NUMBER, _SIZED = 0.4, 0.1, 0.6, 0.5
#: What says how large a result is that else depends on the largest number among the data, and what it is worth.
OF_DATA, _COUNTED = ("minlength", "num_classes", "dim_size", "num_segments"), -1.5
#: The most arguments of which every pair is exchanged; of more only neighbours.
_PAIRS = 4
#: Signs whose sides are not worth the same in the other order.
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)
#: From which number on a `dim` is a size.
_RANKS = 6
#: How many sizes in scope a parameter may be given; how many in the place of a number.
_SIZES, _FITTING = 8, 3


def swap(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Linear(dim, patch)` -> `Linear(patch, dim)`: two arguments, sizes, values of keywords, or names exchanged."""
    yield from _unpacked(spot, evidence)
    for node in expressions(spot):
        for own in _rows(node):
            near = [(i, j) for i in range(len(own)) for j in range(i + 1, len(own)) if j == i + 1 or len(own) <= _PAIRS]
            for i, j in near:
                one, other = text(spot, own[i]), text(spot, own[j])
                if isinstance(node, ast.BinOp) and isinstance(own[i], ast.BinOp):  # it comes to stand on the right
                    one = f"({one})"
                if one != other and not isinstance(own[i], ast.Starred) and _alike(own[i], own[j]):
                    weight = 0.3 * (j - i) + 1.3 * (_scrambles(node) and i == 0)
                    weight += 0.8 * (isinstance(own[i], ast.Call) and isinstance(own[j], ast.Call))
                    yield Offer("swap", spot, node, _with(spot, node, {id(own[i]): other, id(own[j]): one}), "", weight)
            if len(own) > 2 and isinstance(node, (ast.Call, ast.Tuple)):
                yield from _turned(spot, node, own)


def _halves(node: ast.BinOp) -> bool:
    """Whether a size is divided by a number that is written: the other way round it gives 0, or the number."""
    return isinstance(node.op, (ast.FloorDiv, ast.Mod)) and number(node.right) is not None


def _unpacked(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`for x, value, label in rows` -> `for x, label, value in rows`: parts that are taken in another order.

    A namesake where a function hands back what is called so in that order.
    """
    node, parent = spot.place.node, spot.place.source.parent_of(spot.place.node)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and parent.iter is node:
        targets: list[ast.expr] = [parent.target]
    else:
        targets = parent.targets if isinstance(parent, ast.Assign) and parent.value is node else []
    rows = [one for target in targets for one in walked(target) if isinstance(one, ast.Tuple)]
    given = list(_given_back(spot, evidence)) if rows else []
    for row in rows:
        for i, j in itertools.combinations(range(min(len(row.elts), _PAIRS)), 2):
            one, other = row.elts[i], row.elts[j]
            if isinstance(one, ast.Name) and isinstance(other, ast.Name):
                changes = {id(one): other.id, id(other): one.id}
                old = [getattr(each, "id", "") for each in row.elts]
                new = [changes.get(id(each), name) for each, name in zip(row.elts, old, strict=True)]
                kind = "namesake" if _as_given(given, old, new, (i, j)) else "swap"
                yield Offer(kind, spot, row, _with(spot, row, changes), "unpacked", 0.3 * (j - i))


def _given_back(spot: Spot, evidence: Evidence) -> Iterator[list[str]]:
    """What other functions hand back of several parts, by their last names: `self.label[i]` is `label`."""
    own = spot.place.source.scope_at(spot.place.line)
    for source in evidence.sources_seen():
        for node in source.nodes():
            value = node.value if isinstance(node, (ast.Return, ast.Yield)) else None
            if isinstance(value, ast.Tuple) and source.scope_at(value.lineno) is not own:
                yield [_last_name(one) for one in value.elts]


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _as_given(rows: list[list[str]], old: list[str], new: list[str], places: tuple[int, int]) -> bool:
    """Whether names in a new order are where functions hand them back; one of the two, where none has it elsewhere."""
    found = [[row[at] == new[at] != "" for at in places] for row in rows if len(row) == len(new)]
    as_before = any(row[at] == old[at] != "" for row in rows if len(row) == len(old) for at in places)
    return any(map(all, found)) or (not as_before and any(map(any, found)))


def _alike(one: ast.expr, other: ast.expr) -> bool:
    """Whether two arguments may be of one kind: a text, or a list beside a number, is none."""
    plain = [isinstance(node, ast.Constant) and isinstance(node.value, (str, bool)) for node in (one, other)]
    rows = [isinstance(node, (ast.List, ast.Tuple, ast.Dict)) for node in (one, other)]
    return not any(plain) and rows[0] == rows[1]


def _scrambles(node: ast.expr) -> bool:
    """Whether the first argument is the batch of a view."""
    return isinstance(node, ast.Call) and called(node) in ("view", "reshape") and len(node.args) > 2


def _turned(spot: Spot, node: ast.expr, own: Sequence[ast.expr]) -> Iterator[Offer]:
    """The row with its last brought to front, or its first to the end."""
    texts = [text(spot, one) for one in own]
    for turned in (texts[-1:] + texts[:-1], texts[1:] + texts[:1]):
        changes = {id(one): new for one, new in zip(own, turned, strict=True)}
        yield Offer("swap", spot, node, _with(spot, node, changes), "turned", 1.0)


def _rows(node: ast.expr) -> Iterator[Sequence[ast.expr]]:
    """What may stand in another order: arguments, keywords' values, elements, the sides of a difference or quotient."""
    if isinstance(node, ast.Call) and called(node) != "range":
        yield [one for one in node.args if not isinstance(one, ast.Starred)]
        yield [word.value for word in node.keywords if not isinstance(word.value, ast.Constant)]
        if len(node.args) == 1 and len(node.keywords) == 1:
            yield [node.args[0], node.keywords[0].value]
    elif isinstance(node, (ast.Tuple, ast.List)) and 1 < len(node.elts) < 7:
        yield node.elts
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _ORDERED) and not _halves(node):
        yield [node.left, node.right]


def _with(spot: Spot, node: ast.AST, changes: Mapping[int, str]) -> str:
    """The source of a node with some of its inner nodes' texts replaced."""
    return replaced(spot, node, [(one, changes[id(one)]) for one in walked(node) if id(one) in changes])


def replaced(spot: Spot, node: ast.AST, changes: Sequence[tuple[ast.AST, str]]) -> str:
    """The source of a node with the texts of inner nodes, which do not overlap, replaced."""
    source = spot.place.source
    lines = [line.encode() for line in source.lines[node.lineno - 1 : node.end_lineno]]  # type: ignore[attr-defined]
    first = node.lineno  # type: ignore[attr-defined]
    lines[-1] = lines[-1][: node.end_col_offset]  # type: ignore[attr-defined]
    for one, new in sorted(changes, key=lambda change: (change[0].lineno, change[0].col_offset), reverse=True):  # type: ignore[attr-defined]
        top, end = one.lineno - first, one.end_lineno - first  # type: ignore[attr-defined]
        head, tail = lines[top][: one.col_offset], lines[end][one.end_col_offset :]  # type: ignore[attr-defined]
        lines[top : end + 1] = [head + new.encode() + tail]
    lines[0] = lines[0][node.col_offset :]  # type: ignore[attr-defined]
    return b"\n".join(lines).decode("utf-8", "replace")


def drop(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`f(x, bias=False)` -> `f(x)`: an argument, a size, an operand or an element left out."""
    for node in expressions(spot):
        if isinstance(node, ast.Call):
            given = [*node.args, *node.keywords]
            for one in given if len(given) > 1 or given == node.keywords else ():
                weight = 1.6 if isinstance(one, ast.keyword) else 1.3
                yield Offer("drop", spot, node, _without(spot, node, one), "", weight)
        elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1:
            for one in node.elts:
                yield Offer("drop", spot, node, _without_element(spot, node, one), "", 1.5)


def _without(spot: Spot, node: ast.Call, gone: ast.AST) -> str:
    return with_arguments(spot.place.source, node, [one for one in (*node.args, *node.keywords) if one is not gone])


def _without_element(spot: Spot, node: ast.Tuple | ast.List, gone: ast.AST) -> str:
    rest = ", ".join(text(spot, one) for one in node.elts if one is not gone)
    rest += "," * (isinstance(node, ast.Tuple) and len(node.elts) == 2)
    bare = isinstance(node, ast.Tuple) and not text(spot, node).startswith("(")
    return rest if bare else f"({rest})" if isinstance(node, ast.Tuple) else f"[{rest}]"


def keyword(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x.sum(-1)` -> `x.sum(-1, keepdim=True)`, `GRU(a, b)` -> `GRU(a, b, num_layers=num_layers)`: given too."""
    for node in calls(spot):
        known = {word.arg for word in node.keywords}
        for at, one in enumerate(_LACKING.get(called(node), ())):
            if one.partition("=")[0] not in known:
                yield Offer("keyword", spot, node, with_argument(spot.place.source, node, one), one, 0.6 + 0.2 * at)
        for size in _square(spot, evidence, node) if "size" not in known else ():
            yield Offer("keyword", spot, node, with_argument(spot.place.source, node, f"size={size}"), "size", _COUNTED)
        for name, default in lacking(node, evidence).items():
            for value, why, weight in _values(spot, evidence, name, default):
                meant = why == "near" and left_alone(node, name, evidence)
                kind = "prepared" if meant else "literal" if why == "near" else "keyword"
                yield Offer(kind, spot, node, with_argument(spot.place.source, node, f"{name}={value}"), why, weight)


def namesake(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`GRU(a, b)` -> `GRU(a, b, num_layers=num_layers)`: a parameter for which the program has what is called so."""
    for node in calls(spot):
        for name, default in lacking(node, evidence).items():
            for value, weight in _called_so(spot, node, name, default):
                new = with_argument(spot.place.source, node, f"{name}={value}")
                yield Offer("namesake", spot, node, new, "", weight)


def _called_so(spot: Spot, node: ast.Call, name: str, default: Any) -> Iterator[tuple[str, float]]:
    """Names, fields and settings that are called as a parameter is, and are worth another number than its default."""
    around = _given_around(spot, node, name)
    if around is not None:
        yield around, -0.8
    for one, weight in ((name, -0.6), (f"self.{name}", -0.4)):
        if isinstance(spot.scope.get(one), int) or one in parameters_at(spot):
            yield one, weight
    for one, value in spot.scope.items():
        kept = one[4:-1] if one.startswith("len(") and not isinstance(default, (bool, int)) else one
        if kept.endswith((f'["{name}"]', f".{name}")) and isinstance(value, int) and value != default:
            yield kept, -0.5
    yield from ((f"{one}.{name}", -0.5) for one in _owners(node))


def _square(spot: Spot, evidence: Evidence, node: ast.Call) -> list[str]:
    """The sizes that a sparse matrix may be meant to have, which else has those of its largest indices."""
    if called(node) != "sparse_coo_tensor" or len(node.args) > 2:
        return []
    return [f"({one}, {one})" for one in _fitting(spot, evidence)]


def _fitting(spot: Spot, evidence: Evidence, default: int | None = None) -> list[str]:
    """The names of numbers and lengths in scope that are one of the sizes in question, and not the default.

    Where an index is too large, those behind from which on it would not be, the least first.
    """
    sizes, known, last = wanted(evidence), {**lengths(spot, evidence), **integers(spot)}, greatest(evidence)
    found = [one for one, value in known.items() if value in sizes and value != default][:_FITTING]
    if last is None or (default is not None and last < default):
        return found
    above = sorted((one for one, value in known.items() if last < value <= 2 * (last + 1)), key=lambda one: known[one])
    return list(dict.fromkeys([*found, *(text for one in above[:_FITTING] for text in (one, f"{one} + 1"))]))


def _values(spot: Spot, evidence: Evidence, name: str, default: Any) -> Iterator[tuple[str, str, float]]:
    """What a parameter may be given: another flag or dimension, a number, a size in question."""
    if name == "dtype":
        yield from ((f"torch.{one}", "dtype", 0.0) for one in _dtypes(evidence))
    elif isinstance(default, bool):
        yield str(not default), "flag", _FLAG
    elif isinstance(default, str):
        yield from ((f'"{one}"', "mode", 0.1 * at) for at, one in enumerate(said(name, evidence)) if one != default)
    elif name in DIMENSIONS and (type(default) is not int or abs(default) < _RANKS):
        others = [one for one in (-1, 1, 2, 0) if one != default]
        yield from ((str(one), "rank", _DIMENSION + 0.2 * at) for at, one in enumerate(others))
    elif type(default) is int and name not in _SELDOM:
        sized = _COUNTED if name in OF_DATA else _SIZED
        yield from ((one, "size", sized + 0.1 * at) for at, one in enumerate(_fitting(spot, evidence, default)))
        for at, one in enumerate(_products(spot, evidence) if name in OF_DATA else ()):
            yield one, "product", _COUNTED + 0.2 + 0.1 * at
        if name in OF_DATA and (width := _lacking_width(spot, evidence)):
            yield str(width), "width", _COUNTED
        numbers = [one for one in _NUMBERS if one != default and (one or default < 2)]  # no count becomes none at all
        numbers = numbers if default < _RANKS else []  # nor a width one
        yield from ((str(one), "near", _NUMBER + 0.2 * at) for at, one in enumerate(numbers))
    elif default is None and "dim" not in name:
        yield from ((one, "size", _SIZED + 0.1 * at) for at, one in enumerate(_sizes(spot, evidence)))


def _products(spot: Spot, evidence: Evidence) -> list[str]:
    """`classes * classes` for a count that is viewed as a matrix of classes: products of sizes that are asked for."""
    known = {**lengths(spot, evidence), **integers(spot)}
    sizes = wanted(evidence)
    squares = [f"{one} * {one}" for one, value in known.items() if value > 1 and value**2 in sizes]
    return [*squares, *(text for goal in sorted(sizes) for text in named(goal, known) if " * " in text)][:_FITTING]


def _owners(node: ast.Call) -> list[str]:
    """The objects whose fields a call is given: `spec` of `conv_out(size, spec.kernel)`."""
    given = [one for one in (*node.args, *(word.value for word in node.keywords)) if isinstance(one, ast.Attribute)]
    return list(dict.fromkeys(one.value.id for one in given if isinstance(one.value, ast.Name)))


def _lacking_width(spot: Spot, evidence: Evidence) -> int | None:
    """How wide what a place makes would have to be, as a part of an operand, for that to be as wide as is asked for."""
    made, crash = spot.shape, evidence.crash
    widths = [shape[-1] for shape, _ in (crash.before if crash is not None else ())[:1] if shape]
    apart = min((one - width for width in widths for one in evidence.said if one > width), default=0)
    return made[-1] + apart if made and 0 < apart <= made[-1] else None


def _given_around(spot: Spot, node: ast.AST, name: str) -> str | None:
    """What a call in whose arguments a call stands is given for a parameter of that name: `g(x, n=k, m=f(x))`.

    A dimension is one of another tensor there.
    """
    if name in ("dim", "axis"):
        return None
    calls = [one for one in spot.place.source.up_from(node) if isinstance(one, ast.Call) and one is not node]
    return next((text(spot, word.value) for one in calls for word in one.keywords if word.arg == name), None)


def _dtypes(evidence: Evidence) -> list[str]:
    """The dtypes that meet at the failing call."""
    crash = evidence.crash
    return list(dict.fromkeys(dtype for _, dtype in crash.before)) if crash is not None else []


def _sizes(spot: Spot, evidence: Evidence) -> list[str]:
    """Names and sizes of tensors in scope, those in question first."""
    sizes, said = wanted(evidence), set(evidence.said)
    found = [(name, value) for name, value in integers(spot).items() if "." not in name]
    found += [(f"{name}.size({at})", size) for name, shape in tensors(spot).items() if name.isidentifier()
              for at, size in enumerate(shape) if size > 1]  # fmt: skip
    plain = [text for text, size in sorted(found, key=lambda one: (one[1] not in said, one[1] not in sizes))]
    plain += [f"{one}.size({at})" for one in parameters_at(spot) for at in (1, 0) if not found and one != "self"]
    return plain[:_SIZES]


def parameters_at(spot: Spot) -> list[str]:
    """The parameters of the function in which a place stands: what is in scope there is not always known."""
    function = spot.place.source.function_at(spot.place.line)
    return [one.arg for one in [*function.args.args, *function.args.kwonlyargs]] if function is not None else []


def element(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`map(split, (q, k))` -> `(q, k, v)`: a tensor that has a name there and is not listed."""
    known = tensors(spot)
    for node in expressions(spot):
        if (
            isinstance(node, (ast.Tuple, ast.List))
            and node.elts
            and all(isinstance(one, ast.Name) for one in node.elts)
        ):
            listed = {one.id for one in node.elts if isinstance(one, ast.Name)}
            whole = text(spot, node)
            ending = whole[-1] if whole[-1:] in ")]" else ""
            for other in [one for one in known if one.isidentifier() and one not in listed][:6]:
                inner = whole[: len(whole) - len(ending)]
                yield Offer("element", spot, node, f"{inner}, {other}{ending}", "scope", 1.0)


def sibling(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`DataLoader(val)` -> `DataLoader(val, collate_fn=padded)`: a keyword given elsewhere, another dict's entry."""
    yield from _entries_beside(spot)
    for node in calls(spot):
        known = {word.arg for word in node.keywords}
        others = [*evidence.calls_of(called(node))[:20], *_fixed(evidence, called(node))]
        given = ((one.source, word) for one in others for word in _words(one.node))
        words = {f"{word.arg}={source.text(word.value)}" for source, word in given if word.arg not in known}
        for word in sorted(words)[:6]:
            yield Offer("sibling", spot, node, with_argument(spot.place.source, node, word), "sibling")


def _entries_beside(spot: Spot) -> Iterator[Offer]:
    """`{"lr": 0.1}` -> `{"lr": 0.1, "decay": 0.0}`, beside `{"lr": 0.2, "decay": 0.0}`: settings that others have."""
    source = spot.place.source
    for node in [one for one in expressions(spot) if isinstance(one, ast.Dict) and _keys_of(one)]:
        for other in [one for one in source.nodes() if isinstance(one, ast.Dict) and _keys_of(node) < _keys_of(one)]:
            pairs = zip(other.keys, other.values, strict=True)
            more = [f"{source.text(key)}: {source.text(value)}" for key, value in pairs
                    if isinstance(key, ast.Constant) and key.value not in _keys_of(node)]  # fmt: skip
            inner = text(spot, node)[1:-1].strip().rstrip(",")
            yield Offer("sibling", spot, node, f"{{{', '.join([inner, *more])}}}", "entry")


def _keys_of(node: ast.Dict) -> set[object]:
    return {one.value for one in node.keys if isinstance(one, ast.Constant)}


def _fixed(evidence: Evidence, name: str) -> list[Place]:
    """Where `partial` fixes arguments of whatever has a name."""
    partials = evidence.calls_of("partial")
    return [one for one in partials if one.node.args and isinstance(one.node.args[0], (ast.Name, ast.Attribute))  # type: ignore[union-attr]
            and one.source.text(one.node.args[0]).rpartition(".")[2] == name]  # type: ignore[union-attr]  # fmt: skip


def _words(node: ast.AST) -> list[ast.keyword]:
    return [word for word in node.keywords if word.arg] if isinstance(node, ast.Call) else []
