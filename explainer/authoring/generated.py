"""Everything that is made from the rules: pages and schemas; what of it is stale."""

from __future__ import annotations

from pathlib import Path

from explainer.authoring import pages, report, schema
from explainer.catalogue.load import catalogue_of
from explainer.catalogue.packing import pack


def files(rules: Path, docs: Path) -> dict[Path, str]:
    """The generated files of a folder of rules, with the texts they should have."""
    contract = {docs.parent / "report.schema.json": schema.text("a report (schema_version 1)", report.schema())}
    return {**schema.files(rules), **contract, **pages.files(catalogue_of([pack(rules)]), docs)}


def stale(rules: Path, docs: Path) -> list[Path]:
    """The generated files that are not as they should be, and those that should not be there."""
    wanted = files(rules, docs)
    wrong = [path for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text]
    return wrong + [path for path in docs.rglob("*.md") if path not in wanted]


def write(rules: Path, docs: Path) -> int:
    """Write what is stale, remove what should not be there; how many files that were."""
    wanted, changed = files(rules, docs), stale(rules, docs)
    for path in changed:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return len(changed)
