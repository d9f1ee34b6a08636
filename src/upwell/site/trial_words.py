"""Words to try an interface with: those of the site's records, and common words of its language."""

from collections import Counter

import numpy as np

from upwell.page.terms import CJK_LANGUAGES, tokens
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
MIN_CJK_CHARS = 2  # of both in Chinese, Japanese and Korean


def trial_words(page: TagTree, home: TagTree, working_words: list[str], count: int) -> list[str]:
    """Words to try with: those that worked elsewhere on the site, words of the page's content, common words of its language."""
    language = page.language or home.language or "en"
    ranked = most_frequent(language, COMMON_RANKS.stop)[COMMON_RANKS]
    min_chars = MIN_CJK_CHARS if language in CJK_LANGUAGES else MIN_COMMON_CHARS
    common = [word for word in ranked if len(word) >= min_chars and word.isalpha()][::COMMON_STEP]
    own = _content_words(page, language) or _content_words(home, language)
    half = count // 2 + 1
    return list(dict.fromkeys([*working_words, *own[:half], *common[: count - half]]))


def _content_words(page: TagTree, language: str) -> list[str]:
    """The words of a page outside of its menus and forms: fairly rare words of the language first, then by how often they stand there."""
    is_outside = np.zeros(len(page.chunks) + 1, dtype=np.int32)  # 1 where such a part begins, -1 where it ends
    for row in page.rows(*OUTSIDE_CONTENT):
        is_outside[page.text_at[row]] += 1
        is_outside[page.text_end[row]] -= 1
    chunks = [chunk for chunk, depth in zip(page.chunks, np.cumsum(is_outside).tolist(), strict=False) if not depth]
    min_chars = MIN_CJK_CHARS if language in CJK_LANGUAGES else MIN_OWN_CHARS
    counts = Counter(word for chunk in chunks for word in tokens(chunk) if len(word) >= min_chars and word.isalpha())
    is_fairly_rare = {word: MIN_ZIPF <= zipf(word, language) <= MAX_ZIPF for word in counts}
    return sorted(counts, key=lambda word: (not is_fairly_rare[word], -counts[word]))
