"""`explain rule ID`: the page of one rule or symptom, or of a family of them."""

from __future__ import annotations

import difflib
from pathlib import Path

from explainer.cli import Complaint
from explainer.cli.options import LANGUAGES, parser


def main(arguments: list[str]) -> int:
    """Print the page of a rule, symptom or family; an unknown id is a complaint that names the closest ones."""
    to = parser("explain rule", "Show the page of one rule or symptom, or of a family (shape, device, inplace, ...).")
    to.add_argument("id", metavar="ID", help="as a diagnosis shows it, or a family")
    to.add_argument("--lang", choices=LANGUAGES, help="language (default: EXPLAINER_LANG, then the locale)")
    to.add_argument("--rules", metavar="DIR", action="append", default=[], help="a folder of further rules")
    given = to.parse_args(arguments)
    from explainer.authoring.pages import family_page, whole_page
    from explainer.catalogue import load
    from explainer.catalogue.schemas import FAMILIES
    from explainer.grammar import of_id
    from explainer.locale import language, word

    catalogue = load(tuple(map(Path, given.rules)))
    words = language(given.lang)
    if given.id in FAMILIES:
        print(family_page(given.id, words), end="")
        return 0
    checked = of_id(given.id)
    if checked is not None:
        about = word("c_about", words, kind=word(f"kind_{checked[0]}", words))
        print(f"{word('page_check', words)} {about}\n\n{family_page(checked[1], words)}", end="")
        return 0
    one = catalogue.rules.get(given.id) or catalogue.symptoms.get(given.id)
    if one is None:
        close = difflib.get_close_matches(given.id, [*catalogue.rules, *catalogue.symptoms, *FAMILIES], 3)
        near = f"; near it: {', '.join(close)}" if close else ""
        raise Complaint(f"no rule or symptom is called {given.id!r}{near} (explain rules lists them)")
    print(whole_page(one, catalogue, words), end="")
    return 0
