"""A register whose server keeps the results of the last search in the session: further pages have one address for all searches.

Words are posted to /zoek, which stores the matches under the session cookie and redirects to /resultaat; `/resultaat?page=2` shows the second
page of whatever this session searched last.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, urlsplit

__all__ = ["PLACES", "kept_results"]

PAGE, CAP = 10, 60
STREETS = (
    "Kerkstraat",
    "Dorpsweg",
    "Molenlaan",
    "Havenkade",
    "Stationsplein",
    "Beekpad",
    "Esdoornhof",
    "Lindelaan",
    "Kanaaldijk",
)
TOWNS = ("Zutphen", "Deventer", "Hasselt", "Kampen", "Zwolle", "Ommen", "Raalte")
TRADES = ("bakker", "smid", "timmerman", "slager", "kleermaker")
PLACES = [
    f"{STREETS[number % 9]} {number} {TOWNS[number % 7]} {TRADES[number % 5]}" for number in range(1, 316)
]  # of all records: street, number, town and trade


class _Register(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    @property
    def kept(self) -> dict[str, list[int]]:
        """Return the matches of each session's last search."""
        return self.server.kept  # type: ignore[attr-defined, no-any-return] # set below

    def _session(self) -> str:
        cookies = dict(part.strip().partition("=")[::2] for part in self.headers.get("Cookie", "").split(";"))
        return cookies.get("sid", "")

    def _send(self, body: str, status: int = 200, **headers: str) -> None:
        data = f"<!DOCTYPE html><html lang=nl><title>Register</title><body>{body}".encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        fields = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        words = " ".join(fields.get("woord", [""])).lower().split()
        matches = [i for i, place in enumerate(PLACES) if words and set(words) <= set(place.lower().split())]
        session = self._session() or str(next(self.server.numbers))  # type: ignore[attr-defined] # set below
        self.kept[session] = matches[:CAP]
        self._send("", 302, **{"Location": "/resultaat", "Set-Cookie": f"sid={session}; Path=/"})

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/resultaat":
            return self._send(self._results(int(parse_qs(url.query).get("page", ["1"])[0])))
        if url.path.startswith("/pand/"):
            return self._send(f"<h1>{escape(PLACES[int(url.path[6:])])}</h1><p>Ingeschreven in het register.")
        if url.path != "/":
            return self._send("Niet gevonden", 404)
        return self._send(
            "<h1>Register van panden</h1><form method=post action=/zoek><label>Zoek in het register <input type=search name=woord>"
            "</label><button>Zoeken</button></form><p>Kerkstraat, Dorpsweg en Molenlaan in Zutphen, Deventer of Zwolle: zoek een smid."
        )

    def _results(self, page: int) -> str:
        matches = self.kept.get(self._session(), [])
        if not matches:
            return "<h1>Resultaat</h1><p>Geen resultaten gevonden.</p><a href=/>Nieuwe zoekopdracht</a>"
        shown = matches[PAGE * (page - 1) : PAGE * page]
        rows = "".join(
            f"<li class=pand><a href=/pand/{i}>{escape(' '.join(PLACES[i].split()[:2]))}</a> <span>{PLACES[i].split()[2]}</span> "
            f"<em>{PLACES[i].split()[3]}</em></li>"
            for i in shown
        )
        pages = range(1, -(-len(matches) // PAGE) + 1)
        pager = " ".join(f"<b>{n}</b>" if n == page else f"<a href='/resultaat?page={n}'>{n}</a>" for n in pages)
        further = f" <a href='/resultaat?page={page + 1}'>Volgende</a>" if page < len(pages) else ""
        return f"<h1>Resultaat</h1><p>{len(matches)} resultaten</p><ul>{rows}</ul><nav>{pager}{further}</nav><a href=/>Nieuwe zoekopdracht</a>"


@contextmanager
def kept_results() -> Iterator[str]:
    """Run the register; yield its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Register) as server:
        server.kept, server.numbers = {}, count(1)  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
    thread.join()
