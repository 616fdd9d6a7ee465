"""The JSON Schemas of rule files, for editors, made from what the catalogue itself checks files against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from explainer.catalogue.schemas import RULE, SYMPTOM

FILES = {
    "rule.schema.json": ("a rule: one cause", RULE),
    "symptom.schema.json": ("a symptom: what torch says", SYMPTOM),
}


def text(title: str, schema: dict[str, Any]) -> str:
    """A schema as its file has it."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return json.dumps({**head, **schema}, indent=2, ensure_ascii=False) + "\n"


def files(folder: Path) -> dict[Path, str]:
    """The generated schema files of a folder of rules, with their texts."""
    return {folder / name: text(title, schema) for name, (title, schema) in FILES.items()}
