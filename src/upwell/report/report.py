"""Write `report.html`: one file that opens offline, in which everything from the source is escaped text and nothing is executed.

It starts with what most readers want to know (how many rows, how complete, what they look like) and ends with how the site was queried and read.
`report_html` collects the values; `render` writes the HTML as Python strings, because loading a template library takes as long as writing the
table. Every value is escaped where it is inserted (`e`) except our own charts and style sheet, which are `Markup`.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from markupsafe import escape as e

from upwell.choose.size import requests_to
from upwell.report.charts import GrowthData, SizePoint, column_facts, evidence, gauge, growth, percent
from upwell.report.sentences import (
    ANSWER_KINDS,
    coverage_sentence,
    ending_sentence,
    interface_sentence,
    next_commands,
    views_sentence,
    warnings,
)

if TYPE_CHECKING:
    from upwell.choose.ledger import SourceLedger
    from upwell.harvest.summary import SiteHarvest
    from upwell.table.build import Table

__all__ = ["forecast", "render", "report_html"]

#
# Written as Python and not as a template: a library for templates takes as long to load as the table takes to write.

MAX_SKIPPED = 50  # unusable pages listed by name


def render(values: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    summary, name = values["summary"], values["name"]
    site = f"{e(summary['site'])} · " if name != summary["site"] else ""
    return "\n".join(
        part
        for part in (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            f"<title>{e(name)} – Upwell</title><style>{e(values['style'])}</style></head>\n<body><main>",
            f'<header style="margin:0 0 20px"><h1 dir="auto">{e(name)}</h1><p class="soft">{site}{e(values["when"])}</p></header>\n',
            _coverage_section(values, summary),
            _refresh_section(summary["refreshed"]) if summary.get("refreshed") else "",
            *(_sample_section(table) for table in values["samples"] if table["rows"]),
            _columns_section(values["columns"]) if values["columns"] else "",
            _commands_section(values["records"], values["commands"]),
            *(
                _source_section(source, number, len(values["sources"]))
                for number, source in enumerate(values["sources"], 1)
            ),
            '<footer class="soft small">Created by Upwell. <code>summary.json</code> contains the figures, <code>source.json</code> what was learned '
            "about the site, and <code>archive/</code> every page as it was received (WARC).</footer>\n</main></body></html>",
        )
        if part
    )


def _each(template: str, values: Iterable[Sequence[object]]) -> str:
    """Format the template once for each tuple of values, escaping the values."""
    return "".join(Markup(template).format(*value) for value in values)  # noqa: S704 # `format` escapes its arguments


def _coverage_section(values: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return the section on how many records are held."""
    things = ((f"{rows:,}", _record_noun(kind, rows)) for kind, rows in summary["tables"].items())
    counts = ", ".join(f"{rows} {e(thing)}" for rows, thing in things)
    about = f" about {e(summary['about'])}" if summary["about"] else ""
    ending = f'<p class="soft">{e(values["ending"])}</p>\n' if values["ending"] else ""
    facts = (
        ("Columns", len(values["columns"])),
        ("Requests", f"{summary['requests']:,}"),
        ("Received", values["received"]),
        ("Time", values["duration"]),
    )
    return (
        f'<section class="card" aria-label="Coverage"><div class="hero">{e(values["gauge"])}<div>\n'
        f'<p class="count">{counts}{about}</p>\n<p>{e(values["coverage"])}</p>\n{ending}'
        f'<dl class="facts">{_each("<div><dt>{}</dt><dd>{}</dd></div>", facts)}</dl></div></div>\n'
        + _each('<p class="note warn" style="margin-top:14px">{}</p>', ((problem,) for problem in values["warnings"]))
        + "</section>\n"
    )


def _record_noun(kind: str, rows: int) -> str:
    if kind != "records":
        return kind.replace("_", " ")
    return "record" if rows == 1 else "records"


def _refresh_section(counts: Mapping[str, int]) -> str:
    facts = _each("<div><dt>{}</dt><dd>{}</dd></div>", ((kind.capitalize(), f"{n:,}") for kind, n in counts.items()))
    return (
        f'<section class="card"><h2>Since the last run</h2><dl class="facts" style="margin:0">{facts}</dl>'
        '<p class="soft small" style="margin:10px 0 0">All differences are in <code>changes.parquet</code>.</p></section>\n'
    )


def _sample_section(table: Mapping[str, Any]) -> str:
    """Return the section with the first rows of a table."""
    names = [column["name"] for column in table["columns"]]
    kinds = [' class="number"' if column["number"] else "" for column in table["columns"]]
    heads = "".join(f'<th scope="col"{kind}>{e(name)}</th>' for name, kind in zip(names, kinds, strict=True))
    rows = "".join(
        f"<tr>{''.join(_cell(*cell) for cell in zip(names, kinds, row, strict=True))}</tr>\n" for row in table["rows"]
    )
    more = f'<p class="soft small" style="margin:10px 0 0">{e(table["more"])}</p>' if table["more"] else ""
    return (
        f'<section class="card"><h2>{e(table["title"])}</h2>\n'
        f'<table class="stack rows"><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table>{more}</section>\n'
    )


