"""A page as the sequence of its leaves: what the search for repeated structure works on.

    leaf         a chunk of text, or a line of one where the page keeps its line breaks (<pre>)
    path         the tags (and classes) from <html> down to the row of a leaf, as one number, the same on every page
    separators   the tags without text (<hr>, <br>, <img> …) between a leaf and the one before it, as one number

Whatever is asked of a region of the page is then asked of a range of leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from upwell.page.compiled import compiled
from upwell.page.spots import GLUED, STATED, look
from upwell.page.tree import Ints, TagTree

__all__ = ["MIN_REPEATED_CHARS", "SEPARATOR_TAGS", "Hashes", "Leaves", "leaves_of", "step_of"]

Hashes = NDArray[np.uint64]
MAX_CONTAINER_DEPTH = 64  # deeper containers hold no list; the paths of leaves below still count in full
# A text of at least this many characters that stands twice in a record is said once.
MIN_REPEATED_CHARS = 5  # swept: 2, 5, 8, 12, 20 on answers/*
SEPARATOR_TAGS = ("hr", "br", "img", "p", "a")  # tags that separate records where they stand without text
LINE_BREAK = np.uint64(1 << 2 * SEPARATOR_TAGS.index("br"))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of one page; built by `leaves_of`. The leaves of row r are row_start[r] … row_end[r]."""

    tree: TagTree
    texts: tuple[str, ...]
    row: Ints  # for each leaf, the row that it stands in
    row_start: Ints
    row_end: Ints
    chunk: Ints  # the chunk that each leaf is, or is a line of

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def are_chunks(self) -> bool:
        """Whether each leaf is a whole chunk: no chunk of the page keeps its line breaks."""
        return self.texts is self.tree.chunks

    @cached_property
    def tag_paths(self) -> Hashes:
        """For each row, its path of tags."""
        return self.tree.spot_set.tagged[self.tree.spot]

    @cached_property
    def class_paths(self) -> Hashes:
        """For each row, its path of tags and classes."""
        return self.tree.spot_set.classed[self.tree.spot]

    @cached_property
    def layout_paths(self) -> Hashes:
        """For each row, its path of tags without those that only change how a piece of text looks."""
        return self.tree.spot_set.plain[self.tree.spot]

    @cached_property
    def separators_before(self) -> Hashes:
        """The separators before each leaf: two bits for each of `SEPARATOR_TAGS` say how many, none counted past two."""
        found = np.zeros(len(self) + 1, dtype=np.uint64)
        for k, name in enumerate(SEPARATOR_TAGS):
            rows = self.tree.rows(name)
            at = self.row_start[rows[self.row_start[rows] == self.row_end[rows]]]
            if len(at):
                found += np.minimum(np.bincount(at, minlength=len(self) + 1), 2).astype(np.uint64) << np.uint64(2 * k)
        if len(self) > len(self.tree.chunks):  # a line of plain text begins as after a <br>
            found[1:-1][self.chunk[1:] == self.chunk[:-1]] = found[self.row_start[self.tree.rows("pre")]] = LINE_BREAK
        return found[:-1]

    @cached_property
    def in_heading_row(self) -> NDArray[np.bool_] | None:
        """Which leaves stand in table rows that have only <th>: names of columns, or of a group of rows; None where no leaf does."""
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
        """The path of tags of each leaf, numbered from 0 on this page."""
        return np.unique(self.tag_paths[self.row], return_inverse=True)[1].astype(np.int32)

    @cached_property
    def is_linked(self) -> NDArray[np.bool_]:
        """Which leaves are the text of a link."""
        tree = self.tree
        rows = tree.rows("a")
        if len(rows):
            targets = tree.having("href")
            rows = rows[[row in targets for row in rows.tolist()]]
        steps = np.zeros(len(tree) + 1, dtype=np.int32)
        steps[rows] += 1
        np.subtract.at(steps, tree.end[rows], 1)
        return (np.cumsum(steps[:-1]) > 0)[self.row]

    @cached_property
    def max_depth(self) -> int:
        """The depth of the deepest containers that are looked at."""
        return min(MAX_CONTAINER_DEPTH, int(self.tree.depth[self.row].max(initial=0)))

    def ancestors_at(self, depth: int) -> Ints:
        """For each leaf, its own row or the row above it at a depth; -1 for leaves that are not so deep."""
        rows = np.flatnonzero(self.tree.depth == depth).astype(np.int32)
        if not len(rows):
            return np.full(len(self), -1, dtype=np.int32)
        found = rows[np.maximum(0, np.searchsorted(rows, self.row, side="right") - 1)]
        return np.where((found <= self.row) & (self.row < self.tree.end[found]), found, np.int32(-1))

    def text(self, start: int, end: int) -> str:
        """The text of a range of leaves on one line; what the page says twice (for another size of screen) is said once."""
        if self.for_compiled is not None and self.are_chunks:
            return self.for_compiled.text(start, end, MIN_REPEATED_CHARS)
        return self.plain_text(start, end)

    def plain_text(self, start: int, end: int) -> str:
        """The same without the compiled parts."""
        texts, is_glued = self.texts, self._is_glued
        said: set[str] = set()
        pieces: list[str] = []
        for i in range(start, end):
            text = texts[i]
            if len(text) >= MIN_REPEATED_CHARS:
                if text in said:
                    continue
                said.add(text)
            pieces.append(text if is_glued[i] else " " + text)
        text = "".join(pieces)
        return text.strip() if self.are_chunks else " ".join(text.split())

    @cached_property
    def stripped(self) -> Sequence[str]:
        """The texts without white space around them, as lines of <pre> may have it."""
        return self.texts if self.are_chunks else [text.strip() for text in self.texts]

    @cached_property
    def for_compiled(self) -> "compiled.Leaves | None":
        """The same leaves for the compiled parts, where there are any."""
        if compiled is None:
            return None
        tree, gaps = self.tree, self.tree.chunk_gap[self.chunk]
        return compiled.Leaves(
            self.stripped, self.row, gaps, tree.spots, tree.spot, tree.parent, tree.end, self.row_start, self.row_end
        )

    @cached_property
    def rows(self) -> list[int]:
        """The row of each leaf, as a list."""
        return self.row.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def gaps(self) -> list[int]:
        """What stands before the chunk of each leaf: GLUED, SPACED or BROKEN."""
        return self.tree.chunk_gap[self.chunk].tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def _is_glued(self) -> list[bool]:
        """Which leaves continue the word of the leaf before; a line of a chunk never does."""
        is_glued = [gap == GLUED for gap in self.gaps]
        if len(self) > len(self.tree.chunks):
            for i in np.flatnonzero(self.chunk[1:] == self.chunk[:-1]).tolist():
                is_glued[i + 1] = False
        return is_glued


