"""The frames of which check messages are made, and what stands in them: who, what is asked, what was given.

A frame quotes. What a sentence leaves out (the argument, the value that was given) stays out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.frozen import frozen
from explainer.grammar.given import apart
from explainer.grammar.sentence import Sentence
from explainer.patterns import Pattern


@frozen
class Clause:
    """One claim. `subject` is what it is about, `asked` the requirement, `given` the actual value, all as written;
    `text` the whole sentence but for what was given.
    """

    frame: str
    subject: str = ""
    asked: str = ""
    given: str = ""
    operator: str | None = None
    text: str = ""

    @property
    def predicate(self) -> str:
        """What the sentence says of its subject."""
        said = self.text.partition(self.subject)[2].strip(" ,:;.") if self.subject else self.text
        return said.removeprefix("that ").removeprefix("which ")


#: A kind of thing and which one it is: `mode: fast`, `mode=fast`, `mode 'fast'`.
_VALUED = Pattern(
    r"(?P<subject>[A-Za-z_][\w .-]*?)(?<!\bon)(?<!\bof)(?<!\bin)(?: ?(?::(?!\d)|=) ?| (?=['\"`]))(?P<given>[^:=\s].*)"
)
#: Frames in which what is refused is often followed by its value.
_REFUSING = ("invalid", "unsupported")
_IT_IS = Pattern(r"^[Ii]t is (?:expected|required) (?:that )?")
#: What was refused is what it is about: `invalid dtype: expected ...`.
_WRONG = Pattern(r"^(?:[Ii]nvalid|[Uu]nsupported|[Uu]nexpected|[Ii]ncorrect|[Ww]rong|[Bb]ad|[Ii]llegal) (?=\w)")
#: What a clause of advice adds to a claim, and words at the edges of a part that say nothing.
_ASIDE = Pattern(
    r" \((?:please|if you)\b[^()]*\)|[,;] (?:please|but you|so (?:please|you)|(?:did you|try|consider|use) )\b.*|"
    r"[,;:] (?:but |and )?(?:this|that|which) should(?:n't| not| never)(?: have)? happen(?:ed)?\b.*",
    2,
)
_LOOSE = Pattern(
    r"^(?:but|is|are|was|were|that|which|it|this|this is|there|[Cc]urrently)(?: |$)|"
    r"(?:^| )(?:seems? to|appears? to|that|which|who|they|(?<!with )it|this|this is|and|is|are|"
    r"at the moment|at present|currently|yet|for now|but|because|since|right now|-)$"
)
_NEED = (
    r"(?:(?P<never>shouldn't|mustn't|cannot|can't|can not|may not)|must|shall|should|has to|have to|needs? to|can only|"
    r"may only|(?:(?:is|are|was|were) )?expected to|(?:is|are) supposed to|ought to|"
    r"(?:is|are) required to(?= (?:be|have|match|return)\b)|(?:can|may) (?=take|only))"
)
#: Before a verb of asking: what is not asked for is no requirement, nor what an aside says of a thing.
_ASKED = r"(?<!\bnot )(?<!n't )(?<!\bthat )(?<!\bwhich )(?<!\bmissing )"
#: What a sentence says that is different may be what something must be for, or cannot be done with.
_BOUND = r".*\b(?:must|should|cannot|can not|can't|could not|(?:has|have|needs?) to) "
#: What should differ is no mismatch.
_DEMANDED = r".*\b(?:expects?|requires?|needs?|must|should)\b.* (?:that|to|be) (?:differ|different|mismatch)"
#: In this order; the first whose pattern fits is the frame.
_FRAMES: tuple[tuple[str, tuple[str, ...], Any], ...] = (
    ("needs", ("assertion",), Pattern(r".*?Assertion [`'\"](?P<asked>.+?)[`'\"] failed.*")),
    ("build", ("compil", "built with", "build", "backend"), Pattern(
        r"(?P<subject>.*?)\b(?:(?:was|is|were|has been)?\s*(?:not|n't|without)\s*(?:been )?(?:compiled|built|linked)"
        r"(?: with| for)?|compiled without|without (?=\w+ support)|requires? (?:compiling|building) (?:PyTorch )?with|"
        r"(?:library )?not found in compilation|was not enabled for|"
        r"requires? PyTorch (?:built|compiled) with)\s*(?P<asked>.*)")),
    ("exclusive", ("exclusive", "either", "both", "at the same time", "exactly one", "at most one", "only one",
                   "simultaneously", "at least one of", "together"), Pattern(
        r"(?P<subject>.+?) (?:are|is) mutually exclusive(?P<asked>.*)|"
        r"(?:[Cc]annot|[Cc]an't|[Cc]an not|must not|[Dd]o not|should not)"
        r"(?: \w+)? (?P<subject2>both .+|.+ (?:at the same time|simultaneously|together).*)|"
        r"(?P<subject3>(?:.*\b)?(?:[Ee]ither|[Ee]xactly one|[Aa]t (?:most|least) one|[Oo]nly one) of .+)|"
        r"(?P<subject4>.+ and .+?) (?:can't|cannot|can not|must not|should not|may not) (?:be )?both (?P<asked4>.+)")),
    ("removed", ("no longer", "deprecated", "removed", "obsolete", "legacy", "used to"), Pattern(
        r"(?P<subject>.+?) (?:is|are|has been|was|were)(?: now)? "
        r"(?:no longer(?: (?:supported|available|allowed)\b)?\s*(?P<asked>.*)|(?P<asked2>deprecated|"
        r"removed|obsolete)\b.*)|no longer (?P<asked3>.+)")),
    ("only", ("only",), Pattern(
        r"(?P<subject>.*?)(?:\b(?:currently|now|yet)\s)?\b(?:only (?:supports?|accepts?|works?|takes?|allows?|handles?|"
        r"implements?|implemented|applies|operates|deals?|supported|available)|(?:supports?|accepts?|works?|takes?|"
        r"handles?|implemented|operates|supported|available|defined|called|used) only)\b(?: (?:with|on|for|to)\b)?"
        r"\s*(?P<asked>.+)|"
        r"(?P<subject2>.+?) (?:is|are|be|can be|may be|must be)(?: currently)? only(?: be)?(?: currently)? "
        r"(?:supported|implemented|available|defined|valid|allowed|meaningful|possible|used|applied|applicable|enabled|called|made|"
        r"set|created|specified|relevant)\s*(?P<asked2>.*)|"
        r"(?P<subject3>.+?) (?:should|must|will) only (?:be )?(?:called |used )?(?P<asked3>.+)|"
        r"(?:.*?[,:] )?(?:[Cc]urrently,? )?(?:can )?[Oo]nly (?P<asked4>.+?) (?:is|are|can be|be|was)(?: currently)?"
        r"(?: supported| allowed| implemented| accepted| valid| available| used)*(?: currently| yet| now)?"
        r"(?: (?:for|in|by|on|with|to|at|as|when) (?P<subject4>.+))?$|"
        r"(?:.*?[,:] )?[Oo]nly (?P<asked6>.+?) (?:supported|implemented|allowed|available) (?:for|in|by|on|with|to) "
        r"(?P<subject6>.+)|"
        r"(?:.*?[,:] )?(?:[Cc]urrently,? )?(?:[Cc]an )?[Oo]nly (?:be )?(?:supports? )?"
        r"(?P<asked5>(?!valid |.* supports? ).+?)(?: supported| allowed| implemented)?$")),
    ("only", ("supports ", "handles ", "only", "possible ", "valid ", "allowed ", "choices", "choose"), Pattern(
        r"(?P<subject>\S+(?: \S+){0,8}?) (?:supports|handles) (?P<asked>(?:up to |at most )?.*\d.*)|"
        r"(?P<subject2>.+?) (?:(?:is|are|be|was) (?:\w+ )?(?:for|in|with|on|by)|supports?|accepts?|takes?|works? \w+)"
        r" (?P<asked2>.+?),? only$|(?P<subject3>.+?) (?:can|may|is|are|could)(?: be)? (?:\w+ ){1,3}only (?P<asked3>.+)|"
        r"(?P<subject4>.+?) only (?:can|may|could) (?:be )?(?P<asked4>.+)|"
        r"(?:.*?[,:.] (?:but |the )?|[Oo]nly )?(?:[Pp]ossible|[Vv]alid|[Aa]llowed|[Ss]upported|[Aa]ccepted) "
        r"(?P<subject5>[\w ]+?)(?: are| is|:| range)+ (?P<asked5>.+)|[Aa]ccepts? only (?P<asked7>.+)|"
        r"(?P<subject6>.+?)[,:;.]? (?:please )?choose (?:from|one of|between) (?P<asked6>.+)")),
    ("unsupported", ("support", "implement", "nyi", "not yet", "not allow", "n't allow", "not available", "handle",
                     "not permitted", "no implementation", "not applicable", "not enabled"), Pattern(
        r"(?P<subject>.+?)(?<! or)(?<! and)(?<! with)(?<! of)(?<! an)(?<! for)"
        r" (?:is|are|was|were|has|have|isn't|aren't|be)?\s?(?:not|n't|never|un)?(?: \w+)?(?: yet| been)?"
        r"(?:(?<=not)|(?<=n't)|(?<=un)|(?<=not \w{8})|(?<=not \w{5})|(?<=not yet)|(?<=not been)|(?<=\bnot \w{9}))\s?"
        r"(?:be )?(?:supported|implemented|allowed|available|permitted|handled|applicable|enabled)\b(?: yet)?[,:]?"
        r"\s*(?P<asked>.*)|"
        r"(?P<subject2>.*?)\b(?:[Dd](?:o|oes|id)|is|can|could|will)(?: not|n't|not)(?: currently| yet| directly|"
        r" really)* (?:support|implement|allow|handle|accept|permit)(?:ing|ed)?\b\s*(?P<asked2>.*)|"
        r"(?P<before>.*?\b)?(?:[Uu]nsupported|[Uu]nimplemented|[Nn]ot (?:yet )?(?:supported|implemented)|"
        r"NYI|nyi|[Uu]nhandled)\b[:,]?\s*(?P<asked3>.*)|"
        r"(?P<subject4>.+?) (?:has|have|with) no (?P<asked4>implementation.*)|"
        r"(?:(?P<subject5>.+?) )?[Nn]ot (?:yet )?(?:support|allow) (?P<asked5>.+)")),
    ("match", ("match", "mismatch", "agree", "inconsisten", "incompatible", "differ", "not equal", "!=", "the same",
               "compatible", "unequal", "disagree", "conflicting"), Pattern(
        rf"(?!{_DEMANDED})(?P<subject>.+?) (?:mismatch(?:es|ed)?|(?:do|does)(?: not|n't) (?:match|agree)|"
        r"did(?: not|n't) match|(?:is|are)(?: not|n't) (?:equal|compatible|consistent|the same|equivalent|identical)|"
        r"(?:is|are) (?:different|inconsistent|incompatible|unequal)|differs?)\b"
        r"(?: to| with| from| as| between| [Tt]han)?[,:]?\s*(?P<asked>.*)|"
        rf"(?!{_BOUND})(?P<before>.*?\b)?(?:[Ii]nconsistent|[Mm]ismatch(?:ed)?|[Ii]ncompatible|[Dd]ifferent|"
        r"[Nn]on-?matching|[Uu]nequal|[Cc]onflicting)(?: (?:in|of|between|for))?\s+(?P<subject2>.+)|"
        r"(?P<subject3>.+?) (?:!=|=/=) (?P<asked3>.+)")),
    ("range", ("out of", "exceed", "too ", "larger", "smaller", "greater", "less than", "bigger", "overflow", "beyond",
               "outside", "more than", "above", "below", " < ", " > "), Pattern(
        r"(?P<subject>.*?)\b(?:is|are|was|were|has|have|being|went)?\s*(?:out of(?: the)? (?:range|bounds?|"
        r"\w+ bounds?)|outside(?: of)?(?: the)?|exceeds?|exceeded|overflow(?:s|ed)?|"
        r"(?:(?<=is )|(?<=are )|(?<=was )|(?<=were ))(?:beyond|above|below))\b[,:]?(?: (?:for|of|with|in))?\s*"
        r"(?P<asked>.*)|"
        r"(?P<subject2>(?!.*\b(?:must|should|expected(?! \()|has to|needs to|requires?|can ?not|can't|may not)\b).+?)"
        r" (?:is|are|was|were|has|have)"
        r"(?: too)? (?P<asked2>(?:too (?:large|small|many|few|big|long|short|high|low|deep)|"
        r"(?:larger|smaller|greater|less|bigger|more|fewer|longer|shorter|higher|lower) than(?! once)).*)|"
        r"(?P<asked3>[Tt]oo (?:many|few|much|large|small)\b) (?P<subject3>.+)|"
        r"(?P<subject4>.+?) (?P<asked4>too (?:large|small|many|few|big|long)\b.*)|"
        r"(?P<subject5>(?!.*\b(?:must|should|be)\b)\S+(?: \S+){0,4}?) (?P<asked5>[<>]=? \S+)$|"
        r"(?P<subject6>(?!.*\b(?:must|should|expected|has to|needs to|requires?|cannot|can't|not)\b).+?) (?P<asked6>"
        r"(?:larger|smaller|greater|less|bigger|more|fewer|longer|shorter|higher|lower) than (?!once).+)")),
    ("needs", ("must", "should", "shall", "have to", "has to", "need to", "needs to", "can only", "cannot be",
               "cannot have", "can't have", "can't be", "can not be", "could not be", "expected to", "required to",
               "supposed to", "ought", "can take", "may not"), Pattern(
        rf"(?P<subject>.+?),? {_NEED}(?: all| either| both| always| also| each| itself| (?:only )?currently)*"
        r" (?P<asked>(?:not |only |never |n't )?\S.*)|"
        rf"(?P<asked2>(?:[Mm]ust|[Ss]hould) \S.*)")),
    ("expected", ("expect", "require", "need"), Pattern(
        r"(?P<given>.+?) (?:is|are|was|were)(?: not|n't) (?:the |an? )?expected (?P<asked5>\S.*)|"
        r"(?:.*?\b)?(?:[Ee]xpect(?:s|ed|ing)?|EXPECTED)(?: that)?:? (?P<subject>(?:(?!\bto\b).)*?)\bto "
        r"(?P<asked>(?!be true\b)[a-z]\w+ .*)|"
        r"(?P<asked4>(?!.*[Ee]xpected \w+.* expected|.* requires ).+?) (?:(?:is|are|was) )?"
        rf"{_ASKED}(?:expected|required|needed)\b"
        r"(?: (?:for|in|by|with|when|if|as|on|to) (?P<subject4>.+))?$|"
        rf"(?P<subject2>.+?) (?:(?:is|are|was|were) )?{_ASKED}(?:expects?|expecting|expected|requires?|needs)\b:?"
        r"(?: that)?\s+(?P<asked2>\S.*)|"
        rf"(?:(?:.*?\b)?{_ASKED}(?:[Ee]xpect(?:s|ed|ing)?|EXPECTED|[Rr]equire[sd]?)|[Nn]eeds?)\b:?(?: that\b|"
        r" to\b)?\s*(?P<asked3>(?!.* (?:is|are|was) (?:not (?:provided|found|set)|missing)\b)[^\s,;].*)")),
    ("invalid", ("invalid", "unknown", "unrecogni", "unexpected", "illegal", "not a valid", "not valid", "incorrect",
                 "wrong", "bad ", "malformed", "not recogni", "ill-formed", "ambiguous", "duplicate", "nonsens",
                 "corrupt", "not understood", "undefined"), Pattern(
        r"(?P<given>\S+|['\"`][^'\"`]+['\"`]) (?:is|are|was)(?: not|n't) (?:a |an |one of the )?(?:valid|recogni[sz]ed|"
        r"legal|correct|understood|known)\b\s*(?P<subject>.*)|"
        r"(?P<subject4>.+?) (?:is|are|was|were|has|have)(?: an?)? (?:invalid|incorrect|wrong|ill-formed|malformed|"
        r"illegal|ambiguous|duplicated?|corrupt(?:ed)?)\b\s*(?P<asked4>.*)|"
        r"(?:.*?\b)?(?:[Ii]nvalid|[Uu]nknown|[Uu]nrecogni[sz]ed|[Uu]nexpected|[Ii]llegal|[Ii]ncorrect|[Ww]rong|[Bb]ad|"
        r"[Mm]alformed|[Ii]ll-formed|[Aa]mbiguous|[Dd]uplicate[d]?|[Uu]ndefined|[Cc]orrupt(?:ed)?)"
        r"(?: (?:values?|type)(?= of| for))?(?: (?:of|for|in))? (?P<subject2>.+)|"
        r"(?P<given6>.+?) not (?:an? )?(?:valid|recogni[sz]ed|legal|known|understood)\b(?: an?)?"
        r"(?: (?P<subject6>.+))?$|(?P<subject7>.+) (?:invalid|incorrect|(?<!went )wrong|unexpected|unknown|"
        r"malformed|unrecogni[sz]ed|illegal|corrupt)$")),
    ("missing", ("missing", " no ", "no ", "not found", "not provided", "not specified", "not defined", "not set",
                 "not initialized", "not registered", "not given", "not passed", "n't found", "not find", "n't find",
                 "not exist", "n't exist", "without", "must provide", "must specify", "not been", "is none", "not have",
                 "n't have", "not contain", "not present", "empty", "zero", "lacks", "not in ", "nullptr",
                 "not installed", "not initialised", "uninitialized", "is null", "not part of", "not know",
                 "no such"), Pattern(
        r"(?P<subject>.+?) (?:is|are|was|were|has|have|hasn't|isn't|wasn't|aren't)\s?(?:not|n't)?(?: yet)?(?: been)?"
        r"(?:(?<=not)|(?<=n't)|(?<=not yet)|(?<=not been)|(?<=n't been)|(?<=not yet been))(?: fully| properly)? "
        r"(?P<asked>(?:found|provided|specified|defined|set|initiali[sz]ed|registered|given|passed|present|installed|"
        r"known|started|created|part of|in|attached|enabled|supplied|loaded|populated|ready|synchronized|declared|"
        r"exported|built|recorded|called|entered|used)\b.*)|"
        r"(?P<subject2>.+?) (?:do|does|did)(?: not|n't)(?: yet)? (?P<asked2>(?:exist|have|contain|include|provide|"
        r"define|find|specify|know|own|hold|appear|correspond|belong|return|require|depend|carry|set)\b.*)|"
        r"(?P<subject3>.+?) (?:is|are|was|were) (?P<asked3>(?:missing|undefined|None|null|empty|absent|zero|"
        r"uninitiali[sz]ed|required|unset|lost)\b.*)|"
        r"(?P<subject7>.+?) (?:is )?not (?P<asked7>(?:found|registered|installed|initiali[sz]ed|defined|"
        r"provided|set|in)\b.*)|"
        r"(?P<subject6>.+?) (?P<asked6>(?:lacks?|misses|has no|have no|had no|without|with no|found no|contains no|"
        r"got no)\b.*)|[Ee]mpty (?P<subject8>(?!.* is ).+)|(?:.*?\b)?(?:[Mm]issing|[Nn]o|[Nn]ullptr|"
        r"[Dd]id(?: not|n't) (?:find|get|receive)|[Cc]ould(?: not|n't) find|"
        r"[Cc]an(?:not|'t) find)\b:? (?P<asked4>.+?)(?: (?:for|in|of|on|from|at) (?P<subject4>.+))?$")),
    ("is-not", (" not ", "n't ", "neither", "non-"), Pattern(
        r"(?P<subject>.+?) (?:is|are|was|were|has|have|had)(?: not|n't) (?P<asked>\S.*)|"
        r"(?P<subject2>.+?) (?:do|does|did|will|would)(?: not|n't) (?P<asked2>\S.*)")),
    ("state", (" failed", " failure"), Pattern(
        r"(?P<subject>[^:;,]+?) (?P<asked>(?:has )?(?:failed(?! to)|failure)\b.*)")),
    ("refused", ("cannot", "can't", "can not", "could not", "couldn't", "fail", "unable", "not able", "trying",
                 "tried", "attempt", "not possible", "impossible", "refus", "disallow", "forbid", "illegal",
                 "never be", "must not", "don't", "do not", "error"), Pattern(
        r"(?P<subject>.*?)\b(?:[Cc]an(?:not|'t| not)|[Cc]ould(?: not|n't)|[Ff]ail(?:ed|s)? to|"
        r"[Uu]nable to|[Nn]ot able to|[Tt]rying to|[Tt]ried to|[Aa]ttempt(?:ed|ing|s)?(?: to)?|"
        r"[Ii]t is (?:not possible|impossible) to|[Dd]o(?: not|n't)(?: know how to)?)\b:? (?P<asked>.+)|"
        r"(?:.*?\b)?(?<!an )[Ee]rror (?!occurr|in\b)(?P<asked2>.+)|[Ff]ailed (?P<asked3>.+)")),
    ("state", ("already", "twice", "more than once", "again", "only once", "after", "before", "has been", "was called",
               "while", "called", "multiple times", "appear", "repeat", "freed", "disabled", "duplicat"), Pattern(
        r"(?P<subject>.+?)(?: (?:has|have|is|are|was|were)(?: been)?)? (?P<asked>already .+)|"
        r"(?:.*?[,:] )?[Aa]lready (?P<asked2>.+)|"
        r"(?P<subject3>.+?) (?P<asked3>(?:appears? in more than|appears?|have been freed|(?:is|are) (?:disabled|"
        r"repeated|duplicated)|called|is called|was called|has been|have been|were called)\b.*|"
        r"(?:more than once|twice|multiple times).*)|[Rr]epeated (?P<subject4>.+)|(?P<asked5>[Cc]alled .+)")),
    ("got", ("got", "receive", "found", "given", "detected", "encountered"), Pattern(
        r"(?P<subject>.*?)\b(?:[Gg]ot|[Rr]eceived?|[Ff]ound|[Gg]iven|[Dd]etected|[Ee]ncountered):? (?P<asked>.+)")),
    ("said", ("timed out", "time out", "timeout", "failure", "crashed", "unsafe"), Pattern(
        r"(?P<subject>.+?) (?P<asked>(?:has |is )?(?:timed out|timeout|crashed|unsafe)\b.*)|"
        r"(?:[Tt]imed? ?out|[Uu]nsafe|[Ff]ailure)(?: to| in| at| of| while)? (?P<asked2>.+)")),
    ("needs", (" takes ", " accepts ", " implies ", "specify", "please", "make sure"), Pattern(
        r"(?P<subject>.+?) (?:takes|accepts|implies) (?P<asked>\S.*)|"
        r"(?:.*?\b)?(?:[Ss]pecify|[Mm]ake sure(?: that)?|[Pp]lease (?:provide|install|check(?: that)?|"
        r"(?=register|call|set|use|enable|initiali[sz]e|pass))) "
        r"(?P<asked2>\S.*)")),
    ("said", ("",), Pattern(
        r"(?P<subject>(?:(?!if|when|because|unless)\S+ ){1,9}?)(?P<asked>(?:is|are|was|were|has|have|had|will|"
        r"would|returns?|returned|changed|contains?|uses?|used|produces?|produced|raises|raised|depends|exists?|holds?|gives|gave|"
        r"applies|defines|mutates|conflicts|requested|comes?|came|ends?|ended|exited|died|hangs?|became|"
        r"differs?|occurred|went|extends?|makes?|supports) \S.*)|"
        r"(?P<asked2>[A-Z][a-z]+ing (?!the following)\S+ \S.*)|(?:(?P<subject3>[^:;,]+?) )?(?P<asked3>[Nn]ot \S.*)")),
)  # fmt: skip


#: What no subject of a frame begins with.
_UNDONE = ("cannot ", "can't ", "could not ", "couldn't ", "unable ", "not able ", "failed to ")
_NOT_BEFORE = {"range": ("expect", *_UNDONE), "missing": _UNDONE, "is-not": _UNDONE, "expected": _UNDONE}
#: Frames of a requirement, and words with which one begins that the frame itself says.
_DEMANDING = ("needs", "expected", "only")
_MODAL = Pattern(r"^(?:(?:should|must|has to|have to|needs? to)(?= (?:only )?be )|(?:Must|Should) )")
#: Who the message speaks to, or nobody, is not what it is about.
_NOBODY = ("you", "we", "there", "please", "detected", "found")
#: Beginnings of sentences whose subject is their operator; behind the next a sentence goes on with the circumstances.
_PREDICATES = ("does", "do ", "did", "don't ", "has not ", "can only ", "supports ", "is ", "takes ")
_WHEN = Pattern(r" (?:if|because|since|unless) .*")
#: Frames that state no requirement: what another sentence of the message requires tells more.
WEAK = ("got", "state", "refused", "is-not", "missing", "said")


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """What a sentence claims, the frame that fits first coming first."""
    text = _IT_IS.sub("Expected ", _ASIDE.sub("", sentence.text).replace(" NOT ", " not "))
    if sentence.operator and text.startswith(_PREDICATES):
        text = f"{sentence.operator} {text}"
    claim, given = apart(text)
    yield from _fitting(claim, given, sentence.operator)
    if given:  # what was taken for the actual value is a part of the claim
        yield from _fitting(text, "", sentence.operator)


def _fitting(claim: str, given: str, operator: str | None) -> Iterator[Clause]:
    low = f" {claim.lower()} "
    for name, triggers, pattern in _FRAMES:
        if name == "invalid" and claim.lower().startswith(_UNDONE) and ":" not in claim:
            continue  # that is only why
        if any(map(low.__contains__, triggers)):
            found = pattern.match(claim)
            if found is not None:
                parts = _parts(found.groupdict(), claim)
                if parts["subject"].count("(") != parts["subject"].count(")") or " because " in parts["subject"]:
                    continue  # the claim stands in an aside
                if parts["subject"].lower().startswith(_UNDONE):  # what it led to stands before what is asked
                    parts["subject"] = parts["subject"].rpartition(": ")[2]
                if parts["subject"].lower().startswith(_NOT_BEFORE.get(name, ("\n",))):
                    continue  # it says what should be, or what could not be done
                if name in _REFUSING and not (given or parts["given"] or parts["asked"] == claim):
                    parts |= _valued(parts)
                if name in _DEMANDING:
                    parts["subject"] = _WRONG.sub("", parts["subject"], 1)
                    parts["asked"] = _MODAL.sub("", parts["asked"], 1)
                parts["subject"] = parts["subject"].rpartition(", but ")[2]
                if name == "build":
                    parts["subject"] = _WHEN.sub("", parts["subject"])
                if parts["subject"].lower().rpartition(", ")[2] in _NOBODY:
                    parts["subject"] = ""
                yield Clause(name, parts["subject"], parts["asked"], parts["given"] or given, operator, claim)


def _valued(parts: dict[str, str]) -> dict[str, str]:
    """What was refused and its value, where one of subject and requirement says both and the other nothing."""
    part = parts["subject"] if not parts["asked"] else parts["asked"] if not parts["subject"] else ""
    found = _VALUED.fullmatch(part)
    if found is not None and " " in found["subject"] and part[found.end("subject")] == "=":
        return {}  # the setting of one thing among others
    return {"subject": found["subject"], "asked": "", "given": found["given"]} if found is not None else {}


def _tidy(part: str) -> str:
    """A part without the words that tie it to the rest: `is`, `that`, `at the moment`."""
    for _ in range(3):
        part = _LOOSE.sub("", part.strip(" ,:;."))
    part = part.strip(" ,:;.")
    opened, closed = part.count("("), part.count(")")
    if part.startswith("(") and opened > closed:
        return part[1:]
    return part[:-1] if part.endswith(")") and closed > opened else part


def _parts(groups: dict[str, str | None], claim: str) -> dict[str, str]:
    """Groups by their names without the number of their alternative; the whole claim where it begins with another."""
    parts = {"subject": "", "asked": "", "given": ""}
    never, before = groups.pop("never", None), (groups.pop("before", None) or "").strip()
    if before and before[-1] not in ":,;.(":
        return {**parts, "asked": claim}
    for name, text in groups.items():
        if text and not parts[name.rstrip("0123456789")]:
            parts[name.rstrip("0123456789")] = _tidy(text)
    if never:
        parts["asked"] = f"not {parts['asked']}"
    return parts
