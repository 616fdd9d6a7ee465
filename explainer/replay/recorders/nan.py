"""The recorder of nan: the first node of backward that turns finite gradients into gradients that are not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from explainer.patterns import Pattern
from explainer.replay.recorders.record import Site, here, leaf, name_of, node_of, nodes, origin, tensors_in
from explainer.replay.recorders.second import Second

_DEEP = 12
_VALUES = ("self", "result", "other", "exponent")
#: Calls whose infinities are meant.
MEANT = frozenset(["masked_fill", "masked_fill_", "full", "full_like", "where", "fill_", "new_full", "__setitem__"])
#: Calls that make every number at least zero, and nodes of the graph through which a zero stays one.
FLOORS = frozenset(["relu", "relu_", "relu6", "clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "hardtanh"])
_STAY = Pattern(
    r"(Squeeze|Unsqueeze|View|UnsafeView|ReshapeAlias|Expand|Slice|Select|T|Transpose|Permute|Clone|ToCopy|Pow|Split|"
    r"Unbind|Index|AsStrided|Repeat)Backward\d*$"
)


class Nan(TorchFunctionMode):
    """Watches values while a window runs; `result` runs backward and watches every node's gradients.

    Looking forward alone for the first non-finite value would blame `masked_fill(-inf)`, which is harmless.
    """

    def __init__(self) -> None:
        super().__init__()
        self.origins = Second()
        self.sites: dict[Any, tuple[str, Site]] = {}
        self.overflowed: dict[Any, dict[str, Any]] = {}

    def __enter__(self) -> Nan:
        self.origins.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.origins.__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note where each node was made, and which call gave values that are not finite from finite ones."""
        out = func(*args, **(kwargs or {}))
        made = [(node, tensor) for tensor in tensors_in(out) if (node := node_of(tensor)) is not None]
        if made and made[0][0] not in self.sites:
            name = name_of(func)
            self.sites[made[0][0]] = (name, here())
            given = list(tensors_in(args, kwargs or {}))
            if name not in MEANT and _spoils(made[0][1], given):
                given = [tensor.detach() for tensor in given if real(tensor)]
                self.overflowed[made[0][0]] = {str(i): counts(tensor) for i, tensor in enumerate(given)}
        return out

    def result(self, roots: list[Any]) -> dict[str, Any] | None:
        """The birthplace of nan: node, place, what it was given, and the call upstream whose values overflowed.

        None where backward stays finite.
        """
        born: list[tuple[Any, str]] = []
        saved = {}
        for node in list(nodes(roots)):
            saved[node] = _saved(node)
            if not leaf(node):
                node.register_hook(_watch(node, born))
        parameters = sum(1 for node in saved if leaf(node) and not finite(node.variable))
        try:
            torch.autograd.backward([root if root.dim() == 0 else root.sum() for root in roots], retain_graph=True)
        except RuntimeError:
            return None
        if not born:
            return {"parameters": parameters} if parameters else None
        node, kind = born[0]
        source = self._source(node)
        first = source or node
        edges = [following for following, _ in first.next_functions]
        divided = len(edges) > 1 and first.name().startswith("Div")
        return {
            "kind": kind, **self._described(node), "saved": saved[node], "parameters": parameters,
            "source": {**self._described(source), "saved": self.overflowed[source]} if source is not None else None,
            "floor": self.floor_of(edges[1 if divided else 0]) if edges else None,
        }  # fmt: skip

    def floor_of(self, node: Any) -> dict[str, Any] | None:
        """The call that gave a node's values their zeros: one that makes negative numbers zero, seen through views."""
        for _ in range(_DEEP):
            name, site = self.sites.get(node, ("", None))
            if name in FLOORS and site is not None:
                return {"function": name, **site.data()}
            if node is None or not node.next_functions or not _STAY.match(node.name()):
                return None
            node = node.next_functions[0][0]
        return None

    def _source(self, node: Any) -> Any:
        """The call below a node, itself included, whose values were the first that are not finite."""
        reached = {node, *_below(node)}
        found = [one for one in self.overflowed if one in reached]
        return min(found, key=lambda one: one._sequence_nr(), default=None)

    def _described(self, node: Any) -> dict[str, Any]:
        name, site = self.sites.get(node, ("", None))
        place = site.data() if site is not None else {"frames": origin(node), "module": None, "owner": None, "path": ""}
        return {"node": node.name(), "function": name, **place}


def _spoils(result: Any, given: list[Any]) -> bool:
    """Whether values that are not finite are made of finite ones, or nan of values without nan."""
    if finite(result):
        return False
    clean = not any(bool(tensor.detach().isnan().any()) for tensor in given if real(tensor))
    return all(finite(tensor) for tensor in given) or (clean and bool(result.detach().isnan().any()))


def _watch(node: Any, born: list[tuple[Any, str]]) -> Any:
    def watch(outgoing: Any, incoming: Any) -> None:
        bad = [gradient for gradient in outgoing if gradient is not None and not finite(gradient)]
        if bad and all(finite(gradient) for gradient in incoming if gradient is not None):
            born.append((node, "nan" if any(bool(gradient.isnan().any()) for gradient in bad) else "inf"))

    return watch


def _below(node: Any, most: int = 2000) -> Iterator[Any]:
    waiting, seen = [node], {node}
    while waiting and len(seen) < most:
        for following, _ in waiting.pop().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
                yield following


def real(tensor: Any) -> bool:
    """Whether a tensor can hold what is not finite."""
    return tensor.is_floating_point() and tensor.numel() > 0


def finite(tensor: Any) -> bool:
    """Whether all values of a tensor are finite."""
    if not tensor.is_floating_point() or math.isfinite(tensor.detach().sum()):  # a sum is quicker, and may overflow
        return True
    return bool(torch.isfinite(tensor.detach()).all())


def _saved(node: Any) -> dict[str, Any]:
    """How many saved values are zero, one, negative: read before backward frees them."""
    found: dict[str, Any] = {}
    for name in _VALUES:
        try:
            value = getattr(node, f"_saved_{name}", None)
        except RuntimeError:
            continue
        if isinstance(value, torch.Tensor) and real(value):
            found[name] = counts(value.detach())
    return found


def counts(value: Any) -> dict[str, Any]:
    """Numbers about a tensor, none of its values but the magnitude of the largest."""
    masks = {
        "zero": value == 0, "one": value.abs() == 1, "negative": value < 0, "nan": value.isnan(), "inf": value.isinf(),
    }  # fmt: skip
    counts: dict[str, Any] = {name: int(mask.sum()) for name, mask in masks.items()}
    first = next((mask.nonzero()[0].tolist() for name, mask in masks.items() if counts[name]), None)
    finite = value[torch.isfinite(value)]
    largest = finite.abs().max().item() if finite.numel() else math.inf
    return {**counts, "shape": list(value.shape), "first": first, "largest": f"{largest:.3g}", "of": value.numel(),
            "dtype": str(value.dtype).removeprefix("torch.")}  # fmt: skip
