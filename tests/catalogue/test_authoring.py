"""What rule authors use: list, scaffold, checker, pages, schemas; and that what is generated is not stale."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from explainer.authoring import generated, seen
from explainer.authoring.check import check
from explainer.authoring.examples import Runner, differences, marks
from explainer.authoring.scaffold import new
from explainer.authoring.texts import lost, named, problems
from explainer.authoring.variants import variants
from explainer.catalogue import load, sources
from explainer.cli import main

ROOT = Path(__file__).parents[2]
CATALOGUE = load()


DOCS = ROOT / "docs" / "rules"
files = cache(generated.files)


@cache
def pages(language):
    """What the pages in a language say behind each id."""
    folder = DOCS if language == "en" else DOCS / language
    texts = [text for path, text in files(ROOT / "rules", DOCS).items() if path.parent == folder]
    return dict(part.split("\n\n", 1) for text in texts for part in text.split("\n## ")[1:])


@pytest.mark.skipif(sources.builtin() != ROOT / "rules", reason="only a checkout has generated files")
def test_generated_pages_and_schemas_are_not_stale(monkeypatch):
    """`explain rules docs` writes them."""
    monkeypatch.setattr(generated, "files", files)
    assert generated.stale(ROOT / "rules", DOCS) == []


def test_the_page_of_a_rule_says_what_its_example_showed():
    """`explain rules docs --run-examples` keeps it; a rule whose example cannot be run shows its template's names."""
    kept = [one for one in CATALOGUE.rules.values() if one.id in seen.kept()]
    assert len(kept) > 0.9 * len(CATALOGUE.rules)
    for one in kept:
        assert "‹" not in pages("ko")[one.id].split("###")[0], one.id
    said = pages("en")["linear-input-size"]
    assert said.startswith("**up expects 9 features per row, but torch.tanh(self.down(x)) has 6**")


def test_what_words_ask_of_facts_is_kept_and_says_the_same_again():
    from explainer.catalogue.words import words
    from explainer.facts import Settings, TensorFact, ValueFact

    fact = TensorFact("x", (4, 6), "float32", "cpu")
    names = {"x": fact, "n": ValueFact("n", "int", 3), "m": {"size": 3, "other": None}, "s": Settings((("a", 1),))}
    rule = replace(
        CATALOGUE.rules["linear-input-size"],
        text={"headline": {"en": "{{ x.name }} {{ x.shape }} {{ x }} {{ n.value + 1 }} {{ m.size }} {{ s.a }}"}},
        fixes=(),
        notes=(),
    )
    data = seen.asked(rule, names)
    assert "dtype" not in json.dumps(data), "only what is asked for"
    again = {name: seen._back(value) for name, value in json.loads(json.dumps(data)).items()}
    assert words(rule.text["headline"]["en"], again) == "x (4, 6) [4, 6] float32 cpu 4 3 1"


def test_real_reports_are_as_their_schema_says():
    """With and without a diagnosis, live and pasted, with edits and a culprit."""
    jsonschema = pytest.importorskip("jsonschema")
    torch = pytest.importorskip("torch")
    import explainer
    from explainer.authoring.report import schema
    from explainer.diagnosis import Report, document

    def crash():
        layer = torch.nn.Linear(4, 2)
        layer(torch.ones(3, 5))

    with pytest.raises(RuntimeError) as caught:
        crash()
    live = explainer.explain(caught.value, replay=False).to_dict()
    assert live["reports"][0]["diagnoses"][0]["fixes"][0]["edits"]
    texts = ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)", "ValueError: mine")
    for one in (live, *(explainer.explain(text).to_dict() for text in texts), document((Report("", ""),))):
        jsonschema.validate(one, schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**live, "more": 1}, schema())


def test_the_generated_schema_accepts_what_the_catalogue_accepts_and_refuses_what_it_refuses():
    jsonschema = pytest.importorskip("jsonschema")
    from explainer.catalogue import schemas
    from explainer.catalogue.document import read

    for schema in (schemas.SYMPTOM, schemas.RULE):
        jsonschema.Draft202012Validator.check_schema(schema)
    for path in sources.files(sources.builtin())[::7]:
        schema = schemas.SYMPTOM if path.parent.name == "symptoms" else schemas.RULE
        accepts, value = jsonschema.Draft202012Validator(schema).is_valid, read(path).value
        assert accepts(value), path.name
        assert not accepts({**value, "familly": "shape"}), path.name


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_every_rule_and_symptom_has_a_page_in_every_language_without_template_syntax(language):
    said = pages(language)
    for one in (*CATALOGUE.rules.values(), *CATALOGUE.symptoms.values()):
        assert said[one.id].startswith("**")
        assert "{%" not in said[one.id].split("###")[0], one.id


