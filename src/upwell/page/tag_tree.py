"""A page as columns: arrays in document order in which every subtree, and every subtree's text, is a range.

    row       an element; row 0 is <html>
    subtree   the rows i … end[i]
    spot      where a row stands: the tags and classes from <html> down; one value for all rows that stand alike
    chunk     a run of visible text; the chunks of a subtree are text_at[i] … text_end[i]
    gap       what stands before a chunk: nothing (GLUED), white space (SPACED), or the edge of a block (BROKEN)

`page.tree` makes them of a page.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.page.attribute_views import Attributes, Without, having
from upwell.page.charset import encoded_query, is_unicode
from upwell.page.compiled import compiled
from upwell.page.spot_set import SpotSet, spot_set
from upwell.page.spots import Spot

__all__ = ["Ints", "TagTree", "made_of"]

Ints = NDArray[np.int32]
MAX_ADDRESS_CHARS = 8000  # RFC 9110 §4.1: servers and clients should take as many
OF_ATTRIBUTES = (
    "_one_attribute",
    "_known_attributes",
    "_links",
    "base",
    "_origin",
    "attribute_names",
)  # what is worked out from them
BETWEEN = ("", " ", "\n")  # what is written for GLUED, SPACED and BROKEN
# A path from the root as most links have it: what `urljoin` would put behind the host unchanged.
PLAIN_PATH = re.compile(r"/(?!/)[^\s?#;\x00-\x20]*(?:\?[^\s?#;\x00-\x20]+)?")


@dataclass(frozen=True, eq=False)
class TagTree:
    """One parsed page; built by `read`, never changed, cheap to pickle."""

    url: str
    charset: str
    language: str  # primary subtag, lower case; "" where the page does not say
    title: str
    spots: tuple[Spot, ...]  # in order of appearance
    spot: Ints  # of each row, as its number among them
    parent: Ints  # -1 for row 0
    end: Ints
    text_at: Ints
    text_end: Ints
    chunks: tuple[str, ...]
    chunk_row: Ints
    chunk_gap: NDArray[np.int8]
    attributes: Attributes  # only for the rows that have any
    data: Mapping[int, str]  # the text of <script> rows whose type is JSON
    problems: tuple[str, ...]  # what was odd about the bytes

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], **others: Any) -> "TagTree":
        """A page of all that it consists of, by name; in a third of the time of the constructor."""
        tree = object.__new__(cls)
        tree.__dict__.update(columns, **others)
        return tree

    def __len__(self) -> int:
        return len(self.spot)

    def __getstate__(self) -> dict[str, Any]:
        """A spot as what it is made of: a chain of them may be too long for `pickle`."""
        return {part.name: getattr(self, part.name) for part in fields(self)} | {"spots": made_of(self.spots)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        spots: list[Spot] = []
        for above, *rest in state["spots"]:
            spots.append(Spot(spots[above] if above >= 0 else None, *rest))
        self.__dict__.update(state | {"spots": tuple(spots)})

    # -- names and attributes ------------------------------------------------------------------------------------------

    @cached_property
    def spot_of(self) -> list[int]:
        """The spot of each row, as a list."""
        return self.spot.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def end_of(self) -> list[int]:
        """One past the last row of each subtree, as a list."""
        return self.end.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    def by_spot(self, values: Sequence[int], kind: type[np.generic] = np.int32) -> NDArray[Any]:
        """A column from a value of each spot."""
        return np.array(values, dtype=kind)[self.spot]

    @cached_property
    def spot_set(self) -> SpotSet:
        """What follows from the spots alone; pages that have the same share it."""
        return spot_set(self.spots)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tag names of the page, in order of appearance."""
        return self.spot_set.tags

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the page, in order of appearance; the first is "" (no class)."""
        return self.spot_set.classes

    @cached_property
    def tag(self) -> Ints:
        """The tag of each row, as its number among `tags`."""
        return self.spot_set.tag[self.spot]

    @cached_property
    def cls(self) -> Ints:
        """The class of each row, as its number among `classes`."""
        return self.spot_set.cls[self.spot]

    def name(self, row: int) -> str:
        """The tag name of a row."""
        return self.spots[int(self.spot[row])].tag

    def attr(self, row: int, name: str) -> str | None:
        """An attribute's value: None where it is absent, "" where it is empty."""
        if self._one_attribute is not None:
            return self._one_attribute(row, name)
        found = self.attributes.get(int(row))
        if found is None or name not in found:
            return None
        return found[name] or ""

    @cached_property
    def _one_attribute(self) -> Callable[[int, str], str | None] | None:
        """How one attribute is read without the others of its row, where the compiled walk has kept them."""
        return getattr(self.attributes, "value", None)

    def without_attributes(self, rows: Set[int]) -> "TagTree":
        """The same page, on which some rows have no attributes."""
        other = object.__new__(TagTree)
        other.__dict__.update(self.__dict__)  # with all that is already known of the page …
        for name in OF_ATTRIBUTES:  # … but for what is known of its attributes
            other.__dict__.pop(name, None)
        other.__dict__["attributes"] = Without(self, rows)
        return other

    @cached_property
    def attribute_names(self) -> frozenset[str]:
        """The names of all attributes of the page."""
        if (names := getattr(self.attributes, "names", None)) is not None:
            return frozenset(names())
        return frozenset(name for found in self.attributes.values() for name in found)

    def having(self, name: str) -> dict[int, str]:
        """One attribute of all rows that have it, by row: "" where it is empty."""
        if name not in self._known_attributes:
            self._known_attributes[name] = having(self.attributes, name)
        return self._known_attributes[name]

    @cached_property
    def _known_attributes(self) -> dict[str, dict[int, str]]:
        """Those that were asked for."""
        return {}

    def values(self, name: str, rows: Ints) -> list[str | None]:
        """One attribute of each of some rows: None where it is absent, "" where it is empty."""
        if (of_rows := getattr(self.attributes, "of_rows", None)) is not None:
            return of_rows(name, rows)  # type: ignore[no-any-return] # of page.compiled
        found = self.having(name)
        return [found.get(row) for row in rows.tolist()]

    def rows(self, *names: str) -> Ints:
        """All rows with one of these tag names, in document order."""
        rows = self._known_rows.get(names)
        if rows is None:
            have = self.spot_set.have_tags(names)
            rows = np.zeros(0, np.int32) if have is None else have[self.spot].nonzero()[0].astype(np.int32)
            rows.flags.writeable = False
            self._known_rows[names] = rows
        return rows

    @cached_property
    def _known_rows(self) -> dict[tuple[str, ...], Ints]:
        """The rows with some tag names that were asked for."""
        return {}

    def at_spots(self, numbers: Sequence[int]) -> Ints:
        """All rows that stand at one of these spots, in document order."""
        if len(numbers) < 2:
            return (self.spot == numbers[0]).nonzero()[0].astype(np.int32) if numbers else np.zeros(0, np.int32)
        wanted = np.zeros(len(self.spots), dtype=bool)
        wanted[numbers] = True
        return wanted[self.spot].nonzero()[0].astype(np.int32)

    def links(self, row: int = 0) -> Iterator[tuple[int, str]]:
        """Row and absolute address of every web link inside a subtree, in document order."""
        if not row:
            yield from self._links
            return
        end = int(self.end[row])
        for link, address in self._links:
            if row <= link < end:
                yield link, address

    @cached_property
    def _links(self) -> list[tuple[int, str]]:
        found = [(link, self.resolve(self.attr(link, "href"))) for link in self.rows("a", "area").tolist()]
        return [(link, address) for link, address in found if address is not None]

    def resolve(self, address: str | None) -> str | None:
        """A reference on this page as an absolute http(s) address (<base> counts), or None where it is not one."""
        if address is None or len(address) > MAX_ADDRESS_CHARS:
            return None
        if self._origin and address.isascii() and PLAIN_PATH.fullmatch(address) and "/." not in address:
            return self._origin + address
        try:
            absolute = urljoin(self.base, re.sub(r"[\t\n\r]", "", address.strip()))
            parts = urlsplit(absolute)
        except ValueError:
            return None
        if parts.scheme in ("http", "https") and parts.netloc:
            if not parts.query.isascii() and not is_unicode(self.charset):
                return parts._replace(query=encoded_query(parts.query, self.charset)).geturl()
            return absolute
        return absolute if not self.url and not parts.scheme else None

    @cached_property
    def base(self) -> str:
        """The address that relative references of the page are resolved against."""
        for row in self.rows("base"):
            href = self.attr(row, "href")
            if href and len(href) <= MAX_ADDRESS_CHARS:
                try:
                    return urljoin(self.url, href.strip())
                except ValueError:
                    break
        return self.url

    @cached_property
    def _origin(self) -> str:
        """Scheme and host of the base, which go before a path; "" where it is no web address."""
        try:
            parts = urlsplit(self.base)
        except ValueError:
            return ""
        return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") and parts.netloc else ""

    # -- structure -----------------------------------------------------------------------------------------------------

    @cached_property
    def depth(self) -> Ints:
        """How many rows are above each row."""
        return self.spot_set.depth[self.spot]

    @cached_property
    def nodes(self) -> Ints:
        """Number of rows in each subtree."""
        return np.subtract(self.end, np.arange(len(self)), dtype=np.int32)

    @cached_property
    def fanout(self) -> Ints:
        """Number of children of each row."""
        return np.bincount(self.parent[1:], minlength=len(self)).astype(np.int32)

    @cached_property
    def _kin(self) -> NDArray[np.int64]:
        """Parent and tag of each row, as one number."""
        return self.parent.astype(np.int64) * len(self.tags) + self.tag

    @cached_property
    def nth(self) -> Ints:
        """The place of each row among its siblings of the same tag, from 1."""
        alike = self._kin
        order = np.argsort(alike, kind="stable")
        first = np.ones(len(self), dtype=bool)
        first[1:] = np.diff(alike[order]) != 0
        starts = np.flatnonzero(first)
        counted = np.arange(len(self)) - np.repeat(starts, np.diff(np.append(starts, len(self))))
        place = np.empty(len(self), dtype=np.int32)
        place[order] = counted + 1
        return place

    def children(self, row: int) -> list[int]:
        """The rows right below a row, in document order."""
        row = int(row)
        ends = self.end_of
        found, child, end = [], row + 1, ends[row]
        while child < end:
            found.append(child)
            child = ends[child]
        return found

    def steps_below(self, row: int) -> dict[int, str]:
        """The rows right below a row, each with the step that leads to it: `li[3]`."""
        if compiled is not None:
            return compiled.steps_below(row, self.end, self.spot, self.spots)
        return self.plain_steps_below(row)

    def plain_steps_below(self, row: int) -> dict[int, str]:
        """The same without the compiled parts."""
        often: dict[str, int] = {}
        found = {}
        spots, spot_of = self.spots, self.spot_of
        for child in self.children(row):
            name = spots[spot_of[child]].tag
            often[name] = often.get(name, 0) + 1
            found[child] = f"{name}[{often[name]}]"
        return found

    def ancestors(self, row: int) -> Iterator[int]:
        """The rows above a row, nearest first."""
        above = int(self.parent[row])
        while above >= 0:
            yield above
            above = int(self.parent[above])

    def path(self, row: int) -> str:
        """Where a row stands: `/html[1]/body[1]/div[2]`; `row_at` is the way back."""
        steps, spots, spot_of, ends = [], self.spots, self.spot_of, self.end_of
        for i in (int(row), *self.ancestors(row)):
            name, place = spots[spot_of[i]].tag, 1
            beside = int(self.parent[i]) + 1
            while beside < i:
                place += spots[spot_of[beside]].tag == name
                beside = ends[beside]
            steps.append(f"{name}[{place}]")
        return "/" + "/".join(reversed(steps))

    def row_at(self, path: str) -> int | None:
        """The row at a path (`[1]` may be left out), or None where the page has no such row."""
        steps = [re.fullmatch(r"([^\[\]]+)(?:\[(\d+)\])?", step) for step in path.strip("/").split("/")]
        above, row = [0], None
        for step in steps:
            if step is None:
                return None
            name, place = step[1], int(step[2] or 1)
            row = next((i for i in above if self.nth[i] == place and self.name(i) == name), None)
            if row is None:
                return None
            above = self.children(row)
        return row

    # -- text ----------------------------------------------------------------------------------------------------------

    def text(self, row: int = 0) -> str:
        """The visible text of a subtree in document order; blocks are on lines of their own."""
        return self.text_of(int(self.text_at[row]), int(self.text_end[row]))

    def text_of(self, first: int, last: int) -> str:
        """The text of a range of chunks."""
        if last - first < 2:
            return self.chunks[first] if first < last else ""
        plain = compiled is None
        return self.plain_text_of(first, last) if plain else compiled.text(self.chunks, self.chunk_gap, first, last)

    def plain_text_of(self, first: int, last: int) -> str:
        """The same without the compiled parts."""
        gaps = self.chunk_gap[first + 1 : last].tolist()
        rest = [BETWEEN[gap] + text for gap, text in zip(gaps, self.chunks[first + 1 : last], strict=True)]
        return self.chunks[first] + "".join(rest)

    @cached_property
    def chars(self) -> Ints:
        """Characters of visible text in each subtree (Wisdom's TLEN)."""
        return self.sum_chunks(np.fromiter(map(len, self.chunks), np.int64, len(self.chunks))).astype(np.int32)

    def chars_of(self, row: int) -> int:
        """The same of one row alone."""
        return sum(map(len, self.chunks[self.text_at[row] : self.text_end[row]]))

    # -- aggregates: each is a difference of two prefix sums -----------------------------------------------------------

    def sum_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each row, the sum of a value of rows over its subtree."""
        sums = _prefix(values)
        return np.asarray(sums[self.end] - sums[:-1])

    def sum_chunks(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each row, the sum of a value of chunks over its subtree's text."""
        sums = _prefix(values)
        return np.asarray(sums[self.text_end] - sums[self.text_at])


def made_of(spots: Sequence[Spot]) -> list[tuple[Any, ...]]:
    """What each spot is made of, with the spot above it as its number."""
    number = {at: i for i, at in enumerate(spots)}
    return [(number[at.above] if at.above else -1, at.tag, at.cls, at.column, at.prop, at.hidden) for at in spots]


def _prefix(values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(len(values) + 1, dtype=np.result_type(values.dtype, np.int64))
    np.cumsum(values, out=sums[1:])
    return sums
