"""Real pages in a real Chromium, dark and light: `explain serve`, the diagnosis in Jupyter and VS Code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from chromium import PROGRAM, Page
from commands import environment

from explainer.api import explain_text
from explainer.render import html

pytestmark = pytest.mark.skipif(PROGRAM is None or sys.platform == "win32", reason="no Chromium here")
TEXT = """\
Traceback (most recent call last):
  File "<script>document.title = 'mine'</script>.py", line 3, in <module>
    net(x)  # <img src=x onerror="document.title = 'mine'">
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)
"""
#: How much lighter one colour is than another, as people see it; readable text has 4.5.
CONTRAST = """((one, two) => {
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const light = (css) => {
    context.fillStyle = css; context.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [dark, bright] = [light(one), light(two)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
})"""
#: Every text of the diagnosis on what lies behind it: what cannot be read well.
PALE = f"""(() => {{
  const contrast = {CONTRAST}, found = [];
  for (const node of document.querySelectorAll('.explainer *')) {{
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
    if (!own || !node.checkVisibility()) continue;
    let behind = node;
    while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    const paper = behind ? getComputedStyle(behind).backgroundColor : 'white';
    const seen = contrast(getComputedStyle(node).color, paper);
    if (seen < 4.5) found.push([node.textContent.trim().slice(0, 30), Math.round(seen * 10) / 10]);
  }}
  return found;
}})()"""


@contextmanager
def serving(*command: str, cwd: Path, ready: str, **more: str):
    """A server on a free port, `{port}` in its command; its address once `ready` answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    given = [part.replace("{port}", port) for part in command]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, *given], cwd=cwd, env=environment(**more), stdout=quiet, stderr=quiet
    ) as server:
        try:
            address, end = f"http://127.0.0.1:{port}", time.monotonic() + 90
            while True:
                try:
                    urllib.request.urlopen(address + ready, timeout=5).read()
                    break
                except OSError:
                    assert server.poll() is None, f"{command} ended with {server.returncode}"
                    assert time.monotonic() < end, f"{command} does not answer"
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()


def test_the_page_explains_a_hostile_paste_by_the_keyboard_alone_dark_and_light(tmp_path):
    for name in ("starlette", "uvicorn", "python_multipart"):
        pytest.importorskip(name)
    with (
        serving("-m", "explainer", "serve", "--port", "{port}", cwd=tmp_path, ready="/") as address,
        Page(tmp_path) as page,
    ):
        for theme in ("light", "dark"):
            page.open(address, "document.activeElement.tagName == 'TEXTAREA'", prefers_color_scheme=theme)
            page.type(TEXT)
            page.press("Enter", 13, control=True)
            page.wait("document.querySelector('article .rule')")
            page.picture(tmp_path / f"serve-{theme}.png")
            assert "matmul-shapes" in page.js("document.querySelector('article').textContent")
            assert page.js("document.title") != "mine"
            assert page.js("document.querySelectorAll('.explainer img, .explainer script').length") == 0
            assert page.js("document.documentElement.scrollWidth <= innerWidth")
            assert page.js(PALE) == []
            assert (
                page.js(f"{CONTRAST}(getComputedStyle(document.body).backgroundColor, 'black')") > 10 or theme == "dark"
            )
        page.js("document.querySelector('dd a[href^=\"/rule/\"]').click()")
        page.wait("document.querySelector('main h2')")
        assert page.js(PALE) == []
        page.ask("Emulation.setScriptExecutionDisabled", value=True)  # the form alone does without scripts
        page.open(f"{address}/?lang=ko", "document.querySelector('form[action=\"/explain\"] button[type=submit]')")
        page.js("document.querySelector('textarea').focus()")
        page.type(TEXT)
        page.press("Tab", 9)
        page.press("Enter", 13)
        page.wait("document.querySelector('article .rule')")
        assert page.problems == []


def test_a_file_that_is_dropped_on_the_page_is_explained(tmp_path):
    for name in ("starlette", "uvicorn", "python_multipart"):
        pytest.importorskip(name)
    (tmp_path / "train.log").write_text(TEXT)
    command = ("-m", "explainer", "serve", "--port", "{port}")
    with serving(*command, cwd=tmp_path, ready="/") as address, Page(tmp_path / "b") as page:
        page.open(address, "document.activeElement.tagName == 'TEXTAREA'")
        page.drop(tmp_path / "train.log")
        page.wait("document.querySelector('article .rule')")
        assert "matmul-shapes" in page.js("document.querySelector('article').textContent")
        assert page.js("location.origin") == address
        assert page.problems == []


