"""Many demo sites in one process, each on its own address in 127.0.0.0/8, in all layouts; harvested by `many`.

An answer is rendered once for all hosts of a layout, so that most of the machine's time is available to the harvest. The times of
requests are logged by host.
"""

import argparse
import asyncio
import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web

from upwell.demo.site import application
from upwell.demo.switches import LAYOUTS, Switches

__all__ = ["Hosts", "arrival", "serving"]

LAST_DATA_RECEIVED = 52  # position of the field with the milliseconds since the last data in struct tcp_info of Linux
MARK = b"\x00origin\x00"  # placeholder for the host's own address in a cached answer


def addresses(count: int) -> list[str]:
    """Return a number of addresses of this machine, each a different host."""
    return [f"127.{10 + i // 62500}.{i // 250 % 250}.{1 + i % 250}" for i in range(count)]


@dataclass
class Hosts:
    """The running sites: their addresses, and after their end the times of their requests."""

    urls: list[str]
    times: dict[str, list[float]] = field(default_factory=dict)  # host → seconds, ascending

    @property
    def requests(self) -> int:
        """Return the total number of requests."""
        return sum(map(len, self.times.values()))

    @property
    def gaps(self) -> list[float]:
        """Return the intervals between requests to one host, in seconds."""
        return [after - before for times in self.times.values() for before, after in pairwise(sorted(times))]


@contextmanager
def serving(count: int) -> Iterator[Hosts]:
    """Serve a number of sites in another process."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "times.json"
        command = [sys.executable, "-m", "benchmarks.reliability.hosts", str(count), str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            hosts = Hosts(json.loads(process.stdout.readline()))
            try:
                yield hosts
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
                hosts.times.update(json.loads(log.read_text()))


def arrival(connection: socket.socket) -> float:
    """Return the time at which the last data of a connection arrived according to the kernel, because this process may have been busy."""
    about = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    (milliseconds,) = struct.unpack_from("I", about, LAST_DATA_RECEIVED)
    return time.monotonic() - int(milliseconds) / 1000


def _noting(
    times: dict[str, list[float]], answers: dict[str, web.Response]
) -> Callable[..., Awaitable[web.StreamResponse]]:
    """Create a middleware that logs the times of requests and caches the first answer of each kind."""

    @web.middleware
    async def note(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        times.setdefault(request.host, []).append(arrival(request.get_extra_info("socket")))
        origin = str(request.url.origin()).encode()
        if request.method != "GET":
            return await handler(request)
        if request.path_qs not in answers:
            made = await handler(request)  # a redirect is raised as an exception, and created anew each time
            if not isinstance(made, web.Response) or not isinstance(made.body, bytes):
                return made
            answers[request.path_qs] = web.Response(
                body=made.body.replace(origin, MARK),
                status=made.status,
                content_type=made.content_type,
                charset=made.charset,
            )
        kept = answers[request.path_qs]
        assert isinstance(kept.body, bytes)
        return web.Response(
            body=kept.body.replace(MARK, origin),
            status=kept.status,
            content_type=kept.content_type,
            charset=kept.charset,
        )

    return note


async def _serve(count: int, log: Path) -> None:
    times: dict[str, list[float]] = {}
    runners = []
    for layout in LAYOUTS:
        app = application(Switches(layout=layout), [])
        app.middlewares.insert(0, _noting(times, {}))
        runners.append(web.AppRunner(app, access_log=None))
        await runners[-1].setup()
    urls, port = [], 0
    for number, address in enumerate(addresses(count)):
        listening = socket.create_server((address, port), backlog=16)
        port = listening.getsockname()[1]
        await web.SockSite(runners[number % len(runners)], listening).start()
        urls.append(f"http://{address}:{port}/")
    print(json.dumps(urls), flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    log.write_text(json.dumps(times))  # noqa: ASYNC240 # the last thing that it does


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("log", type=Path)
    options = parser.parse_args()
    asyncio.run(_serve(options.count, options.log))
