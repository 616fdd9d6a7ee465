"""What the oracle sees while a program runs: operands that broadcast now, functions that are entered."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader

import pytest

torch = pytest.importorskip("torch")


from explainer.oracle.broadcasts import Broadcasts  # noqa: E402
from explainer.oracle.entered import Entered  # noqa: E402
from explainer.oracle.places import Places  # noqa: E402


@pytest.fixture
def watched(tmp_path):
    """What is seen of operands: of `refused` sizes where the function failed, of others now."""
    text = "def add(x, y):\n    return x + y\n\n\ndef other(x, y):\n    return x * y\n"
    names: dict[str, object] = {}
    (tmp_path / "main.py").write_text(text)
    exec(compile(text, str(tmp_path / "main.py"), "exec"), names)

    def seen(function, refused, operands):
        places = Places(str(tmp_path), {})
        watching = Broadcasts(places, ("main.py", function), ("return x + y", refused))
        watching.watch(torch)
        try:
            names[function if function in names else "add"](*operands)
        finally:
            places.restore()
        return watching

    return seen


@pytest.fixture
def spread(watched):
    """Where an operand is spread."""
    return lambda function, refused, now: watched(function, refused, map(torch.zeros, now)).spread


def test_a_tensor_that_meets_itself_where_two_did_not_fit_is_seen(watched):
    x, y = torch.zeros(4, 6), torch.zeros(4, 6)
    assert watched("add", [[4, 6], [4, 5]], [x, x]).itself == ["main.py", 2]
    assert watched("add", [[4, 6], [4, 5]], [x, y]).itself is None  # another one of that size
    assert watched("other", [[4, 6], [4, 5]], [x, x]).itself is None  # another line


def test_an_operand_that_became_one_where_two_did_not_fit_is_seen_in_the_failed_function(spread):
    x, y, one = [4, 6, 2], [1, 3, 2], [1, 1, 2]
    assert spread("add", [x, y], [x, one]) == ["main.py", 2]
    assert spread("add", [x, y], [x, [1, 6, 2]]) is None  # it fits as a whole
    assert spread("add", [x, [2]], [x, one]) is None  # a dimension that was put in
    assert spread("Net.forward", [x, y], [x, one]) is None  # another function
    assert spread("other", [x, y], [x, one]) is None  # another line


def test_samples_that_meet_all_samples_are_seen_and_all_pairs_of_two_sets_are_not(spread):
    assert spread("add", [[6, 5], [6, 7]], [[6, 5, 1, 1], [6, 7]]) == ["main.py", 2]
    assert spread("add", [[6, 2], [4, 2]], [[6, 1, 2], [4, 2]]) is None
    assert spread("add", [[6, 5], [6, 7]], [[6, 5, 1], [6, 1, 7]]) is None


@pytest.mark.parametrize(
    ("name", "times"), [("Net.forward", 1), ("Other.forward", 0), ("helper", 0), ("Gone.forward", 1)]
)
def test_of_methods_that_have_one_name_the_failed_one_is_counted(tmp_path, monkeypatch, name, times):
    """A class that is not in the file says nothing: then all that have the name count."""
    path = tmp_path / "main.py"
    path.write_text(
        "class Net:\n    def forward(self):\n        '''Doc.'''\n        return 1\n\n"
        "class Other:\n    def forward(self):\n        return 2\n\ndef helper():\n    return 3\n\nNet().forward()\n"
    )
    monkeypatch.setattr(SourceFileLoader, "source_to_code", SourceFileLoader.source_to_code)
    entered = Entered(str(tmp_path), ("main.py", name))
    entered.watch()
    loader = SourceFileLoader("__main__", str(path))
    exec(loader.source_to_code(loader.get_data(str(path)), str(path)), {})
    assert entered.times == times
