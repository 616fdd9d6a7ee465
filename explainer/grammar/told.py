"""What a clause says in the reader's language: a headline, what was checked, the values that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from explainer.grammar.frames import Clause
from explainer.grammar.phrases import common, is_blank, phrase, quoted
from explainer.locale import LANGUAGES, word
from explainer.patterns import Pattern

#: What in a message is a value: numbers, sizes, dtypes, devices, torch's names. `re` is quick to find what one begins
#: with; which it was, and that no word goes on before it, is asked behind it, of names only where one may go on so.
_VALUE = Pattern(
    r"[-\d\[(tcmxpFDHLIBCS](?:(?<=[-\d\[(])(?:(?<=[\[(])-?\d+(?:, ?-?\d+)*,?[\])]|"
    r"(?:(?<=-)(?<![\w.]-)\d+|(?<=\d)(?:(?<![\w.-]\d)|(?<=[\w.]-\d))\d*)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]|-?[dD]\b))|"
    r"(?=y?torch\.|orch\.|uda|pu|eta|ps|loat|ouble|alf|ong|nt|ool|Float16|omplex|yte|har|hort)"
    r"(?:(?<=\bt)orch\.\w+|(?<=p)ytorch(?:\.\w+){1,2}|(?<=\bc)(?:uda(?::\d+)?|pu)\b|(?<=\bm)(?:eta|ps)\b|(?<=\bx)pu\b|"
    r"(?<=\b[FDHLIBCS])(?:loat|ouble|alf|ong|nt|ool|Float16|omplexFloat|omplexDouble|yte|har|hort)\b))"
)
#: An address, whose parts say something only where nothing else does.
_ADDRESS = Pattern(r"https?://\S+")
_ADVICE = Pattern(
    r"(?:Please|Or |Use|Try|Consider|Did you|Are you|You (?:can|may|might|should|need)|Specify|Set|Make sure|Instead|"
    r"Change|Select|Choose|Hint|Pass|Call|If (?:you|this|that|it)\b|To (?!dim)|Do not|Check|Perhaps|Maybe|Note that|"
    r"see |[Ii]n order)\b.*"
)
_INLINE = Pattern(r"[,;:(]\s*(?:please|(?:try|consider|use|did you)) (?P<advice>[^.]{4,160}?)(?:$|\.|\)$|\)(?= ))")
_NEGATIVE = Pattern(r"(?:not|never|n't) be ")
#: Words behind which a requirement goes on with a verb, and such verbs.
_MUST = Pattern(
    r"\b(?:must|should|shall|ha(?:ve|s) to|needs? to|can only|may only|expected to|required to|supposed to|ought to|"
    r"cannot|can't|can not|may not)\b",
    2,
)
_VERB = Pattern(
    r"(?:be|have|match|contain|equal|return|satisfy|divide|agree|not|fit|start|end|share|lie|take|hold|come|provide|"
    r"use|specify|require|support|broadcast|receive|include|live|reside|only|point|also) "
)
MOST_VALUES = 16
#: What was given, as a sentence of its own; where something is possible.
_CLAUSE = Pattern(r"(?!\S+ (?:which|that|who) )(?:[\w.\[\]'`()-]+ ){1,5}(?:is|are|has|have|was|were|had) ")
_ABLE = Pattern(r"\b(?:can|may) only ")
_WHERE = Pattern(
    r"(?:on|in|for|with|when|while|if|inside|within|after|before|at(?! least| most)|during|outside|under|by|as|from) "
)
#: A quotation, and how long one is in which values are easily overlooked.
_QUOTED, LONG = Pattern(r"`[^`]*`"), 40
#: Where something is so, not what it is beside.
_PLACE = Pattern(r"(?:in|at|for|on|when|while|during|inside|within) ")
_MISMATCH = Pattern(r"\s*\bmismatch\b", 2)
#: Frames of which the predicate is quoted whole.
_REFUSED = ("invalid", "unsupported")
SAID = ("missing", "is-not", "state", "got", "said")


class Told(Mapping[str, str]):
    """The texts of a clause by `field_language` (`headline_en`), each made when it is first asked for."""

    def __init__(self, clause: Clause, others: list[Clause], kind: str | None, text: str):
        self.clause, self._others, self.kind, self._text = clause, others, kind, text
        self._made: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        field, _, language = name.rpartition("_")
        if field not in ("headline", "why") or language not in LANGUAGES:
            raise KeyError(name)
        if name not in self._made:
            make = headline if field == "headline" else self._why
            self._made[name] = make(self.clause, language)
        return self._made[name]

    def _why(self, clause: Clause, language: str) -> str:
        parts = [word("c_also", language, claim=headline(other, language)) for other in self._others]
        if self.kind is not None:
            parts.append(word("c_about", language, kind=word(f"kind_{self.kind}", language)))
        left = values(self._text, " ".join([self["headline_" + language], *parts]))
        if left:
            parts.append(word("c_values", language, values=word("listed", language).join(map(quoted, left))))
        return " ".join(parts)

    def __iter__(self) -> Iterator[str]:
        return iter(f"{field}_{language}" for field in ("headline", "why") for language in LANGUAGES)

    def __len__(self) -> int:
        return 2 * len(LANGUAGES)


def headline(clause: Clause, language: str) -> str:
    """One line: who, what is asked, what was given; each only where the message says it."""
    claim = _claim(clause, language)
    if clause.given and not is_blank(clause.given) and clause.frame not in _REFUSED:
        link = "c_but" if _CLAUSE.match(clause.given) else "c_got"
        claim = word(link, language, claim=claim, given=given(clause.given, language))
    if clause.operator and clause.operator not in claim:
        claim = word("c_at", language, operator=quoted(clause.operator), claim=claim)
    return claim


def _claim(clause: Clause, language: str) -> str:
    frame, subject, asked = clause.frame, clause.subject, clause.asked
    who = quoted(subject) if subject and not is_blank(subject) else clause.operator and quoted(clause.operator)
    who = "" if frame == "match" and not subject else who
    if frame in SAID:
        frame, asked = "said", clause.predicate
        who, asked = (who, asked) if asked else ("", clause.text)
    elif frame in ("needs", "expected"):
        frame, asked = _needed(asked)
    elif frame == "match" and who and asked and _MISMATCH.search(clause.text):
        who, asked = "", _MISMATCH.sub("", clause.text, 1)
    elif frame == "match" and who and _PLACE.match(asked):
        who, asked = quoted(f"{subject} {asked}"), ""
    elif frame in _REFUSED and clause.given and (frame == "invalid" or not asked):
        asked = clause.given
    what = "" if is_blank(asked) else common(asked, language) or quoted(asked)
    goes_on = _MUST.search(clause.text) if clause.frame == "needs" else _VERB.match(asked)
    if what and frame == "needs" and what[0] == "`" and goes_on:
        frame = "can_only" if who and _ABLE.search(clause.text) else "must"
    if frame == "only" and who and _WHERE.match(asked):
        frame = "only_where"
    if not (who or what):
        frame, what = "said", quoted(clause.text)
    key = f"c_{frame}" + ("" if who and what else "_bare" if what else "_who")
    return word(key, language, who=who or "", asked=what)


def _needed(asked: str) -> tuple[str, str]:
    """Whether something is needed or forbidden, and what."""
    found = _NEGATIVE.match(asked)
    return ("forbids", asked[found.end() :]) if found else ("needs", asked)


def given(text: str, language: str) -> str:
    """What was given."""
    return phrase(text.removesuffix(" instead").strip(), language)


def values(text: str, told: str) -> list[str]:
    """The values of a message that are not said yet outside of long quotations, each once, in their order."""
    found = list(dict.fromkeys(_VALUE.findall(_ADDRESS.sub("", text)) or _VALUE.findall(text)))
    plain = _QUOTED.sub(lambda quote: "" if len(quote[0]) >= LONG else quote[0], told) if found else ""
    return [one for one in found if not _stands(one.strip("[]()"), plain)][:MOST_VALUES]


def _stands(value: str, text: str) -> bool:
    """Whether a value stands in a text as a whole: neither as a part of a name nor of another number."""
    at = text.find(value)
    while at >= 0:
        before, behind = text[at - 1 : at], text[at + len(value) : at + len(value) + 2]
        signed = before == "-" and value[:1].isdigit() and not text[at - 2 : at - 1].isalnum()
        inside = signed or before.isalnum() or before in ("_", ".") or behind[:1].isalnum() or behind[:1] == "_"
        if not inside and not (behind[:1] == "." and behind[1:].isalnum()):
            return True
        at = text.find(value, at + 1)
    return False


def is_advice(sentence: str) -> bool:
    """Whether a sentence tells what to do."""
    return _ADVICE.match(sentence) is not None


def advice(sentences: list[str]) -> str | None:
    """The sentence of a message that tells what to do; None where it has none."""
    for sentence in sentences[1:]:
        if is_advice(sentence):
            return sentence[:240]
    inline = _INLINE.search(sentences[0]) if sentences else None
    return inline["advice"].strip() if inline else None
