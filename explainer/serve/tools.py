"""The tools of `explain mcp`, plain functions whose docstrings are what an assistant reads of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from explainer import api
from explainer.probes.scene import Options

#: Seconds after which a program that an assistant asked to run is ended.
LONGEST = 600.0


def explain_traceback(text: str, language: str = "en") -> dict[str, Any]:
    """Explain every PyTorch error in a pasted traceback, log or error message: root cause, evidence, fixes.

    Nothing in the text is run; source files that it names are read below the working directory.
    """
    options = Options(api.language(language), replay=False)
    return api.explain_text(text, options=options).to_dict()


def run_and_explain(script: str, arguments: list[str] | None = None, language: str = "en") -> dict[str, Any]:
    """Run a Python script as `python SCRIPT ARGUMENTS` would, and explain the error that ends it.

    Fixes marked `checked` were tried on the whole program in a sandbox before they are reported.
    """
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "report.json")
        command = [sys.executable, "-m", "explainer", "run", "--json", str(document), "--lang", language, script]
        command += arguments or []
        try:
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return {"error": f"the program ran longer than {LONGEST:g} seconds and was ended"}
        found = json.loads(document.read_text(encoding="utf-8")) if document.exists() else {"reports": []}
    output = done.stdout.decode("utf-8", "replace")[-4000:]
    said = {} if found["reports"] else {"stderr": done.stderr.decode("utf-8", "replace")[-4000:]}
    return {"exit_status": done.returncode, "stdout_tail": output, **said, **found}


def read_rule(name: str, language: str = "en") -> str:
    """The page of one rule or symptom: what it looks for, what it says, an example that fires and one that does not."""
    from explainer.authoring.pages import whole_page
    from explainer.catalogue import load

    catalogue = load()
    one = catalogue.rules.get(name) or catalogue.symptoms.get(name)
    return whole_page(one, catalogue, api.language(language)) if one is not None else f"there is no rule {name!r}"


def last_patch() -> str:
    """The fix of the last diagnosis as a unified diff for `git apply`, its first line saying whether it was checked."""
    command = [sys.executable, "-m", "explainer", "fix"]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    return (done.stderr + done.stdout).decode("utf-8", "replace")


TOOLS = (explain_traceback, run_and_explain, read_rule, last_patch)
