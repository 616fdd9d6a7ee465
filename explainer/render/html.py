"""The diagnosis as HTML: a whole page, or the fragment that a notebook shows. All text is escaped by the template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from explainer.diagnosis import Diagnosis, Edit, Fix, Report
from explainer.locale import word
from explainer.render.fixes import certainty, diff, fixes_of, place_of
from explainer.render.places import places, said
from explainer.render.snippet import Lens, arrow, gutter_of, snippet
from explainer.render.visible import cut, expand, one_line, visible

_WIDTH = 400
#: The most characters that the button copies.
_COPIED = 20_000
#: What Jupyter's own buttons do, one after the other: the arguments are given to each.
_BELOW = {"commands": ["notebook:insert-cell-below", "notebook:replace-selection"]}


def render(reports: Sequence[Report]) -> str:
    """A page that needs nothing else, light or dark as the reader's system is."""
    return _render("page.html.j2", reports, notebook=False)


def fragment(reports: Sequence[Report], cell: Mapping[Sequence[Edit], str] | None = None) -> str:
    """The same for a notebook: no page around it, the notebook's colours, details folded, fixes that can be copied.

    `cell` has the text of a cell with some edits made: JupyterLab and Notebook show a button that puts it below.
    """
    cells = {edits: json.dumps({**_BELOW, "args": {"text": text}}) for edits, text in (cell or {}).items()}
    return _render("fragment.html.j2", reports, notebook=True, cells=cells)


def articles(reports: Sequence[Report]) -> Any:
    """The reports alone, for a page that brings its own styles and links to rules (`explain serve`); marked safe."""
    from markupsafe import Markup

    return Markup(_render("articles.html.j2", reports, notebook=False, served=True))


def style() -> str:
    """The style sheet of all of them."""
    return template("style.css.j2").render() + template("page.css.j2").render()


def _render(name: str, reports: Sequence[Report], notebook: bool, served: bool = False, cells: Any = None) -> str:
    """A template filled with the reports, in the first one's language."""
    language = reports[0].language if reports else "en"
    views = [_view(report, cells or {}) for report in reports]
    return template(name).render(reports=views, language=language, notebook=notebook, served=served)


@cache
def template(name: str) -> Any:
    """A template, its environment made once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("explainer.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"parts": parts, "paragraphs": paragraphs, "shown": one_line}
    environment.globals |= {"word": word, "sure": _sure}
    return environment.get_template(name)


def parts(text: str) -> list[tuple[str, str]]:
    """A sentence in pieces of `code` (what stood in backticks) and `text`."""
    pieces = re.split(r"`([^`]+)`", visible(text))
    return [("code" if index % 2 else "text", piece) for index, piece in enumerate(pieces) if piece]


def paragraphs(text: str) -> list[tuple[str, str]]:
    """The lines of a text, each an `item` (it began with `- `) or a `line`."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return [("item", line[2:]) if line.startswith("- ") else ("line", line) for line in lines]


def _sure(diagnosis: Diagnosis, language: str) -> str:
    """How sure a diagnosis is, with what that means where it is not proved."""
    proved = diagnosis.certainty == "proved"
    return word("proved" if proved else f"{diagnosis.certainty}_means", language)


def _view(report: Report, cells: Mapping[Sequence[Edit], str]) -> dict[str, Any]:
    """What the template needs of a report, nothing live and nothing marked safe."""
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    language = report.language
    remarks = [*report.remarks, *([word("count", language, count=report.count)] if report.count > 1 else [])]
    return {
        "language": language,
        "diagnosis": diagnosis,
        "remarks": remarks,
        "message": cut(said(report), 2000),
        "source": _source(report),
        "values": [
            (one_line(row.label), one_line(row.value)) for row in (diagnosis.evidence if diagnosis else report.operands)
        ],
        "fixes": [
            {**_fix(fix, language, index), "cell": cells.get(fix.edits, "")}
            for index, fix in enumerate(fixes_of(report))
        ],
        "links": [link for link in diagnosis.links if re.match(r"https?://\S+$", link)] if diagnosis else [],
    }


def _source(report: Report) -> list[dict[str, Any]]:
    """The places with their rows of (text, role)."""
    shown = places(report)
    lens = Lens(width=_WIDTH, prose=100, gutter=gutter_of(shown), language=report.language)
    return [
        {"name": arrow(place, lens, first=index == 0)[-1][0], "rows": snippet(place, report, lens)}
        for index, place in enumerate(shown)
    ]


def _fix(fix: Fix, language: str, index: int) -> dict[str, Any]:
    """A fix with its diff lines."""
    mark, said = certainty(fix, language)
    return {
        "word": word("or" if index else "fix", language),
        "title": fix.title if said != fix.title else "",
        "mark": mark,
        "said": said,
        "role": fix.certainty,
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    """An edit's place and its lines, each with the class of its sign."""
    roles = {"-": "minus", "+": "plus", " ": "same"}
    lines = [(roles[sign], f"{sign} {cut(expand(line)[0], _WIDTH)}") for sign, line in diff(edit)]
    return {"place": place_of(edit), "lines": lines, "after": cut(edit.after or "", _COPIED)}
