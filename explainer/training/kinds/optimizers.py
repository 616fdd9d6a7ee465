"""Optimizers that hold the wrong parameters, take no step, never clear gradients, or whose steps come to nothing."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator
from typing import Any

from explainer.diagnosis import Span
from explainer.source import Source, called, loaded, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.notes import Optimizing
from explainer.training.sites import Frame, Site, statement
from explainer.training.sources import program_sources
from explainer.wrappers import bare, class_name, named_modules


def built(one: Optimizing) -> tuple[Source, ast.Call] | None:
    """The call that made an optimizer."""
    return rewrite.call_in(one.site[0], one.kind) if one.site else None


def span_of(site: Site, *names: str) -> Span | None:
    """The call, or the line, at which a site stood."""
    if not site:
        return None
    return shown(rewrite.call_in(site[0], *names), site[0])


def name_of(one: Optimizing) -> str:
    """The name of an optimizer in the program: what it was assigned to, or how a frame called it."""
    found = statement(one.site[0]) if one.site else None
    if found is not None and isinstance(found[1], ast.Assign):
        return found[0].text(found[1].targets[0])
    return one.name or "optimizer"


def backward_site(watcher: Any, one: Optimizing) -> Site:
    """The backward that comes before an optimizer's steps, or the first one of all."""
    last: Site = ()
    for event in watcher.notes.events:
        if event.name == "backward":
            last = event.site
        elif event.name == "step" and event.optimizer == one.number and last:
            return last
    return last


#: What is gone through where parameters are sorted into groups.
_SORTED = ("named_parameters", "modules", "named_modules")
#: How the number of dimensions of a tensor is asked for.
_RANK = re.compile(r"^\w+\.(?:ndim|dim\(\))$|^len\(\w+\.(?:shape|size\(\))\)$")


@finder
def never_stepped(watcher: Any) -> Iterator[Finding]:
    """An optimizer whose parameters get gradients, and which takes no step."""
    notes = watcher.notes
    if notes.counts["backward"] < 5:
        return
    for one in notes.optimizers:
        if one.steps or not one.site or not one.name or not one.reached or _shared(notes, one):
            continue
        site = next((event.site for event in notes.events if event.name == "backward"), ())
        found = statement(site[0]) if site else None
        site = next((other.stepped_at for other in notes.optimizers if other.stepped_at), site)
        attempts = []
        if found is not None:
            edits = rewrite.after(found[0], found[1], f"{one.name}.step()")
            attempts = [Attempt("step", edits, {"name": one.name})]
        branch = never_taken(watcher, f"{one.name}.step")
        names = {"name": one.name, "count": notes.counts["backward"], "kind": one.kind}
        names |= {"test": branch[0].text(branch[1]) if branch else "", "line": branch[1].lineno if branch else 0}
        culprit = branch[0].span(branch[1]) if branch else shown(None, site[0]) if site else span_of(one.site)
        yield Finding("optimizer-never-steps", names, culprit, tuple(attempts), weight=10)


def never_taken(watcher: Any, name: str) -> tuple[Source, ast.expr] | None:
    """The condition under which the program calls something that it never called."""
    for source in program_sources(watcher):
        for node in source.nodes():
            own = [one for one in ast.walk(node) if isinstance(one, ast.Call)] if isinstance(node, ast.If) else ()
            if isinstance(node, ast.If) and any(source.text(one.func) == name for one in own):
                return source, node.test
    return None


