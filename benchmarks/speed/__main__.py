"""Speed as one table: `python -m benchmarks.speed [PART…]` (`make speed`); a part is one of `PARTS`.

The two members of a pair alternate in one process, so that other programs on the machine slow both equally; complete harvests, spiders
and servers are separate processes. Growth is measured up to `growth.USUAL`; `python -m benchmarks.speed.growth` continues to a million
records and 1,000 sites.
"""

import sys
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, by_site, labels, require
from benchmarks.fit.content_pages import raw_pages
from benchmarks.speed import ask, entities, extract, growth, harvest, search, table_page
from benchmarks.speed.table import Row, show
from benchmarks.speed.turns import in_turns
from upwell.content.main_content import find_blocks
from upwell.content.main_text import find_main_text
from upwell.page import tokens as terms
from upwell.page.charset import decode
from upwell.page.tree import read
from upwell.source.learn import learn_source

READ_BAR, APPLY_BAR, WORST_APPLY_BAR = 2.0, 5.0, 8.0
EVERY_PAGE, EVERY_SITE, EVERY_ARTICLE, EVERY_CONTENT = 4, 3, 5, 20  # one of this number of pages of the corpora is read
BLOCKS_BAR, CONTENT_BAR = 1 / 8, 1 / 4


def page_rows() -> Iterator[Row]:
    pages = [path.read_bytes() for path in sorted((CORPORA / "answers").rglob("*.html"))[::EVERY_PAGE]]
    parse, ours = in_turns([LexborHTMLParser, lambda page: terms.terms_of(read(page))], pages)
    yield _row("a page: decode, parse, columns, terms; the parser", ours, parse, READ_BAR, len(pages))


def apply_rows() -> Iterator[Row]:
    """Measure reading a page and applying the model of its source: all sources together, and the slowest."""
    ratios, ours, parsing, count = {}, 0.0, 0.0, 0
    for site, rows in by_site(labels("kinds")).items():
        pages = [(CORPORA / "kinds" / row["page"]).read_bytes() for row in rows[:30]]
        parse, _, applying = extract.cpu(learn_source([read(page) for page in pages]), pages)
        ratios[site], ours, parsing, count = applying / parse, ours + applying, parsing + parse, count + len(pages)
    yield _row("an answer: read and apply the model; the parser", ours, parsing, APPLY_BAR, count)
    yield Row("… the worst of the sources", "", "", max(ratios.values()), WORST_APPLY_BAR)


def record_page_rows() -> Iterator[Row]:
    (parse, _, applying, _), sites = entities.measure(EVERY_SITE)
    yield _row("a record page: read, apply its columns; the parser", applying, parse, entities.BAR, 25 * sites)


def article_rows() -> Iterator[Row]:
    """Measure the article of a single page, from its bytes, relative to trafilatura."""
    import trafilatura

    pages = [(CORPORA / "articles" / row["page"]).read_bytes() for row in labels("articles")[::EVERY_ARTICLE]]
    ours, theirs = in_turns(
        [
            lambda page: find_blocks(read(page), tables=False),
            lambda page: trafilatura.extract(decode(page)[0], include_comments=False),
        ],
        pages,
    )
    yield _row("the article of a page; trafilatura", ours, theirs, BLOCKS_BAR, len(pages))


def content_rows() -> Iterator[Row]:
    """Measure the main content of a single page of any kind, from its bytes, relative to trafilatura."""
    import trafilatura

    pages = [page for number, (_, page) in enumerate(raw_pages()) if number % EVERY_CONTENT == 0]
    ours, theirs = in_turns(
        [lambda page: find_main_text(read(page, reveals=True)), lambda page: trafilatura.extract(decode(page)[0])],
        pages,
    )
    yield _row("the main content of a page of any kind; trafilatura", ours, theirs, CONTENT_BAR, len(pages))


def harvest_rows() -> Iterator[Row]:
    """Measure a harvest of the demo site and of each of `SITES` relative to a Scrapy spider, and continuing it relative to the harvest."""
    with harvest.demo_site() as demo:
        for number, (url, selectors) in enumerate(harvest.sites(demo)):
            rows, stages, requests = harvest.measure(url, selectors)
            times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stages.items())
            print(f"where the {requests} requests of harvest {number} go: {times}", file=sys.stderr, flush=True)
            for name, ours, reference, bar in rows:
                against = "a Scrapy spider" if name == "a harvest" else "the harvest"
                what = f"{name} {number}, {requests} requests; {against}"
                yield Row(what, f"{ours:.1f} s", f"{reference:.1f} s", ours / reference, bar)


def _row(what: str, ours: float, reference: float, bar: float, pages: int) -> Row:
    times = [f"{1000 * seconds / max(1, pages):.2f} ms" for seconds in (ours, reference)]
    return Row(what, times[0], times[1], ours / reference, bar)


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "page": page_rows,
    "apply": apply_rows,
    "records": record_page_rows,
    "article": article_rows,
    "content": content_rows,
    "harvest": harvest_rows,
    "growth": growth.usual_rows,
    "ask": ask.rows,
    "search": search.rows,
    "table": table_page.rows,
}


def main(names: list[str]) -> int:
    require()
    if unknown := [name for name in names if name not in PARTS]:
        sys.exit(f"no part is called {', '.join(unknown)}: {', '.join(PARTS)}")
    return show(row for name in names or PARTS for row in PARTS[name]())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
