"""Harvests return the same rows on every engine, and continue after the loss of a process."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.engines.local import create_engine
from upwell.engines.schedule import Retry, Schedule, WorkProgress
from upwell.errors import MissingExtra, UpwellError, WorkerLost
from upwell.harvest.events import Asked, Held
from upwell.many_sites import EventDeduplicator
from upwell.net.manners import Manners

FREE = Manners(rate=0)


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table below a folder, without times and page digests, which vary in the demo."""
    return {
        str(table.relative_to(folder)): [
            {name: value for name, value in row.items() if name not in ("_fetched", "_page")}
            for row in pq.read_table(table).to_pylist()
        ]
        for table in sorted(folder.rglob("records*.parquet"))
    }


@pytest.mark.usefixtures("ray_cluster")
def test_engines_return_the_same_rows(tmp_path: Path) -> None:
    """Local, processes and a Ray cluster: the same folders, rows and events of each site."""
    with serve() as one, serve(Switches(layout="table")) as two, serve(Switches(layout="cards")) as three:
        urls = [one.url, two.url, three.url]
        asked: dict[str, list[tuple[str, str, int]]] = {}
        for engine in ("local", "processes", "ray"):
            events = asked.setdefault(engine, [])
            results = api.harvest_all(
                urls,
                out=tmp_path / engine,
                plan=Plan(budget=30),
                manners=FREE,
                running=api.RunOptions(engine=engine, workers=2),
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
    for engine in ("processes", "ray"):
        assert rows == rows_of(tmp_path / engine)
        assert sorted(asked["local"]) == sorted(asked[engine])


def workers() -> list[int]:
    """Return the worker processes of this process."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return [pid for pid in pids if b"upwell.engines.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_sites_of_a_killed_worker_continue_in_another(tmp_path: Path) -> None:
    """All workers are killed with -9: the rows are the same, and answered requests are not sent again."""
    killed: list[int] = []

    def observe(event: object) -> None:
        if isinstance(event, Asked) and event.requests >= 18 and not killed:
            killed.extend(workers())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    with serve() as one, serve(Switches(layout="table")) as two:
        for engine in ("local", "processes"):
            before = len(one.received)
            results = api.harvest_all(
                [one.url, two.url],
                out=tmp_path / engine,
                plan=Plan(budget=25),
                manners=FREE,
                running=api.RunOptions(engine=engine, workers=2),
                observe=observe if engine == "processes" else lambda event: None,
            )
            assert not any(isinstance(result, UpwellError) for result in results)
        asked = len(one.received) - before
    assert killed
    assert asked <= 25 + 2  # what was in flight
    assert rows_of(tmp_path / "local") == rows_of(tmp_path / "processes")


async def say_process(work: str, observe: Any) -> int:
    """Says in which process it runs; waits where it is told to."""
    observe(os.getpid())
    try:
        await asyncio.sleep(60 if work == "wait" else 0)
    except asyncio.CancelledError:
        return -os.getpid()
    return os.getpid()


@pytest.mark.parametrize("name", ["processes", "ray"])
@pytest.mark.usefixtures("ray_cluster")
def test_a_lost_process_is_replaced_and_a_cancelled_call_gives_what_there_is(name: str) -> None:
    """kill -9 of a worker ends its call with WorkerLost and the next call runs; a cancelled call returns the function's last word.

    What an observer raises is raised where the result is awaited, and nowhere else.
    """

    async def program() -> None:
        async with create_engine(name, say_process, 1) as engine:
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

            def refuse(event: object) -> None:
                raise ValueError(f"the observer wants no {event}")

            with pytest.raises(ValueError, match=f"the observer wants no {pid}"):
                await engine.run("go", "host", refuse)
            assert await engine.run("go", "host", started.put_nowait) == pid

    asyncio.run(program())


def test_the_schedule_keeps_its_bounds() -> None:
    """A hundred thousand pieces of work: a maximum at once, one per host, few taken ahead; a failed one is retried."""
    taken = most_at_once = most_ahead = 0
    active: set[str] = set()
    failed: list[int] = []

    def works() -> Any:
        nonlocal taken
        for number in range(20_000):
            taken += 1
            yield number

    async def run(number: int, tell: Any) -> int:
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
            is_transient=lambda result: result < 0,
        )
        ended = []
        async for one in schedule.completed():
            ended.append((one.result, one.tries))
            most_ahead = max(most_ahead, taken - len(ended))
        return ended

    ended = asyncio.run(program())
    assert sorted(result for result, _ in ended) == list(range(20_000))
    assert most_at_once == 8
    assert most_ahead <= 1100
    assert [tries for result, tries in ended if result == 7] == [3]


def test_a_missing_ray_is_reported_with_the_package_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`--engine ray` without the package."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'upwell\[ray\]'"):
        api.harvest_all(["http://127.0.0.1:9/"], out=tmp_path, running=api.RunOptions(engine="ray"))


def test_work_with_a_low_yield_makes_room_for_others() -> None:
    """One slot for three: the one with a low yield pauses after its turn, and continues last."""
    reached: dict[str, int] = {}
    order: list[str] = []

    async def run(name: str, tell: Any) -> str:
        order.append(name)
        is_poor = name.startswith("poor")
        try:
            for requests in range(1, 301):  # what was done before is told again, at once
                reached[name] = max(requests, reached.get(name, 0))
                if requests >= reached[name]:
                    await asyncio.sleep(0.0001)
                records = min(requests, 50) if is_poor else 10 * requests
                tell(WorkProgress(requests=requests, records=records, expected=0.001 if is_poor else 10.0))
        except asyncio.CancelledError:
            return f"{name} was cut off"
        return name

    async def program() -> tuple[list[str], int]:
        works = ["rich 1", "poor", "rich 2", "rich 3"]
        schedule = Schedule(works=works, run=run, host_of=lambda name: name, at_once=1)
        return [one.result async for one in schedule.completed()], schedule.suspensions

    ended, turns = asyncio.run(program())
    assert ended == ["rich 1", "rich 2", "rich 3", "poor"]
    assert order == ["rich 1", "poor", "rich 2", "rich 3", "poor"]
    assert turns == 1


def test_events_are_reported_once_although_a_worker_is_lost() -> None:
    """A harvest that continues elsewhere repeats events; observers receive only new ones."""

    def asked(requests: int) -> Asked:
        return Asked(site="", query="", requests=requests, answers={}, records=0, overlap_rate=1.0, size=None)

    a, b, c = (Held(row={"_key": key}) for key in "abc")
    heard: list[Any] = []
    told = EventDeduplicator(heard.append)
    told.restart()
    for event in (asked(3), a, asked(3), b):
        told.follow(event)
    assert heard == [asked(3), a, asked(3), b]
    told.restart()
    for event in (asked(2), a, b, c, asked(4)):
        told.follow(event)
    assert heard[4:] == [c, asked(4)]
