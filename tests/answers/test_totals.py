"""Stated totals, ranges and result caps are read in many languages, and judged over the pages of a query."""

import json
from typing import Any
from urllib.request import urlopen

import pytest
from hypothesis import given

from tests.answers.malformed_pages import malformed_pages
from upwell.answers.totals import StatedTotals, judge_totals, read_totals
from upwell.demo import Running
from upwell.page.formats import read_page
from upwell.page.tree import TagTree, read


@pytest.mark.parametrize(
    ("line", "stated"),
    [
        ("Results 1 - 10 of about 318,000,000. Search took 0.10 seconds.", StatedTotals(total=318_000_000, hedge="about", first=1, last=10)),
        ("Showing 21 to 40 of 283 results", StatedTotals(total=283, first=21, last=40)),
        ("1..50 out of 2200", StatedTotals(total=2200, first=1, last=50)),
        ("1 through 10 of 159 matching documents", StatedTotals(total=159, first=1, last=10)),
        ("Document Matches 1 - 10 (of 16902)", StatedTotals(total=16902, first=1, last=10)),
        ("Documents 1-10 of total 266 found.", StatedTotals(total=266, first=1, last=10)),
        ("Found 128 items, now showing 1 - 10", StatedTotals(total=128, first=1, last=10)),
        ("6318 results found, top 500 sorted by relevance", StatedTotals(total=6318, cap=500)),
        ("A pesquisa devolveu 572 registos. Só são apresentados os primeiros 100.", StatedTotals(total=572, cap=100)),
        ("More than 575 documents found matching your query. 1 - 15 displayed.", StatedTotals(total=575, hedge="at least", first=1, last=15)),
        ("1,000+ results", StatedTotals(total=1000, hedge="at least")),
        ("About 24,400 results (0.26 seconds)", StatedTotals(total=24_400, hedge="about")),
        ("Treffer 1 bis 20 von 1.234", StatedTotals(total=1234, first=1, last=20)),
        ("Ungefähr 1.200 Ergebnisse", StatedTotals(total=1200, hedge="about")),
        ("Résultats 1 à 10 sur environ 2 345", StatedTotals(total=2345, hedge="about", first=1, last=10)),
        ("Resultados 1 - 10 de 1.500", StatedTotals(total=1500, first=1, last=10)),
        ("Risultati 11-20 di 345", StatedTotals(total=345, first=11, last=20)),
        ("Найдено 120 документов", StatedTotals(total=120)),
        ("Показаны результаты 1–20 из 5 600", StatedTotals(total=5600, first=1, last=20)),
        ("全123件中 1～20件を表示", StatedTotals(total=123, first=1, last=20)),
        ("约 3,450 条结果", StatedTotals(total=3450, hedge="about")),
        ("134 rows where search matches man", StatedTotals(total=134)),
        ("All Results (14)", StatedTotals(total=14)),
        ("10 results per page", StatedTotals()),
        ("Next 20 results", StatedTotals()),
        ("Page 1 of 13", StatedTotals()),
        ("© 1996-2003 of the publisher", StatedTotals()),
    ],
)  # fmt: skip
def test_totals_are_read_in_many_formats_and_languages(line: str, stated: StatedTotals) -> None:
    assert read_totals(read(f"<h1>Search</h1><p>{line}</p><ul><li>one<li>two</ul>")) == stated


def test_numbers_of_single_matches_are_not_totals() -> None:
    """A number smaller than the number of records, or one in every record, is not the total."""
    matches = "".join(f"<li>match {n}<p>{n} hits</p>" for n in range(3, 30))
    assert read_totals(read(f"<ul>{matches}</ul>")).total is None
    assert read_totals(read("<p>3 results in this chapter"), [""] * 20).total is None


def test_numbers_inside_a_record_are_not_totals() -> None:
    """A range much shorter than the list, or a count in the text of a record."""
    page = read(
        "<p>Total 3774 documents matching your query.<ul><li>On pages 3-4 of 18 results<li>two<li>three<li>four</ul>"
    )
    matches = ["On pages 3-4 of 18 results", "two", "three", "four"]
    assert read_totals(page, [*matches, "five"]).total == 3774
    assert read_totals(read("<ul><li>Show 500 results<li>two</ul>"), ["Show 500 results", "two"]).total is None


@pytest.mark.parametrize(
    ("heading", "pager", "total"),
    [
        ("226 messages", '<a href="?q=a&p=2">Next</a>', 226),
        ("Qqwx wxqq (226)", '<a href="?q=a&p=2">Next</a>', 226),
        ("找到226条记录", '<a href="?q=a&p=2">下一页</a>', 226),
        ("3 qqwx", "", 3),
        ("Qqwx 4 xq 6 wx 226", "", 226),
        ("2 qqwx", '<a href="?q=a&p=2">Next</a>', None),
    ],
)
def test_an_unlabelled_total_fits_the_list(heading: str, pager: str, total: int | None) -> None:
    """It equals the number of records, exceeds it, or follows a range as long as the list."""
    records = [f"Subject {word} of the list, 2024" for word in ("one", "two", "three")]
    items = "".join(f"<li>{text}" for text in records)
    tree = read(f"<h2>{heading}</h2><ul>{items}</ul>{pager}<p>Since 1999", url="http://h/s?q=a")
    assert read_totals(tree, records).total == total


