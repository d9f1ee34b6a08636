"""Limits on time and size hold for any page: every reading step is linear, and a harvest ends in time."""

import asyncio
import contextlib
import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.site import ReceivedRequest, hostile
from upwell import api
from upwell.answers.answer import Answer
from upwell.answers.argument_roles import learn_roles
from upwell.answers.facets import facet_links
from upwell.answers.next_page import next_page
from upwell.answers.totals import read_totals
from upwell.discover import forms, interfaces
from upwell.discover.link_ranking import promising_links
from upwell.discover.probe_words import trial_words
from upwell.discover.trial import items_of_page
from upwell.errors import BudgetSpent, TookTooLong, UpwellError
from upwell.harvest import files, harvest_folder, time_limit
from upwell.harvest.loop import Plan
from upwell.net import reading_thread
from upwell.net.fetch import Manners
from upwell.page.tree import TagTree, read
from upwell.source.learn import learn_source
from upwell.store.state import State

URL = "http://x/s?q=a&page=1"
# Pages that grow in one respect; the time to read them must grow linearly at most.
PAGES: dict[str, Callable[[int], str]] = {
    "forms": lambda n: "".join(f"<form action=/f{i}><input name=q{i}><select name=s><option>a</select><button>Go</button></form>" for i in range(n)),
    "inputs": lambda n: "<form>" + "".join(f"<label for=i{i}>l{i}</label><input id=i{i} name=q{i}>" for i in range(n)) + "</form>",
    "options": lambda n: "<form>" + "<select name=s><option>a<option>b</select>" * n + "</form>",
    "attributes": lambda n: "<div " + " ".join(f"a{i}=v{i}" for i in range(10 * n)) + ">x</div>",
    "quoted attributes": lambda n: "<div " + " ".join(f"a{i}='<>'" for i in range(10 * n)) + ">x</div>",
    "numbers": lambda n: "<div>" + "".join(f"<a href='/s?page={i}'>{i}</a> " for i in range(n)) + "</div>",
    "next": lambda n: "".join(f"<a class=next href='/s?page={i}'>Next</a>" for i in range(n)),
    "empty links": lambda n: "<a href=/x>" * n,
    "scripted": lambda n: "<form></form>" + "".join(f"<a href=\"javascript:__doPostBack('a','{i}')\">{i}</a>" for i in range(n)),
    "base": lambda n: f"<base href='http://x/{'a/' * n}'>" + "<a href=../b>x</a>" * n,
    "actions": lambda n: "<div itemscope itemtype='http://schema.org/SearchAction'><meta itemprop=target content='/s?q={q}'>" * n,
    "menus": lambda n: "<nav>a</nav>text of the page " * n,
    "rows": lambda n: "<table>" + "".join(f"<tr><td>{i}<td><a href=/{i}>name {i}</a></tr>" for i in range(n)) + "</table>",
}  # fmt: skip
STEPS: dict[str, Callable[[TagTree], object]] = {
    "forms": forms.find,
    "interfaces": interfaces.find,
    "links": promising_links,
    "items": items_of_page,
    "words": lambda tree: trial_words(tree, tree, [], 9),
    "next page": lambda tree: next_page(tree, "a"),
    "totals": lambda tree: read_totals(tree, ["x"]),
    "facets": lambda tree: facet_links(tree, learn_roles([tree], ["a"], query_field="q"), "a"),
    "learning": lambda tree: learn_source([Answer(tree, "a"), Answer(tree, "b")], [read(b"<p>nothing")]),
}


@pytest.mark.parametrize("kind", PAGES)
def test_reading_is_linear(kind: str) -> None:
    """A page eight times as large takes about eight times as long at most; a quadratic step would take 64 times as long."""
    html = {n: f"<html><body>{PAGES[kind](n)}".encode() for n in (60, 480)}
    trees = {n: read(page, url=URL) for n, page in html.items()}
    work: dict[str, Callable[[int], object]] = {"read": lambda n: read(html[n], url=URL)}
    work |= {name: (lambda n, step=step: step(trees[n])) for name, step in STEPS.items()}  # type: ignore[misc] # bound now
    for name, step in work.items():
        small, large = (min(_cpu(step, n) for _ in range(3)) for n in (60, 480))
        assert large < 30 * max(small, 0.002), f"{name} of {kind}: {small:.4f} s, then {large:.4f} s"


def _cpu(step: Callable[[int], object], n: int) -> float:
    before = time.process_time()
    step(n)
    return time.process_time() - before


