"""The demo site: its content, layouts, traps and switches."""

import json
import re
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.browser import browser
from upwell.demo import SMALL_SITE, Running, Switches, serve
from upwell.demo.cities import City, all_cities, search
from upwell.demo.switches import LAYOUTS
from upwell.errors import WrongUsage
from upwell.page.tree import TagTree, read


def page(url: str) -> TagTree:
    with urlopen(url) as answer:  # noqa: S310 # our own server
        return read(answer.read(), url=answer.url, headers=dict(answer.headers))


def answer_of(url: str) -> tuple[str, list[str]]:
    """Return the visible text and the links of an HTML or JSON answer."""
    with urlopen(url) as answer:  # noqa: S310 # our own server
        body = answer.read()
        if answer.headers.get_content_type() == "application/json":
            data = json.loads(body)
            return json.dumps(data, ensure_ascii=False), [city["url"] for city in data["results"]] + [
                data["next"] or ""
            ]
        tree = read(body, url=answer.url, headers=dict(answer.headers))
    return tree.text(), [link for _, link in tree.links()]


def shows(text: str, city: City) -> bool:
    return city.name in text and (f"{city.population:,}" in text or f'"population": {city.population}' in text)


def test_the_site_has_34_006_cities() -> None:
    """Every city has its own identifier; a search for a country finds all of its cities."""
    assert len({city.id for city in all_cities()}) == len(all_cities()) == 34_006
    assert {c.id for c in search("iceland")} == {c.id for c in all_cities() if "iceland" in c.words}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_shows_the_same_answer(layout: str) -> None:
    """The records of page 2 in rank order are the 21st to 40th, in any layout."""
    with serve(Switches.parse([f"layout={layout}", "order=rank"])) as site:
        text, links = answer_of(f"{site.url}search?q=germany&page=2")
    expected = search("germany", "rank")[20:40]
    assert all(shows(text, city) for city in expected)
    assert not any(shows(text, city) for city in (*search("germany", "rank")[:20], *search("germany", "rank")[40:60]))
    if layout != "lines":  # the layout without links
        linked = {int(number) for number in re.findall(r"/city/(\d+)\b", " ".join(links))}
        assert {city.id for city in expected} <= linked


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_has_total_limit_pager_and_an_empty_answer(layout: str) -> None:
    """The total is stated; 200 results are in 10 pages with a link from each to the next; nonsense matches nothing, a single match redirects to its page."""
    with serve(Switches.parse([f"layout={layout}"])) as site:
        first, first_links = answer_of(f"{site.url}search?q=asia")
        _, last_links = answer_of(f"{site.url}search?q=asia&page=10")
        nothing, _ = answer_of(f"{site.url}search?q=qqqqxxxx")
        only = urlopen(f"{site.url}search?q=timbuktu")  # noqa: S310 # our own server
        only.close()
    total = len(search("asia"))
    assert f"{total:,}" in first or str(total) in first
    assert "200" in first
    assert any("page=2" in link for link in first_links)
    assert not any("page=11" in link for link in last_links)
    if layout == "alternatives":  # Entity, Figure 8a: a count of zero, and records that do not match
        assert "0 items found" in nothing
        assert sum(shows(nothing, city) for city in all_cities()[:500]) == 5
    else:
        assert not any(shows(nothing, city) for city in all_cities()[:500])
    assert ("/city/" in only.url) is (layout != "json")


def test_limit_pager_facets_and_nothing_found(demo: Running) -> None:
    """At most 200 results in 10 pages; a facet narrows; nonsense matches nothing but gets suggestions; a single match redirects to its page."""
    tree = page(f"{demo.url}search?q=asia&page=10")
    assert "181–200 of" in tree.text()
    assert "only the first 200 are shown" in tree.text()
    assert not any("page=11" in url for _, url in tree.links())
    assert "country=JP" in " ".join(url for _, url in page(f"{demo.url}search?q=asia&country=JP").links())
    empty = page(f"{demo.url}search?q=qqqqxxxx").text()
    assert "No results" in empty
    assert "Perhaps you meant" in empty
    assert "/city/" in page(f"{demo.url}search?q=timbuktu").url


def test_the_old_layout_is_not_utf_8() -> None:
    """Its pages are ISO-8859-1, with numeric references for other characters; both are decoded correctly."""
    with serve(Switches(layout="old")) as site, urlopen(f"{site.url}search?q=poland") as answer:  # noqa: S310 # ours
        body = answer.read()
        assert answer.headers.get_content_charset() == "iso-8859-1"
    assert "&#321;ódź".encode("latin-1", "xmlcharrefreplace") in body
    assert "Łódź" in read(body).text()


