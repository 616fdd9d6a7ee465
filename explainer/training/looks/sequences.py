"""What single calls of torch show of sequences: padding that counts, masks upside down, a future that is seen."""

from __future__ import annotations

import sys
from typing import Any

import torch

from explainer.training.calls import THROUGH, looks, loss_built, settings
from explainer.training.deep import Call, Deep, Made
from explainer.training.sites import user_frames

_CANONICAL = frozenset(("zeros_like", "masked_fill", "_canonical_mask"))
_TURNS = frozenset(("__invert__", "bitwise_not", "logical_not", "eq", "__eq__", "ne", "bool", "masked_fill", "type"))


def _keys_behind_softmax(made: Made | None) -> Made | None:
    """The keys of scores that were multiplied out by hand."""
    for one in made.all_behind(40) if made is not None else ():
        if one.name in ("matmul", "__matmul__", "bmm", "baddbmm", "einsum") and len(one.inputs) >= 2:
            return one.inputs[1]
    return None


@looks("embedding")
def tokens_seen(deep: Deep, call: Call) -> None:
    """Remember the tokens of this iteration with the index of padding."""
    if call.made is not None and isinstance(call.get("input", 0), torch.Tensor):
        deep.watcher.embedded[id(call.made)] = (call.made, id(call.get("input", 0)))
    tokens = call.get("input", 0)
    if isinstance(tokens, torch.Tensor) and tokens.dim() == 2:
        padding = call.get("padding_idx", 2)
        held = deep.watcher.tokens
        held.append((tokens, padding if isinstance(padding, int) and padding >= 0 else None))
        del held[:-4]


def padding_of(tokens: Any, known: int | None) -> int | None:
    """The index that fills up the ends of rows of different lengths; None where there is none."""
    last = tokens[:, -1]
    for one in [known] if known is not None else last.unique().tolist()[:20]:
        is_one = tokens == one
        counts = is_one.sum(1)
        begins = tokens.shape[1] - counts
        ends = (torch.arange(tokens.shape[1], device=tokens.device)[None] >= begins[:, None]) == is_one
        if bool(ends.all()) and bool(counts.any()) and len(counts.unique()) > 2:
            return int(one)
    return None


@looks("cross_entropy", "nll_loss")
def padding_counts(deep: Deep, call: Call) -> None:
    """Targets that are padding and count in the loss."""
    target = call.get("target", 1)
    if deep.evaluation or not isinstance(target, torch.Tensor) or target.is_floating_point():
        return
    ignored = call.get("ignore_index", 4, -100)
    _look_for_ignored(deep, call, target, ignored)
    if call.get("weight", 2) is not None or call.get("reduction", 6, "mean") != "mean":
        return
    for tokens, known in deep.watcher.tokens:
        if tokens.numel() != target.numel():
            continue
        padding, flat = padding_of(tokens, known), target.reshape(tokens.shape)
        if padding is None:
            continue
        at_padding = flat[tokens == padding].unique()
        if len(at_padding) != 1 or int(at_padding[0]) == ignored:
            continue
        filler = int(at_padding[0])
        share = float((tokens == padding).float().mean())
        if bool((flat[tokens != padding] == filler).any()) or share < 0.05:
            continue
        deep.watcher.notes.saw(
            "loss-on-padding",
            call.site,
            filler=filler,
            share=round(100 * share),
            built=loss_built(deep, call),
            loss=call.name,
            names=_constants(filler),
        )
        return


def _look_for_ignored(deep: Deep, call: Call, target: Any, ignored: int) -> None:
    """Note a class that the loss leaves out, where no token of the inputs is padding with its number."""
    if ignored < 0:
        return
    padded = any(padding_of(tokens, known) == ignored or known == ignored for tokens, known in deep.watcher.tokens)
    scores = call.get("input", 0)
    classes = scores.shape[-1 if scores.dim() < 2 else 1] if isinstance(scores, torch.Tensor) and scores.dim() else 0
    share = float((target == ignored).float().mean()) if ignored < classes and not padded else 0.0
    if share > 0.02:
        deep.watcher.notes.saw("class-ignored", call.site, value=ignored, share=round(100 * share),
                               built=loss_built(deep, call), loss=call.name)  # fmt: skip


