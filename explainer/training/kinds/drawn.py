"""Batches that are drawn anew at every step and are always the same, as their random generator begins again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, holds, loaded, source_of, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.hoisting import hoisted, outermost, trains
from explainer.training.kinds.batches import repeated
from explainer.training.kinds.losses import shown
from explainer.training.sites import Site
from explainer.training.sources import program_sources

#: Calls that begin the random numbers of a seed.
_SEEDING = ("default_rng", "RandomState", "Random", "manual_seed", "seed", "PCG64", "Philox", "SFC64", "MT19937")
#: From how many passes on that open alike they repeat; below which part of the samples they leave others out.
_PASSES, _PART = 4, 0.7
#: How often a place must have drawn the same numbers.
_AGAIN = 6
#: What begins elsewhere each time where it is given no seed; in how many batches of a loader inputs stand twice.
_UNSEEDED, _LOOKED = ("default_rng", "RandomState", "Random"), 3
Place = tuple[Source, ast.Call, Site]


@finder
def drawn_again(watcher: Any) -> Iterator[Finding]:
    """Newly made inputs that are equal at every step, and a generator that is seeded at every step."""
    prints = [repeated(root) for root in watcher.notes.roots.values() if root.get("anew", 0) >= 4]
    batch = next((one for one in prints if one is not None), None)
    if batch is not None:
        yield from _begun_again(watcher, [*_called(watcher), *_written(watcher)], {"how": "seed", "size": batch[0][0]})


@finder
def drawn_twice(watcher: Any) -> Iterator[Finding]:
    """`d.log_prob(d.sample())` beside another `d.sample()` of the function: the chance of a draw that nobody took."""
    for source in program_sources(watcher):
        for function in (one for one in source.nodes() if isinstance(one, ast.FunctionDef)):
            for asked in (one for one in ast.walk(function) if isinstance(one, ast.Call) and _of_own_draw(source, one)):
                text, inner = source.text(asked.args[0]), asked.args[0]
                draws = [one for one in ast.walk(function) if isinstance(one, ast.Call) and source.text(one) == text]
                others = [one for one in draws if one is not inner]
                if len(others) != 1:
                    continue
                edits, new = _one_draw(source, inner, others[0])
                names = {"text": source.text(asked), "draw": text, "line": others[0].lineno, "new": new}
                attempts = (Attempt("once", edits, names),)
                yield Finding("drawn-twice", names, source.span(asked), attempts, proved=False, seen=True, weight=8)


def _of_own_draw(source: Source, call: ast.Call) -> bool:
    """Whether a distribution is asked for the chance of a draw that is made there, and kept nowhere."""
    inner = call.args[0] if called(call) == "log_prob" and len(call.args) == 1 else None
    drawn = isinstance(inner, ast.Call) and called(inner) in ("sample", "rsample") and not inner.args
    owners = [
        one.func.value for one in (call, inner) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
    ]
    return drawn and len(owners) == 2 and source.text(owners[0]) == source.text(owners[1])


def _one_draw(source: Source, asked: ast.expr, other: ast.Call) -> tuple[Any, str]:
    """Edits by which both read one draw, and of what the chance is asked then: the other one's name, or a new one."""
    stated = source.statement_at(other.lineno)
    plain = isinstance(stated, ast.Assign) and stated.value is other and isinstance(stated.targets[0], ast.Name)
    if plain and isinstance(stated, ast.Assign) and other.lineno < asked.lineno:
        name = source.text(stated.targets[0])
        return rewrite.replaced(source, asked, name), name
    new = f"drawn := {source.text(asked)}"
    return (rewrite.both(source, [(asked, new), (other, "drawn")]) if asked.lineno < other.lineno else ()), new


@finder
def drawn_alike_in_epochs(watcher: Any) -> Iterator[Finding]:
    """A loader that takes few of the samples, the same ones at every pass, as its sampler's generator begins again."""
    for entry in watcher.notes.loaders.values():
        first, batches, samples = entry["openings"][:1], entry["length"] or 0, entry["samples"] or 0
        alike = len(entry["openings"]) >= _PASSES and all(one[:3] == first[0][:3] for one in entry["openings"])
        rows = first[0][0][0] if alike and first[0] is not None else 0
        if batches and 0 < batches * rows < _PART * samples:
            about = {"how": "epoch", "size": batches * rows, "batches": batches, "samples": samples}
            yield from _begun_again(watcher, _ordering(entry["orders"]), {**about, "begun": entry["begun"]})


