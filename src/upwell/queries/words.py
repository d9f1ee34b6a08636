"""Words to probe a source with: of its language's dictionary, its own, and nonsense that no source holds (Thor §IV, Entity §5)."""

from collections.abc import Iterator

import numpy as np

from upwell.page import terms
from upwell.page.tree import TagTree
from upwell.queries.frequent_words import list_language, most_frequent

__all__ = ["dictionary", "nonsense", "of_page", "probes"]

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
NONSENSE_LENGTH = 12  # 26¹² strings: none is a word
# Ranks in the list of a language's words that probe words are drawn from: after the function words, before what only novels use.
FIRST_RANK, LAST_RANK = 200, 10_000
MIN_LETTERS, MIN_CJK_LETTERS = 3, 2  # of a probe word; two Chinese characters say as much as a word elsewhere


def nonsense(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Random strings that match nothing, to see what the source says then."""
    return tuple("".join(rng.choice(list(ALPHABET), NONSENSE_LENGTH)) for _ in range(count))


def dictionary(rng: np.random.Generator, count: int, language: str = "en") -> tuple[str, ...]:
    """Words of a language (English where it has no list) in random order, commoner ones more likely."""
    stops = terms.stop_words_of(list_language(language))
    min_letters = _min_letters(list_language(language))
    words = [
        word
        for word in most_frequent(language, LAST_RANK)[FIRST_RANK:]
        if len(word) >= min_letters and word not in stops and not any(c.isdigit() for c in word)
    ]
    weight = 1 / np.arange(FIRST_RANK, FIRST_RANK + len(words))
    drawn = rng.choice(len(words), min(count, len(words)), replace=False, p=weight / weight.sum())
    return tuple(words[i] for i in drawn)


def of_page(tree: TagTree) -> tuple[str, ...]:
    """The content words of a page, the rarer ones on it first: the words of records rather than those of menus."""
    content = terms.of(tree, stops=False)
    counts = np.bincount(content.ids, minlength=len(content.words))
    words = [content.words[i] for i in np.argsort(counts, kind="stable")]
    return tuple(word for word in words if len(word) >= _min_letters(tree.language) and not word.isdigit())


def _min_letters(language: str) -> int:
    return MIN_CJK_LETTERS if language in terms.CJK_LANGUAGES else MIN_LETTERS


def probes(rng: np.random.Generator, tree: TagTree, count: int = 100) -> Iterator[str]:
    """The site's own words and dictionary words of its language by turns, each once (Thor §IV: 100)."""
    own, listed = iter(of_page(tree)), iter(dictionary(rng, count, tree.language or "en"))
    given: set[str] = set()
    for turn in range(4 * count):
        word = next(own if turn % 2 else listed, None)
        if word is not None and word not in given:
            given.add(word)
            yield word
            if len(given) == count:
                return
