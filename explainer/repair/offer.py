"""One edit that an atom offers: a node's new text, with what it is, where it stands and what speaks for it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence

from explainer.diagnosis import Edit, FixSource, Span
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.imports import with_imports
from explainer.edits.lines import EditError, changed, shown
from explainer.edits.place import Place, fitted
from explainer.frozen import frozen, replace
from explainer.repair.spots import Spot

#: What stands in lines of its own: a statement, or several as a module.
STATEMENTS = (ast.stmt, ast.Module)
#: The longest piece of source that a title shows.
_WIDE = 64


@frozen
class Offer:
    """`atom` names the kind of edit, `filler` says where its new part was taken from; `weight` orders offers.

    A lower weight is tried earlier. `node` is what is replaced by `text`; `blames` what is wrong, where that is a part.
    `twins` are replaced too, each by a text of its own: they say the same in the function, or with other names.
    `imports` are statements that the file needs then, `more` are edits of other lines, of any file.
    """

    atom: str
    spot: Spot
    node: ast.AST
    text: str
    filler: str = ""
    weight: float = 0.0
    blames: ast.AST | None = None
    twins: tuple[tuple[ast.AST, str], ...] = ()
    imports: tuple[str, ...] = ()
    more: tuple[Edit, ...] = ()

    @property
    def place(self) -> Place:
        """What is replaced."""
        return self.spot.place.at(self.node)  # type: ignore[arg-type]

    def edits(self) -> tuple[Edit, ...]:
        """The edit of whole lines; empty where the text cannot stand there."""
        if self.twins:
            return self._at_all()
        place, span = self.place, self.place.span
        lines = place.source.lines[span.line - 1 : span.end_line or span.line]
        text = self.text if isinstance(self.node, STATEMENTS) else fitted(place, self.text)
        head, tail = lines[0][: (span.column or 1) - 1], lines[-1][(span.end_column or 1) - 1 :]
        after = head + text + tail
        before = "\n".join(lines)
        return (
            (Edit(shown(place.source.file), span.line, span.end_line or span.line, before, after),)
            if after != before
            else ()
        )

    def _at_all(self) -> tuple[Edit, ...]:
        rows = [(self.place, self.text), *((self.spot.place.at(node), text) for node, text in self.twins)]  # type: ignore[arg-type]
        try:
            return changed(self.place.source, [(one.span, fitted(one, text)) for one, text in rows])
        except EditError:
            return ()

    def candidate(self, evidence: Evidence) -> Candidate | None:
        """The offer as a candidate; None where the text is no expression, or says what stands there already."""
        statements = isinstance(self.node, STATEMENTS)
        indented = " " * getattr(self.node, "col_offset", 0) + self.text
        if not _parses(textwrap.dedent(indented) if statements else self.text, statements):
            return None
        edits = with_imports(self.place.source, self.edits(), self.imports)
        if not edits:
            return None
        edits = (*edits, *self.more)
        title = self._title(evidence.language)
        span = _changed(self.place.span, edits)
        if self.blames is not None:
            span = self.spot.place.at(self.blames).span  # type: ignore[arg-type]
        source = FixSource("atom", self.atom).at(span)
        literal = self.atom in ("literal", "solved")
        meaning = words.meaning(self.atom, evidence.language)
        return Candidate(edits, f"atom-{self.atom}", title, span, None, meaning, literal=literal, source=source)

    def _title(self, language: str) -> str:
        """What the edit does, in words."""
        old, new = self.shown()
        kind = {ast.With: "block", ast.Module: "order"}.get(type(self.node), "rename")
        whole = self.place.text
        if self.atom == "earlier":
            _, new, old = (" ".join(row.split()) for row in self.text.split("\n"))
        elif isinstance(self.node, ast.FunctionDef) and self.text.startswith("@"):
            kind = "order"
        elif kind == "order" and whole.partition("\n")[2].lstrip() == self.text:
            kind = "leave-out"
        elif kind == "order" and self.text.startswith(f"{whole}\n"):
            kind, new = "behind", self.text.removeprefix(whole).strip().partition("\n")[0]
        return words.title(kind, language, old=old, new=new)

    def shown(self) -> tuple[str, str]:
        """The old and the new source of the widest expression around the node that a title can hold."""
        place, node = self.place, self.node
        old, new = place.text, self.text
        if isinstance(node, STATEMENTS):
            old, new = old.split("\n")[0], new.split("\n")[0]
        best, within = (old, new), fitted(place, self.text) if isinstance(node, ast.expr) else self.text
        while True:
            parent = place.at(node).parent()  # type: ignore[arg-type]
            if not isinstance(parent, (ast.expr, ast.keyword)):
                break
            outer = place.at(parent)
            start = _offset(outer, place)
            text = outer.text
            if start is None or len(text) > _WIDE or "\n" in text:
                break
            best = text, text[:start] + within + text[start + len(old) :]
            node = parent
        return " ".join(best[0].split()), " ".join(best[1].split())


def _changed(span: Span, edits: Sequence[Edit]) -> Span:
    """The first line that an edit of several changes, and all behind it."""
    for edit in edits:
        before, after = (edit.before or "").split("\n"), (edit.after or "").split("\n")
        alike = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        if alike and edit.start_line == span.line:
            return replace(span, line=span.line + alike, column=None, end_column=None)
    return span


Atom = Callable[[Spot, Evidence], Iterator[Offer]]


def _offset(outer: Place, inner: Place) -> int | None:
    one, two = outer.span, inner.span
    return (two.column or 1) - (one.column or 1) if one.line == two.line == (two.end_line or two.line) else None


def _parses(text: str, statement: bool) -> bool:
    try:
        ast.parse(text.strip(), mode="exec" if statement else "eval")
    except (SyntaxError, ValueError):
        return False
    return True
