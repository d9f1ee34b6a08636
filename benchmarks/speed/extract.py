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
    ratio = total_apply / total_parse
    print(f"\napplying: {ratio:.1f} times the parser alone, the bar is {BAR:g}; learning: the bar is {LEARNING:g} s")
    return 0 if good and ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
