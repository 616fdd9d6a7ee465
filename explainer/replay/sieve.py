"""Which of many edits get past the failing call: each put in force in the crashed run itself, where it stands."""

from __future__ import annotations

import ast
import gc
import os
import re
import statistics
import sys
import time
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from explainer.bindings import KEEPING
from explainer.replay.anew import Anew, Entered, Past, Piece, patched, with_changes
from explainer.replay.bounded import Late, most_held, room, within
from explainer.replay.definitions import compiled, defaults, function_of, live_function
from explainer.replay.recorders.stacks import frames_of

#: Seconds for one edit; the share of the run's work after which it answers with what it has.
_ONE, _SHARE = 0.5, 0.75
#: Once so many are timed, an edit has so many times what half of them took, and so many seconds at least.
_TIMED, _TIMES, _SHORT = 6, 8.0, 0.2
#: What changes an object in place.
_IN_PLACE = re.compile(r"\.(?:\w+_|half|double|float|bfloat16|to|cpu|cuda|load_state_dict)\(")
#: What puts one value more into a container, beside those of earlier turns.
_FILLS = re.compile(rf"\.(?:{'|'.join(KEEPING)})\(")
#: How a program may run: in these modes statements are tried, in turn.
_MODES = ("enable_grad", "no_grad", "inference_mode")
#: What names sizes, which are those of what failed.
_SIZES = re.compile(r"\b[Ss]izes?\b|\bshapes?\b|must match")
#: How many statements further back the run begins where the ones that an edit reaches do not fail alike by themselves.
_FURTHER = 3
#: So many edits of each part are looked at, however many get past the call.
_LEAST = 30
#: How many of one line count where it is asked whether enough have got past.
_OF_LINE = 3
#: What becomes of an edit: it fails as before, fails otherwise, fails in the same way further on, gets past the call;
#: or it cannot be told here.
SAME, OTHER, MOVED, PASSES, UNKNOWN = "same", "other", "moved", "passes", "unknown"
Change = Mapping[str, Any]


