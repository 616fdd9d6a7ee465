"""Types too coarse or too narrow, logarithms of nothing but their guard, labels cut to integers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, loaded
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import Place, shown
from explainer.training.kinds.strength import plain
from explainer.training.looks.fits import learned
from explainer.training.sites import key, statement
from explainer.training.sources import program_sources

#: The share of its first value that such a loss has not lost; what bounds a value from below.
_FALLEN, _CLAMPS = 0.1, ("clamp", "clip", "clamp_min")
_LOW = ("bfloat16", "float16", "half")
#: Modes of `interpolate` that make values between those that there are; what cuts these to whole numbers.
_MIXING = ("linear", "bilinear", "bicubic", "trilinear", "area")
_CUTTING = ("long", "int", "short", "byte")


@finder
def rounded_away(watcher: Any) -> Iterator[Finding]:
    """Steps most of which are less than half of the last digit, at several looks."""
    for seen, times in watcher.notes.of("rounded-away"):
        if times < 3:
            continue
        attempts = []
        for source in program_sources(watcher):
            for node, new in _coarse(source):
                edits = rewrite.replaced(source, node, new)
                attempts += [Attempt("wide", edits, {"new": new}, culprit=source.span(node))] if edits else []
        names = {**seen.data, "weight": plain(seen.data["weight"]), "line": seen.site[0].line if seen.site else 0}
        if attempts:
            culprit = attempts[0].culprit
            yield Finding("updates-rounded-away", names, culprit, tuple(attempts), proved=False, seen=True, weight=7)


@finder
def log_of_guard(watcher: Any) -> Iterator[Finding]:
    """A loss that stays where it is, since it is the logarithm of the constant that guards it."""
    for seen, times in watcher.notes.of("log-of-guard"):
        total = watcher.notes.times["guarded", key(seen.site)]
        if times < 5 or times < total - 1 or not learned(watcher) < _FALLEN:
            continue
        found = rewrite.call_in(seen.site[0])
        guard = f"{seen.data['guard']:g}"
        product, recursion = seen.data["product"], seen.data["recursion"]
        made = _rescaled if recursion else _summed
        attempts = tuple(made(found, product, guard)) if found is not None else ()
        text = found[0].text(found[1]) if found is not None else "log"
        turned = statement(product[0]) if recursion else None
        again = turned[0].text(turned[1]) if turned is not None else ""
        names = {**seen.data, "text": text, "guard": guard, "looked": times, "again": again, "new": ""}
        culprit = turned[0].span(turned[1]) if turned is not None else shown(found, seen.site[0])
        yield Finding("log-of-guard", names, culprit, attempts, weight=8)


def _rescaled(found: Place, site: Any, guard: str) -> Iterator[Attempt]:
    """A recursion of products brought back to a sum of 1 at each turn, with the logarithms of the sums kept."""
    own = statement(site[0])
    loop = rewrite.loop_around(*own) if own is not None else None
    name = own[0].text(own[1].targets[0]) if own is not None and isinstance(own[1], ast.Assign) else ""
    source, log = found
    if loop is None or own is None or own[0] is not source or not name.isidentifier() or log.lineno < loop.lineno:
        return
    if name not in loaded(own[1]) or name not in loaded(log):
        return
    new = f"{name} = {name} / total"
    lines = [f"total = {name}.sum(-1, keepdim=True)", new, "logs = logs + total.squeeze(-1).log()"]
    put = rewrite.before(source, own[1], "\n".join(lines))
    begun = rewrite.before(source, loop, "logs = 0.0")
    edits = rewrite.together(source, begun, put, rewrite.replaced(source, log, f"({source.text(log)} + logs)"))
    if edits and not {"total", "logs"} & {one.id for one in ast.walk(source.scope_at(log.lineno))
                                          if isinstance(one, ast.Name)}:  # fmt: skip
        yield Attempt("rescale", edits, {"new": new}, culprit=source.span(own[1]))


def _summed(found: Place, site: Any, guard: str) -> Iterator[Attempt]:
    """The logarithm of a product as the sum of logarithms, each with the guard."""
    made = rewrite.call_in(site[0], "prod") if site else None
    operand = _guarded(found[1])
    if made is None or operand is None or made[0] is not found[0]:
        return
    source, call = made
    method = isinstance(call.func, ast.Attribute) and source.text(call.func.value) != "torch"
    factors = source.text(call.func.value) if method else source.text(call.args[0])  # type: ignore[attr-defined]
    rest = [source.text(one) for one in (*(call.args if method else call.args[1:]), *call.keywords)]
    new = f"({factors} + {guard}).{called(found[1])}().sum({', '.join(rest)})"
    inside = any(one is call for one in ast.walk(found[1]))
    pairs = [(found[1], new)] if inside else [(call, new), (found[1], source.text(operand))]
    edits = rewrite.both(source, pairs)
    if edits:
        yield Attempt("sum", edits, {"new": new}, culprit=source.span(call))


def _guarded(log: ast.Call) -> ast.expr | None:
    """What stands under a logarithm without its guard: of `p + eps` and `p.clamp(min=eps)` the `p`."""
    method = not log.args and isinstance(log.func, ast.Attribute)
    given = log.func.value if method else log.args[0] if log.args else None  # type: ignore[attr-defined]
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        return given.right if isinstance(given.left, ast.Constant) else given.left
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and called(given) in _CLAMPS:
        return given.func.value
    return None


@finder
def wrapped(watcher: Any) -> Iterator[Finding]:
    """`after - before` of bytes: what is less than 0 comes out near 255."""
    for seen, _ in watcher.notes.of("wrapped"):
        found = seen.site[0].node() if seen.site else None
        if found is None or not isinstance(found.node, ast.BinOp):
            continue
        source, node = found.source, found.node
        text = source.text(node)
        pairs = [(one, f"{rewrite.operand(source, one)}.float()") for one in (node.left, node.right)
                 if not isinstance(one, ast.Constant)]  # fmt: skip
        names = {**seen.data, "text": text, "line": seen.site[0].line}
        attempts = (Attempt("wide", rewrite.both(source, pairs), names),)
        yield Finding("byte-wraps", names, source.span(node), attempts, proved=False, seen=True, weight=8)


def _coarse(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """`torch.bfloat16`, `model.half()`: where a coarse type is asked for, with the wide one; autocast's stays."""
    cast = {
        id(inner)
        for one in source.nodes()
        if isinstance(one, ast.Call) and "autocast" in called(one)
        for inner in ast.walk(one)
    }
    for node in source.nodes():
        if isinstance(node, ast.Attribute) and node.attr in _LOW and id(node) not in cast:
            if isinstance(node.value, ast.Name) and node.value.id == "torch":
                yield node, "torch.float32"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOW:
            yield node, f"{source.text(node.func.value)}.float()"


