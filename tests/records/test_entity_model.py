"""Columns of record pages: labels, places, lists, statements, names; learning and applying agree."""

import json
from dataclasses import replace

import pytest

from upwell.errors import WrongUsage
from upwell.page.tree import TagTree, read
from upwell.records.entity_model import EntityModel, apply_entity_model, learn_entities, load_model

FIRMS = ["Aster", "Birch & Sons", "Cedar Works", "Dune", "Ember", "Fjord", "Grove", "Heath"]
COLOURS = ["red", "green", "blue", "white", "black", "grey"]


def lamp(n: int, *, with_maker: bool = True, extra: str = "") -> TagTree:
    """Return a page of a shop: menu, headline, labelled fields (some optional), links in a list, footer."""
    maker = f"<tr><td>Maker</td><td>{FIRMS[n % 8]}</td></tr>" if with_maker else ""
    colours = ", ".join(f"<a href=/colour/{c}>{c}</a>" for c in COLOURS[: 1 + n % 4])
    return read(
        f"<title>Lamp {n} | The Lamp Shop</title><ul class=menu><li>Home<li>Basket<li>About us</ul><h1>Lamp {n}</h1>"
        f"<p class=price>$ {n + 3}.50</p><table>{maker}<tr><td>Weight</td><td>{n + 100} g</td></tr>"
        f"<tr><td>Bulb</td><td>{'E27' if n % 2 else 'E14'}</td></tr></table><p><b>Colours:</b> {colours}</p>"
        f"<p>Article number: {7000 + n}</p>{extra}<div class=foot>Call us <a href=/help>Help</a></div>",
        url=f"http://shop.example/lamp/{n}",
    )


def lamps(count: int = 12) -> list[TagTree]:
    return [lamp(n, with_maker=n % 3 != 1) for n in range(count)]


def test_every_field_has_the_name_that_the_site_gives() -> None:
    """Labels in the previous cell, in the line or inside the text, and classes; optional fields do not shift others."""
    pages = lamps()
    model = learn_entities(pages)
    assert apply_entity_model(model, pages[5]) == {
        "title": "Lamp 5",
        "price": "$ 8.50",
        "maker": "Fjord",
        "weight": "105 g",
        "bulb": "E27",
        "colours": ["red", "green"],
        "article_number": "Article number: 7005",
        "page_title": "Lamp 5 | The Lamp Shop",
    }
    without = apply_entity_model(model, pages[4])
    assert "maker" not in without
    assert (without["weight"], without["bulb"]) == ("104 g", "E14")


def test_texts_that_all_pages_share_are_not_columns() -> None:
    pages = lamps()
    model = learn_entities(pages)
    rows = [apply_entity_model(model, page) for page in pages]
    for column in model.columns:
        assert len({json.dumps(row[column.name]) for row in rows if column.name in row}) > 1
    assert not {"Home", "Basket", "Call us", "Help"} & {
        text for row in rows for text in row.values() if isinstance(text, str)
    }


def test_the_order_of_pages_does_not_matter() -> None:
    pages = lamps()
    model, backwards = learn_entities(pages), learn_entities(pages[::-1])
    assert {(c.name, c.at) for c in model.columns} == {(c.name, c.at) for c in backwards.columns}
    assert [apply_entity_model(model, page) for page in pages] == [
        apply_entity_model(backwards, page) for page in pages
    ]


def test_a_saved_model_is_equal_and_can_be_edited() -> None:
    """Columns may be renamed and dropped."""
    pages = lamps()
    model = learn_entities(pages)
    saved = json.loads(model.to_json())
    assert load_model(model.to_json()) == model
    (weight,) = [column for column in saved["columns"] if column["name"] == "weight"]
    weight["name"] = "mass"
    saved["columns"] = [column for column in saved["columns"] if column["name"] != "bulb"]
    edited = apply_entity_model(load_model(json.dumps(saved)), pages[5])
    assert edited["mass"] == "105 g"
    assert "bulb" not in edited


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 99}', '{"version": 1, "columns": [{}], "template": {}}'])
def test_an_invalid_model_is_rejected(text: str) -> None:
    with pytest.raises(WrongUsage, match=r"not an entity model|version"):
        load_model(text)


def test_a_model_of_four_pages_reads_others() -> None:
    model = learn_entities(lamps(4))
    assert apply_entity_model(model, lamp(40))["weight"] == "140 g"
    assert apply_entity_model(model, lamp(40))["title"] == "Lamp 40"


