"""The search where times are taken for counts and the length of a step is given to the function and not used."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

NOTES = """
    import torch
    def lengths(events, hop_length):
        found = []
        for begin, end in events:
            found.append(end - begin)
        return torch.tensor(found)
    def spread(codes, counts):
        return torch.zeros(len(counts), int(counts.sum()), 50_000), torch.repeat_interleave(codes, counts, dim=0)
    events = [(at * 160_000, (at + 1) * 160_000) for at in range(40)]
    room, spread_codes = spread(torch.rand(40, 8), lengths(events, hop_length=80_000))
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "samples in place of hops": (NOTES, "found.append(end - begin)", "(end - begin) // hop_length"),
    "milliseconds in place of frames": (
        """
        import torch
        def frames_of(words, fps):
            return [word["to_ms"] - word["from_ms"] for word in words]
        def canvas(words, fps, side=4000):
            return torch.zeros(sum(frames_of(words, fps)), side, side)
        words = [{"from_ms": at * 2_000, "to_ms": (at + 1) * 2_000} for at in range(60)]
        print(canvas(words, 0.05).shape)
        """, 'return [word["to_ms"]', '((word["to_ms"] - word["from_ms"]) * 1e-3 * fps)'),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_times_become_counts_of_the_step_that_is_given(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_step_that_is_used_already_is_not_used_twice(runner: Runner) -> None:
    program = NOTES.replace("found = []", "found = [0 * hop_length]")
    assert_never_offered(runner, program, "hop_length)")


def test_a_parameter_of_another_kind_is_no_step(runner: Runner) -> None:
    assert_never_offered(runner, NOTES.replace("hop_length", "scale"), "// scale")
