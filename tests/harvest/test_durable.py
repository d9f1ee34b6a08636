"""Interrupted, repeated, refreshed and concurrent harvests: requests, files and messages."""

import json
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks.reliability import kill

import upwell
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.errors import CannotKeep, UpwellError
from upwell.net.fetch import Manners
from upwell.table.writers import read_keys

FREE = Manners(rate=0)


def test_a_repeated_harvest_sends_nothing_and_a_larger_budget_continues(tmp_path: Path) -> None:
    """A finished harvest sends no request and writes the same; with a larger budget it sends only new requests."""
    with serve() as site:
        first = api.harvest(site.url, out=tmp_path, plan=Plan(budget=60), manners=FREE)
        sent = len(site.received)
        again = api.harvest(site.url, out=tmp_path, plan=Plan(budget=60), manners=FREE)
        assert len(site.received) == sent
        assert read_keys(again.records) == read_keys(first.records)
        assert again.summary["requests"] == first.summary["requests"]
        more = api.harvest(site.url, out=tmp_path, plan=Plan(budget=100), manners=FREE)
        assert 0 < len(site.received) - sent <= 41
    assert set(read_keys(first.records)) <= set(read_keys(more.records))


def test_a_harvest_survives_repeated_kills() -> None:
    """SIGKILL at five moments: the same records, only requests in flight are repeated (the full test: `benchmarks.reliability.kill`)."""
    found = kill.run(5, Switches(), 120)
    assert int(str(found["kills"])) >= 3  # it may end before the last kill
    assert found["same"] is True
    assert int(str(found["sent twice"])) <= int(str(found["allowed"]))


def test_a_refresh_of_an_unchanged_source_finds_no_changes(tmp_path: Path) -> None:
    """Everything is unchanged, and nothing is gone."""
    with serve(Switches(result_cap=40)) as site:
        plan = Plan(budget=60)
        first = api.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
        second = api.harvest(site.url, out=tmp_path, plan=Plan(budget=60, refresh=True), manners=FREE)
    seen = second.summary["refreshed"]
    assert isinstance(seen, dict)
    assert seen["gone"] == 0
    assert seen["changed"] <= 2  # record pages contain boxes that vary
    assert seen["unchanged"] > 0.5 * first.summary["records"]
    assert second.summary["records"] >= first.summary["records"]
    sizes = [result.summary["size"] for result in (first, second)]
    assert all(isinstance(size, dict) for size in sizes)
    assert sizes[1]["high"] >= sizes[0]["high"], "a refresh does not forget what was missing before"
    assert second.summary["coverage"] is None or first.summary["coverage"] is not None


def test_a_refresh_reports_gone_changed_and_new_records(tmp_path: Path) -> None:
    """With another edition of the site at the same URL, and back again."""
    with serve(Switches(result_cap=40)) as site:
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=60), manners=FREE)
        port = urlsplit(site.url).port or 0
    ids = [int(key.rsplit("/", 1)[-1]) for key in keys(tmp_path)]
    left, grown = sum(i % 50 == 0 for i in ids), sum(i % 50 == 1 for i in ids)
    again = Plan(budget=120, refresh=True)
    with serve(Switches(result_cap=40, edition=1), port=port) as site:
        later = api.harvest(site.url, out=tmp_path, plan=again, manners=FREE)
    seen = later.summary["refreshed"]
    assert isinstance(seen, dict)
    assert 0 < seen["gone"] <= left
    assert seen["gone"] >= 0.8 * left
    assert seen["changed"] >= 0.8 * grown > 0
    assert not any(int(key.rsplit("/", 1)[-1]) % 50 == 0 for key in keys(tmp_path)) or seen["gone"] < left
    with serve(Switches(result_cap=40), port=port) as site:
        back = api.harvest(site.url, out=tmp_path, plan=again, manners=FREE)
    seen = back.summary["refreshed"]
    assert isinstance(seen, dict)
    assert seen["new"] >= 0.5 * left
    assert seen["gone"] == 0


