"""The next page of an answer that a script requests: learned from two requests, then followed to the end on real servers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from upwell.discover import interfaces
from upwell.discover.browser_search import interface_of_request
from upwell.source.script_paging import apply_changes, cursor_request, learn_changes, next_address, shows_end
from upwell.types import PageStep, Request, Response

NAMES = [f"{word} {n}" for n in range(30) for word in ("oak", "elm")]
Reply = tuple[dict[str, str], object]  # headers, JSON


def found(query: str) -> list[dict[str, str]]:
    return [{"id": f"t{i}", "name": name} for i, name in enumerate(NAMES) if query in name]


def multi_query(arguments: dict[str, list[str]], body: bytes) -> Reply:
    """Answer several queries in one body, each a query string with a page number, as hosted search services do."""
    results = []
    for each in json.loads(body)["requests"]:
        sent = {name: values[0] for name, values in parse_qs(each["params"], keep_blank_values=True).items()}
        page, hits = int(sent["page"]), found(sent["query"])
        results.append({"hits": hits[7 * page : 7 * page + 7], "nbHits": len(hits), "page": page})
    return {}, {"results": results}


def ranges(arguments: dict[str, list[str]], body: bytes) -> Reply:
    """Answer a range of records, with the filter and the range as JSON in arguments."""
    first, last = json.loads(arguments["range"][0])
    hits = found(json.loads(arguments["filter"][0])["q"])
    return {"Content-Range": f"trees {first}-{last}/{len(hits)}"}, hits[first : last + 1]


def nested(arguments: dict[str, list[str]], body: bytes) -> Reply:
    """Answer a query that is deep inside a JSON body, with an offset and a size."""
    sent = json.loads(body)
    hits = found(sent["query"]["bool"]["must"][0]["match"]["name"]["query"])
    return {}, {"hits": {"total": {"value": len(hits)}, "hits": hits[sent["from"] : sent["from"] + sent["size"]]}}


def cursors(arguments: dict[str, list[str]], body: bytes) -> Reply:
    """Answer with an opaque cursor, which is null on the last page."""
    at = int(arguments.get("seek", ["x0"])[0].removeprefix("x"))
    hits = found(arguments["q"][0])
    return {}, {"items": hits[at : at + 8], "paging": {"forward": f"x{at + 8}" if at + 8 < len(hits) else None}}


def linked(arguments: dict[str, list[str]], body: bytes) -> Reply:
    """Answer with the address of the next page in a Link header."""
    page, hits = int(arguments.get("seite", ["1"])[0]), found(arguments["q"][0])
    more = {"Link": f'</linked?q={arguments["q"][0]}&seite={page + 1}>; rel="next"'} if 9 * page < len(hits) else {}
    return more, hits[9 * (page - 1) : 9 * page]


HANDLERS = {"multi": multi_query, "ranges": ranges, "nested": nested, "cursors": cursors, "linked": linked}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url


@contextmanager
def serving() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers, value = HANDLERS[parts.path.strip("/")](parse_qs(parts.query, keep_blank_values=True), body)
            content = json.dumps(value).encode()
            self.send_response(200)
            for name, text in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def send(request: Request) -> Response:
    parts = urlsplit(request.url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.request(request.method, f"{parts.path}?{parts.query}".replace(" ", "%20"), request.body or None)
    with connection.getresponse() as response:
        headers = dict(response.getheaders())
        return Response(request=request, url=request.url, status=200, headers=headers, body=response.read())


def ids_in(response: Response) -> list[str]:
    found_ids: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            found_ids.extend([value["id"]] if "id" in value else [])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(json.loads(response.body))
    return found_ids


def post(url: str, body: object) -> Request:
    return Request(url=url, method="POST", body=json.dumps(body).encode(), content_type="application/json")


def deep(text: str, start: int) -> dict[str, object]:
    return {"query": {"bool": {"must": [{"match": {"name": {"query": text}}}]}}, "from": start, "size": 7}


def params(text: str, page: int) -> dict[str, object]:
    return {"requests": [{"indexName": "trees", "params": f"query={text}&hitsPerPage=7&page={page}"}]}


def ranged(url: str, text: str, first: int) -> Request:
    return Request(url=f'{url}/ranges?filter={{"q":"{text}"}}&range=[{first},{first + 9}]&sort=["name","ASC"]')


OBSERVED: dict[str, Callable[[str, str], tuple[Request, Request]]] = {
    "multi": lambda url, q: (post(f"{url}/multi", params(q, 0)), post(f"{url}/multi", params(q, 1))),
    "ranges": lambda url, q: (ranged(url, q, 0), ranged(url, q, 10)),
    "nested": lambda url, q: (post(f"{url}/nested", deep(q, 0)), post(f"{url}/nested", deep(q, 7))),
    "cursors": lambda url, q: (Request(url=f"{url}/cursors?q={q}"), Request(url=f"{url}/cursors?q={q}&seek=x8")),
}


@pytest.mark.parametrize("kind", list(OBSERVED))
def test_observed_requests_are_asked_with_other_queries_and_followed_to_the_end(server: str, kind: str) -> None:
    """Nonsense shows where the query is, and two pages of a word what turns the pages; both then work for another word."""
    of_nonsense, _ = OBSERVED[kind](server, "qxzvkw")
    interface = interface_of_request(of_nonsense, "qxzvkw")
    assert interface is not None
    first, following = OBSERVED[kind](server, "oak")
    changes = learn_changes(PageStep(request=first, following=following, answer=send(first).body.decode()))
    assert changes
    request: Request | None = interfaces.fill(interface, "elm")
    seen: list[str] = []
    while request is not None:
        answer = send(request)
        ids = ids_in(answer)
        seen += ids
        request = apply_changes(changes, request, answer, len(ids)) if ids and not shows_end(answer) else None
    assert seen == [each["id"] for each in found("elm")]


def test_link_header_is_followed_and_a_cursor_without_a_telling_name_is_not_guessed(server: str) -> None:
    request = Request(url=f"{server}/linked?q=oak")
    following = next_address(request, send(request))
    assert following is not None
    assert ids_in(send(following)) == [each["id"] for each in found("oak")][9:18]
    unnamed = Request(url=f"{server}/cursors?q=oak")
    assert cursor_request(unnamed, send(unnamed)) is None


@pytest.mark.parametrize(
    ("answer", "is_end"),
    [
        ({"data": {"pageInfo": {"hasNextPage": False}, "edges": [{"id": 1}]}}, True),
        ({"items": [{"id": 1}], "next_page_token": None}, True),
        ({"content": [{"id": 1}], "last": True}, True),
        ({"items": [{"id": 1, "hasNext": False}, {"id": 2, "hasNext": False}]}, False),
        ({"items": [{"id": 1}]}, False),
    ],
)
def test_end_needs_evidence_in_the_answer(answer: object, is_end: bool) -> None:
    """A flag or an empty cursor of the answer shows its end; a member of a record, or nothing at all, does not."""
    response = Response(request=Request(url=""), url="", status=200, headers={}, body=json.dumps(answer).encode())
    assert shows_end(response) is is_end


def test_numbers_that_only_count_requests_turn_no_pages() -> None:
    """A request number or a time that grows from request to request is not a page."""
    first = Request(url="http://x/api?q=a&draw=3&_=1795063669406")
    following = Request(url="http://x/api?q=a&draw=4&_=1795063669407")
    assert learn_changes(PageStep(request=first, following=following, answer="{}")) == ()
