"""Programs around other people's models with one thing broken, as cases: those that crash as PyTorch does."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from mutations import interfaces, patterns
from mutations.all import ANYWHERE, Operator, drawn
from mutations.mutant import Change, Mutant
from mutations.programs import Program, Source
from scoring.case import FACTS, SCRIPT
from scoring.judge import shapes

from explainer.authoring.examples import Runner
from foreign.packages import DEVICE, TAIL, Model, site_of

#: What breaks a program; each knows the line that it broke.
OPERATORS: tuple[Operator, ...] = (
    interfaces.sizes,
    interfaces.reshapes,
    interfaces.swapped_arguments,
    interfaces.other_names,
    interfaces.defaults,
    interfaces.settings,
    interfaces.slices,
    interfaces.left_out,
    patterns.einops,
    patterns.einsum,
    *ANYWHERE,
)
#: A program that runs longer hangs, in seconds.
SECONDS = 30.0
#: What Python says of a call that no tensor has to do with.
_PYTHON = (
    "positional argument",
    "keyword argument",
    "list index",
    "tuple index",
    "multiple values for",
    "is not defined",
)
_OWN = ("raise ", "assert ")


def broken_programs(
    chosen: list[Model], venv: Path, seed: int, runner: Runner
) -> Iterator[tuple[Model, str, dict[str, str]]]:
    """Cases without end of the list: the model, the case's name, its files. Models that do not run are left out."""
    programs = {model.name: model.program(site_of(venv)) for model in chosen}
    healthy = {name: _healthy(program, runner) for name, program in programs.items()}
    running = [program for name, program in programs.items() if healthy[name] is not None]
    of_name = {model.name: model for model in chosen}
    for mutant in drawn(running, seed, operators=tuple(without_tail(one) for one in OPERATORS)):
        ended = _run(mutant.files, runner)
        error = ended.get("error")
        if error is not None and of_torch(error):
            model = of_name[mutant.program]
            facts = facts_of(model, mutant, error, str(healthy[model.name]), ended["built"])
            text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)
            yield model, f"{model.name}-{mutant.kind}-{mutant.name}", {**mutant.files, FACTS: text}


def without_tail(operator: Operator) -> Operator:
    """The operator without changes of what stands around a model in each program."""

    @functools.wraps(operator)
    def without(program: Program, source: Source) -> Iterator[Change]:
        first, last = _ours(source)
        try:
            yield from (change for change in operator(program, source) if first <= change.start and change.end <= last)
        except (AttributeError, IndexError, ValueError):  # foreign code has forms that ours has not
            return

    return without


def _ours(source: Source) -> tuple[int, int]:
    """Between which characters a file may be broken: of the program of ours that which builds and calls the model."""
    if source.name != SCRIPT or TAIL not in source.text:
        return 0, len(source.text)
    return source.text.index(DEVICE) + len(DEVICE), source.text.index(TAIL)


def _healthy(program: Program, runner: Runner) -> str | None:
    """What the unbroken program prints; None where it does not run."""
    ended = _run(program.files, runner)
    return str(ended["printed"]) if ended["outcome"] == "ended" else None


def _run(files: Mapping[str, str], runner: Runner) -> dict[str, Any]:
    others = {name: text for name, text in files.items() if name != SCRIPT}
    return runner.run(files[SCRIPT], others, "", SECONDS, script=SCRIPT, bare="model")


def of_torch(error: Mapping[str, Any]) -> bool:
    """Whether a library raised it for a tensor's sake: not the model's own check, nor Python alone."""
    if error["own"] and str(error["code"]).startswith(_OWN):
        return False
    plain = error["type"] in (
        "TypeError",
        "AttributeError",
        "KeyError",
        "NameError",
        "UnboundLocalError",
        "ImportError",
    )
    tensors = any(word in error["message"] for word in ("Tensor", "tensor", "torch"))
    return not any(word in error["message"] for word in _PYTHON) and (tensors or not plain)


def facts_of(
    model: Model, mutant: Mutant, error: Mapping[str, Any], printed: str, built: Mapping[str, str] | None
) -> dict[str, Any]:
    """What is known of a broken program: the mutation is its truth. `built` are the shapes of its model, if any."""
    *_, loss, last = printed.strip().splitlines()
    return {
        "id": mutant.name,
        "model": model.name,
        "package": model.package,
        "half": model.half,
        "kind": mutant.kind,
        "family": mutant.family[0],
        "title": mutant.what,
        "exception": error["type"],
        "message": error["message"],
        "crash": {"file": error["file"], "line": error["line"]},
        "culprits": [
            *({"file": file, "line": line, "why": "broken here"} for file, line in sorted(mutant.truth)),
            *({"file": file, "line": line, "why": "as good an answer"} for file, line in sorted(mutant.also)),
        ],
        "expected_stdout_last": last,
        "loss": loss.removeprefix("LOSS "),
        "parameters": shapes(printed),
        "reshaped": built != shapes(printed),
    }
