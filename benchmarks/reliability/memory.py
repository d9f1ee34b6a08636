"""Memory during a harvest, and memory per record: `python -m benchmarks.reliability.memory [--sites N] [--records N] [--page N]`.

Synthetic records go through the real ledger, chooser and state, one page of each site in turn, without HTML. Every second site lists
everything; the others are queried by words. Resident memory is that of the whole process. Bars: 100 sites of 10,000 records end with at
most 1.3 times their memory at a quarter, and at most 600 MB; one site of 2 million records needs at most 1 GB. With `--addresses N`, this
number of URLs of 1,000 hosts goes through their repositories of second-level URLs instead; with `--table N`, a state with this number of
records is written as a table (`--format`), and the bar applies to the peak memory of the process.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from upwell.answers.totals import StatedTotals
from upwell.choose.candidates import AnswerPage, Candidate, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
from upwell.choose.url_repository import NumberQueue, UrlRepository
from upwell.harvest.checkpoint import ScratchFile
from upwell.harvest.files import write_tables
from upwell.source.model import SourceModel
from upwell.store.state import State
from upwell.table.build import build_tables
from upwell.table.writers import FORMATS, Format
from upwell.types import FormInterface, Record

MAX_GROWTH = 1.3  # bar for the growth from a quarter of the records to all
MAX_MEGABYTES = {True: 600, False: 1000}  # bars in MB: many sites, one site
MANY_SITES = 100
# Words that a record shares with others, and the number of each: the words by which a site can be queried.
ATTRIBUTES = {"kind": 7, "place": 61, "maker": 1009, "year": 40}
OTHER_WORDS = 10  # words of a record, as frequent as those of a natural language
RARE = 2_000_000
HOSTS = 1000
ROWS_AT_ONCE = 500  # rows added to the state at a time, for `--table`
STEPS = (0.05, 0.25, 0.5, 0.75, 1.0)


class MadeSite:
    """Site whose answers are computed, so that it needs no memory itself."""

    def __init__(self, number: int, records: int, page_size: int, folder: Path) -> None:
        self.records, self.page_size, self.lists_everything = records, page_size, number % 2 == 0
        self.state = State(folder / f"{number}.sqlite")
        interface = FormInterface(method="GET", url=f"http://site{number}.example/", query_field="q")
        self.ledger = SourceLedger(interface=interface, model=SourceModel())
        self.chooser = Chooser(
            self.ledger, Plan(), language="en", takes_text=True, is_about=False, urls=UrlRepository(ScratchFile())
        )
        self.chooser.start([f"kind{value}" for value in range(ATTRIBUTES["kind"])])
        self.requests = 0

    def step(self) -> bool:
        """Send one request; return False if there was nothing to ask."""
        self.chooser.reason_to_stop()
        chosen = self.chooser.next()
        if chosen is None:
            return False
        query: OpenQuery = self.chooser.open(chosen) if isinstance(chosen, Candidate) else chosen
        numbers, total, has_next = self._matches(query.query, query.pages.pages)
        records = [self._record(number, ranks) for number, ranks in zip(numbers, _ranks(numbers), strict=True)]
        page = AnswerPage(records=records, wanted=records, totals=StatedTotals(total=total or None), has_next=has_next)
        self.chooser.take(query, page)
        self.ledger.page_size = max(self.ledger.page_size, len(records))
        origin = {"_source": self.ledger.interface.url, "_query": query.query, "_page": "", "_fetched": ""}
        self.state.add(records, origin)
        self.requests += 1
        return True

    def _matches(self, query: str, page: int) -> tuple[range, int, bool]:
        first, step = 0, 1
        if query or not self.lists_everything:
            found = [(name, query.removeprefix(name)) for name in ATTRIBUTES if query.startswith(name)]
            if not found or not found[0][1].isdigit() or int(found[0][1]) >= ATTRIBUTES[found[0][0]]:
                return range(0), 0, False
            first, step = int(found[0][1]), ATTRIBUTES[found[0][0]]
        every = range(first, self.records, step)
        part = every[page * self.page_size : (page + 1) * self.page_size]
        return part, len(every), (page + 1) * self.page_size < len(every)

    def _record(self, number: int, ranks: list[int]) -> Record:
        words = [f"{name}{number % values}" for name, values in ATTRIBUTES.items()]
        text = " ".join([*words, *(f"w{rank}" for rank in ranks)])
        address = f"{self.ledger.interface.url}item/{number}"
        return Record(key=address, url=address, path="/", text=text, fields={"title": text})


def _ranks(numbers: range) -> list[list[int]]:
    """Return the other words of some records: always the same for a record, and as frequent as words of a language (Pareto, 0.9)."""
    mixed = np.outer(np.array(numbers, dtype=np.uint64) + np.uint64(1), np.arange(1, OTHER_WORDS + 1, dtype=np.uint64))
    mixed = (mixed ^ (mixed >> np.uint64(7))) * np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    share = ((mixed >> np.uint64(11)).astype(float) + 1) / 2**53
    return np.minimum(3 * (share ** (-1 / 0.9) - 1), RARE).astype(int).tolist()  # type: ignore[no-any-return] # a table of ints


def resident_megabytes() -> float:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def run(sites: int, records: int, page_size: int, folder: Path) -> list[tuple[int, float, float]]:
    """Return records held, megabytes and CPU seconds at several shares of all records."""
    made = [MadeSite(number, records, page_size, folder) for number in range(sites)]
    rows: list[tuple[int, float, float]] = []
    active, steps = list(made), list(STEPS)
    while active and steps:
        active = [site for site in active if len(site.ledger) < steps[0] * records and site.step()]
        if not active:
            held = sum(len(site.ledger) for site in made)
            rows.append((held, resident_megabytes(), time.process_time()))
            print(f"{held:>12,}{rows[-1][1]:>10.0f}{rows[-1][2]:>10.0f}", flush=True)
            steps.pop(0)
            active = [site for site in made if len(site.ledger) < records]
    for site in made:
        site.state.__exit__(None, None, None)
    return rows


def addresses(number: int) -> None:
    """Measure the memory per URL, and the URLs added and taken per second: 1,000 hosts in turn, each with its repository."""
    before, start = resident_megabytes(), time.process_time()
    hosts = [(UrlRepository(ScratchFile()), NumberQueue()) for _ in range(HOSTS)]
    for n in range(number):
        urls, waiting = hosts[n % HOSTS]
        waiting.append(urls.add("record page", _address(n)))
    added, held = time.process_time(), resident_megabytes() - before
    known = sum(hosts[n % HOSTS][0].add("record page", _address(n)) >= 0 for n in range(0, number, 10))
    again = time.process_time()
    taken = sum(urls.take(found) and bool(urls.text(found)) for urls, waiting in hosts for found in _all(waiting))
    end = time.process_time()
    print(f"{number:,} addresses of {HOSTS:,} hosts: {1e6 * held / number:.0f} bytes each in memory; {number / (added - start):,.0f} added, "
          f"{number / 10 / (again - added):,.0f} seen again ({known} new) and {taken / (end - again):,.0f} taken in a CPU second")  # fmt: skip


def _address(number: int) -> str:
    return f"http://host{number % HOSTS}.example/search/record/{number}?from=list"


def _all(waiting: NumberQueue) -> Iterator[int]:
    while waiting:
        yield waiting.take()


def table(number: int, format: Format, folder: Path) -> int:
    """Write a table of synthetic records with six columns; return 1 if that needed too much memory."""
    with State(folder / "state.sqlite") as state:
        origin = {"_source": "http://site.example/", "_query": "", "_page": "", "_fetched": "2026-01-01T00:00:00+00:00"}
        for first in range(0, number, ROWS_AT_ONCE):
            numbers = range(first, min(first + ROWS_AT_ONCE, number))
            state.add([_row(n, ranks) for n, ranks in zip(numbers, _ranks(numbers), strict=True)], origin)
        filled, start = _peak_megabytes(), time.process_time()
        tables = build_tables(state)
        known, looked = _peak_megabytes(), time.process_time()
        written = write_tables(tables, folder, format)
        end, size = time.process_time(), written.stat().st_size / 1e6
    print(f"{number:,} rows as {format}, {size:.0f} MB: {filled:.0f} MB when the state was filled, {known:.0f} when the columns were known, "
          f"{_peak_megabytes():.0f} at most (bar {MAX_MEGABYTES[False]}); {looked - start:.0f} and {end - looked:.0f} CPU s")  # fmt: skip
    return int(_peak_megabytes() > MAX_MEGABYTES[False])


def _row(number: int, ranks: list[int]) -> Record:
    fields = {name: f"{name}{number % values}" for name, values in ATTRIBUTES.items() if name != "year"}
    fields |= {
        "title": " ".join(f"w{rank}" for rank in ranks),
        "year": str(1980 + number % 40),
        "price": f"${number % 997}.50",
    }
    address = f"http://site.example/item/{number}"
    return Record(key=address, url=address, path="/", text="", fields=fields)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability.memory", description=__doc__)
    parser.add_argument("--sites", type=int, default=MANY_SITES)
    parser.add_argument("--records", type=int, default=10_000, help="of each site")
    parser.add_argument("--page", type=int, default=20, help="records on a page")
    parser.add_argument("--addresses", type=int, default=0)
    parser.add_argument("--table", type=int, default=0)
    parser.add_argument("--format", choices=FORMATS, default="parquet")
    arguments = parser.parse_args()
    if arguments.table:
        with tempfile.TemporaryDirectory() as folder:
            return table(arguments.table, arguments.format, Path(folder))
    if arguments.addresses:
        addresses(arguments.addresses)
        return 0
    print(f"{'records held':>12}{'MB':>10}{'CPU s':>10}")
    with tempfile.TemporaryDirectory() as folder:
        rows = run(arguments.sites, arguments.records, arguments.page, Path(folder))
    quarter, end = rows[1], rows[-1]
    growth = end[1] / quarter[1]
    per_record = 1e6 * (end[1] - quarter[1]) / (end[0] - quarter[0])
    bar = MAX_MEGABYTES[arguments.sites >= MANY_SITES]
    print(f"end ÷ quarter: {growth:.2f} (bar {MAX_GROWTH} for {MANY_SITES} sites), {per_record:.0f} bytes a record, "
          f"{end[1]:.0f} MB (bar {bar})")  # fmt: skip
    return int(end[1] > bar or (arguments.sites >= MANY_SITES and growth > MAX_GROWTH))


if __name__ == "__main__":
    sys.exit(main())
