"""The flow of a text: the lines that stand side by side once paragraphs, headings, lists, quotes and table rows are seen through.

What a writer types has only such elements. What a template puts between (related links, sharing, a newsletter) comes in a block of
its own. So a list of links belongs to the text where it stands in the flow of the text, and not where it has a block for itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from upwell.extract.line_features import FEATURES
from upwell.extract.lines import IN_FLOW, IS_CELL, Floats, Lines
from upwell.page.tree import Ints, TagTree

__all__ = ["Bools", "Flow", "flow_of", "heads_nothing", "runs_on"]

# Where most of a flow is text, the rest is too; swept: 0.5, 0.7, no difference
MIN_KEPT_SHARE = 0.5
# What sets a line apart from the flow that it stands in.
SET_APART = [
    FEATURES.index(name) for name in ("in_control", "in_aside", "in_figure", "named_caption", "date", "byline")
]
IN_FIGURE, IN_CONTROL, IN_LIST, CELL, HEADING = (
    FEATURES.index(name) for name in ("in_figure", "in_control", "in_list", "cell", "heading")
)

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Flow:
    """The flows of a page, and how its lines stand in them."""

    row: Ints  # whose flow each line is in
    chars: Floats  # of the lines in the flow of each row, at least 1
    is_apart: Bools  # lines that something sets apart from their flow
    in_list: Bools
    in_cell: Bools

    def is_mostly(self, lines: Lines, is_kept: Bools) -> Bools:
        """For each line, whether most of the characters of its flow are kept."""
        kept = np.bincount(self.row, lines.chars * is_kept)
        return np.asarray((kept / self.chars > MIN_KEPT_SHARE)[self.row])


def flow_of(tree: TagTree, lines: Lines, x: Floats) -> Flow:
    """The flows of a page from its lines and their features."""
    row = _flow_rows(tree, lines)
    chars = np.maximum(np.bincount(row, lines.chars), 1)
    return Flow(row, chars, np.any(x[:, SET_APART] > 0, axis=1), x[:, IN_LIST] > 0, x[:, CELL] > 0)


def _flow_rows(tree: TagTree, lines: Lines) -> Ints:
    """The row whose flow each line is in; a cell with one line is text, one with more is a place of its own (as in layout tables)."""
    is_text = lines.codes & IN_FLOW > 0
    cells = (lines.codes & IS_CELL).nonzero()[0]
    if len(cells):
        count = np.searchsorted(lines.first, tree.text_end[cells]) - np.searchsorted(lines.first, tree.text_at[cells])
        is_text[cells[count <= 1]] = True
    is_text[:1] = False
    row = lines.row
    while (is_inside := is_text[row]).any():
        row = np.where(is_inside, tree.parent[row], row)
    return row


def runs_on(flow: Flow, lines: Lines, x: Floats, is_kept: Bools, is_prose: Bools) -> Bools:
    """Which lines belong to the text because of where they stand: in its flow, or as a caption between its paragraphs.

    Of lines that are links only those of lists and tables after the first paragraph: alone they are related pages.
    """
    prose = (is_kept & is_prose).nonzero()[0]
    if not len(prose):
        return np.zeros(len(lines), dtype=bool)
    at = np.arange(len(lines))
    first, last = np.full(len(flow.chars), len(lines)), np.full(len(flow.chars), -1)
    rows = flow.row[prose]
    first[rows[::-1]], last[rows] = prose[::-1], prose  # of several lines of one flow the last one given stays
    is_listed = (at > first[flow.row]) & (flow.in_list | (flow.in_cell & (at < last[flow.row])))
    in_flow = flow.is_mostly(lines, is_kept) & ~flow.is_apart
    is_caption = (x[:, IN_FIGURE] > 0) & (x[:, IN_CONTROL] == 0) & (at > prose[0]) & (at < prose[-1])
    is_plain = lines.linked < 0.5
    return np.asarray((in_flow & (is_plain | is_listed)) | (is_caption & is_plain))


def heads_nothing(flow: Flow, x: Floats, is_kept: Bools) -> list[int]:
    """The kept headings that no kept line follows (`See also` over links); captions and the like between do not count."""
    heads: list[int] = []
    left = is_kept.copy()
    for i in (is_kept & (x[:, HEADING] > 0)).nonzero()[0][::-1].tolist():
        after = i + 1
        while after < len(left) and flow.is_apart[after]:
            after += 1
        if after == len(left) or not left[after]:
            left[i] = False
            heads.append(i)
    return heads
