"""Hostile servers on raw sockets: timeouts and size limits hold, and nothing leaks."""

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
from upwell.answers.kind import refusal_reason
from upwell.errors import Forbidden, Refused, Unreachable
from upwell.net.connect import GuardedResolver
from upwell.net.fetch import Fetcher, Manners
from upwell.net.framing import ResponseFraming
from upwell.store.state import State
from upwell.types import Request, Response

QUICK = Manners(rate=0, timeout=1.0, retries=1, ignore_robots=True, max_bytes=1_000_000)


def get(url: str, manners: Manners = QUICK) -> Response:
    async def run() -> Response:
        async with Fetcher(manners) as net:
            return await net.fetch(Request(url=url))

    return asyncio.run(run())


def silent(client: socket.socket, _: bytes) -> None:
    time.sleep(3)


def stops_after_headers(client: socket.socket, _: bytes) -> None:
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


def not_http(client: socket.socket, _: bytes) -> None:
    client.sendall(b"220 mail.example ESMTP\r\n" * 10)


def broken_chunks(client: socket.socket, _: bytes) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")


def truncated_gzip(client: socket.socket, _: bytes) -> None:
    body = gzip.compress(b"word " * 1000)
    client.sendall(http_answer(body[:-20], "Content-Encoding: gzip"))


def damaged_gzip(client: socket.socket, _: bytes) -> None:
    client.sendall(http_answer(b"\x1f\x8b\x08\x00garbage garbage garbage", "Content-Encoding: gzip"))


HOSTILE = [
    silent,
    stops_after_headers,
    drop_by_drop,
    endless_body,
    endless_headers,
    one_long_header,
    not_http,
    broken_chunks,
    truncated_gzip,
    damaged_gzip,
]


@pytest.mark.parametrize("server", HOSTILE, ids=[server.__name__ for server in HOSTILE])
def test_broken_answers_end_in_an_error_in_time(server: Callable[[socket.socket, bytes], None]) -> None:
    """Two tries of at most a second each end in an error that names the URL."""
    started = time.monotonic()
    with raw_server(server) as (url, _), pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        get(url)
    assert time.monotonic() - started < 3.5


