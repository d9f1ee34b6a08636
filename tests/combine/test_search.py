"""Search over harvests: the query language in many scripts, updating the index, and recovery after a kill."""

import contextlib
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.combine.conftest import TwoSites
from tests.command import upwell as command
from upwell import api
from upwell.combine.catalogue import harvests_at
from upwell.combine.search import search, search_index
from upwell.combine.search_index import INDEX_FOLDER, open_index
from upwell.errors import WrongUsage
from upwell.table.writers import Format, write

ROWS: list[dict[str, object]] = [
    {"_key": "1", "_url": "http://a/1", "title": "Café Größe naïve", "price": 12.5, "day": datetime.date(2024, 1, 5), "kind": "food"},
    {"_key": "2", "title": "The tower of San Juan", "price": 30.0, "day": datetime.date(2023, 6, 1), "kind": "place"},
    {"_key": "3", "title": "東京の塔へ行く", "price": 7.0, "day": datetime.date(2024, 12, 31), "kind": "place"},
    {"_key": "4", "title": "กรุงเทพมหานคร เมืองหลวง", "price": 9.0, "kind": "place"},
    {"_key": "5", "title": "Η Ελλάδα и Ёжик", "price": 1.0, "kind": "food", "tags": ["red", "two words"]},
    {"_key": "6", "title": "Juan has a \x1b[31m san \x1b[0m towering ego", "kind": "person", "price": 2.0},
    {"_key": "7", "title": "深層網搜索", "kind": "food", "price": 3.0},
]  # fmt: skip


def harvest(folder: Path, rows: list[dict[str, object]], format: Format = "parquet") -> Path:
    """Create a folder with a table, as left by a harvest."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps({"site": folder.name, "records": len(rows)}))
    write(rows, folder, format)
    return folder


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create two small harvests in many scripts."""
    folder = tmp_path_factory.mktemp("shelf")
    harvest(folder / "a.org", ROWS)
    harvest(folder / "b.org", [{"_key": "b", "title": "San Juan again", "price": 100}])
    return folder


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("juan", "26b"),
        ("san juan", "26b"),
        ('"san juan"', "2b"),
        ("tow*", "26"),
        ('"of san ju"*', "2"),
        ("cafe", "1"),
        ("GRÖSSE", "1"),
        ("naive", "1"),
        ("ελλαδα", "5"),
        ("ежик", "5"),
        ("東京", "3"),
        ("京の", "3"),
        ("京東", ""),
        ("搜索", "7"),
        ("กรุงเทพ", "4"),
        ("เมือง", "4"),
        ("title:juan kind:place", "2"),
        ("kind:place", "234"),
        ("tags:words", "5"),
        ("price:[7 TO 12.5]", "134"),
        ("price:{7 TO 12.5}", "4"),
        ("price:>29", "2b"),
        ("price:[9.5 TO 30]", "12"),
        ("price:[* TO 2]", "56"),
        ("price:[1 TO 99999999999999999999]", "1234567b"),
        ("price:30", "2"),
        ("day:2024", "13"),
        ("day:[2024-01 TO 2024-06]", "1"),
        ("day:<2024", "2"),
        ("day:>=2024-12-31", "3"),
        ("juan -tower", "6b"),
        ("cafe OR 東京", "13"),
        ("site:b.org", "b"),
        ("juan site:a*", "26"),
        ("(cafe OR tower) kind:place", "2"),
        ("nothing:here", ""),
        ("*", "1234567b"),
    ],
)
def test_a_query_finds_the_expected_records(shelf: Path, query: str, keys: str) -> None:
    """Words, phrases, prefixes, columns, ranges, sites; accents and case are ignored; scripts with and without spaces."""
    assert "".join(sorted(str(hit.record["_key"]) for hit in search(query, [shelf], limit=20))) == keys


def test_results_are_ranked_with_snippets_and_facets(shelf: Path) -> None:
    """Best first, with the words marked; counts by site and column; `--site` filters."""
    found = search("san juan", [shelf], facets=["site", "kind"], limit=2)
    assert (found.count, len(found), found.records) == (3, 2, 8)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert found.facets == {"site": {"a.org": 2, "b.org": 1}, "kind": {"person": 1, "place": 1}}
    (hit,) = search("京の塔", [shelf])
    assert [hit.highlight.text[start:end] for start, end in hit.highlight.marks] == ["京", "の", "塔"]
    (hit,) = search("grosse", [shelf])
    assert [hit.highlight.text[start:end] for start, end in hit.highlight.marks] == ["Größe"]
    assert [hit.site for hit in search("juan", [shelf], sites=["b.org"])] == ["b.org"]
    long = search_index(open_index(shelf), "juan", offset=2)
    assert len(long) == 1
    with pytest.raises(WrongUsage, match="colour cannot be used as a facet; known facets: site, kind"):
        search("juan", [shelf], facets=["colour"])


def test_search_on_the_command_line(shelf: Path) -> None:
    """JSON with the documented keys; the text output contains no control characters of a page."""
    done = command("search", "juan", ".", "--json", "--facet", "kind", cwd=shelf)
    *rows, facets = map(json.loads, done.stdout.splitlines())
    assert all(list(row) == ["site", "score", "record", "snippet"] for row in rows)
    assert facets == {"facets": {"kind": {"person": 1, "place": 1}}, "count": 3}
    shown = command("search", "ego", ".", cwd=shelf)
    assert "towering ego" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "1 of 8 records match" in shown.stderr
    misspelt = command("search", "prices:100", ".", cwd=shelf)
    assert "there is no column prices; nearest columns: price" in misspelt.stderr
    assert "there is no column" not in command("search", "price:99999", ".", cwd=shelf).stderr
    wrong = command("search", "price:[a TO b]", ".", cwd=shelf)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "a range needs numbers, or dates such as 2024-05-31" in wrong.stderr


