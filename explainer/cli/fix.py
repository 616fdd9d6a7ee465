"""`explain fix`: the checked edit of the last diagnosis as a patch, shown or applied after asking."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from explainer.cli import Complaint, options
from explainer.hooks import last
from explainer.render import patch

MORE = """\
the patch is that of the last diagnosis (of a program with explainer.install(), of explain run, of explain FILE);
`explain fix | git apply` works too"""


def main(arguments: list[str]) -> int:
    """Show the patch on standard output; with --apply, write the files after asking."""
    given = _parser().parse_args(arguments)
    kept = last.kept()
    if kept is None:
        raise Complaint("there is no diagnosis yet: run `explain run SCRIPT` or `explain FILE` first", 1)
    folder, document = kept
    fix = chosen(document)
    if fix is None:
        raise Complaint("the last diagnosis has no fix that edits a file", 1)
    try:
        changed = patch.changed(folder, fix["edits"])
    except patch.PatchError as error:
        raise Complaint(str(error), 1) from None
    print(_about(fix), file=sys.stderr)
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(patch.diff(name, *texts) for name, texts in changed.items()).encode())
    sys.stdout.flush()
    if given.apply:
        return _apply(folder, {name: after for name, (_, after) in changed.items()}, given.yes)
    return 0


def chosen(document: dict[str, Any]) -> dict[str, Any] | None:
    """The first fix with edits of the first report that has one; a checked one where there is any."""
    fixes = [
        fix
        for report in document["reports"]
        for diagnosis in report["diagnoses"]
        for fix in diagnosis["fixes"]
        if fix["edits"]
    ]
    return next((fix for fix in fixes if fix["certainty"] == "checked"), fixes[0] if fixes else None)


def _about(fix: dict[str, Any]) -> str:
    said = f"checked: {fix['checked']}" if fix["certainty"] == "checked" else f"{fix['certainty']}, not tried"
    return f"{fix['title']} ({said})"


def _apply(folder: Path, texts: dict[str, str], agreed: bool) -> int:
    """Write the files, all of them or none, once the user agrees."""
    if not agreed and not _asked(f"Apply to {', '.join(texts)}? [y/N] "):
        print("nothing was changed", file=sys.stderr)
        return 1
    for name, text in texts.items():
        _replace(folder / name, text)
    print(f"changed {', '.join(texts)}", file=sys.stderr)
    return 0


def _asked(question: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise Complaint("--apply asks first, and there is no terminal to ask on; --yes answers")
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes", "j", "예", "네", "是")


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, keeping its permissions; a link stays a link."""
    path = path.resolve()
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(number, "wb") as file:
        file.write(text.encode("utf-8"))
    os.chmod(name, stat.S_IMODE(path.stat().st_mode))
    os.replace(name, path)


def _parser() -> options.Parser:
    parser = options.parser("explain fix", "Shows the last fix as a patch, or applies it.", MORE)
    parser.add_argument("--diff", action="store_true", help="show the patch (what happens anyway)")
    parser.add_argument("--apply", action="store_true", help="write the files, after asking")
    parser.add_argument("--yes", action="store_true", help="with --apply: do not ask")
    return parser