def leaves_of(tree: TagTree) -> Leaves:
    """The leaves of a page; their paths are computed when they are asked for."""
    keeps_breaks = _keeps_line_breaks(tree)
    if keeps_breaks is None:
        all_chunks = np.arange(len(tree.chunks), dtype=np.int32)
        return Leaves(tree, tree.chunks, tree.chunk_row, tree.text_at, tree.text_end, all_chunks)
    lines = [_lines(chunk) if keep else [chunk] for chunk, keep in zip(tree.chunks, keeps_breaks, strict=True)]
    sizes = np.fromiter(map(len, lines), np.int32, len(lines))
    before = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    chunk_of = np.repeat(np.arange(len(lines), dtype=np.int32), sizes)
    texts = tuple(text for chunk_lines in lines for text in chunk_lines)
    return Leaves(tree, texts, tree.chunk_row[chunk_of], before[tree.text_at], before[tree.text_end], chunk_of)


def _keeps_line_breaks(tree: TagTree) -> list[bool] | None:
    """For each chunk, whether it keeps its line breaks; None where no element of the page does."""
    keeps_breaks = tree.spot_set.keeps_breaks
    if keeps_breaks is None:
        return None
    found: list[bool] = keeps_breaks[tree.spot[tree.chunk_row]].tolist()
    return found


def _lines(chunk: str) -> list[str]:
    return [line for line in chunk.split("\n") if line.strip()]


def step_of(tree: TagTree, row: int, classes: bool) -> str:
    """A row as a step of a readable path: `div` or `div.result`."""
    name = look(tree.classes[int(tree.cls[row])]) if classes and tree.name(row) not in STATED else ""
    return ".".join([tree.name(row), *name.split()])
