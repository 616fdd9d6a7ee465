"""What other programs on this machine ask: the page of `explain serve`, the tools of `explain mcp`; the doctor."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest
from commands import ROOT, environment, explain

from explainer.cli import main
from explainer.serve import tools

TEXT = """\
Traceback (most recent call last):
  File "<script>alert(1)</script>.py", line 3, in <module>
    net(x)  # <img src=x onerror=alert(2)>
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)
"""


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("starlette")
    pytest.importorskip("python_multipart")
    testclient = pytest.importorskip("starlette.testclient")
    from explainer.serve.app import app

    return testclient.TestClient(app(), base_url="http://127.0.0.1")


@pytest.mark.parametrize(("language", "said"), [("en", "columns"), ("ko", "행렬"), ("zh", "矩阵")])
def test_a_pasted_text_is_explained_in_the_language_asked_for(client, language, said):
    answer = client.post("/explain", data={"text": TEXT, "lang": language})
    assert answer.status_code == 200
    assert "matmul-shapes" in answer.text
    assert said in answer.text
    assert f'<html lang="{language}">' in answer.text


def test_a_hostile_text_stays_text(client):
    answer = client.post("/explain", data={"text": TEXT + "</textarea><script>alert(3)</script>", "lang": "en"})
    assert "<script>alert" not in answer.text
    assert "<img" not in answer.text
    assert "onclick" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_a_text_without_an_error_says_so(client):
    assert "No PyTorch error found" in client.post("/explain", data={"text": "all is well", "lang": "en"}).text


def test_the_page_its_style_and_its_rules_are_served_and_nothing_else(client):
    assert "<textarea" in client.get("/").text
    assert ".explainer" in client.get("/style.css").text
    assert "addEventListener" in client.get("/page.js").text
    rule = client.get("/rule/linear-input-size").text
    assert "<h2>linear-input-size</h2>" in rule
    assert "<strong>up expects 9 features per row" in rule
    assert "<pre>import torch" in rule
    assert "**" not in rule
    assert client.get("/rule/no-such-rule").status_code == 404
    assert client.get("/../pyproject.toml").status_code == 404


def test_a_page_elsewhere_that_borrows_the_address_is_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_a_port_in_use_is_one_line(capsys):
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    pytest.importorskip("python_multipart")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--port 0" in said


@pytest.mark.parametrize(("command", "module"), [("serve", "uvicorn"), ("mcp", "mcp.server")])
def test_without_the_extra_it_says_what_to_install(command, module, monkeypatch, capsys):
    for name in (module, "mcp.server.mcpserver", "mcp.server.fastmcp"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main([command]) == 1
    assert f"torch-explainer[{command}]" in capsys.readouterr().err


def test_the_tools_explain_read_rules_and_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert tools.explain_traceback(TEXT)["reports"][0]["diagnoses"][0]["rule"] == "matmul-shapes"
    assert "linear-input-size" in tools.read_rule("linear-input-size")
    assert "no rule" in tools.read_rule("no-such-rule")
    assert "no diagnosis yet" in tools.last_patch()
    (tmp_path / "fails.py").write_text(f"print('before')\nraise RuntimeError({TEXT.splitlines()[-1][14:]!r})\n")
    found = tools.run_and_explain("fails.py")
    assert found["exit_status"] == 1
    assert found["stdout_tail"] == "before\n"
    assert found["reports"][0]["diagnoses"][0]["rule"] == "matmul-shapes"


def test_an_assistant_finds_the_tools_over_stdio(tmp_path):
    pytest.importorskip("mcp")
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    command = [sys.executable, "-m", "explainer", "mcp"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, cwd=tmp_path, env=environment(), text=True) as server:
        for one in asked:
            server.stdin.write(json.dumps(one) + "\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        server.wait(timeout=30)
    names = {tool["name"] for tool in answers[-1]["result"]["tools"]}
    assert names == {tool.__name__ for tool in tools.TOOLS}


def test_the_doctor_names_what_stands_in_the_way(tmp_path):
    healthy = explain("doctor", cwd=tmp_path)
    assert "symptoms" in healthy.stdout
    switched_off = explain("doctor", cwd=tmp_path, EXPLAINER_REPLAY="0")
    assert switched_off.returncode == 1
    assert "bad   EXPLAINER_REPLAY=0" in switched_off.stdout
    assert os.linesep not in switched_off.stderr
