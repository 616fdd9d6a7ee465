"""What the program has ready and one place leaves out: a parameter, a maker, a setting, a cut, a registration."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "what a function is given and reads nowhere": (
        """
        import torch
        from torch import nn
        class Trainer:
            def __init__(self, size):
                self.size, self.net = size, nn.Linear(3, 1)
            def targets(self, real):
                return torch.ones(self.size, 1)
            def step(self, real):
                return nn.functional.binary_cross_entropy_with_logits(self.net(real), self.targets(real))
        trainer = Trainer(8)
        for real in torch.rand(20, 3).split(8):
            trainer.step(real).backward()
        """, "torch.ones(self.size, 1)", "real.size(0)"),
    "rows behind what is cached, of which a mask knows nothing": (
        """
        import torch
        torch.manual_seed(0)
        def mask_of(count, past):
            rows, columns = torch.arange(count), torch.arange(count)
            return columns[None] > rows[:, None]
        class Reader:
            keys = None
            def __call__(self, x):
                past = 0 if self.keys is None else len(self.keys)
                self.keys = x if self.keys is None else torch.cat([self.keys, x])
                scores = (x @ self.keys.t()).masked_fill(mask_of(len(x), past), float("-inf"))
                return scores.softmax(-1) @ self.keys
        read = Reader()
        read(torch.randn(6, 4))
        print(read(torch.randn(3, 4)).shape)
        """, "rows, columns", "torch.arange(past, past + count), torch.arange(past + count)"),
    "columns for what is cached, of which a triangle knows nothing": (
        """
        import torch
        torch.manual_seed(0)
        def seen(count, past):
            return torch.ones(count, count).tril().bool()
        class Reader:
            keys = None
            def __call__(self, x):
                past = 0 if self.keys is None else len(self.keys)
                self.keys = x if self.keys is None else torch.cat([self.keys, x])
                scores = (x @ self.keys.t()).masked_fill(~seen(len(x), past), float("-inf"))
                return scores.softmax(-1) @ self.keys
        read = Reader()
        read(torch.randn(5, 4))
        print(read(torch.randn(5, 4)).shape)
        """, "torch.ones(count, count)", "torch.ones(count, past + count).tril(past)"),
    "what an object keeps of what it is given, and not as it is": (
        """
        import torch
        from torch import nn
        class Part(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.places = nn.Parameter(torch.zeros(width, 4))
            def forward(self, x):
                return x + self.places
        class Stage(nn.Module):
            def __init__(self, width, most):
                super().__init__()
                self.width = min(width, most)
                self.part = Part(width)
            def forward(self, x):
                return self.part(x.unfold(1, self.width, self.width).transpose(2, 3).flatten(0, 1))
        def build(width=8):
            return [Stage(width, most) for most in (16, 8, 4)]
        for stage, steps in zip(build(), (16, 8, 4)):
            stage(torch.rand(3, steps, 4)).sum().backward()
        """, "self.part = Part(width)", "Part(self.width)"),
    "what the function around has computed of a number": (
        """
        import torch
        from torch import nn
        class Cut(nn.Module):
            def __init__(self, by):
                super().__init__()
                self.by = by
            def forward(self, x):
                return x[..., :-self.by]
        class Block(nn.Module):
            def __init__(self, width, kernel, dilation):
                super().__init__()
                ahead = (kernel - 1) * dilation
                def unit():
                    return [nn.Conv1d(width, width, kernel, padding=ahead, dilation=dilation), Cut(kernel - 1)]
                self.net = nn.Sequential(*unit(), *unit())
            def forward(self, x):
                return self.net(x) + x
        nn.Sequential(Block(4, 3, 1), Block(4, 3, 2))(torch.rand(2, 4, 20)).mean().backward()
        """, "Cut(kernel - 1)", "Cut(ahead)"),
    "the map that a helper is given to bring another one to its size": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        def like(coarse, fine):
            return nn.functional.interpolate(coarse, scale_factor=2, mode="nearest")
        class Pyramid(nn.Module):
            def __init__(self):
                super().__init__()
                self.down, self.out = nn.Conv2d(3, 3, 3, stride=2, padding=1), nn.Conv2d(3, 3, 3, padding=1)
            def forward(self, x):
                coarse = self.down(x)
                top = like(coarse, x)
                return self.out(x + top)
        net = Pyramid()
        for size in (8, 9):
            net(torch.randn(2, 3, size, size)).mean().backward()
        """, "nn.functional.interpolate(coarse", "size=fine.shape[-2:]"),
    "a parameter of a helper that no call gives": (
        """
        import torch
        from torch import nn
        def up(a, b, extra=1):
            return nn.ConvTranspose2d(a, b, 3, stride=2, padding=1, output_padding=extra)
        down = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1))
        back = nn.Sequential(
            up(8, 8),
            up(8, 4),
            up(4, 1),
        )
        x = torch.rand(2, 1, 36, 36)
        nn.functional.mse_loss(back(down(x)), x).backward()
        """, "up(8, 8)", "up(8, 8, extra=0)"),
    "what came along is cut, and this is not": (
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence
        notes = [(list(range(1, n)), list(range(1, n))) for n in (4, 9, 6)]
        def sample(i, most=6):
            words, tags = notes[i]
            words = torch.tensor(words[:most])
            tags = torch.tensor(tags)
            return words, tags
        words, tags = zip(*(sample(i) for i in range(3)))
        words, tags = pad_sequence(words), pad_sequence(tags, padding_value=-100)
        scores = torch.nn.Embedding(10, 10)(words)
        torch.nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten()).backward()
        """, "tags = torch.tensor(tags)", "tags[:most]"),
    "a table that the cast of the model left as it was": (
        """
        import torch
        from torch import nn
        class Basis(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.centres = torch.linspace(0, 1, count)
                self.top = nn.Linear(count, 1)
            def forward(self, x):
                return self.top((x.unsqueeze(-1) - self.centres) ** 2)
        net = Basis(8).to(torch.bfloat16)
        net(torch.rand(5).to(torch.bfloat16)).sum().backward()
        """, "self.centres = torch.linspace", 'self.register_buffer("centres", torch.linspace(0, 1, count))'),
    "a column meets a row before the table of both is refused": (
        """
        import torch
        memory, net = torch.rand(50, 4), torch.nn.Linear(4, 3)
        priority, action = torch.ones(50), torch.randint(0, 3, (50, 1))
        def errors(idx, reward):
            q = net(memory[idx]).gather(1, action[idx])
            goal = reward[idx]
            return q - goal
        for idx in torch.arange(48).split(16):
            error = errors(idx, torch.rand(50))
            error.pow(2).mean().backward()
            priority[idx] = error.detach().abs() + 0.1
        """, "return q - goal", "q.squeeze(-1) - goal"),
    "a column that is kept in a list is met wherever it is read": (
        """
        import torch
        from torch import nn
        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.top = nn.Linear(3, 8), nn.Linear(8, 1)
            def forward(self, x):
                return self.top(torch.tanh(self.body(x)))
        critic, kept = Critic(), []
        reward, gains = torch.rand(4, 6), torch.zeros(4, 6)
        for t in range(5):
            kept.append(critic(torch.rand(6, 3)).detach())
        value, gain = torch.stack(kept), 0.0
        for t in range(4):
            gain = reward[t] + 0.9 * value[t + 1] - value[t] + 0.8 * gain
            gains[t] = gain
        (critic(torch.rand(6, 3)).squeeze(-1) - (gains + value[:-1])[0]).pow(2).mean().backward()
        """, "torch.stack(kept)", "torch.stack(kept).squeeze(-1)"),
    "what gathers values is made in their dtype": (
        """
        import torch
        from torch import nn
        def pooled(per_atom, molecule, count):
            total = torch.zeros(count, per_atom.size(-1))
            return total.index_add_(0, molecule, per_atom)
        net = nn.Linear(3, 2).double()
        x, molecule = torch.rand(7, 3, dtype=torch.float64), torch.tensor([0, 0, 1, 1, 1, 2, 2])
        pooled(net(x), molecule, 3).sum().backward()
        """, "total = torch.zeros(count, per_atom.size(-1))", "dtype=per_atom.dtype"),
    "a state is made for a full batch by a method that is given none": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, batch, hidden=5):
                super().__init__()
                self.batch, self.hidden = batch, hidden
                self.body, self.top = nn.LSTM(3, hidden, batch_first=True), nn.Linear(hidden, 1)
            def started(self):
                shape = (1, self.batch, self.hidden)
                return torch.zeros(shape), torch.zeros(shape)
            def forward(self, x):
                out, _ = self.body(x, self.started())
                return self.top(out[:, -1])
        net = Net(8)
        for x in torch.rand(20, 4, 3).split(8):
            net(x).sum().backward()
        """, "shape = (1, self.batch, self.hidden)", "(1, n, self.hidden)"),
    "one index more than the table has rows is a mark that was added": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, words, width):
                super().__init__()
                self.table = nn.Embedding(words, width)
                self.top = nn.Linear(width, words)
            def forward(self, ids):
                mask = torch.full_like(ids[:, :1], self.top.out_features)
                return self.top(self.table(torch.cat([mask, ids], 1)))
        net = Reader(12, 8)
        net(torch.randint(0, 12, (3, 5))).sum().backward()
        """, "nn.Embedding(words, width)", "nn.Embedding(words + 1, width)"),
    "folds over the data of which a part was held out": (
        """
        import torch
        from torch.utils.data import DataLoader, Subset, TensorDataset
        full = TensorDataset(torch.rand(40, 3))
        order = torch.randperm(40).tolist()
        kept, rest = Subset(full, order[10:]), Subset(full, order[:10])
        def folds(count, parts):
            for chunk in torch.arange(count).chunk(parts):
                yield chunk.tolist()
        for idx in folds(len(full), 4):
            for (x,) in DataLoader(Subset(kept, idx), batch_size=5):
                assert len(x)
        """, "folds(len(full), 4)", "len(kept"),
}  # fmt: skip

RESUMED = """
    import os
    import tempfile
    import torch
    from torch import nn
    from making import optimizer_of
    from resuming import resumed
    net = nn.Linear(4, 2)
    optimizer = optimizer_of(net, 0.1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, path)
        optimizer = resumed(path, net, 0.1)
    """
MAKING = """
    import torch
    def optimizer_of(net, lr):
        groups = [{"params": [net.weight], "weight_decay": 0.1}, {"params": [net.bias]}]
        return torch.optim.SGD(groups, lr=lr)
    """
RESUMING = """
    import torch
    def resumed(path, net, lr):
        state = torch.load(path, weights_only=True)
        net.load_state_dict(state["net"])
        optimizer = torch.optim.SGD(net.parameters(), lr=lr)
        optimizer.load_state_dict(state["optimizer"])
        return optimizer
    """


@pytest.mark.parametrize("name", list(FAULTS))
def test_what_is_ready_is_put_to_its_use(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_what_is_loaded_is_made_by_the_function_that_made_what_was_saved(runner: Runner) -> None:
    best = explained(runner, RESUMED, {"making.py": MAKING, "resuming.py": RESUMING})
    assert best["culprit"]["code"].startswith("torch.optim.SGD(net.parameters()")
    made = [edit["after"] for edit in best["fixes"][0]["edits"]]
    assert made == ["from making import optimizer_of", "    optimizer = optimizer_of(net, lr)"]


def test_a_setting_that_the_other_settings_have_is_put_in(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        FIRST = {"lr": 0.1, "groups": 2}
        LATER = {"lr": 0.1}
        def built(net, settings):
            parts = [list(net.parameters())]
            if settings.get("groups", 1) == 2:
                parts = [[net.weight], [net.bias]]
            return torch.optim.SGD([{"params": part} for part in parts], lr=settings["lr"])
        net = nn.Linear(4, 2)
        kept = built(net, FIRST).state_dict()
        again = built(net, LATER)
        again.load_state_dict(kept)
        """
    assert_repaired(runner, program, 'LATER = {"lr": 0.1}', '{"lr": 0.1, "groups": 2}')


