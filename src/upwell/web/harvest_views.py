"""Values for the pages about harvests."""

from collections import Counter
from typing import Any

from markupsafe import Markup

from upwell.report.charts import gauge, short_number
from upwell.report.sentences import interface_sentence, warnings
from upwell.source.model import interface_entry
from upwell.types import Estimate
from upwell.web.browse import TableView, browse
from upwell.web.harvests import Harvest
from upwell.web.live_progress import Progress
from upwell.web.rendering import T, format_number, format_time, render, truncate
from upwell.web.texts import STATES

__all__ = ["PREVIEW_REQUESTS", "card", "harvest_values", "live_part"]

PREVIEW_REQUESTS = 50  # budget of a preview: finding and learning a search takes 20 to 40 (docs/decisions/0098)
SAMPLE_ROWS, SAMPLE_COLUMNS = 6, 6
FORMATS = (
    ("parquet", "Parquet"), ("csv", "CSV"), ("xlsx", "Excel"), ("jsonl", "JSON Lines"), ("sqlite", "SQLite"), ("duckdb", "DuckDB"),
)  # fmt: skip


def state_of(harvest: Harvest, progress: Progress | None = None) -> tuple[str, str]:
    """Return the state of a harvest: style class and label."""
    if harvest.is_running:
        return STATES["running"]
    if harvest.failure or (progress is not None and progress.failed):
        return STATES["failed"]
    return STATES.get(str(harvest.summary.get("stopped") or "not finished"), STATES["not finished"])


def card(harvest: Harvest) -> dict[str, Any]:
    """Return the values of a harvest's card on the start page."""
    progress = harvest.progress() if harvest.is_running or not harvest.summary else None
    records = progress.records if progress is not None else harvest.records
    last = progress.last if progress is not None else _last_run(harvest)
    return {
        "id": harvest.id,
        "name": harvest.name,
        "site": harvest.scope if harvest.scope != harvest.name else "",
        "letter": harvest.letter,
        "hue": harvest.hue,
        "gauge": Markup(_gauge(harvest, progress)),  # noqa: S704 # our own SVG
        "records": f"{records:,}",
        "word": T.record if records == 1 else T.records,
        "state": state_of(harvest, progress),
        "when": T.last_run.format(when=format_time(last)) if last else T.never_ended,
    }


def _last_run(harvest: Harvest) -> str:
    import datetime

    try:
        changed = (harvest.folder / "summary.json").stat().st_mtime
    except OSError:
        return ""
    return datetime.datetime.fromtimestamp(changed, datetime.UTC).isoformat()


def _gauge(harvest: Harvest, progress: Progress | None) -> str:
    if progress is None:
        return harvest.gauge()
    sizes = [source.size for source in progress.sources.values()]
    if not sizes or any(size is None or size.is_lower_bound for size in sizes):
        low = sum(size.low if size is not None else 0 for size in sizes)
        return gauge(progress.records, max(low, progress.records), 0, 0, is_lower_bound=True)
    ends = [(size.low, size.high, size.estimate) for size in sizes if size is not None]
    low, high, estimate = (sum(end) for end in zip(*ends, strict=True))
    return gauge(progress.records, low, high, estimate, is_lower_bound=False)


def _size_sentence(progress: Progress, harvest: Harvest) -> str:
    if not harvest.is_running and harvest.summary.get("statement"):
        from upwell.report.sentences import coverage_sentence, ending_sentence

        return f"{coverage_sentence(harvest.summary)} {ending_sentence(harvest.summary)}".strip()
    sizes = [source.size for source in progress.sources.values() if source.size is not None]
    if not sizes:
        return T.size_unknown
    low = sum(size.low for size in sizes)
    from upwell.report.sentences import joint_state, size_sentence

    state, evidence = joint_state([size.state for size in sizes]), {size.by for size in sizes}
    estimate, high = sum(size.estimate for size in sizes), sum(size.high for size in sizes)
    whole = Estimate(estimate=max(low, estimate), low=max(low, progress.records), high=high)
    return f"{size_sentence(progress.records, whole, state, by=evidence.pop() if len(evidence) == 1 else '')}."


