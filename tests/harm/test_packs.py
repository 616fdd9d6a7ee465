"""Rule packs are not trusted: what their templates, patterns and files ask for without end is refused in one line."""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from explainer.catalogue.bounds import STEPS, TOGETHER, Exceeded, WordsError, for_crash
from explainer.catalogue.document import DEEPEST, MOST_NODES
from explainer.catalogue.load import catalogue_of
from explainer.catalogue.match import ENDLESS
from explainer.catalogue.packing import MOST_BYTES, MOST_FILES, pack
from explainer.catalogue.words import value, words
from explainer.crash import Raised
from explainer.facts import TensorFact

NAMES = {"x": TensorFact("x", (4, 576), "float32", "cpu"), "n": 5}
RUNAWAYS = [
    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "{% for a in range(9999) %}{{ 'x' * 999 }}{% endfor %}",
    "{% for a in range(9999) %}" + "{% if a %}{% endif %}" * 200 + "{% endfor %}",
    "{{ 'a' * 20001 }}", "{{ [1] * 20001 }}", "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
    "{{ ('a' * 9999).replace('a', 'b' * 9999) }}", "{{ range(9999) | join('b' * 9999) }}",
    "{{ range(9999) | map('replace', '', 'b' * 19999) | list | length }}", "{{ 1 | round(10**9, 'ceil') }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 24, "{% set a = [1] %}" + "{% set a = a + a %}" * 24,
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 24, "{% set a = dict(b=1) %}" + "{% set a = dict(b=a, c=a) %}" * 24,
    "{% set a = 10**60 %}" + "{% set a = a * a %}" * 12, "{% set n = namespace(a='aaaa') %}"
    "{% for i in range(60) %}{% set n.a = n.a ~ n.a %}{% endfor %}", "{{ " + "x.shape[1:] ~ " * 800 + "1 }}",
    "{{ " + "1 + " * 5000 + "1 }}",
]  # fmt: skip
REFUSED = [
    "{{ '%1000000000d' % 1 }}", "{{ 'a'.ljust(10**9) }}", "{{ 'a' | center(10**9) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '%1000000000d' | format(1) }}", "{{ 'a'.zfill(10**9) }}", "{{ [1] | tojson(indent=10**9) }}",
    "{{ 'a'.join(['b'] * 9999) }}", "{{ [1] | batch(10**9, 0) | list }}", "{{ ('a' * 9999) | indent(10**9, true) }}",
    "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}", "{% for a in [[1]] recursive %}{{ loop([a]) }}{% endfor %}",
    "{{ range(9999) | select('in', range(9999) | list) | list }}", "{% filter upper %}{% endfilter %}",
]  # fmt: skip


@pytest.mark.parametrize(("template", "kind"), [(t, Exceeded) for t in RUNAWAYS] + [(t, WordsError) for t in REFUSED])
def test_a_template_without_end_is_bounded_by_what_it_does(template, kind):
    """Nothing here is a clock: the steps are counted, and what would be large is refused before it is made."""
    before = tracemalloc.start() or tracemalloc.get_traced_memory()[0]
    with pytest.raises(kind):
        words(template, NAMES)
    assert tracemalloc.get_traced_memory()[1] - before < 40_000_000
    tracemalloc.stop()


def test_values_that_rules_let_grow_into_each_other_are_bounded():
    def grown(expression, held):
        for _ in range(60):
            held = value(expression, {"a": held})

    for expression, held in (("{{ a * a }}", 2), ("{{ a ~ a }}", "aa"), ("{{ a + a }}", "aa"), ("{{ [a, a] }}", 1)):
        with pytest.raises(Exceeded):
            grown(expression, held)


