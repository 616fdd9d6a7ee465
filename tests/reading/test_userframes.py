"""Which files a pasted crash may lead us to read."""

from __future__ import annotations

import os

import pytest

from explainer.crash import Crash, Frame
from explainer.probes import Options, Scene
from explainer.userframes import below, is_user_file


def test_only_regular_files_that_resolve_below_the_root_are_below_it(tmp_path):
    inside, outside = tmp_path / "project", tmp_path / "secret.py"
    inside.mkdir()
    outside.write_text("x = 1\n")
    (inside / "net.py").write_text("x = 1\n")
    (inside / "link.py").symlink_to(outside)
    assert below(str(inside / "net.py"), str(inside))
    assert not below(str(inside / "link.py"), str(inside))
    assert not below(str(inside / ".." / "secret.py"), str(inside))
    assert not below(str(inside), str(inside))
    assert not below("net\0.py", str(inside))
    os.mkfifo(inside / "pipe.py")
    assert not below(str(inside / "pipe.py"), str(inside))


def test_this_package_is_nobodys_own_code_but_its_broken_models_are():
    """Installed from a checkout it lies where a user's files do; reading all of it took half a second."""
    import explainer

    assert not is_user_file(explainer.__file__)
    assert is_user_file(explainer.__file__.replace("__init__.py", "demo/shape.py"))


@pytest.mark.parametrize(("code", "read"), [("x = f(1)", True), ("x = g(1)", False)])
def test_the_source_of_a_pasted_frame_is_used_where_its_line_still_reads_the_same(tmp_path, code, read):
    file = tmp_path / "net.py"
    file.write_text("y = 2\nx = f(1)\n")
    frame = Frame(str(file), 2, "<module>", code, True)
    scene = Scene(Crash("RuntimeError", "m", (frame,)), Options(source_roots=(str(tmp_path),)))
    assert (scene.frame_source(frame) is not None) is read
    assert Scene(Crash("RuntimeError", "m", (frame,)), Options()).frame_source(frame) is None
