"""The rate holds per host, the scope is a site, and robots.txt is always obeyed."""

import asyncio
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.hostile.site import Answer, HostileSite, ReceivedRequest, hostile
from upwell import api
from upwell.errors import BudgetSpent, Forbidden, Refused, Unreachable
from upwell.harvest.loop import Plan
from upwell.net.fetch import Fetcher, Manners
from upwell.net.pace import FileLeases
from upwell.types import Request, Response

MIN_SHARE = 0.75  # share of the gap that a server must measure; requests arrive slightly later than they are sent


def fetch(*urls: str, manners: Manners | None = None, user_url: str = "") -> list[Response]:
    """Return the answers to requests of one Fetcher, in sequence."""

    async def run() -> list[Response]:
        async with Fetcher(manners or Manners(rate=0, retries=0), user_urls=(user_url or urls[0],)) as net:
            return [await net.fetch(Request(url=url)) for url in urls]

    return asyncio.run(run())


def smallest_gap(*sites: HostileSite) -> float:
    """Return the smallest gap in seconds between two requests, over several servers."""
    times = sorted(request.at for site in sites for request in site.received)
    return min(after - before for before, after in pairwise(times))


def test_three_ports_of_a_host_share_one_rate(tmp_path: Path) -> None:
    """Three sites on three ports of one host together get one rate."""
    with hostile() as first, hostile() as second, hostile() as third:
        urls = [first.url, second.url, third.url]
        api.harvest_all(urls, out=tmp_path, plan=Plan(budget=5, browser="never"), manners=Manners(rate=10, retries=0))
        received = sum(len(site.received) for site in (first, second, third))
        times = [request.at for site in (first, second, third) for request in site.received]
    assert received == 15
    assert max(times) - min(times) > 14 * 0.1 * MIN_SHARE


def test_two_processes_share_one_rate() -> None:
    """Two simultaneous commands together keep the rate of a host."""
    code = (
        "import asyncio, sys\nfrom upwell.net.fetch import Fetcher, Manners\nfrom upwell.types import Request\n"
        "async def run():\n    async with Fetcher(Manners(rate=5, retries=0), user_urls=sys.argv[1:]) as net:\n"
        "        for i in range(5): await net.fetch(Request(url=sys.argv[1] + str(i)))\nasyncio.run(run())"
    )
    with hostile() as site:
        running = [subprocess.Popen([sys.executable, "-c", code, site.url]) for _ in range(2)]
        assert [process.wait(60) for process in running] == [0, 0]
    times = [request.at for request in site.received]
    assert max(times) - min(times) > (len(times) - 1) * 0.2 * MIN_SHARE


def test_restarted_process_keeps_the_rate() -> None:
    """Two processes are killed with SIGKILL and started again: no two requests are closer than the rate allows."""
    code = (
        "import asyncio, sys\nfrom upwell.net.fetch import Fetcher, Manners\nfrom upwell.types import Request\n"
        "async def run():\n    async with Fetcher(Manners(rate=2, retries=0), user_urls=sys.argv[1:]) as net:\n"
        "        for i in range(50): await net.fetch(Request(url=sys.argv[1] + str(i)))\nasyncio.run(run())"
    )
    with hostile(host="127.0.0.77") as site:
        for wanted in (4, 8):
            running = [subprocess.Popen([sys.executable, "-c", code, site.url]) for _ in range(2)]
            while len(site.received) < wanted and all(process.poll() is None for process in running):
                time.sleep(0.01)
            for process in running:
                process.kill()
                process.wait()
    assert len(site.received) >= 8
    assert smallest_gap(site) > 0.5 * MIN_SHARE


def test_other_port_of_the_host_is_another_site(tmp_path: Path) -> None:
    """No form, link or redirect leads a harvest to another port of the host."""
    with hostile() as other:
        around = f'<form action="{other.url}find"><input type=search name=q><button>Search</button></form><a href="{other.url}search">Search</a>'
        with hostile(
            around_home=around, around_answers=lambda q, p: f'<a rel=next href="{other.url}find?q={q}&page=2">Next</a>'
        ) as site:
            site.pages["/go"] = Answer(status=302, headers={"Location": f"{other.url}find"})
            api.harvest(
                site.url, out=tmp_path, plan=Plan(budget=40, browser="never"), manners=Manners(rate=0, retries=0)
            )
            assert fetch(f"{site.url}go")[0].status == 302
    assert other.received == []


def test_robots_txt_redirected_to_another_host_is_obeyed() -> None:
    """At least five redirects are followed, even to other hosts (RFC 9309 §2.3.1.2)."""
    rules = Answer("User-agent: *\nDisallow: /private\n", type="text/plain")
    with hostile({"/robots.txt": rules}, host="127.0.0.2") as other:
        moved = Answer(status=301, headers={"Location": f"{other.url}robots.txt"})
        with hostile({"/robots.txt": moved}) as site:

            async def run() -> None:
                async with Fetcher(Manners(rate=0, retries=0), user_urls=(site.url, other.url)) as net:
                    await net.fetch(Request(url=site.url))
                    with pytest.raises(Forbidden):
                        await net.fetch(Request(url=f"{site.url}private/1"))

            asyncio.run(run())
            with pytest.raises(Refused):  # a private address not named by the user is not requested for rules either
                fetch(site.url)
    assert site.acted("private") == []


