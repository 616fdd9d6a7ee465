"""The search where a model is built for another file than is loaded: what the file keeps says what was meant."""

from __future__ import annotations

import textwrap

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check
from explainer.oracle import saves

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Builds a model of a table of words, in training and in use; `KEPT` is what is saved beside the weights.
PROGRAM = """
    import tempfile
    import torch
    from torch import nn
    from collections import Counter
    TEXTS = ["a b c d", "a b c e", "a b f g"]
    def table(texts, least=1):
        counts = Counter(word for text in texts for word in text.split())
        return sorted(word for word, count in counts.items() if count >= least)
    def train(path, least=2):
        net = nn.Embedding(len(table(TEXTS, least)), 4)
        torch.save({"weights": net.state_dict(), KEPT}, path)
    def use(path):
        state = torch.load(path)
        words = table(TEXTS)
        net = nn.Embedding(len(words), 4)
        net.load_state_dict(state["weights"])
        return net
    with tempfile.NamedTemporaryFile() as file:
        train(file.name)
        print(use(file.name).weight.shape)
"""
FAULTS = {
    "beside the weights": ('"least": least', 'table(TEXTS, least=state["least"])'),
    "among the settings of the file": (
        '"setting": {"least": least, "seed": 1}',
        'table(TEXTS, least=state["setting"]["least"])',
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_file_keeps_is_given_to_the_parameter_of_that_name(fault: str, runner: Runner) -> None:
    kept, repair = FAULTS[fault]
    assert_repaired(runner, PROGRAM.replace("KEPT", kept), "words = table(TEXTS)", repair)


def test_a_helper_that_calls_nothing_of_torch_is_a_part_of_the_program(runner: Runner) -> None:
    program = textwrap.dedent(PROGRAM).lstrip().replace("KEPT", '"least": least')
    above, below = program[: program.index("def table")], program[program.index("def train") :]
    helper = "from collections import Counter\n" + program[program.index("def table") : program.index("def train")]
    answer = runner.run(above + "from helper import table\n" + below, {"helper.py": helper}, "clean")
    first = answer["document"]["reports"][0]["diagnoses"][0]["fixes"][0]
    assert 'least=state["least"]' in first["edits"][0]["after"]


def test_a_tensor_of_another_shape_under_its_key_is_another_file():
    before = [{"/weights/weight": [3, 4]}]
    assert saves.resized([{"/weights/weight": [7, 4]}], before)
    assert not saves.resized([{"/weights/weight": [3, 4]}], before)
    assert not saves.resized([{"/weights/inner.weight": [3, 4]}], before)  # other keys are another matter
