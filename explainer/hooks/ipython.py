"""The notebook's door: the `%explain` magics and the diagnosis under a failed cell, in IPython and Jupyter."""

from __future__ import annotations

import sys
from typing import Any

from explainer.hooks import process

USAGE = """\
%explain: the last error; %explain on, %explain off: every error; %%explain: this cell's error
%explain fix: the last fix, as a cell of its own; %explain --free: let go of the last error and its tensors"""
FREE = "the notebook keeps the last error (sys.last_value), and with it the tensors of its frames: `%explain --free`"


class Door:
    """What one shell has asked for. `on`: explain every failed cell; `once`: the one that is running."""

    def __init__(self, shell: Any):
        self.shell, self.on, self.once = shell, False, False
        self.before: int | None = None
        self.last: Any = None

    def before_cell(self, _: Any = None) -> None:
        """IPython's `pre_run_cell`: the error that was the last one so far, so that a new one can be told from it."""
        self.before = _identity(getattr(sys, "last_value", None))

    def after_cell(self, result: Any) -> None:
        """IPython's `post_run_cell`: the traceback is printed, the cell has failed and stays failed."""
        asked, self.once = self.on or self.once, False
        error = getattr(result, "error_in_exec", None) or self._shown_by_a_magic()
        if asked and error is not None and process.wanted(error):
            self.explain(error, even_unknown=False)

    def _shown_by_a_magic(self) -> BaseException | None:
        """An error that a magic (`%run script.py`) printed itself; its cell counts as done."""
        error = getattr(sys, "last_value", None)
        return error if isinstance(error, Exception) and _identity(error) != self.before else None

    def explain(self, error: BaseException, even_unknown: bool) -> None:
        """Show the diagnosis of an error: HTML in a notebook, text in a terminal."""
        stage = "loading"
        try:
            from explainer.hooks import cells, last, showing

            settings = process.settings or process.Settings()
            stage = "the diagnosis"
            explanation = cells.of_cells(showing.watched(error, error.__traceback__, settings, sys.stdout))
            if any(diagnosis.family == "oom" for report in explanation.reports for diagnosis in report.diagnoses):
                explanation = showing.remarked(explanation, FREE)
            stage = "the display"
            text = showing.shown(explanation, sys.stdout, settings)
            if even_unknown and not text:
                text = explanation.text()
            self.display(explanation, text)
            stage = "keeping the diagnosis for `explain fix`"
            last.keep(explanation)
            self.last = explanation
        except BaseException as failure:
            process.say_failed(stage, failure)

    def display(self, explanation: Any, text: str) -> None:
        """Rich output in a notebook (the shell has a kernel), text in a terminal; nothing where there is no text."""
        if text and explanation and getattr(self.shell, "kernel", None) is not None:
            from IPython.display import display

            display({"text/html": self.page(explanation), "text/plain": explanation.text()}, raw=True)
        elif text:
            from explainer.hooks import showing

            showing.write(sys.stdout, text)

    def page(self, explanation: Any) -> str:
        """The diagnosis as HTML; a fix of a cell has a button that puts the edited cell below."""
        from explainer.hooks import cells
        from explainer.render import html

        edits = tuple(cells.fixing(explanation))
        text = cells.of_edits(edits, self.shell)
        return html.fragment(explanation.reports, {edits: text} if text is not None else None)

    def magic(self, line: str) -> None:
        """`%explain`, `%explain on`, `%explain off`; `%explain once` is what `%%explain` turns into."""
        word = line.strip()
        if word in ("on", "off"):
            self.on = word == "on"
        elif word == "once":
            self.once = True
        elif word == "fix":
            self.put_fix()
        elif word == "--free":
            from explainer.hooks import freeing

            self.last = None
            print("\n".join(freeing.free(self.shell)))
        elif word:
            print(USAGE)
        else:
            error = getattr(sys, "last_value", None)
            print("no error to explain yet") if error is None else self.explain(error, even_unknown=True)

    def put_fix(self) -> None:
        """`%explain fix`: the fix's cell, edited, as the next input; for files the command that edits them."""
        from explainer.hooks import cells

        text = cells.edited(self.last, self.shell)
        if text is None:
            print(cells.why_not(self.last))
        else:
            self.shell.set_next_input(text, replace=False)


def _identity(error: Any) -> int | None:
    return None if error is None else id(error)


def mark_cell(lines: list[str]) -> list[str]:
    """An input transformer: a `%%explain` cell is an ordinary cell whose first line asks for an explanation."""
    if lines and lines[0].rstrip() == "%%explain":
        return ["get_ipython().run_line_magic('explain', 'once')\n", *lines[1:]]
    return lines


_doors: dict[int, Door] = {}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext explainer`: the magics, and nothing else until they are used."""
    if id(shell) in _doors:
        return
    door = _doors[id(shell)] = Door(shell)
    shell.register_magic_function(door.magic, "line", "explain")
    shell.input_transformers_cleanup.append(mark_cell)
    shell.events.register("pre_run_cell", door.before_cell)
    shell.events.register("post_run_cell", door.after_cell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext explainer`: the shell as it was."""
    door = _doors.pop(id(shell), None)
    if door is not None:
        shell.events.unregister("pre_run_cell", door.before_cell)
        shell.events.unregister("post_run_cell", door.after_cell)
        shell.input_transformers_cleanup.remove(mark_cell)
        shell.magics_manager.magics["line"].pop("explain", None)


def watch(shell: Any) -> None:
    """What `install()` does inside IPython: the magics, switched on."""
    load_ipython_extension(shell)
    _doors[id(shell)].on = True


def unwatch(shell: Any) -> None:
    """What `uninstall()` does inside IPython: the magics stay, switched off."""
    if id(shell) in _doors:
        _doors[id(shell)].on = False
