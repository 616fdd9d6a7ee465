"""Where modules were built, what they loaded, which weights were kept and how, when their mode was set."""

from __future__ import annotations

import copy
import sys
import weakref
from typing import Any

import torch

from explainer.frozen import frozen
from explainer.training.sites import Site, frames, key, named, user_frames

#: Ties and states that are noted at most.
_TIES, STATES = 400, 50
#: After how many calls in training a model is one that is trained.
_TRAINED = 5

#: What draws the values of a weight anew.
_DRAWN = (
    "uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
    "orthogonal_",
)  # fmt: skip


def install(watcher: Any) -> None:
    """Watch modules being built, saved and loaded."""
    wrap, module = watcher.patches.wrap, torch.nn.Module
    wrap(module, "__init__", lambda original: _built(watcher, original))
    wrap(module, "state_dict", watcher.after(lambda out, args, _: _kept(watcher, out)))
    wrap(module, "load_state_dict", lambda original: _loads(watcher, original))
    wrap(copy, "deepcopy", watcher.after(lambda out, args, _: _copied(watcher, out)))
    wrap(module, "register_parameter", watcher.after(lambda _, args, __: _placed(watcher, *args[:3])))
    for name in ("constant_", "ones_", "zeros_"):
        wrap(torch.nn.init, name, watcher.after(lambda out, args, _: _made_constant(watcher, out)))
    for name in _DRAWN:
        wrap(torch.nn.init, name, watcher.after(lambda out, args, _: _drawn(watcher, out)))
    for name in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"):
        wrap(module, name, watcher.after(lambda _, __, ___: _hooked(watcher)))
    wrap(module, "train", watcher.after(lambda _, args, kwargs: _mode(watcher, args, kwargs)))


def _built(watcher: Any, original: Any) -> Any:
    built = watcher.notes.built

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if built.get(self) is None:
            site = frames()
            built.set(self, site)
            if any(frame.code.co_name == "forward" for frame in site):
                _made_within(watcher, self, site)

    return made


def _made_within(watcher: Any, module: Any, site: Site) -> None:
    """Note a layer of torch's that a forward makes, with the whole numbers that it is made of."""
    kind = type(module)
    if kind.__module__.startswith("torch.nn.modules"):
        frame = next((one for one in _outwards(sys._getframe(2)) if one.f_locals.get("self") is module), None)
        sizes = {name: value for name, value in (frame.f_locals if frame is not None else {}).items()
                 if type(value) is int}  # fmt: skip
        watcher.notes.saw("layer-made-in-forward", site, layer=kind.__name__, sizes=sizes)


def _outwards(frame: Any, most: int = 6) -> Any:
    """A frame and some of those around it, of constructors from the innermost to the one that was called."""
    found = []
    while frame is not None and most:
        found.append(frame)
        frame, most = frame.f_back, most - 1
    return [one for one in reversed(found) if one.f_code.co_name == "__init__"]


def _copied(watcher: Any, out: Any) -> None:
    """Note where a model was copied, and after how many steps."""
    if isinstance(out, torch.nn.Module):
        watcher.copied[id(out)] = (weakref.ref(out), frames(), watcher.notes.steps)


def _placed(watcher: Any, module: Any, name: str = "", parameter: Any = None, *_: Any) -> None:
    """Note a parameter that a second module is given too, and one that another takes the place of."""
    if parameter is None:
        return
    known = watcher.placed.get(id(parameter))
    if known is None or known[0]() is not parameter:
        known = watcher.placed[id(parameter)] = (weakref.ref(parameter), weakref.ref(module), name)
    elif known[1]() is not module and len(watcher.ties) < _TIES:
        watcher.ties.append((known[1], known[2], weakref.ref(module), name, frames()))
    given = watcher.given.get((id(module), name))
    again = given is not None and given[0]() is module
    watcher.given[id(module), name] = (weakref.ref(module), frames() if again else ())


