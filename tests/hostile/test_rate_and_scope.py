"""The rate is for a host, the scope is a site, robots.txt holds wherever it lies."""

import asyncio
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.hostile.site import Answer, Got, Hostile, hostile
from upwell import api
from upwell.errors import BudgetSpent, Forbidden, Refused, Unreachable
from upwell.harvest.loop import Plan
from upwell.net.fetch import Fetcher, Manners
from upwell.types import Request, Response

MIN_SHARE = 0.75  # of the gap between requests that a server must see: it sees them a little later than they are sent


def fetch(*urls: str, manners: Manners | None = None, user_url: str = "") -> list[Response]:
    """The answers to several requests of one Fetcher, one after the other."""

    async def run() -> list[Response]:
        async with Fetcher(manners or Manners(rate=0, retries=0), user_urls=(user_url or urls[0],)) as net:
            return [await net.fetch(Request(url=url)) for url in urls]

    return asyncio.run(run())


def smallest_gap(*sites: Hostile) -> float:
    """Seconds between the two requests that were closest, over several servers."""
    times = sorted(got.at for site in sites for got in site.got)
    return min(after - before for before, after in pairwise(times))


def test_three_ports_of_a_host_share_one_rate(tmp_path: Path) -> None:
    """Three sites on three ports of one host get together what one would get."""
    with hostile() as one, hostile() as two, hostile() as three:
        urls = [one.url, two.url, three.url]
        api.harvest_all(urls, out=tmp_path, plan=Plan(budget=5, browser="never"), manners=Manners(rate=10, retries=0))
        got = sum(len(site.got) for site in (one, two, three))
        times = [got.at for site in (one, two, three) for got in site.got]
    assert got == 15
    assert max(times) - min(times) > 14 * 0.1 * MIN_SHARE


def test_two_processes_share_one_rate() -> None:
    """Two commands that ask one host at once keep its rate together."""
    code = (
        "import asyncio, sys\nfrom upwell.net.fetch import Fetcher, Manners\nfrom upwell.types import Request\n"
        "async def run():\n    async with Fetcher(Manners(rate=5, retries=0), user_urls=sys.argv[1:]) as net:\n"
        "        for i in range(5): await net.fetch(Request(url=sys.argv[1] + str(i)))\nasyncio.run(run())"
    )
    with hostile() as site:
        running = [subprocess.Popen([sys.executable, "-c", code, site.url]) for _ in range(2)]
        assert [process.wait(60) for process in running] == [0, 0]
    times = [got.at for got in site.got]
    assert max(times) - min(times) > (len(times) - 1) * 0.2 * MIN_SHARE


def test_a_killed_process_that_is_started_again_keeps_the_rate() -> None:
    """Two processes ask one host, are killed with -9 in the middle and started again: no two requests come closer than the rate."""
    code = (
        "import asyncio, sys\nfrom upwell.net.fetch import Fetcher, Manners\nfrom upwell.types import Request\n"
        "async def run():\n    async with Fetcher(Manners(rate=2, retries=0), user_urls=sys.argv[1:]) as net:\n"
        "        for i in range(50): await net.fetch(Request(url=sys.argv[1] + str(i)))\nasyncio.run(run())"
    )
    with hostile(host="127.0.0.77") as site:
        for wanted in (4, 8):
            running = [subprocess.Popen([sys.executable, "-c", code, site.url]) for _ in range(2)]
            while len(site.got) < wanted and all(process.poll() is None for process in running):
                time.sleep(0.01)
            for process in running:
                process.kill()
                process.wait()
    assert len(site.got) >= 8
    assert smallest_gap(site) > 0.5 * MIN_SHARE


def test_another_port_of_the_host_is_another_site(tmp_path: Path) -> None:
    """Neither a form, a link nor a redirect leads a harvest to another port of the host that was typed."""
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
    assert other.got == []


def test_robots_txt_that_is_redirected_to_another_host_counts() -> None:
    """RFC 9309 §2.3.1.2: at least five redirects are followed, even to other hosts."""
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
            with pytest.raises(Refused):  # a private address that nobody named is not asked for rules either
                fetch(site.url)
    assert site.acted("private") == []


def test_robots_txt_that_says_not_now_is_waited_for() -> None:
    """429 with Retry-After is waited for and asked again; if it goes on, nothing is fetched."""

    def robots(got: Got) -> Answer:
        is_first = sum(one.path == "/robots.txt" for one in site.got) == 1
        return (
            Answer(status=429, headers={"Retry-After": "1"})
            if is_first
            else Answer("User-agent: *\nDisallow: /private")
        )

    with hostile({"/robots.txt": robots}) as site:
        with pytest.raises(Forbidden):
            fetch(f"{site.url}private", manners=Manners(rate=0, retries=1))
        first, second = (got.at for got in site.got)
    assert second - first > 0.9
    with hostile({"/robots.txt": Answer(status=429)}) as site, pytest.raises(Forbidden):
        fetch(site.url, manners=Manners(rate=0, retries=1))
    assert site.targets == []


def test_the_first_500_kilobytes_of_robots_txt_count() -> None:
    """A robots.txt of 30 MB is read as far as RFC 9309 asks, and what stands there holds."""
    text = "User-agent: *\nDisallow: /private\n" + "# and so on and so on\n" * 1_400_000
    with hostile({"/robots.txt": Answer(text, type="text/plain")}) as site:
        assert fetch(site.url)[0].status == 200
        with pytest.raises(Forbidden):
            fetch(f"{site.url}private")


def test_a_passing_failure_of_robots_txt_or_the_home_page_is_asked_again(tmp_path: Path) -> None:
    """What failed for a moment is not remembered: the next run asks again and harvests."""
    for path in ("/robots.txt", "/"):
        with hostile({path: Answer("not now", 503)}) as site:
            plan, manners = Plan(budget=40, browser="never"), Manners(rate=0, retries=0)
            with pytest.raises((Forbidden, Unreachable)):
                api.harvest(site.url, out=tmp_path / path.strip("/"), plan=plan, manners=manners)
            del site.pages[path]
            assert api.harvest(site.url, out=tmp_path / path.strip("/"), plan=plan, manners=manners).summary["records"]


def test_a_crawl_delay_of_a_day_does_not_hold_a_harvest_with_a_time(tmp_path: Path) -> None:
    """`--time` ends at once where the next request would come too late, and says what robots.txt asks for."""
    with (
        hostile({"/robots.txt": Answer("User-agent: *\nCrawl-delay: 86400")}) as site,
        pytest.raises(BudgetSpent) as raised,
    ):
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=40, browser="never", seconds=30), manners=Manners(rate=5))
    assert "robots.txt" in str(raised.value)
    assert "86,400 s" in str(raised.value)
    assert len(site.got) <= 2


def test_a_crawl_delay_counts_300_seconds_at_most() -> None:
    """A larger one is bounded, as Heritrix does."""

    async def gap(url: str) -> float:
        async with Fetcher(Manners(rate=5), user_urls=(url,)) as net:
            await net.robots.check(url)
            return net.gap(url)

    with hostile({"/robots.txt": Answer("User-agent: *\nCrawl-delay: 86400")}, host="127.0.0.3") as site:
        assert asyncio.run(gap(site.url)) == 300
