"""Harvests what the installed torch says when it is used wrongly, and lists the messages that no symptom answers.

    python scripts/harvest.py [--spoil] [--every N] [--most 40] [--out messages.jsonl] [--fail-under 75]

It runs the error inputs that torch's own tests keep for its operators, modules and optimizers (they need `expecttest`;
a torch without them is tolerated), and the mistakes in `snippets/`. Each distinct message counts once. With `--spoil`
it also spoils one argument after the other of their right inputs; that takes minutes and finds ten times as much.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from apart import Call, Calls, outcomes
from corrupt import errors, of_module, of_operator
from snippets import areas
from snippets import snippets as statements

from explainer import grammar
from explainer.catalogue import load
from explainer.crash import Raised

#: What Python itself says when a spoiled argument meets torch's Python code.
PYTHON = re.compile(
    "has no attribute|unsupported operand|bad operand|not supported between|object is not|multiply sequence|concatenate"
    "|cannot be interpreted|must be real number|positional argument|has no len|not iterable|index out of range"
    "|to unpack|multiple values for|invalid literal|string formatting|modulo by zero|division by zero"
)


def operators() -> Iterator[Call]:
    """The error inputs of torch's operators."""
    for info in _database("common_methods_invocations", "op_db"):
        for given in _inputs(lambda info=info: info.error_inputs("cpu")):
            sample = given.sample_input
            yield info.name, lambda info=info, sample=sample: info(sample.input, *sample.args, **sample.kwargs)


def modules() -> Iterator[Call]:
    """The error inputs of torch's modules."""
    import torch

    settings = {"device": "cpu", "dtype": torch.float32, "requires_grad": False, "training": True}
    for info in _database("common_modules", "module_db"):
        function = info.module_error_inputs_func
        for given in _inputs(lambda info=info, function=function: function(info, **settings) if function else ()):
            yield info.name, lambda info=info, given=given: _module(info, given.module_error_input)


def _module(info: Any, given: Any) -> Any:
    made = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs)
    return made(*given.forward_input.args, **given.forward_input.kwargs)


def optimizers() -> Iterator[Call]:
    """The error inputs of torch's optimizers."""
    import torch

    for info in _database("common_optimizers", "optim_db"):
        for given in _inputs(lambda info=info: info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
            one = given.optimizer_error_input
            yield info.name, lambda info=info, one=one: info.optim_cls(one.params, **one.kwargs)


def snippets(area: str) -> Iterator[Call]:
    """Our own mistakes of one area."""
    for code, program in statements(area):
        yield code, lambda program=program: exec(program, {"__name__": "__main__"})


def sources() -> Iterator[tuple[str, Calls]]:
    """What is called, by where it comes from; each is run in a process of its own, since some change torch for good."""
    yield from (("operators", operators), ("modules", modules), ("optimizers", optimizers))
    yield from ((f"snippets of {area}", partial(snippets, area)) for area in areas())


def _database(module: str, name: str) -> list[Any]:
    """One of the lists that torch's tests go through; empty, and said so, where this torch has none."""
    try:
        return list(getattr(importlib.import_module(f"torch.testing._internal.{module}"), name))
    except Exception as error:
        print(f"{module} is not to be had: {type(error).__name__}: {error}", file=sys.stderr)
        return []


def _inputs(make: Callable[[], Any]) -> Iterator[Any]:
    """What a generator of torch's tests gives, until it fails: many need a device that is not there."""
    try:
        yield from make()
    except Exception:
        return


def harvested(every: int = 1) -> Iterator[tuple[str, Raised]]:
    """Every distinct error with its source, of each `every`-th call; what does not fail after all is left out."""
    seen = set()
    for source, calls in sources():
        next(calls(), None)  # imports torch and its lists once, not in every child
        for name, error in outcomes(lambda calls=calls: islice(calls(), 0, None, every)):
            if error is not None and (error.type, error.message) not in seen:
                seen.add((error.type, error.message))
                yield f"{source}: {name}", error


def spoiled() -> Iterator[tuple[str, Raised]]:
    """One error of every wording that the right inputs of operators and modules raise with an argument spoiled."""
    seen = set()
    modules = [(info, of_module) for info in _database("common_modules", "module_db")]
    operators = [(info, of_operator) for info in _database("common_methods_invocations", "op_db")]
    for info, samples in modules + operators:
        for error in errors(samples(info)):
            if _template(error) not in seen and not PYTHON.search(error.message):
                seen.add(_template(error))
                yield f"spoiled: {info.name}", error


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share that is answered, and the templates that are not; 1 where the share is below `--fail-under`."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--spoil", action="store_true", help="also spoil the right inputs of operators and modules")
    to.add_argument("--every", type=int, default=1, metavar="N", help="make one call of N, always the same")
    to.add_argument("--most", type=int, default=40, help="how many unanswered templates to list")
    to.add_argument("--out", type=Path, help="write every message and its symptom here, a line of JSON each")
    to.add_argument("--fail-under", type=float, default=0.0, metavar="PERCENT")
    given = to.parse_args(arguments)
    catalogue = load()
    everything = chain(harvested(given.every), spoiled() if given.spoil else ())
    found = [(source, error, catalogue.match(error) or grammar.read(error)) for source, error in everything]
    _write(given.out, found)
    missing = Counter(_template(error) for _, error, match in found if match is None)
    for template, count in missing.most_common(given.most):
        print(f"{count:5d}  {template}")
    specific = sum(match is not None and match.symptom.specific for _, _, match in found)
    answered = len(found) - sum(missing.values())
    share = 100 * answered / max(1, len(found))
    own = 100 * specific / max(1, len(found))
    unread = 100 * sum(not _is_read(error) for _, error, _ in found) / max(1, len(found))
    print(
        f"{len(found)} messages, {share:.1f} % answered, {own:.1f} % by an answer of their own kind, "
        f"{unread:.1f} % need a listed symptom"
    )
    return int(share < given.fail_under)


def _is_read(error: Raised) -> bool:
    """Whether the grammar alone says something specific of a message."""
    match = grammar.read(error)
    return match is not None and match.symptom.specific


def _template(error: Raised) -> str:
    return re.sub(r"\d+", "N", f"{error.type}: {' '.join(error.message.split())}")[:160]


def _write(path: Path | None, found: list[Any]) -> None:
    if path is not None:
        rows = (
            {"source": source, "exception": error.type, "message": error.message, "symptom": match and match.symptom.id}
            for source, error, match in found
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
