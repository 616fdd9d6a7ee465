"""Makes the project's own virtual environments; needs nothing but Python. Used by try.py and test.py."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)
#: torch without CUDA: 200 MB in place of several GB.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def ready(name: str, extra: str) -> Path:
    """The Python of the virtual environment `name` in the project's folder, with the project and an extra installed."""
    if sys.version_info < OLDEST:
        sys.exit(f"Python {'.'.join(map(str, OLDEST))} or newer is needed; this is {sys.version.split()[0]}")
    folder = ROOT / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, key = folder / "installed", _key(extra)
    if not (stamp.is_file() and stamp.read_text() == key):
        _make(folder)
        _install_torch(python)
        print(f"installing the project into {name} ...", flush=True)
        _pip(python, "--editable", f"{ROOT}[{extra}]") or sys.exit("pip could not install the project; see above")
        stamp.write_text(key)
    return python


def run(*command: str | Path) -> int:
    """Run a command in the project's folder; its exit status."""
    return subprocess.call([str(word) for word in command], cwd=ROOT)


def _make(folder: Path) -> None:
    print(f"making the virtual environment {folder.name} ...", flush=True)
    try:
        venv.create(folder, with_pip=True, clear=True)
    except subprocess.CalledProcessError:
        sys.exit("Python has no ensurepip here; on Debian and Ubuntu: apt install python3-venv")
    except OSError as error:
        sys.exit(f"{folder} cannot be made: {error.strerror or error}")


def _install_torch(python: Path) -> None:
    """The CPU build where there is no GPU, unless pip was told where to look. Where that fails, pip looks itself."""
    told = any(os.environ.get(name) for name in ("PIP_CONSTRAINT", "PIP_INDEX_URL", "PIP_NO_INDEX"))
    if sys.platform.startswith("linux") and not told and not shutil.which("nvidia-smi"):
        print("installing torch (CPU build) ...", flush=True)
        _pip(python, "torch", "--index-url", CPU_INDEX)


def _pip(python: Path, *arguments: str) -> bool:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    return subprocess.call(command, cwd=ROOT) == 0


def _key(extra: str) -> str:
    """Changes when what must be installed changes."""
    said = (ROOT / "pyproject.toml").read_bytes() + f"{extra} {sys.version} {os.environ.get('PIP_CONSTRAINT')}".encode()
    return hashlib.sha256(said).hexdigest()
