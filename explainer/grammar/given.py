"""What a sentence of a check says was given, apart from what it asks for."""

from __future__ import annotations

from typing import Any

from explainer.patterns import Pattern

#: What was given, behind the requirement.
_GIVEN = Pattern(
    r"(?:\s?[,.:;(\[-]{0,3}\s?(?:but|and|instead|however|while|whereas|yet)?,?\s*(?:instead\s+|we\s+|it\s+|also\s+)?"
    r"(?:\bgot(?:\b|(?=\d))|(?<!not )(?<!none )\bfound\b(?! (?:to|in|for|by|that|at)\b)|\breceived\b|"
    r"(?<=[,;(] )given\b|\bgiven(?=:)|\bactual(?:ly)?\b(?: (?:is|are|has|have)\b)?|"
    r"\b(?:saw|was given|encountered(?! (?:in|when|while|at)))\b|"
    r"\bbut(?! there\b)(?= (?:[\w.:]+ ){1,5}(?:is|are|has|have|was|were|had)\b)|"
    r"(?<=but )(?:is|was|were|are|has|have|had|it is|it was|it has|the|its)\b|"
    r"(?<=but )gets?\b|\binstead of\b|(?<=, )not\b|\b(?:passed(?: in)?|provided)\b(?=\s*[:\d\[(<'`]))"
    r"(?:\s+(?:instead|an?|the|type|value)\b)?\s*[:=]?)\s*(?P<given>\S.*)",
    2,
)
#: Words of which one stands in what `_GIVEN` finds, so many characters behind its beginning at most: from each place of
#: a text it would take as long as all else.
_GIVING = ("got", "get", "found", "received", "given", "actual", "saw", "encountered", "but", "instead of", ", not",
           "passed", "provided")  # fmt: skip
_BEFORE = 40
#: What was given, before the requirement.
_TURNED = Pattern(
    r"(?P<about>(?:[^:;,]+: )?)(?:[Gg]ot|[Rr]eceived|[Ff]ound|[Gg]iven):? (?P<given>.+?)"
    r"(?:,|;|,? but| while| when) ?(?:was |were |it |but )*"
    r"(?P<claim>(?:expect(?:s|ed|ing)|requires?|required)\b.+)"
)
#: What was refused, and what should be: `Unknown mode 'x', should be one of ...`.
_REFUSED = Pattern(
    r"(?:[Uu]n(?:recogni[sz]ed|known|supported|expected)|[Ii]nvalid|[Ii]llegal|[Ii]ncorrect|[Ww]rong|[Bb]ad) "
    r"(?P<subject>[A-Za-z_][\w ]*?)(?: ?[:=] ?|,? got:? | (?=['\"`\d]))(?P<given>[^,;]+?)(?:[,;:.] ?|,? but | - )"
    r"(?:it |they |which )?(?P<need>(?:must|should|has to|have to|needs? to|(?:is |are )?expected to)(?: be)? .+)"
)
#: What makes a requirement of a sentence.
_DEMAND = Pattern(r"\b(?:must|should|expect|need|requir|has to|have to|only)", 2)
#: What is told of a thing behind `but it has`, and is no value; `but 7 is found`.
_TOLD = ("not", "already", "never", "no longer")
_FOUND = Pattern(r" (?:is|are|was|were) (?:found|given|received|provided|passed|specified)$")
#: What is the case, and what should be: `the rank is 3, but should be 2`.
_STATED = Pattern(
    r"(?P<subject>\S.*?) (?:is|are|was|were|has|have) (?:(?P<given>[^,]+), ?but (?:it |they )?"
    r"(?P<need>(?:must|should|needs? to|has to|have to) .+)|"
    r"(?P<given2>[^,]+),? but (?P<want>[^,]+) (?:is|are|was|were) (?:expected|required|needed))"
)


def apart(text: str) -> tuple[str, str]:
    """The requirement and what was given."""
    turned = _TURNED.match(text)
    if turned is not None:
        inner = _given_in(turned["claim"])  # what stood before was only the circumstance
        claim = turned["about"] + (turned["claim"][: inner.start()] if inner is not None else turned["claim"])
        got = "" if text[len(turned["about"]) :].lower().startswith("given") else turned["given"]  # a circumstance
        return claim, inner["given"] if inner is not None else got
    stated = _STATED.fullmatch(text)
    if stated is not None:
        need = stated["need"] or f"must be {stated['want']}"
        return f"{stated['subject']} {need}", stated["given"] or stated["given2"]
    refused = _REFUSED.fullmatch(text)
    if refused is not None:
        return f"{refused['subject']} {refused['need']}", refused["given"]
    found = _given_in(text)
    claim = text[: found.start()] if found is not None else ""
    if found is None or len(claim.strip(" ,.:;(").split()) < 2:
        return text, ""
    if "instead of" in text[found.start() : found.start("given")] and not _DEMAND.search(claim):
        return text, ""  # what stands behind is what should be
    given, behind = _in_aside(found["given"].strip())
    if given.startswith(_TOLD):
        return (claim.rstrip(" ,.:;([") if given in _TOLD else text), ""
    return claim.rstrip(" ,.:;([") + behind, _FOUND.sub("", given)


def _given_in(text: str) -> Any:
    low = text.lower()
    first = min((at for word in _GIVING if (at := low.find(word)) >= 0), default=-1)
    return _GIVEN.search(text, max(1, first - _BEFORE)) if first >= 0 else None


def _in_aside(given: str) -> tuple[str, str]:
    """What was given, up to the end of the aside that it stands in, and what goes on behind that."""
    depth = 0
    for at, sign in enumerate(given):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return given[:at].rstrip(), given[at + 1 :].rstrip(" .,;")
    return given, ""
