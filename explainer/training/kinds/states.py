"""States: checkpoints that load nothing, best weights that were only referred to, models that never learned."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.kinds.targets import written_back
from explainer.training.sites import statement
from explainer.training.sources import program_sources

#: From which share of a model's weights on a new beginning is not meant.
_MOST = 0.6


@finder
def nothing_loaded(watcher: Any) -> Iterator[Finding]:
    """A checkpoint no key of which fits."""
    for seen, _ in watcher.notes.of("checkpoint-loads-nothing"):
        found = rewrite.call_in(seen.site[0], "load_state_dict") if seen.site else None
        data = seen.data
        attempts = []
        if found is not None and isinstance(found[1].func, ast.Attribute):
            source, call = found
            owner, prefix = data["owner"], data["prefix"]
            if owner and prefix and prefix["what"] == "strip" and prefix["prefix"] == owner["path"] + ".":
                edits = rewrite.replaced(source, call.func.value, owner["name"])  # type: ignore[attr-defined]
                attempts.append(Attempt("into", edits, {"name": owner["name"]}))
            if prefix and call.args:
                text = source.text(call.args[0])
                simple = isinstance(call.args[0], (ast.Name, ast.Attribute))
                size = len(prefix["prefix"])
                given = text if simple else f"({text})"
                key = {
                    "strip": f"k[{size}:]",
                    "add": f'"{prefix["prefix"]}" + k',
                    "replace": f'k.replace("{prefix["prefix"]}", "{prefix.get("other")}", 1)',
                }[prefix["what"]]
                new = f"{{{key}: v for k, v in {given}.items()}}"
                attempts.append(
                    Attempt("rename", rewrite.replaced(source, call.args[0], new), {"prefix": prefix["prefix"]})
                )
        names = {
            "count": data["count"],
            "expects": data["expects"],
            "key": data["keys"][0],
            "own": data["own"][0],
            "name": data["name"] or data["module"],
            "prefix": data["prefix"]["prefix"] if data["prefix"] else "",
            "what": data["prefix"]["what"] if data["prefix"] else "",
        }
        yield Finding(
            "checkpoint-loads-nothing",
            names,
            shown(found, seen.site[0] if seen.site else None),
            tuple(attempts),
            weight=10,
        )


@finder
def drawn_again(watcher: Any) -> Iterator[Finding]:
    """Weights that were loaded, and then initialised like those of a new model."""
    seen = [one for one, _ in watcher.notes.of("loaded-then-drawn") if one.site and one.data["module"]() is not None]
    weights = sum(p.dim() > 1 for p in seen[0].data["module"]().parameters()) if seen else 0
    if not seen or len(seen) < _MOST * weights:  # a head that is begun anew is meant to be
        return
    loaded, drawn = seen[0].data["loaded"], seen[0].site
    pairs = [(statement(one), statement(other)) for one in loaded for other in drawn if one.code is other.code]
    attempts = []
    for one, other in pairs:
        if one is not None and other is not None and one[1] is not other[1] and one[0] is other[0]:
            attempts.append(Attempt("behind", rewrite.moved(one[0], one[1], other[1], True), {"line": other[1].lineno}))
    names = {"many": len(seen), "weights": weights, "line": drawn[-1].line, "loaded": loaded[0].line,
             "kind": type(seen[0].data["module"]()).__name__}  # fmt: skip
    found = rewrite.call_in(loaded[0], "load_state_dict")
    culprit = shown(found, loaded[0])
    yield Finding("loaded-then-initialised", names, culprit, tuple(attempts), proved=False, seen=True, weight=6)


@finder
def kept_by_reference(watcher: Any) -> Iterator[Finding]:
    """Best weights that were kept without a copy, and went on changing."""
    for seen, _ in watcher.notes.of("weights-kept-by-reference"):
        kept = seen.data["kept"]
        if not kept:
            continue
        found = rewrite.call_in(kept[0], "state_dict")
        attempts = []
        if found is not None:
            source, call = found
            text = source.text(call)
            edits = rewrite.replaced(source, call, f"{{k: v.clone() for k, v in {text}.items()}}")
            attempts = [Attempt("copy", edits, {"text": text})]
            outer = _copy_around(source, call)
            if outer is not None:
                attempts.insert(
                    0,
                    Attempt(
                        "copy",
                        rewrite.replaced(source, outer, f"{{k: v.clone() for k, v in {text}.items()}}"),
                        {"text": text},
                    ),
                )
        names = {
            "line": seen.site[0].line if seen.site else 0,
            "text": "",
            "step": seen.data["step"],
            "steps": seen.data["steps"],
            "name": _target(kept) or "state_dict",
        }
        yield Finding(
            "weights-kept-by-reference",
            names,
            shown(found, kept[0]),
            tuple(attempts),
            weight=10,
        )


def _copy_around(source: Any, call: ast.Call) -> ast.AST | None:
    """`dict(model.state_dict())`, `model.state_dict().copy()`: copies of the dictionary alone."""
    for node in source.nodes():
        if (
            isinstance(node, ast.Call)
            and called(node) in ("dict", "copy", "OrderedDict")
            and (
                any(one is call for one in node.args)
                or (isinstance(node.func, ast.Attribute) and node.func.value is call)
            )
        ):
            return node
    return None


def _target(site: Any) -> str:
    found = statement(site[0]) if site else None
    if found is None or not isinstance(found[1], ast.Assign):
        return ""
    target = found[1].targets[0]
    return found[0].text(target)


@finder
def alike_units(watcher: Any) -> Iterator[Finding]:
    """Layers whose units started alike and therefore stay alike."""
    places: dict[Any, list[Any]] = {}
    for seen, _ in watcher.notes.of("constant-init"):
        places.setdefault(seen.data["root"], []).append(seen)
    for root, all_seen in places.items():
        call = _constant_call(watcher, all_seen[0].data["start"])
        attempts = []
        culprit = shown(None, all_seen[0].site[0]) if all_seen[0].site else None
        text = ""
        if call is not None:
            source, node, owner = call
            text = source.text(node)
            culprit = source.span(node)
            if owner:
                prefix = source.text(node.func).rpartition(".")[0]
                given = source.text(node.args[0])
                edits = rewrite.replaced(
                    source,
                    node,
                    f"{prefix}.xavier_uniform_({given})" if prefix else f"nn.init.xavier_uniform_({given})",
                )
            else:
                found = source.statement_at(node.lineno)
                edits = rewrite.without(source, found) if found is not None else ()
            attempts = [Attempt("random", edits, {"text": text})]
        names = {
            "layer": all_seen[0].data["path"],
            "units": all_seen[0].data["units"],
            "many": len(all_seen),
            "root": root,
            "text": text,
        }
        yield Finding("constant-init", names, culprit, tuple(attempts), weight=9)


def _constant_call(watcher: Any, start: Any) -> Any:
    """The call that gave the weights a constant, as it was seen; else the one call of the program that may have."""
    seen = rewrite.call_in(start[0], "constant_", "ones_", "zeros_") if start else None
    if seen is not None:
        return (*seen, True)

    found = []
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.Call) or "bias" in source.text(node):
                continue
            if called(node) in ("constant_", "ones_", "zeros_") and node.args and "init" in source.text(node.func):
                found.append((source, node, True))
            elif (
                called(node) in ("fill_", "zero_")
                and isinstance(node.func, ast.Attribute)
                and "grad" not in source.text(node)
            ):
                found.append((source, node, False))
    return found[0] if len(found) == 1 else None


@finder
def stale_model(watcher: Any) -> Iterator[Finding]:
    """A model that is evaluated at the end, and is not the one that was trained."""
    notes = watcher.notes
    trained = [root for root in notes.roots.values() if root["train"] > 3 and root["of"]() is not None]
    for root in notes.roots.values():
        module = root["of"]()
        if (
            module is None
            or root["train"]
            or not root["eval"]
            or id(module) in watcher.loaded
            or not _last(root, notes)
        ):
            continue
        twins = [one for one in trained if one["kind"] == root["kind"] and one["of"]() is not module]
        if len(twins) != 1 or any(_last(one, notes) and one["eval"] for one in twins):
            continue
        same = _shapes(module) == _shapes(twins[0]["of"]())
        if not same or not watcher.unchanged(module):
            continue
        site = root["modes"][-1].site
        names = {"kind": root["kind"], "steps": notes.steps}
        culprit, attempts = shown(None, site[0]) if site else None, []
        copied = watcher.copied.get(id(module))
        if copied is not None and copied[0]() is module and copied[2]:
            continue  # a snapshot of weights that were trained
        if copied is not None and copied[0]() is module and copied[1]:
            found = rewrite.call_in(copied[1][0], "deepcopy")
            culprit = shown(found, copied[1][0])
            attempts = [*written_back(program_sources(watcher)), *_original(found, copied[1], site)]
        yield Finding("stale-weights-evaluated", names, culprit, tuple(attempts), weight=6)


def _original(found: Any, made: Any, site: Any) -> list[Attempt]:
    """The model itself in the place of its copy, where the evaluation names the copy."""
    target = _target(made)
    if found is None or not target or not found[1].args:
        return []
    own = found[0].text(found[1].args[0])
    for frame in site:
        stated = statement(frame)
        if stated is None:
            continue
        for node in ast.walk(stated[1]):
            if isinstance(node, (ast.Name, ast.Attribute)) and stated[0].text(node) == target:
                edits = rewrite.replaced(stated[0], node, own)
                return [Attempt("original", edits, {"text": own})] if edits else []
    return []


def _last(root: dict[str, Any], notes: Any) -> bool:
    return any(not mode.learning and mode.step >= notes.steps for mode in root["modes"])


def _shapes(module: Any) -> list[tuple[int, ...]]:
    return [tuple(one.shape) for one in module.parameters()]
