"""Edits that compute without overflow what is written with exp: softmax, its log, logsumexp, softplus and sigmoid."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.edits.calls import given_to, is_method
from explainer.edits.kinds.inplace import dropped
from explainer.edits.lines import EditError, changed, joined
from explainer.edits.place import Place, as_operand
from explainer.frozen import frozen
from explainer.source import called, walked


@frozen
class _Ratio:
    """`picked / total`: a part of exponentials over their sum along `axes` (source text, maybe empty)."""

    node: ast.BinOp
    picked: ast.expr
    axes: str
    keepdim: bool


def log_domain(at: Place) -> tuple[Edit, ...]:
    """`w = exp(x); log(w.diagonal() / w.sum(1))` -> `x.diagonal() - torch.logsumexp(x, 1)`; without a log a softmax.

    `at` is the call of exp. Statements whose names nothing else reads are dropped. EditError where no such ratio stands
    in its function.
    """
    held = _Held(at)
    for ratio in held.ratios():
        log = held.log_of(ratio.node)
        node, text = (log, held.logged(ratio)) if log is not None else (ratio.node, held.softmax(ratio))
        edits = changed(at.source, [(at.source.span(node), text)])
        unread = held.unread(node)
        try:
            return joined(at.source, edits, [dropped(at, one) for one in unread])
        except EditError:
            return edits
    raise EditError("no ratio of exponentials stands here")


def log_sum(at: Place) -> tuple[Edit, ...]:
    """`log(exp(x).sum(1))` -> `torch.logsumexp(x, 1)`; of `1 + exp(x)` the log becomes a softplus, 1 / it a sigmoid.

    `at` is the call of exp. EditError where nothing of that stands in its function.
    """
    held = _Held(at)
    for node, text in _written(held):
        edits = changed(at.source, [(at.source.span(node), text)])
        try:
            return joined(at.source, edits, [dropped(at, one) for one in held.unread(node)])
        except EditError:
            return edits
    raise EditError("no log of exponentials stands here")


def _written(held: _Held) -> Iterator[tuple[ast.expr, str]]:
    """The expressions that torch computes without the overflow, each with that."""
    softplus = f"torch.nn.functional.softplus({held.x})"
    for total in held.totals():
        log = held.log_of(total)
        if log is not None:
            yield log, held.summed(*_axes(total))
    for log in filter(None, [held.log_of_raised(), *map(held.log_of, held.raised())]):
        yield log, softplus
    for raised in held.raised():
        for share, of_exponentials in held.shares(raised):
            yield share, f"torch.sigmoid({held.x if of_exponentials else held.negative})"


class _Held:
    """The exponentials of a function: by the name that they are bound to, or as they are written."""

    def __init__(self, at: Place):
        call = at.node
        if not isinstance(call, ast.Call) or called(call) != "exp":
            raise EditError("no exp stands here")
        given = given_to(call)
        if given is None:
            raise EditError("exp is given nothing")
        self.at, self.text = at, ast.unparse(call)
        self.x = as_operand(at.source.text(given))
        minus = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub)
        self.negative = at.source.text(given.operand) if minus else f"-{self.x}"  # type: ignore[attr-defined]
        scope = at.source.scope_at(call.lineno)
        self.nodes = list(walked(scope)) if scope is not None else []
        bound = [one for one in self.nodes if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
        self.bound = {one.targets[0].id: one for one in bound if len(one.targets) == 1}  # type: ignore[attr-defined]
        self.name = next((name for name, one in self.bound.items() if one.value is call), None)

    def ratios(self) -> Iterator[_Ratio]:
        """The divisions of a part of the exponentials by their sum."""
        for node in self.nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                picked = self._picked(node.left)
                total = self._resolved(node.right)
                if picked is not None and isinstance(total, ast.Call) and self._is_total(total):
                    yield _Ratio(node, picked, *_axes(total))

    def totals(self) -> Iterator[ast.Call]:
        """The sums of all exponentials."""
        return (one for one in self.nodes if isinstance(one, ast.Call) and self._is_total(one))

    def raised(self) -> Iterator[ast.BinOp]:
        """One more than the exponentials: `1 + exp(x)`."""
        for node in self.nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                sides = (node.left, node.right), (node.right, node.left)
                if any(
                    isinstance(one, ast.Constant) and one.value == 1 and self._is_all(other) for one, other in sides
                ):
                    yield node

    def shares(self, total: ast.AST) -> Iterator[tuple[ast.BinOp, bool]]:
        """The divisions of 1 (False) or of the exponentials (True) by a node."""
        for node in self.nodes:
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            whole = self._resolved(node.right) is total and _is_one(node.left)
            if whole or (self._resolved(node.right) is total and self._is_all(node.left)):
                yield node, not whole

    def log_of(self, node: ast.AST) -> ast.Call | None:
        """The log that is taken of a node, also by its name."""
        calls = [one for one in self.nodes if isinstance(one, ast.Call) and called(one) == "log"]
        return next((one for one in calls if self._resolved(given_to(one)) is node), None)

    def log_of_raised(self) -> ast.Call | None:
        """`log1p(exp(x))`."""
        calls = [one for one in self.nodes if isinstance(one, ast.Call) and called(one) == "log1p"]
        return next((one for one in calls if self._is_all(given_to(one))), None)

    def logged(self, ratio: _Ratio) -> str:
        """The log of a ratio as a difference."""
        picked = self._with(ratio.picked, self.x)
        return f"({picked} - {self.summed(ratio.axes, ratio.keepdim)})"

    def summed(self, axes: str, keepdim: bool) -> str:
        """The log of the sum of the exponentials."""
        keep = ", keepdim=True" if keepdim else ""
        return f"torch.logsumexp({self.x}, {axes}{keep})" if axes else f"torch.logsumexp({self.x}.flatten(), 0)"

    def softmax(self, ratio: _Ratio) -> str:
        """A ratio as the same part of a softmax."""
        if not ratio.axes or ratio.axes.startswith(("(", "[", "dim=(", "dim=[")):
            raise EditError("the sum is not along one dimension")
        return self._with(ratio.picked, f"torch.softmax({self.x}, {ratio.axes})")

    def unread(self, replaced: ast.AST) -> list[ast.stmt]:
        """Statements that bind what nothing reads once a node is replaced."""
        gone: list[ast.stmt] = []
        lost: list[ast.AST] = [replaced]
        kept = set(_read(ast.parse(self.x, mode="eval")))
        for name, statement in reversed(list(self.bound.items())):
            before = sum(one == name for part in lost for one in _read(part))
            everywhere = sum(isinstance(one, ast.Name) and one.id == name and _loads(one) for one in self.nodes)
            if before and before == everywhere and name not in kept:
                gone.append(statement)
                lost.append(statement)
        return gone

    def _resolved(self, node: ast.AST | None) -> ast.AST | None:
        if isinstance(node, ast.Name) and node.id in self.bound:
            return self.bound[node.id].value
        return node

    def _is_all(self, node: ast.AST | None) -> bool:
        named = isinstance(node, ast.Name) and node.id == self.name
        return named or (isinstance(node, ast.Call) and ast.unparse(node) == self.text)

    def _is_total(self, node: ast.Call) -> bool:
        return called(node) == "sum" and self._is_all(given_to(node))

    def _picked(self, node: ast.AST) -> ast.expr | None:
        """The exponentials, or what methods, subscripts and `torch.diag` pick of them, also by its name."""
        whole = node if self._is_all(node) else self._resolved(node)
        inner = whole
        while inner is not None and not self._is_all(inner):
            inner = _inner(inner)
        return whole if inner is not None and isinstance(whole, ast.expr) else None

    def _with(self, node: ast.expr, text: str) -> str:
        """The source of a part with something else in place of the exponentials."""
        inner: ast.AST = node
        while not self._is_all(inner):
            inner = _inner(inner) or inner
        whole, old = self.at.source.text(node), self.at.source.text(inner)
        if inner.lineno != node.lineno or not whole.isascii():  # type: ignore[attr-defined]
            raise EditError("the part goes over several lines")
        first = inner.col_offset - node.col_offset  # type: ignore[attr-defined]
        return whole[:first] + text + whole[first + len(old) :]


def _is_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _inner(node: ast.AST) -> ast.expr | None:
    """What a method, subscript or `torch.diag` picks from."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return given_to(node)
    return node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else None


def _read(node: ast.AST) -> Iterator[str]:
    """The names that a node reads, each as often as it does."""
    return (one.id for one in walked(node) if isinstance(one, ast.Name) and _loads(one))


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _axes(total: ast.Call) -> tuple[str, bool]:
    """Along what a sum goes, as source, and whether it keeps the dimensions."""
    rest = total.args[0 if is_method(total) else 1 :]
    words = {word.arg: word.value for word in total.keywords}
    keep = ast.unparse(words["keepdim"]) == "True" if "keepdim" in words else len(rest) > 1
    axis = words.get("dim", words.get("axis", rest[0] if rest else None))
    return (f"dim={ast.unparse(axis)}" if axis is not None else ""), keep
