"""Reading record pages with learned columns relative to the parser alone: `python -m benchmarks.speed.entities`."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial

from selectolax.lexbor import LexborHTMLParser

from benchmarks.corpora import CORPORA, require
from benchmarks.speed.turns import in_turns
from upwell.page.tree import read
from upwell.records.entity_model import EntityModel, apply_entity_model, learn_entities

BAR = 6.0  # largest ratio of reading a page and applying the columns to the parser alone
ROUNDS = 3


def measure(every: int = 1) -> tuple[list[float], int]:
    """Return CPU seconds of parsing, of reading, of reading and applying, and of learning, for every n-th site; and the number of sites."""
    total = [0.0, 0.0, 0.0, 0.0]
    folders = sorted(path.parent for path in (CORPORA / "entities").glob("*/labels.jsonl"))[::every]
    for folder in folders:
        rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
        pages = [(folder / row["page"]).read_bytes() for row in rows]
        start = time.process_time()
        model = learn_entities([read(page) for page in pages])
        total[3] += time.process_time() - start
        works: list[Callable[[bytes], object]] = [LexborHTMLParser, read, partial(_read_and_apply, model)]
        total[:3] = [a + b for a, b in zip(total[:3], in_turns(works, pages, ROUNDS), strict=True)]
    return total, len(folders)


def main() -> int:
    require()
    (parse, reading, applying, learning), sites = measure()
    print(f"{sites} sites, CPU, for each page the best of {ROUNDS} rounds")
    print(f"parser alone: {1000 * parse / (25 * sites):.2f} ms a page")
    print(f"reading the page: {reading / parse:.1f} times the parser alone")
    print(f"applying the columns to it: {(applying - reading) / parse:.1f}")
    print(f"both: {applying / parse:.1f}, the bar is {BAR:g}: {'kept' if applying <= BAR * parse else 'broken'}")
    print(f"reading 25 pages and learning from them: {learning / sites:.2f} s a site")
    return 0 if applying <= BAR * parse else 1


def _read_and_apply(model: EntityModel, page: bytes) -> object:
    return apply_entity_model(model, read(page))


if __name__ == "__main__":
    sys.exit(main())
