"""A page that hangs or bloats its reader costs itself only: other sites, signals, time limits and later runs are not affected."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.hostile.site import HostileSite, hostile

# The worker process inherits what this module, which Python imports at its start, does to the functions that read pages and write tables: a
# pattern that backtracks without end holds the interpreter lock, as do many of compiled functions; memory is taken until it ends.
ATTACKS = """
import os, re, signal
from upwell import supervision
from upwell.harvest import harvest_folder, reader
from upwell.offline import saved_pages

supervision.MAX_HELD_SECONDS = float(os.environ.get("MAX_HELD_SECONDS", "2"))
supervision.MAX_HELD_COMMAND_SECONDS = 3.0
supervision.MAX_HELD_STOPPING_SECONDS = 1.0
if "MAX_BYTES" in os.environ:
    supervision.free_bytes = lambda: int(os.environ["MAX_BYTES"])

def hang():
    re.match(r"(a+)+$", 60 * "a" + "b")

def attack(read_page):
    def read(body, *rest, **named):
        if b"<!--hang-->" in body:
            hang()
        if b"<!--bloat-->" in body:
            taken = [32_000_000 * b"x" for _ in range(1000)]
        if b"<!--crash-->" in body:
            os.kill(os.getpid(), signal.SIGSEGV)
        return read_page(body, *rest, **named)
    return read

reader.read_page = attack(reader.read_page)
saved_pages.read_page = attack(saved_pages.read_page)
write_files = harvest_folder.write_files

def write(site, *rest):
    if any("hang" in str(row) for row in site.state.rows()):
        hang()
    return write_files(site, *rest)