def keys(folder: Path) -> list[str]:
    (table,) = folder.rglob("records.parquet")
    return [key.partition("?")[0] for key in read_keys(table)]


def test_a_failing_site_does_not_stop_the_others(tmp_path: Path) -> None:
    """Two sites and a URL without a server, from a file."""
    with serve() as one, serve(Switches(layout="table")) as two:
        listed = tmp_path / "sites.txt"
        listed.write_text(f"# mine\n{one.url}\n\nhttp://127.0.0.1:9/\n{two.url}\n")
        sites = api.sites_of([str(listed)])
        found = api.harvest_all(sites, out=tmp_path, plan=Plan(budget=40), manners=Manners(rate=0, retries=0))
    assert isinstance(found[1], UpwellError)
    assert all(isinstance(result, api.Result) and result.summary["records"] > 100 for result in found[::2])


def test_records_are_yielded_while_the_harvest_runs(tmp_path: Path) -> None:
    """Each once, before the harvest has ended."""
    with serve() as site:
        rows = upwell.records(site.url, plan=Plan(budget=60), manners=FREE, out=tmp_path)
        first = next(rows)
        assert len(site.received) < 60
        keys = [first["_key"], *(row["_key"] for row in rows)]
    (table,) = tmp_path.rglob("records.parquet")
    assert sorted(keys) == sorted(read_keys(table))  # type: ignore[type-var] # keys are texts


def test_about_and_representative_harvests(tmp_path: Path) -> None:
    """Only matching records, beyond the result cap; and first pages only."""
    with serve(Switches(result_cap=40)) as site:
        plan = Plan(budget=120, about="finland")
        result = api.harvest(site.url, out=tmp_path / "a", plan=plan, manners=FREE, format="jsonl")
        rows = [json.loads(line) for line in result.records.read_text().splitlines()]
        assert len(rows) > 50
        assert all(str(row["region"]).startswith("FI-") for row in rows)  # the country is constant
        api.harvest(site.url, out=tmp_path / "b", plan=Plan(budget=50, goal="representative"), manners=FREE)
        searched = [r.query for r in site.received if r.path == "/search"][-30:]
    assert not any("page=" in query for query in searched)


def test_sqlite_can_be_searched(tmp_path: Path) -> None:
    """The table has every record, and full-text search finds a city by its country."""
    with serve() as site:
        result = api.harvest(site.url, out=tmp_path, plan=Plan(budget=50), manners=FREE, format="sqlite")
    db = sqlite3.connect(result.records)
    assert db.execute("SELECT COUNT(*) FROM records").fetchone()[0] == result.summary["records"]
    assert db.execute("SELECT COUNT(*) FROM records_fts WHERE records_fts MATCH 'china'").fetchone()[0] > 0
    db.close()


def test_a_damaged_state_is_reported_and_left_unchanged(tmp_path: Path) -> None:
    """The message names the file."""
    with serve() as site:
        folder = api.folder_of(site.url, tmp_path)
        folder.mkdir()
        (folder / "state.sqlite").write_bytes(b"x" * 5000)
        with pytest.raises(CannotKeep, match="damaged"):
            api.harvest(site.url, out=tmp_path, plan=Plan(budget=20), manners=FREE)
        assert (folder / "state.sqlite").read_bytes() == b"x" * 5000
        assert site.received == []


def test_the_limit_on_bytes_and_a_given_interface_are_used(tmp_path: Path) -> None:
    """The harvest stops at the given number of bytes and uses the given search interface."""
    with serve() as site:
        plan = Plan(
            budget=500, bytes=300_000, search_interface=f"{site.url}search?q={{query}}", words=("china", "india")
        )
        result = api.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
    assert result.summary["stopped"] == "budget"
    assert 300_000 <= result.summary["bytes"] < 400_000
    assert result.summary["requests"] < 200
