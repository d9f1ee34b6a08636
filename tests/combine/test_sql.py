"""SQL over harvests: views by site, the aligned view, matches; a query can neither change nor reach anything else."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import upwell
from tests.combine.conftest import TwoSites
from tests.combine.test_search import harvest
from tests.command import upwell as command
from upwell import api
from upwell.combine.catalogue import harvests_at
from upwell.combine.sql import Database, view_names
from upwell.errors import WrongUsage
from upwell.table.writers import READABLE


def test_views_are_named_by_site(two_sites: TwoSites) -> None:
    """By the name of the site, and by a name that needs no quotes in SQL."""
    first, second = two_sites.names
    catalogue = api.open(two_sites.folder)
    plain = "_" + second.replace(".", "_").replace(":", "_")
    query = f'SELECT count(*) FROM "{first}" a JOIN {plain} b USING (name)'  # noqa: S608 # our own names
    ((joined,),) = catalogue.sql(query)
    assert joined > 50
    listed = {name for (name,) in catalogue.sql("SHOW TABLES")}
    assert {first, second, plain} <= listed


def test_everything_aligns_columns_and_same_as_joins_entities(two_sites: TwoSites) -> None:
    """Columns of the same meaning under one name, typed; joins on equal entities."""
    catalogue = api.open(two_sites.folder)
    columns = {row[0]: row[1] for row in catalogue.sql("DESCRIBE SELECT * FROM everything")}
    assert columns["population"] == "BIGINT"
    assert len({"timezone", "time_zone"} & set(columns)) == 1
    counts: dict[object, int] = dict(catalogue.sql("SELECT _site, count(*) FROM everything GROUP BY 1"))
    assert set(counts) == set(two_sites.names)
    query = (
        "SELECT regexp_extract(s.a_key, '[0-9]+$') = regexp_extract(s.b_key, '[0-9]+$') AS is_right, count(*) "
        "FROM same_as s JOIN everything e ON e._site = s.a_site AND e._key = s.a_key GROUP BY 1"
    )
    judged: dict[object, int] = dict(catalogue.sql(query))
    assert judged[True] > 50
    assert judged.get(False, 0) <= 0.02 * judged[True]


def test_tables_of_any_format_are_queried(tmp_path: Path) -> None:
    """Formats that DuckDB cannot read are converted to Parquet; empty harvests and harvests without a table are ignored."""
    rows: list[dict[str, object]] = [{"_key": "1", "title": "lima", "n": 3}, {"_key": "2", "title": "cusco", "n": None}]
    for format in READABLE:
        harvest(tmp_path / f"{format}.org", rows, format)
    harvest(tmp_path / "empty.org", [])
    (tmp_path / "early.org").mkdir()
    (tmp_path / "early.org" / "state.sqlite").touch()
    catalogue = api.open(tmp_path)
    for format in READABLE:
        assert list(catalogue.sql(f"SELECT title FROM {format}_org ORDER BY 1")) == [("cusco",), ("lima",)]  # noqa: S608 # our own names
    assert list(catalogue.sql("SELECT count(*) FROM empty_org")) == [(0,)]
    assert list(catalogue.sql("SELECT count(*) FROM everything")) == [(2 * len(READABLE),)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')",
        "COPY a_org TO '{folder}/stolen.csv'",
        "COPY (SELECT 1) TO '{table}'",
        "EXPORT DATABASE '{folder}/stolen'",
        "ATTACH '{folder}/x.duckdb'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW a_org",
        "EXPLAIN ANALYZE COPY a_org TO '{folder}/stolen.csv'",
        "SELECT 1; SELECT 2",
        "SELECT * FROM rows",
        "SELECT * FROM duckdb_secrets()",
        "SELEC 1",
        "",
    ],
)
def test_a_query_reaches_nothing_else(tmp_path: Path, query: str) -> None:
    """No other file, URL or setting, and no change; an attempt is wrong usage, and the harvest is unchanged."""
    rows: list[dict[str, object]] = [{"_key": "1", "title": "lima"}]
    table = harvest(tmp_path / "a.org", rows) / "records.parquet"
    secret = tmp_path / "secret.txt"
    secret.write_text("password\nhunter2\n")
    before = table.read_bytes()
    with pytest.raises(WrongUsage) as refused:
        list(api.open(tmp_path).sql(query.format(secret=secret, folder=tmp_path, table=table)))
    assert "hunter2" not in str(refused.value)
    assert {path.name for path in tmp_path.iterdir()} == {"a.org", "secret.txt"}
    assert table.read_bytes() == before


def test_sql_on_the_command_line_prints_every_format(tmp_path: Path) -> None:
    """A text table, CSV without formulas, JSON, Parquet; an unknown name is reported with the known ones."""
    harvest(tmp_path / "a.org", [{"_key": "1", "title": "=1+1", "n": 3}, {"_key": "2", "title": "li\x1b[2Jma", "n": 4}])
    query = "SELECT title, n FROM a_org ORDER BY n"

    def sql(*arguments: str) -> str:
        done = command("sql", query, ".", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert sql().splitlines()[:3] == ["title     n", "--------  -", "=1+1      3"]
    assert "\x1b" not in sql() + sql("--json")
    assert sql("--format", "csv").splitlines()[:2] == ["title,n", "'=1+1,3"]
    assert [json.loads(line)["n"] for line in sql("--json").splitlines()] == [3, 4]
    sql("--format", "parquet", "-o", "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").to_pydict()["n"] == [3, 4]
    sql("--format", "csv", "-o", "rows.csv")
    assert (tmp_path / "rows.csv").read_text().splitlines()[0] == "title,n"
    wrong = command("sql", "SELECT * FROM b_org", ".", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "there is no table b_org; did you mean a_org?" in wrong.stderr
    assert "Known tables: everything, same_as, a_org" in wrong.stderr
    assert "pg_" not in command("sql", "SELECT * FROM klass", ".", cwd=tmp_path).stderr
    no_file = command("sql", query, ".", "--format", "parquet", cwd=tmp_path)
    assert (no_file.returncode, no_file.stdout) == (2, "")


def test_only_the_queried_harvests_are_read(tmp_path: Path) -> None:
    """Of thousands, only the names are listed."""
    harvest(tmp_path / "wanted.org", [{"_key": "1", "title": "lima"}])
    for number in range(2000):
        folder = tmp_path / f"s{number}.org"
        folder.mkdir()
        (folder / "records.parquet").touch()  # damaged: reading it would fail
    harvests = harvests_at([tmp_path])
    assert len(view_names(harvests)) == 2 * 2001
    assert list(Database(harvests).query("SELECT title FROM wanted_org")) == [("lima",)]


def test_a_catalogue_returns_values_for_pandas_and_polars(two_sites: TwoSites) -> None:
    """`upwell.open`."""
    catalogue = upwell.open(two_sites.folder)
    first, second = two_sites.names
    assert {source.site for source in catalogue.sources} == {first, second}
    table = catalogue.table(first)
    assert {"_key", "name", "population"} <= set(table.column_names)
    answer = catalogue.sql(f'SELECT name, population FROM "{first}"')  # noqa: S608 # our own name
    assert answer.to_pandas().shape == answer.to_polars().shape == (table.num_rows, 2)
    assert answer.table.num_rows == len(list(answer.rows())) == table.num_rows
    pairs = list(catalogue.match(first, second))
    assert len(pairs) > 50
    assert catalogue.search("lima peru").hits[0].record["name"] == "Lima"
    assert catalogue.ask("lima", manners=upwell.Manners(rate=0)).findings[0].fields["name"] == "Lima"
    with pytest.raises(WrongUsage, match="there is no site nope"):
        catalogue.table("nope")
    with pytest.raises(WrongUsage, match="is not a folder"):
        _ = upwell.open(two_sites.folder / "nope").sources


def test_everything_of_one_source_needs_no_matching_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to align; numbers stay numbers."""
    harvest(tmp_path / "a.org", [{"_key": str(i), "title": f"t{i}", "rating": i / 2} for i in range(5)])
    for library in ("scipy", "rapidfuzz"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "upwell.combine.align", raising=False)
    assert list(api.open(tmp_path).sql("SELECT avg(rating) FROM everything")) == [(1.0,)]
