"""Words to try an interface with: those of the site's records, and common words of its language."""

from collections import Counter
from itertools import zip_longest

import numpy as np

from upwell.page.languages import language_of
from upwell.page.terms import characters, is_unspaced, query_words
from upwell.page.tree import TagTree
from upwell.queries.frequent_words import most_frequent, zipf

__all__ = ["trial_words"]

OUTSIDE_CONTENT = ("nav", "header", "footer", "form", "button", "label", "aside", "h1")
# Zipf frequencies between which a word is on some records: everybody's words are on none or on all, unheard-of ones on one.
MIN_ZIPF, MAX_ZIPF = 2.0, 5.3
COMMON_RANKS = slice(250, 700)  # of the words of a language: after the function words
COMMON_STEP = 8  # every eighth of them, so that the words differ
MIN_COMMON_CHARS = 5
MIN_OWN_CHARS = 4
MIN_UNSPACED_CHARS = 2  # of both in scripts without spaces
GAPS = ("", " ", "\n")  # between chunks, as `page.tree` numbers them


def trial_words(page: TagTree, home: TagTree, working_words: list[str], count: int) -> list[str]:
    """Words to try with: those that worked elsewhere on the site, words of the page's content, common words of its language."""
    language = language_of(page if page.language or not home.language else home)
    ranked = most_frequent(language, COMMON_RANKS.stop)[COMMON_RANKS]
    common = [word for word in ranked if _is_long(word, MIN_COMMON_CHARS)][::COMMON_STEP]
    own = _content_words(page, language) or _content_words(home, language)
    half = count // 2 + 1
    return list(dict.fromkeys([*working_words, *own[:half], *common[: count - half]]))


def _content_words(page: TagTree, language: str) -> list[str]:
    """The words of a page outside of its menus and forms: fairly rare words of the language first, then by how often they stand there.

    Of scripts without spaces, words and whole runs by turns: some sources find only what stands between spaces and signs.
    """
    is_outside = np.zeros(len(page.chunks) + 1, dtype=np.int32)  # 1 where such a part begins, -1 where it ends
    for row in page.rows(*OUTSIDE_CONTENT):
        is_outside[page.text_at[row]] += 1
        is_outside[page.text_end[row]] -= 1
    inside = [i for i, depth in enumerate(np.cumsum(is_outside[:-1]).tolist()) if not depth]
    text = "".join(GAPS[page.chunk_gap[i]] + page.chunks[i] for i in inside)
    counts = Counter(word for part in text.split() for word in query_words(part) if _is_long(word, MIN_OWN_CHARS))
    is_fairly_rare = {word: MIN_ZIPF <= zipf(word, language) <= MAX_ZIPF for word in counts}
    words = sorted(counts, key=lambda word: (not is_fairly_rare[word], -counts[word]))
    runs = [word for word in words if is_unspaced(word) and len(characters(word)) > MIN_UNSPACED_CHARS]
    if not runs:
        return words
    others = [word for word in words if word not in set(runs)]
    return [word for both in zip_longest(others, runs) for word in both if word is not None]


def _is_long(word: str, min_chars: int) -> bool:
    return (is_unspaced(word) and len(word) >= MIN_UNSPACED_CHARS) or (len(word) >= min_chars and _is_letters(word))


def _is_letters(word: str) -> bool:
    return all(c.isalpha() for c in (part[0] for part in characters(word)))
