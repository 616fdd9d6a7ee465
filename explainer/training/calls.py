"""What single calls of torch show while they happen: a loss that is fed what it does not expect, sizes that spread."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from explainer.training.deep import Call, Deep, Made
from explainer.training.sites import key, user_frames

#: Calls that hand values on as they are, in another shape, type or place.
THROUGH = frozenset(
    [
        "squeeze",
        "unsqueeze",
        "view",
        "reshape",
        "flatten",
        "float",
        "double",
        "half",
        "to",
        "contiguous",
        "clone",
        "__getitem__",
        "getitem",
        "transpose",
        "permute",
        "T",
        "mT",
        "type",
        "cpu",
        "cuda",
        "view_as",
        "reshape_as",
        "movedim",
        "swapaxes",
        "clamp",
        "clip",
        "type_as",
        "unflatten",
        "mul",
        "__mul__",
        "div",
    ]
)
_PLAIN = THROUGH - {"mul", "__mul__", "div"}
#: What may stand between attention weights and the values they weigh.
_WEIGHTS = frozenset(("dropout", "to", "float", "type_as", "half", "nan_to_num", "contiguous"))
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
#: Calls that are looked at although they give no tensor.
NOTED = frozenset(("item", "tolist", "numpy"))
Look = Callable[[Deep, Call], None]
LOOKS: dict[str, list[Look]] = {}


def looks(*names: str) -> Callable[[Look], Look]:
    """Register what looks at calls of some names."""

    def register(look: Look) -> Look:
        for name in names:
            LOOKS.setdefault(name, []).append(look)
        return look

    return register


def looked_at(deep: Deep, call: Call) -> None:
    """Let everyone look at a call who wants to."""
    for look in LOOKS.get(call.name, ()):
        look(deep, call)


def reached(made: Made | None, through: frozenset[str] = _PLAIN) -> Made | None:
    """The first call behind a value that did something to it."""
    if made is None:
        return None
    last = [made, *made.behind(through)][-1]
    return last if last.name not in through else None


def settings(made: Made, deep: Deep) -> dict[str, Any]:
    """Where a call's own line is, and where its layer was built where a layer made it."""
    module = made.module
    layer = module is not None and type(module).__module__.startswith("torch.nn.modules")
    built = deep.watcher.notes.built.get(module) if layer else None
    return {"at": made.site, "built": built, "layer": type(module).__name__ if layer else None, "name": made.name}


def _saw_pair(deep: Deep, kind: str, call: Call, made: Made, **more: Any) -> None:
    """A fact on a value that one call made and another one, a loss, was given."""
    place = settings(made, deep)
    module = call.made.module if call.made is not None else None
    loss = type(module).__name__ if module is not None and type(module).__name__.endswith("Loss") else call.name
    loss_built = deep.watcher.notes.built.get(module) if module is not None else None
    deep.watcher.notes.saw(kind, call.site, made=place, loss=loss, loss_built=loss_built, shape=made.shape, **more)


@looks("cross_entropy")
def squashed_logits(deep: Deep, call: Call) -> None:
    """A softmax or sigmoid before a loss that has its own."""
    made = reached(deep.made(call.get("input", 0)))
    if made is not None and made.name in ("softmax", "sigmoid") and not deep.evaluation:
        _saw_pair(deep, "softmax-before-cross-entropy", call, made)


@looks("binary_cross_entropy_with_logits")
def squashed_twice(deep: Deep, call: Call) -> None:
    """A sigmoid before a loss that has its own."""
    made = reached(deep.made(call.get("input", 0)))
    if made is not None and made.name in ("softmax", "sigmoid") and not deep.evaluation:
        _saw_pair(deep, "sigmoid-before-bce-with-logits", call, made)


@looks("nll_loss", "kl_div")
def missing_log(deep: Deep, call: Call) -> None:
    """Probabilities or logits where log-probabilities are expected."""
    given = call.get("input", 0)
    made = reached(deep.made(given))
    if made is None or deep.evaluation:
        return
    if made.name == "softmax":
        _saw_pair(deep, "log-missing", call, made, given="probabilities")
    elif (
        made.name in ("linear", "addmm", "matmul", "__matmul__", "conv2d")
        and call.name == "nll_loss"
        and given.dim() == 2
    ):
        sums = given.detach().float().logsumexp(1)
        if float(sums.abs().max()) > 0.1:
            _saw_pair(deep, "log-missing", call, made, given="logits")
    elif made.name == "log_softmax" and call.name == "nll_loss" and given.dim() >= 2:
        dim = made.argument("dim", 1)
        if isinstance(dim, int) and dim % len(made.shape) != 1 and made.shape == tuple(given.shape):
            _saw_pair(deep, "softmax-wrong-dim", call, made, dim=dim, right=1, use="loss")


