"""Probing: learning a source."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np

from upwell import api
from upwell.answers.answer import Answer
from upwell.choose.plan import Plan
from upwell.lexicon.frequent_words import most_frequent
from upwell.net.fetch import Manners
from upwell.page.tree import read
from upwell.source.learn import distinct_answers

BOX = "<div id=top><form action=/find><b>Notes</b> <a href=/>Home</a> <input type=text name=expr> <input type=submit value=Search></form></div>"


@contextmanager
def site(answer: Callable[[str], str]) -> Iterator[str]:
    """Serve a site whose search returns `answer(query)`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # name defined by the base class
            parts = urlsplit(self.path)
            query = parse_qs(parts.query, keep_blank_values=True).get("expr", [""])[0]
            there = parts.path in ("/", "/find")
            said = answer(query) if parts.path == "/find" else "<p>These are the notes of our people</p>"
            body = f"<html><body>{BOX}<div>{said}</div></body></html>".encode()
            self.send_response(200 if there else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_matches_common_to_nearly_all_answers_are_not_frame(tmp_path: Path) -> None:
    """The source searches parts of words and shows all matches at once."""
    rng = np.random.default_rng(5)
    listed = np.array(most_frequent("en", 4000))
    texts = {f"Note{i}{rng.choice(listed).title()}": " ".join(rng.choice(listed[::7], 40)) for i in range(300)}
    notes = {
        name: f"{text} the to and of people notes"[: None if i % 30 else -13]
        for i, (name, text) in enumerate(texts.items())
    }

    def answer(query: str) -> str:
        found = [name for name, text in notes.items() if query and query.lower() in text]
        return "".join(f"<a href='{name}'>{name}</a><br>\n" for name in found) or "No matches"

    with site(answer) as url:
        result = api.harvest(url, out=tmp_path / "x", plan=Plan(budget=80), manners=Manners(rate=0))
    assert 0.98 * len(notes) <= result.summary["records"] <= len(notes)


def test_answers_with_nearly_the_same_records_count_once() -> None:
    """Texts that answers to nonsense words contain are ignored, and answers with few texts are never merged."""

    def answer(numbers: range, *others: str) -> Answer:
        return Answer(read("".join(f"<p>{text}</p>" for text in (*others, *(f"match {i}" for i in numbers)))))

    frame = [f"menu {i}" for i in range(50)]
    bare = answer(range(0), *frame)
    whole, most, other = answer(range(40), *frame), answer(range(36), *frame), answer(range(90, 100), *frame)
    short = answer(range(2), *frame)
    kept = distinct_answers([whole, most, other, short, short], [bare])
    assert kept == [whole, other, short, short]  # compared by identity
