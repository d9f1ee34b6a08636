"""Find groups of words in classes and ids: a class `post-body` contains words of the groups post and content."""

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from upwell.native import compiled

__all__ = ["NameGroups"]

MAX_CACHED = 100_000  # names of each set of groups whose answer is cached
LETTERS = 26


class NameGroups:
    """Groups of words, each a string of lower-case words; `^` and `$` mark a word that has no letter before or after it."""

    def __init__(self, groups: Mapping[str, str]) -> None:
        self.names = tuple(groups)
        self._patterns = tuple(_pattern(words) for words in groups.values())
        words = sorted(
            (word.strip("^$").encode(), group, word.startswith("^") + 2 * word.endswith("$"))
            for group, of_group in enumerate(groups.values())
            for word in of_group.split()
        )
        first = np.searchsorted([word[0] - ord("a") for word, _, _ in words], np.arange(LETTERS + 1))
        self._native = (
            tuple(word for word, _, _ in words),
            bytes(part for _, group, bits in words for part in (group, bits)),
            first.astype(np.int32),
        )
        self.bits_in = lru_cache(maxsize=MAX_CACHED)(self._bits_in)

    def _bits_in(self, name: str) -> int:
        """Return the groups that a class or id contains, a bit for each.

        >>> NameGroups({"post": "post reply", "advert": "^ad$"}).bits_in("Post-ad"), NameGroups({"advert": "^ad$"}).bits_in("head")
        (3, 0)
        """
        found = compiled.groups_in(name, *self._native) if compiled is not None else None
        return self.bits_in_python(name) if found is None else found

    def bits_in_python(self, name: str) -> int:
        """Compute `bits_in` without native code."""
        name = name.lower()
        return sum((pattern.search(name) is not None) << i for i, pattern in enumerate(self._patterns))


def _pattern(words: str) -> re.Pattern[str]:
    parts = [
        "(?<![a-z])" * word.startswith("^") + re.escape(word.strip("^$")) + "(?![a-z])" * word.endswith("$")
        for word in words.split()
    ]
    return re.compile("|".join(parts))
