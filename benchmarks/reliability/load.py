"""Harvest many demo sites concurrently and measure memory over time: `python -m benchmarks.reliability.load [--sites 100] [--budget 120]`.

The sites run in another process, so that only the memory of the harvests is counted.
"""

import argparse
import multiprocessing
import os
import tempfile
import threading
import time
from pathlib import Path

from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import serve
from upwell.net.fetch import Manners


def serve_sites(count: int, ready: "multiprocessing.Queue[list[str]]", done: "multiprocessing.Event") -> None:  # type: ignore[valid-type] # Event is a function
    """Start a number of demo sites, send their URLs, and wait for the end."""
    running = [serve() for _ in range(count)]
    ready.put([site.__enter__().url for site in running])
    done.wait()  # type: ignore[attr-defined] # as above


def memory() -> float:
    """Return the resident memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print requests, records, and the memory at five moments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=100)
    parser.add_argument("--budget", type=int, default=120)
    options = parser.parse_args()
    ready: multiprocessing.Queue[list[str]] = multiprocessing.Queue()
    done = multiprocessing.Event()
    process = multiprocessing.Process(target=serve_sites, args=(options.sites, ready, done), daemon=True)
    process.start()
    urls = ready.get()
    samples: list[tuple[float, float]] = []
    started, stop = time.monotonic(), threading.Event()

    def sample_memory() -> None:
        while not stop.wait(1.0):
            samples.append((time.monotonic() - started, memory()))

    threading.Thread(target=sample_memory, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        results = api.harvest_all(urls, out=folder, plan=Plan(budget=options.budget), manners=Manners(rate=0))
    stop.set()
    done.set()
    succeeded = [result for result in results if isinstance(result, api.Result)]
    records = sum(result.summary["records"] for result in succeeded)
    requests = sum(result.summary["requests"] for result in succeeded)
    print(f"{len(succeeded)} of {len(urls)} sites, {requests:,} requests, {records:,} records")
    for share in (0.1, 0.25, 0.5, 0.75, 1.0):
        _, megabytes = samples[max(0, round(share * len(samples)) - 1)]
        print(f"after {share:.0%} of the time: {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
