"""Which side the rest of the program agrees with: a layer built for a width, or the tensor that comes with another."""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

from explainer.bindings import fields_of, last_name
from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.changes import drops_name
from explainer.edits.evidence import Evidence
from explainer.edits.generators.sites import arriving, layers_hit
from explainer.edits.generators.slices import argument_places, trunk
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import Function, Source, loaded, stored, walked

_SUM = Pattern(r"\w+ [+*-] \w+|\w+ // \w+|\w \*\* \w")
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")
_FIELD = re.compile(r"(?<=\w\.)[A-Za-z_]\w*(?![\w(])")
#: What a method is given by Python, and need not read.
_OWN = {"self", "cls"}
_CHANNELS = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm")
_BACK = 8

#: A sum or difference in brackets, times a name.
_FACTOR = re.compile(r"\(([^()]+ [-+] [^()]+)\) \* [\w.]+")
#: One of several values is taken.
_PART = re.compile(r"(?<=\))\[-?\d\]")
#: What puts a formula right that counts the windows of a layer, or the order in which sizes are taken from a list.
_FORMULAS = ("overlapping", "padded", "reversed")
#: A number is doubled.
_DOUBLED = re.compile(r"\b2 \* |\* 2\b")


def came_along(evidence: Evidence) -> bool:
    """Whether the failing layer's width was that of the data on its way: the layout is odd, not the layer."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        built = layer.value(need[0]) if need is not None else None
        if need is None or built is None or built == need[1]:
            continue
        came = step.before[0][0]
        behind = trunk(evidence, step.inputs[0] if step.inputs else None, _BACK)
        at = 1 if layer.type.startswith(_CHANNELS) else -1
        return built in came or any(len(one.shape) > 1 and one.shape[at] == built for one in behind)
    return False


def forgets(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a name of a function or file is read nowhere any more: what it held was computed for something."""
    if idles(candidate):
        return True
    free = _OWN if reads_unread(candidate, evidence) else set()
    for edit in candidate.edits:
        before, after = parsed(edit.before), parsed(edit.after)
        if after is not None and _loses_data(before, after, edit, evidence):
            return True
        source = evidence.sources(candidate.culprit.file)
        if edit.after is not None and _leaves_setting(source, edit, evidence):
            return True
        gone = _names(edit.before or "") - _names(edit.after or "") - free
        scope = source.scope_at(edit.start_line) if source is not None else None
        if scope is None or not gone or edit.after is None:
            continue
        if any(_last_read(scope, name, edit) for name in gone):
            return True
    return False


def _leaves_setting(source: Source | None, edit: Edit, evidence: Evidence) -> bool:
    """Whether a setting of the program's is read nowhere any more: `cfg.embed`, a field of a dataclass."""
    gone = set(_FIELD.findall(edit.before or "")) - set(_FIELD.findall(edit.after or ""))
    sources = evidence.sources_seen() if gone else []
    nodes = [(one, node) for one in sources for node in one.nodes()]
    fields = {name for _, node in nodes if isinstance(node, ast.ClassDef) for name in fields_of(node)}
    for name in gone & fields:
        reads = [(one, node.lineno) for one, node in nodes if isinstance(node, ast.Attribute) and node.attr == name]
        here = [line for one, line in reads if one is source and edit.start_line <= line <= edit.end_line]
        if here and len(here) == len(reads):
            return True
    return False


