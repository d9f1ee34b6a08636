"""`report.html`: one file that opens offline; everything from the source is escaped text, nothing is executed."""

from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any

from upwell.harvest.ledger import SourceLedger
from upwell.harvest.summary import SiteHarvest
from upwell.harvest.tables import Table

__all__ = ["html"]

MAX_EXAMPLES = 4  # values of a field that are shown
EXAMPLE_CHARS = 60
EXAMPLE_ROWS = 2000  # records in which examples are looked for
MAX_POINTS = 500  # of a curve that are drawn


def html(site: SiteHarvest, tables: Sequence[Table]) -> str:
    """The report as HTML."""
    import jinja2  # only here: harvests without a report do without it

    templates = jinja2.Environment(loader=jinja2.PackageLoader("upwell.harvest", "."), autoescape=True)
    templates.filters["groupby_run"] = _runs
    summary: dict[str, Any] = site.summary(tables)
    filled: dict[str, float] = summary["checks"]["fill"]
    examples = _examples(tables, filled)
    return templates.get_template("report.html.j2").render(
        summary=summary,
        coverage_statement=site.statement(),
        sources=[
            (source, figures, _curves(source)) for source, figures in zip(site.sources, summary["sources"], strict=True)
        ],
        fields=[(name, share, examples[name]) for name, share in filled.items()],
    )


def _examples(tables: Sequence[Table], fields: dict[str, float]) -> dict[str, list[str]]:
    """The first few different values of each field."""
    examples: dict[str, dict[str, None]] = {name: {} for name in fields}
    for row in chain.from_iterable(table.rows[:EXAMPLE_ROWS] for table in tables):
        for name, values in examples.items():
            if row.get(name) is not None and len(values) < MAX_EXAMPLES:
                values[str(row[name])[:EXAMPLE_CHARS]] = None
    return {name: list(values) for name, values in examples.items()}


def _runs(outline: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The texts of an answer as (path of the record, its texts); texts outside records have the path ""."""
    return [(path, [text for text, _ in run]) for path, run in groupby(outline, key=lambda pair: pair[1])]


def _curves(source: SourceLedger) -> dict[str, str]:
    """The points of a source's curves in a box of 600 × 200: records held, and the overlap rate, by requests sent."""
    max_requests = max((requests for requests, _, _ in source.curve), default=1)
    max_records = max(len(source.held), 1)
    rates = [matches / max(held, 1) for _, held, matches in source.curve]
    max_rate = max(rates, default=1.0) or 1.0
    step = max(1, len(source.curve) // MAX_POINTS)
    drawn = list(zip(source.curve, rates, strict=True))[::step]
    return {
        "records": " ".join(
            f"{600 * requests / max_requests:.1f},{195 - 180 * held / max_records:.1f}"
            for (requests, held, _), _ in drawn
        ),
        "overlap": " ".join(
            f"{600 * requests / max_requests:.1f},{195 - 180 * rate / max_rate:.1f}" for (requests, _, _), rate in drawn
        ),
        "highest": f"{max_rate:.1f}",
    }
