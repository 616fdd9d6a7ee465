"""`explain demo [NAME...]`: breaks small real models on purpose and explains each, live."""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any

from explainer.cli import Complaint, options

FOLDER = Path(__file__).parent.parent / "demo"
#: The models in the order in which they are shown: one a family of errors.
NAMES = (
    "shape",
    "dtype",
    "device",
    "inplace",
    "autograd",
    "index",
    "view",
    "nan",
    "dataloader",
    "checkpoint",
    "memory",
)
MORE = """\
examples: explain demo                  all of them
          explain demo shape inplace    these two
          explain demo --list           what there is"""


def main(arguments: list[str]) -> int:
    """Show the demo; the exit status is 0 where every model's error got a diagnosis, else 1."""
    given = _parser().parse_args(arguments)
    names = _known(given.names)
    if given.list:
        sys.stdout.write("".join(f"{name:12}{about(name)}\n" for name in NAMES))
        return 0
    if importlib.util.find_spec("torch") is None:
        raise Complaint(
            "the demo needs torch: python -m pip install torch --index-url https://download.pytorch.org/whl/cpu", 1
        )
    folders = options.packs(given)
    with _quiet(), _ready(options.may_replay(given)):
        explained = [_shown(name, given, folders) for name in names]
    return 0 if all(explained) else 1


def about(name: str) -> str:
    """The first sentence of a model's file."""
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].strip()


def broken(name: str) -> tuple[Exception, TracebackType] | None:
    """Run a model's program in the working directory; its error with the part of the traceback that is its own."""
    try:
        runpy.run_path(f"{name}.py", run_name="__main__")
    except Exception as error:
        traceback = error.__traceback__
        while traceback is not None and Path(traceback.tb_frame.f_code.co_filename).name != f"{name}.py":
            traceback = traceback.tb_next
        return (error, traceback) if traceback is not None else None
    finally:
        _as_before()
    return None


def _known(names: list[str]) -> list[str]:
    """The models asked for, all of them where none is named; a complaint on a name that is none."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise Complaint(f"no demo is called {unknown[0]!r}; there are: {', '.join(NAMES)}")
    return names or list(NAMES)


@contextmanager
def copied(name: str) -> Iterator[None]:
    """A fresh folder with a copy of one model as the working directory, gone afterwards."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="explain-demo-") as folder:
        shutil.copyfile(FOLDER / f"{name}.py", Path(folder) / f"{name}.py")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of torch's between the diagnoses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _ready(replay: bool) -> Iterator[None]:
    """torch imported, and where fixes are to be tried one clean process for all of the models."""
    import torch  # noqa: F401

    from explainer.replay.program import one_clean_process

    with one_clean_process() if replay else nullcontext():
        yield


def _as_before() -> None:
    """Undo what a model set for the whole process."""
    if "torch" in sys.modules:
        sys.modules["torch"].autograd.set_detect_anomaly(False)


def _shown(name: str, given: Any, folders: tuple[Path, ...]) -> bool:
    """Break one model and print its diagnosis; whether there is one."""
    from explainer import api
    from explainer.probes.scene import Options
    from explainer.render import terminal, theme
    from explainer.render.progress import Progress
    from explainer.replay.program import Program

    sys.stdout.write(f"== {name}: {about(name)}\n\n")
    sys.stdout.flush()
    with copied(name), Progress(sys.stderr) as progress:
        crash = broken(name)
        if crash is None:
            sys.stdout.write("explain: this model ran without an error here\n\n")
            return False
        program = Program(f"{name}.py", folder=os.getcwd())
        settings = Options(api.language(given.lang), options.may_replay(given), program=program, progress=progress)
        explanation = api.explain_error(*crash, options=settings, packs=folders)
    color = "always" if theme.wants_color(sys.stdout, given.color) else "never"
    terminal.print_to(sys.stdout, explanation.reports, color=color, full=given.full)
    sys.stdout.write("\n")
    return bool(explanation)


def _parser() -> options.Parser:
    parser = options.parser("explain demo", "Breaks small real models on purpose and explains each.", MORE)
    parser.add_argument("names", metavar="NAME", nargs="*", help="which models (default: all)")
    parser.add_argument("--list", action="store_true", help="list the models and what is wrong with each")
    options.add_speech(parser)
    return parser
