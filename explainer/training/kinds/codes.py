"""Numbers for words, categories or items that each set of data gives anew: the same ones mean other things then."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from explainer.bindings import arguments_of
from explainer.source import Source, called, loaded, of_self
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sources import program_sources

#: What numbers distinct values in the order in which they come, or are sorted.
_NUMBERING = ("enumerate", "unique", "factorize", "fit_transform")
#: The parameter that hands on what a first object has made.
_GIVEN = "fitted"


@finder
def codes_made_anew(watcher: Any) -> Iterator[Finding]:
    """A class that numbers its own data's values, of which the program makes one for training and another one."""
    sources = program_sources(watcher)
    for source, owner, made, fields, pair in _made_twice(sources, _made, partial(_numbered, sources=sources)):
        names = _names(source, owner, fields[0], *pair)
        edits = _handed(source, made, fields, *pair)
        attempts = (Attempt("hand-on", edits, names),) if edits else ()
        yield Finding("codes-made-anew", names, source.span(fields[0]), attempts, proved=False, seen=True, weight=8)


@finder
def codes_not_handed_on(watcher: Any) -> Iterator[Finding]:
    """A class that takes a vocabulary, or else makes one of its own data: two are made, and none is handed on."""
    for source, owner, made, fields, pair in _made_twice(program_sources(watcher), _constructor, _or_made):
        (field, option), (home, first, then) = fields[0], pair
        if any(_gives(one.value, made, option) for one in (first, then)):
            continue
        given = f"{home.text(first.targets[0])}.{field.targets[0].attr}"
        names = {**_names(source, owner, field, *pair), "given": f"{option}={given}"}
        edits = rewrite.with_keyword(home, then.value, option, given)
        attempts = (Attempt("given", edits, names),) if edits else ()
        yield Finding("codes-made-anew", names, home.span(then), attempts, proved=False, seen=True, weight=8)


@finder
def codes_by_order(watcher: Any) -> Iterator[Finding]:
    """`list(dict.fromkeys(...))` of an object's own rows, of which two are made: the order of the values is another."""
    for source, owner, _, fields, pair in _made_twice(program_sources(watcher), _constructor, _ordered):
        for field in fields:
            values = field.value.args[0].args[0]
            new = f"sorted(set({source.text(values).removeprefix('(').removesuffix(')')}))"
            names = _names(source, owner, field, *pair)
            attempts = (Attempt("sorted", rewrite.replaced(source, field.value, new), {**names, "new": new}),)
            yield Finding("codes-made-anew", names, source.span(field), attempts, proved=False, seen=True, weight=8)


def _ordered(_: Source, made: ast.FunctionDef) -> Iterator[ast.Assign]:
    """The statements of a constructor that list what it is given, each value once, in the order in which they come."""
    given = {one.arg for one in made.args.args[1:]}
    for one in made.body:
        call = one.value if isinstance(one, ast.Assign) else None
        inner = call.args[0] if isinstance(call, ast.Call) and called(call) == "list" and len(call.args) == 1 else None
        keys = isinstance(inner, ast.Call) and called(inner) == "fromkeys" and len(inner.args) == 1
        if isinstance(one, ast.Assign) and keys and loaded(inner) & given:  # type: ignore[arg-type]
            yield one


def _made_twice(
    sources: list[Source],
    constructor: Callable[[ast.ClassDef], ast.FunctionDef | None],
    numbering: Callable[[Source, ast.FunctionDef], Iterator[Any]],
) -> Iterator[tuple[Source, ast.ClassDef, ast.FunctionDef, list[Any], tuple[Any, ...]]]:
    """The classes with fields that number values of which one pair of objects is made: the fields, and that pair."""
    for source in sources:
        for owner in (one for one in source.nodes() if isinstance(one, ast.ClassDef)):
            made = constructor(owner)
            fields = list(numbering(source, made)) if made is not None else []
            pairs = list(_pairs(sources, owner.name)) if fields else []
            if made is not None and len(pairs) == 1:
                yield source, owner, made, fields, pairs[0]


