"""Labels that are the numbers of something else: the head is not made as wide as the largest of them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

CODES = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    codes = [11, 52, 30] * 4
    labels = torch.tensor(codes)
    rows = TensorDataset(torch.rand(12, 3), labels)
    net = nn.Linear(3, len(set(codes)))
    for x, y in DataLoader(rows, batch_size=6):
        nn.functional.cross_entropy(net(x), y).backward()
    """


def test_a_head_is_not_made_as_wide_as_the_largest_code(runner: Runner) -> None:
    assert_never_offered(runner, CODES, "53")


#: Where an answer begins and ends is counted from the whole text already as the samples are put together.
TWICE = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    def encoded(sample):
        head = [1, *sample["question"], 2]
        ids = [*head, *sample["text"], 2]
        return {"ids": ids, "shift": len(head), "start": sample["at"] + len(head), "end": sample["at"] + 2 + len(head)}
    def collate(rows):
        ids = torch.tensor([row["ids"] for row in rows])
        shift = torch.tensor([row["shift"] for row in rows])
        start = torch.tensor([row["start"] for row in rows]) + shift
        end = torch.tensor([row["end"] for row in rows]) + shift
        return ids, start, end
    class Reader(nn.Module):
        def __init__(self, words=30):
            super().__init__()
            self.embed = nn.Embedding(words, 8)
            self.out = nn.Linear(8, 2)
        def forward(self, ids):
            return self.out(self.embed(ids)).unbind(-1)
    def cost(first, last, start, end):
        return nn.functional.cross_entropy(first, start) + nn.functional.cross_entropy(last, end)
    samples = [{"question": [4, 5, 6, 7], "text": list(range(8, 20)), "at": at % 5 + 4} for at in range(24)]
    net = Reader()
    for ids, start, end in DataLoader([encoded(one) for one in samples], 6, collate_fn=collate):
        cost(*net(ids), start, end).backward()
    """


def test_labels_that_are_shifted_twice_are_left_as_they_came(runner: Runner) -> None:
    assert_repaired(runner, TWICE, 'row["start"]', 'torch.tensor([row["start"] for row in rows])')


#: Tokens of the prompt are marked by -100, and left out of the sum; the mark is looked up all the same.
MARKED = """
    import torch
    NO_ANSWER = -100
    def likelihood(scores, labels):
        counts = labels != NO_ANSWER
        told = scores.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        return (told * counts).sum(-1)
    labels = torch.randint(0, 7, (4, 5))
    labels[:, :2] = NO_ANSWER
    scores = torch.rand(4, 5, 7, requires_grad=True)
    likelihood(scores, labels).sum().backward()
    """


def test_a_mark_that_is_left_out_later_is_looked_up_as_nothing(runner: Runner) -> None:
    assert_repaired(runner, MARKED, "told = scores", "labels.unsqueeze(-1).clamp(min=0)")


def test_a_negative_index_that_no_program_tells_apart_is_not_brought_to_nothing(runner: Runner) -> None:
    assert_never_offered(runner, MARKED.replace("labels != NO_ANSWER", "labels.bool()"), "clamp(min=0)")


#: The edges between classes are marked; the loss is made of what a dict says.
REGISTERED = """
    import torch
    from torch import nn
    LOSSES = {"ce": nn.CrossEntropyLoss}
    SETTINGS = {"loss": {"name": "ce", "label_smoothing": 0.05}}
    def build(settings):
        given = dict(settings)
        return LOSSES[given.pop("name")](**given)
    label = (torch.arange(24) * 4 // 24).expand(6, 24).clone()
    label[:, 1:][label[:, 1:] != label[:, :-1]] = 255
    net, cost = nn.Conv1d(3, 4, 3, padding=1), build(SETTINGS["loss"])
    for x, y in zip(torch.rand(6, 3, 24).split(2), label.split(2)):
        cost(net(x), y).backward()
    """


def test_a_loss_that_a_registry_makes_is_told_which_label_is_a_mark(runner: Runner) -> None:
    assert_repaired(runner, REGISTERED, "return LOSSES", "(**given, ignore_index=255)")
