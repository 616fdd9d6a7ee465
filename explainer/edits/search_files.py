"""Candidates for patterns and filters of file names that match nothing: folders below, the suffix written otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import called

#: Suffixes that stand for the same kind of file.
_ALIKE = (("jpg", "jpeg"), ("tif", "tiff"), ("pt", "pth"), ("yml", "yaml"), ("nii", "nii.gz"), ("mid", "midi"))
#: The last part of a path that is a pattern, in the source of a string.
_PATTERN = Pattern(r"(?<=[\"'/])(\*[^\"'/]*[\"'])")
_SUFFIX = Pattern(r"\.((?:\w+\.)?\w+)$")


def below(evidence: Evidence) -> Iterator[Candidate]:
    """`root.glob("*.npy")` -> `root.rglob("*.npy")`, and the like: what is looked for lies in folders below."""
    for place in _calls(evidence, "glob", "iglob"):
        yield from _globbed_below(evidence, place)
    for place in _calls(evidence, "listdir"):
        node = place.node
        given = place.source.text(node.args[0]) if isinstance(node, ast.Call) and node.args else ""
        if given and _plain_listdir(place):
            path = f"os.path.relpath(os.path.join(below, one), {given})"
            new = f"[{path} for below, _, found in os.walk({given}) for one in found]"
            yield from evidence.replaced(place, new, "replace", "below", new="os.walk")


def _calls(evidence: Evidence, *names: str) -> Iterator[Place]:
    if "num_samples=0" not in evidence.message:
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and called(node) in names:
                yield Place(source, node)


def _globbed_below(evidence: Evidence, call: Place) -> Iterator[Candidate]:
    node, source = call.node, call.source
    if not isinstance(node, ast.Call) or not node.args or "**" in call.text:
        return
    of_path = isinstance(node.func, ast.Attribute) and source.text(node.func.value) != "glob"
    plain = isinstance(node.args[0], ast.Constant) and "/" not in str(node.args[0].value)
    if of_path and plain and isinstance(node.func, ast.Attribute):
        looked = source.text(node.func).removesuffix(node.func.attr)
        new = f"{looked}rglob({', '.join(map(source.text, node.args))})"
        yield from evidence.replaced(call, new, "replace", "below", new=new)
        return
    given = call.at(node.args[0])
    found = list(_PATTERN.finditer(given.text))
    if not found:
        return
    at = found[-1].start()
    new = f"{given.text[:at]}**/{given.text[at:]}"
    kept = "" if of_path else ", recursive=True"
    edits = partial(changed, source, [(given.span, new + kept)])
    yield from evidence.made(edits, "replace", call, "below", new=new)


def _plain_listdir(call: Place) -> bool:
    """Whether names are gone through that a listing gives, with a filter: not how many there are."""
    return any(
        any(part is call.node for part in ast.walk(loop.iter)) and bool(getattr(loop, "ifs", True))
        for node in call.source.nodes()
        for loop in [*getattr(node, "generators", []), *([node] if isinstance(node, ast.For) else [])]
    )


def suffixed(evidence: Evidence) -> Iterator[Candidate]:
    """`"*.jpg"` -> `"*.jpeg"`, `"*.JPG"`; `.npy` -> `*.npy` of a pattern, `*.npy` -> `.npy` of an ending, and so on."""
    for place in _names(evidence):
        value = str(place.node.value)  # type: ignore[union-attr]
        for other in dict.fromkeys(_otherwise(value, _kind(place))):
            quote = place.text[-1]
            new = f"{quote}{other}{quote}"
            if other != value and place.text == f"{quote}{value}{quote}":
                yield from evidence.replaced(place, new, "replace", "suffixed", new=new, old=place.text)


def _names(evidence: Evidence) -> Iterator[Place]:
    """The strings that calls of `glob`, `endswith` and tests of suffixes are given."""
    for call in _calls(evidence, "glob", "iglob", "rglob", "endswith"):
        yield from (call.at(one) for one in ast.walk(call.node) if _is_text(one))  # type: ignore[arg-type]
    for source in evidence.sources_seen() if "num_samples=0" in evidence.message else ():
        for node in source.nodes():
            if isinstance(node, ast.Compare) and re.search(r"\.suffix\b|splitext\(", source.text(node)):
                yield from (Place(source, one) for one in ast.walk(node) if _is_text(one))  # type: ignore[arg-type]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


def _kind(place: Place) -> str:
    """What a string is for: a `pattern`, an `ending`, or a `suffix`."""
    calls = [one for one in place.source.nodes() if isinstance(one, ast.Call)]
    names = {called(one) for one in calls if any(part is place.node for part in ast.walk(one))}
    return "pattern" if names & {"glob", "iglob", "rglob"} else "ending" if "endswith" in names else "suffix"


def _otherwise(value: str, kind: str) -> Iterator[str]:
    if kind == "pattern" and not re.search(r"[*?\[]", value):
        if "." in value:
            yield re.sub(r"\.(?=[^.]*$)", "*.", value)
        return
    if kind == "ending" and "*" in value:
        yield value.lstrip("*")
    if kind == "suffix" and "." not in value:
        yield f".{value}"
    found = _SUFFIX.search(value)
    for other in _alike(found[1]) if found is not None else ():
        yield value[: found.start(1)] + other  # type: ignore[union-attr]


def _alike(suffix: str) -> list[str]:
    same = [one for pair in _ALIKE if suffix.lower() in pair for one in pair]
    return [one for name in [*same, suffix.lower()] for one in (name, name.upper())]
