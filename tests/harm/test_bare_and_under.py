"""Programs run bare and under us leave the same behind: output, status, files, processes, memory, connections.

Each of them puts something into what is run again that would be seen if it happened twice, or at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
import side_by_side

from explainer.replay.confine import sandbox

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or bool(sandbox.unavailable()), reason="nothing is run again without a sandbox"
)
#: How each program is run beside bare: the two kinds of replay differ in what they run again, and where.
RUNS = (
    ("holder", "install"), ("finalizers", "install"), ("finalizers", "run"), ("outside", "install"), ("outside", "run"),
    ("shared", "install"), ("shared", "run"), ("handler", "install"), ("handler", "run"), ("ignored", "install"),
    ("ignored", "run"), ("threads", "install"),
)  # fmt: skip
#: What one can see of a program.
SEEN = ("status", "stdout", "stderr", "files", "temporary", "shared", "helper", "signals", "requests")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], side_by_side.Seen]:
    """What one run of a program did; each is run once."""
    found: dict[tuple[str, str], side_by_side.Seen] = {}

    def run(name: str, mode: str) -> side_by_side.Seen:
        if (name, mode) not in found:
            found[name, mode] = side_by_side.seen(name, mode, tmp_path_factory.mktemp(f"{name}-{mode}"))
        return found[name, mode]

    return run


@pytest.mark.parametrize("what", SEEN)
@pytest.mark.parametrize(("name", "mode"), RUNS)
def test_what_a_program_leaves_behind_is_the_same_under_us(seen, name, mode, what):
    bare, under = seen(name, "bare"), seen(name, mode)
    if what == "stderr":
        assert under.stderr.startswith(bare.stderr)
    else:
        assert getattr(under, what) == getattr(bare, what)


@pytest.mark.parametrize("mode", ["install", "run"])
def test_the_programs_are_diagnosed_and_not_only_left_alone(seen, mode):
    for name in [one for one, how in RUNS if how == mode and one != "handler"]:
        assert "linear-input-size" in seen(name, mode).stderr, name


def test_the_programs_do_what_they_are_there_for(seen):
    """Bare, each thing happens once: were it never done, nothing would be compared."""
    finalizers, outside, shared = (seen(name, "bare") for name in ("finalizers", "outside", "shared"))
    assert finalizers.requests == [b"hello;bye;"]
    assert finalizers.files.keys() >= {"data/ended", "data/finalized", "data/buffered", "data/base.db"}
    assert "at exit: work ['epoch']" in finalizers.stdout
    assert len(outside.signals) == 2  # one a step
    assert outside.files["data/key"][0] == "0o100600"
    assert not outside.files["data/kept"][2]
    assert "[2, 0, 0, 0]" in shared.stdout
    assert [seen(name, "bare").status for name in ("holder", "handler", "ignored", "threads")] == [1] * 4