def live_part(harvest: Harvest, progress: Progress) -> str:
    """Render the part of a harvest's page that changes while it runs."""
    records = progress.records if harvest.is_running else harvest.records or progress.records
    goals = [goal for source in progress.sources.values() for goal in source.to_goals()] if harvest.is_running else []
    goals_text = ", ".join(T.forecast_to.format(label=label, requests=f"{ahead:,}") for label, ahead in goals[:2])
    charts = [
        {"svg": Markup(source.chart(T.requests.lower(), T.records_held)), "has_band": source.has_band, "source": name}  # noqa: S704 # our own SVG
        for name, source in progress.sources.items()
        if source.points
    ]
    ring = _gauge(harvest, progress if harvest.is_running or not harvest.summary else None)
    sent = progress.requests if harvest.is_running else int(harvest.summary.get("requests", progress.requests))
    return render(
        "_live.html.j2",
        p=progress,
        running=harvest.is_running,
        has_summary=bool(harvest.summary),
        gauge=Markup(ring),  # noqa: S704 # our own SVG
        records=f"{records:,}",
        size_sentence=_size_sentence(progress, harvest),
        requests_text=T.of_budget.format(sent=f"{sent:,}", budget=f"{progress.budget:,}")
        if progress.budget
        else f"{sent:,}",
        rate_text=T.per_second.format(rate=f"{progress.rate:.1f}"),
        record_pages_text=T.own_pages_read.format(
            read=f"{progress.opened[0]:,}", waiting=short_number(progress.opened[1])
        ),
        goals=goals_text,
        charts=charts,
        examples=[_example(row) for row in progress.examples] if harvest.is_running else [],
        problems=Counter(progress.troubles).most_common(12),
    )


def _example(row: dict[str, Any]) -> tuple[str, str]:
    values = [
        format_number(value) for name, value in row.items() if not name.startswith("_") and value not in (None, "")
    ]
    return (
        (truncate(values[0], 90), truncate(" · ".join(values[1:4]), 110)) if values else (str(row.get("_key", "")), "")
    )


def harvest_values(harvest: Harvest) -> dict[str, Any]:
    """Return the values of a harvest's page."""
    progress, summary = harvest.progress(), harvest.summary
    tables = harvest.tables
    is_preview = bool(tables) and not harvest.is_running and 0 < progress.budget <= PREVIEW_REQUESTS
    details = summary.get("details", {})
    added_columns = ", ".join(details.get("columns", [])[:4])
    return {
        "h": harvest,
        "base": f"/harvests/{harvest.id}",
        "state": state_of(harvest, progress),
        "when": format_time(_last_run(harvest)) if summary else "",
        "live": Markup(live_part(harvest, progress)),  # noqa: S704 # escaped by its template
        "live_failed": bool(progress.failed),
        "is_preview": is_preview,
        "sample": _sample(harvest) if is_preview else {},
        "has_table": bool(summary.get("records")),
        "has_report": (harvest.folder / "report.html").is_file(),
        "formats": FORMATS,
        "details": T.own_pages_add.format(columns=added_columns) if added_columns and details.get("requests") else "",
        "refreshed": [(kind.capitalize(), f"{n:,}") for kind, n in summary.get("refreshed", {}).items()],
        "asked": [_how_asked(source) for source in summary.get("sources", [])],
        "warnings": warnings(summary) if summary and not harvest.is_running else [],
    }


def _sample(harvest: Harvest) -> dict[str, Any]:
    page = browse(next(iter(harvest.tables.values())), TableView())
    columns = [column for column in page.columns if not column.name.startswith("_")][:SAMPLE_COLUMNS]
    rows = [[truncate(_text(row[column.name]), 200) for column in columns] for row in page.rows[:SAMPLE_ROWS]]
    return {"columns": [column.name for column in columns], "rows": rows}


def _text(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else format_number(value)


def _how_asked(source: dict[str, Any]) -> dict[str, Any]:
    checks, understands = source.get("checks", {}), []
    if result_cap := checks.get("result_cap", checks.get("limit")):  # the second is the key of Upwell 0.2
        understands.append(T.understands_cap.format(n=f"{result_cap:,}"))
    if checks.get("understands"):
        understands.append(T.understands_words.format(how=", ".join(checks["understands"].values())))
    if checks.get("totals"):
        understands.append(T.understands_total)
    return {
        "how": interface_sentence(interface_entry(source) or {}),
        "understands": understands or [T.understands_nothing],
    }
