"""For code that wants the report itself: a block, or a trainer's callback, that explains the error that ends it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from explainer.hooks import process

#: Where frameworks keep the class that their trainers' callbacks derive from.
_BASES = {"lightning.pytorch": "Callback", "pytorch_lightning": "Callback", "transformers": "TrainerCallback"}
#: Methods of Hugging Face's Trainer whose errors its callbacks are never told of.
_RUNS = ("train", "evaluate", "predict")


class Explaining:
    """Explains an error that passes by, and lets it go on: around a block, or in a trainer's list of callbacks.

    `on_report` is called with the `Explanation`, once for each error; `explanation` is the last one. The hook of
    `install()` shows the same one under the traceback where nothing catches the error.
    """

    explanation: Any = None

    def __init__(self, on_report: Callable[[Any], Any] | None = None):
        self.on_report = on_report

    def __enter__(self) -> Explaining:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self.on_exception(None, None, error)

    def on_exception(self, trainer: object, module: object, error: BaseException) -> None:
        """Explain an error, unless it was explained on its way here: the name that Lightning calls it by."""
        found = process.ahead(error)
        if not found:
            return
        self.explanation = found
        if self.on_report is not None:
            try:
                self.on_report(found)
            except Exception as failure:
                process.say_failed("what was to get the report", failure)

    def on_init_end(self, *_: object, **__: object) -> None:
        """Hugging Face's Trainer tells its callbacks when it is made, but of no error: its runs are put in a block."""
        frame = sys._getframe(1)
        while frame.f_back is not None and not hasattr(frame.f_locals.get("self"), "callback_handler"):
            frame = frame.f_back
        trainer = frame.f_locals.get("self")
        for name in _RUNS:
            if callable(getattr(trainer, name, None)):
                setattr(trainer, name, self(getattr(trainer, name)))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, in a block."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return run


def callback(on_report: Callable[[Any], Any] | None = None) -> Any:
    """An `Explaining` that the trainers of Lightning and of Hugging Face take as a callback, as far as imported here.

    `Trainer(callbacks=[explainer.callback(report)])`, or `with explainer.callback(report):` around any loop.
    """
    loaded = [getattr(sys.modules.get(module), name, None) for module, name in _BASES.items()]
    bases = tuple(dict.fromkeys(base for base in loaded if isinstance(base, type)))
    names = [name for base in bases for name in dir(base) if name.startswith("on_") and not hasattr(Explaining, name)]
    shared = {name: _nothing for name in names if names.count(name) > 1}  # with other arguments in the other framework
    return type("ExplainCallback", (Explaining, *bases), shared)(on_report)


def _nothing(self: object, *_: object, **__: object) -> None:
    """A step of the training, of which nothing is to be told."""
