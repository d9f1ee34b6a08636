"""Tables with more records than are held in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from upwell.store.state import State
from upwell.table.build import Table, build_tables
from upwell.table.rows import StreamedRows
from upwell.table.user_schema import UserSchema
from upwell.table.writers import FORMATS, Format, write
from upwell.types import Record

RECORDS, HELD = 4000, 1500  # the first thousand records of a source are always in the sample
LAST = RECORDS - 2  # not in the sample


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    """Create a state with two kinds of pages, prices in two currencies, dates, units, a rare field, and values that only a late record has."""
    with State() as state:
        for n in range(RECORDS):
            fields = {
                "title": f"Thing {n * 7919 % 10007}",
                "n": str(n),
                "price": f"${n}.50" if n % 2 else f"{n}.50 €",
                "day": f"{n % 28 + 1:02}.{n % 12 + 1:02}.2004",
                "way": f"{n % 997 + 3} km",
                "rank": "n/a" if n == LAST else str(n % 50),
                "label": "other" if n == LAST else "always",
            }
            if n % 200 == 7:
                fields["rare"] = f"r{n}"
            url = f"http://x.example/item/{n}"
            origin = {
                "_source": "http://x.example/?q={}",
                "_query": "q",
                "_page": "",
                "_fetched": "2024-01-01T00:00+00:00",
            }
            state.add([Record(key=url, url=url, path="/", text="", fields=fields)], origin)
            if n % 4 == 0:
                state.add_details(url, {"detail": f"d {n * 3}", "next": f"Thing {(n + 1) * 7919 % 10007} →"})
        yield state


@pytest.fixture(scope="module")
def rows(state: State) -> StreamedRows:
    """Read the rows of the table of the state."""
    found = one_table(state, HELD).rows
    assert isinstance(found, StreamedRows)
    return found


def one_table(state: State, max_held: int) -> Table:
    (table,) = build_tables(state, max_held=max_held)
    return table


def test_streamed_rows_equal_rows_in_memory(state: State) -> None:
    """Types, units, currencies, fill and links to neighbouring records are the same; a value that looked constant in the sample is kept in `_other`."""
    held, streamed = one_table(state, RECORDS), one_table(state, HELD)
    assert isinstance(streamed.rows, StreamedRows)
    assert not isinstance(held.rows, StreamedRows)
    assert len(streamed.rows) == RECORDS
    assert streamed.types == {name: kind for name, kind in held.types.items() if name != "label"}
    assert streamed.types["rank"] == "text"
    assert streamed.types["n"] == "integer"
    assert "next" not in streamed.types
    assert streamed.fill() == {name: share for name, share in held.fill().items() if name != "label"}
    assert [name for name in held.names if name != "label"] == streamed.names
    for before, now in zip(held.rows, streamed.rows, strict=True):
        label, other = before.pop("label"), now.pop("_other")
        assert before.pop("_other") == (other.removeprefix(f"label: {label}").removeprefix("; ") or None)
        assert before == now


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_writes_streamed_rows(format: Format, rows: StreamedRows, tmp_path: Path) -> None:
    """The files have the same bytes as those of rows in memory."""
    streamed = write(rows, tmp_path, format, name="streamed", keep_order=True)
    listed = write(list(rows), tmp_path, format, name="listed", columns=rows.names)
    if format in ("duckdb", "xlsx"):  # these contain the time or a random number
        assert abs(streamed.stat().st_size - listed.stat().st_size) <= 2**18
    else:
        assert streamed.read_bytes() == listed.read_bytes()


def test_columns_of_streamed_rows_can_be_chosen(state: State) -> None:
    """In the requested order, with the unit or currency of a column."""
    (table,) = build_tables(state, max_held=HELD, schema=UserSchema.parse(["price", "name=title"]))
    assert [name for name in table.names if not name.startswith("_")] == ["price", "price_currency", "name"]
    assert table.rows[1]["price_currency"] == "$"
    assert list(table.fill()) == ["price", "name"]
    assert "title" in [column.name for column in table.columns]  # source.json keeps its own names
    (table,) = build_tables(state, max_held=HELD, schema=UserSchema.parse(["title", "_key"], is_plain=True))
    assert list(table.rows[5]) == ["title", "_key"]
    assert len(table.rows[::1000]) == RECORDS / 1000
