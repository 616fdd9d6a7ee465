"""Where the source asks for CUDA, whatever the machine has: `x.cuda()`, `"cuda:0"`, `torch.cuda.set_device(0)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import targets_of
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.files import nodes_of, sources
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

_DEVICE = Pattern(r"cuda(:\d+)?")
#: Functions of `torch.cuda` that need a GPU, called for what they do, not for what they return.
_ACTS = ("set_device", "synchronize", "reset_peak_memory_stats", "init", "ipc_collect")
#: Calls in which the name of a device asks for none.
_ELSEWHERE = ("autocast", "GradScaler", "startswith", "print", "get", "replace", "split", "manual_seed")
#: How many bindings a name is followed through.
_MOST = 3


@frozen
class Asked:
    """A place that asks for CUDA. `kind`: name, method or act; `parents` are the nodes around it, innermost first."""

    source: Source
    node: ast.expr
    kind: str
    parents: tuple[ast.AST, ...]


@probe
def asked_cuda(scene: Scene) -> SpanFact | None:
    """The expression that asks for CUDA in the failing call, or that a name it uses leads to; else the only one.

    `detail.method` tells `x.cuda()` from a device's name, `owner` is the x, `others` how many more such places the
    program has. None where the program asks `torch.cuda.is_available()` there.
    """
    every = scene.once("asked cuda", lambda: list(_places(scene)))
    found = _blamed(scene, every) if every else None
    if found is None:
        return None
    method = found.kind == "method"
    owner = found.source.text(found.node.func.value) if method else ""  # type: ignore[attr-defined]
    return span_fact(found.source, found.node, method=method, kind=found.kind, owner=owner, others=len(every) - 1)


@probe
def cuda_places(scene: Scene) -> tuple[SpanFact, ...] | None:
    """All places that ask for CUDA, that of `asked_cuda` first; `detail.kind` as there."""
    first, every = asked_cuda(scene), scene.once("asked cuda", lambda: list(_places(scene)))
    if first is None:
        return None
    facts = [span_fact(one.source, one.node, kind=one.kind) for one in every]
    return tuple(sorted(facts, key=lambda one: one.span != first.span))


def _blamed(scene: Scene, every: list[Asked]) -> Asked | None:
    """The one in the failing call; in what binds the names that it uses; the only one of the program."""
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None:
        beside = [one for one in every if frame is not None and one.source.file == frame.file]
        return beside[0] if len(beside) == 1 else None
    within = {id(node) for node in ast.walk(failing.node)}
    here = [one for one in every if id(one.node) in within]
    if here:
        return here[0] if len(here) == 1 else None
    names = _names(failing.node)
    near = [last_binding(failing.source, frame, name) for name in names]
    bound = {id(node) for statement in near if statement is not None for node in ast.walk(statement)}
    here = [one for one in every if id(one.node) in bound]
    here = here or [one for one in every if _bound_names(one) & _followed(scene, set(names))]
    here = here or (every if len(every) == 1 else [])
    return here[0] if len(here) == 1 else None


def _names(node: ast.AST) -> list[str]:
    """The last names in the arguments of a call: `device` of `cfg.device`, of `cfg["device"]`, of `device`."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    given = [part for call in calls for part in (*call.args, *(word.value for word in call.keywords))]
    return list(dict.fromkeys(name for part in given for name in _last_names(part)))


def _last_names(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
        elif isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant):
            yield str(one.slice.value)


def _followed(scene: Scene, names: set[str]) -> set[str]:
    """Names, with those that stand in what is assigned to them anywhere in the program."""
    assigned = [node for source, node in nodes_of(scene, ast.Assign)]
    for _ in range(_MOST):
        values = [one.value for one in assigned if any(names & set(_last_names(target)) for target in one.targets)]
        names = names | {name for value in values for name in _last_names(value)}
    return names - {"torch", "self"}


def _bound_names(one: Asked) -> set[str]:
    """The names that a place gives its value: of a target, keyword, dict key, option, parameter or function."""
    found: set[str] = set()
    inner: ast.AST = one.node
    for outer in one.parents:
        if isinstance(outer, (ast.Assign, ast.AnnAssign)):
            found |= {name for target in targets_of(outer) for name in _last_names(target)}
        elif isinstance(outer, ast.keyword):
            found |= {outer.arg or ""}
        elif isinstance(outer, ast.Dict):
            pairs = zip(outer.keys, outer.values, strict=True)
            found |= {str(key.value) for key, value in pairs if value is inner and isinstance(key, ast.Constant)}
        elif isinstance(outer, ast.Call) and called(outer) == "add_argument":
            found |= {str(part.value).strip("-") for part in outer.args if isinstance(part, ast.Constant)}
        elif isinstance(outer, ast.arguments):
            optional = zip(reversed(outer.args), reversed(outer.defaults), strict=False)
            found |= {arg.arg for arg, value in optional if value is inner}
        elif isinstance(outer, ast.FunctionDef):
            found |= {outer.name} if any(isinstance(part, ast.Return) for part in one.parents) else set()
            break
        inner = outer
    return found - {"default"}


def _places(scene: Scene) -> Iterator[Asked]:
    """The places of the program that ask for CUDA without asking whether there is any."""
    files = sources(scene)
    assigned = [(one, node) for one in files for node in one.nodes() if isinstance(node, ast.Assign)]
    known = {name for one, node in assigned if "is_available" in one.text(node.value)
             for target in node.targets for name in _last_names(target)}  # fmt: skip
    for source in files:
        parents = {id(child): node for node in source.nodes() for child in ast.iter_child_nodes(node)}
        for node in source.nodes():
            kind = _kind(source, node)
            around = tuple(_around(node, parents)) if kind else ()
            if kind and not _guarded(source, node, around, known - {"self", "torch"}):
                yield Asked(source, node, kind, around)  # type: ignore[arg-type]


def _around(node: ast.AST, parents: dict[int, ast.AST]) -> Iterator[ast.AST]:
    while id(node) in parents:
        node = parents[id(node)]
        yield node


def _kind(source: Source, node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "cuda" and source.text(node.func) != "torch.cuda":
            return "method"
        return "act" if source.text(node.func).startswith("torch.cuda.") and node.func.attr in _ACTS else ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _DEVICE.fullmatch(node.value):
        return "name"
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
    return "name" if isinstance(first, ast.Constant) and str(first.value).startswith("cuda") else ""


def _guarded(source: Source, node: ast.AST, around: tuple[ast.AST, ...], known: set[str]) -> bool:
    """Whether a place asks first, by itself or by a name that holds the answer, or names no device to use."""
    outer = around[0] if around else None
    if isinstance(outer, (ast.Compare, ast.List, ast.Set, ast.Tuple, ast.Expr, ast.JoinedStr)) and _is_text(node):
        return True
    if isinstance(outer, ast.Call) and called(outer) in _ELSEWHERE:
        return True
    if isinstance(outer, ast.Dict) and any(key is node for key in outer.keys):
        return True
    if isinstance(outer, ast.keyword) and outer.arg in ("device_type", "help", "choices"):
        return True
    tests = [one.test for one in around if isinstance(one, (ast.If, ast.IfExp, ast.While))]
    tests += [one for one in around if isinstance(one, ast.BoolOp)]
    return any("is_available" in source.text(test) or known & set(_last_names(test)) for test in tests)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, (ast.Constant, ast.JoinedStr))
