"""Makes a script that fails smaller: settings of layers that the error does without are left out, each tried."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


def smaller(script: str, holds: Callable[[str], Any]) -> str:
    """The script without the optional keyword arguments of layers that do not matter for the error."""
    try:
        tree = ast.parse(script)
    except SyntaxError:
        return script
    best = script
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _layer(node)]:
        for word in list(call.keywords):
            if word.arg in ("device", "dtype"):
                continue
            call.keywords.remove(word)
            shorter = _respelled(best, script, call)
            if shorter is not None and holds(shorter):
                best = shorter
            else:
                call.keywords.append(word)
    return best


def _layer(node: ast.Call) -> bool:
    return ast.unparse(node.func).startswith("nn.") and bool(node.keywords)


def _respelled(text: str, original: str, call: Any) -> str | None:
    """The text with the line that holds a call written anew from the call's tree."""
    lines, spelled = text.split("\n"), original.split("\n")[call.lineno - 1]
    segment = ast.get_source_segment(original, call)
    if segment is None or call.lineno != call.end_lineno:
        return None
    lines[call.lineno - 1] = spelled.replace(segment, ast.unparse(call).replace("'", '"'))
    return "\n".join(lines)
