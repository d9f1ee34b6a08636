"""Several sources compared: one table of all things with aligned columns, who has what, where they differ, and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.store.records import Format, write
from upwell.store.remote import output, written_at
from upwell.together.columns import align
from upwell.together.differences import differences_of
from upwell.together.field_size import field_size
from upwell.together.tables import Table, read_table, text_of
from upwell.together.things import duplicates, things_of
from upwell.together.values import AlignedColumn, ComparedSource, Comparison, Difference

__all__ = ["compare"]

MAX_SOURCES = 20
SHOWN_DIFFERENCES = 100  # in the summary and the report; the table has all
TABLE, REPORT = "compared", "compared.html"


def compare(
    places: Sequence[str | Path | Table], *, out: str | Path | None = None, format: Format = "parquet"
) -> Comparison:
    """Compares 2 to 20 tables or harvests; with `out` the table of all things and a report are written into that folder."""
    if not 2 <= len(places) <= MAX_SOURCES:
        raise WrongUsage(f"{len(places)} given: compare takes 2 to {MAX_SOURCES} tables or folders of harvests")
    tables = _named([place if isinstance(place, Table) else read_table(place) for place in places])
    for table in tables:
        if not len(table):
            raise WrongUsage(f"{table.name} has no rows, so there is nothing to compare it by")
    aligned = align(tables)
    things = things_of(tables, aligned)
    agreement, differences = differences_of(tables, aligned, things)
    combinations = Counter(tuple(tables[source].name for source in sorted(thing)) for thing in things)
    comparison = Comparison(
        sources=tuple(
            ComparedSource(
                name=table.name,
                rows=len(table),
                only_here=combinations[(table.name,)],
                duplicates=sum(len(rows) - 1 for rows in duplicates(table)),
                skipped=table.skipped,
            )
            for table in tables
        ),
        columns=tuple(aligned),
        things=len(things),
        overlap=dict(combinations.most_common()),
        agreement=tuple(agreement),
        differences=tuple(differences[:SHOWN_DIFFERENCES]),
        differing=len({difference.thing for difference in differences}),
        size=field_size([thing.keys() for thing in things], len(tables)),
    )
    if out is None:
        return comparison
    with output(out) as folder:
        files = _write(comparison, tables, things, differences, folder, format)
        return replace(comparison, table=written_at(out, files[0]), report=written_at(out, files[1]))


def _named(tables: Sequence[Table]) -> list[Table]:
    """The tables with names of their own: a number is put behind one that is taken."""
    taken: Counter[str] = Counter()
    named = []
    for table in tables:
        taken[table.name] += 1
        name = table.name if taken[table.name] == 1 else f"{table.name} {taken[table.name]}"
        named.append(Table(name=name, keys=table.keys, columns=table.columns, skipped=table.skipped))
    return named


def _write(
    comparison: Comparison,
    tables: Sequence[Table],
    things: Sequence[Mapping[int, int]],
    differences: Sequence[Difference],
    out: Path,
    format: Format,
) -> tuple[Path, Path]:
    """The table of all things, and the report."""
    from upwell.together.comparison_report import html

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {out}: {error.strerror}; name another folder with -o") from error
    table = write(_rows(comparison, tables, things, differences), out, format, name=TABLE)
    report = out / REPORT
    titles = [_title(comparison, tables, things[difference.thing]) for difference in comparison.differences]
    report.write_text(html(comparison, titles), encoding="utf-8")
    return table, report


def _rows(
    comparison: Comparison,
    tables: Sequence[Table],
    things: Sequence[Mapping[int, int]],
    differences: Sequence[Difference],
) -> list[dict[str, object]]:
    """A row for each thing: which sources have it, by which key, what they say together, and each by itself where they differ."""
    differing: dict[int, list[str]] = {}
    for difference in differences:
        differing.setdefault(difference.thing, []).append(difference.column)
    columns = [column for column in comparison.columns if sum(name is not None for name in column.columns) > 1]
    rows = []
    for number, thing in enumerate(things):
        row: dict[str, object] = {
            "_thing": number,
            "_sources": [tables[source].name for source in sorted(thing)],
            "_differs": differing.get(number, []),
        }
        row |= {
            f"_key ({table.name})": tables[i].keys[thing[i]] if i in thing else None for i, table in enumerate(tables)
        }
        row |= {column.name: _said(tables, column, thing) for column in comparison.columns}
        for column in columns:
            for source, table in enumerate(tables):
                name = column.columns[source]
                if name:
                    value = table.columns[name][thing[source]] if source in thing else None
                    row[f"{column.name} ({table.name})"] = value
        rows.append(row)
    return rows


def _said(tables: Sequence[Table], column: AlignedColumn, thing: Mapping[int, int]) -> object:
    """What most sources say, the first of them where none is said more often."""
    values = [
        value
        for source, row in sorted(thing.items())
        if (name := column.columns[source]) and (value := tables[source].columns[name][row]) is not None
    ]
    if not values:
        return None
    texts = [text_of(value) for value in values]
    return values[texts.index(Counter(texts).most_common(1)[0][0])]


def _title(comparison: Comparison, tables: Sequence[Table], thing: Mapping[int, int]) -> str:
    """What a thing is called: the text that tells things apart best, of the columns that most of its rows fill."""
    texts = [(text_of(_said(tables, column, thing)), column) for column in comparison.columns]
    named = [
        text for text, column in texts if text and any(c.isalpha() for c in text) and sum(map(bool, column.columns)) > 1
    ]
    return (named or [text for text, _ in texts if text] or [""])[0]