def _constants(value: int) -> list[str]:
    """Names of the user's frames' globals that hold a number and speak of padding."""
    for frame in user_frames(sys._getframe(2)):
        names = [name for name, one in list(frame.f_globals.items()) if type(one) is int and one == value]
        return [name for name in names if "pad" in name.lower()]
    return []


def _masked_tokens(deep: Deep, masked: Any) -> tuple[Any, int] | None:
    """The tokens whose real ones a mask takes away, and leaves only the padding."""
    for tokens, known in deep.watcher.tokens:
        if tuple(tokens.shape) != tuple(masked.shape):
            continue
        padding = padding_of(tokens, known)
        if padding is not None and bool(((tokens != padding) == masked).all()):
            return tokens, padding
    return None


def _flat(mask: Any) -> Any:
    """A mask [rows, keys] of one that may be repeated over heads and queries."""
    flat = mask.squeeze()
    return flat[:, 0] if flat.dim() == 3 and bool((flat == flat[:, :1]).all()) else flat


def _source_of(deep: Deep, mask: Any, through: frozenset[str] = THROUGH) -> dict[str, Any] | None:
    """The place of the call that made a mask, behind those that only hand it on."""
    made = deep.made(mask)
    while made is not None and made.name in through:
        made = made.inputs[0] if made.inputs else None
    return settings(made, deep) if made else None


def _look_for_inverted(
    deep: Deep, call: Call, mask: Any, hidden: Any, argument: str, through: frozenset[str] = THROUGH
) -> None:
    """Note a mask that hides the tokens and shows the padding; `hidden` is True where it takes keys away."""
    found = _masked_tokens(deep, hidden) if hidden.dim() == 2 else None
    if found is not None:
        made = _source_of(deep, mask, through)
        deep.watcher.notes.saw("padding-mask-inverted", call.site, made=made, padding=found[1], argument=argument)


@looks("multi_head_attention_forward")
def inverted_padding_mask(deep: Deep, call: Call) -> None:
    """A mask that hides the tokens and shows the padding."""
    mask = call.kwargs.get("key_padding_mask")
    if isinstance(mask, torch.Tensor):
        hidden = mask if mask.dtype == torch.bool else mask == float("-inf")
        _look_for_inverted(deep, call, mask, hidden, "key_padding_mask", THROUGH | _CANONICAL)
    _seen_future(deep, call, call.kwargs.get("attn_mask"), call.kwargs.get("is_causal"), inverted=True)


@looks("masked_fill", "masked_fill_")
def inverted_fill(deep: Deep, call: Call) -> None:
    """The same, where scores are filled with minus infinity by hand."""
    mask, value = call.get("mask", 1), call.get("value", 2)
    if not isinstance(mask, torch.Tensor) or not isinstance(value, (int, float)) or value > -1e3:
        return
    flat = _flat(mask)
    if flat.dtype == torch.bool:
        _look_for_inverted(deep, call, mask, flat, "masked_fill")


@looks("scaled_dot_product_attention")
def fused_attention(deep: Deep, call: Call) -> None:
    """Masks of torch's own attention: True keeps."""
    mask = call.get("attn_mask", 3)
    if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool:
        _look_for_inverted(deep, call, mask, ~_flat(mask), "attn_mask")
    _seen_future(deep, call, mask, call.get("is_causal", 5), inverted=False)


