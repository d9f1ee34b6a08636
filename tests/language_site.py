"""A small site in any language and charset whose answers contain no phrases that Upwell knows."""

import html
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import parse_qsl, quote_plus, urlsplit

__all__ = ["LanguageSite", "serve"]

Matching = Literal["parts", "words", "beginnings"]
PAGE_SIZE = 10


@dataclass(frozen=True, kw_only=True)
class LanguageSite:
    """Contents of the site (title and text), and how it is written and searched."""

    records: Sequence[tuple[str, str]]
    words: Sequence[str]  # words of its language, used outside the records
    charset: str = "utf-8"
    language: str = ""  # declared charset
    matching: Matching = "parts"  # matching: SQLite's LIKE, words of its full-text index, or with a star also prefixes
    boxes: tuple[str, ...] = ()  # checkboxes of the form; none is checked, and a search without any finds nothing


@contextmanager
def serve(site: LanguageSite) -> Iterator[str]:
    """Serve the site on loopback; yield its URL."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("CREATE VIRTUAL TABLE record USING fts5(title, text)")
    database.executemany("INSERT INTO record (title, text) VALUES (?, ?)", site.records)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with lock:
                page = _page(site, database, self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode(site.charset, "xmlcharrefreplace"))

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        database.close()


def _page(site: LanguageSite, database: sqlite3.Connection, path: str) -> str:
    parts = urlsplit(path)
    found, nothing, name, about = (" ".join(site.words[i : i + 2]) for i in (0, 2, 4, 6))
    asked = dict(parse_qsl(parts.query, encoding=site.charset, keep_blank_values=True))
    query, page = asked.get("q", "").strip(), int(asked.get("p", "1"))
    content = f"<h2>{about}</h2>" + "".join(f"<p>{html.escape(text)}" for _, text in site.records[:3])
    if parts.path.startswith("/record/"):
        title, text = site.records[int(parts.path.rsplit("/", 1)[-1]) - 1]
        content = f"<h2>{html.escape(title)}</h2><p>{html.escape(text)}"
    elif parts.path == "/find":
        matches = _matches(site, database, query) if not site.boxes or "in" in asked else []
        shown = matches[PAGE_SIZE * (page - 1) : PAGE_SIZE * page]
        rows = "".join(
            f"<li><a href='/record/{number}'>{html.escape(title)}</a><p>{_marked(text[:160], query)}</p></li>"
            for number, title, text in shown
        )
        boxes = "".join(f"&in={box}" for box in site.boxes)
        encoded = quote_plus(query.encode(site.charset, "xmlcharrefreplace"))
        pages = range(1, (len(matches) + PAGE_SIZE - 1) // PAGE_SIZE + 1)
        near = [number for number in pages if abs(number - page) < 5]
        links = " ".join(
            f"<b>{number}</b>" if number == page else f"<a href='/find?q={encoded}{boxes}&p={number}'>{number}</a>"
            for number in near
        )
        content = f"<p>{found} {len(matches)}<ul>{rows}</ul><div>{links}</div>" if shown else f"<p>{nothing}"
    boxes = "".join(f"<input type=checkbox name=in value={box}>{box}" for box in site.boxes)
    lang = f' lang="{site.language}"' if site.language else ""
    return (
        f"<html{lang}><meta charset={site.charset}><title>{name}</title><h1>{name}</h1>"
        f'<form action="/find"><input name=q value="{html.escape(query)}">{boxes}<input type=submit value="{name}"></form>{content}'
    )


def _matches(site: LanguageSite, database: sqlite3.Connection, query: str) -> list[tuple[int, str, str]]:
    if not any(map(str.isalnum, query)):
        return []
    if site.matching == "parts":
        found = "SELECT rowid, title, text FROM record WHERE title LIKE :asked OR text LIKE :asked ORDER BY rowid"
        asked = f"%{query.replace('%', '')}%"
    else:
        found = "SELECT rowid, title, text FROM record WHERE record MATCH :asked ORDER BY rowid"
        word = query.replace('"', "").removesuffix("*")
        asked = f'"{word}"*' if site.matching == "beginnings" and query.endswith("*") else f'"{word}"'
    return database.execute(found, {"asked": asked}).fetchall()


def _marked(text: str, query: str) -> str:
    """Mark the query in a text in bold, also inside words."""
    at = text.lower().find(query.lower())
    if at < 0:
        return html.escape(text)
    before, word, after = text[:at], text[at : at + len(query)], text[at + len(query) :]
    return f"{html.escape(before)}<span class=found>{html.escape(word)}</span>{html.escape(after)}"
