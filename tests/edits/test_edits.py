"""Edits: what each kind writes, and that everything around it stays byte for byte."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explainer.diagnosis import Edit, Span
from explainer.edits import EditError, applied, changed
from explainer.edits.candidates import candidates, edit
from explainer.edits.place import Place, fitted
from explainer.source import Source


def source(text: str) -> Source:
    lines = tuple(text.split("\n"))
    return Source("net.py", lines, ast.parse(text))


def place(file: Source, text: str) -> Place:
    """The first expression or statement with this text."""
    for node in file.nodes():
        if isinstance(node, (ast.expr, ast.stmt)) and file.text(node) == text:
            return Place(file, node.value if isinstance(node, ast.Expr) else node)
    raise LookupError(text)


def after(kind: str, code: str, at: str, name: str = "at", **values: object) -> str:
    """The code with one edit of a kind at the first node with the text `at`."""
    file = source(code)
    scene = SimpleNamespace(source=lambda _: file)
    return applied(code, edit(scene, kind, **{name: place(file, at)}, **values))


class _Longer(ast.NodeTransformer):
    """`a` -> `a + 1`, in the tree."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.BinOp(node, ast.Add(), ast.Constant(1)) if node.id == "a" else node


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("y = a * b", "y = (a + 1) * b"),
        ("y = b - a", "y = b - (a + 1)"),
        ("y = -a", "y = -(a + 1)"),
        ("y = a.float()", "y = (a + 1).float()"),
        ("y = a[0]", "y = (a + 1)[0]"),
        ("y = t[a]", "y = t[a + 1]"),
        ("y = f(a, k=a)", "y = f(a + 1, k=a)"),
        ("y = (a) * 2", "y = (a + 1) * 2"),
        ("y = a < b", "y = a + 1 < b"),
        ("y = a if c else b", "y = a + 1 if c else b"),
    ],
)
def test_a_fitted_text_is_one_expression_in_its_place(code: str, expected: str) -> None:
    """Parentheses where an operator, attribute or subscript would take a part of the new text, nowhere else."""
    file = source(code)
    at = place(file, "a")
    new = applied(code, changed(file, [(at.span, fitted(at, "a + 1"))]))
    assert new == expected
    everywhere = ast.unparse(_Longer().visit(ast.parse(code.replace("k=a", "k=b"))))
    assert ast.dump(ast.parse(new.replace("k=a", "k=b"))) == ast.dump(ast.parse(everywhere))


CASES = [
    ("insert-method", "y = f(a + b)", "a + b", {"method": "float"}, "y = f((a + b).float())"),
    ("insert-method", "y = (a + b) / 2", "a + b", {"method": "abs()"}, "y = (a + b).abs() / 2"),
    ("insert-method", "m = mask", "mask", {"method": "[:, None]"}, "m = mask[:, None]"),
    ("as-dtype", "y = x.astype(np.float64)", "x.astype(np.float64)", {"dtype": "float32"}, "y = x.astype(np.float32)"),
    ("as-dtype", "y = x.to(torch.double)", "x.to(torch.double)", {"dtype": "float32"}, "y = x.to(torch.float32)"),
    ("as-dtype", "y = x.astype(kind)", "x.astype(kind)", {"dtype": "int64"}, 'y = x.astype(kind).astype("int64")'),
    ("as-dtype", "y = np.zeros(3)", "np.zeros(3)", {"dtype": "float32"}, "y = np.zeros(3).astype(np.float32)"),
    ("as-dtype", "y = (x > 0).long()", "(x > 0).long()", {"dtype": "float32"}, "y = (x > 0).float()"),
    ("as-dtype", "y = a + b", "a + b", {"dtype": "int64"}, "y = (a + b).long()"),
    ("insert-method", "return_ = é['ü'] + x", "x", {"method": "long"}, "return_ = é['ü'] + x.long()"),
    ("delete-method", "y = x.detach() * 2", "x.detach()", {}, "y = x * 2"),
    ("delete-method", "y = (a + b).detach() * 2", "(a + b).detach()", {}, "y = (a + b) * 2"),
    ("replace-call", "y = (a > b).long()", "(a > b).long()", {"to": "float"}, "y = (a > b).float()"),
    ("wrap-call", "y = x ** 2", "x", {"function": "abs", "arguments": "k=0"}, "y = abs(x, k=0) ** 2"),
    ("replace-operator", "b = (1 - mask) * n", "1 - mask", {"to": "invert"}, "b = (~mask) * n"),
    ("replace-operator", "n = a / b", "a / b", {"to": "//"}, "n = a // b"),
    ("exchange-operands", "g = f.t() @ f / n", "f.t() @ f", {}, "g = f @ f.t() / n"),
    ("exchange-operands", "g = torch.mm(f.T, f)", "torch.mm(f.T, f)", {}, "g = torch.mm(f, f.T)"),
    ("exchange-operands", "g = f.t().mm(f)", "f.t().mm(f)", {}, "g = f.mm(f.t())"),
    ("subtract-least", "b = t // n", "t", {}, "b = (t - t.min()) // n"),
    ("subtract-least", "b = bincount(a + i)", "a + i", {}, "b = bincount((a + i) - (a + i).min())"),
    ("subtract-least", "b = t.bincount()", "t", {}, "b = (t - t.min()).bincount()"),
    ("out-of-place", "y += x * 2  # kept", "y += x * 2", {}, "y = y + (x * 2)  # kept"),
    ("out-of-place", "y.add_(x)", "y.add_(x)", {}, "y = y.add(x)"),
    ("out-of-place", "y.normal_(0, s)", "y.normal_(0, s)", {}, "y = y.clone().normal_(0, s)"),
    ("out-of-place", "z = y.zero_().add_(x)", "y.zero_().add_(x)", {}, "z = y.clone().zero_().add(x)"),
    ("out-of-place", "y.sub_(x).zero_()", "y.sub_(x).zero_()", {}, "y = y.sub(x).zero_()"),
    ("out-of-place", "z = y.add_(x)", "y.add_(x)", {}, "z = y.add(x)"),
    ("out-of-place", "x = F.relu(x, inplace=True)", "F.relu(x, inplace=True)", {}, "x = F.relu(x)"),
    ("out-of-place", "F.relu(x, inplace=True)", "F.relu(x, inplace=True)", {}, "x = F.relu(x)"),
    ("register-buffer", "self.m = ones(3)", "self.m = ones(3)", {}, 'self.register_buffer("m", ones(3))'),
    ("module-list", "self.b = [f(n)]", "[f(n)]", {}, "self.b = torch.nn.ModuleList([f(n)])"),
]


