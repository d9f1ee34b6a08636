"""Learning and applying a source model relative to the parser alone: `python -m benchmarks.speed.extract`."""

import sys
import time
from collections.abc import Callable, Sequence

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, by_site, labels, require
from benchmarks.speed.turns import in_turns
from upwell.page.tree import read
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel

BAR = 8.0  # largest ratio of reading a page and applying a model (kind, cut, columns) to the parser alone
MAX_LEARNING_SECONDS = 3.0  # CPU seconds for 110 answers
ROUNDS = 5


def main() -> int:
    require()
    learns_in_time = True
    print(f"CPU, for each page the best of {ROUNDS} rounds\n")
    print(
        f"{'source':<14}{'pages':>6}{'KB':>6}{'parse ms':>10}{'read ms':>9}{'apply ms':>10}{'ratio':>7}{'learn s':>9}"
    )
    total = [0.0, 0.0, 0.0]
    for site, rows in by_site(labels("kinds")).items():
        pages = [(CORPORA / "kinds" / row["page"]).read_bytes() for row in rows[:110]]
        trees = [read(page) for page in pages]
        start = time.process_time()
        model = learn_source(trees)
        learning = time.process_time() - start
        spent = cpu(model, pages)
        total = [a + b for a, b in zip(total, spent, strict=True)]
        learns_in_time = learns_in_time and learning <= MAX_LEARNING_SECONDS
        size = sum(map(len, pages)) / len(pages) / 1000
        parse, reading, applying = (1000 * seconds / len(pages) for seconds in spent)
        print(
            f"{site:<14}{len(pages):>6}{size:>6.0f}{parse:>10.2f}{reading:>9.2f}{applying:>10.2f}{applying / parse:>7.1f}{learning:>9.2f}"
        )
    _growth()
    ratio = total[2] / total[0]
    print(
        f"\nreading: {total[1] / total[0]:.1f} times the parser alone; reading and applying: {ratio:.1f}, the bar is {BAR:g}"
    )
    print(f"learning: the bar is {MAX_LEARNING_SECONDS:g} s")
    return 0 if learns_in_time and ratio <= BAR else 1


def cpu(model: SourceModel, pages: Sequence[bytes]) -> list[float]:
    """Return the CPU time of the parser alone, of reading, and of reading and applying: the best of several rounds for each page, summed.

    The three alternate on each page, so that other programs on the machine slow all of them equally.
    """
    works: list[Callable[[bytes], object]] = [LexborHTMLParser, read, lambda page: apply(model, read(page))]
    return in_turns(works, pages, ROUNDS)


def _growth() -> None:
    """Measure learning by number of answers and applying by size of the answer, on synthetic pages, so that nothing else changes."""
    print(f"\n{'answers':>8}{'learn s':>9}")
    for n in (10, 30, 100, 300, 1000):
        trees = [read(_page(i, 20)) for i in range(n)]
        start = time.process_time()
        model = learn_source(trees)
        print(f"{n:>8}{time.process_time() - start:>9.2f}")
    print(f"\n{'matches':>8}{'KB':>6}{'parse ms':>10}{'read ms':>9}{'apply ms':>10}{'ratio':>7}")
    for n in (10, 40, 160, 640, 2560):
        page, times = _page(7, n), max(1, 640 // n)
        spent = [1000 * seconds / times for seconds in cpu(model, [page] * times)]
        print(
            f"{n:>8}{len(page) // 1000:>6}{spent[0]:>10.2f}{spent[1]:>9.2f}{spent[2]:>10.2f}{spent[2] / spent[0]:>7.1f}"
        )


def _page(number: int, matches: int) -> bytes:
    one = (
        "<div class=hit><h3><a href=/t/{0}>The report {0} of many</a></h3><p class=about>What is known of it, in <b>many</b> words"
        " and {0} more</p><span class=price>$ {0}.50</span> <span class=by>Someone {0}</span></div>"
    )
    frame = "<ul class=menu>" + "".join(f"<li><a href=/{i}>Part {i}</a></li>" for i in range(40)) + "</ul>"
    hits = "".join(one.format(number * 100_000 + i) for i in range(matches))
    return f"<html><body>{frame}<main>{hits}</main><footer>Made here</footer></body></html>".encode()


if __name__ == "__main__":
    sys.exit(main())
