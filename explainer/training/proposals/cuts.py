"""Gradients that do not arrive: the cuts of the graph in the program, where some parameter never gets any."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

from explainer.bindings import only_value
from explainer.edits.imports import with_imports
from explainer.edits.place import bound_above
from explainer.source import Source, called, stored
from explainer.training import hoisting, rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.optimizers import backward_site, name_of
from explainer.training.looks.fits import learned
from explainer.training.notes import Optimizing
from explainer.training.proposals.through import negated, past_choice, past_comparison, past_pick, straight_through
from explainer.training.search import places
from explainer.training.sites import statement
from explainer.training.sources import program_sources

#: Cuts that are worth a trial wherever a loss is made of what they hand on, with what becomes of them.
_WITHIN = {"sample": "draw", "grad": "twice"}
#: What makes a new tensor of the numbers of others, and how numbers are listed.
_COPIES = ("torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor")
_LISTS = (ast.List, ast.ListComp)


def cut_graph(watcher: Any) -> Iterator[Finding]:
    """Parameters that an optimizer holds and that never get a gradient, and the cuts of the graph in the program."""
    entries = [one for one in watcher.ungraded.values() if one["looked"] >= 4 and one["none"] == one["looked"]]
    entries = [one for one in entries if one["name"]]
    still = _still(watcher)
    cuts = {(seen.site[0].file, seen.site[0].line) for seen, _ in watcher.notes.of("graph-cut") if seen.site}
    cuts |= (read := _read(watcher, {id(one["of"]()) for one in entries}))
    found = [(source, *one) for source in program_sources(watcher) for one in _cuts(source)]
    at = {id(node): (source.file, node.lineno) for source, node, _, _ in found}  # type: ignore[attr-defined]
    mended = {(source.file, one.start_line) for source, _, kind, edits in found if kind != "reading" for one in edits}
    drawn = {at[id(node)] for _, node, kind, _ in found if kind in _WITHIN} & cuts
    flat = [seen for seen, times in watcher.notes.of("term-without-gradient") if times > 2]
    if not entries and not drawn and not flat and (not cuts or not learned(watcher) < 0.5):
        return  # a cut alone is no fault: targets, critics and carried states are cut on purpose
    attempts = []
    for source, node, kind, edits in found:
        place = at[id(node)]
        if kind == "reading" and (place not in read or place in mended):
            continue
        if edits and (place in drawn or (kind not in _WITHIN and (entries or place in cuts))):
            text = source.text(node).split("\n")[0]
            told = {"text": text, "kind": kind, "line": place[1]}
            first = (place not in drawn, place not in cuts)
            around = source.parent_of(node)
            turned = straight_through(source, around) if around is not None else ""
            if around is not None and not turned:
                turned, told["negated"] = negated(source, around)
            if around is not None and turned:  # kept whole, it would hand on what is not chosen
                edits = rewrite.replaced(source, around, turned)
                attempts.append((first, Attempt("past", edits, {**told, "new": turned}, culprit=source.span(around))))
                continue
            past = _past(source, node, told) if kind == "detach" and entries else ()
            more = (*past, *_anew(watcher, still, source, node, told), *_sooner(source, node, told))
            kept = Attempt(_WITHIN.get(kind, "keep"), edits, told, culprit=source.span(node))
            attempts += [(first, one) for one in (*more, kept)]
    collected = (*_collected(found, read), *_added_up(found, read)) if entries else ()
    attempts += [((False, False), one) for one in collected]
    attempts += [((True, True), one) for one in _compared(watcher)] if entries or flat else []
    attempts.sort(key=lambda one: one[0])
    ranked = tuple(one for _, one in attempts)
    if ranked:
        yield Finding(
            "gradient-cut",
            {**_told(watcher, entries), **ranked[0].names},
            ranked[0].culprit,
            ranked,
            proved=still is not None and bool(cuts),
            seen=bool(entries or drawn or flat),
        )


def _told(watcher: Any, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What the words say of the parameters without a gradient; empty where there are none."""
    owner = watcher.notes.optimizers[entries[0]["optimizer"]] if entries else None
    return {
        "missing": ", ".join(dict.fromkeys(one["name"] for one in entries[:3])),
        "many": len(entries),
        "root": entries[0]["root"] if entries else "",
        "optimizer": name_of(owner) if owner is not None else "",
        "negated": "",
    }


