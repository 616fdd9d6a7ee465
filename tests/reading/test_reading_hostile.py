"""Hostile input to the reader: it never raises, and its time is bounded."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time

import fuzz_reading
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import explainer.reading
from explainer.patterns import Pattern
from explainer.reading import read_bytes, read_text, scan

#: What careless patterns backtrack on.
ADVERSARIAL = tuple(
    piece * 3000
    for piece in (
        " ",
        "a",
        "a.",
        "A",
        "0",
        ":",
        "-",
        "=",
        "_ ",
        "\\n",
        "\\u00",
        "'",
        '"',
        "[0;",
        "\x1b[",
        "│",
        "(",
        "File ",
        "in ",
        "Traceback ",
        "a: ",
        " 1",
        "E ",
        "1|",
        "%|",
        "<a ",
        "[x](",
        "Error",
        "aError.",
        "thread: [",
        "Assertion `",
    )
)


def patterns() -> list[re.Pattern[str]]:
    """Every compiled pattern of the reader's modules."""
    names = [one.name for one in pkgutil.walk_packages(explainer.reading.__path__, "explainer.reading.")]
    found = []
    for name in names:
        for value in vars(importlib.import_module(name)).values():
            values = value if isinstance(value, tuple | list) else (value,)
            flat = [part for one in values for part in (one if isinstance(one, tuple) else (one,))]
            found += [
                part for part in flat if isinstance(part, (re.Pattern, Pattern)) and isinstance(part.pattern, str)
            ]
    return list(dict.fromkeys(found))


def test_every_pattern_ends_in_time():
    """Protects against catastrophic patterns: each is tried on repetitive lines under a time limit."""
    assert len(patterns()) > 40
    for pattern in patterns():
        timed = regex.compile(pattern.pattern, pattern.flags & ~re.UNICODE | regex.VERSION0)
        for text in ADVERSARIAL:
            for whole in (text[:4000], text[:3990] + "\x00!"):
                timed.search(whole, timeout=1.0)


@pytest.mark.parametrize(
    "line",
    [
        '文件 "a", 第 1' + " " * 3000 + "!",
        '文件 "a", 第 1 行, 在 ' + " " * 3000 + "!",
        "| xError" + " " * 50_000 + "x",
        "| xError|\n|" + "-" * 50_000 + "x",
    ],
)
def test_a_line_that_nearly_is_one_of_ours_is_given_up_at_once(line):
    """Protects against patterns in which blanks or dashes may be parted in many ways."""
    began = time.perf_counter()
    read_text(line)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    "line",
    [
        '文件 "a.py", 第 12 行, 在 main 中',
        "文件“a.py”，第12行，位于 main",
        '파일 "a.py", 12행, main 에서',
        'ファイル "a.py"、12 行、main 内',
    ],
)
def test_a_translated_frame_is_read(line):
    (found,) = read_text(f"Traceback (most recent call last):\n  {line}\n    f()\nValueError: no")
    (frame,) = found.raised.frames
    assert (frame.file, frame.line, frame.function) == ("a.py", 12, "main")


@settings(max_examples=200, deadline=2000)
@given(st.binary(max_size=2000))
def test_any_bytes_give_an_answer(data):
    """Protects the promise that any bytes are read."""
    assert all(one.place.line >= 1 for one in read_bytes(data))


WORDS = st.sampled_from(
    (
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "    f(x)",
        "    ~^^",
        "ValueError: no",
        "KeyError",
        "The above exception was the direct cause of the following exception:",
        "",
        "E   ValueError: no",
        ">   f()",
        "a.py:3: in f",
        "a.py:3: ValueError",
        "-" * 75,
        "----> 3 f()",
        "Cell In[3], line 2",
        "  + Exception Group Traceback (most recent call last):",
        "  | ExceptionGroup: two (2 sub-exceptions)",
        "  +-+---------------- 1 ----------------",
        "    +---------------- 2 ----------------",
        "    | ValueError: no",
        '"""',
        "╭──── Traceback (most recent call last) ────╮",
        "│ a.py:3 in f │",
        "╰───────────────────────────╯",
        "[rank0]: Traceback (most recent call last):",
        "torch.distributed.ChildFailedError: ",
        "=" * 60,
        '{"log": "ValueError: no\\n"}',
        "RuntimeError: Caught ValueError in DataLoader worker process 0.",
        "Original Traceback (most recent call last):",
        "a\\nb",
        "\t",
        "```",
    )
)


@settings(max_examples=300, deadline=2000)
@given(st.lists(WORDS, max_size=40))
def test_any_order_of_lines_gives_an_answer(lines):
    """Protects the formats' edges: lines of all formats are read in any order, and nothing is made up."""
    text = "\n".join(lines)
    for one in read_text(text):
        assert 1 <= one.place.line <= len(lines)
        assert one.raised.type == "" or one.raised.type.split("(")[0] in text


@settings(max_examples=100, deadline=2000)
@given(st.text(max_size=200).filter(lambda text: text.isprintable() and text == text.strip() and "%|" not in text))
def test_a_one_line_message_is_kept_whole(message):
    """Protects the message: whatever one line says comes back as it was."""
    found = read_text(
        f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    f(x)\nValueError: {message}\n'
    )
    assert (
        " ".join(found[0].raised.message.split()) == " ".join(message.split()) or found[0].raised.type == "ValueError"
    )


def test_deep_nesting_needs_no_recursion():
    """Protects the stack: long chains, deep groups and deep JSON are read."""
    joint = "\n\nDuring handling of the above exception, another exception occurred:\n\n"
    one = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    f(x)\nValueError: no'
    assert len(read_text(joint.join([one] * 1000))) == 1
    carrier = one.replace(
        "ValueError: no", "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal "
    )
    assert read_text(carrier * 300 + one)
    assert isinstance(read_text("[" * 100_000), list)
    assert isinstance(read_text('{"a": ' * 5000 + "1" + "}" * 5000), list)


def test_formats_that_begin_in_vain_are_given_up():
    """Protects the time: many lines that look like a format's first, and never become an error, are passed over."""
    for line in (
        ">   f()",
        "a.py:3: in f",
        "----> 3 f()",
        "a.py 12 f",
        "  + Exception Group Traceback (most recent call last):",
    ):
        assert any(starts(line) for _, starts, _ in scan._READERS)
        assert all(not one.raised.type for one in read_text("\n".join([line] * 1000)))


def test_a_long_error_after_many_vain_beginnings_is_whole():
    """Protects real errors from the bound on vain ones: a format that looks ahead less far still reads to the end."""
    vain = ["----> 3 f()", *["epoch"] * 310] * 20
    frames = [line for at in range(1, 301) for line in (f"File a.py:{at}, in f(x)", f"----> {at} f()")]
    lines = [*vain, "ValueError" + " " * 30 + "Traceback (most recent call last)", *frames, "ValueError: no"]
    [found] = read_text("\n".join(lines))
    assert [one.line for one in found.raised.frames] == list(range(1, 301))


def test_fuzzer_finds_nothing():
    """Protects against what a corpus of broken recordings shows; the script runs many more."""
    samples = [path.read_text(encoding="utf-8") for path in sorted(fuzz_reading.SAMPLES.glob("*.txt"))]
    assert samples
    assert fuzz_reading.run(seed=3, inputs=1500, samples=samples) == []


def test_a_mail_of_broken_letters_is_read_as_far_as_it_goes():
    text = "RuntimeError: a \ud800 tensor=3D2,=\nmust be 2-D=20\n"
    assert read_text(text)[0].raised.type == "RuntimeError"
