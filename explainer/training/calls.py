"""What single calls of torch show while they happen: a loss that is fed what it does not expect, sizes that spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from explainer.training.deep import Call, Deep, Made
from explainer.training.sites import key

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
#: Losses of each value beside its own target.
ELEMENTWISE = (*REGRESSION, "binary_cross_entropy", "binary_cross_entropy_with_logits")
#: Calls that are looked at although they give no tensor.
NOTED = frozenset(("item", "tolist", "numpy", "__float__", "__setitem__"))
#: From how many batches on a size is one of batches that were joined.
_SEVERAL = 4
Look = Callable[[Deep, Call], None]
LOOKS: dict[str, list[Look]] = {}


def looks(*names: str) -> Callable[[Look], Look]:
    """Register what looks at calls of some names."""

    def register(look: Look) -> Look:
        for name in names:
            LOOKS.setdefault(name, []).append(look)
        return look

    return register


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


def saw_pair(deep: Deep, kind: str, call: Call, made: Made, **more: Any) -> None:
    """A fact on a value that one call made and another one, a loss, was given."""
    place = settings(made, deep)
    module = call.made.module if call.made is not None else None
    loss = type(module).__name__ if module is not None and type(module).__name__.endswith("Loss") else call.name
    built = loss_built(deep, call)
    deep.watcher.notes.saw(kind, call.site, made=place, loss=loss, loss_built=built, shape=made.shape, **more)


def loss_built(deep: Deep, call: Call) -> Any:
    """Where the layer was built inside of which a loss was called; None where no layer called it."""
    module = call.made.module if call.made is not None else None
    return deep.watcher.notes.built.get(module) if module is not None else None


@looks("cross_entropy")
def squashed_logits(deep: Deep, call: Call) -> None:
    """A softmax or sigmoid before a loss that has its own."""
    made = reached(deep.made(call.get("input", 0)))
    if made is not None and made.name in ("softmax", "sigmoid") and not deep.evaluation:
        saw_pair(deep, "softmax-before-cross-entropy", call, made)


@looks("binary_cross_entropy_with_logits")
def squashed_twice(deep: Deep, call: Call) -> None:
    """A sigmoid before a loss that has its own."""
    made = reached(deep.made(call.get("input", 0)))
    if made is not None and made.name in ("softmax", "sigmoid") and not deep.evaluation:
        saw_pair(deep, "sigmoid-before-bce-with-logits", call, made)


@looks("logsumexp")
def squashed_choice(deep: Deep, call: Call) -> None:
    """A softmax whose result a distribution is given as logits, of which it takes a softmax again."""
    made = reached(deep.made(call.get("input", 0)))
    if made is not None and made.name == "softmax" and made.tracked and not deep.evaluation:
        deep.watcher.notes.saw("probabilities-as-logits", call.site, made=settings(made, deep), shape=made.shape)


@looks("nll_loss", "kl_div")
def missing_log(deep: Deep, call: Call) -> None:
    """Probabilities or logits where log-probabilities are expected."""
    given = call.get("input", 0)
    made = reached(deep.made(given))
    if made is None or deep.evaluation:
        return
    if made.name == "softmax":
        saw_pair(deep, "log-missing", call, made, given="probabilities")
    elif (
        made.name in ("linear", "addmm", "matmul", "__matmul__", "conv2d")
        and call.name == "nll_loss"
        and given.dim() == 2
    ):
        sums = given.detach().float().logsumexp(1)
        if float(sums.abs().max()) > 0.1:
            saw_pair(deep, "log-missing", call, made, given="logits")
    elif made.name == "log_softmax" and call.name == "nll_loss" and given.dim() >= 2:
        dim = made.argument("dim", 1)
        if isinstance(dim, int) and dim % len(made.shape) != 1 and made.shape == tuple(given.shape):
            saw_pair(deep, "softmax-wrong-dim", call, made, dim=dim, right=1, use="loss")


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


@looks("eq", "__eq__")
def spread_comparison(deep: Deep, call: Call) -> None:
    """A metric that compares predictions [n, 1] with labels [n], each with each."""
    if deep.evaluation is None or len(call.args) != 2:
        return
    one, other = call.args
    if not all(isinstance(each, torch.Tensor) for each in call.args) or {one.dim(), other.dim()} != {1, 2}:
        return
    column, row = (one, other) if one.dim() == 2 else (other, one)
    if column.shape == (row.shape[0], 1) and row.shape[0] > 1:
        made = [deep.made(each) for each in call.args]
        if any(each is not None and each.name in ("unsqueeze", "__getitem__") for each in made):
            return  # each against each, written as such
        deep.watcher.notes.saw(
            "loss-broadcast",
            call.site,
            sizes=(tuple(one.shape), tuple(other.shape)),
            column=0 if column is one else 1,
            name=call.name,
            made=[None if each is None else settings(each, deep) for each in made],
            metric=True,
        )


@looks("mul", "__mul__", "div", "__truediv__", "add", "__add__")
def spread_outputs(deep: Deep, call: Call) -> None:
    """Two things that were computed of a batch, [n] and [n, 1], for each sample: `error * weight`."""
    if len(call.args) == 2 and all(isinstance(one, torch.Tensor) for one in call.args):
        one, other = call.args
        size = len(one) if one.dim() else 0
        learned = one.requires_grad and other.requires_grad and deep.batch in (size, 0)
        several = deep.batch > 1 and size >= _SEVERAL * deep.batch and not size % deep.batch  # batches joined over time
        alike = deep.batch == size > 0 or several
        weighed = one.requires_grad != other.requires_grad and "add" not in call.name and alike
        if learned or (weighed and not (one if one.requires_grad else other).is_leaf):
            _spread(deep, call, one, other, both=True)


def _spread(deep: Deep, call: Call, one: Any, other: Any, both: bool = False) -> None:
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)) or (deep.evaluation and both):
        return
    sizes = tuple(one.shape), tuple(other.shape)
    column, row = (one, other) if one.dim() == 2 else (other, one)
    if {one.dim(), other.dim()} != {1, 2} or column.shape != (row.shape[0], 1) or row.shape[0] < 2:
        return
    made = [deep.made(one), deep.made(other)]
    if deep.evaluation:
        if deep.stack or [_is_output(each) for each in made] not in ([True, False], [False, True]):
            return  # of two outputs, or of none, each may be held against each
    elif not both and (one.requires_grad == other.requires_grad or (one if one.requires_grad else other).is_leaf):
        return  # distances between outputs, or to learned centres
    if (both or call.name in _DIFFERENCES) and any(
        each is not None and each.name in ("unsqueeze", "__getitem__") and _line(each.site) == _line(call.site)
        for each in made
    ):
        return  # each against each, written as such
    at = 0 if column is one else 1
    deep.watcher.notes.saw("loss-broadcast", call.site, sizes=sizes, column=at, name=call.name,
                           made=[None if each is None else settings(each, deep) for each in made],
                           both=both, metric=bool(deep.evaluation), origin=_origin(made[at]))  # fmt: skip


def _origin(made: Made | None) -> Any:
    """Where something was computed that had the shape of a value first."""
    while made is not None and made.inputs and made.inputs[0] is not None and made.inputs[0].shape == made.shape:
        made = made.inputs[0]
    return made.site if made is not None else None


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
    """The best class taken over the samples of a batch, or over all entries at once."""
    given = call.args[0] if call.args else None
    dim = call.get("dim", 1, call.kwargs.get("axis"))
    whole = dim is None and call.name == "argmax" and isinstance(given, torch.Tensor) and len(given) > 1
    if not isinstance(given, torch.Tensor) or given.dim() != 2 or (dim not in (0, -2) and not whole):
        return
    made = deep.made(given)
    if deep.evaluation is None or made is None or call.get("keepdim", 2) or not _is_output(made):
        return
    deep.watcher.notes.saw(
        "argmax-over-batch",
        call.site,
        made=settings(call.made or made, deep),
        shape=tuple(given.shape),
        dim=dim,
        name=call.name,
    )


def _is_output(made: Made | None) -> bool:
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
    if before == after or not (_reordered(before, after) or _joined(before, after, deep.batch)):
        return
    deep.watcher.notes.saw(
        "view-mixes-dimensions",
        call.site,
        before=before,
        after=after,
        name=call.name,
        made=None if call.made is None else settings(call.made, deep),
    )


def _joined(before: tuple[int, ...], after: tuple[int, ...], batch: int) -> bool:
    """Whether the samples, which lie along another dimension, are asked for along the first: [2, b, h] as [b, 2h]."""
    known = batch > 1 and after[:1] == (batch,) and batch in before[1:] and before[0] not in (1, batch)
    return known and len(after) < len(before)


def _reordered(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether sizes were put in another order: the same ones, or with the last one split into two, or two as one."""
    if len(before) == 3 and len(after) == 2 and after[1] == before[1] != before[2] and 1 not in before:
        return True  # [b, c, t] as [b*t, c]
    if len(before) > 3 and len(after) == 2 and after[1] == before[1] > 1 and 1 not in before[2:]:
        return before[-1] != before[1]  # [b, c, h, w] as [b*h*w, c]
    if len(before) == 4 and len(after) == 3 and before[:1] == after[:1] and before[1] != before[2] and 1 not in before:
        return after[1] == before[2] and after[2] == before[1] * before[3]  # [b, h, t, d] as [b, t, h*d]
    if len(before) != len(set(before)) or 1 in before:
        return False
    if sorted(before) == sorted(after):
        return True
    if len(after) == len(before) + 1 and len(set(after)) == len(after) and before[:1] == after[:1] and len(before) == 3:
        return after[2] == before[1] and after[1] * after[3] == before[2]  # [b, t, h*d] as [b, h, t, d]
    return False
