"""Where harvests run makes no difference to what they bring; work of a lost process goes on elsewhere."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from upwell import api
from upwell.demo import Switches, serve
from upwell.engines.frame import engine_of
from upwell.engines.schedule import Retry, Schedule
from upwell.errors import UpwellError, WorkerLost
from upwell.harvest.events import Asked
from upwell.harvest.plan import Plan
from upwell.net.manners import Manners

FREE = Manners(rate=0)


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table below a folder, but for when each came and the digest of its page, which in the demo says how long it took."""
    return {
        str(table.relative_to(folder)): [
            {name: value for name, value in row.items() if name not in ("_fetched", "_page")}
            for row in pq.read_table(table).to_pylist()
        ]
        for table in sorted(folder.rglob("records*.parquet"))
    }


def test_engines_bring_the_same_rows(tmp_path: Path) -> None:
    """Local and processes: the same folders, the same rows in the same order, the same events of each site."""
    with serve() as one, serve(Switches(layout="table")) as two, serve(Switches(layout="cards")) as three:
        urls = [one.url, two.url, three.url]
        asked: dict[str, list[tuple[str, str, int]]] = {}
        for engine in ("local", "processes"):
            events = asked.setdefault(engine, [])
            results = api.harvest_all(
                urls,
                out=tmp_path / engine,
                plan=Plan(budget=30),
                manners=FREE,
                running=api.Running(engine=engine, workers=2),
                observe=lambda event, events=events: (  # type: ignore[misc] # bound now
                    events.append((event.site, event.query, event.records)) if isinstance(event, Asked) else None
                ),
            )
            assert not any(isinstance(result, UpwellError) for result in results)
            assert [result.summary["site"] for result in results if isinstance(result, api.Result)] == [
                url.split("/")[2] for url in urls
            ]
    rows = rows_of(tmp_path / "local")
    assert len(rows) == 3
    assert all(len(table) > 100 for table in rows.values())
    assert rows == rows_of(tmp_path / "processes")
    assert sorted(asked["local"]) == sorted(asked["processes"])


async def say_process(work: str, observe: Any) -> int:
    """Says in which process it runs; waits where it is told to."""
    observe(os.getpid())
    try:
        await asyncio.sleep(60 if work == "wait" else 0)
    except asyncio.CancelledError:
        return -os.getpid()
    return os.getpid()


def test_a_lost_process_is_replaced_and_a_cancelled_call_gives_what_there_is() -> None:
    """kill -9 of a worker ends its call with WorkerLost and the next call runs; a cancelled call returns the function's last word."""

    async def program() -> None:
        async with engine_of("processes", say_process, 1) as engine:
            started: asyncio.Queue[int] = asyncio.Queue()
            call = asyncio.create_task(engine.run("wait", "host", started.put_nowait))
            lost = await started.get()
            os.kill(lost, signal.SIGKILL)
            with pytest.raises(WorkerLost):
                await call
            pid = await engine.run("go", "host", started.put_nowait)
            assert pid not in (lost, os.getpid())
            await started.get()
            call = asyncio.create_task(engine.run("wait", "host", started.put_nowait))
            await started.get()
            call.cancel()
            assert await call == -pid

    asyncio.run(program())


def test_the_schedule_keeps_its_bounds() -> None:
    """A hundred thousand pieces: so many at once, one at a time for each host, no more than a few taken ahead; a failed one runs again."""
    taken = most_at_once = most_ahead = 0
    active: set[str] = set()
    failed: list[int] = []

    def works() -> Any:
        nonlocal taken
        for number in range(20_000):
            taken += 1
            yield number

    async def run(number: int) -> int:
        nonlocal most_at_once
        host = str(number % 50)
        assert host not in active
        active.add(host)
        most_at_once = max(most_at_once, len(active))
        await asyncio.sleep(0)
        active.remove(host)
        if number == 7 and len(failed) < 2:
            failed.append(number)
            return -1
        return number

    async def program() -> list[tuple[int, int]]:
        nonlocal most_ahead
        schedule = Schedule(
            works=works(),
            run=run,
            host_of=lambda number: str(number % 50),
            at_once=8,
            retry=Retry(times=2, seconds=0.01),
            is_passing=lambda result: result < 0,
        )
        ended = []
        async for one in schedule.ended():
            ended.append((one.result, one.tries))
            most_ahead = max(most_ahead, taken - len(ended))
        return ended

    ended = asyncio.run(program())
    assert sorted(result for result, _ in ended) == list(range(20_000))
    assert most_at_once == 8
    assert most_ahead <= 1100
    assert [tries for result, tries in ended if result == 7] == [3]
