"""The web pages in Chromium, with the demo site and a server process."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.web.serving import Serving, serving, signed_in
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running, Switches, serve
from upwell.net.manners import Manners
from upwell.web.texts import ENGLISH as texts


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Path]]:
    """A served folder with one harvest of the demo site."""
    folder = tmp_path_factory.mktemp("harvest")
    with serve() as site:
        api.harvest(site.url, out=folder, plan=Plan(budget=60), manners=Manners(rate=0))
        with serving(folder) as pages:
            yield pages, folder


def problems_of(page: Page) -> list[str]:
    """Collect errors and warnings of the browser from now on."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def test_from_an_address_to_an_exported_table(tmp_path: Path) -> None:
    """The usual path: address, preview, harvest, live progress, filters, a renamed column, export."""
    with serve(Switches(latency=0.02)) as site, serving(tmp_path / "new") as pages, signed_in(pages) as page:
        said = problems_of(page)
        page.goto(pages.url)
        assert texts.home_empty in page.inner_text("main")
        page.fill("#url", site.url)
        page.click(f"button:has-text('{texts.look}')")
        page.wait_for_selector(f"h2:has-text('{texts.preview_title}')", timeout=60_000)
        assert page.locator(".preview tbody tr").count() == 6
        page.fill(".preview input[name=more]", "60")
        page.click(".preview .button")
        page.wait_for_selector(f"text={texts.harvesting}", timeout=30_000)
        page.wait_for_selector("#live .growth", timeout=30_000)  # drawn while it runs
        page.wait_for_selector("text=Budget used up", timeout=60_000)
        page.click(f"text={texts.look_at_records}")
        page.click("summary:has-text('continent')")
        page.click(".values a:has-text('Asia')")
        assert page.locator(".chips li").first.inner_text() == "continent = Asia ×"
        assert set(page.locator("table.grid td:nth-child(4)").all_inner_texts()) == {"Asia"}
        page.click(".actions >> text=Columns")
        page.fill("input[value=population]", "people")
        page.locator("[name^=keep-]").nth(2).uncheck()
        page.click(f"button:has-text('{texts.save}')")
        assert page.inner_text(".note") == texts.saved
        page.click(".crumb a >> nth=0")
        with page.expect_download() as download:
            page.click("#export >> text=CSV")
        with Path(download.value.path()).open(encoding="utf-8") as table:
            rows = list(csv.DictReader(table))
        assert len(rows) > 300
        assert "people" in rows[0]
        assert "region" not in rows[0]
        assert said == []
    (saved,) = (tmp_path / "new").glob("*/source.json")
    columns = {column["name"]: column for column in json.loads(saved.read_text())["tables"][""]}
    assert columns["people"]["of"][0] == "population"
    assert columns["region"]["drop"]


def test_a_harvest_is_stopped_and_goes_on(tmp_path: Path) -> None:
    """Stop writes the results so far; continue does not start again."""
    with serve(Switches(latency=0.02)) as site, serving(tmp_path) as pages, signed_in(pages) as page:
        page.goto(f"{pages.url}new?url={site.url}")
        page.click("text=More settings")
        page.click(f"details button:has-text('{texts.go}')")
        page.wait_for_selector("#live table tbody tr:nth-child(5)", timeout=60_000)
        page.click("text=Stop")
        page.wait_for_selector(".badge:has-text('Stopped')", timeout=30_000)
        (summary,) = tmp_path.glob("*/summary.json")
        first = json.loads(summary.read_text())
        assert first["stopped"] == "interrupted"
        received = len(site.received)
        page.fill("input[name=more]", "15")
        page.click("button:has-text('Continue')")
        page.wait_for_selector("text=Budget used up", timeout=60_000)
        assert (
            15 <= len(site.received) - received <= 35
        )  # with robots.txt and the sampled record pages; anew it would be 45
        assert json.loads(summary.read_text())["records"] > first["records"]


def test_a_record_says_where_it_came_from(harvested: tuple[Serving, Path]) -> None:
    """A record page shows fields with their origin, the queries that found it, and the archived page without scripts."""
    pages, _ = harvested
    with signed_in(pages) as page:
        said = problems_of(page)
        page.goto(pages.url)
        page.click(".cards h2 a")
        page.click(f"text={texts.look_at_records}")
        name = page.inner_text("table.grid tbody tr:first-child td:first-child")
        page.click("table.grid tbody tr:first-child td:first-child a")
        assert page.inner_text("h1") == name
        assert texts.from_list in page.inner_text("table.record")
        assert "Found by the queries" in page.inner_text("main")
        frame = page.frame_locator("iframe")
        assert name in frame.locator("body").inner_text()
        assert said == []


