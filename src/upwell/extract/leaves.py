"""A page as the sequence of its leaves: what the search for repeated structure works on.

    leaf     a chunk of text, or a line of one where the page keeps its line breaks (<pre>)
    path     the tags (and classes) from <html> down to the row of a leaf, as one number, equal on every page
    above    for each leaf, the row above it at a depth: the containers of that depth
    before   the tags without text (<hr>, <br>, <img> …) between a leaf and the one before it, as one number

Everything that is asked of a region of the page is then asked of a range of leaves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import GLUED, KEPT, STATED, look
from upwell.page.tree import Ints, TagTree

__all__ = ["Hashes", "Leaves", "of", "step_of"]

Hashes = NDArray[np.uint64]
MAX_DEPTH = 64  # deeper containers hold no list; the paths of leaves below still count in full
TWICE = 5  # characters from which a text counts as said twice; swept: 2, 5, 8, 12, 20 on answers/*
PARTS = ("hr", "br", "img", "p", "a")  # tags that part matches when they stand alone
LINE = np.uint64(1 << 2 * PARTS.index("br"))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of one page; built by `of`."""

    tree: TagTree
    texts: tuple[str, ...]
    row: Ints
    at: Ints  # for each row, how many leaves stand before its subtree …
    end: Ints  # … and before its end
    chunk: Ints  # the chunk that each leaf is, or is a line of

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def tagged(self) -> Hashes:
        """For each row, its path of tags …"""
        return self.tree.by_spot([spot.tagged for spot in self.tree.spots], np.uint64)

    @cached_property
    def classed(self) -> Hashes:
        """… of tags and classes …"""
        return self.tree.by_spot([spot.classed for spot in self.tree.spots], np.uint64)

    @cached_property
    def plain(self) -> Hashes:
        """… of tags that do not only change how a piece of text looks."""
        return self.tree.by_spot([spot.plain for spot in self.tree.spots], np.uint64)

    @cached_property
    def before(self) -> Hashes:
        """What stands alone before each leaf: how many <hr>, <br>, <img> …, none counted past two."""
        found = np.zeros(len(self) + 1, dtype=np.uint64)
        for k, name in enumerate(PARTS):
            rows = self.tree.rows(name)
            at = self.at[rows[self.at[rows] == self.end[rows]]]
            if len(at):
                found += np.minimum(np.bincount(at, minlength=len(self) + 1), 2).astype(np.uint64) << np.uint64(2 * k)
        if len(self) > len(self.tree.chunks):  # a line of plain text begins as after a <br>
            found[1:-1][self.chunk[1:] == self.chunk[:-1]] = found[self.at[self.tree.rows("pre")]] = LINE
        return found[:-1]

    @cached_property
    def heads(self) -> NDArray[np.bool_]:
        """Which leaves stand in table rows that have headings only: names of columns, or of a group of rows."""
        tree = self.tree
        steps = np.zeros(len(self) + 1, dtype=np.int32)
        headings = tree.rows("th")
        if not len(headings):
            return steps[:-1] > 0
        rows = np.setdiff1d(tree.parent[headings], tree.parent[tree.rows("td")])
        np.add.at(steps, self.at[rows], 1)
        np.subtract.at(steps, self.end[rows], 1)
        return np.asarray(np.cumsum(steps)[:-1] > 0)

    @cached_property
    def chars(self) -> Ints:
        """Characters of each leaf."""
        return np.fromiter(map(len, self.texts), np.int32, len(self.texts))

    @cached_property
    def path_code(self) -> Ints:
        """The path of tags of each leaf, numbered from 0 on this page."""
        return np.unique(self.tagged[self.row], return_inverse=True)[1].astype(np.int32)

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """Which leaves are the text of a link."""
        tree = self.tree
        rows = self._links
        steps = np.zeros(len(tree) + 1, dtype=np.int32)
        steps[rows] += 1
        np.subtract.at(steps, tree.end[rows], 1)
        return (np.cumsum(steps[:-1]) > 0)[self.row]

    @cached_property
    def depth(self) -> int:
        """The depth of the deepest containers that are looked at."""
        return min(MAX_DEPTH, int(self.tree.depth[self.row].max(initial=0)))

    def above(self, depth: int) -> Ints:
        """The row above each leaf at a depth, or its own: -1 for leaves that are not so deep."""
        rows = np.flatnonzero(self.tree.depth == depth).astype(np.int32)
        if not len(rows):
            return np.full(len(self), -1, dtype=np.int32)
        found = rows[np.maximum(0, np.searchsorted(rows, self.row, side="right") - 1)]
        return np.where((found <= self.row) & (self.row < self.tree.end[found]), found, np.int32(-1))

    def text(self, first: int, last: int) -> str:
        """The text of a range of leaves, on one line; what is said twice (for another size of screen) is said once."""
        texts, glued = self.texts, self._glued
        said: set[str] = set()
        pieces: list[str] = []
        for i in range(first, last):
            text = texts[i]
            if len(text) >= TWICE:
                if text in said:
                    continue
                said.add(text)
            pieces.append(text if glued[i] else " " + text)
        text = "".join(pieces)
        return text.strip() if self.texts is self.tree.chunks else " ".join(text.split())

    @cached_property
    def rows(self) -> list[int]:
        """The row of each leaf, as a list."""
        return self.row.tolist()  # type: ignore[no-any-return]

    @cached_property
    def gaps(self) -> list[int]:
        """What stands before the chunk of each leaf."""
        return self.tree.chunk_gap[self.chunk].tolist()  # type: ignore[no-any-return]

    @cached_property
    def _glued(self) -> list[bool]:
        """Which leaves go on with the word of the leaf before; a line of a chunk never does."""
        glued = [gap == GLUED for gap in self.gaps]
        if len(self) > len(self.tree.chunks):
            for i in np.flatnonzero(self.chunk[1:] == self.chunk[:-1]).tolist():
                glued[i + 1] = False
        return glued

    @cached_property
    def _links(self) -> Ints:
        rows = self.tree.rows("a")
        return rows[[self.tree.attr(int(row), "href") is not None for row in rows]] if len(rows) else rows


