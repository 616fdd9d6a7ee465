"""Evaluation that differs from training: inputs of another scale, layers whose statistics nothing has ever set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, loaded, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.averages import _WRITTEN
from explainer.training.kinds.losses import shown
from explainer.training.proposals.scales import scale_word
from explainer.training.sites import Site
from explainer.training.sources import program_sources

#: By how many spreads a mean, or by which factor a spread, must differ.
_FAR = 4.0


@finder
def other_scale(watcher: Any) -> Iterator[Finding]:
    """A model that is evaluated on inputs far from those that it was trained on."""
    for root in watcher.notes.roots.values():
        one, other = root.get("scale"), root.get("scale_eval")
        if not one or not other or not _far(one, other):
            continue
        learned, evaluated = (_last(root, learning) for learning in (True, False))
        call = rewrite.call_in(evaluated[0]) if evaluated else None
        names = {
            "kind": root["kind"],
            "function": evaluated[0].code.co_name if evaluated else "",
            "text": call[0].text(call[1]) if call is not None else root["kind"],
            "mean": scale_word(one["mean"]),
            "std": scale_word(one["std"]),
            "mean_there": scale_word(other["mean"]),
            "std_there": scale_word(other["std"]),
        }
        attempts = tuple(_alike(watcher, learned, evaluated))
        culprit = shown(call, evaluated[0]) if evaluated else None
        yield Finding("evaluated-on-other-scale", names, culprit, attempts, proved=False, seen=True, weight=6)


def _far(one: dict[str, Any], other: dict[str, Any]) -> bool:
    ratio = other["std"] / one["std"]
    return abs(other["mean"] - one["mean"]) > _FAR * one["std"] or not 1 / _FAR < ratio < _FAR


def _last(root: dict[str, Any], learning: bool) -> Site:
    return next((mode.site for mode in reversed(root["modes"]) if mode.learning == learning), ())


def _alike(watcher: Any, learned: Site, evaluated: Site) -> Iterator[Attempt]:
    """What the inputs of training went through, at the call of the evaluation too."""
    call = rewrite.call_in(evaluated[0]) if evaluated else None
    if call is None or not call[1].args or isinstance(call[1].args[0], ast.Starred):
        return
    given = call[0].text(call[1].args[0])
    made_ones = [_instead(one, given, call[0], call[1]) for one in _changes(watcher, learned)]
    for made in dict.fromkeys(one for one in made_ones if one):
        edits = rewrite.replaced(call[0], call[1].args[0], made)
        if edits:
            yield Attempt("alike", edits, {"new": made})


def _changes(watcher: Any, learned: Site) -> Iterator[ast.expr]:
    """The expressions that made the inputs of training, nearest first; then all that take a mean away or divide."""
    call = rewrite.call_in(learned[0]) if learned else None
    if call is not None and call[1].args:
        source, value = call[0], call[1].args[0]
        if not isinstance(value, (ast.Name, ast.Subscript, ast.Attribute)):
            yield value
        names = loaded(value)
        for node in ast.walk(source.scope_at(call[1].lineno)):
            if isinstance(node, ast.Assign) and stored(node) & names and _scales(node.value):
                yield node.value
    for source in program_sources(watcher):
        for node in source.nodes():
            if isinstance(node, ast.Assign) and _scales(node.value):
                yield node.value


def _scales(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        constant = isinstance(node.right, ast.Constant) and node.right.value in (255, 255.0)
        return constant or (isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Sub))
    return isinstance(node, ast.Call) and bool(re.search(r"norm|standard|scale|transform|prep", called(node).lower()))


def _instead(value: ast.expr, given: str, source: Source, call: ast.Call) -> str:
    """An expression with the evaluation's input in the place of its first tensor; none where a name is not known."""
    first = value
    while True:
        if isinstance(first, ast.BinOp):
            first = first.left
        elif isinstance(first, ast.Call) and first.args and not isinstance(first.args[0], ast.Constant):
            first = first.args[0]
        elif isinstance(first, ast.Subscript):
            first = first.value
        else:
            break
    if not isinstance(first, (ast.Name, ast.Attribute)):
        return ""
    own = ast.unparse(first)
    wanted = loaded(value) - {own}
    if any(not _reaches(source, call, name) for name in wanted):
        return ""
    return re.sub(rf"(?<![\w.]){re.escape(own)}(?!\w)", given, ast.unparse(value), count=1)


def _reaches(source: Source, call: ast.Call, name: str) -> bool:
    """Whether a name can be read at a call: of the module, or of the function itself, bound before it."""
    scope = source.scope_at(call.lineno)
    body = [one for one in scope.body if one.lineno < call.lineno]
    arguments = {one.arg for one in scope.args.args} if hasattr(scope, "args") else set()
    inside = name in arguments or any(name in stored(one) for one in body)
    tree = source.tree
    return inside or any(name in stored(one) or getattr(one, "name", "") == name or _imports(one, name)
                         for one in getattr(tree, "body", ()))  # fmt: skip


def _imports(node: ast.stmt, name: str) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom)) and any(
        (one.asname or one.name) == name for one in node.names
    )


@finder
def statistics_unset(watcher: Any) -> Iterator[Finding]:
    """A copy whose weights are kept up to date and whose normalisation still has the statistics it was built with."""
    roots = list(watcher.notes.roots.values())
    trained = {root["kind"] for root in roots if root["train"]}
    for root in roots:
        if root["train"] or not root.get("unset") or root.get("written", 0) < _WRITTEN:
            continue
        if not any(mode.learning and mode.active for other in roots for mode in other["modes"]):
            continue  # nothing has ever trained in training mode: the layers are meant to stand still
        names = {
            "kind": root["kind"],
            "layers": ", ".join(dict.fromkeys(root["unset"])),
            "count": len(root["unset"]),
            "twin": root["kind"] in trained,
        }
        attempts = tuple(_copying(watcher))
        site = _last(root, False)
        culprit = attempts[0].culprit if attempts else shown(None, site[0]) if site else None
        yield Finding("statistics-never-updated", names, culprit, attempts, weight=8)


def _copying(watcher: Any) -> Iterator[Attempt]:
    """Buffers copied beside the parameters that are averaged."""
    for source in program_sources(watcher):
        for node in source.nodes():
            if isinstance(node, ast.Call) and called(node) == "AveragedModel":
                edits = rewrite.with_keyword(source, node, "use_buffers", "True")
                yield Attempt("buffers", edits, culprit=source.span(node))
            if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or called(node.iter) != "zip":
                continue
            whole = source.text(node.iter)
            if whole.count("parameters()") != 2 or not isinstance(node.target, ast.Tuple):
                continue
            written = _written_to(source, node)
            one, other = (source.text(each) for each in node.target.elts[:2])
            if written in (one, other):
                buffers = re.sub(r"(named_)?parameters\(\)", r"\1buffers()", whole)
                new = other if written == one else one
                head = f"for {source.text(node.target)} in {buffers}:"
                edits = rewrite.after(source, node, f"{head}\n    {written}.data.copy_({new}.data)")
                yield Attempt("buffers", edits, culprit=source.span(node.iter))


def _written_to(source: Source, loop: ast.For) -> str:
    """The name that a loop's body writes to in place."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            owner = node.func.value
            while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
                owner = owner.func.value  # of `mine.mul_(decay).add_(theirs)`
            return source.text(owner).removesuffix(".data")
    return ""
