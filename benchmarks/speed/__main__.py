"""Speed as one table: what, ours, the reference, the ratio, the bar: `python -m benchmarks.speed` (`make speed`).

Each pair takes turns in one process, so that other work on the machine slows both alike; the whole harvest and the spider are
processes of their own. `python -m benchmarks.speed.growth` prints how the same grows with the size.
"""

import sys

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, by_site, labels, require
from benchmarks.speed import entities, extract, growth, harvest
from benchmarks.speed.turns import in_turns
from upwell.extract.blocks import read_blocks
from upwell.page import terms
from upwell.page.charset import decode
from upwell.page.tree import read
from upwell.source.learn import learn_source

READ_BAR, APPLY_BAR = 2.0, 5.0
EVERY_PAGE, EVERY_SITE, EVERY_ARTICLE = 4, 3, 5  # of the corpora, one of so many is read
BLOCKS_BAR = 1 / 8

Row = tuple[str, str, str, float, float]  # what, ours, reference, ratio, bar


def page_row() -> Row:
    pages = [path.read_bytes() for path in sorted((CORPORA / "answers").rglob("*.html"))[::EVERY_PAGE]]
    parse, ours = in_turns([LexborHTMLParser, lambda page: terms.of(read(page))], pages)
    name = "a page: decode, parse, columns, terms"
    return name, f"{1000 * ours / len(pages):.2f} ms", f"{1000 * parse / len(pages):.2f} ms", ours / parse, READ_BAR


def apply_rows() -> list[Row]:
    """Reading a page and applying the model of its source: all sources together, and the worst."""
    ratios, ours, parsing = {}, 0.0, 0.0
    for site, rows in by_site(labels("kinds")).items():
        pages = [(CORPORA / "kinds" / row["page"]).read_bytes() for row in rows[:30]]
        parse, _, applying = extract.cpu(learn_source([read(page) for page in pages]), pages)
        ratios[site], ours, parsing = applying / parse, ours + applying, parsing + parse
    whole: Row = ("an answer: read and apply the model", f"{ours:.2f} s", f"{parsing:.2f} s", ours / parsing, APPLY_BAR)
    return [whole, ("… the worst source", "", "", max(ratios.values()), 8.0)]


def record_page_row() -> Row:
    (parse, _, applying, _), _ = entities.measure(EVERY_SITE)
    name = "a record page: read, apply its columns"
    return name, f"{applying:.2f} s", f"{parse:.2f} s", applying / parse, entities.BAR


def blocks_row() -> Row:
    """The article of a page alone, from its bytes, against trafilatura."""
    import trafilatura

    pages = [(CORPORA / "articles" / row["page"]).read_bytes() for row in labels("articles")[::EVERY_ARTICLE]]
    ours, theirs = in_turns(
        [
            lambda page: read_blocks(read(page), tables=False),
            lambda page: trafilatura.extract(decode(page)[0], include_comments=False),
        ],
        pages,
        rounds=2,
    )
    name = "the article of a page; trafilatura"
    return name, f"{1000 * ours / len(pages):.2f} ms", f"{1000 * theirs / len(pages):.2f} ms", ours / theirs, BLOCKS_BAR


def harvest_rows() -> list[Row]:
    """A harvest of the demo site and of each of `SITES`, against a Scrapy spider, and going on with it against the harvest."""
    found: list[Row] = []
    with harvest.demo_site() as demo:
        for number, (url, selectors) in enumerate(harvest.sites(demo)):
            rows, stages, requests = harvest.measure(url, selectors)
            times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stages.items())
            print(f"where the {requests} requests of harvest {number} go: {times}", flush=True)
            found += [
                (f"{name} {number}, {requests} requests", f"{ours:.1f} s", f"{reference:.1f} s", ours / reference, bar)
                for name, ours, reference, bar in rows
            ]
    return found


def choice_row() -> Row:
    _, held, seconds, _ = growth.choice_rows(growth.BAR_AT)[-1]
    ratio = 1000 * seconds / growth.CHOOSE_BAR_MS
    return (
        f"choosing with {held:,} records held",
        f"{1000 * seconds:.2f} ms",
        f"{growth.CHOOSE_BAR_MS:g} ms",
        ratio,
        1.0,
    )


def main() -> int:
    require()
    rows = [page_row(), *apply_rows(), record_page_row(), blocks_row(), choice_row(), *harvest_rows()]
    print(f"\n{'what':<44}{'ours':>10}{'reference':>11}{'ratio':>8}{'bar':>6}")
    for name, ours, reference, ratio, bar in rows:
        print(f"{name:<44}{ours:>10}{reference:>11}{ratio:>8.2f}{bar:>6.3g}{'' if ratio <= bar else '  broken'}")
    return 0 if all(ratio <= bar for *_, ratio, bar in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
