"""Models built for one count of an object where the checkpoint was saved with another: `tok.vocab_size`, `len(tok)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.checkpoint.loading import changed_sizes, load_frame
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read
from explainer.source import Source, source_of

_SIZED = (list, tuple, dict, set, frozenset)


@probe
def other_size(scene: Scene) -> SpanFact | None:
    """The argument `obj.count` that gave the model a size, where `len(obj)`, or another count of it, is the saved one.

    `detail`: `to`, that count; `own` and `saved`, both sizes; `owner`, the object; `resize`, a method of the model that
    changes its sizes (empty without one), and `model`, the class.
    """
    sizes, frame = _sizes(scene), load_frame(scene)
    if sizes is None or frame is None:
        return None
    found = {(source.file, node.lineno, node.col_offset): (source, node, to) for user in scene.live.user  # type: ignore
             for source, node, to in _counts(user, *sizes)}  # fmt: skip
    if len(found) != 1:
        return None
    source, node, to = next(iter(found.values()))
    model = type(frame.locals["self"])
    resize = next((name for name in vars(model) if name.startswith("resize")), "")
    about: dict[str, Any] = {"to": to, "own": sizes[0], "saved": sizes[1], "owner": source.text(node.value)}
    return span_fact(source, node, **about, resize=resize, model=model.__name__)


def _sizes(scene: Scene) -> tuple[int, int] | None:
    """The one size that the model has, and that of the checkpoint, in all tensors that differ."""
    pairs = set()
    for row in changed_sizes(scene) or ():
        if len(row["own"]) != len(row["saved"]):
            return None
        pairs |= {(own, saved) for own, saved in zip(row["own"], row["saved"], strict=True) if own != saved}
    return pairs.pop() if len(pairs) == 1 else None


def _counts(frame: LiveFrame, own: int, saved: int) -> Iterator[tuple[Source, ast.Attribute, str]]:
    """The arguments above the failing line that are a count of an object which has both sizes, and the other count."""
    source = source_of(frame.file, frame.frame.f_globals)
    scope = source.scope_at(frame.line)
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call)] if scope is not None else []
    for call in (one for one in calls if one.lineno <= frame.line):
        for node in (*call.args, *(word.value for word in call.keywords)):
            value = read(node.value, frame.frame) if isinstance(node, ast.Attribute) else MISSING
            if not isinstance(node, ast.Attribute) or value is MISSING or is_module(value):
                continue
            to = _other(value, node.attr, source.text(node.value), (own, saved)) if _is(value, node, own) else ""
            if to:
                yield source, node, to


def _is(value: Any, node: ast.Attribute, own: int) -> bool:
    """Whether an attribute is a number that the model got: its own, or a property beside a list of that length."""
    fields = fields_of(value)
    if node.attr in fields:
        return type(fields[node.attr]) is int and fields[node.attr] == own
    counted = isinstance(vars(type(value)).get(node.attr), property) and not is_tensor(value)
    return counted and own in _lengths(value)


def _other(value: Any, attribute: str, name: str, sizes: tuple[int, int]) -> str:
    """`len(obj)`, `obj.count` or `len(obj.items)`, whichever first is the saved size by what the object holds.

    Another number must share a word with the first: the sizes of a configuration have nothing to do with each other.
    """
    fields, (own, saved) = fields_of(value), sizes
    if hasattr(type(value), "__len__") and {saved, saved - own} & _lengths(value):
        return f"len({name})"
    alike = [key for key, one in fields.items() if type(one) is int and one == saved and _alike(key, attribute)]
    sized = [key for key, one in fields.items() if type(one) in _SIZED and len(one) == saved and key[0] != "_"]
    sized = sized if attribute not in fields else []
    return f"{name}.{alike[0]}" if alike else f"len({name}.{sized[0]})" if sized else ""


def _alike(one: str, other: str) -> bool:
    words = [{word for word in name.lower().split("_") if len(word) > 3 and word != "size"} for name in (one, other)]
    return bool(words[0] & words[1])


def _lengths(value: Any) -> set[int]:
    return {len(one) for one in fields_of(value).values() if type(one) in _SIZED}
