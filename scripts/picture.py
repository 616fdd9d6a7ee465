"""Makes `docs/diagnosis.svg` for the README: a real diagnosis of a demo model, as a terminal shows it.

python scripts/picture.py [NAME] [FILE]
python scripts/picture.py watch [RULE] [FILE]     `docs/training.svg`: the first example of a rule on training, watched
"""

from __future__ import annotations

import os
import re
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from explainer import api
from explainer.cli import demo
from explainer.diagnosis import Report
from explainer.probes.scene import Options
from explainer.render import terminal
from explainer.replay.program import Program

TARGET = Path(__file__).parent.parent / "docs" / "diagnosis.svg"
#: Background, foreground, and the 16 ANSI colours: normal, then bright.
CALM = TerminalTheme(
    (20, 23, 27),
    (216, 222, 230),
    [
        (44, 50, 58),
        (255, 138, 128),
        (122, 216, 154),
        (240, 192, 104),
        (130, 177, 255),
        (207, 164, 245),
        (128, 214, 222),
        (216, 222, 230),
    ],
    [
        (146, 156, 168),
        (255, 138, 128),
        (122, 216, 154),
        (240, 192, 104),
        (130, 177, 255),
        (207, 164, 245),
        (128, 214, 222),
        (255, 255, 255),
    ],
)


def report_of(name: str) -> Report:
    """The report on one of the demo's models, broken and explained live."""
    with demo.copied(name):
        crash = demo.broken(name)
        if crash is None:
            raise SystemExit(f"the model {name!r} ran without an error")
        options = Options("en", program=Program(f"{name}.py", folder=os.getcwd()))
        return api.explain_error(*crash, options=options).reports[0]


def report_of_training(rule: str) -> Report:
    """The report on the first example of a rule on training, run as `train.py` and watched as `explain watch` does."""
    import tempfile
    import time

    from explainer.catalogue import load
    from explainer.training.session import concluded
    from explainer.training.watcher import Watcher

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        code = re.sub(r"\s*# explain: \S+", "", load().rules[rule].examples[0]["code"])
        Path("train.py").write_text(code, encoding="utf-8")
        watcher, began = Watcher().start(), time.monotonic()
        exec(
            compile(code, os.path.abspath("train.py"), "exec"),
            {"__name__": "__main__", "__file__": os.path.abspath("train.py")},
        )
        program = Program("train.py", folder=folder)
        return concluded(watcher, program, 60.0, time.monotonic() - began, "en", lambda _: None)


def picture(report: Report, title: str, width: int = 80, command: str = "run") -> str:
    """The report as an SVG text that fetches nothing: rich's web fonts are left out."""
    console = Console(record=True, width=width, file=StringIO(), color_system="standard", force_terminal=True)
    console.print(terminal.render([report], width=width), end="")
    svg = console.export_svg(title=f"explain {command} {title}", theme=CALM, unique_id="diagnosis")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main(name: str = "shape", target: str = str(TARGET)) -> None:
    """Write the picture of one demo model's diagnosis."""
    Path(target).write_text(picture(report_of(name), f"{name}.py"), encoding="utf-8")
    print(f"wrote {target}")


def main_training(rule: str = "hidden-state-carried", target: str = str(TARGET.with_name("training.svg"))) -> None:
    """Write the picture of a training that was watched."""
    Path(target).write_text(picture(report_of_training(rule), "train.py", command="watch"), encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["watch"]:
        main_training(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
