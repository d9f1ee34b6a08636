"""Compare several sources.

Rows of the same entity are grouped (`group_entities`), values compared (`find_differences`), the total number of entities estimated from
the overlap (`population_size`), and a table and a report written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import exp, log, prod, sqrt
from pathlib import Path

from rapidfuzz import fuzz

from upwell.choose.size import chao
from upwell.combine.align import align
from upwell.combine.match import match_rows
from upwell.combine.match_results import (
    AlignedColumn,
    ColumnAgreement,
    ComparedSource,
    Comparison,
    Difference,
    PopulationSize,
    ValueKind,
)
from upwell.combine.similarity import normalised
from upwell.combine.source_table import SourceTable, read_table, text_of
from upwell.errors import WrongUsage
from upwell.records.values import column_type, date_reader, parse_value
from upwell.store.remote import displayed_output, open_output
from upwell.table.writers import Format, write

__all__ = ["compare", "duplicate_rows", "find_differences", "group_entities", "population_size", "render_report"]


EntityRows = dict[int, int]  # table number → row number


def group_entities(tables: Sequence[SourceTable], aligned: Sequence[AlignedColumn]) -> list[EntityRows]:
    """Group rows of the same entity, at most one row per table; entities in most tables first.

    Pairs are joined in order of decreasing probability.
    """
    pairs = []
    for x, y in combinations(range(len(tables)), 2):
        columns = [
            (name_x, name_y) for column in aligned if (name_x := column.columns[x]) and (name_y := column.columns[y])
        ]
        pairs += [(score, x, a, y, b) for a, b, score in match_rows(tables[x], tables[y], columns)]
    groups = {(number, row): {number: row} for number, table in enumerate(tables) for row in range(len(table))}
    for _, x, a, y, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        group, other_group = groups[x, a], groups[y, b]
        if group is not other_group and not group.keys() & other_group.keys():
            group |= other_group
            for row in other_group.items():
                groups[row] = group
    distinct = {id(entity): entity for entity in groups.values()}
    return sorted(distinct.values(), key=lambda entity: (-len(entity), sorted(entity.items())))


def duplicate_rows(table: SourceTable) -> list[list[int]]:
    """Return groups of rows of one table that are equal in all columns, ignoring case, accents and punctuation."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in range(len(table)):
        values = tuple(normalised(texts[row]) for texts in table.texts.values())
        if any(values):
            groups.setdefault(values, []).append(row)
    return [rows for rows in groups.values() if len(rows) > 1]


SAMPLE = 500  # texts of a column that determine its type
SAME_NUMBER = 0.005  # relative difference up to which numbers are equal; allows for rounding
MIN_TEXT_DIFFERENCE = 0.1  # difference below which texts are variants of spelling; not swept


def find_differences(
    tables: Sequence[SourceTable], aligned: Sequence[AlignedColumn], entities: Sequence[Mapping[int, int]]
) -> tuple[list[ColumnAgreement], list[Difference]]:
    """Return the agreement in each column, and the differences: numbers and dates before texts, largest first."""
    agreements, differences = [], []
    for column in aligned:
        kind = _kind(tables, column)
        compared, differing = 0, []
        for number, rows in enumerate(entities):
            values = {
                tables[source].name: text
                for source, row in sorted(rows.items())
                if (name := column.columns[source]) and (text := text_of(tables[source].columns[name][row]).strip())
            }
            if len(values) < 2:
                continue
            size = _size(list(values.values()), kind)
            compared += size is not None
            if size:
                differing.append(Difference(entity=number, column=column.name, kind=kind, size=size, values=values))
        if compared:
            agree = compared - len(differing)
            agreements.append(ColumnAgreement(column=column.name, kind=kind, compared=compared, agree=agree))
        differences += differing
    differences.sort(
        key=lambda difference: (difference.kind == "text", -difference.size, difference.entity, difference.column)
    )
    return agreements, differences


def _kind(tables: Sequence[SourceTable], column: AlignedColumn) -> ValueKind:
    """Return how the values of a column are compared: by a type only if it is the same in every table."""
    kinds = set()
    for table, name in zip(tables, column.columns, strict=True):
        if name:
            kinds.add(column_type([text for text in table.texts[name] if text][:SAMPLE]))
    if kinds <= {"integer", "decimal", "price"}:
        return "number"
    return "date" if kinds <= {"date", "datetime"} else "text"


