"""Words: what templates may see and do, what is refused, and that the two ways of rendering agree."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Mapping
from contextlib import suppress

import pytest

from explainer.catalogue import load, simple
from explainer.catalogue.bounds import WordsError
from explainer.catalogue.plain import _PIECE, renderer
from explainer.catalogue.words import _WHOLE, _expression, _rendered, holds, in_language, value, words
from explainer.facts import ModuleFact, Settings, TensorFact

X = TensorFact("x", (4, 576), "float32", "cpu")
LAYER = ModuleFact("fc1", "Linear", settings=Settings((("in_features", 400), ("items", 3))))
NAMES = {"x": X, "layer": LAYER, "m": {"rows": 4, "absent": None, "values": 7}, "n": 5}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ layer.name }} expects {{ layer.in_features }}", "fc1 expects 400"),
        ("{{ x.shape[-1] }} of {{x.shape}}", "576 of (4, 576)"),
        ("no names, 100 % { plain }", "no names, 100 % { plain }"),
        ("{{ m.values }} {{ layer.settings.items }}", "7 3"),
        ("{{ x.shape | shape }} {{ x.shape | by }} {{ x.shape | product }}", "[4, 576] 4x576 2304"),
        ("{{ 1610612736 | size }} {{ 512 | size }} {{ x.name | code }}", "1.50 GiB 512 bytes `x`"),
        ("{% if m.absent is not none %}never{% endif %}{{ m.rows }}", "4"),
        ("a {% if false %}b{% endif %} c", "a c"),
    ],
)
def test_templates_render(template, text):
    assert words(template, NAMES) == text


@pytest.mark.parametrize(
    "template",
    ["{{ layer.in_features }} {{ x.shape[0] }}{{m.rows}}", "{{ m.values }}", "{{ x.name | join('-') }}",
     "{% if n == 4 %}four{% elif n == 5 %}five{% if m.absent %}!{% endif %}{% else %}none{% endif %} of {{ n * 2 }}",
     "a {%- if x.name is string and n is number %} b{% endif %}",
     "if {{ x.name }}:\n    {{ n }}\n", "a{% if m.other is defined and m.other %}b{% endif %}c",
     "{{ x.shape[1:] | join(' * ') }} {{ x.shape | list }}"],
)  # fmt: skip
def test_plain_templates_render_as_jinja2_would(template):
    assert renderer(template)(NAMES) == _rendered(template)(NAMES)


@pytest.mark.parametrize(
    "template",
    ["{% for one in x.shape %}{{ one }}{% endfor %}", "a\n{% if n %}b{% endif %}", "{# a #}", "{{- n }}",
     "{% if n %}", "a {%- if n -%} b{% endif %}", "{% set a = 1 %}{{ a }}", "{{ x.shape | sort }}",
     "{% if n %}a{% else %}b{% elif n %}c{% endif %}", "{% endif %}"],
)  # fmt: skip
def test_templates_that_are_not_plain_are_left_to_jinja2(template):
    assert renderer(template) is None


@pytest.mark.parametrize(
    "template",
    ["{{ y }}", "{{ x.nothing }}", "{{ layer.out }}", "{{ m.other }}", "{{ x.shape[9] }}", "{{ y | upper }}",
     "{{ m.absent }}", "{{ m.absent if true }}", "{{ x.shape", "{% if %}", "{{ n | nofilter }}", "{{ n / 0 }}"],
)  # fmt: skip
def test_what_is_not_there_is_an_error_and_never_an_empty_word(template):
    with pytest.raises(WordsError):
        words(template, NAMES)


@pytest.mark.parametrize(
    "template",
    ["{{ x.__class__ }}", "{{ x.__class__.__mro__ }}", "{{ ''.__class__ }}", "{{ [].append(1) }}", "{{ cycler }}",
     "{{ m.update(a=1) }}", "{{ 'a' * 10**9 }}", "{{ 9 ** 9 ** 9 ** 9 ** 9 }}",
     "{% for i in range(10**9) %}{% endfor %}",
     "{{ self._TemplateReference__a }}", "{{ lipsum.__globals__ }}", "{% include 'a' %}", "{% import 'a' as b %}"],
)  # fmt: skip
def test_a_pack_cannot_run_code_change_facts_or_use_up_memory(template):
    with pytest.raises(WordsError):
        words(template, NAMES)


def test_live_objects_are_refused():
    class Tensor:
        pass

    for evaluate in (words, value):
        with pytest.raises(WordsError, match="live object"):
            evaluate("{{ x }}", {"x": Tensor()})
    with pytest.raises(WordsError, match="live object"):
        holds("x", {"x": Tensor()})


def test_expressions():
    assert holds("x.shape[-1] != layer.in_features and 'in_features' in layer.settings", NAMES)
    assert not holds("m.absent", NAMES)
    with pytest.raises(WordsError):
        holds("nothing > 1", NAMES)


def test_values_keep_what_they_are():
    assert value("{{ x.shape[-1] }}", NAMES) == 576
    assert value({"to": ["{{ x.shape }}", 3, "a {{ n }}"]}, NAMES) == {"to": [(4, 576), 3, "a 5"]}
    assert value("1e5", NAMES) == "1e5"
    assert value(None, NAMES) is None


@pytest.mark.parametrize(("language", "text"), [("ko", "가"), ("zh-CN", "在"), ("zh_TW", "在"), ("fr", "a"), ("", "a")])
def test_a_language_that_is_missing_falls_back_to_english(language, text):
    assert in_language({"en": "a", "ko": "가", "zh": "在"}, language) == text


def _templates(part):
    """Every template of the texts of a rule or a symptom."""
    if isinstance(part, str):
        yield from [part] if "{{" in part or "{%" in part else []
    elif isinstance(part, (list, tuple)):
        yield from (one for item in part for one in _templates(item))
    elif isinstance(part, Mapping):
        yield from _templates(list(part.values()))


def _all_templates():
    catalogue = load()
    for rule in catalogue.rules.values():
        yield from _templates([rule.text, rule.labels, rule.fixes])
    for symptom in catalogue.symptoms.values():
        yield from _templates([symptom.text, symptom.fixes])


def _expressions():
    """Every condition and value that the rules have."""
    for rule in load().rules.values():
        yield from (str(one) for one in (*rule.require, *rule.let.values()))
        yield from (fix["when"] for fix in rule.fixes if "when" in fix)
        edits = [edit for fix in rule.fixes for edit in (fix.get("edit"), *fix.get("edits", ())) if edit]
        values = [_WHOLE.fullmatch(one.strip()) for edit in edits for one in edit.values() if isinstance(one, str)]
        yield from (found[1] for found in values if found)


SIMPLE = sorted({one for one in _expressions() if simple.parsed(one) is not None})


def _invented(trees, draw):
    """Names for expressions: each path in them ends in a number, a text of theirs, a shape, none, or nowhere."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    texts = [one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    names = {}
    for node in nodes:
        way = ast.unparse(node).split(".") if isinstance(node, (ast.Attribute, ast.Name)) else []
        at = names
        for step in way[:-1]:
            inner = at.get(step)
            at[step] = at = inner if isinstance(inner, dict) else {}
        if way and all(step.isidentifier() for step in way) and not isinstance(at.get(way[-1]), dict):
            shape = tuple(draw.choices(range(4), k=draw.randrange(5)))
            at[way[-1]] = draw.choice([shape, shape, draw.randrange(4), draw.choice(texts or ["x"]), None])
            if draw.random() < 0.1 and not hasattr(dict, way[-1]):  # to jinja a method of the dict stands in for it
                del at[way[-1]]
    return {name: item for name, item in names.items() if name not in ("none", "true", "false", "length", "defined")}


