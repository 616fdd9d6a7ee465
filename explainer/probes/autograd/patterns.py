"""Tests of parameters' names that no parameter passes: where they stand, and where the text that they look for is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.graph import named_modules
from explainer.probes.dtype.meant import Test, changes_of
from explainer.probes.files import nodes_of
from explainer.probes.literals import texts_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

_NAMED = ("named_parameters", "named_modules", "named_children")
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


@probe
def absent_name(scene: Scene) -> SpanFact | None:
    """The test of names that was to leave some parameters trainable and that none of a frozen model's passes.

    `detail`: the `model`, its `count` of parameters, the `texts` looked for, the `way` ("in", "startswith", ...), and
    up to eight of the `names` that there are.
    """
    found = scene.once("absent name", lambda: _absent(scene))
    if found is None:
        return None
    test, name, module = found
    texts = tuple(one.value for one in test.texts)
    names = tuple(key for key, _ in module.named_parameters())
    parts = tuple(dict.fromkeys(".".join(part for part in key.split(".") if not part.isdigit()) for key in names))[:8]
    return span_fact(test.source, test.node, model=name, count=len(names), texts=texts, way=test.way, names=parts)


@probe
def other_name(scene: Scene, of: SpanFact | None = None, index: int = 0) -> SpanFact | None:
    """One of the changes after which some parameters pass a test: its place, and in `to` what should stand there."""
    found = scene.once("absent name", lambda: _absent(scene))
    changes = list(dict.fromkeys(changes_of(found[0], found[2]))) if found is not None else []
    if index >= len(changes):
        return None
    source, node, text = changes[index]
    return span_fact(source, node, to=text)


def _absent(scene: Scene) -> tuple[Test, str, Any] | None:
    models = [(name, module) for name, module in named_modules(scene) if next(module.parameters(), None) is not None]
    optimizer = scene.captures.get("element") is None
    for test in _tests(scene):
        for name, module in models:
            frozen_all = not any(one.requires_grad for one in module.parameters())
            keys = [key for key, _ in module.named_parameters()]
            chooses = optimizer and isinstance(_holder(test), _COMPREHENSIONS)
            if (frozen_all or chooses) and not any(map(test.holds, keys)):
                return test, name, module
    return None


def _holder(test: Test) -> ast.AST | None:
    """The loop or comprehension in which a test stands, the innermost."""
    found = [one for one in test.source.nodes() if isinstance(one, (ast.For, *_COMPREHENSIONS))]
    around = [one for one in found if any(part is test.node for part in ast.walk(one))]
    named = [one for one in around if _named(one) is not None]
    return max(named, key=lambda one: one.lineno, default=None)


def _tests(scene: Scene) -> Iterator[Test]:
    """The tests of names whose passing leaves a parameter trainable or gives it to an optimizer."""
    for source, loop in nodes_of(scene, ast.AST):
        name = _named(loop)
        if name is None:
            continue
        for node in ast.walk(loop):
            test = _test(scene, source, node, name)
            if test is not None and _trains(loop, test.node):
                yield test


def _named(loop: ast.AST) -> str | None:
    """`name` of `for name, p in net.named_parameters()`, in a statement or a comprehension."""
    over = loop if isinstance(loop, ast.For) else None
    if isinstance(loop, _COMPREHENSIONS):
        over = loop.generators[0]  # type: ignore[assignment]
    if over is None or not isinstance(over.target, ast.Tuple):
        return None
    walked = any(isinstance(one, ast.Call) and called(one) in _NAMED for one in ast.walk(over.iter))
    first = next((one.id for one in ast.walk(over.target) if isinstance(one, ast.Name)), None)
    return first if walked else None


def _test(scene: Scene, source: Source, node: ast.AST, name: str) -> Test | None:
    """A comparison of the loop's name with texts that are known; an `any(k in name for k in KEYS)` is one."""
    if isinstance(node, ast.Call) and called(node) == "any" and node.args and isinstance(node.args[0], _COMPREHENSIONS):
        inner = node.args[0]
        each = inner.generators[0]
        compared = _compared(inner.elt, name)
        if compared is not None and ast.dump(compared[0]) == ast.dump(_loaded(each.target)):
            texts = tuple(texts_of(scene, source, each.iter))
            return Test(source, node, name, compared[1], texts, source.text(each.iter)) if texts else None
        return None
    compared = _compared(node, name)
    texts = tuple(texts_of(scene, source, compared[0])) if compared is not None else ()
    if compared is None or not texts:
        return None
    several = len(texts) > 1 or not isinstance(compared[0], ast.Constant)
    return Test(source, node, name, compared[1], texts, source.text(compared[0]) if several else "")  # type: ignore


def _loaded(node: ast.AST) -> ast.AST:
    return ast.Name(node.id, ast.Load()) if isinstance(node, ast.Name) else node


def _compared(node: ast.AST, name: str) -> tuple[ast.expr, str] | None:
    """What a name is compared with, and how: in, startswith, endswith, equal, first (its part before a dot), search."""
    if isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if called(node) in ("startswith", "endswith") and _is(owner, name) and node.args:
            return node.args[0], called(node)
        searched = called(node) in ("search", "match", "fullmatch") and len(node.args) > 1 and _is(node.args[1], name)
        return (node.args[0], called(node)) if searched else None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right, sign = node.left, node.comparators[0], node.ops[0]
    if isinstance(sign, (ast.In, ast.NotIn)) and _is(right, name):
        return left, "in"
    if _is(left, name):
        return right, "equal"
    return (right, "first") if _is_first(left, name) else None


def _is(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_first(node: ast.AST, name: str) -> bool:
    """Whether this is `name.split(".")[0]`."""
    inner = node.value if isinstance(node, ast.Subscript) else None
    split = isinstance(inner, ast.Call) and called(inner) in ("split", "partition")
    return split and isinstance(inner.func, ast.Attribute) and _is(inner.func.value, name)  # type: ignore[union-attr]


def _trains(loop: ast.AST, test: ast.expr) -> bool:
    """Whether passing a test leaves a parameter trainable, or chooses it in a comprehension."""
    if isinstance(loop, _COMPREHENSIONS):
        kept = loop.generators[0].ifs
        return any(_positive(one, test) for one in kept)
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and _positive(node.test, test) is not None:
            left = _sets(node.body)
            left = left if left is not None else _opposite(_sets(node.orelse))
            return left is not None and left == _positive(node.test, test)
        value = _given(node)
        if value is not None and _positive(value, test) is not None:
            return bool(_positive(value, test))
    return False


def _given(node: ast.AST) -> ast.expr | None:
    """What `requires_grad` is set to by a statement."""
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "attr", "") == "requires_grad":
        return node.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value) == "requires_grad_":
        return node.value.args[0] if node.value.args else ast.Constant(True)
    return None


def _sets(body: list[ast.stmt]) -> bool | None:
    """What a branch makes of `requires_grad`; one that goes on to the next name lets it be."""
    for node in (part for one in body for part in ast.walk(one)):
        value = _given(node)
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            return value.value
        if isinstance(node, ast.Continue):
            return True
    return None


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def _positive(whole: ast.expr, test: ast.expr) -> bool | None:
    """Whether an expression is true where a test in it holds; None where the test is no part of it."""
    around = [one for one in ast.walk(whole) if any(part is test for part in ast.walk(one))]
    if not around:
        return None
    turned = sum(isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not) for one in around)
    turned += isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotIn, ast.NotEq))
    return turned % 2 == 0