def _size(texts: Sequence[str], kind: ValueKind) -> float | None:
    """Return the distance between the values of one entity, 0 if they agree; None if fewer than two can be compared."""
    if kind == "text":
        plain = [normalised(text) for text in texts]
        distance = 1 - min(fuzz.token_set_ratio(plain[0], text) for text in plain[1:]) / 100
        return distance if distance > MIN_TEXT_DIFFERENCE else 0.0
    values = [value for text in texts if (value := (_number if kind == "number" else _day)(text)) is not None]
    if len(values) < 2:
        return None
    low, high = min(values), max(values)
    if kind == "date":
        return 1 - exp((low - high) / 365)
    distance = (high - low) / max(abs(low), abs(high), 1e-9)
    return min(1.0, distance) if distance > SAME_NUMBER else 0.0


def _number(text: str) -> float | None:
    value = parse_value(text, column_type([text]))
    amount = value["amount"] if isinstance(value, dict) else value
    return float(amount) if isinstance(amount, int | float) else None


def _day(text: str) -> float | None:
    """Return the ordinal of a date, or None."""
    reader = date_reader([text])
    moment = reader.read(text) if reader else None
    return float(moment.toordinal()) if moment else None


NORMAL_95 = 1.96  # two-sided 95 % quantile of the normal distribution
MAX_CELLS = 5  # number of sources up to which every combination of sources is a cell of the chi-square test
# Upper 5 % points of chi-square for 1 to 10 degrees of freedom; beyond, Wilson and Hilferty's approximation is used.
CHI_SQUARE_95 = (3.84, 5.99, 7.81, 9.49, 11.07, 12.59, 14.07, 15.51, 16.92, 18.31)


def population_size(histories: Sequence[Collection[int]], sources: int) -> PopulationSize:
    """Estimate the total number of entities by capture–recapture; each source is one capture.

    `histories` contains, for each entity, the numbers of the sources that have it. Three or more independent sources give an estimate
    (Darroch's maximum likelihood for captures of unequal strength). Sources that copy from each other or prefer the same entities
    overlap more than independent ones, which makes the estimate too small. In that case, and with two sources, where dependence
    cannot be tested, the result is a lower bound (Chao's estimator for unequal catchability).
    """
    held = len(histories)
    counts = [sum(source in history for history in histories) for source in range(sources)]
    in_one, in_two = (sum(len(history) == k for history in histories) for k in (1, 2))
    unseen = (chao(held, in_one, in_two).low - held) * (sources - 1) / sources  # Chao's correction for few captures
    at_least = held + int(unseen)
    if sources < 3 or not all(counts):
        why = "independence cannot be tested with two sources" if sources > 1 else "only one source"
        at_least = at_least if in_two else held
        return PopulationSize(held=held, estimate=at_least, low=at_least, high=None, is_lower_bound=True, why=why)
    size = _independent_size(held, counts)
    if size is None:
        why = "hardly any entity is in two sources"
        return PopulationSize(held=held, estimate=held, low=held, high=None, is_lower_bound=True, why=why)
    if not _fits(histories, counts, size, sources):
        why, in_all = "the sources depend on each other", sum(len(history) == sources for history in histories)
        expected_in_all = size * prod(count / size for count in counts)
        if in_all < expected_in_all:  # negative dependence: few entities may be unseen
            at_least, why = held, "the sources overlap less than independent sources would"
        return PopulationSize(held=held, estimate=at_least, low=at_least, high=None, is_lower_bound=True, why=why)
    low, high = _interval(held, counts, size)
    why = f"{sources} sources whose overlap is consistent with independence"
    return PopulationSize(held=held, estimate=round(size), low=low, high=high, is_lower_bound=False, why=why)


def _independent_size(held: int, counts: Sequence[int]) -> float | None:
    """Solve 1 − held/N = Π (1 − nᵢ/N) for N: the size at which independent sources leave the observed number unseen.

    >>> round(_independent_size(80, [50, 60]))  # 30 in both: Lincoln and Petersen's 50 · 60 / 30
    100
    """

    def unseen(size: float) -> float:
        return (1 - held / size) - prod(1 - count / size for count in counts)

    low, high = float(max(held, max(counts) + 1e-6)), 2.0 * held
    if sum(counts) <= held:
        return None
    while unseen(high) < 0 and high < 1e12:
        high *= 2
    if unseen(high) < 0:
        return None
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if unseen(middle) < 0 else (low, middle)
    return high