def test_totals_are_judged_over_the_pages_of_a_query() -> None:
    constant = [StatedTotals(total=45, first=n, last=n + 19) for n in (1, 21)]
    assert judge_totals(constant, 40) == "constant"
    assert judge_totals([StatedTotals(total=n + 5, first=n - 9, last=n) for n in (10, 20, 30)], 30) == "growing"
    assert (
        judge_totals([StatedTotals(total=1200, hedge="about"), StatedTotals(total=1130, hedge="about")], 40)
        == "estimate"
    )
    assert judge_totals([StatedTotals(total=5000)], 40, is_complete=True) == "false"
    assert judge_totals([StatedTotals(total=5000, cap=40)], 40, is_complete=True) == "constant"
    assert judge_totals([StatedTotals(total=10)], 40) == "false"
    assert judge_totals([StatedTotals()], 40) == "unknown"


def test_the_result_cap_of_the_demo_site_is_read(demo: Running) -> None:
    with urlopen(f"{demo.url}search?q=united") as answer:  # noqa: S310 # our own server
        stated = read_totals(read(answer.read()))
    assert (stated.first, stated.last, stated.cap) == (1, 20, 200)
    assert stated.total is not None
    assert stated.total > 200


@given(malformed_pages())
def test_a_range_never_exceeds_its_total(tree: TagTree) -> None:
    stated = read_totals(tree)
    assert stated.total is None or stated.last is None or stated.last <= stated.total


LIST = [f"the {first} of {second}" for first in ("amber", "birch", "cedar", "dune") for second in ("heath", "islet")]


def answer_with(line: str, pager: str) -> TagTree:
    """An answer whose list is below a line and above a pager."""
    items = "".join(f"<li><a href=/t/{at}>{text}</a>" for at, text in enumerate(LIST))
    return read(f"<body><div><p>{line}</p><ul>{items}</ul>{pager}</div>", url="http://h/s?q=x")


@pytest.mark.parametrize(
    ("line", "total", "cap"),
    [
        ("2200 Stellen gefunden", 2200, None),
        ("2200 Stellen gefunden; angezeigt werden die ersten 200", 2200, 200),
        ("34 titels gevonden", 34, None),
        ("87 strumenti trovati", 87, None),
        ("2400 sujets trouvés", 2400, None),
        ("Su búsqueda ha devuelto 2400 asociaciones", 2400, None),
        ("عدد النتائج: 3000", 3000, None),
        ("Seite 1 von 35", None, None),
        ("Last 24 hours", None, None),
        ("$6,475 a month", None, None),
        ("8 per page", None, None),
    ],
)
def test_a_total_with_an_unknown_noun_is_told_from_other_numbers(line: str, total: int | None, cap: int | None) -> None:
    stated = read_totals(answer_with(line, '<a href="/s?q=x&page=2">2</a> <a href="/s?q=x&page=3">3</a>'), LIST, "x")
    assert (stated.total, stated.cap) == (total, cap)


def test_a_number_that_all_answers_state_is_no_total() -> None:
    tree = answer_with("Search in 3000 books", '<a href="/s?q=x&page=2">2</a> <a href="/s?q=x&page=3">3</a>')
    assert read_totals(tree, LIST, "x", frame=["Search in 3000 books"]).total is None


@pytest.mark.parametrize(
    ("data", "total"),
    [
        ({"totalCount": 3000, "items": []}, 3000),
        ({"draw": 2, "recordsTotal": 5000, "recordsFiltered": 300, "data": []}, 300),
        ({"draw": 2, "recordsTotal": 5000, "recordsFiltered": 8, "data": []}, 8),
        ({"nbHits": 87, "hitsPerPage": 8, "nbPages": 11, "hits": []}, 87),
        ({"hits": {"total": {"value": 10000, "relation": "gte"}, "hits": []}}, 10000),
        ({"limit": 8, "estimatedTotalHits": 61, "hits": []}, 61),
        ({"page": 2, "per_page": 8, "items": []}, None),
    ],
)
def test_totals_of_data_are_read(data: dict[str, Any], total: int | None) -> None:
    """The number of matches, not that of all records, of pages or of records on the page."""
    inner = data["hits"] if isinstance(data.get("hits"), dict) else data
    name = next(name for name, value in inner.items() if value == [])
    inner[name] = [{"id": at, "name": text} for at, text in enumerate(LIST)]
    tree = read_page(json.dumps(data).encode(), "http://h/api?q=x", {"Content-Type": "application/json"})
    texts = [" ".join(tree.text(row).split()) for row in tree.rows("li").tolist()]
    assert read_totals(tree, texts, "x").total == total


@pytest.mark.parametrize(
    ("data", "hedge"),
    [
        ({"hits": {"total": {"value": 10000, "relation": "gte"}, "hits": []}}, "at least"),
        ({"hits": {"total": {"value": 10000, "relation": "eq"}, "hits": []}}, ""),
        ({"limit": 8, "estimatedTotalHits": 61, "hits": []}, "about"),
    ],
)
def test_fields_hedge_their_total(data: dict[str, Any], hedge: str) -> None:
    tree = read_page(json.dumps(data).encode(), "http://h/api?q=x", {"Content-Type": "application/json"})
    assert read_totals(tree, LIST).hedge == hedge


@pytest.mark.parametrize(
    ("headers", "total"),
    [
        ({"X-Total-Count": "300"}, 300),
        ({"Content-Range": "items 0-7/319"}, 319),
        ({"Content-Range": "bytes 0-7/319"}, None),
        ({"X-RateLimit-Limit": "300", "Content-Length": "4321"}, None),
        ({"X-Total": "300", "X-Total-Pages": "38", "X-Per-Page": "8"}, 300),
    ],
)
def test_totals_of_headers_are_read(headers: dict[str, str], total: int | None) -> None:
    body = json.dumps([{"id": at, "name": text} for at, text in enumerate(LIST)]).encode()
    tree = read_page(body, "http://h/api?q=x", {"Content-Type": "application/json"})
    texts = [" ".join(tree.text(row).split()) for row in tree.rows("li").tolist()]
    assert read_totals(tree, texts, "x", headers).total == total
