"""Layers are called as in the model, also where a trainer of a library calls it; stacked RNNs are shown as such."""

from __future__ import annotations

import sys

import pytest

import explainer

torch = pytest.importorskip("torch")

LIBRARY = """
from torch import nn

class Trainer:
    def __init__(self, model, data):
        self.model, self.data = model, data

    def train(self):
        for batch in self.data:
            self.model(batch)

class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(100, 8)

    def forward(self, ids):
        return self.word_embeddings(ids)

class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = nn.Sequential()
        self.bert.embeddings = Embeddings()

    def forward(self, ids):
        return self.bert(ids)
"""


def said(work):
    with pytest.raises((RuntimeError, IndexError)) as caught:
        work()
    (report,) = explainer.explain(caught.value, replay=False).reports
    return report.diagnoses[0]


def test_a_layer_below_a_trainer_is_called_as_in_the_model(tmp_path, monkeypatch):
    library = tmp_path / "site-packages" / "some_trainer.py"
    library.parent.mkdir()
    library.write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(library.parent))
    from some_trainer import Bert, Trainer

    found = said(lambda: Trainer(Bert(), [torch.full((2, 4), 120)]).train())
    assert found.rule == "embedding-index-range"
    assert "bert.embeddings.word_embeddings has rows 0 to 99" in found.headline
    assert "Trainer" not in found.headline
    sys.modules.pop("some_trainer")


def test_a_stacked_bidirectional_rnn_is_shown_as_one():
    net = torch.nn.LSTM(8, 16, num_layers=2, bidirectional=True)
    found = said(lambda: net(torch.rand(2, 3, 9)))
    row = next(row.value for row in found.evidence if row.label == "net")
    assert row.startswith("LSTM(input_size=8, hidden_size=16, bidirectional=True, num_layers=2")
