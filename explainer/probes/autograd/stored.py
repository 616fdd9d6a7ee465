"""Where a value whose graph outlives its iteration is put away: appended, set once by a constructor, memoised."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import sets
from explainer.facts import CarriedFact, SpanFact
from explainer.probes import probe
from explainer.probes.files import nodes_of, sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Function, Source, called, holds, stored

_PUT = ("append", "appendleft", "add", "push", "insert", "setdefault")
_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp)
#: How the functions of torch begin that make tensors of nothing, or of a shape.
_MAKERS = ("zeros", "ones", "empty", "full", "rand", "tensor")
_MEMO = ("cache", "lru_cache", "cached_property")


@probe
def stored_value(scene: Scene, of: CarriedFact | None = None, resettable: bool = False) -> SpanFact | None:
    """The one value put into the list, dict or buffer which carries graphs over: `z` of `self.items.append(z)`.

    A buffer is what a module keeps beside the graph, and so is what a method sets that returns nothing; where its owner
    knows how to reset it, it is a state instead, which is asked for with `resettable`. What a method sets last, and
    nothing else reads, is put away for the next call alone.
    """
    if of is None or not of.name:
        return None
    half = [(source, value) for source, scope in _scopes(scene, of) for value in _left_attached(source, scope, of.name)]
    half += [
        (source, value) for source, part in _handed_back(scene, of.name) for value in _attached(source, part, set())
    ]
    if len(half) == 1:
        return span_fact(*half[0])
    if not (of.container or (of.owner and (resettable or not of.reset))):
        return None
    ways = (_puts, _listed) if of.container else (_kept_in_buffer, _set_alone, _set_last)
    scopes = list(_scopes(scene, of))
    rows = ([(source, value) for source, scope in scopes for value in put(source, scope, of.name)] for put in ways)
    found = next(filter(None, ([one for one in row if not _is_cut(one[1])] for row in rows)), [])
    plain = [one for one in found if isinstance(one[1], _PLAIN)]
    return span_fact(*found[0]) if len(found) == len(plain) == 1 else None


def _is_cut(value: ast.AST) -> bool:
    """Whether a state is set to what has no history: nothing, what is detached, a tensor that torch makes."""
    if isinstance(value, ast.expr) and _detached(value):
        return True
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Constant)
    owner = value.func.value if isinstance(value.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id == "torch" and called(value).startswith(_MAKERS)


def _left_attached(source: Source, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """The one part of a state of several parts that is kept with its history, where all others are detached."""
    for function in (one for one in ast.walk(scope) if isinstance(one, ast.FunctionDef)):
        stores = [one for one in ast.walk(function) if isinstance(one, ast.Assign)]
        cut = {target for one in stores if _detached(one.value) for target in map(source.text, one.targets)}
        for one in (one for one in stores if sets(one, name)):
            yield from _attached(source, one.value, cut)


def _attached(source: Source, value: ast.AST, cut: set[str]) -> list[ast.expr]:
    """The one part of several that is not detached, nor one of those that were `cut` before."""
    parts = value.elts if isinstance(value, ast.Tuple) else []
    left = [part for part in parts if not _detached(part) and source.text(part) not in cut]
    return left if len(left) == 1 < len(parts) and isinstance(left[0], _PLAIN) else []


def _handed_back(scene: Scene, name: str) -> Iterator[tuple[Source, ast.AST]]:
    """What the functions hand back whose results a name is given: `h.detach(), c` of `state = carry(state)`."""
    given = (one.value for source, one in nodes_of(scene, ast.Assign) if sets(one, name))
    makers = {called(one) for one in given if isinstance(one, ast.Call)}
    for source, function in nodes_of(scene, ast.FunctionDef):
        for one in ast.walk(function) if function.name in makers else ():
            if isinstance(one, ast.Return) and one.value is not None:
                yield source, one.value


def _detached(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called(value) == "detach"


def _listed(source: Source, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """The entries of a list that a constructor makes at once, and that nothing else sets."""
    made = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and sets(one, name)]
    function = source.function_at(made[0].lineno) if len(made) == 1 else None
    if function is not None and function.name == "__init__" and isinstance(made[0].value, ast.ListComp):
        yield made[0].value.elt


def _kept_in_buffer(source: Source, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a class sets one of its buffers to."""
    within, attribute = list(ast.walk(scope)), name.removeprefix("self.")
    made = (one for one in within if isinstance(one, ast.Call) and called(one) == "register_buffer" and one.args)
    if any(isinstance(one.args[0], ast.Constant) and one.args[0].value == attribute for one in made):
        yield from (one.value for one in within if isinstance(one, ast.Assign) and sets(one, name))


