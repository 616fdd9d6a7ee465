"""`explain` and `explain FILE...`: explains the errors in pasted text, logs and notebooks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from explainer.cli import COMMANDS, Complaint, complain, inputs, options
from explainer.crash import Found
from explainer.diagnosis import Report
from explainer.locale import word

ABOUT = "Explains PyTorch errors: what is wrong, why, and what to change."
MORE = """\
without a FILE a pasted text is read from standard input; FILE may be a log, a notebook, a folder of them, a
pattern in quotes, a packed log (.gz, .xz, .bz2, .zst) or - for standard input

commands (explain COMMAND -h says more; a file of that name is ./COMMAND):
{commands}

exit status: 0 a diagnosis, 1 none, 2 wrong usage or unreadable input; of several files the highest

in a program: import explainer; explainer.install()     in a notebook: %load_ext explainer"""


def main(arguments: list[str]) -> int:
    """Explain every input; the exit status is the highest of theirs."""
    given = _parser().parse_args(arguments)
    folders = options.packs(given)
    reports: list[Report] = []
    status = 0
    for each in given.files or [inputs.STDIN]:
        try:
            for name in inputs.named(each):
                found = reports_of(name, given, folders)
                status = max(status, 0 if any(report.diagnoses for report in found) else 1)
                reports += [one for one in found if one.type or one.diagnoses]  # else a text that holds no error
        except Complaint as complaint:
            status = max(status, complain(str(complaint), complaint.status))
    if reports or status < 2:
        write(reports, given)
    return status


def reports_of(name: str, given: Any, folders: tuple) -> tuple[Report, ...]:
    """The reports on one input, and a word on standard error where it has none."""
    from explainer import api
    from explainer.hooks import last
    from explainer.probes.scene import Options

    settings = Options(api.language(given.lang), options.may_replay(given), source_roots=(".", *given.source))
    found, blank = found_in(name)
    explanation = api.Explanation(tuple(api.explain_found(one, settings, folders) for one in found))
    if not explanation:
        complain(nothing_in(name, blank))
    last.keep(explanation)
    return explanation.reports


def found_in(name: str) -> tuple[list[Found], bool]:
    """The errors of an input, read in pieces, and whether it was blank."""
    from explainer.reading import read_stream
    from explainer.render.progress import Progress

    of = f" of {size / 1e6:.0f}" if (size := inputs.size_of(name)) else ""
    with inputs.opened(name) as file, Progress(sys.stderr) as progress:
        known = None if name == inputs.STDIN else name
        found = list(read_stream(file, known, lambda done: progress(f"{_called(name)}: read {done / 1e6:.0f}{of} MB")))
    return found, file.blank


def nothing_in(name: str, blank: bool) -> str:
    """Why an input gave no error."""
    if blank:
        return "nothing was pasted" if name == inputs.STDIN else f"{name} is empty"
    return f"no PyTorch error found in {_called(name)}"


def _called(name: str) -> str:
    return "the pasted text" if name == inputs.STDIN else name


def write(reports: Sequence[Report], given: Any) -> None:
    """Print reports on standard output, or write them to the file asked for, in the format asked for."""
    text = rendered(reports, given)
    if given.output is not None:
        _write_file(given.output, text)
        return
    encoding = "utf-8" if given.format == "json" else sys.stdout.encoding or "utf-8"
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(encoding, "backslashreplace"))


def _write_file(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Complaint(f"--output: {name} cannot be written: {error.strerror}") from None


def rendered(reports: Sequence[Report], given: Any) -> str:
    """Reports as text of the format asked for, ending with a newline."""
    if given.format in ("text", "plain"):
        return _for_people(reports, given)
    return importlib.import_module(f"explainer.render.{given.format}").render(reports)


def _for_people(reports: Sequence[Report], given: Any) -> str:
    """The diagnoses; errors that nothing is known about are shown only where there is no diagnosis at all."""
    from explainer.render import plain, terminal, theme

    shown = [_placed(one) for one in [report for report in reports if report.diagnoses] or list(reports)[:1]]
    width = theme.width_of(sys.stdout)
    color = given.output is None and theme.wants_color(sys.stdout, given.color)
    if given.format == "plain":
        text = plain.render(shown, width, given.full)
    else:
        text = terminal.to_str(shown, width, given.full, color)
    if len(reports) > len(shown):
        others = len(reports) - len(shown)
        text += f"\n{others} more errors, none of them known to be PyTorch's (--format json has all)\n"
    return text


def _placed(report: Report) -> Report:
    """A report that says in which file it was found, and where there."""
    if report.input is None or report.line is None:
        return report
    place = word("log_place", report.language, input=report.input, line=report.line)
    return replace(report, remarks=(place, *report.remarks))


def _parser() -> options.Parser:
    commands = "\n".join(f"  {name:12}{what}" for name, what in COMMANDS.items())
    parser = options.parser("explain", ABOUT, MORE.format(commands=commands))
    parser.usage = "explain [OPTIONS] [FILE ...] | explain COMMAND ..."
    parser.add_argument("files", metavar="FILE", nargs="*", help="what to explain")
    options.add_format(parser)
    options.add_speech(parser)
    from explainer import __version__

    parser.add_argument("--version", action="version", version=f"torch-explainer {__version__}")
    return parser
