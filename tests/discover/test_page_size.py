"""Page-size settings: finding, applying and verifying them."""

from pathlib import Path

import pytest

from upwell import api
from upwell.answers.pager import NextPage
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.discover.page_size import is_larger_page, larger_page_settings, with_setting
from upwell.net.fetch import Manners
from upwell.page.tree import read
from upwell.types import AddressInterface, FormInterface, JsonInterface

ASK = FormInterface(method="GET", url="http://h/s", query_field="q", fields=(("q", ""), ("lang", "en")))
FORM = "<form action=/s><input type=search name=q>{}<input type=submit value=Search></form>"


def page(more: str) -> object:
    return read(f"<html><body>{more}<p>some text</p></body></html>", url="http://h/s?q=cat")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("<select name=max><option>10<option selected>20<option>100</select>", [("max", "100")]),
        ("<select name=z><option>10<option selected>20<option>5000<option>100</select>", [("z", "100")]),
        ("<select name=year><option selected>2001<option>2002</select>", []),
        ("<select name=max><option>any<option>100</select>", []),
        ("<select name=max><option>5<option>10<option>20</select>", []),
    ],
)
def test_select_with_page_sizes(more: str, expected: list[tuple[str, str]]) -> None:
    """It is recognized by name or preset value; years, words and sizes that are not larger are left out."""
    assert larger_page_settings(ASK, [page(FORM.format(more))], "cat", 20) == expected  # type: ignore[list-item] # a tree


def test_links_to_page_sizes_but_not_to_pages() -> None:
    links = "".join(f"<a href='/s?q=cat&limit={n}&offset=0'>{n}</a> " for n in (20, 50, 250))
    pager = "".join(f"<a href='/s?q=cat&page={n}'>{n}</a> " for n in range(2, 60))
    assert larger_page_settings(ASK, [page(links + pager)], "cat", 20) == [("limit", "250")]  # type: ignore[list-item] # a tree


def test_page_size_sent_with_every_query() -> None:
    """It is found in the URL, the body or the next page; other numbers are not page sizes."""
    in_url = AddressInterface(url="http://h/s/{query}?size=20&v=3")
    (setting,) = larger_page_settings(in_url, [], "cat", 20)
    assert with_setting(in_url, *setting).url == "http://h/s/{query}?size=100&v=3"
    in_body = JsonInterface(url="http://h/s", body='{"q": "{query}", "take": 20, "v": 3}')
    (setting,) = larger_page_settings(in_body, [], "cat", 20)
    assert with_setting(in_body, *setting).as_dict()["body"] == '{"q": "{query}", "take": 100, "v": 3}'
    step = NextPage(url="http://h/s?q=cat&start=20&rows=20")
    (setting,) = larger_page_settings(ASK, [], "cat", 20, step)
    assert with_setting(ASK, *setting).as_dict()["fields"] == (*ASK.fields, ("rows", "100"))


def test_form_settings_do_not_apply_to_json_and_url_keeps_its_arguments() -> None:
    in_body = JsonInterface(url="http://h/s", body="no json {query}")
    select = FORM.format("<select name=max><option>20<option>100</select>")
    assert larger_page_settings(in_body, [page(select)], "cat", 20, NextPage(url="http://h/s?rows=20")) == []  # type: ignore[list-item] # a tree
    by_path = AddressInterface(url="http://h/s/{query}?v=3")
    assert with_setting(by_path, "rows", "100").url == "http://h/s/{query}?v=3&rows=100"


def test_larger_page_has_the_same_records_and_more() -> None:
    """The next page must keep the page size."""
    some, more, others = [f"k{i}" for i in range(20)], [f"k{i}" for i in range(90)], [f"x{i}" for i in range(90)]
    onward = NextPage(url="http://h/s?q=cat&n=100&page=2")
    assert is_larger_page(some, more, "100", onward)
    assert is_larger_page(some, more, "100", None)
    assert not is_larger_page(some, some, "100", onward)
    assert not is_larger_page(some, others, "100", onward)
    assert not is_larger_page(some, more, "100", NextPage(url="http://h/s?q=cat&page=2"))


def test_larger_pages_save_requests(tmp_path: Path) -> None:
    """With the same budget, a site that offers larger pages gives more than twice the records."""
    held = {}
    for largest in (0, 100):
        with serve(Switches(largest_page=largest)) as site:
            result = api.harvest(site.url, out=tmp_path / str(largest), plan=Plan(budget=60), manners=Manners(rate=0))
            held[largest] = result.summary["records"]
            sent = [request.query for request in site.received if "show=100" in request.query]
            assert bool(sent) == bool(largest)
    assert held[100] > 2 * held[0]
