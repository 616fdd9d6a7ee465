"""What a check says that no symptom lists: its sentence taken apart, and said again in the reader's words.

A reading quotes what the message says and never guesses a cause.
"""

from __future__ import annotations

from explainer.catalogue import Match, Symptom
from explainer.crash import Crash, Raised
from explainer.grammar.frames import WEAK, Clause, clauses
from explainer.grammar.kinds import BY_TYPE, family_of, field_of, kind_of, of_id
from explainer.grammar.owner import is_torchs, says_so
from explainer.grammar.phrases import quoted
from explainer.grammar.sentence import cleaned, sentences
from explainer.grammar.told import Told, advice, is_advice, values
from explainer.grammar.vocabulary import words_of
from explainer.locale import LANGUAGES, word
from explainer.patterns import Pattern

__all__ = ["claim", "field_of", "of_id", "read", "unsaid"]
#: Kinds of which anybody's checks are.
VAGUE = ("other", "type", "choice")
#: Frames that state what is asked.
STATING = ("needs", "expected", "only", "match")
#: Braces of a message are none of a template.
_BRACES = str.maketrans("{}", "()")
_WORD = Pattern(r"[A-Za-z_][\w.]+")
#: A title, then why: as the compiler words what it cannot trace.
_TITLED = Pattern(r"\S[\s|.]+Explanation: ")
_PRONOUN = Pattern(r"(?:the (?:latter|former)|this|that|these|those|it|they|we|you|which|dynamo)(?: \w+)?", 2)
#: Words that stand for anything that was given.
_NAMELESS = words_of(
    "argument arguments value values input inputs output outputs parameter parameters state this that these usage "
    "operation call error result thing object something anything"
)


def read(error: Crash | Raised) -> Match | None:
    """The reading of an error's message, as a symptom of its own; None where it is not torch's or has no known form."""
    text = cleaned(error.message)
    parts = sentences(text)
    claims = [
        clause
        for part in parts[:1] + [one for one in parts[1:] if not is_advice(one.text)]
        if (clause := next(clauses(part), None)) is not None
    ]
    if "Explanation: " not in text or not _TITLED.search(text):
        claims.sort(key=lambda clause: clause.frame in WEAK or _PRONOUN.fullmatch(_subject(clause)) is not None)
    elif parts and (not claims or claims[0].text not in parts[0].text):
        claims.insert(0, Clause("said", asked=parts[0].text, operator=parts[0].operator, text=parts[0].text))
    if not claims and parts and len(_WORD.findall(parts[0].text)) > 2 and says_so(error, text):
        claims = [Clause("said", asked=parts[0].text, operator=parts[0].operator, text=parts[0].text)]
    if not claims:
        return None
    clause = claims[0]
    kind, sure = kind_of(clause)
    detail = bool(clause.given) + bool(clause.operator)
    firm = clause.frame not in WEAK and kind not in VAGUE and (sure or error.name == "RuntimeError")
    if not is_torchs(error, text, bool(clause.operator), detail, firm):
        return None
    family = BY_TYPE.get(error.name) or family_of(clause, kind, text)
    others = [one for one in claims[1:3] if len(one.asked) > 3 or not _PRONOUN.fullmatch(one.subject or "this")]
    told = Told(clause, others, kind if sure else None, text)
    texts = {field: {code: f"{{{{ m.{field}_{code} }}}}" for code in LANGUAGES} for field in ("headline", "why")}
    hint = (advice([part.text for part in parts]) or "").translate(_BRACES)
    fixes = ({"title": {code: word("c_advice", code, advice=hint) for code in LANGUAGES}},) if hint else ()
    about = _about(clause)
    named = clause.frame not in WEAK and any(one.lower() not in _NAMELESS for one in about)
    specific = kind != "other" or detail > 0 or len(about) > 1 or len(claims) > 1 or named
    symptom = Symptom(f"check-{kind}-{_name(clause)}", family, (), (), texts, specific, fixes=fixes)
    return Match(symptom, told)


def claim(error: Crash | Raised, language: str, firm: bool = False) -> str | None:
    """What a message asks for, as a headline; None where it states no requirement that has a known form.

    With `firm` also what it says to be wrong, as long as that is more than what happened.
    """
    found = read(error)
    told = found.captures if found is not None else None
    if not isinstance(told, Told) or not (told.clause.frame in STATING or (firm and told.clause.frame not in WEAK)):
        return None
    return told[f"headline_{language}"]


def _subject(clause: Clause) -> str:
    """What a clause is about; where a frame names nothing, the word that its sentence begins with."""
    return clause.subject or clause.text.partition(" ")[0]


def _about(clause: Clause) -> list[str]:
    """The words of subject and requirement that name something."""
    words = [_WORD.findall(part.partition("(")[0]) for part in (clause.subject, clause.asked)]
    return [one for part in words for one in part if len(one) > 3]


def _name(clause: Clause) -> str:
    """What a check is known by: the operator that made it, else what it is about, else its frame."""
    about = _WORD.findall(clause.subject.partition("(")[0]) or _about(clause)[:1]
    name = clause.operator or (about[-1] if about else clause.frame)
    return name.lower().removeprefix("torch.").replace("::", ".")[:30].strip("._-") or clause.frame


def unsaid(message: str, told: str, language: str) -> str:
    """A sentence with the values that a message names and an explanation does not; empty where it names them all."""
    left = [one for one in values(cleaned(message), told) if one not in ("0", "1")]  # which tell nothing alone
    return word("c_values", language, values=word("listed", language).join(map(quoted, left))) if left else ""
