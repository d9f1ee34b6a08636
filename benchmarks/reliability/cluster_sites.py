"""Small demo sites in one process, each on its own address in 127.0.0.0/8, which log requests and can refuse connections.

Commands are read from standard input, one per line, and answered with a line of JSON: `log` (requests since the last `log`), `count`
(number of requests so far), `refuse SECONDS`. The process ends with its input.
"""

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from aiohttp import web

from benchmarks.reliability.hosts import arrival
from upwell.demo.cities import all_cities
from upwell.demo.site import application
from upwell.demo.switches import LAYOUTS, Switches

__all__ = ["Asked", "ClusterSites"]

Asked = tuple[float, str, str]  # monotonic seconds, host, path and arguments
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
SIZES = range(80, 600)  # cities of a site


class ClusterSites:
    """The running sites."""

    def __init__(self, count: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.reliability.cluster_sites", str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.urls: list[str] = self._answer()

    def __enter__(self) -> "ClusterSites":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def log(self) -> list[Asked]:
        """Return the requests since the last call."""
        return [(when, host, path) for when, host, path in self._command("log")]

    def count(self) -> int:
        """Return the number of requests in the log."""
        return int(self._command("count"))

    def refuse(self, seconds: float) -> None:
        """Make all sites refuse connections for a while."""
        self._command(f"refuse {seconds}")

    def _command(self, line: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


class _Server:
    def __init__(self) -> None:
        self.log: list[Asked] = []
        self.sites: list[tuple[web.AppRunner, str, int]] = []
        self.listening: list[web.BaseSite] = []

    async def start(self, count: int) -> list[str]:
        """Start the sites, each with another country or another layout."""
        sizes = Counter(city.country_code for city in all_cities())
        countries = sorted(code for code, size in sizes.items() if size in SIZES)
        port = 0
        for number in range(count):
            switches = Switches(country=countries[number % len(countries)], layout=LAYOUTS[number % len(LAYOUTS)])
            runner = web.AppRunner(self._application(switches), access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            with socket.create_server((f"127.77.0.{number + 1}", port)) as free:
                port = free.getsockname()[1]
            self.sites.append((runner, f"127.77.0.{number + 1}", port))
        await self.listen()
        return [f"http://{host}:{port}/" for _, host, port in self.sites]

    async def listen(self) -> None:
        for runner, host, port in self.sites:
            self.listening.append(web.TCPSite(runner, host, port, reuse_address=True))
            await self.listening[-1].start()

    async def refuse(self, seconds: float) -> None:
        """Close all sockets and reopen them later; answers in progress are completed."""
        for site in self.listening:
            await site.stop()
        self.listening.clear()
        for runner, _, _ in self.sites:
            for connection in list(runner.server.connections if runner.server else ()):
                if connection.transport is not None:
                    connection.transport.close()
        await asyncio.sleep(seconds)
        await self.listen()

    def _application(self, switches: Switches) -> web.Application:
        answers: dict[
            str, tuple[bytes, int, str, str | None]
        ] = {}  # so that most of the machine's time is available to the harvests

        @web.middleware
        async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.log.append(
                (arrival(request.get_extra_info("socket")), request.host.partition(":")[0], request.path_qs)
            )
            if request.path_qs not in answers:
                made = await handler(request)  # a redirect is raised as an exception
                if not isinstance(made, web.Response) or not isinstance(made.body, bytes):
                    return made
                answers[request.path_qs] = (made.body, made.status, made.content_type, made.charset)
            body, status, kind, charset = answers[request.path_qs]
            return web.Response(body=body, status=status, content_type=kind, charset=charset)

        app = application(switches, [])
        app.middlewares.insert(0, note)
        return app


async def _main(count: int) -> None:
    server = _Server()
    _say(await server.start(count))
    refusing: set[asyncio.Task[None]] = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        command, _, value = line.strip().partition(" ")
        if command == "log":
            _say(server.log)
            server.log = []
        elif command == "count":
            _say(len(server.log))
        elif command == "refuse":
            refusing.add(asyncio.create_task(server.refuse(float(value))))
            _say("refusing")


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
