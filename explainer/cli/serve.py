"""`explain serve`: a page on this machine into which tracebacks are pasted."""

from __future__ import annotations

import socket
import sys
from typing import Any

from explainer.cli import Complaint, options

HOST = "127.0.0.1"
MORE = """\
the page is served to this machine alone; nothing in a text is run, source files are read below the working directory"""


def main(arguments: list[str]) -> int:
    """Serve until Ctrl-C."""
    given = _parser().parse_args(arguments)
    try:
        import uvicorn

        from explainer.serve.app import app
    except ImportError as error:
        raise Complaint(f"serve needs {error.name}: python -m pip install 'torch-explainer[serve]'", 1) from None
    listening = _listening(given.port)
    print(f"explain: http://{HOST}:{listening.getsockname()[1]}/ (Ctrl-C ends it)", file=sys.stderr, flush=True)
    settings = uvicorn.Config(app((".", *given.source), options.packs(given)), log_level="error", lifespan="off")
    uvicorn.Server(settings).run(sockets=[listening])
    return 0


def _listening(port: int) -> socket.socket:
    """A socket on the loopback interface; a complaint where the port is taken."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        one.bind((HOST, port))
    except (OSError, OverflowError) as error:
        one.close()
        why = getattr(error, "strerror", None) or error
        raise Complaint(f"port {port} of {HOST} cannot be used: {why}; --port 0 takes a free one", 1) from None
    return one


def _parser() -> Any:
    parser = options.parser("explain serve", "Serves a page into which tracebacks are pasted.", MORE)
    parser.add_argument("--port", type=int, default=8765, help="(default: 8765; 0: a free one)")
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help="a folder of further rules")
    options.add_source(parser)
    return parser
