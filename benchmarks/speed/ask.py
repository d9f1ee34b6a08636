"""Query learned sources live: CPU relative to fetching the same pages, in one run.

Several demo sites of different layouts run in a separate process. Bar: 50 ms of CPU per source in addition to fetching.

    python -m benchmarks.speed.ask
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import upwell
from benchmarks.speed.table import Row, show
from upwell import api
from upwell.combine.learned_source import load_sources, source_files
from upwell.discover import interfaces
from upwell.net.fetch import Fetcher
from upwell.types import Request

BAR_MS = 50.0
LAYOUTS = ("list", "table", "grid", "definitions", "cards", "nested", "microdata", "old")
QUERIES = ("san", "lima", "berlin", "new york", "santa maria", "port", "india", "villa")
SITES = """
import sys
from contextlib import ExitStack
from upwell.demo import Switches, serve
with ExitStack() as stack:
    for layout in sys.argv[1:]:
        print(stack.enter_context(serve(Switches(layout=layout))).url, flush=True)
    sys.stdin.read()
"""


async def fetch_all(requests: list[Request], manners: upwell.Manners) -> None:
    """Send the same requests without reading the answers; each site with its own robots.txt, cookies and connection, as in a harvest."""

    async def fetch(request: Request) -> None:
        async with Fetcher(manners) as net:
            await net.fetch(request)

    await asyncio.gather(*map(fetch, requests))


def rows() -> Iterator[Row]:
    """Compare the cost of querying in addition to fetching with `BAR_MS`."""
    sources, things, asking, fetching = measure()
    print(f"{sources} sources asked {len(QUERIES)} questions, {things:.0f} things a question", file=sys.stderr)
    yield Row(
        "asking a learned source; fetching the same page",
        f"{asking:.1f} ms",
        f"{fetching:.1f} ms",
        asking / fetching,
        1 + BAR_MS / fetching,
    )


def measure() -> tuple[int, float, float, float]:
    """Return sources, entities per query, CPU milliseconds of querying a source, and of fetching its answer."""
    manners = upwell.Manners(rate=0)
    command = [sys.executable, "-c", SITES, *LAYOUTS]
    with (
        tempfile.TemporaryDirectory() as scratch,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sites,
    ):
        try:
            urls = [str(sites.stdout.readline()).strip() for _ in LAYOUTS] if sites.stdout else []
            for url in urls:
                upwell.harvest(url, out=scratch, plan=upwell.Plan(budget=40), manners=manners)
            files = source_files([scratch])
            sources = [source for file in files for source in load_sources(file)]
            asking = fetching = 0.0
            things = 0
            for query in QUERIES:  # alternating, so that other programs on the machine slow both equally
                started = time.process_time()
                asyncio.run(fetch_all([interfaces.fill(source.interface, query) for source in sources], manners))
                middle = time.process_time()
                result = api.ask(query, Path(scratch), manners=manners, deadline=60)
                asking += time.process_time() - middle
                fetching += middle - started
                things += len(result)
                assert not result.troubles
        finally:
            sites.kill()
    one = 1000 / (len(QUERIES) * len(sources))
    return len(sources), things / len(QUERIES), one * asking, one * fetching


if __name__ == "__main__":
    sys.exit(show(rows()))
