"""The JSON Schema of the report (`--format json`), made from the classes that the document is made of."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from explainer.diagnosis import (
    SCHEMA_VERSION,
    Diagnosis,
    Edit,
    ErrorFrame,
    Evidence,
    Fix,
    FixSource,
    Label,
    Span,
)

#: The keys of each object; of those that are called otherwise in the class `key=field`.
KEYS: dict[type, str] = {
    Span: "file line column end_line end_column code symbol",
    Label: "file line text",
    Evidence: "label value file line",
    Edit: "file start_line end_line before after",
    FixSource: "kind name file line column",
    Fix: "title certainty checked edits source",
    Diagnosis: (
        "rule family specific certainty headline cause from=origin labels culprit evidence fixes untried notes links"
    ),
    ErrorFrame: "file line function code user",
}
_PLAIN = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def schema() -> dict[str, Any]:
    """The schema of the whole document."""
    text, number = {"type": "string"}, {"type": "integer"}
    nullable = {"text": {"type": ["string", "null"]}, "number": {"type": ["integer", "null"]}}
    error = {
        "type": text,
        "message": text,
        "rank": nullable["number"],
        "language": text,
        "frames": _rows(_ref(ErrorFrame)),
        "chain": _rows(_object({"relation": text, "type": text, "message": text})),
    }
    report = {
        "source": _object({"input": nullable["text"], "line": nullable["number"]}),
        "count": number,
        "error": {"anyOf": [_object(error), {"type": "null"}]},
        "diagnoses": _rows(_ref(Diagnosis)),
        "remarks": _rows(text),
    }
    document = _object({"schema_version": {"const": SCHEMA_VERSION}, "reports": _rows(_object(report))})
    return {**document, "$defs": {kind.__name__: _of_class(kind) for kind in KEYS}}


def _of_class(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    pairs = [(key, field or key) for key, _, field in (each.partition("=") for each in KEYS[kind].split())]
    about = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return {"description": about, **_object({key: _of_type(hints[field]) for key, field in pairs})}


def _of_type(hint: Any) -> dict[str, Any]:
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint in KEYS:
        return _ref(hint)
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if get_origin(hint) in (Union, types.UnionType):
        return {"anyOf": [_of_type(one) for one in get_args(hint)]}
    return _rows(_of_type(get_args(hint)[0]))  # tuple[X, ...]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _rows(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _ref(kind: type) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{kind.__name__}"}
