"""The recorder of values that are not finite: from the tensor that the user's own check refused back to their birth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from explainer.replay.recorders.nan import MEANT, Nan, counts, finite
from explainer.replay.recorders.record import Site, here, leaf, name_of, node_of, nodes, tensors_in

#: Calls by which a program looks at values: the last one that saw what is not finite is the check that raised.
_LOOKS = frozenset(
    [
        "isnan",
        "isfinite",
        "isinf",
        "isposinf",
        "isneginf",
        "item",
        "tolist",
        "numpy",
        "__array__",
        "__float__",
        "ne",
        "eq",
        "__ne__",
        "__eq__",
    ]
)
#: Calls whose second operand must not be zero.
OF_SECOND = ("__truediv__", "__itruediv__", "div", "div_", "divide", "true_divide", "xlogy")
#: Losses that leave out the labels of one class.
LABELLED = ("cross_entropy", "nll_loss")
#: Calls that make tensors of a program's numbers as they are.
_GIVEN = ("tensor", "as_tensor", "from_numpy", "asarray", "frombuffer")
_FOLLOWED = 10_000


@dataclass
class _Made:
    """A call whose result is not finite: what of its input was not, and the numbers about its input."""

    function: str
    site: Site
    out: Any
    spoilt: list[Any]
    saved: dict[str, Any]
    meant: bool
    floor: dict[str, Any] | None


class Nonfinite(Nan):
    """Watches all values while the program or a window of it runs; `birth` leads from the check to the first bad one.

    After each backward of finite losses the gradients are looked at; the first bad ones are followed as `Nan` does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, _Made] = {}
        self.looked: Any = None
        self.backwards: dict[str, Any] | None = None
        self.refused: Any = None
        self.asking = False

    def __enter__(self) -> Nonfinite:
        TorchFunctionMode.__enter__(self)  # not the anomaly mode of `Nan`, which makes a whole program ten times longer
        self._engine = _Engine(self)
        self._engine.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._engine.__exit__(*error)
        TorchFunctionMode.__exit__(self, *error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note a call whose result is not finite, and the last look at such a value."""
        kwargs, name = kwargs or {}, name_of(func)
        given = list(tensors_in(args, kwargs))
        try:
            out = super().__torch_function__(func, types, args, kwargs)
        except Exception:
            self._look(given)
            raise
        if name in _LOOKS:
            self._look(given)
        if name == "__get__" and name_of(getattr(func, "__self__", None)) in ("grad", "_grad"):
            return out
        writes = name.endswith("_") and (not name.endswith("__") or name.startswith(("__i", "__setitem")))
        written = list(tensors_in(args[:1])) if writes else []
        for tensor in (*written, *tensors_in(out)):
            if not finite(tensor):
                self._note(name, tensor, given, writes, kwargs)
        return out

    def _look(self, given: list[Any]) -> None:
        self.looked = next((one for one in given if not finite(one)), self.looked)

    def _note(self, name: str, tensor: Any, given: list[Any], written: bool, words: dict[str, Any]) -> None:
        known = self.made.get(id(tensor))
        if not written and any(one is tensor for one in given):
            return  # `x.to(device)` that has nothing to do
        spoilt = [one for one in given if not finite(one) and (one is not tensor or known is not None)]
        if known is not None and known.out is tensor and written and not any(one is not tensor for one in spoilt):
            return  # a write into what was spoilt already
        spoilt = [one for one in spoilt if one is not tensor]
        shown = [(i, one) for i, one in enumerate(given[:4]) if one.is_floating_point() and one is not tensor]
        saved = {str(i): counts(one.detach()) for i, one in shown}
        if name in LABELLED and "0" in saved:
            index = words.get("ignore_index", -100)
            saved["0"] |= {"ignored": _ignored(given[1], index), "ignore_index": index}
        needed = "1" if name in OF_SECOND and len(given) > 1 else "0"
        zeros = needed in saved and saved[needed]["zero"]
        floor = self.floor_of(node_of(given[int(needed)])) if zeros else None
        self.made[id(tensor)] = _Made(name, here(2), tensor, spoilt, saved, name in MEANT, floor)

    def _described(self, node: Any) -> dict[str, Any]:
        """Of the nodes that one call made, the last has its place."""
        later = [one for one in self.sites if one._sequence_nr() >= node._sequence_nr()]
        known = node if node in self.sites else min(later, key=lambda one: one._sequence_nr(), default=node)
        return {**super()._described(known), "node": node.name()}

    def birth(self) -> dict[str, Any] | None:
        """Where what the check refused was born: as `Nan.result`; `outside` where it was before all that was watched.

        What came with the weights was born in an earlier backward, or in the loss that it was called on.
        """
        if self._asked() is None:
            return None
        found = self._born(self._asked())
        if self.backwards and ("outside" in found or found["function"] == "grad"):
            return self.backwards
        earlier = self._born(self.refused) if "outside" in found and self.refused is not None else found
        return found if "outside" in earlier else earlier

    def outside(self) -> Any:
        """What was not finite before all that was watched, of what the check refused; None where it was born here."""
        if self._asked() is None:
            return None
        return next(iter(self._from_outside(list(self._way(self._asked())), self._asked())), None)

    def _from_outside(self, way: list[_Made], tensor: Any) -> list[Any]:
        """What was not finite before the first call of a way: what it was given, or made a tensor of as it is."""
        if not way or way[-1].function in _GIVEN:
            return [way[-1].out if way else tensor]
        return [one for one in way[-1].spoilt if not self._is_meant(one)]

    def _asked(self) -> Any:
        """What the check saw, or the loss of a backward that raised."""
        return self.looked if self.looked is not None else self.refused

    def _born(self, tensor: Any) -> dict[str, Any]:
        way = list(self._way(tensor))
        spoilt = self._from_outside(way, tensor)
        if spoilt:
            return {"outside": True, "parameters": sum(one.is_leaf and one.requires_grad for one in spoilt)}
        last = way[-1]
        later = next((one for one in reversed(way[:-1]) if _nan(one.out)), last) if not _nan(last.out) else last
        source = {**_described(last), "saved": last.saved} if later is not last else None
        kind = "nan" if _nan(later.out) else "inf"
        about = {"saved": later.saved, "parameters": 0, "source": source, "floor": last.floor}
        return {"kind": kind, **_described(later), **about}

    def _way(self, tensor: Any) -> Iterator[_Made]:
        """The calls that made a tensor what it is, from the last one back: through nan where there is any, then inf."""
        for _ in range(_FOLLOWED):
            made = self.made.get(id(tensor))
            if made is None or made.out is not tensor:
                return
            yield made
            spoilt = [one for one in made.spoilt if not self._is_meant(one)]
            known = [one for one in spoilt if id(one) in self.made] or spoilt
            bad = [one for one in known if _nan(one)] or known
            if not bad:
                return
            tensor = bad[0]

    def _is_meant(self, tensor: Any) -> bool:
        """Whether a tensor holds infinities that a mask put there, and no nan: what takes them is to blame."""
        for _ in range(20):
            made = self.made.get(id(tensor))
            if made is None or _nan(tensor):
                return False
            if made.meant:
                return True
            if len(made.spoilt) != 1:
                return False
            tensor = made.spoilt[0]
        return False

    def backward_raised(self, roots: list[Any]) -> None:
        """Keep the loss that a backward was refused for, where it was not finite itself."""
        if not self.asking and self.refused is None:
            self.refused = next((root for root in roots if not finite(root)), None)

    def ran_backward(self, roots: list[Any], made: list[Any]) -> None:
        """Look at the gradients of a backward that has just run, those that it `made` for `autograd.grad` among them.

        Its graph is kept still, and let go of now.
        """
        if self.backwards is None and self.refused is None:
            self.refused = next((root for root in roots if not finite(root)), None)
            leaves = [node.variable for node in nodes(roots) if leaf(node)] if self.refused is None else []
            grads = [one.grad for one in leaves if one.grad is not None and finite(one)]
            if not all(map(finite, [*grads, *(made if self.refused is None else [])])):
                self.asking = True
                self.backwards = self.result(roots)
                self.asking = False
        self.sites.clear()
        self.overflowed.clear()


def _described(made: _Made) -> dict[str, Any]:
    return {"node": made.function, "function": made.function, **made.site.data()}


def _ignored(labels: Any, index: Any) -> int:
    """How many labels there are, where a loss leaves out all of them; else 0."""
    return labels.numel() if not labels.is_floating_point() and bool((labels == index).all()) else 0


def _nan(tensor: Any) -> bool:
    return bool(tensor.detach().isnan().any())


class _Engine:
    """Keeps each backward's graph until its gradients have been looked at; the first bad ones are followed."""

    def __init__(self, recorder: Nonfinite):
        self.recorder = recorder
        self.home: Any = torch.autograd if hasattr(torch.autograd, "_engine_run_backward") else None

    def __enter__(self) -> None:
        if self.home is None:  # torch before 2.2
            return
        self.plain = run = self.home._engine_run_backward
        recorder = self.recorder

        def watched(outputs: Any, tensors: Any = None, keep: bool = False, *args: Any, **kwargs: Any) -> Any:
            try:
                result = run(outputs, tensors, True, *args, **kwargs)
            except RuntimeError:
                recorder.backward_raised(list(outputs))
                raise
            if not recorder.asking:
                recorder.ran_backward(list(outputs), list(tensors_in(result or ())))
            return result

        self.home._engine_run_backward = watched

    def __exit__(self, *_: Any) -> None:
        if self.home is not None:
            self.home._engine_run_backward = self.plain


class Whole:
    """The recorder over a whole run of the program, in its copy: begun before it starts, asked when it has failed."""

    def __init__(self, folder: str, original: str):
        self.folder, self.original = folder, original
        self.watching = Nonfinite()
        self.watching.__enter__()

    def taken(self, error: BaseException) -> Any:
        """The birth of what the program's check refused, its files named as in the original folder."""
        self.watching.__exit__(None, None, None)
        return self._moved(self.watching.birth())

    def _moved(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._moved(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._moved(one) for one in value]
        return self.original + value[len(self.folder) :] if str(value).startswith(self.folder + "/") else value
