"""Groups of records with headings: a heading belongs to the records after it, not to the one before it.

heading   a leaf in <h1> … <h6>, <th>, <caption> and the like that stands right before a record and in none of the records' own texts
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from upwell.extract.cut_candidates import Cut
from upwell.extract.leaves import Leaves

__all__ = ["GROUP", "groups_of", "learn_heading"]

GROUP = "group"  # the name of the field
HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6", "th", "caption", "legend", "summary")
MIN_PAGES_SHARE = (
    0.2  # of the answers that show a heading between records; not swept: an answer may have one group only
)


def learn_heading(pages: Sequence[tuple[Leaves, Cut]]) -> int:
    """The path of tags and classes at which headings of groups stand; 0 where records have no groups.

    The leaf before the first record stands where the one before some later record does, but not before all of them: that would be
    the end of every record.
    """
    votes: Counter[int] = Counter()
    for leaves, cut in pages:
        before = _paths_before(leaves, cut)
        first, later = before[:1], before[1:]
        often = sum(path == first[0] for path in later) if first else 0
        if first and first[0] and 0 < often < len(later):
            votes[first[0]] += 1
    path, count = max(votes.items(), key=lambda vote: (vote[1], vote[0]), default=(0, 0))
    return path if count and count >= MIN_PAGES_SHARE * len(pages) else 0


def groups_of(leaves: Leaves, cut: Cut, heading: int) -> tuple[Cut, list[str]]:
    """The cut without headings at the ends of records, and the heading above each record ("" where there is none)."""
    if not heading:
        return cut, [""] * len(cut)
    is_heading = _heading_paths(leaves) == np.uint64(heading)
    places = np.flatnonzero(is_heading).tolist()
    ends = cut.ends.copy()
    for i, (start, end) in enumerate(zip(cut.starts.tolist(), ends.tolist(), strict=True)):
        while end - 1 > start and is_heading[end - 1]:
            end -= 1
        ends[i] = end
    above: list[str] = []
    for start in cut.starts.tolist():
        known = [place for place in places if place < start]
        above.append(leaves.texts[known[-1]].strip() if known else "")
    return replace(cut, ends=ends), above


def _paths_before(leaves: Leaves, cut: Cut) -> list[int]:
    """For each record the path of the leaf right before it, 0 where that is no heading."""
    paths = _heading_paths(leaves)
    starts = cut.starts.tolist()
    own = set(paths[starts].tolist())  # what records begin with
    return [int(paths[start - 1]) if start and int(paths[start - 1]) not in own else 0 for start in starts]


def _heading_paths(leaves: Leaves) -> NDArray[np.uint64]:
    """The path of each leaf in a heading, 0 for the others."""
    steps = np.zeros(len(leaves) + 1, dtype=np.int32)
    rows = leaves.tree.rows(*HEADING_TAGS)
    np.add.at(steps, leaves.row_start[rows], 1)
    np.subtract.at(steps, leaves.row_end[rows], 1)
    inside = np.cumsum(steps)[:-1] > 0
    return np.where(inside, leaves.class_paths[leaves.row], np.uint64(0))
