"""Clustering of 110 answers, k = 1 … 5 with 10 restarts, relative to reading them: `python -m benchmarks.speed.cluster`."""

import sys
import time

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, by_site, labels, require
from upwell.page.tree import read
from upwell.papers.thor import ClusterParams, cluster_pages

BAR = 1.0  # largest ratio of the CPU of clustering with the default signature to that of reading the pages
SIGNATURES = ("idf-classes", "tfidf-tags", "tfidf-classes", "tfidf-paths", "tfidf-content", "url", "size")


def main() -> int:
    require()
    worst = 0.0
    print(f"{'source, CPU ms':<16}{'pages':>6}{'parser':>8}{'read':>8}" + "".join(f"{s:>15}" for s in SIGNATURES))
    total = np.zeros(2 + len(SIGNATURES))
    for site, rows in by_site(labels("kinds")).items():
        pages = [(CORPORA / "kinds" / row["page"]).read_bytes() for row in rows[:110]]
        spent = []  # CPU seconds: the parser alone, reading, each signature
        start = time.process_time()
        for page in pages:
            LexborHTMLParser(page)
        spent.append(time.process_time() - start)
        start = time.process_time()
        trees = [read(page, url=row["url"]) for page, row in zip(pages, rows, strict=False)]
        spent.append(time.process_time() - start)
        for signature in SIGNATURES:
            start = time.process_time()
            cluster_pages(trees, ClusterParams(signature=signature, most=5, restarts=10), rng=np.random.default_rng(0))
            spent.append(time.process_time() - start)
        total += spent
        worst = max(worst, spent[2] / spent[1])
        ms = [1000 * seconds for seconds in spent]
        print(f"{site:<16}{len(pages):>6}{ms[0]:>8.0f}{ms[1]:>8.0f}" + "".join(f"{each:>15.0f}" for each in ms[2:]))
    for against, by in (("read", total[1]), ("parser alone", total[0])):
        print(f"{'of ' + against:<38}" + "".join(f"{share:>15.2f}" for share in total[2:] / by))
    print(f"\n{SIGNATURES[0]}, worst source: {worst:.2f} of reading the pages, the bar is {BAR:g}")
    return 0 if worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
