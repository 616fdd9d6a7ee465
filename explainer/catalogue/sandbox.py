"""jinja2 as the words of rules may use it: nothing private, nothing that changes, and every step counted.

What a template is made of, its filters, tests and methods are closed sets: each is known to take no more work than what
it is given is long, and that is counted before it is done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from explainer.catalogue import bounds
from explainer.catalogue.bounds import Exceeded, WordsError, spend, weighed
from explainer.catalogue.filters import FILTERS
from explainer.catalogue.plain import printable
from explainer.catalogue.simple import sliceable

#: What a template consists of.
_NODES = frozenset((
    "Template", "Output", "TemplateData", "Name", "NSRef", "Const", "Tuple", "List", "Dict", "Pair", "Keyword",
    "CondExpr", "Filter", "Test", "Getitem", "Getattr", "Slice", "Call", "Compare", "Operand", "Add", "Sub", "Mul",
    "Div", "FloorDiv", "Mod", "Pow", "Neg", "Pos", "Concat", "And", "Or", "Not", "If", "For", "Assign",
))  # fmt: skip
#: jinja2's filters and tests that are known here, besides those of `FILTERS`.
_KNOWN = (
    "abs", "capitalize", "count", "default", "d", "first", "float", "int", "items", "last", "length", "list", "lower",
    "map", "max", "min", "reverse", "round", "select", "sort", "string", "title", "trim", "truncate", "unique", "upper",
)  # fmt: skip
_TESTS = (
    "boolean", "defined", "divisibleby", "eq", "even", "false", "float", "ge", "gt", "in", "integer", "le", "lt",
    "mapping", "ne", "none", "number", "odd", "sequence", "string", "true", "undefined",
)  # fmt: skip
#: Methods of texts, lists and mappings that give no more than they are given.
_METHODS = frozenset((
    "count", "endswith", "find", "get", "index", "isalnum", "isalpha", "isdigit", "isidentifier", "islower", "isupper",
    "items", "keys", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rpartition", "rsplit",
    "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper", "values",
))  # fmt: skip
#: The names under which loops and joined texts are counted; a template cannot name them.
_EACH, _JOINED, _WEIGHED, _SLICED = "each of", "joined texts", "weighed value", "sliced value"


@functools.cache
def environment() -> Any:
    """The sandbox in which templates run."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])

        def getattr(self, obj: Any, name: str) -> Any:
            if isinstance(obj, Mapping) and name in obj:
                return obj[name]
            return super().getattr(obj, name)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            bounds.counted(operator, left, right)
            return super().call_binop(context, operator, left, right)

        def call(self, context: Any, function: Any, /, *given: Any, **named: Any) -> Any:
            own = {name: one for name, one in named.items() if not name.startswith("_")}  # jinja2 adds `_loop_vars`
            return weighed(_called(self, function, weighed(list(given)), weighed(own)))

        def _generate(self, source: Any, *given: Any, **named: Any) -> Any:
            """What jinja2 calls with a template's tree before it is compiled."""
            return super()._generate(_counting(source), *given, **named)

    made = Sandbox(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, finalize=_printed,
        cache_size=0, optimized=False,
    )  # fmt: skip
    made.globals = {"range": _range, "dict": dict, "namespace": made.globals["namespace"]}
    own = {"join": bounds.joined, "replace": bounds.replaced, "round": _rounded(made.filters["round"]), **FILTERS}
    made.filters = {name: _filter(run) for name, run in {**{one: made.filters[one] for one in _KNOWN}, **own}.items()}
    made.filters |= {
        _EACH: _each,
        _JOINED: bounds.joined,
        _WEIGHED: weighed,
        _SLICED: lambda value: weighed(sliceable(value)),
    }
    made.tests = {name: made.tests[name] for name in _TESTS}
    return made


def _filter(run: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that counts what it is given and what it gives."""

    @functools.wraps(run)
    def counted(*given: Any, **named: Any) -> Any:
        weighed([given, named])
        return weighed(run(*given, **named))

    return counted


def _rounded(run: Callable[..., Any]) -> Callable[..., Any]:
    def rounded(value: Any, precision: int = 0, method: str = "common") -> Any:
        if abs(precision) > 20:  # jinja2 raises 10 to this power
            raise Exceeded(f"round() is given {precision} digits")
        return run(value, precision, method)

    return rounded


def _printed(value: Any) -> Any:
    return weighed(printable(value))


def _range(*given: int) -> range:
    made = range(*given)
    if len(made) > bounds.COUNTED:
        raise Exceeded(f"range() gives {len(made)} numbers")
    return made


def _each(items: Iterable[Any], cost: int) -> Iterator[Any]:
    """The items of a loop, each for what the loop's body costs."""
    for one in weighed(items) if isinstance(items, (list, tuple)) else items:
        spend(cost)
        yield one


def _called(self: Any, function: Any, given: list[Any], named: dict[str, Any]) -> Any:
    """What a global or one of the known methods gives."""
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    if isinstance(owner, str) and name == "replace":
        return bounds.replaced(owner, *given)
    if function not in self.globals.values() and not (name in _METHODS and owner is not None):
        raise WordsError(f"{name or 'what is no function'} cannot be called in a template")
    if not isinstance(owner, type):
        weighed(owner)
    return function(*given, **named)


def refused(tree: Any) -> Iterator[str]:
    """What a template has that is not for rules, which take what facts hold and say it."""
    from jinja2 import nodes

    for node in tree.find_all(nodes.Node):
        kind = type(node).__name__
        if kind not in _NODES or getattr(node, "recursive", False):
            yield f"{kind.lower()} (line {node.lineno}) is not for the words of rules"


def _counting(tree: Any) -> Any:
    """A template's tree with each step counted. Raises WordsError for what rules do not use."""
    from jinja2 import nodes

    for refusal in refused(tree):
        raise WordsError(refusal)
    for node in list(tree.find_all(nodes.Node)):
        if isinstance(node, nodes.For):
            cost = 1 + sum(1 for part in (*node.body, *node.else_) for _ in (part, *part.find_all(nodes.Node)))
            node.iter = _through(_EACH, node.iter, nodes.Const(cost))
        elif isinstance(node, nodes.Assign):
            node.node = _through(_WEIGHED, node.node)
        elif isinstance(node, (nodes.Compare, nodes.Operand)):
            node.expr = _through(_WEIGHED, node.expr)
        elif isinstance(node, nodes.Getitem):
            node.node = _through(_SLICED, node.node) if isinstance(node.arg, nodes.Slice) else node.node
    return _with_joined(tree)


def _through(name: str, node: Any, *given: Any) -> Any:
    from jinja2 import nodes

    return nodes.Filter(node, name, list(given), [], None, None, lineno=node.lineno, environment=node.environment)


def _with_joined(tree: Any) -> Any:
    """The same with `~` as a filter: it has no operator to be counted."""
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    class Joined(NodeTransformer):
        def visit_Concat(self, node: Any) -> Any:
            self.generic_visit(node)
            return _through(_JOINED, nodes.List(node.nodes, lineno=node.lineno, environment=node.environment))

    return Joined().visit(tree)
