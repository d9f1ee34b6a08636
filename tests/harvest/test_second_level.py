"""Second-level URLs: each is requested once, whatever its kind and however often the harvest is continued, and within the host's load."""

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
    """A search that knows only three words and shows the first twenty matches: the others are behind its facets."""

    asked: list[str]

    def do_GET(self) -> None:
        """Answer, and log the request."""
        self.asked.append(self.path)
        address, sent = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        if address.path.startswith("/thing/"):
            number = int(address.path.rsplit("/", 1)[1])
            page = f"<h1>Item {number:03} by {MAKERS[number % 7]}</h1><table><tr><th>Weight<td>{number} kg<tr><th>Shelf<td>{number % 9}</table>"
        elif address.path == "/find":
            page = answer({name: values[0] for name, values in sent.items()})
        else:
            page = "<form action=/find><input type=search name=q><button>Search</button></form>"
        body = f"<html><title>Shop</title><body>{page}<p>A shop for tests</body></html>".encode()
        self.send_response(404 if address.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def answer(sent: dict[str, str]) -> str:
    """Return the page of the answer to a query."""
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
    """Serve the shop; yield its URL and the log of requests."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OneShop", (Shop,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        server.server_close()


def test_each_facet_and_record_page_is_requested_once(tmp_path: Path) -> None:
    """Records beyond the cap are reached through facets, then all record pages; also if the harvest continues from its state or a checkpoint."""
    with shop() as (url, asked):
        for budget in (40, 70, 110, 600):
            plan = Plan(budget=budget, details=True, words=tuple(WOODS), patience=60)
            result = api.harvest(url, out=tmp_path, plan=plan, manners=Manners(rate=0))
    facets = Counter(path for path in asked if "&kind=" in path)
    pages = Counter(path for path in asked if path.startswith("/thing/"))
    assert len(facets) == 16, "of the first query that was cut off nobody knew it in time"
    assert len(pages) == result.summary["records"] == 80 + 80 + CAP
    assert max(facets.values()) == 1
    assert sorted(pages.values())[-3:] == [1, 2, 2], "two are fetched twice, to see what changes by itself"


def test_a_related_query_is_sent_once(tmp_path: Path) -> None:
    """If only first pages are wanted, the query that answers link to is sent, and not again when the harvest continues."""
    with shop() as (url, asked):
        for budget in (30, 60):
            plan = Plan(budget=budget, goal="representative", words=("oak",))
            api.harvest(url, out=tmp_path, plan=plan, manners=Manners(rate=0))
    assert [asked.count(f"/find?q={wood}") for wood in ("pine", "elm")] == [1, 1]


def test_a_slow_host_receives_fewer_requests_than_a_fast_one(tmp_path: Path) -> None:
    """Both allow forty requests per second: the slow host rests for as long as it worked, the fast one does not wait."""
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


def _names_sent(switches: Switches, plan: Plan, out: Path) -> Counter[str]:
    """Harvest the demo site; return how many searches had each argument."""
    with serve(switches) as site:
        api.harvest(site.url, out=out, plan=plan, manners=Manners(rate=0))
        return Counter(name for each in site.received if each.path == "/search" for name in parse_qs(each.query))


def test_facets_of_a_shop_with_constants_are_asked(tmp_path: Path) -> None:
    """The form of Entity's Table 7 sends `cat=All` and `from=7`, which narrow nothing; its facets are asked."""
    assert _names_sent(Switches(layout="shop"), Plan(budget=250, browser="never"), tmp_path)["mfgid"] > 0


def test_sort_orders_are_not_asked_for_representative_records(tmp_path: Path) -> None:
    """Another order of the same matches is a duplicate (Entity §6.3.1)."""
    plan = Plan(budget=150, goal="representative", browser="never")
    assert _names_sent(Switches(country="DE,FR,ES,GB"), plan, tmp_path)["sort"] == 0
