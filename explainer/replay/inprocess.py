"""Trials in sandboxed forks of the crashed process: the statements up to the crash run again with the edit in force."""

from __future__ import annotations

import ast
import os
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

from explainer.decisions import Trace
from explainer.diagnosis import Edit
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.lines import applied
from explainer.frozen import frozen
from explainer.oracle.casts import Casts
from explainer.oracle.joins import Joins
from explainer.oracle.judge import Judgement
from explainer.oracle.places import Places, lines_after
from explainer.oracle.source import loses_write, sums_names
from explainer.replay import run
from explainer.replay.stages import Stage, Trials
from explainer.replay.swap import swap
from explainer.replay.trial import Verdict
from explainer.replay.window import Stopped, Window, window_of
from explainer.source import Source, source_of

#: What a run is that gets past the crash and fails at a statement behind it.
LATER = "later"
#: What a run is that joins sizes which are no neighbours, at an edited line.
MIXED = "mixed"


def try_in_process(scene: Any, candidates: Iterable[Candidate], check: str) -> list[Verdict]:
    """Verdicts on candidates; `level` is none where the statements cannot be run again as they failed.

    What `check: program` asks for (an edit of a constructor, of an earlier iteration) shows in a whole run only.
    """
    offered = list(candidates)
    if check == "program" or not offered or run.why_not(scene):
        return [Verdict(one, False, "", "none") for one in offered]
    trials: Trials = scene.once("trials", lambda: Trials(scene, _child))
    found = trials.of([list(one.edits) for one in offered])
    scene.tried = scene.tried or any(held is not None for held, _ in found)
    verdicts = [_verdict(one, *outcome, scene.options.language) for one, outcome in zip(offered, found, strict=True)]
    for one, (held, _) in zip(verdicts, found, strict=True):
        if scene.options.trace is not None:
            _note(scene.options.trace, one.candidate, held and one.passed)
    doubtful = lambda one: bool(one.judgement.doubts)  # noqa: E731
    return sorted(verdicts, key=lambda one: (not one.passed, doubtful(one), one.level != "forward"))


def _verdict(candidate: Candidate, held: bool | str | None, text: str, language: str) -> Verdict:
    if held is None or not held or loses_write(candidate.edits):
        return Verdict(candidate, False, "", "none" if held is None else "forward")
    doubts = (*(["scrambled"] if held == MIXED else []), *(["chance"] if sums_names(candidate.edits) else []))
    said = words.say(words.CALL_RAN, language, call=text)
    return Verdict(candidate, True, said, "operator" if held == LATER else "forward", 0, Judgement(doubts=doubts))


def _note(trace: Trace, candidate: Candidate, held: bool | str | None) -> None:
    """Keep how a candidate did, where somebody asks."""
    trace.made(candidate)
    if held is not None:
        trace.tried(candidate, "passed" if held else "failed", "why_statements")


def _child(stage: Stage, edits: list[Edit]) -> bool | str | None:
    """In the fork: put the edits in force, run the statements through the crash, and see whether the last one fails.

    None where that would not tell: an edit stands where the statements do not come by. Statements behind the crash run
    as well, through the next call of `backward`; LATER where one of those fails.
    """
    frame = stage.frame
    if _unreached(frame, edits, stage.alone):
        return None
    above = [edit for edit in edits if _same(edit.file, frame.file) and edit.end_line < frame.line]
    line = frame.line + sum(map(_growth, above))
    through = max([line, *(_end(edit, above) for edit in _own(frame, edits) if edit.start_line > frame.line)])
    elsewhere = _elsewhere(frame, edits)
    behind = 0 if stage.alone or not edits else _backward_behind(frame)
    for file, of_file in _by_file(edits, frame.file, stage.namespaces).items():  # from here on sources are the new ones
        old = "".join(line + "\n" for line in source_of(file).lines)
        if not swap(file, old, applied(old, of_file), stage.namespaces) and file != frame.file:
            return None
    further = max(through, behind + sum(_growth(edit) for edit in above) if behind else 0)
    window = window_of(_Moved(frame, line), through=further, alone=stage.alone)  # type: ignore[arg-type]
    return None if window is None or window.end_line < through else _watched(frame, edits, window, elsewhere, through)


def _watched(
    frame: Any, edits: list[Edit], window: Window, wanted: set[tuple[str, str]], through: int
) -> bool | str | None:
    """Whether the statements run; MIXED or False where they do because the edit joins or cuts off what it may not."""
    folder = os.path.dirname(frame.file)
    places = Places(folder, lines_after(edits, folder))
    casts, joins = Casts(places), Joins(places)
    if "torch" in sys.modules and edits:
        casts.watch(sys.modules["torch"])
        joins.watch(sys.modules["torch"])
    ran = _runs(window, wanted, through)
    return False if ran and casts.cut else MIXED if ran and joins.mixed else ran


def _backward_behind(frame: Any) -> int:
    """The line of the next call of `backward` in the crash's function, 0 where there is none."""
    source = source_of(frame.file)
    function = source.function_at(frame.line)
    lines = [
        node.lineno
        for node in source.nodes()
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "backward"
        and node.lineno > frame.line
        and source.function_at(node.lineno) is function
    ]
    return min(lines, default=0)


