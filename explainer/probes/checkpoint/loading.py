"""Loading of state: which keys were renamed, which sizes changed, what a pickle names, what was frozen before."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Live, LiveFrame, Scene
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read
from explainer.source import Source, called, source_of

_GLOBAL = Pattern(r"GLOBAL ([\w.]+) was not an allowed global|Unsupported (?:global|class) ([\w.]+)")


def _torch_frame(live: Live | None, function: str, file: str) -> LiveFrame | None:
    """The innermost frame of one of torch's functions."""
    frames = [f for f in (live.frames if live else []) if f.frame.f_code.co_name == function and file in f.file]
    return frames[-1] if frames else None


def load_frame(scene: Scene) -> LiveFrame | None:
    """The frame of `Module.load_state_dict`, whose `self` is the model; None where no model was loading."""
    frame = _torch_frame(scene.live, "load_state_dict", "torch/nn/modules/module.py")
    return frame if frame is not None and is_module(frame.locals.get("self")) else None


@probe
def renamed_keys(scene: Scene) -> Settings | None:
    """How a checkpoint's keys map to the model's, where a change of prefixes explains every difference.

    `prefixes` are pairs (old, new), `missing` and `unexpected` counts, `strip` the one prefix that is merely too much,
    `shown` the pairs in words, `statement` the source that renames the keys.
    Two keys are paired by their common suffix and the shape of what they name.
    """
    frame = load_frame(scene)
    if frame is None:
        return None
    own, given = shapes_of(frame)
    prefixes = prefix_map(own, given)
    if not prefixes:
        return None
    strip = prefixes[0][0] if len(prefixes) == 1 and prefixes[0][1] == "" else ""
    counts = (("missing", len(set(own) - set(given))), ("unexpected", len(set(given) - set(own))))
    shown = ", ".join(f"{old or '(nothing)'} -> {new or '(nothing)'}" for old, new in prefixes[:6])
    state = _state_text(scene)
    words = (("shown", shown), ("statement", _renaming(prefixes, state) if state else ""))
    return Settings((("prefixes", tuple(prefixes)), *counts, ("strip", strip), *words))


def shapes_of(frame: LiveFrame) -> tuple[Mapping[str, tuple[int, ...]], Mapping[str, tuple[int, ...]]]:
    """The shapes of the entries of a model that loads a state, and of those that it was given."""
    both = state_of(frame.locals["self"]), dict(frame.locals.get("state_dict") or {})
    own, given = ({key: tuple(one.shape) for key, one in state.items() if is_tensor(one)} for state in both)
    return own, given


def _state_text(scene: Scene) -> str:
    found = load_call(scene)
    return found["state"] if found is not None else ""


def _renaming(prefixes: list[tuple[str, str]], state: str) -> str:
    """Statements that rename the keys of a state dict; of two prefixes that fit a key the longer comes first."""
    table = ", ".join(f'"{old}": "{new}"' for old, new in prefixes)
    changed = "next((new + key[len(old):] for old, new in renamed.items() if key.startswith(old)), key)"
    return f"renamed = {{{table}}}\n{state} = {{{changed}: value for key, value in {state}.items()}}"


def state_of(module: Any) -> dict[str, Any]:
    """A module's parameters and persistent buffers by dotted name, in its order, without running its `state_dict`."""
    found, stack = {}, [("", module)]
    while stack:
        path, one = stack.pop()
        own = one.__dict__
        hidden = own.get("_non_persistent_buffers_set") or ()
        tensors = {**(own.get("_parameters") or {}), **(own.get("_buffers") or {})}
        found.update({path + name: t for name, t in tensors.items() if t is not None and name not in hidden})
        children = [(f"{path}{name}.", one) for name, one in (own.get("_modules") or {}).items() if one is not None]
        stack += reversed(children)
    return found


