"""Lists without a query: found by links, read to their end, and compared with queries, on small simulated sites."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.running_server import running
from upwell import api
from upwell.errors import NothingLearned, UpwellError
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners

Site = Callable[[str, dict[str, str]], str | bytes | None]
FREE = Manners(rate=0)
WORDS = ("river", "music", "stone", "garden", "winter", "paper", "engine", "silver", "harbour", "letter")
ITEMS = [
    (n, f"{WORDS[n % 10]} {WORDS[n // 10 % 10]} {n}", f"{WORDS[n // 7 % 10]} made in {1900 + n % 97}")
    for n in range(260)
]
MENU = "<nav><a href=/>Home</a> <a href=/catalogue>Catalogue</a> <a href=/help>Help</a></nav>"
BOX = "<form action=/find><input name=q type=search><button>Search</button></form>"


@contextmanager
def served(site: Site, robots: str | Callable[[str], str] = "") -> Iterator[tuple[str, list[str]]]:
    """Serve a function of path and arguments; yield its URL and the requested paths."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked.append(self.path)
            sent = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            is_robots = parts.path == "/robots.txt"
            own = robots if isinstance(robots, str) else robots(f"http://{self.headers['Host']}/")
            page = own if is_robots else site(parts.path, sent)
            if isinstance(page, bytes):
                body = page
            else:
                is_whole = is_robots or str(page).startswith(("<urlset", "<sitemapindex"))
                body = (str(page) if is_whole else f"<html lang=en><title>Things</title><body>{page}").encode()
            is_moved = isinstance(page, str) and page.startswith("/")
            self.send_response(302 if is_moved else 200 if page is not None else 404)
            if is_moved:
                self.send_header("Location", str(page))
            kind = "text/plain" if is_robots else "application/xml" if isinstance(page, bytes) else "text/html"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with running(Handler) as url:
        yield url, asked


def source_of(result: api.Result) -> dict[str, Any]:
    """Return the entry of the only source in the summary."""
    (source,) = json.loads(json.dumps(result.summary["sources"]))
    return dict(source)


def rows(items: list[tuple[int, str, str]]) -> str:
    return "".join(f"<tr><td><a href=/item/{n}>{title}</a><td>{text}" for n, title, text in items)


def page_of(items: list[tuple[int, str, str]], at: str, number: int, size: int = 20) -> str:
    """Return a page of a list with a pager."""
    more = f"<p><a href='{at}page={number + 1}'>Next</a>" if number * size < len(items) else ""
    return f"<h1>All things</h1><table>{rows(items[(number - 1) * size : number * size])}</table>{more}"


def shop(path: str, sent: dict[str, str]) -> str | None:
    """Answer as a shop with a search capped at ten matches and a catalogue of several pages."""
    if path == "/find":
        matches = [item for item in ITEMS if sent.get("q", "") and sent["q"].lower() in f"{item[1]} {item[2]}".split()]
        list_of = f"<ul>{''.join(f'<li><a href=/item/{n}>{t}</a> <i>{x}</i>' for n, t, x in matches[:10])}</ul>"
        return MENU + BOX + (list_of if matches else "<p>Nothing was found.")
    if path == "/catalogue":
        return MENU + BOX + page_of(ITEMS, "/catalogue?", int(sent.get("page", "1")))
    if path.startswith("/item/"):
        _, title, text = ITEMS[int(path.removeprefix("/item/"))]
        return MENU + f"<h1>{title}</h1><p>{text}"
    pages = {
        "/": f"<h1>Things</h1><p>river stone music garden winter paper engine</p>{BOX}",
        "/help": "<p>Type a word into the box.",
    }
    return MENU + pages[path] if path in pages else None


def test_catalogue_next_to_a_search_with_a_result_cap(tmp_path: Path) -> None:
    """The catalogue gives all records in few requests, with the keys of the search, and an exact size."""
    with served(shop) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=150, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    assert result.summary["requests"] < 75
    assert result.summary["coverage"] == 1.0
    assert set(result.to_pandas()["_key"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert not any("/catalogue?page=2" in path for path in asked[:10])


def test_refresh_reads_the_list_again(tmp_path: Path) -> None:
    """The records of a list are requested again, and none counts as gone."""
    with served(shop) as (url, _):
        api.harvest(url, out=tmp_path, plan=Plan(budget=150, browser="never"), manners=FREE)
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=150, browser="never", refresh=True), manners=FREE)
    refreshed = result.summary["refreshed"]
    assert (refreshed["unchanged"], refreshed["gone"], refreshed["new"]) == (len(ITEMS), 0, 0)


