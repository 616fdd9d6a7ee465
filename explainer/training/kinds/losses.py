"""Losses fed with what they do not expect: probabilities for logits, sizes that spread, padding, mixed reductions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.diagnosis import Span
from explainer.source import Source, called, stored
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.rewrite import both, call_in, operand, replaced, with_keyword
from explainer.training.sites import Frame, Site

Place = tuple[Source, ast.Call]
#: Distributions over classes that take probabilities or logits.
_CHOICES = ("Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough", "RelaxedOneHotCategorical")


def made_at(place: dict[str, Any] | None, *names: str) -> Place | None:
    """The call that made a value: where its layer was built, else the call itself."""
    if place is None:
        return None
    if place["built"]:
        return call_in(place["built"][0], place["layer"])
    return call_in(place["at"][0], *names) if place["at"] else None


def shown(found: Place | None, frame: Frame | None, symbol: str | None = None) -> Span | None:
    """The span of a call, or the line of a frame."""
    if found is not None:
        return found[0].span(found[1], symbol or called(found[1]))
    if frame is None:
        return None
    node = frame.node()
    return node.span if node is not None else Span(frame.file, frame.line, code=frame.source().line(frame.line).strip())


def left_out(found: Place | None) -> tuple[Any, ...]:
    """Edits that leave out an activation: its layer becomes the identity, its call its argument."""
    if found is None:
        return ()
    source, call = found
    if called(call)[:1].isupper():
        return _without_layer(source, call)
    inner = call.func.value if isinstance(call.func, ast.Attribute) and not _is_module(call.func.value) else None
    inner = inner if inner is not None else call.args[0] if call.args else None
    return replaced(source, call, source.text(inner)) if inner is not None else ()


def _is_module(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id in ("F", "torch", "nn", "functional", "special")) or (
        isinstance(node, ast.Attribute) and node.attr in ("functional", "special", "nn")
    )


def _without_layer(source: Source, call: ast.Call) -> tuple[Any, ...]:
    for node in source.nodes():
        parts = node.args if isinstance(node, ast.Call) and called(node) == "Sequential" else None
        if parts and parts[-1] is call and len(parts) > 1:
            start, end = source.span(parts[-2]), source.span(call)
            gap = Span(source.file, start.end_line or start.line, start.end_column, end.end_line, end.end_column)
            from explainer.edits.lines import EditError, changed

            try:
                return changed(source, [(gap, "")])
            except EditError:
                return ()
    prefix = source.text(call.func).rpartition(".")[0]
    return replaced(source, call, f"{prefix}.Identity()" if prefix else "nn.Identity()")


@finder
def squashed(watcher: Any) -> Iterator[Finding]:
    """A softmax or sigmoid before a loss that takes logits."""
    for kind in ("softmax-before-cross-entropy", "sigmoid-before-bce-with-logits"):
        for seen, times in watcher.notes.of(kind):
            made = made_at(seen.data["made"], "softmax", "sigmoid", "softmax_")
            loss = loss_call(seen)
            names = {
                "activation": called(made[1]) if made else seen.data["made"]["name"],
                "loss": seen.data["loss"],
                "classes": seen.data["shape"][-1],
                "line": _line(loss, seen.site),
                "times": times,
            }
            attempts = [Attempt("leave-out", edits) for edits in (left_out(made),) if edits]
            attempts += [
                Attempt("other-loss", edits, culprit=shown(loss, None))
                for edits in (_fitting_loss(seen, loss),)
                if edits
            ]
            yield Finding(kind, names, shown(made, _frame(seen.data["made"]["at"])), tuple(attempts), weight=9)


def _frame(site: Site) -> Frame | None:
    return site[0] if site else None


def loss_call(seen: Any) -> Place | None:
    """The call of a loss, or the line that built it."""
    built = seen.data.get("loss_built") or seen.data.get("built")
    if built:
        return call_in(built[0])
    return call_in(seen.site[0]) if seen.site else None


def _line(found: Place | None, site: Site) -> int:
    return found[1].lineno if found is not None else site[0].line if site else 0


def _fitting_loss(seen: Any, loss: Place | None) -> tuple[Any, ...]:
    """The loss that takes what is given: BCE for probabilities."""
    if loss is None:
        return ()
    pairs = {"BCEWithLogitsLoss": "BCELoss", "binary_cross_entropy_with_logits": "binary_cross_entropy"}
    weighed = any(keyword.arg == "pos_weight" for keyword in loss[1].keywords)
    if weighed or seen.data["made"]["name"] != "sigmoid":
        return ()
    return replaced(loss[0], loss[1].func, _paired(loss, pairs)) if _paired(loss, pairs) else ()


def _paired(loss: Place, pairs: Mapping[str, str]) -> str:
    """The function that takes the place of the one that a call calls: `F.nll_loss` -> `F.cross_entropy`; or empty."""
    source, call = loss
    name, text = called(call), source.text(call.func)
    return text[: len(text) - len(name)] + pairs[name] if name in pairs else ""


@finder
def logits_wanted(watcher: Any) -> Iterator[Finding]:
    """Probabilities that a distribution is given as logits."""
    for seen, times in watcher.notes.of("probabilities-as-logits"):
        call = call_in(seen.site[0], *_CHOICES) if seen.site and times > 2 else None
        words = {one.arg: one for one in call[1].keywords} if call is not None else {}
        if call is None or "logits" not in words:
            continue
        source, word = call[0], words["logits"]
        edits = replaced(source, word, f"probs={source.text(word.value)}")
        names = {"text": source.text(word.value), "kind": called(call[1]), "classes": seen.data["shape"][-1]}
        attempts = (Attempt("probs", edits, {"new": f"probs={source.text(word.value)}"}),)
        yield Finding("probabilities-as-logits", names, source.span(call[1]), attempts, weight=8)


@finder
def log_missing(watcher: Any) -> Iterator[Finding]:
    """Probabilities or logits where a loss expects logarithms of probabilities."""
    for seen, _ in watcher.notes.of("log-missing"):
        made, loss = made_at(seen.data["made"], "softmax"), loss_call(seen)
        attempts = []
        if made is not None and seen.data["given"] == "probabilities":
            source, call = made
            text = source.text(call.func)
            new = text.replace("Softmax", "LogSoftmax") if "Softmax" in text else text.replace("softmax", "log_softmax")
            attempts += [Attempt("log", edits) for edits in (replaced(source, call.func, new),) if edits]
        if loss is not None and seen.data["given"] == "logits":
            new = _paired(loss, {"NLLLoss": "CrossEntropyLoss", "nll_loss": "cross_entropy"})
            attempts += [Attempt("cross-entropy", replaced(loss[0], loss[1].func, new))] if new else []
        names = {"given": seen.data["given"], "loss": seen.data["loss"], "name": seen.data["made"]["name"]}
        at = made if seen.data["given"] == "probabilities" else loss
        yield Finding("log-missing", names, shown(at, _frame(seen.site)), tuple(attempts), weight=9)


@finder
def one_class(watcher: Any) -> Iterator[Finding]:
    """A cross entropy of one class, which is zero: a model with one output wants the loss of a yes or no."""
    pairs = {"CrossEntropyLoss": "BCEWithLogitsLoss", "cross_entropy": "binary_cross_entropy_with_logits"}
    for seen, times in watcher.notes.of("one-class"):
        loss, attempts = loss_call(seen), []
        name = called(loss[1]) if loss is not None else ""
        if times < 3:
            continue
        new = _paired(loss, pairs) if loss is not None and seen.data["alike"] else ""
        if loss is not None and new:
            attempts = [Attempt("binary", replaced(loss[0], loss[1].func, new), {"new": new})]
        names = {"loss": name or seen.data["loss"], "shape": list(seen.data["shape"])}
        yield Finding("loss-of-one-class", names, shown(loss, _frame(seen.site)), tuple(attempts), weight=9)


@finder
def broadcast(watcher: Any) -> Iterator[Finding]:
    """A prediction [n, 1] and a target [n], compared each with each."""
    for seen, times in watcher.notes.of("loss-broadcast"):
        sizes, column = seen.data["sizes"], seen.data["column"]
        frame = _frame(seen.site)
        metric = seen.data.get("metric", False)
        sure = not metric and not seen.data.get("both", False)
        if frame is None or times < 2 - metric:
            continue
        node = frame.node()
        operands = _operands(node.node) if node is not None else []
        attempts = []
        text = ""
        if node is not None and len(operands) == 2:
            texts = [node.source.text(one) for one in operands]
            text = texts[column]
            edits = replaced(node.source, operands[column], f"{operand(node.source, operands[column])}.squeeze(-1)")
            attempts.append(Attempt("squeeze", edits, {"text": text}))
        elif (made := seen.data["made"][column]) is not None and made["at"]:
            outer = _caller(made["at"], frame)
            found = call_in(outer) if outer is not None else None
            if found is not None:
                edits = replaced(found[0], found[1], f"{found[0].text(found[1])}.squeeze(-1)")
                attempts.append(Attempt("squeeze", edits, {"text": found[0].text(found[1])}))
        if seen.data.get("both"):
            named = _squeezed_at(node.source, operands[column]) if node is not None and len(operands) == 2 else ()
            attempts = [*named, *_squeezed(seen.data["origin"]), *attempts]
        rows = sizes[0][0]
        names = {
            "one": list(sizes[0]),
            "other": list(sizes[1]),
            "function": _function(seen.data["name"]),
            "rows": rows,
            "pairs": rows * rows,
            "text": text or "the prediction",
            "column": list(sizes[column]),
            "metric": metric,
            "both": seen.data.get("both", False),
        }
        culprit = node.span if node is not None else shown(None, frame)
        yield Finding("loss-broadcast", names, culprit, tuple(attempts), proved=sure, seen=not sure, weight=9)


def _squeezed(site: Site | None) -> Iterator[Attempt]:
    """A column made a row where it is computed."""
    found = call_in(site[0]) if site else None
    if found is not None:
        text = found[0].text(found[1])
        edits = replaced(found[0], found[1], f"{text}.squeeze(-1)")
        if edits:
            yield Attempt("squeeze", edits, {"text": text}, culprit=shown(found, None))


def _squeezed_at(source: Source, column: ast.expr) -> Iterator[Attempt]:
    """A column made a row where its name gets it, so that it is one wherever it is used."""
    given = [one for one in ast.walk(source.scope_at(column.lineno)) if isinstance(one, ast.Assign)
             and isinstance(column, ast.Name) and column.id in stored(one)]  # fmt: skip
    if len(given) == 1 and isinstance(given[0].targets[0], ast.Name):
        value = given[0].value
        text = operand(source, value)
        yield Attempt("squeeze", replaced(source, value, f"{text}.squeeze(-1)"), {"text": text})


def _function(name: str) -> str:
    signs = {"sub": "-", "rsub": "-", "eq": "==", "mul": "*", "div": "/", "truediv": "/", "add": "+"}
    return signs.get(name.strip("_"), name)


def _caller(site: Site, frame: Frame) -> Frame | None:
    """The frame of a site that stands in the same function as another one."""
    return next((one for one in site if one.code is frame.code), None)


def _operands(node: ast.AST) -> list[ast.expr]:
    """The two expressions that a difference or a loss compares."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.Call):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        both_named = [named.get("input"), named.get("target")]
        plain = [*node.args, *(one for one in both_named if one is not None)]
        return plain[:2] if not any(isinstance(one, ast.Starred) for one in plain[:2]) else []
    return []


