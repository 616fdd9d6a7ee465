"""The search where a dtype does not fit: computed in floating point and given back as what it was."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


#: A table of ids and measured values that goes through a loader, which a function is given.
TABLE = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    class Visits(Dataset):
        def __init__(self, rows):
            rows = torch.tensor(rows, dtype=torch.float32)
            self.place = rows[:, 0]
            self.minutes = rows[:, 1]
        def __len__(self):
            return len(self.place)
        def __getitem__(self, i):
            return self.place[i], self.minutes[i]
    def fit(net, loader):
        for place, minutes in loader:
            (net(place).squeeze(1) - minutes).abs().mean().backward()
    visits = Visits([[0, 1.5], [2, 2.5]])
    fit(nn.Embedding(3, 1), DataLoader(visits))
    """


def test_ids_are_cast_where_they_are_cut_out_of_a_table(runner: Runner) -> None:
    assert_repaired(runner, TABLE, "self.place = rows[:, 0]", "rows[:, 0].long()")


def test_a_table_that_holds_more_than_ids_is_not_cast_as_a_whole(runner: Runner) -> None:
    assert_never_offered(runner, TABLE, "dtype=torch.float32).long()")


def test_whole_numbers_that_are_made_like_them_are_not_cast_with_the_fractions(runner: Runner) -> None:
    program = """
        import numpy as np
        import torch
        def links(count):
            ends = np.stack([np.arange(count), np.roll(np.arange(count), 1)])
            where = torch.from_numpy(ends)
            return torch.sparse_coo_tensor(where, torch.from_numpy(np.full(count, 0.5)), (count, count))
        weight = torch.rand(6, 3, requires_grad=True)
        torch.sparse.mm(links(6), weight).sum().backward()
        """
    assert_never_offered(runner, program, "torch.from_numpy(ends).float()")
    assert_repaired(runner, program, "torch.sparse_coo_tensor(", "torch.from_numpy(np.full(count, 0.5)).float()")


def test_a_model_that_is_cast_for_a_file_is_copied_first(runner: Runner) -> None:
    program = """
        import io
        import torch
        def export(model):
            half = model.half().eval()
            torch.save(half.state_dict(), io.BytesIO())
        net = torch.nn.Linear(4, 1)
        for _ in range(2):
            net(torch.rand(8, 4)).sum().backward()
            export(net)
        """
    assert_repaired(runner, program, "half = model.half()", "half = copy.deepcopy(model).half()")
    assert_never_offered(runner, program, "half = model.float()")


def test_what_autocast_made_half_is_cast_where_another_dtype_is_needed(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Expert(nn.Module):
            def __init__(self):
                super().__init__()
                self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
            def forward(self, x):
                return self.down(self.up(x))
        expert, x = Expert(), torch.rand(6, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed = torch.zeros_like(x)
            picked = torch.arange(6) % 2 == 0
            mixed[picked] = expert(x[picked])
        mixed.sum().backward()
        """
    assert_repaired(runner, program, "mixed[picked] =", "expert(x[picked]).float()")
    assert_never_offered(runner, program, "self.down(self.up(x)).float()")


#: Small codes that numpy keeps, and a call that only comes once there are enough of them.
CODES = """
    import numpy as np
    import torch
    kept = np.zeros(8, dtype=np.uint8)
    def learn(codes):
        return torch.rand(8, 3).gather(1, torch.from_numpy(codes).unsqueeze(1))
    def main(turns=5):
        for turn in range(turns):
            kept[turn] = turn % 3
            if turn > 3:
                learn(kept)
    main()
"""


def test_an_index_of_any_whole_numbers_becomes_one_of_int64(runner: Runner) -> None:
    assert_repaired(runner, CODES, ".gather(1", ".long()")


def test_fewer_turns_that_never_get_to_what_failed_are_no_other_fix(runner: Runner) -> None:
    assert_never_offered(runner, CODES, "main(turns=")


#: A model that learns in whole precision, and is then served in half of it.
SERVED = """
    import torch
    from torch import nn
    def waves(t, width):
        return torch.cat([t.float().cos(), t.float().sin()], dim=1).repeat(1, width // 2)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.time, self.out = nn.Linear(8, 8), nn.Linear(2, 8)
        def forward(self, x, t):
            told = self.time(waves(t, 8))
            return self.out(x) + told
    @torch.no_grad()
    def walk(net, dtype, last=9):
        x = torch.zeros(3, 2, dtype=dtype)
        for t in range(last - 1, -1, -2):
            x = x + net(x, torch.full((3, 1), t))[:, :2]
        return x
    net = Net()
    for t in range(40):
        net(torch.rand(3, 2), torch.full((3, 1), t)).mean().backward()
    walk(net, torch.float32)
    print(walk(net.bfloat16(), torch.bfloat16).dtype)
"""


def test_what_is_made_in_one_dtype_follows_that_of_another_argument(runner: Runner) -> None:
    assert_repaired(runner, SERVED, "self.time(waves(t, 8))", ".to(x.dtype)")


def test_a_loop_that_had_turns_and_has_none_mends_nothing(runner: Runner) -> None:
    assert_never_offered(runner, SERVED, "range(1 - last")


#: Weights of a spectrum that a helper multiplies with it.
SPECTRUM = """
    import torch
    from torch import nn
    class Waves(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.Parameter(torch.rand(2, 3, 4) / 6)
        def times(self, x, weights):
            return torch.bmm(x.permute(2, 0, 1), weights.permute(2, 0, 1)).permute(1, 2, 0)
        def forward(self, x):
            return torch.fft.irfft(self.times(torch.fft.rfft(x)[..., :4], self.weights), n=x.size(-1))
    Waves()(torch.rand(5, 2, 16)).mean().backward()
"""


def test_weights_of_a_spectrum_are_complex_where_a_helper_is_given_them(runner: Runner) -> None:
    assert_repaired(runner, SPECTRUM, "torch.rand(2, 3, 4)", "dtype=torch.cfloat")


#: What an object keeps in double precision, and what it keeps beside it as it came.
KEPT = """
    import torch
    class Process:
        def __init__(self, x, y):
            self.scale = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
            self.x = x.double()
            self.y = y
        def solved(self):
            apart = (self.x[:, None] - self.x[None]).pow(2).sum(-1)
            factor = torch.linalg.cholesky(torch.exp(-apart / self.scale.exp()) + torch.eye(len(apart)))
            return torch.cholesky_solve(self.y.unsqueeze(-1), factor)
    x = torch.rand(9, 2)
    y = torch.sin(x[:, 0]) + 0.1 * torch.rand(9)
    Process(x, y).solved().sum().backward()
"""


def test_what_is_kept_is_cast_as_what_is_kept_beside_it(runner: Runner) -> None:
    assert_repaired(runner, KEPT, "self.y = y", "self.y = y.double()")
