"""Marks inside words: a span in running text that a browser shows without a gap, as `<span>Pyth</span>on`.

Elements that only change how letters look never part words (`spots.FORMATTING`). A span or a link may be a badge or a button that a
style sheet moves away from the text before it, so it joins only inside running text, and only letters that go on as a word does.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import BROKEN, GLUED, SPACED, Spot

__all__ = ["glue_inside_words"]

STARTS_SPACED, ENDS_SPACED = 1, 2  # of a chunk, as the walk notes them


def glue_inside_words(
    gap: NDArray[np.int8],
    spaced: NDArray[np.int8],
    chunks: Sequence[str],
    chunk_row: Sequence[int],
    rows_before: Sequence[int],
    parent: Sequence[int],
    spots: Sequence[Spot],
) -> None:
    """Sets the gap to GLUED where a word goes on over the edge of a mark; `spots` are those of the rows."""
    if len(chunks) < 2:
        return
    is_shown_without_space = (spaced[1:] & STARTS_SPACED == 0) & (spaced[:-1] & ENDS_SPACED == 0)
    for c in (np.flatnonzero((gap[1:] == SPACED) & is_shown_without_space) + 1).tolist():
        left, right = chunks[c - 1][-1], chunks[c][0]
        if not (left.isalpha() and right.isalpha()) or right.isupper():
            continue
        before, after, begun = chunk_row[c - 1], chunk_row[c], rows_before[c] - rows_before[c - 1]
        ends_mark = parent[before] == after and not begun and spots[before].marks
        begins_mark = parent[after] == before and begun == 1 and spots[after].marks
        if begins_mark:  # what ends a text may be a badge
            begins_mark = c + 1 < len(chunks) and chunk_row[c + 1] == before and gap[c + 1] != BROKEN
        if ends_mark or begins_mark:
            gap[c] = GLUED
