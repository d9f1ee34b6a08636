"""Second-level addresses on real sites: each is asked for once, whatever its kind and however often the harvest goes on, by host load."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from upwell import Manners, Plan, api
from upwell.demo import Switches, serve

KINDS = ["lamp", "chair", "table", "shelf", "carpet", "mirror", "curtain", "pillow"]
MAKERS = ["Aalto", "Berg", "Costa", "Dahl", "Eriks", "Fonta", "Grahn"]
WOODS = ["oak", "pine", "elm"]
CAP, PAGE_SIZE, THINGS = 20, 10, 240


class Shop(BaseHTTPRequestHandler):
    """A search that knows three words only, and shows the first twenty matches: the others are behind its facets."""

    asked: list[str]

    def do_GET(self) -> None:
        """Answers, and notes what was asked."""
        self.asked.append(self.path)
        address, sent = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        if address.path.startswith("/thing/"):
            number = int(address.path.rsplit("/", 1)[1])
            page = f"<h1>Item {number:03} by {MAKERS[number % 7]}</h1><table><tr><th>Weight<td>{number} kg<tr><th>Shelf<td>{number % 9}</table>"
        elif address.path == "/find":
            page = _answer({name: values[0] for name, values in sent.items()})
        else:
            page = "<form action=/find><input type=search name=q><button>Search</button></form>"
        body = f"<html><title>Shop</title><body>{page}<p>A shop for tests</body></html>".encode()
        self.send_response(404 if address.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def _answer(sent: dict[str, str]) -> str:
    query, kind, first = sent.get("q", ""), sent.get("kind", ""), PAGE_SIZE * (int(sent.get("page", "1")) - 1)
    of_query = [n for n in range(THINGS) if query.lower() == WOODS[n % 3]]
    matches = [n for n in of_query if not kind or KINDS[n // 3 % 8] == kind]
    here = f"/find?q={query}" + (f"&kind={kind}" if kind else "")
    hits = "".join(
        f"<li class=hit><a href=/thing/{n}>Item {n:03} by {MAKERS[n % 7]}</a> <i>{WOODS[n % 3]} {KINDS[n // 3 % 8]}</i> <b>$ {n}.50</b>"
        for n in matches[first : min(CAP, first + PAGE_SIZE)]
    )
    counts = Counter(KINDS[n // 3 % 8] for n in of_query)
    facets = "" if kind else "".join(f"<li><a href='{here}&kind={name}'>{name}</a> ({n})" for name, n in counts.items())
    more = (
        f"<p><a href='{here}&page={first // PAGE_SIZE + 2}'>Next</a>"
        if first + PAGE_SIZE < min(CAP, len(matches))
        else ""
    )
    others = " ".join(f"<a href='/find?q={word}'>{word}</a>" for word in WOODS if word != query)
    found = (
        f"<p>{len(matches)} results</p><ul class=facets>{facets}</ul><ul class=hits>{hits}</ul>{more}"
        if matches
        else "<p>Nothing found"
    )
    return f"<form action=/find><input type=search name=q value='{query}'></form>{found}<p>Others looked for {others}"


@contextmanager
def shop() -> Iterator[tuple[str, list[str]]]:
    """Its address, and what is asked for."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OneShop", (Shop,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        server.server_close()


def test_each_facet_and_record_page_is_asked_for_once(tmp_path: Path) -> None:
    """What the cap holds back comes through facets, then all record pages; also where the harvest goes on from its state, or a checkpoint."""
    with shop() as (url, asked):
        for budget in (40, 70, 110, 400):
            plan = Plan(budget=budget, details=True, words=tuple(WOODS), patience=60)
            result = api.harvest(url, out=tmp_path, plan=plan, manners=Manners(rate=0))
    facets = Counter(path for path in asked if "&kind=" in path)
    pages = Counter(path for path in asked if path.startswith("/thing/"))
    assert len(facets) == 16, "of the first query that was cut off nobody knew it in time"
    assert len(pages) == result.summary["records"] == 80 + 80 + CAP
    assert max(facets.values()) == 1
    assert sorted(pages.values())[-3:] == [1, 2, 2], "two are fetched twice, to see what changes by itself"


def test_a_related_query_is_asked_for_once(tmp_path: Path) -> None:
    """Where first pages are wanted, the query that answers link to is asked, and not again when the harvest goes on."""
    with shop() as (url, asked):
        for budget in (30, 60):
            plan = Plan(budget=budget, goal="representative", words=("oak",))
            api.harvest(url, out=tmp_path, plan=plan, manners=Manners(rate=0))
    assert [asked.count(f"/find?q={wood}") for wood in ("pine", "elm")] == [1, 1]


def test_a_slow_host_is_asked_less_often_than_a_quick_one(tmp_path: Path) -> None:
    """Both may be asked forty times a second: the one that takes long to answer rests for as long as it worked, the other does not wait."""
    with serve(Switches(latency=0.2), host="127.0.0.5") as slow, serve(host="127.0.0.6") as quick:
        plan = Plan(budget=40)
        api.harvest_all([slow.url, quick.url], out=tmp_path, plan=plan, manners=Manners(rate=40))
        until = max(request.time for request in quick.received)
        began = min(request.time for request in slow.received)
        meanwhile = sum(request.time <= until for request in slow.received)
        took = max(request.time for request in slow.received) - began
    assert len(quick.received) >= 40
    assert meanwhile <= len(quick.received) / 2
    assert took >= 1.6 * 0.2 * (len(slow.received) - 8), "after some answers it is known how long they take"
