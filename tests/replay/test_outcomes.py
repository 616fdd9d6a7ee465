"""What an edited run tells beside the unedited one: whether another mistake is left behind the first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.replay.outcomes import further, late, plain, reshaped

EDIT = Candidate((Edit("net.py", 7, 7, "a", "b"),), "replace", "", Span("net.py", 7))


def run(
    *frames: tuple[str, int, str], message: str = "sizes 3 and 4", kind: str = "RuntimeError", **answer: Any
) -> Any:
    error = {"type": kind, "message": message, "frames": [list(frame) for frame in frames], "column": [0, 1]}
    return SimpleNamespace(error=error, steps=0, answer=answer)


MAIN, VIEW = ("main.py", 30, "<module>"), ("net.py", 12, "forward")


@pytest.mark.parametrize(
    ("edited", "gone_on"),
    [
        (run(MAIN, ("net.py", 13, "forward"), message="another one"), True),
        (run(("main.py", 31, "<module>"), message="another one"), True),
        (run(MAIN, ("net.py", 11, "forward"), message="another one"), False),
        (run(MAIN, ("other.py", 40, "forward"), message="another one"), False),
        (run(MAIN, VIEW, message="another one"), False),
        (run(MAIN, VIEW, message="another one", forwards=2), True),
        (run(MAIN, ("net.py", 13, "forward"), kind="TypeError"), False),
        (SimpleNamespace(error=None, steps=0, answer={}), False),
    ],
)
def test_a_failure_further_down_may_be_a_second_mistake(edited: Any, gone_on: bool) -> None:
    assert further(EDIT, edited, run(MAIN, VIEW)) is gone_on


def test_parameters_that_came_or_went_are_counted_as_changed() -> None:
    assert reshaped(run(parameters=[[2, 3], [3]]), run(parameters=[[2, 4], [3], [1]])) == 2


def test_addresses_do_not_tell_two_runs_apart() -> None:
    assert plain("<Net at 0x7f12ab34cd>\n failed") == plain("<Net at 0x7f99ab34ee> failed")


def test_the_first_of_the_values_out_of_range_may_be_another() -> None:
    """Data that is drawn anew in each run holds other values; the size that they are too large for is the same."""
    one, other = (f"index {index} is out of bounds for dimension 0 with size 90" for index in (91, 97))
    assert plain(one) == plain(other)
    assert plain(one) != plain(one.replace("90", "80"))


@pytest.mark.parametrize(
    ("gpu", "cpu"),
    [
        (
            "changed: [torch.cuda.FloatTensor [64, 4]], which is output 0 of CudnnRnnBackward0, is at version 1;"
            " expected version 0 instead.",
            "changed: [torch.FloatTensor [64, 4]], which is output 2 of TransposeBackward0, is at version 2;"
            " expected version 1 instead.",
        ),
        (
            "\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'",
            "\"nll_loss_out_frame\" not implemented for 'Int'",
        ),
    ],
)
def test_the_kernels_of_two_devices_say_the_same_of_a_mistake(gpu: str, cpu: str) -> None:
    """Their names, those of types and nodes, and how often a value changed are no part of the mistake; shapes are."""
    assert plain(gpu) == plain(cpu)
    assert plain(gpu.replace("64", "32").replace("Int", "Bool")) != plain(cpu)


def test_a_run_that_was_still_going_on_tells_nothing_against_its_edit() -> None:
    assert late(SimpleNamespace(failed="no answer within 7.02 s"))
    assert not late(SimpleNamespace(failed="the child died"))
    assert not late(SimpleNamespace(failed=None))


def test_weights_alone_tell_how_many_layers_changed() -> None:
    assert reshaped(run(parameters=[[2, 3], [3]]), run(parameters=[[4, 3], [5]]), 2) == 1
