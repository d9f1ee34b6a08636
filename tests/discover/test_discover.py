"""Search interfaces are found and tried, on sites played by a function and on the demo site."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from upwell import api
from upwell.demo import Switches, serve
from upwell.discover.browser_search import interface_of_request
from upwell.discover.discovery import Discovery, discover
from upwell.errors import Forbidden, Unreachable
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners
from upwell.types import BrowserVisit, RenderedPage, Request, Response, TypedQuery

BOX = "<form action={0}><input name=q type=search>{1}<button>Search</button></form>"
RECORDS = [
    (f"{name} {i}", f"/{kind}/{name}{i}")
    for kind in ("book", "film")
    for name in ("river", "music", "stone")
    for i in range(9)
]


def answer_to(word: str, kind: str = "") -> str:
    """Return an answer with the records that contain the word."""
    rows = [
        f"<li><a href={path}>{title} of {path}</a>"
        for title, path in RECORDS
        if word and word in title and kind in path
    ]
    return f"<p>{len(rows)} found for {word}<ul>{''.join(rows)}</ul>"


def explore(
    site: Callable[[str, dict[str, str]], str | None],
    rendered: str | None = None,
    typed: Callable[[str], RenderedPage] | None = None,
) -> tuple[Discovery, list[str]]:
    """Run the discovery on a function from path and arguments to a page; return the result and the requested paths.

    `rendered` is what a browser shows for every page (None: no browser); `typed` is what it shows after a word was typed.
    """
    asked: list[str] = []
    steps = discover("http://x/", np.random.default_rng(0), "never" if rendered is None else "auto")
    wanted = next(steps)
    while True:
        answer: Response | RenderedPage
        if isinstance(wanted, BrowserVisit):
            pages = [(word, typed(word)) for word in (*wanted.trial_queries, "river")] if typed else []
            answer = RenderedPage(
                url=wanted.url,
                html=rendered or "",
                typed=tuple(TypedQuery(query=word, url=p.url, html=p.html, calls=p.calls) for word, p in pages),
            )
        else:
            parts = urlsplit(wanted.url)
            asked.append(parts.path)
            sent = parse_qs(parts.query or wanted.body.decode(), keep_blank_values=True)
            page = site(parts.path, {name: values[0] for name, values in sent.items()})
            status = 200 if page is not None else 404
            answer = Response(request=wanted, url=wanted.url, status=status, headers={}, body=(page or "").encode())
        try:
            wanted = steps.send(answer)
        except StopIteration as end:
            return end.value, asked


def test_search_box_on_the_home_page() -> None:
    """It costs four requests: the page, two nonsense words and a word."""
    discovery, asked = explore(
        lambda path, sent: answer_to(sent["q"]) if "q" in sent else "river" + BOX.format("/find", "")
    )
    assert [interface.url for interface in discovery.interfaces] == ["http://x/find"]
    assert len(asked) == 4


def test_search_box_one_click_away_from_a_decoy() -> None:
    """A box that filters the page's own list is a decoy; links about searching are opened first, links that act never."""
    home = BOX.format("/filter", "") + "".join(f"<li><a href={p}>{t}</a>" for t, p in RECORDS[:9])
    menu = "<a href=/about>About</a><a href=/item/delete>Delete</a><a href=/logout>Log out</a><a href=/adv>Advanced search</a>"

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path == "/filter":
            return "".join(f"<li><a href={p}>{t}</a>" for t, p in RECORDS[:9] if sent["q"] in t)
        if path == "/find":
            return answer_to(sent["q"])
        return {"/": home + menu, "/adv": "river music" + BOX.format("/find", "")}.get(path)

    discovery, asked = explore(site)
    assert [(interface.url, interface.via) for interface in discovery.interfaces] == [("http://x/find", "link")]
    assert [interface.url for interface in discovery.decoys] == ["http://x/filter"]
    assert asked[asked.index("/adv") - 1] == "/filter"
    assert not {"/logout", "/item/delete"} & set(asked)


def test_links_that_sort_a_list_are_not_new_items() -> None:
    """A box that filters the page's own list is a decoy, even if the filtered list has sorting links that contain the query."""
    rows = [f"<tr><td><a href=/repo{n}>river {n} of all there are</a>" for n in range(2)]

    def site(path: str, sent: dict[str, str]) -> str | None:
        asked = f"&q={sent['q']}" if "q" in sent else ""
        some = [row for row in rows if sent.get("q", "") in row]
        heads = "".join(f"<th><a href='/?s={by}{asked}'>{by}</a>" for by in ("name", "idle", "owner", "description"))
        if path == "/repo1":
            return "river stone" + BOX.format("/find", "")
        if path == "/find":
            return answer_to(sent["q"])
        return (
            BOX.format("/", "") + (f"<table><tr>{heads}{''.join(some)}</table>" if some else "none")
            if path == "/"
            else None
        )

    discovery, _ = explore(site)
    assert [interface.url for interface in discovery.interfaces] == ["http://x/find"]


