"""Trials of what the search offers: under the first edit that holds, the program runs to its end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from crashes import LOOP, crashed, replacing  # noqa: E402

from explainer import remedies  # noqa: E402
from explainer.edits.generators.driver import recorded  # noqa: E402
from explainer.frozen import replace  # noqa: E402
from explainer.remedies import Remedy  # noqa: E402
from explainer.repair.blame import blamed  # noqa: E402
from explainer.replay.programs import checker  # noqa: E402

SEARCHED = {
    "a linear layer after flatten": (LOOP, "shape", "nn.Linear(4 * 6 * 6, 2)"),
    "a size that is a product of names": (
        """
        import torch
        from torch import nn
        WINDOW = 3
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.embed = nn.Embedding(9, width)
                self.out = nn.Linear(width, 2)
            def forward(self, ids):
                return self.out(self.embed(ids).flatten(1))
        Net(5)(torch.zeros(4, WINDOW, dtype=torch.long)).sum().backward()
        """, "shape", "nn.Linear(WINDOW * width, 2)"),
    "a literal in a configuration": (
        """
        import torch
        CONFIG = {"features": 6, "hidden": 8}
        net = torch.nn.Linear(CONFIG["features"], CONFIG["hidden"])
        net(torch.rand(2, 7)).sum().backward()
        """, "shape", '"features": 7'),
    "sizes of a loop that do not follow": (
        """
        import torch
        from torch import nn
        def layers(before, sizes):
            made = []
            for size in sizes:
                made.append(nn.Linear(before, size))
            return nn.Sequential(*made)
        layers(4, [8, 8, 3])(torch.ones(2, 4)).sum().backward()
        """, "shape", "before = size"),
    "a fixed batch size": (
        """
        import torch
        from torch import nn
        BATCH = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(3, 5, batch_first=True)
            def forward(self, x):
                return self.rnn(x, torch.zeros(1, BATCH, 5))[0]
        net = Net()
        for x in torch.ones(6, 2, 3).split(4):
            net(x).sum().backward()
        """, "shape", "torch.zeros(1, x.size(0), 5)"),
    "a mask without the dimensions of its scores": (
        """
        import torch
        def attend(scores, mask):
            return scores.masked_fill(mask, -1e9).softmax(-1)
        attend(torch.ones(3, 2, 5, 5), torch.zeros(3, 5, dtype=torch.bool)).sum()
        """, "shape", "mask[:, None, None, :]"),
    "a view that repeats a wrong size": (
        """
        import torch
        def grid(x):
            return x.view(-1, 2, 4, 4)
        grid(torch.ones(5, 18)).sum()
        """, "shape", "x.view(-1, 2, 3, 3)"),
    "channels last in the data": (
        """
        import numpy as np
        import torch
        def sample():
            return torch.from_numpy(np.random.rand(6, 6, 3).astype(np.float32))
        net = torch.nn.Conv2d(3, 2, 3)
        batch = torch.stack([sample(), sample()])
        net(batch).sum().backward()
        """, "shape", ".astype(np.float32)).permute(2, 0, 1)"),
    "samples of unequal length": (
        """
        import torch
        from torch.utils.data import DataLoader
        samples = [(torch.ones(2), 0), (torch.ones(3), 1)]
        for x, y in DataLoader(samples, batch_size=2):
            print(x.shape, y.shape)
        """, "shape", "def collate_padded(batch):"),
    "one-based labels": (
        """
        import torch
        from torch.nn.functional import cross_entropy
        scores = torch.ones(4, 3, requires_grad=True)
        labels = torch.tensor([1, 2, 3, 1])
        cross_entropy(scores, labels).backward()
        """, "index", "torch.tensor([1, 2, 3, 1]) - 1"),
    "a loop that ends one step late": (
        """
        import torch
        x = torch.ones(4, 2)
        steps = [x[i + 1] - x[i] for i in range(3)]
        for i in range(len(x)):
            steps.append(x[i + 1] - x[i])
        """, "index", "range(len(x) - 1)"),
    "a table that is too short": (
        """
        import torch
        class Places(torch.nn.Module):
            def __init__(self, longest=8):
                super().__init__()
                self.table = torch.nn.Embedding(longest, 3)
            def forward(self, x):
                return self.table(torch.arange(x.size(1)))
        Places()(torch.ones(2, 11)).sum().backward()
        """, "index", "longest=11"),
    "a count that leaves out one": (
        """
        import torch
        WORDS = ["a", "b"]
        table = torch.nn.Embedding(len(WORDS), 3)
        table(torch.tensor([0, 1, len(WORDS)])).sum().backward()
        """, "index", "len(WORDS) + 1"),
    "numpy's float64": (
        """
        import numpy as np
        import torch
        net = torch.nn.Linear(3, 1)
        data = torch.from_numpy(np.ones((2, 3)))
        net(data).sum().backward()
        """, "dtype", "torch.from_numpy(np.ones((2, 3))).float()"),
    "one minus a bool mask": (
        """
        import torch
        def outside(mask):
            return (1 - mask) * 2.0
        outside(torch.ones(3) > 0)
        """, "dtype", "(~mask) * 2.0"),
    "a part of the model in another dtype": (
        """
        import torch
        net = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 3), "b": torch.nn.Linear(3, 1)})
        class Both(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = net
                self.first = net["a"]
            def forward(self, x):
                return self.parts["b"](self.first(x.double()))
        both = Both()
        both.first.double()
        both(torch.ones(1, 2)).sum()
        """, "dtype", ("both.double()", "dtype=torch.float64")),
    "a view of memory in another order": (
        """
        import torch
        x = torch.ones(2, 3, 4).transpose(1, 2)
        y = x.view(2, 12)
        """, "view", "x.reshape(2, 12)"),
    "a write into expanded memory": (
        """
        import torch
        rows = torch.ones(1, 3).expand(4, 3)
        rows[:, 0] += 1
        """, "view", "expand(4, 3).clone()"),
    "more windows than fit": (
        """
        import torch
        def windows(signal, size, hop):
            return signal.as_strided((len(signal) // hop, size), (hop, 1))
        windows(torch.ones(20), 6, 4)
        """, "view", "signal.unfold(0, size, hop)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SEARCHED))
def test_the_search_finds_an_edit_under_which_the_program_runs(as_program: Path, name: str) -> None:
    program, family, expected = SEARCHED[name]
    scene = crashed(as_program, program, whole=True)
    best = remedies.of_search(family, scene, Remedy())
    texts = expected if isinstance(expected, tuple) else (expected,)
    assert any(text in (edit.after or "") for text in texts for edit in best.fixes[0].edits)
    assert best.culprit is not None
    assert os.path.basename(best.culprit.file) == "main.py"


@pytest.mark.parametrize(
    ("share", "wide", "named"),
    [(0.4, True, None), (0.6, True, "possible"), (0.97, False, "likely"), (0.97, True, "proved")],
)
def test_a_line_is_named_as_surely_as_its_share_of_all_survivors_says(as_program, monkeypatch, share, wide, named):
    scene = crashed(as_program, LOOP, whole=True)
    fits = replacing(as_program, 9, "4 * 5 * 5", "4 * 6 * 6")
    made = checker(scene)
    list(made.runs([fits], lambda _: None))
    found = blamed(made, recorded(scene))
    monkeypatch.setattr(remedies, "_widened", lambda *_: wide)
    monkeypatch.setattr(remedies, "_blamed", lambda *_: replace(found, share=share, counted=share))
    best = remedies.of_search("shape", scene, Remedy())
    assert (best.culprit is not None) == (named is not None)
    assert best.fixes[0].certainty == ("checked" if named else "suggestion")
    assert best.unsure == (named == "possible")
    assert best.proves == (named == "proved")
