"""Texts that a page's own style sheets hide (`style_rules`): which rows have them, and whether they may be left out."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from upwell.page.attribute_views import having
from upwell.page.spots import Spot
from upwell.page.style_rules import StyleRules
from upwell.page.tag_tree import Ints

__all__ = ["kept_chunks"]

Attributes = Mapping[int, Mapping[str, str | None]]


def kept_chunks(
    rules: StyleRules,
    attributes: Attributes,
    spots: Sequence[Spot],
    spot: Ints,
    end: Ints,
    chunks: Sequence[str],
    chunk_row: Ints,
) -> NDArray[np.bool_] | None:
    """Which chunks are not hidden; None where none is, or where most of the page would be: then a script will show it."""
    hidden = _hidden_rows(rules, attributes, spots, spot, end)
    if hidden is None:
        return None
    kept = ~hidden[chunk_row]
    if kept.all():
        return None
    chars = np.fromiter(map(len, chunks), np.int64, len(chunks))
    return kept if 2 * chars[kept].sum() >= chars.sum() else None


def _hidden_rows(
    rules: StyleRules, attributes: Attributes, spots: Sequence[Spot], spot: Ints, end: Ints
) -> NDArray[np.bool_] | None:
    """For each row, whether the rules hide it; None where they name none."""
    rows: list[int] = []
    if named := rules.named(spots):
        rows = np.flatnonzero(np.array([at in named for at in spots])[spot]).tolist()
    if rules.ids:
        rows = sorted({*rows, *(row for row, name in having(attributes, "id").items() if name in rules.ids)})
    if not rows:
        return None
    hidden = np.zeros(len(end), dtype=bool)
    for row in rows:
        if not hidden[row]:
            found = attributes.get(row, {})
            if rules.hide(spots[spot[row]].tag, found) and "display" not in (found.get("style") or ""):
                hidden[row : end[row]] = True
    return hidden