def test_search_box_behind_a_link_made_by_javascript() -> None:
    """Links of the rendered home page are followed like links in the markup."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path == "/find":
            return answer_to(sent["q"])
        return {"/": "<script src=library.js></script>", "/shelf/": "river" + BOX.format("/find", "")}.get(path)

    discovery, _ = explore(site, "<div class=shelf><a href=/shelf/>One shelf of many things</a></div>")
    assert [(interface.url, interface.via) for interface in discovery.interfaces] == [("http://x/find", "link")]


def test_word_in_a_url_by_chance_is_not_an_interface() -> None:
    """A script fetches every match for a preview: these URLs are not interfaces, and few of them are tried."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path.startswith("/river/"):
            return "".join(f"<p>{title} and what else this page has to say about it</p>" for title, _ in RECORDS[:5])
        return "river river stone" + BOX.format("/find.html", "") if path in ("/", "/find.html") else None

    def typed(word: str) -> RenderedPage:
        calls = tuple(Request(url=f"http://x/river/n{i}.html") for i in range(30))
        return RenderedPage(url=f"http://x/find.html?q={word}", html=answer_to(word), calls=calls)

    discovery, asked = explore(site, "<p>river river stone", typed)
    assert [(interface.url, interface.query_field, interface.rendered) for interface in discovery.interfaces] == [
        ("http://x/find.html", "q", True)
    ]
    assert len(asked) < 40


def test_discovery_opens_twenty_pages_at_most() -> None:
    """The site has endless links and no search box."""
    discovery, asked = explore(
        lambda path, sent: "".join(f"<a href={path.rstrip('/')}/{c}{i}>{c}{i}</a>" for c in "abc" for i in range(9))
    )
    assert discovery.interfaces == []
    assert len(asked) <= 22  # including /sitemap.xml


def test_interfaces_with_the_same_reach_are_one_source() -> None:
    """Forms that return the same records are one source, forms that return others are several."""
    home = "river music" + BOX.format("/books", "") + BOX.format("/again", "") + BOX.format("/films", "")
    kinds = {"/books": "book", "/again": "book", "/films": "film"}
    discovery, _ = explore(lambda path, sent: answer_to(sent["q"], kinds[path]) if path in kinds else home)
    assert [interface.url for interface in discovery.interfaces] == ["http://x/books", "http://x/films"]


def test_a_preset_that_hides_records_is_opened() -> None:
    """A select preset to "book" is set to "any" if it can be; otherwise each value is a source."""
    for more, expected in (("<option value=''>any", [""]), ("", ["book", "film"])):
        select = f"<select name=kind><option selected>book<option>film{more}</select>"
        pages = {"/": "river" + BOX.format("/find", select)}
        discovery, _ = explore(lambda path, sent: pages.get(path) or answer_to(sent["q"], sent["kind"]))  # noqa: B023 # called here
        assert [dict(interface.as_dict()["fields"])["kind"] for interface in discovery.interfaces] == expected


def test_setting_for_the_searched_field_is_not_another_source() -> None:
    """Searching titles or addresses gives different answers to a word, but both reach all records."""
    box = BOX.format(
        "/find", "<select name=in><option value=title selected>title<option value=address>address</select>"
    )

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path == "/find":
            turned = (
                {"river": "music", "music": "stone"}.get(sent["q"], sent["q"]) if sent["in"] == "address" else sent["q"]
            )
            rows = [(title, path) for title, path in RECORDS if turned in title]
            return "".join(f"<li><a href={path}>{title} of {path}</a>" for title, path in rows)
        return "river" + box if path == "/" else None

    discovery, _ = explore(site)
    assert [interface.as_dict()["fields"] for interface in discovery.interfaces] == [(("q", ""), ("in", "title"))]