def _interval(held: int, counts: Sequence[int], size: float) -> tuple[int, int]:
    """Return a 95 % interval from Darroch's variance with a log-normal distribution of the unseen number (Chao); it begins at `held`."""
    shares = [min(count / size, 1 - 1e-9) for count in counts]
    information = 1 / prod(1 - share for share in shares) + len(shares) - 1 - sum(1 / (1 - share) for share in shares)
    unseen = size - held
    if unseen < 1e-6 or information <= 0:
        return held, max(held, round(size))
    factor = exp(NORMAL_95 * sqrt(log(1 + size / information / unseen**2)))
    return held + round(unseen / factor), held + round(unseen * factor)


def _fits(histories: Sequence[Collection[int]], counts: Sequence[int], size: float, sources: int) -> bool:
    """Test by chi-square if the overlaps are consistent with independent sources."""
    shares = [count / size for count in counts]
    if sources <= MAX_CELLS:
        observed = Counter(sum(1 << source for source in history) for history in histories)
        expected = {
            cell: size * prod(share if cell >> i & 1 else 1 - share for i, share in enumerate(shares))
            for cell in range(1, 1 << sources)
        }
        freedom = len(expected) - sources - 1
    else:
        observed = Counter(len(history) for history in histories)
        distribution = [1.0]
        for share in shares:
            padded = [0.0, *distribution, 0.0]
            distribution = [padded[k] * share + padded[k + 1] * (1 - share) for k in range(len(distribution) + 1)]
        expected = {k: size * probability for k, probability in enumerate(distribution) if k}
        freedom = len(expected) - 2
    distance = sum((observed[cell] - value) ** 2 / max(value, 1.0) for cell, value in expected.items())
    return distance <= _critical(freedom)


def _critical(freedom: int) -> float:
    """Return the 95 % quantile of chi-square."""
    if freedom <= len(CHI_SQUARE_95):
        return CHI_SQUARE_95[freedom - 1]
    return float(freedom * (1 - 2 / (9 * freedom) + 1.645 * sqrt(2 / (9 * freedom))) ** 3)


MAX_BARS = 15  # combinations of sources drawn in the report
BAR_HEIGHT, DOT_SPACING = 26, 22


def render_report(comparison: Comparison, titles: Sequence[str]) -> str:
    """Render the report as one self-contained HTML file; values from sources are escaped. `titles` name the entities of the differences."""
    import jinja2  # imported here because only the report needs it

    templates = jinja2.Environment(loader=jinja2.PackageLoader("upwell.combine", "."), autoescape=True)
    combinations = sorted(comparison.overlap.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_BARS]
    largest = max((count for _, count in combinations), default=1)
    names = [source.name for source in comparison.sources]
    bars_left = DOT_SPACING * len(names) + 10
    return templates.get_template("compared.html.j2").render(
        comparison=comparison,
        names=names,
        differences=list(zip(comparison.differences, titles, strict=True)),
        bars=[
            {
                "y": BAR_HEIGHT * row,
                "dots": [DOT_SPACING * position + 11 for position, name in enumerate(names) if name in combination],
                "gaps": [DOT_SPACING * position + 11 for position, name in enumerate(names) if name not in combination],
                "width": round((560 - bars_left) * count / largest, 1),
                "label": f"{count:,}",
                "title": " and ".join(combination),
            }
            for row, (combination, count) in enumerate(combinations)
        ],
        bars_left=bars_left,
        height=BAR_HEIGHT * len(combinations) + 4,
        hidden=len(comparison.overlap) - len(combinations),
    )


MAX_SOURCES = 20
SHOWN_DIFFERENCES = 100  # differences in the summary and the report; the table contains all
TABLE, REPORT = "compared", "compared.html"