def _set_alone(source: Source, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What methods that return nothing, and so add to no loss, set an attribute to.

    What changes it there, `self.state = self.state * kept`, does not make it where another method does.
    """
    made = _made_anew(source, scope, name)
    for function in (one for one in ast.walk(scope) if isinstance(one, ast.FunctionDef) and one.name != "__init__"):
        inner = list(ast.walk(function))
        if not any(isinstance(one, (ast.Return, ast.Yield)) and one.value is not None for one in inner):
            values = (one.value for one in inner if isinstance(one, ast.Assign) and sets(one, name))
            yield from (one for one in values if not made or not _reads(source, one, name))


def _made_anew(source: Source, scope: ast.AST, name: str) -> list[ast.expr]:
    """What an attribute is set to that has a history, and is not made of the attribute itself."""
    values = [one.value for one in ast.walk(scope) if isinstance(one, ast.Assign) and sets(one, name)]
    return [one for one in values if not _is_cut(one) and not _reads(source, one, name)]


def _reads(source: Source, value: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Attribute) and source.text(one) == name for one in ast.walk(value))


def _set_last(source: Source, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What the one method that reads an attribute sets it to, once it has read it; what changes it alone is none."""
    own = [one for one in ast.walk(scope) if isinstance(one, ast.FunctionDef)]
    changing = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and sets(one, name)]
    changing = [one for one in changing if _made_anew(source, scope, name) and _reads(source, one.value, name)]
    beside = {id(part) for one in changing for part in ast.walk(one)}
    beside |= {id(one.left) for one in ast.walk(scope) if isinstance(one, ast.Compare)}
    read = [
        (one.lineno, function.name)
        for function in own
        for one in ast.walk(function)
        if isinstance(one, ast.Attribute) and type(one.ctx) is ast.Load and source.text(one) == name
        and id(one) not in beside
    ]  # fmt: skip
    last = max((line for line, _ in read), default=0)
    for function in (one for one in own if {where for _, where in read} == {one.name} and one.name != "__init__"):
        stores = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and sets(one, name)]
        yield from (one.value for one in stores if one.lineno > last)


def _scopes(scene: Scene, of: CarriedFact) -> Iterator[tuple[Source, ast.AST]]:
    """The class that holds an attribute; of a variable the files on the stack."""
    for source in sources(scene):
        if not of.owner and source.tree is not None:
            yield source, source.tree
        for node in source.nodes():
            if of.owner and isinstance(node, ast.ClassDef) and node.name == of.owner:
                yield source, node


def _puts(source: Source, scope: ast.AST, name: str) -> Iterator[ast.AST]:
    for node in ast.walk(scope):
        owner = value = None
        if isinstance(node, ast.Call) and called(node) in _PUT and isinstance(node.func, ast.Attribute) and node.args:
            owner, value = node.func.value, node.args[-1]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            owner, value = node.targets[0].value, node.value
        if owner is not None and value is not None and source.text(owner) == name:
            yield value


