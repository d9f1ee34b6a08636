"""Benches: what a paper measured, measured again on real data, with the paper's printed figures beside ours.

A bench is a module of this folder with `run(corpora, out)`, which yields tables and may leave plots in `out`; its name is
what `python -m benchmarks.papers NAME` takes. A paper's figure that exists only as a plot is written "plot only", never estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Table"]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of a bench: what it shows, its columns, its rows, and what must be said about it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    def text(self) -> str:
        """The table as aligned text."""
        cells = [[str(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])
