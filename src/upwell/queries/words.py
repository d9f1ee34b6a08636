"""Words to probe a source with: of its language's dictionary, its own, and nonsense that no source holds (Thor §IV, Entity §5)."""

from collections.abc import Iterator

import numpy as np
import wordfreq

from upwell.page import terms
from upwell.page.tree import TagTree

__all__ = ["dictionary", "nonsense", "of_page", "probes"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
NONSENSE_LENGTH = 12  # 26¹² strings: none is a word
# Places in the frequency list that probe words are drawn from: after the function words, before what only novels use.
COMMON, RARE = 200, 10_000


def nonsense(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Random strings that match nothing, to see what the source says then."""
    return tuple("".join(rng.choice(list(LETTERS), NONSENSE_LENGTH)) for _ in range(count))


def dictionary(rng: np.random.Generator, count: int, language: str = "en") -> tuple[str, ...]:
    """Words of a language (English where it has no list) in random order, commoner ones more likely."""
    known = language if language in wordfreq.available_languages() else "en"
    listed = wordfreq.top_n_list(known, RARE)[COMMON:]
    stops = terms.stop_words_of(known)
    words = [word for word in listed if len(word) > 2 and word not in stops and not any(c.isdigit() for c in word)]
    weight = 1 / np.arange(COMMON, COMMON + len(words))
    return tuple(
        words[i] for i in rng.choice(len(words), min(count, len(words)), replace=False, p=weight / weight.sum())
    )


def of_page(tree: TagTree) -> tuple[str, ...]:
    """The content words of a page, the rarer ones on it first: the words of records rather than those of menus."""
    found = terms.of(tree, stops=False)
    often = np.bincount(found.ids, minlength=len(found.words))
    order = np.argsort(often, kind="stable")
    return tuple(found.words[i] for i in order if len(found.words[i]) > 2 and not found.words[i].isdigit())


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
