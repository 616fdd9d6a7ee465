"""Rule packs are not trusted: what their templates, patterns and files ask for without end is refused in one line."""

from __future__ import annotations

import tracemalloc

import pytest

from explainer.catalogue.bounds import STEPS, TOGETHER, Exceeded, WordsError, for_crash
from explainer.catalogue.words import value, words
from explainer.facts import TensorFact

NAMES = {"x": TensorFact("x", (4, 576), "float32", "cpu"), "n": 5}
RUNAWAYS = [
    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "{% for a in range(9999) %}{{ 'x' * 999 }}{% endfor %}",
    "{% for a in range(9999) %}" + "{% if a %}{% endif %}" * 200 + "{% endfor %}",
    "{{ 'a' * 20001 }}", "{{ [1] * 20001 }}", "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
    "{{ ('a' * 9999).replace('a', 'b' * 9999) }}", "{{ range(9999) | join('b' * 9999) }}",
    "{{ range(9999) | map('replace', '', 'b' * 19999) | list | length }}", "{{ 1 | round(10**9, 'ceil') }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 40, "{% set a = [1] %}" + "{% set a = a + a %}" * 40,
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60, "{% set a = dict(b=1) %}" + "{% set a = dict(b=a, c=a) %}" * 60,
    "{% set a = 10**60 %}" + "{% set a = a * a %}" * 30, "{% set n = namespace(a='aaaa') %}"
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
