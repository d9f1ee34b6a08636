"""Columns of a source: names, types and keys, from many kinds of markup."""

import json

import pytest

from upwell.page.formats import json_as_html
from upwell.page.tree import TagTree, read
from upwell.records.column_names import name_on_page, table_headings
from upwell.records.fields import fields_of_subtree
from upwell.records.record_columns import OTHER_COLUMN
from upwell.records.values import column_type, parse_value
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel, load
from upwell.types import Record

WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "junco", "kelp", "larch"]


def answer(around: str, one: str, first: int, n: int = 6) -> TagTree:
    hits = "".join(one.format(w=WORDS[(first + i) % 12], i=first * 10 + i, n=i + 1, s="ab"[i % 2]) for i in range(n))
    menu = "<ul class=menu><li><a href=/>Home</a><li><a href=/a>About</a></ul>"
    return read(f"<title>Found</title>{menu}{around.format(hits)}<p>Made here.", url="http://h/s?q=x")


def records(around: str, one: str) -> tuple[SourceModel, list[Record]]:
    """Learn a model from three answers, save and load it, and read a fourth answer with it."""
    model = load(learn_source([answer(around, one, first) for first in (0, 4, 8)]).to_json())
    return model, list(apply(model, answer(around, one, 2)).records)


@pytest.mark.parametrize(
    ("around", "one", "want"),
    [
        (
            "<table><tr><th>Name<th>Year<th>Price</tr>{}</table>",
            "<tr class=row-{s}><td><a href=/t/{w}>{w} one</a><td>19{i:02}<td>$ {i}.50</tr>",
            {"name": "cedar one", "year": "1920", "price": "$ 20.50"},
        ),
        (
            "<main>{}</main>",
            "<div class='hit {s}'><h3 class=title><a href=/t/{w}>{w} one</a></h3><b>Price:</b> <i>{i}</i><p>Year: 19{i:02}</div>",
            {"title": "cedar one", "price": "20", "year": "1920"},
        ),
        (
            "<main>{}</main>",
            "<div><a href=/t/{w}>{w} one</a><dl><dt>Colour<dd>red {i}<dt>Size<dd>{i} cm</dl></div>",
            {"title": "cedar one", "colour": "red 20", "size": "20 cm"},
        ),
        (
            "<ol>{}</ol>",
            "<li itemscope><a itemprop=name href=/t/{w}>{w} one</a><span itemprop=price>{i}</span>",
            {"name": "cedar one", "price": "20"},
        ),
        (
            "<table>{}</table>",
            "<tr><td>{n}.<td><a href=/t/{w}>{w} one</a><tr><td><td>12 May 20{i:02}",
            {"tr_td": "1.", "title": "cedar one", "date": "12 May 2020"},
        ),
    ],
)  # fmt: skip
def test_column_names_come_from_the_page(around: str, one: str, want: dict[str, str]) -> None:
    """Headings, labels before and inside a text, terms, itemprop, classes; stripes do not divide columns."""
    _, read_records = records(around, one)
    assert read_records[0].fields == want
    assert [set(record.fields) for record in read_records] == [set(want)] * 6


def test_fields_of_a_single_record_are_named_by_the_page() -> None:
    """Class, itemprop or term, otherwise tags; in a table the heading of the column."""
    page = read(
        "<div><b class='title x1'>T</b><span itemprop=price>3</span><p>text<dl><dt>Color<dd>red</dl><a href=/x>l</a></div>"
    )
    fields = fields_of_subtree(page, int(page.rows("div")[0]))
    assert fields == {"title": "T", "price": "3", "div_p": "text", "color": "red", "div_a": "l"}
    page = read("<table><tr><th>Name<th>Year<tr><td>A<td><i>1999</i></table>")
    row = int(page.rows("tr")[1])
    cells = page.children(row)
    assert [name_on_page(page, cell, row, table_headings(page, row)) for cell in cells] == [
        ("heading", "name"),
        ("heading", "year"),
    ]


def test_highlighted_query_words_do_not_divide_a_text() -> None:
    shapes = [
        "Of {w} and {i} more",
        "Of <em class=found>{w}</em> and {i}",
        "<em class=found>{w}</em> is <em class=found>{w}</em> {i}",
    ]
    pages = []
    for first in (0, 4, 8):
        hits = "".join(
            f"<div><h3><a href=/t/{k}>{WORDS[k]}</a></h3><p class=about>{shapes[k % 3].format(w=WORDS[k], i=k)}</p></div>"
            for k in range(first, first + 4)
        )
        pages.append(read(f"<main>{hits}</main>"))
    texts = [record.fields["about"] for record in apply(learn_source(pages), pages[0]).records]
    assert texts == ["Of amber and 0 more", "Of birch and 1", "cedar is cedar 2", "Of dune and 3 more"]


