"""The terminal's promises: what is left out first, what never, and the look of single parts."""

import io
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from render_samples import far, inplace, shape, symptom, unknown

from explainer.diagnosis import Edit, ErrorFrame, Evidence, Fix, Label, Report
from explainer.render import terminal
from explainer.render.prose import wrap
from explainer.render.theme import STYLES, ansi, wants_color


def with_diagnosis(report, **changes):
    """The report with its first diagnosis changed."""
    return replace(report, diagnoses=(replace(report.diagnoses[0], **changes),))


def underlined(text, sign):
    """The source text above each underline of `sign`, so that columns are checked where they show."""
    lines = text.split("\n")
    found = []
    for above, line in pairwise(lines):
        body = line.split("| ", 1)[-1]
        if sign * 2 in body and set(body.split(sign)[0]) <= {" "}:
            start = line.index(sign)
            found.append(above[start : start + line.count(sign)])
    return found


def test_carets_stand_under_the_failing_expression():
    assert underlined(terminal.to_str([shape()]), "^") == ["self.score(x)"]


def test_carets_count_tabs_and_wide_characters_in_cells():
    code = '\tx = {"크기": self.head(x)}'
    column = code.index("self") + 1
    frame = ErrorFrame("wide.py", 3, "f", code.strip(), True, column, column + len("self.head(x)"))
    text = terminal.to_str([Report("RuntimeError", "no", (frame,), source={("wide.py", 3): code})])
    source, carets = text.split("\n")[3:5]
    # Two wide characters before it: the caret's index is two smaller than its cell.
    start = carets.index("^") - 2
    assert source[start : start + carets.count("^")] == "self.head(x)"


def test_of_a_long_line_the_part_that_failed_stays_in_sight():
    code = "x = " + "a + " * 100 + "self.head(x)" + " + b" * 100
    column = code.index("self") + 1
    frame = ErrorFrame("long.py", 3, "f", code, True, column, column + len("self.head(x)"))
    text = terminal.to_str([Report("RuntimeError", "no", (frame,), source={("long.py", 3): code})])
    assert underlined(text, "^") == ["self.head(x)"]


def test_of_a_long_path_the_end_and_the_line_stay_in_sight():
    frame = ErrorFrame("/home/" + "deep/" * 40 + "net.py", 31, "Net.forward", "x", True)
    arrow = terminal.to_str([Report("RuntimeError", "no", (frame,))]).split("\n")[1]
    assert arrow.endswith("/deep/net.py:31, in Net.forward")
    assert len(arrow) <= 80


def test_a_line_whose_source_is_unknown_is_only_named():
    text = terminal.to_str([Report("RuntimeError", "no", (ErrorFrame("net.py", 31, "f", "", True),))])
    assert text == "RuntimeError: no\n  --> net.py:31, in f\n"


def test_context_lines_that_say_nothing_are_left_out():
    frame = ErrorFrame("net.py", 4, "f", "x = 1", True)
    source = {("net.py", 2): "    )", ("net.py", 3): "", ("net.py", 4): "x = 1", ("net.py", 5): "    },"}
    text = terminal.to_str([Report("RuntimeError", "no", (frame,), source=source)])
    assert [line for line in text.split("\n") if line[:2].strip().isdigit()] == [" 4 | x = 1"]


def test_an_error_without_a_type_is_its_message():
    assert terminal.to_str([Report("", "no such thing")]) == "no such thing\n"


def test_a_culprit_that_is_labelled_is_told_first_and_the_crash_after_it():
    text = terminal.to_str([inplace()])
    assert text.index("--> gate.py:4") < text.index("::: train.py:44, in step")
    assert underlined(text, "^") == ["kept *= x"]


def test_a_culprit_that_no_fix_shows_has_a_place_of_its_own():
    text = terminal.to_str([far()])
    assert text.index("--> train.py:120, in main") < text.index("::: data.py:12")
    assert "the cause is here" in text


