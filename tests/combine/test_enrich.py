"""Combine sources: records of one are queries to another, linked or added to the row."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import upwell
from tests.combine.conftest import FREE, TwoSites
from tests.combine.test_search import harvest
from tests.command import upwell as command
from upwell import api
from upwell.errors import WrongUsage


def test_each_row_gets_the_fields_of_the_best_match(two_sites: TwoSites, tmp_path: Path) -> None:
    """Each value is queried once, and the row gets the fields it lacks; after an interruption the same command continues."""
    rows: list[dict[str, object]] = [
        {"_key": "1", "city": "Lima", "state": "Peru"},
        {"_key": "2", "city": "San Juan", "state": "Puerto Rico"},
        {"_key": "3", "city": "San Juan", "state": "Argentina"},
        {"_key": "4", "city": "No such city zzqq"},
        {"_key": "5", "city": None},
    ]
    folder = harvest(tmp_path / "a.org", rows)
    source, site = two_sites.harvests[0] / "source.json", two_sites.sites[0]
    first = api.enrich(f"{folder}:city", source, budget=2, manners=FREE)  # one of them is robots.txt
    assert (first.stopped, first.asked, first.values) == ("budget", 1, 3)
    sent = len(site.received)
    done = api.enrich(f"{folder}:city", source, budget=100, manners=FREE)
    assert (done.stopped, done.asked, done.found) == ("exhausted", 3, 3)
    asked = [seen.query for seen in site.received[sent:] if seen.path == "/search"]
    assert asked == ["q=San Juan", "q=No such city zzqq"]
    table = {row["_key"]: row for row in pq.read_table(done.file).to_pylist()}
    assert table["1"]["population"] == 7737002
    assert table["2"]["continent"] == "North America"
    assert (
        table["3"]["continent"] == "South America"
    )  # of the cities of this name, the one that has most in common with the row
    assert table["4"]["_answer_url"] is None
    assert {"_answer_source", "_answer_url"} <= set(table["1"])
    assert "name" not in table["1"]  # the row has it already
    again = api.enrich(f"{folder}:city", source, budget=100, manners=FREE)
    assert (again.asked, len(site.received) - sent) == (3, len(site.received[sent:]))
    assert [seen.query for seen in site.received[sent:] if seen.path == "/search"] == asked


def test_enrich_on_the_command_line(two_sites: TwoSites, tmp_path: Path) -> None:
    """JSON on stdout; a missing column and an unreachable source have a clear message."""
    harvest(tmp_path / "a.org", [{"_key": "1", "city": "Lima"}])
    source = str(two_sites.harvests[0])
    done = command("enrich", "a.org:city", source, "--rate", "0", "--format", "csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["found"] == 1
    assert (tmp_path / json.loads(done.stdout)["file"]).read_text().startswith("city,")
    wrong = command("enrich", "a.org:town", source, cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "has no column town; its columns are _key, city" in wrong.stderr
    with pytest.raises(WrongUsage, match="no column name"):
        api.enrich(str(tmp_path / "a.org"), source)


def test_records_name_the_rows_that_asked_for_them(two_sites: TwoSites, tmp_path: Path) -> None:
    """`--queries DIR:column`: each record has the keys of the rows whose values returned it, also in the export."""
    countries = {"k1": "Peru", "k2": "Peru", "k3": "Chile"}
    folder = harvest(tmp_path / "a.org", [{"_key": key, "country": country} for key, country in countries.items()])
    site = two_sites.sites[1]
    plan = upwell.Plan(budget=30)
    result = upwell.harvest(site.url, out=tmp_path / "b", plan=plan, manners=FREE, queries=f"{folder}:country")
    linked = [row for row in result.table.to_pylist() if row["_asked_by"]]
    assert {row["country"] for row in linked if row["_asked_by"] == ["k1", "k2"]} == {"Peru"}
    assert {row["country"] for row in linked if row["_asked_by"] == ["k3"]} == {"Chile"}
    (exported,) = upwell.export(result.folder, format="jsonl")
    assert any(json.loads(line)["_asked_by"] == ["k1", "k2"] for line in Path(exported.file).read_text().splitlines())
    again = upwell.harvest(site.url, out=tmp_path / "b", plan=plan, manners=FREE, queries=f"{folder}:country")
    assert again.was_finished