@finder
def padding(watcher: Any) -> Iterator[Finding]:
    """Targets that are padding and count in the loss."""
    for seen, _ in watcher.notes.of("loss-on-padding"):
        found = call_in(seen.data["built"][0]) if seen.data["built"] else call_in(seen.site[0], seen.data["loss"])
        attempts = []
        text = (seen.data["names"] or [str(seen.data["filler"])])[0]
        if found is not None:
            known = {one.id for one in ast.walk(found[0].tree) if isinstance(one, ast.Name)} if found[0].tree else set()
            text = text if text in known or _imports(found[0], text) else str(seen.data["filler"])
            edits = with_keyword(found[0], found[1], "ignore_index", text)
            attempts.append(Attempt("ignore", edits, {"value": text}))
        names = {"share": seen.data["share"], "filler": seen.data["filler"], "loss": seen.data["loss"], "name": text}
        yield Finding("loss-on-padding", names, shown(found, seen.site[0]), tuple(attempts), weight=8)


def _imports(source: Source, name: str) -> bool:
    return any(isinstance(one, ast.alias) and (one.asname or one.name) == name for one in source.nodes())


@finder
def dimensions(watcher: Any) -> Iterator[Finding]:
    """A softmax over another dimension than the one that is meant."""
    done = set()
    for seen, _ in sorted(watcher.notes.of("softmax-wrong-dim"), key=lambda one: one[0].data["use"] == "one"):
        made = made_at(seen.data["made"], "softmax", "log_softmax", "Softmax", "LogSoftmax")
        culprit = shown(made, _frame(seen.data["made"]["at"]) or seen.site[0])
        place = (culprit.file, culprit.line) if culprit else None
        if place in done:
            continue
        done.add(place)
        attempts = []
        right = seen.data["right"]
        shape = seen.data["shape"]
        tries = [right] if seen.data["use"] != "one" else [-1, right]
        lone = seen.data["use"] == "one"
        if lone and max(shape[1:]) == 1 and made is not None:
            edits = _sigmoid(made)
            attempts.append(Attempt("sigmoid", edits))
        for dim in dict.fromkeys(tries):
            if dim % len(shape) == seen.data["dim"] % len(shape) or made is None:
                continue
            edits = _with_dim(made, dim)
            attempts.append(Attempt("dim", edits, {"dim": dim}))
        names = {
            "dim": seen.data["dim"],
            "right": right,
            "shape": list(shape),
            "use": seen.data["use"],
            "size": shape[seen.data["dim"]],
            "function": seen.data["made"]["name"],
        }
        yield Finding("softmax-wrong-dim", names, culprit, tuple(attempts), proved=not lone, seen=lone, weight=8)


def _sigmoid(found: Place) -> tuple[Any, ...]:
    """A sigmoid in the place of a softmax over a single output."""
    source, call = found
    prefix = source.text(call.func).rpartition(".")[0]
    if called(call)[:1].isupper():
        return replaced(source, call, f"{prefix}.Sigmoid()" if prefix else "nn.Sigmoid()")
    method = isinstance(call.func, ast.Attribute) and not _is_module(call.func.value)
    inner = source.text(call.func.value if method else call.args[0])  # type: ignore[attr-defined]
    return replaced(source, call, f"torch.sigmoid({inner})")


def _with_dim(found: Place, dim: int) -> tuple[Any, ...]:
    source, call = found
    if any(keyword.arg == "dim" for keyword in call.keywords):
        return with_keyword(source, call, "dim", str(dim))
    method = isinstance(call.func, ast.Attribute) and not _is_module(call.func.value)
    place = 0 if method or called(call)[:1].isupper() else 1
    if len(call.args) > place:
        return both(source, [(call.args[place], str(dim))])
    return with_keyword(source, call, "dim", str(dim))
