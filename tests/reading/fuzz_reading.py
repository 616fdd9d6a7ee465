"""Feeds the reader texts that were cut, mixed and broken from the recorded tracebacks; run as a script for many.

    python tests/reading/fuzz_reading.py [--inputs 100000] [--seed 1] [--processes 2]

Exit status 1 where an input made the reader raise, or took it more than two seconds; the input is printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
from dressings import DRESSINGS  # noqa: E402

from explainer.reading import read_bytes  # noqa: E402

SAMPLES = Path(__file__).parents[2] / "fixtures" / "tracebacks" / "samples"
LIMIT = 2.0
_ODD = (
    "\0",
    "\x1b[31m",
    "\x1b]0;",
    "\r",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\\n",
    "\\u00",
    '"',
    "'",
    "│",
    "❱",
    "[0m",
    "{",
    "}]",
    "%|",
    "E   ",
)


def lines_of(samples: list[str]) -> list[list[str]]:
    """The recorded texts as lines, the long ones cut."""
    return [text.split("\n")[:400] for text in samples]


def slice_of(rng: random.Random, samples: list[list[str]]) -> list[str]:
    """Some lines of one recording."""
    lines = rng.choice(samples)
    start = rng.randrange(len(lines))
    return lines[start : start + rng.choice((2, 5, 10, 20))]


def dropped(rng: random.Random, lines: list[str]) -> list[str]:
    return [line for line in lines if rng.random() < 0.8]


def doubled(rng: random.Random, lines: list[str]) -> list[str]:
    return [line for line in lines for _ in range(rng.choice((1, 1, 1, 2)))]


def shuffled(rng: random.Random, lines: list[str]) -> list[str]:
    return rng.sample(lines, len(lines))


def indented(rng: random.Random, lines: list[str]) -> list[str]:
    return [" " * rng.choice((0, 0, 1, 2, 4)) + line.lstrip() for line in lines]


def odd(rng: random.Random, lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    for _ in range(rng.choice((1, 3, 8))):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(_ODD) + text[at + rng.choice((0, 0, 1, 5)) :]
    return text.split("\n")


CHANGES: tuple[Callable[[random.Random, list[str]], list[str]], ...] = (dropped, doubled, shuffled, indented, odd)


def made(rng: random.Random, samples: list[list[str]]) -> bytes:
    """One input."""
    lines = [line for _ in range(rng.choice((1, 1, 2, 3))) for line in slice_of(rng, samples)]
    for _ in range(rng.choice((0, 1, 2))):
        lines = rng.choice(CHANGES)(rng, lines) or [""]
    text = "\n".join(lines)
    if rng.random() < 0.2:
        text = rng.choice(list(DRESSINGS.values()))(text)
    return text.encode(rng.choice(("utf-8", "utf-8", "utf-8", "utf-16-le", "latin-1")), "replace")


def run(seed: int, inputs: int, samples: list[str]) -> list[str]:
    """What went wrong: one text for each input that failed."""
    rng, sliced, wrong = random.Random(seed), lines_of(samples), []
    for _ in range(inputs):
        data = made(rng, sliced)
        start = time.perf_counter()
        try:
            read_bytes(data)
        except Exception:
            wrong.append(f"{data!r}\n{traceback.format_exc()}")
        if time.perf_counter() - start > LIMIT:
            wrong.append(f"{data!r}\ntook {time.perf_counter() - start:.1f} s")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    samples = [path.read_text(encoding="utf-8") for path in sorted(SAMPLES.glob("*.txt"))]
    share = given.inputs // given.processes
    start = time.perf_counter()
    with ProcessPoolExecutor(given.processes) as pool:
        parts = [pool.submit(run, given.seed + part, share, samples) for part in range(given.processes)]
        wrong = [text for part in parts for text in part.result()]
    print(f"{share * given.processes} inputs in {time.perf_counter() - start:.0f} s, {len(wrong)} failed")
    for text in wrong[:5]:
        print(text)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
