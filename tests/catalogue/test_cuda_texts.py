"""What torch prints on a real GPU (recorded by fixtures/record_cuda.py) is known: each text by its symptom."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainer import explain
from explainer.diagnosis import Diagnosis

TEXTS = Path(__file__).parents[2] / "fixtures" / "tracebacks" / "cuda"
#: The symptom of each text.
SYMPTOMS = {
    "argument-on-wrong-device": "device-index device-lengths",
    "autocast-bce": "dtype-bce-autocast",
    "conv-channels": "shape-conv",
    "cuda-graph-capture": "api-capture",
    "cuda-in-fork": "device-fork",
    "cuda-invalid-device": "device-ordinal",
    "cuda-out-of-memory": "oom-another-process oom-fragments oom-full oom-graph-kept oom-one-request",
    "deterministic-not-available": "api-deterministic",
    "device-assert-advanced-index": "index-advanced",
    "device-assert-bce-range": "nan-bce",
    "device-assert-embedding-index": "index-dead-context index-embedding index-select",
    "device-assert-gather-scatter": "index-gather index-one-hot index-scatter",
    "device-assert-multinomial": "nan-multinomial",
    "device-assert-nll-target": "index-label index-label-negative",
    "generator-device": "device-generator",
    "input-and-weight-types": "device-conv-weight",
    "matmul-dtypes": "dtype-autocast dtype-half-weight",
    "matmul-shapes": "shape-linear",
    "numpy-of-device-tensor": "device-numpy",
    "rnn-hidden-device": "device-lstm device-lstm-state",
    "two-devices": "device-add device-attention device-batchnorm device-bmm device-cat device-conv device-embedding "
    "device-gather device-layernorm device-linear device-loss device-masked-fill device-matmul device-optimizer "
    "device-scatter device-where",
}
EXPECTED = {name: symptom for symptom, names in SYMPTOMS.items() for name in names.split()}


def diagnosis(name: str) -> Diagnosis:
    explanation = explain((TEXTS / f"{name}.txt").read_text(encoding="utf-8"), lang="en", replay=False)
    assert len(explanation.reports) == 1, "one error, told once"
    return explanation.reports[0].diagnoses[0]


def test_every_text_is_expected_to_be_something() -> None:
    assert {path.stem for path in TEXTS.glob("*.txt")} == EXPECTED.keys()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_text_of_a_real_gpu_is_known(name: str) -> None:
    assert diagnosis(name).rule == EXPECTED[name]


def test_of_a_capture_the_call_that_broke_it_is_told_not_what_followed() -> None:
    assert "would wait for the GPU" in diagnosis("api-capture").headline


def test_the_three_devices_of_attention_are_told_apart() -> None:
    assert "query on cuda:0, its key on cpu" in diagnosis("device-attention").headline