def _cell(name: str, kind: str, text: str) -> str:
    shown = f'<div class="clamp" dir="auto">{e(text)}</div>' if text else ""
    return f"<td{kind}{_column_label(name, text)}>{shown}</td>"


def _column_label(name: str, value: object) -> str:
    """Return the attribute that repeats the column name in a cell for narrow screens; "" for an empty cell."""
    return f' data-name="{e(name)}"' if value else ""


def _columns_section(columns: Iterable[Mapping[str, Any]]) -> str:
    """Return the section that describes each column."""
    heads = _each('<th scope="col">{}</th>', zip(("Column", "Type", "Filled", "Values", "Examples"), strict=True))
    rows = "".join(
        f'<tr><td><strong>{e(column["name"])}</strong></td><td data-name="Type">{e(column["type"])}</td>'
        f'<td data-name="Filled" style="white-space:nowrap"><span class="fill"><i style="width:{round(100 * column["fill"])}%"></i></span>'
        f"{e(column['share'])}</td><td{_column_label('Values', column['chart'] or column['spread'])}>{e(column['chart'])}"
        + (f'<span class="soft small">{e(column["spread"])}</span>' if column["spread"] else "")
        + f'</td><td data-name="Examples" dir="auto">{e(" · ".join(column["examples"]))}</td></tr>\n'
        for column in columns
    )
    return (
        '<section class="card"><h2>Columns</h2>\n'
        f'<table class="stack"><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></section>\n'
    )


def _commands_section(records: str, commands: Iterable[tuple[str, str]]) -> str:
    return (
        f'<section class="card"><h2>Next steps</h2>\n<p>The table is stored in <code>{e(records)}</code>.</p>\n'
        f'<table class="stack"><tbody>{_each("<tr><td>{}</td><td><code>{}</code></td></tr>", commands)}</tbody></table></section>\n'
    )


def _source_section(source: Mapping[str, Any], number: int, count: int) -> str:
    """Return the section on one source: its growth, and how it was queried and read."""
    which = f"Search {number} of {count}: " if count > 1 else ""
    legend = '<li><i class="line"></i>records held</li>'
    if source["has_band"]:
        legend += '<li><i class="area"></i>estimated total with its 95 % interval</li>'
    if source["has_forecast"]:
        legend += '<li><i class="dash"></i>forecast</li>'
    learned = _each("<li>{}</li>", ((line,) for line in source["learned"]))
    rows = _each(
        '<tr><td>{}</td><td class="number" data-name="Answers">{:,}</td><td dir="auto" class="soft">{}</td></tr>',
        source["answers"],
    )
    return (
        f'<section class="card"><h2>{which}Growth</h2>\n{e(source["growth"])}\n<ul class="legend">{legend}</ul>\n'
        f"<h3>How it was queried</h3>\n<p>{e(source['interface'])}</p>\n"
        + (f"<h3>What the size rests on</h3>\n{e(source['evidence'])}\n" if source["evidence"] else "")
        + (f"<ul>{learned}</ul>\n" if learned else "")
        + '<table class="stack"><thead><tr><th scope="col">Result</th><th scope="col" class="number">Answers</th>'
        f'<th scope="col">Example</th></tr></thead><tbody>{rows}</tbody></table>\n'
        + _outline(source["outline"])
        + _left_out_section(source["left_out"], source["skipped"])
        + "</section>"
    )


def _outline(outline: Sequence[tuple[bool, str]]) -> str:
    """Return the part that shows how an answer was read."""
    if not outline:
        return ""
    texts = "".join(
        f'<div class="record">{e(text)}</div>' if is_record else f"<span>{e(text)}</span>"
        for is_record, text in outline
    )
    return (
        "<h3>How it was read</h3><details><summary>The texts of one answer; each marked part was read as one record</summary>"
        f'<div class="answer" tabindex="0" role="region" aria-label="The texts of one answer">{texts}</div></details>\n'
    )


def _left_out_section(lines: Sequence[str], skipped: Sequence[Any]) -> str:
    if not lines and not skipped:
        return ""
    html = "<h3>Left out</h3>" + _each("<p>{}</p>", ((line,) for line in lines))
    if skipped:
        pages = "page" if len(skipped) == 1 else "pages"
        listed = ((page.reason, page.page) for page in skipped[:MAX_SKIPPED])
        html += (
            f'<details><summary>{len(skipped):,} {pages} could not be used</summary><table class="stack"><tbody>'
            f'{_each("""<tr><td>{}</td><td class="soft">{}</td></tr>""", listed)}</tbody></table></details>'
        )
    return html + "\n"


