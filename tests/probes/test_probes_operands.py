"""Facts about the failing call's operands, lists, datasets and layers, as live programs give them."""

from __future__ import annotations

import importlib.util
import sys
import types

import pytest

from explainer import probes
from explainer.live import crash_from
from explainer.probes.device import asked_cuda

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


@pytest.fixture
def fact(tmp_path, monkeypatch):
    """`fact(code, probe, **arguments)`: what a probe says of the error that a program raises."""
    monkeypatch.chdir(tmp_path)

    def of(code: str, probe: str, captures: dict | None = None, **arguments):
        file = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        file.write_text(code)
        module = types.ModuleType(file.stem)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, file.stem, module)
        try:
            exec(compile(code, str(file), "exec"), vars(module))
        except Exception as error:
            crash = crash_from(error, error.__traceback__, lambda raised: False)
            scene = probes.Scene(crash, probes.Options(), captures)
            return probes.find(probe)(scene, **arguments)
        raise AssertionError("the program was to raise an error")

    return of


@pytest.mark.parametrize(
    ("subscript", "dim", "index"),
    [("x[3]", 0, 3), ("x[:, -6]", 1, -6), ("x[..., 9]", 2, 9), ("x[None, 0, 7]", 1, 7), ("x[0, ..., 2:3, 4]", 2, 4)],
)
def test_the_number_outside_its_dimension_is_found_among_slices_none_and_ellipsis(fact, subscript, dim, index):
    found = fact(f"import torch\nx = torch.rand(3, 5, 4)\n{subscript}\n", "index_too_large")
    assert (found["dim"], found["index"]) == (dim, index)


def test_an_index_that_a_tensor_holds_is_not_taken_for_a_plain_number(fact):
    assert fact("import torch\nx = torch.rand(3)\ni = torch.tensor([5])\nx[i]\n", "index_too_large") is None


def test_two_numbers_that_could_be_the_dimension_name_none(fact):
    code = "import torch\ntorch.rand(3, 4).transpose(2, 2)\n"
    assert fact(code, "dimension", {"dim": 2}) is None


def test_the_condition_of_where_is_its_first_argument_or_follows_the_receiver(fact):
    setup = "import torch\na, c = torch.rand(2), torch.ones(2, dtype=torch.long)\n"
    assert fact(setup + "torch.where(c, a, a)\n", "mask_operand").name == "c"
    assert fact(setup + "a.where(c, a)\n", "mask_operand").name == "c"


def test_a_method_that_enters_a_function_with_its_tensor_first_gives_each_argument_its_own_value(fact):
    setup = (
        "import torch\nx = torch.rand(3, 2)\ndef mask():\n    return torch.ones(2, dtype=torch.bool, device='meta')\n"
    )
    given = fact(setup + "x.masked_fill(mask(), 0.0)\n", "call").arguments
    assert [(one.name, one.shape) for one in given[:2]] == [("x", (3, 2)), ("mask()", (2,))]


def test_rows_of_one_length_are_not_called_ragged(fact):
    assert fact("import torch\nrows = [[1, 'a'], [2, 'b']]\ntorch.tensor(rows)\n", "ragged_list") is None


def test_only_a_lone_place_that_asks_for_cuda_is_blamed(fact, monkeypatch):
    # Other modules of tests that are loaded ask for CUDA too.
    monkeypatch.setattr(asked_cuda, "sources", lambda scene: [scene.source(scene.live.user[-1].file)])
    code = "import torch\ndef f(x, device):\n    raise AssertionError\nf({0}, {1})\n"
    assert fact(code.format("1", "'cuda:1'"), "asked_cuda").text == "'cuda:1'"
    assert fact(code.format("'cuda'", "'cuda:1'"), "asked_cuda") is None  # the innermost frame asks for neither
    asked = "on = torch.cuda.is_available()\nd = 'cuda' if on else 'cpu'\n"
    assert fact(asked + code.format("1", "d"), "asked_cuda") is None
    lone = "import torch\nint('x', torch.device('cuda').index or 10)\n"
    assert fact(lone, "asked_cuda").text == "'cuda'"
    assert fact("import torch\nint('x' + 'cuda', {'cuda': 10}['cuda'])\n", "asked_cuda") is None


def test_a_function_that_may_end_without_return_gives_none_only_in_collate(fact):
    code = (
        "from torch.utils.data import DataLoader, Dataset\n"
        "class Rows(Dataset):\n"
        "    def __len__(self):\n"
        "        return 2\n"
        "    def __getitem__(self, i):\n"
        "        if i > {0}:\n"
        "            return 1.0\n"
    )
    assert fact(code.format(5) + "next(iter(DataLoader(Rows(), 2)))\n", "none_sample")["how"] == "end"
    assert fact(code.format(5) + "Rows()[0].numel()\n", "none_sample") is None


def test_a_layer_of_another_size_is_named_only_where_one_setting_explains_it(fact):
    code = (
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, a, b):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(a, b)\n"
        "Net({0}).load_state_dict(Net({1}).state_dict())\n"
    )
    found = fact(code.format("3, 4", "3, 7"), "resized_layer")
    assert (found["argument"], found["now"], found["to"]) == ("out_features", 4, 7)
    assert fact(code.format("3, 4", "5, 7"), "resized_layer") is None
