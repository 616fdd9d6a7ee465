"""Every symptom: its wordings, near misses, hostile texts and words in every language, over the whole catalogue."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explainer import explain
from explainer.authoring import check, listing, rules, symptoms, texts
from explainer.catalogue import Problem, load, sources
from explainer.crash import Frame, Raised

CATALOGUE = load()
DOCUMENTS = {document.value["id"]: document for document in check.read_all(sources.builtin())[0]}


def said(name: str, found) -> list[Problem]:
    return [DOCUMENTS[name].problem(way, text) for way, text in found]


@pytest.mark.parametrize("name", CATALOGUE.symptoms)
def test_a_symptom_answers_its_own_wordings_first_and_no_near_miss_in_every_language(name):
    one = CATALOGUE.symptoms[name]
    assert said(name, symptoms.problems(one, CATALOGUE)) == []
    assert said(name, texts.problems(DOCUMENTS[name].value)) == []


@pytest.mark.parametrize("name", CATALOGUE.rules)
def test_a_rule_names_only_what_there_is_and_has_its_examples(name):
    one = CATALOGUE.rules[name]
    assert said(name, rules.problems(one, CATALOGUE)) == []
    assert said(name, texts.problems(DOCUMENTS[name].value)) == []


@pytest.mark.parametrize("language", ["ko", "zh"])
def test_every_text_has_korean_and_chinese(language):
    everything = [*CATALOGUE.symptoms.values(), *CATALOGUE.rules.values()]
    assert [one.id for one in everything if listing.lacks(one, language)] == []


def test_a_pasted_message_of_any_symptom_is_explained_without_torch():
    program = (
        "import sys, explainer; from explainer.catalogue import load\n"
        "for one in load().symptoms.values():\n"
        "    for said in one.messages: explainer.explain(f'{one.exception[0]}: {said.says}')\n"
        "    assert 'torch' not in sys.modules, one.id"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


#: Errors of numpy, pandas, TensorFlow, JAX, plain Python and launchers, a line each.
ELSEWHERE = [
    line
    for line in (Path(__file__).parents[2] / "fixtures" / "elsewhere.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("text", ELSEWHERE)
def test_errors_that_only_look_like_torchs_stay_silent(text):
    """As a bare line of a log, and as an exception that a user's own line raised."""
    kind, _, message = text.partition(": ")
    assert CATALOGUE.match(Raised(kind, message, (Frame("/home/me/train.py", 3),))) is None
    assert [report.diagnoses for report in explain(text).reports] == [()]
