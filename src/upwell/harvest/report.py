"""`report.html`: one file that opens offline; everything from the source is escaped text, nothing is executed.

First what a person wants to know: how many rows of what, how complete, what they look like; then how it was asked and read.
"""

import datetime
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwell.harvest.charts import Growth, Moment, gauge, growth, percent
from upwell.harvest.column_facts import column_facts
from upwell.harvest.words import ANSWER_KINDS, EVIDENCE, commands, ended, held_in_words, interface_in_words, warnings
from upwell.queries.size import requests_to

if TYPE_CHECKING:
    from upwell.harvest.ledger import SourceLedger
    from upwell.harvest.summary import SiteHarvest
    from upwell.harvest.tables import Table

__all__ = ["forecast", "html"]

SAMPLE_ROWS = 20
SAMPLE_COLUMNS = 7  # more would be too narrow to read
CELL_CHARS = 240
EXAMPLE_CHARS = 160  # of an answer
GOALS = (0.9, 0.95)  # shares of the size that the forecast is for


def html(site: "SiteHarvest", summary: Mapping[str, Any], tables: "Sequence[Table]", records: Path) -> str:
    """The report as HTML; `summary` is as `summary.json` has it, `records` the file with the (largest) table."""
    from markupsafe import Markup  # only here: harvests without a report do without it

    from upwell.harvest.report_page import page

    size = site.size
    facts = [fact for table in tables for fact in column_facts(table.rows, table.types, table.fill())]
    columns = [{**vars_of(fact), "chart": Markup(fact.chart), "share": percent(fact.fill)} for fact in facts]  # noqa: S704 # our own SVG
    ring = gauge(len(site.state), size.low, size.high, size.estimate, is_lower_bound=site.lower_bound)
    style = Path(__file__).with_name("look.css").read_text(encoding="utf-8")
    values = {
        "name": site.title or summary["site"],
        "summary": {**summary, "about": site.about},
        "when": datetime.datetime.now(datetime.UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "style": Markup(style),  # noqa: S704 # our own style sheet
        "gauge": Markup(ring),  # noqa: S704 # our own SVG
        "held_in_words": held_in_words(summary),
        "ended": ended(summary),
        "warnings": warnings(summary),
        "received": _bytes(site.bytes),
        "duration": _duration(site.seconds),
        "samples": [_sample(table) for table in tables],
        "columns": columns,
        "records": str(records),
        "commands": commands(summary, site.url, records.parent),
        "sources": [_source(source, Markup) for source in site.sources],
    }
    return page(values)


def vars_of(fact: Any) -> dict[str, Any]:
    """The fields of a frozen value by name."""
    from dataclasses import fields

    return {part.name: getattr(fact, part.name) for part in fields(fact)}


def _sample(table: "Table") -> dict[str, Any]:
    """The first rows with the fullest columns, in the order of the table."""
    fullest = list(table.fill())[:SAMPLE_COLUMNS]
    names = [name for name in table.types if name in fullest]
    numbers = {name for name in names if table.types[name].split(" ")[0] in ("integer", "decimal", "price")}
    more = []
    if len(table.rows) > SAMPLE_ROWS:
        more.append(f"{len(table.rows) - SAMPLE_ROWS:,} more rows")
    if len(table.types) > len(names):
        more.append(f"{len(table.types) - len(names)} more columns")
    return {
        "title": f"The first {min(SAMPLE_ROWS, len(table.rows))} rows" + (f" of {table.kind}" if table.kind else ""),
        "columns": [{"name": name, "number": name in numbers} for name in names],
        "rows": [[_cell(row.get(name)) for name in names] for row in table.rows[:SAMPLE_ROWS]],
        "more": " and ".join(more) + " are in the table." if more else "",
    }


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000 else str(value)
    )
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + "…"


def forecast(points: Sequence[tuple[int, int]], estimate: float) -> list[tuple[str, int, float]]:
    """When shares of a size should be held: label, requests in all, records."""
    found = []
    for share in GOALS:
        ahead = requests_to(points, share * estimate)
        if ahead and points and ahead <= 3 * points[-1][0]:
            found.append((f"{share:.0%}", points[-1][0] + ahead, share * estimate))
    return found


def _source(source: "SourceLedger", markup: type[str]) -> dict[str, Any]:
    """One source: its curve, how it was asked and read, what was left out."""
    points = [(requests, held) for requests, held, _ in source.curve]
    moments = [
        Moment(requests, held, said.size.estimate, said.size.low, said.size.high, said.is_lower_bound)
        for requests, held, said in source.sizes
    ]
    if points and not source.lower_bound:
        size = source.size
        moments.append(Moment(points[-1][0], points[-1][1], size.estimate, size.low, size.high, False))
    ahead = [] if source.lower_bound else forecast(points, source.size.estimate)
    checks: dict[str, Any] = source.checks()
    learned = []
    if EVIDENCE.get(source.size_by) and not source.lower_bound:
        learned.append(f"How many there are in all is known from {EVIDENCE[source.size_by]}.")
    if checks["limit"]:
        learned.append(f"It shows at most {checks['limit']:,} matches of a query.")
    if checks["understands"]:
        learned.append(f"Queries may combine words: {', '.join(checks['understands'].values())}.")
    if source.overlap_rate > 0:
        learned.append(f"A record came {source.overlap_rate:.1f} times on average.")
    if source.relearned:
        learned.append(f"It changed its looks while it was asked, and was learned again {source.relearned} times.")
    return {
        "growth": markup(growth(Growth(points=points, moments=moments, forecast=ahead))),
        "has_band": any(not moment.is_lower_bound for moment in moments),
        "has_forecast": bool(ahead),
        "asked": interface_in_words(source.interface.as_dict()),
        "learned": learned,
        "answers": [
            (ANSWER_KINDS[kind], source.answers[kind], source.samples.get(kind, "")[:EXAMPLE_CHARS])
            for kind in ANSWER_KINDS
            if source.answers[kind]
        ],
        "outline": [
            (bool(path), " ".join(text for text, _ in run))
            for path, run in groupby(source.outline, key=lambda pair: pair[1])
        ],
        "left_out": [f"{number:,} {why}" for why, number in source.filtered.items()],
        "skipped": source.skipped,
    }


def _bytes(number: int) -> str:
    return f"{number / 1e6:,.1f} MB" if number >= 1e5 else f"{number / 1e3:,.0f} kB"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
