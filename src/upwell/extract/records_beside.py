"""Records that stand beside the container of the others: a list may show its first match before an area for the rest."""

from dataclasses import replace

import numpy as np

from upwell.extract.cut_candidates import Cut
from upwell.extract.leaves import Leaves

__all__ = ["with_records_beside"]


def with_records_beside(leaves: Leaves, cut: Cut) -> Cut:
    """The cut with the siblings of its containers that have the tag and the class of all its records."""
    tree, units = leaves.tree, cut.unit_row[cut.starts]
    if units.min() < 0:
        return cut
    unit, *others = {(at.tag, at.cls) for at in [tree.spots[spot] for spot in set(tree.spot[units].tolist())]}
    if others or not unit[1]:
        return cut
    alike = tree.at_spots(tree.spot_set.like(*unit))
    if len(alike) == len(units):
        return cut
    is_beside = np.isin(tree.parent[alike], tree.parent[np.unique(cut.container)]) & ~np.isin(alike, cut.container)
    rows = np.setdiff1d(alike[is_beside & (leaves.row_end[alike] > leaves.row_start[alike])], units)
    if not len(rows):
        return cut
    unit_row = cut.unit_row.copy()
    for row in rows.tolist():
        unit_row[leaves.row_start[row] : leaves.row_end[row]] = row
    starts = np.concatenate([cut.starts, leaves.row_start[rows]]).astype(np.int32)
    order = np.argsort(starts, kind="stable")
    above = tree.parent[rows]
    return replace(
        cut,
        starts=starts[order],
        ends=np.concatenate([cut.ends, leaves.row_end[rows]]).astype(np.int32)[order],
        container=np.concatenate([cut.container, above]).astype(np.int32)[order],
        container_end=np.concatenate([cut.container_end, leaves.row_end[above]]).astype(np.int32)[order],
        unit_row=unit_row,
    )
