"""What a printed number is worth: whether it gets better by rising, told from how the program computes it."""

from __future__ import annotations

import textwrap

import pytest

torch = pytest.importorskip("torch")

from explainer.source import parsed_source  # noqa: E402
from explainer.training.directions import directions, verdict  # noqa: E402
from explainer.training.judge import Compared, compared, metrics  # noqa: E402
from explainer.training.search.gauges import gauged_names  # noqa: E402
from explainer.training.session import _taught  # noqa: E402


def told(text: str) -> dict:
    return directions([parsed_source("x.py", textwrap.dedent(text))])


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("q = (out.argmax(1) == y).float().mean().item()\nprint(f'{q=} q={q:.3f}')", True),
        ("q = (out.argmax(1) != y).float().mean()\nprint(f'q={q:.3f}')", False),
        ("q = (out - y).square().mean() / y.var()\nprint(f'left over q {q.item():.3f}')", False),
        ("q = 1 - ((out - y) ** 2).mean() / y.var()\nprint(f'q={q:.3f}')", True),
        ("hits = out.argmax(1) == y\nprint(f'q: {hits.float().mean():.3f}')", True),
        ("hits = 0\nfor x, y in rows:\n    hits += (net(x) == y).sum().item()\nprint(f'q={hits / 80:.2f}')", True),
        ("def score(m):\n    return (m(x) == y).float().mean()\n\nprint(f'q={100 * score(net):.1f}')", True),
        ("q = ((a - b).norm(dim=1) < 0.1).float().mean()\nprint(f'q={q:.3f}')", True),
        ("q = (y <= out).float().mean()\nprint(f'q={q:.3f}')", None),
        ("q = (out - y).abs().mean()\nprint('q', q.item())", False),
        ("q = (out - y).abs().mean()\nprint('q = %.3f' % q)", False),
        ("q = (out == y).float().mean()\nprint('q: {:.3f}'.format(q))", True),
        ("q = out.mean()\nprint(f'q={q:.3f}')", None),
        ("q = (y <= out).float().mean()\nok = abs(q - 0.9) < 0.05\nprint(f'q={q:.3f}')", 0.9),
        ("q = ratio(out)\nprint('passed' if q > 2 else 'failed')\nprint(f'q={q:.3f}')", True),
        ("q = ratio(out)\nprint(f\"{'OK' if q < 2 and fast else 'POOR'} q={q:.3f}\")", False),
        ("q = ratio(out)\nassert 0.9 < q\nprint(f'q={q:.3f}')", True),
        ("q = ratio(out)\nprint('large' if q > 2 else 'small')\nprint(f'q={q:.3f}')", None),
        ("LEVEL = 0.8\nq = (y <= out).float().mean()\nok = abs(q - LEVEL) < 0.05\nprint(f'q={q:.3f}')", 0.8),
    ],
)
def test_a_direction_is_told_from_what_is_computed(text, direction):
    assert told(text).get("q") == direction


def test_a_word_of_the_name_comes_first_and_a_goal_makes_a_distance():
    assert metrics("agree=0.5", {"agree": True}) == {"agree": 0.5}
    assert metrics("agree=0.5") == {}
    assert metrics("covered=0.7", {"covered": 0.9}) == {"|covered - 0.9|": pytest.approx(0.2)}
    run = {"losses": [], "sites": [], "steps": 9, "directions": {"covered": 0.9}}
    pair = compared({**run, "printed": "covered=0.1"}, {**run, "printed": "covered=0.85"})
    assert pair.better
    assert not pair.rising
    assert compared({**run, "printed": "covered=0.9"}, {**run, "printed": "covered=1.0"}).worse


class Still:
    """Trials that know only a run whose steps change nothing."""

    def __init__(self, printed: str):
        self.printed = printed

    def still(self, attempt=None):
        return {"printed": self.printed}


def test_an_edit_that_only_unlearns_what_is_wrong_is_no_repair():
    pair = Compared(True, False, "acc", 0.0, 0.2, rising=True)
    assert not _taught(pair, Still("acc=0.19"))
    assert _taught(pair, Still("acc=0.05"))
    assert _taught(Compared(True, False), Still("acc=0.5"))


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("t = time.perf_counter()\nms = 1e3 * (time.perf_counter() - t)\nprint(f'acc=1 ms={ms:.1f}')", {"ms"}),
        ("n = 0\nwhile time.time() < end:\n    n += 1\nspeed = n / 4\nprint(f'speed={speed:.1f}')", {"speed"}),
        (
            "def peak():\n    return getrusage(0).ru_maxrss\n\ngrown = peak() - first\nprint(f'grown={grown}')",
            {"grown"},
        ),
        ("n = 0\nfor x in rows:\n    n += 1\nprint(f'steps={n}')", set()),
    ],
)
def test_what_a_program_takes_is_told_from_what_it_learns(text, taken):
    assert gauged_names([parsed_source("x.py", text)]) == taken


@pytest.mark.parametrize(
    ("line", "content"), [("OK q=1", True), ("POOR q=3", False), ("q=3", None), ("POOR, not OK", None)]
)
def test_whether_a_program_is_content_is_said_in_its_own_words(line, content):
    source = parsed_source("x.py", "print('OK' if q < 2 else 'POOR', q)\nprint('a' if q else 'b')")
    assert verdict([source], line) is content


@pytest.mark.parametrize(("line", "content"), [("OK acc=0.93", True), ("POOR acc=0.51", False), ("acc=0.51", None)])
def test_a_program_may_say_so_in_two_branches(line, content):
    text = """
        if acc > 0.9:
            print(f"OK acc={acc}")
        else:
            print(f"POOR acc={acc}")
        print("a" if q else "b")
    """
    assert verdict([parsed_source("x.py", textwrap.dedent(text))], line) is content


def test_what_a_program_wants_between_two_bounds_has_its_goal_amid_these():
    text = 'print(("OK" if 0.8 < cover < 0.9 else "POOR") + f" coverage={cover:.3f}")\nprint(f"width={width}")'
    found = directions([parsed_source("x.py", text)])
    assert found["coverage"] == pytest.approx(0.85)
    assert "width" not in found
