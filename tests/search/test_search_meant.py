"""What an edit is meant for: one odd sample and not all, numbers made and left out, the length of the output."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import OPEN, assert_never_offered, assert_repaired, explained

from explainer.authoring.examples import Runner, can_check
from explainer.probes.checkpoint.loading import prefix_map

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

SESSIONS = """
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
    torch.manual_seed(0)
    sessions = [[1, 2, 3], [4, 5, 6, 7], [8, 9, 1], [2], [3, 4, 5]]
    rows = [(torch.tensor(s[:-1], dtype=torch.long), s[-1]) for s in sessions]
    table = torch.nn.Embedding(10, 4)
    seqs = [one for one, _ in rows]
    lengths = torch.tensor([len(one) for one in seqs])
    pack_padded_sequence(table(pad_sequence(seqs, batch_first=True)), lengths, batch_first=True, enforce_sorted=False)
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "one sample of nothing is left out": (SESSIONS, "s[:-1]", "if len(s) > 1"),
    "edges keep the numbers of the whole graph": (
        """
        import torch
        torch.manual_seed(0)
        edges = torch.tensor([[0, 5, 9, 3], [5, 9, 3, 0]])
        def induced(nodes):
            local = torch.full((10,), -1)
            local[nodes] = torch.arange(len(nodes))
            src, dst = edges
            inside = (local[src] >= 0) & (local[dst] >= 0)
            return torch.stack([src[inside], dst[inside]])
        weight = torch.rand(4, 2, requires_grad=True)
        for nodes in (torch.tensor([0, 3, 5, 9]), torch.tensor([0, 5, 9, 1])):
            src, dst = induced(nodes)
            h = torch.rand(4, 2) * weight
            torch.zeros(4, 2).index_add(0, dst, h[src]).sum().backward()
        """, "src[inside], dst[inside]", "local[torch.stack([src[inside], dst[inside]])]"),
    "lengths handed back beside an output of half the length": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Front(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(6, 5, 3, stride=2, padding=1)
            def forward(self, x, lengths):
                return self.conv(x.transpose(1, 2)).permute(2, 0, 1).log_softmax(-1), lengths
        x, lengths = torch.rand(2, 20, 6), torch.tensor([20, 16])
        out, sizes = Front()(x, lengths)
        nn.functional.ctc_loss(out, torch.randint(1, 5, (2, 3)), sizes, torch.tensor([3, 2])).backward()
        """, "log_softmax(-1), lengths", "(lengths + 1) // 2"),
    "weights of the classes that occur": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        CLASSES = 5
        labels = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])
        def weights(given):
            counts = torch.bincount(given).float()
            return 1.0 / counts
        criterion = nn.CrossEntropyLoss(weight=weights(labels))
        criterion(nn.Linear(3, CLASSES)(torch.rand(8, 3)), labels).backward()
        """, "torch.bincount(given)", "minlength=CLASSES"),
    "a covariance of the samples in place of the columns": (
        """
        import torch
        torch.manual_seed(0)
        returns = torch.randn(60, 4)
        def risk(rows):
            centred = rows - rows.mean(0)
            cov = torch.cov(centred)
            return torch.linalg.cholesky(cov)
        print(risk(returns).shape)
        """, "torch.cov(centred)", "centred.t()", OPEN),
    "a layer of both directions is twice as wide as it was made": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, size, width):
                super().__init__()
                self.width = width
                self.rnn = nn.GRU(size, width, batch_first=True, bidirectional=True)
            @property
            def out_size(self):
                return self.width
            def forward(self, x):
                out, _ = self.rnn(x)
                return out
        class Pool(nn.Module):
            def __init__(self, width, kinds):
                super().__init__()
                self.query, self.top = nn.Parameter(torch.zeros(width)), nn.Linear(width, kinds)
            def forward(self, h):
                weight = torch.einsum("btd,d->bt", h, self.query).softmax(1)
                return self.top(torch.einsum("bt,btd->bd", weight, h))
        reader = Reader(7, 12)
        pool = Pool(reader.out_size, 3)
        nn.functional.cross_entropy(pool(reader(torch.rand(5, 9, 7))), torch.arange(5) % 3).backward()
        """, "return self.width", "2 * self.width"),
    "an option in a dict that is unpacked": (
        """
        import torch
        OPTIONS = dict(n_fft=32, hop_length=8, win_length=32, center=False)
        window = torch.hann_window(32)
        def decode(spec):
            return torch.istft(spec, window=window, **OPTIONS)
        wave = torch.rand(2, 160)
        decode(torch.stft(wave, window=window, return_complex=True, **OPTIONS))
        """, "center=False", "center=True"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_what_was_meant_is_put_there(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_an_edit_that_changes_all_other_samples_is_never_checked(runner: Runner) -> None:
    fixes = explained(runner, SESSIONS)["fixes"]
    changing = [one for one in fixes if any("s[-1:]" in (edit["after"] or "") for edit in one["edits"])]
    assert all(one["certainty"] != "checked" for one in changing)


def test_no_step_is_left_to_the_last_pass_of_a_loop(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        nets = {"critic": critic, "actor": actor}
        steppers = {name: torch.optim.SGD(one.parameters(), 0.1) for name, one in nets.items()}
        for x in torch.rand(2, 5, 3):
            losses = {"critic": critic(x[:, :2]).pow(2).mean(), "actor": -critic(actor(x)).mean()}
            for name, loss in losses.items():
                stepper = steppers[name]
                stepper.zero_grad()
                loss.backward()
                stepper.step()
        """
    assert_never_offered(runner, program, "stepper.step()")


def test_keys_that_several_could_be_are_paired_in_the_order_of_the_model_or_not_at_all() -> None:
    shape = (3, 3)
    layers = {f"layer{at}.weight": shape for at in range(12)}
    paired = dict(prefix_map({f"blocks.{at}.weight": shape for at in range(12)}, layers))
    assert all(paired[f"layer{at}."] == f"blocks.{at}." for at in range(12))
    mistaken = {
        **{f"blocks.{at}.weight": shape for at in range(9)},
        **{f"blocks.0{at}.weight": shape for at in range(3)},
    }
    assert prefix_map({f"blocks.{at}.weight": shape for at in range(12)}, mistaken) == []