def test_robots_txt_with_retry_after_is_waited_for() -> None:
    """After 429 with Retry-After robots.txt is requested again; if it keeps failing, nothing is fetched."""

    def robots(request: ReceivedRequest) -> Answer:
        is_first = sum(request.path == "/robots.txt" for request in site.received) == 1
        return (
            Answer(status=429, headers={"Retry-After": "1"})
            if is_first
            else Answer("User-agent: *\nDisallow: /private")
        )

    with hostile({"/robots.txt": robots}) as site:
        with pytest.raises(Forbidden):
            fetch(f"{site.url}private", manners=Manners(rate=0, retries=1))
        first, second = (request.at for request in site.received)
    assert second - first > 0.9
    with hostile({"/robots.txt": Answer(status=429)}) as site, pytest.raises(Forbidden):
        fetch(site.url, manners=Manners(rate=0, retries=1))
    assert site.targets == []


def test_first_500_kilobytes_of_robots_txt_are_obeyed() -> None:
    """Of a robots.txt of 30 MB the part required by RFC 9309 is read and obeyed."""
    text = "User-agent: *\nDisallow: /private\n" + "# and so on and so on\n" * 1_400_000
    with hostile({"/robots.txt": Answer(text, type="text/plain")}) as site:
        assert fetch(site.url)[0].status == 200
        with pytest.raises(Forbidden):
            fetch(f"{site.url}private")


def test_transient_failure_of_robots_txt_or_home_page_is_retried_by_the_next_run(tmp_path: Path) -> None:
    """A transient failure is not stored: the next run requests the page again and harvests."""
    for path in ("/robots.txt", "/"):
        with hostile({path: Answer("not now", 503)}) as site:
            plan, manners = Plan(budget=40, browser="never"), Manners(rate=0, retries=0)
            with pytest.raises((Forbidden, Unreachable)):
                api.harvest(site.url, out=tmp_path / path.strip("/"), plan=plan, manners=manners)
            del site.pages[path]
            assert api.harvest(site.url, out=tmp_path / path.strip("/"), plan=plan, manners=manners).summary["records"]


def test_time_limit_ends_a_harvest_with_a_long_crawl_delay(tmp_path: Path) -> None:
    """`--time` ends at once if the next request would be too late, and the message names the Crawl-delay."""
    with (
        hostile({"/robots.txt": Answer("User-agent: *\nCrawl-delay: 86400")}) as site,
        pytest.raises(BudgetSpent) as raised,
    ):
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=40, browser="never", seconds=30), manners=Manners(rate=5))
    assert "robots.txt" in str(raised.value)
    assert "86,400 s" in str(raised.value)
    assert len(site.received) <= 2


def test_crawl_delay_is_limited_to_300_seconds() -> None:
    """A larger Crawl-delay is limited, as in Heritrix."""

    async def gap(url: str) -> float:
        async with Fetcher(Manners(rate=5), user_urls=(url,)) as net:
            await net.robots.check(url)
            return net.gap(url)

    with hostile({"/robots.txt": Answer("User-agent: *\nCrawl-delay: 86400")}, host="127.0.0.3") as site:
        assert asyncio.run(gap(site.url)) == 300


PROCESS = (
    "import asyncio, sys\nfrom upwell.net.fetch import Fetcher, Manners\nfrom upwell.types import Request\n"
    "async def run():\n    async with Fetcher(Manners(rate=4, retries=0), user_urls=sys.argv[1:]) as net:\n"
    "        for i in range(50): await net.fetch(Request(url=sys.argv[1] + str(i)))\nasyncio.run(run())"
)


def test_crawl_delay_holds_across_processes_and_restarts() -> None:
    """Two processes, killed and started again, together keep the Crawl-delay; it counts from the request for robots.txt."""
    with hostile({"/robots.txt": Answer("User-agent: *\nCrawl-delay: 1")}, host="127.0.0.78") as site:
        for wanted in (4, 8):
            running = []
            for _ in range(2):
                running.append(subprocess.Popen([sys.executable, "-c", PROCESS, site.url]))
                time.sleep(0.2)
            while len(site.received) < wanted and all(process.poll() is None for process in running):
                time.sleep(0.01)
            for process in running:
                process.kill()
                process.wait()
    assert len(site.received) >= 8
    assert smallest_gap(site) > 1.0 * MIN_SHARE


def test_clock_that_is_set_back_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases do not depend on the time of day; even a clock that all processes share costs one gap at most."""
    leases = FileLeases(tmp_path / "leases")
    assert leases.take("a", 2.0) == 0
    before, now = time.time(), time.monotonic()
    monkeypatch.setattr(time, "time", lambda: before - 1800)
    assert 0 < leases.take("a", 2.0) <= 2
    monkeypatch.setattr(time, "monotonic", lambda: now - 1800)
    assert 0 < leases.take("a", 2.0) <= 2
    monkeypatch.setattr(time, "monotonic", lambda: now - 1797)
    assert leases.take("a", 2.0) == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_robots_txt_in_any_unicode_encoding_is_obeyed(encoding: str) -> None:
    """With a byte order mark or without; what is no text forbids everything."""
    rules = "User-agent: *\nDisallow: /private\n".encode(encoding)
    with hostile({"/robots.txt": Answer(rules, type="text/plain")}) as site:
        assert fetch(site.url)[0].status == 200
        with pytest.raises(Forbidden):
            fetch(f"{site.url}private")
    with (
        hostile({"/robots.txt": Answer(b"\x89PNG\0\0\0\0\r\n" * 20)}) as site,
        pytest.raises(Forbidden, match="no text"),
    ):
        fetch(site.url)
    assert site.targets == []
