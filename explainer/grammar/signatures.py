"""Which argument a call's overloads refuse: from the types that were given and the forms that torch lists."""

from __future__ import annotations

import difflib
import re
import textwrap

from explainer.frozen import frozen
from explainer.patterns import Pattern

#: No more forms, and no longer a message, are compared.
LONGEST, FORMS = 6000, 24
#: No more characters of a form are told.
FORM = 90
#: How alike two names must be, from 0 to 1 as difflib counts.
ALIKE = 0.7
#: A name is looked at from its beginning alone: from each of its letters, one of a megabyte would take for ever.
_CALL = r"(?<![\w.])(?P<call>[\w.]+)"
_COMBINATION = Pattern(_CALL + r"(?:\(\))? received an invalid combination of arguments - got \(", re.DOTALL)
_KEYWORD = Pattern(_CALL + r"\(\) got an unexpected keyword argument '(?P<name>\w+)'")
_UNPACKED = Pattern(
    _CALL + r"\(\): argument '(?P<name>\w+)' failed to unpack the object at pos (?P<at>\d+) with error "
    r"\"type must be (?P<wanted>[^,\"]+), ?but got (?P<got>[^\"]+)\""
)
_FORM = Pattern(r"\* \(((?:[^()]|\([^()]*\))*)\)")
#: Names that torch takes for its own, after numpy's.
_ACCEPTED = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
#: Names of other libraries, and older ones.
_MEANT = {
    "axis": "dim", "axes": "dim", "dims": "dim", "dimension": "dim", "dimensions": "dim", "shape": "size",
    "sizes": "size", "learning_rate": "lr", "epsilon": "eps", "decay": "weight_decay", "rate": "p", "prob": "p",
    "probability": "p", "units": "out_features", "filters": "out_channels", "strides": "stride", "keep_dims": "keepdim",
    "n_heads": "num_heads", "heads": "num_heads", "value": "fill_value", "async": "non_blocking", "copy_": "copy",
}  # fmt: skip
_FITS = {
    "Tensor": {"Tensor", "Parameter"}, "Number": {"int", "float", "complex", "bool"}, "int": {"int"},
    "float": {"float", "int"}, "bool": {"bool"}, "str": {"str"}, "torch.dtype": {"torch.dtype", "dtype"},
    "torch.device": {"torch.device", "str", "int"}, "tuple of ints": {"tuple", "list", "Size", "torch.Size", "int"},
    "tuple of Tensors": {"tuple", "list"}, "tuple of floats": {"tuple", "list"}, "name": {"str"},
}  # fmt: skip


@frozen
class Parameter:
    """One parameter of a form."""

    name: str
    type: str
    required: bool
    keyword: bool = False


@frozen
class Misfit:
    """The one argument that does not fit the form of a call that is nearest to what was given.

    `problem`: `type` (it got `got` where `wanted` belongs), `keyword` (no such argument; `better` may be meant) or
    `missing`. `place` counts positional arguments from 0. `belongs` is another parameter that takes such a value.
    """

    call: str
    problem: str
    name: str
    got: str | None = None
    wanted: str | None = None
    better: str | None = None
    belongs: str | None = None
    place: int | None = None
    form: str | None = None


def misfit(message: str) -> Misfit | None:
    """The misfit that a TypeError's message shows; None where several forms are as near, or nothing is told of them."""
    text = message[:LONGEST]
    unpacked = _UNPACKED.search(text) if "failed to unpack" in text else None
    if unpacked is not None:
        got, place = unpacked["got"].strip(), int(unpacked["at"]) - 1
        belongs = "dtype" if got == "torch.dtype" else "device" if got == "torch.device" else None
        return Misfit(unpacked["call"], "type", unpacked["name"], got, "int", None, belongs, place)
    found = _COMBINATION.search(text) if "invalid combination" in text else None
    if found is None:
        return None
    end = _closing(text, found.end())
    forms = [_parameters(one) for one in _FORM.findall(text[end:])[:FORMS]]
    return nearest(found["call"], _given(text[found.end() : end]), forms)


def unknown_keyword(message: str) -> tuple[str, str] | None:
    """The function and the keyword that it does not have."""
    found = _KEYWORD.search(message[:LONGEST]) if "unexpected keyword" in message else None
    return (found["call"], found["name"]) if found else None


