"""Words to probe a source with: its own, and nonsense that no source holds (Thor §IV, Entity §5)."""

import numpy as np

from upwell.page import terms
from upwell.page.tree import TagTree

__all__ = ["nonsense", "of_page"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
NONSENSE_LENGTH = 12  # 26¹² strings: none is a word


def nonsense(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Random strings that match nothing, to see what the source says then."""
    return tuple("".join(rng.choice(list(LETTERS), NONSENSE_LENGTH)) for _ in range(count))


def of_page(tree: TagTree) -> tuple[str, ...]:
    """The content words of a page, the rarer ones on it first: the words of records rather than those of menus."""
    found = terms.of(tree, stops=False)
    often = np.bincount(found.ids, minlength=len(found.words))
    order = np.argsort(often, kind="stable")
    return tuple(found.words[i] for i in order if len(found.words[i]) > 2 and not found.words[i].isdigit())
