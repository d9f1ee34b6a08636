"""Servers that mean harm, on raw sockets: nothing hangs past its time, nothing is taken past its limit, nothing leaks."""

import asyncio
import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import brotli
import pytest
from aiohttp.abc import ResolveResult
from backports import zstd

from tests.net.raw_server import http_answer, raw_server
from upwell.answers.refusal import refusal
from upwell.errors import Forbidden, Refused, Unreachable
from upwell.model import Request, Response
from upwell.net.addresses import GuardedResolver
from upwell.net.fetch import Fetcher, Manners
from upwell.store.state import State

QUICK = Manners(rate=0, timeout=1.0, retries=1, ignore_robots=True, max_bytes=1_000_000)


def get(url: str, manners: Manners = QUICK) -> Response:
    async def run() -> Response:
        async with Fetcher(manners) as net:
            return await net.fetch(Request(url=url))

    return asyncio.run(run())


def silent(client: socket.socket, _: bytes) -> None:
    time.sleep(3)


def after_headers(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12")
    time.sleep(3)


def drop_by_drop(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _i in range(60):
        client.sendall(b"x")
        time.sleep(0.05)


def endless_body(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        client.sendall(b"x" * 65536)


def endless_headers(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        client.sendall(b"X-More: " + b"y" * 1000 + b"\r\n")


def one_long_header(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        client.sendall(b"y" * 65536)


def no_http(client: socket.socket, _: bytes) -> None:
    client.sendall(b"220 mail.example ESMTP\r\n" * 10)


def broken_chunks(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")


def cut_off(client: socket.socket, _: bytes) -> None:
    body = gzip.compress(b"word " * 1000)
    client.sendall(http_answer(body[:-20], "Content-Encoding: gzip"))


def damaged(client: socket.socket, _: bytes) -> None:
    client.sendall(http_answer(b"\x1f\x8b\x08\x00garbage garbage garbage", "Content-Encoding: gzip"))


HOSTILE = [
    silent,
    after_headers,
    drop_by_drop,
    endless_body,
    endless_headers,
    one_long_header,
    no_http,
    broken_chunks,
    cut_off,
    damaged,
]


@pytest.mark.parametrize("server", HOSTILE, ids=[server.__name__ for server in HOSTILE])
def test_nothing_hangs_and_nothing_is_taken(server: Callable[[socket.socket, bytes], None]) -> None:
    """Two tries of at most a second each, then an error that names the address."""
    started = time.monotonic()
    with raw_server(server) as (url, _), pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        get(url)
    assert time.monotonic() - started < 3.5


BIG = b"\0" * 30_000_000
BOMBS = {
    "gzip": gzip.compress(BIG),
    "gzip in gzip": gzip.compress(gzip.compress(BIG)),
    "deflate": zlib.compress(BIG),
    "br": brotli.compress(BIG, quality=5),
    "zstd": zstd.compress(BIG),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_answer_does_not_fill_the_memory(kind: str) -> None:
    """30 MB of zeros in a few kilobytes, in every coding: refused at the limit, and not asked for again."""
    coding = "gzip, gzip" if kind == "gzip in gzip" else kind

    def bomb(client: socket.socket, _: bytes) -> None:
        client.sendall(http_answer(BOMBS[kind], f"Content-Encoding: {coding}"))

    with raw_server(bomb) as (url, heads), pytest.raises(Unreachable, match="more than 1,000,000 bytes"):
        get(url)
    assert len(heads) == 1


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate", "br", "zstd", "identity"])
def test_every_coding_is_undone(coding: str) -> None:
    """What was asked for is understood; deflate in both of its readings."""
    body = "Zürich ".encode() * 500
    bare = zlib.compressobj(wbits=-15)
    coded = {
        "gzip": gzip.compress(body),
        "deflate": zlib.compress(body),
        "raw deflate": bare.compress(body) + bare.flush(),
        "br": brotli.compress(body),
        "zstd": zstd.compress(body),
        "identity": body,
    }[coding]
    with raw_server(
        lambda client, _: client.sendall(http_answer(coded, f"Content-Encoding: {coding.split()[-1]}"))
    ) as (url, heads):
        assert get(url).body == body
    assert b"Accept-Encoding: gzip, deflate, br, zstd" in heads[0]


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_in_both_forms(form: str) -> None:
    """The host is left alone as long as it asked, whichever way it said so."""
    asked: list[float] = []

    def busy(client: socket.socket, _: bytes) -> None:
        asked.append(time.monotonic())
        when = "1" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        late = len(asked) > 1
        client.sendall(http_answer(b"ok") if late else http_answer(b"", f"Retry-After: {when}", status="503 Busy"))

    with raw_server(busy) as (url, _):
        assert get(url).status == 200
    assert asked[1] - asked[0] >= 0.95


def test_a_host_that_asks_for_too_much_time_is_left() -> None:
    """An hour is not waited for; the answer says that it is a refusal, and why."""
    with raw_server(lambda client, _: client.sendall(http_answer(b"", "Retry-After: 3600", status="429 Slow"))) as (
        url,
        heads,
    ):
        response = get(url)
    assert (response.status, len(heads)) == (429, 1)
    assert "3,600 s" in refusal(response)


def test_no_more_than_two_at_once() -> None:
    """The number of requests in flight at one host is bounded, whatever the burst, measured at the server."""
    now, most = 0, 0
    lock = threading.Lock()

    def slow(client: socket.socket, _: bytes) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with lock:
            now -= 1
        client.sendall(http_answer(b"ok"))

    async def burst(url: str) -> list[Response]:
        async with Fetcher(QUICK) as net:
            return await asyncio.gather(*(net.fetch(Request(url=f"{url}{i}")) for i in range(12)))

    with raw_server(slow) as (url, _):
        assert [r.status for r in asyncio.run(burst(url))] == [200] * 12
    assert most == 2


def test_the_rate_follows_a_host_that_slows_down() -> None:
    """At 20 a second allowed, a host that takes 0.3 s is asked less and less often."""
    asked: list[float] = []

    def slow(client: socket.socket, _: bytes) -> None:
        asked.append(time.monotonic())
        time.sleep(0.3)
        client.sendall(http_answer(b"ok"))

    async def some(url: str) -> None:
        async with Fetcher(Manners(rate=20, ignore_robots=True)) as net:
            await asyncio.gather(*(net.fetch(Request(url=f"{url}{i}")) for i in range(10)))

    with raw_server(slow) as (url, _):
        asyncio.run(some(url))
    gaps = [later - sooner for sooner, later in pairwise(asked)]
    assert sum(gaps[-3:]) / 3 > 0.2 > gaps[0]


def test_redirects_into_a_private_network_are_not_followed() -> None:
    """A redirect to another host is given back as it is, and a link to a private address is refused before anything is sent."""
    with raw_server(lambda client, _: client.sendall(http_answer(b"secret"))) as (inner, heads):
        port = inner.rsplit(":", 1)[1]
        target = f"http://127.0.0.2:{port}"
        with raw_server(
            lambda client, _: client.sendall(http_answer(b"", f"Location: {target}", status="302 Found"))
        ) as (url, _):

            async def run() -> Response:
                async with Fetcher(replace(QUICK, rate=100)) as net:
                    first = await net.fetch(Request(url=url))
                    for private in (target, f"http://[::1]:{port}", f"http://169.254.169.254:{port}"):
                        with pytest.raises(Refused, match="private network"):
                            await net.fetch(Request(url=private))
                    return first

            assert asyncio.run(run()).status == 302
    assert heads == []


def test_a_name_that_means_a_private_address_is_refused_unless_typed() -> None:
    """Names are checked where they are resolved, and one that was public stays public (DNS rebinding)."""

    class Names(GuardedResolver):
        def __init__(self, *addresses: str) -> None:
            super().__init__()
            self.addresses = iter(addresses)

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            found = ResolveResult(hostname=host, host=next(self.addresses), port=port, family=family, proto=0, flags=0)

            class Inner:
                async def resolve(self, *_: object) -> list[ResolveResult]:
                    return [found]

                async def close(self) -> None: ...

            self._resolver = Inner()  # type: ignore[assignment] # stands in for the system's resolver
            return await super().resolve(host, port, family)

    async def run(*addresses: str, typed: bool) -> None:
        guard = Names(*addresses)
        guard.user_hosts = {"site.example"} if typed else set()
        for _ in addresses:
            await guard.resolve("site.example")

    with pytest.raises(Refused):
        asyncio.run(run("10.0.0.7", typed=False))
    asyncio.run(run("10.0.0.7", "10.0.0.7", typed=True))
    asyncio.run(run("93.184.216.34", typed=False))
    with pytest.raises(Refused):
        asyncio.run(run("93.184.216.34", "127.0.0.1", typed=True))


@pytest.mark.parametrize(
    ("status", "allowed"), [("404 Not Found", True), ("403 No", True), ("500 Broken", False), ("503 Busy", False)]
)
def test_robots_that_cannot_be_had(status: str, allowed: bool) -> None:
    """RFC 9309: 4xx allows everything, 5xx forbids everything."""

    def answer(client: socket.socket, head: bytes) -> None:
        client.sendall(http_answer(b"x", status=status) if b"/robots.txt" in head else http_answer(b"ok"))

    with raw_server(answer) as (url, _):
        if allowed:
            assert get(url, Manners(rate=0, retries=0)).body == b"ok"
        else:
            with pytest.raises(Forbidden, match="RFC 9309"):
                get(url, Manners(rate=0, retries=0))


def test_robots_that_forbid_everything_are_no_error() -> None:
    """The plainest rules that forbid all, which many hosts give, are named as a rule."""

    def answer(client: socket.socket, head: bytes) -> None:
        client.sendall(http_answer(b"User-agent: *\nDisallow: /"))

    with raw_server(answer) as (url, _), pytest.raises(Forbidden, match="by “Disallow: /”"):
        get(url, Manners(rate=0, retries=0))


def test_robots_is_asked_once_in_a_burst_and_names_the_rule() -> None:
    """No request of a burst slips past while the rules are being fetched; a redirect of robots.txt is followed."""
    rules = b"User-agent: *\nDisallow: /pri\nDisallow: /private/*/deep\nAllow: /private/ok"

    def answer(client: socket.socket, head: bytes) -> None:
        time.sleep(0.1)
        if b"GET /robots.txt" in head:
            client.sendall(http_answer(b"", "Location: /rules", status="301 Moved"))
        else:
            client.sendall(http_answer(rules if b"GET /rules" in head else b"page"))

    async def burst(url: str) -> list[object]:
        async with Fetcher(Manners(rate=0, retries=0)) as net:
            paths = ["private/a/deep"] * 6 + ["private/ok"]
            return list(
                await asyncio.gather(*(net.fetch(Request(url=url + path)) for path in paths), return_exceptions=True)
            )

    with raw_server(answer) as (url, heads):
        came = asyncio.run(burst(url))
    assert all("“Disallow: /private/*/deep”" in str(error) for error in came[:6])
    assert isinstance(came[6], Response)
    assert len(heads) == 3


def test_many_failures_leave_nothing_open() -> None:
    """After 30 dropped connections no socket is left, and every URL is accounted for."""

    def drop(client: socket.socket, _: bytes) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    async def run(url: str) -> tuple[int, int]:
        async with Fetcher(QUICK) as net:
            came = await asyncio.gather(
                *(net.fetch(Request(url=f"{url}{i}")) for i in range(30)), return_exceptions=True
            )
        await asyncio.sleep(0.05)
        return sum(isinstance(error, Unreachable) for error in came), len(asyncio.all_tasks()) - 1

    with raw_server(drop) as (url, heads):
        assert asyncio.run(run(url)) == (30, 0)
    assert len(heads) == 60


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (403, b"", "status 403"),
        (200, b"<title>Just a moment</title><div class=cf-turnstile></div>", "captcha"),
        (200, b"<h1>Too many requests</h1>", "too many requests"),
        (200, b"<p>Please log in<form><input type='password'></form>", "login wall"),
        (200, b"<h1>Access denied</h1>", "access denied"),
        (200, b"<p>" + b"Many cities. " * 200 + b"<div class=g-recaptcha></div>", ""),
        (200, b"<form><input type=password><button>Log in</button></form><p>Results: 20", ""),
        (404, b"<h1>Not found</h1>", ""),
    ],
)
def test_refusals_are_recognised(status: int, body: bytes, why: str) -> None:
    """What is no answer is named; a captcha in the corner of a page of records is none."""
    response = Response(request=Request(url="http://x/"), url="http://x/", status=status, headers={}, body=body)
    assert refusal(response) == why


def test_headers_that_are_not_utf8_are_remembered(tmp_path: Path) -> None:
    """Bytes of another charset in a header come back from the state as they came from the server."""
    odd = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nX-City: Z\xfcrich\r\n\r\nok"

    async def fetch(state: State) -> Response:
        async with Fetcher(QUICK, memory=state) as net:
            return await net.fetch(Request(url=url))

    with raw_server(lambda client, _: client.sendall(odd)) as (url, heads):
        responses = []
        for _ in range(2):
            with State(tmp_path / "state.sqlite") as state:
                responses.append(asyncio.run(fetch(state)))
    assert responses[0] == responses[1]
    assert len(heads) == 1