@finder
def alike_views(watcher: Any) -> Iterator[Finding]:
    """A dataset that gives each sample twice, made by one method whose generator begins again at every call."""
    for entry in watcher.notes.loaders.values():
        twins = [one["size"] for one in entry["first"] if one["twins"]]
        if len(twins) >= _LOOKED and len(twins) == len(entry["first"]) and entry["learned"]:
            places = [one for source in program_sources(watcher) for one in _seeded_in(source, entry["data"])]
            yield from _begun_again(watcher, places, {"how": "views", "size": twins[0]})


@finder
def drawn_alike(watcher: Any) -> Iterator[Finding]:
    """A place that draws the same random numbers in every iteration: its generator is made there, with one seed."""
    found: dict[Any, tuple[Place, dict[str, Any]]] = {}
    for entry in watcher.draws.values():
        frame = entry["site"][0]
        source = frame.source()
        again = len(entry["prints"]) == 1 and entry["count"] >= _AGAIN
        for call in _seeding(source.function_at(frame.line)) if again else ():
            found.setdefault((source.file, call.lineno), ((source, call, ()), entry))
    for (source, call, site), entry in found.values():
        given = call.args[0] if call.args else call.keywords[0].value
        names = {"made": source.text(call), "seed": source.text(given), "count": entry["count"], "inside": False,
                 "function": entry["site"][0].code.co_name, "name": called(call)}  # fmt: skip
        attempts = [Attempt("once", edits, {}, source.span(call)) for edits in (_once(source, call, site),) if edits]
        yield Finding("augmentation-seed-fixed", names, source.span(call), tuple(attempts), proved=False, seen=True,
                      weight=8)  # fmt: skip


def _seeded_in(source: Source, name: str) -> Iterator[Place]:
    """The calls by which the methods of a class begin a generator, but for its constructor."""
    for owner in source.nodes():
        methods = owner.body if isinstance(owner, ast.ClassDef) and owner.name == name else []
        for one in methods:
            if isinstance(one, ast.FunctionDef) and one.name != "__init__":
                yield from ((source, call, ()) for call in _seeding(one))


def _seeding(scope: ast.AST | None) -> Iterator[ast.Call]:
    """The calls in a function that begin a generator with a seed."""
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Call) and called(node) in _SEEDING and (node.args or node.keywords):
            yield node


def _ordering(codes: list[Any]) -> list[Place]:
    """Calls that seed a generator in functions that say in which order samples come."""
    scopes = [(source := source_of(code.co_filename), source.function_at(code.co_firstlineno)) for code in codes]
    return [(source, call, ()) for source, scope in scopes for call in _seeding(scope)]


def _begun_again(watcher: Any, found: list[Place], about: dict[str, Any]) -> Iterator[Finding]:
    """The finding on batches that repeat, with each place where a generator begins that may do it."""
    sources = list(program_sources(watcher))
    places: dict[Any, Place] = {}
    for one in found:
        places.setdefault((one[0].file, one[1].lineno), one)
    attempts: list[Attempt] = []
    for source, call, site in places.values():
        names = {"text": source.text(call)}
        made = [("once", _once(source, call, site)), ("advance", _advanced(sources, source, call))]
        if about["how"] == "views" and called(call) in _UNSEEDED:
            made.append(("unseeded", rewrite.replaced(source, call, f"{source.text(call.func)}()")))
        attempts += [Attempt(id, edits, names, source.span(call)) for id, edits in made]
    if attempts:
        about = {**about, "comparable": False, "name": "", **attempts[0].names}
        yield Finding("same-batch-every-step", about, attempts[0].culprit, tuple(attempts),
                      proved=False, seen=True, weight=9)  # fmt: skip


@finder
def alike_in_workers(watcher: Any) -> Iterator[Finding]:
    """Workers that are each given a copy of a generator which a dataset keeps, and so draw the same numbers."""
    for entry in watcher.notes.loaders.values():
        if entry["kept"] and entry["taken"] > 1 and entry["site"] and any(grad for _, grad in entry["steps"]):
            kind, name = entry["kept"]
            found = rewrite.call_in(entry["site"][0])
            names = {"workers": entry["workers"], "kind": kind, "name": name}
            yield Finding("workers-draw-alike", names, shown(found, entry["site"][0]), weight=4)