@pytest.mark.parametrize(("kind", "text", "at", "values", "expected"), CASES)
def test_each_kind_writes_what_it_says(kind: str, text: str, at: str, values: dict, expected: str) -> None:
    assert after(kind, text, at, **values) == expected


ARGUMENTS = [
    ("nn.Linear(16 * 4 * 4, 120)", "in_features", "16 * 5 * 5", "nn.Linear(16 * 5 * 5, 120)"),
    ("nn.Linear(in_features=3, out_features=2)", "in_features", 4, "nn.Linear(in_features=4, out_features=2)"),
    ("nn.Conv2d(3, 8, 5)", "padding", 2, "nn.Conv2d(3, 8, 5, padding=2)"),
    ("nn.Conv2d(\n    3,\n    8,\n    5,\n)", "padding", 2, "nn.Conv2d(\n    3,\n    8,\n    5, padding=2,\n)"),
    ("torch.softmax(x, dim=2)", "dim", -1, "torch.softmax(x, dim=-1)"),
    ("x.softmax(2)", "dim", -1, "x.softmax(-1)"),
    ("f()", "n", True, "f(n=True)"),
    ("f((a))", "n", 1, "f((a), n=1)"),
]


@pytest.mark.parametrize(("text", "argument", "to", "expected"), ARGUMENTS)
def test_set_argument_finds_its_parameter(text: str, argument: str, to: object, expected: str) -> None:
    assert after("set-argument", text, text, "call", argument=argument, to=to) == expected


def test_set_argument_follows_a_class_of_the_same_file() -> None:
    text = "class Net:\n    def __init__(self, width, depth):\n        pass\n\nnet = Net(8, 2)"
    assert after("set-argument", text, "Net(8, 2)", "call", argument="depth", to=3).endswith("Net(8, 3)")


def test_a_value_that_is_no_expression_is_refused() -> None:
    with pytest.raises(EditError):
        after("set-argument", "f(1)", "f(1)", "call", argument=0, to="import os")


def test_a_write_into_a_loops_variable_that_nothing_reads_stays() -> None:
    for text, write in (("v.mul_(d).add_(s)", "v.mul_(d)"), ("v.mul_(d)", "v.mul_(d)"), ("v *= d", "v *= d")):
        with pytest.raises(EditError):
            after("out-of-place", f"for v in w:\n    {text}", write)
    text = "for v in w:\n    v.mul_(d).add_(s)\n    t += v"
    assert after("out-of-place", text, "v.mul_(d)").split("\n")[1] == "    v = v.mul(d).add(s)"


def test_entries_that_count_are_copied_where_others_are_averaged() -> None:
    text = "for v in w:\n    v *= d\n    v += s\n    n += 1"
    edited = after("float-only", text, "v *= d", value="v", other="s")
    body = ["if v.is_floating_point():", "    v *= d", "    v += s", "else:", "    v.copy_(s)", "n += 1"]
    assert edited.split("\n")[1:] == [f"    {one}" for one in body]
    returned = "def f(a, b):\n    return lerp(a, b, w)"
    with pytest.raises(EditError):
        after("float-only", returned, "lerp(a, b, w)", value="a", other="b")


BLOCK = """def f(x):
    # first
    a = 1
    with no_grad():
        b = 2
        # inner
        c = 3
    return a"""


