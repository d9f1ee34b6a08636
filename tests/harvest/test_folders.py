"""Folders of harvests: status, export, several harvests in one folder, refreshes and their files."""

import json
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import openpyxl
import pyarrow.parquet as pq
import pytest

import upwell
from tests.command import upwell as run
from upwell.demo import Switches, serve
from upwell.demo.cities import by_id
from upwell.table.writers import FORMATS, Format

FREE = upwell.Manners(rate=0)


def rows_in(path: Path) -> int:
    """Return the number of records of a table, read with common libraries."""
    if path.suffix == ".xlsx":
        return int(openpyxl.load_workbook(path, read_only=True)["records"].max_row) - 1
    if path.suffix == ".sqlite":
        return int(sqlite3.connect(path).execute("SELECT COUNT(*) FROM records").fetchone()[0])
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as database:
            (count,) = database.execute("SELECT COUNT(*) FROM records").fetchone() or (0,)
            return int(count)
    if path.suffix == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    return len(path.read_text().splitlines()) - (path.suffix == ".csv")


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> upwell.Result:
    """Create a small harvest without its archive, so that nothing can be replayed."""
    out = tmp_path_factory.mktemp("harvested")
    with serve() as site:
        result = upwell.harvest(site.url, out=out, plan=upwell.Plan(budget=40), manners=FREE)
    (archive,) = result.folder.rglob("*.warc.gz")
    archive.write_bytes(b"")
    return result


@pytest.mark.parametrize("format", FORMATS)
def test_export_writes_every_format_without_a_replay(harvested: upwell.Result, format: Format, tmp_path: Path) -> None:
    """With all records; chosen columns; a missing column is named."""
    held = harvested.summary["records"]
    done = run("export", str(harvested.folder.parent), "--format", format, "-o", f"new/table.{format}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows_in(tmp_path / "new" / f"table.{format}") == held
    (some,) = upwell.export(
        harvested.folder, format=format, out=tmp_path / f"some.{format}", columns=["name", "population"]
    )
    assert (some.records, some.columns) == (held, 2)
    with pytest.raises(upwell.UpwellError, match="no column is called nme; did you mean name"):
        upwell.export(harvested.folder, columns=["nme"])


def test_status_of_a_harvest_and_of_its_parent_folder(harvested: upwell.Result, tmp_path: Path) -> None:
    """A folder without a harvest is reported."""
    shown = run("status", str(harvested.folder.parent), cwd=tmp_path)
    assert harvested.summary["statement"] in shown.stdout
    assert "stopped: budget after 40 requests" in shown.stdout
    (status,) = upwell.status(harvested.folder)
    assert status.records == harvested.summary["records"]
    nothing = run("status", str(tmp_path), cwd=tmp_path)
    assert nothing.returncode == 2
    assert "contains none" in nothing.stderr


def test_tables_in_other_formats_are_rewritten(tmp_path: Path) -> None:
    """A larger harvest rewrites existing tables in other formats."""
    with serve() as site:
        upwell.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=30), manners=FREE, format="csv")
        larger = upwell.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=60), manners=FREE)
    assert rows_in(larger.folder / "records.csv") == rows_in(larger.records) == larger.summary["records"]


def test_different_harvests_of_a_site_have_separate_folders(tmp_path: Path) -> None:
    """Another topic, start page or access has its own folder, and continues in it."""
    with serve() as site:

        def harvest(url: str, **plan: object) -> upwell.Result:
            return upwell.harvest(url, out=tmp_path, plan=upwell.Plan(budget=40, **plan), manners=FREE)  # type: ignore[arg-type] # a Plan's own

        everything, peru = harvest(site.url), harvest(site.url, about="peru")
        searched = harvest(f"{site.url}search?q=spain")
        again, peru_again = harvest(site.url), harvest(site.url, about="peru")
    folders = [result.folder for result in (everything, peru, searched)]
    assert len(set(folders)) == 3
    assert again.folder == everything.folder
    assert peru_again.folder == peru.folder
    ids = [int(url.rsplit("/", 1)[-1]) for url in peru.table["_url"].to_pylist()]
    assert {by_id()[number].country for number in ids} == {"Peru"}
    assert again.summary["records"] == again.table.num_rows == everything.summary["records"]
    assert [status.records for status in upwell.status(tmp_path)] == [
        result.table.num_rows for result in sorted((everything, peru, searched), key=lambda one: one.folder)
    ]