def _or_made(source: Source, made: ast.FunctionDef) -> Iterator[tuple[ast.Assign, str]]:
    """`self.vocab = vocab if vocab is not None else self.built(rows)` that numbers values, with the parameter."""
    options = [one.arg for one in made.args.args[len(made.args.args) - len(made.args.defaults) :]]
    for one in (one for one in made.body if isinstance(one, ast.Assign) and of_self(one.targets[0])):
        choice = one.value
        parts = [choice.body, choice.orelse] if isinstance(choice, ast.IfExp) else getattr(choice, "values", [])
        names = [part.id for part in parts if isinstance(part, ast.Name) and part.id in options]
        built = [part for part in parts if isinstance(part, ast.Call)]
        helpers = [each for call in built for each in source.nodes()
                   if isinstance(each, ast.FunctionDef) and each.name == called(call)]  # fmt: skip
        if len(names) == len(built) == 1 and any(map(_counts_up, [*helpers, *built])):
            yield one, names[0]


def _counts_up(node: ast.AST) -> bool:
    """Whether each new value gets the next number: `table.setdefault(word, len(table))`, or all are enumerated."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    put = [one for one in ast.walk(node) if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript)]
    last = [one.args[1] for one in calls if called(one) == "setdefault" and len(one.args) > 1]
    grows = any(isinstance(one, ast.Call) and called(one) == "len" for one in [*(each.value for each in put), *last])
    return grows or any(called(one) in _NUMBERING for one in calls)


def _gives(call: ast.expr, made: ast.FunctionDef, option: str) -> bool:
    """Whether a call gives a constructor one of its options."""
    names = [one.arg for one in made.args.args[1:]]
    return isinstance(call, ast.Call) and option in arguments_of(call, names)


@finder
def codes_of_each_part(watcher: Any) -> Iterator[Finding]:
    """`np.unique(ids, return_inverse=True)` in a helper that is called with several parts of the same values."""
    sources = program_sources(watcher)
    for source in sources:
        for helper in (one for one in source.nodes() if isinstance(one, ast.FunctionDef)):
            inverse = _inverse(helper)
            calls = list(_calls_of_parts(sources, helper.name)) if inverse is not None else []
            if inverse is None or len(calls) < 2:
                continue
            home, first, then = calls[0][0], calls[0][1], calls[1][1]
            names = {"kind": helper.name, "field": source.text(inverse.targets[0]), "text": source.text(inverse.value),
                     "line": then.lineno, "first": home.text(first), "other": home.text(then)}  # fmt: skip
            edits = _of_the_whole(source, helper, inverse, sources)
            attempts = (Attempt("whole", edits, {**names, "whole": _whole(first)}),) if edits else ()
            yield Finding("codes-made-anew", names, home.span(then), attempts, proved=False, seen=True, weight=8)


def _inverse(helper: ast.FunctionDef) -> ast.Assign | None:
    """`vocabulary, codes = np.unique(ids, return_inverse=True)` of the one parameter of a function."""
    names = [one.arg for one in helper.args.args]
    for one in helper.body:
        value, target = (one.value, one.targets[0]) if isinstance(one, ast.Assign) else (None, None)
        pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
        if isinstance(value, ast.Call) and pair and called(value) == "unique" and isinstance(one, ast.Assign):
            asked = [word.arg for word in value.keywords] == ["return_inverse"] and len(value.args) == 1
            if asked and len(names) == 1 and loaded(value.args[0]) == set(names):
                return one
    return None


def _calls_of_parts(sources: list[Source], name: str) -> Iterator[tuple[Source, ast.Call]]:
    """The calls of a function with parts of one and the same name, where there are several of some name."""
    found = [(source, one) for source in sources for one in source.nodes()
             if isinstance(one, ast.Call) and called(one) == name and len(one.args) == 1 and _whole(one)]  # fmt: skip
    wholes = [_whole(one) for _, one in found]
    for name in dict.fromkeys(one for one in wholes if wholes.count(one) > 1):
        yield from ((source, call) for source, call in found if _whole(call) == name)


def _whole(call: ast.Call) -> str:
    """What a call is given a part of: `ids` of `encode(ids[train])`; empty for anything else."""
    given = call.args[0]
    return given.value.id if isinstance(given, ast.Subscript) and isinstance(given.value, ast.Name) else ""


def _of_the_whole(source: Source, helper: ast.FunctionDef, inverse: ast.Assign, sources: list[Source]) -> Any:
    """Edits by which each part is numbered as the whole is."""
    (words, codes), call = inverse.targets[0].elts, inverse.value  # type: ignore[attr-defined]
    unique, given = source.text(call.func), source.text(call.args[0])  # type: ignore[attr-defined]
    table, indent = source.text(words), " " * inverse.col_offset
    found = f"{unique.removesuffix('unique')}searchsorted({table}, {given})"
    new = f"{table} = {unique}(known)\n{indent}{source.text(codes)} = {found}"
    own = [rewrite.replaced(source, helper.args.args[-1], f"{given}, known"), rewrite.replaced(source, inverse, new)]
    edits: list[Any] = []
    for home in sources:
        calls = [one for one in home.nodes() if isinstance(one, ast.Call) and called(one) == helper.name]
        if any(len(one.args) != 1 or not _whole(one) for one in calls):
            return ()
        rows = [rewrite.replaced(home, one, f"{home.text(one)[:-1]}, {_whole(one)})") for one in calls]
        edits += rewrite.together(home, *(own if home is source else ()), *rows)
    return tuple(edits)


def _constructor(owner: ast.ClassDef) -> ast.FunctionDef | None:
    return next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)


def _names(
    source: Source, owner: ast.ClassDef, field: ast.Assign, home: Source, first: ast.Assign, then: ast.Assign
) -> dict[str, Any]:
    """What is said of two objects of a class, each of which numbers the values in a field of its own."""
    return {"kind": owner.name, "field": source.text(field.targets[0]), "text": source.text(field.value),
            "line": then.lineno, "first": home.text(first.targets[0]), "other": home.text(then.targets[0])}  # fmt: skip


def _made(owner: ast.ClassDef) -> ast.FunctionDef | None:
    """The constructor of a class that takes values alone, none by default."""
    own = _constructor(owner)
    given = own.args if own is not None else None
    plain = given is not None and not (given.vararg or given.kwarg or given.kwonlyargs or given.defaults)
    return own if plain else None


def _numbered(source: Source, made: ast.FunctionDef, sources: list[Source]) -> Iterator[ast.Assign]:
    """`self.codes = {v: i for i, v in enumerate(...)}` of what the constructor was given, or a helper's such dict."""
    given = {one.arg for one in made.args.args[1:]}
    for one in made.body:
        target = one.targets[0] if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        if not isinstance(one, ast.Assign) or not isinstance(target, ast.Attribute):
            continue
        if loaded(one.value) & given and _numbers(one.value, sources):
            yield one


