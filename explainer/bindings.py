"""What a file gives to a name, wherever it may be set: variables, attributes, keywords, keys of dicts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.source import Source, called

#: The calls that declare an option of a command line, of argparse, click, typer and absl.
_OPTIONS = ("add_argument", "option", "Option", "DEFINE_string", "DEFINE_integer")


def given_to_name(source: Source, name: str) -> Iterator[ast.expr]:
    """The values that a file gives to a name, wherever `named_values` finds them."""
    yield from (value for node in source.nodes() for one, value in named_values(node) if one == name)


def named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a node itself gives values to, each with its value.

    A node that assigns (variables, attributes, a class's fields), a dict's keys, a keyword, the defaults of parameters
    and of options of a command line.
    """
    if isinstance(node, ast.Dict):
        keys = zip(node.keys, node.values, strict=True)
        yield from ((str(key.value), value) for key, value in keys if isinstance(key, ast.Constant))
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        yield from ((one.arg, value) for one, value in zip(reversed(named), reversed(node.defaults), strict=False))
        yield from ((one.arg, value) for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value)
    elif isinstance(node, ast.Call):
        option = _option(node)
        yield from ((option, word.value) for word in node.keywords if option and word.arg == "default")
    elif isinstance(node, ast.keyword) and node.arg:
        yield node.arg, node.value
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield last_name(target), node.value


def name_of_value(source: Source, node: ast.AST) -> str:
    """The name that a file gives an expression to; empty where to none."""
    found = [name for one in source.nodes() for name, value in named_values(one) if value is node]
    return next((name for name in found if name != "default"), next(iter(found), ""))


def _option(call: ast.Call) -> str:
    """The name under which `parser.add_argument("-l", "--attention-levels", ...)` keeps what it is given."""
    texts = [str(one.value) for one in call.args if isinstance(one, ast.Constant)] if called(call) in _OPTIONS else []
    name = next((one for one in texts if one.startswith("--")), next(iter(texts), ""))
    return name.lstrip("-").replace("-", "_")


def last_name(node: ast.AST) -> str:
    """The name that an expression ends with: an attribute's, a variable's, a constant key's; empty of others."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def arguments_of(call: ast.Call, names: list[str]) -> dict[str, ast.expr]:
    """What a call gives each of the names, `self` left out; nothing where it is given `*args` or `**kwargs`."""
    parameters = names[1:] if names[:1] == ["self"] else names
    given: dict[str, ast.expr] = dict(zip(parameters, call.args, strict=False))
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    return {} if starred else {**given, **{one.arg: one.value for one in call.keywords if one.arg}}
