"""Evaluation: dropout that stays on, training that goes on in evaluation mode, classes taken over the batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.diagnosis import Span
from explainer.source import called, holds
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.sites import Site, statement


@finder
def dropout_on(watcher: Any) -> Iterator[Finding]:
    """Evaluation of a model that was never told of it."""
    for number, root in watcher.notes.roots.items():
        module = root["of"]()
        wrong = [mode for mode in root["modes"] if mode.evaluation and mode.training and mode.active and not mode.told]
        if module is None or not wrong or not root["train"] or _switched(watcher, number, False) or _repeated(root):
            continue
        if any(mode.evaluation and not mode.training for mode in root["modes"]):
            continue
        site = wrong[-1].site
        names = {
            "kind": root["kind"],
            "layers": wrong[-1].active,
            "what": _layers(module),
            "count": len(wrong),
            "name": _name(site) or "model",
        }
        attempts = _eval_before(site, root)
        block = _no_grad_block(site)
        yield Finding(
            "evaluated-in-train-mode",
            names,
            Span(block[0].file, block[1].lineno, code=block[0].line(block[1].lineno).strip())
            if block is not None
            else shown(None, site[0])
            if site
            else None,
            tuple(attempts),
            proved=False,
            seen=True,
            weight=8,
        )


@finder
def dropped_always(watcher: Any) -> Iterator[Finding]:
    """`F.dropout(x, 0.5)` in a model that is evaluated: the function is not told of the model's mode."""
    seen = [one for one, _ in watcher.notes.of("dropout-always-on") if one.site]
    found = [(one, rewrite.call_in(one.site[0], one.data["name"])) for one in seen]
    untold = [(one, at) for one, at in found if at is not None and rewrite.argument(at[1], "training", 2) is None]
    if untold:  # what is told a mode is so on purpose
        one, (source, call) = untold[0]
        own = {id(at[1]): at[1] for _, at in untold if at[0] is source}.values()
        edits = [rewrite.with_keyword(source, each, "training", "self.training") for each in own]
        attempts = (Attempt("told", rewrite.together(source, *edits)),)
        names = {"text": source.text(call.func), "layer": one.data["layer"]}
        yield Finding("dropout-always-on", names, source.span(call), attempts, proved=False, seen=True, weight=6)


def _layers(module: Any) -> str:
    from explainer.training.inspect import MODED

    return ", ".join(
        dict.fromkeys(type(one).__name__ for one in module.modules() if type(one).__name__.startswith(MODED))
    )


def _switched(watcher: Any, number: int, train: bool) -> bool:
    return watcher.notes.times["mode", number, train] > 0


def _repeated(root: dict[str, Any]) -> bool:
    """Whether evaluation gives a model the same input again and again, as Monte Carlo dropout does."""
    prints = [mode.fingerprint for mode in root["modes"] if mode.evaluation]
    return any(
        prints[at] is not None and prints[at] == prints[at + 1] == prints[at + 2] for at in range(len(prints) - 2)
    )


def _name(site: Site) -> str:
    found = site[0].node() if site else None
    if (
        found is not None
        and isinstance(found.node, ast.Call)
        and isinstance(found.node.func, (ast.Name, ast.Attribute))
    ):
        return found.source.text(found.node.func)
    return ""


