"""A page as the sequence of its leaves: what the search for repeated structure works on.

    leaf     a chunk of text, or a line of one where the page keeps its line breaks (<pre>)
    path     the tags (and classes) from <html> down to the row of a leaf, as one number, equal on every page
    above    for each leaf, the row above it at every depth: the column d holds the containers of depth d
    before   the tags without text (<hr>, <br>, <img> …) between a leaf and the one before it, as one number

Everything that is asked of a region of the page is then asked of a range of leaves.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from upwell.page.tree import FORMATTING, KEEPS_SPACE, Ints, TagTree

__all__ = ["Hashes", "Leaves", "fold", "of", "step_of"]

Hashes = NDArray[np.uint64]
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: spreads the bits of what it multiplies
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
    tagged: Hashes  # for each row, its path of tags …
    classed: Hashes  # … of tags and classes …
    plain: Hashes  # … of tags that do not only change how a piece of text looks
    before: Hashes

    def __len__(self) -> int:
        return len(self.texts)

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
    def above(self) -> Ints:
        """Rows above each leaf by depth (leaf, depth): -1 below the leaf's own row."""
        tree = self.tree
        deepest = min(MAX_DEPTH, int(tree.depth[self.row].max(initial=0)) + 1)
        found = np.full((len(self), deepest + 1), -1, dtype=np.int32)
        row, place = self.row.copy(), np.arange(len(self))
        while len(row):
            depth = tree.depth[row]
            shallow = depth <= deepest
            found[place[shallow], depth[shallow]] = row[shallow]
            row = tree.parent[row]
            place, row = place[row >= 0], row[row >= 0]
        return found

    def text(self, first: int, last: int) -> str:
        """The text of a range of leaves, on one line; what is said twice (for another size of screen) is said once."""
        tree, pieces = self.tree, []
        said: set[str] = set()
        for i in range(first, last):
            text = self.texts[i]
            if len(text) >= TWICE:
                if text in said:
                    continue
                said.add(text)
            chunk = int(self.chunk[i])
            glued = i > first and tree.chunk_gap[chunk] == 0 and self.chunk[i - 1] != chunk
            pieces.append(text if glued or i == first else " " + text)
        return " ".join("".join(pieces).split())

    def targets(self, first: int, last: int) -> tuple[str, ...]:
        """Where the links of a range of leaves lead to, as the page writes it."""
        rows = self._links[np.searchsorted(self.at[self._links], first) : np.searchsorted(self.at[self._links], last)]
        return tuple(self.tree.attr(int(row), "href") or "" for row in rows)

    @cached_property
    def _links(self) -> Ints:
        rows = self.tree.rows("a")
        return rows[[self.tree.attr(int(row), "href") is not None for row in rows]] if len(rows) else rows

    @cached_property
    def chunk(self) -> Ints:
        """The chunk that each leaf is, or is a line of."""
        return np.searchsorted(self._first_leaf, np.arange(len(self)), side="right").astype(np.int32) - 1

    @cached_property
    def _first_leaf(self) -> Ints:
        counts = [len(_lines(c)) if k else 1 for c, k in zip(self.tree.chunks, self._kept, strict=True)]
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)[:-1]

    @cached_property
    def _kept(self) -> list[bool]:
        return _keeps_space(self.tree)


def of(tree: TagTree) -> Leaves:
    """The leaves of a page with their paths."""
    kept = _keeps_space(tree)
    texts: list[str] = []
    chunk_of: list[int] = []
    for i, (chunk, keep) in enumerate(zip(tree.chunks, kept, strict=True)):
        lines = _lines(chunk) if keep else [chunk]
        texts += lines
        chunk_of += [i] * len(lines)
    leaf_of_chunk = np.searchsorted(np.array(chunk_of, dtype=np.int32), np.arange(len(tree.chunks) + 1)).astype(
        np.int32
    )
    row = tree.chunk_row[chunk_of] if chunk_of else np.zeros(0, dtype=np.int32)
    tagged, classed, plain = _paths(tree)
    at, end = leaf_of_chunk[tree.text_at], leaf_of_chunk[tree.text_end]
    return Leaves(tree, tuple(texts), row, at, end, tagged, classed, plain, _before(tree, at, end, len(texts)))


def _keeps_space(tree: TagTree) -> list[bool]:
    rows = tree.rows(*KEEPS_SPACE)
    if not len(rows):
        return [False] * len(tree.chunks)
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


def fold(path: str) -> int:
    """The number of a readable path, as `Leaves` has it."""
    value = np.zeros(1, dtype=np.uint64)
    for step in path.split("/"):
        tag, *names = step.split(".")
        value = _mix(value, np.array([_code(tag) ^ (_code(" ".join(names)) << 32)], dtype=np.uint64))
    return int(value[0])


def _mix(above: Hashes, step: Hashes) -> Hashes:
    mixed = (above ^ step) * MIX
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def _paths(tree: TagTree) -> tuple[Hashes, Hashes, Hashes]:
    """The paths of all rows, level by level: tags; tags and classes; tags without formatting."""
    empty = np.uint64(_code("") << 32)
    tag = np.array([_code(name) for name in tree.tags], dtype=np.uint64)[tree.tag]
    cls = np.array([_code(look(name)) << 32 for name in tree.classes], dtype=np.uint64)[tree.cls]
    cls[tree.rows(*STATED)] = empty
    bare = np.array([name in FORMATTING for name in tree.tags], dtype=bool)[tree.tag]
    tagged, classed, plain = (np.zeros(len(tree), dtype=np.uint64) for _ in range(3))
    order = np.argsort(tree.depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(tree.depth[order])) + 1) if len(tree) else []
    for rows in levels:
        above = tree.parent[rows]
        top = above < 0
        for path, step in ((tagged, tag[rows] ^ empty), (classed, tag[rows] ^ cls[rows]), (plain, tag[rows] ^ empty)):
            up = np.where(top, np.uint64(0), path[above])
            path[rows] = _mix(up, step)
            if path is plain:
                path[rows] = np.where(bare[rows] & ~top, up, path[rows])
    return tagged, classed, plain


def _before(tree: TagTree, at: Ints, end: Ints, leaves: int) -> Hashes:
    """What stands alone before each leaf: how many <hr>, <br>, <img> …, none counted past two."""
    found = np.zeros(leaves + 1, dtype=np.uint64)
    for k, name in enumerate(PARTS):
        rows = tree.rows(name)
        rows = rows[at[rows] == end[rows]]
        found += np.minimum(np.bincount(at[rows], minlength=leaves + 1), 2).astype(np.uint64) << np.uint64(2 * k)
    return found[:leaves]
