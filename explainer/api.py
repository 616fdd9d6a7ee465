"""Text or exception in, reports out: what the package hands out as `explain` and `Explanation`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from explainer.crash import Crash, Found, crash_of
from explainer.diagnosis import Fix, Report, document
from explainer.frozen import frozen, replace
from explainer.locale import word
from explainer.probes.scene import Options
from explainer.reproduce import Repro


@frozen
class Explanation:
    """The reports on what was explained: the one a person should look at first comes first."""

    reports: tuple[Report, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON document (schema_version 1)."""
        return document(self.reports)

    def text(self, width: int = 80, full: bool = False) -> str:
        """The diagnosis as a terminal shows it, `width` cells wide, without colour."""
        from explainer.render import terminal

        return terminal.to_str(self.reports, width=width, full=full)

    def markdown(self) -> str:
        """The diagnosis as markdown, for an issue."""
        from explainer.render import markdown

        return markdown.render(self.reports)

    def html(self) -> str:
        """The diagnosis as a self-contained piece of HTML."""
        from explainer.render import html

        return html.render(self.reports)

    def _repr_html_(self) -> str:
        from explainer.render import html

        return html.fragment(self.reports)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__  # what a prompt shows of `explainer.explain(error)`

    def __bool__(self) -> bool:
        return any(report.diagnoses for report in self.reports)


def explain(
    what: BaseException | str | bytes, *, lang: str | None = None, replay: bool = True, rules: Iterable[str | Path] = ()
) -> Explanation:
    """Explain an exception (use it inside `except`) or a pasted text.

    `lang` is "en", "ko" or "zh" (default: EXPLAINER_LANG, then the locale); `replay` allows re-running in a sandboxed
    child (EXPLAINER_REPLAY=0 forbids it); `rules` are folders of further rules. Raises TypeError for anything that is
    neither error nor text.
    """
    packs = tuple(map(Path, rules)) if rules else ()
    if isinstance(what, (str, bytes)):
        return explain_text(what, options=Options(language=language(lang)), packs=packs)
    if isinstance(what, BaseException):
        allowed = replay and os.environ.get("EXPLAINER_REPLAY") != "0"
        return explain_error(what, options=Options(language=language(lang), replay=allowed), packs=packs)
    raise TypeError(f"explain() takes an exception or a text, not {type(what).__name__}")


def changed(error: BaseException, traceback: Any = None) -> set[str]:
    """The user's files that no longer hold the text that the program runs: running it again would tell nothing."""
    from explainer.live import changed_under

    return changed_under(error, traceback)


def script(begun: float) -> Any:
    """The script that this process runs, for `Options.program`: see `replay.program.script`."""
    from explainer.replay import program

    return program.script(begun)


def begun_for(error: BaseException, program: Any) -> Any:
    """A run of a script that is begun before its error is looked at, for `Options.begun`: see `replay.ahead`."""
    if program is None:
        return None
    from explainer.replay import ahead

    return ahead.begun_for(error, program, Options.deadline)


def run_edited(edits: Iterable[Any], work: Any, seconds: float) -> Any:
    """What `work` returns in a sandboxed child with edits in force: see `replay.edited`."""
    from explainer.replay import edited

    return edited.run_edited(edits, work, seconds)


def explain_text(
    text: str | bytes, name: str | None = None, options: Options | None = None, packs: tuple[Path, ...] = ()
) -> Explanation:
    """Explain every error that a text holds. Nothing in it is run; sources are read below `options.source_roots`."""
    from explainer.reading import read_bytes, read_text

    found = read_bytes(text, name) if isinstance(text, bytes) else read_text(text, name)
    return Explanation(tuple(explain_found(one, options, packs) for one in found))


def explain_found(found: Found, options: Options | None = None, packs: tuple[Path, ...] = ()) -> Report:
    """Explain one error that `reading` found."""
    from explainer.catalogue import load
    from explainer.diagnose import diagnose, knowing

    catalogue = load(packs)
    return diagnose(crash_of(found, knowing(catalogue)), catalogue, options or Options(language=language(None)))


def explain_error(
    error: BaseException, traceback: Any = None, options: Options | None = None, packs: tuple[Path, ...] = ()
) -> Explanation:
    """Explain a live exception. Its frames are let go of before this returns."""
    from explainer.catalogue import load
    from explainer.diagnose import diagnose, knowing
    from explainer.live import crash_from

    catalogue = load(packs)
    options = options or Options(language=language(None))
    traceback = traceback if traceback is not None else error.__traceback__
    crash = crash_from(error, traceback, knowing(catalogue), options.language, options.changed)
    try:
        elsewhere = _without_compiler(crash, options, packs) or _late_on_cpu(crash, options, packs)
        report = elsewhere or _on_cpu(crash, options, packs, diagnose(crash, catalogue, options))
    finally:
        _let_go(crash)
    return Explanation((report,))


