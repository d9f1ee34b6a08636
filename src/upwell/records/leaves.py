"""Represent a page as a sequence of leaves, on which the search for repeated structure works.

    leaf         chunk of text, or a line of a chunk that keeps its line breaks (<pre>)
    path         tags (and classes) from <html> to the row of a leaf, hashed to a number that is the same on every page
    separators   tags without text (<hr>, <br>, <img> …) between a leaf and the previous one, as one number

A region of the page is a range of leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from upwell.native import compiled
from upwell.page.path_signatures import CLASSLESS, GLUED, normalized_class
from upwell.page.tree import Ints, TagTree

__all__ = [
    "MIN_REPEATED_CHARS",
    "SEPARATOR_TAGS",
    "Hashes",
    "Leaves",
    "has_letter_or_digit",
    "path_step",
    "split_leaves",
]

Hashes = NDArray[np.uint64]
MAX_CONTAINER_DEPTH = 64  # safety limit: deeper rows are not tried as containers; the paths of leaves are not shortened
# Texts of at least this many characters are output once per record if they are repeated.
MIN_REPEATED_CHARS = 5  # swept: 2, 5, 8, 12, 20 on answers/*
# A page of text with more than MAX_SHORT_LINES lines that have fewer than MIN_LINE_CHARS characters on average is not split any further.
MAX_SHORT_LINES, MIN_LINE_CHARS = 20_000, 20
SEPARATOR_TAGS = ("hr", "br", "img", "p", "a")  # tags that separate records if they have no text
LINE_BREAK = np.uint64(1 << 2 * SEPARATOR_TAGS.index("br"))


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of a page, built by `split_leaves`; row r has the leaves from row_start[r] to row_end[r] (exclusive)."""

    tree: TagTree
    texts: tuple[str, ...]
    row: Ints  # row of each leaf
    row_start: Ints
    row_end: Ints
    chunk: Ints  # chunk of each leaf

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def are_chunks(self) -> bool:
        """Return True if each leaf is a whole chunk."""
        return self.texts is self.tree.chunks

    @cached_property
    def tag_paths(self) -> Hashes:
        """Path of tags of each row."""
        return self.tree.signature_set.tag_path[self.tree.signature]

    @cached_property
    def class_paths(self) -> Hashes:
        """Path of tags and classes of each row."""
        return self.tree.signature_set.class_path[self.tree.signature]

    @cached_property
    def layout_paths(self) -> Hashes:
        """Path of tags of each row without formatting tags."""
        return self.tree.signature_set.unformatted_path[self.tree.signature]

    @cached_property
    def separators_before(self) -> Hashes:
        """Separators before each leaf: two bits per tag of `SEPARATOR_TAGS` count it up to two."""
        separators = np.zeros(len(self) + 1, dtype=np.uint64)
        for k, name in enumerate(SEPARATOR_TAGS):
            rows = self.tree.rows(name)
            at = self.row_start[rows[self.row_start[rows] == self.row_end[rows]]]
            if len(at):
                separators += np.minimum(np.bincount(at, minlength=len(self) + 1), 2).astype(np.uint64) << np.uint64(
                    2 * k
                )
        if len(self) > len(self.tree.chunks):  # lines of plain text count as separated by <br>
            separators[1:-1][self.chunk[1:] == self.chunk[:-1]] = separators[self.row_start[self.tree.rows("pre")]] = (
                LINE_BREAK
            )
        return separators[:-1]

    @cached_property
    def in_heading_row(self) -> NDArray[np.bool_] | None:
        """Mask of the leaves in table rows that contain only <th>; None if there are none."""
        tree = self.tree
        headings = tree.rows("th")
        if not len(headings):
            return None
        steps = np.zeros(len(self) + 1, dtype=np.int32)
        rows = np.setdiff1d(tree.parent[headings], tree.parent[tree.rows("td")])
        np.add.at(steps, self.row_start[rows], 1)
        np.subtract.at(steps, self.row_end[rows], 1)
        in_heading = np.asarray(np.cumsum(steps)[:-1] > 0)
        return in_heading if in_heading.any() else None

    @cached_property
    def chars(self) -> Ints:
        """Characters of each leaf."""
        return np.fromiter(map(len, self.texts), np.int32, len(self.texts))

    @cached_property
    def path_code(self) -> Ints:
        """Path of tags of each leaf, numbered from 0 on this page."""
        of_signature = np.unique(self.tree.signature_set.tag_path, return_inverse=True)[1].astype(np.int32)
        return of_signature[self.tree.signature[self.row]]

    @cached_property
    def is_linked(self) -> NDArray[np.bool_]:
        """Mask of the leaves that are link text."""
        tree = self.tree
        rows = tree.rows("a")
        if len(rows):
            targets = tree.attribute_by_row("href")
            rows = rows[[row in targets for row in rows.tolist()]]
        steps = np.zeros(len(tree) + 1, dtype=np.int32)
        steps[rows] += 1
        np.subtract.at(steps, tree.end[rows], 1)
        return (np.cumsum(steps[:-1]) > 0)[self.row]

    @cached_property
    def max_depth(self) -> int:
        """Depth of the deepest possible containers."""
        return min(MAX_CONTAINER_DEPTH, int(self.tree.depth[self.row].max(initial=0)))

    def ancestors_at(self, depth: int) -> Ints:
        """Return the ancestor of each leaf at a depth, which may be its own row; -1 for leaves above that depth."""
        is_there = self.tree.depth == depth
        rows = np.flatnonzero(is_there).astype(np.int32)
        if not len(rows):
            return np.full(len(self), -1, dtype=np.int32)
        number = np.cumsum(is_there, dtype=np.int32)[
            self.row
        ]  # of the last row at this depth that begins before each leaf, from 1
        number -= number > 0
        ancestors = rows[number]
        ancestors[(ancestors > self.row) | (self.row >= self.tree.end[ancestors])] = -1
        return ancestors

    def text(self, start: int, end: int) -> str:
        """Return the text of a range of leaves on one line, without repeated texts (as for other screen sizes)."""
        if end - start == 1:  # most records of plain text; they share the text of their leaf
            own = self.stripped[start]
            text = own.strip() if self.are_chunks else " ".join(own.split())
            return own if text == own else text
        texts, is_glued = self.texts, self._is_glued
        seen: set[str] = set()
        pieces: list[str] = []
        for i in range(start, end):
            text = texts[i]
            if len(text) >= MIN_REPEATED_CHARS:
                if text in seen:
                    continue
                seen.add(text)
            pieces.append(text if is_glued[i] else " " + text)
        text = "".join(pieces)
        return text.strip() if self.are_chunks else " ".join(text.split())

    @cached_property
    def stripped(self) -> Sequence[str]:
        """Texts without surrounding white space, which lines of <pre> may have."""
        return self.texts if self.are_chunks else [text.strip() for text in self.texts]

    @cached_property
    def native(self) -> "compiled.Leaves | None":
        """Leaves in the form of the native code; None without native code."""
        if compiled is None:
            return None
        tree, gaps = self.tree, self.tree.chunk_gap[self.chunk]
        return compiled.Leaves(
            self.stripped,
            self.row,
            gaps,
            tree.signature,
            tree.parent,
            tree.end,
            self.row_start,
            self.row_end,
            len(tree.signatures),
        )

    @cached_property
    def rows(self) -> list[int]:
        """Row of each leaf, as a list."""
        return self.row.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def gaps(self) -> list[int]:
        """Gap before the chunk of each leaf: GLUED, SPACED or BROKEN."""
        return self.tree.chunk_gap[self.chunk].tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def _is_glued(self) -> list[bool]:
        """Mask of the leaves that continue the word of the previous leaf; a line of a chunk never does."""
        is_glued = [gap == GLUED for gap in self.gaps]
        if len(self) > len(self.tree.chunks):
            for i in np.flatnonzero(self.chunk[1:] == self.chunk[:-1]).tolist():
                is_glued[i + 1] = False
        return is_glued


