"""Edits that a search offers for how data are kept and brought to scale, and for what follows a training."""

from __future__ import annotations

import ast

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.source import parsed_source  # noqa: E402
from explainer.training.search import dtypes, evaluation, places, standardizing, unread  # noqa: E402


def texts(offers) -> set[tuple[str, str]]:
    """What offers replace, and by what."""
    return {(one.source.text(one.node), one.new) for one in offers if one.edits}


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("t = torch.tensor(rows)", ("torch.tensor(rows)", "torch.tensor(rows, dtype=torch.float64)")),
        ("t = np.asarray(s, np.float32)", ("np.asarray(s, np.float32)", "np.asarray(s, np.float64)")),
        ("t = torch.from_numpy(s).float()", ("torch.from_numpy(s).float()", "torch.from_numpy(s).double()")),
        ("t = torch.tensor(s, dtype=torch.float32)",
         ("torch.tensor(s, dtype=torch.float32)", "torch.tensor(s - s.min(), dtype=torch.float32)")),
    ],
)  # fmt: skip
def test_a_wider_type_is_tried_first_where_places_in_a_cycle_are_asked_for(text, offered):
    plain, waves = (list(dtypes.wider(parsed_source("train.py", f"{text}{more}"))) for more in ("", "\nc = t.sin()"))
    assert offered in texts(plain) & texts(waves)
    assert min(one.cost for one in waves) < min(one.cost for one in plain)


def test_fractions_are_brought_to_scale_before_they_are_cut_by_what_brings_them_back():
    text = "def keep(wave):\n    return wave.to(torch.int16)\ndef play(pcm):\n    return pcm.float() / PEAK\n"
    offered = texts(dtypes.fractions(parsed_source("x.py", text), set()))
    assert offered == {("wave", "(wave * PEAK)"), ("wave.to(torch.int16)", "wave")}
    assert not texts(dtypes.fractions(parsed_source("x.py", "y = wave.to(torch.float32)\n"), set()))
    scaled = "def scaled(x):\n    out = x.copy()\n    out[:, 0] = (x[:, 0] - 3) / 7\n    return out\n"
    assert texts(dtypes.fractions(parsed_source("x.py", scaled), set())) == {("x.copy()", "x.astype(float)")}
    assert not texts(dtypes.fractions(parsed_source("x.py", scaled.replace(" / 7", "")), set()))


def test_a_second_set_of_data_is_offered_the_statistics_of_the_first():
    head = "def scaled(x):\n    return (x - x.mean()) / x.std()\n"
    offered = texts(standardizing.of_first(parsed_source("x.py", head + "a = scaled(train)\nb = scaled(test)\n")))
    assert offered == {("scaled(test)", "((test - train.mean()) / train.std())")}
    assert not texts(standardizing.of_first(parsed_source("x.py", head + "a = scaled(train)\n")))
    plain = "def scaled(x):\n    return x / 255\na = scaled(train)\nb = scaled(test)\n"
    assert not texts(standardizing.of_first(parsed_source("x.py", plain)))


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("at = far.topk(k, dim=1)", ("far.topk(k, dim=1)", "far.topk(..., largest=False)")),
        ("at = far.topk(k, largest=False)", ("far.topk(k, largest=False)", "far.topk(..., largest=True)")),
        ("at = far.argsort(dim=1)", ("far.argsort(dim=1)", "far.argsort(..., descending=True)")),
        ("at = far.argmax(1)", ("far.argmax", "far.argmin")),
    ],
)
def test_an_evaluation_that_takes_one_end_is_offered_the_other(text, offered):
    source = parsed_source("x.py", text + "\n")
    calls = [one for one in ast.walk(source.tree) if isinstance(one, ast.Call)]
    assert {offered} == {pair for call in calls for pair in texts(evaluation._other_end(source, call))}


def test_what_is_called_behind_the_training_is_looked_through_and_nothing_that_trained(tmp_path):
    text = """\
        import torch
        def nearest(rows):
            return torch.cdist(rows, rows).topk(2).indices
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(12):
            loss = model(torch.randn(4, 3)).sort().values.sum()
            loss.backward()
            optimizer.step()
        print(nearest(torch.randn(5, 2)).shape)
    """
    watcher, _ = ran(tmp_path, text)
    watcher.stop()
    watcher.sources = [next(places.training_loops(watcher))[0]]
    names = {source.text(call.func).rpartition(".")[2] for source, call in places.afterwards(watcher)}
    assert {"topk", "cdist", "nearest"} <= names
    assert "sort" not in names


@pytest.mark.parametrize(
    ("kept", "made", "offered"),
    [
        ('"vocab": vocab', "Vocab.build(new)", 'saved["vocab"]'),
        ('"words": vocab.words', "Vocab.build(new)", 'Vocab(saved["words"])'),
        ('"words": vocab.words', "Vocab(new)", 'Vocab(saved["words"])'),
        ('"words": other.words', "Vocab.build(new)", ""),  # of something else
        ('"words": vocab.words', "build(new)", ""),  # of no class
        ('"words": vocab.words', "{}", ""),
    ],
)
def test_what_was_kept_and_is_read_nowhere_takes_the_place_of_what_is_made_anew(kept, made, offered):
    text = (f'def first(model, vocab, other):\n    return {{"model": model, {kept}}}\n'
            f'def then(saved, new):\n    vocab = {made}\n    return saved["model"], vocab\n')  # fmt: skip
    assert texts(unread.entries(parsed_source("resume.py", text))) == ({(made, offered)} if offered else set())