@looks(*REGRESSION)
def spread_loss(deep: Deep, call: Call) -> None:
    """Input and target of a loss whose sizes differ, and are stretched to each other."""
    one, other = call.get("input", 0), call.get("target", 1)
    _spread(deep, call, one, other)


@looks(*REGRESSION)
def regressed(deep: Deep, call: Call) -> None:
    """How large the targets of a regression are."""
    target = call.get("target", 1)
    if (
        isinstance(target, torch.Tensor)
        and target.is_floating_point()
        and target.numel() > 3
        and not target.requires_grad
        and not deep.evaluation
    ):
        values = target.detach().double()
        mean, std = float(values.mean()), float(values.std())
        deep.watcher.notes.saw("regression", call.site, mean=mean, std=std, name=call.name)


@looks("sub", "__sub__", "rsub", "__rsub__")
def spread_difference(deep: Deep, call: Call) -> None:
    """A prediction [n, 1] less a target [n]."""
    if len(call.args) == 2 and all(isinstance(one, torch.Tensor) for one in call.args):
        _spread(deep, call, *call.args)


_DIFFERENCES = ("sub", "__sub__", "rsub", "__rsub__")


def _line(site: Any) -> Any:
    return (site[0].file, site[0].line) if site else None


def _spread(deep: Deep, call: Call, one: Any, other: Any) -> None:
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)) or deep.evaluation:
        return
    sizes = tuple(one.shape), tuple(other.shape)
    column, row = (one, other) if one.dim() == 2 else (other, one)
    if {one.dim(), other.dim()} != {1, 2} or column.shape != (row.shape[0], 1) or row.shape[0] < 2:
        return
    if one.requires_grad == other.requires_grad or (one if one.requires_grad else other).is_leaf:
        return  # distances between outputs, or to learned centres
    made = [deep.made(one), deep.made(other)]
    if call.name in _DIFFERENCES and any(
        each is not None and each.name in ("unsqueeze", "__getitem__") and _line(each.site) == _line(call.site)
        for each in made
    ):
        return  # each against each, written as such
    deep.watcher.notes.saw(
        "loss-broadcast",
        call.site,
        sizes=sizes,
        column=0 if column is one else 1,
        name=call.name,
        made=[None if each is None else settings(each, deep) for each in made],
    )


@looks("softmax")
def over_one(deep: Deep, call: Call) -> None:
    """A softmax over a dimension of one entry is 1 whatever it is given."""
    dim = call.get("dim", 1)
    shape = tuple(call.args[0].shape) if call.args else ()
    if call.made is None or not isinstance(dim, int) or not shape or not call.made.tracked or deep.evaluation:
        return
    deep.watcher.notes.times["softmax", key(call.site)] += 1
    if shape[dim] == 1 and dim % len(shape):
        others = [place for place, size in enumerate(shape) if size > 1 and place] or [0]
        deep.watcher.notes.saw(
            "softmax-wrong-dim",
            call.site,
            made=settings(call.made, deep),
            dim=dim,
            right=others[-1],
            shape=shape,
            use="one",
        )


@looks("matmul", "__matmul__", "bmm")
def weights_over(deep: Deep, call: Call) -> None:
    """Attention weights that were normalised over another dimension than the one they are summed over."""
    if len(call.args) < 2 or deep.evaluation:
        return
    made = reached(deep.made(call.args[0]), _WEIGHTS)
    if made is None or made.name != "softmax":
        return
    dim = made.argument("dim", 1)
    if (
        isinstance(dim, int)
        and dim % len(made.shape) != len(made.shape) - 1
        and made.shape == tuple(call.args[0].shape)
    ):
        deep.watcher.notes.saw(
            "softmax-wrong-dim",
            made.site,
            made=settings(made, deep),
            dim=dim,
            right=-1,
            shape=made.shape,
            use="values",
            used=call.site,
        )