def prefix_map(own: Mapping[str, tuple], given: Mapping[str, tuple]) -> list[tuple[str, str]]:
    """The changes of prefix that turn the keys of `given` into those of `own`; empty where some key has no partner.

    Of several partners of one shape, as the layers of a stack are, the first that the model has is taken, which holds
    only where the numbers in the names rise alike.
    """
    missing, unexpected = ([key for key in a if key not in b] for a, b in ((own, given), (given, own)))
    if not missing or len(missing) != len(unexpected):
        return []
    pairs: dict[str, str] = {}
    left, tied = set(missing), False
    for old in unexpected:
        partners = [new for new in missing if new in left and own[new] == given[old] and _common(old, new)]
        best = max(partners, key=lambda new: (_common(old, new), -abs(len(new) - len(old))), default=None)
        if best is None:
            return []
        tied |= sum(_common(old, new) == _common(old, best) for new in partners) > 1
        pairs[old] = best
        left.discard(best)
    if tied and not _numbered_alike(pairs):
        return []
    changes = dict.fromkeys(_change(old, new) for old, new in pairs.items())
    return _shortest(list(changes)) if _explains(list(changes), pairs) else []


def _numbered_alike(pairs: Mapping[str, str]) -> bool:
    """Whether numbers rise in both names of all pairs alike, and are written as numbers are: none is `00`."""
    rising: dict[tuple[str, str], list[tuple[list[int], list[int]]]] = {}
    for old, new in pairs.items():
        numbers = [re.findall(r"\d+", key) for key in (old, new)]
        if any(str(int(one)) != one for row in numbers for one in row):
            return False
        bare = re.sub(r"\d+", "#", old), re.sub(r"\d+", "#", new)
        rising.setdefault(bare, []).append(([*map(int, numbers[0])], [*map(int, numbers[1])]))
    return all([new for _, new in sorted(one)] == sorted(new for _, new in one) for one in rising.values())


def _common(old: str, new: str) -> int:
    """How many dotted components two keys share at their ends."""
    count = 0
    for a, b in zip(reversed(old.split(".")), reversed(new.split(".")), strict=False):
        if a != b:
            break
        count += 1
    return count


def _change(old: str, new: str) -> tuple[str, str]:
    shared = _common(old, new)
    head_old, head_new = old.split(".")[:-shared], new.split(".")[:-shared]
    return ".".join(head_old) + "." * bool(head_old), ".".join(head_new) + "." * bool(head_new)


def _explains(changes: list[tuple[str, str]], pairs: Mapping[str, str]) -> bool:
    """Whether each key is changed right by the longest prefix that fits it."""
    for old, new in pairs.items():
        fitting = [one for one in changes if old.startswith(one[0])]
        best = max(fitting, key=lambda one: len(one[0]), default=None)
        if best is None or best[1] + old[len(best[0]) :] != new:
            return False
    return True


