"""What the words of rules do to facts besides naming them: `{{ x.shape | shape }}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from explainer.catalogue.bounds import joined, replaced


def product(numbers: Iterable[int]) -> int:
    """`[16, 6, 6] | product` -> 576."""
    result = 1
    for number in numbers:
        result *= number
    return result


def shape(sizes: Iterable[int]) -> str:
    """`x.shape | shape` -> `[4, 576]`."""
    return f"[{', '.join(map(str, sizes))}]"


def by(sizes: Iterable[int]) -> str:
    """`x.shape | by` -> `4x576`."""
    return "x".join(map(str, sizes))


def size(number: float) -> str:
    """`1610612736 | size` -> `1.50 GiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if abs(number) < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} bytes" if unit == "bytes" else f"{number:.2f} {unit}"


def integers(text: str) -> list[int]:
    """`"8, -1" | integers` -> `[8, -1]`."""
    return [int(one) for one in text.split(",")]


def broadcasts(sizes: Iterable[int], others: Iterable[int]) -> bool:
    """`x.shape | broadcasts(y.shape)`: whether, from the right, two sizes are equal or one of them is 1."""
    pairs = zip(reversed(list(sizes)), reversed(list(others)), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def code(text: Any) -> str:
    """`name | code` -> the name in backticks."""
    return f"`{text}`"


def integer(value: Any) -> int:
    """`"12" | int` -> 12, and 0 of what is no number."""
    for read in (int, float):
        with suppress(TypeError, ValueError, OverflowError):
            return int(read(value))
    return 0


FILTERS: dict[str, Callable[..., Any]] = {
    "product": product,
    "shape": shape,
    "by": by,
    "size": size,
    "code": code,
    "integers": integers,
    "broadcasts": broadcasts,
}


#: jinja2's own that plain templates know as well; each does to facts what jinja2's does.
PLAIN: dict[str, Callable[..., Any]] = {
    **FILTERS, "list": list, "join": joined, "string": str, "int": integer, "replace": replaced,
    "lower": lambda value: str(value).lower(), "trim": lambda value, signs=None: str(value).strip(signs),
}  # fmt: skip
