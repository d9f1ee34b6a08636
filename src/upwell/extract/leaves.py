"""A page as the sequence of its leaves: what the search for repeated structure works on.

    leaf     a chunk of text, or a line of one where the page keeps its line breaks (<pre>)
    path     the tags (and classes) from <html> down to the row of a leaf, as one number, equal on every page
    above    for each leaf, the row above it at a depth: the containers of that depth
    before   the tags without text (<hr>, <br>, <img> …) between a leaf and the one before it, as one number

Everything that is asked of a region of the page is then asked of a range of leaves.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from upwell.page.tree import FORMATTING, GLUED, KEEPS_SPACE, Ints, TagTree

__all__ = ["Hashes", "Leaves", "fold", "of", "step_of"]

Hashes = NDArray[np.uint64]
MIX, FULL = 0x9E3779B97F4A7C15, 2**64 - 1  # 2^64 divided by the golden ratio: spreads the bits of what it multiplies
MAX_DEPTH = 64  # deeper containers hold no list; the paths of leaves below still count in full
TWICE = 5  # characters from which a text counts as said twice; swept: 2, 5, 8, 12, 20 on answers/*
STATED = ("html", "body")  # their classes say what the browser can do and who is looking, not where a row stands
PARTS = ("hr", "br", "img", "p", "a")  # tags that part matches when they stand alone


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
        return _paths(self.tree, classes=False)

    @cached_property
    def classed(self) -> Hashes:
        """… of tags and classes …"""
        return _paths(self.tree, classes=True)

    @cached_property
    def plain(self) -> Hashes:
        """… of tags that do not only change how a piece of text looks."""
        return _paths(self.tree, classes=False, skipped=FORMATTING)

    def classed_at(self, rows: Ints) -> Hashes:
        """The paths of tags and classes of a few rows, without those of all others."""
        if "classed" in self.__dict__:
            return self.classed[rows]
        tree, known = self.tree, {-1: 0}
        found = []
        for row in rows.tolist():
            chain = []
            while row not in known:
                chain.append(row)
                row = int(tree.parent[row])
            path = known[row]
            for below in reversed(chain):
                tag = tree.tags[tree.tag[below]]
                cls = look(tree.classes[tree.cls[below]]) if tag not in STATED else ""
                path = known[below] = _mix(path, _code(tag) ^ (_code(cls) << 32))
            found.append(path)
        return np.array(found, dtype=np.uint64)

    @cached_property
    def before(self) -> Hashes:
        """What stands alone before each leaf: how many <hr>, <br>, <img> …, none counted past two."""
        found = np.zeros(len(self) + 1, dtype=np.uint64)
        for k, name in enumerate(PARTS):
            rows = self.tree.rows(name)
            at = self.at[rows[self.at[rows] == self.end[rows]]]
            if len(at):
                found += np.minimum(np.bincount(at, minlength=len(self) + 1), 2).astype(np.uint64) << np.uint64(2 * k)
        return found[:-1]

    @cached_property
    def heads(self) -> NDArray[np.bool_]:
        """Which leaves stand in table rows that have headings only: names of columns, or of a group of rows."""
        tree = self.tree
        rows = np.setdiff1d(tree.parent[tree.rows("th")], tree.parent[tree.rows("td")])
        steps = np.zeros(len(self) + 1, dtype=np.int32)
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
        return " ".join("".join(pieces).split())

    @cached_property
    def _glued(self) -> list[bool]:
        """Which leaves go on with the word of the leaf before; a line of a chunk never does."""
        found = self.tree.chunk_gap[self.chunk] == GLUED
        found[1:] &= self.chunk[1:] != self.chunk[:-1]
        glued: list[bool] = found.tolist()
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
    rows = tree.rows(*KEEPS_SPACE)
    if not len(rows):
        return None
    steps = np.zeros(len(tree) + 1, dtype=np.int32)
    steps[rows] += 1
    np.subtract.at(steps, tree.end[rows], 1)
    found: list[bool] = (np.cumsum(steps[:-1]) > 0)[tree.chunk_row].tolist()
    return found


def _lines(chunk: str) -> list[str]:
    return [line for line in chunk.split("\n") if line.strip()]


@cache
def _code(name: str) -> int:
    return crc32(name.encode("utf-8", "replace"))


@cache
def look(name: str) -> str:
    """A class without what only numbers or marks it: names with digits are left out, the rest sorted."""
    return " ".join(sorted(part for part in name.split() if not any(c.isdigit() or c in "./" for c in part)))


def step_of(tree: TagTree, row: int, classes: bool) -> str:
    """A row as a step of a readable path: `div` or `div.result`."""
    name = look(tree.classes[int(tree.cls[row])]) if classes and tree.name(row) not in STATED else ""
    return ".".join([tree.name(row), *name.split()])


@lru_cache(maxsize=20_000)
def fold(path: str) -> int:
    """The number of a readable path, as `Leaves` has it."""
    value = 0
    for step in path.split("/"):
        tag, *names = step.split(".")
        value = _mix(value, _code(tag) ^ (_code(" ".join(names)) << 32))
    return value


@lru_cache(maxsize=100_000)
def _mix(above: int, step: int) -> int:
    mixed = ((above ^ step) * MIX) & FULL
    return mixed ^ (mixed >> 29)


def _paths(tree: TagTree, *, classes: bool, skipped: Collection[str] = ()) -> Hashes:
    """The paths of all rows: each is its parent's and one step more, or its parent's alone where the tag is skipped."""
    kinds = len(tree.classes) if classes else 1
    pairs = (tree.tag.astype(np.int64) * kinds + tree.cls if classes else tree.tag).tolist()
    steps: dict[int, int | None] = {}
    for pair in set(pairs):
        tag = tree.tags[pair // kinds]
        cls = look(tree.classes[pair % kinds]) if classes and tag not in STATED else ""
        steps[pair] = None if tag in skipped else _code(tag) ^ (_code(cls) << 32)
    paths: list[int] = []
    known: dict[tuple[int, int], int] = {}
    for parent, pair in zip(tree.parent.tolist(), pairs, strict=True):
        above = paths[parent] if parent >= 0 else 0
        path = known.get((above, pair))
        if path is None:
            step = steps[pair]
            path = above if step is None and parent >= 0 else _mix(above, step or 0)
            known[above, pair] = path
        paths.append(path)
    return np.array(paths, dtype=np.uint64)
