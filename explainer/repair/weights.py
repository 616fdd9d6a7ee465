"""What each feature of a survivor costs: made by `scripts/fit_prior.py`."""

from __future__ import annotations

from collections.abc import Mapping

WEIGHTS: Mapping[str, float] = {
    "any": -4.51,
    "atom=reduction": 0.73,
    "cast": -1.69,
    "come": 1.53,
    "distance": -0.09,
    "doubt=batch": 3.65,
    "drops-name": 0.25,
    "familiar": -0.21,
    "gone": 1.73,
    "innermost": 0.46,
    "known=0": 1.76,
    "known=2": -1.31,
    "known=rule": -3.17,
    "new-number": 1.65,
    "reshaped=many": 1.91,
    "reshaped=two": -0.34,
    "role=built": -1.4,
    "role=crash": 0.46,
    "role=slice": -2.58,
    "ungraded": 1.34,
}
