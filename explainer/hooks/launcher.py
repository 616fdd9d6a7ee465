"""torchrun under `explain run`: its ranks run under it too, and the job ends with one report of what they left."""

from __future__ import annotations

import atexit
import faulthandler
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from explainer.hooks import collectives, job, process, ranks
from explainer.locale import word

#: Interpreter options that a launcher puts before a script.
_BEFORE = ("-u",)
#: How many ranks that were ended while others waited for them are named.
_MOST = 4


def watch(options: Sequence[str]) -> None:
    """Have torch's launcher start its ranks under `explain run` with these options, in one job's folder."""
    if os.environ.get(job.FOLDER):
        return
    try:
        from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler
    except Exception:  # a torch that does not load: the script says so itself
        return
    handler: Any = subprocess_handler.SubprocessHandler
    start = getattr(handler, "_popen", None)
    if start is None:
        return
    try:
        os.environ[job.FOLDER] = tempfile.mkdtemp(prefix="explain-job-")
    except OSError:
        return
    ranks.launches = True
    atexit.register(remove)
    atexit.register(_tell_survived)  # goes before
    handler._popen = _watched(start, list(options))


def _watched(start: Callable[..., Any], options: Sequence[str]) -> Callable[..., Any]:
    def popen(self: Any, args: Sequence[str], env: Mapping[str, str], *more: Any, **named: Any) -> Any:
        return start(self, tuple(command(list(args), options)), env, *more, **named)

    return popen


def command(given: list[str], options: Sequence[str]) -> list[str]:
    """A rank's command, under `explain run` where it is this Python with a script or a module."""
    if not given or given[0] != sys.executable:
        return given
    at = 1
    while at < len(given) and given[at] in _BEFORE:
        at += 1
    ours = at < len(given) and (given[at] == "-m" or not given[at].startswith("-"))
    return [*given[:at], "-m", "explainer", "run", *options, *given[at:]] if ours else given


def begin_rank() -> None:
    """In a rank: have its last collective, and its stack where a signal ends it, kept in the job's folder.

    Of a fatal signal the stack is the program's business where it has it written itself. The launcher sends SIGTERM.
    """
    rank, where = os.environ.get("RANK", ""), os.environ.get(job.FOLDER)
    if not where or not rank.isdigit():
        return
    with suppress(OSError):
        collectives.keep(where, rank)
        if not faulthandler.is_enabled():
            faulthandler.enable(_file(where, rank, "stack"))
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGTERM, _file(where, rank, "term"), all_threads=False, chain=True)


def exited(end: SystemExit) -> None:
    """In a rank that ends by `sys.exit`: leave the user's line that called it, for its status alone tells little."""
    rank, where = os.environ.get("RANK", ""), os.environ.get(job.FOLDER)
    if not where or not rank.isdigit() or end.code in (None, 0):
        return
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(end.__traceback__)]
    with suppress(OSError), open(_file(where, rank, "exit"), "w", encoding="utf-8") as file:
        file.writelines(f'  File "{name}", line {line} in \n' for name, line in reversed(lines))


def _file(where: str, rank: str, kind: str) -> int:
    path = os.path.join(where, f"rank-{rank}.{kind}")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)


def joined(error: BaseException, explanation: Any) -> Any:
    """The explanation of the launcher's error with what the ranks left: the first to fail, then what the others say."""
    from explainer.transfer import received

    where = os.environ.get(job.FOLDER)
    if not where or type(error).__name__ != "ChildFailedError" or not explanation.reports:
        return explanation
    atexit.unregister(_tell_survived)
    every, language = job.records(Path(where)), explanation.reports[0].language
    left = collectives.last_calls(Path(where))
    last = max((one.get("attempt", 0) for one in (*every, *left.values())), default=0)
    found = [one for one in every if one.get("attempt", 0) == last]  # since the ranks were last started again
    left = {rank: call for rank, call in left.items() if call.get("attempt", 0) == last}
    known = {one["rank"] for one in found}
    ended, silent = _ended(error, where, known, language), _silent(where, known, language)
    own, *others = explanation.reports
    calls = _calls(left, found)
    apart = collectives.apart(calls, language)
    if not found or (ended and all(one["lost"] for one in found)):
        remarks = (*own.remarks, *ended, *silent, *([] if apart else collectives.last_of(calls, language)))
        own = replace(_first_ended(own, error, ended), remarks=remarks)
        return replace(explanation, reports=(_caused(own, apart), *others))
    first = ranks.first_of(found)
    apart = apart if first["call"] else ""
    said, errors = _beside(found, first, apart, language)
    alike = [one for one in found if "report" in one and one["same"] == first["same"]]
    report = received(ranks.first_of(alike)["report"]) if alike else own
    remarks = (*report.remarks, *(silent if first["lost"] else ()), _origin(first, language), *ended, *said)
    return replace(explanation, reports=(_caused(replace(report, remarks=remarks), apart), *errors))