def _read(watcher: Any, missing: set[int]) -> set[tuple[str, int]]:
    """Where numbers were read off what hangs on weights that no gradient reaches."""
    sites = [one["site"][0] for one in watcher.read.values() if one["behind"] & missing]
    return {(one.file, one.line) for one in sites}


def _compared(watcher: Any) -> Iterator[Attempt]:
    """The gradient handed past each comparison and choice in an iteration: they have none of their own."""
    for source, ran in places.statements(watcher, places.LEARNING):
        for node in ast.walk(ran):
            new, kind = past_comparison(source, node), "comparison"
            new, kind = (new, kind) if new else (past_pick(source, node), "choice")
            if new:
                told = {"text": source.text(node), "kind": kind, "line": ran.lineno, "new": new}
                yield Attempt("past", rewrite.replaced(source, node, new), told, culprit=source.span(node))


def _past(source: Source, node: Any, told: dict[str, Any]) -> Iterator[Attempt]:
    """The gradient handed past a choice, where a value was chosen and then cut."""
    for new in past_choice(source, node):
        yield Attempt("past", rewrite.replaced(source, node, new), {**told, "new": new}, culprit=source.span(node))


def _still(watcher: Any) -> Optimizing | None:
    """An optimizer that takes steps and none of whose weights has ever had a gradient, or been written to."""
    for one in watcher.notes.optimizers:
        held = [each for each in watcher.ungraded.values() if each["optimizer"] == one.number]
        if one.steps < 12 or one.reached or not held:
            continue
        if all(each["looked"] >= 4 and each["none"] == each["looked"] and not each["written"] for each in held):
            return one
    return None


def _sooner(source: Source, cut: Any, told: dict[str, Any]) -> Iterator[Attempt]:
    """A state cut once, before the loop that goes through its steps: within it nothing reaches the step before."""
    stated = source.statement_at(cut.lineno)
    loop = rewrite.loop_around(source, stated) if isinstance(stated, ast.Assign) else None
    if loop is None or told["kind"] != "detach" or hoisting.trains(source, loop):
        return
    owner = source.text(cut.func.value)
    if isinstance(stated, ast.Assign) and stated.value is cut and source.text(stated.targets[0]) == owner:
        yield Attempt("sooner", rewrite.moved(source, stated, loop, False), told, culprit=source.span(stated))


def _anew(watcher: Any, one: Optimizing | None, source: Source, cut: Any, told: dict[str, Any]) -> Iterator[Attempt]:
    """What was cut for one loss computed again for the other one, of the optimizer that gets no gradient."""
    stated = source.statement_at(cut.lineno)
    kept = isinstance(stated, ast.Assign) and stated.value is cut and told["kind"] == "detach"
    site = backward_site(watcher, one) if one is not None else ()
    back = statement(site[0]) if site else None
    if not kept or back is None or back[0] is not source or not isinstance(stated, ast.Assign):
        return
    names = [each.id for each in stated.targets if isinstance(each, ast.Name)]
    losses = {each.id for each in ast.walk(back[1]) if isinstance(each, ast.Name)}
    inner = source.text(cut.func.value)
    for each in ast.walk(source.scope_at(cut.lineno)):
        if isinstance(each, ast.Assign) and stored(each) & losses and cut.lineno < each.lineno < back[1].lineno:
            uses = [use for use in ast.walk(each.value) if isinstance(use, ast.Name) and use.id in names]
            if uses:
                edits = rewrite.both(source, [(use, inner) for use in uses])
                yield Attempt("anew", edits, {**told, "new": inner, "loss": source.text(each.targets[0])},
                              culprit=source.span(uses[0]))  # fmt: skip


