"""Text from users and errors is shown, never obeyed: by the terminal, by markup, by HTML, by GitHub's runner."""

import json as standard_json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explainer.diagnosis import Diagnosis, Edit, ErrorFrame, Evidence, Fix, Label, Report, Span
from explainer.render import github, html, json, markdown, plain, terminal
from explainer.render.prose import wrap
from explainer.render.visible import cells, expand, visible, window

FORMATS = {
    "terminal": terminal.to_str,
    "plain": plain.render,
    "markdown": markdown.render,
    "github": github.render,
    "json": json.render,
    "html": html.render,
}


def filled(text, count=1, language="en"):
    """A report with `text` in every field."""
    span = Span("f.py", 3, 2, 3, 5, text, text)
    diagnosis = Diagnosis(
        rule=text or "r",
        family="shape",
        headline=text,
        cause=text,
        certainty="likely",
        origin=text,
        culprit=span,
        labels=(Label(text or "f.py", 3, text, 1, 4), Label("f.py", 3, text)) * count,
        evidence=(Evidence(text, text),) * count,
        fixes=(Fix(text, "checked", text, (Edit(text or "f.py", 3, 3, text, text + "x"),) * count),) * count,
        notes=(text,) * count,
        links=(text,),
    )
    frame = ErrorFrame("f.py", 4, text, text, True, 1, 3)
    return Report(
        text or "E",
        text,
        (frame,),
        diagnoses=(diagnosis,),
        remarks=(text,) * count,
        count=count,
        language=language,
        source={("f.py", 3): text.replace("\n", " "), ("f.py", 4): text.replace("\n", " ")},
    )


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "evil",
    ["\x1b[2J\x1b]0;gone\x07", "\x9b31m", "\u202eoverride\u2066", "a\u2028b", "a\rb", "\udc80"],
)
def test_no_control_character_reaches_the_reader(name, evil):
    text = FORMATS[name]([filled(f"x{evil}y")])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text)
    text.encode("utf-8")


@pytest.mark.parametrize("name", ["terminal", "plain", "json", "html", "github"])
def test_square_brackets_are_no_markup(name):
    text = FORMATS[name]([filled("[bold]loud[/bold] [4, 576] [link=http://x]")])
    assert "[bold]loud[/bold] [4, 576] [link=http" in text


def test_html_is_escaped():
    text = html.render([filled('<script>alert(1)</script>"><img src=x onerror=1>{{ 7 * 7 }}')])
    assert "<script>" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    assert "{{ 7 * 7 }}" in text


def test_html_links_only_to_the_web():
    assert "href" not in html.render([filled("javascript:alert(1)")])


def test_markdown_shows_tags_and_links_as_text():
    text = markdown.render([filled("<b>x</b> ![i](http://x) ```")])
    outside = re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", text)
    outside = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", outside)
    assert "![" not in outside
    assert not re.search(r"(?<!\\)<b", outside)


def test_a_message_cannot_give_github_a_second_command():
    text = github.render([filled("a\n::set-output name=x::y\r\n::add-mask::z")])
    assert text.count("\n") == 1
    assert text.startswith("::error ")


def test_github_properties_keep_their_signs():
    head = github.render([filled("a,b:c%d")]).split("::")[1]
    assert "title=a%2Cb%3Ac%25d" in head


def test_json_keeps_every_character():
    text = "x\x1b\x9b\u202e\u200b한"
    assert standard_json.loads(json.render([filled(text)]))["reports"][0]["error"]["message"] == text


@pytest.mark.parametrize("text", ["word " * 5000, "x" * 10_000, "漢字" * 5000, "`a b` " * 3000, "a\n" * 3000])
def test_endless_text_is_cut_to_the_screen(text):
    lines = terminal.to_str([filled(text, count=5)]).split("\n")
    assert len(lines) <= 26
    assert max(map(cells, lines)) <= 80


texts = st.text(st.one_of(st.characters(), st.sampled_from("  \n\t`[]한字、。x\u0301")), max_size=300)


@settings(max_examples=150, deadline=None)
@example(text="a_file_with_a_name_of_nearly_40_cells.py", width=40, count=2, language="en")
@given(text=texts, width=st.integers(40, 120), count=st.integers(1, 6), language=st.sampled_from(["en", "ko", "zh"]))
def test_no_diagnosis_is_wider_or_longer_than_promised(text, width, count, language):
    """25 lines and the asked width, whatever the fields hold."""
    lines = terminal.to_str([filled(text, count, language)], width=width).split("\n")
    assert len(lines) <= 26
    assert max(map(cells, lines)) <= width


@settings(max_examples=100, deadline=None)
@given(text=texts)
def test_every_format_takes_any_text(text):
    for render in FORMATS.values():
        assert render([filled(text)])


@settings(max_examples=200, deadline=None)
@given(text=texts, width=st.integers(4, 100))
def test_wrapping_loses_nothing_but_blanks(text, width):
    lines = wrap(text, width)
    assert max(map(cells, lines), default=0) <= width
    blanks = re.compile(r"\s+")
    shown = "".join(visible(paragraph.strip(), keep="\t") for paragraph in text.strip().splitlines())
    assert blanks.sub("", "".join(lines)) == blanks.sub("", shown)


@settings(max_examples=200, deadline=None)
@given(text=texts)
def test_every_character_has_its_cell(text):
    shown, starts = expand(text)
    assert len(starts) == len(text) + 1
    assert starts == sorted(starts)
    assert starts[-1] == cells(shown)


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from("ab한 "), max_size=200), start=st.integers(0, 200), width=st.integers(12, 80))
def test_a_window_holds_what_it_is_asked_for(text, start, width):
    shown, _ = expand(text)
    first = min(start, cells(shown))
    part, shift = window(shown, first, min(first + 1, cells(shown)), width)
    assert cells(part) <= width
    assert 0 <= first - shift <= width


def test_chinese_lines_do_not_begin_with_a_full_stop():
    lines = wrap("第五行按六十四构造了这一层，因此两者的最后一维不一致，矩阵乘法无法进行。" * 4, 24)
    assert not any(line[0] in "，。" for line in lines)


def test_korean_lines_break_at_spaces():
    text = "임베딩 층이 단어마다 숫자를 내고 평균 연산이 이를 그대로 둡니다"
    assert " ".join(wrap(text, 20)) == text
