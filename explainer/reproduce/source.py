"""The source of a synthetic value: `torch.randn(4, 576)` from a recipe, as plain as the wanted detail allows."""

from __future__ import annotations

from explainer.frozen import frozen
from explainer.reproduce.recipe import Items, Plain, Recipe, Tensor

_INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
_RANDOM = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")


@frozen
class Detail:
    """How much of the metadata a script carries, so that only what matters for the error is shown.

    `integers`: zeros, high or low (the range's ends); `floats`: randn, zeros, ones or nan; `strides`, `grad`: whether
    tensors have theirs; `meta`: no memory behind the tensors; `autocast`: the call runs under it.
    """

    integers: str = "zeros"
    floats: str = "randn"
    strides: bool = False
    grad: bool = False
    meta: bool = False
    autocast: bool = False


#: From the plainest on: the first one under which the script raises the error is shown.
LADDER = (
    Detail(), Detail(integers="high"), Detail(integers="low"), Detail(grad=True), Detail(strides=True),
    Detail("high", strides=True, grad=True), Detail(floats="zeros"), Detail(floats="nan"), Detail(floats="ones"),
    Detail("high", "zeros", grad=True), Detail(autocast=True),
)  # fmt: skip
#: What is tried where the operands would take more memory than a trial may.
WITHOUT_MEMORY = (Detail(meta=True), Detail(meta=True, strides=True, grad=True))


def source_of(recipe: Recipe, detail: Detail) -> str:
    """The expression that makes a value like the recipe's."""
    if isinstance(recipe, Tensor):
        return _tensor(recipe, detail)
    if isinstance(recipe, Items):
        return _items(recipe, detail)
    return recipe.source


def _tensor(one: Tensor, detail: Detail) -> str:
    options = _options(one, detail)
    if one.stride is not None and detail.strides:
        return _strided(one, options)
    made = _filled(one, detail, options)
    if one.layout != "strided":
        made = f"{made}.to_sparse()" if one.layout == "sparse_coo" else f"{made}.to_{one.layout}()"
    if one.parameter and detail.grad:
        return f"torch.nn.Parameter({made}{'' if one.grad else ', requires_grad=False'})"
    return f"{made}.clone()" if one.grad and detail.grad and not one.leaf else made


def _options(one: Tensor, detail: Detail) -> str:
    """The keyword arguments of a factory."""
    words = []
    if one.dtype not in ("float32", "bool") or (one.dtype == "bool"):
        words.append(f"dtype=torch.{one.dtype}")
    device = "meta" if detail.meta else one.device
    if device != "cpu":
        words.append(f'device="{device.removesuffix(":0")}"')
    if one.grad and detail.grad and not one.parameter:
        words.append("requires_grad=True")
    return "".join(f", {word}" for word in words)


def _filled(one: Tensor, detail: Detail, options: str) -> str:
    sizes = ", ".join(str(size) for size in one.shape)
    shape = sizes if one.shape else "()"
    if one.dtype in _INTEGERS:
        value = {"high": one.high, "low": one.low}.get(detail.integers)
        return f"torch.full({_tuple(one.shape)}, {value}{options})" if value else f"torch.zeros({shape}{options})"
    if one.dtype == "bool":
        return f"torch.ones({shape}{options})"
    if one.dtype not in _RANDOM or detail.floats in ("zeros", "ones"):
        name = "ones" if detail.floats == "ones" else "zeros"
        return f"torch.{name}({shape}{options})"
    if detail.floats == "nan":
        return f'torch.full({_tuple(one.shape)}, float("nan"){options})'
    return f"torch.randn({shape}{options})"


def _strided(one: Tensor, options: str) -> str:
    """A tensor with these strides: a transposed one where that gives them, else an empty strided one."""
    order = sorted(range(len(one.shape)), key=lambda i: -(one.stride or ())[i])
    sizes = [one.shape[i] for i in order]
    back = [order.index(i) for i in range(len(order))]
    if _contiguous(sizes) == [(one.stride or ())[i] for i in order] and one.dtype in _RANDOM:
        swapped = [i for i, place in enumerate(back) if i != place]
        moved = f"transpose({swapped[0]}, {swapped[1]})" if len(swapped) == 2 else f"permute{tuple(back)}"
        return f"torch.randn({', '.join(map(str, sizes))}{options}).{moved}"
    return f"torch.empty_strided({_tuple(one.shape)}, {_tuple(one.stride or ())}{options})"


def _contiguous(sizes: list[int]) -> list[int]:
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return strides[: len(sizes)]


def _tuple(sizes: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _items(recipe: Items, detail: Detail) -> str:
    parts = [source_of(item, detail) for item in recipe.items]
    if recipe.kind == "dict":
        return "{" + ", ".join(f"{key}: {part}" for key, part in zip(recipe.keys, parts, strict=True)) + "}"
    if recipe.kind == "list":
        return _list(parts)
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _list(parts: list[str]) -> str:
    """`[a, b]`; equal neighbours that would make it long as `[a] * 7 + [b]`."""
    runs: list[tuple[str, int]] = []
    for part in parts:
        runs[-1:] = [(part, runs[-1][1] + 1)] if runs and runs[-1][0] == part else [*runs[-1:], (part, 1)]
    if len(parts) <= 3 or len(runs) > 6:
        return f"[{', '.join(parts)}]"
    return " + ".join(f"[{part}] * {count}" if count > 1 else f"[{part}]" for part, count in runs)


def is_plain(recipe: Recipe) -> bool:
    """Whether a value is best written where it is used."""
    if isinstance(recipe, Items):
        return all(is_plain(item) for item in recipe.items)
    return isinstance(recipe, Plain)