def _first_ended(report: Any, error: Any, ended: Sequence[str]) -> Any:
    """The launcher's own report; where it names a rank that it ended itself, of the one that ended before."""
    with suppress(AttributeError, LookupError, ValueError):
        _, failure = error.get_first_failure()
        if ended and report.diagnoses and failure.exitcode == -signal.SIGTERM:
            first, *others = report.diagnoses
            cause = word("job_others_ended", report.language)
            told = replace(first, headline=ended[0], cause=cause, certainty="likely", fixes=())
            return replace(report, diagnoses=(told, *others))
    return report


def _caused(report: Any, apart: str) -> Any:
    """The launcher's own report; where ranks were in different collectives, that is the cause among its several."""
    if not apart or not report.diagnoses:
        return replace(report, remarks=(*report.remarks, *filter(None, [apart])))
    first, *others = report.diagnoses
    language = report.language
    cause = word("job_unlike_why", language, listed=apart)
    told = replace(first, headline=word("job_unlike", language), cause=cause, certainty="likely", fixes=())
    return replace(report, diagnoses=(told, *others))


def _calls(left: Mapping[int, collectives.Call], found: Sequence[job.Record]) -> dict[int, collectives.Call]:
    """What each rank was in last: what it noted as it began, else what its error's frames say."""
    failed = {one["rank"]: {**one["call"], "group": "", "turn": 0} for one in found if one["call"]}
    return {**failed, **left}


def _origin(first: job.Record, language: str) -> str:
    """Which rank failed first; by what too, where it was ended before it could explain that."""
    key, (error, place) = "job_first" if "report" in first else "job_untold", first["same"]
    return word(key, language, rank=first["rank"], world=first["world"], error=error, place=place)


def _beside(found: Sequence[job.Record], first: job.Record, apart: str, language: str) -> tuple[list[str], list[Any]]:
    """What the other ranks have to do with the first: lines, and the reports of errors of their own.

    Of those that were in another collective it is the cause that tells, where it is known (`apart`).
    """
    from explainer.transfer import received

    lines, errors = [], []
    for one in ranks.alike(one for one in found if one is not first):
        if apart and ranks.apart(one, first):
            continue
        said = ranks.relation(one, first, language)
        lines += [said] if said else []
        if not said and "report" in one:
            same = {**one, "ranks": [rank for rank in one["ranks"] if rank != one["rank"]]}
            more = (ranks.relation(same, one, language),) if same["ranks"] else ()
            report = received(one["report"])
            errors.append(replace(report, remarks=(*report.remarks, *more)))
    return lines, errors


def remove() -> None:
    """Remove the job's folder, its launcher's doing: the job is over."""
    where = os.environ.pop(job.FOLDER, None)
    if where:
        shutil.rmtree(where, ignore_errors=True)


def _tell_survived() -> None:
    """Where the job ended well all the same (ranks were started again), tell the error that a rank had."""
    try:
        found = [one for one in job.records(Path(os.environ.get(job.FOLDER, ""))) if "report" in one]
        if found:
            from explainer.hooks import showing
            from explainer.render import terminal
            from explainer.transfer import received

            showing.write(sys.stderr, "\n" + terminal.to_str((received(ranks.first_of(found)["report"]),)))
    except BaseException as failure:
        process.say_failed("the job's report", failure)


def _ended(error: Any, where: str, known: set[int], language: str) -> list[str]:
    """What the launcher knows of the ranks that left nothing; those that it ended itself (SIGTERM) are no news."""
    lines = []
    for rank, failure in sorted(getattr(error, "failures", {}).items()):
        code, folder = failure.exitcode, Path(where)
        if rank in known or code == -signal.SIGTERM:
            continue
        if code >= 0:
            place = _stood(folder / f"rank-{rank}.exit")
            lines.append(word(f"job_exited{'_at' * bool(place)}", language, rank=rank, code=code, place=place))
            continue
        place, name = _stood(folder / f"rank-{rank}.stack"), failure.signal_name()
        lines.append(word(f"job_ended{'_at' * bool(place)}", language, rank=rank, signal=name, place=place))
    return lines


def _silent(where: str, known: set[int], language: str) -> list[str]:
    """Where the ranks stood that had no error and did not end until the launcher ended them: others wait for them."""
    stood = {int(path.stem.removeprefix("rank-")): _stood(path) for path in Path(where).glob("rank-*.term")}
    silent = sorted((rank, place) for rank, place in stood.items() if place and rank not in known)
    return [word("job_silent", language, rank=rank, place=place) for rank, place in silent[:_MOST]]


def _stood(path: Path) -> str:
    """The user's innermost line in what `faulthandler` wrote when a rank was ended; empty where it wrote nothing."""
    from explainer.userframes import is_user_file

    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            file, _, rest = line.strip().removeprefix('File "').partition('", line ')
            number = rest.split(" ")[0]
            if number.isdigit() and is_user_file(file):
                return f"{os.path.relpath(file)}:{number}"
    return ""