def reads_unread(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether an edit reads what its function is given, and had read nowhere: it was given for something."""
    for edit in candidate.edits:
        source = evidence.sources(candidate.culprit.file)
        function = source.function_at(edit.start_line) if source is not None else None
        come = _names(edit.after or "") - _names(edit.before or "")
        if function is not None and come & (_given(function) - loaded(function) - _OWN):
            return True
    return False


def _given(function: Function) -> set[str]:
    arguments = getattr(function, "args", None)  # a file has none
    return {one.arg for one in [*arguments.args, *arguments.kwonlyargs]} if arguments is not None else set()


def idles(candidate: Candidate) -> bool:
    """Whether a comprehension takes no more of what it goes over: `[len(rows) for row in rows]`."""
    pairs = ((parsed(edit.before), parsed(edit.after)) for edit in candidate.edits)
    return any(_idle(after) - _idle(before) for before, after in pairs)


@functools.lru_cache(4096)
def parsed(lines: str | None) -> ast.AST | None:
    """The statements that an edit's text is; None where it is a part of one."""
    try:
        return ast.parse(textwrap.dedent(lines or ""))
    except SyntaxError:  # a part of a statement
        return None


def whole(edit: Edit, evidence: Evidence) -> tuple[ast.AST | None, ast.AST | None]:
    """The statement in which an edit stands, before and after; None for what does not parse."""
    source = evidence.sources(edit.file)
    own = source.statement_at(edit.start_line) if source is not None else None
    if source is None or own is None or own.end_lineno is None or edit.end_line > own.end_lineno:
        return parsed(edit.before), parsed(edit.after)
    lines = list(source.lines[own.lineno - 1 : own.end_lineno])
    first, last = edit.start_line - own.lineno, edit.end_line - own.lineno + 1
    after = [*lines[:first], edit.after or "", *lines[last:]]
    return parsed("\n".join(lines)), parsed("\n".join(after))


def _idle(tree: ast.AST | None) -> set[str]:
    """The names that comprehensions bind and do not read: `[n for f in rows]` takes nothing of `f`."""
    found: set[str] = set()
    for one in walked(tree) if tree is not None else ():
        if isinstance(one, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            bound = set().union(*(stored(each.target) for each in one.generators))
            found |= {name for name in bound - loaded(one) if not name.startswith("_")}
    return found


def _loses_data(before: ast.AST | None, after: ast.AST, edit: Edit, evidence: Evidence) -> bool:
    """Whether an entry of a record is read nowhere any more, and nothing in its place that was read nowhere before."""
    gone, come = _entries(before) - _entries(after), _entries(after) - _entries(before)
    if not gone or loaded(after) - loaded(before or after):
        return False
    lines = range(edit.start_line, edit.end_line + 1)
    nodes = [node for one in evidence.sources_seen() for node in one.nodes() if isinstance(node, ast.Subscript)]
    left = {key for node in nodes if node.lineno not in lines for key in _entries(node)}
    return bool(gone - left) and come <= left


def _entries(tree: ast.AST | None) -> set[str]:
    """The keys of what is read: "text" of `row["text"]`."""
    reads = (one for one in walked(tree) if isinstance(one, ast.Subscript)) if tree is not None else ()
    keys = (one.slice.value for one in reads if isinstance(one.slice, ast.Constant) and isinstance(one.ctx, ast.Load))
    return {key for key in keys if isinstance(key, str)}


def _last_read(function: Function, name: str, edit: Edit) -> bool:
    """Whether an edit's lines alone read what a function's name holds there; a test for None does not count."""
    names = [one for one in walked(function) if isinstance(one, ast.Name) and one.id == name]
    stores = [one.lineno for one in names if isinstance(one.ctx, ast.Store) and one.lineno < edit.start_line]
    if not stores and name not in _given(function):
        return False
    asked = {id(one.left) for one in walked(function) if isinstance(one, ast.Compare) and _of_none(one)}
    since = max(stores, default=0)
    reads = [one.lineno for one in names if isinstance(one.ctx, ast.Load) and id(one) not in asked]
    return not any(line > since and not edit.start_line <= line <= edit.end_line for line in reads)


def _of_none(node: ast.Compare) -> bool:
    return isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None


def _names(text: str) -> set[str]:
    return set(_NAME.findall(text))


#: A whole number that is written out, and up to which they stand for many things.
_WHOLE, _FEW = re.compile(r"(?<![\w.])\d+(?![\w.])"), 4


def widens_for_caller(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a class would make a layer for another size than it is asked for, of what it is given and hands on as is.

    `Linear(dim)` -> `Linear(3 * dim)`, where `forward(x)` calls it with `x`: who makes the object knows what `x` is.
    """
    crash, frame = evidence.crash, evidence.frames[-1] if evidence.frames else None
    place = next(iter(argument_places(crash)), None) if crash is not None else None
    owner = frame.place.source.class_at(frame.place.line) if frame is not None else None
    edit = candidate.edits[0]
    own = owner is not None and owner.lineno <= edit.start_line <= (owner.end_lineno or 0)
    if place is None or frame is None or not own or not _as_given(place):
        return False
    function = place.source.function_at(edit.start_line)
    given = {one.arg for one in function.args.args} if isinstance(function, ast.FunctionDef) else set()
    gone, come = (parsed(text) for text in (edit.before, edit.after))
    rows = zip(walked(gone), walked(come), strict=False) if gone is not None and come is not None else ()
    names = [one.id for one, other in rows if isinstance(one, ast.Name) and ast.dump(one) != ast.dump(other)]
    return getattr(function, "name", "") == "__init__" and names[:1] != [] and names[0] in given


def _as_given(place: Place) -> bool:
    """Whether a function hands on what it was given: a parameter that it has not bound again."""
    function = place.source.function_at(place.line)
    if not isinstance(function, ast.FunctionDef) or not isinstance(place.node, ast.Name):
        return False
    return place.node.id in {one.arg for one in function.args.args} and place.node.id not in stored(function)


#: The width that a layer gives, read of the layer.
_OF_LAYER = re.compile(r"\.(?:out_features|out_channels|embedding_dim|hidden_size)\b")


def recomputes(candidate: Candidate) -> bool:
    """Whether a size that is computed of names, `Linear(hidden + extra, n)`, would be computed otherwise.

    Whoever wrote it knew what meets there: what comes in is odd rather than the sum. Not where the new size is read of
    the layer before, which knows it, or how windows are counted is put right.
    """
    if candidate.source is not None and candidate.source.name in _FORMULAS:
        return False
    for edit in candidate.edits:
        before, after = parsed(edit.before), parsed(edit.after)
        if before is None or after is None:
            continue
        calls = [[one for one in walked(tree) if isinstance(one, ast.Call)] for tree in (before, after)]
        if len(calls[0]) == len(calls[1]):
            pairs = [
                pair for one, other in zip(*calls, strict=True) for pair in zip(one.args, other.args, strict=False)
            ]
            changed = [one for one, other in pairs if ast.unparse(one) != ast.unparse(other)]
            follows = bool(_OF_LAYER.search(edit.after or "")) and not _OF_LAYER.search(edit.before or "")
            if changed and all(isinstance(one, ast.BinOp) and len(loaded(one)) > 1 for one in changed[-1:]):
                return not follows
    return False


def drops_computed(candidate: Candidate, sources: Iterable[Source]) -> bool:
    """Whether numbers take the place of a name that the program computes of others: `self.width = c * side * side`.

    What computes it is wrong then, or what it is computed of; the next object computes it again.
    """
    if not drops_name(candidate):
        return False
    old, new = ({one for edit in candidate.edits for one in re.findall(r"[A-Za-z_]\w*", text(edit) or "")}
                for text in (lambda edit: edit.before, lambda edit: edit.after))  # fmt: skip
    return any(name in old - new and _of_several(value) for source in sources
               for name, value in _values(source))  # fmt: skip


def _values(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """The values that a file gives to names and attributes, and those that its properties give back."""
    for one in source.nodes():
        if isinstance(one, ast.Assign):
            yield from ((last_name(target), one.value) for target in one.targets)
        elif isinstance(one, ast.FunctionDef) and isinstance(one.body[-1], ast.Return) and one.body[-1].value:
            yield one.name, one.body[-1].value


def _of_several(value: ast.expr) -> bool:
    """Whether a value is computed of several names: `self.samples // self.hop`."""
    names = {ast.unparse(one) for one in walked(value) if isinstance(one, (ast.Name, ast.Attribute))}
    return isinstance(value, ast.BinOp) and len(names - {"self"}) > 1


def computed(candidate: Candidate) -> bool:
    """Whether an edit brings in more arithmetic on names than there was."""
    found = [len(_SUM.findall(edit.after or "")) - len(_SUM.findall(edit.before or "")) for edit in candidate.edits]
    return sum(found) > 0


def multiplied(candidate: Candidate) -> bool:
    """Whether what is worked out gets the factor of another name: `(kernel - 1) * dilation` for `kernel - 1`."""
    return _comes(candidate, _FACTOR, r"\1")


def takes_a_part(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether one of several values is taken where the message says that there were several."""
    return "tuple" in evidence.message and _comes(candidate, _PART, "")


def _comes(candidate: Candidate, pattern: re.Pattern[str], without: str) -> bool:
    """Whether all that an edit does is to bring what a pattern finds."""
    return all(pattern.sub(without, edit.after or "") == (edit.before or "") for edit in candidate.edits)


def takes_both_directions(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a size is doubled behind a recurrent layer that hands back both directions, each as wide as it was made.

    The layer itself stays as it is: half its width would be another model.
    """
    rows = [one.layer for one in evidence.steps if one.layer is not None and one.shape
            and one.shape[-1] == 2 * (one.layer.value("hidden_size") or 0)]  # fmt: skip
    own = {(call.place.source.file, call.place.line) for layer in rows for call in layer.calls[:1]}
    doubled = all(_DOUBLED.search(edit.after or "") and not _DOUBLED.search(edit.before or "")
                  and (edit.file, edit.start_line) not in own for edit in candidate.edits)  # fmt: skip
    return bool(rows) and doubled


def sets_apart(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether one of several equal numbers that the program has written becomes one that stands nowhere in it.

    `side_of(9)` beside `rand(3, 9, 9)` -> `side_of(15)`; small numbers stand for many things.
    """
    if not candidate.literal:
        return False
    gone, come = Counter[str](), Counter[str]()
    for edit in candidate.edits:
        old, new = (Counter(_WHOLE.findall(text or "")) for text in (edit.before, edit.after))
        gone, come = gone + (old - new), come + (new - old)
    if len(gone) != 1 or int(next(iter(gone))) < _FEW:
        return False
    written = Counter(number for source in evidence.sources_seen() for number in _WHOLE.findall(source.whole))
    return written[next(iter(gone))] > 1 and not any(written[one] for one in come)
