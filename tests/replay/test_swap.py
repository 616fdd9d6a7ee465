"""Edited source in force in the live process: what a constructor was given is read off the layers that it built."""

from __future__ import annotations

import sys
import types

import pytest

torch = pytest.importorskip("torch")

CODE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width, code):
        super().__init__()
        self.down = nn.Linear(width, code)
        self.up = nn.Linear(width, out_features=code)

    def forward(self, x):
        return self.up(self.down(x))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    file = tmp_path / "nets.py"
    file.write_text(CODE)
    made = types.ModuleType("nets_to_swap")
    made.__file__ = str(file)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(CODE, str(file), "exec"), vars(made))
    return made


def test_a_changed_layer_is_built_again_with_what_the_constructor_was_given(module):
    from explainer.replay.swap import swap

    net = module.Net(9, 6)
    edited = CODE.replace("nn.Linear(width, out_features=code)", "nn.Linear(code, out_features=width)")
    assert swap(module.__file__, CODE, edited, [vars(module)])
    assert (net.up.in_features, net.up.out_features) == (6, 9)
    assert net(torch.rand(2, 9)).shape == (2, 9)


def test_a_changed_statement_of_a_constructor_finds_its_local_names(tmp_path, monkeypatch):
    """A table that a constructor fills before it keeps it has to be filled anew."""
    from explainer.replay.swap import swap

    kept = "scale = torch.ones(width)\n        scale[0] = code\n        self.scale = scale"
    code = CODE.replace("self.up =", f"{kept}\n        self.up =")
    (tmp_path / "scaled.py").write_text(code)
    made = types.ModuleType("nets_with_locals")
    made.__file__ = str(tmp_path / "scaled.py")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(code, made.__file__, "exec"), vars(made))
    net = made.Net(3, 2)
    assert swap(made.__file__, code, code.replace("self.scale = scale", "self.scale = -scale"), [vars(made)])
    assert net.scale.tolist() == [-2, -1, -1]


def test_a_changed_function_runs_its_new_code(module):
    from explainer.replay.swap import swap

    net = module.Net(6, 6)
    assert swap(module.__file__, CODE, CODE.replace("self.up(self.down(x))", "self.down(x) * 0"), [vars(module)])
    assert net(torch.rand(2, 6)).abs().sum() == 0


def test_arguments_are_swapped_only_where_both_are_given_and_differ():
    from explainer.diagnosis import Span
    from explainer.edits.kinds.arguments import swap_arguments
    from explainer.edits.lines import EditError, applied
    from explainer.edits.place import place_of
    from explainer.source import parsed_source

    def edited(code):
        source = parsed_source("net.py", code)
        place = place_of(lambda _: source, Span("net.py", 1, 1, 1, len(code) + 1))
        return applied(code, list(swap_arguments(place, "in_features", "out_features")))

    assert edited("nn.Linear(a, out_features=b + 1)") == "nn.Linear(b + 1, out_features=a)"
    for code in ("nn.Linear(a, a)", "nn.Linear(a)"):
        with pytest.raises(EditError):
            edited(code)
