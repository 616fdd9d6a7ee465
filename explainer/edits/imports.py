"""Imports that an edit needs: `import torch` for a file that so far has only `from torch import nn`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, joined, shown
from explainer.source import Source

#: The modules that edits use, in the order in which their imports are to stand.
_MODULES = ("copy", "itertools", "math", "os", "torch")


def with_imports(source: Source, edits: Sequence[Edit], more: Sequence[str] = ()) -> tuple[Edit, ...]:
    """The edits, and one that imports the modules which they are the first of a file to name; `more` are statements."""
    own = [edit for edit in edits if edit.file == shown(source.file)]
    missing = [name for name in _MODULES if _names(own, name) and not _binds(source, name)]
    lines = [*(f"import {name}" for name in missing), *more]
    if not lines or not edits:
        return tuple(edits)
    line = _first_import(source)
    put = Edit(shown(source.file), line, line - 1, None, "\n".join(lines))
    try:
        return (*(edit for edit in edits if edit not in own), *joined(source, own, [put]))
    except EditError:
        return tuple(edits)


def _names(edits: Sequence[Edit], module: str) -> bool:
    """Whether edits bring a module's name into lines that did not have it."""
    use = re.compile(rf"(?<![\w.\"']){module}\.")
    return any(use.search(edit.after or "") and not use.search(edit.before or "") for edit in edits)


def _binds(source: Source, module: str) -> bool:
    """Whether a file has a module's name: imported, or star-imported from who knows where."""
    for node in source.nodes():
        if isinstance(node, ast.Import):
            names = [name.asname or name.name.split(".")[0] for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [name.asname or name.name for name in node.names]
        else:
            continue
        if module in names or "*" in names:
            return True
    return False


def _first_import(source: Source) -> int:
    """The line before which an import may stand: of the first import, else of the first statement after a docstring."""
    body = getattr(source.tree, "body", [])
    imports = [one for one in body if isinstance(one, (ast.Import, ast.ImportFrom))]
    found = next((one for one in imports if getattr(one, "module", "") != "__future__"), None)
    rest = [one for one in body if not isinstance(getattr(one, "value", None), ast.Constant) and one not in imports]
    return (found or next(iter(rest), None) or body[0]).lineno if body else 1
