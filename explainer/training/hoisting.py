"""A statement that runs at every step moved to where it runs once: before the loop, also out of a function it calls."""

from __future__ import annotations

import ast
import re
from typing import Any

from explainer.source import Source, holds, loaded, stored
from explainer.training import rewrite
from explainer.training.sites import Frame, Site

_BEFORE = (ast.Expr, ast.Assign, ast.For)


def hoisted(site: Site) -> tuple[Source, ast.stmt, Any] | None:
    """The statement that leads to a site at every turn of the outermost loop, and edits that put it before the loop."""
    for at in reversed(range(len(site))):
        source = site[at].source()
        loop = outermost(source, site[at].line)
        if loop is None:
            continue
        own = next((one for one in loop.body if holds(one, site[at].line)), None)
        while isinstance(own, (ast.For, ast.While)) and trains(source, own):  # epochs around batches
            own = next((one for one in own.body if holds(one, site[at].line)), None)
        inner = [one.source().function_at(one.line) for one in site[:at]]
        learns = any(each is not None and trains(one.source(), each) for one, each in zip(site, inner, strict=False))
        if own is None or learns or trains(source, own):
            return _out_of(site[at - 1], source, loop, site[at]) if at else None
        if isinstance(own, _BEFORE) and free(own, loop):
            return source, own, rewrite.moved(source, own, loop, False)
        return None
    return None


def outermost(source: Source, line: int) -> Any:
    """The outermost loop around a line, inside its function."""
    scope = source.scope_at(line)
    around = [one for one in ast.walk(scope) if isinstance(one, (ast.For, ast.While)) and holds(one, line)]
    around = [one for one in around if source.scope_at(one.lineno) is scope and one.lineno < line]
    return min(around, key=lambda one: one.lineno, default=None)


def trains(source: Source, node: ast.AST) -> bool:
    """Whether something goes backwards or takes a step."""
    return bool(re.search(r"\.(backward|step)\(", source.text(node)))


def free(own: ast.stmt, loop: Any) -> bool:
    """Whether a statement reads nothing that a loop makes."""
    made = stored(loop.target) if isinstance(loop, ast.For) else set()
    for one in loop.body:
        made |= stored(one) if one is not own else set()
    return not loaded(own) & made


def _out_of(inner: Frame, source: Source, loop: Any, outer: Frame) -> tuple[Source, ast.stmt, Any] | None:
    """A statement of a function that the loop calls, with the names that the caller has for its parameters."""
    where = inner.source()
    function = where.function_at(inner.line)
    call = rewrite.call_in(outer, inner.code.co_name)
    own = next((one for one in function.body if holds(one, inner.line)), None) if function is not None else None
    if function is None or call is None or own is None or not isinstance(own, (ast.Expr, ast.For)):
        return None
    if trains(where, own):
        return None
    names = _given(function, call[1], source)
    bound = {name for one in function.body for name in stored(one)} - stored(own)
    text = where.text(own)
    for name in loaded(own) & (bound | set(names)):
        given = names.get(name)
        if name in bound or given is None or not _known_before(source, given, loop):
            return None
        text = re.sub(rf"\b{name}\b", given, text)
    put, out = rewrite.before(source, loop, text), rewrite.without(where, own)
    edits = rewrite.together(source, out, put) if where is source else (*out, *put) if out and put else ()
    return where, own, edits


def _given(function: Any, call: ast.Call, source: Source) -> dict[str, str]:
    """What a call gives each parameter, where that is a name or an attribute."""
    plain = [one.arg for one in function.args.args]
    owner = source.text(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    given = {"self": owner} if plain[:1] == ["self"] else {}
    plain = plain[1:] if plain[:1] == ["self"] else plain
    pairs = [*zip(plain, call.args, strict=False), *((one.arg, one.value) for one in call.keywords)]
    for name, value in pairs:
        if name and isinstance(value, (ast.Name, ast.Attribute)):
            given[name] = source.text(value)
    return given


def _known_before(source: Source, text: str, loop: Any) -> bool:
    """Whether a name is bound in the scope of a loop before it begins."""
    name = text.partition(".")[0]
    scope = source.scope_at(loop.lineno)
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        own = [one.arg for one in (*scope.args.args, *scope.args.kwonlyargs)]
        local = any(name in stored(one) for one in scope.body)
        if name in own or not local:
            return True
    return any(name in stored(one) for one in scope.body if one.lineno < loop.lineno)