def test_of_the_skeletons_only_what_says_todo_is_left_once_their_symptom_is_named(tmp_path):
    rule = new("shape/my-rule", tmp_path)
    new("symptoms/my-symptom", tmp_path)
    rule.write_text(rule.read_text().replace("symptoms: [] ", "symptoms: [my-symptom]"))
    assert {problem.text for problem in check(tmp_path)} == {"still says TODO"}


def test_the_scaffold_never_overwrites_and_says_what_an_id_looks_like(tmp_path, capsys):
    assert main(["rules", "new", "shape/some-id", "--dir", str(tmp_path)]) == 0
    assert main(["rules", "new", "shape/some-id", "--dir", str(tmp_path)]) == 2
    assert main(["rules", "new", "shapes/some-id", "--dir", str(tmp_path)]) == 2
    assert main(["rules", "new", "Some Id", "--dir", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "is there already" in said
    assert "'shapes' is no family; families: shape, device" in said
    assert "is no FAMILY/ID" in said


SYMPTOM = """\
id: warp-core
family: shape
exception: [RuntimeError]
messages:
  - seen: ["?", "?"]
    pattern: 'warp core of size (?P<size>\\d+)(?: and (?P<other>\\d+))? is wrong'
    says: "warp core of size 5 and 6 is wrong"
text:
  headline:
    en: "core size {{ m.size }}"
    ko: "코어 크기: {{ m.size }}"
    zh: "核心大小：{{ m.size }}"
  why: {en: "because"}
near_misses: ["ValueError: warp"]
"""


def wrong(tmp_path, old: str, new: str) -> list[str]:
    path = tmp_path / "symptoms" / "warp-core.yaml"
    path.parent.mkdir(exist_ok=True)
    assert old in SYMPTOM
    path.write_text(SYMPTOM.replace(old, new), encoding="utf-8")
    return [str(problem) for problem in check(tmp_path)]


def test_a_good_symptom_is_not_complained_about(tmp_path):
    assert wrong(tmp_path, "because", "it is so") == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("says: \"warp", "says: \"wrap", "symptoms/warp-core.yaml:7: messages[0].says: is matched by no pattern"),
        ("'warp core of size (?P<size>\\d+)(?: and (?P<other>\\d+))? is wrong'", "'(?P<size>\\d+)'", "holds 0 literal"),
        ("ValueError: warp", "RuntimeError: warp core of size 5 is wrong", "near_misses[0]: matches this symptom"),
        ("ValueError: warp", "only a message", 'has the form "Type: message"'),
        ("size {{ m.size }}\"\n    ko", "{{ m.other }}\"\n    ko", "a template prints none"),
        ("size {{ m.size }}\"\n    ko", "{{ m.sise }}\"\n    ko", "'sise' is not there"),
        ("size {{ m.size }}\"\n    ko", "{{ m.size }\"\n    ko", "is no template"),
        ("{{ m.size }}\"\n    zh", "{{ m.size }}가 틀림\"\n    zh", "a Korean particle stands right after a place"),
        ("코어 크기: {{ m.size }}", "코어 크기", "ko never prints m.size"),
        ("大小：", "大小, ", "Chinese takes full-width punctuation"),
        ("core size {{ m.size }}", "core size {{ m.size }}.", "a headline has no full stop"),
        ("(?P<size>\\d+)", "(?P<size>(?:\\d+|\\d\\d)+)", "no nested or overlapping repetition"),
        ("because", "{{ m.size | shape2 }}", "there is no filter 'shape2'"),
    ],
)  # fmt: skip
def test_the_checker_finds_what_would_go_wrong_later(tmp_path, old, new, said):
    found = wrong(tmp_path, old, new)
    assert any(said in text for text in found), found