def test_a_single_page_has_the_columns_that_it_names() -> None:
    """By labels, terms, microdata, JSON-LD and the headline; the menu is not data."""
    page = read(
        "<title>Lamp 5 | Shop</title><ul><li>Home<li>Basket</ul><h1>Lamp 5</h1><dl><dt>Maker<dd>Fjord</dl><p>Weight: <b>105 g</b></p>"
        "<span itemprop=sku>L-5</span><time itemprop=releaseDate datetime=2024-02-01>in spring</time>"
        '<script type="application/ld+json">{"@type": "Product", "offers": {"price": 8.5}, "gtin": "400123"}</script>'
    )
    fields = apply_entity_model(learn_entities([page]), page)
    assert (
        fields.items() >= {"title": "Lamp 5", "maker": "Fjord", "weight": "105 g", "sku": "L-5", "price": "8.5"}.items()
    )
    assert fields["gtin"] == "400123"
    assert not {"Home", "Basket"} & set(map(str, fields.values()))


def test_json_ld_names_the_column_with_the_same_values() -> None:
    """JSON-LD properties that are not shown on the page are columns, too."""
    pages = [
        read(
            f"<h1>Lamp {n}</h1><div><span>{FIRMS[n]}</span></div>"
            f'<script type="application/ld+json">{{"brand": {{"name": "{FIRMS[n]}"}}, "mpn": "M{n}"}}</script>'
        )
        for n in range(8)
    ]
    fields = apply_entity_model(learn_entities(pages), pages[3])
    assert fields == {"title": "Lamp 3", "name": "Dune", "mpn": "M3"}


def test_an_id_is_a_place_unless_it_is_numbered() -> None:
    """#cost is one column at any position; ids that differ only by a number are not names."""

    def page(n: int) -> TagTree:
        notice = "<div><span>New today</span></div>" if n % 2 else ""
        rows = "".join(f"<div><span id=row{i}>{FIRMS[(n * 3 + i) % 8]}</span></div>" for i in range(n % 3 + 1))
        return read(f"<h1>Thing {n}</h1>{notice}<div><span id=cost>$ {n}</span></div>{rows}")

    pages = [page(n) for n in range(8)]
    model = learn_entities(pages)
    assert [apply_entity_model(model, tree)["cost"] for tree in pages] == [f"$ {n}" for n in range(8)]
    assert not [column for column in model.columns if column.at.place.startswith("#row")]


def test_a_value_that_many_pages_share_is_not_a_label() -> None:
    """ "Public" and "Private" alternate after the same heading: they are values, although each is on half of the pages."""
    pages = [
        read(f"<h1>College {n}</h1><h3>Type of school</h3><ul><li>{'Private' if n % 2 else 'Public'}<li>Coed</ul>")
        for n in range(10)
    ]
    model = learn_entities(pages)
    assert [apply_entity_model(model, page)["type_of_school"] for page in pages] == ["Public", "Private"] * 5


def test_a_paragraph_with_bold_and_linked_words_is_one_text() -> None:
    """Several paragraphs are a list."""

    def page(n: int) -> TagTree:
        lines = "".join(
            f"<p>The {'small' if i % 2 else 'tall'} lamp number {n}.{i} was made <b>by hand</b> in the year {1900 + n}, and whoever looks at it "
            f"will see that <a href=/x>{FIRMS[(n + i) % 8]}</a> did so with care and patience over many long evenings.</p>"
            for i in range(1 + n % 3)
        )
        return read(f"<h1>Lamp {n}</h1><div class=about>{lines}</div><p>Made in: <b>{FIRMS[n]}</b></p>")

    pages = [page(n) for n in range(8)]
    fields = apply_entity_model(learn_entities(pages), pages[4])
    assert isinstance(fields["about"], list)
    assert [text[:30] for text in fields["about"]] == [
        "The tall lamp number 4.0 was m",
        "The small lamp number 4.1 was m"[:30],
    ]
    assert "by hand in the year 1904" in fields["about"][0]
    assert fields["made_in"] == "Ember"
    assert set(fields) == {"title", "about", "made_in"}


def test_labelled_constants_are_kept_on_request() -> None:
    """Later pages may have other values."""
    pages = [read(f"<h1>Lamp {n}</h1><dl><dt>Maker:<dd>Aster<dt>Weight:<dd>{n} g</dl>") for n in range(3)]
    later = read("<h1>Lamp 9</h1><dl><dt>Maker:<dd>Grove<dt>Weight:<dd>9 g</dl>")
    assert "maker" not in apply_entity_model(learn_entities(pages), later)
    assert apply_entity_model(learn_entities(pages, keep_constants=True), later)["maker"] == "Grove"


