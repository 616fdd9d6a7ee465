"""A live exception becomes a `Crash`: chain, notes, groups, worker text, folded recursion, columns, names."""

from __future__ import annotations

import builtins
import sys

import pytest

from explainer.live import INNERMOST, crash_from, function_name, live_frames, message_of, raised_from


def caught(function, *arguments) -> BaseException:
    try:
        function(*arguments)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def known_none(raised) -> bool:
    return False


def test_frames_run_from_the_outermost_to_the_innermost_with_their_lines():
    def inner():
        raise ValueError("deep")

    crash = crash_from(error := caught(lambda: inner()), error.__traceback__, known_none)
    assert (crash.type, crash.message) == ("ValueError", "deep")
    assert [frame.code for frame in crash.frames][-1] == 'raise ValueError("deep")'
    assert crash.user_frame == crash.frames[-1]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects know columns since Python 3.11")
def test_columns_count_characters_not_bytes():
    def bad():
        ä = {}
        return "é", ä["ü"]

    frame = raised_from(caught(bad)).frames[-1]
    assert frame.code[frame.column - 9 : frame.end_column - 9] == 'ä["ü"]'


class Net:
    def forward(self):
        raise ValueError("x")


def test_a_method_is_named_with_its_class():
    error = caught(Net().forward)
    assert raised_from(error).frames[-1].function == "Net.forward"


class OldCode:
    """A code object as Python 3.10 has it, without a qualified name."""

    co_name, co_varnames = "forward", ("self",)


class OldFrame:
    f_code, f_locals = OldCode(), {"self": Net()}


def test_a_method_is_named_through_self_on_python_310(monkeypatch):
    """There code objects have no qualified names."""
    assert function_name(OldFrame()) == "forward"
    method = type("Method", (), {"__code__": OldFrame.f_code})
    monkeypatch.setattr(Net, "forward", method)
    assert function_name(OldFrame()) == "Net.forward"


def test_cause_hides_context_and_from_none_hides_both():
    def both():
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError("two") from error

    def hidden():
        try:
            {}["a"]
        except KeyError:
            raise ValueError("two") from None

    raised = raised_from(caught(both))
    assert (raised.cause.type, raised.context) == ("KeyError", None)
    raised = raised_from(caught(hidden))
    assert (raised.cause, raised.context) == (None, None)


CATCHING = """
def passed_on(call):
    try:
        call("x")
    except KeyError as error:
        raise ValueError("again") from error
"""


def test_what_a_library_caught_below_the_users_line_stands_below_it(tmp_path):
    """torch's DTensor does so: the stack of the cause begins where the library caught it."""
    file = tmp_path / "site-packages" / "some_library.py"
    space: dict = {}
    exec(compile(CATCHING, str(file), "exec"), space)
    error = caught(lambda: space["passed_on"]({}.__getitem__))
    crash = crash_from(error, error.__traceback__, known_none)
    assert crash.type == "KeyError"
    assert crash.user_frame.code == 'error = caught(lambda: space["passed_on"]({}.__getitem__))'
    assert [frame.function for frame in crash.frames][-1] == "passed_on"
    assert [live.frame.f_code.co_name for live in crash.live.frames][-2:] == ["<lambda>", "passed_on"]


TASK = """\
\x1b[36mray::work()\x1b[39m (pid=28746, ip=192.0.2.2)
  File "/home/me/train.py", line 11, in work
    return net(torch.rand(3, 8))
           ^^^^^^^^^^^^^^^^^^^^^
RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x2)"""


def test_the_error_of_a_ray_task_is_the_root_at_its_own_line():
    """Ray 2.60's message: the stack of the task without the words that a traceback begins with."""
    kind = type("RayTaskError(RuntimeError)", (RuntimeError,), {"__module__": "ray.exceptions"})

    def get():
        raise kind(TASK)

    error = caught(get)
    crash = crash_from(error, error.__traceback__, known_none)
    assert (crash.type, crash.runner) == ("RuntimeError", "ray")
    assert crash.message.startswith("mat1 and mat2 shapes cannot be multiplied")
    assert (crash.user_frame.file, crash.user_frame.line) == ("/home/me/train.py", 11)
    assert crash.live is None


def test_a_cycle_in_the_chain_ends():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    crash = crash_from(one, None, known_none)
    assert crash.message == "two"
    assert [link.message for link in crash.chain] == ["one"]


def test_a_long_chain_is_cut_without_recursing_too_deep():
    error = ValueError("0")
    for number in range(1, 5000):
        above = ValueError(str(number))
        above.__context__ = error
        error = above
    assert crash_from(error, None, known_none).message


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups")
def test_the_first_leaf_of_a_group_is_the_root():
    make = builtins.ExceptionGroup
    group = make("several", [make("inner", [KeyError("a")]), ValueError("b")])
    crash = crash_from(caught(_throw, group), None, known_none)
    assert crash.type == "KeyError"
    assert [link.type for link in crash.chain] == ["ExceptionGroup", "ExceptionGroup", "ValueError"]


def _throw(error):
    raise error


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes")
def test_notes_are_kept_and_what_is_no_string_is_not():
    error = ValueError("x")
    error.add_note("while loading batch 3")
    error.__notes__.append(object())
    assert raised_from(error).notes == ("while loading batch 3",)


WORKER = """Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/home/me/data.py", line 12, in __getitem__
    raise ValueError("bad row")
ValueError: bad row
"""


def test_the_error_of_a_dataloader_worker_is_the_root():
    crash = crash_from(caught(_throw, ValueError(WORKER)), None, known_none)
    assert (crash.type, crash.message) == ("ValueError", "bad row")
    assert crash.frames[-1].file == "/home/me/data.py"
    assert crash.runner
    assert crash.live.frames == []


def test_recursion_is_folded():
    def down(n):
        return down(n + 1)

    error = caught(down, 0)
    frames = live_frames(error.__traceback__)
    assert len(frames) < INNERMOST + 10
    assert crash_from(error, error.__traceback__, known_none).type == "RecursionError"


def test_mutual_recursion_is_folded():
    def ping():
        pong()

    def pong():
        ping()

    assert len(live_frames(caught(ping).__traceback__)) < INNERMOST + 12


def test_it_says_how_far_the_users_loops_had_come():
    def train():
        for epoch in range(4):
            for step, batch in enumerate(["a", "b", "c"]):
                if epoch == 2 and step == 1:
                    raise ValueError(batch)

    crash = crash_from(error := caught(train), error.__traceback__, known_none)
    assert crash.remarks == ("epoch = 2, step = 1",)
    assert crash_from(ValueError(), None, known_none).remarks == ()


class Spy:
    def __repr__(self):
        raise SystemExit(3)

    __str__ = __repr__


class Loud(RuntimeError):
    def __str__(self):
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError(Spy()), "Spy"),
        (KeyError(Spy()), "Spy"),
        (Loud("told"), "told"),
        (RuntimeError(), ""),
        (KeyError("a"), "'a'"),
        (RuntimeError("a", 2), "('a', 2)"),
        (OSError(2, "no", "f"), "[Errno 2] no: 'f'"),
        (ValueError(RuntimeError("inside")), "inside"),
        (ValueError(["a", Spy()]), "list"),
    ],
)
def test_a_message_never_asks_the_users_objects(error, message):
    """No `repr` of user objects: one that raises SystemExit would end the program without a traceback."""
    assert message_of(error) == message
