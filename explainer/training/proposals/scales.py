"""Inputs and targets whose size keeps a model from learning, with the edits that are worth a trial."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.losses import shown
from explainer.training.kinds.optimizers import span_of
from explainer.training.looks.fits import last_fit


def scaled_targets(watcher: Any) -> Iterator[Finding]:
    """Targets of a size that an output near zero takes for ever to reach."""
    for seen, _ in watcher.notes.of("regression"):
        data = seen.data
        mean, std = data["mean"], data["std"]
        if max(abs(mean), std) < _far(watcher) or std <= 0:
            continue
        found = _outputs(watcher)
        scale, shift = _rounded(std), _rounded(mean)
        attempts = []
        for source, node in found:
            text = source.text(node)
            simple = isinstance(node, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
            edits = rewrite.replaced(source, node, f"{text if simple else f'({text})'} * {scale} + {shift}")
            attempts.append(Attempt("output", edits, {"scale": scale, "shift": shift}, culprit=source.span(node)))
        names = {
            "mean": scale_word(mean),
            "std": scale_word(std),
            "loss": data["name"],
            "line": seen.site[0].line if seen.site else 0,
            "comparable": True,
        }
        culprit = attempts[0].culprit if attempts else shown(None, seen.site[0])
        yield Finding("target-not-scaled", names, culprit, tuple(attempts), proved=False)
        return


def scale_word(value: float) -> str:
    """A size in two digits: 290,000."""
    digits = 0 if not value else math.floor(math.log10(abs(value))) - 1
    rounded = round(value, -digits)
    return f"{rounded:,.0f}" if abs(rounded) >= 10 else f"{rounded:.2g}"


def _rounded(value: float) -> str:
    digits = math.floor(math.log10(abs(value))) - 1 if value else 0
    return f"{round(value, -digits):.6g}"


def _outputs(watcher: Any) -> list[tuple[Source, ast.expr]]:
    """What the trained models' `forward` returns, where that is one expression."""
    found = []
    for root in watcher.notes.roots.values():
        module = root["of"]()
        if module is None or not root["train"]:
            continue
        code = getattr(type(module).forward, "__code__", None)
        from explainer.source import source_of
        from explainer.userframes import is_user_file

        if code is None or not is_user_file(code.co_filename):
            continue
        source = source_of(code.co_filename)
        function = source.function_at(code.co_firstlineno) or source.function_at(code.co_firstlineno + 1)
        returns = (
            [one for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
            if function
            else []
        )
        if len(returns) == 1 and returns[0].value is not None and not isinstance(returns[0].value, ast.Tuple):
            found.append((source, returns[0].value))
    return found


def scaled_inputs(watcher: Any) -> Iterator[Finding]:
    """Inputs of very different or very large size."""
    for root in watcher.notes.roots.values():
        module, stats = root["of"](), root.get("scale")
        if module is None or not stats or not root["train"] or _usual(stats, _far(watcher)):
            continue
        attempts = []
        forward = getattr(type(module).forward, "__code__", None)
        if type(module).__name__ == "Sequential":
            attempts = _normalised_first(watcher, module, stats)
        elif forward is not None:
            from explainer.source import source_of
            from explainer.userframes import is_user_file

            source = source_of(forward.co_filename)
            function = source.function_at(forward.co_firstlineno) if is_user_file(forward.co_filename) else None
            if function is not None and len(function.args.args) >= 2:
                name = function.args.args[1].arg
                first = function.body[0]
                edits = rewrite.before(source, first, f"{name} = {_standardised(name, stats)}")
                attempts = [Attempt("scale", edits, {"name": name})]
        names = {
            "largest": scale_word(max(stats["largest"], stats["offset"]))
            if stats["largest"] > 0.02
            else f"{stats['std']:.2g}",
            "least": f"{stats['least']:.2g}",
            "root": root["kind"],
            "shape": list(stats["shape"]),
        }
        site = next((mode.site for mode in root["modes"] if mode.learning), ())
        culprit = _first_layer(watcher, module) or span_of(site)
        yield Finding("inputs-not-scaled", names, culprit, tuple(attempts), proved=False)


def _usual(stats: dict[str, Any], far: float) -> bool:
    """Whether inputs are about as large as outputs of a layer: neither by far larger nor smaller."""
    return max(stats["largest"], stats["offset"]) < far and stats["largest"] > 0.4 / far


def _far(watcher: Any) -> float:
    """The size from which on a trial is worth its time: less far off where predictions are hardly of use."""
    fit = last_fit(watcher, False)
    return _FAR if fit is None or fit > _LITTLE else _FAR / 4


#: How large inputs and targets must be that are worth a trial; the fit below which a fourth of that is enough.
_FAR, _LITTLE = 20.0, 0.6


def _first_layer(watcher: Any, module: Any) -> Any:
    """Where the first layer with weights was built: it is what takes the inputs as they are."""
    for one in module.modules():
        site = watcher.notes.built.get(one)
        if site and not any(True for _ in one.children()) and any(True for _ in one.parameters()):
            return span_of(site, type(one).__name__)
    return None


def _standardised(name: str, stats: dict[str, Any]) -> str:
    if stats["image"]:
        return f"{name} / 255"
    if not stats["means"]:
        return f"({name} - {_rounded(stats['mean'])}) / {_rounded(stats['std'])}"
    means, stds = (", ".join(_rounded(one) for one in stats[key]) for key in ("means", "stds"))
    return f"({name} - torch.tensor([{means}])) / torch.tensor([{stds}])"


def _normalised_first(watcher: Any, module: Any, stats: dict[str, Any]) -> list[Attempt]:
    site = watcher.notes.built.get(module)
    call = rewrite.call_in(site[0], "Sequential") if site else None
    if (
        call is None
        or not call[1].args
        or len(stats["shape"]) not in (2, 4)
        or isinstance(call[1].args[0], ast.Starred)
    ):
        return []
    source, node = call
    first = node.args[0]
    prefix = source.text(node.func).rpartition(".")[0]
    layer = f"{prefix + '.' if prefix else ''}BatchNorm{'1' if len(stats['shape']) == 2 else '2'}d({stats['shape'][1]})"
    edits = rewrite.replaced(source, first, f"{layer}, {source.text(first)}")
    return [Attempt("normalise", edits, {"layer": layer})] if edits else []
