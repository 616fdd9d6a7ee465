"""The edit that saves a table beside the weights, and takes it from the checkpoint where it was made anew."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed, indentation, inserted, joined
from explainer.edits.place import Place


def save_table(
    at: Place, kept: Place, before: Place, after: Place, name: str, maker: str = "", fields: str = ""
) -> tuple[Edit, ...]:
    """`vocab = Vocab.of(texts)` -> `vocab = Vocab(saved["words"])`, with `"words": vocab.words` in what is saved.

    `at` is the value that is made anew, `kept` the call of `torch.save`, `before` the call that loads the weights,
    `after` the one of `torch.load`. `name` is the table's in the function that saves; `fields` are the attributes, with
    commas between, from which `maker` makes it, "" where it is saved as it is.
    """
    names = fields.split(",") if fields else []
    entries = {one: f"{name}.{one}" for one in names} or {_target(at): name}
    saving = _saving(kept, entries)
    checkpoint, loading = _checkpoint(at, before, after)
    taken = [f'{checkpoint}["{one}"]' for one in entries]
    value = f"{maker}({', '.join(taken)})" if names else taken[0]
    changes = [(at.span, value), *_weights(kept, before, checkpoint)]
    edits = joined(at.source, changed(at.source, changes), *loading)
    return joined(at.source, edits, saving) if at.source.file == kept.source.file else (*edits, *saving)


def _target(at: Place) -> str:
    statement = at.statement().node
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        raise EditError("the table has no name of its own")
    return statement.targets[0].id


def _saving(kept: Place, entries: dict[str, str]) -> tuple[Edit, ...]:
    """More entries for the dict that is saved; weights that were saved alone are put under "model"."""
    given = kept.node.args[0] if isinstance(kept.node, ast.Call) and kept.node.args else None
    more = ", ".join(f'"{key}": {value}' for key, value in entries.items())
    if isinstance(given, ast.Dict) and given.values:
        last = given.values[-1]
        return changed(kept.source, [(kept.source.span(last), f"{kept.source.text(last)}, {more}")])
    if given is None or not kept.source.text(given).endswith("state_dict()"):
        raise EditError("what is saved is no state dict")
    return changed(kept.source, [(kept.source.span(given), f'{{"model": {kept.source.text(given)}, {more}}}')])


def _checkpoint(at: Place, before: Place, after: Place) -> tuple[str, list[tuple[Edit, ...]]]:
    """The name of the checkpoint where the table is made, and the line that loads it first where it has none yet."""
    statement = after.statement().node
    named = isinstance(statement, ast.Assign) and statement.value is after.node
    name = after.source.text(statement.targets[0]) if isinstance(statement, ast.Assign) and named else "checkpoint"
    if after.source.file != at.source.file or before.source.file != at.source.file:
        raise EditError("the checkpoint is loaded elsewhere")
    if named and statement.lineno < at.node.lineno:
        return name, []
    line = at.statement().node.lineno
    return name, [inserted(at.source, line, f"{indentation(at.source, line)}{name} = {after.text}")]


def _weights(kept: Place, before: Place, checkpoint: str) -> list[tuple]:
    """The change of what is loaded into the model where the weights were saved alone."""
    given = before.node.args[0] if isinstance(before.node, ast.Call) and before.node.args else None
    alone = isinstance(kept.node, ast.Call) and not isinstance(kept.node.args[0], ast.Dict)
    if given is None:
        raise EditError("no call that loads stands here")
    return [(before.source.span(given), f'{checkpoint}["model"]')] if alone else []
