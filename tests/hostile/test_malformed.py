"""Malformed texts of strangers are refused or skipped: invalid URLs, huge numbers, huge forms, deep queries."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.combine.test_search import ROWS, harvest
from tests.net.raw_server import http_answer, raw_server
from upwell.combine.search import MAX_QUERY_CHARS, MAX_QUERY_DEPTH, search
from upwell.discover import forms, interfaces
from upwell.discover.page_size import _whole_number
from upwell.discover.without_search import _urls_in_sitemap
from upwell.errors import Unreachable, WrongUsage
from upwell.net.fetch import Fetcher, Manners
from upwell.page.embedded_data import largest_collection
from upwell.page.form_encoding import MAX_CHOSEN, MAX_OPTIONS, choose_everything
from upwell.page.tree import read
from upwell.records.values import parse_value
from upwell.types import Request
from upwell.urls.hosts import is_same_host, is_valid

INVALID = ("http://[::1", "http://[", "http://a]b/", "//[x", "http://\u2100.example/")
MANY_DIGITS = "9" * 5000  # `int` raises ValueError for more than 4,300


@pytest.mark.parametrize("url", INVALID)
def test_invalid_urls_are_skipped(url: str) -> None:
    """A URL that cannot be parsed is not a link, not a page of a sitemap, and not on any host."""
    assert not is_valid(url)
    assert not is_same_host(url, "http://site.example/")
    page = read(
        f"<link rel=canonical href='{url}'><base href='{url}'><a href='{url}'>Next</a><form action='{url}'><input name=q></form>"
    )
    assert [target for _, target in page.links()] == []
    forms.find(page)
    body = f"<urlset><url><loc>{url}</loc></url><url><loc>http://site.example/a#b</loc></url></urlset>"
    assert _urls_in_sitemap(body.encode()) == ((), ("http://site.example/a",))


def test_invalid_redirect_is_an_error_at_once() -> None:
    """A redirect to an address that cannot be parsed is not requested again: the answer will be the same."""
    answer = http_answer(b"", "Location: http://[::1", status="302 Found")
    with raw_server(lambda client, _: client.sendall(answer)) as (url, heads):

        async def run() -> None:
            async with Fetcher(Manners(rate=0, retries=4, ignore_robots=True)) as net:
                await net.fetch(Request(url=url))

        with pytest.raises(Unreachable, match="invalid address"):
            asyncio.run(run())
    assert len(heads) == 1


def test_form_with_thousands_of_fields_has_a_score() -> None:
    """The logistic function does not overflow."""
    for count in (10, 5000, 50_000):
        (form,) = forms.find(
            read("<form method=post><textarea name=a></textarea>" + "<input name=a type=email>" * count + "</form>")
        )
        assert 0 <= form.score <= 1


def test_select_with_thousands_of_options_is_cut() -> None:
    """Only so many options are read, and fewer are sent at once."""
    options = "".join(f"<option>x{number}</option>" for number in range(200_000))
    tree = read(f"<form><input name=q><select multiple name=s>{options}</select><button>Search</button></form>")
    (form,) = forms.find(tree)
    assert max(len(field.choices) for field in form.fields) == MAX_OPTIONS
    assert max(len(field.preset) for field in choose_everything(tree, form.fields)) == MAX_CHOSEN
    assert interfaces.find(tree)


def test_numbers_with_thousands_of_digits_are_no_numbers() -> None:
    """`int` refuses them with an error that nobody expects."""
    assert parse_value(MANY_DIGITS, "integer") is None
    assert parse_value(f"{MANY_DIGITS} €", "price") is None
    assert _whole_number(MANY_DIGITS) == 0
    (form,) = forms.find(read(f"<form><input name=q minlength={MANY_DIGITS}></form>"))
    assert form.fields[0].min_chars


def test_place_of_a_section_written_by_a_stranger_is_empty() -> None:
    """XML may contain the characters that stand for its own CDATA sections."""
    row = "<row><a>\ue00099\ue001</a><b><![CDATA[x]]></b><c>y {}</c></row>"
    rows = largest_collection("<list>" + "".join(row.format(number) for number in range(12)) + "</list>")
    assert rows[0] == {"b": "x", "c": "y 0"}


def test_deep_and_long_queries_are_refused(tmp_path: Path) -> None:
    """The parser of the index would end the process."""
    harvest(tmp_path / "a.org", ROWS)
    for text in ("(" * 3000, "(" * (MAX_QUERY_DEPTH + 1) + "a", "a" * (MAX_QUERY_CHARS + 1)):
        with pytest.raises(WrongUsage, match="at most"):
            search(text, [tmp_path])
    for text in ("(" * MAX_QUERY_DEPTH + "tower", f"price:{MANY_DIGITS[:1000]}", "()" * 900):
        search(text, [tmp_path])
    with contextlib.suppress(WrongUsage):  # refused, depending on the depth of the calls around it
        search("NOT " * 499 + "a", [tmp_path])
