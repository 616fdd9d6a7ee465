"""Edits of a dataset's class: a sample returned on every way, a file opened where it is read."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.arguments import add_argument
from explainer.edits.kinds.statements import append_to_body, delete_statement, insert_statement
from explainer.edits.lines import EditError, changed, inserted, joined
from explainer.edits.place import Place
from explainer.source import holds, walked

_PRESENT = '''def collate_present(batch):
    """Collates as by default, without the samples that are None."""
    return torch.utils.data.default_collate([sample for sample in batch if sample is not None])
'''


def collate_present(call: Place) -> tuple[Edit, ...]:
    """`DataLoader(data)` given a collate function, put before it, that leaves out samples that are None."""
    return with_collate(call, _PRESENT)


def with_collate(call: Place, function: str) -> tuple[Edit, ...]:
    """A collate function before the statement that holds a loader, where the file has none yet, and the argument."""
    source = call.source
    top = next((one for one in source.tree.body if holds(one, call.node.lineno)), None)  # type: ignore[union-attr]
    if top is None:
        raise EditError("no statement holds the call")
    first = min([top.lineno, *(one.lineno for one in getattr(top, "decorator_list", []))])
    name = function.removeprefix("def ").partition("(")[0]
    if any(isinstance(one, ast.FunctionDef) and one.name == name for one in source.tree.body):  # type: ignore[union-attr]
        return add_argument(call, f"collate_fn={name}")
    text = function.rstrip("\n") + "\n\n"
    return joined(source, inserted(source, first, text), add_argument(call, f"collate_fn={name}"))


def return_sample(at: Place) -> tuple[Edit, ...]:
    """A function that may end without a `return` given one behind its last statement.

    What the `if` before it returns is taken, without the calls that the `if` is for; else what was computed last.
    """
    function = at.source.function_at(at.statement().node.lineno)
    last = at.at(function.body[-1]) if isinstance(function, ast.FunctionDef) else at.statement()
    node = last.node
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return) and node.body[-1].value is not None:
        return _behind_if(last, node, node.body[-1])
    if not isinstance(function, ast.FunctionDef) or any(isinstance(one, ast.Return) for one in walked(function)):
        raise EditError("what to return is not plain")
    return insert_statement(f"return {_computed(function)}", after=last)


def _behind_if(last: Place, node: ast.If, returned: ast.Return) -> tuple[Edit, ...]:
    text = last.source.text(returned)
    if len(node.body) > 1:  # the branch changes what is returned in any case
        return (*delete_statement(last.at(returned)), *insert_statement(text, after=last))
    value = ast.parse(text.removeprefix("return").strip(), mode="eval").body
    function = last.source.function_at(node.lineno)
    own = {one.arg for one in function.args.args} - {"self"} if function is not None else set()
    bare = _Plain(own).visit(value)
    if not any(isinstance(one, ast.Name) for one in walked(bare)):
        raise EditError("what to return is not plain")
    plain = ast.unparse(bare)
    return insert_statement(f"return {plain[1:-1] if isinstance(value, ast.Tuple) else plain}", after=last)


class _Plain(ast.NodeTransformer):
    """Takes off calls of one argument (`self.augment(crop)` -> `crop`) and methods of parameters (`x.flip(-1)` -> `x`).

    What is left has to read something.
    """

    def __init__(self, own: set[str]):
        self.own = own

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The only argument of a call in its place."""
        if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") in self.own:
            return node.func.value
        return self.visit(node.args[0]) if len(node.args) == 1 and not node.keywords else node


def _computed(function: ast.FunctionDef) -> str:
    """The names that a function assigned and did not read after that; of one statement what it changed."""
    last = function.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Attribute):
        return ast.unparse(last.value.func.value)
    names = [node for node in walked(function) if isinstance(node, ast.Name)]
    read = {node.id: node.lineno for node in names if isinstance(node.ctx, ast.Load)}
    bound = {node.id: node.lineno for node in names if isinstance(node.ctx, ast.Store)}
    found = [name for name, line in bound.items() if line >= read.get(name, 0)]
    if not found and isinstance(last, (ast.Assign, ast.AugAssign)):
        found = [ast.unparse(last.targets[0] if isinstance(last, ast.Assign) else last.target)]
    if not found:
        raise EditError("nothing is computed that could be returned")
    return ", ".join(found)


def open_lazily(at: Place) -> tuple[Edit, ...]:
    """`self.file = open(path)` in `__init__` moved to the methods that read it, which open it when it is not open."""
    statement = at.statement()
    node, owner = statement.node, at.source.class_at(statement.node.lineno)
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or owner is None:
        raise EditError("no attribute is made by a call here")
    name, methods = at.source.text(node.targets[0]), [one for one in owner.body if isinstance(one, ast.FunctionDef)]
    init = next((one for one in methods if one.name == "__init__"), None)
    if init is None:
        raise EditError("the class has no __init__")
    call, kept = _with_fields(at, node.value, init)
    opening = f"if {name} is None:\n    {name} = {call}"
    readers = [one for one in methods if one is not init and _reads(one, name, at)]
    edits = [edit for one in readers for edit in _at_start(at, one, opening)]
    early = any(_reads(one, name, at) for one in init.body if one is not node)
    if early:  # the constructor itself reads from it
        ended = (*append_to_body(at.at(init), f"{name} = None"),)
    else:
        ended = changed(at.source, [(at.source.span(node.value), "None")])
    return (*ended, *(insert_statement(kept, before=statement) if kept else ()), *edits)


def _reads(node: ast.AST, name: str, at: Place) -> bool:
    attributes = [one for one in walked(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
    return any(at.source.text(one) == name for one in attributes)


def _at_start(at: Place, method: ast.FunctionDef, text: str) -> tuple[Edit, ...]:
    body = method.body
    documented = len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[int(documented)]
    if first.lineno == method.lineno:
        raise EditError("the method stands on one line")
    indent = " " * first.col_offset
    return inserted(at.source, first.lineno, "\n".join(indent + line for line in text.split("\n")))


def _with_fields(at: Place, call: ast.Call, init: ast.FunctionDef) -> tuple[str, str]:
    """A call's source with the constructor's parameters read from fields, and what keeps those that no field holds."""
    parameters = {one.arg for one in [*init.args.args, *init.args.kwonlyargs]} - {"self"}
    fields = {}
    for node in init.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            fields[node.value.id] = at.source.text(node.targets[0])
    text, kept = ast.parse(at.source.text(call), mode="eval").body, []
    for name in [one for one in walked(text) if isinstance(one, ast.Name) and one.id in parameters]:
        if name.id not in fields:
            kept.append(f"self.{name.id} = {name.id}")
        name.id = fields.get(name.id, f"self.{name.id}")
    return ast.unparse(text), "\n".join(dict.fromkeys(kept))