def _hooked(watcher: Any) -> None:
    """Note where layers are given hooks, and after how many steps last."""
    site = frames()
    known = watcher.hooked.setdefault(key(site), {"site": site, "count": 0, "first": watcher.notes.steps})
    known["count"] += 1
    known["last"] = watcher.notes.steps


def _made_constant(watcher: Any, out: Any) -> None:
    """Note where a weight was given a constant."""
    if isinstance(out, torch.Tensor) and out.dim() > 1:
        watcher.constants[id(out)] = (weakref.ref(out), frames())


def _drawn(watcher: Any, out: Any) -> None:
    """Note a weight that is drawn anew after a state was loaded into it."""
    if id(out) not in watcher.pretrained or watcher.notes.steps:
        return
    for ref, site, _, _ in watcher.filled.values():
        module = ref()
        if module is not None and any(one is out for one in module.parameters()):
            watcher.notes.saw("loaded-then-drawn", frames(), of=id(out), module=ref, loaded=site)
            return


def _mode(watcher: Any, args: Any, kwargs: Any) -> None:
    """Note calls of `train` and `eval` on models that are called by themselves, not on their parts."""
    mode = kwargs.get("mode", args[1] if len(args) > 1 else True)
    caller = sys._getframe(3)
    if caller.f_code.co_filename == torch.nn.modules.module.__file__ and caller.f_code.co_name == "train":
        return
    notes = watcher.notes
    place = ("mode", id(args[0]), bool(mode))
    if mode:
        watcher.trained_at[id(args[0])] = notes.steps
    notes.times[place] += 1
    if place not in notes.seen:
        from explainer.training.notes import Seen

        notes.seen[place] = Seen("mode", frames(), {"module": id(args[0]), "train": bool(mode), "step": notes.steps})


def _kept(watcher: Any, out: Any) -> None:
    """Note a state that was taken: it shares its memory with the model until it is copied."""
    if not isinstance(out, dict) or not out or len(watcher.states) >= STATES:
        return
    first = next((value for value in out.values() if isinstance(value, torch.Tensor)), None)
    if first is not None and watcher.notes.losses:
        watcher.states.append(
            (first.data_ptr(), frames(), watcher.notes.steps, weakref.ref(out) if hasattr(out, "__weakref__") else None)
        )


