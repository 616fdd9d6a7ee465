"""Custom autograd Functions whose forward is called directly: autograd never sees their backward."""

from __future__ import annotations

import ast

from explainer.facts import CutFact, SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named, nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source


@probe
def forward_of_function(scene: Scene, of: CutFact | None = None) -> SpanFact | None:
    """The one direct call of `forward` of the custom Function inside of which a graph was cut.

    `detail`: `owner`, the class; `to`, the same call through `apply`.
    """
    owner, _, method = of.function.rpartition(".") if of is not None else ("", "", "")
    custom = next((node for _, node in _functions(scene) if node.name == owner), None)
    calls = [
        (source, call, call.func)
        for source, call in calls_named(scene, "forward")
        if isinstance(call.func, ast.Attribute) and source.text(call.func.value).split(".")[-1] == owner
    ]
    if method != "forward" or custom is None or len(calls) != 1:
        return None
    source, call, function = calls[0]
    apart = any(getattr(one, "name", "") == "setup_context" for one in custom.body)
    given = [source.text(one) for one in (*call.args[0 if apart else 1 :], *(word.value for word in call.keywords))]
    return span_fact(source, call, owner=owner, to=f"{source.text(function.value)}.apply({', '.join(given)})")


def _is_function(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).rsplit(".", 1)[-1] == "Function" for base in node.bases)


@probe
def made_function(scene: Scene) -> SpanFact | None:
    """The one call that makes an object of a custom Function, without arguments: `Clip()`.

    `detail`: `owner`, the class; `to`, what takes its place.
    """
    calls = calls_named(scene, *(node.name for _, node in _functions(scene)))
    if len(calls) != 1 or calls[0][1].args or calls[0][1].keywords:
        return None
    source, call = calls[0]
    owner = source.text(call.func)
    return span_fact(source, call, owner=owner, to=f"{owner}.apply")


@probe
def called_object(scene: Scene) -> SpanFact | None:
    """The one call of an object of a custom Function that is made for it: `Scale(rate)(x)`.

    `detail`: `owner`, the class; `to`, the call of `apply` with what both calls are given.
    """
    names = [one.name for _, one in _functions(scene)]
    outer = [(source, one, one.func) for source, one in nodes_of(scene, ast.Call) if isinstance(one.func, ast.Call)]
    calls = [(source, one, made) for source, one, made in outer if source.text(made.func).rsplit(".", 1)[-1] in names]
    if len(calls) != 1 or calls[0][1].keywords or calls[0][2].keywords:
        return None
    source, call, made = calls[0]
    owner, given = source.text(made.func), [source.text(one) for one in (*call.args, *made.args)]
    return span_fact(source, call, owner=owner, to=f"{owner}.apply({', '.join(given)})")


@probe
def function_class(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The class of a custom Function by its name, `owner`."""
    name = of["owner"].rsplit(".", 1)[-1] if of is not None else ""
    found = [(source, one) for source, one in _functions(scene) if one.name == name]
    return span_fact(*found[0]) if len(found) == 1 else None


def _functions(scene: Scene) -> list[tuple[Source, ast.ClassDef]]:
    return [(source, node) for source, node in nodes_of(scene, ast.ClassDef) if _is_function(node)]
