"""Edits that are worth a trial where training learns little and no structural fact says why: thresholds only choose."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.judge import main_losses
from explainer.training.kinds.optimizers import built, name_of, span_of
from explainer.training.kinds.strength import plain, setting
from explainer.training.notes import Optimizing
from explainer.training.scales import scaled_inputs, scaled_targets
from explainer.training.sites import statement
from explainer.training.sources import program_sources
from explainer.training.streams import streamed

_ADAPTIVE = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad")


def proposals(watcher: Any) -> Iterator[Finding]:
    """Findings to be confirmed by a trial, most likely first."""
    for one in (cut_graph, schedules, carried_states, scaled_targets, scaled_inputs, initialisations, rates):
        try:
            yield from one(watcher)
        except Exception as error:
            watcher.failed(error)


def learned(watcher: Any) -> float:
    """Which share of its first value the loss has lost; negative where it has grown, -inf where it is no number."""
    losses = main_losses({"losses": watcher.notes.losses, "sites": watcher.notes.loss_sites})
    if len(losses) < 20:
        return math.nan
    begin = losses[: max(1, len(losses) // 20)]
    first = min(losses[0], sum(begin) / len(begin))  # one that explodes does so at once
    part = losses[-max(1, len(losses) // 5) :]
    last = sum(part) / len(part)
    if not math.isfinite(last):
        return -math.inf
    return (first - last) / abs(first) if first else 0.0


def _single(watcher: Any) -> Optimizing | None:
    """The program's one optimizer that steps; None where several do: their losses are not each other's."""
    stepping = [one for one in watcher.notes.optimizers if one.steps > 8]
    return stepping[0] if len(stepping) == 1 else None


# -- gradients that do not arrive -----------------------------------------------------------------------------------


def cut_graph(watcher: Any) -> Iterator[Finding]:
    """Parameters that an optimizer holds and that never get a gradient, and the cuts of the graph in the program."""
    entries = [one for one in watcher.ungraded.values() if one["looked"] >= 4 and one["none"] == one["looked"]]
    entries = [one for one in entries if one["name"]]
    cuts = {(seen.site[0].file, seen.site[0].line) for seen, _ in watcher.notes.of("graph-cut") if seen.site}
    found = [(source, *one) for source in program_sources(watcher) for one in _cuts(source)]
    at = {id(node): (source.file, node.lineno) for source, node, _, _ in found}  # type: ignore[attr-defined]
    drawn = {at[id(node)] for _, node, kind, _ in found if kind == "sample"} & cuts
    if not entries and not drawn and (not cuts or not learned(watcher) < 0.5):
        return  # a cut alone is no fault: targets, critics and carried states are cut on purpose
    names: dict[str, Any] = {"missing": "", "many": 0, "root": "", "optimizer": ""}
    if entries:
        owner = watcher.notes.optimizers[entries[0]["optimizer"]]
        names = {
            "missing": ", ".join(dict.fromkeys(one["name"] for one in entries[:3])),
            "many": len(entries),
            "root": entries[0]["root"],
            "optimizer": name_of(owner),
        }
    attempts = []
    for source, node, kind, edits in found:
        place = at[id(node)]
        if edits and (place in drawn or (kind != "sample" and (entries or place in cuts))):
            text = source.text(node).split("\n")[0]
            told = {"text": text, "kind": kind, "line": place[1]}
            first = (place not in drawn, place not in cuts)
            name = "draw" if kind == "sample" else "keep"
            attempts.append((first, Attempt(name, edits, told, culprit=source.span(node))))
    attempts.sort(key=lambda one: one[0])
    ranked = tuple(one for _, one in attempts)
    if ranked:
        yield Finding(
            "gradient-cut",
            {**names, **ranked[0].names},
            ranked[0].culprit,
            ranked,
            proved=False,
            seen=bool(entries or drawn),
        )


def _cuts(source: Source) -> Iterator[tuple[ast.AST, str, Any]]:
    weighed = any(isinstance(one, ast.Attribute) and one.attr == "log_prob" for one in source.nodes())
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) == "detach" and isinstance(node.func, ast.Attribute):
            yield node, "detach", rewrite.replaced(source, node, source.text(node.func.value))
        elif isinstance(node, ast.Call) and called(node) == "sample" and isinstance(node.func, ast.Attribute):
            owner = source.text(node.func.value)
            if not weighed:  # where the draw's probability is asked for, the gradient goes through that
                yield node, "sample", rewrite.replaced(source, node.func, f"{owner}.rsample")
        elif (
            isinstance(node, ast.Attribute)
            and node.attr == "data"
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, (ast.Name, ast.Call))
        ):
            if "grad" not in source.text(node.value):
                yield node, ".data", rewrite.replaced(source, node, source.text(node.value))
        elif isinstance(node, ast.With):
            for item in node.items:
                if (
                    isinstance(item.context_expr, ast.Call)
                    and called(item.context_expr) in ("no_grad", "inference_mode")
                    and not _evaluates(source, node)
                ):
                    yield (
                        item.context_expr,
                        "no_grad",
                        rewrite.replaced(source, item.context_expr, "torch.enable_grad()"),
                    )
        elif isinstance(node, ast.FunctionDef):
            for one in node.decorator_list:
                if "no_grad" in source.text(one) and node.name in ("forward", "encode", "features", "embed", "extract"):
                    yield one, "no_grad", rewrite.replaced(source, one, "torch.enable_grad()")
        elif (
            isinstance(node, ast.Call)
            and source.text(node.func) in ("torch.tensor", "torch.as_tensor", "torch.from_numpy")
            and len(node.args) == 1
        ):
            inner = node.args[0]
            text = source.text(inner)
            for tail in (".tolist()", ".numpy()", ".item()"):
                text = text.removesuffix(tail)
            yield (
                node,
                called(node),
                rewrite.replaced(source, node, text.removesuffix(".cpu()").removesuffix(".detach()")),
            )


def _evaluates(source: Source, node: ast.With) -> bool:
    text = source.text(node)
    return any(
        word in text
        for word in ("argmax", ".mean().item()", "accuracy", "correct", "print(", ".add_(", ".mul_(", ".copy_(", "-=")
    )


# -- rates ----------------------------------------------------------------------------------------------------------


def schedules(watcher: Any) -> Iterator[Finding]:
    """Rates that a scheduler brings to nothing early, or leaves at their first tiny value."""
    notes = watcher.notes
    for entry in notes.schedulers:
        if entry["optimizer"] is None:
            continue
        one = notes.optimizers[entry["optimizer"]]
        most = max((rate for rate, _ in one.rates), default=0.0)
        full = max(most, one.settings.get("lr", 0.0) if isinstance(one.settings.get("lr"), float) else 0.0)
        if one.steps < 20 or not full:
            continue
        tiny = sum(count for rate, count in one.rates if rate < 0.02 * full)
        planned = _unfinished(entry, one)
        if tiny < 0.5 * one.steps and not planned:
            continue
        early = next((_before(one, place) for place, (rate, _) in enumerate(one.rates) if rate < 0.02 * full), 0)
        names = {
            "kind": entry["kind"],
            "steps": one.steps,
            "early": early,
            "rate": plain(one.rates[-1][0]),
            "full": plain(full),
            "stepped": entry["steps"],
            "tiny": tiny,
            "planned": planned,
            "text": _call_text(entry),
            "settings": ", ".join(f"{name}={value:g}" for name, value in (entry.get("settings") or {}).items()),
        }
        attempts = _rescheduled(entry, one, watcher)
        site = entry["stepped_at"] or entry["site"]
        yield Finding(
            "learning-rate-scheduled-away",
            names,
            span_of(site, "step") if entry["stepped_at"] else span_of(site),
            tuple(attempts),
            proved=False,
            seen=True,
        )


def _unfinished(entry: dict[str, Any], one: Optimizing) -> int:
    """How many steps a schedule is for, where the optimizer has taken about as many and it a few; else 0."""
    settings = entry.get("settings") or {}
    length = settings.get("total_steps") or settings.get("T_max") or 0
    fits = 0.8 * length <= one.steps <= 1.25 * length and entry["steps"] <= 0.2 * length
    return int(length) if fits else 0


def _call_text(entry: dict[str, Any]) -> str:
    """How the program steps a scheduler: `sched.step()`."""
    found = rewrite.call_in(entry["stepped_at"][0], "step") if entry["stepped_at"] else None
    return found[0].text(found[1].func) if found is not None else "step"


def _before(one: Optimizing, place: int) -> int:
    return int(sum(count for _, count in one.rates[:place]))


def _rescheduled(entry: dict[str, Any], one: Optimizing, watcher: Any) -> list[Attempt]:
    """The scheduler stepped once an epoch, or once a step, or over as many steps as there are."""
    attempts = []
    text = "scheduler.step()"
    found = statement(entry["stepped_at"][0]) if entry["stepped_at"] else None
    if found is not None:
        text = found[0].text(found[1])
        loop = rewrite.loop_around(*found)
        inside = loop is not None and (rewrite.loop_around(found[0], loop) or found[0].function_at(loop.lineno))
        if inside and entry["steps"] >= 0.8 * one.steps:
            attempts.append(Attempt("epoch", rewrite.moved(found[0], found[1], loop, True)))
    elif entry["site"] and (made := statement(entry["site"][0])) is not None and isinstance(made[1], ast.Assign):
        text = f"{made[0].text(made[1].targets[0])}.step()"
    step = statement(one.stepped_at[0]) if one.stepped_at else None
    if step is not None and entry["steps"] < 0.5 * one.steps:
        put = rewrite.after(step[0], step[1], text)
        attempts.append(
            Attempt(
                "each-step",
                rewrite.together(step[0], put, rewrite.without(*found)) if found and found[0] is step[0] else put,
            )
        )
    call = rewrite.call_in(entry["site"][0], entry["kind"]) if entry["site"] else None
    if call is not None and entry["steps"] >= 0.8 * one.steps:
        for name in ("T_max", "total_steps", "step_size"):
            second = name in ("T_max", "step_size") and entry["kind"] in ("CosineAnnealingLR", "StepLR")
            node = rewrite.argument(call[1], name, 1 if second else None)
            if node is not None and (entry.get("settings") or {}).get(name):
                factor = max(round(one.steps / max(_epochs(watcher, one), 1)), 1)
                edits = rewrite.replaced(call[0], node, f"{_product(call[0], node)} * {factor}")
                attempts.append(Attempt("length", edits, culprit=call[0].span(call[1])))
                break
    return [each for each in attempts if each.edits]


def _product(source: Source, node: ast.AST) -> str:
    text = source.text(node)
    return text if isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def _epochs(watcher: Any, one: Optimizing) -> int:
    begun = [entry["begun"] for entry in watcher.notes.loaders.values() if entry["taken"] >= 0.9 * one.steps]
    return begun[0] if begun else 1


def rates(watcher: Any) -> Iterator[Finding]:
    """A learning rate with which nothing is learned."""
    one = _single(watcher)
    share = learned(watcher)
    if one is None or not one.site or math.isnan(share) or share > 0.25 or not one.measures or one.steps < 40:
        return
    if any(id(p["of"]()) in watcher.pretrained for p in watcher.weights.values()) or one.number != 0:
        return
    rate = max((rate for rate, _ in one.rates), default=0.0)
    found = built(one)
    written = setting(found, "lr", one.site)
    if written is None:
        return
    adaptive = one.kind.startswith(_ADAPTIVE)
    middle = sorted(one.measures, key=lambda each: each["gradient"])[len(one.measures) // 2]
    relative = rate / max(middle["weight"], 1e-12) * (1.0 if adaptive else middle["gradient"])
    large = (
        share < 0
        or (adaptive and rate >= 0.03)
        or (not adaptive and rate >= 1.0)
        or not all(w["finite"] for w in watcher.weights.values())
    )
    tries = (
        [rate / 10, rate / 100, rate / 1000] if large else [3e-3, 1e-2, 1e-3] if adaptive else [0.1, 0.01, rate * 100]
    )
    small = (adaptive and rate <= 1e-4) or (not adaptive and (rate <= 1e-3 or relative < 1e-4))
    if not large and not small:
        return
    attempts = [
        Attempt("rate", rewrite.replaced(written[0], written[1], plain(value)), {"value": plain(value)})
        for value in tries
    ]
    if large:
        attempts = [*_averaged(watcher), *attempts]
    names = {
        "rate": plain(rate),
        "kind": one.kind,
        "large": large,
        "steps": one.steps,
        "share": round(100 * share) if math.isfinite(share) else 0,
        "finite": math.isfinite(share),
        "relative": f"{relative:.1e}",
    }
    yield Finding(
        "learning-rate-too-large" if large else "learning-rate-too-small",
        names,
        written[0].span(written[1]),
        tuple(each for each in attempts if each.edits),
        proved=False,
    )


def _averaged(watcher: Any) -> Iterator[Attempt]:
    """A loss that is summed over the batch as its mean."""
    for known in watcher.divided.values():
        if known is None or known["reduction"] != "sum" or not known["at"]:
            continue
        found = rewrite.call_in(known["at"][0])
        if found is None:
            continue
        source, call = found
        if called(call) == "sum":
            text = source.text(call.func)
            edits = rewrite.replaced(source, call.func, f"{text[:-3]}mean")
        else:
            edits = rewrite.with_keyword(source, call, "reduction", '"mean"')
        if edits:
            yield Attempt("mean", edits, {"value": "mean"}, culprit=source.span(call))


# -- initialisation -------------------------------------------------------------------------------------------------


def initialisations(watcher: Any) -> Iterator[Finding]:
    """An initialisation by hand, where the loss does not fall."""
    share = learned(watcher)
    if math.isnan(share) or share > 0.25 or watcher.notes.steps < 40:
        return
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.Call) or "bias" in source.text(node):
                continue
            name, prefix = called(node), source.text(node.func).rpartition(".")[0]
            edits: Any = ()
            if name in ("normal_", "uniform_", "trunc_normal_") and node.args and "init" in prefix:
                edits = rewrite.replaced(
                    source, node, f'{prefix}.kaiming_normal_({source.text(node.args[0])}, nonlinearity="relu")'
                )
            elif name in ("normal_", "uniform_", "mul_", "fill_") and "weight" in prefix:
                found = source.statement_at(node.lineno)
                edits = rewrite.without(source, found) if found is not None else ()
            elif name in ("constant_", "zeros_", "ones_") and "init" in prefix and node.args and share < 0.1:
                edits = rewrite.replaced(source, node, f"{prefix}.xavier_uniform_({source.text(node.args[0])})")
            if edits:
                names = {
                    "text": source.text(node),
                    "std": _std(node, source),
                    "share": round(100 * share) if math.isfinite(share) else 0,
                    "first": _norms(watcher)[0],
                    "last": _norms(watcher)[1],
                    "layers": len(watcher.weights),
                }
                yield Finding("vanishing-gradient", names, source.span(node), (Attempt("init", edits),), proved=False)


def _std(node: ast.Call, source: Source) -> str:
    for keyword in node.keywords:
        if keyword.arg in ("std", "b", "val"):
            return f"{keyword.arg}={source.text(keyword.value)}"
    return ", ".join(source.text(one) for one in node.args[1:])


def _norms(watcher: Any) -> tuple[str, str]:
    grads = [one.get("norm", 0.0) for one in watcher.weights.values() if one["held"] and len(one["shape"]) > 1]
    return (f"{grads[0]:.1e}", f"{grads[-1]:.1e}") if grads else ("0", "0")


def carried_states(watcher: Any) -> Iterator[Finding]:
    """A recurrent layer that goes on from the state of another batch."""
    for seen, times in watcher.notes.of("state-carried"):
        if times < 3 or not seen.site or streamed(watcher, seen.data["dims"]):
            continue
        call = rewrite.call_in(seen.site[0])
        if call is None or len(call[1].args) < 2:
            continue
        source, node = call
        edits = rewrite.replaced(source, node.args[1], "None")
        if seen.data["module"].endswith("Cell"):
            edits = _fresh(source, source.text(node.args[1]))
        names = {"name": source.text(node.func), "kind": seen.data["module"], "text": source.text(node.args[1])}
        yield Finding(
            "hidden-state-carried",
            names,
            source.span(node),
            tuple([Attempt("fresh", edits)] if edits else []),
            proved=False,
            seen=True,
        )


def _fresh(source: Source, name: str) -> Any:
    """`h = h.detach()` as zeros: a cell is called for each step of a sequence, its state is made once."""
    for node in source.nodes():
        if not isinstance(node, ast.Assign) or source.text(node.targets[0]) != name:
            continue
        value = node.value
        cut = isinstance(value, ast.Call) and called(value) == "detach" and isinstance(value.func, ast.Attribute)
        if cut and source.text(value.func.value) == name:  # type: ignore[attr-defined]
            return rewrite.replaced(source, value, f"torch.zeros_like({name})")
    return ()