def test_form_without_text_field_is_queried_by_its_values() -> None:
    """A form with selects only (Entity §3) is accepted if the values give distinct answers, not if they only sort."""
    form = "<form action=/find class=search><select name=w><option>river<option>music<option>stone</select><button>Search</button></form>"
    discovery, _ = explore(lambda path, sent: answer_to(sent["w"]) if "w" in sent else form)
    assert [(interface.query_field, interface.choices) for interface in discovery.interfaces] == [
        ("w", ("river", "music", "stone"))
    ]
    discovery, _ = explore(lambda path, sent: answer_to("river") if "w" in sent else form)
    assert [interface.score < 0.6 for interface in discovery.interfaces] == [True]


def test_second_text_field_is_tried_if_the_first_finds_nothing() -> None:
    """Two text fields (Entity §3: 4 % of sites)."""
    form = "river<form action=/find class=search><input name=q><input name=title><button>Search</button></form>"
    discovery, _ = explore(lambda path, sent: answer_to(sent["title"]) if "title" in sent else form)
    assert [interface.query_field for interface in discovery.interfaces] == ["title"]


def test_tokens_are_renewed_before_each_request() -> None:
    """The form of each answer contains the token for the next request; a token used twice is refused."""
    fresh: list[str] = []

    def site(path: str, sent: dict[str, str]) -> str:
        used = sent.get("token", "")
        good = bool(fresh) and used == fresh[-1]
        fresh.append(f"{len(fresh):032x}")
        form = BOX.format("/find method=post", f"<input type=hidden name=token value={fresh[-1]}>")
        return form + (answer_to(sent["q"]) if good else "river")

    discovery, _ = explore(site)
    assert discovery.interfaces[0].as_dict()["tokens"] == ("token",)


def test_search_forbidden_by_robots_names_the_rule() -> None:
    """If robots.txt forbids the search, the error names its rule."""
    with serve(Switches(disallow="/search")) as site, pytest.raises(Forbidden, match="“Disallow: /search”"):
        api.forms(site.url, manners=Manners(rate=0), browser="never")


def test_only_search_forms_are_ever_submitted() -> None:
    """Other forms of the demo site are never sent: login, registration, recovery, contact, mailing list and order."""
    allowed = {"/", "/robots.txt", "/search", "/about", "/contact", "/favicon.ico"}
    for start in ("", "contact", "register"):
        with serve() as site:
            api.forms(f"{site.url}{start}", manners=Manners(rate=0))
            seen = {(r.method, r.path) for r in site.received}
        assert {method for method, _ in seen} == {"GET"}
        assert {path for _, path in seen if not path.startswith("/city/")} <= allowed | {f"/{start}"}


@pytest.mark.parametrize(
    ("script", "path"),
    [("form", "search"), ("results", "api/search")],
    ids=["a form made by a script", "answers as JSON"],
)
def test_search_form_made_by_javascript(script: str, path: str, tmp_path: Path) -> None:
    """The browser finds the form or its request; then queries are sent without the browser and return records."""
    with serve(Switches.parse([f"script={script}"])) as site:
        assert api.forms(site.url, manners=Manners(rate=0), browser="never").interfaces == ()
        (interface,) = api.forms(site.url, manners=Manners(rate=0)).interfaces
        assert (interface.url, interface.query_field, interface.via) == (site.url + path, "q", "browser")
        result = api.harvest(site.url, out=tmp_path, plan=Plan(budget=200), manners=Manners(rate=0))
    assert result.summary["records"] > 100


def test_requests_without_the_query_as_a_value_are_not_interfaces() -> None:
    """A word must be a whole value in the request, because it may be part of any value by chance."""
    assert interface_of_request(Request(url="http://x/api?q=riverbank"), "river", only_whole=True) is None
    plain_text = Request(url="http://x/api", method="POST", body=b"river", content_type="text/plain")
    assert interface_of_request(plain_text, "river") is None


def test_failed_queries_are_repeated_and_ignored_robots_reported(tmp_path: Path) -> None:
    """A query whose requests all failed is repeated later; the summary says that robots.txt was ignored."""
    with serve(Switches(fault="500", fault_rate=0.3, seed=3, result_cap=20)) as site:
        manners = Manners(rate=0, retries=0, ignore_robots=True)
        result = api.harvest(
            site.url,
            out=tmp_path,
            plan=Plan(budget=150, coverage=1.0, patience=12, words=("iceland", "peru")),
            manners=manners,
        )
        queries = [r.query for r in site.received if r.path == "/search"]
    assert max(queries.count(query) for query in queries) > 1  # only failed queries are repeated
    assert result.summary["checks"]["robots"] == "ignored"


def test_missing_home_page() -> None:
    """The error names the URL."""
    with serve() as site, pytest.raises(Unreachable, match="404"):
        api.forms(f"{site.url}nothing", manners=Manners(rate=0))
