"""Edits of what reaches backward: losses summed, values computed inside a loop, states detached, cuts undone."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from explainer.diagnosis import Edit
from explainer.edits.kinds.arguments import drop_argument
from explainer.edits.kinds.inplace import block_of, dropped, index_in
from explainer.edits.lines import EditError, changed, deleted, indentation, inserted, joined, relined, shown
from explainer.edits.place import Place, by_file
from explainer.source import walked

#: Methods that give a mask the dtype of numbers.
_CASTS = ("float", "double", "half", "to", "type", "type_as", "int", "long")


def sum_backwards(at: Place, before: Place) -> tuple[Edit, ...]:
    """`a.backward(); b.backward()` -> `(a + b).backward()`, where no step lies between them."""
    body = block_of(at)
    first, last = index_in(body, at), index_in(body, before)
    if not first < last or any(".step(" in at.source.text(one) for one in body[first:last]):
        raise EditError("a step lies between the two")
    one, other = (_backward(at.at(body[index])) for index in (first, last))
    text = f"({one} + {other}).backward()"
    return joined(at.source, [dropped(at, body[first])], changed(at.source, [(at.source.span(body[last]), text)]))


def backward_of_share(at: Place, kept: Place) -> tuple[Edit, ...]:
    """`total += loss; total.backward()` -> `total += loss.detach(); loss.backward()`; `at` the total that goes back."""
    return changed(at.source, [(kept.span, f"{kept.text}.detach()"), (at.span, kept.text)])


def sum_arguments(at: Place, before: Place) -> tuple[Edit, ...]:
    """`step(a); step(b)` -> `step(a + b)`: two calls of a helper that goes backward become one with the sum."""
    body = block_of(at)
    first, last = (body[index_in(body, one)] for one in (at, before))
    one, other = (getattr(statement, "value", None) for statement in (first, last))
    if not (isinstance(one, ast.Call) and isinstance(other, ast.Call)) or first is last:
        raise EditError("no two calls stand here")
    if ast.dump(one.func) != ast.dump(other.func) or len(one.args) != len(other.args) or one.keywords or other.keywords:
        raise EditError("the calls are of different functions")
    apart = [pair for pair in zip(one.args, other.args, strict=True) if ast.dump(pair[0]) != ast.dump(pair[1])]
    if len(apart) != 1:
        raise EditError("the calls differ in more than a loss")
    text = " + ".join(at.source.text(part) for part in apart[0])
    return joined(at.source, [dropped(at, first)], changed(at.source, [(at.source.span(apart[0][1]), text)]))


def _backward(at: Place) -> str:
    node = getattr(at.node, "value", None)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "backward":
        raise EditError("no backward stands here")
    return at.source.text(node.func.value)


def compute_inside(before: Place, names: Sequence[str]) -> tuple[Edit, ...]:
    """Move the statements that compute some names to just before another, which stands in a loop."""
    goal = before.statement().node
    function = before.source.scope_at(goal.lineno)
    moved = [one for one in walked(function) if isinstance(one, ast.Assign) and _binds(one, names)]  # type: ignore
    moved = sorted((one for one in moved if one.lineno < goal.lineno), key=lambda one: one.lineno)
    if not moved:
        raise EditError("nothing to move")
    indent = indentation(before.source, goal.lineno)
    lines = [line for one in moved for line in before.source.lines[one.lineno - 1 : one.end_lineno]]
    text = "\n".join(indent + line.strip() for line in lines)
    put = Edit(shown(before.source.file), goal.lineno, goal.lineno - 1, None, text)
    return joined(before.source, [put], [dropped(before, one) for one in moved])


def _binds(node: ast.Assign, names: Sequence[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for target in node.targets for one in walked(target))


def detach_after(
    after: Place, names: Sequence[str], container: str = "", at: Place | None = None, kept: Place | None = None
) -> tuple[Edit, ...]:
    """After a statement, cut each state from the graph that made it: `h = h.detach()`; a container part by part.

    `container`: the kinds of containers around its tensors, the outermost first, `list/tuple`.
    `at` is the place that takes the state up again: what is to be blamed, though the line after the statement is new.
    `kept` is a call of backward that keeps the graph, which it need not any more.
    """
    node = after.statement().node
    indent = indentation(after.source, node.lineno)
    text = "\n".join(f"{indent}{name} = {_detached(name, container.split('/'))}" for name in names)
    put = inserted(after.source, (node.end_lineno or 0) + 1, text)
    if kept is None or kept.statement().node is not node:
        return put
    return joined(after.source, drop_argument(kept, "retain_graph"), put)


def detach_value(at: Place, container: str = "") -> tuple[Edit, ...]:
    """`state = last` -> `state = last.detach()`, part by part where it is a container: `list/tuple`."""
    return changed(at.source, [(at.span, _detached(at.source.text(at.node), container.split("/")))])


def _detached(name: str, containers: Sequence[str]) -> str:
    """`name` without its history, part by part where it is a container; `containers`: the outermost first."""
    kind, inside = containers[0] if containers else "", containers[1:]
    forms = {"tuple": "tuple({part} for {own} in {name})", "list": "[{part} for {own} in {name}]",
             "namedtuple": "type({name})(*({part} for {own} in {name}))",
             "dict": "{{key: {part} for key, {own} in {name}.items()}}"}  # fmt: skip
    own = "part" if not inside else "parts"
    return forms[kind].format(part=_detached(own, inside), own=own, name=name) if kind in forms else f"{name}.detach()"


def soft_prediction(at: Place) -> tuple[Edit, ...]:
    """`F.one_hot(logits.argmax(dim=1), n)...` -> `torch.softmax(logits, dim=1)`, also where the argmax has a name."""
    call = at.node
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "argmax"):
        raise EditError("no argmax stands here")
    library = at.source.text(call.func.value) == "torch"
    logits = at.source.text(call.args[0] if library else call.func.value)
    given = [*call.args[1 if library else 0 :], *(word.value for word in call.keywords if word.arg in ("dim", "axis"))]
    text = f"torch.softmax({logits}, dim={at.source.text(given[0]) if given else -1})"
    whole = _one_hot_around(at, call)
    if whole is not None:
        return changed(at.source, [(at.source.span(whole), text)])
    return _named_one_hot(at, call, text)


def _named_one_hot(at: Place, call: ast.Call, text: str) -> tuple[Edit, ...]:
    """`pred = x.argmax(1)` then `pred = F.one_hot(pred, n)...`: the first made soft, the second dropped."""
    statement = at.statement().node
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
        raise EditError("the argmax has no name")
    body = block_of(at)
    for following in body[index_in(body, at) + 1 :]:
        hot = next((one for one in walked(following) if _is_one_hot(one) and _takes(one, target.id)), None)
        if hot is None:
            continue
        whole = _chain(following, hot)
        assigned = following if isinstance(following, ast.Assign) and following.value is whole else None
        if assigned is not None and ast.unparse(assigned.targets[0]) == target.id:
            return joined(at.source, changed(at.source, [(at.span, text)]), [dropped(at, following)])
        return joined(at.source, [dropped(at, statement)], changed(at.source, [(at.source.span(whole), text)]))
    raise EditError("no one_hot follows")


def _takes(call: ast.AST, name: str) -> bool:
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return isinstance(first, ast.Name) and first.id == name


def _is_one_hot(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] == "one_hot"


def _one_hot_around(at: Place, call: ast.Call) -> ast.AST | None:
    statement = at.statement().node
    for one in walked(statement):
        if _is_one_hot(one) and one.args and one.args[0] is call:  # type: ignore[attr-defined]
            return _chain(statement, one)
    return None


def _chain(statement: ast.AST, node: ast.AST) -> ast.AST:
    """The longest chain of method calls that begins with a node: `one_hot(...).permute(...).float()`."""
    for one in walked(statement):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.value is node:
            return _chain(statement, one)
    return node


def drop_decorator(at: Place) -> tuple[Edit, ...]:
    """A decorator taken off the function below it."""
    span = at.span
    if not at.source.line(span.line).lstrip().startswith("@"):
        raise EditError("no decorator stands here")
    return deleted(at.source, span.line, span.end_line or span.line)


def without_call(at: Place) -> tuple[Edit, ...]:
    """What a cutting call was given, in its place: `loss` of `torch.tensor(loss)`, `x` of `x.data`, `p` of `p > 0.5`.

    `torch.tensor([a, b])` becomes `torch.stack([a, b])`.
    """
    node = at.node
    if isinstance(node, ast.Attribute):
        return changed(at.source, [(at.span, at.source.text(node.value))])
    if isinstance(node, ast.Compare):
        whole, left = _cast_of(at, node), node.left
        simple = isinstance(left, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        text = at.source.text(left)
        return changed(at.source, [(at.source.span(whole), text if simple or whole is node else f"({text})")])
    if not isinstance(node, ast.Call) or not node.args:
        raise EditError("no call with an argument stands here")
    first = node.args[0]
    if isinstance(first, (ast.List, ast.ListComp, ast.Tuple)):
        span = dataclasses.replace(at.source.span(node))
        return changed(at.source, [(span, f"torch.stack({at.source.text(first)})")])
    return changed(at.source, [(at.span, at.source.text(first))])


def _cast_of(at: Place, node: ast.Compare) -> ast.AST:
    """`(p > 0.5).float()` around a comparison, else the comparison."""
    for one in walked(at.statement().node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.value is node:
            return one if one.func.attr in _CASTS else node
    return node


def uncut(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """Every cut on the way gives way to what it was given, also those that lie in one another and in several files."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        outer = [one for one in own if not any(one is not other and _holds(other.node, one.node) for other in own)]
        cuts = [place.node for place in own]
        edits += changed(source, [(place.span, _uncut(place, place.node, cuts)) for place in outer])
    return tuple(edits)


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(one is inner for one in walked(outer))


