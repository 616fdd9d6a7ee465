"""Whose a message is, by the texts of the torch that is installed."""

import os

import pytest

from explainer.grammar import installed, raises


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A torch of one source file and one library, in place of the installed one."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "new.py").write_text(
        'raise ValueError(f"frobs of a lattice need {n} edges of theirs but there are {m} left")\n'
    )
    monkeypatch.setattr(installed, "_folder", lambda: str(tmp_path))
    monkeypatch.setattr(installed, "_looked", set())
    caches = installed._libraries, installed._held, installed._files, raises._index
    for one in caches:
        one.cache_clear()
    yield tmp_path
    for one in caches:
        one.cache_clear()


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("frobs of a lattice need 4 edges of theirs but there are 7 left", True),
        ("frobs of a lattice need many", True),  # which may be the value
        ("frobs of a lattice need many more edges", False),
        ("all frobs of a lattice need 4 edges", False),  # another sentence that ends alike
        ("frobs of", False),  # too little to tell
        ("3 edges of theirs but there are 7 left", True),
        ("", False),
    ],
)
def test_how_a_message_begins_or_goes_on_is_looked_for_in_the_sources(sources, text, has):
    assert installed.has(text) is has


def test_a_message_without_values_must_be_a_whole_text(sources):
    (sources / "more.py").write_text('raise ValueError("Lattice too odd for this")\n')
    assert installed.has("Lattice too odd for this")
    installed._held.cache_clear()
    assert not installed.has("Lattice too")


@pytest.mark.parametrize(
    ("kind", "text", "has"),
    [
        ("ValueError", "frobs of a lattice need 4 edges of theirs but there are 7 left", True),
        ("TypeError", "frobs of a lattice need 4 edges of theirs but there are 7 left", False),  # another type
        ("ValueError", "frobs of a lattice need 4 edges of theirs but there are 7 left over", False),
        ("ValueError", "left", False),
        ("KeyError", "no lattice of these edges", True),
        ("KeyError", "no lattice", False),
        ("ValueError", "the lattice `x` is odd\nand old", True),  # of several texts
        ("IndexError", "list index out of range", False),  # Python's own, in a copy
        ("RuntimeError", "", False),
        ("a(b", "frobs", False),  # no name of a type
    ],
)
def test_a_message_is_looked_for_in_what_the_sources_raise_with_its_type(sources, kind, text, has):
    (sources / "polyfills").mkdir()
    (sources / "polyfills" / "copy.py").write_text('raise IndexError("list index out of range")\n')
    (sources / "more.py").write_text(
        "raise KeyError('no lattice of these edges') from None\n"
        "raise ValueError(\n    f\"the lattice `{x}` \"\n    'is odd\\nand old'\n)\n"
    )
    assert raises.has(kind, text) is has


def test_the_libraries_of_torch_are_read():
    torch = pytest.importorskip("torch")
    if not os.path.exists(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so")):
        pytest.skip("no library of Linux")
    for data, first, last in installed._libraries():
        assert 0 < first < last
        assert data.find(b"\0", first, last) > 0


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"\x7fELF\x01" + bytes(80), b"\x7fELF\x02" + bytes(80), b"MZ" + bytes(100)]
)
def test_what_is_no_library_of_linux_holds_nothing(sources, content):
    (sources / "lib" / "libc10.so").write_bytes(content)
    assert not installed.has("frobs of the moon need 4 edges in all")


def test_a_log_full_of_doubtful_messages_is_not_looked_up_for_ever(sources, monkeypatch):
    looked = []
    monkeypatch.setattr(installed, "_held", lambda *parts: looked.append(parts) or False)
    for number in range(3 * installed._MOST):
        installed.has(f"a message of some program that says {'x' * number}")
    assert len(looked) == installed._MOST
