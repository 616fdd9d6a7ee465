"""What a file gives to a name, wherever it may be set: variables, attributes, keywords, keys of dicts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called

#: Methods by which a container gets one value more.
KEEPING = ("append", "appendleft", "extend", "add", "insert")
#: The calls that declare an option of a command line, of argparse, click, typer and absl.
_OPTIONS = ("add_argument", "option", "Option", "DEFINE_string", "DEFINE_integer")
#: Methods of a module that return it.
_HANDS_ON = ("to", "cuda", "cpu", "float", "double", "half", "bfloat16", "train", "eval", "requires_grad_")
#: Functions of torch's that change a module and return it.
_GIVES_BACK = ("parallelize_module", "fully_shard", "replicate")


def targets_of(node: ast.AST) -> list[ast.expr]:
    """What a statement binds: an assignment's targets, that of `x: int = 1`, of `x += 1` and of a loop."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)) else []


def dotted(node: ast.AST) -> str:
    """A name or attribute as it is written, `self.fc`; any other expression's source."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def sets(node: ast.AST, name: str) -> bool:
    """Whether a statement binds a name or attribute alone."""
    return name in map(dotted, targets_of(node))


def binds(node: ast.AST, name: str) -> bool:
    """Whether a statement binds a name or attribute, alone or in a tuple of targets."""
    parts = (part for one in targets_of(node) for part in getattr(one, "elts", [one]))
    return any(dotted(part) == name for part in parts)


def assignments(scope: ast.AST | None, name: str) -> list[Any]:
    """The assignments of a value to a name or attribute alone, in the order of their lines."""
    nodes = ast.walk(scope) if scope is not None else ()
    found = [one for one in nodes if isinstance(one, (ast.Assign, ast.AnnAssign)) and sets(one, name)]
    return sorted((one for one in found if one.value is not None), key=lambda one: one.lineno)


def only_value(scope: ast.AST | None, name: str) -> ast.expr | None:
    """The one value that a scope assigns to a name or attribute; None where there are several."""
    found = assignments(scope, name)
    return found[0].value if len(found) == 1 else None


def before_calls(scope: ast.AST | None, name: str, count: int) -> ast.expr | None:
    """What the value of a name was before so many calls took it: `Net()` of `net = Net()`, `net = DDP(net.to(0))`.

    None where not every assignment of the name is one of these steps.
    """
    found = assignments(scope, name)
    node = found.pop().value if found else None
    for left in range(count, -1, -1):
        node = handed_on(node)
        while isinstance(node, ast.Name):
            value = (found.pop().value if found else None) if node.id == name else only_value(scope, node.id)
            node = handed_on(value)
        if left:
            node = _first_given(node)
    return node if not found else None


def handed_on(node: ast.AST | None) -> Any:
    """A module without the calls that hand it on: `net` of `net.to(device).train()` or `fully_shard(net)`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _HANDS_ON:
            node = node.func.value
        elif called(node) in _GIVES_BACK and node.args:
            node = node.args[0]
        else:
            break
    return node


def _first_given(node: ast.expr | None) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    return next(iter([*node.args, *(one.value for one in node.keywords if one.arg in ("module", "model"))]), None)


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
        yield from ((last_name(target), node.value) for target in targets_of(node))


def registered(call: ast.AST | None) -> tuple[str, ast.expr] | None:
    """The name and the value of `module.register_buffer("mask", value)`; None of another node."""
    if not isinstance(call, ast.Call) or called(call) != "register_buffer" or len(call.args) < 2:
        return None
    return str(getattr(call.args[0], "value", "")), call.args[1]


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


def fields_of(made: ast.ClassDef) -> dict[str, ast.expr | None]:
    """What a dataclass or named tuple is given when it is made, with the defaults; nothing of any other class."""
    marks = (one.func if isinstance(one, ast.Call) else one for one in (*made.decorator_list, *made.bases))
    if not any(last_name(one) in ("dataclass", "NamedTuple") for one in marks):
        return {}
    rows = [one for one in made.body if isinstance(one, ast.AnnAssign)]
    return {last_name(one.target): one.value for one in rows}


def arguments_of(call: ast.Call, names: list[str]) -> dict[str, ast.expr]:
    """What a call gives each of the names, `self` left out; nothing where it is given `*args` or `**kwargs`."""
    parameters = names[1:] if names[:1] == ["self"] else names
    given: dict[str, ast.expr] = dict(zip(parameters, call.args, strict=False))
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    return {} if starred else {**given, **{one.arg: one.value for one in call.keywords if one.arg}}
