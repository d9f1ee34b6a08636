"""Growth of CPU and memory with the size of a page, the records held and the number of concurrent sites.

`python -m benchmarks.speed.growth [--save POINTS] [--plot FILE] [KIND…]`

A point is a unit of work: one page read, a number of records added, one query chosen, a number of sites harvested for a few requests
each. The exponent is that of the CPU time between the smallest and the largest size: 1 is linear, and n log n over three orders of
magnitude is about 1.2. With `--save`, points that an earlier run has measured are taken from the file: the largest take minutes.
"""

import argparse
import json
import math
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.reliability import load
from benchmarks.speed.table import Row
from upwell import api
from upwell.choose.candidates import AnswerPage, Candidate
from upwell.choose.chooser import Chooser
from upwell.choose.expected_yield import ExpectedYield
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
from upwell.net.fetch import Manners
from upwell.page import tokens as terms
from upwell.page.tree import read
from upwell.source.model import SourceModel
from upwell.types import FormInterface, Record

MAX_EXPONENT = 1.25
REQUESTS_OF_A_SITE = 6
USUAL = {"pages": 10_000_000, "records": 100_000, "sites": 10}  # largest sizes in `make speed`
CHOOSE_BAR_AT, CHOOSE_BAR_MS = 100_000, 1.0  # records held, and the bar for choosing with this number
UNITS = {
    "text": b"<p>some words of a paragraph that is <b>long</b> enough to be one</p>\n",
    "lists": b'<li><a href="/item/123456">An item</a> 12</li>\n',
    "tags": b"<i></i>",
}
WORDS_OF_A_RECORD = 15
RECORDS_OF_A_PAGE = 100
CHOICES = 20


class Point(NamedTuple):
    """Cost of one unit of work."""

    what: str
    size: int
    seconds: float  # of CPU
    held: float | None = None  # bytes of memory


