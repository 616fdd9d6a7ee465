"""Weighs what a run with an edit showed beside the unedited run: refused, in doubt, and what was tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from explainer.diagnosis import Edit
from explainer.frozen import frozen
from explainer.oracle import draws, saves, source

Seen = Mapping[str, Any]
#: Of its parameters a model keeps this share at least, unless an edit leaves layers out.
_KEPT = 0.75


@frozen
class Judgement:
    """`refused`: why an edit that ran is none to show. `doubts`: why it is shown as a suggestion. Names of `words`.

    `more`: it ran with so many samples, too; `apart`: they came out on their own; `shorter`: it ran with shorter
    sequences; `causal`: earlier steps do not know of later ones. `turned` is the file and line at which a tensor was
    turned around whose sizes the edit mixes.
    """

    refused: str | None = None
    doubts: tuple[str, ...] = ()
    more: int = 0
    apart: bool = False
    shorter: bool = False
    causal: bool = False
    turned: tuple[str, int] | None = None


def judged(edits: Sequence[Edit], run: Mapping[str, Any], control: Mapping[str, Any]) -> Judgement:
    """What two answers of `replay.again` say of an edit under which the program ran."""
    seen, before = run.get("seen") or {}, control.get("seen") or {}
    models = seen.get("models") or []
    samples = [one["samples"] for one in models if one.get("samples")]
    turned = (seen.get("mixed") or {}).get("turned")
    doubts = [name for name, doubtful in _DOUBTS.items() if doubtful(edits, seen, before, control)]
    doubts += ["fewer"] if _leaves_out_layers(run, control) else []
    runs = [one["more"] for one in samples if one.get("runs") and not one.get("time_first")]
    return Judgement(
        next((name for name, refuses in _REFUSALS.items() if refuses(edits, seen, before)), None),
        tuple(doubts),
        runs[0] if runs and len(runs) == len(samples) else 0,
        bool(runs) and all(one.get("apart") and not one.get("time_first") for one in samples),
        [one["shorter"] for one in models if one.get("shorter") is not None] in ([True], [True, True]),
        any(one.get("causal") for one in models),
        tuple(turned) if turned else None,  # type: ignore[arg-type]
    )


def _leaves_out_layers(run: Mapping[str, Any], control: Mapping[str, Any]) -> bool:
    """Whether the program's models have lost a good part of their parameters: a layer that failed is not even made."""
    now, was = len(run.get("every") or ()), len(control.get("every") or ())
    return 0 < now < _KEPT * was


def _cut(edits: Sequence[Edit], seen: Seen, before: Seen) -> bool:
    return bool(seen.get("cut"))


def _resized_data(edits: Sequence[Edit], seen: Seen, before: Seen) -> bool:
    return source.changes_number(edits) and draws.other_sizes(before.get("draws") or [], seen.get("draws") or [])


