"""The verbs that stay and answer: the page in the browser, and the MCP server."""

import signal
import socket
import sys
from pathlib import Path
from types import FrameType

from upwell.cli import options
from upwell.cli.app import app
from upwell.cli.printing import as_json_text
from upwell.errors import MissingExtra, UpwellError, WrongUsage

__all__ = ["mcp", "serve"]


@app.command(epilog="Example: upwell serve harvest\n\nExample: upwell serve harvest --host 0.0.0.0 --token SECRET")
def serve(
    folder: options.ServedFolder = Path("harvest"),
    port: options.ServePort = 8765,
    host: options.Host = "127.0.0.1",
    token: options.PageToken = "",
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    as_json: options.Json = False,
) -> None:
    """The page in the browser: watch harvests, browse their records, start and stop them. Ctrl-C ends it."""
    try:
        import uvicorn

        from upwell.web.app import create_app
        from upwell.web.security import check_exposure
    except ImportError as missing:
        raise MissingExtra(
            f"the page needs {missing.name}, which is not installed: pip install 'upwell[web]'"
        ) from missing
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(f"{folder} is no folder; name the one given to harvest with -o")
    check_exposure(host, token)
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, reuse_port=False
        )
    except OSError as error:
        raise UpwellError(f"{host} port {port} cannot be used ({error.strerror}); name another with --port") from error
    number = int(listening.getsockname()[1])
    manners = {"rate": rate, "contact": contact}
    pages = create_app(folder.resolve(), host=host, port=number, token=token, manners=manners)
    shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104 # only compared
    address = f"http://{shown}:{number}/" + (f"?token={token}" if token else "")
    if as_json:
        print(as_json_text({"url": address, "token": pages.state.token}), flush=True)
    print(f"the page is at {address} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    server = uvicorn.Server(
        uvicorn.Config(pages, log_level="warning", lifespan="on", timeout_graceful_shutdown=1, server_header=False)
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)  # the server ends by itself, then raises the signal again
    server.run(sockets=[listening])


def _ignore(_: int, __: FrameType | None) -> None:
    """For a signal that has done its work."""


@app.command(
    epilog="Example: upwell mcp harvest\n\nExample: upwell mcp harvest --max-budget 200 --allow example.org\n\n"
    "Example: upwell mcp harvest --http --port 8766"
)
def mcp(
    folder: options.ServedFolder = Path("harvest"),
    max_budget: options.MaxBudget = 500,
    allow: options.AllowedHosts = None,
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    http: options.OverHttp = False,
    port: options.McpPort = 8766,
    as_json: options.Json = False,
) -> None:
    """An MCP server: the same verbs as tools for a language model, over stdin and stdout, or over HTTP on this machine."""
    try:
        from upwell.web.mcp_server import Limits, create_server
    except ImportError as missing:
        raise MissingExtra(f"the MCP server needs {missing.name}: pip install 'upwell[mcp]'") from missing
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(f"{folder} is no folder; name the one given to harvest with -o")
    limits = Limits(max_budget=max_budget, hosts=tuple(allow or ()), rate=rate, contact=contact)
    server = create_server(folder.resolve(), limits)
    if not http:
        server.run("stdio")
        return
    if as_json:
        print(as_json_text({"url": f"http://127.0.0.1:{port}/mcp"}), flush=True)
    print(f"the MCP server is at http://127.0.0.1:{port}/mcp (Ctrl-C ends it)", file=sys.stderr, flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)  # the server ends by itself, then raises the signal again
    server.run("streamable-http", host="127.0.0.1", port=port)
