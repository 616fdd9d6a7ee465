"""The edit that leaves samples out of a dataset before batches are made, where a collate function left them out."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed, indentation, inserted, joined
from explainer.edits.place import Place, by_file
from explainer.source import stored, walked

_SCOPES = (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Lambda)
_SUBSET = "torch.utils.data.Subset"


def only_present(each: tuple[Place, ...], target: str, condition: str) -> tuple[Edit, ...]:
    """`loader = DataLoader(data, ...)` -> `data = Subset(data, [i for i in range(len(data)) if ...])` before it.

    `each` are the datasets that loaders are given. `target` stands for one sample in the `condition` under which it
    stays. EditError for a loader that is built inside a comprehension.
    """
    edits: list[Edit] = []
    for source, places in by_file(each):
        if any(isinstance(one, _SCOPES) and _holds(one, place) for one in source.nodes() for place in places):
            raise EditError("the loader is built inside a comprehension")
        lines: dict[int, str] = {}
        changes: list[tuple[Span, str]] = []
        for number, place in enumerate(places):
            name, first = _name(place, number), place.statement().node.lineno
            if place.text != name:
                changes.append((place.span, name))
            text = _made(place, name, _chosen(name, target, condition))
            if text not in lines.get(first, ""):
                lines[first] = lines.get(first, "") + text
        put = [inserted(source, line, text.rstrip("\n")) for line, text in lines.items()]
        edits += joined(source, *put, changed(source, changes) if changes else ())
    return tuple(edits)


def _holds(outer: ast.AST, place: Place) -> bool:
    return any(one is place.node for one in walked(outer))


def _name(place: Place, number: int) -> str:
    """The dataset's own name where the scope of the loader binds it, else a new one."""
    node = place.node
    scope = place.source.scope_at(place.line)
    bound = stored(scope) | {one.arg for one in walked(scope) if isinstance(one, ast.arg)}
    if isinstance(node, ast.Name) and node.id in bound:
        return node.id
    free = (name for name in ("present", "readable", "usable") if name not in bound)
    return next(free) + (f"_{number + 1}" if number else "")


def _made(place: Place, name: str, chosen: str) -> str:
    """The statements before the one that builds a loader, each with its line's end."""
    indent = indentation(place.source, place.statement().node.lineno)
    bound = "" if place.text == name else f"{indent}{name} = {place.text}\n"
    return f"{bound}{indent}{name} = {_SUBSET}({name}, [{chosen}])\n"


def _chosen(name: str, target: str, condition: str) -> str:
    """The indices of the samples that stay: each sample is read once."""
    tree = ast.parse(condition, mode="eval")
    uses = [one for one in walked(tree) if isinstance(one, ast.Name) and one.id == target]
    if len(uses) != 1:
        return f"i for i, {target} in enumerate({name}[j] for j in range(len({name}))) if {condition}"
    return f"i for i in range(len({name})) if {ast.unparse(_Put(target, f'{name}[i]').visit(tree))}"


class _Put(ast.NodeTransformer):
    """Puts an expression in the place of a name."""

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The expression for the name; other names stay."""
        return ast.parse(self.text, mode="eval").body if node.id == self.name else node