def test_requests_are_explained(harvested: tuple[Serving, Path]) -> None:
    """From the page of a harvest to its requests, those of one kind, and why one of them was sent."""
    pages, folder = harvested
    with signed_in(pages) as page:
        said = problems_of(page)
        page.goto(f"{pages.url}harvests/{next(folder.iterdir()).name}")
        page.click(f"text={texts.requests_title}")
        assert page.locator("tbody >> nth=1 >> tr").count() == 60
        page.click("td a:has-text('word')")
        assert set(page.locator("tbody >> nth=1 >> tr td:nth-child(2)").all_inner_texts()) == {"word"}
        page.click("tbody >> nth=1 >> tr >> nth=2 >> a")
        assert "It had the highest value of the candidates that were compared." in page.inner_text("main")
        assert page.locator(f"section:has-text('{texts.request_candidates}') tbody tr").count() > 2
        assert "records begin with the same element" in page.inner_text("main")
        page.click(f"text={texts.next}")
        assert said == []
        answer = page.goto(f"{pages.url}harvests/{next(folder.iterdir()).name}/requests/999")
        assert answer is not None
        assert answer.status == 404
        assert "numbered from 1 to" in page.inner_text("main")


def test_sorting_searching_and_ranges(harvested: tuple[Serving, Path]) -> None:
    """The table shows the rows that match search, filters and sort order."""
    pages, folder = harvested
    (place,) = (path.name for path in folder.iterdir() if path.is_dir())
    with signed_in(pages) as page:
        page.goto(f"{pages.url}harvests/{place}/records?sort=population&desc=1")
        numbers = [int(text.replace(",", "")) for text in page.locator("table.grid td.number").all_inner_texts()]
        assert numbers == sorted(numbers, reverse=True)
        page.goto(f"{pages.url}harvests/{place}/records?min:population=1000000&max:population=2000000")
        shown = [int(text.replace(",", "")) for text in page.locator("table.grid td.number").all_inner_texts()]
        assert shown
        assert all(1_000_000 <= number <= 2_000_000 for number in shown)
        page.fill("input[type=search]", "asia 100%")  # a sign that LIKE knows is just a sign
        page.click(".searchbar button")
        assert texts.no_rows in page.inner_text("main")
        assert page.inner_text("[role=status]").startswith("0 of ")


def test_an_address_that_is_none_and_a_site_that_does_not_answer(tmp_path: Path) -> None:
    """Errors are shown on the page and say what to do."""
    with serving(tmp_path) as pages, signed_in(pages) as page:
        page.goto(pages.url + "new")
        page.fill("#url", "not an address")
        page.click(f"button:has-text('{texts.look}')")
        assert page.locator("[role=alert]").first.inner_text()
        assert page.input_value("#url") == "not an address"
        page.fill("#url", "http://127.0.0.1:9/")  # where nobody answers
        page.click(f"button:has-text('{texts.look}')")
        page.wait_for_selector(".badge:has-text('Failed')", timeout=60_000)
        assert texts.failed in page.inner_text("main")
        assert page.goto(pages.url + "harvests/none-such").status == 404  # type: ignore[union-attr] # it answers


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_scrolls_sideways(harvested: tuple[Serving, Path], width: int) -> None:
    """Every page fits the width of a phone and of a desktop screen."""
    pages, folder = harvested
    (place,) = (path.name for path in folder.iterdir() if path.is_dir())
    with signed_in(pages) as page:
        page.set_viewport_size({"width": width, "height": 800})
        key = ""
        for path in (
            "",
            "new",
            f"harvests/{place}",
            f"harvests/{place}/records",
            f"harvests/{place}/columns",
            f"harvests/{place}/requests",
            f"harvests/{place}/requests/30",
            "record",
        ):
            page.goto(pages.url + (f"harvests/{place}/record?key={key}" if path == "record" else path))
            assert page.evaluate("document.documentElement.scrollWidth") == width, path
            if path.endswith("records"):
                found = re.search(r'record\?key=([^"&]+)', page.content())
                assert found
                key = found[1]


def test_cross_origin_pages_and_other_names_get_nothing(harvested: tuple[Serving, Path], demo: Running) -> None:
    """Pages of other origins can neither read from the server nor submit a form; other host names are refused."""
    pages, folder = harvested
    before = sorted(folder.iterdir())
    with signed_in(pages) as page:
        page.goto(demo.url)
        read = page.evaluate(f"fetch('{pages.url}').then(r => r.text()).catch(() => 'refused')")
        assert read == "refused"
        page.evaluate(
            f"""() => {{ const form = document.createElement('form'); form.method = 'post'; form.action = '{pages.url}harvests';
            form.innerHTML = '<input name=url value={demo.url}><input name=token value={pages.token}>';
            document.body.append(form); form.submit(); }}"""
        )
        page.wait_for_load_state()
        assert "other sites are refused" in page.inner_text("body")
    assert sorted(folder.iterdir()) == before