def test_a_column_has_the_type_of_most_of_its_texts() -> None:
    model, _ = records(
        "<table>{}</table>",
        "<tr><td class=name><a href=/t/{w}>{w}<td class=n>1,{i:03}<td class=x>{i}.5<td class=cost>€ {i}<td class=day>2020-01-{i:02}",
    )
    types = model.columns.types
    assert types == {"n": "integer", "x": "decimal", "cost": "price", "day": "date"}
    assert parse_value("1,020", types["n"]) == 1020
    assert parse_value("€ 20", types["cost"]) == {"amount": 20.0, "currency": "€"}
    assert column_type(["3", "some", "words"]) == "text"
    assert column_type(["2.0.1", "1.1.0"]) == "text"


def test_optional_fields_do_not_shift_others_and_repeated_ones_are_one_column() -> None:
    one = "<div class=hit><h3 class=name><a href=/t/{w}>{w}</a></h3>%s<ul><li>red {i}<li>blue%s</ul><p class=by>Someone {i}</div>"
    pages = []
    for first in (0, 4, 8):
        plain = one % ("", "")
        full = one % ("<p class=note>Note {i}</p>", "<li>green {i}")
        hits = "".join((full if k % 2 else plain).format(w=WORDS[first + k], i=first + k) for k in range(4))
        pages.append(read(f"<main>{hits}</main>", url="http://h/s"))
    read_records = apply(learn_source(pages), pages[1]).records
    fields = [set(record.fields) - {"name", "by"} for record in read_records]
    assert fields == [{"div_ul_li"}, {"note", "div_ul_li"}] * 2
    assert read_records[1].fields["div_ul_li"] == "red 5; blue; green 5"
    assert [record.fields["by"] for record in read_records] == [f"Someone {i}" for i in range(4, 8)]


def test_texts_at_unknown_places_are_kept_in_the_other_column() -> None:
    model, _ = records("<main>{}</main>", "<div class=hit><a href=/t/{w}>{w} one</a><p class=by>By {i}</div>")
    later = answer(
        "<main>{}</main>", "<div class=hit><a href=/t/{w}>{w} one</a><p class=by>By {i}<p class=new>New {i}</div>", 3
    )
    assert apply(model, later).records[0].fields[OTHER_COLUMN] == "New 30"


def test_a_key_is_the_distinguishing_link_otherwise_an_id_otherwise_the_text_without_its_rank() -> None:
    _, read_records = records(
        "<main>{}</main>", "<div><a href=/by/me>me</a> <b><a href=/t/{w}?s={i}>{w}</a></b><p>{w} is {i}</div>"
    )
    assert read_records[0].key == "http://h/t/cedar?s=20"
    _, read_records = records("<main>{}</main>", "<div id=hit-99{i:04}><b>{w}</b><p>{w} is known</div>")
    assert read_records[0].key == "hit-990020"
    ranked = "<tr><td>{n}<td><b>{w}</b><td>{w} is known"
    model, read_records = records("<table>{}</table>", ranked)
    other_answer = apply(model, answer("<table>{}</table>", ranked, 1)).records
    assert read_records[0].fields["title"] == other_answer[1].fields["title"] == "cedar"
    assert read_records[0].key == other_answer[1].key


def test_json_ld_names_columns() -> None:
    pages = []
    for first in (0, 4, 8):
        words = WORDS[first : first + 4]
        data = json.dumps([{"@type": "Thing", "headline": f"All of {w}", "producer": f"Firm {w}"} for w in words])
        hits = "".join(f"<li><a href=/t/{w}>All of {w}</a> <span>Firm {w}</span>" for w in words)
        pages.append(read(f"<script type='application/ld+json'>{data}</script><ol>{hits}</ol>"))
    assert apply(learn_source(pages), pages[0]).records[1].fields == {
        "headline": "All of birch",
        "producer": "Firm birch",
    }


