"""One command over many sites: all end, the rate is respected, and a kill loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.reliability.hosts import serving
from benchmarks.reliability.many import command, lines_of

from tests.command import upwell
from tests.engines.test_engines import rows_of
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.engines.engine import site_capacity
from upwell.errors import BudgetSpent, UpwellError
from upwell.harvest.run_log import run_status
from upwell.many_sites import TotalBudget
from upwell.net.manners import Manners

FREE = Manners(rate=0)
CLOCK_SECONDS = 0.006  # by which the server's note of when a request came may be off


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    return tmp_path / "sites.txt"


def wait_for(done: Iterator[bool]) -> None:
    """Wait until a condition is true."""
    while not next(done):
        time.sleep(0.05)


def test_twenty_five_sites_with_few_open_files(tmp_path: Path, sites: Path) -> None:
    """All sites end although not all fit into the limit of open files; no host is requested faster than allowed; each has a line."""
    with serving(25) as hosts:
        sites.write_text("\n".join(hosts.urls))
        run = command(sites, tmp_path / "out", "--budget", "8", "--rate", "4", "--engine", "processes")
        limited = f"ulimit -n 160 && exec {' '.join(run)}"
        done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = lines_of(tmp_path / "out")
    assert sorted(str(line["url"]) for line in lines) == sorted(hosts.urls)
    assert {line["outcome"] for line in lines} == {"done"}
    assert len(done.stdout.splitlines()) == 25
    assert hosts.requests == sum(json.loads(line)["requests"] for line in done.stdout.splitlines())
    assert min(hosts.gaps) >= 0.25 - CLOCK_SECONDS


def begun(out: Path, number: int) -> Iterator[bool]:
    """Yield True once enough sites have ended."""
    while True:
        status = run_status(out)
        yield status is not None and status.done >= number


def test_a_killed_run_continues(tmp_path: Path, sites: Path) -> None:
    """After kill -9, the same command gives the rows of an uninterrupted run, without new requests to finished sites."""
    plan = ("--budget", "20", "--rate", "0", "--at-once", "2", "--engine", "processes")
    with serving(5) as hosts:
        sites.write_text("\n".join(hosts.urls))
        with subprocess.Popen(command(sites, tmp_path / "killed", *plan), stdout=subprocess.DEVNULL) as process:
            wait_for(begun(tmp_path / "killed", 1))
            process.send_signal(signal.SIGSTOP)  # or it may be over before anybody looks
            found = upwell("status", str(tmp_path / "killed"), "--json", cwd=tmp_path).stdout.splitlines()
            process.kill()
        status = json.loads(found[-1])
        assert (status["run"], status["sites"]) == ("running", 5)
        assert status["done"] >= 1
        assert status["done"] + status["running"] + status["waiting"] == 5
        ended = {str(line["url"]) for line in lines_of(tmp_path / "killed")}
        time.sleep(1)  # its workers notice that nobody reads, and keep what there is
        again = upwell(
            "harvest", str(sites), "--allow", str(sites), "-o", str(tmp_path / "killed"), "--json", *plan, cwd=tmp_path
        )
        assert again.returncode == 0, again.stderr
        upwell(
            "harvest",
            str(sites),
            "--allow",
            str(sites),
            "-o",
            str(tmp_path / "whole"),
            "--json",
            *plan[:-2],
            cwd=tmp_path,
        )
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole")
    last = {str(line["url"]): line for line in lines_of(tmp_path / "killed")}
    assert all(last[url]["was_finished"] for url in ended)
    assert json.loads(upwell("status", "killed", "--json", cwd=tmp_path).stdout.splitlines()[-1])["run"] == "over"
    sent = {host: len(times) for host, times in hosts.times.items()}
    assert max(sent.values()) <= 2 * 20 + 3  # both runs, and what was in flight


def test_ctrl_c_keeps_all_results(tmp_path: Path, sites: Path) -> None:
    """Exit code 3; running sites are saved as stopped, waiting ones are listed."""
    with serving(6) as hosts:
        sites.write_text("\n".join(hosts.urls))
        run = command(sites, tmp_path / "out", "--rate", "5", "--at-once", "2", "--engine", "processes")
        with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while not any((tmp_path / "out").glob("*/archive/*")):
                time.sleep(0.05)
            time.sleep(3)
            os.kill(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 3
    assert {line["outcome"] for line in lines_of(tmp_path / "out")} == {"stopped"}
    status = json.loads(upwell("status", "out", "--json", cwd=tmp_path).stdout.splitlines()[-1])
    assert (status["run"], status["running"], status["waiting"]) == ("over", 0, 4)


def test_addresses_of_one_host_run_one_after_the_other(tmp_path: Path) -> None:
    """Three spellings of a URL have one folder and one harvest; another page of the host has its own folder."""
    with serve() as site:
        plain = site.url.removeprefix("http://").rstrip("/")
        results = api.harvest_all(
            [site.url, plain, f"{plain}/", f"{site.url}about"],
            out=tmp_path,
            plan=Plan(budget=25),
            manners=FREE,
            running=api.RunOptions(engine="processes", workers=2),
        )
        asked = len(site.received)
    assert not any(isinstance(result, UpwellError) for result in results)
    folders = [result.folder.name for result in results if isinstance(result, api.Result)]
    assert len(set(folders[:3])) == 1
    assert folders[3] != folders[0]
    assert asked <= 2 * 25 + 2


def test_a_total_budget_is_shared_and_never_exceeded(tmp_path: Path) -> None:
    """Four sites and 130 requests: each gets a part; a site without any is reported."""
    with serving(4) as hosts:
        running = api.RunOptions(total_budget=130, sites=4)
        results = api.harvest_all(hosts.urls, out=tmp_path, plan=Plan(budget=100), manners=FREE, running=running)
        again = api.harvest_all(hosts.urls, out=tmp_path, plan=Plan(budget=100), manners=FREE, running=running)
    sent = [result.summary["requests"] for result in results if isinstance(result, api.Result)]
    assert len(sent) == 4
    assert min(sent) >= 30
    assert sum(sent) == hosts.requests <= 130
    assert all(isinstance(result, api.Result) and result.was_finished for result in again)
    few = api.RunOptions(total_budget=20, sites=2)
    results = api.harvest_all(
        ["http://127.0.0.1:9/", "http://127.0.0.1:8/"],
        out=tmp_path / "b",
        manners=Manners(rate=0, retries=0),
        running=few,
    )
    assert isinstance(results[1], BudgetSpent)


def test_unused_requests_of_the_total_budget_go_to_later_sites() -> None:
    """Each site gets an equal part of the rest; returned requests are shared."""
    purse = TotalBudget(1000, 4, [])
    assert purse.take("a", 5000) == 250
    assert purse.take("b", 100) == 100
    assert purse.take("c", 5000) == 325
    assert purse.take("c", 5000) == 325  # the same again when it goes on
    purse.settle("a", UpwellError("nobody knows what it sent"))
    assert purse.take("d", 5000) == 325
    assert purse.take("e", 5000) == 0
    failed = UpwellError("it failed after 25 requests")
    failed.requests = 25
    purse.settle("d", failed)
    assert purse.take("f", 5000) == 300


def test_unused_requests_let_other_sites_continue(tmp_path: Path) -> None:
    """Of three sites with a third each, one is unreachable and one unreadable; the last continues with their requests."""
    with serving(1) as hosts, serve(Switches(country="LI"), host="127.0.0.7") as small:
        running = api.RunOptions(total_budget=300, sites=3, at_once=3)
        places = ["http://127.0.0.1:9/", small.url, *hosts.urls]
        nobody, little, much = api.harvest_all(
            places, out=tmp_path, plan=Plan(budget=1000), manners=Manners(rate=0, retries=0), running=running
        )
        sent = len(small.received)
    assert isinstance(nobody, UpwellError)
    assert isinstance(little, UpwellError)
    assert little.requests == sent > 0
    assert isinstance(much, api.Result)
    assert much.summary["requests"] == hosts.requests > 150
    assert 270 <= hosts.requests + sent <= 300
    lines = lines_of(tmp_path)
    assert sorted(str(line["outcome"]) for line in lines) == ["done", "failed", "failed"], "one line a site"


def test_an_unreachable_site_is_retried(tmp_path: Path, sites: Path) -> None:
    """A server that starts late is harvested; one that never answers fails, and the exit code shows it."""
    import threading

    with serve() as site:
        port = int(site.url.rsplit(":", 1)[1].strip("/"))
    sites.write_text(f"127.0.0.1:9\nhttp://127.0.0.1:{port}/\n")
    arguments = (
        "harvest",
        str(sites),
        "--allow",
        str(sites),
        "--rate",
        "0",
        "--budget",
        "25",
        "--retries",
        "1",
        "--json",
    )
    ready, stop = threading.Event(), threading.Event()

    def begin_late() -> None:
        time.sleep(6)
        with serve(port=port):
            ready.set()
            stop.wait()

    threading.Thread(target=begin_late, daemon=True).start()
    done = upwell(*arguments, cwd=tmp_path)
    stop.set()
    assert ready.is_set()
    assert done.returncode == 3, done.stderr
    outcomes = {str(line["url"]).rsplit(":", 1)[1].strip("/"): line for line in lines_of(tmp_path / "harvest")}
    assert outcomes[str(port)]["outcome"] == "done"
    assert outcomes[str(port)]["tries"] == 2
    assert (outcomes["9"]["outcome"], outcomes["9"]["error"]) == ("failed", "Unreachable")


def test_capacity_depends_on_the_limit_of_open_files() -> None:
    """A small limit leaves room for a few sites, at least one."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)); "
        "from upwell.engines.engine import site_capacity; print(site_capacity(1), site_capacity(2))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert 1 <= int(printed[0]) <= 40
    assert int(printed[1]) == 2 * int(printed[0]) or int(printed[1]) >= 2
    assert site_capacity(1) >= 1
