"""The argument that a call's overloads refuse, from torch's own list of them."""

from __future__ import annotations

import pytest

from explainer.api import explain
from explainer.grammar.signatures import alike, misfit

MEAN = (
    "mean() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (*, torch.dtype dtype = None)\n"
    " * (tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None)\n"
)
FULL = (
    "full() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (tuple of ints size, Number fill_value, *, Tensor out = None, torch.dtype dtype = None)\n"
    " * (tuple of ints size, Number fill_value, *, tuple of names names, torch.dtype dtype = None)\n"
)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (MEAN.format("axes=int, "), ("keyword", "axes", "dim", None)),
        (MEAN.format("keep=bool, dim=int, "), ("keyword", "keep", "keepdim", None)),
        (MEAN.format("str"), ("type", "dim", None, None)),
        (MEAN.format("list, bool, foo=int, "), ("keyword", "foo", None, None)),
        (FULL.format("tuple, str"), ("type", "fill_value", None, None)),
        (FULL.format("tuple, torch.dtype"), ("type", "fill_value", None, "dtype")),
        (FULL.format("tuple, fill=int, "), ("keyword", "fill", "fill_value", None)),
        (FULL.format("tuple, int, torch.dtype"), ("type", "3", None, "dtype")),
        (FULL.format("tuple, float"), None), (FULL.format("str, str"), None), (FULL.format(""), None),
        ("full() received an invalid combination of arguments - got (tuple of (int, ", None), ("", None),
        (FULL.format("(" * 3000), None),
    ],
)  # fmt: skip
def test_the_argument_that_does_not_fit(message, problem):
    found = misfit(message)
    assert (found and (found.problem, found.name, found.better, found.belongs)) == problem


@pytest.mark.parametrize(
    ("name", "names", "meant"),
    [
        ("learning_rate", ["params", "lr"], "lr"), ("inpalce", ["p", "inplace"], "inplace"),
        ("axis", ["dim", "keepdim"], "dim"), ("foo", ["dim", "keepdim"], None), ("dim3", ["dim1", "dim2"], None),
    ],
)  # fmt: skip
def test_the_name_that_is_meant(name, names, meant):
    assert alike(name, names) == meant


def test_a_paste_is_told_without_the_program():
    diagnosis = explain("TypeError: " + MEAN.format("axes=int, ")).reports[0].diagnoses[0]
    assert diagnosis.headline == "`mean` has no argument `axes`; the nearest that it has is `dim`"


@pytest.mark.parametrize(
    ("call", "given", "meant"),
    [("Adam", "learning_rate", "lr"), ("Conv2d", "in_channel", "in_channels"), ("StepLR", "verbose", None),
     ("DataLoader", "num_worker", "num_workers"), ("Ours", "in_channel", None), ("LSTM", "units", None)],
)  # fmt: skip
def test_a_pasted_constructor_is_looked_up_in_the_torch_that_is_installed(call, given, meant):
    """What the source lists names the keyword that was meant; one that it lacks may be of another version."""
    pytest.importorskip("torch")
    text = f"TypeError: {call}.__init__() got an unexpected keyword argument '{given}'"
    found = explain(text).to_dict()["reports"][0]["diagnoses"]
    assert [one["rule"] for one in found if one["rule"] == "argument-refused"] == ["argument-refused"] * bool(meant)
    assert meant is None or f"`{meant}`" in found[0]["headline"]