def _shortest(changes: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(changes, key=lambda one: -len(one[0]))


@probe
def load_call(scene: Scene) -> SpanFact | None:
    """The user's statement that loads state; `detail.state` is the source of what it loads."""
    failing = scene.failing
    node = call_node(failing.node) if failing else None
    if failing is None or not isinstance(node, ast.Call):
        return None
    given = failing.source.text(node.args[0]) if node.args else ""
    return span_fact(failing.source, node, state=given)


@probe
def partial_load(scene: Scene) -> SpanFact | None:
    """The user's call that loads state with `strict=False`: not all of it is meant to be taken."""
    frame, load = load_frame(scene), load_call(scene)
    return load if frame is not None and frame.locals.get("strict") is False else None


@probe
def loaded_state(scene: Scene) -> SpanFact | None:
    """The place of what the user's call loads."""
    failing = scene.failing
    node = call_node(failing.node) if failing else None
    if failing is None or not isinstance(node, ast.Call) or not node.args:
        return None
    return SpanFact(failing.source.span(node.args[0]), failing.source.text(node.args[0]))


@probe
def refused_global(scene: Scene) -> Settings | None:
    """The class that `torch.load(weights_only=True)` refused: its full `name` and its `last` part.

    `reachable` is how the user's frame can name it, once it has imported the module `imported`, empty where it has it.
    """
    found = _GLOBAL.search(scene.crash.message)
    if found is None:
        return None
    full = found[1] or found[2]
    last = full.rsplit(".", 1)[-1]
    reachable, imported = _reached(scene.user_frame, full) if scene.user_frame is not None else ("", "")
    return Settings((("name", full), ("last", last), ("reachable", reachable), ("imported", imported)))


def _reached(frame: LiveFrame, full: str) -> tuple[str, str]:
    """How a frame can name a class, and the module that it has to import for that; empty where there is no way."""
    module, _, last = full.rpartition(".")
    names = {**frame.frame.f_globals, **frame.locals}
    own = names if names.get("__name__") == module else fields_of(sys.modules.get(module))
    wanted = own.get(last)
    for name, value in names.items() if wanted is not None else ():
        if value is wanted and name.isidentifier():
            return name, ""
    for name, value in names.items():
        at = fields_of(value).get("__name__", "") if isinstance(value, types.ModuleType) else ""
        if wanted is not None and at and f"{module}.".startswith(f"{at}.") and not name.startswith("_"):
            return name + full.removeprefix(at), ""
    importable = wanted is not None or (module not in sys.modules and _is_there(module))
    return (full, module) if importable and module else ("", "")


def _is_there(module: str) -> bool:
    """Whether a package that was not imported yet is installed; imports nothing."""
    return importlib.util.find_spec(module.partition(".")[0]) is not None


def changed_sizes(scene: Scene) -> tuple[Settings, ...] | None:
    """Each entry whose shape in the checkpoint is not the model's: `key`, `saved`, `own`."""
    frame = load_frame(scene)
    if frame is None:
        return None
    given = dict(frame.locals.get("state_dict") or {})
    rows = []
    for key, own in state_of(frame.locals["self"]).items():
        saved = given.get(key)
        if is_tensor(saved) and tuple(saved.shape) != tuple(own.shape):
            rows.append(Settings((("key", key), ("saved", tuple(saved.shape)), ("own", tuple(own.shape)))))
    return tuple(rows) or None


@probe
def group_sizes(scene: Scene) -> Settings | None:
    """The sizes of an optimizer's parameter groups, `own`, of those saved, `saved`, and by how many it has `more`."""
    frame = _torch_frame(scene.live, "load_state_dict", "torch/optim/optimizer.py")
    if frame is None:
        return None
    own, saved = frame.locals.get("groups"), frame.locals.get("saved_groups")
    if not isinstance(own, list) or not isinstance(saved, list):
        return None
    sizes = tuple(tuple(len(group["params"]) for group in groups) for groups in (own, saved))
    return Settings((("own", sizes[0]), ("saved", sizes[1]), ("more", max(sum(sizes[0]) - sum(sizes[1]), 0))))


@probe
def freezing(scene: Scene) -> SpanFact | None:
    """The statement before the crash line, in its function, that freezes parameters: by itself or in a helper.

    `detail.helper` is the helper's name, `detail.at` the place of the statement that does it where it is a block.
    """
    frame, failing = scene.user_frame, scene.failing
    scope = failing.source.scope_at(frame.line) if frame and failing else None
    if scope is None or frame is None or failing is None:
        return None
    found = []
    for statement in scope.body:
        if statement.lineno >= frame.line:
            break
        helper = _freezes(statement, frame)
        if helper is not None:
            found.append((statement, helper))
    if len(found) != 1:
        return None
    statement, helper = found[0]
    parts = (one for one in ast.walk(statement) if isinstance(one, ast.Expr | ast.Assign))
    inner = next((one for one in parts if _freezes(one, frame) is not None), statement)
    return span_fact(failing.source, statement, helper=helper, at=failing.source.span(inner))


@probe
def made_before(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The statement of the crash's function, above `of`, that makes the object into which state is loaded."""
    frame, failing = scene.user_frame, scene.failing
    node = call_node(failing.node) if failing else None
    if of is None or frame is None or failing is None or not isinstance(getattr(node, "func", None), ast.Attribute):
        return None
    owner = failing.source.text(node.func.value)  # type: ignore[union-attr]
    body = getattr(failing.source.scope_at(frame.line), "body", [])
    made = [one for one in body if isinstance(one, ast.Assign) and failing.source.text(one.targets[0]) == owner]
    above = [one for one in made if one.lineno < of.span.line]
    return span_fact(failing.source, above[-1]) if above else None


def _freezes(statement: ast.stmt, frame: LiveFrame) -> str | None:
    """How a statement freezes parameters: the helper's name, "" directly, None not at all."""
    if _freezes_directly(statement):
        return ""
    for node in ast.walk(statement):
        function = read(node.func, frame.frame) if isinstance(node, ast.Call) else MISSING
        code = getattr(function, "__code__", None) if function is not MISSING else None
        if code is None or "/torch/" in code.co_filename:
            continue
        body = _body(source_of(code.co_filename), code.co_firstlineno)
        if body is not None and _freezes_directly(body):
            return code.co_name
    return None


def _body(source: Source, line: int) -> ast.AST | None:
    return source.function_at(line)


def _freezes_directly(tree: ast.AST) -> bool:
    """`p.requires_grad_(False)`, `p.requires_grad = False` or `p.requires_grad_(not frozen)` somewhere in a tree."""
    return any(isinstance(one, ast.expr) and not _is_true(one) for one in _gradients_set(tree))


def _gradients_set(tree: ast.AST) -> Iterator[ast.expr | None]:
    """What a tree sets `requires_grad` to; None where it calls `requires_grad_()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
            yield node.args[0] if node.args else next((one.value for one in node.keywords), None)
        if isinstance(node, ast.Assign) and any(getattr(one, "attr", "") == "requires_grad" for one in node.targets):
            yield node.value


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


@probe
def thawed(scene: Scene, of: SpanFact | None = None) -> bool | None:
    """Whether the program lets parameters require gradients again elsewhere: by itself or the helper of `freezing`."""
    if of is None:
        return None
    here = {_given(one) for one in ast.walk(ast.parse(of.text)) if isinstance(one, ast.Call)}
    for source in sources(scene):
        if source.tree is not None and any(one is None or _is_true(one) for one in _gradients_set(source.tree)):
            return True
        calls = [one for one in source.nodes() if isinstance(one, ast.Call) and called(one) == of["helper"]]
        if not {_given(one) for one in calls} <= here:
            return True
    return None


def _given(call: ast.Call) -> str:
    return ast.unparse(ast.Tuple([*call.args, *(one.value for one in call.keywords)], ast.Load()))


@probe
def wrong_state(scene: Scene) -> Settings | None:
    """What `load_state_dict` got in place of a state dict: `kind` module, checkpoint (a dict that holds one) or path.

    `key` is the entry of a checkpoint that holds the state dict ("" else), `prefix` what its keys have too much
    ("module." of DataParallel), `type` the class of what was given; `beside`: names of up to four other entries.
    """
    frame = load_frame(scene)
    given = frame.locals.get("state_dict") if frame is not None else None
    if is_module(given):
        return _wrong("module", type(given))
    if isinstance(given, str) or hasattr(type(given), "__fspath__"):
        return _wrong("path", type(given))
    if not isinstance(given, dict) or frame is None:
        return None
    own = set(state_of(frame.locals["self"]))
    found = [(key, _prefix_over(held, own)) for key, held in given.items() if type(key) is str]
    keys = [(key, prefix) for key, prefix in found if prefix is not None]
    if len(keys) != 1 or own & set(given):
        return None
    beside = tuple(one for one in given if type(one) is str and one != keys[0][0])
    return _wrong("checkpoint", dict, *keys[0], beside[:4])


def _wrong(kind: str, cls: type, key: str = "", prefix: str = "", beside: tuple[str, ...] = ()) -> Settings:
    about = {"kind": kind, "key": key, "type": cls.__name__, "prefix": prefix, "beside": beside}
    return Settings(tuple(about.items()))


def _prefix_over(held: Any, own: set[str]) -> str | None:
    """What stands before a model's keys in an entry of a checkpoint ("" or "module."); None for no state dict of it."""
    if not isinstance(held, dict) or not own:
        return None
    keys = [key for key in held if type(key) is str]
    heads = {key.partition(".")[0] + "." for key in keys}
    for prefix in ("", *(heads if len(heads) == 1 else ())):
        if len(own & {key.removeprefix(prefix) for key in keys}) * 2 > len(own):
            return prefix
    return None