def test_pages_with_thousands_of_fields_have_forty_columns() -> None:
    """Deeply nested tables are read, too."""
    rows = ["".join(f"<tr><td>Field {i}:</td><td>{i * 7 + n}</td></tr>" for i in range(3000)) for n in range(3)]
    model = learn_entities([read(f"<h1>Thing {n}</h1><table>{row}</table>") for n, row in enumerate(rows)])
    assert len(model.columns) == 40
    nested = "<table><tr><td>Depth:</td><td>" * 60
    deep = [read(f"<h1>Thing {n}</h1>{nested}{n} m") for n in range(3)]
    assert apply_entity_model(learn_entities(deep), deep[2])["title"] == "Thing 2"


def test_empty_and_identical_pages_have_no_columns() -> None:
    assert learn_entities([read("")]).columns == ()
    same = [read("<h1>Lamp</h1><p>Weight: <b>3 g</b>") for _ in range(4)]
    assert learn_entities(same).columns == ()
    empty = EntityModel(columns=(), template=learn_entities(same).template)
    assert apply_entity_model(empty, same[0]) == {}
    assert replace(empty, version=1) == empty


FEW_VALUES = {
    "Type": ("Book", "Article"),
    "Language": ("English", "English", "English", "French"),
    "License": ("free", "paid"),
    "Place": ("Rome", "Oslo"),
}


def page_with_pairs(number: int, row: str) -> tuple[dict[str, str], TagTree]:
    """A record page with a different choice of fields on each page; most have few values."""
    fields = {
        name: values[number * 7 // 3 % len(values)]
        for at, (name, values) in enumerate(FEW_VALUES.items())
        if number // (at + 1) % 3
    }
    fields |= (
        {"Author": f"Writer {number * 37 % 101}", "Series": f"Shelf {number}"}
        if number % 2
        else {"Author": f"Poet {number}"}
    )
    pairs = "".join(row.format(name, value) for name, value in fields.items())
    return fields, read(f"<title>Work {number}</title><h1>Work {number}</h1><dl>{pairs}</dl>", url=f"http://h/{number}")


@pytest.mark.parametrize("row", ["<dt>{}</dt><dd>{}</dd>", "<div><b class=k>{}</b><p class=v>{}</p></div>"])
def test_a_value_is_never_in_the_column_of_another_label(row: str) -> None:
    """A value that most pages share ("English") is no label, and a label with one usual value names it."""
    pages = [page_with_pairs(number, row) for number in range(1, 61)]
    model = learn_entities([tree for _, tree in pages[:30]])
    for fields, tree in pages[30:]:
        read_fields = {name.title(): value for name, value in apply_entity_model(model, tree).items()}
        for name in (*FEW_VALUES, "Author", "Series"):
            assert read_fields.get(name, fields.get(name)) == fields.get(name)
        others = {value for name, value in read_fields.items() if name not in fields and isinstance(value, str)}
        assert not others & set(fields.values())


def test_the_label_of_an_empty_cell_has_no_value() -> None:
    """The text after the table is not the value of its last label."""

    def page(n: int) -> TagTree:
        return read(
            f"<h1>Ticket {n}</h1><table><tr><th>Owner:<td>{FIRMS[n % 8]} {n}<tr><th>Cc:<td></table><div><p>Package number {n} of the shop</p></div>"
        )

    pages = [page(n) for n in range(10)]
    rows = [apply_entity_model(learn_entities(pages), tree) for tree in pages]
    assert all("cc" not in row for row in rows)
    assert "Package number 3 of the shop" in rows[3].values()


def test_classes_of_frameworks_and_data_are_no_names() -> None:
    def page(n: int) -> TagTree:
        return read(
            f"<h1>Thing {n}</h1><div><span class='fw-bold text-muted'>{FIRMS[n % 8]} {n}</span></div>"
            f"<table><tr><td>Anna &lt;anna@example.org&gt;<tr><td>{n} 20{10 + n} x</table>"
        )

    pages = [page(n) for n in range(10)]
    names = {column.name for column in learn_entities(pages).columns}
    assert not {name for name in names if "bold" in name or "muted" in name or "anna" in name}
