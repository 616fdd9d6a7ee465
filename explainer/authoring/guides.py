"""What a family of errors has in common: where a person looks first, and how such errors are kept from coming."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from explainer.catalogue.document import read
from explainer.catalogue.schemas import FAMILIES

FOLDER = Path(__file__).with_name("guides")


@dataclass(frozen=True)
class Guide:
    """One family's guide: `look` and `prevent` by language, `code` a program that runs, links to documentation."""

    look: dict[str, str]
    prevent: dict[str, str]
    code: str
    links: tuple[str, ...]


def guide(family: str) -> Guide:
    """The guide of a family. Raises KeyError for a name that is no family."""
    if family not in FAMILIES:
        raise KeyError(family)
    value = read(FOLDER / f"{family}.yaml").value
    return Guide(value["look"], value["prevent"], value["code"], tuple(value["links"]))
