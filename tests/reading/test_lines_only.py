"""Python 3.10 keeps no columns: the expression that failed, or that a replay recorded, is found by name on its line."""

import ast

import pytest

from explainer.probes.named import operation_at
from explainer.replay.recorders import numbered
from explainer.source import failing_node, parsed_source


@pytest.mark.parametrize(
    ("line", "names", "found"),
    [
        ("y = net(x).detach().mean()", ["detach"], "net(x).detach()"),
        ("y = F.relu(self.norm(x), inplace=True)", ["relu_"], "F.relu(self.norm(x), inplace=True)"),
        ("y = self.head(self.act(x))", ["relu_", "act"], "self.act(x)"),
        ("y = loss / count + 1", ["truediv"], "loss / count"),
        ("y = 1 - loss", ["rsub"], "1 - loss"),
        ("y += a * b", ["__iadd__"], "y += a * b"),
        ("mask = net(x) > 0.5", ["gt"], "net(x) > 0.5"),
        ("state[0] = net(x)", ["__setitem__"], "state[0]"),
        ("w = layer.weight.data", ["data"], "layer.weight.data"),
        ("for part in net(x).split(2): part.add_(total)", ["split"], "net(x).split(2)"),
        ("loss.backward()", ["AccumulateGrad"], "loss.backward()"),
    ],
)
def test_an_operation_is_found_on_its_line_by_name(line, names, found):
    source = parsed_source("x.py", line)
    node = operation_at(source, 1, names)
    assert node is not None
    assert source.text(node) == found


@pytest.mark.parametrize(
    ("line", "names"),
    [("y = a.detach() + b.detach()", ["detach"]), ("y = f(g(x))", ["item"]), ("y = x", ["item"]), ("f(x)", [])],
)
def test_where_several_or_none_could_be_meant_no_expression_is_taken(line, names):
    assert operation_at(parsed_source("x.py", line), 1, names) is None


class Refusing:
    def refuse(self, *_):
        raise ValueError

    __iadd__ = __iter__ = __bool__ = __getitem__ = refuse


def add_in_place(x):
    x += abs(1)


def asserted(x):
    assert x, abs(1)


def called(x):
    return abs(x[0])


@pytest.mark.parametrize("function", [add_in_place, asserted, called])
def test_a_call_on_the_line_is_not_blamed_for_another_instruction(function):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        function(Refusing())
    trace = caught.tb.tb_next
    failing = failing_node(trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    assert failing is not None
    assert not isinstance(failing.node, ast.Call)


@pytest.mark.skipif(not numbered.NEEDED, reason="from Python 3.11 on code keeps columns")
@pytest.mark.parametrize(
    "expression",
    ["x.missing", "x.hex(\n  2)", "abs(x['k'])", "f(x,\n  *2)", "x + (1 / 0)", "x.real(1)", "sum(x @ x, 1)"],
)
def test_a_numbered_program_tells_the_node_of_every_instruction(expression):
    source = parsed_source("numbered.py", f"y = 1\nx = 1.5; z = abs(\n{expression})")
    outer = ast.parse(f"({expression})").body[0].value
    failing = {"abs(x['k'])": "x['k']", "x + (1 / 0)": "1 / 0", "sum(x @ x, 1)": "x @ x", "f(x,\n  *2)": "f"}
    tree = ast.parse("\n".join(source.lines))
    numbered.number(tree, "numbered.py")
    with pytest.raises(Exception) as caught:  # noqa: PT011
        exec(compile(tree, "numbered.py", "exec"), {})
    trace = caught.tb.tb_next
    bounds = numbered.bounds(trace.tb_frame.f_code, trace.tb_lasti)
    assert bounds is not None
    assert source.text(source.node_at(*bounds)) == failing.get(
        expression, ast.get_source_segment(f"({expression})", outer)
    )
    assert numbered.line("numbered.py", trace.tb_lineno) == bounds[0]