@looks("einsum")
def weights_in_einsum(deep: Deep, call: Call) -> None:
    """The same in a sum that is written with letters."""
    equation = call.args[0] if call.args and isinstance(call.args[0], str) else ""
    left, arrow, out = equation.replace(" ", "").partition("->")
    operands = left.split(",")
    given = call.args[1:] if len(call.args) == 3 else call.args[1] if len(call.args) == 2 else ()
    if not arrow or len(operands) != 2 or len(given) != 2 or "." in equation or deep.evaluation:
        return
    for letters, tensor in zip(operands, given, strict=True):
        made = reached(deep.made(tensor), _WEIGHTS)
        if made is None or made.name != "softmax" or made.shape != tuple(tensor.shape):
            continue
        dim = made.argument("dim", 1)
        summed = [place for place, letter in enumerate(letters) if letter not in out]
        if isinstance(dim, int) and len(summed) == 1 and dim % len(letters) != summed[0]:
            deep.watcher.notes.saw(
                "softmax-wrong-dim",
                made.site,
                made=settings(made, deep),
                dim=dim,
                right=summed[0],
                shape=made.shape,
                use="values",
                used=call.site,
            )


@looks("argmax", "max")
def over_the_batch(deep: Deep, call: Call) -> None:
    """The best class taken over the samples of a batch."""
    given = call.args[0] if call.args else None
    dim = call.get("dim", 1)
    if not isinstance(given, torch.Tensor) or given.dim() != 2 or dim not in (0, -2) or not isinstance(dim, int):
        return
    made = deep.made(given)
    if deep.evaluation is None or made is None or call.get("keepdim", 2) or not _is_output(deep, made):
        return
    deep.watcher.notes.saw(
        "argmax-over-batch",
        call.site,
        made=settings(call.made or made, deep),
        shape=tuple(given.shape),
        dim=dim,
        name=call.name,
    )


def _is_output(deep: Deep, made: Made) -> bool:
    """Whether a value came out of a layer."""
    found = reached(made)
    return found is not None and found.name in ("linear", "softmax", "log_softmax", "addmm", "matmul", "sigmoid")


@looks("view", "reshape")
def swapped_by_view(deep: Deep, call: Call) -> None:
    """A view that asks for sizes in another order than the values lie in."""
    given, out = call.args[0], call.out
    if not isinstance(out, torch.Tensor) or given.dim() < 3:
        return
    before, after = tuple(given.shape), tuple(out.shape)
    if before == after or not _reordered(before, after):
        return
    deep.watcher.notes.saw(
        "view-mixes-dimensions",
        call.site,
        before=before,
        after=after,
        name=call.name,
        made=None if call.made is None else settings(call.made, deep),
    )


