"""Speed as one table: what, ours, the reference, the ratio, the bar: `python -m benchmarks.speed` (`make speed`).

Each pair takes turns in one process, so that other work on the machine slows both alike; the whole harvest and the spider are
processes of their own. `python -m benchmarks.speed.growth` prints how the same grows with the size.
"""

import subprocess
import sys

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, by_site, labels, require
from benchmarks.speed import extract, growth, harvest
from benchmarks.speed.turns import in_turns
from upwell.page import terms
from upwell.page.tree import read
from upwell.source.learn import learn_source

READ_BAR, APPLY_BAR = 2.0, 5.0
EVERY_PAGE = 4  # one of so many pages of the answers is read

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


def harvest_rows() -> list[Row]:
    command = [sys.executable, "-m", "benchmarks.speed.harvest", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        rows, stages, requests = harvest.measure(server.stdout.readline().strip(), list(harvest.DEMO))
        server.communicate("\n")
    print(
        f"where the {requests} requests of a harvest go: "
        + ", ".join(f"{name} {s:.1f} s" for name, s in stages.items())
    )
    return [
        (f"{name}, {requests} requests", f"{ours:.1f} s", f"{reference:.1f} s", ours / reference, bar)
        for name, ours, reference, bar in rows
    ]


def choice_row() -> Row:
    _, held, seconds, _ = growth.choice_rows()[-1]
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
    rows = [page_row(), *apply_rows(), choice_row(), *harvest_rows()]
    print(f"\n{'what':<44}{'ours':>10}{'reference':>11}{'ratio':>8}{'bar':>6}")
    for name, ours, reference, ratio, bar in rows:
        print(f"{name:<44}{ours:>10}{reference:>11}{ratio:>8.2f}{bar:>6g}{'' if ratio <= bar else '  broken'}")
    return 0 if all(ratio <= bar for *_, ratio, bar in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