def test_records_of_json_answers_are_the_items_of_the_repeating_array() -> None:
    """Names and types are those of the data."""

    def body(first: int) -> bytes:
        items: list[dict[str, object]] = [
            {
                "id": 1000 + first + i,
                "name": f"All of {WORDS[(first + i) % 12]}",
                "url": f"/t/{first + i}",
                "price": {"amount": 9.5 + i, "currency": "EUR"},
                "line1": f"x{i}",
                "line2": f"y{i}",
                "tags": ["a", "b", "c"][: i % 3 + 1],
            }
            for i in range(6)
        ]
        facets = [{"name": "Colour", "values": ["red", "blue"]}]
        return json.dumps({"total": 283, "facets": facets, "results": {"items": items}}).encode()

    trees = [read(json_as_html(body(first)), url="http://h/api?q=x") for first in (0, 20, 40)]
    model = learn_source(trees)
    read_records = apply(model, trees[1]).records
    assert len(read_records) == 6
    assert read_records[2].key == "http://h/t/22"
    assert read_records[2].fields == {
        "id": "1022", "name": f"All of {WORDS[10]}", "url": "/t/22", "price_amount": "11.5", "price_currency": "EUR",
        "line1": "x2", "line2": "y2", "tags": "a; b; c",
    }  # fmt: skip
    assert model.columns.types["id"] == "integer"
    assert model.columns.types["price_amount"] == "decimal"


def test_names_do_not_depend_on_the_order_of_answers() -> None:
    around, one = "<main>{}</main>", "<div><a href=/t/{w}>{w} one</a><p>Of {i} kinds<p><i>{i} left</i></div>"
    pages = [answer(around, one, first) for first in (0, 4, 8)]
    forwards, backwards = learn_source(pages), learn_source(pages[::-1])
    later = answer(around, one, 2)
    assert [r.fields for r in apply(forwards, later).records] == [r.fields for r in apply(backwards, later).records]


def test_a_line_of_signs_in_plain_text_does_not_prevent_reading_records() -> None:
    """The line under the heading of a list may be cut as a record without letters."""
    model, read_records = records("<pre>Name      No\n==== ====\n{}</pre>", "{w} with one more  {i}\n")
    assert model.leader
    assert sum("with one more" in record.text for record in read_records) == 6


@pytest.mark.parametrize(
    ("around", "one"),
    [
        ("<div>{}</div>", "{n}. <a href=/t/{w}>{w} one of {i}</a><br>"),
        ("<div>{}</div>", "19{i:02} - <b><a href=/t/{w}>{w} one of {i}</a></b><br>"),
        ("<div><br>{}</div>", "19{i:02} - <a href=/t/{w}>{w} one of {i}</a>, a book<br>"),
        ("<pre>{}</pre>", "19{i:02}  <a href=/t/{w}>{w} one of {i}</a>\n"),
    ],
)
def test_records_that_begin_with_a_text_have_only_their_own_links(around: str, one: str) -> None:
    """If a record begins with a text of the container, the link of the record before is not part of it."""
    _, read_records = records(around, one)
    want = [f"/t/{word}" for word in WORDS[2:8]]
    assert [record.url for record in read_records] == [f"http://h{path}" for path in want]
    assert [list(record.links) for record in read_records] == [[path] for path in want]


def test_a_line_of_preformatted_text_begins_a_record() -> None:
    """As after <br>: the text at the beginning of a line belongs to that line, not to the record before."""
    _, read_records = records(
        "<pre>{}</pre>", "ii  <a href=/t/{w}>{w} one of {i}</a>   1.{i}  all  some text about {w}\n"
    )
    texts = [(WORDS[i], 18 + i) for i in range(2, 8)]
    assert [record.text for record in read_records] == [
        f"ii {w} one of {i} 1.{i} all some text about {w}" for w, i in texts
    ]


def test_a_highlight_in_every_record_does_not_divide_a_text() -> None:
    """The query may occur in the URL that every record shows."""
    pages = []
    for query in ("example", "org"):
        marked = "http://example.org/{}".replace(query, f"<span class=found>{query}</span>")
        hits = "".join(
            f"<div><h3><a href=/t/{word}>{word}</a></h3><p class=about>About {word}.</p><p class=site>{marked.format(word)}</p></div>"
            for word in WORDS[:8]
        )
        pages.append(read(f"<main>{hits}</main>", url=f"http://h/?q={query}"))
    model = learn_source(pages)
    for page in pages:
        fields = apply(model, page).records[0].fields
        assert "".join(fields["site"].split()) == f"http://example.org/{WORDS[0]}"
        assert "found" not in fields


def test_records_shown_in_two_blocks_keep_their_urls_as_keys() -> None:
    """Matches in titles and in texts may be the same records."""
    pages = []
    for first in (0, 6):
        hits = "".join(
            f"<li><a href=/t/{word}>{word}</a><p>About {word}.</p></li>" for word in WORDS[first : first + 6]
        )
        pages.append(read(f"<h2>Titles</h2><ul>{hits}</ul><h2>Texts</h2><ul>{hits}</ul>", url="http://h/?q=a"))
    keys = {record.key for record in apply(learn_source(pages), pages[0]).records}
    assert keys == {f"http://h/t/{word}" for word in WORDS[:6]}
