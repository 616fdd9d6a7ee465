"""Where an odd dtype entered: conversions are read from the source, and followed back across functions and loops."""

from __future__ import annotations

import ast

import pytest

from explainer.probes.dtype.conversions import converts, makes

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("x.half()", "float16"),
        ("x.to(torch.float)", "float32"),
        ("x.to(device)", None),
        ("x.astype(float)", "float64"),
        ("x.astype('int64')", "int64"),
        ("torch.zeros(3, dtype=torch.long)", "int64"),
        ("x.float(3)", None),
    ],
)
def test_a_conversion_says_its_dtype(code, dtype):
    assert converts(ast.parse(code, mode="eval").body) == dtype


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("a < b", "bool"),
        ("torch.randn(3)", "float32"),
        ("np.zeros(3)", "float64"),
        ("x.argmax(1)", "int64"),
        ("torch.tensor([1, 2.5])", "float32"),
        ("torch.tensor([1, n])", None),
        ("f(x)", None),
    ],
)
def test_what_is_computed_has_a_dtype_of_its_own(code, dtype):
    assert makes(ast.parse(code, mode="eval").body) == dtype


def line(tmp_path, code, error=RuntimeError):
    """The code that is blamed without a replay."""
    import runpy

    import explainer

    file = tmp_path / "main.py"
    file.write_text(code)
    with pytest.raises(error) as caught:
        runpy.run_path(str(file))
    report = explainer.explain(caught.value, replay=False).to_dict()["reports"][0]
    return report["diagnoses"][0]["culprit"]["code"]


NET = "import numpy as np\nimport torch\nfrom torch import nn\nnet = nn.Linear(3, 2)\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "def load():\n    data = np.random.rand(4, 3)\n    scaled = data / 2\n    return scaled, [0]\n"
            "rows, _ = load()\nx = torch.from_numpy(rows)\nnet(x)\n",
            "torch.from_numpy(rows)",
        ),
        (
            "def load():\n    return np.random.rand(4, 3).astype(np.float64)\n"
            "rows = load()\nx = torch.from_numpy(rows)\nnet(x)\n",
            "np.random.rand(4, 3).astype(np.float64)",
        ),
        (
            "from torch.utils.data import DataLoader, TensorDataset\n"
            "data = torch.rand(4, 3).double()\nids = torch.arange(4)\n"
            "loader = DataLoader(TensorDataset(ids, data), batch_size=2)\n"
            "for i, (_, x) in enumerate(loader):\n    net(x)\n",
            "torch.rand(4, 3).double()",
        ),
        (
            "def step(x):\n    return net(x)\nrows = torch.rand(4, 3)\nmany = rows.double()\nstep(many)\n",
            "rows.double()",
        ),
    ],
)
def test_a_dtype_is_followed_to_where_it_entered(tmp_path, code, expected):
    assert line(tmp_path, NET + code) == expected


def test_a_value_that_cannot_be_followed_is_blamed_where_it_is_used(tmp_path):
    stored = "import io\nfile = io.BytesIO()\ntorch.save(torch.rand(4, 3).double(), file)\nfile.seek(0)\n"
    assert line(tmp_path, NET + stored + "x = torch.load(file)\nnet(x)\n") == "x"


IDS = NET + "table = nn.Embedding(4, 2)\nlabels = torch.tensor([0, 1, 3])\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("labels = labels + 1\ntable(labels.view(3, 1))\n", "labels + 1"),
        ("later = labels - 1\nfor row in later.split(2):\n    table(row)\n", "labels - 1"),
        ("ids = torch.randint(0, 9, (40,))\ntable(ids)\n", "torch.randint(0, 9, (40,))"),
        ("many = torch.arange(len(labels) + 2)\ntable(many)\n", "nn.Embedding(4, 2)"),
    ],
)
def test_entries_out_of_range_are_followed_to_what_shifted_them(tmp_path, code, expected):
    """A count that a shape gave is no shift: then the table is too small."""
    assert line(tmp_path, IDS + code, IndexError) == expected
