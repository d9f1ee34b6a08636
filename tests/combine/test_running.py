"""Tables, searches and exports of a harvest that is still running."""

from pathlib import Path

import pyarrow.parquet as pq

from upwell import api
from upwell.combine.search import search
from upwell.store.state import State
from upwell.types import Record

NAMES = ["Swan", "Gull", "Tern", "Duck", "Loon", "Kite", "Rook"]
ORIGIN = {"_source": "http://h/s", "_query": "q", "_page": "p1", "_fetched": "2026-01-01T00:00:00+00:00"}


def records(first: int, last: int) -> list[Record]:
    return [
        Record(
            key=f"http://h/{n}",
            url=f"http://h/{n}",
            path="",
            text="",
            fields={"title": f"{NAMES[n % 7]} boat of {n}", "year": str(n)},
        )
        for n in range(first, last)
    ]


def test_a_running_harvest_shows_what_it_holds_at_this_moment(tmp_path: Path) -> None:
    """Export, search and SQL; nothing of it disturbs the harvest."""
    folder = tmp_path / "h"
    folder.mkdir()
    with State(folder / "state.sqlite") as state:
        state.add(records(1000, 1030), ORIGIN)
        (exported,) = api.export(folder, format="parquet", out=tmp_path / "now.parquet")
        assert exported.records == 30
        assert pq.read_table(tmp_path / "now.parquet").column("year").to_pylist()[:2] == [1000, 1001]
        assert search("boat", [tmp_path]).count == 30
        state.add(records(1030, 1040), ORIGIN)
        assert search("boat", [tmp_path]).count == 40
        assert list(api.open(tmp_path).sql("SELECT max(year) FROM h")) == [(1039,)]
        assert len(state) == 40
        (status,) = api.status(tmp_path)
        assert (status.records, status.stopped) == (40, "running")
    (status,) = api.status(tmp_path)
    assert status.stopped == "not finished"
