"""Candidates for loops and draws that count from 1 to n, or past the end, where what they index has 0 to n - 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_operand, bound_above
from explainer.edits.slices import operands, trunk
from explainer.patterns import Pattern
from explainer.source import called, holds

_SAID = Pattern(r"index (\d+) is out of bounds for dimension \d+ with size (\d+)")
_ARITHMETIC = ("add", "sub", "mul", "__add__", "__sub__", "rsub", "__radd__", "div", "floor_divide", "remainder")
#: What draws or lists positions between two numbers.
_DRAWS = ("randint", "integers", "arange", "randrange", "range")


def from_zero(evidence: Evidence) -> Iterator[Candidate]:
    """`range(n, 0, -1)` -> `range(n - 1, -1, -1)`, `range(1, n + 1)` -> `range(n)`: the loop's number is an index."""
    index = _index(evidence)
    for frame in reversed(evidence.frames) if index is not None else ():
        for loop in _loops(frame):
            name = loop.target.id if isinstance(loop.target, ast.Name) else ""
            if not name or frame.scope.get(name) != index:
                continue
            call = _range(frame.place, loop.iter)
            for text in _texts(call) if call is not None else ():
                if call is not None:
                    yield from evidence.replaced(call, text, "replace", "rename", new=text, old=call.text)


def _index(evidence: Evidence) -> int | None:
    """The index that does not exist, just one beyond the last."""
    said = _SAID.search(evidence.message)
    if said is not None:
        return int(said[1])
    extents = [one for one in (evidence.crash.extents if evidence.crash is not None else ()) if one is not None]
    one = extents[0] if len(extents) == 1 and "out of range" in evidence.message else None
    return one[1] if one is not None and one[0] == one[1] else None


def _loops(frame: Call) -> list[ast.For]:
    """The loops around the line at which a frame stands, the innermost first."""
    line, source = frame.place.span.line, frame.place.source
    function = source.function_at(line)
    every = [one for one in source.nodes() if isinstance(one, ast.For) and holds(one, line)]
    return [one for one in reversed(every) if source.function_at(one.lineno) is function]


def _range(place: Place, node: ast.expr) -> Place | None:
    """The `range(...)` that a loop goes through, also behind `reversed` or a progress bar."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and ast.unparse(one.func) == "range"]
    return place.at(calls[0]) if len(calls) == 1 else None


def _texts(call: Place) -> Iterator[str]:
    """The ranges that have one number less at their upper end, those moved down as a whole first."""
    node: Any = call.node
    texts = [call.source.text(one) for one in node.args]
    start, stop, step = (texts[0], texts[1], texts[2]) if len(texts) == 3 else (*texts, "1") if len(texts) == 2 else (
        "0", *texts, "1")  # fmt: skip
    if step == "1":
        less = _less(stop)
        if start == "1":
            yield f"range({less})"
        yield f"range({less})" if start == "0" else f"range({start}, {less})"
    elif step == "-1":
        yield f"range({_less(start)}, {'-1' if stop in ('0', '-1') else stop}, -1)"


def _less(text: str) -> str:
    """`n + 1` -> `n`, `n` -> `n - 1`."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and ast.unparse(node.right) == "1":
        return ast.unparse(node.left)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value - 1)
    return f"{text if isinstance(node, ast.BinOp) else as_operand(text)} - 1"


def counted_down(evidence: Evidence) -> Iterator[Candidate]:
    """`k = n` -> `k = n - 1` and `while k > 0` -> `while k >= 0`, where `k` counts down and is an index."""
    index = _index(evidence)
    for frame in reversed(evidence.frames) if index is not None else ():
        source, line = frame.place.source, frame.place.span.line
        for loop in (one for one in source.nodes() if isinstance(one, ast.While)):
            test = loop.test
            name = test.left.id if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) else ""
            if not holds(loop, line) or not name or frame.scope.get(name) != index:
                continue
            scope = source.scope_at(line)
            first = bound_above(scope, name, loop.lineno) if scope is not None else None
            zero = ast.unparse(test) in (f"{name} > 0", f"{name} >= 1")
            if first is not None and zero:
                begin = frame.place.at(first.value)
                changes = [(begin.span, _less(begin.text)), (source.span(test), f"{name} >= 0")]
                edits = partial(changed, source, changes)
                new = f"{name} = {_less(begin.text)}"
                yield from evidence.made(edits, "replace", begin, "rename", new=new, old=f"{name} = {begin.text}")


def drawn_from_zero(evidence: Evidence) -> Iterator[Candidate]:
    """`randint(1, n + 1, ...)` -> `randint(0, n, ...)`: positions drawn from 1 to n, in what has those from 0 to n - 1.

    Not for the rows of a layer's table: those may have one more, for padding.
    """
    said, crash = _SAID.search(evidence.message), evidence.crash
    if said is None or said[1] != said[2] or crash is None or crash.function == "embedding":
        return
    for operand in operands(evidence)[1:]:
        for step in trunk(evidence, operand.start, 12) if "int" in operand.dtype else ():
            if step.function in _ARITHMETIC:
                break
            if step.place is not None:
                yield from _drawn_in(evidence, step.place)


def _drawn_in(evidence: Evidence, place: Place) -> Iterator[Candidate]:
    """The draws in an expression that begin at 1 and end at a number behind it, moved down by one."""
    for call in (one for one in ast.walk(place.node) if isinstance(one, ast.Call) and called(one) in _DRAWS):
        words = {one.arg: one.value for one in call.keywords}
        low = words.get("low", call.args[0] if call.args else None)
        high = words.get("high", call.args[1] if len(call.args) > 1 else None)
        if low is None or high is None or place.source.text(low) != "1":
            continue
        last = ast.unparse(call.func).startswith("random.")  # whose `randint` gives its last number, too
        less = _less(place.source.text(high))
        if last or isinstance(high, ast.Constant) or less == ast.unparse(getattr(high, "left", high)):
            span = place.source.span
            edits = partial(changed, place.source, [(span(low), "0"), (span(high), less)])
            new = f"{place.source.text(call.func)}(0, {less}, ...)"
            here = place.at(call)
            yield from evidence.made(edits, "replace", here, "rename", new=new, old=here.text[:70])
