"""From a message's captures to scripts: blanks of the closed table filled with numbers, sizes, dtypes and devices."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping
from typing import Any

from explainer.patterns import Pattern
from explainer.reproduce.sketch import LARGEST, with_imports
from explainer.reproduce.templates import TEMPLATES

_DTYPES = {
    "float": "float32", "single": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
    "long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
    "complexfloat": "complex64", "complexdouble": "complex128", "float32": "float32", "float64": "float64",
    "float16": "float16", "int64": "int64", "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8",
    "complex64": "complex64", "complex128": "complex128", "complexhalf": "complex32",
}  # fmt: skip
_DEVICE = Pattern(r"(cpu|cuda|mps|xpu|meta)(?::\d{1,3})?")
_MADE = Pattern(r"torch\.(?:randn|rand|zeros|ones|full)\(\(?([\d, ]+)")
#: Sizes of axes that a message does not name.
_OTHER = 2


class Unfilled(ValueError):
    """A blank that the message does not fill; `args[0]` names it."""


def scripts(symptom: str, captures: Mapping[str, Any]) -> tuple[list[str], set[str]]:
    """The scripts that the message suffices for, best first, and the blanks that stayed open."""
    made, missing = [], set()
    for template in TEMPLATES.get(symptom, ()):
        try:
            body = _Filler().vformat(template, (), captures)
        except Unfilled as blank:
            missing.add(str(blank))
            continue
        if memory_of(body) <= LARGEST:
            made.append(with_imports(body))
        else:
            missing.add("operands that fit into 1 GiB")
    return made, missing


def memory_of(body: str) -> int:
    """About how many bytes the tensors that a script makes take."""
    sizes = [[int(size) for size in found.replace(",", " ").split()] for found in _MADE.findall(body)]
    return sum(8 * math.prod(one) for one in sizes)


class _Filler(string.Formatter):
    """Fills blanks; whatever is no number, size, dtype or device of the closed kinds raises `Unfilled`."""

    def get_field(self, field_name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        value = kwargs.get(field_name)
        if value is None:
            raise Unfilled(field_name)
        return (field_name, value), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        name, captured = value
        try:
            return _KINDS[format_spec](captured)
        except (KeyError, ValueError, TypeError, IndexError):
            raise Unfilled(name) from None


def whole(value: Any) -> str:
    """A whole number as it is."""
    if type(value) is str and value.strip().lstrip("-").isascii() and value.strip().lstrip("-").isdigit():
        value = int(value)
    if type(value) is not int or abs(value) > 1 << 52:
        raise ValueError
    return str(value)


def sizes_in(value: Any) -> list[int]:
    """The sizes in "4, 3, 8", "[4, 3, 8]", "torch.Size([4])" or "4 x 3"."""
    text = str(value).strip().removeprefix("torch.Size").strip("()[] ,")
    parts = re.split(r"\s*[,x]\s*", text) if text else []
    if len(parts) > 12:
        raise ValueError
    return [int(whole(part)) for part in parts]


def _sizes(value: Any) -> str:
    return ", ".join(map(str, sizes_in(value))) or "()"


def _dtype(value: Any) -> str:
    text = re.sub(r"^(torch\.cuda\.|torch\.|c10::)|Tensor$|Type$", "", str(value).strip())
    return f"torch.{_DTYPES[re.sub('[<>:]', '', text).lower()]}"


def _device(value: Any) -> str:
    text = {"CUDA": "cuda", "CPU": "cpu", "GPU": "cuda"}.get(str(value), str(value))
    if not _DEVICE.fullmatch(text):
        raise ValueError
    return f'"{text.removesuffix(":0")}"'


def _made(rank: int, least: int = 0) -> str:
    """The sizes of a made-up tensor of a rank."""
    if not least <= rank <= 12:
        raise ValueError
    return ", ".join([str(_OTHER + index) for index in range(rank)]) or "()"


def _axes(count: int, text: str) -> str:
    """`text` for each of so many axes, up to twelve of them."""
    if not 0 <= count <= 12:
        raise ValueError
    return text * count


def _number(work: Callable[[int], str]) -> Callable[[Any], str]:
    return lambda value: work(int(whole(value)))


_KINDS: dict[str, Callable[[Any], str]] = {
    "": whole,
    "sizes": _sizes,
    "dtype": _dtype,
    "device": _device,
    "first": lambda value: str(sizes_in(value)[0]),
    "positive": lambda value: ", ".join(str(size) for size in sizes_in(value) if size >= 0) or "()",
    "dims": lambda value: str(len(sizes_in(value))),
    "spatial": lambda value: str(len(sizes_in(value)) - 2),
    "rank": _number(_made),
    "ranked": _number(lambda low: _made(max(-low, 0) if low < -1 else 1)),
    "ranked1": _number(lambda high: _made(high)),
    "leading": _number(lambda dim: _axes(dim, f"{_OTHER}, ")),
    "colons": _number(lambda dim: _axes(dim, ":, ")),
    "order": _number(lambda count: ", ".join(map(str, range(min(count, 12))))),
    "zeros": _number(lambda dims: ", ".join(["0"] * (min(dims, 11) + 1))),
    "kernel": _number(lambda low: _axes(low - 1, ", 3")),
    "minus2": _number(lambda low: str(low - 1)),
    "classes": _number(lambda label: str(label) if label > 0 else "10"),
    "after": _number(lambda axis: _axes(axis, f", {_OTHER}") if axis else _made(-1)),
}
