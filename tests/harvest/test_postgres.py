"""Harvests with the state in PostgreSQL: the same as in a file, for many workers, through kills and restarts of the server."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from benchmarks.reliability.postgres_server import PostgresServer

from tests.object_store import s3_server
from tests.postgres import postgres_server
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running, Switches, serve
from upwell.errors import CannotKeep, InUse
from upwell.harvest.files import Result
from upwell.harvest.harvest_folder import harvest_to
from upwell.net.manners import Manners
from upwell.store import postgres as postgres_server_module
from upwell.store.database import Connection, without_password
from upwell.store.location import PostgresLocation, open_database, state_location
from upwell.store.read_only import is_running, open_read_only
from upwell.store.remote import RemoteFolder
from upwell.store.state import State

__all__ = ["postgres_server"]

FREE = Manners(rate=0)
PLAN = Plan(budget=40)


def harvest(site: Running, out: Path | str, address: str, plan: Plan = PLAN) -> Result:
    return asyncio.run(harvest_to(site.url, out, plan, FREE, lambda event: None, "jsonl", address))


def rows(result: Result) -> list[dict[str, object]]:
    """Return the rows of a table without their times and the digests of their pages, which depend on the time."""
    lines = [json.loads(line) for line in result.records.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name not in ("_fetched", "_page")} for line in lines]


def test_postgres_gives_the_same_rows_as_a_file(demo: Running, tmp_path: Path, postgres_server: PostgresServer) -> None:
    """A repeated harvest sends nothing; status and export find the state."""
    address = postgres_server.address("equal")
    first = harvest(demo, tmp_path / "file", "")
    second = harvest(demo, tmp_path / "database", address)
    assert rows(second) == rows(first)
    assert second.summary["requests"] == first.summary["requests"]
    asked = len(demo.received)
    assert harvest(demo, tmp_path / "database", "").was_finished, "the folder says where its state is"
    (second.folder / "summary.json").unlink()
    again = harvest(demo, tmp_path / "database", "")
    assert (len(demo.received), rows(again)) == (asked, rows(first))
    elsewhere = harvest(demo, tmp_path / "another machine", address)
    assert (len(demo.received), rows(elsewhere)) == (asked, rows(first)), "bodies are in the database"
    (status,) = api.status(second.folder)
    assert (status.records, status.stopped) == (first.summary["records"], first.summary["stopped"])
    (exported,) = api.export(second.folder, format="csv")
    assert exported.records == first.summary["records"]
    with open_read_only(second.folder) as window:
        assert window.records() == first.summary["records"]


def test_a_second_worker_is_refused_and_readers_are_not(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """The error names the first worker; status and the web interface can read; the lease of a killed worker ends."""
    address = postgres_server.address("workers")
    with serve(Switches(latency=0.1)) as site:
        worker = start(site, tmp_path / "one", address)
        folder = api.folder_of(site.url, tmp_path / "one")
        wait_for(lambda: len(site.received) > 12)
        with pytest.raises(CannotKeep, match=f"another process is harvesting it .upwell .* {worker.pid}"):
            harvest(site, tmp_path / "two", address)
        (status,) = api.status(folder)
        assert (status.stopped, is_running(folder)) == ("running", True)
        assert status.requests > 0, "a state in a database is read while it is written"
        with open_read_only(folder) as window:
            assert window.note("started")
        worker.kill()
        worker.wait()
        with State(state_location(folder)) as state:  # the lease ended with the connection
            assert state.requests_sent() >= status.requests
        assert not is_running(folder)


def test_a_harvest_survives_kills_on_changing_machines(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """SIGKILL at three moments: equal rows, only requests in flight are repeated, each time with another machine's disk."""
    address = postgres_server.address("killed")
    with serve() as site:
        undisturbed = harvest(site, tmp_path / "undisturbed", "")
        asked = requests(site, 0)
        before = len(site.received)
        for number in range(3):
            worker = start(site, tmp_path / f"machine {number}", address)
            wait_for(lambda until=before + 9 * (number + 1): len(site.received) >= until)  # type: ignore[misc] # bound now
            worker.kill()
            worker.wait()
        last = harvest(site, tmp_path / "last", address)
        again = requests(site, before)
    assert rows(last) == rows(undisturbed)
    assert sum((again - asked).values()) <= 3, "at most one request in flight for each kill"


