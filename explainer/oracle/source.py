"""What the lines of an edit show before anything is run: lost writes, other numbers of results, numbers that fit."""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from explainer.diagnosis import Edit
from explainer.source import of_self, source_of

#: What hands back memory of its own: what is written there reaches nobody else.
_COPIES = ("clone", "contiguous", "float", "double", "half", "long", "int", "bool", "to", "repeat", "copy", "deepcopy")
#: What orders or groups the dimensions of a tensor, or picks among them.
_LAYOUT = re.compile(
    r"\.(?:transpose|permute|t|T|mT|swapaxes|swapdims|movedim|moveaxis|view|reshape|flatten|unflatten|squeeze|unsqueeze"
    r"|expand|expand_as|mean|sum|amax|amin|max|min|roll|flip)\b|\b(?:dim|axis|batch_first|start_dim)\s*=|\beinsum\("
    r"|\brearrange\(|\bstack\(|\bcat\(|\[[^\]]*(?::|None)|[\"'][^\"']*->[^\"']*[\"']"
)
_PUT_IN = re.compile("None")
#: What is between the brackets of a part, what sizes are taken of, and what leaves out a last batch.
_PART = re.compile(r"\d|\w\s*:|:\s*[\w-]")
_PLAIN_SIZES = re.compile(r"\.shape$|\.size\(\)$")
#: A length and a number besides 1.
_LONGER = re.compile(r"\blen\([^()]*\) \+ (?:[2-9]|[1-9]\d+)\b")
_GIVEN = re.compile(r"\b\w+=\d+\b")
#: A sequence without its last, or its first, step.
_STEP = re.compile(r"([A-Za-z_][\w.]*)\[((?:[^\[\],]*, )+)(:-1|1:)\]")
_ROWS = re.compile(r"\[(?::-1|1:)\]")
_MEASURED = re.compile(r"\.size\(-?\d\)|\.shape\[-?\d\]|\blen\(")
#: A part from a place on, and a part up to it.
_FROM, _UPTO = re.compile(r"\[(\w+):\]"), re.compile(r"\[:(\w+)\]")
_DROPS = re.compile(r"\bdrop_last\s*=\s*True|\.(?:split|chunk)\([^()]*\)\[(?::-1|1:)\]")
#: Classes of layers, and functions that are given sizes.
_TAKES_SIZES = re.compile(
    r"(?:^|\.)(?:[A-Z]\w*|zeros|ones|empty|full|rand|randn|randint|arange|view|reshape|expand|repeat|narrow|unflatten)$"
)
_CUTS = re.compile(
    r"\.detach\(|\bno_grad\b|\binference_mode\b|\.data\b|\.item\(|\.numpy\(|\.tolist\(|requires_grad\s*=\s*False"
    r"|\brequires_grad_\(False|\bargmax\(|\.round\(|set_grad_enabled\(False"
)


def loses_write(edits: Iterable[Edit]) -> bool:
    """Whether a write goes into a copy that nobody keeps: `x.clone()[0] = 1`, `x.clone().add_(1)` as a statement."""
    return any(_writes_to_copy(edit.after) and not _writes_to_copy(edit.before) for edit in edits)


def drops_statistics(edits: Sequence[Edit]) -> bool:
    """Whether another normalisation takes the place of one that keeps running statistics."""
    return any("BatchNorm" in (one.before or "") and "BatchNorm" not in (one.after or "") for one in edits)


def evaluates(edits: Sequence[Edit]) -> bool:
    """Whether edits put a model into evaluation mode."""
    return any(".eval()" in (edit.after or "") and ".eval()" not in (edit.before or "") for edit in edits)


def _writes_to_copy(text: str | None) -> bool:
    return any(_copies(target) for node in nodes_of(text) for target in _written(node))


