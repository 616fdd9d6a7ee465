"""`explainer.checkup(model, batch, loss=..., optimizer=...)`: a model looked at before it is trained, in seconds."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explainer.frozen import frozen
from explainer.locale import language, word

#: Seconds that the child may take, and steps for which one batch is trained.
SECONDS, STEPS = 60.0, 60


@frozen
class Check:
    """One thing that was looked at: `ok` is None where it is only told, not judged."""

    name: str
    ok: bool | None
    text: str


@frozen
class Checkup:
    """What was looked at, and what was found. `findings` are the headlines of what `explain watch` would say."""

    checks: tuple[Check, ...]
    layers: tuple[tuple[str, str, str, float, float], ...]
    findings: tuple[Mapping[str, Any], ...]
    lang: str = "en"

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against training this model."""
        return not self.findings and all(one.ok is not False for one in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def text(self) -> str:
        """All of it for a terminal: a line a check, a line a layer."""
        marks = {True: "ok ", False: "!! ", None: "   "}
        lines = [f"{marks[one.ok]} {word('check_' + one.name, self.lang)}: {one.text}" for one in self.checks]
        lines += [f"{_mark(one)}  {one['headline']} ({one['where']})" for one in self.findings]
        widths = [max((len(str(row[place])) for row in self.layers), default=0) for place in range(3)]
        largest = max((row[4] for row in self.layers), default=0.0) or 1.0
        for name, kind, shape, scale, gradient in self.layers:
            bar = "#" * max(round(20 * gradient / largest), int(gradient > 0))
            lines.append(
                f"    {name:{widths[0]}}  {kind:{widths[1]}}  {shape:{widths[2]}}  {scale:8.2g}  {gradient:8.2g} {bar}"
            )
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """A table of the checks and the gradients by layer as bars."""
        signs = {True: "&#10003;", False: "&#10007;", None: ""}
        rows = "".join(
            f"<tr><td>{signs[one.ok]}</td><td>{html.escape(word('check_' + one.name, self.lang))}</td>"
            f"<td>{html.escape(one.text)}</td></tr>"
            for one in self.checks
        )
        for one in self.findings:
            sign = signs[False] if _mark(one) == "!!" else "?"
            where, headline = html.escape(one["where"]), html.escape(one["headline"])
            rows += f"<tr><td>{sign}</td><td>{where}</td><td>{headline}</td></tr>"
        largest = max((row[4] for row in self.layers), default=0.0) or 1.0
        bars = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(kind)}</td><td>{html.escape(shape)}</td><td>{scale:.2g}</td><td>"
            f"<svg width='160' height='10'><rect width='{160 * gradient / largest:.0f}' height='10'"
            f" fill='currentColor'/></svg> {gradient:.2g}</td></tr>"
            for name, kind, shape, scale, gradient in self.layers
        )
        return f"<table>{rows}</table><table>{bars}</table>"


def _mark(finding: Mapping[str, Any]) -> str:
    """A fact, or something that no trial has confirmed and that may be why the batch was not learned."""
    return "!!" if finding["certainty"] == "proved" else "??"


def checkup(
    model: Any, batch: Any, loss: Callable[..., Any] | None = None, optimizer: Any = None, lang: str | None = None
) -> Checkup:
    """Look at a model before training: shapes, gradients, independence of samples, one batch learned by heart.

    `batch` is (inputs, targets), a dict with `labels`, or inputs alone; `loss(outputs, targets)` gives a scalar. It
    runs in a sandboxed child: the model, the optimizer and the random state stay as they are. Raises RuntimeError where
    no child can be had or the model cannot be run on the batch, with the reason.
    """
    from explainer.replay.confine import sandbox
    from explainer.training.checks import measured

    why = sandbox.unavailable()
    if why:
        raise RuntimeError(f"checkup needs a sandboxed child: {why}")
    chosen = language(lang)
    outcome = sandbox.run(lambda: measured(model, batch, loss, optimizer, chosen), deadline=SECONDS, memory=8 << 30)
    if outcome.failed is not None:
        raise RuntimeError(f"checkup could not run the model on this batch: {outcome.failed}")
    return _built(outcome.value, chosen)


def _built(value: Mapping[str, Any], lang: str) -> Checkup:
    checks: Sequence[Any] = value["checks"]
    return Checkup(
        tuple(Check(*one) for one in checks),
        tuple(tuple(row) for row in value["layers"]),
        tuple(value["findings"]),
        lang,
    )
