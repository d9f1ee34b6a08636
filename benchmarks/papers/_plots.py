"""Plots of the measurements, written to files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["lines"]


def lines(
    path: Path,
    title: str,
    series: Mapping[str, Sequence[Sequence[float]]],
    axes: tuple[str, str],
    *,
    marks: bool = False,
    log: bool = False,
) -> None:
    """Draw named series of (x, y) into a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, drawn = pyplot.subplots(figsize=(7, 5))
    for name, (across, up) in series.items():
        drawn.plot(across, up, "o-" if marks else "-", label=name)
    drawn.set(title=title, xlabel=axes[0], ylabel=axes[1])
    if log:
        drawn.set(xscale="log", yscale="log")
    if len(series) > 6:  # outside the plot, so that it does not cover the lines
        drawn.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    else:
        drawn.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
