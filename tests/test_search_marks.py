"""The search where the number by which losses leave out padding is looked up in a table of words."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

TEACHER = """
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence
    START, END, PAD = 0, 1, 2
    class Captioner(nn.Module):
        def __init__(self, words=9, width=6):
            super().__init__()
            self.words = nn.Embedding(words, width, padding_idx=PAD)
            self.rnn, self.head = nn.GRU(width, width, batch_first=True), nn.Linear(width, words)
        def forward(self, goal):
            start = goal.new_full((len(goal), 1), START)
            given = torch.cat([start, goal[:, :-1]], dim=1)
            hidden, _ = self.rnn(self.words(given))
            return nn.functional.cross_entropy(self.head(hidden).transpose(1, 2), goal)
    goal = pad_sequence([torch.tensor([5, 4, END]), torch.tensor([END])], batch_first=True, padding_value=-100)
    Captioner()(goal).backward()
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "targets moved by one step": (
        TEACHER, "given = torch.cat(", "given = given.masked_fill(given < 0, self.words.padding_idx)"),
    "the mark is a field of the settings": (
        """
        import torch
        from dataclasses import dataclass
        from torch import nn
        @dataclass
        class Settings:
            words: int = 8
            ignored_label: int = 0
            ignore_label: int = -1
        cfg = Settings()
        def given_for(labels):
            out = torch.zeros_like(labels)
            out[:, 1:] = labels[:, :-1]
            return out
        table, head = nn.Embedding(cfg.words, 5), nn.Linear(5, cfg.words)
        labels = torch.tensor([[3, 4, 7, 2], [6, 2, -1, -1]])
        def cost(labels):
            before = given_for(labels)
            scores = head(table(before))
            return nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten(), ignore_index=cfg.ignore_label)
        cost(labels).backward()
        """, "before = given_for(labels)", "before = before.masked_fill(before < 0, 0)"),
    "labels that the loss reads as well stay as they are": (
        """
        import torch
        from torch import nn
        table, head = nn.Embedding(8, 5), nn.Linear(5, 8)
        def cost(ids, real):
            labels = ids.masked_fill(~real, -100)
            scores = head(table(labels))
            return nn.functional.cross_entropy(scores.transpose(1, 2), labels)
        cost(torch.tensor([[3, 4], [6, 0]]), torch.tensor([[True, True], [True, False]])).backward()
        """, "scores = head(table(labels))", "table(labels.masked_fill(labels < 0, 0))"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_padding_of_labels_is_looked_up_as_padding(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_negative_id_that_is_computed_is_no_mark(runner: Runner) -> None:
    program = TEACHER.replace("padding_value=-100", "padding_value=PAD").replace("goal[:, :-1]]", "goal[:, :-1] - 100]")
    assert_never_offered(runner, program, "masked_fill")
