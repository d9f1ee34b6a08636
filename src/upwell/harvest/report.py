"""`report.html`: one file that opens offline; everything from the source is escaped text, nothing is executed."""

from itertools import groupby
from typing import Any

from upwell.harvest.ledger import SourceLedger
from upwell.harvest.summary import SiteHarvest
from upwell.model import Estimate

__all__ = ["certificate", "html"]


def certificate(records: int, size: Estimate, *, lower_bound: bool = False) -> str:
    """How much is held, in one sentence; where answers were cut off and nobody counts what was, the size is a lower bound."""
    if not records:
        return "no records held"
    if lower_bound:
        return (
            f"{records:,} records held of at least {round(size.low):,} (answers were cut off: there may be many more)"
        )
    low, high = round(size.low), round(size.high)
    return (
        f"{records:,} records held, {min(1.0, records / size.estimate):.0%} of about {round(size.estimate):,} "
        f"(95 %: {low:,}–{high:,})"
    )


def html(site: SiteHarvest) -> str:
    """The report as HTML."""
    import jinja2  # only here: whoever wants the certificate alone does without it

    pages = jinja2.Environment(loader=jinja2.PackageLoader("upwell.harvest", "."), autoescape=True)
    pages.filters["groupby_run"] = _runs
    summary: dict[str, Any] = site.summary()
    checks: dict[str, Any] = summary["checks"]
    examples: dict[str, dict[str, None]] = {name: {} for name in checks["fill"]}
    for row, _ in zip(site.state.rows(), range(2000), strict=False):
        for name, known in examples.items():
            if row.get(name) is not None and len(known) < EXAMPLES:
                known[str(row[name])[:60]] = None
    return pages.get_template("report.html.j2").render(
        summary=summary,
        certificate=certificate(len(site.state), site.size, lower_bound=site.lower_bound),
        sources=[(one, figures, _curves(one)) for one, figures in zip(site.sources, summary["sources"], strict=True)],
        fields=[(name, share, list(examples[name])) for name, share in checks["fill"].items()],
    )


def _runs(pairs: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The texts of an answer, those that follow each other in one record together."""
    return [(path, [text for text, _ in run]) for path, run in groupby(pairs, key=lambda pair: pair[1])]


EXAMPLES = 4  # values of a field that are shown


def _curves(one: SourceLedger) -> dict[str, str]:
    """The points of a source's curves: records held, and the overlap rate, by requests sent."""
    most_requests = max((sent for sent, _, _ in one.curve), default=1)
    most_records = max(len(one.held), 1)
    rates = [matches / max(held, 1) for _, held, matches in one.curve]
    highest = max(rates, default=1.0) or 1.0
    step = max(1, len(one.curve) // POINTS)
    shown = list(zip(one.curve, rates, strict=True))[::step]
    return {
        "records": " ".join(
            f"{600 * sent / most_requests:.1f},{195 - 180 * held / most_records:.1f}" for (sent, held, _), _ in shown
        ),
        "overlap": " ".join(
            f"{600 * sent / most_requests:.1f},{195 - 180 * rate / highest:.1f}" for (sent, _, _), rate in shown
        ),
        "highest": f"{highest:.1f}",
    }


POINTS = 500  # of a curve that are drawn
