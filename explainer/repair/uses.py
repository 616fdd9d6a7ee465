"""What the numbers of a program are for, told by where they go: a batch is no padding, a count of steps no width."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping

from explainer.bindings import arguments_of, last_name, named_values
from explainer.edits.evidence import Evidence
from explainer.edits.kinds.arguments import parameters_of
from explainer.edits.place import Place
from explainer.source import Source, called, parsed_source, walked

#: What torch's parameters take, by what it is for.
_PARAMETERS = {
    "width": "in_channels out_channels in_features out_features num_features normalized_shape num_channels embed_dim "
    "d_model hidden_size input_size embedding_dim dim_feedforward kdim vdim num_classes num_embeddings",
    "window": "kernel_size stride padding dilation output_padding",
    "parts": "groups num_groups num_heads nhead",
    "batch": "batch_size",
    "steps": "T_max T_0 total_steps total_iters steps_per_epoch epochs step_size",
}
#: The parameters of torch's layers and schedulers, and what kind of number each takes.
OF_LAYERS = {name: kind for kind, names in _PARAMETERS.items() for name in names.split()}
#: How far a number is followed from name to name.
_ROUNDS = 4
Kinds = Mapping[str, frozenset[str]]


def misplaced(evidence: Evidence, before: ast.AST | None, after: ast.AST | None) -> bool:
    """Whether an edit gives a call a number that the program uses for something else, and only for that.

    Of a parameter that nothing is known of, only this: a count of steps is none of its own.
    """
    kinds = uses(evidence)
    return any(
        kinds.get(name, wanted).isdisjoint(wanted) if wanted else kinds.get(name) == {"steps"}
        for wanted, names in _given_anew(evidence, before, after)
        for name in names
    )


def misnamed(evidence: Evidence, before: ast.AST | None, after: ast.AST | None) -> bool:
    """Whether what has the name of the parameter or target that it is for, `f(cfg.modes)` of `def f(modes)`, gives way.

    Not where how many there are is counted in its place.
    """
    for was, now in _values_by_name(evidence, before, after):
        own = [name for name, value in was.items() if name and name in now and _is_named(value, name)]
        if any(not _is_named(now[name], name, anywhere=True) and not _counts(now[name]) for name in own):
            return True
    return False


def _values_by_name(
    evidence: Evidence, before: ast.AST | None, after: ast.AST | None
) -> Iterator[tuple[Mapping[str, ast.expr], Mapping[str, ast.expr]]]:
    """What the calls and assignments at the same places of two statements give to parameters and targets."""
    for one, other in _same_places(before, after):
        if isinstance(one, ast.Assign) and isinstance(other, ast.Assign):
            yield dict(named_values(one)), dict(named_values(other))
    for one, other in _same_calls(before, after):
        yield arguments_of(one, evidence.parameters(one)), arguments_of(other, evidence.parameters(other))


def _is_named(value: ast.expr, name: str, anywhere: bool = False) -> bool:
    """Whether a value, or anything in it, is called as what it is for: `cfg.modes`, `n_modes`, or `modes` for those."""
    names = _names(value) if anywhere else {last_name(value)}
    return any(one == name or one.endswith(f"_{name}") or name.endswith(f"_{one or '?'}") for one in names)


def _counts(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called(value) in ("len", "size")


def uses(evidence: Evidence) -> Kinds:
    """What each name of a number is used for in the program: through calls, attributes and parameters."""
    if evidence.uses is None:
        evidence.uses = _uses(evidence)
    return evidence.uses


def _uses(evidence: Evidence) -> Kinds:
    known: dict[str, set[str]] = defaultdict(set)
    goes: list[tuple[str, str]] = []
    for source in evidence.sources_seen():
        for node in source.nodes():
            goes += [(last_name(value), name) for name, value in named_values(node) if last_name(value)]
            if isinstance(node, ast.For):
                known[_count_of_steps(node)].add("steps")
            for name, value in _given(evidence, source, node) if isinstance(node, ast.Call) else ():
                known[value].update(_kinds_of(name))
                goes += [(value, name)] if name not in OF_LAYERS else []
    goes += _unpacked_alike(evidence)
    for _ in range(_ROUNDS):
        for value, name in goes:
            known[value] |= known.get(name, set())
    return {name: frozenset(kinds) for name, kinds in known.items() if kinds and name}


def _unpacked_alike(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """The names that loops over rows of the same name give to the same column: `k` and `kernel` of `self.layers`."""
    columns: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Tuple):
                names = [last_name(one) for one in node.target.elts]
                for at, name in enumerate(names if last_name(node.iter) else ()):
                    columns[last_name(node.iter), len(names), at].add(name)
    for alike in columns.values():
        yield from itertools.permutations(alike, 2)


def parameter_of(source: Source, node: ast.AST, evidence: Evidence) -> str:
    """What takes a number where it is written: a parameter of a call, one that it is the default of, a name or key."""
    parent = source.parent_of(node)
    while isinstance(parent, (ast.Tuple, ast.List)):
        node, parent = parent, source.parent_of(parent)
    if isinstance(parent, ast.Call):
        return next((name for name, value in _arguments(evidence, source, parent).items() if value is node), "")
    found = named_values(parent) if parent is not None else ()
    name = next((name for name, value in found if value is node), "")
    call = source.parent_of(parent) if name == "default" and parent is not None else None  # of a command line's option
    return next((option for option, _ in named_values(call)), "") if isinstance(call, ast.Call) else name


def _kinds_of(parameter: str) -> set[str]:
    """What a parameter of torch's takes; what a window's is for is said more closely."""
    kind = OF_LAYERS.get(parameter)
    return set() if kind is None else {kind, parameter} if kind == "window" else {kind}


def _count_of_steps(loop: ast.For) -> str:
    """The name of how often a loop takes a step of training: `range(n)` around a backward."""
    call = loop.iter
    if not isinstance(call, ast.Call) or called(call) != "range" or len(call.args) != 1:
        return ""
    steps = any(isinstance(one, ast.Call) and called(one) == "backward" for one in walked(loop))
    return last_name(call.args[0]) if steps else ""


def _given(evidence: Evidence, source: Source, call: ast.Call) -> Iterator[tuple[str, str]]:
    """The parameters of a call with the names that make what it gives them; the step of a `range` is a batch."""
    if called(call) == "range" and len(call.args) == 3:
        yield "batch_size", last_name(call.args[2])
    for name, value in _arguments(evidence, source, call).items():
        yield from ((name, one) for one in _names(value))


def _arguments(evidence: Evidence, source: Source, call: ast.Call) -> Mapping[str, ast.expr]:
    return arguments_of(call, evidence.parameters(call) or parameters_of(Place(source, call)))


def _given_anew(
    evidence: Evidence, before: ast.AST | None, after: ast.AST | None
) -> Iterator[tuple[frozenset[str], set[str]]]:
    """What each changed argument is for, with the names that an edit brings there."""
    kinds = uses(evidence)
    for one, other in _same_calls(before, after):
        parameters = evidence.parameters(other) or _of_torch(other)
        was, now = arguments_of(one, parameters), arguments_of(other, parameters)
        for name, value in now.items():
            wanted = frozenset(_kinds_of(name)) or kinds.get(name, frozenset())
            new = _names(value) - _names(was.get(name))
            if new and (wanted or evidence.parameters(other)):
                yield wanted, new


def _same_calls(before: ast.AST | None, after: ast.AST | None) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The calls of the same functions at the same places of two statements."""
    for one, other in _same_places(before, after):
        if isinstance(one, ast.Call) and isinstance(other, ast.Call) and called(one) == called(other):
            yield one, other


def _same_places(before: ast.AST | None, after: ast.AST | None) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes at the same places of two statements; none where one is not known."""
    if before is not None and after is not None:
        yield from zip(walked(before), walked(after), strict=False)


def _of_torch(call: ast.Call) -> list[str]:
    return parameters_of(Place(parsed_source("", ""), call))


def _names(value: ast.expr | None) -> set[str]:
    """The names that a value is, or is computed of."""
    if value is None:
        return set()
    methods = {id(one.func) for one in walked(value) if isinstance(one, ast.Call)}  # what those are called on counts
    inner = {id(one.value) for one in walked(value) if isinstance(one, ast.Attribute) and id(one) not in methods}
    return {last_name(one) for one in walked(value) if last_name(one) and id(one) not in inner}
