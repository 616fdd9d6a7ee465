"""Requirements in the reader's language: common phrases by their parts, whatever else quoted as it was written."""

from __future__ import annotations

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
    r"(?P<x>torch\.(?:[bc]?float|u?int|q?u?int|complex|bits)\w*|torch\.(?:bool|double|half|long|short|cdouble)|b?float\d+|u?int\d+|double|half|complex\d+|Float|Double|Half|BFloat16|Long|Int|Short|"
    r"Byte|Char|Bool|ComplexFloat|ComplexDouble)"
)
_NOUN = (
    r"(?P<noun>number of dim(?:ension)?s|number of elements|numel|number of channels|shape|sizes?|dtypes?|scalar type|"
    r"data type|types?|devices?|layouts?|lengths?|ndim|batch size|rank|dimensions?|strides?|memory format)"
)
_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("p_dims", ("d", "D", "rank"), rf"(?:batched )?(?P<dims>{_DIMS}(?:(?:,? or |, ?| and | to |"
    rf"/){_DIMS})*)(?:[- ]?(?:dims?|dimensions?|"
     rf"dimensional)|(?<=[dD]))(?: \(batch mode\))?(?: input| output)?(?: tensors?| vectors?| matri\w+| inputs?|"
     rf" arrays?)?"),
    ("p_dims_min", ("at least", ">=", "more than"), rf"(?:at least|>=|"
    rf"more than or equal to) (?P<dims>{_DIMS})(?:[- ]?(?:dims?|dimensions?|dimensional)|"
     rf"(?<=[dD]))(?: tensors?| input)?"),
    ("p_dims", ("d", "D", "rank"), rf"(?:n?dim(?:ension)?s?(?:\(\))?|rank) ?(?:==|equal to|of|=) ?(?P<dims>{_DIMS})"),
    ("p_scalar", ("scalar", "0"), r"(?:scalar|0-?[dD](?:im(?:ensional)?)?)(?: tensors?)?"),
    ("p_same_as", ("same",), rf"same {_NOUN}(?: as| with| of) {_X}"),
    ("p_same", ("same",), rf"same {_NOUN}|on (?:the )?same (?P<noun2>device)|(?P<noun3>same)"),
    ("p_same_device_as", ("same device",), rf"on (?:the )?same device(?: as| with) {_X}"),
    ("p_match", ("match", "equal", "agree", "same"), rf"(?:match|equal|equal to|agree with|the same as) {_X}"),
    ("p_positive", ("positive", "than", ">"),
        r"(?:strictly )?positive(?: integers?| numbers?| values?)?|(?:greater|larger|bigger|more) than (?:0|zero)|"
     r"> ?0(?:\.0)?"),
    ("p_nonnegative", ("negative", "equal", "at least", ">="),
        r"non-?negative(?: integers?| numbers?| values?)?|(?:greater than or equal to|greater or equal to|"
     r"at least|>=) ?(?:0(?:\.0)?|zero)"),
    ("p_nonzero", ("zero", "0"), r"non-?zero|not (?:be )?(?:0|zero)|!= ?0"),
    ("p_ge", ("equal", "at least", "less than", ">="), rf"(?:integer )?(?:greater than or equal to|"
    rf"greater or equal to|at least|no less than|>=) {_X}"),
    ("p_le", ("equal", "at most", "than", "exceed", "<=", "up to"),
        rf"(?:less than or equal to|smaller than or equal to|less or equal to|at most|no (?:more|larger|greater) than|"
     rf"not exceed|<=|up to) {_X}"),
    ("p_gt", ("than", ">"), rf"(?:greater|larger|bigger|more) than {_X}|> {_X.replace('<x>', '<x2>')}"),
    ("p_lt", ("than", "<"), rf"(?:less|smaller|fewer) than {_X}|< {_X.replace('<x>', '<x2>')}"),
    ("p_between", ("in", "between"), r"(?:between|in(?: the)? (?:range|interval)(?: of| from)?|within|"
    r"in) (?P<low>-?[\w.]+) (?:and|to) (?P<high>-?[\w.]+)|(?:in(?: the)? (?:range|interval)(?: of)?|in|within|"
     r"between)\s?:? ?[\[(](?P<low2>[^,\[\]()]+), ?(?P<high2>[^,\[\]()]+)[\])]"),
    ("p_divisible", ("divisible", "multiple"), rf"(?:evenly )?divisible by {_X}|"
    rf"multiple of {_X.replace('<x>', '<x2>')}"),
    ("p_contiguous", ("contiguous",), r"contiguous(?: tensors?)?"),
    ("p_nonempty", ("empty",), r"non-?empty(?: tensors?)?|not (?:be )?empty"),
    ("p_floating", ("float",), r"floating[- ]?point(?: (?:types?|dtypes?|tensors?|numbers?))?"),
    ("p_integral", ("integ",), r"(?:integer|integral)(?: (?:types?|dtypes?|tensors?))?"),
    ("p_complex", ("complex",), r"complex(?: (?:types?|dtypes?|tensors?))?"),
    ("p_device", ("pu", "PU", "cuda", "CUDA", "mps", "MPS", "meta"), rf"(?:on |on the |"
    rf"on a )?{_DEVICE}(?: (?:device|tensors?|inputs?|backend))?"),
    ("p_dtype", ("",),
        rf"(?:scalar type |ScalarType |dtype |type |data type )?{_DTYPE}(?: (?:dtype|tensors?|type|elements?))?"),
    ("p_elements", ("element",), rf"(?:length |size |numel(?:\(\))? ?(?:==)? ?)?{_N} elements?|(?P<single>single|"
    rf"one|1)[- ]element"
     r"(?: tensor)?"),
    ("p_size", ("shape", "size", "length"), r"(?:of )?(?:shape|sizes?|length) ?(?:==|equal to|of|"
    r"=)? ?(?P<x>[\[(][-\d, *:.]+[\])]|\d+)"),
    ("p_tensor", ("ensor",), r"(?:torch\.)?[Tt]ensors?"),
    ("p_strided", ("strided",), r"strided(?: layout| tensors?)?"),
    ("p_sparse", ("sparse",), r"sparse(?: tensors?)?"),
)  # fmt: skip
_PHRASES = tuple((key, hints, Pattern(rf"{_BE}(?:{form})")) for key, hints, form in _FORMS)
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
    for key, hints, pattern in _PHRASES if len(plain) < 120 else ():
        found = pattern.fullmatch(plain) if any(hint in plain for hint in hints) else None
        if found is not None:
            values = _values(found.groupdict(), language)
            return word(f"{key}_1" if values.get("dims") == "1" else key, language, **values)
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
    filled = _PLACEHOLDER.sub("", text)
    return not (filled if filled == text else _ARTICLE_OR_VERB.sub("", filled)).strip(" .,;:()[]'\"`")


def _values(groups: dict[str, str | None], language: str) -> dict[str, str]:
    given = {name.rstrip("23"): text for name, text in groups.items() if text}
    values = {name: quoted(text) for name, text in given.items() if name in ("x",)}
    values |= {name: text for name, text in given.items() if name in ("n", "low", "high")}
    if "single" in given:
        values["n"] = "1"
    if "dims" in given:
        dims = [_DIGITS.get(one.lower(), one) for one in _DIM.findall(given["dims"])]
        link = next((one for one in ("to", "and") if f" {one} " in given["dims"]), "or")
        between = word("listed", language) if link == "and" else word(f"p_{link}", language)
        values["dims"] = between.join(dims)
    if "noun" in given:
        values["noun"] = _noun(given["noun"], language)
    return values


def _noun(text: str, language: str) -> str:
    key = _NOUNS.get(text) or _NOUNS.get(text.removesuffix("s"))
    return word(key or "noun_dims", language)