@probe
def made_once(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """The statement of `__init__` that computes an attribute which nothing else sets: its graph is made but once.

    Of a dict written out there, the entry that is computed. `detail`: `read`, how the class names the value;
    `value`, its source where the class can say the same in any of its methods, else empty; `keep`, the constructor's
    parameters that the value needs and that no attribute holds yet.
    """
    if of is None or not of.owner or of.container not in ("", "dict") or not of.name.startswith("self."):
        return None
    for source, scope in _scopes(scene, of):
        found = [node for node in ast.walk(scope) if isinstance(node, ast.stmt) and sets(node, of.name)]
        init = next((one for one in scope.body if getattr(one, "name", "") == "__init__"), None)  # type: ignore
        if not isinstance(init, ast.FunctionDef) or len(found) != 1 or not holds(init, found[0].lineno):
            continue
        if not of.container:
            return _made(source, found[0], found[0].value, init, of.name)  # type: ignore[attr-defined]
        entry = _entry(found[0].value) if not any(_puts(source, scope, of.name)) else None  # type: ignore[attr-defined]
        if entry is not None:
            return _made(source, found[0], entry[1], init, f"{of.name}[{source.text(entry[0])}]")
    return None


def _made(source: Source, statement: ast.stmt, value: ast.expr, init: Function, read: str) -> SpanFact:
    text, keep = _anywhere(source, value, init)
    return span_fact(source, statement, read=read, value=text, keep=keep)


def _entry(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The only entry of a dict that is computed by a call, with its key."""
    pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
    found = [(key, value) for key, value in pairs if isinstance(key, ast.Constant) and isinstance(value, ast.Call)]
    return found[0] if len(found) == 1 else None


def _anywhere(source: Source, value: ast.expr, init: Function) -> tuple[str, tuple[str, ...]]:
    """An expression of a constructor in names that every method has: parameters by the attributes that hold them.

    With it the parameters that no attribute holds yet; both empty where it needs other names of the constructor.
    """
    held = {name: text for node in ast.walk(init) if isinstance(node, ast.Assign) for name, text in _kept(source, node)}
    given = {one.arg for one in ast.walk(init.args) if isinstance(one, ast.arg)} - {"self"}
    own = given | stored(init)
    used = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)} & own - stored(value)
    taken = {one.attr for one in source.nodes() if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
    keep = sorted(used - set(held))
    if not set(keep) <= given - stored(init) - taken:
        return "", ()
    names = {**held, **{name: f"self.{name}" for name in keep}}
    return ast.unparse(_Held(names).visit(ast.parse(source.text(value), mode="eval"))), tuple(keep)


def _kept(source: Source, node: ast.Assign) -> Iterator[tuple[str, str]]:
    """The names that an assignment puts into attributes, with these: also of `self.a, self.b = a, b`."""
    target, value = node.targets[0], node.value
    both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    pairs = zip(target.elts, value.elts, strict=True) if both else [(target, value)]  # type: ignore[attr-defined]
    for one, other in pairs:
        if isinstance(one, ast.Attribute) and isinstance(other, ast.Name):
            yield other.id, source.text(one)


class _Held(ast.NodeTransformer):
    """A constructor's parameters replaced by the attributes that hold them."""

    def __init__(self, held: dict[str, str]):
        self.held = held

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A parameter gives way to its attribute."""
        return ast.parse(self.held[node.id], mode="eval").body if node.id in self.held else node


@probe
def memoised(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """The `@lru_cache` or `@cached_property` of the function whose kept result takes up an old graph.

    `detail`: the function's `name`, the decorator's `kind`.
    """
    source = scene.source(of.span.file) if of is not None else None
    statement = source.statement_at(of.span.line) if of is not None and source is not None else None
    if of is None or statement is None:
        return None
    names = {called(one) for one in ast.walk(statement) if isinstance(one, ast.Call)}
    names |= {one.attr for one in ast.walk(statement) if isinstance(one, ast.Attribute)}
    names.add(of.name.removeprefix("self."))
    for one, function in nodes_of(scene, ast.FunctionDef):
        for decorator in function.decorator_list if function.name in names else ():
            kind = one.text(decorator).split("(")[0].rsplit(".", 1)[-1]
            if kind in _MEMO:
                return span_fact(one, decorator, name=function.name, kind=kind)
    return None
