"""Small site on loopback with a real search and pages added by a test; it records all requests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from benchmarks.reliability.hosts import arrival

__all__ = ["Answer", "HostileSite", "ReceivedRequest", "hostile"]

WORDS = (
    "amber", "basalt", "copper", "diamond", "emerald", "flint", "granite", "hematite", "iron", "jasper", "kyanite", "limestone", "marble", "nickel",
    "opal", "pyrite", "quartz", "ruby", "silver", "topaz",
)  # fmt: skip
PER_PAGE = 10


@dataclass(frozen=True)
class ReceivedRequest:
    """Request as received."""

    method: str
    target: str
    body: str
    host: str
    at: float
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        """Return the decoded path."""
        return unquote(urlsplit(self.target).path)


@dataclass(frozen=True)
class Answer:
    """Answer of a page that a test adds."""

    body: str | bytes = ""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


Page = str | Answer | Callable[[ReceivedRequest], "str | Answer"]


@dataclass
class HostileSite:
    """Running site."""

    url: str
    port: int
    pages: dict[str, Page]
    received: list[ReceivedRequest] = field(default_factory=list)
    records: int = 60
    has_pager: bool = True
    form: str = '<form action="/find"><input type="search" name="q"><button>Search</button></form>'
    around_home: str = ""  # HTML on the home page after the form
    around_answers: Callable[[str, int], str] = lambda query, page: ""  # HTML on each answer
    record: Callable[[int, str], str] = lambda number, name: f'<a href="/item/{number}">{name}</a>'

    @property
    def targets(self) -> list[str]:
        """Return the requested targets, without robots.txt."""
        return [
            f"{request.method} {unquote(request.target)} {unquote(request.body)}".strip()
            for request in self.received
            if request.path != "/robots.txt"
        ]

    def acted(self, *words: str) -> list[str]:
        """Return the requests whose target or body contains one of the words."""
        return [target for target in self.targets if any(word in target.lower() for word in words)]

    def names(self, query: str) -> list[tuple[int, str]]:
        """Return the matching records."""
        named = [
            (i, f"{WORDS[i % 20].title()} {WORDS[(i * 7 + i // 20) % 20]} specimen {i}") for i in range(self.records)
        ]
        words = query.lower().split()
        return [(i, name) for i, name in named if all(word in name.lower() for word in words)]

    def answer(self, query: str, page: int, target: str) -> str:
        """Return a page of the real search."""
        matches = self.names(query)
        shown = matches[(page - 1) * PER_PAGE : page * PER_PAGE]
        rows = "".join(
            f"<li>{self.record(i, name)} <p>A stone from place {i} that was found long ago.</p></li>"
            for i, name in shown
        )
        more = (
            f'<a rel="next" href="{target}?q={query}&amp;page={page + 1}">Next</a>'
            if self.has_pager and len(matches) > page * PER_PAGE
            else ""
        )
        results = (
            f"<p>{len(matches)} results</p><ul class=hits>{rows}</ul>{more}" if matches else "<p>Nothing was found.</p>"
        )
        return f"<html lang=en><title>Answers</title><h1>Stones</h1>{self.form}{results}{self.around_answers(query, page)}</html>"


@contextmanager
def hostile(
    pages: Mapping[str, Page] | None = None, *, host: str = "127.0.0.1", **settings: object
) -> Iterator[HostileSite]:
    """Serve a site with a home page, a search at /find, record pages at /item/N, no robots.txt, and the pages of the test."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # one packet per answer, otherwise the client waits for the acknowledgement of its head

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode("utf-8", "replace") if length else ""
            request = ReceivedRequest(
                self.command,
                self.path,
                body,
                self.headers.get("Host", ""),
                arrival(self.connection),
                dict(self.headers),
            )
            site.received.append(request)
            answer = _answer(site, request)
            if isinstance(answer, str):
                answer = Answer(answer)
            content = answer.body.encode() if isinstance(answer.body, str) else answer.body
            try:
                self.send_response(answer.status)
                for name, value in {"Content-Type": answer.type, **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # the client closed the connection

        do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = do_GET

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    with Server((host, 0), Handler) as server:
        port = int(server.server_address[1])
        site = HostileSite(
            url=f"http://{f'[{host}]' if ':' in host else host}:{port}/", port=port, pages=dict(pages or {})
        )
        for name, value in settings.items():
            setattr(site, name, value)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield site
        server.shutdown()


def _answer(site: HostileSite, request: ReceivedRequest) -> str | Answer:
    path = request.path
    if path in site.pages:
        page = site.pages[path]
        return page(request) if callable(page) else page
    arguments = {
        name: values[0]
        for name, values in parse_qs(urlsplit(request.target).query or request.body, keep_blank_values=True).items()
    }
    if path == "/":
        return f"<html lang=en><title>Stones</title><h1>Stones</h1><p>Amber, copper, granite, marble.</p>{site.form}{site.around_home}</html>"
    if path == "/find":
        page = arguments.get("page", "1")
        return site.answer(arguments.get("q", ""), int(page) if page.isdigit() else 1, "/find")
    if path.startswith("/item/") and path.removeprefix("/item/").isdigit():
        return f"<h1>Stone {path.removeprefix('/item/')}</h1><p>All about it.</p>"
    return Answer("<p>There is no such page.</p>", 404)
