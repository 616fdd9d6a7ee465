"""Every symptom: its wordings, near misses, hostile texts and words in every language, over the whole catalogue."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


ELSEWHERE = [
    ("ValueError", "operands could not be broadcast together with shapes (3,4) (5,)", "numpy/core/_methods.py"),
    ("ValueError", "shapes (3,4) and (5,6) not aligned: 4 (dim 1) != 5 (dim 0)", "main.py"),
    ("ValueError", "setting an array element with a sequence.", "main.py"),
    ("ValueError", "Found input variables with inconsistent numbers of samples: [10, 9]", "sklearn/utils.py"),
    ("InvalidArgumentError", "Matrix size-incompatible: In[0]: [4,576], In[1]: [400,120] [Op:MatMul]", "tensorflow/x"),
    ("ResourceExhaustedError", "OOM when allocating tensor with shape[32,512] on /device:GPU:0", "tensorflow/x.py"),
    ("TypeError", "dot_general requires contracting dimensions to have the same shape, got (4,) and (5,).", "lax.py"),
    ("XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.", "jax/x.py"),
    ("KeyError", "'image'", "data.py"),
    ("IndexError", "list index out of range", "train.py"),
    ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'", "train.py"),
    ("AttributeError", "'NoneType' object has no attribute 'shape'", "train.py"),
    ("ModuleNotFoundError", "No module named 'my_settings'", "train.py"),
    ("FileNotFoundError", "[Errno 2] No such file or directory: 'data/train.csv'", "train.py"),
    ("ZeroDivisionError", "division by zero", "train.py"),
    ("ValueError", "not enough values to unpack (expected 3, got 2)", "train.py"),
    ("RuntimeError", "dictionary changed size during iteration", "train.py"),
    ("AssertionError", "", "train.py"),
    ("JSONDecodeError", "Expecting value: line 1 column 1 (char 0)", "json/decoder.py"),
    ("KeyboardInterrupt", "", "train.py"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "file"), ELSEWHERE)
def test_errors_that_are_not_torchs_get_no_symptom(kind, message, file):
    found = CATALOGUE.match(Raised(kind, message, (Frame(f"/home/me/{file}", 3),)))
    assert found is None
