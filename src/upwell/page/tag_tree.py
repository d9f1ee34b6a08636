"""Represent a page as columns: arrays in document order in which every subtree, and every subtree's text, is a range.

row         element; row 0 is <html>
subtree     rows i … end[i]
signature   path signature of a row: its tags and classes from <html> down, as one shared value (`page.path_signatures`)
chunk       run of visible text; the chunks of a subtree are text_at[i] … text_end[i]
gap         separator before a chunk: nothing (GLUED), white space (SPACED), or the edge of a block (BROKEN)

`page.tree.read` builds a `TagTree`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import compress
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.page.charset import encode_query, is_unicode
from upwell.page.path_signatures import PathSignature, SignatureSet, signature_set

__all__ = ["Attributes", "Ints", "MaskedAttributes", "TagTree", "attribute_by_row", "signature_parts"]

Attributes = Mapping[int, Mapping[str, str | None]]  # by row; rows without attributes are left out


def attribute_by_row(attributes: Attributes, name: str) -> dict[int, str]:
    """Return the values of one attribute by row, for the rows that have it ("" if it is empty)."""
    if (native_method := getattr(attributes, "having", None)) is not None:
        return native_method(name)  # type: ignore[no-any-return] # native.Attributes or MaskedAttributes
    return {row: own[name] or "" for row, own in attributes.items() if name in own}


class MaskedAttributes(Mapping[int, Mapping[str, str | None]]):
    """Attributes of a page, except those of some rows; has the methods of `native.Attributes`."""

    def __init__(self, tree: "TagTree", rows: Set[int]) -> None:
        self._tree, self._all, self._rows = tree, tree.attributes, rows

    def __getitem__(self, row: int) -> Mapping[str, str | None]:
        if row in self._rows:
            raise KeyError(row)
        return self._all[row]

    def __iter__(self) -> Iterator[int]:
        return (row for row in self._all if row not in self._rows)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def having(self, name: str) -> dict[int, str]:
        """Return the values of one attribute by row, for the rows that have it."""
        return {row: value for row, value in self._tree.attribute_by_row(name).items() if row not in self._rows}

    def value(self, row: int, name: str) -> str | None:
        """Return an attribute of a row: None if it is absent, "" if it is empty."""
        return None if row in self._rows else self._tree.attr(row, name)


Ints = NDArray[np.int32]
MAX_URL_CHARS = 8000  # longest reference that is resolved: the minimum that RFC 9110 §4.1 recommends to support
# Cached properties that depend on attributes.
OF_ATTRIBUTES = ("_one_attribute", "_known_attributes", "_links", "base", "_origin", "attribute_names")
MAX_CACHED_ROWS = (
    5000  # a larger result of `attribute_by_row` is computed again each time: it needs 200 bytes for each row
)
MAX_LISTED_ROWS = (
    50_000  # rows of a page for which a list of int is made, which is fast and needs 40 bytes for each row
)
MAX_COPIED_TEXTS = (
    1000  # texts that are joined by copying each with its separator, which is fast and needs 60 bytes for each
)
SEPARATORS = ("", " ", "\n")  # written for GLUED, SPACED and BROKEN
# A path from the root, as in most links: `urljoin` would append it to the host unchanged.
PLAIN_PATH = re.compile(r"/(?!/)[^\s?#;\x00-\x20]*(?:\?[^\s?#;\x00-\x20]+)?")


@dataclass(frozen=True, eq=False)
class TagTree:
    """Parsed page; built by `page.tree.read`, immutable, cheap to pickle."""

    url: str
    charset: str
    language: str  # primary subtag, lower case; "" if the page declares none
    title: str
    signatures: tuple[PathSignature, ...]  # in order of appearance
    signature: Ints  # of each row, as an index into `signatures`
    parent: Ints  # -1 for row 0
    end: Ints
    text_at: Ints
    text_end: Ints
    chunks: tuple[str, ...]
    chunk_row: Ints
    chunk_gap: NDArray[np.int8]
    attributes: Attributes
    data: Mapping[int, str]  # text of <script> rows whose type is JSON
    problems: tuple[str, ...]  # problems with the bytes

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], **others: Any) -> "TagTree":
        """Build a page from its fields by name, in a third of the constructor's time."""
        tree = object.__new__(cls)
        tree.__dict__.update(columns, **others)
        return tree

    def __len__(self) -> int:
        return len(self.signature)

    def __getstate__(self) -> dict[str, Any]:
        """Replace signatures by their parts: a chain of parents may be too deep for `pickle`."""
        return {part.name: getattr(self, part.name) for part in fields(self)} | {
            "signatures": signature_parts(self.signatures)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        signatures: list[PathSignature] = []
        for above, *rest in state["signatures"]:
            signatures.append(PathSignature(signatures[above] if above >= 0 else None, *rest))
        self.__dict__.update(state | {"signatures": tuple(signatures)})

    # -- names and attributes ------------------------------------------------------------------------------------------

    @cached_property
    def signature_of(self) -> Sequence[int]:
        """Return `signature` as a sequence of int."""
        return _as_sequence(self.signature)

    @cached_property
    def parent_of(self) -> Sequence[int]:
        """Return `parent` as a sequence of int."""
        return _as_sequence(self.parent)

    @cached_property
    def end_of(self) -> Sequence[int]:
        """Return `end` as a sequence of int."""
        return _as_sequence(self.end)

    def by_signature(self, values: Sequence[int], kind: type[np.generic] = np.int32) -> NDArray[Any]:
        """Return a column of rows from one value per signature."""
        return np.array(values, dtype=kind)[self.signature]

    @cached_property
    def signature_set(self) -> SignatureSet:
        """Return the columns that depend on the signatures alone; pages with the same signatures share them."""
        return signature_set(self.signatures)

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the tag names of the page, in order of appearance."""
        return self.signature_set.tags

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the classes of the page, in order of appearance; the first is "" (no class)."""
        return self.signature_set.classes

    @cached_property
    def tag(self) -> Ints:
        """Return the tag of each row, as an index into `tags`."""
        return self.signature_set.tag[self.signature]

    @cached_property
    def cls(self) -> Ints:
        """Return the class of each row, as an index into `classes`."""
        return self.signature_set.cls[self.signature]

    def name(self, row: int) -> str:
        """Return the tag name of a row."""
        return self.signatures[int(self.signature[row])].tag

    def attr(self, row: int, name: str) -> str | None:
        """Return an attribute of a row: None if it is absent, "" if it is empty."""
        if self._one_attribute is not None:
            return self._one_attribute(row, name)
        own = self.attributes.get(int(row))
        if own is None or name not in own:
            return None
        return own[name] or ""

    @cached_property
    def _one_attribute(self) -> Callable[[int, str], str | None] | None:
        """Return the method that reads one attribute without decoding the others of its row; None for a plain dictionary."""
        return getattr(self.attributes, "value", None)

    def without_attributes(self, rows: Set[int]) -> "TagTree":
        """Return the same page with the attributes of some rows removed."""
        other = object.__new__(TagTree)
        other.__dict__.update(self.__dict__)  # including cached properties …
        for name in OF_ATTRIBUTES:  # … except those that depend on attributes
            other.__dict__.pop(name, None)
        other.__dict__["attributes"] = MaskedAttributes(self, rows)
        return other

    @cached_property
    def attribute_names(self) -> frozenset[str]:
        """Return the names of all attributes of the page."""
        if (names := getattr(self.attributes, "names", None)) is not None:
            return frozenset(names())
        return frozenset(name for own in self.attributes.values() for name in own)

    def attribute_by_row(self, name: str) -> dict[int, str]:
        """Return the values of one attribute by row, for the rows that have it ("" if it is empty)."""
        known = self._known_attributes.get(name)
        if known is None:
            known = attribute_by_row(self.attributes, name)
            if len(known) <= MAX_CACHED_ROWS:
                self._known_attributes[name] = known
        return known

    @cached_property
    def _known_attributes(self) -> dict[str, dict[int, str]]:
        """Return the cache of `attribute_by_row`."""
        return {}

    def values(self, name: str, rows: Ints) -> list[str | None]:
        """Return one attribute of each of some rows: None if it is absent, "" if it is empty."""
        if (of_rows := getattr(self.attributes, "of_rows", None)) is not None:
            return of_rows(name, rows)  # type: ignore[no-any-return] # native.Attributes
        by_row = self.attribute_by_row(name)
        return [by_row.get(row) for row in rows.tolist()]

    def rows(self, *names: str) -> Ints:
        """Return all rows with one of these tag names, in document order."""
        rows = self._known_rows.get(names)
        if rows is None:
            have = self.signature_set.have_tags(names)
            rows = np.zeros(0, np.int32) if have is None else have[self.signature].nonzero()[0].astype(np.int32)
            rows.flags.writeable = False
            self._known_rows[names] = rows
        return rows

    @cached_property
    def _known_rows(self) -> dict[tuple[str, ...], Ints]:
        """Return the cache of `rows`."""
        return {}

    def rows_with_signatures(self, numbers: Sequence[int]) -> Ints:
        """Return all rows that have one of these signatures, in document order."""
        if len(numbers) < 2:
            return (self.signature == numbers[0]).nonzero()[0].astype(np.int32) if numbers else np.zeros(0, np.int32)
        wanted = np.zeros(len(self.signatures), dtype=bool)
        wanted[numbers] = True
        return wanted[self.signature].nonzero()[0].astype(np.int32)

    def links(self, row: int = 0) -> Iterator[tuple[int, str]]:
        """Yield row and absolute URL of every web link inside a subtree, in document order."""
        rows, urls = self._links
        first, last = (0, len(urls)) if not row else np.searchsorted(rows, (row, self.end[row])).tolist()
        yield from zip(rows[first:last].tolist(), urls[first:last], strict=True)

    @cached_property
    def _links(self) -> tuple[Ints, list[str]]:
        """Return the rows of all web links, and their absolute URLs."""
        rows: list[int] = []
        urls: list[str] = []
        links = self.rows("a", "area")
        for row, href in zip(links.tolist(), self.values("href", links), strict=True):
            if (url := self.resolve(href)) is not None:
                rows.append(row)
                urls.append(url)
        return np.array(rows, dtype=np.int32), urls

    def resolve(self, reference: str | None) -> str | None:
        """Resolve a reference on this page (against <base>); None if it is not an http(s) URL."""
        if reference is None or len(reference) > MAX_URL_CHARS:
            return None
        if self._origin and reference.isascii() and PLAIN_PATH.fullmatch(reference) and "/." not in reference:
            return self._origin + reference
        try:
            absolute = urljoin(self.base, re.sub(r"[\t\n\r]", "", reference.strip()))
            parts = urlsplit(absolute)
        except ValueError:
            return None
        if parts.scheme in ("http", "https") and parts.netloc:
            if not parts.query.isascii() and not is_unicode(self.charset):
                return parts._replace(query=encode_query(parts.query, self.charset)).geturl()
            return absolute
        return absolute if not self.url and not parts.scheme else None

    @cached_property
    def base(self) -> str:
        """Return the URL against which relative references are resolved."""
        for row in self.rows("base"):
            href = self.attr(row, "href")
            if href and len(href) <= MAX_URL_CHARS:
                try:
                    return urljoin(self.url, href.strip())
                except ValueError:
                    break
        return self.url

    @cached_property
    def _origin(self) -> str:
        """Return scheme and host of the base URL; "" if it is not an http(s) URL."""
        try:
            parts = urlsplit(self.base)
        except ValueError:
            return ""
        return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") and parts.netloc else ""

    # -- structure -----------------------------------------------------------------------------------------------------

    @cached_property
    def depth(self) -> Ints:
        """Return the number of ancestors of each row."""
        return self.signature_set.depth[self.signature]

    @cached_property
    def nodes(self) -> Ints:
        """Return the number of rows in each subtree."""
        return np.subtract(self.end, np.arange(len(self)), dtype=np.int32)

    @cached_property
    def fanout(self) -> Ints:
        """Return the number of children of each row."""
        return np.bincount(self.parent[1:], minlength=len(self)).astype(np.int32)

    @cached_property
    def nth(self) -> Ints:
        """Return the position of each row among its siblings of the same tag, from 1."""
        parent_and_tag = self.parent.astype(np.int64) * len(self.tags) + self.tag
        order = np.argsort(parent_and_tag, kind="stable")
        first = np.ones(len(self), dtype=bool)
        first[1:] = np.diff(parent_and_tag[order]) != 0
        starts = np.flatnonzero(first)
        counted = np.arange(len(self)) - np.repeat(starts, np.diff(np.append(starts, len(self))))
        position = np.empty(len(self), dtype=np.int32)
        position[order] = counted + 1
        return position

    def children(self, row: int) -> list[int]:
        """Return the children of a row, in document order."""
        row = int(row)
        ends = self.end_of
        children, child, end = [], row + 1, ends[row]
        while child < end:
            children.append(child)
            child = ends[child]
        return children

    def steps_below(self, row: int) -> dict[int, str]:
        """Return the children of a row, each with its path step: `li[3]`."""
        counts: dict[str, int] = {}
        steps = {}
        signatures, signature_of = self.signatures, self.signature_of
        for child in self.children(row):
            name = signatures[signature_of[child]].tag
            counts[name] = counts.get(name, 0) + 1
            steps[child] = f"{name}[{counts[name]}]"
        return steps

    def ancestors(self, row: int) -> Iterator[int]:
        """Yield the ancestors of a row, nearest first."""
        above = int(self.parent[row])
        while above >= 0:
            yield above
            above = int(self.parent[above])

    def path(self, row: int) -> str:
        """Return the path of a row, as `/html[1]/body[1]/div[2]`; `row_at` is the inverse."""
        steps, signatures, signature_of, ends = [], self.signatures, self.signature_of, self.end_of
        for i in (int(row), *self.ancestors(row)):
            name, position = signatures[signature_of[i]].tag, 1
            sibling = int(self.parent[i]) + 1
            while sibling < i:
                position += signatures[signature_of[sibling]].tag == name
                sibling = ends[sibling]
            steps.append(f"{name}[{position}]")
        return "/" + "/".join(reversed(steps))

    def row_at(self, path: str) -> int | None:
        """Return the row at a path (`[1]` may be omitted); None if the page has no such row."""
        steps = [re.fullmatch(r"([^\[\]]+)(?:\[(\d+)\])?", step) for step in path.strip("/").split("/")]
        candidates, row = [0], None
        for step in steps:
            if step is None:
                return None
            name, position = step[1], int(step[2] or 1)
            row = next((i for i in candidates if self.nth[i] == position and self.name(i) == name), None)
            if row is None:
                return None
            candidates = self.children(row)
        return row

    # -- text ----------------------------------------------------------------------------------------------------------

    def text(self, row: int = 0) -> str:
        """Return the visible text of a subtree in document order, one line per block."""
        return self.text_of(int(self.text_at[row]), int(self.text_end[row]))

    def text_of(self, first: int, last: int) -> str:
        """Return the text of a range of chunks."""
        if last - first < 2:
            return self.chunks[first] if first < last else ""
        gaps = self.chunk_gap[first + 1 : last].tolist()
        if len(gaps) > MAX_COPIED_TEXTS:  # no text is copied before all are joined
            pieces = [""] * (2 * len(gaps) + 1)
            pieces[1::2] = map(SEPARATORS.__getitem__, gaps)
            pieces[::2] = self.chunks[first:last]
            return "".join(pieces)
        rest = [SEPARATORS[gap] + text for gap, text in zip(gaps, self.chunks[first + 1 : last], strict=True)]
        return self.chunks[first] + "".join(rest)

    @cached_property
    def is_hidden_chunk(self) -> NDArray[np.bool_]:
        """Return which chunks are in hidden elements (only a page that was read with `reveals` has such chunks)."""
        return self.signature_set.is_hidden[self.signature[self.chunk_row]]

    def without_hidden_text(self) -> "TagTree":
        """Return the page without its hidden chunks."""
        kept = ~self.is_hidden_chunk
        if kept.all():
            return self
        before = np.append(0, np.cumsum(kept)).astype(np.int32)  # kept chunks before each
        numbers = np.flatnonzero(kept)
        # edges before dropped chunks count for the next kept chunk
        segments = np.append(0, numbers[:-1] + 1)[: len(numbers)]
        gap = self.chunk_gap[: numbers[-1] + 1] if len(numbers) else self.chunk_gap[:0]
        columns = {part.name: getattr(self, part.name) for part in fields(self)}
        return TagTree.from_columns(
            columns
            | {
                "chunks": tuple(compress(self.chunks, kept.tolist())),
                "chunk_row": self.chunk_row[numbers],
                "chunk_gap": np.maximum.reduceat(gap, segments) if len(numbers) else gap,
                "text_at": before[self.text_at],
                "text_end": before[self.text_end],
            }
        )

    @cached_property
    def chars(self) -> Ints:
        """Return the number of characters of visible text in each subtree (Wisdom's TLEN)."""
        return self.sum_chunks(np.fromiter(map(len, self.chunks), np.int64, len(self.chunks))).astype(np.int32)

    def chars_of(self, row: int) -> int:
        """Return the number of characters of visible text in one subtree."""
        return sum(map(len, self.chunks[self.text_at[row] : self.text_end[row]]))

    # -- sums over subtrees: each is a difference of two prefix sums ---------------------------------------------------

    def sum_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each row, the sum over its subtree of one value per row."""
        sums = _prefix_sums(values)
        return np.asarray(sums[self.end] - sums[:-1])

    def sum_chunks(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each row, the sum over its subtree's text of one value per chunk."""
        sums = _prefix_sums(values)
        return np.asarray(sums[self.text_end] - sums[self.text_at])


def signature_parts(signatures: Sequence[PathSignature]) -> list[tuple[Any, ...]]:
    """Return the constructor arguments of each signature, with its parent as an index."""
    number = {signature: i for i, signature in enumerate(signatures)}
    return [
        (number[each.above] if each.above else -1, each.tag, each.cls, each.column, each.prop, each.hidden)
        for each in signatures
    ]


def _as_sequence(column: Ints) -> Sequence[int]:
    """Return a column as a list, or if it is long as a view that creates each int when it is read."""
    return column.tolist() if len(column) <= MAX_LISTED_ROWS else memoryview(column.data)


def _prefix_sums(values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(len(values) + 1, dtype=np.result_type(values.dtype, np.int64))
    np.cumsum(values, out=sums[1:])
    return sums