def _called(watcher: Any) -> Iterator[Place]:
    """Where a generator was seeded at nearly every step, outside of evaluation."""
    steps = min(watcher.notes.steps, 100)
    for entry in watcher.seeds.values():
        found = rewrite.call_in(entry["site"][0], entry["name"].rpartition(".")[2])
        if found is not None and len(entry["steps"]) >= max(0.8 * steps, 5) and entry["grad"] >= 0.8 * steps:
            yield (*found, entry["site"])


def _written(watcher: Any) -> Iterator[Place]:
    """Calls that seed a generator in functions and loops that ran in the steps looked at."""
    lines: dict[Any, list[int]] = {}
    for (_, line), (code, phase) in watcher.ran.items():
        if phase & 1:
            lines.setdefault(code, []).append(line)
    for code, ran in lines.items():
        source = source_of(code.co_filename)
        scope = source.scope_at(ran[0])
        for node in _seeding(scope):
            loop = outermost(source, node.lineno)
            looped = loop is not None and any(holds(loop, line) for line in ran)
            if source.scope_at(node.lineno) is scope and (looped or not _runs_once(source, scope)):
                yield source, node, ()


def _runs_once(source: Source, scope: ast.AST) -> bool:
    return isinstance(scope, ast.Module) or trains(source, scope)


def _once(source: Source, call: ast.Call, site: Site) -> Any:
    """Edits that have a seeding run once: before the loop, in the constructor, before the function."""
    own = source.statement_at(call.lineno)
    if isinstance(own, ast.Expr):
        found = hoisted(site) if site else None
        return found[2] if found is not None else rewrite.without(source, own)
    if not isinstance(own, ast.Assign) or own.value is not call or not isinstance(own.targets[0], ast.Name):
        return ()
    function, loop = source.function_at(own.lineno), outermost(source, own.lineno)
    if loop is not None and not loaded(own) & {name for one in (loop, *loop.body) for name in stored(one)} - stored(
        own
    ):
        return rewrite.moved(source, own, loop, False)
    local = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} if function is not None else set()
    local |= {name for one in function.body for name in stored(one)} if function is not None else set()
    if function is None or loaded(own) & local - {"self"}:
        return ()
    return _beside(source, function, own)


def _beside(source: Source, function: Any, own: ast.Assign) -> Any:
    """A generator that is kept by the object whose method uses it, or by the module."""
    name, text = own.targets[0].id, source.text(own.value)  # type: ignore[attr-defined]
    owner = source.class_at(own.lineno)
    if owner is None:
        body: list[ast.stmt] = getattr(source.scope_at(0), "body", [])
        late = {each for one in body if one.lineno > function.lineno for each in stored(one)}
        if loaded(own) & late or function.decorator_list:
            return ()
        put, kept = rewrite.before(source, function, f"_{name} = {text}"), f"_{name}"
    else:
        first = next((one for one in owner.body if getattr(one, "name", "") == "__init__"), None)
        if first is None or first is function:
            return ()
        put, kept = rewrite.after(source, first.body[-1], f"self._{name} = {text}"), f"self._{name}"  # type: ignore[attr-defined]
    return rewrite.together(source, put, rewrite.replaced(source, own.value, kept))


def _advanced(sources: list[Source], own: Source, call: ast.Call) -> Any:
    """Another seed at each step, where a call in a counting loop gives the seed to the function that uses it."""
    function, seed = own.function_at(call.lineno), call.args[0] if call.args else call.keywords[0].value
    plain = [one.arg for one in function.args.args] if function is not None else []
    if function is None or not isinstance(seed, ast.Name) or seed.id not in plain:
        return ()
    place = plain.index(seed.id) - (plain[0] == "self")
    for source in sources:
        for node in source.nodes():
            if isinstance(node, ast.Call) and called(node) == function.name:
                given, loop = rewrite.argument(node, seed.id, place), outermost(source, node.lineno)
                if given is not None and _counts(loop) and trains(source, loop):
                    return rewrite.replaced(source, given, f"{source.text(given)} + {loop.target.id}")
    return ()


def _counts(loop: Any) -> bool:
    """Whether a loop counts its turns in a name."""
    counted = isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Call)
    return counted and called(loop.iter) == "range"
