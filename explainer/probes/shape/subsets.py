"""Labels of the classes that a program chose out of more, which keep the numbers they had among all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.bindings import assignments
from explainer.edits.place import place_of
from explainer.facts import Settings, SpanFact, TensorFact
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import Source, called

_LABELS = Pattern(r"(?:^|_)(?:y|ys|labels?|targets?|class(?:es)?|cls|digits?|categor\w+|lab)(?:$|_|\b)", re.I)


@frozen
class Chosen:
    """Labels taken by a choice: the `node` that has them, the source of the classes `kept`, `how` they are held."""

    source: Source
    node: ast.expr
    kept: str
    how: str


@probe
def chosen_labels(
    scene: Scene, of: TensorFact | None = None, wrong: Settings | None = None
) -> tuple[SpanFact, ...] | None:
    """The expressions whose labels are those of some classes only: `labels[torch.isin(labels, kept)]`.

    None where the labels `of` are not a few numbers with gaps. `detail.kept` is the source of the classes, `how` what
    the labels are: tensor, array, number (found in a list) or member (found in a set).
    """
    target = scene.objects.get(of.name) if of is not None else None
    if wrong is None or (is_tensor(target) and not _with_gaps(target, wrong["limit"])):
        return None
    every = [one for source in sources(scene) for one in _choices(source)]
    fitting = [one for one in every if _may_hold(one, wrong["value"])] or list(_at_the_loss(scene, of, wrong["value"]))
    kept = {one.kept for one in fitting}
    if len(kept) != 1:
        return None
    return tuple(span_fact(one.source, one.node, kept=one.kept, how=one.how) for one in fitting)


def _at_the_loss(scene: Scene, of: TensorFact | None, value: int) -> Iterator[Chosen]:
    """The labels in the failing call, where samples are chosen by number: `[i for i, y in enumerate(ys) if y in kept]`.

    Only where `kept` means the same there.
    """
    frame = scene.user_frame
    if frame is None or of is None or of.span is None:
        return
    place = place_of(scene.source, of)
    for source in sources(scene):
        for node in (one for one in source.nodes() if isinstance(one, ast.ListComp)):
            tests = [test for part in node.generators for test in part.ifs if isinstance(test, ast.Compare)]
            kept = [test.comparators[0] for test in tests if isinstance(test.ops[0], ast.In)]
            if not isinstance(node.elt, ast.Name) or len(kept) != 1 or len(tests) != 1:
                continue
            held, written = read(kept[0], frame.frame), _numbers(source, source.text(kept[0]))
            if held is not MISSING and type(held) in (list, tuple) and value in held:
                yield Chosen(place.source, place.node, source.text(kept[0]), "tensor")  # type: ignore[arg-type]
            elif written is not None and value in written:
                yield Chosen(place.source, place.node, str(sorted(written)), "tensor")  # type: ignore[arg-type]


def _with_gaps(target: object, limit: int) -> bool:
    """Whether labels are no more numbers than there are classes, though some are larger."""
    try:
        return len(target.unique()) <= limit  # type: ignore[attr-defined]
    except Exception:
        return False


def _may_hold(one: Chosen, value: int) -> bool:
    """Whether a choice may have taken a value: its classes are no numbers that are written out without it."""
    numbers = _numbers(one.source, one.kept)
    if numbers is not None:
        return value in numbers
    return _LABELS.search(one.source.text(one.node)) is not None


def _numbers(source: Source, text: str) -> list[int] | None:
    """The numbers that an expression, or the name that a file gives them, writes out."""
    for value in [text, *(source.text(one.value) for one in assignments(source.tree, text) if one.value is not None)]:
        inner = re.sub(r"^(?:torch\.(?:as_)?tensor|np\.(?:as)?array)\((.*)\)$", r"\1", value)
        try:
            found = ast.literal_eval(inner)
        except (ValueError, SyntaxError):
            continue
        if isinstance(found, (list, tuple, set)) and all(type(one) is int for one in found):
            return list(found)
    return None


def _choices(source: Source) -> Iterator[Chosen]:
    """The labels that a file takes by a mask, or one by one by a test of membership."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) == "isin" and len(node.args) == 2:
            library = source.text(node.func).rpartition(".")[0]
            how = "array" if library in ("np", "numpy") else "tensor"
            yield from _masked(source, node, source.text(node.args[0]), source.text(node.args[1]), how)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            labels, numbers = _equals(source, node)
            if labels and len(numbers) > 1:
                yield from _masked(source, node, labels, f"[{', '.join(map(str, numbers))}]", "tensor")
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.left, ast.Name):
            yield from _members(source, node)


def _equals(source: Source, node: ast.expr) -> tuple[str, list[int]]:
    """What `(y == 3) | (y == 7)` compares, and with which numbers; none where it does anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        (one, first), (other, second) = _equals(source, node.left), _equals(source, node.right)
        return (one, first + second) if one == other else ("", [])
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        number = node.comparators[0]
        if isinstance(number, ast.Constant) and type(number.value) is int:
            return source.text(node.left), [number.value]
    return "", []


def _masked(source: Source, mask: ast.expr, labels: str, kept: str, how: str) -> Iterator[Chosen]:
    """The subscripts of some labels by a mask, or by the name that it is given."""
    scope = source.scope_at(mask.lineno)
    names = [
        source.text(one.targets[0]) for one in ast.walk(scope) if isinstance(one, ast.Assign) and one.value is mask
    ]
    for node in ast.walk(scope):
        by = node.slice if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else None
        if by is not None and source.text(node.value) == labels and (by is mask or source.text(by) in names):  # type: ignore[attr-defined]
            yield Chosen(source, node, kept, how)  # type: ignore[arg-type]


def _members(source: Source, test: ast.Compare) -> Iterator[Chosen]:
    """The uses of a label behind `if label in kept`: in the element of a comprehension, in what is appended."""
    label, kept = test.left.id, source.text(test.comparators[0])  # type: ignore[attr-defined]
    how = "number" if _ordered(source, kept) else "member"
    for node in ast.walk(source.scope_at(test.lineno)):
        parts: list[ast.AST] = []
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(test.ops[0], ast.In):
            parts = [node.elt] if any(test in one.ifs for one in node.generators) else []
        elif isinstance(node, ast.If) and node.test is test and isinstance(test.ops[0], ast.In):
            parts = _appended(node.body)
        elif isinstance(node, ast.For) and isinstance(test.ops[0], ast.NotIn):
            skips = [at for at, one in enumerate(node.body) if isinstance(one, ast.If) and one.test is test]
            parts = _appended(node.body[skips[0] + 1 :]) if skips else []
        for used in (one for part in parts for one in ast.walk(part)):
            if isinstance(used, ast.Name) and used.id == label:
                yield Chosen(source, used, kept, how)


def _appended(body: list[ast.stmt]) -> list[ast.AST]:
    calls = [one for part in body for one in ast.walk(part) if isinstance(one, ast.Call)]
    return [argument for call in calls if called(call) == "append" for argument in call.args]


def _ordered(source: Source, text: str) -> bool:
    """Whether an expression is a list or tuple, or a name for one."""
    values = [ast.parse(text, mode="eval").body, *(one.value for one in assignments(source.tree, text))]
    listed = (ast.List, ast.Tuple, ast.ListComp)
    return any(isinstance(one, listed) or (isinstance(one, ast.Call) and called(one) in ("list", "sorted", "tuple"))
               for one in values)  # fmt: skip
