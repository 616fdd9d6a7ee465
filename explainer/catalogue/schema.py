"""Checks a document against a schema (the small part of JSON Schema that rule files need), with lines in its errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.catalogue.document import Document, Path_
from explainer.catalogue.problem import Problem

KINDS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "object": ("a mapping", dict), "array": ("a list", list), "string": ("a text", str),
    "integer": ("a whole number", int), "number": ("a number", (int, float)), "boolean": ("true or false", bool),
}  # fmt: skip


def problems(document: Document, schema: Mapping[str, Any]) -> list[Problem]:
    """Everything in a document that its schema does not allow."""
    return [document.problem(way, text) for way, text in _check(document.value, schema, ())]


def _check(value: Any, schema: Mapping[str, Any], way: Path_) -> Iterator[tuple[Path_, str]]:
    allowed = schema.get("type")
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if allowed and not any(_is(value, name) for name in allowed):
        yield way, _expected(value, allowed)
        return
    if isinstance(value, str):
        yield from ((way, text) for text in _of_text(value, schema))
    elif isinstance(value, dict):
        yield from _of_mapping(value, schema, way)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield way, f"needs at least {schema['minItems']} of them"
        for place, item in enumerate(value):
            yield from _check(item, schema.get("items", {}), (*way, place))


def _expected(value: Any, allowed: list[str]) -> str:
    said = f"needs {' or '.join(KINDS[name][0] for name in allowed)}, not {_named(value)}"
    return said + (" (put it in quotes)" if "string" in allowed and isinstance(value, (int, float, bool)) else "")


def _named(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return KINDS["object" if isinstance(value, dict) else "array"][0]
    return "nothing" if value is None else repr(value)[:60]


def _is(value: Any, name: str) -> bool:
    return isinstance(value, KINDS[name][1]) and (name == "boolean" or not isinstance(value, bool))


def _of_text(value: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is not one of {', '.join(schema['enum'])}"
    if len(value.strip()) < schema.get("minLength", 0):
        yield "is empty"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{value!r} does not have the form {schema['pattern']}"


def _of_mapping(value: dict[str, Any], schema: Mapping[str, Any], way: Path_) -> Iterator[tuple[Path_, str]]:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield way, f'needs the key "{name}"'
    for name, item in value.items():
        if name in known:
            yield from _check(item, known[name], (*way, name))
        elif others is False:
            yield (*way, name), _unknown(name, known)
        elif "propertyNames" in schema and not re.search(schema["propertyNames"]["pattern"], name):
            yield (*way, name), f"{name!r} does not have the form {schema['propertyNames']['pattern']}"
        elif isinstance(others, Mapping):
            yield from _check(item, others, (*way, name))


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, 1)
    meant = f"; {close[0]!r} may be meant" if close else ""
    return f"is no key here{meant}; allowed: {', '.join(known)}"
