"""Requirements in the reader's language: common phrases by their parts, whatever else quoted as it was written."""

from __future__ import annotations

from typing import Any

from explainer.locale import word
from explainer.patterns import Pattern

#: A quotation is no longer than this.
LONGEST = 90
_X = r"(?P<x>[^\s,;:()]+(?:\([^()]*\)|\[[^\]]*\])*(?: (?:and|or) [^\s,;:()]+)?|[\[(][-\d, .]+[\])])"
_N = r"(?P<n>-?\d+(?:\.\d+)?(?:e-?\d+)?)"
_BE = r"(?:be |have |has |is |are |being )?(?:of |an? |the |exactly )*"
_DIMS = r"(?:\d|one|two|three|four|five)(?:[- ]?[dD])?"
_DEVICE = r"(?P<x>CPU|GPU|CUDA|MPS|XPU|cpu|cuda(?::\d+)?|gpu|mps|xpu|meta)"
_DTYPE = (
    r"(?P<x>torch\.\w+|b?float\d+|u?int\d+|double|half|complex\d+|Float|Double|Half|BFloat16|Long|Int|Short|"
    r"Byte|Char|Bool|ComplexFloat|ComplexDouble)"
)
_NOUN = (
    r"(?P<noun>number of dim(?:ension)?s|number of elements|numel|number of channels|shape|sizes?|dtypes?|scalar type|"
    r"data type|types?|devices?|layouts?|lengths?|ndim|batch size|rank|dimensions?|strides?|memory format)"
)
_PHRASES: tuple[tuple[str, Any], ...] = tuple((key, Pattern(rf"{_BE}(?:{text})")) for key, text in (
    ("p_dims", rf"(?:batched )?(?P<dims>{_DIMS}(?:(?:,? or |, ?| and | to |/){_DIMS})*)(?:[- ]?(?:dims?|dimensions?|"
     rf"dimensional)|(?<=[dD]))(?: \(batch mode\))?(?: input| output)?(?: tensors?| vectors?| matri\w+| inputs?|"
     rf" arrays?)?"),
    ("p_dims_min", rf"(?:at least|>=|more than or equal to) (?P<dims>{_DIMS})(?:[- ]?(?:dims?|dimensions?|dimensional)|"
     rf"(?<=[dD]))(?: tensors?| input)?"),
    ("p_dims", rf"(?:n?dim(?:ension)?s?(?:\(\))?|rank) ?(?:==|equal to|of|=) ?(?P<dims>{_DIMS})"),
    ("p_scalar", r"(?:scalar|0-?[dD](?:im(?:ensional)?)?)(?: tensors?)?"),
    ("p_same_as", rf"same {_NOUN}(?: as| with| of) {_X}"),
    ("p_same", rf"same {_NOUN}|on (?:the )?same (?P<noun2>device)|(?P<noun3>same)"),
    ("p_same_device_as", rf"on (?:the )?same device(?: as| with) {_X}"),
    ("p_match", rf"(?:match|equal|equal to|agree with|the same as) {_X}"),
    ("p_positive",
        r"(?:strictly )?positive(?: integers?| numbers?| values?)?|(?:greater|larger|bigger|more) than (?:0|zero)|"
     r"> ?0(?:\.0)?"),
    ("p_nonnegative",
        r"non-?negative(?: integers?| numbers?| values?)?|(?:greater than or equal to|greater or equal to|"
     r"at least|>=) ?(?:0(?:\.0)?|zero)"),
    ("p_nonzero", r"non-?zero|not (?:be )?(?:0|zero)|!= ?0"),
    ("p_ge", rf"(?:integer )?(?:greater than or equal to|greater or equal to|at least|no less than|>=) {_X}"),
    ("p_le",
        rf"(?:less than or equal to|smaller than or equal to|less or equal to|at most|no (?:more|larger|greater) than|"
     rf"not exceed|<=|up to) {_X}"),
    ("p_gt", rf"(?:greater|larger|bigger|more) than {_X}|> {_X.replace('<x>', '<x2>')}"),
    ("p_lt", rf"(?:less|smaller|fewer) than {_X}|< {_X.replace('<x>', '<x2>')}"),
    ("p_between", r"(?:between|in(?: the)? (?:range|interval)(?: of| from)?|within|in) (?P<low>-?[\w.]+) (?:and|to) "
     r"(?P<high>-?[\w.]+)|(?:in(?: the)? (?:range|interval)(?: of)?|in|within|"
     r"between)\s?:? ?[\[(](?P<low2>[^,\[\]()]+), ?"
     r"(?P<high2>[^,\[\]()]+)[\])]"),
    ("p_divisible", rf"(?:evenly )?divisible by {_X}|multiple of {_X.replace('<x>', '<x2>')}"),
    ("p_contiguous", r"contiguous(?: tensors?)?"),
    ("p_nonempty", r"non-?empty(?: tensors?)?|not (?:be )?empty"),
    ("p_floating", r"floating[- ]?point(?: (?:types?|dtypes?|tensors?|numbers?))?"),
    ("p_integral", r"(?:integer|integral)(?: (?:types?|dtypes?|tensors?))?"),
    ("p_complex", r"complex(?: (?:types?|dtypes?|tensors?))?"),
    ("p_device", rf"(?:on |on the |on a )?{_DEVICE}(?: (?:device|tensors?|inputs?|backend))?"),
    ("p_dtype",
        rf"(?:scalar type |ScalarType |dtype |type |data type )?{_DTYPE}(?: (?:dtype|tensors?|type|elements?))?"),
    ("p_elements", rf"(?:length |size |numel(?:\(\))? ?(?:==)? ?)?{_N} elements?|(?P<single>single|one|1)[- ]element"
     r"(?: tensor)?"),
    ("p_size", r"(?:of )?(?:shape|sizes?|length) ?(?:==|equal to|of|=)? ?(?P<x>[\[(][-\d, *:.]+[\])]|\d+)"),
    ("p_tensor", r"(?:torch\.)?[Tt]ensors?"),
    ("p_strided", r"strided(?: layout| tensors?)?"),
    ("p_sparse", r"sparse(?: tensors?)?"),
))  # fmt: skip
_NOUNS = {
    "shape": "noun_shape", "size": "noun_size", "length": "noun_length", "dtype": "noun_dtype", "type": "noun_type",
    "device": "noun_device", "layout": "noun_layout", "numel": "noun_elements", "number of elements": "noun_elements",
    "number of channels": "noun_channels", "batch size": "noun_batch", "stride": "noun_stride",
    "scalar type": "noun_dtype", "data type": "noun_dtype", "memory format": "noun_format", "same": "noun_value",
}  # fmt: skip
_DIGITS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
_DIM = Pattern(r"\d|one|two|three|four|five")
_PLACEHOLDER = Pattern(r"\{[^{}]*\}|%(?:\.\d+)?[sdifgru]\b|<\?>")
_ARTICLE_OR_VERB = Pattern(r"\b(?:be|have|of|the|a|an|to)\b")
_ARTICLE = Pattern(r"^(?:(?:the|a|an|of|your|its) )+")