def _seen_future(deep: Deep, call: Call, mask: Any, causal: Any, inverted: bool) -> None:
    """Note whether positions attend to later ones: told only where those are what they are to predict."""
    if causal or deep.evaluation:
        return
    query, keys = call.args[0], call.args[1]
    length = query.shape[0] if call.name == "multi_head_attention_forward" else query.shape[-2]
    other = keys.shape[0] if call.name == "multi_head_attention_forward" else keys.shape[-2]
    if length != other or length < 3:
        return
    future = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
    if isinstance(mask, torch.Tensor):
        if mask.dim() != 2 or mask.shape != future.shape:
            return
        added = mask.is_floating_point() and bool(((mask == 0) | (mask == 1)).all() and mask.any())
        kept = (mask == 0) if mask.dtype != torch.bool else ~mask if inverted else mask
        kept = torch.ones_like(future) if added else kept  # what is added to the scores hides nothing unless it is low
        if not bool((kept & future).any()):
            return
        sees = kept.diagonal(1).tolist()
        past = bool((kept & future.T).any())
        place = _source_of(deep, mask)
        deep.watcher.future.append(
            (
                call.site,
                {
                    "length": length,
                    "masked": True,
                    "added": added,
                    "as_it_is": bool((mask.bool() & future).any()) == inverted,
                    "past": past,
                    "made": place,
                    "name": call.name,
                    "module": _owner(deep),
                    "sees": sees,
                },
                deep.made(keys),
            )
        )
        return
    data = {"length": length, "masked": False, "past": True, "made": None, "name": call.name, "module": _owner(deep)}
    deep.watcher.future.append((call.site, {**data, "sees": [True] * (length - 1)}, deep.made(keys)))


def _owner(deep: Deep) -> str | None:
    module = deep.stack[-1] if deep.stack else None
    return type(module).__name__ if module is not None else None


@looks("softmax")
def future_by_hand(deep: Deep, call: Call) -> None:
    """Scores [.., t, t] whose softmax leaves weight on later positions."""
    out = call.out
    if not isinstance(out, torch.Tensor) or out.dim() < 3 or out.shape[-1] != out.shape[-2] or out.shape[-1] < 3:
        return
    if deep.evaluation or not call.made or not call.made.tracked:
        return
    upper = out.detach().triu(1)
    if bool(upper.any()):
        past = bool(out.detach().tril(-1).any())
        triangle = _triangle_behind(call.made)
        data = {
            "length": out.shape[-1],
            "masked": triangle is not None,
            "past": past,
            "made": settings(triangle or call.made, deep),
            "name": "softmax",
            "module": None,
            "sees": (upper.diagonal(1, -2, -1) > 0).flatten(0, -2).any(0).tolist(),
        }
        deep.watcher.future.append((call.site, data, _keys_behind_softmax(call.made)))


def _triangle_behind(made: Made) -> Made | None:
    """The triangle that scores were masked with, which leaves some of the future."""
    for one in made.behind(THROUGH | {"softmax", "add", "__add__", "masked_fill", "masked_fill_", "where"}):
        for given in one.inputs if one.name in ("masked_fill", "masked_fill_", "where", "add", "__add__") else ():
            for each in given.behind(THROUGH | _TURNS) if given is not None else ():
                if each.name in ("tril", "triu", "tril_", "triu_"):
                    return each
    return None


@looks("cross_entropy", "nll_loss")
def future_is_target(deep: Deep, call: Call) -> None:
    """Positions that see the very token they are to predict."""
    target = call.get("target", 1)
    if not deep.watcher.future or not isinstance(target, torch.Tensor) or target.is_floating_point():
        return
    for tokens, _ in deep.watcher.tokens:
        rows = _predicting(tokens, target)
        if not rows or bool((tokens[:, 1:] == tokens[:, :-1]).all()):
            continue
        for site, data, keys in deep.watcher.future:
            sees = data["sees"]
            if data["length"] == tokens.shape[1] and all(sees[row] for row in rows) and _of_tokens(deep, keys, tokens):
                deep.watcher.notes.saw("future-seen", site, loss=call.site, **data)


def _predicting(tokens: Any, target: Any) -> range:
    """The positions whose targets are the tokens that follow them: all, or the last or the first ones alone."""
    count, length = tokens.shape
    wide = target.numel() // max(count, 1)
    if length < 3 or wide * count != target.numel() or not 3 <= wide <= length:
        return range(0)
    flat, first = target.reshape(count, wide), length - wide
    if bool((flat[:, :-1] == tokens[:, first + 1 :]).all()):
        return range(first, length - 1)
    return range(wide) if first and bool((flat == tokens[:, 1 : wide + 1]).all()) else range(0)


def _of_tokens(deep: Deep, keys: Made | None, tokens: Any) -> bool:
    """Whether attention's keys come from these tokens, and not from another sequence alone."""
    embedded = deep.watcher.embedded
    return keys is not None and any(embedded.get(id(one), (None, 0))[1] == id(tokens) for one in keys.all_behind())
