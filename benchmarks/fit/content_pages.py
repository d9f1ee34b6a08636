"""Pages of the content corpus with the features of their lines, and labels that come from aligning the lines with the labelled text."""

import gzip
import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from benchmarks.corpora import CORPORA
from upwell.content.line_context import context_features
from upwell.content.lines import Floats, line_features, split_lines
from upwell.content.page_kind import page_features
from upwell.page.tree import TagTree, read

__all__ = ["ContentPage", "content_labels", "content_pages", "content_site", "label_lines", "raw_pages", "word_f1"]

WORD = re.compile(r"\w+")
GRAM = 3  # words of a sequence that is searched in the labelled text
LONG_WORDS = 6  # lines with fewer words are labelled by the alignment, not by their sequences
MIN_SHARE = 0.6  # of the sequences of a line of three to five words
MAX_LINES_TO_TEXT = (
    25  # a line of one or two words that is further from all longer lines of the text was aligned by accident
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ContentPage:
    """A labelled page: one row of features per line."""

    name: str
    site: str
    kind: str
    x: Floats
    context: Floats
    page: Floats  # features of the page
    share: Floats  # share of each line that is in the labelled text
    words: Floats
    texts: tuple[str, ...]
    bags: tuple[Counter[str], ...]  # words of each line
    truth: Counter[str]

    def f1(self, is_chosen: NDArray[np.bool_]) -> float:
        """Return the F1 of words, as the benchmark counts it, if these lines are chosen."""
        found: Counter[str] = Counter()
        for i in np.flatnonzero(is_chosen).tolist():
            found.update(self.bags[i])
        return word_f1(found, self.truth)


def word_f1(found: Counter[str], truth: Counter[str]) -> float:
    """Return the F1 of two bags of words."""
    both = sum((found & truth).values())
    return 2 * both / (sum(found.values()) + sum(truth.values())) if both else float(not truth and not found)


def content_labels() -> list[dict[str, Any]]:
    """Return the labels of the corpus, one entry per page."""
    with gzip.open(CORPORA / "content" / "labels.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def raw_pages() -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of all pages; the archive is read as a stream."""
    with tarfile.open(CORPORA / "content" / "pages.tar.xz", mode="r|xz") as pages:
        for member in pages:
            if member.isfile() and (file := pages.extractfile(member)) is not None:
                yield member.name.rpartition("/")[2], file.read()


@cache
def content_pages() -> tuple[ContentPage, ...]:
    """Read all labelled pages. Their URLs are not used, because saved pages have none; what a page declares itself is."""
    by_name = {row["page"]: row for row in content_labels()}
    pages = [_content_page(by_name[name], read(body, reveals=True)) for name, body in raw_pages() if name in by_name]
    return tuple(sorted(pages, key=lambda page: page.name))


def content_site(url: str, name: str) -> str:
    """Return the registered domain of a URL, roughly; the name of the page if there is none."""
    parts = urlsplit(url).netloc.lower().split(".")
    return ".".join(parts[-3:] if len(parts) > 2 and len(parts[-2]) <= 3 else parts[-2:]) or name


def _content_page(row: dict[str, Any], tree: TagTree) -> ContentPage:
    lines = split_lines(tree)
    x = line_features(tree, lines)
    context = context_features(tree, lines, x)
    bags = tuple(Counter(WORD.findall(text.lower())) for text in lines.texts)
    return ContentPage(
        name=row["page"],
        site=content_site(row["url"], row["page"]),
        kind=row["kind"],
        x=x,
        context=context,
        page=page_features(tree, lines, x, context),
        share=label_lines(lines.texts, row["main"]),
        words=np.array([sum(bag.values()) for bag in bags], np.float64),
        texts=lines.texts,
        bags=bags,
        truth=Counter(WORD.findall(row["main"].lower())),
    )


def label_lines(texts: tuple[str, ...], main: str) -> Floats:
    """Return the share of each line that is in the labelled text.

    A long line is labelled by its sequences of three words. A short one must be aligned as a whole, in the order of the text, because its
    words may be anywhere in it. A line that is repeated on the page counts as often as the text contains it.
    """
    number: dict[str, int] = {}
    truth_words = WORD.findall(main.lower())
    truth = [number.setdefault(word, len(number)) for word in truth_words]
    line_words = [WORD.findall(text.lower()) for text in texts]
    words = [number.setdefault(word, len(number)) for line in line_words for word in line]
    ends = np.cumsum([len(line) for line in line_words]).tolist()
    is_aligned = np.zeros(len(words) + 1)
    for part in LCSseq.opcodes(words, truth):
        if part.tag == "equal":
            is_aligned[part.src_start : part.src_end] = 1
    sequences = {tuple(truth[i : i + GRAM]) for i in range(len(truth) - GRAM + 1)}
    whole_truth = f" {' '.join(truth_words)} "
    share, aligned, begin = np.zeros(len(texts)), np.zeros(len(texts)), 0
    for i, (line, end) in enumerate(zip(line_words, ends, strict=True)):
        if line:
            aligned[i] = is_aligned[begin:end].sum() / len(line)
            grams = [tuple(words[at : at + GRAM]) in sequences for at in range(begin, end - GRAM + 1)]
            found = sum(grams) / len(grams) if grams else float(f" {' '.join(line)} " in whole_truth)
            share[i] = found if len(line) >= LONG_WORDS else float(aligned[i] == 1 and found > MIN_SHARE)
        begin = end
    return _without_accidents(share, aligned, line_words, whole_truth)


def _without_accidents(share: Floats, aligned: Floats, line_words: list[list[str]], whole_truth: str) -> Floats:
    by_text: dict[tuple[str, ...], list[int]] = {}
    for i, line in enumerate(line_words):
        if len(line) >= LONG_WORDS and share[i] > 0.5:
            by_text.setdefault(tuple(line), []).append(i)
    for line_of, places in by_text.items():
        times = max(1, whole_truth.count(f" {' '.join(line_of)} ")) if len(places) > 1 else 1
        for i in sorted(places, key=lambda i: -aligned[i])[times:]:
            share[i] = 0
    long = np.array([i for i, line in enumerate(line_words) if len(line) >= LONG_WORDS and share[i] > 0.5])
    for i, line in enumerate(line_words):
        if share[i] > 0.5 and len(line) < GRAM and len(long) and abs(long - i).min() > MAX_LINES_TO_TEXT:
            share[i] = 0
    return share
