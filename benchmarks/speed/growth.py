"""How CPU and memory grow with the size of a page and with the records held: `python -m benchmarks.speed.growth [plot.svg]`.

A row is a unit of work: one page read, one question chosen. The exponent is that of the CPU time between the smallest and the largest
size: 1 is linear, and n log n over three decades is about 1.2.
"""

import math
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

from upwell.harvest.answer_page import AnswerPage
from upwell.harvest.chooser import Chooser
from upwell.harvest.ledger import SourceLedger
from upwell.harvest.open_query import Belief, Question
from upwell.harvest.plan import Plan
from upwell.model import FormInterface, Record
from upwell.page import terms
from upwell.page.tree import read
from upwell.source.model import SourceModel

MAX_EXPONENT = 1.25
PAGE_BYTES = (10_000, 100_000, 1_000_000, 10_000_000)
RECORDS_HELD = (1_000, 10_000, 100_000)
CHOOSE_BAR_MS = 1.0  # at 100,000 records held
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


def choice_rows() -> list[Row]:
    """Choosing what to ask next."""
    rows: list[Row] = []
    for records in RECORDS_HELD:
        seconds = cpu(partial(_choose, chooser_with(records))) / CHOICES
        rows.append(("choose a question", records, seconds, None))
    return rows


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
    plt.xlabel("bytes of the page, or records held")
    plt.ylabel("CPU milliseconds")
    plt.legend()
    plt.savefig(file)


def main() -> int:
    rows = page_rows() + choice_rows()
    print(f"{'':<24}{'size':>12}{'CPU ms':>12}{'ns for one':>12}{'memory ÷ size':>15}")
    for name, size, seconds, held in rows:
        print(
            f"{name:<24}{size:>12,}{1000 * seconds:>12.2f}{1e9 * seconds / size:>12.1f}{f'{held / size:.1f}' if held else '':>15}"
        )
    broken = False
    for name in dict.fromkeys(row[0] for row in rows):
        grows = exponent([row for row in rows if row[0] == name])
        broken |= grows > MAX_EXPONENT
        print(f"{name}: grows with the power {grows:.2f} of the size (at most {MAX_EXPONENT})")
    at_most = rows[-1][2] * 1000
    broken |= at_most > CHOOSE_BAR_MS
    print(f"choosing at {rows[-1][1]:,} records held: {at_most:.2f} ms (bar {CHOOSE_BAR_MS:g})")
    if sys.argv[1:]:
        plot(rows, sys.argv[1])
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