def _written(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions whose memory a statement writes into."""
    if isinstance(node, ast.Assign):
        yield from (one.value for one in node.targets if isinstance(one, ast.Subscript))
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        yield node.target.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        if isinstance(func, ast.Attribute) and re.fullmatch(r"[a-z]\w*[a-z]_", func.attr):
            yield func.value


def _copies(node: ast.AST) -> bool:
    """Whether an expression ends in memory of its own: a copy, or a part of one."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return called and (node.func.attr in _COPIES or _copies(node.func.value))  # type: ignore[attr-defined]


def hands_back_otherwise(edits: Iterable[Edit]) -> bool:
    """Whether a `return` hands back another number of results."""
    for edit in edits:
        before, after = ([_count(one) for one in _returns(text)] for text in (edit.before, edit.after))
        if before and after and len(before) == len(after) and before != after:
            return True
    return False


def _returns(text: str | None) -> Iterator[ast.Return]:
    return (one for one in nodes_of(text) if isinstance(one, ast.Return))


def _count(node: ast.Return) -> int:
    return len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1


def of_layout(edits: Iterable[Edit]) -> bool:
    """Whether an edit orders, groups or picks dimensions otherwise: samples can mix by that."""
    return any(_more(_LAYOUT, edit) for edit in edits)


def puts_in(edits: Iterable[Edit]) -> bool:
    """Whether an edit puts dimensions of size 1 in: `mask[:, None]`."""
    return any(_more(_PUT_IN, edit) for edit in edits)


def cuts_off(edits: Iterable[Edit]) -> bool:
    """Whether an edit puts a subscript in that takes a part of something; of a shape it takes sizes.

    What a module keeps is no input of it.

    A cut that stood there and is made along another dimension is the program's own: `[:n]` -> `[:, :n]`.
    """
    return any(_parts(edit.after) - _parts(edit.before) for edit in edits)


def _parts(text: str | None) -> Counter[str]:
    """The subscripts that take a part of something: `[:, :-1]`, `[0]`."""
    taken = [
        one
        for one in nodes_of(text)
        if isinstance(one, ast.Subscript) and not of_self(one.value) and not _PLAIN_SIZES.search(ast.unparse(one.value))
    ]
    return Counter(_cut(one.slice) for one in taken if _PART.search(ast.unparse(one.slice)))


def _cut(part: ast.expr) -> str:
    """What a subscript cuts, along whichever dimension; of one that takes single entries the whole of it."""
    rows = part.elts if isinstance(part, ast.Tuple) else [part]
    cuts = [one for one in rows if isinstance(one, ast.Slice)]
    return ast.unparse(part if len(cuts) < len(rows) else ast.Tuple([one for one in cuts if ast.unparse(one) != ":"]))


def drops_samples(edits: Iterable[Edit]) -> bool:
    """Whether an edit lets a loader, or a loop over batches, leave out the last samples of each epoch."""
    return any(_more(_DROPS, edit) for edit in edits)


def collates(edits: Iterable[Edit]) -> bool:
    """Whether an edit lets a loader make batches of samples as they come, of whatever sizes these are."""
    return any("collate_fn=" in (edit.after or "") and "collate_fn=" not in (edit.before or "") for edit in edits)


def takes_other_part(edits: Iterable[Edit]) -> bool:
    """Whether an edit takes what another part of a split holds: `rows[:split]` for `rows[split:]`."""
    pairs = [(edit.before or "", edit.after or "") for edit in edits]
    return any(_less(_FROM, *pair) & _less(_UPTO, *pair[::-1]) or _less(_UPTO, *pair) & _less(_FROM, *pair[::-1])
               for pair in pairs)  # fmt: skip


def _less(pattern: re.Pattern[str], before: str, after: str) -> Counter[str]:
    return Counter(pattern.findall(before)) - Counter(pattern.findall(after))


def cuts_rows(edits: Iterable[Edit]) -> bool:
    """Whether an edit leaves out the first or the last row of something: `scores[:-1]`."""
    return any(_more(_ROWS, edit) for edit in edits)


def measures(edits: Iterable[Edit]) -> bool:
    """Whether an edit takes a size of a tensor, `x.size(0)`, for another number."""
    return any(_more(_MEASURED, edit) for edit in edits)


def pairs_with_next(edits: Iterable[Edit]) -> bool:
    """Whether a sequence is cut to the steps that have a next one, which its file takes as targets: `y[:, :-1]`.

    Or those are taken, beside the steps before them.
    """
    for edit in edits:
        for name, front, end in set(_STEP.findall(edit.after or "")) - set(_STEP.findall(edit.before or "")):
            other = "1:" if end == ":-1" else ":-1"
            if f"{name}[{front}{other}]" in source_of(edit.file).whole:
                return True
    return False


def filters(edits: Iterable[Edit]) -> bool:
    """Whether an edit has a comprehension leave something out: `[f(x) for x in rows if len(x) > 1]`."""
    return any(_conditions(edit.after) > _conditions(edit.before) for edit in edits)


def _conditions(text: str | None) -> int:
    return sum(len(node.ifs) for node in nodes_of(text) if isinstance(node, ast.comprehension))


def picks_less(edits: Iterable[Edit]) -> bool:
    """Whether an edit does no more than leave out a subscript: what it picked is picked no more."""
    return any(_unsubscripted(edit.before or "", edit.after or "") for edit in edits)


def _unsubscripted(before: str, after: str) -> bool:
    start = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after))
    gone = before[start : start + len(before) - len(after)]
    return after[:start] + gone + after[start:] == before and gone[:1] == "[" and gone[-1:] == "]"