def test_a_wrong_reading_is_put_right_by_example(tmp_path: Path) -> None:
    """A record marked by the user changes how archived pages are read; then the link to the next page is marked."""
    with serve() as site, serving(tmp_path) as pages, signed_in(pages) as page:
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=30), manners=Manners(rate=0))
        (folder,) = (path for path in tmp_path.iterdir() if (path / "state.sqlite").exists())
        before = json.loads((folder / "source.json").read_text())["rules"][0]
        page.goto(f"{pages.url}harvests/{folder.name}/correct")
        starts = page.locator(".texts li.starts input[type=checkbox]")
        assert starts.count() >= 10
        starts.nth(2).check()  # a name alone: less than the record that is read now
        page.click("text=This is a record")
        page.wait_for_selector(".badge:has-text('Budget used up')", timeout=60_000)
        after = json.loads((folder / "source.json").read_text())["rules"][0]
        assert after != before
        asked = len(site.received)
        page.goto(f"{pages.url}harvests/{folder.name}/correct")
        page.locator(".texts li", has=page.get_by_text(re.compile("^Next"))).locator("input[type=radio]").last.check()
        page.click("text=This is the next page")
        page.wait_for_selector(".badge:has-text('Budget used up')", timeout=60_000)
        assert json.loads((folder / "source.json").read_text())["next_link"][1].startswith("Next")
        assert len(site.received) - asked < 30


def test_search_ask_and_compare_over_two_sources(tmp_path: Path) -> None:
    """Search finds records of both sites, a live query merges their answers, and the comparison shows the overlap."""
    with serve() as one, serve(Switches(layout="table", edition=1)) as other:
        for site in (one, other):
            api.harvest(site.url, out=tmp_path, plan=Plan(budget=45), manners=Manners(rate=0))
        with serving(tmp_path) as pages, signed_in(pages) as page:
            said = problems_of(page)
            page.goto(pages.url + "search?q=asia")
            sites = set(page.locator(".hits p.soft").all_inner_texts())
            assert page.locator(".hits mark").count() > 5
            assert len(sites) == 2
            page.click(".hits h2 a >> nth=0")
            page.click("summary:has-text('In other sources')")
            page.wait_for_selector("details .hits li, details .facet p")
            page.goto(pages.url + "ask")
            page.fill("main input[type=search]", "lima")
            page.click("main button")
            page.wait_for_selector(".hits li", timeout=60_000)
            assert "2 sources" in page.inner_text("[role=status]")
            assert " · " in page.locator(".hits p.soft").first.inner_text()
            page.goto(pages.url + "compare")
            page.click("main button")
            page.wait_for_selector(".overlap li", timeout=120_000)
            assert texts.compare_all in page.inner_text(".overlap")
            assert "population" in page.inner_text("main")
            assert said == []


def test_harvests_of_one_site_are_told_apart_by_their_topic(tmp_path: Path) -> None:
    with serve(Switches(country="PE,EC")) as site:
        for topic in ("peru", "ecuador"):
            api.harvest(site.url, out=tmp_path, plan=Plan(budget=15, about=topic), manners=Manners(rate=0))
        with serving(tmp_path) as pages, signed_in(pages) as page:
            cards = page.locator(".cards .card").all_inner_texts()
    assert sorted(("“peru”" in card, "“ecuador”" in card) for card in cards) == [(False, True), (True, False)]


def test_on_a_phone_each_record_is_a_card_with_the_names_of_its_fields(harvested: tuple[Serving, Path]) -> None:
    pages, folder = harvested
    (place,) = (path.name for path in folder.iterdir() if path.is_dir())
    with signed_in(pages) as page:
        page.goto(f"{pages.url}harvests/{place}/records")
        names = [name for name in page.locator("table.grid th").all_inner_texts() if name]
        for width, is_card in ((1280, False), (390, True)):
            page.set_viewport_size({"width": width, "height": 800})
            row = page.locator("table.grid tbody tr").first
            boxes = [box for cell in row.locator("td").all() if (box := cell.bounding_box())]
            tops = {round(box["y"]) for box in boxes}
            assert (len(tops) == len(boxes)) == is_card
            assert all(box["x"] + box["width"] <= 390 for box in boxes) or not is_card
            shown = page.evaluate(
                "cell => getComputedStyle(cell, '::before').content", row.locator("td").nth(1).element_handle()
            )
            assert (shown.strip('"') in names) == is_card
