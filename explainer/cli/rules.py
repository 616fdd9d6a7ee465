"""`explain rules`: lists the catalogue, starts a new rule, checks a folder of them, writes what is made from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from explainer.catalogue.schemas import FAMILIES
from explainer.cli import Complaint
from explainer.cli.options import parser

MORE = """\
explain rules                            all rules and symptoms, by family
explain rules list --missing ko          those that lack Korean words (--stale: whose translations lost a fact)
explain rules new shape/some-id          writes the skeleton of a rule (symptoms/some-id: of a symptom)
explain rules check [DIR]                checks every file; --run-examples runs the examples too
explain rules docs                       writes the pages and the JSON Schemas that are made from the rules
"""
WIDTH = 100
_FAMILIES = ", ".join(FAMILIES)


def main(arguments: list[str]) -> int:
    """Run `explain rules`; the exit status is 1 where `check` finds something wrong."""
    known = {"list": _list, "new": _new, "check": _check, "docs": _docs}
    if arguments and arguments[0] in known:
        return known[arguments[0]](arguments[1:])
    return _list(arguments)


def _list(arguments: list[str]) -> int:
    to = parser("explain rules list", "List the rules and symptoms.", MORE)
    to.add_argument("family", nargs="?", choices=FAMILIES, metavar="FAMILY", help=f"only this family: {_FAMILIES}")
    to.add_argument("--missing", metavar="LANG", help="only those that lack this language")
    to.add_argument("--stale", action="store_true", help="only those whose translations lost a fact")
    to.add_argument("--rules", metavar="DIR", action="append", default=[], help="a folder of further rules")
    given = to.parse_args(arguments)
    from explainer.authoring.listing import rows
    from explainer.catalogue import load

    catalogue = load(tuple(map(Path, given.rules)))
    shown = list(rows(catalogue, given.family, given.missing, given.stale))
    for row in shown:
        print(row[:WIDTH])
    what = "shown" if given.family or given.missing or given.stale else "in all"
    print(f"\n{len(shown)} {what}: {len(catalogue.rules)} rules, {len(catalogue.symptoms)} symptoms in the catalogue")
    return _told(catalogue.problems)


def _new(arguments: list[str]) -> int:
    to = parser("explain rules new", "Write the skeleton of a new rule or symptom.")
    to.add_argument("id", metavar="FAMILY/ID", help="shape/linear-input-size, or symptoms/some-id for a symptom")
    to.add_argument("--dir", type=Path, help="the folder of rules (default: ./rules, made where it is not there)")
    to.add_argument("--family", choices=FAMILIES, default="shape", metavar="FAMILY",
                    help=f"a symptom's family: {_FAMILIES} (default: shape)")  # fmt: skip
    given = to.parse_args(arguments)
    from explainer.authoring.scaffold import new

    try:
        path = new(given.id, given.dir or Path("rules"), given.family)
    except (ValueError, OSError) as error:
        raise Complaint(str(error)) from None
    print(f"{path}: fill in what says TODO, then: explain rules check {path.parent.parent}")
    return 0


def _check(arguments: list[str]) -> int:
    to = parser("explain rules check", "Check every rule file of a folder.")
    to.add_argument("folder", nargs="?", type=Path, help="(default: the catalogue's own rules)")
    to.add_argument("--run-examples", action="store_true", help="run the examples too: they are programs")
    given = to.parse_args(arguments)
    from explainer.authoring.check import check
    from explainer.catalogue import sources

    folder = given.folder or sources.builtin()
    if not folder.is_dir():
        raise Complaint(f"{folder} is no folder")
    files = sources.files(folder)
    if not files:
        raise Complaint(f"{folder} holds no rules; a pack's lie in PACK/symptoms/ and PACK/<family>/")
    wrong = [str(problem) for problem in check(folder)]
    if given.run_examples:
        wrong += _failed_examples(folder)
    for line in wrong:
        print(line)
    print(f"{len(files)} files checked: {len(wrong) or 'nothing'} wrong", file=sys.stderr)
    return 1 if wrong else 0


def _failed_examples(folder: Path) -> list[str]:
    from explainer.authoring.examples import failures

    return [f"{place}: {text}" for place, text in failures(folder)]


def _docs(arguments: list[str]) -> int:
    to = parser("explain rules docs", "Write the pages and the JSON Schemas that are made from the rules.")
    to.add_argument("--rules", type=Path, default=Path("rules"), help="the folder of rules (default: rules)")
    to.add_argument("--docs", type=Path, default=Path("docs/rules"), help="where the pages go (default: docs/rules)")
    to.add_argument("--run-examples", action="store_true", help="run each rule's example first, for the pages to show")
    given = to.parse_args(arguments)
    from explainer.authoring.generated import write

    if given.run_examples:
        _see(given.rules)

    print(f"{write(given.rules, given.docs)} files written")
    return 0


def _see(folder: Path) -> None:
    """Run the examples, and keep what the words of the rules ask of them beside the rules."""
    from explainer.authoring import seen
    from explainer.authoring.examples import seen as seen_of
    from explainer.catalogue import load

    rules = load().rules.values()
    found = dict(seen_of(one for one in rules if one.status != "retired"))
    seen.write(folder, found)
    print(f"{len(found)} of {len(rules)} rules have an example that was run")


def _told(problems: Any) -> int:
    for problem in problems:
        print(problem)
    return 1 if problems else 0