def test_of_two_products_both_are_laid_out_otherwise(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def split(x, heads):
            return x.view(*x.shape[:2], heads, -1).transpose(1, 2)
        q, k, v = (split(nn.Linear(8, 8)(torch.rand(2, 6, 8)), 2) for _ in range(3))
        torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.zeros(6, 6))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
        scores = scores - torch.ones(2, 1, 1) * torch.ones(6, 6)
        out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2)
        out.sum().backward()
        """
    best = explained(runner, program)
    assert best["culprit"]["code"] == '"bqhd,bkhd->bhqk"'
    made = [" ".join(edit["after"] for edit in fix["edits"]) for fix in best["fixes"]]
    assert any('"bhqd,bhkd->bhqk"' in one and '"bhqk,bhkd->bqhd"' in one for one in made)


def test_a_table_of_all_differences_that_is_meant_stays(runner: Runner) -> None:
    program = """
        import torch
        points, centres = torch.rand(6, requires_grad=True), torch.rand(6)
        gaps = points.unsqueeze(-1) - centres
        (gaps.square() @ torch.rand(5)).sum().backward()
        """
    assert_never_offered(runner, program, "squeeze(-1) - centres")


def test_a_maker_is_imported_from_where_the_program_imports_what_stands_beside_it(runner: Runner) -> None:
    beside = {
        "train.py": """
            import torch
            def optimizer_of(net):
                groups = [{"params": [p]} for p in net.parameters()]
                return torch.optim.Adam(groups, lr=0.1)
            def trained(net):
                adam = optimizer_of(net)
                net(torch.rand(4, 3)).sum().backward()
                adam.step()
                return adam.state_dict()
            """,
        "resume.py": """
            import torch
            def resumed(net, kept):
                adam = torch.optim.Adam(net.parameters(), lr=0.1)
                adam.load_state_dict(kept)
                return adam
            """,
    }
    program = """
        import torch
        from resume import resumed
        from train import trained
        net = torch.nn.Linear(3, 1)
        resumed(net, trained(net)).step()
        """
    first = explained(runner, program, beside)["fixes"][0]
    assert [edit["after"].strip() for edit in first["edits"]] == [
        "from train import optimizer_of", "adam = optimizer_of(net)"]  # fmt: skip
