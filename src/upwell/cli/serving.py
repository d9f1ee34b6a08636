"""The verbs that run a server: `serve`, the pages in the browser, and `mcp`, tools for language models."""

import signal
import socket
import sys
from pathlib import Path
from types import FrameType

from upwell.cli import options
from upwell.cli.app import app
from upwell.cli.network import from_file
from upwell.cli.printing import as_json_text
from upwell.errors import MissingExtra, UpwellError, WrongUsage

__all__ = ["mcp", "serve", "tokens"]


@app.command(epilog="Example: upwell serve harvest\n\nExample: upwell serve harvest --host 0.0.0.0 --token @secret.txt")
def serve(
    folder: options.ServedFolder = Path("harvest"),
    port: options.ServePort = 8765,
    host: options.Host = "127.0.0.1",
    token: options.PageToken = "",
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    allow: options.Allow = None,
    cors: options.Cors = None,
    as_json: options.Json = False,
) -> None:
    """Serve pages to watch harvests, browse their records, and start and stop them; and an API (/api/v1/docs).

    Stop the server with Ctrl-C.
    """
    try:
        import uvicorn

        from upwell.web.application import create_app
        from upwell.web.security import check_exposure
    except ImportError as missing:
        raise MissingExtra(
            f"`upwell serve` needs {missing.name}, which is not installed: pip install 'upwell[web]'"
        ) from missing
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(f"{folder} is not a folder; give the folder named with -o in `upwell harvest`")
    token = from_file(token, "--token")
    check_exposure(host, token)
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, reuse_port=False
        )
    except OSError as error:
        raise UpwellError(
            f"{host} port {port} cannot be used ({error.strerror}); choose another with --port"
        ) from error
    number = int(listening.getsockname()[1])
    manners = {"rate": rate, "contact": contact, "allow": tuple(allow or ())}
    pages = create_app(
        folder.resolve(), host=host, port=number, token=token, manners=manners, origins=tuple(cors or ())
    )
    displayed = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104 # only compared
    address = f"http://{displayed}:{number}/?token={pages.state.token}"
    if as_json:
        print(as_json_text({"url": address, "token": pages.state.token}), flush=True)
    print(f"the pages are at {address} (stop them with Ctrl-C)", file=sys.stderr, flush=True)
    server = uvicorn.Server(
        uvicorn.Config(pages, log_level="warning", lifespan="on", timeout_graceful_shutdown=1, server_header=False)
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)  # the server stops by itself, then raises the signal again
    server.run(sockets=[listening])


@app.command(
    epilog="Example: upwell tokens add reader\n\nExample: upwell tokens add partner --scope read --scope ask --budget 500\n\n"
    "Example: upwell tokens list --json"
)
def tokens(
    action: options.TokenAction,
    name: options.TokenName = "",
    scope: options.TokenScopes = None,
    budget: options.TokenBudget = 0,
    as_json: options.Json = False,
) -> None:
    """Make, list and remove tokens for the API of `upwell serve`, for all servers of this user.

    A token is shown once, when it is made; only its digest is stored.
    """
    from upwell.web.tokens import TokenStore

    store = TokenStore()
    if action == "list" and not name:
        for token in store.all():
            about = token.as_dict()
            limit = (
                f"{token.used:,} of {token.budget:,} requests used"
                if token.budget is not None
                else "no limit of requests"
            )
            print(as_json_text(about) if as_json else f"{token.name}: {', '.join(sorted(token.scopes))}; {limit}")
    elif action == "add" and name:
        secret = store.add(name, scope or ["read"], budget or None)
        print(as_json_text({"name": name, "token": secret}) if as_json else secret)
        if not as_json:
            print("store it now: it is not shown again; send it as `Authorization: Bearer TOKEN`", file=sys.stderr)
    elif action == "remove" and name:
        store.remove(name)
        print(as_json_text({"name": name, "removed": True}) if as_json else f"{name} removed")
    else:
        raise WrongUsage(f"tokens {action} {name}".strip() + ": give `list`, `add NAME` or `remove NAME`")


def _ignore(_: int, __: FrameType | None) -> None:
    """Do nothing for a signal that the server has handled already."""


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
    """Run an MCP server: the verbs as tools for a language model.

    It communicates over stdin and stdout, or over HTTP on this machine.
    """
    try:
        from upwell.web.mcp_server import Limits, create_server
    except ImportError as missing:
        raise MissingExtra(
            f"`upwell mcp` needs {missing.name}, which is not installed: pip install 'upwell[mcp]'"
        ) from missing
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(f"{folder} is not a folder; give the folder named with -o in `upwell harvest`")
    limits = Limits(max_budget=max_budget, hosts=tuple(allow or ()), rate=rate, contact=contact)
    server = create_server(folder.resolve(), limits)
    if not http:
        server.run("stdio")
        return
    if as_json:
        print(as_json_text({"url": f"http://127.0.0.1:{port}/mcp"}), flush=True)
    print(f"the MCP server is at http://127.0.0.1:{port}/mcp (stop it with Ctrl-C)", file=sys.stderr, flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)  # the server stops by itself, then raises the signal again
    server.run("streamable-http", host="127.0.0.1", port=port)
