"""What an edit's lines tell of it: the edits that fit whatever is wrong, which prove nothing."""

from __future__ import annotations

import pytest

from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.edits.changes import only_adapts, silences


@pytest.mark.parametrize(
    ("before", "after", "adapts"),
    [
        ("y = clean - noisy", "y = clean[:, :noisy.size(1)] - noisy", True),
        ("nn.Linear(8, len(names))", "nn.Linear(8, len(names) + 1)", True),
        ("rows = range(n)", "rows = range(n - 1)", True),
        ("y = x + self.pe[: x.size(1)]", "y = x + self.pe[:x.size(0), :][: x.size(1)]", True),
        ("y = x + z", "y = F.interpolate(x, size=z.shape[2:]) + z", True),
        ("y = F.interpolate(x, scale_factor=2)", "y = F.interpolate(x, scale_factor=4)", False),
        ("y = net(x)", "y = net(x.float())", False),
        ("nn.Linear(8, 4)", "nn.Linear(16, 4)", False),
        ("y = x[0]", "y = x[1]", False),
    ],
)
def test_an_edit_that_cuts_to_size_or_counts_one_more_only_adapts(before, after, adapts):
    """With enough of them tried, one of these fits nearly every mismatch."""
    edit = Edit("main.py", 3, 3, before, after)
    assert only_adapts(Candidate((edit,), "replace", "", Span("main.py", 3))) is adapts


@pytest.mark.parametrize(
    ("after", "lenient"), [("strict=False", True), ("strict = True", False), ("strict=True", False)]
)
def test_an_edit_that_lets_a_check_be_left_out_silences(after, lenient):
    edit = Edit("main.py", 3, 3, "net.load_state_dict(state)", f"net.load_state_dict(state, {after})")
    assert silences(Candidate((edit,), "replace", "", Span("main.py", 3))) is lenient


@pytest.mark.parametrize(
    ("after", "silent"),
    [
        ("clip(parameters, 1.0)", True),
        ("clip(parameters, 1.0, error_if_nonfinite=False)", True),
        ("clip(parameters, 0.5, error_if_nonfinite=True)", False),
    ],
)
def test_an_edit_that_takes_a_check_away_silences(after, silent):
    """What found the values that are not finite is not to blame for them."""
    edit = Edit("main.py", 3, 3, "clip(parameters, 1.0, error_if_nonfinite=True)", after)
    assert silences(Candidate((edit,), "replace", "", Span("main.py", 3))) is silent
