"""Orders that one part of each sample has alone: which are seen, what is offered, what is left alone."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from explainer.source import parsed_source  # noqa: E402
from explainer.training.kinds import padded, projections, resorted  # noqa: E402

PARTS = "def collate(batch):\n    labels = [b for _, b in batch]\n    seqs = {sort}\n    return seqs, labels\n"
ROWS = "for x, lengths, y in loader:\n    lengths, order = lengths.sort(descending=True)\n    x = x[order]\n{rest}"
READ = "def forward(self, x, lengths):\n    order = lengths.argsort()\n    out = net(x[order])\n    return out{end}\n"


def lines(finder, text: str, monkeypatch) -> list[str]:
    """The lines that the attempts of a finder put in."""
    source = parsed_source("x.py", text)
    monkeypatch.setitem(finder.__globals__, "program_sources", lambda _: [source])
    edits = [edit for one in finder(None) for each in one.attempts for edit in each.edits]
    return [line.strip() for edit in edits for line in (edit.after or "").split("\n")]


@pytest.mark.parametrize(
    ("sort", "put"),
    [
        ("sorted((a for a, _ in batch), key=len)", "batch = sorted(batch, key=lambda each: len(each[0]))"),
        ("sorted([b[0] for b in batch])", "batch = sorted(batch, key=lambda each: each[0])"),
        ("[a for a, _ in batch]", None),
        ("sorted(b for _, b in batch)", None),
    ],
)
def test_the_samples_are_sorted_as_a_whole(sort, put, monkeypatch):
    found = lines(projections.sorted_alone, PARTS.format(sort=sort), monkeypatch)
    assert put in found if put else not found


def test_what_was_unpacked_with_the_rows_is_taken_in_their_order(monkeypatch):
    rest = "    loss = fit(net(x, lengths), {y})\n"
    assert lines(resorted.sorted_apart, ROWS.format(rest=rest.format(y="y")), monkeypatch) == ["y = y[order]"]
    assert not lines(resorted.sorted_apart, ROWS.format(rest=rest.format(y="y[order]")), monkeypatch)
    undone = "    out = net(x, lengths)[order.argsort()]\n" + rest.format(y="y")
    assert not lines(resorted.sorted_apart, ROWS.format(rest=undone), monkeypatch)


def test_a_result_is_put_back_into_the_order_that_was_given(monkeypatch):
    found = lines(resorted.sorted_apart, READ.format(end=""), monkeypatch)
    assert found == ["return out[order.argsort()]"]
    assert not lines(resorted.sorted_apart, READ.format(end="[order.argsort()]"), monkeypatch)


def test_tables_of_numbers_are_those_that_keep_them():
    source = parsed_source("x.py", "a = {w: i for i, w in enumerate(s)}\nfor i, w in enumerate(s):\n    print(i)\n")
    assert [one.lineno for one in padded._numberings(source)] == [1]
