"""The search where a sequence, a map or a row has more entries, or fewer, than what is beside it has for a sample."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: A decoder of words behind a picture, and a tagger of steps with a token for the whole.
_SPEAKER = """
        import torch
        from torch import nn
        class Speaker(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.rnn, self.out = nn.Embedding(9, 4), nn.RNN(4, 5, batch_first=True), nn.Linear(5, 9)
            def forward(self, picture, text):
                said = {said}
                return self.out(self.rnn(torch.cat([picture[:, None], said], 1))[0])
        text = torch.randint(0, 9, (3, 6))
        scores = Speaker()(torch.rand(3, 4), text)
        nn.functional.cross_entropy(scores.flatten(0, 1), text.flatten()).backward()
        """
_TAGGER = """
        import torch
        from torch import nn
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.whole = nn.Parameter(torch.zeros(1, 1, 4))
                self.mix = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
                self.out = nn.Linear(4, 3)
            def forward(self, x):
                x = torch.cat(({order}), dim=1)
                return self.out(self.mix(x))
        scores = Tagger()(torch.rand(2, 5, 4))
        nn.CrossEntropyLoss()(scores.transpose(1, 2), torch.zeros(2, 5).long()).backward()
        """
_IN_FRONT, _BEHIND = "self.whole.expand(len(x), 1, 4), x", "x, self.whole.expand(len(x), 1, 4)"

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "words that are their own targets, behind a picture": (
        _SPEAKER.format(said="self.words(text)"), "said = self.words(text)", "self.words(text[:, :-1])"),
    "a token in front of steps with a label each": (
        _TAGGER.format(order=_IN_FRONT), "self.out(self.mix(x))", "self.out(self.mix(x))[:, 1:]"),
    "images twice as large as a critic halves them": (
        """
        import torch
        from torch import nn
        settings = {"side": 32, "width": 4}
        def critic(width):
            return nn.Sequential(nn.Conv2d(1, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1), nn.ReLU(),
                                 nn.Conv2d(width, 1, 4))
        def photos(n, side):
            return nn.functional.interpolate(torch.rand(n, 1, 5, 5), size=(side, side))
        net = critic(settings["width"])
        nn.BCEWithLogitsLoss()(net(photos(6, settings["side"])).view(-1), torch.ones(6)).backward()
        """, '"side": 32', '"side": 16'),
    "a map of scores for classes that is folded into the batch": (
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1))
        x, y = torch.rand(6, 1, 10, 10), torch.zeros(6).long()
        nn.CrossEntropyLoss()(net(x).view(-1, 4), y).backward()
        """, "net(x).view(-1, 4)", "net(x).mean(dim=(2, 3)).view(-1, 4)"),
    "one style for all steps of a sample": (
        """
        import torch
        from torch import nn
        steps, styles = torch.rand(3, 6, 2), nn.Embedding(4, 5)
        style = styles(torch.tensor([0, 3, 1]))
        both = torch.cat([steps, style], dim=-1)
        nn.Linear(7, 1)(both).sum().backward()
        """, "torch.cat([steps, style]", "style.unsqueeze(1).expand(-1, steps.size(1), -1)"),
    "a scale and a shift for all places of a map": (
        """
        import torch
        from torch import nn
        scale, shift = nn.Linear(2, 6)(torch.rand(4, 2)).chunk(2, -1)
        x = nn.Conv2d(1, 3, 3)(torch.rand(4, 1, 9, 9))
        (scale * x + shift).mean().backward()
        """, "scale * x + shift", "scale[:, :, None, None] * x + shift[:, :, None, None]"),
    "distances of each row to each centre": (
        """
        import torch
        from torch import nn
        rows, centres = nn.Linear(2, 3)(torch.rand(7, 2)), torch.rand(4, 3)
        near = (rows - centres).pow(2).sum(-1)
        nn.functional.cross_entropy(-near, torch.zeros(7).long()).backward()
        """, "near = (rows - centres)", "rows.unsqueeze(1) - centres"),
    "a table of positions for images of another side": (
        """
        import torch
        from torch import nn
        side, patch = 16, 4
        table = nn.Parameter(torch.zeros(1, (side // patch) ** 2, 3))
        x = nn.Conv2d(1, 3, patch, patch)(torch.rand(2, 1, 24, 24)).flatten(2).transpose(1, 2)
        (x + table).sum().backward()
        """, "side, patch = 16, 4", "side, patch = 24, 4"),
    "a dilated convolution beside a skip": (
        """
        import torch
        from torch import nn
        wide, near = nn.Conv1d(2, 2, 3, dilation=4), nn.Conv1d(2, 2, 1)
        x = torch.rand(1, 2, 20)
        (wide(x) + near(x)).sum().backward()
        """, "wide, near", 'padding="same"'),
    "one column of each row": (
        """
        import torch
        from torch import nn
        values = nn.Linear(3, 4)(torch.rand(5, 3))
        taken = values.gather(1, torch.tensor([0, 1, 3, 2, 2]))
        nn.functional.mse_loss(taken, torch.rand(5)).backward()
        """, "values.gather", ".unsqueeze(1)).squeeze(1)", "suggestion"),  # as `.unsqueeze(0)` runs too
    "a token behind steps with a label each": (
        _TAGGER.format(order=_BEHIND), "self.out(self.mix(x))", "self.out(self.mix(x))[:, :-1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_fault_is_blamed_and_repaired(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_words_that_are_too_few_are_not_cut(runner: Runner) -> None:
    """The picture is one place beside five words: that makes the six that are wanted of seven which came."""
    assert_never_offered(runner, _SPEAKER.format(said="self.words(torch.cat([text, text], 1))"), "[:, :-1]")


def test_a_map_of_labels_is_not_averaged(runner: Runner) -> None:
    """Where each place has its label, a map that is larger than that of the labels is no result for an image."""
    program = """
        import torch
        from torch import nn
        net = nn.Conv2d(1, 4, 3, padding=1)
        x, y = torch.rand(6, 1, 10, 10), torch.zeros(6, 8, 8).long()
        nn.CrossEntropyLoss()(net(x), y).backward()
        """
    assert_never_offered(runner, program, ".mean(")


def test_rows_of_another_batch_are_not_paired_with_each(runner: Runner) -> None:
    """A mean of differences goes row by row: that one has other rows is another fault."""
    program = """
        import torch
        from torch import nn
        made, wanted = nn.Linear(2, 3)(torch.rand(8, 2)), torch.rand(4, 3)
        ((made - wanted) ** 2).sum(-1).mean().backward()
        """
    assert_never_offered(runner, program, "unsqueeze(1)")