def _without_compiler(crash: Crash, options: Options, packs: tuple[Path, ...]) -> Report | None:
    """The report on an error of compiled code as it is without the compiler: see `replay.uncompiled`."""
    from explainer.transfer import received, sent

    if not options.replay or crash.live is None or "torch" not in sys.modules:
        return None
    from explainer.replay import uncompiled

    if not uncompiled.is_of_compiled_code(crash.live.error):
        return None
    known = changed(crash.live.error) if options.changed is None else options.changed
    plain = replace(options, replay=False, program=None, begun=None, changed=known)  # a window is no code of its file
    found = uncompiled.explained(
        crash.live, lambda error, traceback: sent(explain_error(error, traceback, plain, packs).reports[0])
    )
    report = received(found) if found is not None else None
    if report is None or not report.diagnoses:
        return None
    first, *others = report.diagnoses
    fixes = tuple(_tried_without(fix, crash.live, options.language) for fix in first.fixes)
    fixes = tuple(sorted(fixes, key=lambda fix: fix.certainty != "checked"))
    first = replace(first, fixes=fixes, untried=None)  # they were tried here, not in the child
    return _as_raised(replace(report, diagnoses=(first, *others)), crash, "uncompiled", options.language)


def _as_raised(report: Report, crash: Crash, key: str, language: str) -> Report:
    """A child's report under the error that was raised here, with a remark on what the child's own was."""
    remark = word(key, language, said=f"{report.type}: {report.message}")
    return replace(report, type=crash.type, message=crash.message, remarks=(remark, *report.remarks))


def _late_on_cpu(crash: Crash, options: Options, packs: tuple[Path, ...]) -> Report | None:
    """The report on an error that CUDA raised late, as the CPU raises it: see `on_cpu`."""
    from explainer import on_cpu
    from explainer.transfer import received

    found = on_cpu.explained(crash, options, packs, __name__)
    return _as_raised(received(found), crash, "on_cpu", options.language) if found is not None else None


def _on_cpu(crash: Crash, options: Options, packs: tuple[Path, ...], known: Report) -> Report:
    """A report, or the one on the same error where CUDA is played on the CPU, if that tells more: see `on_cpu`."""
    from explainer import on_cpu
    from explainer.transfer import received

    found = on_cpu.better(known, crash, options, packs, __name__)
    if found is None:
        return known
    remarks = (word("played", options.language), *known.remarks)
    return replace(received(found), type=known.type, message=known.message, remarks=remarks)


def report_on(error: BaseException, request: Any) -> Any:
    """In a child that plays CUDA: the report on an error there, as JSON data; see `on_cpu`."""
    from explainer import on_cpu

    return on_cpu.report_on(error, request, explain_error)


def _tried_without(fix: Fix, live: Any, language: str) -> Fix:
    from explainer.replay import uncompiled

    call = uncompiled.holds(live, fix.edits) if fix.edits else None
    if call is None:
        return fix
    return replace(fix, certainty="checked", checked=word("uncompiled_ran", language, call=call))


def repro(
    what: BaseException | str | bytes, *, replay: bool = True, rules: Iterable[str | Path] = (), process: Any = None
) -> Repro:
    """A minimal script that raises the same error, from shapes, dtypes and settings alone; falsy where there is none.

    Takes what `explain` takes. The script is run in a new process before it is handed out, which takes some seconds;
    `process` is a `replay.scripts.CleanProcess` that several calls share.
    """
    packs = tuple(Path(folder) for folder in rules)
    if isinstance(what, BaseException):
        return _repro_of_error(what, replay, packs, process)
    if not isinstance(what, (str, bytes)):
        raise TypeError(f"repro() takes an exception or a text, not {type(what).__name__}")
    from explainer.reading import read_bytes, read_text

    found = read_bytes(what) if isinstance(what, bytes) else read_text(what)
    return repro_found(found[0], packs, process) if found else Repro(why="the text holds no error")


def _repro_of_error(error: BaseException, replay: bool, packs: tuple[Path, ...], process: Any) -> Repro:
    from explainer.catalogue import load
    from explainer.diagnose import knowing
    from explainer.live import crash_from
    from explainer.reproduce.make import repro as make

    catalogue = load(packs)
    crash = crash_from(error, error.__traceback__, knowing(catalogue))
    try:
        allowed = replay and os.environ.get("EXPLAINER_REPLAY") != "0"
        return make(crash, catalogue, Options(replay=allowed), process)
    finally:
        _let_go(crash)


def _let_go(crash: Crash) -> None:
    """Keep nothing of a live crash: neither its frames, nor children that were not reaped, nor files held back."""
    from explainer.source import withhold

    withhold(())
    if crash.live is not None:
        crash.live.drop()
    sandbox = sys.modules.get("explainer.replay.confine.sandbox")
    if sandbox is not None:
        sandbox.reap()


def repro_found(found: Found, packs: tuple[Path, ...] = (), process: Any = None) -> Repro:
    """The repro of one error that `reading` found, from its message alone."""
    from explainer.catalogue import load
    from explainer.diagnose import knowing
    from explainer.reproduce.make import repro as make

    catalogue = load(packs)
    return make(crash_of(found, knowing(catalogue)), catalogue, Options(replay=False), process)


def language(asked: str | None) -> str:
    """The language to answer in: as asked, EXPLAINER_LANG, the locale, English."""
    from explainer.locale import language as detect

    return detect(asked)


def broken_packs(packs: tuple[Path, ...]) -> str:
    """A remark where files of the user's own packs were left out; else empty."""
    from explainer.catalogue import load

    wrong = [problem for problem in load(packs).problems if problem not in load().problems] if packs else []
    more = f" (and {len(wrong) - 1} more; explain rules check DIR lists them)" if len(wrong) > 1 else ""
    return f"explainer: rules: {wrong[0]}{more}" if wrong else ""
