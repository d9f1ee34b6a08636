"""Answers with several lists: what is left of a page without the records of one list is looked at again."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from upwell.page.tree import TagTree
from upwell.source.apply import Reading, apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel

__all__ = ["further_regions", "without_records"]

SAME_SHARE = 0.8  # of the answers with a list that have one and the same: it is a menu, not a region of the answers


def further_regions(
    trees: Sequence[TagTree], queries: Sequence[str], model: SourceModel, number: int
) -> list[SourceModel]:
    """Models of the lists beside that of `model`, at most so many; fewer where the answers have fewer."""
    found: list[SourceModel] = []
    before, rest = model, list(trees)
    while len(found) < number and before.rules:
        rest = [without_records(tree, apply(before, tree)) for tree in rest]
        before = learn_source(rest, queries=queries)
        lists = [{record.text for record in apply(before, tree).records} for tree in rest] if before.rules else []
        lists = [texts for texts in lists if texts]
        if not lists or max(map(lists.count, lists)) >= SAME_SHARE * len(lists):
            break
        found.append(before)
    return found


def without_records(tree: TagTree, reading: Reading) -> TagTree:
    """The page without the texts from its first record to its last."""
    rows = [row for record in reading.records if (row := tree.row_at(record.path)) is not None]
    if not rows:
        return tree
    kept = np.ones(len(tree.chunks), dtype=bool)
    kept[int(tree.text_at[min(rows)]) : max(int(tree.text_end[row]) for row in rows)] = False
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)
    return replace(
        tree,
        chunks=tuple(text for text, is_kept in zip(tree.chunks, kept.tolist(), strict=True) if is_kept),
        chunk_row=tree.chunk_row[kept],
        chunk_gap=tree.chunk_gap[kept],
        text_at=before[tree.text_at],
        text_end=before[tree.text_end],
    )