def _outcome(evaluate):
    """What evaluating gives, with its type; that it is refused, where it raises or is undefined."""
    try:
        found = evaluate()
        str(found)
    except simple.Unlike:
        raise
    except Exception:
        return "refused"
    return "refused" if re.search("Undefined|built-in method", repr(found)) else (found, type(found))


def test_simple_expressions_mean_the_same_without_jinja():
    """Whether a rule holds must not hang on which of the two read its condition."""
    draw, told, refused = random.Random(0), 0, 0
    for expression in SIMPLE:
        tree = simple.parsed(expression)
        for _ in range(30):
            names = _invented([tree], draw)
            with suppress(simple.Unlike):
                ours = _outcome(lambda tree=tree, names=names: simple.evaluated(tree, names))
                theirs = _outcome(lambda one=expression, names=names: _expression(one)(**names))
                assert ours == theirs, (expression, names)
                told += ours != "refused"
                refused += ours == "refused"
    assert len(SIMPLE) > 300
    assert told > 3000
    assert refused > 300


def test_plain_templates_of_the_catalogue_say_the_same_without_jinja():
    """No word of a diagnosis may hang on which of the two rendered it."""
    draw, told = random.Random(0), 0
    templates = sorted(set(_all_templates()))
    plain = [one for one in templates if renderer(one) is not None]
    for template in plain[::7]:
        inner = [(a or b.strip().partition(" ")[2]).strip() for a, b in _PIECE.findall(template)]
        trees = [tree for one in inner if one and (tree := simple.parsed(one)) is not None]
        for _ in range(5):
            names = _invented(trees, draw)
            with suppress(simple.Unlike):
                ours = _outcome(lambda one=template, names=names: renderer(one)(names))
                theirs = _outcome(lambda one=template, names=names: _rendered(one)(names))
                assert ours == theirs, (template, names)
                told += ours != "refused"
    assert len(plain) > 0.9 * len(templates) > 3000
    assert told > 500


@pytest.mark.parametrize(
    "expression",
    [
        "x.shape | sort",
        "x.shape * 2",
        "'ab' * 900",
        "n @ n",
        "'a' ~ n * 2",
        "n * 2 ~ 'a'",
        "n + n is none",
        "x._base",
        "m['rows'] is defined",
        "x.sum()",
        "a b",
        "1 + n | list",
    ],
)
def test_what_only_jinja_can_tell_is_left_to_it(expression):
    tree = simple.parsed(expression)
    with pytest.raises(simple.Unlike):
        simple.evaluated(tree, NAMES) if tree is not None else _raise()


def _raise():
    raise simple.Unlike
