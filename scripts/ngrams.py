"""Makes `explainer/grammar/ngrams.bin`: the runs of words in the messages of torch that no other package's have.

    pip download --no-deps --only-binary=:all: torch==2.9.1   # and some older ones; unzip each into a folder
    python scripts/ownership.py collect FOLDER... > others.jsonl
    python scripts/ngrams.py --ours FOLDER... --others others.jsonl --libraries libpython3.11.so ...

The messages of Python's `raise` are read from sources, those of C++ from the texts in shared libraries. Messages that
`weights.py` is sure of are left out. `--without` leaves out the third of the files that measures, to see what it does.
"""

from __future__ import annotations

import argparse
import json
import mmap
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from ownership import collect, features, held

from explainer.grammar import ngrams
from explainer.grammar.owner import SURE
from explainer.grammar.weights import BIAS, WEIGHTS

#: Above the bound of what is sure without the runs; values that stand in a message weigh too.
MARGIN = 20
#: A text of C++ that so few words make may be a whole message.
SHORT = 8
#: Errors that the tests know to be others'.
ELSEWHERE = Path(__file__).parent.parent / "fixtures" / "elsewhere.txt"
_TEXT = re.compile(rb"[\x20-\x7e\n\t]{8,600}")
_SENTENCE = re.compile(r"[a-z]{3,} [a-zA-Z]{2,}")
#: Signatures of operators, and assertions, which name themselves.
_NO_MESSAGE = re.compile(r"->|INTERNAL ASSERT|Tensor self|Tensor\(a|::\w+\(")


def texts(library: Path) -> Iterator[str]:
    """What a shared library has of sentences, and of parts of them."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for text in {found[0] for found in _TEXT.finditer(data) if b" " in found[0]}:
            said = text.decode()
            if _SENTENCE.search(said) and not _NO_MESSAGE.search(said):
                yield said


def doubtful(row: dict[str, str]) -> bool:
    """Whether the words of a message alone do not tell whose it is."""
    return BIAS + sum(WEIGHTS.get(word, 0) for word in features(row)) <= SURE + MARGIN


def of_library(library: Path, every: bool) -> Iterator[str]:
    """The runs of a library's texts; of all, or of those in doubt."""
    for text in texts(library):
        if every or doubtful({"exception": "RuntimeError", "template": text}):
            yield from ngrams.runs(text, whole=False)
            if len(text.split()) <= SHORT:
                yield from ngrams.runs(text)


def of_rows(rows: Iterable[dict[str, str]]) -> Iterator[str]:
    """The runs of templates."""
    for row in rows:
        yield from ngrams.runs(row["template"])


def table(found: set[str]) -> bytes:
    """The filter."""
    size = len(found) * ngrams.WIDTH // 8 + 1
    bits = bytearray(size)
    for run in found:
        for at in ngrams.places(run, 8 * size):
            bits[at >> 3] |= 1 << (at & 7)
    return bytes(bits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, nargs="+", required=True, help="folders of unpacked wheels of torch")
    parser.add_argument("--others", type=Path, required=True, help="what `ownership.py collect` wrote of others")
    parser.add_argument("--libraries", type=Path, nargs="*", default=[], help="shared libraries of others")
    parser.add_argument("--without", action="store_true", help="without the files that measure")
    parser.add_argument("--out", type=Path, default=Path(ngrams.__file__).with_name(ngrams.FILE))
    given = parser.parse_args()
    others = [json.loads(line) for line in given.others.read_text().splitlines()]
    theirs = set(of_rows(row for row in others if not given.without or not held(row)))
    theirs.update(run for line in ELSEWHERE.read_text().splitlines() for run in ngrams.runs(line.partition(": ")[2]))
    for library in given.libraries:
        theirs.update(of_library(library, every=True))
    ours: set[str] = set()
    for folder in given.ours:
        rows = [row for row in collect(folder) if "_vendor/" not in row["file"] and "/testing/" not in row["file"]]
        ours.update(of_rows(row for row in rows if doubtful(row) and not (given.without and held(row))))
        for library in () if given.without else sorted(folder.rglob("*")):
            if library.suffix in (".so", ".dylib", ".pyd", ".dll") and "omp" not in library.name:
                ours.update(of_library(library, every=False))
    given.out.write_bytes(table(ours - theirs))
    print(f"{len(ours - theirs)} runs of torch's, {len(ours & theirs)} shared; {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