def _cuts(source: Source) -> Iterator[tuple[ast.AST, str, Any]]:
    weighed = any(isinstance(one, ast.Attribute) and one.attr == "log_prob" for one in source.nodes())
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) == "detach" and isinstance(node.func, ast.Attribute):
            yield node, "detach", rewrite.replaced(source, node, source.text(node.func.value))
        elif isinstance(node, ast.Call) and called(node) == "sample" and isinstance(node.func, ast.Attribute):
            owner = source.text(node.func.value)
            if not weighed:  # where the draw's probability is asked for, the gradient goes through that
                yield node, "sample", rewrite.replaced(source, node.func, f"{owner}.rsample")
        elif isinstance(node, ast.Call) and called(node) == "grad" and not rewrite.argument(node, "create_graph", 4):
            yield node, "grad", rewrite.with_keyword(source, node, "create_graph", "True")
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
                if "no_grad" in source.text(one) and _hands_on(source, node):
                    yield one, "no_grad", rewrite.replaced(source, one, "torch.enable_grad()")
            yield from _made_leaves(source, node) if node.name != "__init__" else ()
        elif isinstance(node, ast.Call) and (tensor := _tensor_read(node)) is not None:
            yield node, "reading", rewrite.replaced(source, node, rewrite.operand(source, tensor))
        elif isinstance(node, ast.Call) and source.text(node.func) in _COPIES and len(node.args) == 1:
            yield node, called(node), _not_copied(source, node)


def _collected(found: list[tuple[Source, ast.AST, str, Any]], read: set[tuple[str, int]]) -> Iterator[Attempt]:
    """`rows.append(x.item())` and `torch.tensor(rows)`: the tensors themselves kept in the list, and stacked."""
    readings = [(source, node) for source, node, kind, _ in found if kind == "reading"
                and (source.file, node.lineno) in read and _is_kept(source, node)]  # type: ignore[attr-defined] # fmt: skip
    copies = [(source, node) for source, node, kind, _ in found if isinstance(node, ast.Call) and kind == "tensor"
              and isinstance(node.args[0], (ast.Name, ast.Attribute))]  # fmt: skip
    for (source, node), (home, copy) in itertools.product(readings, copies):
        tensor = _tensor_read(node) if isinstance(node, ast.Call) else None
        if source is home and tensor is not None:
            new = f"torch.stack({source.text(copy.args[0])})"
            edits = rewrite.both(source, [(node, source.text(tensor)), (copy, new)])
            told = {"text": source.text(node), "kind": "reading", "line": node.lineno}  # type: ignore[attr-defined]
            yield Attempt("keep", edits, told, culprit=source.span(node))  # type: ignore[arg-type]


def _added_up(found: list[tuple[Source, ast.AST, str, Any]], read: set[tuple[str, int]]) -> Iterator[Attempt]:
    """`parts = x.item() + y.item()` and `torch.tensor(parts)`: the sum of the tensors themselves."""
    for source, copy, kind, _ in found:
        if kind != "tensor" or not isinstance(copy, ast.Call):
            continue
        scope, own = source.scope_at(copy.lineno), copy.args[0]
        given = only_value(scope, own.id) if isinstance(own, ast.Name) else own
        if not isinstance(given, ast.BinOp) and not (isinstance(given, ast.Call) and called(given) == "sum"):
            continue
        readings = [node for home, node, other, _ in found if home is source and other == "reading"
                    and (source.file, node.lineno) in read and source.scope_at(node.lineno) is scope  # type: ignore[attr-defined]
                    and not _is_kept(source, node)]  # fmt: skip
        pairs = [(node, tensor) for node in readings if isinstance(node, ast.Call) and (tensor := _tensor_read(node))]
        if pairs and not any(node is inner for inner in ast.walk(copy) for node, _ in pairs):
            changes = [*((node, source.text(tensor)) for node, tensor in pairs), (copy, source.text(copy.args[0]))]
            first = pairs[0][0]
            told = {"text": source.text(first), "kind": "reading", "line": first.lineno}
            yield Attempt("keep", rewrite.both(source, changes), told, culprit=source.span(first))


