"""`upwell queries --snapshot` with tables of harvests, on the command line."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from upwell.cli import app
from upwell.errors import WrongUsage
from upwell.table import writers as records

ROWS: list[dict[str, object]] = [
    {"_key": f"k{i}", "_query": "hidden", "title": f"river{i % 5} story", "author": f"writer{i % 3}", "pages": 100 + i}
    | {"link": f"http://books.example/{i}", "year": f"{1990 + i}-01-02"}
    for i in range(30)
]
TITLES = {"story", *(f"river{i}" for i in range(5))}
AUTHORS = {f"writer{i}" for i in range(3)}


def asked(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["queries", *map(str, arguments), "--json"])


def words(*arguments: str | Path) -> set[str]:
    done = asked(*arguments)
    assert done.exit_code == 0, done.exception
    return {json.loads(line)["query"] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("format", records.READABLE)
def test_every_format_of_a_harvest_is_a_snapshot(format: records.Format, tmp_path: Path) -> None:
    """The file, its folder and the parent folder give the same texts, without numbers, dates, URLs and columns with `_`."""
    site = tmp_path / "books.example"
    site.mkdir()
    table = records.write(ROWS, site, format)
    for place in (table, site, tmp_path):
        assert words("--snapshot", place) == TITLES | AUTHORS
    assert words("--snapshot", table, "--column", "author") == AUTHORS
    assert words("--snapshot", table, "--column", "author", "--column", "title") == TITLES | AUTHORS
    assert words("--snapshot", table, "--column", "_query") == {"hidden"}


def test_a_text_column_is_preferred(tmp_path: Path) -> None:
    """A .txt file has one text per line."""
    pq.write_table(pa.table({"text": ["lima peru", "quito"], "note": ["aaa", "bbb"]}), tmp_path / "t.parquet")
    assert words("--snapshot", tmp_path / "t.parquet") == {"lima", "peru", "quito"}
    (tmp_path / "t.csv").write_text("\ufefftext,note\nlima peru,aaa\nquito,bbb\n", encoding="utf-8")
    assert words("--snapshot", tmp_path / "t.csv") == {"lima", "peru", "quito"}
    (tmp_path / "t.txt").write_text("lima peru\n\nquito\n")
    assert words("--snapshot", tmp_path / "t.txt") == {"lima", "peru", "quito"}


def test_a_missing_column_or_table_is_reported(tmp_path: Path) -> None:
    """With the columns that exist."""
    table = records.write(ROWS, tmp_path, "parquet")
    (tmp_path / "none").mkdir()
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "broken.parquet").write_text("no table")
    (tmp_path / "broken.sqlite").write_text("no table")
    for site in ("one", "two"):
        (tmp_path / "several" / site).mkdir(parents=True)
        records.write(ROWS, tmp_path / "several" / site, "csv")
    for arguments, message in (
        ([table, "--column", "titel"], "no column titel; choose with --column from _key, _query, title, author, pages"),
        ([tmp_path / "none"], "not the folder of a finished harvest"),
        ([tmp_path / "several"], "the harvests of 2 sites; name one of"),
        ([tmp_path / "numbers.csv"], "no column of text; choose with --column from a, b"),
        ([tmp_path / "broken.parquet"], "cannot be read as a Parquet file"),
        ([tmp_path / "broken.sqlite"], "cannot be read as a table"),
    ):
        done = asked("--snapshot", *arguments)
        assert isinstance(done.exception, WrongUsage)
        assert message in str(done.exception)


def test_distance_linkage_and_delta_can_be_set(tmp_path: Path) -> None:
    """Invalid values are rejected."""
    texts = [f"aa{i % 4} bb{i % 6} cc{i % 9} dd" for i in range(60)]
    (tmp_path / "t.txt").write_text("\n".join(texts))
    common = ("--snapshot", tmp_path / "t.txt", "--size", "6")
    found = {
        (distance, linkage): frozenset(
            words(*common, "--method", "cluster", "--distance", distance, "--linkage", linkage)
        )
        for distance in ("intersection", "cosine", "euclidean")
        for linkage in ("complete", "single")
    }
    assert len(set(found.values())) > 1
    apart = words(*common, "--method", "packing", "--delta", "1")
    assert max(len(apart & set(text.split())) for text in texts) == 1  # no two of them share a document
    assert apart != words(*common, "--method", "packing", "--delta", "0.2")
    for option, value in (("--distance", "manhattan"), ("--linkage", "average")):
        done = asked(*common, option, value)
        assert isinstance(done.exception, WrongUsage)
        assert f"{option} {value}: must be " in str(done.exception)
    assert asked(*common, "--delta", "2").exit_code == 2
