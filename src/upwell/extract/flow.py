"""The flow of a text: the lines that stand side by side once paragraphs, headings, lists, quotes and table rows are seen through.

What a writer types has only such elements. What a template puts between (related links, sharing, a newsletter) comes in a block of
its own. So a list of links belongs to the text where it stands in the flow of the text, and not where it has a block for itself.
"""

import numpy as np
from numpy.typing import NDArray

from upwell.extract.line_features import FEATURES
from upwell.extract.lines import IN_FLOW, IS_CELL, Floats, Lines
from upwell.page.tree import Ints, TagTree

__all__ = ["flow_rows", "heads_nothing", "kept_share", "runs_on"]

# Where most of a flow is text, the rest is too; swept: 0.5, 0.7, no difference
MIN_KEPT_SHARE = 0.5
# What sets a line apart from the flow that it stands in.
SET_APART = [
    FEATURES.index(name) for name in ("in_control", "in_aside", "in_figure", "named_caption", "date", "byline")
]
LISTED = [FEATURES.index(name) for name in ("in_list", "cell")]
IN_FIGURE, IN_CONTROL, IN_LIST, CELL, HEADING = (
    FEATURES.index(name) for name in ("in_figure", "in_control", "in_list", "cell", "heading")
)

Bools = NDArray[np.bool_]


def flow_rows(tree: TagTree, lines: Lines) -> Ints:
    """The row whose flow each line is in; a cell with one line is text, one with more is a place of its own (as in layout tables)."""
    is_text = lines.codes & IN_FLOW > 0
    cells = np.flatnonzero(lines.codes & IS_CELL)
    if len(cells):
        count = np.searchsorted(lines.first, tree.text_end[cells]) - np.searchsorted(lines.first, tree.text_at[cells])
        is_text[cells[count <= 1]] = True
    is_text[0] = False
    row = lines.row
    while np.any(is_inside := is_text[row]):
        row = np.where(is_inside, tree.parent[row], row)
    return row


def kept_share(flow: Ints, lines: Lines, is_kept: Bools) -> Floats:
    """For each line, the share of the characters of its flow that are kept."""
    kept = np.bincount(flow, lines.chars * is_kept)
    return np.asarray((kept / np.maximum(np.bincount(flow, lines.chars), 1))[flow])


def runs_on(flow: Ints, lines: Lines, x: Floats, is_kept: Bools, is_prose: Bools) -> Bools:
    """Which lines belong to the text because of where they stand: in its flow, or as a caption between its paragraphs.

    Of lines that are links only those of lists and tables after the first paragraph: alone they are related pages.
    """
    prose = np.flatnonzero(is_kept & is_prose)
    if not len(prose):
        return np.zeros(len(lines), dtype=bool)
    at = np.arange(len(lines))
    first, last = np.full(int(flow.max()) + 1, len(lines)), np.full(int(flow.max()) + 1, -1)
    np.minimum.at(first, flow[prose], prose)
    np.maximum.at(last, flow[prose], prose)
    is_after = at > first[flow]
    is_listed = is_after & ((x[:, IN_LIST] > 0) | ((x[:, CELL] > 0) & (at < last[flow])))
    in_flow = (kept_share(flow, lines, is_kept) > MIN_KEPT_SHARE) & ~np.any(x[:, SET_APART] > 0, axis=1)
    is_caption = (x[:, IN_FIGURE] > 0) & (x[:, IN_CONTROL] == 0) & (at > prose[0]) & (at < prose[-1])
    is_plain = lines.linked < 0.5
    return np.asarray((in_flow & (is_plain | is_listed)) | (is_caption & is_plain))


def heads_nothing(x: Floats, is_kept: Bools) -> Ints:
    """The kept headings that no kept line follows (`See also` over links); captions and the like between do not count."""
    left = is_kept.copy()
    is_apart = np.any(x[:, SET_APART] > 0, axis=1)
    for i in np.flatnonzero(is_kept & (x[:, HEADING] > 0))[::-1].tolist():
        after = i + 1
        while after < len(left) and is_apart[after]:
            after += 1
        left[i] = after < len(left) and left[after]
    return np.flatnonzero(is_kept & ~left).astype(np.int32)
