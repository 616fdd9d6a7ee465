"""Where rule files lie: the catalogue's own folder, folders that the user names, and packs that are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

GROUP = "explainer.rules"
PACKAGE = Path(__file__).resolve().parent.parent
COMPILED = "catalogue.jsonl"


def builtin() -> Path:
    """The catalogue's own rules: in a checkout `../rules` (a wheel's copy there would be stale), else those shipped."""
    checkout = PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "rules" / "symptoms").is_dir():
        return checkout / "rules"
    return PACKAGE / "_rules"


def files(folder: Path) -> list[Path]:
    """The YAML files of a folder and the folders in it, sorted; hidden ones are left out."""
    found = (path for pattern in ("*.yaml", "*.yml", "*/*.yaml", "*/*.yml") for path in folder.glob(pattern))
    return sorted(path for path in found if not path.name.startswith(".") and not path.parent.name.startswith("."))


def installed() -> Iterator[tuple[str, Path]]:
    """Packs of installed packages: entry points of the group name a data folder; nothing of theirs is imported."""
    from importlib import metadata

    for point in metadata.entry_points(group=GROUP):
        folder = _folder_of(point)
        if folder is not None:
            yield point.name, folder


def _folder_of(point: object) -> Path | None:
    """`my_pack.rules` or `my_pack:rules` -> the folder `rules` of the package `my_pack`, found without importing it."""
    from importlib.util import find_spec

    top, *below = point.value.replace(":", ".").replace("/", ".").split(".")  # type: ignore[attr-defined]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    folders = [Path(place).joinpath(*below) for place in places]
    return next((folder for folder in folders if folder.is_dir()), None)
