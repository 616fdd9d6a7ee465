"""Throughput of the reader on a large log, beside `grep -c Traceback` on the same file in the same run.

python benchmarks/reading.py [--megabytes 500]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from explainer.reading import read_stream

SAMPLES = Path(__file__).parent.parent / "fixtures" / "tracebacks" / "samples"
_LINE = "2025-01-02 12:40:01,123 INFO train: epoch 3 step {:7d} loss 0.12345 lr 1.0e-04 812.3 samples/s\n"


def write(path: Path, megabytes: int) -> None:
    """A training log of the given size in which three tracebacks stand."""
    quiet = "".join(map(_LINE.format, range(100_000))).encode()
    errors = [(SAMPLES / f"{name}.txt").read_bytes() for name in ("torch-linear", "torch-worker", "python3.12-three")]
    with path.open("wb") as file:
        rounds = max(4, megabytes * 1_000_000 // len(quiet))
        for at in range(rounds):
            file.write(quiet)
            if at % (rounds // 4) == 1 and errors:
                file.write(errors.pop())


def timed(work) -> tuple[float, object]:
    """Seconds that `work` takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        write(path, given.megabytes)
        size = path.stat().st_size / 1e6
        with path.open("rb") as file:
            ours, found = timed(lambda: list(read_stream(file, path.name)))
        greps, counted = timed(
            lambda: subprocess.run(["grep", "-c", "Traceback", path], capture_output=True, text=True)
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"read_stream  {size / ours:7.0f} MB/s  {len(found)} errors")
    print(f"grep -c      {size / greps:7.0f} MB/s  {counted.stdout.strip()} lines with Traceback")
    print(f"ratio        {ours / greps:7.1f}       peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
