"""Pages whose search belongs to a script: which are rendered, where their routes are, and which POST may fill their lists."""

import numpy as np
import pytest

from upwell.discover.browser_search import SearchOnlyPolicy
from upwell.discover.discovery import discover
from upwell.discover.link_ranking import is_unfilled
from upwell.page.links import acts_at
from upwell.page.tree import read
from upwell.types import BrowserVisit, RenderedPage, Request, Response

SCRIPT = "<script src=page.js></script>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<div id=cards hx-get=/cards hx-trigger=load>Loading…</div><input type=search name=term hx-get=/cards>", True),
        ("<input id=box placeholder=Szukaj><div id=lista></div>", True),
        ("<div id=grid class=theme></div>", True),
        ("<form action=/find><input type=search name=q><button>Search</button></form><p>Many things", False),
        ("<p>Write to us.<input placeholder='Your name'>", False),
    ],
)
def test_pages_that_a_script_fills(content: str, expected: bool) -> None:
    """A search box outside of forms belongs to a script, so that the page must be rendered to see what it searches."""
    assert is_unfilled(read(SCRIPT + content)) is expected
    assert not is_unfilled(read(content))


@pytest.mark.parametrize(
    ("address", "is_sent"),
    [("/api/things/query", True), ("/es/things/_search", True), ("/1/indexes/*/queries?application-id=X", True), ("/api/things", False),
     ("/api/search/delete", False)],
)  # fmt: skip
def test_page_fills_its_list_by_a_post(address: str, is_sent: bool) -> None:
    """Before anything is typed, a POST is sent if its address says that it searches and nothing in it acts."""
    body = b'{"startRow": 0, "endRow": 50, "quick": ""}'
    request = Request(url=f"http://x{address}", method="POST", body=body, content_type="application/json")
    assert SearchOnlyPolicy().may_post(request, "", "") is is_sent


@pytest.mark.parametrize(
    ("address", "body", "is_sent"),
    [
        ("/_app/update-component", b'{"inputs":[{"id":"search-box","value":"lima"}]}', True),
        ("/_app/update-component", b'{"inputs":[{"id":"box","value":"lima"}]}', False),
        ("/livewire/update", b'{"components":[{"updates":{"search":"lima"},"calls":[]}]}', True),
        ("/livewire/update", b'{"components":[{"updates":{"text":"lima"},"calls":[]}]}', False),
        ("/wall", b'{"name":"text","value":"lima"}', False),
        ("/cart/delete", b'{"search":"lima"}', False),
        ("/cart/delete", b'{"item":"lima"}', False),
        ("/live/update", b'{"calls":[{"method":"deleteAll","params":["lima"]}]}', False),
        ("/live/update", b'{"updates":{"search":"bern"}}', False),
    ],
)
def test_what_a_page_posts_for_a_typed_word(address: str, body: bytes, is_sent: bool) -> None:
    """A POST is sent if a name of what is typed says that it searches, unless it names something that changes the site."""
    request = Request(url=f"http://x{address}", method="POST", body=body, content_type="application/json", query="lima")
    assert SearchOnlyPolicy().may_post(request, "", "") is is_sent


def test_passive_of_an_acting_word_describes_a_thing() -> None:
    """A link in a sentence about registered companies or deleted entries may be followed; one that registers may not."""
    for text, is_acting in (
        ("등록된 기업의 정보를", False),
        ("削除された項目の", False),
        ("등록", True),
        ("削除", True),
    ):
        page = read(f"<p>{text} <a href=/list>목록</a>에서", url="http://x/")
        assert acts_at(page, next(page.links())[0], "http://x/list") is is_acting


def rendered_urls(status_of_route: int) -> list[str]:
    """Return the pages that discovery renders if scripts name the route "/things" and its path has this status."""
    steps = discover("http://x/", np.random.default_rng(0))
    visits = []
    wanted = next(steps)
    while True:
        answer: Response | RenderedPage
        if isinstance(wanted, BrowserVisit):
            visits.append(wanted.url)
            answer = RenderedPage(url=wanted.url, html="<div id=app></div>", routes=("/things",))
        else:
            status = 200 if wanted.url == "http://x/" else status_of_route if wanted.url.endswith("/things") else 404
            page = f"<div id=app></div>{SCRIPT}".encode() if status == 200 else b""
            answer = Response(request=wanted, url=wanted.url, status=status, headers={}, body=page)
        try:
            wanted = steps.send(answer)
        except StopIteration:
            return visits


def test_routes_that_only_scripts_name() -> None:
    """A route is a path if the server has a page there, else it comes after "#"."""
    assert rendered_urls(200) == ["http://x/", "http://x/things"]
    assert rendered_urls(404) == ["http://x/", "http://x/#/things"]