def test_slow_reading_step_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading has a CPU limit; the event loop continues meanwhile, and the thread can be used again."""
    monkeypatch.setattr(reading_thread, "MAX_CPU_SECONDS", 1.0)

    def endless() -> None:
        while True:
            sum(range(1000))

    async def run() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.05)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        with reading_thread.ReadingThread() as thread:
            with pytest.raises(TookTooLong):
                await thread.run(endless)
            assert await thread.run(lambda: 7) == 7
        ticking.cancel()
        return ticks

    assert asyncio.run(run()) > 5


def slow_drip(request: ReceivedRequest) -> str:
    time.sleep(20)
    return "too late"


@pytest.mark.parametrize("state", ["slow answers", "rate", "endless search"])
def test_time_limit_holds_in_every_state(state: str, tmp_path: Path) -> None:
    """`--time` ends a harvest that waits for an answer, waits for the rate, or would continue forever."""
    manners = Manners(rate=0.2 if state == "rate" else 0, retries=2)
    with hostile({"/": slow_drip} if state == "slow answers" else {}, records=100_000) as site:
        ended = threading.Event()

        def run() -> None:
            with contextlib.suppress(UpwellError):
                api.harvest(site.url, out=tmp_path, plan=Plan(seconds=2, browser="never"), manners=manners)
            ended.set()

        threading.Thread(target=run, daemon=True).start()
        assert ended.wait(2 + 2 + 4)  # two seconds as documented, and more on a busy machine


def test_time_limit_includes_the_start_of_the_command(tmp_path: Path) -> None:
    """A command whose time was over before its libraries were loaded sends nothing."""
    code = "from upwell import signals\nsignals.PROGRAM_STARTED -= 100\nfrom upwell.__main__ import main\nmain()"
    with hostile() as site:
        options = ["--time", "100", "--rate", "0", "--browser", "never", "-o", str(tmp_path)]
        command = [sys.executable, "-c", code, "harvest", site.url, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        assert "the 100 seconds of --time are over" in done.stderr
        assert done.returncode == 1
        assert len(site.received) <= 1


def test_time_limit_includes_the_writing_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that the files of a run needed is reserved in the next one."""
    write_files = files.write_files

    def write_slowly(*arguments: Any) -> Any:
        time.sleep(2)
        return write_files(*arguments)

    monkeypatch.setattr(harvest_folder, "write_files", write_slowly)
    with hostile() as site:
        plan, running = Plan(budget=30, browser="never"), api.RunOptions(engine="inline")
        folder = api.harvest(site.url, out=tmp_path, plan=plan, manners=Manners(rate=0), running=running).folder
    with State(folder / "state.sqlite") as state:
        assert time_limit.TimeLimit(100, time.monotonic(), state).used > time_limit.MIN_RESERVED_SECONDS + 2


def test_time_limit_reserves_a_share_of_the_time_of_reading() -> None:
    """Files need the longer the more was read; a damaged note of the last run counts as none."""
    with State() as state:
        state.set_note(time_limit.NOTE, "nan")
        limit = time_limit.TimeLimit(100, time.monotonic() - 10, state)
        before = limit.used
        assert 10 < before < 13
        with limit.reading():
            time.sleep(1)
        assert 1 + time_limit.FILES_SHARE < limit.used - before < 2
        state.set_note(time_limit.NOTE, "1e999")
        assert 59 < time_limit.TimeLimit(100, time.monotonic() - 10, state).used < 61


def test_budget_includes_discovery(tmp_path: Path) -> None:
    """Requests to find the search are counted."""
    with (
        hostile(form="", around_home="".join(f"<a href=/part{i}/search>Search {i}</a>" for i in range(50))) as site,
        pytest.raises(BudgetSpent),
    ):
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=5, browser="never"), manners=Manners(rate=0, retries=0))
    assert len(site.received) == 5


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_harvest_and_keep_its_tables(sign: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM write a table and a summary, and exit with code 3."""
    with hostile(records=5000) as site:
        command = [
            sys.executable,
            "-m",
            "upwell.cli",
            "harvest",
            site.url,
            "-o",
            str(tmp_path),
            "--rate",
            "20",
            "--browser",
            "never",
        ]
        process = subprocess.Popen([*command, "--format", "jsonl"], env=os.environ | {"OMP_NUM_THREADS": "1"})
        while len(site.received) < 40:
            time.sleep(0.05)
        process.send_signal(sign)
        assert process.wait(30) == 3
    (folder,) = tmp_path.iterdir()
    assert (folder / "records.jsonl").read_text().count("\n") > 5


def test_decompression_bomb_in_a_warc_is_refused(tmp_path: Path) -> None:
    """A WARC that decompresses to 400 MB of zeros is reported, and does not fill the memory."""
    head = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://x/\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    size = 400_000_000
    head += b"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n" % (len(http) + size)
    with gzip.open(tmp_path / "bomb.warc.gz", "wb", compresslevel=1) as out:
        out.write(head + http)
        for _ in range(400):
            out.write(bytes(1_000_000))
        out.write(b"\r\n\r\n")
    code = "import resource, sys\nresource.setrlimit(resource.RLIMIT_AS, (2_500_000_000, 2_500_000_000))\nfrom upwell.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, "extract", str(tmp_path / "bomb.warc.gz"), "--json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "setup",
    [
        "socket.getaddrinfo = lambda *_, **__: time.sleep(60)",  # a name server that does not answer
        "socket.getaddrinfo = refuse",  # HTTPS fails after most of the time: HTTP gets the rest, not as much again
    ],
)
def test_time_limit_covers_name_lookups_and_both_schemes(setup: str, tmp_path: Path) -> None:
    """The whole command ends soon after `--time`, whatever it was waiting for."""
    code = (
        "import socket, sys, time\nfrom upwell import api\nfrom upwell.errors import UpwellError\nfrom upwell.choose.plan import Plan\n"
        "from upwell.net.manners import Manners\n"
        "def refuse(*_, **__):\n    time.sleep(2.5)\n    raise OSError('no such name')\n"
        f"{setup}\ntry:\n    api.harvest('slow.example', out=sys.argv[1], plan=Plan(seconds=4, browser='never'), manners=Manners(retries=0))\n"
        "except UpwellError as error:\n    print(type(error).__name__)"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() in ("BudgetSpent", "Unreachable")
    assert time.monotonic() - start < 12