class Sieve:
    """A recorder that keeps what layers were built with; `taken(error)` says how each of the edits fares.

    The outermost layer on the failing stack is called again with its arguments, built anew where the edit changes a
    constructor; elsewhere the statements from those that an edit reaches to the failing one are (`replay.anew`).
    """

    def __init__(self, folder: str, changes: Sequence[Sequence[Change]], enough: int, deadline: float):
        self.until = time.process_time() + _SHARE * deadline
        self.held = most_held()
        self.folder = folder + os.sep
        self.changes = changes
        self.enough = enough
        self.built: dict[int, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {}
        self.entered = Entered(self.folder)
        self.modes: dict[tuple[int, int] | None, str | None] = {}
        self.took: list[float] = []
        self.said = self.words = ""
        self.repeats: dict[bool, bool] = {}
        self.trees: dict[str, tuple[list[str], ast.Module]] = {}
        self.modules: dict[str, list[Any]] = {}
        self._plain: Callable[..., None] | None = None
        if "torch" in sys.modules:
            self._watch(sys.modules["torch"].nn.Module)
        self.entered.begin()

    def _watch(self, module: Any) -> None:
        self._plain = plain = module.__init__

        def init(one: Any, *given: Any, **words: Any) -> None:
            plain(one, *given, **words)
            frame: Any = sys._getframe(1)
            top = None
            while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is one:
                top, frame = frame, frame.f_back
            if top is not None:
                self.built[id(one)] = (weakref.ref(one), *_arguments(top))

        module.__init__ = init

    def _unwatch(self) -> None:
        """What edits build anew is built as fast as without."""
        self.entered.end()
        if self._plain is not None:
            sys.modules["torch"].nn.Module.__init__ = self._plain

    def taken(self, error: BaseException) -> list[str]:
        """How each edit fares, until enough of several lines have got past the call."""
        self._unwatch()
        self.room = room(self.held)
        with _what_is_there_not_collected():
            return self._fates(error)

    def _fates(self, error: BaseException) -> list[str]:
        self.anew = Anew(error, self.folder, self.entered, self._tree)
        self.frames = [one for one in frames_of(error) if one[0].f_code.co_filename.startswith(self.folder)]
        self.failed, self.failed_words = _told(error, self.folder), str(error)
        self.rows = _rows(error, self.folder)
        steps = frames_of(error)
        roots = [(at, one) for at, one in enumerate(map(_called, steps)) if one is not None]
        root = roots[0][1] if roots else None
        self.inner = [frame for frame, _ in steps[roots[0][0] :]] if roots else []
        found: list[str] = []
        past: Counter[Any] = Counter()
        for edits in self.changes:
            enough = sum(min(count, _OF_LINE) for count in past.values()) >= self.enough
            if time.process_time() > self.until or (enough and len(found) >= _LEAST):
                break
            found.append(self._guarded(edits, root))
            past[edits[0]["file"], edits[0]["start"]] += found[-1] == PASSES
        return found

    def _guarded(self, edits: Sequence[Change], root: Any) -> str:
        begun = time.process_time()
        try:
            with within(self._limit(), self.room):
                return self._of(edits, root)
        except (Late, Exception):
            return UNKNOWN
        finally:
            self.took.append(time.process_time() - begun)

    def _limit(self) -> float:
        """Seconds for the next edit: what makes the program far slower than others do is left to whole runs."""
        if len(self.took) < _TIMED:
            return _ONE
        return min(_ONE, max(_SHORT, _TIMES * statistics.median(self.took)))

    def _of(self, edits: Sequence[Change], root: Any) -> str:
        for edit in filter(_only_imports, edits):
            vars(self._modules_of(os.path.join(self.folder, edit["file"]))[0]).update(_imported(edit["after"]))
        edits = [edit for edit in edits if not _only_imports(edit)]
        homes = self._homes(edits)
        made = {home: self._changed([one for one, own in zip(edits, homes) if own == home]) for home in set(homes)}  # noqa: B905
        changed = [made[home] for home in homes]
        live = list({id(one[0]): one for one in changed if one is not None}.values())
        if live and None not in changed and all(self._within(one[0], root) for one in live):
            anew = self._to_rebuild([one[2] for one in live])
            if self._repeats(root, anew):
                with patched(live):
                    return self._outcome(lambda: self._called_again(root, anew))
        return self._again(edits, changed, live)

    def _repeats(self, root: Any, anew: bool) -> bool:
        """Whether the outermost layer, unedited, fails in the same way when it is called again, or built anew before.

        A cache may hold what it put there; what was exchanged in a model since it was built is lost.
        """
        if anew not in self.repeats:
            self.repeats[anew] = False  # where it takes too long as well
            told = self._outcome(lambda: self._called_again(root, anew))
            self.repeats[anew] = told == SAME and self._says_the_same()
        return self.repeats[anew]

    def _within(self, function: Any, root: Any) -> bool:
        """Whether the outermost layer that failed runs a function when it is called, or built anew."""
        code = function.__code__
        if not self.inner or any(frame.f_code is code for frame in self.inner):
            return bool(self.inner)
        init = getattr(type(root[0]).__init__, "__code__", None)
        builds = code is init or any(outer is init for _, outer, _ in self.entered.lines.get(code, ()))
        return builds or any(self.entered.since(code, frame) for frame in self.inner)

    def _again(self, edits: Sequence[Change], changed: Sequence[Any], live: Sequence[Any]) -> str:
        """How the statements fare that an edit reaches, from there to the failing one; they must fail without it."""
        functions = [one[0] if one is not None else None for one in changed]
        piece = self.anew.piece(edits, functions, self.folder)
        mode = self._mode(piece)
        further = _FURTHER if None not in functions else 0
        while mode is None and piece is not None and further:
            piece, further = self.anew.earlier(piece), further - 1
            mode = self._mode(piece)
        if piece is None or mode is None:
            return UNKNOWN
        others = [one for one in live if one[0].__code__ is not piece.frame.f_code]
        entered: set[Any] = set()
        with patched(others), _entering(entered):
            fate = self._outcome(piece.run, mode, OTHER)
        skipped = any(code not in entered for _, code, *_ in others)
        return UNKNOWN if fate == SAME and (skipped or any(map(self._undoes, edits))) else fate

    def _undoes(self, edit: Change) -> bool:
        """Whether an edit takes away a change in place, or fills a container: the crashed run has done so already."""
        lines, _ = self._tree(os.path.join(self.folder, edit["file"]))
        before, after = "\n".join(lines[edit["start"] - 1 : edit["end"]]), edit["after"] or ""
        return bool(_FILLS.search(before)) or len(_IN_PLACE.findall(before)) > len(_IN_PLACE.findall(after))

    def _mode(self, piece: Piece | None) -> str | None:
        """The mode in which statements fail as they did, unedited: one that a decorator or a block had set is gone."""
        key = (id(piece.frame), piece.first) if piece is not None else None
        if piece is not None and key not in self.modes:
            self.modes[key] = None  # where it takes too long as well
            control = self.anew.control(piece)
            self.modes[key] = next(
                (mode for mode in _MODES if control is not None and self._alike(control, mode)), None
            )
        return self.modes.get(key)

    def _alike(self, control: Piece, mode: str) -> bool:
        """Whether statements fail with the same words: a graph that is freed fails in the same place with others."""
        return self._outcome(control.run, mode) == SAME and self._says_the_same()

    def _says_the_same(self) -> bool:
        """Whether the last run failed with the same words, and the same sizes where they are of sizes."""
        return self.said == self.failed[2] and (not _SIZES.search(self.said) or self.words == self.failed_words)

    def _to_rebuild(self, names: Sequence[str]) -> bool:
        """Whether the outermost layer is to be built anew, as functions of these names ran when it was."""
        on_stack = {frame.f_code.co_name for frame, _ in self.frames}
        return any(name == "__init__" or (name not in on_stack and name != "forward") for name in names)

    def _called_again(self, root: Any, anew: bool) -> None:
        module, given, words = root
        (self._rebuilt(module) if anew else module)(*given, **words)

    def _rebuilt(self, module: Any) -> Any:
        held = self.built.get(id(module))
        if held is None or held[0]() is not module:
            raise ValueError("its making was not seen")
        return type(module)(*held[1], **held[2]).train(module.training)

    def _outcome(self, work: Callable[[], None], mode: str = "no_grad", ended: str = PASSES) -> str:
        import torch

        try:
            with getattr(torch, mode)():
                work()
        except Past:
            return PASSES
        except Late:
            raise
        except Exception as error:
            said = _told(error, self.folder)
            self.said, self.words = said[2], str(error)
            if said[0] == self.failed[0] and _later(said[3], self.failed[3]):
                return MOVED
            (file, line), (own, failed) = said[1], self.failed[1]
            if said[:2] == self.failed[:2] or (said[2] == self.failed[2] and not (file == own and line > failed)):
                return SAME
            further = line > failed if file == own else not _earlier(_rows(error, self.folder), self.rows)
            return MOVED if said[0] == self.failed[0] and further else OTHER
        return ended

    # --- edited functions

    def _homes(self, edits: Sequence[Change]) -> list[Any]:
        """For each edit what tells the function that it changes from others; the edit itself where there is none."""
        trees = (self._tree(os.path.join(self.folder, edit["file"]))[1] for edit in edits)
        found = [function_of(tree, edit["start"], edit["end"]) for tree, edit in zip(trees, edits)]  # noqa: B905
        return [id(row[-1]) if row is not None else id(edit) for row, edit in zip(found, edits)]  # noqa: B905

    def _changed(self, edits: Sequence[Change]) -> tuple[Any, types.CodeType, str, Any] | None:
        """The live function that edits change, its new code, its name, its new defaults; None: they change none."""
        edits = sorted(edits, key=lambda one: one["start"])
        path = os.path.join(self.folder, edits[0]["file"])
        lines, tree = self._tree(path)
        node = function_of(tree, edits[0]["start"], edits[0]["end"])
        live = live_function(self._modules_of(path), path, node) if node is not None else None
        if node is None or live is None:
            return None
        text = with_changes(lines, edits)
        last = (node[-1].end_lineno or 0) + len(text) - len(lines)
        code = compiled(path, text[node[-1].lineno - 1 : last], node, live.__code__.co_freevars)
        if code.co_freevars != live.__code__.co_freevars:
            return None
        header = edits[0]["start"] < node[-1].body[0].lineno
        return live, code, node[-1].name, defaults(text[node[-1].lineno - 1 : last], live) if header else None

    def _modules_of(self, path: str) -> list[Any]:
        """The modules that a file was loaded as."""
        if path not in self.modules:
            every = list(sys.modules.values())
            self.modules[path] = [one for one in every if getattr(one, "__file__", None) == path]
        return self.modules[path]

    def _tree(self, path: str) -> tuple[list[str], ast.Module]:
        if path not in self.trees:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.trees[path] = text.split("\n"), ast.parse(text)
        return self.trees[path]


@contextmanager
def _entering(entered: set[Any]) -> Iterator[None]:
    """Note the code that is entered: an edited function that is never called again says nothing of its edit."""
    before = sys.gettrace()
    sys.settrace(lambda frame, *_: entered.add(frame.f_code))
    try:
        yield
    finally:
        sys.settrace(before)


def _only_imports(edit: Change) -> bool:
    """Whether an edit puts imports between lines, and no more."""
    lines = (edit["after"] or "").split("\n")
    return edit["start"] > edit["end"] and all(re.match(r"(import|from)\s", line) for line in lines)


def _imported(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(text, names)
    del names["__builtins__"]
    return names


def _arguments(frame: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a constructor was given, as its frame holds it when the base class's is called."""
    code, known = frame.f_code, frame.f_locals
    count = code.co_argcount
    names = code.co_varnames[1:count]
    words = {name: known[name] for name in code.co_varnames[count : count + code.co_kwonlyargcount] if name in known}
    stars = code.co_varnames[count + code.co_kwonlyargcount :]
    rest: tuple[Any, ...] = ()
    if code.co_flags & 4:
        rest, stars = tuple(known.get(stars[0], ())), stars[1:]
    if code.co_flags & 8 and stars:
        words.update(known.get(stars[0], {}))
    return (*(known[name] for name in names if name in known), *rest), words


def _called(step: tuple[Any, int]) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The layer that a frame calls, with its arguments."""
    frame, _ = step
    if frame.f_code.co_name != "_call_impl" or "self" not in frame.f_locals:
        return None
    return frame.f_locals["self"], tuple(frame.f_locals.get("args", ())), dict(frame.f_locals.get("kwargs", {}))


def _told(error: BaseException, folder: str) -> tuple[str, tuple[str, int], str, tuple[Any, int]]:
    """An error's type, the innermost place in the program, its message without numbers, the code and instruction."""
    own = [(frame, lasti) for frame, lasti in frames_of(error) if frame.f_code.co_filename.startswith(folder)]
    rows = _rows(error, folder)
    file = own[-1][0].f_code.co_filename if own else ""
    at = own[-1][0].f_code if own else None, own[-1][1] if own else 0
    return type(error).__name__, (file, rows[-1][2] if rows else 0), re.sub(r"\d+", "#", str(error)), at


def _rows(error: BaseException, folder: str) -> list[tuple[str, str, int]]:
    """The program's frames on an error's stack: file, function, line."""
    found, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(folder):
            found.append((code.co_filename, code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _earlier(rows: Sequence[tuple[str, str, int]], failed: Sequence[tuple[str, str, int]]) -> bool:
    """Whether the outermost function that two stacks have in common had not come as far."""
    lines = {(file, name): line for file, name, line in failed}
    apart = (line - lines[file, name] for file, name, line in rows if lines.get((file, name), line) != line)
    return next(apart, 0) < 0


def _later(at: tuple[Any, int], failed: tuple[Any, int]) -> bool:
    """Whether a function that is as it was failed at a later instruction: `loss(a, x) + loss(b, y)`."""
    return at[0] is not None and at[0] is failed[0] and at[1] > failed[1]


@contextmanager
def _what_is_there_not_collected() -> Iterator[None]:
    """A program's objects are not gone through: in a large one that takes longer than an edit has."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