def test_a_culprit_that_the_fix_shows_is_not_told_twice():
    assert ":::" not in terminal.to_str([shape()])


def test_without_a_diagnosis_only_the_sentence_the_frame_and_the_operands_are_shown():
    assert terminal.to_str([unknown()]).split("\n") == [
        "RuntimeError: a sentence that no symptom knows",
        "  --> odd.py:7, in Odd.forward",
        "   |",
        " 6 |     def forward(self, x):",
        " 7 |         return torch.strange(x, self.table[0])",
        "   |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "   |   x              [4, 3]  float64  cpu",
        "   |   self.table[0]  [4]     int64    cuda:0",
        "",
    ]


def crowded():
    """A report with more of everything than 25 lines hold; each part says its own word so that a test finds it."""
    report = inplace()
    fixes = (
        report.diagnoses[0].fixes[0],
        Fix("second-way " * 12, "suggestion"),
        Fix("third-way " * 12, "suggestion"),
    )
    return with_diagnosis(
        report,
        cause="the-cause " * 30,
        origin="the-origin " * 20,
        notes=("the-note " * 12,),
        fixes=fixes,
        evidence=report.diagnoses[0].evidence * 3,
    )


def test_over_budget_what_matters_least_goes_first_and_the_core_never():
    text = terminal.to_str([crowded()])
    assert len(text.splitlines()) <= 25
    assert not any(word in text for word in ("the-note", "third-way", "second-way", "the-origin"))
    kept = ("error[inplace-saved-value]", "kept *= x", "[16, 128]", "the-cause", "+         kept = kept * x", "rule  ")
    assert all(word in text for word in kept)


def test_notes_go_before_other_fixes_and_those_before_the_origin():
    fixes = (*inplace().diagnoses[0].fixes, Fix("second-way"))
    text = terminal.to_str([with_diagnosis(inplace(), notes=("the-note",) * 3, fixes=fixes)])
    assert len(text.splitlines()) == 25
    assert "the-note" not in text
    assert "second-way" in text
    assert "loss.grad_fn says" in text


def test_the_cause_is_whole_before_the_place_where_the_error_surfaced_is_shown():
    text = terminal.to_str([with_diagnosis(inplace(), cause="the-cause " * 56)])
    assert text.count("the-cause") == 56
    assert "train.py" not in text


def test_full_leaves_nothing_out():
    text = terminal.to_str([crowded()], full=True)
    told = ("the-note", "third-way", "second-way", "the-origin", "set_detect_anomaly(True)")
    assert all(word in text for word in told)


def test_prose_is_wrapped_and_edits_are_whole_in_full():
    long = "        value = " + " + ".join(f"term_{i}" for i in range(60))
    edit = Edit("sum.py", 3, 3, long, f"{long} + 1")
    text = terminal.to_str([with_diagnosis(shape(), fixes=(Fix("add one", "checked", "it runs", (edit,)),))], full=True)
    assert f"- {long}\n" in text
    assert f"+ {long} + 1\n" in text


def test_an_edit_too_wide_for_the_screen_shows_the_part_that_differs():
    long = "        value = " + " + ".join(f"term_{i}" for i in range(60))
    edit = Edit("sum.py", 3, 3, long, long.replace("term_40", "term_forty"))
    text = terminal.to_str([with_diagnosis(shape(), fixes=(Fix("rename", "checked", "it runs", (edit,)),))])
    minus = next(line for line in text.split("\n") if line.startswith("      - "))
    plus = next(line for line in text.split("\n") if line.startswith("      + "))
    assert "term_40" in minus
    assert "term_forty" in plus


def test_unchanged_lines_of_a_larger_edit_carry_no_sign():
    edit = Edit("a.py", 3, 5, "a\nb\nc", "a\nB\nc")
    text = terminal.to_str([with_diagnosis(shape(), fixes=(Fix("", "checked", "it runs", (edit,)),))])
    assert "        a\n      - b\n      + B\n        c\n" in text