def spreads_one(edits: Iterable[Edit]) -> bool:
    """Whether one entry of a tensor now stands for all of them in arithmetic: `x + y[0]` in place of `x + y`."""
    return any(_entries(edit.after) - _entries(edit.before) for edit in edits)


def takes_one(edits: Iterable[Edit]) -> bool:
    """Whether one entry is taken of what was handed on whole: `return y[0]` in place of `return y`."""
    return any(_taken(edit.after) > _taken(edit.before) for edit in edits)


def _taken(text: str | None) -> int:
    nodes = nodes_of(text)
    sized = [one for one in nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv)]
    of_sizes = {id(side) for one in sized for side in (one.left, one.right)} | _among_sizes(nodes)
    return sum(_is_entry(one) for one in nodes if id(one) not in of_sizes)


def _among_sizes(nodes: Sequence[ast.AST]) -> set[int]:
    """What stands in a tuple that holds a whole number, too: `(self.dilation[0] * pad, 0)`."""
    rows = [one.elts for one in nodes if isinstance(one, (ast.Tuple, ast.List))]
    sizes = [row for row in rows if any(isinstance(one, ast.Constant) and type(one.value) is int for one in row)]
    return {id(node) for row in sizes for one in row for node in ast.walk(one)}


def _entries(text: str | None) -> Counter[str]:
    """The operands of arithmetic that are an entry of something; `size[1] // patch` computes a size."""
    sizes = _among_sizes(nodes_of(text))
    made = [one for one in _operations(text) if not isinstance(one.op, ast.FloorDiv) and id(one) not in sizes]
    return Counter(ast.unparse(side) for one in made for side in (one.left, one.right) if _is_entry(side))