@given(text=st.text(alphabet='price:"*()[]{}-+^~ \\/<>=TO.20245東\x00', max_size=25))
def test_no_query_crashes(shelf: Path, text: str) -> None:
    """Any text is a query or wrong usage."""
    opened = open_index(shelf)
    with contextlib.suppress(WrongUsage):
        search_index(opened, text)


def test_the_index_is_updated_with_the_tables(tmp_path: Path) -> None:
    """Only new and changed rows are indexed; gone rows and harvests are removed; unchanged tables are not read."""
    rows: list[dict[str, object]] = [{"_key": str(number), "title": f"thing number {number}"} for number in range(50)]
    harvest(tmp_path / "a.org", rows)
    harvest(tmp_path / "b.org", [{"_key": "b", "title": "another"}], "csv")
    opened = open_index(tmp_path)
    assert opened.update(harvests_at([tmp_path])).added == 51
    assert opened.update(harvests_at([tmp_path])).added == 0
    harvest(tmp_path / "a.org", [*rows[:-2], {"_key": "48", "title": "changed now"}])
    shutil.rmtree(tmp_path / "b.org")
    again = open_index(tmp_path)
    updated = again.update(harvests_at([tmp_path]))
    assert (updated.added, updated.removed) == (1, 3)
    assert search("thing", [tmp_path]).count == 48
    assert search("changed", [tmp_path]).count == 1
    assert search("another", [tmp_path]).count == 0


def test_after_a_kill_every_row_is_indexed_once(tmp_path: Path) -> None:
    """Killed at different moments during many commits."""
    harvest(tmp_path / "a.org", [{"_key": str(i), "title": f"thing {i}", "text": "word " * 30} for i in range(6000)])
    code = (
        "import sys; from upwell.combine import search_index as s; from upwell.combine.catalogue import harvests_at\n"
        "s.COMMIT_ROWS = 300; opened = s.open_index(sys.argv[1]); print('ready', flush=True)\n"
        "opened.update(harvests_at([sys.argv[1]]))"
    )
    for wait in (0.05, 0.2, 0.4):
        with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(wait)
            os.kill(running.pid, signal.SIGKILL)
    opened = open_index(tmp_path)
    opened.update(harvests_at([tmp_path]))
    assert opened.index.searcher().num_docs == 6000
    assert search_index(opened, "thing").count == 6000
    assert not list((tmp_path / INDEX_FOLDER).glob("*.pending"))


def test_an_unrecorded_commit_is_recovered(tmp_path: Path) -> None:
    """After a kill between a commit and its bookkeeping, the rows are in the index, and only the pending file says so."""
    rows: list[dict[str, object]] = [{"_key": str(number), "title": f"thing {number}"} for number in range(15)]
    harvest(tmp_path / "a.org", rows[:10])
    opened = open_index(tmp_path)
    opened.update(harvests_at([tmp_path]))
    (ids,) = (tmp_path / INDEX_FOLDER).glob("*.ids")
    before = {file: file.read_bytes() for file in (ids, tmp_path / INDEX_FOLDER / "harvests.json")}
    first = set(np.load(ids).tolist())
    harvest(tmp_path / "a.org", rows)
    assert opened.update(harvests_at([tmp_path])).added == 5
    new = sorted(set(np.load(ids).tolist()) - first)
    for file, content in before.items():
        file.write_bytes(content)
    with ids.with_suffix(".pending").open("wb") as pending:
        np.save(pending, np.array(new, dtype=np.uint64))
    again = open_index(tmp_path)
    assert again.update(harvests_at([tmp_path])).added == 5
    assert search_index(again, "thing").count == again.index.searcher().num_docs == 15


def test_unsearchable_tables_are_reported(tmp_path: Path) -> None:
    """Damaged and missing tables, other folders, a damaged index, an index that another process writes; the rest is found."""
    harvest(tmp_path / "good.org", [{"_key": "1", "title": "lima"}])
    harvest(tmp_path / "empty.org", [])
    (tmp_path / "damaged.org").mkdir()
    (tmp_path / "damaged.org" / "records.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "early.org").mkdir()
    (tmp_path / "early.org" / "summary.json").write_text("{")
    found = search("lima", [tmp_path])
    assert found.count == 1
    assert len(found.troubles) == 2
    assert "early.org has no table yet" in found.troubles[0]
    assert "damaged.org" in found.troubles[1]
    (tmp_path / INDEX_FOLDER / "meta.json").write_text("{")
    assert search("lima", [tmp_path]).count == 1  # rebuilt
    opened = open_index(tmp_path)
    writer = opened.index.writer()
    harvest(tmp_path / "good.org", [{"_key": "1", "title": "lima"}, {"_key": "2", "title": "lima again"}])
    busy = search("lima", [tmp_path])
    assert busy.count == 1
    assert "another process" in busy.troubles[-1]
    del writer
    with pytest.raises(WrongUsage, match="not a search index"):
        search("lima", [tmp_path], index=tmp_path / "good.org")
    with pytest.raises(WrongUsage, match="contains no harvest"):
        search("lima", [tmp_path / INDEX_FOLDER])


def test_real_harvests_are_searched_by_their_columns(two_sites: TwoSites) -> None:
    """Cities of both sites, whose columns have different names."""
    found = api.open(two_sites.folder).search("lima peru", facets=["site"])
    assert set(found.facets["site"]) == set(two_sites.names)
    assert found.hits[0].record["name"] == "Lima"
