"""The labelled answers of the applications (`kinds`), and Thor's measures of clusters."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from upwell.page.tokens import tokens
from upwell.page.tree import TagTree, read

__all__ = ["Source", "entropy", "majority", "sources", "stand_in"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Answers of one application, with their kinds and the texts of their labelled records."""

    name: str
    trees: Sequence[TagTree]
    kinds: Sequence[str]
    sizes: Sequence[int]  # bytes
    records: Sequence[Sequence[Sequence[str]]]


def sources(corpora: Path) -> Iterator[Source]:
    """Yield the applications one by one, with their answers in the order of the labels."""
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (corpora / "kinds" / "labels.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["site"]].append(row)
    for name, some in rows.items():
        pages = [(corpora / "kinds" / row["page"]).read_bytes() for row in some]
        trees = [read(page, url=row["url"]) for page, row in zip(pages, some, strict=True)]
        yield Source(
            name=name,
            trees=trees,
            kinds=[row["kind"] for row in some],
            sizes=[len(page) for page in pages],
            records=[row["records"] for row in some],
        )


def _by_cluster(labels: Iterable[Hashable], kinds: Sequence[str]) -> list[Counter[str]]:
    counts: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    for label, kind in zip(labels, kinds, strict=True):
        counts[label][kind] += 1
    return list(counts.values())


def entropy(labels: Iterable[Hashable], kinds: Sequence[str]) -> float:
    """Return the entropy of clusters: 0 is best, 1 is worst (Thor §VII-B)."""
    classes = len(set(kinds))
    if classes < 2:
        return 0.0
    mixed = sum(n * math.log(some.total() / n) for some in _by_cluster(labels, kinds) for n in some.values())
    return mixed / len(kinds) / math.log(classes)


def majority(labels: Iterable[Hashable], kinds: Sequence[str]) -> float:
    """Return the share of pages with the kind of more than half of their cluster (Thor-objects §4.1)."""
    best = (max(some.values()) for some in _by_cluster(labels, kinds) if 2 * max(some.values()) > some.total())
    return sum(best) / max(1, len(kinds))


def stand_in(tree: TagTree, records: Sequence[Sequence[str]]) -> int | None:
    """Return the smallest row that contains all labelled records of a page, as a substitute for a labelled pagelet."""
    words = [tokens(chunk) for chunk in tree.chunks]
    chunk = np.repeat(np.arange(len(words)), [len(some) for some in words])
    flat = [word for some in words for word in some]
    text = f" {' '.join(flat)} "
    begins = {at: i for i, at in enumerate(np.cumsum([0, *(len(word) + 1 for word in flat)]).tolist())}
    places = []  # of each cell: the chunks that it begins and ends in, wherever it stands
    for cell in {" ".join(tokens(cell)) for record in records for cell in record} - {""}:
        found, at = [], text.find(f" {cell} ")
        while at >= 0:
            first = begins[at]
            found.append((chunk[first], chunk[first + cell.count(" ")]))
            at = text.find(f" {cell} ", at + 1)
        if found:
            places.append(np.array(found).T)
    if not places:
        return None
    row = 0
    while True:
        holding = [
            child
            for child in tree.children(row)
            if all(((a >= tree.text_at[child]) & (b < tree.text_end[child])).any() for a, b in places)
        ]
        if not holding:
            return row
        row = min(holding, key=lambda child: int(tree.chars[child]))
