"""`report.html`: one file that opens offline; everything from the source is escaped text, nothing is executed."""

from typing import Any

import jinja2

from upwell.harvest.loop import Harvest
from upwell.model import Estimate

__all__ = ["certificate", "html"]

_PAGES = jinja2.Environment(loader=jinja2.PackageLoader("upwell.harvest", "."), autoescape=True)


def certificate(records: int, size: Estimate, limit: int = 0) -> str:
    """How much is held, in one sentence; where answers were cut off, the size is a lower bound and said to be one."""
    if not records:
        return "no records held"
    if limit:
        return f"{records:,} records held of at least {round(size.low):,} (answers were cut off at {limit}: there may be many more)"
    low, high = round(size.low), round(size.high)
    return (
        f"{records:,} records held, {records / size.estimate:.0%} of about {round(size.estimate):,} "
        f"(95 %: {low:,}–{high:,})"
    )


def html(harvest: Harvest) -> str:
    """The report as HTML."""
    summary: dict[str, Any] = harvest.summary()
    checks: dict[str, Any] = summary["checks"]
    most_requests = max((r for r, _ in harvest.curve), default=1)
    most_records = max(len(harvest.records), 1)
    points = " ".join(f"{600 * r / most_requests:.1f},{195 - 180 * n / most_records:.1f}" for r, n in harvest.curve)
    fields = []
    for name, share in checks["fill"].items():
        values = (str(row[name])[:60] for row in harvest.records.values() if row.get(name))
        fields.append((name, share, list(dict.fromkeys(v for v, _ in zip(values, range(200), strict=False)))[:4]))
    return _PAGES.get_template("report.html.j2").render(
        summary=summary,
        certificate=certificate(len(harvest.records), harvest.size, harvest.limit),
        template=harvest.template,
        samples=harvest.samples,
        skipped=harvest.skipped,
        points=points,
        fields=fields,
    )