SAMPLE_ROWS = 20  # rows shown per table
SAMPLE_COLUMNS = 7  # more columns would be too narrow to read
CELL_CHARS = 240  # longest text of a cell
EXAMPLE_CHARS = 160  # longest excerpt of an answer
GOALS = (0.9, 0.95)  # shares of the estimated size for which the forecast is shown


def report_html(site: "SiteHarvest", summary: Mapping[str, Any], tables: "Sequence[Table]", records: Path) -> str:
    """Return the report as HTML from the contents of `summary.json`; `records` is the file of the (largest) table."""
    size = site.size
    facts = [fact for table in tables for fact in column_facts(table.rows, table.types, table.fill())]
    columns = [{**asdict(fact), "chart": Markup(fact.chart), "share": percent(fact.fill)} for fact in facts]  # noqa: S704 # our own SVG
    gauge_svg = gauge(len(site.state), size.low, size.high, size.estimate, is_lower_bound=site.lower_bound)
    style = Path(__file__).with_name("look.css").read_text(encoding="utf-8")
    values = {
        "name": site.title or summary["site"],
        "summary": {**summary, "about": site.about},
        "when": datetime.datetime.now(datetime.UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "style": Markup(style),  # noqa: S704 # our own style sheet
        "gauge": Markup(gauge_svg),  # noqa: S704 # our own SVG
        "coverage": coverage_sentence(summary),
        "ending": ending_sentence(summary),
        "warnings": warnings(summary),
        "received": _format_bytes(site.bytes),
        "duration": _format_duration(site.seconds),
        "samples": [_sample_values(table) for table in tables],
        "columns": columns,
        "records": str(records),
        "commands": next_commands(summary, site.url, records.parent),
        "sources": [_source_values(source) for source in site.sources],
    }
    return render(values)


def _sample_values(table: "Table") -> dict[str, Any]:
    """Return the first rows with the fullest columns, in the order of the table."""
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
        "rows": [[_cell_text(row.get(name)) for name in names] for row in table.rows[:SAMPLE_ROWS]],
        "more": " and ".join(more) + " in the table." if more else "",
    }


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000 else str(value)
    )
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + "…"


def forecast(points: Sequence[tuple[int, int]], estimate: float) -> list[tuple[str, int, float]]:
    """Return when shares of the size should be reached: label, total requests, records."""
    points_ahead = []
    for share in GOALS:
        more = requests_to(points, share * estimate)
        if more and points and more <= 3 * points[-1][0]:
            points_ahead.append((f"{share:.0%}", points[-1][0] + more, share * estimate))
    return points_ahead


def _source_values(source: "SourceLedger") -> dict[str, Any]:
    """Return the values for one source: its growth, how it was queried and read, what was left out."""
    points = [(requests, held) for requests, held, _ in source.curve]
    moments = [
        SizePoint(
            requests, held, statement.size.estimate, statement.size.low, statement.size.high, statement.is_lower_bound
        )
        for requests, held, statement in source.sizes
    ]
    size = source.size
    if points and not source.lower_bound:
        moments.append(SizePoint(points[-1][0], points[-1][1], size.estimate, size.low, size.high, False))
    predicted = [] if source.lower_bound else forecast(points, source.size.estimate)
    checks: dict[str, Any] = source.checks()
    learned = []
    if seen := views_sentence(str(checks["state"]), source.size_by, source.statement.views):
        learned.append(seen)
    if checks["result_cap"]:
        learned.append(f"It shows at most {checks['result_cap']:,} matches per query.")
    if checks["understands"]:
        learned.append(f"Queries may combine words: {', '.join(checks['understands'].values())}.")
    if source.overlap_rate > 0:
        learned.append(f"Each record was returned {source.overlap_rate:.1f} times on average.")
    if source.relearned:
        learned.append(f"Its pages changed during the harvest; it was learned again {source.relearned} times.")
    views = evidence(len(source), size.low, size.high, source.statement.views, is_lower_bound=source.lower_bound)
    return {
        "growth": Markup(growth(GrowthData(points=points, moments=moments, forecast=predicted))),  # noqa: S704 # our own SVG
        "evidence": Markup(views),  # noqa: S704 # our own SVG
        "has_band": any(not moment.is_lower_bound for moment in moments),
        "has_forecast": bool(predicted),
        "interface": interface_sentence(source.interface.as_dict()),
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


def _format_bytes(number: int) -> str:
    return f"{number / 1e6:,.1f} MB" if number >= 1e5 else f"{number / 1e3:,.0f} kB"


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
