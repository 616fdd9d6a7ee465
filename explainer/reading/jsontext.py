"""Errors inside JSON: notebooks, structured logs, Sentry events; each becomes the text that a terminal would show."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from explainer.reading.rows import Row

#: Where a structured log line keeps its own text.
_FIELDS = ("log", "message", "msg", "text", "line", "textPayload", "MESSAGE", "event", "data")
#: Where it says which of a process's streams that was.
_STREAMS = ("stream_name", "stream")
#: What a text of several lines must hold to be an error's.
_TELLING = ("Traceback (most", 'File "', "Error", "Exception: ")
_DEEPEST = 10_000


def from_document(text: str) -> list[Row] | None:
    """The rows of the errors of a text that is one JSON document; None where it is none or holds no error."""
    start = text[:200].lstrip("\ufeff \t\r\n")[:1]
    if start not in ("{", "["):
        return None
    value = _parsed(text)
    if not isinstance(value, dict | list):
        return None
    found = list(dict.fromkeys(_texts(value)))
    number = text[: max(text.find("raceback"), 0)].count("\n") + 1
    return [Row(line, number) for one in found for line in (*_lines(one), "")] or None


def from_lines(rows: list[Row]) -> list[Row]:
    """The rows, those that are JSON objects of a log replaced by what they say."""
    out: list[Row] = []
    for row in rows:
        text = row.text.strip()
        if text[:1] in ("[", ",") or text[-1:] in ("]", ","):  # one of the objects of a list that is a line each
            text = text.strip("[], ")
        said = _said(text) if text[:1] == "{" and text[-1:] == "}" and len(text) > 8 else None
        if said is None:
            out.append(row)
        else:
            out += [Row(line, row.number) for line in (*_lines(said), *([""] if "\n" in said else []))]
    return out


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _said(text: str) -> str | None:
    value = _parsed(text)
    if not isinstance(value, dict):
        return None
    found = next(_texts(value), None)
    if found is not None:
        return found
    plain = next((value[field] for field in _FIELDS if isinstance(value.get(field), str)), None)
    return plain.removesuffix("\n") if plain is not None else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value that shows an error, outermost first; a list of lines is one text."""
    todo, seen = deque([value]), 0
    while todo and seen < _DEEPEST:
        one, seen = todo.popleft(), seen + 1
        if isinstance(one, dict):
            shown = _shown(one)
            if shown is not None:
                yield shown
            else:
                todo += one.values()
        elif isinstance(one, list):
            joined = "".join(one) if one and all(isinstance(line, str) for line in one) else _records(one)
            todo += [joined] if "Traceback" in joined else one
        elif isinstance(one, str) and "\n" in one.rstrip() and any(word in one for word in _TELLING):
            yield one


def _records(items: list[Any]) -> str:
    """What the records of a log say together, a stream after the other; empty where they are no such records."""
    streams: dict[str, list[str]] = {}
    for one in items:
        said = next((one[field] for field in _FIELDS if isinstance(one.get(field), str)), None) if _flat(one) else None
        if said is not None:
            name = next((str(one[field]) for field in _STREAMS if field in one), "")
            streams.setdefault(name, []).append(said)
    whole = len(items) > 1 and 2 * sum(map(len, streams.values())) > len(items)
    ends = all(one.endswith("\n") for parts in streams.values() for one in parts[:-1] if "\n" not in one[:-1])
    return "\n".join(("" if ends else "\n").join(parts) for parts in streams.values()) if whole else ""


def _flat(value: Any) -> bool:
    """Whether a value is a record: an object of plain values."""
    return isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values())


def _shown(value: dict[str, Any]) -> str | None:
    """A notebook's error output, or an event's exception, as its traceback."""
    lines = value.get("traceback")
    if "ename" in value and isinstance(lines, list):
        return "\n".join(str(line) for line in lines)
    frames = (value.get("stacktrace") or {}).get("frames") if isinstance(value.get("stacktrace"), dict) else None
    if "type" in value and isinstance(frames, list):
        said = f"{value['type']}: {value['value']}" if value.get("value") else str(value["type"])
        return "\n".join(["Traceback (most recent call last):", *_frames(frames), said])
    return None


def _frames(frames: list[Any]) -> Iterator[str]:
    for one in frames:
        if isinstance(one, dict):
            file = one.get("abs_path") or one.get("filename") or one.get("module") or "<unknown>"
            yield f'  File "{file}", line {one.get("lineno") or 0}, in {one.get("function") or "<module>"}'
            if isinstance(one.get("context_line"), str) and one["context_line"].strip():
                yield f"    {one['context_line'].strip()}"
