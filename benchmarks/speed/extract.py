"""Learning and applying a source model against the parser alone: `python -m benchmarks.speed.extract`."""

import sys
import time

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, by_site, labels, require
from upwell.harvest.learn import apply, learn
from upwell.page.tree import read

BAR = 8.0  # applying a model (parse, kind, pagelet, objects, fields) may cost this many times the parser alone
LEARNING = 3.0  # seconds of CPU for 110 answers


def main() -> int:
    require()
    good = True
    print(f"{'source':<14}{'pages':>6}{'KB':>6}{'parse ms':>10}{'apply ms':>10}{'ratio':>7}{'learn s':>9}")
    total_parse = total_apply = 0.0
    for site, rows in by_site(labels("kinds")).items():
        pages = [(CORPORA / "kinds" / row["page"]).read_bytes() for row in rows[:110]]
        start = time.process_time()
        for page in pages:
            LexborHTMLParser(page)
        parse = time.process_time() - start
        trees = [read(page) for page in pages]
        start = time.process_time()
        model = learn(trees)
        learning = time.process_time() - start
        start = time.process_time()
        for page in pages:
            apply(model, read(page))
        applying = time.process_time() - start
        total_parse, total_apply = total_parse + parse, total_apply + applying
        good = good and learning <= LEARNING
        size = sum(map(len, pages)) / len(pages) / 1000
        each = 1000 / len(pages)
        print(
            f"{site:<14}{len(pages):>6}{size:>6.0f}{parse * each:>10.2f}{applying * each:>10.2f}{applying / parse:>7.1f}{learning:>9.2f}"
        )
    _growth()
    ratio = total_apply / total_parse
    print(f"\napplying: {ratio:.1f} times the parser alone, the bar is {BAR:g}; learning: the bar is {LEARNING:g} s")
    return 0 if good and ratio <= BAR else 1


def _growth() -> None:
    """Learning by number of answers, applying by size of the answer: made pages, so that nothing else changes."""
    print(f"\n{'answers':>8}{'learn s':>9}")
    for n in (10, 30, 100, 300, 1000):
        trees = [read(_page(i, 20)) for i in range(n)]
        start = time.process_time()
        model = learn(trees)
        print(f"{n:>8}{time.process_time() - start:>9.2f}")
    print(f"\n{'matches':>8}{'KB':>6}{'parse ms':>10}{'read ms':>9}{'apply ms':>10}{'ratio':>7}")
    for n in (10, 40, 160, 640, 2560):
        page, times = _page(7, n), max(1, 640 // n)
        spent = []
        for work in (LexborHTMLParser, read, lambda html: apply(model, read(html))):
            start = time.process_time()
            for _ in range(times):
                work(page)
            spent.append(1000 * (time.process_time() - start) / times)
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
