"""Politeness and limits of the Fetcher, on a real server with faults."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from upwell.demo import Running, Switches, serve
from upwell.demo.switches import FAULTS
from upwell.errors import Forbidden, Unreachable, WrongUsage
from upwell.net.fetch import Fetcher, Manners
from upwell.store.state import State
from upwell.types import Request, Response


def get(url: str, manners: Manners) -> Response:
    async def run() -> Response:
        async with Fetcher(manners) as net:
            return await net.fetch(Request(url=url))

    return asyncio.run(run())


def test_redirects_are_followed_on_the_host(demo: Running) -> None:
    """A query with one match ends on the record page of the city."""
    response = get(f"{demo.url}search?q=timbuktu", Manners(rate=0))
    assert response.status == 200
    assert "/city/" in response.url


@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "hang"])
def test_retries_overcome_every_fault(fault: str) -> None:
    """With faults in half of the answers, nearly all requests succeed after retries; an error names the URL."""
    with serve(Switches.parse([f"fault={fault}", "fault_rate=0.5"])) as site:
        good, messages = 0, []
        for word in ("asia", "europe", "san", "berlin", "lima", "paris"):
            try:
                good += get(f"{site.url}search?q={word}", Manners(rate=0, retries=8, longest_wait=2)).status == 200
            except Unreachable as error:
                messages.append(str(error))
        assert good >= 5
        assert all(site.url in message for message in messages)


def test_hanging_server_ends_at_the_timeout() -> None:
    """A server that never answers takes no longer than the timeout."""
    with serve(Switches(fault="hang", fault_rate=1.0)) as site, pytest.raises(Unreachable, match="2 tries"):
        get(f"{site.url}search?q=asia", Manners(rate=0, timeout=0.3, retries=1))


def test_the_rate_holds_at_the_server() -> None:
    """A burst of 8 requests arrives at 20 per second, measured at the server."""

    async def burst(url: str) -> None:
        async with Fetcher(Manners(rate=20)) as net:
            await asyncio.gather(*(net.fetch(Request(url=f"{url}city/{i}")) for i in range(8)))

    with serve() as site:
        asyncio.run(burst(site.url))
        times = sorted(received.time for received in site.received)
    assert len(times) == 9  # robots.txt is requested once
    assert times[-1] - times[0] >= 0.9 * 8 / 20


def test_crawl_delay_is_obeyed() -> None:
    """A Crawl-delay in robots.txt slows requests down below the rate."""

    async def fetch_three(url: str) -> None:
        async with Fetcher(Manners(rate=1000)) as net:
            for i in range(3):
                await net.fetch(Request(url=f"{url}city/{i}"))

    with serve(Switches(crawl_delay=0.2)) as site:
        asyncio.run(fetch_three(site.url))
        times = [received.time for received in site.received if received.path.startswith("/city")]
    assert times[-1] - times[0] >= 0.36


def test_disallowed_path_is_never_requested(demo: Running) -> None:
    """The error names the path."""
    with pytest.raises(Forbidden, match="/trip/add"):
        get(f"{demo.url}trip/add?city=1", Manners(rate=0))
    assert not any(received.path == "/trip/add" for received in demo.received)


def test_rate_0_is_allowed_on_loopback_only() -> None:
    """For other hosts it raises WrongUsage before anything is sent."""
    with pytest.raises(WrongUsage, match=r"example\.org"):
        get("http://example.org/", Manners(rate=0))


def test_body_over_the_limit_is_rejected(demo: Running) -> None:
    """The error names the limit."""
    with pytest.raises(Unreachable, match="more than 100 bytes"):
        get(f"{demo.url}search?q=asia", Manners(rate=0, max_bytes=100, retries=0))


def test_closed_port() -> None:
    """The error asks whether the URL is right."""
    with serve() as site:
        gone = site.url
    with pytest.raises(Unreachable, match="is the address right"):
        get(gone, Manners(rate=0))


def test_outage_of_a_known_server_is_waited_out() -> None:
    """The request is sent when the server is back; failed connections are not counted as requests."""

    async def ask(first: Running) -> tuple[int, int]:
        port = int(first.url.rsplit(":", 1)[1].strip("/"))
        async with Fetcher(Manners(rate=0, retries=1, longest_wait=20)) as net:
            await net.fetch(Request(url=f"{first.url}city/1"))
            stack.pop_all().close()
            before = net.sent
            asked = asyncio.create_task(net.fetch(Request(url=f"{first.url}about")))
            await asyncio.sleep(2)
            assert not asked.done()
            with serve(port=port):
                status = (await asked).status
            return status, net.sent - before

    with ExitStack() as stack:
        status, sent = asyncio.run(ask(stack.enter_context(serve())))
    assert status == 200
    assert sent == 1


def test_outage_of_an_unknown_server_is_not_waited_out() -> None:
    """A wrong URL takes the usual number of tries."""
    with serve() as site:
        url = site.url
    with pytest.raises(Unreachable, match="2 tries"):
        get(url, Manners(rate=0, retries=1))


def test_robots_txt_of_an_interrupted_request_is_counted(demo: Running, tmp_path: Path) -> None:
    """A harvest killed just after robots.txt was fetched counts as many requests as one that was not killed."""

    async def requests(*, is_cut_off: bool) -> int:
        with State(tmp_path / "state.sqlite") as state:
            async with Fetcher(Manners(rate=0), user_urls=(demo.url,), memory=state) as net:
                if is_cut_off:
                    await net.robots.check(demo.url)
                else:
                    await net.fetch(Request(url=demo.url))
                return net.sent

    assert asyncio.run(requests(is_cut_off=True)) == 1
    assert asyncio.run(requests(is_cut_off=False)) == 2
    assert asyncio.run(requests(is_cut_off=False)) == 2  # replayed
