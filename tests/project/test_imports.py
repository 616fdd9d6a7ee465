"""The packages import each other one way only, so that each can be read and tested without those above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from commands import ROOT

PACKAGE = ROOT / "explainer"
#: From the bottom to the top; a module may import from its own layer and those below it.
LAYERS = (
    (
        "frozen",
        "patterns",
        "diagnosis",
        "decisions",
        "userframes",
        "locale",
        "configured",
        "sized",
        "arrival",
        "wrappers",
    ),
    ("crash", "source", "bindings", "dimensions", "facts", "probes.scene"),
    ("oracle", "replay", "edits", "catalogue", "grammar"),
    ("probes", "repair"),
    (
        "diagnose",
        "guarding",
        "weighing",
        "remedies",
        "on_cpu",
        "untried",
        "reporting",
        "reading",
        "render",
        "loaded",
        "transfer",
        "live",
        "reproduce",
        "training",
    ),
    ("api",),
    ("hooks",),
    ("cli", "authoring", "serve", "demo", "__main__"),
)
#: What `render` and the formats of `reading` may see besides themselves.
NARROW = {
    "render": {"render", "diagnosis", "decisions", "locale", "frozen", "patterns"},
    "hooks": {
        "arrival",
        "hooks",
        "locale",
        "configured",
        "api",
        "render",
        "probes",
        "live",
        "decisions",
        "transfer",
        "userframes",
    },
}
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}


def imports(path: Path, outer_only: bool = False) -> set[str]:
    """The modules of the package that a file imports, as dotted names below `explainer`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if outer_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("explainer.") for name in found if name.startswith("explainer.")}


def height(name: str) -> int:
    """The layer of a dotted name; the scene is data that replay looks at too, and lies below the other probes."""
    deep = ".".join(name.split(".")[:2])
    return HEIGHT.get(deep, HEIGHT.get(name.split(".")[0], -1))


def owner(path: Path) -> str:
    """The package or module below `explainer` that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py" and "demo" not in path.parts]


def test_every_package_has_its_layer():
    assert {owner(path) for path in FILES} <= set(HEIGHT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down(path):
    mine = owner(path)
    upward = {name for name in imports(path) if height(name) > HEIGHT[mine]}
    assert not upward, f"{mine} imports from above: {', '.join(sorted(upward))}"


@pytest.mark.parametrize("package", NARROW)
def test_a_package_sees_only_what_it_may(package):
    seen = {name.split(".")[0] for path in (PACKAGE / package).rglob("*.py") for name in imports(path)}
    assert seen <= NARROW[package]


def test_no_format_of_reading_knows_another():
    formats = PACKAGE / "reading" / "formats"
    names = {path.stem for path in formats.glob("*.py")} - {"__init__"}
    assert names
    for path in formats.glob("[!_]*.py"):
        seen = {name.rsplit(".", 1)[-1] for name in imports(path) if name.startswith("reading.formats.")}
        assert not seen & (names - {path.stem}), path.name


def test_torch_is_imported_only_to_run_something_again():
    """torch is the user's: `replay/` and `training/` need it to be there, no other module imports it when imported."""
    for path in [path for path in FILES if owner(path) not in ("replay", "training")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        outer = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {alias.name for node in outer if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in outer if isinstance(node, ast.ImportFrom)}
        assert not {name.split(".")[0] for name in names} & {"torch", "numpy"}, path