def test_site_without_a_search_is_harvested_from_its_list(tmp_path: Path) -> None:
    """The list with several pages is the source, and its end is the end of the source."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        return page.replace(BOX, "") if (page := shop(path, sent)) is not None and path != "/find" else None

    with served(site) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    assert result.summary["size_state"] == "at least", "the end of a list shows only what the list contains"
    assert result.summary["statement"] == "260 records held of at least 260; there may be many more"
    listed = [path for path in asked if path.startswith("/catalogue")]
    assert len(listed) == len(set(listed)) == 13  # each page once, although it is found, learned and read


def test_alphabet_is_a_family_of_lists(tmp_path: Path) -> None:
    """Each letter has its own page, and the search has a result cap: every letter is requested once."""
    letters = sorted({title[0] for _, title, _ in ITEMS})
    index = "".join(f"<a href=/browse/{letter}>{letter.upper()}</a> " for letter in letters)

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path.startswith("/browse/"):
            of_letter = [item for item in ITEMS if item[1][0] == path[-1]]
            return MENU + BOX + f"<p>{index}</p><table>{rows(of_letter)}</table>"
        return MENU + BOX + f"<h1>By letter</h1><p>{index}</p>" if path == "/catalogue" else shop(path, sent)

    with served(site) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=150, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    browsed = [path for path in asked if path.startswith("/browse/")]
    assert sorted(browsed) == [f"/browse/{letter}" for letter in letters]


def test_list_is_harvested_if_robots_forbid_the_search(tmp_path: Path) -> None:
    """The forbidden search is reported as out of reach."""
    with served(shop, "User-agent: *\nDisallow: /find\n") as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=80, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    assert any("/find" in reason for reason in result.summary["out_of_reach"])
    assert not any(path.startswith("/find") for path in asked)


def test_search_for_members_is_reported(tmp_path: Path) -> None:
    """The search leads to a login: the list is harvested, and the summary says how to log in."""
    login = "<h1>Please log in</h1><form method=post action=/login><input name=user><input type=password name=p></form>"
    with served(lambda path, sent: login if path == "/find" else shop(path, sent)) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=80, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    assert any("members" in reason and "--login" in reason for reason in result.summary["out_of_reach"])


def test_records_that_do_not_depend_on_the_query_are_rejected(tmp_path: Path) -> None:
    """A search that shows random records for every query fills no table, and the error says so."""
    times = iter(range(10_000))

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path != "/find":
            return BOX + "<p>Type a word into the box: river, stone, music, garden" if path == "/" else None
        shown = [ITEMS[(37 * next(times)) % len(ITEMS)] for _ in range(12)]
        return BOX + f"<h1>Results for {sent['q']}</h1><table>{rows(shown)}</table>"

    with served(site) as (url, _), pytest.raises(UpwellError) as error:
        api.harvest(url, out=tmp_path, plan=Plan(budget=80, browser="never", form=0), manners=FREE)
    assert isinstance(error.value, NothingLearned)


def test_search_that_filters_nothing_is_rejected(tmp_path: Path) -> None:
    """A search that shows the same bestsellers in random order for every query fills no table, and the error says so."""
    times = iter(range(10_000))

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path != "/find":
            return BOX + "<p>Type a word into the box: river, stone, music, garden" if path == "/" else None
        turned = next(times) % 20
        best = [*ITEMS[turned:20], *ITEMS[:turned]]
        cards = "".join(f"<article><h3><a href=/item/{n}>{t}</a></h3><p>{x}</article>" for n, t, x in best)
        return BOX + f"<h1>{sent['q']}</h1><p>For {sent['q']} we have<section>{cards}</section>"

    with served(site) as (url, _), pytest.raises(NothingLearned):
        api.harvest(url, out=tmp_path, plan=Plan(budget=80, browser="never", form=0), manners=FREE)


def test_search_that_leads_to_a_login_page(tmp_path: Path) -> None:
    """If the only search redirects to a login, the error says how to log in."""
    login = "<h1>Anmeldung</h1><form method=post action=/in><input name=user><input type=password name=p><button>OK</button></form>"

    def site(path: str, sent: dict[str, str]) -> str | None:
        return {"/": BOX + "<p>river stone music", "/find": "/in", "/in": login}.get(path)

    with served(site) as (url, _), pytest.raises(UpwellError, match="--login"):
        api.harvest(url, out=tmp_path, plan=Plan(budget=80, browser="never"), manners=FREE)


def test_start_page_with_a_single_link_is_followed(tmp_path: Path) -> None:
    """The site behind a start page with one link is found."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        return "<h1>It works</h1><p><a href=/catalogue>Go to the site</a>" if path == "/" else shop(path, sent)

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=150, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)


def test_list_with_another_page_size_is_not_a_sibling(tmp_path: Path) -> None:
    """Links that only set the page size form no family: the list is read once, and its last page is empty."""
    sizes = "".join(f"<a href='/catalogue/?rows_of_list={size}'>{size}</a> " for size in (20, 25, 50))

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path != "/catalogue/":
            return (
                page.replace(BOX, "").replace("/catalogue", "/catalogue/?rows_of_list=20")
                if (page := shop(path, sent))
                else None
            )
        size, number = int(sent.get("rows_of_list", "20")), int(sent.get("page", "1"))
        more = (
            f"<a href='/catalogue/?rows_of_list={size}&page={number + 1}'>Next</a>"
            if number * size <= len(ITEMS)
            else ""
        )
        return MENU + sizes + f"<table>{rows(ITEMS[(number - 1) * size : number * size])}</table>{more}"

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=90, browser="never"), manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    assert result.summary["size_state"] == "at least"
    assert result.summary["requests"] < 60


def test_search_with_matches_for_nonsense(tmp_path: Path) -> None:
    """Nonsense returns the nearest matches: the model is learned without it."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path != "/find":
            return shop(path, sent) if path != "/catalogue" else None
        query = sent.get("q", "").lower()
        near = sorted(ITEMS, key=lambda item: -len(set(query) & set(item[1])) - 99 * (query in item[1].split()))
        return MENU + BOX + "".join(f"<li><a href=/item/{n}>{t}</a> <i>{x}</i>" for n, t, x in near[:10])

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=120, browser="never"), manners=FREE)
    assert result.summary["records"] > 30
    assert {key for key in result.to_pandas()["_key"] if "/item/" not in key} == set()


def test_answers_behind_a_redirect(tmp_path: Path) -> None:
    """The form redirects to another URL: an answer without matches there is not a record page."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path == "/find":
            return f"/results/{sent.get('q', '')}"
        if path.startswith("/results/"):
            return shop("/find", {"q": path.removeprefix("/results/")})
        return shop(path, sent) if path != "/catalogue" else None

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=120, browser="never"), manners=FREE)
    assert result.summary["records"] > 30
    assert {key for key in result.to_pandas()["_key"] if "/item/" not in key} == set()
