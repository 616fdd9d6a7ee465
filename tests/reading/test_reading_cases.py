"""Cases of reading that no recording holds: ranks, launchers, cut texts, bare messages, kernel assertions."""

from __future__ import annotations

import io

from explainer.crash import crash_of
from explainer.reading import read_bytes, read_stream, read_text

FRAME = '  File "brew.py", line {line}, in {function}\n    {function}()\n'


def traceback_of(said: str, *functions: str) -> str:
    frames = "".join(FRAME.format(line=at + 3, function=name) for at, name in enumerate(functions or ("main", "pour")))
    return f"Traceback (most recent call last):\n{frames}{said}\n"


def prefixed(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.rstrip("\n").split("\n"))


def woven(*texts: str) -> str:
    """Lines of several texts in turn."""
    split = [text.rstrip("\n").split("\n") for text in texts]
    longest = max(map(len, split))
    return "\n".join(one[at] for at in range(longest) for one in split if at < len(one))


def test_ranks_are_told_apart():
    """Protects interleaved logs of a job: each rank's error is whole and knows its rank."""
    log = woven(
        prefixed("[rank0]: ", traceback_of("ValueError: keg 0 is empty")),
        prefixed("[rank1]: ", traceback_of("ValueError: keg 1 is empty")),
    )
    found = read_text(log)
    assert [(one.place.rank, one.raised.message) for one in found] == [(0, "keg 0 is empty"), (1, "keg 1 is empty")]
    assert all(len(one.raised.frames) == 2 for one in found)


def test_processes_without_prefix_are_told_apart():
    """Protects logs in which two processes print the same stack at once, line by line."""
    found = read_text(woven(traceback_of("ValueError: 3 kegs"), traceback_of("ValueError: 4 kegs")))
    assert sorted(one.raised.message for one in found) == ["3 kegs", "4 kegs"]
    assert all(len(one.raised.frames) == 2 for one in found)