def _is_entry(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and bool(re.search(r"\[(?:.*, )?-?\d+\]$", ast.unparse(node)))


def leaves_out_data(edits: Iterable[Edit]) -> bool:
    """Whether an edit does no more than leave out an argument that carries data, such as a mask.

    Sizes, dimensions, dtypes and constants carry none; nor does what a call is given that takes sizes alone.
    """
    return any(_carries_data(gone) for edit in edits for gone in _left_out(edit))


def _left_out(edit: Edit) -> Iterator[ast.AST]:
    """The argument that a call is given no more, where that is all that changed."""
    nodes, after = nodes_of(edit.before), nodes_of(edit.after)
    wanted = ast.dump(after[0]) if after else ""
    for call in nodes:
        rows = (call.args, call.keywords) if isinstance(call, ast.Call) else ()
        sizes = isinstance(call, ast.Call) and _sized(call)
        for row in rows:
            for at, one in enumerate(list(row)):
                row.pop(at)
                if ast.dump(nodes[0]) == wanted and not (sizes and not isinstance(one, ast.Call)):
                    yield one  # a step of a row of them does something, too
                row.insert(at, one)  # type: ignore[arg-type]


def _sized(call: ast.Call) -> bool:
    """Whether a call takes sizes, or dimensions."""
    name = ast.unparse(call.func)
    return bool(_LAYOUT.match(f".{name.rpartition('.')[2]}") or _TAKES_SIZES.search(name))


def _carries_data(argument: ast.AST) -> bool:
    """Whether an argument is made of names that are no sizes, dtypes or devices."""
    if isinstance(argument, ast.keyword) and argument.arg in ("dim", "axis", "dtype", "device", "size"):
        return False
    plain = re.sub(
        r"[\w.]+\.(?:shape\[[^\]]*\]|size\([^)]*\)|dtype|device|ndim)|len\([^)]*\)", "", ast.unparse(argument)
    )
    plain = plain.removeprefix(f"{argument.arg}=") if isinstance(argument, ast.keyword) else plain
    return bool(
        re.search(r"[A-Za-z_]", re.sub(r"\b(?:True|False|None|torch(?:\.\w+)*)\b(?!\()|(['\"]).*?\1", "", plain))
    )


def turns_batch(edits: Iterable[Edit]) -> bool:
    """Whether a layer that had the batch first has it no more, and nothing turns what it is given."""
    pairs = [(edit.before or "", edit.after or "") for edit in edits]
    gone = any("batch_first=True" in before and "batch_first=True" not in after for before, after in pairs)
    return gone and not any(".transpose(" in after and ".transpose(" not in before for before, after in pairs)


def cuts_graph(edits: Iterable[Edit]) -> bool:
    """Whether an edit takes a value out of the graph."""
    return any(_more(_CUTS, edit) for edit in edits)


def _more(pattern: re.Pattern[str], edit: Edit) -> bool:
    before, after = (Counter(pattern.findall(text or "")) for text in (edit.before, edit.after))
    return bool(after - before or (before - after and pattern is _LAYOUT))


def reorders(edits: Iterable[Edit]) -> bool:
    """Whether an edit brings the same lines in another order."""
    rows = [((edit.before or "").split("\n"), (edit.after or "").split("\n")) for edit in edits]
    plain = [([one.strip() for one in before], [one.strip() for one in after]) for before, after in rows]
    return any(before != after and sorted(before) == sorted(after) for before, after in plain)


def adds_bare_number(edits: Iterable[Edit]) -> bool:
    """Whether an edit adds a number to a length, or puts one in its place: `len(table) + 3`, `26` for `len(table)`.

    It fits what was met, and nothing says why it is three.
    """
    texts = [(edit.before or "", edit.after or "") for edit in edits]
    more = any(len(_LONGER.findall(after)) > len(_LONGER.findall(before)) for before, after in texts)
    new = [any(int(one) > 1 for one in _numbers(after) - _numbers(before)) for before, after in texts]
    lost = [before.count("len(") > after.count("len(") for before, after in texts]
    return more or any(one and other for one, other in zip(new, lost, strict=True))


def changes_number(edits: Iterable[Edit]) -> bool:
    """Whether an edit puts another whole number in the place of one, or of a default: `make(n=1)` for `make()`."""
    texts = [(edit.before or "", edit.after or "") for edit in edits]
    numbers = [(_numbers(before), _numbers(after)) for before, after in texts]
    given = (set(_GIVEN.findall(after)) - set(_GIVEN.findall(before)) for before, after in texts)
    return any(before - after and after - before for before, after in numbers) or any(given)


def _numbers(text: str | None) -> Counter[str]:
    return Counter(re.findall(r"(?<![\w.])\d+(?![\w.])", text or ""))


def arithmetic(edits: Iterable[Edit]) -> list[ast.BinOp]:
    """The sums, products and quotients that edits bring in."""
    found: list[ast.BinOp] = []
    for edit in edits:
        known = {ast.unparse(one) for one in _operations(edit.before)}
        found += [one for one in _operations(edit.after) if ast.unparse(one) not in known]
    return found


def _operations(text: str | None) -> Iterator[ast.BinOp]:
    return (node for node in nodes_of(text) if isinstance(node, ast.BinOp))


def sums_names(edits: Iterable[Edit]) -> bool:
    """Whether an edit adds what has names, or takes it from another: that the result fits may be chance."""
    sides = [(one.left, one.right) for one in arithmetic(edits) if isinstance(one.op, (ast.Add, ast.Sub))]
    return any(all(re.search(r"[A-Za-z_]", ast.unparse(side)) for side in pair) for pair in sides)


def decides_default(edits: Iterable[Edit]) -> bool:
    """Whether an edit gives an argument a value that the function decided by default."""
    for edit in edits:
        before, after = (Counter(_keywords(text)) for text in (edit.before, edit.after))
        if after - before and edit.before is not None:
            return True
    return False


def _keywords(text: str | None) -> Iterator[str]:
    for node in nodes_of(text):
        if isinstance(node, ast.Call):
            yield from (f"{ast.unparse(node.func)}:{word.arg}" for word in node.keywords if word.arg)


@functools.lru_cache(1024)
def nodes_of(text: str | None) -> tuple[ast.AST, ...]:
    """The nodes of some lines of source; of a statement's head too (`for x in y:`), none of a part of one."""
    code = textwrap.dedent(text or "").strip()
    for form in (code, f"{code}\n    pass", f"{code})", f"f({code})"):
        try:
            return tuple(ast.walk(ast.parse(form)))
        except SyntaxError:
            continue
    return ()