def test_statements_move_appear_and_go_without_touching_others() -> None:
    block = "\n".join(line.strip() if "with" in line else line for line in BLOCK.split("\n")[3:7])
    assert after("unwrap-block", BLOCK, block).split("\n")[3:6] == ["    b = 2", "    # inner", "    c = 3"]
    assert after("delete-statement", BLOCK, "a = 1") == BLOCK.replace("    a = 1\n", "")
    moved = after("move-statement", BLOCK, "a = 1", after=place(source(BLOCK), "c = 3"))
    assert moved == BLOCK.replace("    a = 1\n", "").replace("        c = 3", "        c = 3\n        a = 1")
    assert after("insert-statement", BLOCK, "return a", "before", text="a += 1").endswith("    a += 1\n    return a")


def test_the_last_statement_of_a_block_leaves_pass() -> None:
    assert after("delete-statement", "if x:\n    y = 1", "y = 1") == "if x:\n    pass"


def test_an_edit_that_would_not_parse_is_refused() -> None:
    file = source("x = 1")
    with pytest.raises(EditError):
        changed(file, [(Span("net.py", 1, 5, 1, 6), "(")])


def test_before_must_be_what_the_file_holds() -> None:
    with pytest.raises(EditError):
        applied("x = 2\n", [Edit("net.py", 1, 1, "x = 1", "x = 3")])


def test_a_rule_offers_no_candidate_for_a_missing_place() -> None:
    scene = SimpleNamespace(source=lambda _: None)
    assert list(candidates(scene, {"kind": "cast", "at": "x", "method": "float"}, {"x": None})) == []


NAMES = st.sampled_from(["x", "self.fc", "données", "y[0]", "变量"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, st.sampled_from(["", "  # 注释", "  # é"])), min_size=1, max_size=6), st.data())
def test_all_that_is_not_edited_stays_byte_for_byte(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    text = "\n".join(f"v{i} = f({name}, {i}){comment}" for i, (name, comment) in enumerate(rows)) + "\n"
    file = Source("net.py", tuple(text.split("\n")[:-1]), ast.parse(text))
    at = data.draw(st.integers(0, len(rows) - 1))
    call = file.tree.body[at].value.args[0]
    edits = edit(SimpleNamespace(source=lambda _: file), "insert-method", at=Place(file, call), method="long")
    lines, new = text.split("\n"), applied(text, edits).split("\n")
    assert [line for i, line in enumerate(new) if i != at] == [line for i, line in enumerate(lines) if i != at]
    name, comment = rows[at]
    assert new[at] == f"v{at} = f({name}.long(), {at}){comment}"


SOFTMAXES = [
    (
        "def f(x):\n    e = torch.exp(x)\n    return e / e.sum(dim=1, keepdim=True)\n",
        "torch.exp(x)",
        "def f(x):\n    return torch.softmax(x, dim=1)\n",
    ),
    (
        "def f(x, i):\n    e = (x / 2).exp()\n    n = e.sum(1)\n    p = e[i] / n\n    return p.log(), n\n",
        "(x / 2).exp()",
        "def f(x, i):\n    e = (x / 2).exp()\n    n = e.sum(1)\n"
        "    return ((x / 2)[i] - torch.logsumexp((x / 2), dim=1)), n\n",
    ),
]


@pytest.mark.parametrize(("code", "at", "wanted"), SOFTMAXES)
def test_a_softmax_by_hand_is_computed_by_torch(code, at, wanted):
    """Shares and their logs come from the scores themselves; what is still read stays."""
    assert after("log-domain", code, at) == wanted


def test_an_exp_without_a_ratio_stays():
    """A positive scale is no softmax."""
    with pytest.raises(EditError):
        after("log-domain", "s = torch.exp(a)\ny = x * s\n", "torch.exp(a)")


def test_statements_of_a_block_are_wrapped_together():
    """From the first write through the last, with what stands between them."""
    code = "if a:\n    w -= g\n    n += 1\n    b -= h\n    c()\n"
    file = source(code)
    each = tuple(place(file, text) for text in ("w -= g", "b -= h"))
    edits = edit(SimpleNamespace(source=lambda _: file), "wrap-blocks", each=each, header="with torch.no_grad():")
    wanted = "if a:\n    with torch.no_grad():\n        w -= g\n        n += 1\n        b -= h\n    c()\n"
    assert applied(code, edits) == wanted


def test_several_writes_are_made_without_writing():
    """A part is written into a copy, made once; the rest becomes a new tensor."""
    code = "def f(a, b):\n    a += 1\n    b[0] = 2\n    b[1] *= 3\n    return a, b\n"
    file = source(code)
    each = tuple(place(file, text) for text in ("a += 1", "b[0] = 2", "b[1] *= 3"))
    edits = edit(SimpleNamespace(source=lambda _: file), "all-out-of-place", each=each)
    wanted = "def f(a, b):\n    a = a + 1\n    b = b.clone()\n    b[0] = 2\n    b[1] *= 3\n    return a, b\n"
    assert applied(code, edits) == wanted
