"""Integration with Scrapy, Datasette and Frictionless."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq

from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running
from upwell.net.manners import Manners

SPIDER = """
from upwell.scrapy import UpwellSpider

class Cities(UpwellSpider):
    name = "cities"
    max_pages = 3
    custom_settings = {"ITEM_PIPELINES": {"upwell.scrapy.UpwellPipeline": 300}, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}
"""
# how Datasette looks for the index of a table (its utils, `detect_fts_sql`)
DETECT = """SELECT name FROM sqlite_master WHERE rootpage = 0 AND (sql LIKE '%VIRTUAL TABLE%USING FTS%content="records"%'
OR sql LIKE '%VIRTUAL TABLE%USING FTS%content=[records]%')"""


def test_a_scrapy_spider_asks_a_learned_source(demo: Running, tmp_path: Path) -> None:
    """Scrapy fetches and Upwell extracts: items of several pages, deduplicated, in a typed table."""
    result = api.harvest(demo.url, out=tmp_path, plan=Plan(budget=50), manners=Manners(rate=0))
    (tmp_path / "spider.py").write_text(SPIDER)
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "runspider",
        "spider.py",
        "-a",
        f"source={result.folder / 'source.json'}",
    ]
    command += ["-a", "queries=peru chile lima", "-s", "UPWELL_TABLE=cities.parquet", "-O", "items.jsonl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    rows = pq.read_table(tmp_path / "cities.parquet").to_pylist()
    assert len(items) == len(rows) == len({row["_key"] for row in rows}) > 60
    assert {item["_query"] for item in items} == {"peru", "chile", "lima"}
    assert all(isinstance(row["population"], int) for row in rows)


def test_what_datasette_and_frictionless_read(demo: Running, tmp_path: Path) -> None:
    """Datasette's own query finds the full-text index, which works; the data package has every column with its type."""
    result = api.harvest(demo.url, out=tmp_path, plan=Plan(budget=50), manners=Manners(rate=0), format="sqlite")
    with closing(sqlite3.connect(result.records)) as db:
        assert db.execute(DETECT).fetchall() == [("records_fts",)]
        found = "SELECT name FROM records WHERE rowid IN (SELECT rowid FROM records_fts WHERE records_fts MATCH 'asia')"
        assert db.execute(found).fetchall()
    metadata = (result.folder / "metadata.yaml").read_text()
    assert "fts_table: records_fts" in metadata
    assert '"population": "whole number"' in metadata
    api.export(result.folder, format="csv")
    api.harvest(demo.url, out=tmp_path, plan=Plan(budget=51), manners=Manners(rate=0), format="csv")
    package = json.loads((result.folder / "datapackage.json").read_text())
    (resource,) = (one for one in package["resources"] if one["format"] == "csv")
    assert (result.folder / resource["path"]).is_file()
    types = {field["name"]: field["type"] for field in resource["schema"]["fields"]}
    head = (result.folder / "records.csv").read_text().splitlines()[0].split(",")
    assert list(types) == head
    assert (types["population"], types["name"], types["_fetched"]) == ("integer", "string", "datetime")
