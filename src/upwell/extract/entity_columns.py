"""Possible columns of a table of entities: texts that stand alike on the pages of a site.

    address     where a column's texts stand: a place; where that holds several things, also the label or the heading before them, and which
                of the texts there it is (0: all of them, as a list)
    candidate   an address and the texts that it finds on the pages

All texts of a place are one group. If each page has as many of them in the same order, each is a column. Else those with one label are
a group; and texts without a label are divided by the heading before them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import NamedTuple

from upwell.extract.entity_texts import MIN_PROSE_CHARS, Located

__all__ = ["Address", "Candidate", "candidates", "plain", "texts_at"]

STEADY_SHARE = 0.8  # of the pages that have a group, those with the usual number of texts; as in `columns`
PURE_SHARE = 0.9  # of the texts at a place and number, those with the usual label
MIN_PAGE_SHARE = (
    0.1  # of the pages that have a column (and at least two); 0.05 and 0.1 give the same F1, 0.1 fewer columns
)
MAX_STEADY_TEXTS = 60  # of a group; more are a list

Cells = Mapping[int, Sequence[Located]]  # by page


class Address(NamedTuple):
    """Where the texts of a column stand; None: whatever the label or the heading is."""

    place: str
    label: str | None
    heading: str | None
    nth: int  # from 1; 0: all


@dataclass(frozen=True, eq=False)
class Candidate:
    """A possible column."""

    address: Address
    cells: Cells
    group_size: int  # how many texts the group usually has on a page

    @cached_property
    def plain(self) -> dict[int, tuple[str, ...]]:
        """Letters and digits of the texts of each page."""
        return {page: tuple(plain(found.text) for found in texts) for page, texts in self.cells.items()}

    @cached_property
    def distinct(self) -> int:
        """How many pages differ."""
        return len(set(self.plain.values()))

    @cached_property
    def label(self) -> str:
        """The label that most texts have; "" where most have none."""
        labels = Counter(texts[0].label for texts in self.cells.values())
        label, count = labels.most_common(1)[0]
        return label if count >= len(self.cells) / 2 else ""

    @cached_property
    def stated_as(self) -> list[str]:
        """The places of statements that say the same."""
        return []

    @cached_property
    def texts(self) -> list[str]:
        """All texts."""
        return [found.text for texts in self.cells.values() for found in texts]


def plain(text: str) -> str:
    """The letters and digits of a text.

    >>> plain("ISBN: 978-0")
    'isbn9780'
    """
    return "".join(filter(str.isalnum, text.casefold()))


def texts_at(address: Address, at_place: Sequence[Located]) -> Sequence[Located]:
    """The texts at an address, of all that a page has at its place."""
    group = at_place
    if address.label is not None:
        group = [found for found in group if found.label == address.label]
    if address.heading is not None:
        group = [found for found in group if found.heading == address.heading]
    return group[address.nth - 1 : address.nth] if address.nth else group


def candidates(pages: Sequence[Sequence[Located]], *, keep_constants: bool = False) -> list[Candidate]:
    """The possible columns of pages; without those that few pages have, or that say the same on all of them.

    `keep_constants` keeps those with a label that say the same. Of a single page all are kept (see `entity_alone`).
    """
    groups: defaultdict[str, dict[int, list[Located]]] = defaultdict(dict)
    for page, texts in enumerate(pages):
        for found in texts:
            groups[found.place].setdefault(page, []).append(found)
    found_columns = [column for place, cells in groups.items() for column in _of_place(place, cells, len(pages))]
    if len(pages) == 1:
        return found_columns
    min_pages = min(len(pages), max(2, MIN_PAGE_SHARE * len(pages)))
    return [
        column
        for column in found_columns
        if len(column.cells) >= min_pages and (column.distinct > 1 or (keep_constants and column.label))
    ]


def _of_place(place: str, cells: Cells, pages: int) -> Iterable[Candidate]:
    size, is_steady = _usual_size(cells, pages)
    labels = [_usual_label(cells, nth) for nth in range(size)] if is_steady else []
    # a label of its own finds a text on pages that lack another, too
    has_own_labels = size > 1 and all(labels) and len(set(labels)) == size
    if is_steady and not has_own_labels and (size == 1 or None not in labels):
        yield from _each(Address(place, None, None, 1), cells, size)
        return
    for label, labelled in _divided(cells, [found.label for texts in cells.values() for found in texts]).items():
        address = Address(place, label, None, 0)
        yield from _steady_or_list(address, labelled, pages)
        if not label and not _usual_size(labelled, pages)[1]:
            headings = [found.heading for texts in labelled.values() for found in texts]
            for heading, headed in _divided(labelled, headings).items():
                yield from _steady_or_list(address._replace(heading=heading), headed, pages)


def _steady_or_list(address: Address, cells: Cells, pages: int) -> Iterable[Candidate]:
    size, is_steady = _usual_size(cells, pages)
    if is_steady:
        yield from _each(address, cells, size)
    else:
        yield Candidate(address._replace(nth=0), cells, size)
        firsts = [len(texts[0].text) for texts in cells.values()]
        if not address.label and not address.heading and median(firsts) < MIN_PROSE_CHARS:
            yield from _each(address, cells, 1)  # the first may stand for itself, such as a price before other prices


def _each(address: Address, cells: Cells, size: int) -> Iterable[Candidate]:
    for nth in range(1, size + 1):
        found = {page: texts[nth - 1 : nth] for page, texts in cells.items() if len(texts) >= nth}
        yield Candidate(address._replace(nth=nth), found, size)


def _usual_size(cells: Cells, pages: int) -> tuple[int, bool]:
    """The usual number of texts on a page, and whether nearly all pages have it; one page alone does not show that of several texts."""
    size, count = Counter(map(len, cells.values())).most_common(1)[0]
    is_known = size == 1 or pages > 1
    return size, is_known and count >= STEADY_SHARE * len(cells) and size <= MAX_STEADY_TEXTS


def _usual_label(cells: Cells, nth: int) -> str | None:
    """The label that nearly all texts have which are the n-th of their page; None where they differ."""
    labels = Counter(texts[nth].label for texts in cells.values() if len(texts) > nth)
    label, count = labels.most_common(1)[0]
    return label if count >= PURE_SHARE * labels.total() else None


def _divided(cells: Cells, names: Sequence[str]) -> dict[str, dict[int, list[Located]]]:
    """The texts of a group by their names, which are in the same order."""
    divided: defaultdict[str, dict[int, list[Located]]] = defaultdict(dict)
    name_of = iter(names)
    for page, texts in cells.items():
        for found in texts:
            divided[next(name_of)].setdefault(page, []).append(found)
    return divided
