"""Several dressings at once on recorded tracebacks: whatever was put on is taken off again; run as a script for many.

    python tests/reading/combinations.py [--count 100000] [--seed 1] [--processes 2] [--show 10]

Exit status 1 where reading the dressed text gives another error than the plain one; counts by pair of dressings.
"""

from __future__ import annotations

import argparse
import html
import itertools
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
from dressings import DRESSINGS, around, coloured, cut, each, fixed, padded, with_bars  # noqa: E402

from explainer.crash import crash_of  # noqa: E402
from explainer.reading import read_text  # noqa: E402

SAMPLES = Path(__file__).parents[2] / "fixtures" / "tracebacks" / "samples"
Dressing = Callable[[str], str]


def boxed(text: str) -> str:
    """A frame drawn around, as panels of terminals and chats have it."""
    lines = text.rstrip("\n").split("\n")
    wide = max(map(len, lines)) + 2
    inside = (f"│ {line.ljust(wide - 2)} │" for line in lines)
    return "\n".join(["╭" + "─" * wide + "╮", *inside, "╰" + "─" * wide + "╯"])


def woven(prefix: str, other: str) -> Dressing:
    """Two writers in one log, this text's lines between those of another process."""

    def dressed(text: str) -> str:
        steps = (f"{other}step {at} loss 0.{at + 31}" for at in itertools.count())
        mine = [prefix + line for line in text.rstrip("\n").split("\n")]
        return "\n".join(one for at, line in enumerate(mine) for one in ([next(steps)] if at % 3 == 0 else []) + [line])

    return dressed


def smart(text: str) -> str:
    """Quotation marks as word processors and chats set them, an opening and a closing one in turn."""
    marks = itertools.cycle("“”")
    return "".join(next(marks) if sign == '"' else sign for sign in text).replace("...", "…")


def hidden(text: str) -> str:
    """Zero-width characters, as web pages leave them for line breaking."""
    return text.replace("/", "/\u200b").replace("Error", "Error\u200b").replace("\n", "\u200b\n")


def wide(text: str) -> str:
    """Punctuation of Chinese input methods."""
    return text.replace('", line ', "”，line ").replace('File "', "File “").replace("Error: ", "Error：")


def translated(text: str) -> str:
    """A page that a browser has put into Chinese."""
    text = re.sub(r'File "([^"\n]+)", line (\d+), in (\S+)', r"文件“\1”，第 \2 行，在 \3 中", text)
    return re.sub(r"Traceback \(most recent call last\):", "回溯（最近一次调用最后）：", text)


def korean(text: str) -> str:
    """A page that a browser has put into Korean."""
    text = re.sub(r'File "([^"\n]+)", line (\d+), in (\S+)', r'파일 "\1", \2행, \3', text)
    return re.sub(r"Traceback \(most recent call last\):", "역추적(가장 최근 호출 마지막):", text)


def cell(text: str) -> str:
    """One cell of an HTML table."""
    return "<table><tr><td>7</td><td>" + html.escape(text).replace("\n", "<br/>") + "</td></tr></table>"


