"""What the failing run did unlike before, or unlike elsewhere in the program: where that is said, and mended."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


def test_an_empty_list_is_given_the_columns_that_others_have(runner: Runner) -> None:
    program = """
        import torch
        rows = [[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], [[1.0, 1.0, 1.0]], []]
        points = [torch.tensor(one) for one in rows]
        w = torch.rand(3, requires_grad=True)
        for one in points:
            (one[:, :2].sum() * w).sum().backward()
        """
    assert_repaired(runner, program, "torch.tensor(one)", "torch.tensor(one).reshape(-1, 3)")


def test_the_call_that_gave_samples_of_one_size_several_is_named(runner: Runner) -> None:
    program = """
        import random
        import torch
        random.seed(0)
        def turned(image):
            times = random.randrange(4)
            return torch.rot90(image, times, (0, 1))
        images = torch.rand(8, 4, 6)
        torch.stack([turned(one) for one in images])
        """
    best = explained(runner, program)
    assert best["culprit"]["line"] == 6
    assert "[4, 6] into [6, 4]" in best["cause"]


def test_a_size_that_is_read_from_data_is_named(runner: Runner) -> None:
    program = """
        import torch
        nodes, edges = torch.rand(5, 4), torch.tensor([[0, 1, 2], [1, 2, 0]])
        def gathered(values, targets):
            count = int(targets.max()) + 1
            return values.new_zeros(count, 4).index_add_(0, targets, values)
        nodes += gathered(nodes[edges[0]], edges[1])
        """
    best = explained(runner, program)
    assert best["culprit"]["code"] == "int(targets.max()) + 1"


def test_what_an_autograd_function_did_backward_is_repaired(runner: Runner) -> None:
    program = """
        import torch
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, scale):
                ctx.save_for_backward(x, scale)
                return x * scale
            @staticmethod
            def backward(ctx, grad):
                x, scale = ctx.saved_tensors
                per_column = (grad * x).sum(dim=1)
                return grad * scale, per_column
        x, scale = torch.rand(7, 3), torch.ones(3, requires_grad=True)
        Scaled.apply(x, scale).pow(2).sum().backward()
        """
    assert_repaired(runner, program, "(grad * x).sum(dim=1)", "(grad * x).sum(dim=0)")


def test_what_a_hook_hands_back_is_left_out(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        kept = []
        def keep(module, given, made):
            seen = made.mean(1).flatten(1)
            kept.append(seen.detach())
            return seen
        net = nn.Sequential(nn.Conv2d(2, 6, 3), nn.Conv2d(6, 4, 3))
        net[0].register_forward_hook(keep)
        net(torch.rand(5, 2, 9, 9)).sum().backward()
        """
    assert_repaired(runner, program, "return seen", "pass")


def test_what_is_done_before_the_same_call_elsewhere_is_done_here_too(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def net():
            return nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 2))
        def fix_first(model):
            model[0].requires_grad_(False)
        def optimizer(model):
            return torch.optim.SGD([one for one in model.parameters() if one.requires_grad], 0.1, momentum=0.9)
        old = net()
        fix_first(old)
        sgd = optimizer(old)
        old(torch.rand(3, 4)).sum().backward()
        sgd.step()
        new = net()
        again = optimizer(new)
        again.load_state_dict(sgd.state_dict())
        """
    assert_repaired(runner, program, "again = optimizer(new)", "fix_first(new)\nagain = optimizer(new)")


def test_a_state_is_reset_before_a_loop_as_it_is_before_another(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.state = nn.GRU(3, 4), None
            def forget(self):
                self.state = None
            def forward(self, x):
                y, self.state = self.rnn(x, self.state)
                self.state = self.state.detach()
                return y
        def fit(net, parts):
            net.forget()
            for part in parts:
                net(part).sum().backward()
        def measured(net, parts):
            return [net(part).sum().item() for part in parts]
        net = Net()
        fit(net, torch.rand(2, 5, 6, 3))
        print(measured(net, torch.rand(2, 5, 8, 3)))
        """
    assert_repaired(runner, program, "return [net(part)", "net.forget()")


def test_lengths_follow_the_layers_that_shorten_a_sequence(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.Conv1d(5, 8, 3, stride=3, padding=1)
                self.out = nn.Linear(8, 4)
            def forward(self, x, lengths):
                y = self.out(self.down(x.transpose(1, 2)).transpose(1, 2))
                return y.log_softmax(-1).transpose(0, 1), lengths
        made, lengths = Net()(torch.rand(2, 20, 5), torch.tensor([20, 17]))
        nn.CTCLoss()(made, torch.ones(2, 3, dtype=torch.long), lengths, torch.tensor([3, 2])).backward()
        """
    first = explained(runner, program)["fixes"][0]
    assert first["certainty"] == "checked"
    assert "(lengths + 2) // 3" in first["edits"][0]["after"]


RING = """
    import torch
    class Ring:
        def __init__(self, size):
            self.rows, self.at, self.size = torch.zeros(size, 2), 0, size
        def put(self, new):
            end = self.at + len(new)
            self.rows[self.at:end] = new
            self.at = end % self.size
    ring = Ring(8)
    for _ in range(4):
        ring.put(torch.rand(3, 2))
    print(ring.rows.sum())
    """


def test_what_is_written_past_the_end_of_a_ring_goes_on_in_front(runner: Runner) -> None:
    new = "self.rows[torch.arange(self.at, end) % self.rows.size(0)]"
    assert_repaired(runner, RING, "self.rows[self.at:end]", new)


def test_a_ring_is_not_made_larger_by_a_factor(runner: Runner) -> None:
    assert_never_offered(runner, RING, "torch.zeros(2 * size, 2)")


def test_one_entry_that_stands_for_all_is_not_called_checked(runner: Runner) -> None:
    program = """
        import torch
        a, b = torch.rand(5, 3), torch.rand(4, 3)
        print((a + b).sum())
        """
    fixes = explained(runner, program)["fixes"]
    assert not any("b[0]" in edit["after"] for fix in fixes if fix["certainty"] == "checked" for edit in fix["edits"])


def test_a_mask_has_the_last_rows_where_keys_of_before_are_kept(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Attention(nn.Module):
            def __init__(self, width, most):
                super().__init__()
                self.qk = nn.Linear(width, 2 * width)
                self.register_buffer("later", torch.full((most, most), float("-inf")).triu(1))
            def forward(self, x, keys=None):
                steps = x.size(1)
                q, k = self.qk(x).chunk(2, -1)
                k = k if keys is None else torch.cat([keys, k], 1)
                scores = q @ k.transpose(1, 2)
                return (scores + self.later[:steps, :steps]).softmax(-1), k
        net = Attention(8, 32)
        _, keys = net(torch.rand(2, 5, 8))
        weights, keys = net(torch.rand(2, 3, 8), keys)
        assert weights[:, 0, -1].abs().max() == 0
        """
    new = "self.later[scores.size(-1) - steps:scores.size(-1), :scores.size(-1)]"
    assert_repaired(runner, program, "self.later[:steps, :steps]", new)