@pytest.mark.parametrize(("before", "after", "signs"), [("x", None, "-"), (None, "x", "+"), ("x", "", "-+")])
def test_deletions_insertions_and_blank_lines(before, after, signs):
    edit = Edit("a.py", 3, 3, before, after)
    text = terminal.to_str([with_diagnosis(shape(), fixes=(Fix("", "checked", "it runs", (edit,)),))])
    rows = [line.strip() for line in text.split("\n") if line.startswith(("      -", "      +"))]
    assert [row[0] for row in rows] == list(signs)


def test_an_insertion_shows_the_line_above_it():
    edit = Edit("tagger.py", 9, 8, None, "        x = x.float()")
    text = terminal.to_str([with_diagnosis(shape(), fixes=(Fix("", "checked", "it runs", (edit,)),))])
    assert "              x = self.embed(tokens)\n      +         x = x.float()\n" in text


def test_a_long_configuration_is_cut_between_its_settings():
    row = Evidence("conv", "Conv2d(in_channels=3, out_channels=16, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))")
    text = terminal.to_str([with_diagnosis(shape(), evidence=(row,))])
    assert "conv  Conv2d(in_channels=3, out_channels=16, kernel_size=(3, 3), ...\n" in text


def test_several_reports_stand_in_the_order_given():
    text = terminal.to_str([symptom(), unknown()])
    assert text.index("cuda-out-of-memory") < text.index("a sentence that no symptom knows")
    assert "rank 3 failed first" in text
    assert "the same error came 12 times" in text


def test_labels_of_one_line_are_all_shown():
    labels = (Label("tagger.py", 10, "this is the layer", 34, 44), Label("tagger.py", 10, "this is the input", 45, 46))
    text = terminal.to_str([with_diagnosis(shape(), labels=labels)])
    assert "this is the layer" in text
    assert "this is the input" in text


def test_the_styled_text_says_the_same_as_the_string():
    assert terminal.render([inplace()]).plain == terminal.to_str([inplace()])


def test_every_style_has_its_codes():
    assert {role: ansi((("x", role),)) for role in STYLES if not ansi((("x", role),)).startswith("\x1b[")} == {
        role: "x" for role, style in STYLES.items() if not style
    }


def test_colour_is_of_the_16_ansi_names_and_says_nothing_by_itself():
    coloured = terminal.to_str([inplace()], color=True)
    codes = {int(code) for codes in re.findall(r"\x1b\[([\d;]*)m", coloured) for code in codes.split(";") if code}
    assert codes <= {0, 1, *range(30, 38), *range(90, 98)}
    assert codes
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == terminal.to_str([inplace()])


class Tty(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environ", "choice", "colour"),
    [
        ({}, "auto", True),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": ""}, "auto", True),
        ({"TERM": "dumb"}, "auto", False),
        ({}, "never", False),
        ({"NO_COLOR": "1"}, "always", True),
    ],
)
def test_colour_on_a_terminal_is_as_the_environment_says(environ, choice, colour):
    assert wants_color(Tty(), choice, environ) is colour


def test_no_colour_in_a_file():
    stream = io.StringIO()
    terminal.print_to(stream, [shape()])
    assert stream.getvalue() == terminal.to_str([shape()])


def test_a_stream_that_knows_no_korean_still_gets_every_line():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    terminal.print_to(stream, [shape("ko")])
    assert b"\\uc624\\ub958[linear-input-size]" in stream.buffer.getvalue()


def test_what_stands_between_two_pieces_of_code_breaks_at_its_spaces():
    long = "`torch.from_numpy(seconds).double()`"
    lines = wrap(f"{long} in place of {long}: run again with it, `r2` ends at 0.98", 40)
    assert all(len(line) <= 40 for line in lines)
    assert " ".join(lines) == f"{long} in place of {long}: run again with it, `r2` ends at 0.98"