harvest_folder.write_files = write
"""


@pytest.fixture
def attacked(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a command whose processes hang on pages that say so."""
    folder = tmp_path / "attacks"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ATTACKS)
    # OpenBLAS would start threads, and a process with threads is not forked
    return {**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@contextmanager
def started(*arguments: str, cwd: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and kill it and its processes at the end."""
    command = [sys.executable, "-m", "upwell", *arguments]
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run(*arguments: str, cwd: Path, environment: dict[str, str], code: int = 0) -> str:
    """Run a command to its end; return what it printed."""
    with started(*arguments, cwd=cwd, environment=environment) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode == code, out + err
    return out + err


def descendants(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the processes that a command has started."""
    children: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return children


def wait_for_hang(process: subprocess.Popen[str], site: HostileSite, target: str) -> None:
    """Wait until a page has been requested and its reader uses the CPU."""
    deadline = time.monotonic() + 60
    while target not in site.targets:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)


def third_page_is(attack: str) -> Callable[[str, int], str]:
    """Return what a site shows on its answers: the third page of all records is an attack."""
    return lambda query, page: f"<!--{attack}-->" if (query, page) == ("", 3) else ""


REASONS = {
    "hang": "reading it held the interpreter lock",
    "bloat": "reading it took more than 0.6 GB of memory",
    "crash": "two processes that read it were lost",
}
ATTACK_TARGET = "GET /find?q=&page=3"


@pytest.mark.parametrize(
    ("attack", "engine"), [("hang", "local"), ("bloat", "local"), ("hang", "processes"), ("crash", "local")]
)
def test_one_page_costs_only_itself(attack: str, engine: str, tmp_path: Path, attacked: dict[str, str]) -> None:
    """Two sites in one command: the page is left out and named, the other site is complete; a second run does not read the page again."""
    if attack == "bloat":
        attacked["MAX_BYTES"] = "1000000000"
    with hostile(around_answers=third_page_is(attack)) as bad, hostile(host="127.0.0.2") as good:
        arguments = (
            "harvest",
            bad.url,
            good.url,
            "--rate",
            "0",
            "--browser",
            "never",
            "--engine",
            engine,
            "--format",
            "jsonl",
        )
        printed = run(*arguments, cwd=tmp_path, environment=attacked)
        assert f"is not read, because {REASONS[attack]}" in printed
        rows = {place.url: rows_of(tmp_path, place) for place in (bad, good)}
        assert len(rows[good.url]) == 60
        assert 30 <= len(rows[bad.url]) <= 60
        assert bad.targets.count(ATTACK_TARGET) == 1
        before = len(bad.targets)
        assert "is not read, because" in run(*arguments, "--refresh", cwd=tmp_path, environment=attacked)
        assert len(bad.targets) > before + 3  # everything else is requested again
        assert bad.targets.count(ATTACK_TARGET) == 1


def rows_of(folder: Path, site: HostileSite) -> list[dict[str, object]]:
    """Return the records of a site."""
    file = folder / "harvest" / site.url.removeprefix("http://").strip("/").replace(":", "_") / "records.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_harvest_that_hangs(number: signal.Signals, tmp_path: Path, attacked: dict[str, str]) -> None:
    """The command ends soon with exit code 3 and the table of what it has; the next run does not read the page."""
    with hostile(around_answers=third_page_is("hang")) as site:
        arguments = ("harvest", site.url, "--rate", "0", "--browser", "never", "--format", "jsonl")
        patient = {**attacked, "MAX_HELD_SECONDS": "1000"}
        with started(*arguments, cwd=tmp_path, environment=patient) as process:
            wait_for_hang(process, site, ATTACK_TARGET)
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 3, err
        assert "the same command continues" in err
        assert rows_of(tmp_path, site)
        assert "is not read, because" in run(*arguments, cwd=tmp_path, environment=patient)
        assert site.targets.count(ATTACK_TARGET) == 1


def test_a_time_limit_ends_a_harvest_that_hangs(tmp_path: Path, attacked: dict[str, str]) -> None:
    """`--time` holds although the interpreter lock is held when it is over, and the time of the killed worker counts."""
    with hostile(around_answers=third_page_is("hang"), records=400) as site:
        arguments = ("harvest", site.url, "--rate", "2", "--browser", "never", "--format", "jsonl", "--time", "25")
        assert "stopped: budget" in run(*arguments, cwd=tmp_path, environment={**attacked, "MAX_HELD_SECONDS": "1000"})
        assert rows_of(tmp_path, site)


def test_tables_that_hang_are_given_up(tmp_path: Path, attacked: dict[str, str]) -> None:
    """The command says so and ends; it does not try again and again."""
    with hostile(record=lambda number, name: f'<a href="/item/{number}">hang {name}</a>') as site:
        printed = run(
            *("harvest", site.url, "--rate", "0", "--browser", "never"), cwd=tmp_path, environment=attacked, code=1
        )
    assert "was given up: writing its tables held the interpreter lock" in printed


def test_a_killed_command_leaves_no_process(tmp_path: Path, attacked: dict[str, str]) -> None:
    """kill -9 of the command ends its worker too, although that holds the interpreter lock."""
    with (
        hostile(around_answers=third_page_is("hang")) as site,
        started(
            *("harvest", site.url, "--rate", "0", "--browser", "never"),
            cwd=tmp_path,
            environment={**attacked, "MAX_HELD_SECONDS": "1000"},
        ) as process,
    ):
        wait_for_hang(process, site, ATTACK_TARGET)
        workers = descendants(process)
        assert workers
        process.kill()
        process.wait()
        assert not psutil.wait_procs(workers, timeout=10)[1]


@pytest.mark.parametrize(
    ("verb", "number"),
    [
        ("extract", signal.SIGTERM),
        ("extract", signal.SIGINT),
        ("blocks", signal.SIGTERM),
        ("links", signal.SIGINT),
        ("entities", signal.SIGTERM),
    ],
)
def test_signals_end_any_command_that_hangs(
    verb: str, number: signal.Signals, tmp_path: Path, attacked: dict[str, str]
) -> None:
    """A verb that reads a saved page without end stops soon, with the exit code of an interruption, and leaves no process."""
    (tmp_path / "page.html").write_text("<!--hang--><ul><li><a href=/1>one</a></ul>")
    with started(verb, "page.html", cwd=tmp_path, environment=attacked) as process:
        deadline = time.monotonic() + 60
        while not (running := descendants(process)) or running[0].cpu_times().user < 1.2:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 3, err
        assert "interrupted" in err
        assert not psutil.wait_procs(running, timeout=10)[1]


def test_a_command_that_hangs_ends_by_itself(tmp_path: Path, attacked: dict[str, str]) -> None:
    """Without a signal it ends with an error that says why."""
    (tmp_path / "page.html").write_text("<!--hang--><ul><li><a href=/1>one</a></ul>")
    printed = run("extract", "page.html", cwd=tmp_path, environment=attacked, code=1)
    assert "the command held the interpreter lock" in printed


def test_a_call_in_a_supervised_process_is_ended(tmp_path: Path) -> None:
    """A server that reads a page without end in such a process gets an error; a call that ends gets its result, and errors are passed on."""
    code = """
import asyncio, re
from upwell import supervision
from upwell.engines.local import call_supervised
from upwell.errors import WorkerLost, WrongUsage

async def hang(): re.match(r"(a+)+$", 60 * "a" + "b")
async def add(a, b): return a + b
async def refuse(): raise WrongUsage("wrong")

async def main():
    supervision.MAX_HELD_SECONDS = 1.0
    print(await call_supervised(add, 2, b=3))
    for function in (refuse, hang):
        try:
            await call_supervised(function)
        except (WorkerLost, WrongUsage) as error:
            print(error)

asyncio.run(main())
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert printed.splitlines()[:2] == ["5", "wrong"]
    assert "reading a page held the interpreter lock" in printed
