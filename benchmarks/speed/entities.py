"""Reading record pages with learned columns against the parser alone: `python -m benchmarks.speed.entities`."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, require
from upwell.extract.entities import EntityModel, apply, learn
from upwell.page.tree import read

BAR = 6.0  # reading a page and applying the columns may cost this many times the parser alone
ROUNDS = 3


def main() -> int:
    require()
    total = [0.0, 0.0, 0.0, 0.0]
    folders = sorted(path.parent for path in (CORPORA / "entities").glob("*/labels.jsonl"))
    for folder in folders:
        rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
        pages = [(folder / row["page"]).read_bytes() for row in rows]
        trees = [read(page) for page in pages]
        start = time.process_time()
        model = learn(trees)
        total[3] += time.process_time() - start
        works: list[Callable[[bytes], object]] = [LexborHTMLParser, read, partial(_read_and_apply, model)]
        for page in pages:
            for i, work in enumerate(works):
                total[i] += min(_cpu(work, page) for _ in range(ROUNDS))
    parse, reading, applying, learning = total
    print(f"{len(folders)} sites, CPU, for each page the best of {ROUNDS} rounds")
    print(f"parser alone: {1000 * parse / (25 * len(folders)):.2f} ms a page")
    print(f"reading the page: {reading / parse:.1f} times the parser alone")
    print(f"applying the columns to it: {(applying - reading) / parse:.1f}")
    print(f"both: {applying / parse:.1f}, the bar is {BAR:g}: {'kept' if applying <= BAR * parse else 'broken'}")
    print(f"learning from 25 pages: {learning / len(folders):.2f} s a site")
    return 0 if applying <= BAR * parse else 1


def _read_and_apply(model: EntityModel, page: bytes) -> object:
    return apply(model, read(page))


def _cpu(work: Callable[[bytes], object], page: bytes) -> float:
    start = time.process_time()
    work(page)
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
