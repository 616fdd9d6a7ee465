"""Where the source asks for CUDA by name, whatever the machine has: `x.cuda()`, `"cuda:0"`, `torch.device("cuda")`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.origin import last_binding
from explainer.probes.places import spanned
from explainer.probes.scene import Scene
from explainer.source import Source


@probe
def asked_cuda(scene: Scene) -> SpanFact | None:
    """The expression that asks for CUDA in the failing call, or in the statement that bound the name it uses.

    `detail.method` tells `x.cuda()` from a device's name, `owner` is the x, `others` how many more such places the file
    has. None where the program asks `torch.cuda.is_available()` in the same statement.
    """
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None:
        return None
    source = failing.source
    found = list(_places(failing.node))
    for name in _names(failing.node) if not found else ():
        bound = last_binding(source, frame, name) or _module_binding(source, name)
        found += list(_places(bound)) if bound is not None else []
    if len(found) != 1:
        return None
    others = len({_span(node) for node in _places(source.tree)}) - 1 if source.tree is not None else 0
    method = isinstance(found[0], ast.Call)
    owner = source.text(found[0].func.value) if method else ""  # type: ignore[attr-defined]
    return spanned(source, found[0], method=method, owner=owner, others=others)


def _span(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _places(tree: ast.AST | None) -> Iterator[ast.AST]:
    """Calls of `.cuda()` without arguments, and strings that name a CUDA device."""
    nodes = list(ast.walk(tree)) if tree is not None else []
    if any(isinstance(node, ast.Attribute) and node.attr == "is_available" for node in nodes) and len(nodes) < 60:
        return
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            if not node.args and not node.keywords:
                yield node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _device(node.value):
            yield node


def _device(text: str) -> bool:
    return text == "cuda" or (text.startswith("cuda:") and text[5:].isdigit())


def _names(node: ast.AST) -> list[str]:
    """The plain names among the arguments of a call."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    given = [part for call in calls for part in (*call.args, *(word.value for word in call.keywords))]
    return list(dict.fromkeys(part.id for part in given if isinstance(part, ast.Name)))


def _module_binding(source: Source, name: str) -> ast.stmt | None:
    """The only statement at the top of a file that binds a name."""
    body = source.tree.body if source.tree is not None else []
    found = [one for one in body if isinstance(one, ast.Assign) and getattr(one.targets[0], "id", None) == name]
    return found[0] if len(found) == 1 else None
