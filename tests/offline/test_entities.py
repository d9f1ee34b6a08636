"""`upwell entities` on folders: JSON, tables, several templates, and invalid input."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from upwell import entities
from upwell.cli import app
from upwell.errors import WrongUsage


def lamp(n: int) -> str:
    tags = "".join(f"<a href=/tag/{n + i}>tag {n + i}</a> " for i in range(1 + n % 3))
    return (
        f"<title>Lamp {n} | Shop</title><ul class=menu><li>Home<li>Basket</ul><h1>Lamp {n}</h1><dl><dt>Weight<dd>{n + 100} g<dt>Price"
        f"<dd>$ {n}.50<dt>Since<dd>{n + 1} May 2010</dl><p>Number: {n}</p><p><b>Tags:</b> {tags}</p><div class=foot>Terms of use</div>"
    )


def song(n: int) -> str:
    return f"<title>Song {n}</title><section class=song><h2 class=name>Song {n}</h2><em>by Singer {n}</em><code>{n}:30</code></section>"


def folder(path: Path, pages: dict[str, str]) -> Path:
    path.mkdir()
    for name, text in pages.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


def test_each_page_has_a_line_with_the_same_columns(tmp_path: Path) -> None:
    """Pages are in order; texts are as written in the page."""
    pages = {f"{n}.html": lamp(n) for n in range(6)}
    place = folder(tmp_path / "a", pages | {"7.html": "<title>Lamp 7 | Shop</title><h1>Lamp 7</h1>"})
    done = CliRunner().invoke(app, ["entities", str(place), "--json"])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["page"] for row in rows] == [*(f"{n}.html" for n in range(6)), "7.html"]
    assert all(list(row) == ["page", "fields"] for row in rows)
    assert len({tuple(row["fields"]) for row in rows}) == 1
    assert rows[2]["fields"]["weight"] == "102 g"
    assert rows[2]["fields"]["number"] == "Number: 2"
    assert rows[2]["fields"]["tags"] == ["tag 2", "tag 3", "tag 4"]
    assert rows[6]["fields"]["title"] == "Lamp 7"
    assert rows[6]["fields"]["weight"] is None


def test_the_table_has_types_lists_and_no_label_words(tmp_path: Path) -> None:
    """Prices, dates and numbers are typed; several texts are a list; each format has the same rows."""
    place = folder(tmp_path / "a", {f"{n}.html": lamp(n) for n in range(6)})
    for format in ("parquet", "csv", "sqlite", "jsonl"):
        list(entities(place, out=tmp_path / "out", format=format))
    table = pq.read_table(tmp_path / "out" / "entities.parquet").to_pylist()
    assert [row["_page"] for row in table] == [f"{n}.html" for n in range(6)]
    assert (table[2]["title"], table[2]["price"], table[2]["weight_g"]) == ("Lamp 2", 2.5, 102)
    assert (table[2]["number"], str(table[2]["since"]), table[1]["tags"]) == (2, "2010-05-03", ["tag 1", "tag 2"])
    with (tmp_path / "out" / "entities.csv").open(encoding="utf-8", newline="") as lines:
        assert next(csv.DictReader(lines))["tags"] == "tag 0"
    with closing(sqlite3.connect(tmp_path / "out" / "entities.sqlite")) as database:
        assert database.execute("SELECT count(*), max(number) FROM records").fetchone() == (6, 5)
    assert len((tmp_path / "out" / "entities.jsonl").read_text().splitlines()) == 6


def test_a_saved_model_can_be_edited_and_applied(tmp_path: Path) -> None:
    """With --save, then --model, the rows are the same; a renamed column has its new name."""
    place = folder(tmp_path / "a", {f"{n}.html": lamp(n) for n in range(6)})
    model = tmp_path / "columns.json"
    first = CliRunner().invoke(app, ["entities", str(place), "--json", "--save", str(model)])
    again = CliRunner().invoke(app, ["entities", str(place), "--json", "--model", str(model)])
    assert first.stdout == again.stdout
    model.write_text(model.read_text().replace('"name": "weight"', '"name": "mass"'))
    edited = CliRunner().invoke(app, ["entities", str(place), "--json", "--model", str(model)])
    assert json.loads(edited.stdout.splitlines()[0])["fields"]["mass"] == "100 g"


def test_pages_of_two_templates_are_separated(tmp_path: Path) -> None:
    """A warning is printed; each template has its own columns and table."""
    pages = {f"{n:02}.html": lamp(n) for n in range(6)} | {f"{n:02}.html": song(n) for n in range(6, 9)}
    said: list[str] = []
    found = list(entities(folder(tmp_path / "a", pages), out=tmp_path / "out", format="jsonl", warn=said.append))
    assert said == ["these pages use 2 templates (6 and 3 pages); each gets its own columns"]
    assert [page.template for page in found] == [0] * 6 + [1] * 3
    assert found[0].fields["title"] == "Lamp 0"
    assert found[8].fields["title"] == "Song 8"
    assert "weight" not in found[8].fields
    assert len((tmp_path / "out" / "entities-2.jsonl").read_text().splitlines()) == 3


def test_a_page_without_text_is_reported_and_has_no_row(tmp_path: Path) -> None:
    """The other pages are read as usual."""
    pages = {f"{n}.html": lamp(n) for n in range(4)}
    said: list[str] = []
    found = list(entities(folder(tmp_path / "a", pages | {"2.html": "<br>"}), warn=said.append))
    assert [page.page for page in found] == ["0.html", "1.html", "3.html"]
    assert said == ["2.html: this page has no text and is skipped"]


def test_a_single_page_is_read_with_a_warning(tmp_path: Path) -> None:
    """A file instead of a folder; its labels are found."""
    place = folder(tmp_path / "a", {"0.html": lamp(0)})
    said: list[str] = []
    (page,) = entities(place / "0.html", warn=said.append)
    assert (page.fields["title"], page.fields["weight"]) == ("Lamp 0", "100 g")
    assert said[0].startswith("only one page")


def test_thousands_of_fields_are_reported(tmp_path: Path) -> None:
    """The best columns are kept, and the number of omitted ones is reported."""
    rows = ["".join(f"<tr><td>Field {i}:</td><td>{i * 7 + n}</td></tr>" for i in range(1000)) for n in range(3)]
    place = folder(
        tmp_path / "a", {f"{n}.html": f"<h1>Thing {n}</h1><table>{row}</table>" for n, row in enumerate(rows)}
    )
    said: list[str] = []
    found = list(entities(place, warn=said.append))
    assert len(found[0].fields) == 40
    assert said == ["these pages have about 961 more fields than the 40 columns that are kept"]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({}, "no HTML, JSON or WARC files"),
        ({"notes.txt": "no page"}, "no HTML, JSON or WARC files"),
        ({"empty.html": "", "other.html": "<br>"}, "no page contains text"),
    ],
)
def test_invalid_paths_are_rejected(pages: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=message):
        list(entities(folder(tmp_path / "a", pages)))


def test_binary_files_have_no_columns(tmp_path: Path) -> None:
    """A picture called .html is a page without columns."""
    place = folder(tmp_path / "a", {f"{n}.html": lamp(n) for n in range(4)})
    (place / "9.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    found = list(entities(place))
    assert [page.fields.get("title") for page in found][:4] == [f"Lamp {n}" for n in range(4)]
