"""Masks: upside down, missing where the future is what is to be predicted, or without effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import Place, shown
from explainer.training.sites import Site

_TURNED = {ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">"}


def turned(source: Source, node: ast.AST) -> Any:
    """The edits that turn a mask round: its comparison, or a `~` before it."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
        new = f"{source.text(node.left)} {_TURNED[type(node.ops[0])]} {source.text(node.comparators[0])}"
        return rewrite.replaced(source, node, new)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return rewrite.replaced(source, node, source.text(node.operand))
    text = source.text(node)
    plain = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return rewrite.replaced(source, node, f"~{text}" if plain else f"~({text})")


def expression(site: Site) -> tuple[Source, ast.AST] | None:
    """The expression at which a site stood."""
    found = site[0].node() if site else None
    return (found.source, found.node) if found is not None else None


def _argument(site: Site, name: str) -> tuple[Source, ast.AST] | None:
    """What the user's call hands on under the name of a mask."""
    names = (
        name,
        "mask",
        "src_key_padding_mask",
        "tgt_key_padding_mask",
        "memory_key_padding_mask",
        "attn_mask",
        "src_mask",
        "tgt_mask",
    )
    for frame in site:
        found = frame.node()
        if found is None or not isinstance(found.node, ast.Call):
            continue
        for keyword in found.node.keywords:
            if keyword.arg in names:
                return found.source, keyword.value
        if called(found.node) in ("masked_fill", "masked_fill_") and found.node.args:
            return found.source, found.node.args[0]
    return None


@finder
def hidden_tokens(watcher: Any) -> Iterator[Finding]:
    """A padding mask that hides the tokens and shows the padding."""
    done = set()
    for seen, _ in sorted(
        watcher.notes.of("padding-mask-inverted"), key=lambda one: one[0].data["argument"] == "masked_fill"
    ):
        made = seen.data["made"]
        at = expression(made["at"]) if made else None
        handed = _argument(seen.site, seen.data["argument"])
        place = at or handed
        if place is None or (place[0].file, getattr(place[1], "lineno", 0)) in done:
            continue
        done.add((place[0].file, getattr(place[1], "lineno", 0)))
        attempts = [
            Attempt("turn", edits) for edits in (turned(*one) for one in (at, handed) if one is not None) if edits
        ][:2]
        names = {
            "argument": _given_as(seen.site, seen.data["argument"]),
            "padding": seen.data["padding"],
            "text": place[0].text(place[1]),
        }
        yield Finding("padding-mask-inverted", names, place[0].span(place[1]), tuple(attempts), weight=9)


def _given_as(site: Site, name: str) -> str:
    for frame in site:
        found = frame.node()
        if found is not None and isinstance(found.node, ast.Call):
            for keyword in found.node.keywords:
                if keyword.arg and "mask" in keyword.arg:
                    return keyword.arg
    return name


@finder
def future(watcher: Any) -> Iterator[Finding]:
    """Positions that attend to the token they are to predict."""
    done, vain = set(), bool(watcher.notes.of("mask-without-effect"))
    for seen, times in watcher.notes.of("future-seen"):
        if times < 2 or not seen.site or vain:
            continue  # the mask is there, and its fill hides nothing: that is told by itself
        data = seen.data
        frame = seen.site[0]
        if (frame.file, frame.line) in done:
            continue
        done.add((frame.file, frame.line))
        found = rewrite.call_in(frame)
        made = expression(data["made"]["at"]) if data["masked"] and data["made"] else None
        attempts = _masked(found, data) if not data["masked"] else _corrected(made, data)
        names = {
            "length": data["length"],
            "masked": data["masked"],
            "added": data.get("added", False),
            "past": data["past"],
            "name": data["name"],
            "loss_line": data["loss"][0].line,
            "text": made[0].text(made[1]) if made else "",
        }
        culprit = made[0].span(made[1]) if made else shown(found, frame)
        yield Finding("causal-mask-missing", names, culprit, tuple(attempts), weight=8)


def _masked(found: Place | None, data: dict[str, Any]) -> list[Attempt]:
    """The mask that is missing, put into the call."""
    if found is None:
        return []
    source, call = found
    name = data["name"]
    if name == "scaled_dot_product_attention" and called(call) == name:
        return [Attempt("mask", rewrite.with_keyword(source, call, "is_causal", "True"))]
    if name == "softmax" and called(call) == "softmax":
        method = isinstance(call.func, ast.Attribute) and not (
            isinstance(call.func.value, ast.Name) and call.func.value.id in ("F", "torch")
        )
        node = call.func.value if method else call.args[0] if call.args else None  # type: ignore[attr-defined]
        if node is None:
            return []
        text = source.text(node)
        inner = text if isinstance(node, (ast.Name, ast.Attribute)) else f"({text})"
        sizes = f"{data['length']}, {data['length']}"
        new = f'{inner}.masked_fill(torch.ones({sizes}, dtype=torch.bool).triu(1), float("-inf"))'
        if isinstance(node, (ast.Name, ast.Attribute)):
            new = f'{inner}.masked_fill(torch.ones_like({inner}, dtype=torch.bool).triu(1), float("-inf"))'
        return [Attempt("mask", rewrite.replaced(source, node, new))]
    if name == "multi_head_attention_forward":
        arguments = {
            "TransformerEncoder": "mask",
            "TransformerEncoderLayer": "src_mask",
            "TransformerDecoderLayer": "tgt_mask",
            "TransformerDecoder": "tgt_mask",
        }
        first = source.text(call.args[0]) if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute)) else None
        kinds = [data["module"], "TransformerEncoder"]
        size = f"{first}.size(1)" if first else str(data["length"])
        mask = f"torch.ones({size}, {size}, dtype=torch.bool).triu(1)"
        outer = [arguments[kind] for kind in kinds if kind in arguments]
        keywords = ["attn_mask"] if len(call.args) >= 3 else [*outer[:1], "mask", "src_mask"]
        return [
            Attempt("mask", rewrite.with_keyword(source, call, keyword, mask)) for keyword in dict.fromkeys(keywords)
        ]
    return []