ZEROS = b"\0" * 30_000_000
BOMBS = {
    "gzip": gzip.compress(ZEROS),
    "gzip in gzip": gzip.compress(gzip.compress(ZEROS)),
    "deflate": zlib.compress(ZEROS),
    "br": brotli.compress(ZEROS, quality=5),
    "zstd": zstd.compress(ZEROS),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_decompression_bomb_is_refused_at_the_size_limit(kind: str) -> None:
    """30 MB of zeros in a few kilobytes are refused in every coding, and not requested again."""
    coding = "gzip, gzip" if kind == "gzip in gzip" else kind

    def bomb(client: socket.socket, _: bytes) -> None:
        client.sendall(http_answer(BOMBS[kind], f"Content-Encoding: {coding}"))

    with raw_server(bomb) as (url, heads), pytest.raises(Unreachable, match="more than 1,000,000 bytes"):
        get(url)
    assert len(heads) == 1


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate", "br", "zstd", "identity"])
def test_every_content_coding_is_decoded(coding: str) -> None:
    """All codings of Accept-Encoding work; deflate with and without the zlib header."""
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
def test_retry_after_as_seconds_and_as_date(form: str) -> None:
    """No request is sent to the host until then."""
    times: list[float] = []

    def busy(client: socket.socket, _: bytes) -> None:
        times.append(time.monotonic())
        when = "1" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        is_second = len(times) > 1
        client.sendall(http_answer(b"ok") if is_second else http_answer(b"", f"Retry-After: {when}", status="503 Busy"))

    with raw_server(busy) as (url, _):
        assert get(url).status == 200
    assert times[1] - times[0] >= 0.95


def test_long_retry_after_is_a_refusal() -> None:
    """A Retry-After of an hour is not waited for; the answer counts as a refusal, with the reason."""
    with raw_server(lambda client, _: client.sendall(http_answer(b"", "Retry-After: 3600", status="429 Slow"))) as (
        url,
        heads,
    ):
        response = get(url)
    assert (response.status, len(heads)) == (429, 1)
    assert "3,600 s" in refusal_reason(response)


def test_at_most_two_concurrent_requests_per_host() -> None:
    """The limit holds in a burst, measured at the server."""
    in_flight, peak = 0, 0
    lock = threading.Lock()

    def slow(client: socket.socket, _: bytes) -> None:
        nonlocal in_flight, peak
        with lock:
            in_flight += 1
            peak = max(peak, in_flight)
        time.sleep(0.05)
        with lock:
            in_flight -= 1
        client.sendall(http_answer(b"ok"))

    async def burst(url: str) -> list[Response]:
        async with Fetcher(QUICK) as net:
            return await asyncio.gather(*(net.fetch(Request(url=f"{url}{i}")) for i in range(12)))

    with raw_server(slow) as (url, _):
        assert [r.status for r in asyncio.run(burst(url))] == [200] * 12
    assert peak == 2


def test_slow_host_is_sent_fewer_requests() -> None:
    """A host that needs 0.3 s per answer soon gets fewer requests than the 20 per second allowed."""
    times: list[float] = []

    def slow(client: socket.socket, _: bytes) -> None:
        times.append(time.monotonic())
        time.sleep(0.3)
        client.sendall(http_answer(b"ok"))

    async def fetch_ten(url: str) -> None:
        async with Fetcher(Manners(rate=20, ignore_robots=True)) as net:
            await asyncio.gather(*(net.fetch(Request(url=f"{url}{i}")) for i in range(10)))

    with raw_server(slow) as (url, _):
        asyncio.run(fetch_ten(url))
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert sum(gaps[-3:]) / 3 > 0.2 > gaps[0]


def test_redirects_into_a_private_network_are_not_followed() -> None:
    """A redirect to another host is returned unfollowed, and a private address is refused before anything is sent."""
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


def test_name_that_leads_into_a_private_network_is_refused_unless_the_user_expects_it() -> None:
    """The owner of a name decides where it leads, so naming it is not enough; localhost always means this machine."""

    class FixedResolver(GuardedResolver):
        def __init__(self, *addresses: str) -> None:
            super().__init__()
            self.addresses = iter(addresses)

        async def look_up(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
            address = next(self.addresses)
            return [ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)]

    async def run(*addresses: str, host: str = "site.example", is_named: bool = True, is_allowed: bool = False) -> None:
        guard = FixedResolver(*addresses)
        guard.user_sites = {(host, None)} if is_named else set()
        guard.allowed_sites = {(host, None)} if is_allowed else set()
        for _ in addresses:
            await guard.resolve(host)

    for refused in ("10.0.0.7", "127.0.0.1", "::1", "169.254.169.254", "::ffff:10.0.0.7"):
        with pytest.raises(Refused, match=r"--allow site\.example"):
            asyncio.run(run(refused))
        asyncio.run(run(refused, is_allowed=True))
        with pytest.raises(Refused):
            asyncio.run(run("93.184.216.34", refused))
        asyncio.run(run(refused, is_named=False, is_allowed=True))
    asyncio.run(run("93.184.216.34", is_named=False))
    asyncio.run(run("127.0.0.1", host="localhost"))
    for address, is_named in (("127.0.0.1", False), ("10.0.0.7", True)):
        with pytest.raises(Refused):
            asyncio.run(run(address, host="localhost", is_named=is_named))


@pytest.mark.parametrize(
    ("status", "allowed"), [("404 Not Found", True), ("403 No", True), ("500 Broken", False), ("503 Busy", False)]
)
def test_robots_txt_with_an_error_status(status: str, allowed: bool) -> None:
    """4xx allows everything, 5xx forbids everything (RFC 9309)."""

    def answer(client: socket.socket, head: bytes) -> None:
        client.sendall(http_answer(b"x", status=status) if b"/robots.txt" in head else http_answer(b"ok"))

    with raw_server(answer) as (url, _):
        if allowed:
            assert get(url, Manners(rate=0, retries=0)).body == b"ok"
        else:
            with pytest.raises(Forbidden, match="RFC 9309"):
                get(url, Manners(rate=0, retries=0))


def test_robots_txt_that_disallows_everything() -> None:
    """The error names the rule."""

    def answer(client: socket.socket, head: bytes) -> None:
        client.sendall(http_answer(b"User-agent: *\nDisallow: /"))

    with raw_server(answer) as (url, _), pytest.raises(Forbidden, match="by “Disallow: /”"):
        get(url, Manners(rate=0, retries=0))


def test_robots_txt_is_fetched_once_before_a_burst() -> None:
    """A burst waits for the rules; a redirect of robots.txt is followed; the error names the longest rule."""
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
        results = asyncio.run(burst(url))
    assert all("“Disallow: /private/*/deep”" in str(error) for error in results[:6])
    assert isinstance(results[6], Response)
    assert len(heads) == 3


def test_many_failures_leave_no_tasks_open() -> None:
    """After 30 dropped connections every request has an error, and no task is left."""

    def drop(client: socket.socket, _: bytes) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    async def run(url: str) -> tuple[int, int]:
        async with Fetcher(QUICK) as net:
            results = await asyncio.gather(
                *(net.fetch(Request(url=f"{url}{i}")) for i in range(30)), return_exceptions=True
            )
        await asyncio.sleep(0.05)
        return sum(isinstance(error, Unreachable) for error in results), len(asyncio.all_tasks()) - 1

    with raw_server(drop) as (url, heads):
        assert asyncio.run(run(url)) == (30, 0)
    assert len(heads) == 60


def test_text_about_refusals_is_not_a_refusal() -> None:
    """A record page in plain text may mention too many requests; a refusal in plain text is a single line."""
    about = b"Subject: the mirror says too many requests\n\n" + b"It did so for an hour, and then it went on. " * 8
    plain = {"Content-Type": "text/plain"}
    for body, reason in ((about, ""), (b"Too many requests\n", "too many requests")):
        response = Response(request=Request(url="http://x/"), url="http://x/", status=200, headers=plain, body=body)
        assert refusal_reason(response) == reason


@pytest.mark.parametrize(
    ("status", "body", "reason"),
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
def test_refusals_are_recognized(status: int, body: bytes, reason: str) -> None:
    """A refusal is recognized with its reason; a captcha or login form on a page with records is not a refusal."""
    response = Response(request=Request(url="http://x/"), url="http://x/", status=status, headers={}, body=body)
    assert refusal_reason(response) == reason


def test_headers_that_are_not_utf8_are_replayed(tmp_path: Path) -> None:
    """A header in another charset is restored from the state as the server sent it."""
    latin1_header = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nX-City: Z\xfcrich\r\n\r\nok"

    async def fetch(state: State) -> Response:
        async with Fetcher(QUICK, memory=state) as net:
            return await net.fetch(Request(url=url))

    with raw_server(lambda client, _: client.sendall(latin1_header)) as (url, heads):
        responses = []
        for _ in range(2):
            with State(tmp_path / "state.sqlite") as state:
                responses.append(asyncio.run(fetch(state)))
    assert responses[0] == responses[1]
    assert len(heads) == 1


FRAMED = b"<html>page</html>"
CHUNKED = b"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(FRAMED), FRAMED)
SIZED = b"Content-Type: text/html\r\nContent-Length: %d\r\n" % len(FRAMED)
# Answers that curl and browsers show.
ODDLY_FRAMED = {
    "last chunk twice, then closed": b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + CHUNKED + b"0\r\n\r\n",
    "last chunk twice": b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"0\r\n\r\n",
    "bare line feeds": (b"HTTP/1.1 200 OK\r\n" + SIZED + b"\r\n").replace(b"\r", b"") + FRAMED,
    "bare line feeds around chunks": (b"HTTP/1.1 200 OK\r\n" + CHUNKED).replace(b"\r", b""),
    "trailer after the last chunk": b"HTTP/1.1 200 OK\r\n" + CHUNKED[:-2] + b"X-Sum: 1\r\n\r\n",
    "no length": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + FRAMED,
    "more than the length": b"HTTP/1.1 200 OK\r\n" + SIZED + b"\r\n" + FRAMED + b"\r\n",
    "length twice": b"HTTP/1.1 200 OK\r\n" + SIZED + SIZED + b"\r\n" + FRAMED,
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n" + CHUNKED,
    "space before a colon": b"HTTP/1.1 200 OK\r\nX-Made-By : a\r\n" + SIZED + b"\r\n" + FRAMED,
    "a header that is none": b"HTTP/1.1 200 OK\r\nWarning 12\r\n" + SIZED + b"\r\n" + FRAMED,
    "a notice before": b"HTTP/1.1 103 Early\nLink: </a>\n\nHTTP/1.1 200 OK\r\n" + SIZED + b"\r\n" + FRAMED,
}


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("name", ODDLY_FRAMED)
def test_answers_that_browsers_show_are_accepted(name: str, step: int) -> None:
    """The same answer is read however it arrives: in one piece, or byte by byte."""
    framing, sent = ResponseFraming(), ODDLY_FRAMED[name]
    by_step = b"".join(framing.feed(sent[at : at + step]) for at in range(0, len(sent), step))

    with raw_server(lambda client, _: client.sendall(sent)) as (url, _):
        answer = get(url)

    assert (answer.status, answer.body) == (200, FRAMED)
    assert FRAMED in by_step.replace(b"\r\n1\r\n", b"")


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\n" + CHUNKED[:-5],  # without the last chunk
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + FRAMED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\n12345",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    ],
)
def test_an_answer_that_ends_early_or_contradicts_itself_is_no_answer(sent: bytes) -> None:
    with raw_server(lambda client, _: client.sendall(sent)) as (url, _), pytest.raises(Unreachable):
        get(url)


def test_a_connection_with_surplus_bytes_is_not_used_again() -> None:
    """What follows an answer is never taken for the answer to the next request."""
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    connections: list[socket.socket] = []

    def answer(client: socket.socket, _: bytes) -> None:
        connections.append(client)
        client.sendall(b"HTTP/1.1 200 OK\r\n" + SIZED + b"\r\n" + FRAMED + forged)
        client.recv(65536)

    async def twice(url: str) -> list[bytes]:
        async with Fetcher(QUICK) as net:
            return [(await net.fetch(Request(url=f"{url}{number}"))).body for number in range(2)]

    with raw_server(answer) as (url, _):
        assert asyncio.run(twice(url)) == [FRAMED, FRAMED]
    assert len(connections) == 2