def compare(
    places: Sequence[str | Path | SourceTable], *, out: str | Path | None = None, format: Format = "parquet"
) -> Comparison:
    """Compare 2 to 20 tables or harvests; with `out`, write the table of all entities and a report into that folder."""
    if not 2 <= len(places) <= MAX_SOURCES:
        raise WrongUsage(f"compare takes 2 to {MAX_SOURCES} tables or folders of harvests; {len(places)} given")
    tables = _with_unique_names([place if isinstance(place, SourceTable) else read_table(place) for place in places])
    for table in tables:
        if not len(table):
            raise WrongUsage(f"{table.name} has no rows to compare; harvest it first, or leave it out")
    aligned = align(tables)
    entities = group_entities(tables, aligned)
    agreement, differences = find_differences(tables, aligned, entities)
    combinations = Counter(tuple(tables[source].name for source in sorted(entity_rows)) for entity_rows in entities)
    comparison = Comparison(
        sources=tuple(
            ComparedSource(
                name=table.name,
                rows=len(table),
                only_here=combinations[(table.name,)],
                duplicates=sum(len(group) - 1 for group in duplicate_rows(table)),
                skipped=table.skipped,
            )
            for table in tables
        ),
        columns=tuple(aligned),
        entities=len(entities),
        overlap=dict(combinations.most_common()),
        agreement=tuple(agreement),
        differences=tuple(differences[:SHOWN_DIFFERENCES]),
        differing=len({difference.entity for difference in differences}),
        size=population_size([entity_rows.keys() for entity_rows in entities], len(tables)),
    )
    if out is None:
        return comparison
    with open_output(out) as folder:
        files = _write(comparison, tables, entities, differences, folder, format)
        return replace(comparison, table=displayed_output(out, files[0]), report=displayed_output(out, files[1]))


def _with_unique_names(tables: Sequence[SourceTable]) -> list[SourceTable]:
    """Return the tables with unique names; a number is appended to repeated ones."""
    taken: Counter[str] = Counter()
    named = []
    for table in tables:
        taken[table.name] += 1
        name = table.name if taken[table.name] == 1 else f"{table.name} {taken[table.name]}"
        named.append(SourceTable(name=name, keys=table.keys, columns=table.columns, skipped=table.skipped))
    return named


def _write(
    comparison: Comparison,
    tables: Sequence[SourceTable],
    entities: Sequence[Mapping[int, int]],
    differences: Sequence[Difference],
    out: Path,
    format: Format,
) -> tuple[Path, Path]:
    """Write the table of all entities and the report."""

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {out}: {error.strerror}; choose another folder with -o") from error
    table = write(_rows(comparison, tables, entities, differences), out, format, name=TABLE)
    report = out / REPORT
    titles = [_title(comparison, tables, entities[difference.entity]) for difference in comparison.differences]
    report.write_text(render_report(comparison, titles), encoding="utf-8")
    return table, report


def _rows(
    comparison: Comparison,
    tables: Sequence[SourceTable],
    entities: Sequence[Mapping[int, int]],
    differences: Sequence[Difference],
) -> list[dict[str, object]]:
    """Build a row for each entity: its sources and keys, the merged values, and each source's own value in shared columns."""
    differing: dict[int, list[str]] = {}
    for difference in differences:
        differing.setdefault(difference.entity, []).append(difference.column)
    columns = [column for column in comparison.columns if sum(name is not None for name in column.columns) > 1]
    rows = []
    for number, entity in enumerate(entities):
        row: dict[str, object] = {
            "_thing": number,
            "_sources": [tables[source].name for source in sorted(entity)],
            "_differs": differing.get(number, []),
        }
        row |= {
            f"_key ({table.name})": tables[i].keys[entity[i]] if i in entity else None for i, table in enumerate(tables)
        }
        row |= {column.name: _merged_value(tables, column, entity) for column in comparison.columns}
        for column in columns:
            for source, table in enumerate(tables):
                name = column.columns[source]
                if name:
                    value = table.columns[name][entity[source]] if source in entity else None
                    row[f"{column.name} ({table.name})"] = value
        rows.append(row)
    return rows


def _merged_value(tables: Sequence[SourceTable], column: AlignedColumn, entity: Mapping[int, int]) -> object:
    """Return the most frequent value among the sources; the first one on a tie."""
    values = [
        value
        for source, row in sorted(entity.items())
        if (name := column.columns[source]) and (value := tables[source].columns[name][row]) is not None
    ]
    if not values:
        return None
    texts = [text_of(value) for value in values]
    return values[texts.index(Counter(texts).most_common(1)[0][0])]


def _title(comparison: Comparison, tables: Sequence[SourceTable], entity: Mapping[int, int]) -> str:
    """Return a name for an entity: its first text with letters, preferably from a column shared by several sources."""
    texts = [(text_of(_merged_value(tables, column, entity)), column) for column in comparison.columns]
    names = [
        text for text, column in texts if text and any(c.isalpha() for c in text) and sum(map(bool, column.columns)) > 1
    ]
    return (names or [text for text, _ in texts if text] or [""])[0]
