"""The schema that the user asks for decides names, order and types of the columns, whatever the rows contain."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from upwell.errors import WrongUsage
from upwell.table.build import Table, table_of_rows
from upwell.table.user_schema import UserSchema, schema_json
from upwell.table.writers import write, write_together

BOOKS: list[dict[str, object]] = [
    {"_key": f"k{i}", "_url": f"/book/{i}", "title": f"Book of {word}", "year": f"{1990 + i} edition" if i % 2 else "n/a", "shop": "North"}
    for i, word in enumerate(("rivers", "storms", "hills", "winds", "ships", "birds"))
]  # fmt: skip


def made(*columns: str, **options: object) -> Table:
    return table_of_rows(BOOKS, schema=UserSchema.parse(columns, **options))  # type: ignore[arg-type] # each test names valid ones


def test_columns_are_ordered_and_renamed() -> None:
    table = made("when=year", "title", "_url")
    assert table.names == ["when", "title", "_url", "_key"]
    assert table.rows[1]["when"] == "1991 edition"


def test_a_named_column_is_there_even_if_constant() -> None:
    assert "shop" not in table_of_rows(BOOKS).names
    assert {row["shop"] for row in made("shop", "title").rows} == {"North"}


def test_texts_of_another_type_than_the_chosen_one_are_empty_and_reported() -> None:
    table = made("year:int")
    assert [row["year"] for row in table.rows] == [None, 1991, None, 1993, None, 1995]
    assert table.types == {"year": "integer"}
    assert "'n/a'" in table.notices[0]


@pytest.mark.parametrize(("columns", "drop"), [(["titel"], []), ([], ["titel"])])
def test_an_unknown_name_is_an_error_with_the_nearest_ones(columns: list[str], drop: list[str]) -> None:
    with pytest.raises(WrongUsage, match="no column is called titel; did you mean title"):
        made(*columns, drop=drop)


def test_a_schema_file_pins_names_and_types_for_other_rows() -> None:
    """A column that other rows cannot fill is empty, and said to be; one with another name is recognised by its field."""
    saved = schema_json({"": made("when=year", "title", "shop").columns})
    assert [column["name"] for column in saved["columns"]] == ["title", "year", "shop"]
    saved["columns"][1]["name"] = "published"
    schema = UserSchema.parse(file=json.dumps(saved))
    others = [{"title": f"Other {row['title']}", "year": row["year"]} for row in BOOKS]
    table = table_of_rows(others, schema=schema)
    assert table.names == ["title", "published", "shop"]
    assert [row["shop"] for row in table.rows] == [None] * len(BOOKS)
    assert "shop" in table.notices[0]


def test_plain_tables_have_no_columns_of_upwell_but_named_ones() -> None:
    assert made(is_plain=True).names == ["title", "year"]
    assert made("title", "_key", is_plain=True).names == ["title", "_key"]


@pytest.mark.parametrize("text", ["title:colour", "=old", "new=", "", "a=b,", "x=a,x=b"])
def test_columns_that_cannot_be_understood_are_errors(text: str) -> None:
    with pytest.raises(WrongUsage):
        UserSchema.parse(text.split(","))


@pytest.mark.parametrize(
    "text", ["", "[", "[[1]]", "{}", '{"columns": [{"type": "int"}]}', '{"tables": {"a": 3}}', '"x"', "[1]"]
)
def test_damaged_schema_files_are_errors(text: str) -> None:
    with pytest.raises(WrongUsage):
        UserSchema.parse(file=text or " ")


def test_people_see_their_columns_first(tmp_path: Path) -> None:
    table = table_of_rows(BOOKS)
    header = write(table.rows, tmp_path, "csv").read_text().splitlines()[0]
    assert header == "title,year,_key,_url"


def test_several_tables_go_into_one_file(tmp_path: Path) -> None:
    tables = {"records-book": table_of_rows(BOOKS).rows, "records-shop": table_of_rows(BOOKS[:2]).rows}
    file = write_together(tables, tmp_path / "all.sqlite", "sqlite")
    with closing(sqlite3.connect(file)) as database:
        assert database.execute('SELECT count(*) FROM "records-book"').fetchone() == (6,)
        found = database.execute("""SELECT rowid FROM "records-book_fts" WHERE "records-book_fts" MATCH 'storms'""")
        assert found.fetchall() == [(2,)]
        assert database.execute('SELECT count(*) FROM "records-shop"').fetchone() == (2,)
    assert write_together(tables, tmp_path / "all.xlsx", "xlsx").stat().st_size > 5000
    assert write_together(tables, tmp_path / "all.duckdb", "duckdb").is_file()