def _numbers(value: ast.expr, sources: list[Source]) -> bool:
    """Whether an expression makes a mapping from values to numbers."""
    if isinstance(value, ast.DictComp):
        return any(called(one) in _NUMBERING for one in ast.walk(value) if isinstance(one, ast.Call))
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return False
    helpers = [one for source in sources for one in source.nodes()
               if isinstance(one, ast.FunctionDef) and one.name == called(value)]  # fmt: skip
    last = helpers[0].body[-1] if len(helpers) == 1 else None
    return isinstance(last, ast.Return) and isinstance(last.value, ast.DictComp) and _numbers(last.value, sources)


def _pairs(sources: list[Source], name: str) -> Iterator[tuple[Source, ast.Assign, ast.Assign]]:
    """The two statements of one function that make objects of a class, each of one name and of other data."""
    for source in sources:
        every = [one for one in source.nodes() if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
                 and called(one.value) == name and isinstance(one.targets[0], ast.Name)]  # fmt: skip
        scopes = {id(source.scope_at(one.lineno)) for one in every}
        if len(every) == 2 and len(scopes) == 1:
            first, then = sorted(every, key=lambda one: one.lineno)
            yield source, first, then


def _handed(
    source: Source, made: ast.FunctionDef, fields: list[ast.Assign], home: Source, first: ast.Assign, then: ast.Assign
) -> Any:
    """Edits by which the second object takes over what the first one has numbered; none where they lie in two files."""
    call, name = then.value, home.text(first.targets[0])
    if home is not source or not isinstance(call, ast.Call):
        return ()
    last = made.args.args[-1]
    edits = [rewrite.replaced(source, last, f"{source.text(last)}, {_GIVEN}=None")]
    for one in fields:
        field = one.targets[0].attr  # type: ignore[attr-defined]
        new = f"{_GIVEN}.{field} if {_GIVEN} is not None else {source.text(one.value)}"
        edits.append(rewrite.replaced(source, one.value, new))
    return rewrite.together(source, *edits, rewrite.with_keyword(home, call, _GIVEN, name))
