"""The healthy programs, what breaks them on purpose, and that a small fixed sample has no wrong `proved`."""

import ast
import random
import sys
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from foreign.breaking import OPERATORS as FOREIGN
from foreign.breaking import facts_of
from foreign.packages import Model, models, moved
from mutations.all import changes, drawn, mutants
from mutations.measure import measured
from mutations.mutant import Change, broken
from mutations.programs import SCRIPT, Program, Source, programs
from mutations.table import table

from explainer.authoring.examples import can_check

PROGRAMS = list(programs())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_healthy_programs_run_to_their_end_and_say_ok_there(program, runner):
    files = dict(program.files)
    script = files.pop(SCRIPT)
    assert ast.parse(script).body[-1].value.args[0].lineno == len(script.splitlines())
    assert 'print("OK' in script.splitlines()[-1] or 'print(f"OK' in script.splitlines()[-1]
    assert runner.run(script, files)["outcome"] == "ended"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_tag_belongs_to_a_literal(program):
    for source in program.sources:
        for line, tags in source.ties.items():
            assert len(source.literals(line)) == len(tags), f"{source.name}:{line}"


def test_a_mutant_differs_from_its_program_at_its_truth_alone():
    """Lines that are neither truth nor next to something dropped are as they were."""
    program = next(one for one in PROGRAMS if one.name == "unet")
    some = [one for group in mutants(program).values() for one in group]
    for mutant in random.Random(0).sample(some, 40):
        changed = [name for name, text in mutant.files.items() if text != program.files[name]]
        assert len(changed) == 1
        assert {file for file, _ in mutant.truth} == set(changed)
        ast.parse(mutant.files[changed[0]])
        old, new = program.files[changed[0]].splitlines(), mutant.files[changed[0]].splitlines()
        kept = [text for number, text in enumerate(new, 1) if (changed[0], number) not in mutant.truth]
        assert set(kept) <= set(old)


def test_lines_behind_an_insertion_move_with_it():
    source = Source("a.py", "x = 1\ny = 2\nz = x + y\n", {})
    change = Change("k", ("shape",), "w", 6, 6, "x = 3\n", frozenset({("a.py", 1), ("a.py", 3)}))
    mutant = broken(Program("p", (source,)), source, change)
    assert mutant.truth == {("a.py", 2)}
    assert mutant.also == {("a.py", 1), ("a.py", 4)}


def test_a_seed_decides_the_order():
    first = [one.name for one in islice(drawn(PROGRAMS[:2], 3), 20)]
    assert first == [one.name for one in islice(drawn(PROGRAMS[:2], 3), 20)]
    assert first != [one.name for one in islice(drawn(PROGRAMS[:2], 4), 20)]


@pytest.mark.skipif(not can_check(), reason="no sandbox here")
def test_what_is_proved_in_a_small_sample_is_right(runner):
    """The judge sees right lines, and none that is called proved is wrong."""
    results = []
    for mutant in drawn([one for one in PROGRAMS if one.name in ("gan", "siamese")], 1, "second-backward"):
        results.append(measured(mutant, runner))
    for mutant in islice(drawn([one for one in PROGRAMS if one.name == "siamese"], 1, "size"), 4):
        results.append(measured(mutant, runner))
    proved = [one for one in results if one.certainty == "proved"]
    assert len(proved) >= 2
    assert {one.right for one in proved} <= {"truth", "also"}


def test_the_table_counts_by_kind_and_certainty():
    row = {"outcome": "torch", "family_right": True, "fix": "checked", "fix_runs": True, "certainty": "proved"}
    rows = [{**row, "kind": "size", "right": "truth", "culprit": ["a.py", 1]}]
    rows += [{**row, "kind": "size", "right": "wrong", "culprit": ["a.py", 2]}]
    text = table(rows)
    assert "proved    1 of 2 lines right (50.0 %)" in text
    assert text.splitlines()[1].split()[:6] == ["size", "2", "2", "1", "1", "1"]


ATTENTION = """\
import torch
from einops import rearrange
from torch import einsum, nn


class Attention(nn.Module):
    def __init__(self, dim, inner, heads=4):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, inner)
        self.to_out = nn.Sequential(nn.Linear(inner, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, x):
        q = rearrange(self.to_q(x), "b n (h d) -> b h n d", h=self.heads)
        found = einsum("b h i d, b h j d -> b h i j", q, q)
        found = found[:, :, None].reshape(x.size(0), -1, 3)
        return self.to_out(found)
"""


def test_patterns_slices_arguments_and_steps_are_broken_too():
    """Each kind of break changes its own line alone, and nothing that is broken fails to parse."""
    program = Program("attention", (Source("attention.py", ATTENTION, {}),))
    broken_texts = {}
    for kind, some in changes(program, FOREIGN).items():
        for source, change in some:
            mutant = broken(program, source, change)
            if mutant is not None:
                broken_texts.setdefault(kind, set()).add(mutant.files["attention.py"])
    wanted = {
        "einops": '"b n (h d) -> b h d n"',
        "einsum": '"b h i d, b h j d -> b h j i"',
        "slice": "found[:, None, :]",
        "swapped": "nn.Linear(inner, dim)\n        self.to_out",
        "name": "self.to_q = nn.Linear(inner, inner)",
        "default": "heads=5",
        "reshape": "reshape(-1, x.size(0), 3)",
        "left-out": "return found",
        "setting": "",
    }
    for kind, text in wanted.items():
        found = {one.replace("'", '"') for one in broken_texts.get(kind, ())}
        assert any(text in one for one in found) == bool(text), kind


def test_copied_files_import_each_other_by_their_new_names():
    copies = {"package.nets.conv": ("conv", "class Conv:\n    pass\n"), "package.nets.net": ("net", "")}
    text = "from . import (\n    Conv,\n    Other,\n)\nfrom ..utils import one as two\n"
    text += "from package.nets.conv import Conv\n"
    lines = moved(text, "package/nets/net.py", copies).splitlines()
    assert lines[0] == "from conv import Conv; from package.nets import Other"
    assert lines[4:] == ["from package.utils import one as two", "from conv import Conv"]
    assert len(models()) >= 25
    assert len({model.package for model in models()}) >= 15
    assert {model.half for model in models()} == {"fit", "held"}


def test_a_mutant_of_a_foreign_model_is_a_case():
    model = Model(
        "net", "some-package==1.0", ("some/net.py",), "from net import Net\n\nmodel = Net()\nout = model(1)\n"
    )
    source = Source("net.py", "x = 1\n", {})
    mutant = broken(Program("net", (source,)), source, Change("size", ("shape",), "1 became 2", 4, 5, "2"))
    error = {"type": "RuntimeError", "message": "no", "file": "net.py", "line": 1}
    facts = facts_of(model, mutant, error, "SHAPES a.weight=2x3 a.bias=2\nLOSS 0.5\nOK (2, 3) 2 trained\n", None)
    assert facts["culprits"][0]["line"] == 1
    assert facts["parameters"] == {"a.weight": "2x3", "a.bias": "2"}
    assert facts["reshaped"]
    assert (facts["loss"], facts["expected_stdout_last"]) == ("0.5", "OK (2, 3) 2 trained")