def cpu(work: Callable[[], object], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def page_points(size: int) -> Iterator[Point]:
    """Measure reading pages of a size; the memory is that of Python alone, without the parser."""
    for name, unit in UNITS.items():
        page = b"<html><body>" + unit * (size // len(unit))
        tracemalloc.start()
        tree = read(page)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del tree
        yield Point(f"read a page: {name}", size, cpu(partial(_read, page)), held)


def _read(page: bytes) -> None:
    terms.terms_of(read(page))


def record_points(records: int) -> Iterator[Point]:
    """Measure adding records, and choosing the next query with a number of records held."""
    before = memory()
    chooser, spent = chooser_with(records)
    yield Point("take records in", records, spent, max(0.0, memory() - before))
    yield Point("choose a question", records, cpu(partial(_choose, chooser)) / CHOICES)


def chooser_with(records: int) -> tuple[Chooser, float]:
    """Return a chooser that holds a number of records whose words are as frequent as those of a language, and the CPU seconds of adding them."""
    rng = np.random.default_rng(records)
    interface = FormInterface(method="GET", url="http://127.0.0.1/s", query_field="q")
    chooser = Chooser(
        SourceLedger(interface=interface, model=SourceModel()), Plan(), language="en", takes_text=True, is_about=False
    )
    chooser.start(())
    chooser.waiting.clear()
    query = chooser.open(Candidate(query="first"))
    spent = 0.0
    for first in range(0, records, RECORDS_OF_A_PAGE):
        numbers = np.minimum(10_000_000, 1 + rng.pareto(0.35, (RECORDS_OF_A_PAGE, WORDS_OF_A_RECORD))).astype(int)
        texts = [" ".join(f"w{number}" for number in row) for row in numbers.tolist()]
        page = [
            Record(key=str(first + i), url=None, path="/", text=text, fields={"title": text})
            for i, text in enumerate(texts)
        ]
        start = time.process_time()  # creating the records is not counted
        chooser.take(query, AnswerPage(records=page, wanted=page, has_next=True))
        spent += time.process_time() - start
    chooser.words.result_cap, chooser.words.page_size = 200, 20
    for number in range(50):  # words whose answers are capped, and further open queries
        chooser.pairs.add_capped(f"w{number + 1}", 3.0 * chooser.words.records_with(f"w{number + 1}"))
        chooser.open(
            Candidate(
                query=f"w{number + 2}", kind="word", word=f"w{number + 2}", expected_yield=ExpectedYield(50.0, 3.0)
            )
        )
    return chooser, spent


def _choose(chooser: Chooser) -> None:
    for _ in range(CHOICES):
        chooser.next()


def site_points(sites: int) -> Iterator[Point]:
    """Measure harvesting many sites concurrently, a few requests each, in a new process; the sites are demo sites in another process."""
    command = [sys.executable, "-m", "benchmarks.speed.growth", "--harvest", str(sites)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    seconds, held = json.loads(lines[-1])
    yield Point("harvest sites at once", sites, seconds, held)


def _harvest_sites(count: int) -> None:
    """Print the CPU seconds and the peak memory of harvesting a number of sites."""
    ready: multiprocessing.Queue[list[str]] = multiprocessing.Queue()
    done = multiprocessing.Event()
    process = multiprocessing.Process(target=load.serve_sites, args=(count, ready, done), daemon=True)
    process.start()
    urls = ready.get()
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        plan, running = Plan(budget=REQUESTS_OF_A_SITE), api.RunOptions(engine="inline")
        results = api.harvest_all(urls, out=folder, plan=plan, manners=Manners(rate=0), running=running)
    done.set()
    asked = sum(result.summary["requests"] for result in results if isinstance(result, api.Result))
    assert asked == count * REQUESTS_OF_A_SITE, f"{asked} requests to {count} sites"
    print(json.dumps((time.process_time() - start, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)))


def memory() -> float:
    """Return the resident memory of this process in bytes."""
    return load.memory() * 1e6


KINDS: dict[str, tuple[Callable[[int], Iterator[Point]], tuple[int, ...]]] = {
    "pages": (page_points, (10_000, 100_000, 1_000_000, 10_000_000)),
    "records": (record_points, (1_000, 10_000, 100_000, 1_000_000)),
    "sites": (site_points, (1, 10, 100, 1_000)),
}


def measure(kinds: list[str], largest: Mapping[str, int], saved: Path | None = None) -> dict[str, list[Point]]:
    """Return the points of these kinds; those in the file are not measured again, and new ones are added to it."""
    lines = saved.read_text().splitlines() if saved is not None and saved.exists() else []
    known = {(kind, size): points for kind, size, points in map(json.loads, lines)}
    found: dict[str, list[Point]] = {}
    for kind in kinds:
        points_of, sizes = KINDS[kind]
        for size in sizes:
            if size > largest.get(kind, size):
                break
            if (kind, size) in known:
                points = [Point(*point) for point in known[kind, size]]
            else:
                points = list(points_of(size))
                if saved is not None:
                    with saved.open("a") as file:
                        file.write(json.dumps([kind, size, points]) + "\n")
            for point in points:
                found.setdefault(point.what, []).append(point)
    return found


def exponent(points: list[Point]) -> float:
    small, large = points[0], points[-1]
    return math.log(large.seconds / small.seconds) / math.log(large.size / small.size)


def usual_rows() -> Iterator[Row]:
    """Return the growth of each quantity up to its usual size, and choosing with its bar, for the table of speeds."""
    for what, points in measure(list(KINDS), USUAL).items():
        small, large = points[0], points[-1]
        name = f"power of growth, {what}, {small.size:,} to {large.size:,}"
        times = [f"{1000 * point.seconds:.1f} ms" for point in (large, small)]
        yield Row(name, times[0], times[1], exponent(points), MAX_EXPONENT)
        if what == "choose a question":
            spent = 1000 * next(point.seconds for point in points if point.size == CHOOSE_BAR_AT)
            name = f"choosing with {CHOOSE_BAR_AT:,} records held"
            yield Row(name, f"{spent:.2f} ms", f"{CHOOSE_BAR_MS:g} ms", spent / CHOOSE_BAR_MS, 1.0)


def plot(found: Mapping[str, list[Point]], file: str) -> None:
    import matplotlib.pyplot as plt

    for what, points in found.items():
        plt.loglog([point.size for point in points], [1000 * point.seconds for point in points], marker="o", label=what)
    plt.xlabel("bytes of the page, records held, or sites at once")
    plt.ylabel("CPU milliseconds")
    plt.grid(alpha=0.3)
    plt.legend()
    plt.savefig(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--save", type=Path)
    parser.add_argument("--plot", default="")
    parser.add_argument("--harvest", type=int)
    options = parser.parse_args()
    if options.harvest:
        _harvest_sites(options.harvest)
        return 0
    found = measure(options.kinds, {}, options.save)
    print(f"{'':<24}{'size':>12}{'CPU ms':>12}{'µs for one':>12}{'bytes for one':>15}")
    for what, points in found.items():
        for point in points:
            of_one = f"{point.held / point.size:,.1f}" if point.held else ""
            milliseconds, for_one = 1e3 * point.seconds, 1e6 * point.seconds / point.size
            print(f"{what:<24}{point.size:>12,}{milliseconds:>12.2f}{for_one:>12.3f}{of_one:>15}")
    for what, points in found.items():
        print(f"{what}: grows with the power {exponent(points):.2f} of the size (at most {MAX_EXPONENT})")
    if options.plot:
        plot(found, options.plot)
    return int(any(exponent(points) > MAX_EXPONENT for points in found.values()))


if __name__ == "__main__":
    sys.exit(main())