def _is_kept(source: Source, node: ast.AST) -> bool:
    """Whether a value is put into a list."""
    call = source.parent_of(node)
    return isinstance(call, ast.Call) and called(call) == "append"


def _tensor_read(call: ast.Call) -> ast.expr | None:
    """What `x.item()`, `x.tolist()` and `float(x)` read numbers off."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("item", "tolist") and not call.args:
        return call.func.value
    plain = isinstance(call.func, ast.Name) and call.func.id == "float" and len(call.args) == 1
    return call.args[0] if plain else None


def _made_leaves(source: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, Any]]:
    """`self.layer.weight = nn.Parameter(made)`, `self.layer(x)` below: the layer called with what was made itself."""
    stores = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and _leaf_of(one)]
    for owner in dict.fromkeys(source.text(one.targets[0].value) for one in stores):  # type: ignore[attr-defined]
        own = [one for one in stores if source.text(one.targets[0].value) == owner]  # type: ignore[attr-defined]
        calls = [one for one in ast.walk(function) if isinstance(one, ast.Call) and source.text(one.func) == owner]
        if len(calls) != 1 or calls[0].keywords or calls[0].lineno <= own[-1].lineno:
            continue
        made = [f'"{one.targets[0].attr}": {source.text(one.value.args[0])}' for one in own]  # type: ignore[attr-defined]
        given = "".join(f"{source.text(one)}, " for one in calls[0].args).rstrip(" ")
        new = f"torch.func.functional_call({owner}, {{{', '.join(made)}}}, ({given}))"
        groups = [rewrite.replaced(source, calls[0], new), *(rewrite.without(source, one) for one in own)]
        yield own[0].value, "Parameter", with_imports(source, rewrite.together(source, *groups))


def _leaf_of(node: ast.Assign) -> bool:
    """Whether an attribute of a layer is set to a new parameter that is made of a value."""
    made, target = node.value, node.targets[0]
    leaf = isinstance(made, ast.Call) and called(made) == "Parameter" and len(made.args) == 1
    return leaf and isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute)


def _not_copied(source: Source, copy: ast.Call) -> Any:
    """What a new tensor is made of, in its place; of a list of numbers that were read off tensors, these in a stack."""
    inner = copy.args[0]
    bound = bound_above(source.scope_at(copy.lineno), ast.unparse(inner), copy.lineno)
    listed = inner if bound is None else bound.value
    if not isinstance(listed, _LISTS):
        return rewrite.replaced(source, copy, _unread(source.text(inner)))
    text = _unread(source.text(listed))
    if text == source.text(listed):
        return ()
    if listed is inner:
        return rewrite.replaced(source, copy, f"torch.stack({text})")
    return rewrite.both(source, [(listed, text), (copy, f"torch.stack({source.text(inner)})")])


def _unread(text: str) -> str:
    """An expression without what reads numbers off a tensor."""
    text = re.sub(r"\.(detach|cpu|numpy|tolist|item)\(\)", "", text)
    return re.sub(r"\.(max|min)\((?=axis|dim)", r".a\1(", text)


def _hands_on(source: Source, function: ast.FunctionDef) -> bool:
    """Whether a function that records nothing gives back what a part of its object, or a model it is given, makes."""
    given = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    named = function.name in ("forward", "encode", "features", "embed", "extract")
    models = {one.arg for one in function.args.args}
    calls = [source.text(one.func) for one in ast.walk(function) if isinstance(one, ast.Call)]
    own = any(one.startswith("self.") or one in models for one in calls)
    return named or (bool(given) and own and not _evaluates(source, function))


def _evaluates(source: Source, node: ast.AST) -> bool:
    text = source.text(node)
    return any(
        word in text
        for word in ("argmax", ".mean().item()", "accuracy", "correct", "print(", ".add_(", ".mul_(", ".copy_(", "-=")
    )
