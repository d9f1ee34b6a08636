"""Measurements of the papers, repeated on real data and compared with the printed figures: `python -m benchmarks.papers NAME`.

thor, entity, wisdom, yuan   one module per paper, with `run(corpora, out)`, which yields tables and may write plots to `out`
_…                           their parts

A figure that the paper shows only as a plot is given as "plot only", never estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Table"]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of measurements: title, columns, rows, and a note."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    def text(self) -> str:
        """Return the table as aligned text."""
        cells = [[str(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])
