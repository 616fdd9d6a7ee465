"""The schemas of rule files, in the small part of JSON Schema that `schema.py` checks: data only."""

from __future__ import annotations

from typing import Any

FAMILIES = (
    "shape",
    "device",
    "dtype",
    "inplace",
    "autograd",
    "index",
    "device-assert",
    "oom",
    "nan",
    "view",
    "dataloader",
    "distributed",
    "checkpoint",
    "compile",
    "environment",
    "amp",
    "unsupported",
    "api",
    "training",
)
CERTAINTIES = ["possible", "likely", "proved"]
ID = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
STRINGS = {"type": "array", "items": {"type": "string"}}
LANGUAGE = "^[a-z]{2}$"
TEXT = {
    "type": "object",
    "required": ["en"],
    "propertyNames": {"pattern": LANGUAGE},
    "additionalProperties": {"type": "string", "minLength": 1},
}
TEXTS = {
    "type": "object",
    "required": ["en"],
    "propertyNames": {"pattern": LANGUAGE},
    "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
}
LINKS = {"type": "array", "items": {"type": "string", "pattern": "^https?://"}}
#: One failing program or text. It is Python of the rule's author and only ever run by the tests and by `rules check`.
EXAMPLE = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "code": {"type": "string", "description": "a program; the blamed line ends in `# explain: <rule id>`"},
        "repaired": {"type": "string", "description": "the same program, repaired: it must end without an error"},
        "paste": {"type": "string", "description": "a text as a log has it"},
        "recorded": {"type": "string", "description": "what `code` printed where its device was"},
        "files": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "what lies beside `code`, or beside the text of `paste`",
        },
        "needs": {"type": "string", "enum": ["cuda", "mps", "program"], "description": "what `code` cannot do without"},
        "torch": {"type": "string", "pattern": r"^\d+\.\d+$", "description": "the oldest torch that `code` is for"},
        "expect": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "rule": ID,
                "headline": {"type": "string"},
                "checked": {"type": ["string", "boolean"]},
                "certainty": {"type": "string", "enum": CERTAINTIES},
                "culprit": {"type": ["string", "integer"]},
            },
        },
        "silent": {"type": "boolean"},
    },
}
SOME = {"type": "string", "minLength": 1}
TITLED = {"type": "object", "additionalProperties": False, "required": ["title"], "properties": {"title": TEXT}}
SYMPTOM: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["id", "family", "exception", "messages", "text"],
    "properties": {
        "id": {**ID, "description": "the file's name; never changed, never used again"},
        "family": {"type": "string", "enum": list(FAMILIES)},
        "exception": {**STRINGS, "minItems": 1, "description": "last names of exceptions; [any] for any"},
        "messages": {
            "type": "array", "minItems": 1,
            "items": {
                "type": "object", "additionalProperties": False, "required": ["seen", "pattern", "says"],
                "properties": {
                    "seen": {**STRINGS, "minItems": 2, "description": 'first and last torch known to say it, or "?"'},
                    "pattern": {**SOME, "description": "searched in the message, its white space collapsed"},
                    "says": {**SOME, "description": "a real message that the pattern matches"},
                },
            },
        },
        "specific": {"type": "boolean", "description": "false for a catch-all"},
        "raised_in": {**STRINGS, "description": "the innermost frame's file holds one of these; `<user>`: the user's"},
        "raised_at": {**STRINGS, "description": "the innermost frame's line of code holds one of these"},
        "below": {**STRINGS, "description": "the file of torch's innermost frame holds one of these"},
        "runner": {**STRINGS, "description": "only errors that this runner carried over"},
        "text": {
            "type": "object", "additionalProperties": False, "required": ["headline", "why"],
            "properties": {"headline": TEXT, "why": TEXT, "causes": TEXTS, "prevent": TEXT},
        },
        "fixes": {"type": "array", "items": TITLED},
        "links": LINKS,
        "near_misses": {**STRINGS, "description": '"Type: message" texts that this symptom must not match'},
        "examples": {"type": "array", "items": EXAMPLE},
    },
}  # fmt: skip
IDS = {"type": "array", "items": ID}
EDIT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
RULE: dict[str, Any] = {
    "type": "object", "additionalProperties": False,
    "required": ["id", "status", "family", "symptoms", "text", "examples"],
    "properties": {
        "id": {**ID, "description": "the file's name; never changed, never used again"},
        "status": {"type": "string", "enum": ["stable", "beta", "retired"]},
        "family": {"type": "string", "enum": list(FAMILIES)},
        "symptoms": {**IDS, "minItems": 1, "description": "ids of the symptoms under which this cause is looked for"},
        "outranks": {**IDS, "description": "rules that this one comes before where both hold"},
        "links": LINKS,
        "facts": {
            "type": "object", "description": "name -> {probe: name, its arguments, optional: true}",
            "propertyNames": {"pattern": "^[a-z_][a-z0-9_]*$"},
            "additionalProperties": {
                "type": "object", "required": ["probe"],
                "properties": {"probe": {"type": "string"}, "optional": {"type": "boolean"}},
            },
        },
        "let": {
            "type": "object", "description": "name -> jinja template; later ones see earlier ones",
            "propertyNames": {"pattern": "^[a-z_][a-z0-9_]*$"},
        },
        "require": {**STRINGS, "description": "jinja expressions, all of which must hold"},
        "certainty": {"type": "string", "enum": CERTAINTIES, "description": "the most it may claim"},
        "culprit": {"type": "string", "description": "the fact whose span is the line to edit"},
        "labels": {
            "type": "array",
            "items": {
                "type": "object", "additionalProperties": False, "required": ["at", "text"],
                "properties": {"at": {"type": "string"}, "text": TEXT},
            },
        },
        "evidence": {**STRINGS, "description": "facts to show as rows of the operand table"},
        "text": {
            "type": "object", "additionalProperties": False, "required": ["headline", "why"],
            "properties": {"headline": TEXT, "why": TEXT, "from": TEXT, "prevent": TEXT},
        },
        "fixes": {
            "type": "array",
            "items": {
                "type": "object", "additionalProperties": False, "required": ["title"],
                "properties": {
                    "id": ID, "title": TEXT, "needs": STRINGS, "when": {"type": "string"},
                    "edit": EDIT, "edits": {"type": "array", "items": EDIT, "minItems": 1},
                    "check": {"type": "string", "enum": ["operator", "forward", "backward", "program"]},
                },
            },
        },
        "notes": {"type": "array", "items": TEXT},
        "examples": {"type": "array", "items": EXAMPLE, "minItems": 2},
    },
}  # fmt: skip
