"""Whether the function that failed is entered in a run with an edit, which is to mend it, not to stay away from it."""

from __future__ import annotations

import ast
import builtins
import os
from importlib.machinery import SourceFileLoader
from typing import Any

#: The name by which the function's code calls us.
_NAME = "__explainer_entered__"


class Entered:
    """Counts how often a function is entered; `where` is its file below the folder, and its name (`Net.forward`)."""

    def __init__(self, folder: str, where: tuple[str, str]):
        self.path, self.name = os.path.realpath(os.path.join(folder, where[0])), where[1]
        self._met, self._times = False, 0

    @property
    def times(self) -> int | None:
        """How often it was entered; None where its file was compiled otherwise, or has no such function."""
        return self._times if self._met else None

    def watch(self) -> None:
        """Have the file compiled with a call of ours at the function's start; its lines stay as they are."""
        plain = SourceFileLoader.source_to_code
        setattr(builtins, _NAME, self._enter)

        def compiled(loader: Any, data: Any, path: Any, *args: Any, **words: Any) -> Any:
            own = isinstance(data, (bytes, str)) and os.path.realpath(os.fspath(path)) == self.path
            return plain(loader, self._noting(data, path) if own else data, path, *args, **words)

        SourceFileLoader.source_to_code = compiled  # type: ignore[assignment, method-assign]

    def _enter(self) -> None:
        self._times += 1

    def _noting(self, data: Any, path: Any) -> Any:
        try:
            tree = ast.parse(data, path)
        except (SyntaxError, ValueError):  # as the program's own compilation will say
            return data
        owner, _, name = self.name.rpartition(".")
        scopes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and one.name == owner] or [tree]
        for node in (one for scope in scopes for one in ast.walk(scope)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                self._met = True
                node.body.insert(int(ast.get_docstring(node) is not None), _call(node.body[0]))
        return tree


def _call(first: ast.stmt) -> ast.stmt:
    call = ast.Expr(ast.Call(ast.Name(_NAME, ast.Load()), [], []))
    return ast.fix_missing_locations(ast.copy_location(call, first))