def test_a_killed_harvest_with_remote_files_continues_immediately(
    tmp_path: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State in PostgreSQL, files at S3, SIGKILL on one machine: another continues, with equal rows and no request sent twice."""
    address = postgres_server.address("s3")
    with s3_server(monkeypatch, "bucket"), serve(Switches(latency=0.1)) as site:
        undisturbed = harvest(site, tmp_path / "undisturbed", "")
        asked = requests(site, 0)
        before = len(site.received)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one machine"))
        with start(site, "s3://bucket/sites", address) as worker:
            wait_for(lambda: len(site.received) >= before + 12)
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another machine"))
            try:
                with pytest.raises(InUse, match=f"another process is harvesting it .upwell .* {worker.pid}"):
                    harvest(site, "s3://bucket/sites", address)
            finally:
                worker.kill()
        last = harvest(site, "s3://bucket/sites", address)
        again = requests(site, before)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a third machine"))
        (status,) = api.status("s3://bucket/sites")
        names = set(RemoteFolder("s3://bucket/sites").names())
    assert rows(last) == rows(undisturbed)
    assert sum((again - asked).values()) <= 1, "at most the request in flight"
    assert (status.records, status.stopped) == (last.summary["records"], "budget")
    files = {"state.json", "records.jsonl", "summary.json", "report.html", "archive/upwell-00000.warc.gz"}
    assert {f"{last.folder.name}/{name}" for name in files} <= names
    assert not any(name.endswith("state.sqlite") for name in names)


def test_a_harvest_survives_a_restart_of_the_server(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """Clean and as after a crash: the harvest waits and continues with equal rows; nothing is requested twice."""
    address = postgres_server.address("restarted")
    with serve() as site:
        undisturbed = harvest(site, tmp_path / "undisturbed", "")
        asked = requests(site, 0)
        before = len(site.received)
        done = threading.Event()

        def disturb() -> None:
            for number, mode in enumerate(("fast", "immediate", "fast")):
                wait_for(lambda until=before + 9 * (number + 1): done.is_set() or len(site.received) >= until)  # type: ignore[misc] # bound now
                postgres_server.stop(mode)  # type: ignore[arg-type] # of the two above
                time.sleep(0.5)
                postgres_server.start()

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            disturbed = harvest(site, tmp_path / "disturbed", address)
        finally:
            done.set()
            thread.join()
        again = requests(site, before)
    assert rows(disturbed) == rows(undisturbed)
    assert again == asked


def test_a_transaction_is_applied_exactly_once(postgres_server: PostgresServer) -> None:
    """A transaction lost in a crash is repeated, even if its number was reused; one whose commit was not confirmed is not repeated."""
    address = postgres_server.address("once")
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")  # so that the crash happens before any of it is written
        db.execute("SELECT pg_reload_conf()")
    began: list[str] = []

    def undone_by_a_crash(db: Connection) -> None:
        db.execute("INSERT INTO about VALUES (?, ?)", ("undone", "once"))
        began.append(db.execute("SELECT pg_current_xact_id()::text").fetchone()[0])
        if len(began) == 1:
            postgres_server.stop("immediate")
            postgres_server.start()
            given = 0
            with psycopg.connect(address, autocommit=True) as other:
                while given < int(began[0]):
                    given = int(other.execute("SELECT pg_current_xact_id()::text").fetchall()[0][0])
            assert given == int(began[0]), "the server has not forgotten it: this test tests nothing"

    def committed_unheard(db: Connection) -> None:
        began.append("committed")
        db.execute("INSERT INTO about VALUES (?, ?)", ("committed", "once"))
        db.execute("COMMIT")
        postgres_server.stop("fast")
        postgres_server.start()

    with State(PostgresLocation(address, "site")):
        pass  # the tables exist
    database = open_database(PostgresLocation(address, "site"))
    try:
        database.transaction(undone_by_a_crash)
        database.transaction(committed_unheard)
        names = ("undone", "committed")
        assert [database.execute("SELECT value FROM about WHERE name = ?", (n,)).fetchone() for n in names] == [
            ("once",),
            ("once",),
        ]
    finally:
        database.close()
    assert (len(began), began.count("committed")) == (3, 1)


def test_no_password_is_written_or_shown(
    tmp_path: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opens the database and is in no file; if it is missing or wrong, the message says where it comes from."""
    address = postgres_server.address("guarded")
    with psycopg.connect(address) as db:
        db.execute("CREATE USER guarded PASSWORD 'open sesame'")
        db.execute("GRANT CREATE ON DATABASE guarded TO guarded")
    with_password = postgres_server.address("guarded", user="guarded", password="open%20sesame")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with serve() as site:
        result = harvest(site, tmp_path, with_password, Plan(budget=20))
        pointer = json.loads((result.folder / "state.json").read_text())
        assert pointer["state"] == postgres_server.address("guarded", user="guarded")
        everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert b"sesame" not in everything
        command = [sys.executable, "-m", "upwell", "status", str(result.folder), "--json"]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1
        assert "PGPASSWORD" in refused.stderr
        assert "sesame" not in refused.stdout + refused.stderr
        monkeypatch.setenv("PGPASSWORD", "open sesame")
        allowed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert json.loads(allowed.stdout.splitlines()[0])["records"] == result.summary["records"]
    monkeypatch.setattr(postgres_server_module, "MAX_SECONDS_UNREACHED", 0.0)  # no server, however long one waits
    for address in (
        with_password.replace("sesame", "barley"),  # a wrong password
        "postgresql://me:bar?ley@nowhere/d",  # which libpq parses differently
        "postgresql://[me:barley@x",
    ):
        with pytest.raises(CannotKeep) as error:
            State(PostgresLocation(address, "s"))
        assert not re.search("barley|bar/ley|bar.ley", str(error.value)), error.value
        assert "barley" not in repr(PostgresLocation(address, "s"))
    assert without_password("postgresql://me:bar/ley@h/d") == "postgresql://me@h/d"


def requests(site: Running, first: int) -> Counter[str]:
    """Return how often each URL was requested, without the argument that the site varies for each link."""
    return Counter(f"{one.path}?{one.query.partition('&ref=')[0]}" for one in site.received[first:])


def start(
    site: Running, out: Path | str, address: str, budget: int = 40, rate: float = 0, **variables: str
) -> subprocess.Popen[bytes]:
    """Start a harvest in a separate process."""
    program = (
        "import asyncio, sys; from upwell.harvest.harvest_folder import harvest_to; from upwell.choose.plan import Plan; "
        "from upwell.net.manners import Manners; site, out, address, budget, rate = sys.argv[1:]; "
        "plan, manners = Plan(budget=int(budget)), Manners(rate=float(rate)); "
        "asyncio.run(harvest_to(site, out, plan, manners, lambda event: None, 'jsonl', address))"
    )
    command = [sys.executable, "-c", program, site.url, str(out), address, str(budget), str(rate)]
    return subprocess.Popen(command, env={**os.environ, **variables})


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true, for two minutes at most."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < 120
        time.sleep(0.01)


def test_workers_on_several_machines_share_one_rate_per_host(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """Two workers that share only the database send ten requests per second in total to one host."""
    address = postgres_server.address("paces")
    with serve() as one, serve() as two:  # two ports of one host, which have one rate
        workers = []
        for name, site in (("one", one), ("two", two)):
            (tmp_path / name).mkdir()
            workers.append(start(site, tmp_path / name, address, 20, 10, TMPDIR=str(tmp_path / name)))
        for worker in workers:
            assert worker.wait() == 0
        times = sorted(request.time for site in (one, two) for request in site.received)
    assert len(times) >= 30
    assert times[-1] - times[0] >= 0.95 * (len(times) - 1) / 10


def test_a_lease_of_a_host_lasts_for_the_gap(postgres_server: PostgresServer) -> None:
    """Others are told how long to wait, and a back-off applies to everybody."""
    with State(PostgresLocation(postgres_server.address("leases"), "a")) as first:
        leases = first.host_leases
        assert leases is not None
        assert leases.take("h", 60) == 0
        assert 50 < leases.take("h", 60) <= 60
        assert leases.take("other", 0.001) == 0
        leases.extend("other", 600)
        assert 500 < leases.take("other", 1) <= 600
        leases.extend("other", 1)
        assert leases.take("other", 1) > 500, "a shorter one does not end a longer one"
