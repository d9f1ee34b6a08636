"""How CPU and memory grow with the size of a page, the records held and the sites at once: `python -m benchmarks.speed.growth [plot.svg]`.

A row is a unit of work: one page read, so many records taken in, one question chosen, so many sites harvested for a few requests each. The
exponent is that of the CPU time between the smallest and the largest size: 1 is linear, and n log n over three decades is about 1.2.
A size that should take more than `MAX_SECONDS` is left out.
"""

import json
import math
import multiprocessing
import random
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

from benchmarks.reliability import load
from upwell import api
from upwell.harvest.answer_page import AnswerPage
from upwell.harvest.chooser import Chooser
from upwell.harvest.ledger import SourceLedger
from upwell.harvest.open_query import Belief, Question
from upwell.harvest.plan import Plan
from upwell.model import FormInterface, Record
from upwell.net.fetch import Manners
from upwell.page import terms
from upwell.page.tree import read
from upwell.source.model import SourceModel

MAX_EXPONENT = 1.25
PAGE_BYTES = (10_000, 100_000, 1_000_000, 10_000_000)
RECORDS_HELD = (1_000, 10_000, 100_000, 1_000_000)
SITES = (1, 10, 100, 1_000)
REQUESTS_OF_A_SITE = 12
MAX_SECONDS = 300.0  # of CPU, that a row may be expected to take: ten times the one before it
BAR_AT = 100_000  # records held, at which the bar for choosing holds
CHOOSE_BAR_MS = 1.0
UNITS = {
    "text": b"<p>some words of a paragraph that is <b>long</b> enough to be one</p>\n",
    "lists": b'<li><a href="/item/123456">An item</a> 12</li>\n',
    "tags": b"<i></i>",
}
WORDS_OF_A_RECORD = 15
CHOICES = 20

Row = tuple[str, int, float, float | None]  # what, size, CPU seconds, bytes of memory


def cpu(work: Callable[[], object], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def page_rows() -> list[Row]:
    """Reading pages of growing size; the memory is that of Python alone, without the parser's."""
    rows: list[Row] = []
    for name, unit in UNITS.items():
        for size in PAGE_BYTES:
            page = b"<html><body>" + unit * (size // len(unit))
            tracemalloc.start()
            tree = read(page)
            held = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            del tree
            rows.append((f"read a page: {name}", size, cpu(partial(_read, page)), held))
    return rows


def _read(page: bytes) -> None:
    terms.of(read(page))


def chooser_with(records: int) -> Chooser:
    """A chooser that holds so many records of words that are as frequent as those of a language."""
    rng = random.Random(records)
    interface = FormInterface(method="GET", url="http://127.0.0.1/s", query_field="q")
    chooser = Chooser(
        SourceLedger(interface=interface, model=SourceModel()), Plan(), language="en", takes_text=True, is_about=False
    )
    chooser.start(())
    chooser.waiting.clear()
    query = chooser.open(Question(query="first"))
    page: list[Record] = []
    for number in range(records):
        text = " ".join(f"w{min(10_000_000, int(rng.paretovariate(0.35)))}" for _ in range(WORDS_OF_A_RECORD))
        page.append(Record(key=str(number), url=None, path="/", text=text, fields={"title": text}))
        if len(page) == 100 or number == records - 1:
            chooser.take(query, AnswerPage(records=page, wanted=page, has_next=True))
            page = []
    chooser.words.limit, chooser.words.page_size = 200, 20
    for number in range(50):  # words that the source cuts off, and queries that are open beside
        chooser.pairs.add_cut_off(f"w{number + 1}", 3.0 * chooser.words.records_with(f"w{number + 1}"))
        chooser.open(Question(query=f"w{number + 2}", by="word", word=f"w{number + 2}", belief=Belief(50.0, 3.0)))
    return chooser


def choice_rows(largest: int = RECORDS_HELD[-1]) -> list[Row]:
    """Taking records in, and choosing what to ask next."""
    taken: list[Row] = []
    chosen: list[Row] = []
    for records in RECORDS_HELD:
        if records > largest or (taken and 10 * taken[-1][2] > MAX_SECONDS):
            break
        before, start = memory(), time.process_time()
        chooser = chooser_with(records)
        taken.append(("take records in", records, time.process_time() - start, max(0.0, memory() - before)))
        chosen.append(("choose a question", records, cpu(partial(_choose, chooser)) / CHOICES, None))
        del chooser
    return taken + chosen


def site_rows(largest: int = SITES[-1]) -> list[Row]:
    """Harvesting many sites at once, each for a few requests; the sites are demo sites in another process."""
    rows: list[Row] = []
    for sites in SITES:
        if sites > largest or (rows and 10 * rows[-1][2] > MAX_SECONDS):
            break
        command = [sys.executable, "-m", "benchmarks.speed.growth", "sites", str(sites)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        seconds, held = json.loads(lines[-1])
        rows.append(("harvest sites at once", sites, seconds, held))
    return rows


def _harvest_sites(count: int) -> None:
    """Prints the CPU seconds and the most memory of harvesting so many sites."""
    ready: multiprocessing.Queue[list[str]] = multiprocessing.Queue()
    done = multiprocessing.Event()
    process = multiprocessing.Process(target=load.serve_sites, args=(count, ready, done), daemon=True)
    process.start()
    urls = ready.get()
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        api.harvest_all(urls, out=folder, plan=Plan(budget=REQUESTS_OF_A_SITE), manners=Manners(rate=0))
    done.set()
    print(json.dumps((time.process_time() - start, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)))


def memory() -> float:
    """Resident bytes of this process."""
    return load.memory() * 1e6


def _choose(chooser: Chooser) -> None:
    for _ in range(CHOICES):
        chooser.next()


def exponent(rows: list[Row]) -> float:
    (_, small, first, _), (_, large, last, _) = rows[0], rows[-1]
    return math.log(last / first) / math.log(large / small)


def plot(rows: list[Row], file: str) -> None:
    import matplotlib.pyplot as plt

    for name in dict.fromkeys(row[0] for row in rows):
        points = [row for row in rows if row[0] == name]
        plt.loglog([row[1] for row in points], [1000 * row[2] for row in points], marker="o", label=name)
    plt.xlabel("bytes of the page, records held, or sites at once")
    plt.ylabel("CPU milliseconds")
    plt.grid(alpha=0.3)
    plt.legend()
    plt.savefig(file)


def main(picture: str = "") -> int:
    rows = page_rows() + choice_rows() + site_rows()
    print(f"{'':<24}{'size':>12}{'CPU ms':>12}{'µs for one':>12}{'bytes for one':>15}")
    for name, size, seconds, held in rows:
        memory_of_one = f"{held / size:,.1f}" if held else ""
        print(f"{name:<24}{size:>12,}{1000 * seconds:>12.2f}{1e6 * seconds / size:>12.3f}{memory_of_one:>15}")
    broken = False
    for name in dict.fromkeys(row[0] for row in rows):
        grows = exponent([row for row in rows if row[0] == name])
        broken |= grows > MAX_EXPONENT
        print(f"{name}: grows with the power {grows:.2f} of the size (at most {MAX_EXPONENT})")
    at_most = next(1000 * seconds for name, size, seconds, _ in rows if name == "choose a question" and size == BAR_AT)
    print(f"choosing at {BAR_AT:,} records held: {at_most:.2f} ms (bar {CHOOSE_BAR_MS:g})")
    if picture:
        plot(rows, picture)
    return int(broken or at_most > CHOOSE_BAR_MS)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sites", count]:
            _harvest_sites(int(count))
        case [*files]:
            sys.exit(main(*files))
