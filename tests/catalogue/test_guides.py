"""The guides of the families: each is there in every language, is on the pages, and its code runs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from explainer.authoring.guides import guide
from explainer.authoring.pages import family_page
from explainer.catalogue.schemas import FAMILIES
from explainer.cli import main


@pytest.mark.parametrize("family", FAMILIES)
def test_a_guide_speaks_every_language(family):
    one = guide(family)
    assert set(one.look) == set(one.prevent) == {"en", "ko", "zh"}
    assert one.links


@pytest.mark.skipif(find_spec("torch") is None, reason="the runner needs torch")
def test_the_code_of_every_guide_runs(runner):
    """It is shown as the way to write it, so it must not fail itself."""
    outcomes = {family: runner.run(guide(family).code)["outcome"] for family in FAMILIES}
    assert outcomes == dict.fromkeys(FAMILIES, "ended")


def test_a_page_of_a_rule_ends_with_how_to_prevent_it_and_a_family_has_a_page_of_its_own(capsys):
    assert main(["rule", "linear-input-size"]) == 0
    assert capsys.readouterr().out.count("### How to prevent it") == 1
    assert main(["rule", "shape", "--lang", "ko"]) == 0
    assert capsys.readouterr().out == family_page("shape", "ko")


def test_an_unknown_family_is_no_guide():
    with pytest.raises(KeyError):
        guide("../guides/shape")
