"""The failing call with one of its tensors turned: where that fits too, an argument's default was not to blame."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.source import Source

_TURNS = (".transpose(0, 1)", ".transpose(1, 2)")
#: How many are tried.
_MOST = 4


def turned_at(source: Source, line: int) -> Iterator[Edit]:
    """A statement with a tensor that one of its calls is given turned around, in a few ways."""
    statement = source.statement_at(line)
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)] if statement is not None else []
    given = [one for call in calls for one in call.args[:1] if isinstance(one, (ast.Name, ast.Attribute))]
    for place in [one for one in given if one.lineno == one.end_lineno][: _MOST // 2]:
        text = source.line(place.lineno)
        column = len(text.encode()[: place.end_col_offset].decode())
        for turn in _TURNS:
            yield Edit(source.file, place.lineno, place.lineno, text, f"{text[:column]}{turn}{text[column:]}")