def test_a_refresh_respects_its_budget_and_writes_changes(tmp_path: Path) -> None:
    """No request beyond the budget, for any purpose; changes.parquet has old and new values; the exit code reports changes."""
    with serve() as site:
        upwell.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=120), manners=FREE)
        port = urlsplit(site.url).port or 0
    common = ("harvest", site.url, "-o", str(tmp_path), "--rate", "0", "--refresh", "--exit-code", "--json")
    with serve(Switches(edition=1), port=port) as site:
        done = run(*common, "--budget", "100", cwd=tmp_path)
        assert len(site.received) <= 100
    assert done.returncode == 4, done.stderr
    refreshed = json.loads(done.stdout)["refreshed"]
    assert refreshed["changed"]
    assert refreshed["gone"]
    (file,) = tmp_path.rglob("changes.parquet")
    rows = pq.read_table(file).to_pylist()
    assert list(rows[0]) == ["run", "time", "change", "_key", "_url", "column", "old", "new"]
    for kind in ("new", "changed", "gone"):
        assert len({row["_key"] for row in rows if row["change"] == kind}) == refreshed[kind]
    grown = [row for row in rows if row["change"] == "changed" and row["column"] == "population"]
    assert grown
    assert all(int(row["new"].replace(",", "")) - int(row["old"].replace(",", "")) == 1000 for row in grown)
    assert all(row["new"] is None for row in rows if row["change"] == "gone")
    assert all(row["old"] is None for row in rows if row["change"] == "new")
    with serve(Switches(edition=2), port=port) as site:
        again = run(*common, "--budget", "100", cwd=tmp_path)
    assert again.returncode == 4, again.stderr
    both = pq.read_table(file).to_pylist()
    assert both[: len(rows)] == rows  # the next refresh adds its changes
    assert len(both) > len(rows)
    assert {row["run"] for row in both[len(rows) :]} == {rows[0]["run"] + 1}


def test_a_refresh_also_sends_the_queries_of_the_user(tmp_path: Path) -> None:
    """In addition to the queries that returned the records held."""
    with serve() as site:
        upwell.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=40), manners=FREE)
        before = len(site.received)
        plan = upwell.Plan(budget=60, refresh=True, words=("reykjavik",))
        upwell.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
        asked = [received.query for received in site.received[before:]]
    assert "q=reykjavik" in asked


def test_extract_reads_the_archive_of_a_harvest_and_not_its_report(tmp_path: Path) -> None:
    """The records of all pages are one table."""
    with serve() as site:
        result = upwell.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=40), manners=FREE)
    done = run("extract", str(result.folder), "-o", "again.csv", "--format", "csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "report.html" not in done.stdout
    assert rows_in(tmp_path / "again.csv") >= result.summary["records"]
    (tmp_path / "again.csv").unlink()
    pages = list(upwell.extract(result.folder / "archive", table=tmp_path / "t.parquet"))
    assert pq.read_metadata(tmp_path / "t.parquet").num_rows == sum(len(page.records) for page in pages)


def test_the_demo_can_be_continued(tmp_path: Path) -> None:
    """With the same folder and port a second run continues; with other switches it is another site."""
    with serve() as free:
        port = urlsplit(free.url).port or 0
    plan = upwell.Plan(budget=40)
    first, _ = upwell.demo(out=tmp_path, plan=plan, port=port)
    again, _ = upwell.demo(out=tmp_path, plan=plan, port=port)
    more, truth = upwell.demo(out=tmp_path, plan=upwell.Plan(budget=60), port=port)
    assert first.folder == again.folder == more.folder
    assert again.was_finished
    assert more.summary["records"] > first.summary["records"]
    assert truth.held == more.summary["records"]
    other, _ = upwell.demo(out=tmp_path, plan=plan, port=port, switches=Switches(layout="table"))
    assert other.folder != first.folder
