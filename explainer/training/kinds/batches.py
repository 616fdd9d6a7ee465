"""Batches that do not vary: the same one every step, the same random numbers, one class at a time."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, of_self
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.sites import Site, statement
from explainer.training.sources import program_sources


@finder
def first_batch(watcher: Any) -> Iterator[Finding]:
    """A loader that is begun anew for every step, so that its first batch is all that is ever seen."""
    notes = watcher.notes
    for entry in notes.loaders.values():
        learning = [step for step, grad in entry["steps"] if grad]
        if not entry["length"] or entry["length"] < 2 or entry["begun"] < 8 or entry["taken"] > entry["begun"]:
            continue
        if entry["sampler"] != "SequentialSampler" or len(learning) < 8 or not _same_inputs(watcher):
            continue
        attempts = _shuffled(entry)
        name = _assigned(entry["site"]) or "loader"
        attempts += [
            Attempt("once", edits, {"name": name}) for edits in (_iterator_outside(entry["begun_at"]),) if edits
        ]
        names = {"begun": entry["begun"], "batches": entry["length"], "name": name, "size": entry["batch"] or 0}
        at = entry["begun_at"]
        yield Finding(
            "same-batch-every-step",
            {**names, "how": "iter"},
            shown(rewrite.call_in(at[0], "next"), at[0]) if at else None,
            tuple(attempts),
            weight=9,
        )


def _shuffled(entry: dict[str, Any]) -> list[Attempt]:
    """A loader that shuffles."""
    call = rewrite.call_in(entry["site"][0]) if entry["site"] else None
    edits = rewrite.with_keyword(call[0], call[1], "shuffle", "True") if call is not None else ()
    return [Attempt("shuffle", edits)] if edits else []


def _assigned(site: Site) -> str:
    found = statement(site[0]) if site else None
    return found[0].text(found[1].targets[0]) if found is not None and isinstance(found[1], ast.Assign) else ""


def _iterator_outside(site: Site) -> Any:
    """`batches = itertools.cycle(loader)` before the loop, `next(batches)` in it."""
    found = statement(site[0]) if site else None
    if found is None:
        return ()
    source, inner = found
    call = next((one for one in ast.walk(inner) if isinstance(one, ast.Call) and called(one) == "iter"), None)
    loop = rewrite.loop_around(source, inner)
    if call is None or loop is None or not call.args:
        return ()
    text = source.text(call.args[0])
    made = rewrite.before(source, loop, f"batches = (batch for _ in iter(int, 1) for batch in {text})")
    return rewrite.together(source, made, rewrite.replaced(source, call, "batches"))


def _same_inputs(watcher: Any) -> bool:
    """Whether some model was given the same values at every step that was looked at, new tensors each time."""
    return any(repeated(root) for root in watcher.notes.roots.values())


def repeated(root: dict[str, Any]) -> Any:
    """What a model was given, where that was the same at every step looked at."""
    prints: dict[int, Any] = {}
    for mode in root["modes"]:
        if mode.learning and not mode.evaluation and mode.fingerprint is not None:
            prints.setdefault(mode.step, mode.fingerprint)
    if len(prints) < 5 or len({one[:3] for one in prints.values()}) != 1:
        return None
    return next(iter(prints.values()))


@finder
def seeded_again(watcher: Any) -> Iterator[Finding]:
    """A generator that begins at the same seed for every sample, so that what should be random is always the same."""
    for entry in watcher.seeds.values():
        most, times = max(entry["seeds"].items(), key=lambda one: one[1])
        inside = entry["in_sample"] >= 0.9 * entry["count"] and entry["count"] >= 50 and times >= 0.9 * entry["count"]
        looped = (
            entry["name"] in ("torch.manual_seed", "random.seed", "np.random.seed")
            and len(entry["seeds"]) == 1
            and len(entry["steps"]) >= 8
            and entry["count"] >= 0.8 * watcher.notes.steps
        )
        if not (inside or looped):
            continue
        site = entry["site"]
        call = rewrite.call_in(site[0], entry["name"].rpartition(".")[2])
        attempts = _hoisted(call)
        names = {
            "name": entry["name"],
            "seed": most,
            "count": times,
            "function": site[0].code.co_name,
            "made": called(call[1]) if call else entry["name"],
            "inside": inside,
        }
        yield Finding(
            "augmentation-seed-fixed", names, shown(call, site[0]), tuple(attempts), proved=False, seen=True, weight=8
        )


def _hoisted(call: tuple[Source, ast.Call] | None) -> list[Attempt]:
    """The generator made once: in the constructor of the class, or the seeding left out of the loop."""
    if call is None:
        return []
    source, node = call
    found = source.statement_at(node.lineno)
    if found is None:
        return []
    if isinstance(found, ast.Expr):
        loop = rewrite.loop_around(source, found)
        edits = rewrite.moved(source, found, loop, False) if loop is not None else rewrite.without(source, found)
        return [Attempt("once", edits)] if edits else []
    owner = source.class_at(node.lineno)
    first = (
        next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if owner
        else None
    )
    if (
        first is None
        or not isinstance(found, ast.Assign)
        or found.value is not node
        or not isinstance(found.targets[0], ast.Name)
    ):
        return []
    if any(
        isinstance(one, ast.Name) and one.id not in ("self", "np", "numpy", "torch", "random") for one in ast.walk(node)
    ):
        return []
    name = found.targets[0].id
    needed = {one.attr for one in ast.walk(node) if of_self(one)}
    behind = first.body[-1] if needed else first.body[0]
    put = (
        rewrite.after(source, behind, f"self._{name} = {source.text(node)}")
        if needed
        else rewrite.before(source, behind, f"self._{name} = {source.text(node)}")
    )
    edits = rewrite.together(source, put, rewrite.replaced(source, node, f"self._{name}"))
    return [Attempt("once", edits)] if edits else []


@finder
def one_class(watcher: Any) -> Iterator[Finding]:
    """Batches of one class each, from a loader that keeps the order of sorted data."""
    for entry in watcher.notes.loaders.values():
        batches = [one["labels"] for one in entry["first"] if one["labels"] is not None]
        if entry["sampler"] != "SequentialSampler" or len(batches) < 5 or not any(grad for _, grad in entry["steps"]):
            continue
        single = [one for one in batches if len(one) <= 2]
        classes = sorted({label for one in batches for label in one})
        if len(single) < 0.8 * len(batches) or len(classes) < 3:
            continue
        call = rewrite.call_in(entry["site"][0]) if entry["site"] else None
        attempts = _shuffled(entry)
        names = {
            "name": _assigned(entry["site"]) or "loader",
            "classes": len(classes),
            "batches": len(batches),
            "single": len(single),
        }
        yield Finding(
            "unshuffled-classes",
            names,
            shown(call, entry["site"][0] if entry["site"] else None),
            tuple(attempts),
            proved=False,
            seen=True,
            weight=7,
        )


@finder
def shuffled_apart(watcher: Any) -> Iterator[Finding]:
    """Inputs and labels that are put in two random orders, one after the other."""
    from explainer.training.sources import program_sources

    for source in program_sources(watcher):
        for body in _bodies(source):
            found = [(one, _permuted(source, one)) for one in body]
            pairs = [(one, what) for one, what in found if what is not None]
            for (first, one), (second, other) in itertools.pairwise(pairs):
                if one[0] == other[0] or second.lineno - first.lineno > 3:
                    continue
                attempts = _one_order(source, first, second, one, other)
                names = {"one": one[0], "other": other[0], "line": first.lineno, "call": called(other[1])}
                yield Finding(
                    "labels-shuffled", names, source.span(other[1]), tuple(attempts), proved=False, seen=True, weight=8
                )


@finder
def loaders_apart(watcher: Any) -> Iterator[Finding]:
    """Two loaders that go side by side through data of one length, each in a random order of its own."""
    shuffled = [
        entry
        for entry in watcher.notes.loaders.values()
        if entry["sampler"] == "RandomSampler" and entry["site"] and entry["steps"] and not entry["own"]
    ]
    for one, other in itertools.combinations(shuffled, 2):
        if one["samples"] != other["samples"] or one["batch"] != other["batch"] or one["steps"] != other["steps"]:
            continue
        made, also = rewrite.call_in(one["site"][0]), rewrite.call_in(other["site"][0])
        first, second = _assigned(one["site"]), _assigned(other["site"])
        if made is None or also is None or not first or not second or first == second:
            continue
        (source, call), (where, at) = made, also
        edits = _paired(source, call, at, rewrite.call_in(one["begun_at"][0], "zip"), (first, second))
        attempts = (Attempt("one-loader", edits, {"one": first}),)
        names = {"one": first, "other": second, "line": call.lineno, "call": called(at)}
        yield Finding("labels-shuffled", names, where.span(at), attempts, proved=False, seen=True, weight=8)


def _paired(source: Source, call: ast.Call, other: ast.Call, zipped: Any, names: tuple[str, str]) -> Any:
    """One loader of pairs in the place of two: its data are zipped, and the loop goes over it alone."""
    if zipped is None or not call.args or not other.args or zipped[0] is not source:
        return ()
    if [source.text(one) for one in zipped[1].args] != [*names]:
        return ()
    pairs = f"list(zip({source.text(call.args[0])}, {source.text(other.args[0])}))"
    return rewrite.both(source, [(call.args[0], pairs), (zipped[1], names[0])])


def _bodies(source: Source) -> Iterator[list[ast.stmt]]:
    for node in source.nodes():
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def _permuted(source: Source, one: ast.stmt) -> tuple[str, ast.Call, ast.expr] | None:
    """What a statement puts in a random order: `x = x[rng.permutation(len(x))]`, `rng.shuffle(x)`."""
    if (
        isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Call)
        and called(one.value) == "shuffle"
        and len(one.value.args) == 1
    ):
        return source.text(one.value.args[0]), one.value, one.value.args[0]
    if isinstance(one, ast.Assign) and isinstance(one.value, ast.Subscript):
        index = one.value.slice
        if isinstance(index, ast.Call) and called(index) in ("permutation", "randperm", "permuted"):
            return source.text(one.value.value), index, index
    if (
        isinstance(one, ast.Assign)
        and isinstance(one.value, ast.Call)
        and called(one.value) in ("permutation", "permuted", "shuffled")
    ):
        given = one.value.args[0] if len(one.value.args) == 1 else None
        if isinstance(given, (ast.Name, ast.Attribute)) and source.text(given) == source.text(one.targets[0]):
            return source.text(given), one.value, given
    return None


def _one_order(source: Source, first: ast.stmt, second: ast.stmt, one: Any, other: Any) -> list[Attempt]:
    """One order for both, made before them."""
    if isinstance(first, ast.Expr) or not isinstance(getattr(first, "value", None), ast.Subscript):
        prefix = source.text(one[1].func).rpartition(".")[0]
        if not prefix or not isinstance(second, (ast.Expr, ast.Assign)):
            return []
        if prefix == "random":
            text = f"order = random.sample(range(len({one[0]})), len({one[0]}))"
            lines = (
                f"{text}\n{one[0]}[:] = [{one[0]}[i] for i in order]\n{other[0]}[:] = [{other[0]}[i] for i in order]"
            )
        else:
            pair = f"{one[0]}, {other[0]} = {one[0]}[order], {other[0]}[order]"
            lines = f"order = {prefix}.permutation(len({one[0]}))\n{pair}"
        edits = rewrite.together(
            source,
            rewrite.before(source, first, lines),
            rewrite.without(source, first),
            rewrite.without(source, second),
        )
        return [Attempt("one-order", edits, {"one": one[0], "other": other[0]})] if edits else []
    text = f"order = {source.text(one[1])}"
    edits = rewrite.together(
        source,
        rewrite.before(source, first, text),
        rewrite.replaced(source, one[1], "order"),
        rewrite.replaced(source, other[1], "order"),
    )
    return [Attempt("one-order", edits, {"one": one[0], "other": other[0]})] if edits else []


@finder
def overwritten(watcher: Any) -> Iterator[Finding]:
    """A dataset that writes into the samples that it holds, at every pass, while it gets one of them ready."""
    for _, kind, passes in watcher.datasets.values():
        marks = [held for _, held in passes]
        learned = any(entry["learned"] for entry, _ in passes)
        names = [name for name in (marks[0] if len(marks) > 2 else ())
                 if all(one.get(name) != other.get(name) for one, other in itertools.pairwise(marks))]  # fmt: skip
        for source in program_sources(watcher) if names and learned else ():
            for name, view, write in _views(source, kind, names):
                text = source.text(view)
                copied = "copy" if isinstance(marks[0][name], float) else "clone"
                about = {"view": text, "write": source.text(write), "held": f"self.{name}", "copied": copied}
                edits = rewrite.replaced(source, view, f"{text}.{copied}()")
                yield Finding(
                    "samples-overwritten", about, source.span(view), (Attempt("copy", edits, about),), weight=6
                )


def _views(source: Source, kind: str, names: list[str]) -> Iterator[tuple[str, ast.expr, ast.stmt]]:
    """What `__getitem__` of a class takes of an attribute without a copy and then writes into, with that taking."""
    classes = [one for one in source.nodes() if isinstance(one, ast.ClassDef) and one.name == kind]
    methods = [one for owner in classes for one in owner.body if getattr(one, "name", "") == "__getitem__"]
    for taking in (node for method in methods for node in ast.walk(method) if isinstance(node, ast.Assign)):
        view, target = taking.value, taking.targets[0]
        held = view.value if isinstance(view, ast.Subscript) else None
        method = source.function_at(taking.lineno)
        if held is None or not of_self(held) or held.attr not in names or not isinstance(target, ast.Name):  # type: ignore[attr-defined]
            continue
        writes = (one for one in ast.walk(method) if _writes(one, target.id)) if method is not None else ()
        write = next((one for one in writes if one.lineno > taking.lineno), None)  # type: ignore[attr-defined]
        if write is not None:
            yield held.attr, view, write  # type: ignore[attr-defined, misc]


def _writes(node: ast.AST, name: str) -> bool:
    """Whether a statement writes into what a name is bound to: `x[2:] = 0`, `x /= 255`, `x.mul_(2)`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and called(call).endswith("_"):
        target = call.func.value
    elif isinstance(node, ast.Assign):
        target = target if isinstance(target, ast.Subscript) else None
    elif not isinstance(node, ast.AugAssign):
        return False
    while isinstance(target, ast.Subscript):
        target = target.value
    return isinstance(target, ast.Name) and target.id == name