def split_leaves(tree: TagTree) -> Leaves:
    """Return the leaves of a page; their paths are computed on demand."""
    keeps_breaks = _keeps_line_breaks(tree)
    if keeps_breaks is None:
        all_chunks = np.arange(len(tree.chunks), dtype=np.int32)
        return Leaves(tree, tree.chunks, tree.chunk_row, tree.text_at, tree.text_end, all_chunks)
    left = max(MAX_SHORT_LINES, sum(map(len, tree.chunks)) // MIN_LINE_CHARS)  # lines that may still be split off
    lines: list[list[str]] = []
    for chunk, keep in zip(tree.chunks, keeps_breaks, strict=True):
        lines.append(_lines(chunk, max(left, 1)) if keep else [chunk])
        left -= len(lines[-1]) if keep else 0
    sizes = np.fromiter(map(len, lines), np.int32, len(lines))
    before = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    chunk_of = np.repeat(np.arange(len(lines), dtype=np.int32), sizes)
    texts = tuple(text for chunk_lines in lines for text in chunk_lines)
    return Leaves(tree, texts, tree.chunk_row[chunk_of], before[tree.text_at], before[tree.text_end], chunk_of)


def _keeps_line_breaks(tree: TagTree) -> list[bool] | None:
    """Return, for each chunk, whether it keeps its line breaks; None if no element of the page does."""
    keeps_breaks = tree.signature_set.keeps_breaks
    if keeps_breaks is None:
        return None
    chunk_keeps_breaks: list[bool] = keeps_breaks[tree.signature[tree.chunk_row]].tolist()
    return chunk_keeps_breaks


def _lines(chunk: str, most: int) -> list[str]:
    """Return the lines of a chunk; the last of `most` lines contains all that follow."""
    return [line for line in chunk.split("\n", most - 1) if line.strip()]


def has_letter_or_digit(text: str) -> bool:
    """Return True if a text has a letter or digit in any script; separators such as "|" and "—" have none."""
    return text[:1].isalnum() or any(map(str.isalnum, text))


def path_step(tree: TagTree, row: int, classes: bool) -> str:
    """Return a row as a step of a readable path: `div` or `div.result`."""
    name = normalized_class(tree.classes[int(tree.cls[row])]) if classes and tree.name(row) not in CLASSLESS else ""
    return ".".join([tree.name(row), *name.split()])
