"""The edit numpy-to-torch: a function that leaves for numpy and comes back, written with torch's own functions."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import Source, walked

#: numpy's functions whose torch counterpart has the same meaning, by another name where it has one.
_NAMES = {
    "absolute": "abs", "concatenate": "cat", "power": "pow", "arctan2": "atan2", "arctan": "atan", "arcsin": "asin",
    "arccos": "acos", "maximum": "maximum", "minimum": "minimum", "float32": "float32", "float64": "float64",
    "linalg.norm": "linalg.norm", "swapaxes": "swapaxes", "expand_dims": "unsqueeze",
}  # fmt: skip
_SAME = frozenset(
    """
abs sqrt exp log log2 log10 sin cos tan tanh mean sum prod max min stack where clip square sign dot matmul einsum outer
cumsum diff flip roll transpose squeeze reshape argsort pi fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2
fft.fftn fft.ifftn linalg.inv linalg.solve linalg.det linalg.svd linalg.eigh linalg.qr real imag conj angle tile
""".split()  # noqa: SIM905
)
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "ddof": "correction"}
_DTYPES = {"float": "float64", "np.float32": "float32", "np.float64": "float64", "numpy.float32": "float32"}


def numpy_to_torch(at: Place) -> tuple[Edit, ...]:
    """Rewrite the numpy calls of the function that holds a place, its `.detach().cpu().numpy()` and `from_numpy`.

    EditError where it uses something of numpy for which torch has no counterpart here. Untested by itself: to be tried.
    """
    function = at.source.function_at(at.node.lineno)
    scope = function or at.statement().node
    taken = _names(at)
    changes = [change for statement in _statements(scope) for change in _of_statement(at.source, statement, taken)]
    if not changes:
        raise EditError("nothing of numpy stands here")
    return changed(at.source, changes)


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    for node in walked(scope):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.AnnAssign)):
            yield node


def _names(at: Place) -> str:
    for node in at.source.nodes():
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name == "numpy":
                    return name.asname or "numpy"
    raise EditError("numpy is not imported here")


def _of_statement(source: Source, statement: ast.stmt, numpy: str) -> Iterator[tuple[Span, str]]:
    value = getattr(statement, "value", None)
    if value is None:
        return
    after = ast.unparse(_Rewrite(numpy).visit(ast.parse(source.text(value), mode="eval").body))
    if after != ast.unparse(value):
        yield dataclasses.replace(source.span(value)), after


class _Rewrite(ast.NodeTransformer):
    """numpy's calls in torch's words."""

    def __init__(self, numpy: str):
        self.numpy = numpy

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Calls, innermost first."""
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name in ("torch.from_numpy", "torch.as_tensor", "torch.tensor") and node.args:
            return node.args[0]
        if name.startswith(f"{self.numpy}.") and name.split(".", 1)[1] in ("asarray", "array", "ascontiguousarray"):
            return node.args[0]
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """An operand that one of the user's functions returns may be an array: a tensor times an array is refused."""
        self.generic_visit(node)
        node.left, node.right = self._as_tensor(node.left), self._as_tensor(node.right)
        return node

    def _as_tensor(self, node: ast.expr) -> ast.expr:
        own = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("self.")
        return ast.parse(f"torch.as_tensor({ast.unparse(node)})", mode="eval").body if own else node

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        if function.attr in ("numpy", "detach", "cpu") and not node.args:
            return function.value
        if function.attr == "astype" and node.args:
            kind = ast.unparse(node.args[0])
            kind = _DTYPES.get(kind, kind if kind.startswith("torch.") else "")
            if not kind:
                raise EditError("an integer or unknown type is made here")
            text = f"({ast.unparse(function.value)}).to(torch.{kind.removeprefix('torch.')})"
            return ast.parse(text, mode="eval").body
        node.keywords = [ast.keyword(_KEYWORDS.get(word.arg or "", word.arg), word.value) for word in node.keywords]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """`np.fft.rfft` -> `torch.fft.rfft`."""
        name = ast.unparse(node)
        if name.startswith(f"{self.numpy}.") and name.replace(".", "").isidentifier():
            inner = name.split(".", 1)[1]
            if inner in ("fft", "linalg"):
                return node
            if inner in _SAME or inner in _NAMES:
                return ast.parse(f"torch.{_NAMES.get(inner, inner)}", mode="eval").body
            if inner in ("asarray", "array", "ascontiguousarray"):
                return node
            raise EditError(f"torch has no {name}")
        self.generic_visit(node)
        return node
