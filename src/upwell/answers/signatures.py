"""Page signatures: what of a page is compared with the other answers of its source (tags, classes, paths, words, URL, size).

    bag         what a page has, with repeats: distinct names, and for each occurrence the index of its name
    weighting   raw: counts; tfidf: Thor's weights; idf: whether a name is there, not how often

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

__all__ = ["BAGS", "SIGNATURES", "Bag", "Weighting", "sizes", "url_similarities"]

Floats = NDArray[np.float64]
Bag = tuple[Sequence[str], Ints]
Weighting = Literal["raw", "tfidf", "idf"]


def _tags(tree: TagTree) -> Bag:
    return tree.tags, tree.tag


def _classes(tree: TagTree) -> Bag:
    """Each row as its tag and class."""
    pairs, ids = np.unique(tree.tag.astype(np.int64) * len(tree.classes) + tree.cls, return_inverse=True)
    names = [f"{tree.tags[p // len(tree.classes)]}.{tree.classes[p % len(tree.classes)]}" for p in pairs.tolist()]
    return names, ids.astype(np.int32)


def _paths(tree: TagTree) -> Bag:
    """Each row as tag and class of its parent and its own; longer paths would multiply with nesting and striped rows."""
    names, own = _classes(tree)
    parents = np.where(tree.parent >= 0, own[tree.parent], -1).astype(np.int64)
    pairs, ids = np.unique((parents + 1) * len(names) + own, return_inverse=True)
    parent_names = ["", *names]
    return [f"{parent_names[p // len(names)]}/{names[p % len(names)]}" for p in pairs.tolist()], ids.astype(np.int32)


def _content(tree: TagTree) -> Bag:
    page_terms = terms.of(tree, stemmed=True, stops=False)
    return page_terms.words, page_terms.ids


def _keywords(tree: TagTree) -> Bag:
    """The ten most frequent terms of a page (Thor-objects §2)."""
    words, ids = _content(tree)
    top = np.argsort(-np.bincount(ids, minlength=len(words)), kind="stable")[:10]
    return [words[i] for i in top], np.arange(len(top), dtype=np.int32)


def _with_tags(bag_of: Callable[[TagTree], Bag]) -> Callable[[TagTree], Bag]:
    """A bag of words and the tags together (Thor-objects §4.1); a quote tells a word from a tag of the same name."""

    def both(tree: TagTree) -> Bag:
        tags, tag = _tags(tree)
        words, ids = bag_of(tree)
        return [*tags, *(f"'{word}" for word in words)], np.concatenate((tag, ids + len(tags))).astype(np.int32)

    return both


BAGS: dict[str, tuple[Callable[[TagTree], Bag], Weighting]] = {
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


def url_similarities(trees: Sequence[TagTree]) -> Floats:
    """The similarity of each two URLs: 1 − edit distance ÷ length of the longer, of path and arguments (Thor §VIII-A)."""
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError as missing:
        raise MissingExtra("the signature url needs the package rapidfuzz: pip install 'upwell[papers]'") from missing
    texts = [f"{parts.path}?{parts.query}" for parts in (urlsplit(tree.url) for tree in trees)]
    return np.asarray(process.cdist(texts, texts, scorer=Levenshtein.normalized_similarity), dtype=np.float64)


def sizes(trees: Sequence[TagTree]) -> Floats:
    """The size of each page ÷ that of the largest (Thor §VIII-A; departs from it: characters of text, because a tree has no bytes)."""
    size = np.array([[float(sum(map(len, tree.chunks)))] for tree in trees])
    return np.asarray(size / max(1.0, size.max(initial=1.0)))