@finder
def mixed_labels(watcher: Any) -> Iterator[Finding]:
    """`mask = F.interpolate(mask, mode="bilinear")`, and `mask.long()` behind it: what is mixed becomes the less."""
    for source in program_sources(watcher):
        for call, mode in _mixing(source):
            cut = _cut_behind(source, call)
            if cut is not None:
                attempt = Attempt("nearest", rewrite.replaced(source, call, _nearest(source, call)))
                names = {"text": source.text(call), "mode": mode, "cut": source.text(cut), "line": cut.lineno}
                yield Finding("labels-interpolated", names, source.span(call), (attempt,), proved=False, seen=True,
                              weight=8)  # fmt: skip


def _mixing(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """The calls of `interpolate` with a mode that mixes."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) in ("interpolate", "upsample"):
            mode = next((one.value for one in node.keywords if one.arg == "mode"), None)
            if isinstance(mode, ast.Constant) and mode.value in _MIXING:
                yield node, mode.value


def _cut_behind(source: Source, call: ast.Call) -> ast.Call | None:
    """The call that cuts what an interpolation made, there or further down in its function, by its name."""
    statement = source.statement_at(call.lineno)
    names = {one.id for one in getattr(statement, "targets", ()) if isinstance(one, ast.Name)}
    for node in ast.walk(source.scope_at(call.lineno)):
        if isinstance(node, ast.Call) and called(node) in _CUTTING and isinstance(node.func, ast.Attribute):
            inner = list(ast.walk(node.func.value))
            read = any(isinstance(one, ast.Name) and one.id in names for one in inner) and node.lineno > call.lineno
            compared = any(isinstance(one, ast.Compare) or _rounds(one) for one in inner)
            if (read or call in inner) and not compared:
                return node
    return None


def _rounds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) in ("round", "round_", "argmax", "gt", "ge")


def _nearest(source: Source, call: ast.Call) -> str:
    """The call with the mode that takes the nearest value."""
    kept = [*call.args, *(one for one in call.keywords if one.arg not in ("mode", "align_corners", "antialias"))]
    given = ", ".join([*map(source.text, kept), 'mode="nearest"'])
    return f"{source.text(call.func)}({given})"
