"""scripts/score.py: what counts as right for a program that crashes, and what got better or worse."""

import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from scoring import table
from scoring.case import Case, cases, edited
from scoring.judge import judged

from explainer.authoring.examples import can_check
from explainer.decisions import Trace
from explainer.diagnosis import Edit, FixSource, Span
from explainer.edits import Candidate
from explainer.render import why

NET = """\
import torch
from torch import nn

body, head = nn.Linear(6, 8), nn.Linear(9, 3)
out = head(body(torch.rand(4, 6)))
named = {"body": body, "head": head}
pairs = ((f"{n}.{k}", v) for n, m in named.items() for k, v in m.named_parameters())
print("SHAPES", *(f"{name}={'x'.join(map(str, value.shape))}" for name, value in pairs))
print("OK", *out.shape)
"""
SHAPES = {"body.weight": "8x6", "body.bias": "8", "head.weight": "3x8", "head.bias": "3"}
LOSS = """\
import torch

loss = torch.nn.functional.mse_loss(torch.rand(3, requires_grad=True), torch.rand(3), reduction="none")
loss.backward()
print("OK")
"""


def written(folder: Path, text: str, **facts: object) -> Case:
    folder.mkdir()
    (folder / "main.py").write_text(text)
    (folder / "case.yaml").write_text(yaml.safe_dump(facts))
    (folder / "fix.patch").write_text("not the program's")
    return next(cases(folder.parent, folder.name))


@pytest.mark.skipif(not can_check(), reason="no sandbox here")
def test_two_programs_are_scored(tmp_path, runner):
    lines = [{"file": "main.py", "line": 4}]
    net = written(
        tmp_path / "net", NET, family="shape", culprits=lines, expected_stdout_last="OK 4 3", parameters=SHAPES
    )
    loss = written(
        tmp_path / "loss", LOSS, family="autograd", culprits=lines, expected_stdout_regex="OK and more", symbols=["kl"]
    )
    assert net.files.keys() == {"main.py"}
    right, wrong = judged(net, runner), judged(loss, runner)
    assert (right["line"], right["fix"], right["fixed"], right["kept"]) == ("right", "checked", True, True)
    assert right["source"]
    assert right["at"] == "main.py:4"
    assert right["made"] >= right["tried"] >= right["passed"] >= 1
    assert (wrong["line"], wrong["fixed"], wrong["said"]) == ("wrong", False, False)
    shown = table.certainties([right, wrong])
    assert "named     2  a wrong line in 1" in shown
    other = judged(Case(net.path, {**net.facts, "parameters": {f"layer{one}": "1" for one in "abc"}}), runner)
    assert (other["fixed"], other["kept"]) == (True, False)


def test_what_changed_is_told_by_program():
    row = {"name": "a", "line": "right", "fixed": True, "kept": True, "source": "rule r"}
    assert table.compared([row], [row]) == "no program better or worse"
    told = table.compared([{**row, "fixed": False}], [row]).split()
    assert told[:5] == ["WORSE", "a", "fixed:", "True", "->"]


def test_an_edit_goes_only_where_the_file_reads_as_it_says():
    edit = {"file": "a.py", "start_line": 2, "end_line": 2, "before": "b", "after": None}
    assert edited({"a.py": "a\nb\nc\n"}, [edit]) == {"a.py": "a\nc\n"}
    with pytest.raises(ValueError, match="reads otherwise"):
        edited({"a.py": "a\nx\n"}, [edit])


def test_every_decision_on_a_candidate_is_shown():
    """What passed once has passed, and what is filtered was not tried."""
    span = Span("a.py", 3, 1)
    source = FixSource("generator", "sizes.arriving").at(span)
    first, other, last = (
        Candidate((Edit("a.py", 3, 3, "x", text),), "replace", f"write {text}", span, source=source) for text in "abc"
    )
    assert len({first, Candidate(first.edits, "replace", first.title, span)}) == 1
    trace = Trace(rules={"linear-input-size": "why_refuted"}, first="why_only")
    trace.tried(first, "passed")
    trace.tried(first, "failed", "why_statements")
    trace.tried(other, "failed", "RuntimeError: no (a.py:3)")
    trace.filtered(last, "why_cancels")
    assert trace.counts() == {"made": 3, "filtered": 1, "tried": 2, "passed": 1}
    shown = why.to_str(trace)
    assert "3 made, 1 put aside before any run, 2 tried, 1 passed" in shown
    assert "passed     generator sizes.arriving" in shown
    assert "RuntimeError: no (a.py:3)" in shown
    assert "first because no other of its tier passed" in shown
    assert trace.to_dict()["candidates"][0]["source"]["line"] == 3
