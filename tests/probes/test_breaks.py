"""Graph breaks: why torch could not trace something and what it advises, from its message or from its registry."""

from __future__ import annotations

import json
from importlib.machinery import ModuleSpec

import pytest

from explainer.api import explain_text
from explainer.probes import breaks

ENTRY = {
    "Gb_type": "Attempt to trace generator",
    "Context": "",
    "Explanation": "Generators cannot be compiled. Got {value}.",
    "Hints": [
        "Call it from a function and ",
        "compile that function instead.",
        "Set {option}.",
        "It may be possible to write Dynamo tracing rules for this code.",
    ],
}
WHOLE = """torch._dynamo.exc.Unsupported: Foo is odd
  Explanation: Dynamo does not know `foo`. It was given tensor([1., 2.]).
  Hint: Avoid `foo`.
  Hint: Please report an issue to PyTorch.

  Developer debug context: call foo

 For more details about this graph break, please visit: https://pytorch.org/gb/gb0003.html

from user code:
   File "train.py", line 4, in step
    foo(x)
"""


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A torch whose registry knows one break; what this machine's torch knows is not asked."""
    (tmp_path / "_dynamo").mkdir()
    spec = ModuleSpec("torch", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(breaks, "find_spec", lambda _: spec)
    breaks._registry.cache_clear()
    yield tmp_path / "_dynamo" / "graph_break_registry.json"
    breaks._registry.cache_clear()


@pytest.mark.parametrize("message", ["Attempt to trace generator", "Broken ... see https://pytorch.org/gb/gb0003.html"])
def test_the_registry_tells_what_a_message_only_names(registry, message):
    """Sentences with blanks are left out, pieces of a sentence joined, what holds for every break is no way out."""
    registry.write_text(json.dumps({"GB0003": [ENTRY]}))
    ways = ("Call it from a function and compile that function instead",)
    assert breaks.broken(message) == ("Attempt to trace generator", "Generators cannot be compiled", ways)
    (report,) = explain_text(f"torch._dynamo.exc.Unsupported: {message}").reports
    assert report.diagnoses[0].rule == "graph-break"
    assert ways[0] in report.diagnoses[0].fixes[0].title


@pytest.mark.parametrize("text", [None, "no JSON", "[]", '{"GB0003": []}', '{"GB0003": [{"Gb_type": 3}]}'])
def test_a_torch_without_a_registry_or_with_another_one_tells_by_its_messages_alone(registry, text):
    if text is not None:
        registry.write_text(text)
    assert breaks.broken("Attempt to trace generator") is None
    (report,) = explain_text(WHOLE).reports
    found = report.diagnoses[0]
    assert (found.rule, found.headline) == (
        "graph-break", "torch.compile breaks its graph at `foo(x)`: Foo is odd"
    )  # fmt: skip
    assert "torch's reason: Dynamo does not know `foo`." in found.cause
    assert "tensor(" not in found.cause
    assert [fix.title for fix in found.fixes] == ["torch's way out: Avoid `foo`", found.fixes[-1].title]
    assert (found.culprit.file, found.culprit.line) == ("train.py", 4)


def test_an_error_of_the_same_name_that_torch_does_not_know_is_left_alone(registry):
    registry.write_text(json.dumps({"GB0003": [ENTRY]}))
    assert not explain_text("shop.Unsupported: no card of this kind").reports[0].diagnoses


def test_torch_s_own_registry_is_read_and_most_of_it_answered():
    """A change of its form would otherwise only make us silent."""
    pytest.importorskip("torch")
    kinds = breaks._registry()
    if not kinds:
        pytest.skip("this torch has no registry of graph breaks")
    numbers = [number for number in kinds if number.startswith("GB")]
    told = [breaks.broken(f"... see https://pytorch.org/gb/{number.lower()}.html") for number in numbers]
    assert all(told)
    assert sum(bool(why) for _, why, _ in told) > 0.5 * len(numbers)
    assert sum(bool(ways) for *_, ways in told) > 0.2 * len(numbers)
    assert not [one for one in told if "{" in one[1] or any("{" in way for way in one[2])]