def _loads(watcher: Any, original: Any) -> Any:
    def load(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        before = None
        try:
            before = _before_loading(self, state_dict)
        except Exception as error:
            watcher.failed(error)
        result = original(self, state_dict, *args, **kwargs)
        try:
            _loaded(watcher, self, state_dict, before)
        except Exception as error:
            watcher.failed(error)
        return result

    return load


def _before_loading(module: Any, state: Any) -> dict[str, Any]:
    own = dict(module.named_parameters())
    shared = [
        name
        for name, value in own.items()
        if name in state
        and isinstance(state[name], torch.Tensor)
        and state[name].data_ptr() == value.data_ptr()
        and value.numel()
    ]
    return {"own": own, "shared": shared}


def _loaded(watcher: Any, module: Any, state: Any, before: Any) -> None:
    site = frames()
    notes = watcher.notes
    known = watcher.filled.get(id(module))
    times = known[3] + 1 if known is not None and known[0]() is module else 1
    watcher.filled[id(module)] = (weakref.ref(module), site, notes.steps, times)
    keys = [name for name in state if isinstance(state[name], torch.Tensor)]
    own = list(module.state_dict()) if not hasattr(module, "_explain") else []
    fitting = [name for name in keys if name in set(own)]
    if before and before["own"] and len(before["shared"]) == len(before["own"]) and watcher.notes.losses:
        pointer = next(iter(before["own"].values())).data_ptr()
        kept = [(place, step) for one, place, step, _ in watcher.states if one == pointer]
        stale = [one for one in kept if one[1] < notes.steps]
        notes.saw(
            "weights-kept-by-reference",
            site,
            kept=stale[-1][0] if stale else (),
            step=stale[-1][1] if stale else None,
            steps=notes.steps,
        )
    if keys and own and not fitting:
        notes.saw(
            "checkpoint-loads-nothing",
            site,
            keys=keys[:4],
            count=len(keys),
            own=own[:4],
            expects=len(own),
            prefix=_prefix(keys, own),
            module=type(module).__name__,
            owner=_owner_of(module),
            name=_name_of(module),
        )
    watcher.loaded.add(id(module))
    for parameter in module.parameters():
        watcher.pretrained.add(id(parameter))


def _name_of(module: Any) -> str | None:
    for frame in user_frames(sys._getframe(3)):
        return named(frame, module) or _attribute_of(frame, module)
    return None


def _attribute_of(frame: Any, module: Any) -> str | None:
    """The name of a part of a model that a frame knows: `model.encoder`."""
    for name, held in [*frame.f_locals.items(), *frame.f_globals.items()]:
        if isinstance(held, torch.nn.Module):
            for path, one in held.named_modules():
                if one is module and path:
                    return f"{name}.{path}"
    return None


def _owner_of(module: Any) -> dict[str, Any] | None:
    """The model that a part belongs to, where the caller's frame knows it, with the part's path."""
    for frame in user_frames(sys._getframe(3)):
        for name, held in [*frame.f_locals.items(), *frame.f_globals.items()]:
            if isinstance(held, torch.nn.Module) and held is not module:
                for path, one in held.named_modules():
                    if one is module and path:
                        return {"name": name, "path": path}
        return None
    return None


def _prefix(keys: list[str], own: list[str]) -> dict[str, str] | None:
    """What the saved names have in front of the model's own, lack, or have in place of it."""
    for there, here, what in ((keys, own, "strip"), (own, keys, "add")):
        for name in here[:3]:
            ending = next((other for other in there if other.endswith("." + name)), None)
            if ending is not None:
                prefix = ending[: -len(name)]
                if all(
                    other.startswith(prefix) or other[len(prefix) :] in here
                    for other in there
                    if other.startswith(prefix)
                ):
                    return {"what": what, "prefix": prefix}
    for saved in keys[:3]:
        first, _, rest = saved.partition(".")
        other = next((one.partition(".")[0] for one in own if rest and one.partition(".")[2] == rest), first)
        if other != first and all(f"{other}{one[len(first) :]}" in own for one in keys if one.startswith(f"{first}.")):
            return {"what": "replace", "prefix": f"{first}.", "other": f"{other}."}
    return None


@frozen
class Copy:
    """A model made of another one before the first step, as it was at the look after step `seen`.

    `kind` is how it was made; `still`: nothing was written to it, beside a model of its kind and sizes that is trained.
    """

    site: Site
    kind: str
    still: bool
    seen: int


def copies(watcher: Any) -> None:
    """Note how the models stand that were copied, or given a state once, before the first step: they may go soon."""
    made = [(ref(), site, "deepcopy", 1) for ref, site, steps in list(watcher.copied.values()) if not steps]
    given = [(ref(), site, "load_state_dict", times) for ref, site, steps, times in list(watcher.filled.values())
             if not steps]  # fmt: skip
    for module, site, kind, times in [*made, *given]:
        if module is None or not site or (kind == "deepcopy" and id(module) in watcher.filled) or times > 1:
            continue
        still = watcher.unchanged(module) and _trained_beside(watcher, module)
        watcher.copies[id(module)] = Copy(site, kind, still, watcher.notes.steps)


def _trained_beside(watcher: Any, module: Any) -> bool:
    """Whether a model of the same kind and sizes is trained."""
    sizes = [one.shape for one in module.parameters()]
    trained = (root["of"]() for root in watcher.notes.roots.values() if root["train"] > _TRAINED)
    twins = (one for one in trained if one is not None and one is not module and type(one) is type(module))
    return any([one.shape for one in twin.parameters()] == sizes for twin in twins)
