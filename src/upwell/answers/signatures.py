"""What of a page is compared with the other answers of its source: tags, classes, paths, words, address, size.

    bag     names, and ids into the names: what a page has, as often as it has it
    how     raw: counts; tfidf: Thor's weights; idf: only what is there counts, not how often

Thor §V-B and §V-C, Thor-objects §2 and §4.1; ours: classes and paths, because most of today's tags are div, span and a.
"""

from collections.abc import Callable, Sequence
from typing import Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.errors import MissingExtra
from upwell.page import terms
from upwell.page.tree import Ints, TagTree

__all__ = ["BAGS", "SIGNATURES", "Bag", "How", "addresses", "sizes"]

Floats = NDArray[np.float64]
Bag = tuple[Sequence[str], Ints]
How = Literal["raw", "tfidf", "idf"]


def _tags(tree: TagTree) -> Bag:
    return tree.tags, tree.tag


def _classes(tree: TagTree) -> Bag:
    pairs, ids = np.unique(tree.tag.astype(np.int64) * len(tree.classes) + tree.cls, return_inverse=True)
    names = [f"{tree.tags[p // len(tree.classes)]}.{tree.classes[p % len(tree.classes)]}" for p in pairs.tolist()]
    return names, ids.astype(np.int32)


def _paths(tree: TagTree) -> Bag:
    """Each row as its parent's look and its own: a path of two steps, which stripes and nesting do not blow up."""
    names, look = _classes(tree)
    above = np.where(tree.parent >= 0, look[tree.parent], -1).astype(np.int64)
    pairs, ids = np.unique((above + 1) * len(names) + look, return_inverse=True)
    steps = ["", *names]
    return [f"{steps[p // len(names)]}/{names[p % len(names)]}" for p in pairs.tolist()], ids.astype(np.int32)


def _content(tree: TagTree) -> Bag:
    found = terms.of(tree, stemmed=True, stops=False)
    return found.words, found.ids


def _keywords(tree: TagTree) -> Bag:
    """The ten most frequent terms of a page (Thor-objects §2)."""
    words, ids = _content(tree)
    top = np.argsort(-np.bincount(ids, minlength=len(words)), kind="stable")[:10]
    return [words[i] for i in top], np.arange(len(top), dtype=np.int32)


def _with_tags(of: Callable[[TagTree], Bag]) -> Callable[[TagTree], Bag]:
    """A signature and the tags together (Thor-objects §4.1)."""

    def both(tree: TagTree) -> Bag:
        tags, tag = _tags(tree)
        words, ids = of(tree)
        return [*tags, *(f"'{word}" for word in words)], np.concatenate((tag, ids + len(tags))).astype(np.int32)

    return both


BAGS: dict[str, tuple[Callable[[TagTree], Bag], How]] = {
    "idf-classes": (_classes, "idf"),
    "tfidf-tags": (_tags, "tfidf"),
    "raw-tags": (_tags, "raw"),
    "tfidf-classes": (_classes, "tfidf"),
    "tfidf-paths": (_paths, "tfidf"),
    "tfidf-content": (_content, "tfidf"),
    "raw-content": (_content, "raw"),
    "keywords": (_keywords, "raw"),
    "tags+keywords": (_with_tags(_keywords), "tfidf"),
    "tags+content": (_with_tags(_content), "tfidf"),
}
SIGNATURES = (*BAGS, "url", "size", "random")


def addresses(trees: Sequence[TagTree]) -> Floats:
    """How alike the addresses of pages are: 1 − edit distance of path and arguments over the longer (Thor §VIII-A)."""
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError as missing:
        raise MissingExtra("the signature url needs the package rapidfuzz: pip install 'upwell[papers]'") from missing
    texts = [f"{parts.path}?{parts.query}" for parts in (urlsplit(tree.url) for tree in trees)]
    return np.asarray(process.cdist(texts, texts, scorer=Levenshtein.normalized_similarity), dtype=np.float64)


def sizes(trees: Sequence[TagTree]) -> Floats:
    """The size of each page as a part of the largest (Thor §VIII-A; departs from it: characters of text, a tree has no bytes)."""
    size = np.array([[float(sum(map(len, tree.chunks)))] for tree in trees])
    return np.asarray(size / max(1.0, size.max(initial=1.0)))