def of(tree: TagTree) -> Leaves:
    """The leaves of a page; their paths are worked out when they are asked for."""
    kept = _keeps_space(tree)
    if kept is None:
        row, all_chunks = tree.chunk_row, np.arange(len(tree.chunks), dtype=np.int32)
        return Leaves(tree, tree.chunks, row, tree.text_at, tree.text_end, all_chunks)
    lines = [_lines(chunk) if keep else [chunk] for chunk, keep in zip(tree.chunks, kept, strict=True)]
    size = np.fromiter(map(len, lines), np.int32, len(lines))
    first = np.concatenate(([0], np.cumsum(size))).astype(np.int32)
    chunk_of = np.repeat(np.arange(len(lines), dtype=np.int32), size)
    texts = tuple(text for some in lines for text in some)
    return Leaves(tree, texts, tree.chunk_row[chunk_of], first[tree.text_at], first[tree.text_end], chunk_of)


def _keeps_space(tree: TagTree) -> list[bool] | None:
    """Which chunks keep their line breaks; None where the page has no such element."""
    if not any(spot.shown == KEPT for spot in tree.spots):
        return None
    found: list[bool] = tree.by_spot([spot.shown == KEPT for spot in tree.spots], np.bool_)[tree.chunk_row].tolist()
    return found


def _lines(chunk: str) -> list[str]:
    return [line for line in chunk.split("\n") if line.strip()]


def step_of(tree: TagTree, row: int, classes: bool) -> str:
    """A row as a step of a readable path: `div` or `div.result`."""
    name = look(tree.classes[int(tree.cls[row])]) if classes and tree.name(row) not in STATED else ""
    return ".".join([tree.name(row), *name.split()])
