"""Budget and scope apply to everything that a refresh does; two harvests of one host can run at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import upwell
from upwell.demo import serve

FREE = upwell.Manners(rate=0)
WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "juniper", "kelp", "lagoon")
FORM = "<form action=/find><input type=search name=q><button>Search</button></form>"


@contextmanager
def shop(things: list[tuple[int, str]], elsewhere: str, asked: list[str], port: int = 0) -> Iterator[str]:
    """Serve a search whose record pages are on another host."""

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked.append(self.path)
            query = parse_qs(parts.query).get("q", [""])[0].lower()
            found = [thing for thing in things if query and query in thing[1]] if parts.path == "/find" else []
            items = "".join(
                f"<li class=thing><h3><a href='{elsewhere}/item/{i}'>{name}</a></h3><p>Number {i}</p></li>"
                for i, name in found
            )
            body = f"<title>Shop</title>{FORM}<h1>{len(found)} found</h1><ul>{items}</ul>".encode()
            self.send_response(404 if parts.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Shop) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_refresh_opens_no_page_of_another_host(tmp_path: Path) -> None:
    """Records that their query no longer returns are gone without looking at their pages there."""
    names = [(i, f"{WORDS[i % 12]} {WORDS[(i // 12 + i) % 12]} thing") for i in range(60)]
    at_shop: list[str] = []
    at_other: list[str] = []
    with shop([], "", at_other) as other:
        elsewhere = other.rstrip("/").replace("127.0.0.1", "localhost")
        with shop(names, elsewhere, at_shop) as url:
            plan = upwell.Plan(budget=60, words=WORDS, browser="never")
            first = upwell.harvest(url, out=tmp_path, plan=plan, manners=FREE)
            port = urlsplit(url).port or 0
        assert first.summary["records"] == 60
        with shop(names[6:], elsewhere, at_shop, port) as url:
            at_shop.clear()
            again = upwell.Plan(budget=60, refresh=True, browser="never")
            second = upwell.harvest(url, out=tmp_path, plan=again, manners=FREE)
        assert len(at_shop) <= 60
    assert at_other == []
    assert second.summary["refreshed"]["gone"] == 6
    assert second.summary["records"] == 54


def test_two_start_pages_of_one_host_have_separate_folders(tmp_path: Path) -> None:
    """In one command, and the same folders when it is run again."""
    with serve() as site:
        urls = [site.url, f"{site.url}search?q=lima"]
        plan = upwell.Plan(budget=40)
        found = upwell.harvest_all(urls, out=tmp_path, plan=plan, manners=FREE)
        again = upwell.harvest_all(urls, out=tmp_path, plan=plan, manners=FREE)
    folders = [result.folder for result in found if isinstance(result, upwell.Result)]
    assert len(set(folders)) == 2
    assert [result.folder for result in again if isinstance(result, upwell.Result)] == folders
