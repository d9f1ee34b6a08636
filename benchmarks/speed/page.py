"""Decoding, parsing, columns and terms relative to the parser alone, on real pages: `python -m benchmarks.speed.page`."""

import sys
import time
from collections.abc import Callable

import bs4
import lxml.html
from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, require
from upwell.page import tokens as terms
from upwell.page.tree import read

BAR = 6.0  # largest ratio of decoding, parsing, columns and terms together to the parser alone
ROUNDS = 5
SLOW_ROUNDS = 1  # for slow references


def cpu(work: Callable[[bytes], object], pages: list[bytes], rounds: int) -> float:
    """Return the best CPU time of several rounds over all pages."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for page in pages:
            work(page)
        best = min(best, time.process_time() - start)
    return best


def main() -> int:
    require()
    pages = [path.read_bytes() for path in sorted((CORPORA / "answers").rglob("*.html"))]
    reference = cpu(LexborHTMLParser, pages, ROUNDS)
    rows = [
        ("selectolax, parse alone", reference),
        ("upwell, decode + parse + columns", cpu(read, pages, ROUNDS)),
        ("upwell, decode + parse + columns + terms", ours := cpu(lambda p: terms.terms_of(read(p)), pages, ROUNDS)),
        ("upwell, the same with stems, without stop words", cpu(_stemmed, pages, ROUNDS)),
        ("lxml.html, parse alone", cpu(lambda p: lxml.html.fromstring(p) if p.strip() else None, pages, ROUNDS)),
        ("BeautifulSoup with lxml, parse alone", cpu(lambda p: bs4.BeautifulSoup(p, "lxml"), pages, SLOW_ROUNDS)),
        ("BeautifulSoup with html.parser, parse alone", cpu(_soup, pages, SLOW_ROUNDS)),
    ]
    size = sum(map(len, pages)) / len(pages) / 1000
    print(
        f"{len(pages)} pages of {size:.0f} KB on average; CPU, best of {ROUNDS} rounds ({SLOW_ROUNDS} for BeautifulSoup)\n"
    )
    print(f"{'':<50}{'ms a page':>10}{'ratio':>8}")
    for name, seconds in rows:
        print(f"{name:<50}{1000 * seconds / len(pages):>10.2f}{seconds / reference:>8.1f}")
    print(f"\nthe bar is {BAR:g}: {'kept' if ours <= BAR * reference else 'broken'}")
    return 0 if ours <= BAR * reference else 1


def _stemmed(page: bytes) -> object:
    return terms.terms_of(read(page), stemmed=True, stops=False)


def _soup(page: bytes) -> object:
    return bs4.BeautifulSoup(page, "html.parser")


if __name__ == "__main__":
    sys.exit(main())