#: What a terminal or a copy does to the text, what a log puts before its lines, where it is pasted.
TEXTS: dict[str, Dressing] = {
    "coloured": coloured, "smart quotes": smart, "zero width": hidden, "wide marks": wide, "bars": with_bars,
    "cut at 100": cut(100), "padded to 120": padded(120),
    "no indentation": DRESSINGS["no indentation"], "no break blanks": DRESSINGS["no break blanks"],
    "translated": translated, "korean": korean,
}  # fmt: skip
PREFIXES: dict[str, Dressing] = {
    name: DRESSINGS[name]
    for name in (
        "rank", "srun", "mpi", "ray", "compose", "pod", "cri", "docker timestamps", "journald", "github", "gitlab",
        "logging", "glog", "airflow", "cloudwatch", "lightning", "dmesg", "grep", "line numbers", "comment", "tab",
    )
}  # fmt: skip
PREFIXES |= {
    "chat": each(lambda number: f"[10:{number // 60 % 60:02d}:{number % 60:02d}] mina: "),
    "ranks woven": woven("[rank0]: ", "[rank1]: "),
    "pods woven": woven("trainer-0  | ", "trainer-1  | "),
}
PLACES: dict[str, Dressing] = {
    name: DRESSINGS[name]
    for name in (
        "quoted mail", "four blanks", "list item", "diff", "fence", "details", "shell", "python string", "yaml",
        "json", "json lines", "logfmt", "html", "html breaks", "repr", "log around", "bom", "crlf",
        "double spaced",
    )
}  # fmt: skip
PLACES |= {
    "box": boxed,
    "table row": lambda text: "\n".join(f"| {line} |" for line in text.rstrip("\n").split("\n")),
    "table cell": cell,
    "quoted reply": around("On Tue, Mina wrote:\n", ""),
    "bullet": fixed("  • "),
}
#: Together they lose what no one can put together again: lines cut without their indentation or inside of a prefix's.
LOSING = (
    {"no indentation", "cut at 100"}, {"no indentation", "padded to 120"}, {"cut at 100", "padded to 120"},
    {"double spaced", "cut at 100"}, {"double spaced", "padded to 120"}, {"smart quotes", "wide marks"},
    {"no indentation", "double spaced"}, {"bars", "box"}, {"bars", "table row"}, {"bars", "double spaced"},
    {"padded to 120", "bars"}, {"translated", "korean"}, {"translated", "wide marks"}, {"korean", "wide marks"},
)  # fmt: skip
#: Recordings of different shapes.
PLAIN = (
    "python3.12-plain", "python3.8-three", "python3.10-several_lines", "python3.13-plain", "torch-worker",
    "torch-linear", "python3.12-notes", "ipython8-context-nocolor-three", "pytest-auto-three",
)  # fmt: skip


def samples() -> dict[str, str]:
    """The recordings that are dressed, by name."""
    return {name: text for name in PLAIN if (text := _read(name)) is not None}


def _read(name: str) -> str | None:
    path = SAMPLES / f"{name}.txt"
    return path.read_text(encoding="utf-8") if path.exists() else None


def chosen(rng: random.Random) -> tuple[str, ...]:
    """Two to four dressings that can come together, in the order in which they are put on."""
    while True:
        texts = rng.sample(sorted(TEXTS), rng.choice((0, 1, 1, 2)))
        prefix = rng.sample(sorted(PREFIXES), rng.choice((0, 1, 1)))
        place = rng.sample(sorted(PLACES), rng.choice((0, 1, 1)))
        if 1 < len(texts + prefix + place) < 5 and not any(pair <= {*texts, *place} for pair in LOSING):
            return (*texts, *prefix, *place)


def dressed(text: str, names: tuple[str, ...]) -> str:
    """A text with dressings put on one after the other."""
    for name in names:
        text = (TEXTS.get(name) or PREFIXES.get(name) or PLACES[name])(text)
    return text


def told(text: str) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    """What is read of a text: the root's type, its message, its frames by file and line."""
    found = read_text(text)
    if not found:
        return "", "", ()
    crash = crash_of(found[0], known=lambda raised: False)
    places = tuple((Path(one.file.replace("\\", "/")).name, one.line) for one in crash.frames)
    return crash.name, " ".join(crash.message.split()), places


def wrong(seed: int, count: int) -> list[tuple[str, tuple[str, ...], str]]:
    """The combinations that change what is read: the sample, the dressings, which part differs."""
    rng, texts, out = random.Random(seed), samples(), []
    plain = {name: told(text) for name, text in texts.items()}
    for _ in range(count):
        name, names = rng.choice(sorted(texts)), chosen(rng)
        read = told(dressed(texts[name], names))
        parts = [part for at, part in enumerate(("type", "message", "frames")) if read[at] != plain[name][at]]
        if parts:
            out.append((name, names, "+".join(parts)))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", type=int, default=10)
    given = parser.parse_args()
    share, start = given.count // given.processes, time.perf_counter()
    with ProcessPoolExecutor(given.processes) as pool:
        parts = [pool.submit(wrong, given.seed + part, share) for part in range(given.processes)]
        failed = [one for part in parts for one in part.result()]
    took = time.perf_counter() - start
    print(f"{share * given.processes} combinations in {took:.0f} s, {len(failed)} read otherwise")
    pairs = Counter(pair for _, names, _ in failed for pair in [*itertools.combinations(names, 2)])
    for pair, often in pairs.most_common(given.show):
        print(f"{often:6d}  {' + '.join(pair)}")
    for name, names, parts_ in failed[: given.show]:
        print(f"{name}: {json.dumps(names)} {parts_}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
