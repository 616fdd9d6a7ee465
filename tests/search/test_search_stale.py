"""Programs that worked until one setting or part was changed: the place that was not changed along is blamed."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


def test_another_instance_that_worked_does_not_speak_for_the_sizes_of_this_one(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Mixing(nn.Module):
            def __init__(self, most, groups):
                super().__init__()
                self.groups = groups
                table = torch.ones(most, most)
                self.table = nn.Parameter(table / most)
            def forward(self, x):
                rows = x.view(x.size(0), self.groups, -1)
                return torch.einsum("bgn,gh->bhn", rows, self.table).reshape(x.shape)
        layers = nn.ModuleList(Mixing(6, groups) for groups in (6, 3))
        x = torch.rand(5, 12)
        for layer in layers:
            x = layer(x)
        x.sum().backward()
        """
    assert_repaired(runner, program, "torch.ones(most, most)", "groups, ")


def test_the_sizes_of_the_other_model_are_meant(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        OLD = (10, 20)
        class Net(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.sizes = sizes
                self.parts = nn.ModuleList(nn.Linear(6, size) for size in sizes)
            def forward(self, x):
                return [part(x) for part in self.parts]
        class Hints(nn.Module):
            def __init__(self, small, big):
                super().__init__()
                self.maps = nn.ModuleList(nn.Linear(a, b) for a, b in zip(small.sizes, OLD))
            def forward(self, ours, theirs):
                return sum((one(a) - b).pow(2).mean() for one, a, b in zip(self.maps, ours, theirs))
        small, big = Net((4, 5)), Net((14, 28))
        hints, x = Hints(small, big), torch.rand(7, 6)
        hints(small(x), big(x)).backward()
        """
    assert_repaired(runner, program, "zip(small.sizes, OLD)", "zip(small.sizes, big.sizes)")


def test_windows_begin_no_later_than_they_fit(runner: Runner) -> None:
    program = """
        import torch
        torch.manual_seed(0)
        class Memory:
            def __init__(self, count, ahead):
                self.rows, self.filled, self.ahead = torch.rand(count, 3), count, ahead
            def sample(self, count):
                first = torch.randint(0, self.filled, (count,))
                return self.rows[first], self.rows[first + self.ahead]
        w = torch.rand(3, requires_grad=True)
        memory = Memory(40, 6)
        for _ in range(4):
            now, later = memory.sample(32)
            ((now * w).sum(1) - later.mean(1)).pow(2).mean().backward()
        """
    assert_repaired(runner, program, "torch.randint", "self.filled - self.ahead")


def test_a_number_that_a_property_computes_is_computed_otherwise(runner: Runner) -> None:
    program = """
        from dataclasses import dataclass
        import torch
        from torch import nn
        @dataclass
        class Plan:
            rows: int = 70
            batch: int = 32
            rounds: int = 3
            @property
            def per_round(self):
                return self.rows // self.batch
            @property
            def total(self):
                return self.rounds * self.per_round
        def made(net, plan):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=plan.total)
        plan, net = Plan(), nn.Linear(4, 1)
        x, y = torch.rand(plan.rows, 4), torch.rand(plan.rows, 1)
        optimizer, schedule = made(net, plan)
        for _ in range(plan.rounds):
            for rows in torch.arange(plan.rows).split(plan.batch):
                (net(x[rows]) - y[rows]).pow(2).mean().backward()
                optimizer.step()
                schedule.step()
        """
    assert_repaired(runner, program, "self.rows // self.batch", "-(-self.rows // self.batch)")


def test_a_helper_is_given_what_the_layer_beside_it_is_given(runner: Runner) -> None:
    program = """
        from dataclasses import dataclass
        import torch
        from torch import nn
        @dataclass
        class Stage:
            width: int
            kernel: int = 3
            padding: int = 1
        def after(size, kernel, padding=0):
            return size + 2 * padding - kernel + 1
        def side_of(size, stages):
            for stage in stages:
                size = after(size, stage.kernel)
            return size
        stages = (Stage(4), Stage(6, kernel=5, padding=2))
        body, width = [], 1
        for stage in stages:
            body += [nn.Conv2d(width, stage.width, stage.kernel, padding=stage.padding), nn.ReLU()]
            width = stage.width
        net = nn.Sequential(*body, nn.Flatten(), nn.Linear(width * side_of(9, stages) ** 2, 2))
        net(torch.rand(3, 1, 9, 9)).sum().backward()
        """
    assert_repaired(runner, program, "after(size, stage.kernel)", "padding=stage.padding")


def test_values_that_are_stored_small_are_cast_where_they_are_read(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Small(nn.Module):
            def __init__(self, linear):
                super().__init__()
                self.scale = linear.weight.detach().abs().max() / 127
                kept = (linear.weight.detach() / self.scale).round().to(torch.int8)
                self.register_buffer("kept", kept)
            def forward(self, x):
                return nn.functional.linear(x, self.kept) * self.scale
        Small(nn.Linear(4, 3))(torch.rand(2, 4)).sum()
        """
    assert_repaired(runner, program, "nn.functional.linear(x, self.kept)", "self.kept.float()")


def test_steps_between_whole_ones_are_rounded(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        table = nn.Embedding(20, 4)
        def places(count):
            return torch.linspace(0, 19, count)
        for at in places(7):
            table(at.expand(3)).sum().backward()
        """
    assert_repaired(runner, program, "torch.linspace(0, 19, count)", ".round().long()")


def test_what_is_drawn_for_weights_is_no_data(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def grown(state, experts=2):
            made = {f"parts.{at}.{name}": value.clone() for at in range(experts) for name, value in state.items()}
            return {**made, "gate": 0.1 * torch.randn(experts, 5)}
        class Mixed(nn.Module):
            def __init__(self, experts):
                super().__init__()
                self.parts = nn.ModuleList(nn.Linear(5, 5) for _ in range(experts))
                self.gate = nn.Parameter(torch.zeros(experts, 5))
            def forward(self, x):
                share = (x @ self.gate.T).softmax(-1)
                return sum(share[:, at, None] * part(x) for at, part in enumerate(self.parts))
        experts = 3
        plain, mixed = nn.Linear(5, 5), Mixed(experts)
        mixed.load_state_dict(grown(plain.state_dict()))
        mixed(torch.rand(4, 5)).sum().backward()
        """
    assert_repaired(runner, program, "grown(plain.state_dict())", "experts=experts")


def test_a_helper_that_freezes_what_it_is_given_is_given_too_much(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def freeze(part):
            for p in part.parameters():
                p.requires_grad = False
        class Probe(nn.Module):
            def __init__(self, body):
                super().__init__()
                self.body = body
                self.top = nn.Linear(3, 2)
            def forward(self, x):
                return self.top(self.body(x))
        def built(body):
            probe = Probe(body)
            freeze(probe)
            return probe
        probe = built(nn.Linear(4, 3))
        optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
        probe(torch.rand(5, 4)).sum().backward()
        """
    best = explained(runner, program)
    assert best["culprit"]["code"] == "freeze(probe)"
    assert best["fixes"][0]["edits"][0]["after"].strip().endswith("probe.top.requires_grad_(True)")


def test_no_samples_are_left_out_for_a_state_of_another_batch(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader
        gru = nn.GRU(3, 4, batch_first=True)
        loader = DataLoader(torch.rand(10, 5, 3), batch_size=4)
        start = torch.zeros(1, 4, 4)
        for x in loader:
            gru(x, start)[0].sum().backward()
        """
    best = explained(runner, program)
    assert best["culprit"] is None or "DataLoader" not in best["culprit"]["code"]


def test_data_stay_as_they_are_where_a_table_is_too_small(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Texts:
            def __init__(self, words):
                self.words = words
            def batch(self):
                return torch.randint(0, self.words, (4, 6))
        table = nn.Embedding(30, 5)
        table(Texts(50).batch()).sum().backward()
        """
    assert_never_offered(runner, program, "self.words -")


def test_who_makes_a_model_knows_what_it_is_given(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, width, hidden):
                super().__init__()
                self.body = nn.GRU(width, hidden, batch_first=True)
                self.top = nn.Linear(hidden, 2)
            def forward(self, x):
                states, _ = self.body(x)
                return self.top(states[:, -1])
        def features(x):
            return torch.cat([x, x.diff(dim=1, prepend=x[:, :1])], dim=-1)
        bands, hidden = 20, 9
        net = Reader(bands, hidden)
        for _ in range(3):
            net(features(torch.rand(4, 12, bands))).sum().backward()
        """
    best = explained(runner, program)
    assert best["culprit"] is None or best["culprit"]["code"] != "nn.GRU(width, hidden, batch_first=True)"
    assert "2 * bands" in str([fix["edits"] for fix in best["fixes"]])  # the features may be joined elsewhere, too


def test_the_last_of_so_many_is_one_less_where_it_is_taken(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        torch.manual_seed(0)
        counts = torch.randint(2, 7, (16,))
        rows = nn.utils.rnn.pad_sequence([torch.rand(int(count), 3) for count in counts], batch_first=True)
        net = nn.GRU(3, 4, batch_first=True)
        states, _ = net(rows)
        last = counts.view(-1, 1, 1).expand(-1, 1, 4)
        states.gather(1, last).squeeze(1).sum().backward()
        """
    best = explained(runner, program)
    assert best["culprit"] is None or "randint" not in best["culprit"]["code"]
    assert best["fixes"][0]["edits"][0]["after"] == "last = counts.view(-1, 1, 1).expand(-1, 1, 4) - 1"


def test_a_state_is_blamed_where_it_is_made_and_no_number_of_it(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        BATCH = 8
        DEPTH = 2
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.RNN(3, 5, DEPTH, batch_first=True)
            def started(self):
                return torch.zeros(DEPTH, BATCH, 5)
            def forward(self, x):
                start = self.started()
                return self.body(x, start)[0]
        net = Net()
        for x in torch.rand(20, 4, 3).split(BATCH):
            net(x).sum().backward()
        """
    assert explained(runner, program)["culprit"]["code"] == "torch.zeros(DEPTH, BATCH, 5)"
