"""Run the demo site on loopback, in its own thread."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from upwell.demo.cities import City, cities_of
from upwell.demo.site import Received, application
from upwell.demo.switches import Switches

__all__ = ["Running", "serve", "serve_anywhere"]


@dataclass
class Running:
    """Running demo site: its URL, the requests that it received so far, and its true content."""

    url: str
    switches: Switches
    received: list[Received] = field(default_factory=list)

    @property
    def truth(self) -> tuple[City, ...]:
        """Return all records of the site."""
        return cities_of(self.switches.country)


@contextmanager
def serve(switches: Switches | None = None, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[Running]:
    """Start the site (port 0: any free port) and stop it at the end of the `with` block.

    >>> with serve(Switches(layout="table")) as site:
    ...     site.url.startswith("http://127.0.0.1:")
    True
    """
    switches = switches or Switches()
    cities_of(switches.country)  # loads the data, so that the first request is as fast as the others
    running = Running("", switches)
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(application(switches, running.received), access_log=None, shutdown_timeout=0.1)

    async def start() -> int:
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        return int(runner.addresses[0][1])

    thread = threading.Thread(target=loop.run_forever, name="upwell-demo", daemon=True)
    thread.start()
    try:
        running.url = f"http://{host}:{asyncio.run_coroutine_threadsafe(start(), loop).result()}/"
        yield running
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def serve_anywhere(switches: Switches | None, port: int, warn: Callable[[str], None]) -> Iterator[Running]:
    """Start the site on a port, or on any free port if that is taken; a harvest then starts from the beginning."""
    with ExitStack() as stack:
        try:
            site = stack.enter_context(serve(switches, port=port))
        except OSError as error:
            site = stack.enter_context(serve(switches))
            warn(
                f"port {port} is taken ({error.strerror}); the site is at {site.url} and this harvest starts from the beginning"
            )
        yield site
