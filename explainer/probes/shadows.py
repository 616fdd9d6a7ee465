"""An own file that is imported in the place of a module of Python's or of torch: from the message and its folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from explainer.patterns import Pattern
from explainer.probes.scene import Scene
from explainer.userframes import is_user_file

_ERRORS = ("ImportError", "ModuleNotFoundError", "AttributeError")
_SAID = Pattern(
    r"cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<module>\w+)[\w.]*'"
    r"|module '(?P<owner>\w+)' has no attribute '(?P<attribute>\w+)'"
    r"|No module named '(?:\w+\.)+(?P<part>\w+)'; '(?P<package>\w+)' is not a package"
)
_PATH = Pattern(r"[('](?P<path>[^()']+\.py)[)']")
#: Packages whose names people give to files of their own, besides the modules of Python's library.
_PACKAGES = frozenset(
    ("torch", "torchvision", "torchaudio", "numpy", "transformers", "accelerate", "lightning", "datasets", "cuda")
)


def shadow(scene: Scene) -> dict[str, Any] | None:
    """The own file (`file`) in the place of a `module`, and the `name` that is missed there; None where none is."""
    crash = scene.crash
    said = _SAID.search(crash.message) if crash.name in _ERRORS else None
    if said is None:
        return None
    module = said["module"] or said["owner"] or said["package"]
    if module not in _PACKAGES and module not in sys.stdlib_module_names:
        return None
    name = said["name"] or said["attribute"] or said["part"]
    file = next((file for file in _files(scene, module) if is_user_file(file)), None)
    return {"module": module, "name": name, "file": file} if file is not None else None


def _files(scene: Scene, module: str) -> Iterator[str]:
    """The file that the message names, and those beside the script that exist here: where Python looks first."""
    ran = next((frame.file for frame in scene.crash.frames if frame.user and frame.line), None)
    folder = os.path.dirname(ran.replace("\\", "/")) if ran is not None else None
    for path in _PATH.finditer(scene.crash.message):
        slashed = path["path"].replace("\\", "/")
        package = slashed.removesuffix(f"/{module}/__init__.py")
        besides = package in (slashed, folder) or module in sys.stdlib_module_names
        if slashed.endswith((f"/{module}.py", f"/{module}/__init__.py")) and besides:
            yield path["path"]
    beside = (
        [] if folder is None else [os.path.join(folder, below) for below in (f"{module}.py", f"{module}/__init__.py")]
    )
    yield from (file for file in beside if os.path.isfile(file) and scene.source(file) is not None)