@finder
def foreign_parameters(watcher: Any) -> Iterator[Finding]:
    """An optimizer that holds parameters of a layer that was replaced, while the new layer's never move."""
    missing = [
        one
        for one in watcher.weights.values()
        if not one["held"] and one["graded"] >= 2 and not one["moved"] and not one["gone"]
    ]
    for number, orphans in watcher.orphans.items():
        if not missing:
            return
        one = watcher.notes.optimizers[number]
        root = missing[0]["root"]()
        names = {
            "name": name_of(one),
            "kind": one.kind,
            "count": orphans["count"],
            "missing": _names(missing),
            "many": len(missing),
            "line": one.site[0].line if one.site else 0,
            "root": class_name(root) if root is not None else "",
        }
        later = _made_later(watcher, missing, one)
        attempts = []
        if later is not None:
            frame, made = later
            found, other = statement(frame), statement(made)
            if found is not None and other is not None and found[0] is other[0] and isinstance(found[1], ast.Assign):
                text = "\n".join(map(found[0].text, (*_collecting(found[0], found[1]), found[1])))
                attempts = [
                    Attempt("again", rewrite.after(found[0], other[1], text)),
                    Attempt("again", rewrite.moved(found[0], found[1], other[1], True)),
                ]
            names["later"] = made.line
        yield Finding(
            "optimizer-misses-parameters",
            {**names, "why": "replaced", "later": names.get("later", 0)},
            span_of(one.site, one.kind),
            tuple(attempts),
            weight=10,
        )


def _collecting(source: Source, making: ast.Assign) -> list[ast.Assign]:
    """The statements before one that makes an optimizer which collect the parameters that it is given."""
    given = loaded(making.value)
    return [one for one in ast.walk(source.scope_at(making.lineno)) if isinstance(one, ast.Assign)
            and one.lineno < making.lineno and stored(one) & given
            and any(isinstance(each, ast.Call) and called(each) in ("parameters", "named_parameters")
                    for each in ast.walk(one.value))]  # fmt: skip


def _shared(notes: Any, one: Optimizing) -> bool:
    """Whether another optimizer that does step has some of the same parameters."""
    held = one.of()
    own = {id(p) for group in held.param_groups for p in group["params"]} if held is not None else set()
    others = [other.of() for other in notes.optimizers if other is not one and other.steps]
    return any(
        id(p) in own for other in others if other is not None for group in other.param_groups for p in group["params"]
    )