def phrase(text: str, language: str) -> str:
    """A requirement in words of `language`: by its parts where it is a common one, else quoted."""
    return common(text, language) or quoted(text)


def common(text: str, language: str) -> str | None:
    """A common requirement in words of `language`; None for any other."""
    plain = text.strip(" .,;:!")
    for key, pattern in _PHRASES if len(plain) < 120 else ():
        found = pattern.fullmatch(plain)
        if found is not None:
            return word(key, language, **_values(found.groupdict(), language))
    return None


def quoted(text: str) -> str:
    """Words as they were written, in backticks; cut where they are long."""
    plain = _ARTICLE.sub("", text.strip(" .,;:!")) or text.strip()
    if plain[:1] in "`'\"" and plain[:1] == plain[-1:] and plain.count(plain[0]) == 2:
        plain = plain[1:-1]
    plain = " ".join(plain.replace("`", "'").split())
    if len(plain) > LONGEST:
        plain = plain[:LONGEST].rsplit(" ", 1)[0].rstrip(" ,;:([") + " ..."
    return f"`{plain}`"


def is_blank(text: str) -> bool:
    """Whether nothing is left of a value but placeholders that were never filled."""
    return not _ARTICLE_OR_VERB.sub("", _PLACEHOLDER.sub("", text)).strip(" .,;:()[]'\"`")


def _values(groups: dict[str, str | None], language: str) -> dict[str, str]:
    given = {name.rstrip("23"): text for name, text in groups.items() if text}
    values = {name: quoted(text) for name, text in given.items() if name in ("x",)}
    values |= {name: text for name, text in given.items() if name in ("n", "low", "high")}
    if "single" in given:
        values["n"] = "1"
    if "dims" in given:
        dims = [_DIGITS.get(one.lower(), one) for one in _DIM.findall(given["dims"])]
        between = word("p_to", language) if " to " in given["dims"] else word("p_or", language)
        values["dims"] = between.join(dims)
    if "noun" in given:
        values["noun"] = _noun(given["noun"], language)
    return values


def _noun(text: str, language: str) -> str:
    key = _NOUNS.get(text) or _NOUNS.get(text.removesuffix("s"))
    return word(key or "noun_dims", language)