def test_rank_that_failed_first_comes_first():
    """Protects the order: ranks that lost their peer, and the launcher, come after the rank that failed on its own."""
    log = (
        prefixed("[rank0]: ", traceback_of("RuntimeError: [/gloo/pair.cc:553] Connection closed by peer [127.0.0.1]:1"))
        + prefixed("[rank2]: ", traceback_of("ValueError: keg is empty"))
        + traceback_of("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "launch")
        + "=" * 60
        + "\nbrew.py FAILED\n"
        + "-" * 60
        + "\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2025-01-02_10:00:00\n  rank      : 2 (local_rank: 2)\n  exitcode  : 1 (pid: 9)\n"
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n" + "=" * 60 + "\n"
    )
    found = read_text(log)
    assert [one.raised.name for one in found] == ["ValueError", "RuntimeError", "ChildFailedError"]
    assert found[0].place.rank == 2
    assert "rank 2 failed first" in found[0].remarks[0].text("en")
    assert "Root Cause" in found[2].raised.message


def test_report_of_the_launcher_repeats_a_rank():
    """Protects the count: the traceback in the launcher's report is the rank's own error, not another one."""
    inner = traceback_of("ValueError: keg is empty")
    report = "\n".join("  " + line for line in inner.rstrip().split("\n"))
    log = (
        prefixed("[rank1]: ", inner)
        + traceback_of("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "launch")
        + "=" * 60
        + "\nbrew.py FAILED\n"
        + "-" * 60
        + "\nRoot Cause (first observed failure):\n[0]:\n"
        "  rank      : 1 (local_rank: 1)\n  traceback : " + report.lstrip() + "\n  \n" + "=" * 60 + "\n"
    )
    found = read_text(log)
    assert [(one.raised.name, one.count) for one in found] == [("ValueError", 1), ("ChildFailedError", 1)]


def test_same_error_twice_is_one():
    """Protects `count`."""
    text = traceback_of("ValueError: keg is empty")
    found = read_text(f"ERROR:root:failed\n{text}{text}")
    assert [one.count for one in found] == [2]


def test_survived_error_comes_later():
    """Protects the order in one process: the error after which it went on is not the one that ended it."""
    found = read_text(
        traceback_of("KeyError: 'hops'") + "going on without hops\nepoch 2\n" + traceback_of("ValueError: keg is empty")
    )
    assert [one.raised.type for one in found] == ["ValueError", "KeyError"]


def test_text_without_the_last_line():
    """Protects cut pastes: the frames are kept, the type is unknown."""
    found = read_text(traceback_of("x").rsplit("\n", 2)[0])
    assert found[0].raised.type == ""
    assert len(found[0].raised.frames) == 2


def test_chain_cut_at_its_end():
    """Protects cut pastes: of a chain whose last exception is missing the first one counts."""
    text = (
        traceback_of("KeyError: 'hops'") + "\nThe above exception was the direct cause of the following exception:\n\n"
    )
    crash = crash_of(read_text(text + traceback_of("x").rsplit("\n", 2)[0])[0], known=lambda raised: False)
    assert (crash.type, crash.message) == ("KeyError", "'hops'")


def test_message_alone():
    """Protects the shortest paste: an exception's own line, in a sentence, or without a type."""
    assert read_text("RuntimeError: keg is empty")[0].raised.type == "RuntimeError"
    asked = read_text("why do I get ValueError: keg (3) is empty when I pour? it worked yesterday")[0].raised
    assert (asked.type, asked.message) == ("ValueError", "keg (3) is empty")
    assert read_text("CUDA out of memory. Tried to allocate 20.00 MiB")[0].raised.message.startswith(
        "CUDA out of memory"
    )
    plain = read_text("the keg is empty")
    assert (plain[0].raised.type, plain[0].raised.message) == ("", "the keg is empty")


def test_nothing_in_nothing():
    """Protects empty input, and long texts in which nothing looks like an error."""
    assert read_text("") == []
    assert read_bytes(b"\0\0\n\n") == []
    assert read_text("all is well\n" * 100) == []


def test_kernel_assertions_are_kept():
    """Protects device-side asserts: the kernel's line is a note of the error that follows, each assertion once."""
    line = "/aten/Loss.cu:250: nll_loss: block: [0,0,0], thread: [{},0,0] Assertion `t >= 0 && t < n_classes` failed.\n"
    asserts = "".join(line.format(at) for at in range(9))
    found = read_text(asserts + traceback_of("RuntimeError: CUDA error: device-side assert triggered"))
    assert len(found) == 1
    assert [note for note in found[0].raised.notes if "Assertion" in note] == [line.format(0).rstrip()]
    alone = read_text(asserts)
    assert [one.raised.message for one in alone] == [line.format(0).rstrip()]


def test_forward_traceback_of_anomaly_mode_is_kept():
    """Protects the line that anomaly mode names: it is a note of the error, not an error."""
    warned = (
        "graph.py:979: UserWarning: Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
        + FRAME.format(line=9, function="root")
        + "  return run_backward(\n"
    )
    found = read_text(
        warned + traceback_of("RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.")
    )
    assert len(found) == 1
    assert "line 9, in root" in found[0].raised.notes[0]


def test_words_of_the_program_are_no_message():
    """Protects the message: what a program prints after a one-line message does not belong to it."""
    found = read_text(traceback_of("ValueError: keg (3) is empty") + "main thread: done\n")
    assert found[0].raised.message == "keg (3) is empty"


def test_messages_of_several_lines():
    """Protects the message: an empty first line, an indented list, torch's own openings go on."""
    listed = read_text(
        traceback_of("RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s): 'a'. \n\tsize 3")
    )
    assert listed[0].raised.message.count("\n") == 2
    empty = read_text(traceback_of("RuntimeError: \n\n    Setup failed.\n\n    Look above."))
    assert empty[0].raised.message.endswith("Look above.")
    cuda = read_text(
        traceback_of("RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be reported late.")
    )
    assert cuda[0].raised.message.endswith("late.")


def test_death_outside_python():
    """Protects reports of C++ and of faulthandler, whose stack is innermost first."""
    aborted = read_text(
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: unknown\nAborted\n"
    )
    assert (aborted[0].raised.type, aborted[0].raised.message) == ("c10::Error", "CUDA error: unknown")
    fatal = read_text(
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "in.py", line 3 in pour\n  File "main.py", line 9 in <module>\n'
    )
    assert [one.file for one in fatal[0].raised.frames] == ["main.py", "in.py"]


def test_large_log_is_read_in_pieces():
    """Protects large logs: line numbers, counts and order are right although only stretches are read."""
    quiet = b"2025-01-02 10:00:00 INFO step 7 loss 0.1\n" * 150_000
    error = traceback_of("ValueError: keg is empty").encode()
    log = quiet + error + quiet + error + quiet + traceback_of("KeyError: 'hops'").encode()
    seen: list[int] = []
    found = list(read_stream(io.BytesIO(log), "big.log", seen.append))
    assert [(one.raised.type, one.count) for one in found] == [("KeyError", 1), ("ValueError", 2)]
    assert found[0].place.line == 450_000 + 2 * error.count(b"\n") + 1
    assert found[1].place.line == 150_001
    assert seen[-1] == len(log)


def test_large_log_in_a_wide_encoding():
    """Protects large UTF-16 logs."""
    log = "INFO step\n" * 400_000 + traceback_of("ValueError: keg is empty")
    found = list(read_stream(io.BytesIO(log.encode("utf-16")), "big.log"))
    assert [one.raised.message for one in found] == ["keg is empty"]


def test_message_goes_on_in_the_middle_of_a_sentence():
    """Protects messages that an author wrapped by hand: the next line goes on with the words of the sentence."""
    said = (
        "ValueError: Expected parameter probs (Tensor of shape (1, 36)) of distribution\n"
        "Categorical(probs: torch.Size([1, 36]), logits: torch.Size([1, 36]))\n"
        "to satisfy the constraint Simplex(), but found invalid values:\n"
        "tensor([[0.1, 0.2]])"
    )
    for text in (said, traceback_of(said)):
        (found,) = read_text(text)
        assert "to satisfy the constraint Simplex()" in found.raised.message
    (found,) = read_text(traceback_of("ValueError: keg 3 of the forty kegs is as empty as the second (brown) barrel)\n"
                                      "real 0m3.5s"))  # fmt: skip
    assert "real" not in found.raised.message


def test_what_hydra_says_of_itself_is_no_part_of_the_message():
    """Protects logs of hydra, which adds a line of its own below an error."""
    text = traceback_of("RuntimeError: CUDA error: device-side assert triggered\n"
                        "Compile with TORCH_USE_CUDA_DSA to enable device-side assertions.\n\n\n"
                        "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.")  # fmt: skip
    (found,) = read_text(text)
    assert "HYDRA" not in found.raised.message
