"""The line that decided, rather than the call that failed: what is counted, cut, converted or moved before."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


def test_a_count_that_leaves_one_out_is_followed_through_the_arithmetic(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Pairs(nn.Module):
            def __init__(self, things):
                super().__init__()
                self.count = things * (things - 1) // 2
            def forward(self, x):
                i, j = torch.triu_indices(x.size(1), x.size(1), 1)
                return (x[:, i] * x[:, j]).sum(2)
        fields = ["a", "b", "c"]
        pairs = Pairs(len(fields))
        head = nn.Linear(pairs.count, 2)
        parts = [torch.rand(5, 8) for _ in fields] + [torch.rand(5, 8)]
        head(pairs(torch.stack(parts, 1))).sum().backward()
        """
    assert_repaired(runner, program, "pairs = Pairs(len(fields))", "pairs = Pairs(len(fields) + 1)")


def test_a_term_too_many_is_left_out_where_the_layer_is_built(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.first = nn.Linear(width, 6)
                self.last = nn.Linear(6 + width + 1, 2)
            def forward(self, x):
                return self.last(torch.cat([x, self.first(x)], 1))
        Net(4)(torch.rand(3, 4)).sum().backward()
        """
    assert_repaired(runner, program, "nn.Linear(6 + width + 1, 2)", "nn.Linear(6 + width, 2)")


def test_one_position_more_is_made_where_the_positions_are(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Patches(nn.Module):
            def __init__(self, side):
                super().__init__()
                self.count = (side // 4) ** 2
        patches = Patches(16)
        places = nn.Parameter(torch.zeros(1, patches.count, 6))
        first = nn.Parameter(torch.zeros(1, 1, 6))
        x = torch.cat([first.expand(3, -1, -1), torch.rand(3, 16, 6)], dim=1)
        (x + places).sum().backward()
        """
    assert_repaired(runner, program, "torch.zeros(1, patches.count, 6)", "torch.zeros(1, patches.count + 1, 6)")


SPECIAL = """
    import torch
    from torch import nn
    def encode(words, most):
        ids = [len(word) for word in words][:most]
        return torch.tensor([1] + ids + [2])
    table = nn.Embedding(8, 4)
    ids = encode("one two three four five six seven eight nine ten".split(), 8)
    table(torch.arange(len(ids))).sum().backward()
    """


def test_room_is_left_for_the_tokens_put_around_a_sequence(runner: Runner) -> None:
    assert_repaired(runner, SPECIAL, "[:most]", "[:most - 2]")


def test_a_sequence_is_not_cut_for_tokens_of_another_count(runner: Runner) -> None:
    assert_never_offered(runner, SPECIAL.replace("nn.Embedding(8, 4)", "nn.Embedding(7, 4)"), "most - ")


def test_arrays_are_all_cast_where_one_alone_would_leave_the_others_behind(runner: Runner) -> None:
    program = """
        import numpy as np
        import torch
        from torch import nn
        rows, goals = np.ones((6, 3)), np.ones((6, 1))
        x, y = torch.from_numpy(rows), torch.from_numpy(goals)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 1)
            def forward(self, given):
                return self.layer(given)
        loss = nn.functional.mse_loss(Net()(x), y)
        torch.stack([loss, torch.zeros(())], out=torch.zeros(2)) if loss.dtype != torch.float32 else loss.backward()
        """
    repaired = "torch.from_numpy(rows).float(), torch.from_numpy(goals).float()"
    assert_repaired(runner, program, "torch.from_numpy(rows), torch.from_numpy(goals)", repaired)


AVERAGED = """
    import torch
    from torch import nn
    class Average:
        def __init__(self, model):
            self.kept = {name: p.detach().clone() for name, p in model.named_parameters()}
        @torch.no_grad()
        def update(self, model):
            for name, p in model.named_parameters():
                self.kept[name].lerp_(p, 0.1)
    def train(model, device):
        average = Average(model)
        model.to(device)
        average.update(model)
        return average
    train(nn.Linear(3, 2), torch.device("meta"))
    """


def test_a_model_is_moved_before_its_weights_are_copied(runner: Runner) -> None:
    assert_repaired(runner, AVERAGED, "model.to(device)", "model.to(device)")


def test_nothing_is_written_into_a_copy_that_nobody_keeps(runner: Runner) -> None:
    assert_never_offered(runner, AVERAGED, ".to(p.device).lerp_")


def test_a_side_is_named_where_a_name_has_its_length(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def decoder(image):
            side = image // 4
            return nn.Sequential(nn.Linear(5, 6 * side * side), nn.Unflatten(1, (6, 2, 2)), nn.Conv2d(6, 1, 1))
        decoder(12)(torch.rand(3, 5)).sum().backward()
        """
    assert_repaired(runner, program, "nn.Unflatten(1, (6, 2, 2))", "nn.Unflatten(1, (6, side, side))")


GRAPH = """
    import torch
    from torch import nn
    def matrix(edges, nodes=None):
        if nodes is None:
            nodes = int(edges.max()) + 1
        dense = torch.eye(nodes)
        dense[edges[0], edges[1]] = 1.0
        return dense
    x = torch.rand(9, 4)
    edges = torch.tensor([[0, 1, 2], [3, 4, 6]])
    adjacency = matrix(edges)
    (adjacency @ nn.Linear(4, 2)(x)).sum().backward()
    """


def test_nodes_that_no_edge_names_are_counted_too(runner: Runner) -> None:
    assert_repaired(runner, GRAPH, "adjacency = matrix(edges)", "matrix(edges, nodes=x.size(0))")


def test_a_size_that_the_caller_gives_is_not_given_again(runner: Runner) -> None:
    assert_never_offered(runner, GRAPH.replace("matrix(edges)", "matrix(edges, nodes=7)"), "nodes=7, nodes")


SHIFTED = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Linear(3, 4)
    criterion = nn.CrossEntropyLoss()
    for batch in range(3):
        codes = torch.tensor([0, 1, 2, 3, 0])
        labels = codes - 1
        criterion(net(torch.rand(5, 3)), labels).backward()
    """


def test_labels_that_count_from_zero_are_not_shifted(runner: Runner) -> None:
    assert_repaired(runner, SHIFTED, "labels = codes - 1", "labels = codes")


def test_labels_that_hold_a_mark_keep_it(runner: Runner) -> None:
    program = SHIFTED.replace("labels = labels - 1", "labels = torch.where(labels > 2, labels - 4, labels)")
    assert_never_offered(runner, program, "labels > 2, labels, labels")


@pytest.mark.parametrize(
    ("cut", "read"), [("table[:, 1:]", "table[:, 1:].contiguous()"), ("table[0, 1:]", "table[0, 1:].clone()")]
)
def test_bytes_that_are_read_as_numbers_lie_side_by_side_first(runner: Runner, cut: str, read: str) -> None:
    """A slice of one dimension is contiguous as it is, and begins at an odd byte all the same."""
    program = f"""
        import torch
        table = torch.arange(36, dtype=torch.uint8).view(4, 9)
        numbers = {cut}.view(torch.float32)
        assert numbers.shape[-1] == 2
        """
    assert_repaired(runner, program, f"numbers = {cut}.view(torch.float32)", f"{read}.view(torch.float32)")


PRUNED = """
    import torch
    from torch import nn
    from torch.nn.utils import parametrizations, parametrize
    def made(width):
        return nn.Sequential(parametrizations.weight_norm(nn.Linear(3, width)), nn.ReLU(), nn.Linear(width, 2))
    torch.save({"width": 5, "state": made(5).state_dict()}, "net.pt")
    def restored(path):
        kept = torch.load(path)
        net = made(kept["width"])
        net.eval()
        FIRST
        SECOND
        return net
    assert restored("net.pt")(torch.rand(4, 3)).shape == (4, 2)
    """


def test_a_state_is_loaded_before_the_model_is_changed(runner: Runner) -> None:
    """The arguments come from the file itself: that the model was built with others is not said."""
    program = PRUNED.replace("FIRST", 'parametrize.remove_parametrizations(net[0], "weight")')
    program = program.replace("SECOND", 'net.load_state_dict(kept["state"])')
    assert_repaired(runner, program, 'net.load_state_dict(kept["state"])', 'net.load_state_dict(kept["state"])')


def test_a_state_is_loaded_after_the_model_is_wrapped_as_the_saved_one_was(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        saved = nn.Sequential(nn.Linear(3, 4))
        saved.append(nn.Linear(4, 2))
        state = saved.state_dict()
        net = nn.Sequential(nn.Linear(3, 4))
        net.load_state_dict(state)
        net.append(nn.Linear(4, 2))
        assert net(torch.rand(5, 3)).shape == (5, 2)
        """
    assert_repaired(runner, program, "net.load_state_dict(state)", "net.load_state_dict(state)")


@pytest.mark.parametrize(
    ("given", "repair"),
    [
        ("bidirectional=settings.both", "(2 if settings.both else 1) * settings.width"),
        ("bidirectional=True", "2 * settings.width"),
    ],
)
def test_both_directions_of_a_recurrent_layer_are_counted(runner: Runner, given: str, repair: str) -> None:
    """The number of layers is two as well: it gives the same size, for another reason."""
    program = f"""
        import torch
        from torch import nn
        class Settings:
            width, layers, both = 6, 2, True
        class Net(nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.rnn = nn.GRU(3, settings.width, settings.layers, batch_first=True, {given})
                self.out = nn.Linear(settings.width, 4)
            def forward(self, x):
                steps, _ = self.rnn(x)
                return self.out(torch.relu(steps))
        Net(Settings())(torch.rand(2, 5, 3)).sum().backward()
        """
    assert_repaired(runner, program, "self.out = nn.Linear(settings.width, 4)", repair)


def test_what_a_sum_is_divided_by_is_summed_as_well(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def pooled(x, kept):
            kept = kept.unsqueeze(-1).float()
            return (x * kept).sum(dim=1) / kept
        out = pooled(nn.Linear(3, 4)(torch.rand(6, 10, 3)), torch.rand(6, 10) > 0.2)
        assert out.shape == (6, 4)
        out.sum().backward()
        """
    assert_repaired(runner, program, "/ kept", "/ kept.sum(dim=1)")


def test_data_in_the_same_order_as_before_is_not_turned_round(runner: Runner) -> None:
    """A state carried from full batches to a smaller one: with the steps for samples it would run as well."""
    program = """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        class Next(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(2, 5, batch_first=True)
                self.out = nn.Linear(5, 1)
            def forward(self, x, state=None):
                y, state = self.rnn(x, state)
                return self.out(y[:, -1]), state
        net, state = Next(), None
        loader = DataLoader(TensorDataset(torch.rand(20, 7, 2)), batch_size=8)
        for (x,) in loader:
            guess, state = net(x, state)
            state = state.detach()
            guess.sum().backward()
        """
    assert_never_offered(runner, program, "transpose")
    assert_repaired(runner, program, "loader = DataLoader", "drop_last=True")