def test_all_templates_of_a_crash_have_an_end_together():
    with for_crash():
        for _ in range(TOGETHER // STEPS):
            with pytest.raises(Exceeded, match="steps"):
                words(RUNAWAYS[0], NAMES)
        with pytest.raises(Exceeded, match="all the work"):
            words("{{ n }}", NAMES)
    assert words("{{ n }}", NAMES) == "5"


SYMPTOM = """\
id: {name}
family: shape
exception: [RuntimeError]
messages:
  - seen: ["2.0", "2.1"]
    pattern: '{pattern}'
    says: slot 17
text:
  headline: {{en: "{headline}"}}
  why: {{en: w}}
"""


def symptom(name: str = "slot", pattern: str = "slot 17", headline: str = "h") -> str:
    return SYMPTOM.format(name=name, pattern=pattern, headline=headline)


def refusals(folder: Path) -> list[str]:
    """What is said of a pack's files, a line each."""
    return [str(problem) for problem in pack(folder, strict=True).problems]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "[" * 150_000 + "]" * 150_000, "nest"),  # a newer libyaml refuses it by itself
        ("a: " + "{a: " * 70_000 + "}" * 70_000, f"nests deeper than {DEEPEST}"),
        ("".join(" " * deep + "a:\n" for deep in range(400)), f"nests deeper than {DEEPEST}"),
        ("a: [" + "x," * 150_000 + "x]", f"more than {MOST_NODES} values"),
        ("a: &a [x]\n" + "".join(f"{i}: &b{i} [*a, *a]\n" for i in range(50)), "aliases"),
        ("#" * 400_001, "a rule file has at most"),
        (symptom(pattern="slot " + "(" * 1500 + "a" + ")" * 1500), "is no pattern"),
        (symptom(pattern="slot " + "(a|b)" * 20_000), "at most 4000"),
    ],
    ids=["lists", "mappings", "indents", "values", "aliases", "bytes", "brackets", "alternatives"],
)
def test_a_file_that_unfolds_without_end_is_refused_in_a_line_that_names_it(text, said, tmp_path):
    (tmp_path / "symptoms").mkdir()
    (tmp_path / "symptoms" / "slot.yaml").write_text(text, encoding="utf-8")
    (refusal,) = refusals(tmp_path)
    assert said in refusal
    assert "symptoms/slot.yaml" in refusal


def test_packs_of_very_many_or_large_files_and_circles_of_folders_are_refused(tmp_path):
    (tmp_path / "many").mkdir()
    for number in range(MOST_FILES + 1):
        (tmp_path / "many" / f"a{number}.yaml").touch()
    (tmp_path / "large").mkdir()
    with open(tmp_path / "large" / "a.yaml", "wb") as file:
        file.truncate(1 << 40)
    assert [str(MOST_FILES) in one for one in refusals(tmp_path / "many")] == [True]
    assert [str(MOST_BYTES) in one for one in refusals(tmp_path / "large")] == [True]
    if sys.platform != "win32":
        (tmp_path / "circle" / "packs" / "a").mkdir(parents=True)
        (tmp_path / "circle" / "packs" / "a" / "packs").symlink_to(tmp_path / "circle" / "packs")
        assert refusals(tmp_path / "circle") == []


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices are elsewhere there")
def test_pipes_and_devices_are_no_rule_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    assert [one.endswith("is no regular file") for one in refusals(tmp_path)] == [True, True]


def test_patterns_that_do_not_end_are_given_up_after_a_few(tmp_path, monkeypatch):
    (tmp_path / "symptoms").mkdir()
    for number in range(ENDLESS + 20):
        text = symptom(f"s{number}", f"slot (x|x)*{number}")
        (tmp_path / "symptoms" / f"s{number}.yaml").write_text(text, encoding="utf-8")
    made = catalogue_of([pack(tmp_path, strict=True)])
    tried = []

    def endless(pattern, text, foreign):
        tried.append(foreign)
        raise TimeoutError

    monkeypatch.setattr("explainer.catalogue.match.captured", endless)
    assert made.match(Raised("RuntimeError", "slot " + "".join(map(str, range(99))))) is None
    assert tried == [True] * ENDLESS