def _uncut(at: Place, node: ast.AST, cuts: Sequence[ast.AST]) -> str:
    """The source of an expression without the cuts in it."""
    if not any(_holds(node, one) for one in cuts):
        return at.source.text(node)
    if not any(node is one for one in cuts):
        return _without(at, node, cuts)
    if isinstance(node, ast.Attribute):
        return _uncut(at, node.value, cuts)
    if not isinstance(node, ast.Call):
        raise EditError("no call stands here")
    method = isinstance(node.func, ast.Attribute) and not node.args
    given = node.func.value if method else node.args[0]  # type: ignore[attr-defined]
    text = _uncut(at, given, cuts)
    return f"torch.stack({text})" if isinstance(given, (ast.List, ast.ListComp, ast.Tuple)) else text


def _without(at: Place, node: ast.AST, cuts: Sequence[ast.AST]) -> str:
    """The source of an expression with its cuts, as far as they are outermost, taken out of the text."""
    text, base = at.source.text(node), at.source.span(node)
    if base.end_line not in (None, base.line):
        raise EditError("the expression goes over several lines")
    inner = [one for one in cuts if _holds(node, one)]
    inner = [one for one in inner if not any(one is not other and _holds(other, one) for other in inner)]
    for one in sorted(inner, key=lambda one: -(at.source.span(one).column or 0)):
        span = at.source.span(one)
        first, last = (span.column or 1) - (base.column or 1), (span.end_column or 1) - (base.column or 1)
        text = text[:first] + _uncut(at, one, cuts) + text[last:]
    return text


def rename_method(at: Place, to: str) -> tuple[Edit, ...]:
    """A method given another name where it is defined: `___init__` -> `__init__`."""
    node = at.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise EditError("no function is defined here")
    line = at.source.line(node.lineno)
    return relined(at.source, node.lineno, node.lineno, line.replace(f"def {node.name}(", f"def {to}(", 1))


def rename_attribute(at: Place, to: str) -> tuple[Edit, ...]:
    """`model.classifier` -> `model.fc` wherever the file has it."""
    if not isinstance(at.node, ast.Attribute):
        raise EditError("no attribute stands here")
    owner = at.source.text(at.node.value)
    alike = [one for one in at.source.nodes() if isinstance(one, ast.Attribute) and at.source.text(one) == at.text]
    return changed(at.source, [(at.source.span(one), f"{owner}.{to}") for one in alike])
