"""The Python API: blocking, inside a running loop, as a stream, and with tables of other libraries."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

import polars
import pyarrow as pa
import pytest

import upwell
from upwell.demo import Switches, serve
from upwell.errors import WrongUsage
from upwell.table.writers import FORMATS, Format

FREE = upwell.Manners(rate=0)


def test_blocking_verbs_work_inside_a_running_loop(tmp_path: Path) -> None:
    """As in a notebook."""

    async def cell() -> tuple[int, str, int, int]:
        with serve() as site:
            found = upwell.forms(site.url, manners=FREE)
            plan = upwell.Plan(budget=40)
            result = upwell.harvest(site.url, out=tmp_path, plan=plan, manners=FREE)
            streamed = list(upwell.records(site.url, out=tmp_path / "b", plan=plan, manners=FREE))
            pages = list(upwell.blocks(site.url, depth=0, manners=FREE))
            return len(streamed), found.interfaces[0].url, result.summary["records"], len(pages)

    streamed, url, held, pages = asyncio.run(cell())
    assert url.endswith("/search")
    assert streamed == held > 300
    assert pages == 1


def test_the_async_api(tmp_path: Path) -> None:
    """One harvest, several at once, and a stream that is abandoned."""

    async def program() -> tuple[upwell.Result, int, list[Mapping[str, object]], int, int]:
        ticks = 0

        async def other_work() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        beside = asyncio.create_task(other_work())
        with serve() as one, serve(Switches(layout="table")) as two:
            plan = upwell.Plan(budget=40)
            result = await upwell.aio.harvest(one.url, out=tmp_path, plan=plan, manners=FREE)
            both = await upwell.aio.harvest_all([one.url, two.url], out=tmp_path / "b", plan=plan, manners=FREE)
            rows = []
            stream = upwell.aio.records(two.url, out=tmp_path / "c", plan=upwell.Plan(budget=1000), manners=FREE)
            async for row in stream:
                rows.append(row)
                if len(rows) == 5:
                    break
            await stream.aclose()  # type: ignore[attr-defined] # a generator
            asked = len(two.received)
            await asyncio.sleep(0.3)
            assert len(two.received) == asked < 500
        beside.cancel()
        return result, len(both), rows, ticks, asked

    result, both, rows, ticks, _ = asyncio.run(program())
    assert result.summary["records"] > 300
    assert both == 2
    assert len(rows) == 5
    assert ticks > 10
    assert list((tmp_path / "c").rglob("records.parquet"))


def test_a_cancelled_harvest_writes_its_files(tmp_path: Path) -> None:
    """The task raises CancelledError."""

    async def program() -> None:
        with serve(Switches(latency=0.005)) as site:
            asked = upwell.aio.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=100_000), manners=FREE)
            task = asyncio.create_task(asked)
            while len(site.received) < 60:  # noqa: ASYNC110 # the site counts, and knows no events
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(program())
    assert list(tmp_path.rglob("summary.json"))


def test_leaving_the_stream_ends_the_harvest(tmp_path: Path) -> None:
    """After `break` the files exist; rows are typed and have their origin."""
    with serve() as site:
        for row in upwell.records(site.url, out=tmp_path, plan=upwell.Plan(budget=5000), manners=FREE):
            first = row
            break
        asked = len(site.received)
        assert asked < 1000
        time.sleep(0.3)
        assert len(site.received) == asked
    assert first["_source"] == f"{site.url}search"
    assert isinstance(first["population"], int)
    assert "://" not in str(first["_query"])
    assert list(tmp_path.rglob("records.parquet"))


def test_a_failing_stream_raises_in_the_loop(tmp_path: Path) -> None:
    with pytest.raises(upwell.UpwellError, match="did not answer"):
        list(upwell.records("http://127.0.0.1:9/", out=tmp_path, manners=upwell.Manners(rate=0, retries=0)))


@pytest.mark.parametrize("format", FORMATS)
def test_tables_of_other_libraries(format: Format, tmp_path: Path) -> None:
    """Arrow, pandas and Polars have the same types for every format."""
    with serve() as site:
        plan = upwell.Plan(budget=30)
        result = upwell.harvest(site.url, out=tmp_path, plan=plan, manners=FREE, format=format)
    assert isinstance(result.table, pa.Table)
    assert result.table.num_rows == len(result.to_pandas()) == result.to_polars().height == result.summary["records"]
    assert result.table.schema.field("population").type == pa.int64()
    assert result.to_polars().schema["population"] == polars.Int64
    assert result.report.is_file()
    assert not any("://" in str(query) for query in result.table["_query"].to_pylist())


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": -3}, {"budget": 0}, {"coverage": 98}, {"coverage": 0}, {"seconds": -1}, {"goal": "all"}, {"browser": "yes"},
        {"patience": 0},
    ],
)  # fmt: skip
def test_invalid_plans_are_rejected(wrong: dict[str, object]) -> None:
    """The message has name and value."""
    with pytest.raises(WrongUsage, match=next(iter(wrong))):
        upwell.Plan(**wrong)  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(WrongUsage, match="rate"):
        upwell.Manners(rate=-1)


def test_verbs_events_and_version_are_exported() -> None:
    assert upwell.__version__[0].isdigit()
    for name in (
        "cluster",
        "links",
        "probe",
        "queries",
        "status",
        "export",
        "Asked",
        "Found",
        "Held",
        "Learned",
        "Trouble",
    ):
        assert name in upwell.__all__
    assert callable(upwell.queries)
