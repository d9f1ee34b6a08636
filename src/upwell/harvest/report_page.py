"""The report as HTML. Every value is escaped where it is put in (`e`), but for our own pictures and style sheet, which are `Markup`.

Written as Python and not as a template: a library for templates takes as long to load as the table takes to write.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from markupsafe import escape as e

__all__ = ["page"]

MAX_SKIPPED = 50  # pages that could not be used, that are named


def page(values: Mapping[str, Any]) -> str:
    """The whole report."""
    summary, name = values["summary"], values["name"]
    site = f"{e(summary['site'])} · " if name != summary["site"] else ""
    return "\n".join(
        part
        for part in (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            f"<title>{e(name)} – Upwell</title><style>{e(values['style'])}</style></head>\n<body><main>",
            f'<header style="margin:0 0 20px"><h1 dir="auto">{e(name)}</h1><p class="soft">{site}{e(values["when"])}</p></header>\n',
            _held(values, summary),
            _refreshed(summary["refreshed"]) if summary.get("refreshed") else "",
            *(_sample(table) for table in values["samples"] if table["rows"]),
            _columns(values["columns"]) if values["columns"] else "",
            _commands(values["records"], values["commands"]),
            *(_source(source, number, len(values["sources"])) for number, source in enumerate(values["sources"], 1)),
            '<footer class="soft small">Made by Upwell. The figures are in <code>summary.json</code>, what was learned of the site in '
            "<code>source.json</code>, every page as it came in <code>archive/</code> (WARC).</footer>\n</main></body></html>",
        )
        if part
    )


def _each(template: str, values: Iterable[Sequence[object]]) -> str:
    """A template once for each tuple of values, which are escaped."""
    return "".join(Markup(template).format(*value) for value in values)  # noqa: S704 # `format` escapes what it puts in


def _held(values: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """How much is held."""
    things = ((f"{rows:,}", _things(kind, rows)) for kind, rows in summary["tables"].items())
    counts = ", ".join(f"{rows} {e(thing)}" for rows, thing in things)
    about = f" about {e(summary['about'])}" if summary["about"] else ""
    ended = f'<p class="soft">{e(values["ended"])}</p>\n' if values["ended"] else ""
    facts = (
        ("Columns", len(values["columns"])),
        ("Requests", f"{summary['requests']:,}"),
        ("Received", values["received"]),
        ("Time", values["duration"]),
    )
    return (
        f'<section class="card" aria-label="How much is held"><div class="hero">{e(values["gauge"])}<div>\n'
        f'<p class="count">{counts}{about}</p>\n<p>{e(values["held_in_words"])}</p>\n{ended}'
        f'<dl class="facts">{_each("<div><dt>{}</dt><dd>{}</dd></div>", facts)}</dl></div></div>\n'
        + _each('<p class="note warn" style="margin-top:14px">{}</p>', ((problem,) for problem in values["warnings"]))
        + "</section>\n"
    )


def _things(kind: str, rows: int) -> str:
    if kind != "records":
        return kind.replace("_", " ")
    return "record" if rows == 1 else "records"


def _refreshed(counts: Mapping[str, int]) -> str:
    facts = _each("<div><dt>{}</dt><dd>{}</dd></div>", ((kind.capitalize(), f"{n:,}") for kind, n in counts.items()))
    return (
        f'<section class="card"><h2>Since the last time</h2><dl class="facts" style="margin:0">{facts}</dl>'
        '<p class="soft small" style="margin:10px 0 0">Every difference is in <code>changes.parquet</code>.</p></section>\n'
    )


def _sample(table: Mapping[str, Any]) -> str:
    """The first rows of a table."""
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
    return f"<td{kind}{_named(name, text)}>{shown}</td>"


def _named(name: str, value: object) -> str:
    """The name of its column beside a cell, for narrow screens; not where it is empty."""
    return f' data-name="{e(name)}"' if value else ""


def _columns(columns: Iterable[Mapping[str, Any]]) -> str:
    """What each column is like."""
    heads = _each('<th scope="col">{}</th>', zip(("Column", "Type", "Filled", "Values", "Examples"), strict=True))
    rows = "".join(
        f'<tr><td><strong>{e(column["name"])}</strong></td><td data-name="Type">{e(column["type"])}</td>'
        f'<td data-name="Filled" style="white-space:nowrap"><span class="fill"><i style="width:{round(100 * column["fill"])}%"></i></span>'
        f"{e(column['share'])}</td><td{_named('Values', column['chart'] or column['spread'])}>{e(column['chart'])}"
        + (f'<span class="soft small">{e(column["spread"])}</span>' if column["spread"] else "")
        + f'</td><td data-name="Examples" dir="auto">{e(" · ".join(column["examples"]))}</td></tr>\n'
        for column in columns
    )
    return (
        '<section class="card"><h2>Columns</h2>\n'
        f'<table class="stack"><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></section>\n'
    )


def _commands(records: str, commands: Iterable[tuple[str, str]]) -> str:
    return (
        f'<section class="card"><h2>What you can do now</h2>\n<p>The table is in <code>{e(records)}</code>.</p>\n'
        f'<table class="stack"><tbody>{_each("<tr><td>{}</td><td><code>{}</code></td></tr>", commands)}</tbody></table></section>\n'
    )


def _source(source: Mapping[str, Any], number: int, count: int) -> str:
    """How one source grew, and how it was asked and read."""
    which = f"Search {number} of {count}: " if count > 1 else ""
    legend = '<li><i class="line"></i>records held</li>'
    if source["has_band"]:
        legend += '<li><i class="area"></i>estimated number in all, with its 95 % interval</li>'
    if source["has_forecast"]:
        legend += '<li><i class="dash"></i>forecast</li>'
    learned = _each("<li>{}</li>", ((line,) for line in source["learned"]))
    answers = _each(
        '<tr><td>{}</td><td class="number" data-name="Answers">{:,}</td><td dir="auto" class="soft">{}</td></tr>',
        source["answers"],
    )
    return (
        f'<section class="card"><h2>{which}How it grew</h2>\n{e(source["growth"])}\n<ul class="legend">{legend}</ul>\n'
        f"<h3>How it was asked</h3>\n<p>{e(source['asked'])}</p>\n"
        + (f"<ul>{learned}</ul>\n" if learned else "")
        + '<table class="stack"><thead><tr><th scope="col">What came back</th><th scope="col" class="number">Answers</th>'
        f'<th scope="col">For example</th></tr></thead><tbody>{answers}</tbody></table>\n'
        + _outline(source["outline"])
        + _left_out(source["left_out"], source["skipped"])
        + "</section>"
    )


def _outline(outline: Sequence[tuple[bool, str]]) -> str:
    """How an answer was read."""
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


def _left_out(lines: Sequence[str], skipped: Sequence[Any]) -> str:
    if not lines and not skipped:
        return ""
    said = "<h3>Left out</h3>" + _each("<p>{}</p>", ((line,) for line in lines))
    if skipped:
        pages = "page" if len(skipped) == 1 else "pages"
        named = ((one.reason, one.page) for one in skipped[:MAX_SKIPPED])
        said += (
            f'<details><summary>{len(skipped):,} {pages} could not be used</summary><table class="stack"><tbody>'
            f'{_each("""<tr><td>{}</td><td class="soft">{}</td></tr>""", named)}</tbody></table></details>'
        )
    return said + "\n"