def _names(entries: list[dict[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(entry["name"] for entry in entries[:3]))


def _made_later(watcher: Any, missing: list[dict[str, Any]], one: Optimizing) -> tuple[Frame, Frame] | None:
    """Where a function had the optimizer made, and where later the layer of the missing parameters."""
    root = missing[0]["root"]()
    if root is None or not one.site:
        return None
    path = missing[0]["name"].rpartition(".")[0]
    layer = next((module for name, module in named_modules(root) if name == path), None)
    site = watcher.notes.built.get(bare(layer), ()) if layer is not None else ()
    pairs = [(own, frame) for own in one.site for frame in site if frame.code is own.code and frame.line > own.line]
    return pairs[0] if pairs else None


@finder
def partial_parameters(watcher: Any) -> Iterator[Finding]:
    """Parameters that get gradients at every step and that no optimizer holds, although it was made of the model."""
    notes = watcher.notes
    if watcher.orphans:
        return
    missing = [
        one
        for one in watcher.weights.values()
        if not one["held"] and one["graded"] >= 3 and not one["moved"] and not one["gone"] and not one["frozen"]
    ]
    held = [one for one in watcher.weights.values() if one["held"]]
    stepping = [one for one in notes.optimizers if one.steps > 4]
    if not missing or not held or len(stepping) != 1 or any(id(one["of"]()) in watcher.pretrained for one in missing):
        return
    yield from _without(watcher, stepping[0], missing, "partial")


@finder
def thawed_parameters(watcher: Any) -> Iterator[Finding]:
    """Parameters that were frozen when the optimizer was made, were unfrozen later, and that no optimizer holds."""
    idle = [one for one in watcher.weights.values() if one["thawed"] and one["idle"][0] >= 2 and not one["gone"]]
    for number in dict.fromkeys(one["idle"][2] for one in idle):
        missing = [one for one in idle if one["idle"][2] == number]
        yield from _without(watcher, watcher.notes.optimizers[number], missing, "thawed")


def _without(watcher: Any, one: Optimizing, missing: list[dict[str, Any]], why: str) -> Iterator[Finding]:
    """The finding on an optimizer that lacks parameters, with what could be given to it instead."""
    found = built(one)
    if found is None:
        return
    source, call = found
    given = rewrite.argument(call, "params", 0)
    if given is None:
        return
    attempts = [*_filtered(source, call, missing), *_unsorted(source, call)]
    for text in _whole(source, given, missing, watcher):
        edits = rewrite.replaced(source, given, text)
        attempts.append(Attempt("whole", edits, {"text": text}))
    root = missing[0]["root"]()
    names = {
        "name": name_of(one),
        "kind": one.kind,
        "count": 0,
        "missing": _names(missing),
        "many": len(missing),
        "line": call.lineno,
        "root": class_name(root) if root is not None else "",
        "why": why,
        "later": 0,
    }
    culprit = next((each.culprit for each in attempts if each.culprit is not None), source.span(call))
    yield Finding("optimizer-misses-parameters", names, culprit, tuple(attempts), proved=False, seen=True, weight=7)


def _filtered(source: Source, making: ast.Call, missing: list[dict[str, Any]]) -> Iterator[Attempt]:
    """Parameters that are chosen by how many dimensions they have: `p.ndim == 2` leaves out what has more."""
    tensors = [one["of"]() for one in missing]
    for node in (inner for each in _collectors(source, making) for inner in ast.walk(each)):
        chosen = node.generators[0] if isinstance(node, (ast.ListComp, ast.GeneratorExp)) else None
        test = chosen.ifs[0] if chosen is not None and len(chosen.ifs) == 1 else None
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
            continue
        bound = getattr(test.comparators[0], "value", None)
        if type(bound) is not int or not _RANK.search(source.text(test.left)):
            continue
        for sign, fits in ((">=", operator.ge), ("<=", operator.le)):
            if all(one is not None and fits(one.dim(), bound) for one in tensors):
                text = f"{source.text(test.left)} {sign} {bound}"
                edits = rewrite.replaced(source, test, text)
                yield Attempt("chosen", edits, {"text": source.text(test), "new": text}, source.span(test))


def _collectors(source: Source, making: ast.Call) -> list[ast.AST]:
    """The scope in which an optimizer is made, and the functions of the file that it calls."""
    scope = source.scope_at(making.lineno)
    asked = {called(one) for one in ast.walk(scope) if isinstance(one, ast.Call)}
    return [scope, *(one for one in source.nodes() if isinstance(one, ast.FunctionDef) and one.name in asked)]


def _unsorted(source: Source, making: ast.Call) -> Iterator[Attempt]:
    """Parameters that are sorted by their names into groups, `if ...: elif ...:`: the last group takes all others."""
    for loop in (node for each in _collectors(source, making) for node in ast.walk(each)):
        sorts = isinstance(loop, ast.For) and any(
            isinstance(one, ast.Call) and called(one) in _SORTED for one in ast.walk(loop.iter)
        )
        for one in ast.walk(loop) if sorts else ():
            last = one.orelse[0] if isinstance(one, ast.If) and len(one.orelse) == 1 else None
            if isinstance(last, ast.If) and not last.orelse and source.line(last.lineno).lstrip().startswith("elif"):
                start, end = source.span(last), source.span(last.test)
                header = Span(source.file, start.line, start.column, end.end_line, end.end_column)
                edits = rewrite.changed_at(source, header, "else")
                yield Attempt("rest", edits, {"text": source.text(last.test)}, source.span(last.test))


def _whole(source: Source, given: ast.expr, missing: list[dict[str, Any]], watcher: Any) -> list[str]:
    """What could be given to the optimizer instead, so that it holds the missing parameters too."""
    text = source.text(given)
    texts = []
    if isinstance(given, ast.Call) and called(given) == "parameters" and isinstance(given.func, ast.Attribute):
        owner = given.func.value
        if isinstance(owner, ast.Attribute):
            texts.append(f"{source.text(owner.value)}.parameters()")
    filtered = isinstance(given, ast.Call) and called(given) == "filter"
    if filtered or isinstance(given, (ast.ListComp, ast.GeneratorExp)):  # all of them: a frozen one gets no gradient
        chosen = [one for one in ast.walk(given) if isinstance(one, ast.Call) and called(one) == "parameters"]
        texts += [source.text(one) for one in chosen[:1]]
    known = {id(root["of"]()): root["name"] for root in watcher.notes.roots.values()}
    names = [known.get(number) for number in dict.fromkeys(id(entry["root"]()) for entry in missing)]
    others = "".join(f", *{name}.parameters()" for name in names if name and f"{name}." not in text)
    owners = {id(entry["root"]()) for entry in watcher.weights.values() if entry["held"]}
    whole = [f"{name}.parameters()" for name in names if name and owners == {id(entry["root"]()) for entry in missing}]
    if isinstance(given, ast.Name):  # of one model: no parameter is to be given twice
        texts += [one for one in whole if one not in texts]
    if others and isinstance(given, (ast.List, ast.Tuple)) and len(text) > 2:
        texts.append(f"{text[:-1].rstrip().rstrip(',')}{others}{text[-1]}")
    elif others:
        texts.append(f"[*{text}{others}]")
    return [*texts, *(one for one in whole if one not in (*texts, text))]


@finder
def unregistered(watcher: Any) -> Iterator[Finding]:
    """Layers in a plain list, tensors as plain attributes: they get gradients, and no optimizer can know of them."""
    done = set()
    for entry in sorted(watcher.strays.values(), key=lambda one: -math.prod(one["shape"])):  # of each place the largest
        if id(entry["of"]()) in watcher.pretrained:
            continue
        if entry["seen"] < 3 or entry["moved"] or entry["gone"] or not entry["holders"]:
            continue
        holder = entry["holders"][0]
        place = (holder["class"], holder["attribute"])
        if place in done:
            continue
        done.add(place)
        found = _assigned(holder["class"], holder["attribute"])
        attempts = []
        if found is not None:
            source, value = found
            text = source.text(value)
            wrapped = _registered(source, holder["kind"], text)
            edits = rewrite.replaced(source, value, wrapped) if wrapped else ()
            attempts = [Attempt("register", edits, {"text": wrapped})]
        names = {
            "attribute": holder["attribute"],
            "class": holder["class"].__name__,
            "kind": holder["kind"],
            "shape": list(entry["shape"]),
        }
        culprit = found[0].span(found[1]) if found else span_of(holder["built"] or ())
        yield Finding("parameters-not-registered", names, culprit, tuple(attempts), weight=10)


def _registered(source: Source, kind: str, text: str) -> str | None:
    prefix = "nn" if any(isinstance(one, ast.Name) and one.id == "nn" for one in source.nodes()) else "torch.nn"
    if kind == "tensor":
        inner = text.removesuffix(".requires_grad_()").removesuffix(".requires_grad_(True)")
        inner = inner.replace(", requires_grad=True", "")
        return f"{prefix}.Parameter({inner})"
    names = {
        "list of modules": "ModuleList",
        "dict of modules": "ModuleDict",
        "list of tensors": "ParameterList",
        "dict of tensors": "ParameterDict",
    }
    return f"{prefix}.{names[kind]}({text})"


def _assigned(owner: type, attribute: str) -> tuple[Source, ast.expr] | None:
    """The value that a class's own code gives to an attribute of `self`, where it does so once."""
    import inspect

    from explainer.source import source_of

    try:
        file = inspect.getsourcefile(owner)
        first = inspect.getsourcelines(owner)[1]
    except (OSError, TypeError):
        return None
    if file is None:
        return None
    source = source_of(file)
    holder = source.class_at(first) or source.class_at(first + 1)
    values = [
        node.value
        for node in (ast.walk(holder) if holder else ())
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr == attribute
    ]
    return (source, values[0]) if len(values) == 1 else None
