"""A call of one file written in another: whether its names are to be had there, and what has to be imported."""

from __future__ import annotations

import ast
import builtins
import os

from explainer.source import Source, walked


def imports_for(source: Source, line: int, home: Source, call: ast.AST) -> str | None:
    """What a file has to import so that an expression of `home` can be written at a line: "" for nothing.

    None where it uses names that are to be had there by no import.
    """
    used = {node.id for node in walked(call) if isinstance(node, ast.Name)}
    lacking = sorted(used - known_at(source, line) - set(vars(builtins)))
    if not lacking or home.file == source.file:
        return "" if not lacking else None
    found = [_import_of(home, name, source) for name in lacking]
    return None if None in found else "\n".join(dict.fromkeys(text for text in found if text))


def known_at(source: Source, line: int) -> set[str]:
    """The names that can be read at a line: the file's own, and those of its function that are bound above."""
    names = _bound(source.tree.body if source.tree is not None else [])
    function = source.function_at(line)
    if isinstance(function, ast.FunctionDef):
        names |= {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
        stored = [one for one in walked(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        names |= {one.id for one in stored if one.lineno < line}
    return names


def imports_end(source: Source) -> int:
    """The line behind the imports at the top of a file."""
    body = source.tree.body if source.tree is not None else []
    return max((one.end_lineno or 0 for one in body if isinstance(one, (ast.Import, ast.ImportFrom))), default=0) + 1


def _bound(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind: definitions, imports, assignments."""
    names = {one.name for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    imports = [one for one in body if isinstance(one, (ast.Import, ast.ImportFrom))]
    names |= {name.asname or name.name.split(".")[0] for one in imports for name in one.names}
    stored = [part for one in body if isinstance(one, (ast.Assign, ast.AnnAssign)) for part in walked(one)]
    return names | {one.id for one in stored if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _import_of(home: Source, name: str, source: Source) -> str | None:
    """The import that gives a name: the one that `home` has for it, or of `home` itself where it defines it."""
    body = home.tree.body if home.tree is not None else []
    for one in body:
        if isinstance(one, ast.ImportFrom) and one.level == 0:
            for alias in one.names:
                if (alias.asname or alias.name) == name:
                    return f"from {one.module} import {ast.unparse(alias)}"
        elif isinstance(one, ast.Import):
            for alias in one.names:
                if (alias.asname or alias.name.split(".")[0]) == name:
                    return f"import {ast.unparse(alias)}"
    defined = _bound(body) - _bound([one for one in body if isinstance(one, (ast.Import, ast.ImportFrom))])
    defined = set() if "__name__" in "\n".join(home.lines) else defined  # a script is not there to be imported
    beside = os.path.dirname(os.path.realpath(home.file)) == os.path.dirname(os.path.realpath(source.file))
    stem = os.path.splitext(os.path.basename(home.file))[0]
    return f"from {stem} import {name}" if name in defined and beside and stem.isidentifier() else None