def _corrected(made: tuple[Source, ast.AST] | None, data: dict[str, Any]) -> list[Attempt]:
    """A mask of a triangle that is the wrong one."""
    if made is None:
        return []
    source, node = made
    if data.get("added"):
        text = rewrite.operand(source, node)  # type: ignore[arg-type]
        new = f"{text}.bool()" if data["as_it_is"] else f"({text} == 0)"
        return [Attempt("bool", rewrite.replaced(source, node, new))]
    attempts = [Attempt("turn", turned(source, node))]
    if isinstance(node, ast.Call) and called(node) in ("triu", "tril"):
        text = source.text(node)
        swap = {"triu": "tril", "tril": "triu"}[called(node)]
        attempts.insert(
            0, Attempt("turn", rewrite.replaced(source, node.func, source.text(node.func).replace(called(node), swap)))
        )
        attempts.append(Attempt("turn", rewrite.replaced(source, node, f"({text} == 0)")))
        if data["past"]:
            attempts = [*_without_diagonal(source, node), *attempts]
    return attempts


def _without_diagonal(source: Source, call: ast.Call) -> list[Attempt]:
    """A triangle that begins at another diagonal: the one that keeps a position and its past, or hides its future."""
    right = "0" if called(call).startswith("tril") else "1"
    names = {"value": right, "triangle": called(call)}
    for keyword in call.keywords:
        if keyword.arg == "diagonal":
            edits = rewrite.replaced(source, keyword.value, right)
            return [Attempt("diagonal", edits, names)]
    method = not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)) or (
        call.func.value.id != "torch"  # type: ignore[attr-defined]
    )
    place = 0 if method else 1
    if len(call.args) > place:
        return [Attempt("diagonal", rewrite.replaced(source, call.args[place], right), names)]
    return [Attempt("diagonal", rewrite.with_keyword(source, call, "diagonal", right), names)]


@finder
def hidden_in_vain(watcher: Any) -> Iterator[Finding]:
    """A fill of hidden places that softmax gives a weight all the same."""
    for seen, times in watcher.notes.of("mask-without-effect"):
        found = rewrite.call_in(seen.site[0], "masked_fill", "masked_fill_") if seen.site and times > 2 else None
        value = rewrite.argument(found[1], "value", len(found[1].args) - 1) if found is not None else None
        written = rewrite.literal_of(found[0], value, seen.site) if found is not None and value is not None else None
        if found is None or written is None:
            continue
        names = {"text": found[0].text(found[1]), "value": f"{seen.data['value']:g}", "share": seen.data["share"]}
        attempts = (Attempt("low", rewrite.replaced(*written, "-1e9"), culprit=written[0].span(written[1])),)
        yield Finding(
            "mask-without-effect", names, found[0].span(found[1]), attempts, proved=False, seen=True, weight=8
        )


@finder
def zero_chosen(watcher: Any) -> Iterator[Finding]:
    """A minimum over a product with a mask: the zeros of hidden places are less than all that is shown."""
    for seen, times in watcher.notes.of("zero-chosen"):
        found = expression(seen.site) if times > 2 else None
        pair = _factors(*found) if found is not None else None
        if found is None or pair is None:
            continue
        source, product = found
        value, mask = pair if seen.data["place"] == 0 else pair[::-1]
        hidden = f"~{rewrite.operand(source, mask)}" if seen.data["bool"] else f"{rewrite.operand(source, mask)} == 0"
        end = 'float("inf")' if seen.data["least"] else 'float("-inf")'
        new = f"{rewrite.operand(source, value)}.masked_fill({hidden}, {end})"
        names = {**seen.data, "text": source.text(product), "mask": source.text(mask), "new": new}
        attempts = (Attempt("fill", rewrite.replaced(source, product, new), names),)
        yield Finding("zero-of-mask-chosen", names, source.span(product), attempts, proved=False, seen=True, weight=8)


def _factors(source: Source, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two that a product is made of: `a * b`, `torch.mul(a, b)`, `a.mul(b)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left, node.right
    given = with_owner(source, node) if isinstance(node, ast.Call) and called(node) in ("mul", "multiply") else []
    return (given[0], given[1]) if len(given) == 2 else None


def with_owner(source: Source, call: ast.Call) -> list[ast.expr]:
    """The arguments of a function of torch's; of a method with the object before them."""
    method = isinstance(call.func, ast.Attribute) and source.text(call.func.value) != "torch"
    return [call.func.value, *call.args] if method else list(call.args)  # type: ignore[attr-defined]