def _no_grad_block(site: Site) -> tuple[Any, ast.stmt] | None:
    """The `with torch.no_grad()` around a call, or the first statement of a function that is decorated with it."""
    for frame in site:
        source = frame.source()
        blocks = [
            one
            for one in source.nodes()
            if isinstance(one, ast.With)
            and one.lineno <= frame.line <= (one.end_lineno or 0)
            and any(
                "no_grad" in source.text(item.context_expr) or "inference_mode" in source.text(item.context_expr)
                for item in one.items
            )
        ]
        if blocks:
            return source, max(blocks, key=lambda one: one.lineno)
        function = source.function_at(frame.line)
        if function is not None and any(
            "no_grad" in source.text(one) or "inference_mode" in source.text(one) for one in function.decorator_list
        ):
            body = [
                one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
            return source, body[0]
    return None


def _eval_before(site: Site, root: dict[str, Any]) -> list[Attempt]:
    """`model.eval()` before the stretch without gradients, `model.train()` behind it where training goes on."""
    name, found = _name(site), _no_grad_block(site)
    if not name or found is None or (name.startswith("self.") and "forward" in name):
        return []
    source, block = found
    put = rewrite.before(source, block, f"{name}.eval()")
    attempts = []
    goes_on = any(
        mode.learning and mode.step > first
        for first in [next((one.step for one in root["modes"] if one.evaluation), 0)]
        for mode in root["modes"]
    )
    if goes_on and isinstance(block, ast.With):
        both = rewrite.together(source, put, rewrite.after(source, block, f"{name}.train()"))
        attempts.append(Attempt("eval", both, {"name": name}))
    elif goes_on and (started := _training_start(source)) is not None:
        attempts.append(
            Attempt(
                "eval",
                rewrite.together(source, put, rewrite.before(source, started, f"{name}.train()")),
                {"name": name},
            )
        )
    attempts.append(Attempt("eval", put, {"name": name}))
    return [one for one in attempts if one.edits]


def _training_start(source: Any) -> ast.stmt | None:
    """The first statement of the innermost loop that trains: before it `train()` has its place."""
    loops = [
        one for one in source.nodes() if isinstance(one, (ast.For, ast.While)) and ".backward(" in source.text(one)
    ]
    return max(loops, key=lambda one: one.lineno, default=None)


@finder
def trained_in_eval_mode(watcher: Any) -> Iterator[Finding]:
    """Training that goes on in evaluation mode after the first evaluation."""
    for number, root in watcher.notes.roots.items():
        learning = [mode for mode in root["modes"] if mode.learning and not mode.evaluation]
        first = [mode for mode in learning if mode.training]
        later = [mode for mode in learning if not mode.training and mode.moded]
        if not later or root["of"]() is None or len(later) < 2 or not _switched(watcher, number, False):
            continue
        if first and first[-1].step >= later[0].step:
            continue
        if not first and _switched(watcher, number, True):
            continue
        seen = watcher.notes.seen.get(("mode", number, False))
        site = seen.site if seen is not None else later[0].site
        evaluates = _no_grad_block_after(site) or _decorated(site)
        if (seen is not None and seen.data["step"] == 0 and first) or (not first and evaluates is None):
            continue
        name = _owner_name(site) or "model"
        attempts = []
        for source, loop in _training_loops(later[-1].site):
            attempts.append(Attempt("train", rewrite.before(source, loop, f"{name}.train()"), {"name": name}))
        found = _no_grad_block_after(site) or _decorated(site)
        if found is not None and isinstance(found[1], ast.With):
            attempts.insert(0, Attempt("train", rewrite.after(found[0], found[1], f"{name}.train()"), {"name": name}))
        names = {
            "kind": root["kind"],
            "what": _layers(root["of"]()),
            "step": later[0].step,
            "steps": watcher.notes.steps,
            "name": name,
        }
        yield Finding(
            "trained-in-eval-mode",
            names,
            shown(None, site[0]) if site else None,
            tuple(attempts),
            proved=found is not None,
            weight=8,
        )


def _decorated(site: Site) -> tuple[Any, ast.stmt] | None:
    """The function that calls `eval`, where all of it runs without gradients."""
    function = site[0].source().function_at(site[0].line) if site else None
    held = function is not None and any(
        "no_grad" in ast.dump(one) or "inference_mode" in ast.dump(one) for one in function.decorator_list
    )
    return (site[0].source(), function) if held and function is not None else None


def _owner_name(site: Site) -> str:
    found = site[0].node() if site else None
    if found is not None and isinstance(found.node, ast.Call) and isinstance(found.node.func, ast.Attribute):
        return found.source.text(found.node.func.value)
    return ""


def _training_loops(site: Site) -> Iterator[tuple[Any, ast.stmt]]:
    for frame in site:
        found = statement(frame)
        loop = rewrite.loop_around(*found) if found is not None else None
        if found is not None and loop is not None:
            yield found[0], loop
            return


def _no_grad_block_after(site: Site) -> tuple[Any, ast.stmt] | None:
    """The stretch without gradients that follows a call of `eval` in the same body."""
    found = statement(site[0]) if site else None
    block = rewrite.block_of(*found) if found is not None else None
    if found is None or block is None:
        return None
    for one in block[0]:
        if isinstance(one, ast.With) and one.lineno > found[1].lineno:
            return found[0], one
    return None


@finder
def best_over_batch(watcher: Any) -> Iterator[Finding]:
    """The best class taken over the samples of a batch."""
    for seen, _ in watcher.notes.of("argmax-over-batch"):
        found = rewrite.call_in(seen.site[0], seen.data["name"]) if seen.site else None
        attempts = []
        if found is not None:
            from explainer.training.kinds.losses import _with_dim

            edits = _with_dim(found, 1)
            attempts = [Attempt("dim", edits, {"dim": 1})]
        names = {"shape": list(seen.data["shape"]), "over": seen.data["dim"], "name": seen.data["name"]}
        yield Finding(
            "argmax-over-batch",
            names,
            shown(found, seen.site[0] if seen.site else None),
            tuple(attempts),
            proved=False,
            seen=True,
            weight=8,
        )


@finder
def last_batch_only(watcher: Any) -> Iterator[Finding]:
    """A metric that every batch overwrites, read behind the loop over the batches."""
    from explainer.training.sources import program_sources

    for source in program_sources(watcher):
        for loop in [one for one in source.nodes() if isinstance(one, ast.For)]:
            text = source.text(loop)
            if ".backward(" in text or ".step(" in text or not _without_gradient(source, loop):
                continue
            for one in loop.body:
                if not _measures(source, loop, one) or not isinstance(one, ast.Assign):
                    continue
                name = one.targets[0].id  # type: ignore[attr-defined]
                if _used_in(loop, name) or not _used_behind(source, loop, name):
                    continue
                many = f"{name}_per_batch"
                edits = rewrite.together(
                    source,
                    rewrite.before(source, loop, f"{many} = []"),
                    rewrite.after_loop(source, loop, f"{many}.append({name})", f"{name} = sum({many}) / len({many})"),
                )
                attempts = [Attempt("mean", edits, {"name": name})]
                names = {"name": name, "line": loop.lineno}
                yield Finding(
                    "metric-of-last-batch",
                    names,
                    source.span(one),
                    tuple(attempts),
                    proved=False,
                    seen=True,
                    weight=5,
                )


def _without_gradient(source: Any, loop: ast.For) -> bool:
    words = ("no_grad", "inference_mode")
    around = [one for one in source.nodes() if isinstance(one, ast.With) and holds(one, loop.lineno)]
    inside = [one for one in ast.walk(loop) if isinstance(one, ast.With)]
    for one in (*around, *inside):
        if any(word in source.text(item.context_expr) for item in one.items for word in words):
            return True
    function = source.function_at(loop.lineno)
    return function is not None and any(word in source.text(one) for one in function.decorator_list for word in words)


def _measures(source: Any, loop: ast.For, one: ast.stmt) -> bool:
    """`acc = (pred == y).float().mean().item()`: a number of one batch, given to a plain name."""
    if not isinstance(one, ast.Assign) or len(one.targets) != 1 or not isinstance(one.targets[0], ast.Name):
        return False
    batch = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    used = {node.id for node in ast.walk(one.value) if isinstance(node, ast.Name)}
    compares = any(isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) for node in ast.walk(one.value))
    text = source.text(one.value)
    if compares and ".mean()" in text:
        return True
    counted = isinstance(loop.iter, ast.Call) and called(loop.iter) == "range"
    return text.endswith(".item()") and not counted and bool(batch & used)


def _used_in(loop: ast.For, name: str) -> bool:
    """Whether the loop itself does something with the number: adds it up, keeps it."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return True
    return False


def _used_behind(source: Any, loop: ast.For, name: str) -> bool:
    function = source.function_at(loop.lineno)
    last = (function.end_lineno if function is not None else len(source.lines)) or 0
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and (loop.end_lineno or 0) < node.lineno <= last
        for node in source.nodes()
    )