RULE = """\
id: my-rule
status: stable
family: shape
symptoms: [matmul-shapes]
facts: {x: {probe: argument, index: 0}}
require: ["x.shape[-1] != 3"]
culprit: x
text:
  headline: {en: "{{ x.name }}"}
  why: {en: "because"}
fixes: [{id: one, title: {en: "do it"}, edit: {kind: set-argument, call: x, to: 3}}]
examples:
  - {name: a, code: "f()  # explain: my-rule", expect: {headline: h}}
  - {name: b, code: "g()", silent: true}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("because", "it is so", ""),
        ("matmul-shapes", "matmul-shape", "there is no symptom 'matmul-shape'"),
        ("probe: argument", "probe: argumnt", "there is no probe 'argumnt'; known: "),
        ("index: 0", "indx: 0", "is no argument of argument; allowed: index, name"),
        ("x.shape[-1]", "y.shape[-1]", "'y' is no fact of this rule; known: crash, m, x"),
        ("culprit: x", "culprit: z", "'z' is no fact of this rule"),
        ("kind: set-argument", "kind: set-argumint", "'set-argumint' is not one of"),
        ("  # explain: my-rule", "", "marks no line"),
        (", silent: true", "", "none of them is a near miss"),
    ],
)
def test_the_checker_knows_what_a_rule_may_name(tmp_path, old, new, said):
    path = tmp_path / "shape" / "my-rule.yaml"
    path.parent.mkdir()
    path.write_text(RULE.replace(old, new, 1))
    found = [str(problem) for problem in check(tmp_path)]
    assert any(said in text for text in found) if said else found == []


def test_names_that_a_template_sets_itself_are_not_facts():
    assert named("{% set u = m.a %}{{ u }}{% for i in x.shape %}{{ i }}{{ loop.index }}{% endfor %}") == {
        "m.a", "x.shape", "loop.index",
    }  # fmt: skip


def test_a_shape_may_keep_its_half_width_commas_in_chinese():
    assert list(problems({"text": {"why": {"en": "x", "zh": "形状 [批次, 行, 列]。"}}})) == []


def test_lost_facts_are_those_that_english_prints_anywhere_in_the_file():
    said = {"text": {"a": {"en": "{{ m.x }}", "ko": "가"}, "b": {"en": "b", "ko": "{{ m.x }}"}}}
    assert lost(said) == []
    assert lost({"text": {"a": {"en": "{{ m.x }}", "ko": "가"}}}) == ["ko never prints m.x"]


def test_the_forms_of_a_pattern_are_its_alternatives_without_what_may_be_absent():
    assert variants(r"(?P<a>\d)(?:x(?P<b>\d))?(?:(?P<c>y)|z(?P<d>w)+)") == [
        {"a": True, "b": None, "c": True, "d": None},
        {"a": True, "b": None, "c": None, "d": True},
    ]


def test_marks_are_found_in_every_file():
    example = {"code": "a\nb  # explain: some-id", "files": {"pkg/net.py": "c  # explain: some-id\n"}}
    assert marks("some-id", example) == {("example.py", 2), ("net.py", 1)}


@pytest.mark.parametrize(("oldest", "said"), [("99.0", []), ("1.0", ["the program was to raise an error: ended"])])
def test_an_example_for_a_newer_torch_is_not_run(oldest, said, monkeypatch):
    monkeypatch.setattr(Runner, "run", lambda *_: {"outcome": "ended"})
    monkeypatch.setattr("explainer.authoring.examples.version", lambda _: "2.10.1+cpu")
    rule = next(iter(load().rules.values()))
    assert differences(rule, {"name": "one", "code": "x = 1", "torch": oldest}, Runner()) == said


def test_the_list_shows_missing_languages_and_a_pack(tmp_path, capsys):
    new("symptoms/warp-drive", tmp_path)
    assert main(["rules", "list", "--rules", str(tmp_path), "--missing", "ko", "shape"]) == 0
    assert "warp-drive" in capsys.readouterr().out
    assert main(["rules"]) == 0
    assert "matmul-shapes" in capsys.readouterr().out


def test_a_page_of_an_unknown_id_names_the_closest(capsys):
    assert main(["rule", "matmul-shape"]) == 2
    assert "matmul-shapes" in capsys.readouterr().err
    assert main(["rule", "matmul-shapes", "--lang", "zh"]) == 0
    assert "常见成因" in capsys.readouterr().out


def test_check_exits_with_1_where_something_is_wrong_and_2_where_there_are_no_rules(tmp_path, capsys):
    assert main(["rules", "check", str(tmp_path)]) == 2
    assert "holds no rules" in capsys.readouterr().err
    (tmp_path / "symptoms").mkdir()
    (tmp_path / "symptoms" / "a.yaml").write_text("id: [")
    assert main(["rules", "check", str(tmp_path)]) == 1
    assert main(["rules", "check", str(tmp_path / "absent")]) == 2
    assert json.dumps("is no YAML")[1:-1] in capsys.readouterr().out


def test_an_error_names_the_pack_that_could_not_be_read(tmp_path):
    """`install(rules=[...])` must not fail, but a pack that is left out is not left out in silence."""
    from explainer.api import broken_packs

    (tmp_path / "symptoms").mkdir()
    (tmp_path / "symptoms" / "a.yaml").write_text("id: [")
    assert "no such folder" in broken_packs((tmp_path / "absent",))
    assert "is no YAML" in broken_packs((tmp_path,))
    assert broken_packs(()) == ""


def test_a_runner_ends_although_a_fork_holds_its_pipes_open():
    """A worker that a test's program left running must not make the whole suite fail at its end."""
    with Runner() as runner:
        assert runner.run("x = 1")["outcome"] == "ended"
        holder = os.fork()
        if holder == 0:
            time.sleep(600)
            os._exit(0)
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    assert runner._process.returncode == 0
