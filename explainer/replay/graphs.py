"""In the child: how many bytes the graphs behind some tensors keep for a backward that has not run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: More nodes than this are not walked.
NODES = 50_000


def kept_bytes(tensors: Iterable[Any], beside: Iterable[Any] = ()) -> int:
    """Bytes of all storages that the graphs of `tensors` keep, those of leaves and of `beside`'s graphs left out.

    What a backward has freed is not there any more, and does not count.
    """
    others = _storages(beside)
    return sum(size for key, size in _storages(tensors).items() if key not in others)


def _storages(tensors: Iterable[Any]) -> dict[int, int]:
    nodes = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    seen: set[Any] = set()
    found: dict[int, int] = {}
    while nodes and len(seen) < NODES:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        nodes += [before for before, _ in node.next_functions if before is not None]
        for saved in _saved(node):
            storage = saved.untyped_storage()
            found[storage._cdata] = storage.nbytes()
    return found


def _saved(node: Any) -> list[Any]:
    """The tensors that a node has saved and still holds, parameters left out."""
    found: list[Any] = []
    for name in [name for name in dir(node) if name.startswith("_saved_")] or ["saved_tensors"]:
        try:
            value = getattr(node, name, None)
        except RuntimeError:  # freed by a backward, or written over since
            continue
        found += value if isinstance(value, (tuple, list)) else [value]
    return [one for one in found if hasattr(one, "untyped_storage") and not (one.is_leaf and one.requires_grad)]
