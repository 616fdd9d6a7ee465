"""What other programs on this machine ask: the page of `explain serve`, the tools of `explain mcp`; the doctor."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec

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


class Assistant:
    """A client of `explain mcp`, over its standard input and output as the Model Context Protocol has it."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "explainer", "mcp"]
        env = environment(XDG_STATE_HOME=str(folder))
        self.server = subprocess.Popen(command, stdin=-1, stdout=-1, cwd=folder, env=env, text=True)
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.number = 0
        self.ask("initialize", version)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def ask(self, method, given):
        """The result of one request."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": given})
        while (answer := json.loads(self.server.stdout.readline())).get("id") != self.number:
            pass
        return answer["result"]

    def call(self, tool, **given):
        """What a tool answers: the text of its content."""
        answer = self.ask("tools/call", {"name": tool, "arguments": given})
        assert not answer.get("isError"), answer
        return answer["content"][0]["text"]

    def leave(self):
        """Close the server's input, which ends it."""
        self.server.stdin.close()
        return self.server.wait(timeout=30)


def test_an_assistant_finds_and_calls_the_tools_over_stdio(tmp_path):
    pytest.importorskip("mcp")
    lines = ["import torch", "net = torch.nn.Linear(400, 2)", "net(torch.rand(4, 576))", ""]
    (tmp_path / "fails.py").write_text("\n".join(lines))
    assistant = Assistant(tmp_path)
    try:
        names = {tool["name"] for tool in assistant.ask("tools/list", {})["tools"]}
        assert names == {tool.__name__ for tool in tools.TOOLS}
        assert "no diagnosis yet" in assistant.call("last_patch")
        assert "matmul-shapes" in assistant.call("explain_traceback", text=TEXT)
        assert "linear-input-size" in assistant.call("read_rule", name="linear-input-size")
        if find_spec("torch") is not None:
            found = json.loads(assistant.call("run_and_explain", script="fails.py"))
            assert found["exit_status"] == 1
            assert found["reports"][0]["diagnoses"][0]["rule"] == "linear-input-size"
            patch = assistant.call("last_patch")
            assert "+net = torch.nn.Linear(576, 2)" in patch
    finally:
        assert assistant.leave() == 0


def test_the_doctor_names_what_stands_in_the_way(tmp_path):
    healthy = explain("doctor", cwd=tmp_path)
    assert "symptoms" in healthy.stdout
    switched_off = explain("doctor", cwd=tmp_path, EXPLAINER_REPLAY="0")
    assert switched_off.returncode == 1
    assert "bad   EXPLAINER_REPLAY=0" in switched_off.stdout
    assert os.linesep not in switched_off.stderr