def alike(name: str, names: list[str]) -> str | None:
    """Which of a function's parameters a wrong name most likely means; None where none is like it."""
    meant = _MEANT.get(name)
    if meant in names:
        return meant
    longer = [one for one in names if len(name) > 2 and (one.startswith(name) or name.startswith(one))]
    if len(longer) == 1:
        return longer[0]
    low = name.lower().replace("_", "")
    ranked = sorted(
        ((difflib.SequenceMatcher(None, low, one.lower().replace("_", "")).ratio(), one) for one in names), reverse=True
    )[:2]
    if not ranked or ranked[0][0] < ALIKE or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < 0.05):
        return None
    return ranked[0][1]


def nearest(call: str, given: list[tuple[str | None, str]], forms: list[list[Parameter]]) -> Misfit | None:
    """The misfit of the form that fits but for one argument; of several such forms the first, if they agree on it."""
    compared = [_misfits(call, given, form) for form in forms]
    if not all(compared):
        return None  # what the types alone do not tell, such as the elements of a list
    found = [misfits[0] for misfits in compared if len(misfits) == 1]
    named = [one for one in found if one.better] or [one for one in found if one.wanted] or found
    places = {(one.problem, one.name if one.problem == "keyword" else one.place) for one in named}
    return named[0] if named and len(places) == 1 else None


def _closing(text: str, at: int) -> int:
    depth = 1
    for place in range(at, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0:
            return place
    return len(text)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _given(text: str) -> list[tuple[str | None, str]]:
    """What was given: the keyword, None of a positional argument, and the type."""
    pairs = [part.partition("=") for part in _split(text)]
    return [(name.strip(), kind.strip()) if sign else (None, name.strip()) for name, sign, kind in pairs]


def _parameters(form: str) -> list[Parameter]:
    found, keyword = [], False
    for part in _split(form):
        if part == "*":
            keyword = True
            continue
        declared, default, _ = part.partition(" = ")
        kind, _, name = declared.strip().rpartition(" ")
        found.append(Parameter(name, kind, not default, keyword))
    return found


def _fits(got: str, wanted: str, parameter: Parameter) -> bool:
    if got == "NoneType":
        return not parameter.required
    kind = got.split(" of ")[0].rsplit(".", 1)[-1] if got not in ("torch.dtype", "torch.device", "torch.Size") else got
    return kind in _FITS.get(wanted, {wanted, wanted.rsplit(".", 1)[-1]})


def _misfits(call: str, given: list[tuple[str | None, str]], form: list[Parameter]) -> list[Misfit]:
    """What does not fit one form."""
    written = textwrap.shorten(", ".join(f"{one.type} {one.name}" for one in form), FORM, placeholder=" ...")
    slots = [one for one in form if not one.keyword]
    positional = [kind for name, kind in given if name is None]
    found, filled = [], set()
    if slots and slots[0].type == "tuple of ints" and positional and all(kind == "int" for kind in positional):
        filled.add(slots[0].name)
        positional = []
    for place, kind in enumerate(positional):
        if place >= len(slots):
            named_so = next((one.name for one in form if one.keyword and one.type == kind), None)
            found.append(Misfit(call, "type", f"{place + 1}", kind, belongs=named_so, place=place, form=written))
            continue
        filled.add(slots[place].name)
        if not _fits(kind, slots[place].type, slots[place]):
            belongs = next(
                (one.name for one in form[place + 1 :] if _fits(kind, one.type, one) and one.type == kind), None
            )
            found.append(
                Misfit(call, "type", slots[place].name, kind, slots[place].type, None, belongs, place, written)
            )
    named = {one.name: one for one in form}
    for name, kind in ((name, kind) for name, kind in given if name is not None):
        own = named.get(name) or named.get(_ACCEPTED.get(name, ""))
        if own is not None:
            filled.add(own.name)
            if not _fits(kind, own.type, own):
                found.append(Misfit(call, "type", own.name, kind, own.type, form=written))
            continue
        better = alike(name, [one for one in named if one not in filled])
        filled.add(better or "")
        found.append(Misfit(call, "keyword", name, kind, better=better, form=written))
    missing = [one for one in slots if one.required and one.name not in filled]
    return found + [Misfit(call, "missing", one.name, wanted=one.type, form=written) for one in missing]
