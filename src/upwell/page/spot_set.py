"""The spots of a page, and what follows from them alone.

Most answers of a source have the same spots in the same order (4 of 5 to 99 of 100, by source): what follows is worked out once for all of these.
"""

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import KEPT, Spot

__all__ = ["SpotSet", "spot_set"]

MAX_KNOWN_SETS = 100  # that are remembered from page to page


class SpotSet:
    """The different spots of a page, in order of appearance; its columns have a value for each."""

    def __init__(self, spots: tuple[Spot, ...]) -> None:
        self.spots = spots
        self._with_tags: dict[tuple[str, ...], NDArray[np.bool_] | None] = {}
        self._like: dict[tuple[str, str], list[int]] = {}

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tag names, in order of appearance."""
        return tuple(dict.fromkeys([at.tag for at in self.spots]))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes, in order of appearance; the first is "" (no class)."""
        return tuple(dict.fromkeys(["", *(at.cls for at in self.spots)]))

    @cached_property
    def tag(self) -> NDArray[np.int32]:
        """The tag of each, as its number among `tags`."""
        number = {name: i for i, name in enumerate(self.tags)}
        return self._column([number[at.tag] for at in self.spots], np.int32)

    @cached_property
    def cls(self) -> NDArray[np.int32]:
        """The class of each, as its number among `classes`."""
        number = {name: i for i, name in enumerate(self.classes)}
        return self._column([number[at.cls] for at in self.spots], np.int32)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """How many spots are above each."""
        return self._column([at.depth for at in self.spots], np.int32)

    @cached_property
    def tagged(self) -> NDArray[np.uint64]:
        """The path of tags of each …"""
        return self._column([at.tagged for at in self.spots], np.uint64)

    @cached_property
    def classed(self) -> NDArray[np.uint64]:
        """… of tags and classes …"""
        return self._column([at.classed for at in self.spots], np.uint64)

    @cached_property
    def plain(self) -> NDArray[np.uint64]:
        """… of tags that do not only change how a piece of text looks."""
        return self._column([at.plain for at in self.spots], np.uint64)

    @cached_property
    def keeps_breaks(self) -> NDArray[np.bool_] | None:
        """Whether the texts of each keep their line breaks; None where none does."""
        kept = [at.shown == KEPT for at in self.spots]
        return self._column(kept, np.bool_) if True in kept else None

    def have_tags(self, names: tuple[str, ...]) -> NDArray[np.bool_] | None:
        """Which of them have one of these tag names; None where none has."""
        if names not in self._with_tags:
            have = [at.tag in names for at in self.spots]
            self._with_tags[names] = self._column(have, np.bool_) if True in have else None
        return self._with_tags[names]

    def like(self, tag: str, cls: str) -> list[int]:
        """The numbers of those with this tag name and class."""
        numbers = self._like.get((tag, cls))
        if numbers is None:
            numbers = [i for i, at in enumerate(self.spots) if at.cls == cls and at.tag == tag]
            self._like[tag, cls] = numbers
        return numbers

    def _column(self, values: list[Any], kind: type[np.generic]) -> NDArray[Any]:
        column = np.array(values, dtype=kind)
        column.flags.writeable = False  # all pages share it
        return column


@lru_cache(maxsize=MAX_KNOWN_SETS)
def spot_set(spots: tuple[Spot, ...]) -> SpotSet:
    """The set of these spots."""
    return SpotSet(spots)
