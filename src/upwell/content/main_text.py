"""Find the main content of any ordinary page as text: judge the kind of page (`content.page_kind`), then each line (judgement `content_line`).

The lines are chosen so that the expected F1 of their words is greatest: lines are added in the order of their probability as long as the
expected F1 grows. A page of which little is certain therefore keeps more of its uncertain lines than one with a clear text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from upwell.content.line_context import CONTEXT_FEATURES, context_features
from upwell.content.lines import FEATURES, Bools, Floats, Lines, line_features, split_lines
from upwell.content.main_content import LearnedSite
from upwell.content.page_kind import (
    KINDS,
    PAGE_FEATURES,
    PageKind,
    kind_probabilities,
    most_probable_kind,
    page_features,
)
from upwell.content.page_metadata import declared_texts
from upwell.judge.judgement import load_judgement
from upwell.page.tree import TagTree

__all__ = [
    "CONTENT_FEATURES",
    "MainText",
    "choose_lines",
    "content_features",
    "find_main_text",
    "once_each",
    "word_counts",
]

MIN_WORDS = 20  # with fewer words, what the page declares is used if it is longer
MIN_REPEATED_WORDS = 6  # a shorter text may be repeated in the content; swept with domains left out: 3, 6, 10, never
OWN_FEATURES = FEATURES[1:]  # without the constant
PAGE_COLUMNS = (
    "lines", "chars", "links", "prose", "very_long_lines", "hidden_text", "prices", "share_near_post", "share_near_card", "share_near_product",
)  # fmt: skip
SELECTED = [PAGE_FEATURES.index(name) for name in PAGE_COLUMNS]
CONTENT_FEATURES = (
    *OWN_FEATURES,
    *CONTEXT_FEATURES,
    *(f"page_{name}" for name in PAGE_COLUMNS),
    *(f"kind_{kind}" for kind in KINDS),
)


@dataclass(frozen=True, kw_only=True)
class MainText:
    """Main content of a page."""

    kind: PageKind
    text: str  # one block per line
    confidence: float  # expected F1 of the words


def find_main_text(tree: TagTree, site: LearnedSite | None = None) -> MainText:
    """Find the main content of a page, which should have been read with its hidden text (`read(…, reveals=True)`).

    With the statistics of its site, lines that other pages repeat are left out.
    """
    lines = split_lines(tree)
    x = line_features(tree, lines)
    context = context_features(tree, lines, x)
    page = page_features(tree, lines, x, context)
    kinds = kind_probabilities(page)
    probability = load_judgement("content_line").probability(content_features(x, context, page, kinds))
    if site is not None and site.pages > 1:
        probability = probability * (1 - site.repeated_share(lines))
    words = word_counts(lines)
    is_chosen, confidence = choose_lines(once_each(probability, lines.texts, words), words)
    text = "\n".join([text for text, chosen in zip(lines.texts, is_chosen.tolist(), strict=True) if chosen])
    if words[is_chosen].sum() < MIN_WORDS:  # scripts show the text, but the page may declare it
        text = max((text, *declared_texts(tree)), key=len)
    return MainText(kind=most_probable_kind(kinds), text=text, confidence=round(confidence, 3))


def content_features(x: Floats, context: Floats, page: Floats, kinds: Floats) -> Floats:
    """Return the features of lines in the order of CONTENT_FEATURES."""
    of_page = np.append(page[SELECTED], kinds)
    return np.hstack([x[:, 1:], context, np.broadcast_to(of_page, (len(x), len(of_page)))])


def word_counts(lines: Lines) -> Floats:
    """Return the number of words of each line, estimated where words are not separated by spaces."""
    return np.maximum([text.count(" ") + 1 for text in lines.texts], lines.chars / 10)


def once_each(probability: Floats, texts: Sequence[str], words: Floats) -> Floats:
    """Set the probability of a long line to 0 if the same text is more probable elsewhere: quotes, variants of a layout for small screens.

    >>> once_each(np.array([0.4, 0.9, 0.5]), ["the same text"] * 2 + ["more"], np.array([9.0, 9.0, 1.0]))
    array([0. , 0.9, 0.5])
    """
    single = probability.copy()
    best: dict[str, int] = {}
    for i in (words >= MIN_REPEATED_WORDS).nonzero()[0].tolist():
        other = best.setdefault(texts[i], i)
        if other != i:
            less, more = (i, other) if probability[i] <= probability[other] else (other, i)
            single[less] = 0.0
            best[texts[i]] = more
    return single


def choose_lines(probability: Floats, words: Floats) -> tuple[Bools, float]:
    """Choose the lines with the greatest expected F1 of words; return them and this F1.

    >>> choose_lines(np.array([0.9, 0.1, 0.6]), np.array([10.0, 10.0, 10.0]))
    (array([ True, False,  True]), 0.8333333333333334)
    """
    chosen = np.zeros(len(probability), bool)
    if not len(probability):
        return chosen, 0.0
    order = np.argsort(-probability, kind="stable")
    expected = probability * words
    f1 = 2 * np.cumsum(expected[order]) / np.maximum(np.cumsum(words[order]) + expected.sum(), 1e-9)
    best = int(f1.argmax())
    chosen[order[: best + 1]] = True
    return chosen, float(f1[best])
