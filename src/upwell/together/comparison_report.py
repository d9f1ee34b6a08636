"""The report of a comparison: one file that opens offline; everything from the sources is escaped text, nothing is executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upwell.together.values import Comparison

__all__ = ["html"]

MAX_BARS = 15  # combinations of sources that are drawn
BAR_HEIGHT, DOT_SPACING = 26, 22


def html(comparison: Comparison, titles: Sequence[str]) -> str:
    """The report; `titles` are what the things of the differences are called."""
    import jinja2  # only here: those who want no report do without it

    templates = jinja2.Environment(loader=jinja2.PackageLoader("upwell.together", "."), autoescape=True)
    combinations = sorted(comparison.overlap.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_BARS]
    most = max((count for _, count in combinations), default=1)
    names = [source.name for source in comparison.sources]
    left = DOT_SPACING * len(names) + 10
    return templates.get_template("compared.html.j2").render(
        comparison=comparison,
        names=names,
        differences=list(zip(comparison.differences, titles, strict=True)),
        bars=[
            {
                "y": BAR_HEIGHT * row,
                "dots": [DOT_SPACING * place + 11 for place, name in enumerate(names) if name in combination],
                "gaps": [DOT_SPACING * place + 11 for place, name in enumerate(names) if name not in combination],
                "width": round((560 - left) * count / most, 1),
                "label": f"{count:,}",
                "title": " and ".join(combination),
            }
            for row, (combination, count) in enumerate(combinations)
        ],
        left=left,
        height=BAR_HEIGHT * len(combinations) + 4,
        hidden=len(comparison.overlap) - len(combinations),
    )
