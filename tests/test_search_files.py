"""The search where a pattern or filter of file names matches nothing: the line to edit and the repair for each."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("torch")

from faults import assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_SCANS = """
        import glob, os, tempfile
        from pathlib import Path
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Scans(Dataset):
            def __init__(self, folder):
                self.folder = folder
                self.names = FOUND
            def __len__(self):
                return len(self.names)
            def __getitem__(self, i):
                return torch.load(os.path.join(self.folder, self.names[i]))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "NAME"
            path.parent.mkdir(exist_ok=True)
            torch.save(torch.rand(2), path)
            print(len(list(DataLoader(Scans(folder), shuffle=True))))
"""


def _scans(found: str, name: str) -> str:
    return _SCANS.replace("FOUND", found).replace("NAME", name)


#: How the files are looked for, what one is called, what the first fix puts there.
FAULTS = {
    "a pattern of a path": ('sorted(Path(folder).glob("*.pt"))', "anna/1.pt", 'Path(folder).rglob("*.pt")'),
    "a pattern of a joined path": (
        'sorted((Path(folder) / "").glob("*.pt"))', "anna/1.pt", '(Path(folder) / "").rglob("*.pt")',
    ),
    "a pattern of glob": ('glob.glob(f"{folder}/*.pt")', "anna/1.pt", 'glob.glob(f"{folder}/**/*.pt", recursive=True)'),
    "a joined pattern": (
        'glob.glob(os.path.join(folder, "*.pt"))', "anna/1.pt", 'os.path.join(folder, "**/*.pt"), recursive=True',
    ),
    "a listing": ('[one for one in os.listdir(folder) if one.endswith(".pt")]', "anna/1.pt", "in os.walk(folder)"),
    "capitals": ('sorted(Path(folder).glob("*.pt"))', "1.PT", '"*.PT"'),
    "another suffix": ('[one for one in os.listdir(folder) if one.endswith(".pt")]', "1.pth", 'endswith(".pth")'),
    "a suffix without its dot": ('[one for one in Path(folder).iterdir() if one.suffix == "pt"]', "1.pt", '== ".pt"'),
    "an ending with a star": ('[one for one in os.listdir(folder) if one.endswith("*.pt")]', "1.pt", 'endswith(".pt")'),
    "a pattern without a star": ('sorted(Path(folder).glob(".pt"))', "1.pt", '"*.pt"'),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_files_are_looked_for(runner: Runner, name: str) -> None:
    found, file, new = FAULTS[name]
    assert_repaired(runner, _scans(found, file), "self.names" if "listing" in name else found, new)


def test_where_there_are_no_such_files_nothing_is_tried_in_vain(runner: Runner) -> None:
    best = explained(runner, _scans('sorted(Path(folder).glob("*.pt"))', "anna/1.wav"))
    assert best["rule"] == "dataset-without-samples"
    assert not any(fix["edits"] for fix in best["fixes"])


_LOOKED = """
        import os
        from pathlib import Path
        from torch.utils.data import DataLoader, Dataset
        class Scans(Dataset):
            def __init__(self, folder, kind):
                self.files = sorted((Path(folder) / kind).glob("*.pt"))
            def __len__(self):
                return len(self.files)
            def __getitem__(self, i):
                return self.files[i]
        def load(folder):
            return DataLoader(Scans(folder, "train"), shuffle=True)
        os.makedirs("scans/train/anna")
        open("scans/train/anna/1.pt", "w").close()
        load("FOLDER")
"""


@pytest.mark.parametrize(
    ("folder", "said"),
    [("scans", "Folders below `{}` hold such files (1)"), ("no-scans", "There is no folder `{}`")],
)
def test_it_is_said_where_the_files_lie(runner: Runner, folder: str, said: str) -> None:
    cause = " ".join(explained(runner, _LOOKED.replace("FOLDER", folder))["cause"].split())
    assert said.format(os.path.join(folder, "train")) in cause