def _own(frame: Any, edits: list[Edit]) -> list[Edit]:
    """The edits of the function (or of the top of the script) that a frame runs, before they are made."""
    source = source_of(frame.file)
    scope = source.function_at(frame.line)
    top = frame.frame.f_code.co_name == "<module>"
    return [
        edit for edit in edits if _same(edit.file, frame.file) and _function(source, edit) is (None if top else scope)
    ]


def _function(source: Source, edit: Edit) -> Any:
    """The function that an edit stands in; what is inserted behind a function's last line may belong to it."""
    found = source.function_at(edit.start_line)
    if edit.end_line >= edit.start_line or edit.after is None:
        return found
    indent = len(edit.after) - len(edit.after.lstrip())
    around = [one for one in (source.function_at(edit.start_line - 1), found) if one is not None]
    return next((one for one in around if one.col_offset < indent), None)


def _end(edit: Edit, above: list[Edit]) -> int:
    """The last line of an edit below the crash once the edits are made; 0 of a deletion."""
    return 0 if edit.after is None else edit.start_line + sum(map(_growth, above)) + edit.after.count("\n")


def _unreached(frame: Any, edits: list[Edit], alone: bool) -> bool:
    """Whether an edit of the frame's own statements stands above those that are run again: it would not show."""
    window, source = window_of(frame, alone=alone), source_of(frame.file)
    first = window.tree.body[0].lineno if window is not None and window.tree.body else 0
    own = [edit for edit in edits if _same(edit.file, frame.file) and edit.start_line < first]
    if frame.frame.f_code.co_name != "<module>":
        function = source.function_at(frame.line)
        return any(_function(source, edit) is function for edit in own)
    return any(_for_effect(source, edit) and not _function(source, edit) for edit in own)


def _for_effect(source: Any, edit: Edit) -> bool:
    """Whether an edit is of a statement that does more than bind a name: of the script's own, only those run anew."""
    if edit.end_line < edit.start_line and edit.after is not None:
        return not isinstance(ast.parse(textwrap.dedent(edit.after)).body[0], (ast.Assign, ast.AnnAssign))
    statement = source.statement_at(edit.start_line)
    return isinstance(statement, (ast.Expr, ast.AugAssign)) or _builds_on_itself(statement)


def _builds_on_itself(statement: ast.AST | None) -> bool:
    """`x = x + 1`: what `x` was before is gone."""
    bound = {ast.unparse(target) for target in getattr(statement, "targets", ())}
    read = ast.walk(statement.value) if isinstance(statement, ast.Assign) else ()
    return any(isinstance(one, (ast.Name, ast.Attribute)) and ast.unparse(one) in bound for one in read)


def _elsewhere(frame: Any, edits: list[Edit]) -> set[tuple[str, str]]:
    """The functions, by file and name, that edits change beside the frame's own: unless they run, edits do not show.

    A constructor's changed statements have run again on the live objects.
    """
    own, found = _own(frame, edits), set()
    for edit in edits:
        function = None if edit in own else _function(source_of(edit.file), edit)
        name = getattr(function, "name", "__init__")
        if name != "__init__":
            found.add((os.path.realpath(edit.file), name))
    return found


def _runs(window: Window, wanted: set[tuple[str, str]], through: int) -> bool | str | None:
    """Whether the statements through a line run; None where the crashed run went another way or edits did not show."""
    skipped: list[int] = []
    missing, names = set(wanted), {name for _, name in wanted}

    def called(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name in names:
            missing.discard((os.path.realpath(frame.f_code.co_filename), frame.f_code.co_name))
            if not missing:  # watching every call makes a long program longer
                sys.setprofile(None)

    sys.setprofile(called if wanted else None)
    try:
        window.run(skipped.append)
    except Stopped as stopped:
        if not window.returned(stopped):
            return None
    finally:
        sys.setprofile(None)
    failed = any(window.line <= line <= through for line in skipped)
    later = any(line > through for line in skipped)
    return None if missing and failed else False if failed else LATER if later else True


@frozen
class _Moved:
    """A live frame whose file has got other lines."""

    held: Any
    line: int

    @property
    def frame(self) -> Any:
        return self.held.frame

    @property
    def file(self) -> str:
        return self.held.file

    @property
    def locals(self) -> dict[str, Any]:
        return self.held.locals


def _by_file(edits: list[Edit], known: str, namespaces: Iterable[dict[str, Any]]) -> dict[str, list[Edit]]:
    """Edits by the file as its code objects name it."""
    files = [names.get("__file__") for names in namespaces]
    loaded = {os.path.realpath(file): file for file in files if isinstance(file, str)}
    loaded[os.path.realpath(known)] = known
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(loaded.get(os.path.realpath(edit.file), edit.file), []).append(edit)
    return found


def _growth(edit: Edit) -> int:
    before = edit.end_line - edit.start_line + 1
    return (0 if edit.after is None else edit.after.count("\n") + 1) - before


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