def _other_data(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """The program then draws other sizes of data, or a model that had taken what it was given is given other ones.

    Or it hands back another number of rows than the samples that it is given as before, or a loss that misses some is
    given fewer. What a comprehension leaves out is meant to be left out, and so is what a call is not given any more.
    """
    pairs = [(one, other) for one, other in _pairs(seen, before) if other.get("returned") and one.get("came")]
    other_given = any(len(one["came"]) == len(other["came"]) and _differs(one, other) for one, other in pairs)
    missed = "batch_size" in str((control.get("error") or {}).get("message")) and source.cuts_rows(edits)
    if missed or (other_given and not source.filters(edits) and not source.pairs_with_next(edits)):
        return True
    follows = source.measures(edits)  # noise that is drawn for as many samples as there are
    return not follows and draws.other_sizes(before.get("draws") or [], seen.get("draws") or [])


def _differs(one: Seen, other: Seen) -> bool:
    return one["came"] != other["came"] or _loses_rows(one, other)


def _loses_rows(one: Seen, other: Seen) -> bool:
    """Whether what a model handed back had a row for each of some input's, and has no more."""
    rows = {shape[0] for shape in other["came"] if shape}
    pairs = zip(one.get("back") or (), other.get("back") or (), strict=False)
    return any(was and was[0] in rows and now[:1] != was[:1] for now, was in pairs)


def _ungraded(edits: Sequence[Edit], seen: Seen, before: Seen) -> bool:
    """A path that the edit cut, or an optimizer that steps with fewer parameters than it had stepped with before."""
    now, was = seen.get("most") or {}, before.get("most") or {}
    fewer = any(now[kind] < many for kind, many in was.items() if kind in now)
    fewer = fewer or max(now.values(), default=0) < max(was.values(), default=0)
    return fewer or (bool(_left_out(seen, before)) and source.cuts_graph(edits))


def _left_out(seen: Seen, before: Seen) -> set[str]:
    known = set(before.get("ungraded") or ()) if before.get("steps") else set()
    return set(seen.get("ungraded") or ()) - known


def _lost_write(edits: Sequence[Edit], seen: Seen, before: Seen) -> bool:
    return source.loses_write(edits)


def _undone(edits: Sequence[Edit], seen: Seen, before: Seen) -> bool:
    """Statements in another order, and a state is loaded over steps that were taken, or kept before they are."""
    lost = int(seen.get("undone") or 0) > int(before.get("undone") or 0)
    return source.reorders(edits) and (lost or int(seen.get("kept") or 0) < int(before.get("kept") or 0))


_REFUSALS = {"undone": _undone, "cut": _cut, "data": _resized_data, "ungraded": _ungraded, "write": _lost_write}


#: What norm layers keep of the batches that they were trained on.
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def _unwritten(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """A tensor that is kept, and that the unedited run had written over, is as it was."""
    written = {name for name, in_place in (before.get("written") or {}).items() if in_place}
    if source.drops_statistics(edits):
        return False
    if source.evaluates(edits):  # statistics stay as they are: that is what the mode is for
        written = {name for name in written if not any(f".{one}[" in name for one in _STATISTICS)}
    return "written" in seen and bool(written - set(seen["written"]))


def _untrained(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    return bool(_left_out(seen, before))


def _still(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """Steps were taken, and every gradient was zero: what is left of the data says nothing of the loss."""
    known = bool(before.get("steps")) and before.get("moves") is False  # so it was without the edit
    return bool(seen.get("steps")) and seen.get("moves") is False and not known


def _outputs(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """Another number of results, of a function or of a model that had handed some back; gradients are no results."""
    behind = (control.get("error") or {}).get("backward")
    return (not behind and source.hands_back_otherwise(edits)) or any(
        one.get("out") and other.get("out") and one["out"] != other["out"] for one, other in _pairs(seen, before)
    )


def _values(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """A model hands back other values than in a run that failed in backward only, or after steps: those were right."""
    error = control.get("error") or {}
    if not (error.get("backward") or before.get("steps")) or not error.get("frames"):
        return False
    known = [(one, other) for one, other in _pairs(seen, before) if one.get("made") and other.get("made")]
    same = [(one, other) for one, other in known if all(_alike(one[name], other[name]) for name in ("given", "held"))]
    return any(not _alike(one["made"], other["made"]) for one, other in same if _alike(other["made"], other["made"]))


def _mixed(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    if source.turns_batch(edits):
        return True
    apart = [(one.get("samples") or {}).get("apart") for one in seen.get("models") or ()]
    known = [(other.get("samples") or {}).get("apart") for _, other in _pairs(seen, before)]
    return any(
        now is False and (was or (was is None and source.of_layout(edits))) for now, was in zip_longest(apart, known)
    )


def _scrambled(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    return bool(seen.get("mixed"))


def _one_batch(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """One sample more does not run, and what fails is the line that was edited or that had failed."""
    frames = (control.get("error") or {}).get("frames") or [[None, None]]
    known = [other["name"] for _, other in _pairs(seen, before) if (other.get("samples") or {}).get("runs") is False]
    failed = [one.get("samples") or {} for one in seen.get("models") or () if one["name"] not in known]
    own = [one for one in failed if one.get("runs") is False and one.get("at")]
    return any(one.get("own") or list(one["at"]) == list(frames[-1][:2]) for one in own)


def _not_causal(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """A program that makes masks of what comes later, and a model whose earlier steps know of it all the same."""
    return any(one.get("causal") is False for one in seen.get("models") or ()) and source.of_layout(edits)


def _warned(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    known = {text for text, *_ in before.get("warned") or ()}
    return any(own for text, *_, own in seen.get("warned") or () if text not in known)


#: What a rule has looked at before it offers an edit: which outputs are meant, what is trained, what belongs together.
_KNOWN_TO_RULES = frozenset(["unreached", "untrained", "outputs", "chance", "picked", "argument", "unread", "spread"])


def of_rule(judgement: Judgement) -> Judgement:
    """A judgement on an edit that a rule offers, without the doubts that its own evidence answers."""
    left = tuple(name for name in judgement.doubts if name not in _KNOWN_TO_RULES)
    return judgement if left == judgement.doubts else replace(judgement, doubts=left)


def _picked(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    return source.picks_less(edits)


def _spread(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """One entry where sizes did not fit together: it fits everything."""
    if seen.get("spread"):
        return True
    apart = "must match the size of tensor" in str((control.get("error") or {}).get("message"))
    return source.spreads_one(edits) or (apart and source.takes_one(edits))


def _itself(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """Two operands that did not fit together are one tensor now."""
    return bool(seen.get("itself"))


def _argument(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """What a call was given carries data; a call that refused it by its signature never used it."""
    error = control.get("error") or {}
    refused = error.get("type") == "TypeError" and "argument" in str(error.get("message"))
    return not refused and source.leaves_out_data(edits)


def _unread(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """An edit that cuts something off, and a part of a model's input that no longer reaches its output."""
    return source.cuts_off(edits) and any(one.get("unread") for one in seen.get("models") or ())


def _saved(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """What had failed to load a file now loads another one: weights that were saved before would fit as little."""
    message = str((control.get("error") or {}).get("message"))
    loads = "state_dict" in message or "state dict" in message
    return loads and saves.resized(seen.get("saved") or [], before.get("saved") or [])


def _unreached(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """What failed is never called any more, or not even as often as it went well: loops that had turns have none.

    The edit does not stand where it was called then.
    """
    frames = (control.get("error") or {}).get("frames") or []
    there = lambda edit, file, line: edit.file.endswith(file) and edit.start_line <= line <= edit.end_line  # noqa: E731
    called = any(there(edit, file, line) for edit in edits for file, line, _ in frames[-2:])
    times, before_it = seen.get("entered"), (before.get("entered") or 0) - 1
    return times is not None and (times == 0 or times < before_it) and not called


def _unusual(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    """A call that had made something odd of one sample now makes something else of most others, too."""
    kept, of = seen.get("usual") or (1, 1)
    return 2 * kept < of


def _bare_number(edits: Sequence[Edit], seen: Seen, before: Seen, control: Mapping[str, Any]) -> bool:
    return source.adds_bare_number(edits)


_DOUBTS = {
    "data": _other_data,
    "usual": _unusual,
    "number": _bare_number,
    "unreached": _unreached,
    "saved": _saved,
    "picked": _picked,
    "unread": _unread,
    "spread": _spread,
    "itself": _itself,
    "argument": _argument,
    "untrained": _untrained,
    "still": _still,
    "outputs": _outputs,
    "write": _unwritten,
    "values": _values,
    "mixed": _mixed,
    "scrambled": _scrambled,
    "batch": _one_batch,
    "causal": _not_causal,
    "warned": _warned,
}


def _pairs(seen: Seen, before: Seen) -> list[tuple[Seen, Seen]]:
    """The models of two runs that are the same, in the order in which they were called first."""
    every = list(zip(seen.get("models") or (), before.get("models") or (), strict=False))
    return [(one, other) for one, other in every if one["name"] == other["name"]]


def _alike(one: Any, other: Any) -> bool:
    if not one or not other or len(one) != len(other) or None in one or None in other:
        return one == other
    pairs = [pair for x, y in zip(one, other, strict=True) for pair in zip(x, y, strict=True)]
    return all(abs(a - b) <= 1e-4 * max(abs(a), abs(b), 1.0) for a, b in pairs)