def _reordered(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether sizes were put in another order: the same ones, or with the last one split into two."""
    if len(before) != len(set(before)) or 1 in before:
        return False
    if sorted(before) == sorted(after):
        return True
    if len(after) == len(before) + 1 and len(set(after)) == len(after) and before[:1] == after[:1] and len(before) == 3:
        return after[2] == before[1] and after[1] * after[3] == before[2]  # [b, t, h*d] as [b, h, t, d]
    return False


# -- sequences: padding and masks -----------------------------------------------------------------------------------


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
    if deep.evaluation or call.get("weight", 2) is not None or call.get("reduction", 6, "mean") != "mean":
        return
    if not isinstance(target, torch.Tensor) or target.is_floating_point():
        return
    ignored = call.get("ignore_index", 4, -100)
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
        made = call.made.module if call.made is not None else None
        built = deep.watcher.notes.built.get(made) if made is not None else None
        deep.watcher.notes.saw(
            "loss-on-padding",
            call.site,
            filler=filler,
            share=round(100 * share),
            built=built,
            loss=call.name,
            names=_constants(filler),
        )
        return


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


@looks("multi_head_attention_forward")
def inverted_padding_mask(deep: Deep, call: Call) -> None:
    """A mask that hides the tokens and shows the padding."""
    mask = call.kwargs.get("key_padding_mask")
    if isinstance(mask, torch.Tensor):
        hidden = mask if mask.dtype == torch.bool else mask == float("-inf")
        found = _masked_tokens(deep, hidden)
        if found is not None:
            made = deep.made(mask) or None
            while made is not None and made.name in (*THROUGH, "zeros_like", "masked_fill", "_canonical_mask"):
                made = made.inputs[0] if made.inputs else None
            deep.watcher.notes.saw(
                "padding-mask-inverted",
                call.site,
                made=settings(made, deep) if made else None,
                padding=found[1],
                argument="key_padding_mask",
            )
    _seen_future(deep, call, call.kwargs.get("attn_mask"), call.kwargs.get("is_causal"), inverted=True)


@looks("masked_fill", "masked_fill_")
def inverted_fill(deep: Deep, call: Call) -> None:
    """The same, where scores are filled with minus infinity by hand."""
    mask, value = call.get("mask", 1), call.get("value", 2)
    if not isinstance(mask, torch.Tensor) or not isinstance(value, (int, float)) or value > -1e3:
        return
    flat = mask.squeeze()
    if flat.dim() == 3 and bool((flat == flat[:, :1]).all()):
        flat = flat[:, 0]
    if flat.dim() == 2 and flat.dtype == torch.bool and (found := _masked_tokens(deep, flat)) is not None:
        made = deep.made(mask)
        while made is not None and made.name in THROUGH:
            made = made.inputs[0] if made.inputs else None
        deep.watcher.notes.saw(
            "padding-mask-inverted",
            call.site,
            made=settings(made, deep) if made else None,
            padding=found[1],
            argument="masked_fill",
        )


@looks("scaled_dot_product_attention")
def fused_attention(deep: Deep, call: Call) -> None:
    """Masks of torch's own attention: True keeps."""
    mask = call.get("attn_mask", 3)
    if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool:
        flat = mask.squeeze()
        if flat.dim() == 3 and bool((flat == flat[:, :1]).all()):
            flat = flat[:, 0]
        if flat.dim() == 2 and (found := _masked_tokens(deep, ~flat)) is not None:
            made = deep.made(mask)
            while made is not None and made.name in THROUGH:
                made = made.inputs[0] if made.inputs else None
            deep.watcher.notes.saw(
                "padding-mask-inverted",
                call.site,
                made=settings(made, deep) if made else None,
                padding=found[1],
                argument="attn_mask",
            )
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
        kept = (mask == 0) if mask.dtype != torch.bool else ~mask if inverted else mask
        if not bool((kept & future).any()):
            return
        past = bool((kept & future.T).any())
        made = deep.made(mask)
        while made is not None and made.name in THROUGH:
            made = made.inputs[0] if made.inputs else None
        place = settings(made, deep) if made else None
        deep.watcher.future.append(
            (
                call.site,
                {
                    "length": length,
                    "masked": True,
                    "past": past,
                    "made": place,
                    "name": call.name,
                    "module": _owner(deep),
                },
                deep.made(keys),
            )
        )
        return
    deep.watcher.future.append(
        (
            call.site,
            {"length": length, "masked": False, "past": True, "made": None, "name": call.name, "module": _owner(deep)},
            deep.made(keys),
        )
    )


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
        deep.watcher.future.append(
            (
                call.site,
                {
                    "length": out.shape[-1],
                    "masked": False,
                    "past": past,
                    "made": settings(call.made, deep),
                    "name": "softmax",
                    "module": None,
                },
                _keys_behind_softmax(call.made),
            )
        )


@looks("cross_entropy", "nll_loss")
def future_is_target(deep: Deep, call: Call) -> None:
    """Positions that see the very token they are to predict."""
    target = call.get("target", 1)
    if not deep.watcher.future or not isinstance(target, torch.Tensor) or target.is_floating_point():
        return
    for tokens, _ in deep.watcher.tokens:
        if tokens.numel() != target.numel() or tokens.shape[1] < 3:
            continue
        following = target.reshape(tokens.shape)[:, :-1] == tokens[:, 1:]
        if bool(following.all()) and not bool((tokens[:, 1:] == tokens[:, :-1]).all()):
            for site, data, keys in deep.watcher.future:
                if data["length"] == tokens.shape[1] and _of_tokens(deep, keys, tokens):
                    deep.watcher.notes.saw("future-seen", site, loss=call.site, **data)


def _of_tokens(deep: Deep, keys: Made | None, tokens: Any) -> bool:
    """Whether attention's keys come from these tokens, and not from another sequence alone."""
    embedded = deep.watcher.embedded
    return keys is not None and any(embedded.get(id(one), (None, 0))[1] == id(tokens) for one in keys.all_behind())
