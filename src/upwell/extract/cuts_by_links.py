"""Cuts of a page whose records are known by their addresses: nearly every piece must have the address of one record."""

from collections.abc import Callable

import numpy as np

from upwell.extract.cut_candidates import Cut, candidates, leaves_in
from upwell.extract.leaves import Leaves
from upwell.page.links import page_address

__all__ = ["cuts_by_links"]

MIN_SHARE = (
    0.8  # of the pieces that have the address of just one record, and of the addresses that are in a piece; not swept
)
MAX_RECORDS = 20_000  # of one page: a list of everything may be one page


def cuts_by_links(leaves: Leaves, is_record_address: Callable[[str], bool]) -> list[Cut]:
    """The cuts of a page into pieces with one record's address each, that leave few such addresses out."""
    numbers: dict[str, int] = {}
    number_of_leaf = np.full(len(leaves), -1, dtype=np.int64)
    for row, address in leaves.tree.links():
        address = page_address(address)
        if is_record_address(address):
            first, last = int(leaves.row_start[row]), int(leaves.row_end[row])
            if first < last:
                number_of_leaf[first:last] = numbers.setdefault(address, len(numbers))
    cuts = []
    for cut in candidates(leaves, max_records=MAX_RECORDS) if numbers else ():
        inside = leaves_in(cut.starts, cut.ends)
        piece = np.repeat(np.arange(len(cut)), cut.ends - cut.starts)
        number = number_of_leaf[inside]
        pairs = np.unique(np.stack([piece[number >= 0], number[number >= 0]], axis=1), axis=0)
        in_piece = np.bincount(pairs[:, 0], minlength=len(cut))
        if (in_piece == 1).mean() >= MIN_SHARE and len(np.unique(pairs[:, 1])) >= MIN_SHARE * len(numbers):
            cuts.append(cut)
    return cuts