def test_pictures_and_absolute_addresses() -> None:
    """Cards show a picture that exists; microdata contains the host of the request."""
    lima = search("lima")[0]
    with serve(Switches(layout="cards")) as site, urlopen(f"{site.url}map/{lima.id}.svg") as answer:  # noqa: S310 # ours
        assert answer.headers.get_content_type() == "image/svg+xml"
    with serve(Switches(layout="microdata")) as site:
        assert f"{site.url}city/{lima.id}" in [url.split("?")[0] for _, url in page(f"{site.url}search?q=lima").links()]


def test_equal_requests_get_different_decoration(demo: Running) -> None:
    """Two equal requests get different advertisements, recent cities or tracking arguments."""
    assert page(f"{demo.url}search?q=lima").chunks != page(f"{demo.url}search?q=lima").chunks


def test_orders_differ_and_none_is_fixed_for_a_query() -> None:
    """Rank sorts by population; none is an arbitrary order that is always the same for a query."""
    ranked, mixed = search("spain", "rank"), search("spain", "none")
    assert [c.population for c in ranked] == sorted((c.population for c in ranked), reverse=True)
    assert ranked != mixed
    assert set(ranked) == set(mixed)
    search.cache_clear()
    assert search("spain", "none") == mixed


def test_drift_changes_the_template() -> None:
    """The class names change after `drift_after` answers."""
    with serve(Switches(drift_after=1)) as site:
        first, second = (page(f"{site.url}search?q=spain") for _ in range(2))
    assert "results" in first.classes
    assert "results" not in second.classes


def test_login_wall_and_token() -> None:
    """A search without signing in, or with an invalid token, is not answered."""
    with serve(Switches(login_wall=True)) as site:
        assert "Please sign in" in page(f"{site.url}search?q=spain").text()
    with serve(Switches(token=True)) as site:
        assert "session has ended" in page(f"{site.url}search?q=spain&token=made-up").text()


@pytest.mark.parametrize("script", ["form", "results"])
def test_a_form_that_only_javascript_makes(script: str) -> None:
    """The plain page has no search form; a browser sees one, and it works."""
    with serve(Switches.parse([f"script={script}"])) as site, browser() as tab:
        assert "q" not in [page(site.url).attr(i, "name") for i in page(site.url).rows("input")]
        tab.goto(site.url)
        tab.fill("input[name=q]", "iceland")
        tab.press("input[name=q]", "Enter")
        tab.wait_for_selector("li.city")
        assert tab.locator("li.city").count() == min(20, len(search("iceland")))
        assert any(r.path == ("/api/search" if script == "results" else "/search") for r in site.received)


def test_requests_are_counted_with_their_times() -> None:
    """Tests can inspect the received requests and their times."""
    with serve(Switches(latency=0.05)) as site:
        page(f"{site.url}search?q=spain")
        urlopen(Request(f"{site.url}newsletter", data=b"email=x")).close()  # noqa: S310 # our own server
        with pytest.raises(HTTPError):
            urlopen(f"{site.url}no-such-page")  # noqa: S310 # our own server
        seen = [(r.method, r.path, r.query, r.status) for r in site.received]
        assert seen == [
            ("GET", "/search", "q=spain", 200),
            ("POST", "/newsletter", "", 200),
            ("GET", "/no-such-page", "", 404),
        ]
        assert site.received[1].time - site.received[0].time >= 0.05


def test_json_behind_the_script() -> None:
    """The endpoint of the scripted form answers in JSON."""
    with serve(Switches(script="results")) as site, urlopen(f"{site.url}api/search?q=iceland") as answer:  # noqa: S310 # ours
        assert json.load(answer)["total"] == len(search("iceland"))


@pytest.mark.parametrize("setting", ["layout=round", "fault=flood", "colour=red", "result_cap=many", "page_size=0"])
def test_a_wrong_switch_is_refused(setting: str) -> None:
    """The message for an unknown switch or an invalid value names the switch."""
    with pytest.raises(WrongUsage, match=setting.split("=")[0]):
        Switches.parse([setting])


def test_the_small_site_lists_all_its_cities_for_an_empty_query(demo: Running) -> None:
    """It has the cities of two countries, within its result cap; the default site matches nothing for an empty query."""
    with serve(SMALL_SITE) as site:
        tree = page(f"{site.url}search?q=")
        assert {city.country_code for city in site.truth} == {"GR", "IT"}
        assert f"of {len(site.truth)} cities" in tree.text()
        assert len(site.truth) <= SMALL_SITE.result_cap
    assert "No results" in page(f"{demo.url}search?q=").text()
