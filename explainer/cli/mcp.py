"""`explain mcp`: the tools of `explainer.serve.tools` for assistants, over standard input and output."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from explainer.cli import Complaint, options

ABOUT = "Serves explain_traceback, run_and_explain, read_rule and last_patch over stdio (Model Context Protocol)."
MORE = """\
for a client's configuration: {"command": "explain", "args": ["mcp"]}; sources are read below its folder"""


def main(arguments: list[str]) -> int:
    """Serve until the client leaves."""
    options.parser("explain mcp", ABOUT, MORE).parse_args(arguments)
    server = server_class()("explainer")
    from explainer.serve.tools import TOOLS

    for tool in TOOLS:
        server.tool()(tool)
    server.run("stdio")
    return 0


def server_class() -> Any:
    """The class that the installed `mcp` has for servers; a complaint where there is none."""
    for module, name in (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP")):  # mcp 2, mcp 1
        try:
            return getattr(import_module(module), name)
        except ImportError:
            continue
    raise Complaint("mcp is not installed: python -m pip install 'torch-explainer[mcp]'", 1)
