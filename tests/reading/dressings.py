"""Ways in which a traceback is changed on its way into a paste or a log; for the tests of reading."""

from __future__ import annotations

import html
import json
import quopri
import re
import textwrap
from collections.abc import Callable
from itertools import count


def each(prefix: Callable[[int], str]) -> Callable[[str], str]:
    """A dressing that puts `prefix(number)` before each line."""

    def dressed(text: str) -> str:
        return "\n".join(prefix(number) + line for number, line in enumerate(text.split("\n")))

    return dressed


def fixed(prefix: str) -> Callable[[str], str]:
    """A dressing that puts the same before each line."""
    return each(lambda number: prefix)


def around(before: str, after: str) -> Callable[[str], str]:
    """A dressing that adds lines before and after."""
    return lambda text: before + text.rstrip("\n") + "\n" + after


def clock(number: int) -> str:
    """A time that advances by a few milliseconds a line."""
    return f"12:{40 + number // 20000:02d}:{number // 300 % 60:02d}.{number * 3 % 1000:03d}"


def cut(width: int) -> Callable[[str], str]:
    """A terminal that breaks lines at its width."""

    def dressed(text: str) -> str:
        pieces = (line[at : at + width] for line in text.split("\n") for at in range(0, max(len(line), 1), width))
        return "\n".join(pieces)

    return dressed


def padded(width: int) -> Callable[[str], str]:
    """A terminal whose lines are copied with the blanks up to its edge."""
    return lambda text: "\n".join(line.ljust(width) for line in cut(width)(text).split("\n"))


def coloured(text: str) -> str:
    """Colours as Python 3.13 prints them."""
    text = text.replace('File "', 'File \x1b[35m"').replace('", line ', '"\x1b[0m, line ')
    return text.replace("Error: ", "Error\x1b[0m: \x1b[35m") + "\x1b[0m"


def each_cell(text: str) -> str:
    """A query's result as a table, a line of the log in each row."""
    rows = (f'2024-03-05 10:21:31.000,"{line.replace(chr(34), chr(34) * 2)}"' for line in text.split("\n"))
    return "\n".join(["@timestamp,@message", *rows])


def between_others(text: str) -> str:
    """Lines of libraries that write to the same terminal, unasked, between a traceback's frames."""
    said = "2024-03-05 10:21:31.123456: I tensorflow/core/platform/cpu_feature_guard.cc:182] This binary is optimized"
    return re.sub(r'(?m)^(  File "[^"]+", line \d+, in \w+)$', lambda found: f"{found[0]}\n{said}", text)


def with_bars(text: str) -> str:
    """A progress bar that is redrawn between the lines."""
    ticks = count(1)
    lines = text.split("\n")
    return "\r".join(f" {next(ticks)}%|#         | {n}/100 [00:0{n}<01:32,  2.9{n}it/s]" for n in range(3)) + "\n".join(
        line + (f"\r  {next(ticks)}%|#    | 3/100 [00:01<00:33, 2.90it/s]" if at == 4 else "")
        for at, line in enumerate(lines)
    )


DRESSINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "cr": lambda text: text.replace("\n", "\r"),
    "quoted mail": fixed("> "),
    "quoted twice": fixed("> > "),
    "comment": fixed("# "),
    "c comment": fixed("// "),
    "diff": fixed("+"),
    "four blanks": fixed("    "),
    "tab": fixed("\t"),
    "list item": fixed("   "),
    "line numbers": each(lambda number: f"{number + 1:6d}\t"),
    "numbers with colon": each(lambda number: f"{number + 120}: "),
    "numbers with bar": each(lambda number: f"{number + 1:4d} | "),
    "grep": each(lambda number: f"logs/train.log:{number + 7}:"),
    "rank": fixed("[rank3]: "),
    "rank 0 of torchrun": fixed("[default2]:"),
    "elastic": fixed("[trainer0]:"),
    "srun": fixed("3: "),
    "srun wide": fixed(" 12: "),
    "mpi": fixed("[1,7]<stderr>: "),
    "pdsh": fixed("node-17: "),
    "ray": fixed("(train_fn pid=8121, ip=10.0.0.12) "),
    "ray actor": fixed("(RayTrainWorker pid=81) "),
    "compose": fixed("trainer_1  | "),
    "pod": fixed("[pod/train-0/main] "),
    "stern": fixed("train-0 main "),
    "cri": each(lambda number: f"2025-01-02T{clock(number)}456789Z stderr F "),
    "docker timestamps": each(lambda number: f"2025-01-02T{clock(number)}456789Z "),
    "journald": fixed("Jan  2 12:40:01 gpu07 train[812]: "),
    "syslog": each(lambda number: f"Jan 2 {clock(number)[:8]} gpu07 train.sh[812]: "),
    "github": each(lambda number: f"2025-01-02T{clock(number)}1234Z "),
    "github job": each(lambda number: f"test (3.12)\tRun pytest\t2025-01-02T{clock(number)}1234Z "),
    "gitlab": fixed("12:40:01 ERR "),
    "azure": each(lambda number: f"2025-01-02T{clock(number)}1234567Z ##[error]"),
    "logging": each(lambda number: f"2025-01-02 12:40:01,{number % 900 + 100} - train - ERROR - "),
    "logging brackets": each(lambda number: f"[2025-01-02 12:40:01,{number % 900 + 100}][train][ERROR] - "),
    "glog": each(lambda number: f"E0102 {clock(number)}000 139812 train.py:88] "),
    "hydra": each(lambda number: f"[2025-01-02 12:40:01,{number % 900 + 100}][__main__][ERROR] - "),
    "airflow": each(lambda number: f"[2025-01-02, 12:40:01 UTC] {{logging_mixin.py:{188}}} INFO - "),
    "cloudwatch": each(lambda number: f"2025-01-02T{clock(number)}Z\t"),
    "sagemaker": fixed("algo-1-x9k2p  | "),
    "gcp": fixed("worker-0 ERROR 2025-01-02 12:40:01.123 "),
    "slurm task": fixed("task 3: "),
    "lightning": fixed("rank: 3 | "),
    "epoch seconds": each(lambda number: f"[{1735821601.1 + number / 1000:.3f}] "),
    "dmesg": each(lambda number: f"[{12.1 + number / 1000:12.6f}] "),
    "supervisor": fixed("stderr | "),
    "fence": around("It fails:\n\n```python-traceback\n", "```\nAny ideas?\n"),
    "details": around("<details><summary>log</summary>\n\n```\n", "```\n\n</details>\n"),
    "shell": around("(base) me@gpu:~/brew$ python run.py\n", "(base) me@gpu:~/brew$ \n"),
    "zsh": around("❯ python run.py\n", "❯ \n"),
    "powershell prompt": around("PS C:\\brew> python run.py\n", "PS C:\\brew>\n"),
    "cmd": around("C:\\brew>python run.py\n", "\nC:\\brew>\n"),
    "python string": around('error = """\n', '"""\nprint(error)\n'),
    "yaml": lambda text: "job: 7\nerror: |\n" + textwrap.indent(text, "  ") + "\nretries: 0\n",
    "json": lambda text: json.dumps({"id": 7, "body": text}),
    "json pretty": lambda text: json.dumps({"id": 7, "body": text}, indent=2),
    "json line amid others": lambda text: (
        '{"level": "info", "msg": "start"}\n'
        + json.dumps({"level": "error", "msg": "failed", "exc_info": text})
        + '\n{"level": "info", "msg": "end"}'
    ),
    "json lines": lambda text: "\n".join(
        json.dumps({"log": line + "\n", "stream": "stderr"}) for line in text.split("\n")
    ),
    "ecs": lambda text: json.dumps({"@timestamp": "2025", "error": {"type": "x", "stack_trace": text}}),
    "repr": repr,
    "bytes repr": lambda text: repr(text.encode("utf-8", "replace")),
    "logfmt": lambda text: f"level=error msg=failed err={json.dumps(text)} step=7",
    "html": lambda text: f"<html><body><pre>{html.escape(text)}</pre></body></html>",
    "html entities": html.escape,
    "html breaks": lambda text: "<p>" + html.escape(text).replace("\n", "<br>\n") + "</p>",
    "no break blanks": lambda text: text.replace("  ", "\xa0 "),
    "coloured": coloured,
    "bars": with_bars,
    "zero bytes": lambda text: text.replace("Error", "Er\0ror") + "\0" * 500,
    "double spaced": lambda text: text.replace("\n", "\n\n"),
    "no indentation": lambda text: "\n".join(line.lstrip() for line in text.split("\n")),
    "cut at 80": cut(80),
    "cut at 100": cut(100),
    "padded to 120": padded(120),
    "log around": around("2025-01-02 12:40:01 INFO start\n" * 30, "2025-01-02 12:41:01 INFO end\n" * 30),
    "warning above": around(
        "/opt/lib/python3.12/site-packages/torch/x.py:12: UserWarning: old API\n  warnings.warn(\n", ""
    ),
    "twice": lambda text: "ERROR:root:failed\n" + text.rstrip("\n") + "\n" + text,
    "kaggle": lambda text: (
        "["
        + "\n,".join(
            json.dumps({"stream_name": "stderr", "time": 1.5 + number, "data": line + "\n"})
            for number, line in enumerate(text.split("\n"))
        )
        + "\n]"
    ),
    "table": lambda text: 'id,log\n7,"' + text.replace('"', '""') + '"\n8,"ok"\n',
    "table rows": each_cell,
    "mail as sent": lambda text: quopri.encodestring(text.encode("utf-8", "replace")).decode(),
    "other tools": between_others,
    "jira": around("Steps:\n{noformat}\n", "{noformat}\n"),
    "latex": around("\\begin{verbatim}\n", "\\end{verbatim}\n"),
    "test report": around('<failure message="x"><![CDATA[', "]]></failure>\n"),
    "job ends": around("", "[1]+  Exit 1                  nohup python train.py\n"),
    "timed": around("", "\nreal\t12m3.123s\nuser\t10m1.000s\n"),
    "bom": lambda text: "\ufeff" + text,
}
