"""The progress line: only where a person looks, and gone afterwards."""

import io

from explainer.render.progress import Progress


class Screen(io.StringIO):
    """A terminal of one line: `line` is what a person sees of it."""

    def isatty(self):
        return True

    @property
    def line(self):
        shown = ""
        for part in self.getvalue().split("\r"):
            shown = part + shown[len(part) :]
        return shown.rstrip()


def test_the_line_shows_the_last_text_and_is_gone_at_the_end():
    screen = Screen()
    with Progress(screen, patience=0) as progress:
        progress("tried 3 of 12 edits")
        progress("tried 4")
        assert screen.line == "tried 4"
    assert screen.line == ""


def test_nothing_is_written_to_a_file():
    stream = io.StringIO()
    with Progress(stream, patience=0) as progress:
        progress("tried 3 of 12 edits")
    assert stream.getvalue() == ""


def test_quick_work_says_nothing():
    screen = Screen()
    with Progress(screen, patience=60) as progress:
        progress("tried 3 of 12 edits")
    assert screen.getvalue() == ""


def test_a_dumb_terminal_is_left_alone(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    with Progress(screen, patience=0) as progress:
        progress("tried 3 of 12 edits")
    assert screen.getvalue() == ""


def test_escape_sequences_are_shown_not_sent(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    progress = Progress(screen, patience=0)
    progress("edit \x1b[2J")
    assert "\x1b" not in screen.getvalue()


def test_the_same_text_is_written_once(monkeypatch):
    """What waits for a child says so ten times a second."""
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    progress = Progress(screen, patience=0)
    progress("running the crash again")
    written = screen.getvalue()
    progress("running the crash again")
    assert screen.getvalue() == written