def test_in_the_colours_of_vs_code_s_page_all_can_be_read(tmp_path):
    """Its page has its own names for colours, whatever the system prefers; its outputs are shown in a frame."""
    (found,) = explain_text(TEXT).reports
    themes = {
        "dark": "background: #1f1f1f; --vscode-editor-foreground: #cccccc; --vscode-editor-background: #1f1f1f",
        "light": "background: #ffffff; --vscode-editor-foreground: #3b3b3b; --vscode-editor-background: #ffffff",
    }
    with Page(tmp_path) as page:
        for theme, style in themes.items():
            (tmp_path / "output.html").write_text(
                f"<!DOCTYPE html><body style='{style}'>{html.fragment((found,))}", encoding="utf-8"
            )
            other = "light" if theme == "dark" else "dark"
            page.open(
                (tmp_path / "output.html").as_uri(), "document.querySelector('.explainer')", prefers_color_scheme=other
            )
            assert page.js(PALE) == []
            assert page.js("getComputedStyle(document.querySelector('.explainer')).color") == (
                "rgb(204, 204, 204)" if theme == "dark" else "rgb(59, 59, 59)"
            )


CELLS = [
    "import explainer; explainer.install(lang='en')",
    "import torch\nfrom torch import nn\nnet = nn.Linear(8, 2)\nids = torch.zeros(4, 6)\nnet(ids)  # " + "long " * 40,
]
#: Runs all cells; true once they run: asked while the kernel is being connected, Jupyter asks which one is meant.
RUN = """([...document.querySelectorAll('.jp-InputPrompt')].some((one) => /\\[[*\\d]/.test(one.textContent))
  || void (document.querySelector('.jp-Dialog .jp-mod-accept')
    ? document.querySelector('.jp-Dialog .jp-mod-accept').click()
    : jupyterapp.commands.execute('notebook:run-all-cells')))"""


@pytest.mark.parametrize("app", ["notebook", "jupyterlab"])
def test_jupyter_shows_it_in_its_own_colours_and_puts_the_edited_cell_below(app, tmp_path):
    if find_spec(app) is None:
        pytest.skip(f"{app} is not installed")
    cells = [
        {"cell_type": "code", "execution_count": None, "id": f"c{at}", "metadata": {}, "outputs": [], "source": cell}
        for at, cell in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (tmp_path / "n.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
    )
    kind = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}[app]
    options = (
        f"--{kind}.expose_app_in_browser=True",
        "--allow-root",
        "--no-browser",
        "--ServerApp.token=",
        "--port={port}",
    )
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    with (
        serving("-m", app, *options, cwd=tmp_path, ready="/api/status", **home) as address,
        Page(tmp_path / "b") as page,
    ):
        path = "lab/tree" if app == "jupyterlab" else "notebooks"
        page.open(f"{address}/{path}/n.ipynb", "window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')")
        page.js("document.querySelector('.jp-Notebook .jp-Cell .cm-content').focus()")
        page.wait(RUN, every=2)
        page.wait("document.querySelector('.jp-OutputArea .explainer')")
        said = page.js("document.querySelector('.jp-OutputArea .explainer').textContent")
        assert "Cell In[2], line 5" in said
        assert page.js(
            "[...document.querySelectorAll('.explainer pre')].some((one) => one.scrollWidth > one.clientWidth)"
        )
        assert not page.js("document.querySelector('.explainer details').open")
        for theme, light in (("Dark", "false"), ("Light", "true")):
            page.js(
                f"jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}}).then(() => 1)"
            )
            page.wait(f"document.body.dataset.jpThemeLight == '{light}'")
            page.wait(f"{PALE}.length == 0")  # the style sheet of a theme comes a little later than its name
            page.picture(tmp_path / f"{app}-{theme}.png")
        page.click(".explainer .below")
        page.wait(
            "document.querySelectorAll('.jp-Notebook .jp-Cell').length > 2 || document.querySelector('.jp-Dialog')"
        )
        page.js(
            "document.querySelector('.jp-Dialog .jp-mod-accept')?.click()"
        )  # newer ones ask before they run a command
        page.wait("document.querySelectorAll('.jp-Notebook .jp-Cell').length == 3")
        page.wait("document.querySelectorAll('.jp-Cell .cm-content')[2]?.textContent.includes('nn.Linear(6, 2)')")
