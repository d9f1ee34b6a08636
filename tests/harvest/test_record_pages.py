"""Record pages: a sample shows what they would add, `details` reads them, and unrelated content is left out."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from upwell import Manners, Plan, api
from upwell.demo import Switches, serve
from upwell.errors import WrongUsage

FREE = Manners(rate=0)


def test_a_sample_shows_what_record_pages_would_add(tmp_path: Path) -> None:
    """A few pages are always read: the summary names their columns, and the table is unchanged."""
    with serve(Switches()) as site:
        result = api.harvest(site.url, out=tmp_path, plan=Plan(budget=100), manners=FREE)
        pages = [received for received in site.received if "/city/" in received.path]
    details = result.summary["details"]
    assert details["columns"] == ["place"]
    assert details["pages"] == 5
    assert details["requests"] >= 0.9 * result.summary["records"] - 10
    assert len(pages) == 7  # two of them twice, to see what varies
    assert "place" not in pq.read_schema(result.records).names


def test_record_pages_are_merged_into_rows(tmp_path: Path) -> None:
    """Equal facts are one column, advertisements and "recently viewed" are left out, and the budget is respected."""
    with serve(Switches()) as site:
        plan = Plan(budget=120, details="first")
        result = api.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
        assert len(site.received) <= 122  # including robots.txt
        sent = len(site.received)
        again = api.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
        assert len(site.received) == sent  # pages that were read are kept
    rows = pq.read_table(result.records).to_pylist()
    fields = [name for name in rows[0] if not name.startswith("_")]
    assert fields == ["name", "country", "region", "continent", "population", "timezone", "also", "place"]
    read = [row for row in rows if row["place"]]
    assert len(read) == result.summary["details"]["pages"] >= 60
    assert all("," in row["place"] and row["name"] for row in read)
    assert pq.read_table(again.records).to_pylist() == rows


def test_at_most_the_given_number_of_record_pages_is_read(tmp_path: Path) -> None:
    with serve(Switches(result_cap=40)) as site:
        result = api.harvest(site.url, out=tmp_path, plan=Plan(budget=400, about="finland", details=12), manners=FREE)
    assert result.summary["details"]["pages"] == 12
    assert result.summary["details"]["columns"] == ["place"]


def test_columns_are_selected_and_dropped(tmp_path: Path) -> None:
    """Named columns are in order, dropped ones absent; an unknown name is an error that keeps the records."""
    with serve(Switches()) as site:
        plan = Plan(budget=60, columns=("population", "name", "regio"))
        with pytest.raises(WrongUsage, match=r"no column is called regio; did you mean region.* records are kept"):
            api.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
        asked = len(site.received)
        some = api.harvest(site.url, out=tmp_path, plan=replace(plan, columns=("population", "name")), manners=FREE)
        assert len(site.received) == asked
        names = [name for name in pq.read_schema(some.records).names if not name.startswith("_")]
        assert names == ["population", "name"] == list(some.summary["checks"]["types"])
        less = api.harvest(site.url, out=tmp_path, plan=Plan(budget=60, drop=("name",)), manners=FREE)
        assert [name for name in pq.read_schema(less.records).names if not name.startswith("_")][:2] == [
            "country",
            "region",
        ]


def test_the_schema_is_stable_between_harvests(tmp_path: Path) -> None:
    """Another folder, another budget and a refresh have the same columns with the same types."""
    with serve(Switches()) as site:
        schemas = []
        for folder, plan in (
            ("one", Plan(budget=60)),
            ("two", Plan(budget=90)),
            ("one", Plan(budget=60, refresh=True)),
        ):
            result = api.harvest(site.url, out=tmp_path / folder, plan=plan, manners=FREE)
            schemas.append([(field.name, str(field.type)) for field in pq.read_schema(result.records)])
    assert schemas[0] == schemas[1] == schemas[2]
    assert [name for name, _ in schemas[0] if not name.startswith("_")] == [
        "name", "country", "region", "continent", "population", "timezone", "also",
    ]  # fmt: skip
