"""The search where sequences do not fit: states of recurrent layers, masks, tokens, steps and caches."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a state is not reset before batches of another size": (
        """
        import torch
        from torch import nn
        class Running(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(2, 3, batch_first=True)
                self.kept = None
            def forget(self):
                self.kept = None
            def forward(self, x):
                y, kept = self.rnn(x, self.kept)
                self.kept = kept.detach()
                return y
        def training(net, batches):
            net.train()
            net.forget()
            for x in batches:
                net(x).sum().backward()
        def checking(net, batches):
            net.eval()
            return sum(net(x).mean().item() for x in batches)
        net = Running()
        training(net, [torch.rand(4, 5, 2)])
        checking(net, [torch.rand(3, 5, 2)])
        """, "net.eval()", "net.forget()"),
    "a state of the batch before the last, smaller one": (
        """
        import torch
        from torch import nn
        class Leaky(nn.Module):
            def __init__(self):
                super().__init__()
                self.level = None
            def forward(self, x):
                if self.level is None:
                    self.level = torch.zeros_like(x)
                self.level = 0.9 * self.level + x
                return self.level
        net = Leaky()
        for batch in torch.rand(7, 2).split(4):
            net(batch)
        """, "0.9 * self.level + x", "if self.level is not None and self.level.size(0) != x.size(0):"),
    "a decoder of one direction gets the state of two": (
        """
        import torch
        from torch import nn
        reads = nn.GRU(2, 3, batch_first=True, bidirectional=True)
        writes = nn.GRU(4, 3, batch_first=True)
        memory, state = reads(torch.rand(5, 6, 2))
        writes(torch.rand(5, 2, 4), state)[0].sum().backward()
        """, "memory, state = reads", "state = state[0::2] + state[1::2]"),
    "two caches that grow along the wrong dimension": (
        """
        import torch
        class Past:
            def __init__(self):
                self.keys, self.values = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4)
            def grow(self, key, value):
                self.keys = torch.cat([self.keys, key], dim=1)
                self.values = torch.cat([self.values, value], dim=1)
                return torch.nn.functional.scaled_dot_product_attention(key, self.keys, self.values)
        Past().grow(torch.rand(1, 2, 1, 4), torch.rand(1, 2, 1, 4))
        """, "torch.cat([self.keys", "dim=2"),
    "a sequence grows past the positions that a model has": (
        """
        import torch
        from torch import nn
        class Writer(nn.Module):
            def __init__(self, longest):
                super().__init__()
                self.longest = longest
                self.embed = nn.Embedding(7, 4)
                self.places = nn.Parameter(torch.zeros(longest, 4))
            def forward(self, ids):
                return (self.embed(ids) + self.places[:ids.size(1)]) @ self.embed.weight.t()
        writer = Writer(5)
        ids = torch.tensor([[1, 2, 3]])
        for _ in range(6):
            following = writer(ids)[:, -1:].argmax(-1)
            ids = torch.cat([ids, following], 1)
        """, "writer(ids)", "writer(ids[:, -writer.longest:])"),
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
    "a mask of a sequence of which the model gets all but the last": (
        """
        import torch
        from torch import nn
        block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        def causal(ids):
            return nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        def step(table, ids):
            mask = causal(ids)
            given, wanted = ids[:, :-1], ids[:, 1:]
            out = block(table(given), src_mask=mask)
            return (out.mean(-1) - wanted).abs().mean()
        step(nn.Embedding(11, 8), torch.randint(0, 11, (3, 7))).backward()
        """, "causal(ids)", "causal(ids[:, :-1])"),
    "targets of which the first was not left out": (
        """
        import torch
        from torch import nn
        def loss_of(model, ids):
            scores = model(ids[:, :-1])
            return nn.functional.cross_entropy(scores.flatten(0, 1), ids.flatten())
        model = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11))
        loss_of(model, torch.randint(0, 11, (3, 7))).backward()
        """, "ids.flatten()", "ids[:, 1:].flatten()"),
    "one token beside the patches of every image": (
        """
        import torch
        from torch import nn
        class Patches(nn.Module):
            def __init__(self):
                super().__init__()
                self.token = nn.Parameter(torch.zeros(1, 1, 6))
            def forward(self, x):
                return torch.cat([self.token, x], dim=1)
        Patches()(torch.rand(3, 4, 6)).sum().backward()
        """, "torch.cat([self.token", "self.token.expand(x.shape[0], -1, -1)"),
    "a code of positions that was made for time first": (
        """
        import torch
        from torch import nn
        class Code(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.register_buffer("code", torch.rand(50, 1, width))
            def forward(self, x):
                return x + self.code[: x.size(1)]
        Code(4)(torch.rand(3, 7, 4))
        """, "self.code[: x.size(1)]", "self.code[: x.size(1)].transpose(0, 1)"),
    "the last state of one direction for a layer that takes both": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.rnn = nn.GRU(3, width, batch_first=True, bidirectional=True)
                self.out = nn.Linear(2 * width, 2)
            def forward(self, x):
                states, last = self.rnn(x)
                return self.out(last[-1])
        Reader(5)(torch.rand(4, 6, 3)).sum().backward()
        """, "self.out(last[-1])", "torch.cat([last[-2], last[-1]], dim=-1)"),
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
        """, "state.repeat(1", "state.transpose(0, 1).repeat("),
    "a mask of padding without the token in front": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Parameter(torch.zeros(1, 1, 8))
                self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            def forward(self, x, padding):
                x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1)
                return self.layer(x, src_key_padding_mask=padding)[:, 0]
        Reader()(torch.rand(3, 5, 8), torch.arange(5) > torch.tensor([[4], [2], [3]])).sum().backward()
        """, "src_key_padding_mask=padding", "pad(padding, (1, 0), value=False)"),
    "the states of two layers squeezed as if they were one": (
        """
        import torch
        from torch import nn
        class Tagger(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.rnn = nn.GRU(5, 8, num_layers=layers, batch_first=True)
                self.out = nn.Linear(8, 4)
            def forward(self, x):
                _, state = self.rnn(x)
                state = state.squeeze(0)
                return self.out(state)
        nn.functional.cross_entropy(Tagger(3)(torch.rand(6, 7, 5)), torch.arange(6) % 4).backward()
        """, "state.squeeze(0)", "state[-1]"),
    "one mask for each sample, where each head needs one": (
        """
        import torch
        from torch import nn
        class Graph(nn.Module):
            def __init__(self, width, heads):
                super().__init__()
                self.heads = heads
                self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
            def forward(self, x, apart):
                return self.attend(x, x, x, attn_mask=apart)[0]
        Graph(8, 4)(torch.rand(3, 5, 8), torch.zeros(3, 5, 5, dtype=torch.bool)).sum().backward()
        """, "attn_mask=apart", "apart.repeat_interleave(self.heads, dim=0)"),
    "values with one more for the end, taken whole beside their shifted selves": (
        """
        import torch
        def surprise(rewards, values):
            return rewards + 0.9 * values[1:] - values
        surprise(torch.rand(6), torch.rand(7, requires_grad=True)).sum().backward()
        """, "- values", "0.9 * values[1:] - values[:-1]"),
    "clips of more frames in one split than the model was made for": (
        """
        import torch
        from torch import nn
        splits = {"train": {"frames": 2, "clips": 3}, "test": {"frames": 5, "clips": 3}}
        class Pool(nn.Module):
            def __init__(self, frames):
                super().__init__()
                self.frames, self.out = frames, nn.Linear(4, 2)
            def forward(self, x):
                return self.out(x).view(-1, self.frames, 2).mean(1)
        def clips(split):
            return torch.rand(split["clips"] * split["frames"], 4)
        model = Pool(splits["train"]["frames"])
        model(clips(splits["train"])).sum().backward()
        model(clips(splits["test"])).sum().backward()
        """, '"test"', '"test": {"frames": 2'),
    "both directions of a state squeezed as if they were one": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.rnn = nn.GRU(5, width, batch_first=True, bidirectional=True)
                self.out = nn.Linear(2 * width, 4)
            def forward(self, x):
                _, state = self.rnn(x)
                return self.out(state.squeeze(0))
        nn.functional.cross_entropy(Reader(8)(torch.rand(6, 7, 5)), torch.arange(6) % 4).backward()
        """, "state.squeeze(0)", "torch.cat([state[-2], state[-1]], dim=-1)"),
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
        """, "states.contiguous().view", "view(-1, states.size(-1))"),
    "windows of which the last is cut short": (
        """
        import torch
        def cut(series, past, ahead):
            inputs, wanted = [], []
            for start in range(0, len(series) - past, ahead):
                inputs.append(series[start:start + past])
                wanted.append(series[start + past:start + past + ahead])
            return torch.stack(inputs), torch.stack(wanted)
        inputs, wanted = cut(torch.arange(40.0), 12, 5)
        (torch.nn.Linear(12, 5)(inputs) - wanted).pow(2).mean().backward()
        """, "range(0", "len(series) - past - ahead + 1"),
    "a state whose sizes, batch first, are told in a tuple": (
        """
        import torch
        from torch import nn
        rnn = nn.GRU(3, 4, num_layers=2, batch_first=True)
        def start(batch):
            sizes = (batch, rnn.num_layers, rnn.hidden_size)
            return torch.zeros(*sizes)
        rnn(torch.rand(5, 6, 3), start(5))[0].sum().backward()
        """, "torch.zeros(*sizes)", "sizes = (rnn.num_layers, batch, rnn.hidden_size)"),
    "labels made once for full batches, of which the last has fewer": (
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        size = 4
        judge, real = nn.Linear(3, 1), torch.ones(size, 1)
        for images, in DataLoader(TensorDataset(torch.rand(10, 3)), batch_size=size):
            nn.functional.binary_cross_entropy_with_logits(judge(images), real).backward()
        """, "DataLoader(Tensor", "drop_last=True"),
    "a time-first table of positions cut to the size of the batch": (
        """
        import torch
        from torch import nn
        class Places(nn.Module):
            def __init__(self, longest, width):
                super().__init__()
                self.register_buffer("table", torch.rand(longest, 1, width))
            def forward(self, x):
                return x + self.table[:x.size(0)]
        Places(9, 4)(torch.rand(12, 7, 4, requires_grad=True)).sum().backward()
        """, "self.table[:x.size(0)]", "self.table[:x.size(1)].transpose(0, 1)"),
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
    "a mask for the whole target, of which all but the last are given": (
        """
        import torch
        from torch import nn
        decoder = nn.TransformerDecoderLayer(8, 2, batch_first=True)
        known, wanted = torch.rand(3, 5, 8), torch.rand(3, 7, 8)
        mask = nn.Transformer.generate_square_subsequent_mask(wanted.size(1))
        decoder(wanted[:, :-1], known, tgt_mask=mask)
        """, "tgt_mask=mask", "[:-1, :-1]"),
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
