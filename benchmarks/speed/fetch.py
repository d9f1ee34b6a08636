"""Requests per CPU second relative to bare aiohttp and a minimal Scrapy spider, and 200 concurrent hosts: `python -m
benchmarks.speed.fetch`.

The server and each client are separate processes; a client counts its own CPU time between the first request and the last.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import ClassVar

BARS = {"bare aiohttp": 0.6, "Scrapy": 3.0}  # smallest ratio of our requests per CPU second to theirs
REQUESTS = {"upwell": 4000, "bare aiohttp": 4000, "Scrapy": 1000}
ROUNDS = 5
CONCURRENT_REQUESTS = 16
HOSTS, RATE, SECONDS = 200, 2.0, 20.0
MAX_GROWTH_MB = 4.0  # largest growth of memory from the middle of the run to its end
BODY = b"<!DOCTYPE html><title>A page</title>" + b"<p>Words of a page, and <a href=/x>a link</a>.</p>" * 60
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


class _Serving(asyncio.Protocol):
    """Minimal server: every request gets the same page; the times of requests are logged by host."""

    times: ClassVar[defaultdict[str, list[float]]] = defaultdict(list)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment] # a TCP server's is one
        self.host = transport.get_extra_info("sockname")[0]
        self.unfinished = b""

    def data_received(self, data: bytes) -> None:
        *requests, self.unfinished = (self.unfinished + data).split(b"\r\n\r\n")
        for _ in requests:
            self.times[self.host].append(time.monotonic())
            self.transport.write(ANSWER)


async def _serve() -> None:
    hosts = ["127.0.0.1", *(f"127.0.1.{i}" for i in range(1, HOSTS + 1))]
    loop = asyncio.get_running_loop()
    first = await loop.create_server(_Serving, hosts[0], 0)
    port = first.sockets[0].getsockname()[1]
    await loop.create_server(_Serving, hosts[1:], port, backlog=64)
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)  # until the parent asks for the times
    print(json.dumps({host: times for host, times in _Serving.times.items() if host != hosts[0]}), flush=True)


async def _cpu_of(ask: Callable[[int], Awaitable[object]], count: int) -> float:
    """Return the CPU seconds of `count` requests, CONCURRENT_REQUESTS at a time."""
    numbers = iter(range(count))

    async def ask_in_turn() -> None:
        for number in numbers:
            await ask(number)

    start = time.process_time()
    await asyncio.gather(*(ask_in_turn() for _ in range(CONCURRENT_REQUESTS)))
    return time.process_time() - start


async def _upwell(url: str, count: int) -> float:
    from upwell.net.fetch import Fetcher, Manners
    from upwell.types import Request

    async with Fetcher(Manners(rate=0, concurrency=CONCURRENT_REQUESTS)) as net:
        return await _cpu_of(lambda i: net.fetch(Request(url=f"{url}{i}")), count)


async def _aiohttp(url: str, count: int) -> float:
    import aiohttp

    async with aiohttp.ClientSession() as session:

        async def ask(number: int) -> bytes:
            async with session.get(f"{url}{number}") as answer:
                return await answer.read()

        return await _cpu_of(ask, count)


def _scrapy(url: str, count: int) -> float:
    import scrapy
    from scrapy.crawler import CrawlerProcess

    moments: list[float] = []  # CPU time at each answer

    class Spider(scrapy.Spider):
        name = "minimal"
        start_urls = [f"{url}{i}" for i in range(count)]  # noqa: RUF012 # Scrapy's way

        def parse(self, response: object) -> None:
            moments.append(time.process_time())

    settings = {
        "LOG_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT_REQUESTS,
        "TELNETCONSOLE_ENABLED": False,
    }
    process = CrawlerProcess(settings={**settings, "ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0})
    process.crawl(Spider)
    process.start()
    assert len(moments) == count
    return (moments[-1] - moments[0]) * count / (count - 1)


async def _many_hosts(port: int) -> dict[str, object]:
    """Send requests to all hosts concurrently for SECONDS, each at its own rate; return requests, CPU and memory during the run."""
    from upwell.net.fetch import Fetcher, Manners
    from upwell.types import Request

    urls = [f"http://127.0.1.{i}:{port}/" for i in range(1, HOSTS + 1)]
    until, memory = time.monotonic() + SECONDS, []

    async with Fetcher(Manners(rate=RATE), user_urls=urls) as net:

        async def host(url: str) -> int:
            answered = 0
            while time.monotonic() < until:
                answered += (await net.fetch(Request(url=f"{url}{answered}"))).status == 200
            return answered

        async def watch() -> None:
            while time.monotonic() < until:
                await asyncio.sleep(SECONDS / 10)
                memory.append(_megabytes())

        start = time.process_time()
        answered, _ = await asyncio.gather(asyncio.gather(*map(host, urls)), watch())
        return {"requests": sum(answered), "cpu": time.process_time() - start, "memory": memory}


def _megabytes() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def _client(name: str, port: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    if name == "many":
        print(json.dumps(asyncio.run(_many_hosts(port))))
    elif name == "Scrapy":
        print(json.dumps(_scrapy(url, REQUESTS[name])))
    else:
        print(json.dumps(asyncio.run({"upwell": _upwell, "bare aiohttp": _aiohttp}[name](url, REQUESTS[name]))))


def _run(name: str, port: int) -> str:
    command = [sys.executable, "-m", "benchmarks.speed.fetch", name, str(port)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> int:
    command = [sys.executable, "-m", "benchmarks.speed.fetch", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        rates = dict.fromkeys(REQUESTS, 0.0)
        for _ in range(ROUNDS):  # alternating, so that other programs on the machine slow all of them equally
            for name, count in REQUESTS.items():
                rates[name] = max(rates[name], count / float(_run(name, port)))
        many = json.loads(_run("many", port))
        times, _ = server.communicate("\n")
    print(f"{'':<16}{'requests for a CPU-second':>26}{'upwell to it':>14}")
    for name, rate in rates.items():
        print(f"{name:<16}{rate:>26,.0f}{rates['upwell'] / rate:>14.2f}")
    kept = all(rates["upwell"] / rates[name] >= bar for name, bar in BARS.items())
    print(f"the bars are {BARS}: {'kept' if kept else 'broken'}\n")
    by_host: dict[str, list[float]] = json.loads(times)
    gaps = [later - sooner for moments in by_host.values() for sooner, later in pairwise(moments)]
    fastest = max(len(moments) / (moments[-1] - moments[0] + 1 / RATE) for moments in by_host.values())
    grown = many["memory"][-1] - many["memory"][len(many["memory"]) // 2]
    print(
        f"{len(by_host)} hosts for {SECONDS:.0f} s at {RATE:g} a second each: {many['requests']:,} requests, {many['cpu']:.1f} CPU-seconds"
    )
    print(f"at the server: the fastest host {fastest:.2f} a second, the shortest gap {1000 * min(gaps):.0f} ms")
    print(f"memory {many['memory'][0]:.0f} MB at first, {grown:+.1f} MB over the second half")
    polite = len(by_host) == HOSTS and fastest <= 1.05 * RATE and grown <= MAX_GROWTH_MB
    print("each host under its rate, memory flat" if polite else "NOT polite, or memory grows")
    return 0 if kept and polite else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(_serve())
    elif sys.argv[1:]:
        _client(sys.argv[1], int(sys.argv[2]))
    else:
        sys.exit(main())
