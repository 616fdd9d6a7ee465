"""`explain mcp`: the tools of `explainer.serve.tools` for assistants, over standard input and output."""

from __future__ import annotations

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
    try:
        try:
            from mcp.server.mcpserver import MCPServer  # mcp 2
        except ImportError:
            from mcp.server.fastmcp import FastMCP as MCPServer  # mcp 1
    except ImportError as error:
        raise Complaint(f"mcp needs {error.name}: python -m pip install 'torch-explainer[mcp]'", 1) from None
    return MCPServer
