"""Watching a training: nothing of the program is changed, and nothing is left behind."""

from __future__ import annotations

import contextlib

import pytest

torch = pytest.importorskip("torch")

from trainings import trained  # noqa: E402

from explainer.training import holding  # noqa: E402
from explainer.training.sampling import sampled  # noqa: E402
from explainer.training.watcher import Watcher  # noqa: E402

HOOKED = (
    (torch.autograd, "backward"),
    (torch.optim.Optimizer, "__init__"),
    (torch.optim.Optimizer, "zero_grad"),
    (torch.nn.Module, "__init__"),
    (torch.nn.Module, "load_state_dict"),
    (torch.no_grad, "__enter__"),
    (torch.nn.utils, "clip_grad_norm_"),
)


def test_watching_changes_no_number_and_leaves_nothing_behind():
    before = [getattr(owner, name) for owner, name in HOOKED]
    plain = trained()
    watcher = Watcher().start()
    watched = trained()
    notes = watcher.stop()
    assert watched == plain
    assert [getattr(owner, name) for owner, name in HOOKED] == before
    assert not torch.overrides._get_current_function_mode_stack()
    assert not torch.nn.modules.module._global_forward_hooks
    assert (notes.counts["step"], notes.counts["zero"], notes.losses) == (12, 12, watched)
    assert not notes.trouble


def test_nothing_of_ours_is_recorded_saved_or_dispatched_inside_of_the_program(monkeypatch):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.checkpoint import checkpoint

    counts = [0, 0]

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counts[0] += 1
            return func(*args, **(kwargs or {}))

    def saved(tensor):
        counts[1] += 1
        return tensor

    def program():
        torch.manual_seed(0)
        layer = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Linear(4, 4), torch.nn.ReLU())
        model = torch.nn.Sequential(layer, torch.nn.RNN(4, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        counts[:] = 0, 0
        for step in range(6):
            given = torch.randn(8, 4, requires_grad=True)
            kept = torch.autograd.graph.saved_tensors_hooks(saved, lambda tensor: tensor)
            with Counting() if step == 1 else contextlib.nullcontext(), kept if step == 2 else contextlib.nullcontext():
                hidden = layer(given) if step == 2 else checkpoint(layer, given, use_reentrant=step > 3)
                loss = model[1](hidden, torch.ones(1, 4))[0].square().mean()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return [*counts, loss.item()]

    bare = program()
    watcher = Watcher().start()
    watched = program()
    assert watched == bare
    monkeypatch.setattr(torch.export, "export", lambda: watcher.deep.awake)
    watcher.deep.wake()
    assert watcher._exports(torch.export.export)() is False
    assert not watcher.stop().trouble


def test_gradients_of_any_layout_and_type_are_looked_at():
    table, number = torch.nn.Embedding(9, 4, sparse=True), torch.nn.Parameter(torch.ones(3, dtype=torch.cfloat))
    watcher = Watcher().start()
    optimizers = [torch.optim.SparseAdam(list(table.parameters())), torch.optim.Adam([number])]
    for _ in range(10):
        loss = table(torch.arange(5)).square().sum() + number.abs().square().sum()
        for one in optimizers:
            one.zero_grad()
        loss.backward()
        for one in optimizers:
            one.step()
    notes = watcher.stop()
    assert not notes.trouble
    assert [(one.looked > 3, one.lost) for one in notes.optimizers] == [(True, 0), (True, 0)]


def test_a_module_is_not_asked_for_its_hash_before_it_is_built():
    class Metric(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds = ("mean",)

        def __hash__(self):
            return hash(self.kinds)

        def __eq__(self, other):
            raise TypeError("metrics are compared value by value")

    watcher = Watcher().start()
    try:
        made = Metric()
        assert watcher.notes.built.get(made)[0].file == __file__
        assert [one for one in watcher.notes.built.living() if one is made]
        del made
        assert not watcher.notes.built.living()
    finally:
        watcher.stop()


def test_a_failure_of_a_hook_is_noted_and_never_the_programs(monkeypatch):
    from explainer.training import inspect

    def fails(*_):
        raise ValueError("ours")

    monkeypatch.setattr(inspect, "before_step", fails)
    monkeypatch.setattr(inspect, "root_called", fails)
    watcher = Watcher().start()
    trained()
    assert any("ours" in one for one in watcher.stop().trouble)


def test_steps_are_looked_at_ever_more_rarely():
    looked = [count for count in range(10_000) if sampled(count)]
    assert looked[:5] == [0, 1, 2, 3, 4]
    assert len(looked) < 20


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(torch.float16, 6e6), (torch.complex64, 6e6), (torch.int64, 6e6), (torch.float64, 6e6)],
)
def test_a_norm_is_told_without_a_warning_and_without_infinity(dtype, size, recwarn):
    assert holding.size(torch.full((10_000,), size / 100).to(dtype)) == pytest.approx(size, rel=1e-3)
    assert not recwarn.list


def test_a_batch_that_cannot_be_told_apart_reaches_the_program_all_the_same(monkeypatch):
    """What fails as a pass over a loader opens is ours, and noted."""

    def failing(*_):
        raise ValueError("ours")

    monkeypatch.setattr("explainer.training.data.fingerprint", failing)
    watcher = Watcher().start()
    loader = torch.utils.data.DataLoader(torch.arange(6.0), batch_size=2)
    taken = [batch.tolist() for batch in loader]
    assert any("ours" in one for one in watcher.stop().trouble)
    assert taken == [[0, 1], [2, 3], [4, 5]]


def test_a_leaf_without_strides_is_no_trouble():
    watcher = Watcher().start()
    weight = torch.eye(4).to_sparse().requires_grad_()
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.sparse.mm(weight, torch.ones(4, 4))).sum().backward()
        optimizer.step()
    assert not watcher.stop().trouble
    assert not holding._LEAVES


@pytest.mark.parametrize("decorated", [False, True])
def test_only_what_the_program_does_without_gradients_may_be_an_evaluation(decorated):
    woken = []
    watcher = Watcher().start()
    watcher.deep.wake = lambda evaluation=None: woken.append(evaluation)

    def whole(model):
        with torch.no_grad():
            return model(torch.ones(2, 4))

    evaluate = torch.no_grad()(lambda model: model(torch.ones(2, 4))) if decorated else whole
    try:
        model = torch.nn.Linear(4, 2)
        model(torch.ones(2, 4)).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        torch.optim.swa_utils.update_bn([torch.ones(2, 4)], torch.nn.BatchNorm1d(4))
        torch.nn.init.zeros_(model.bias)
        assert not woken
        evaluate(model)
        assert len(woken) == 1
    finally:
        watcher.stop()
