"""What a file gives to a name, wherever it may be set: variables, attributes, keywords, keys of dicts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.source import Source, called


def given_to_name(source: Source, name: str) -> Iterator[ast.expr]:
    """The values that a file gives to a name: of a variable, an attribute, a class's field, a keyword, a dict's key.

    So are the defaults of parameters and of options of a command line.
    """
    for node in source.nodes():
        if isinstance(node, ast.Dict):
            keys = zip(node.keys, node.values, strict=True)
            yield from (value for key, value in keys if isinstance(key, ast.Constant) and key.value == name)
        elif isinstance(node, ast.arguments):
            pairs = zip(reversed(node.args), reversed(node.defaults), strict=False)
            yield from (default for one, default in pairs if one.arg == name)
        elif isinstance(node, ast.Call) and _option(node) == name:
            yield from (word.value for word in node.keywords if word.arg == "default")
        elif isinstance(node, ast.keyword) and node.arg == name:
            yield node.value
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(last_name(one) == name for one in targets):
                yield node.value


def _option(call: ast.Call) -> str:
    """The name under which `parser.add_argument("--attention-levels", ...)` keeps what it is given."""
    first = call.args[0] if call.args and called(call) == "add_argument" else None
    written = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return written.lstrip("-").replace("-", "_")


def last_name(node: ast.AST) -> str:
    """The name that an expression ends with: an attribute's, a variable's, a constant key's; empty of others."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
