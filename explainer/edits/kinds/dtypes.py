"""Edits of dtypes: the one that an expression names, or a conversion put behind it."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.methods import insert_method, replace_call
from explainer.edits.lines import changed
from explainer.edits.place import Place

_NUMPY = ("np.", "numpy.")
_SHORT = {"float32": "float()", "float64": "double()", "float16": "half()", "int64": "long()", "bool": "bool()"}
_NAMES = frozenset(
    ["float", "double", "half", "bfloat16", "int", "long", "short", "bool", "float64", "float32", "float16", "int64",
     "int32", "int16", "int8", "uint8"]
)  # fmt: skip


def as_dtype(at: Place, dtype: str) -> tuple[Edit, ...]:
    """`x.astype(np.float64)` -> `x.astype(np.float32)`, `x.long()` -> `x.float()`, `np.zeros(3)` -> `.astype(...)`.

    `dtype` is the wanted one as numpy and torch both name it. EditError where no method can be put behind it.
    """
    node = at.node
    bare = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not (node.args or node.keywords)
    if bare and dtype in _SHORT and f"{node.func.attr}()" in _SHORT.values():  # type: ignore[union-attr]
        return replace_call(at, _SHORT[dtype].removesuffix("()"))
    given = _given(at)
    if given is not None:
        return changed(at.source, [(given.span, _alike(given.text, dtype))])
    return insert_method(at, cast_of(at.text, dtype))


def cast_of(made: str, dtype: str) -> str:
    """The method that casts what a source text makes: `astype(np.int64)` of what NumPy makes, `long()` of a tensor."""
    library = next((one for one in _NUMPY if made.startswith(one)), None)
    if library is not None or ".astype(" in made:
        return f'astype("{dtype}")' if library is None else f"astype({library}{dtype})"
    return _SHORT.get(dtype, f"to(torch.{dtype})")


def _given(at: Place) -> Place | None:
    """The dtype that a call names: the argument `dtype`, or the first of `astype`, `to` and `type`."""
    node = at.node
    if not isinstance(node, ast.Call):
        return None
    named = [word.value for word in node.keywords if word.arg == "dtype"]
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("astype", "to", "type"):
        named += node.args[:1]
    found = [one for one in named if at.source.text(one).strip("'\"").rpartition(".")[2] in _NAMES]
    return at.at(found[0]) if found else None


def _alike(text: str, dtype: str) -> str:
    """A dtype written as another one is: `np.float64`, `torch.double`, `"float64"`; a bare type becomes a text."""
    if text[:1] in "'\"":
        return f"{text[0]}{dtype}{text[0]}"
    library, dot, _ = text.rpartition(".")
    return f"{library}{dot}{dtype}" if dot else f'"{dtype}"'
