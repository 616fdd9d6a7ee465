"""What an edit changes, told from its lines before and after alone."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.patterns import Pattern
from explainer.source import walked

_CAST = Pattern(r"\.(float|double|half|bfloat16|long|int|bool|byte|abs|type_as)\(|\.to\((torch\.|[^()]*dtype)")


_LENIENT = Pattern(r"\b(?:strict|weights_only|error_if_nonfinite|validate_args)\s*=(?!\s*True\b)")
_WATCHES = Pattern(r"detect_anomaly\((?!\s*(?:mode\s*=\s*)?False)|\berror_if_nonfinite\s*=\s*True")


def is_cast(candidate: Candidate) -> bool:
    """Whether an edit casts a tensor."""
    inserted = candidate.kind == "insert-method" and _CAST.search(added(candidate))
    return candidate.kind == "cast" or bool(inserted)


def added(candidate: Candidate) -> str:
    """What an insertion put behind its place."""
    edit = _without_imports(candidate)[0]
    before, after = edit.before or "", edit.after or ""
    head = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return after[max(0, head - 1) : len(after) - len(before) + head + 1]


def cancels(candidate: Candidate) -> bool:
    """Whether an edit makes two sides of a difference or a quotient the same: it runs, and nothing is left of them."""
    pairs = ((edit.before or "", edit.after or "") for edit in candidate.edits)
    return any(_cancelled(after) > _cancelled(before) for before, after in pairs)


def silences(candidate: Candidate) -> bool:
    """Whether an edit has a check left out, or lets a file run code."""
    pairs = ((edit.before or "", edit.after or "") for edit in candidate.edits)
    more = lambda pattern, one, other: len(pattern.findall(one)) > len(pattern.findall(other))  # noqa: E731
    return any(more(_LENIENT, after, before) or more(_WATCHES, before, after) for before, after in pairs)


def _cancelled(text: str) -> int:
    try:
        tree = ast.parse(textwrap.dedent(text).strip())
    except SyntaxError:  # a part of a statement
        return 0
    found = (one for one in walked(tree) if isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Sub, ast.Div)))
    return sum(ast.dump(one.left) == ast.dump(one.right) for one in found)


def drops_name(candidate: Candidate) -> bool:
    """Whether a name gave way to a number: then the number it stands for was decided elsewhere."""
    edit = _without_imports(candidate)[0]
    names = lambda text: Counter(re.findall(r"[A-Za-z_]\w*", text))  # noqa: E731
    return bool(names(edit.before or "") - names(edit.after or ""))


#: What is put behind an operand to make it fit: a slice, or one more or less.
_ADAPTING = Pattern(r"\[[^\[\]]*:[^\[\]]*\]|\s*[+-]\s*\d+")


#: What brings any map to any size, or leaves out what does not fit.
_RESIZING = Pattern(r"\binterpolate\(|\.pad\(|\.narrow\(|drop_last=True")


def only_adapts(candidate: Candidate) -> bool:
    """Whether an edit only brings a value to size, or counts one more or less: that fits, whatever is wrong."""
    edits = _without_imports(candidate)
    resized = [len(_RESIZING.findall(edit.after or "")) - len(_RESIZING.findall(edit.before or "")) for edit in edits]
    if sum(resized) > 0:
        return True
    if len(edits) != 1:
        return False
    before, after = edits[0].before or "", edits[0].after or ""
    longer, start = len(after) - len(before), _alike(before, after)
    insertions = [at for at in range(max(0, start - longer), start + 1) if after[:at] + after[at + longer :] == before]
    return longer > 0 and any(_ADAPTING.fullmatch(after[at : at + longer]) for at in insertions)


def _without_imports(candidate: Candidate) -> list[Edit]:
    """The edits of a candidate but for an import that they need; all of them where it is nothing else."""
    rest = [edit for edit in candidate.edits if edit.before is not None or not (edit.after or "").startswith("import ")]
    return rest or list(candidate.edits)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
