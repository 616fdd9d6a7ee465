"""The search where sequences do not fit: states of recurrent layers, masks, tokens, steps and caches."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import OPEN, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a method that nothing calls, for lengths": (
        """
        import torch
        from torch import nn
        from torch.nn.utils.rnn import pack_padded_sequence
        class Front(nn.Module):
            def __init__(self):
                super().__init__()
                self.convs = nn.Sequential(nn.Conv1d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv1d(8, 8, 3, 2, 1))
            @staticmethod
            def left(lengths):
                for _ in range(2):
                    lengths = (lengths - 1) // 2 + 1
                return lengths
            def forward(self, x, lengths):
                return self.convs(x.transpose(1, 2)).transpose(1, 2), lengths
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.front, self.rnn = Front(), nn.GRU(8, 4, batch_first=True)
            def forward(self, x, lengths):
                x, lengths = self.front(x, lengths)
                return self.rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[1]
        Net()(torch.randn(3, 21, 3), torch.tensor([21, 17, 9])).sum().backward()
        """, "return self.convs", "self.left(lengths)"),
    "a mask of all steps where some are left out": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, most=12):
                super().__init__()
                self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 1)
                self.register_buffer("later", torch.ones(most, most, dtype=torch.bool).triu(1), persistent=False)
            def forward(self, x):
                steps = x.size(1)
                return self.layers(x, mask=self.later) / steps
        Net()(torch.rand(3, 11, 32)).mean().backward()
        """, "return self.layers(x, mask=self.later)", "self.later[:steps, :steps]"),
    "lengths that lack one step, where the longest is not among the first": (
        """
        import torch
        from torch import nn
        def shorter(length, kernel, stride):
            return (length - kernel) // stride
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.front = nn.Sequential(nn.Conv1d(20, 32, 5, 2), nn.GELU(), nn.Conv1d(32, 32, 3, 2))
                self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 1)
            def forward(self, seen, lengths):
                x = self.front(seen.transpose(1, 2)).transpose(1, 2)
                for kernel in (5, 3):
                    lengths = shorter(lengths, kernel, 2)
                beyond = torch.arange(int(lengths.max()))[None] >= lengths[:, None]
                return self.layers(x.masked_fill(beyond.unsqueeze(-1), 0.0), src_key_padding_mask=beyond)
        Net()(torch.rand(8, 97, 20), torch.tensor([61, 75, 44, 52, 80, 97, 66, 71])).mean().backward()
        """, "return (length - kernel) // stride", "(length - kernel) // stride + 1"),
    "the mask of new steps, where keys of before are kept": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, dim=16):
                super().__init__()
                self.maps = nn.Linear(dim, 3 * dim)
            def forward(self, x, cache=None):
                steps = x.shape[1]
                start = 0 if cache is None else cache[0].shape[1]
                hidden = torch.ones(steps, steps, dtype=torch.bool).triu(1)
                q, k, v = self.maps(x).chunk(3, -1)
                if cache is not None:
                    k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
                scores = (q @ k.transpose(1, 2)).masked_fill(hidden, float("-inf"))
                return scores.softmax(-1) @ v, (k, v)
        net, cache = Net(), None
        for part in torch.rand(2, 12, 16).split([5, 3, 4], 1):
            out, cache = net(part, cache)
        out.mean().backward()
        """, "hidden = torch.ones(steps, steps", "torch.ones(steps, start + steps, dtype=torch.bool).triu(start + 1)"),
    "a mask made before the layers that make sequences shorter": (
        """
        import torch
        from torch import nn
        def padding(lengths, most):
            return torch.arange(most).unsqueeze(0) >= lengths.unsqueeze(1)
        class Front(nn.Module):
            def __init__(self, wide, dim):
                super().__init__()
                self.conv = nn.Conv1d(wide, dim, 3, stride=2, padding=1)
            def forward(self, x, lengths):
                return torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2), (lengths + 1) // 2
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.front = Front(20, 32)
                self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 1)
            def forward(self, seen, lengths):
                mask = padding(lengths, seen.size(1))
                x, steps = self.front(seen, lengths)
                return self.layers(x, src_key_padding_mask=mask), steps
        Net()(torch.rand(3, 40, 20), torch.tensor([40, 31, 22]))[0].mean().backward()
        """, "mask = padding(lengths, seen.size(1))", "mask = padding(steps, x.size(1))"),
    "what two parts of a condition lack, each in its own term": (
        """
        import torch
        from torch import nn
        class Film(nn.Module):
            def __init__(self, given, channels):
                super().__init__()
                self.affine = nn.Linear(given, 2 * channels)
            def forward(self, x, told):
                scale, shift = self.affine(told).chunk(2, dim=-1)
                return (1.0 + scale) * x + shift
        film, out = Film(3, 12), nn.Conv1d(12, 4, 5)
        out(film(torch.rand(8, 12, 256), torch.rand(8, 3))).mean().backward()
        """, "return (1.0 + scale) * x + shift", ".unsqueeze(-1) * x + shift.unsqueeze(-1)"),
    "the last sample is taken, not the last step": (
        """
        import torch
        from torch import nn
        class Verdict(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.out = nn.GRU(2, 4, batch_first=True), nn.Linear(4, 3)
            def forward(self, x):
                steps, _ = self.rnn(x)
                return self.out(steps[-1])
        scores = Verdict()(torch.rand(5, 7, 2))
        nn.functional.cross_entropy(scores, torch.tensor([0, 1, 2, 1, 0])).backward()
        """, "steps[-1]", "steps[:, -1]"),
    "a token is put in front, and the mask of padding has no place for it": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        def padding(lengths, total):
            return torch.arange(total)[None] >= lengths[:, None]
        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Parameter(torch.zeros(1, 1, 8))
                self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            def embed(self, x):
                return torch.cat([self.first.expand(len(x), -1, -1), x], dim=1)
            def forward(self, x, lengths):
                mask = padding(lengths, x.size(1))
                tokens = self.embed(x)
                return self.layer(tokens, src_key_padding_mask=mask)[:, 0]
        Reader()(torch.randn(3, 5, 8), torch.tensor([5, 3, 4])).sum().backward()
        """, "lengths[:, None]", ".pad(torch.arange(total)[None] >= lengths[:, None], (1, 0))"),
    "lengths are counted as if the layers before padded their input": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Reader(nn.Module):
            def __init__(self, kernel=3, stride=2):
                super().__init__()
                self.kernel, self.stride = kernel, stride
                self.rows = nn.ModuleList([nn.Conv1d(4, 4, kernel, stride), nn.Conv1d(4, 4, kernel, stride)])
                self.layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
            def shorter(self, lengths):
                for _ in self.rows:
                    lengths = torch.div(lengths + self.stride - 1, self.stride, rounding_mode="floor")
                return lengths
            def forward(self, x, lengths):
                for row in self.rows:
                    x = row(x)
                steps = self.shorter(lengths)
                mask = torch.arange(int(steps.max()))[None] >= steps[:, None]
                return self.layer(x.transpose(1, 2), src_key_padding_mask=mask)
        Reader()(torch.randn(3, 4, 50), torch.tensor([50, 41, 30])).mean().backward()
        """, "torch.div(lengths", "lengths - self.kernel"),
    "a decoder is given the whole of what its labels are the next steps of": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Writer(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.cell, self.out = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
            def forward(self, words):
                return self.out(self.cell(self.table(words))[0])
        def loss_of(scores, labels):
            return nn.functional.cross_entropy(scores.reshape(-1, 9), labels.reshape(-1))
        writer = Writer()
        words = torch.randint(9, (4, 6))
        scores = writer(words)
        loss_of(scores, words[:, 1:]).backward()
        """, "writer(words)", "writer(words[:, :-1])"),
    "a state repeated along the batch": (
        """
        import torch
        from torch import nn
        class Scores(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(2 * width, 1)
            def forward(self, state, memory):
                query = state.repeat(1, memory.size(1), 1)
                return self.mix(torch.cat([query, memory], dim=2))
        memory, state = nn.GRU(3, 5, batch_first=True)(torch.rand(4, 6, 3))
        Scores(5)(state, memory).sum().backward()
        """, "state.repeat(1", "state.transpose(0, 1).repeat(", OPEN),
    "rows of both directions cut in two by a view": (
        """
        import torch
        from torch import nn
        class Speller(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.width = width
                self.rnn = nn.LSTM(5, width, batch_first=True, bidirectional=True)
                self.out = nn.Linear(width, 4)
            def forward(self, x):
                states, _ = self.rnn(x)
                return self.out(states.contiguous().view(-1, self.width))
        nn.functional.cross_entropy(Speller(6)(torch.rand(3, 7, 5)), torch.arange(21) % 4).backward()
        """, "nn.LSTM(5, width", "width // 2", OPEN),
    "labels made once for full batches, of which the last has fewer": (
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        size = 4
        judge, real = nn.Linear(3, 1), torch.ones(size, 1)
        for images, in DataLoader(TensorDataset(torch.rand(10, 3)), batch_size=size):
            nn.functional.binary_cross_entropy_with_logits(judge(images), real).backward()
        """, "judge(images)", "real[:images.size(0)]"),
    "two states sized by the wrong dimension of the input": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(4, 6, batch_first=True)
            def forward(self, x):
                h = torch.zeros(1, x.size(1), 6)
                c = torch.zeros(1, x.size(1), 6)
                return self.rnn(x, (h, c))[0]
        Net()(torch.rand(5, 9, 4)).sum().backward()
        """, "h = torch.zeros", "x.size(0)"),
    "a mask of padding turned where it was right": (
        """
        import torch
        from torch import nn
        layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        words = nn.Embedding(20, 8)
        def padded(ids):
            return (ids == 0).T
        ids = torch.randint(1, 20, (6, 11))
        layer(words(ids), src_key_padding_mask=padded(ids)).mean().backward()
        """, "return (ids == 0).T", "return ids == 0"),
    "the last batch of a loop has fewer rows than its labels": (
        """
        import torch
        from torch import nn
        judge = nn.Linear(6, 1)
        for step in range(3):
            real = torch.rand(8 if step < 2 else 5, 6)
            right = torch.ones(8, 1)
            nn.functional.binary_cross_entropy_with_logits(judge(real), right).backward()
        """, "right = torch.ones(8, 1)", "torch.ones(real.size(0), 1)"),
    "the state that a bidirectional layer also gives is not what is left to use": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(4, 6, bidirectional=True, batch_first=True)
                self.out = nn.Linear(6, 3)
            def forward(self, x):
                every, (h, c) = self.rnn(x)
                return self.out(every[:, -1, :])
        Net()(torch.rand(5, 9, 4)).sum().backward()
        """, "nn.Linear(6, 3)", "nn.Linear(12, 3)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_sequence_went_wrong(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
