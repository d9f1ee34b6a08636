"""Where sources differ in what they say of the same thing: numbers and prices by how far apart, dates by days, texts by words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

from rapidfuzz import fuzz

from upwell.extract.dates import reader_of
from upwell.extract.values import column_type, parse_value
from upwell.together.tables import Table, text_of
from upwell.together.terms import normalised
from upwell.together.values import AlignedColumn, ColumnAgreement, Difference, Kind

__all__ = ["differences_of"]

SAMPLE = 500  # texts of a column that tell its type
SAME_NUMBER = 0.005  # relative difference up to which numbers agree: what rounding makes
MIN_TEXT_DIFFERENCE = 0.1  # below which texts are written differently, not different; not swept


def differences_of(
    tables: Sequence[Table], aligned: Sequence[AlignedColumn], things: Sequence[Mapping[int, int]]
) -> tuple[list[ColumnAgreement], list[Difference]]:
    """What the sources agree in, and where they differ: numbers and dates before texts, the largest differences first."""
    agreements, found = [], []
    for column in aligned:
        kind = _kind(tables, column)
        compared, differing = 0, []
        for number, thing in enumerate(things):
            values = {
                tables[source].name: text
                for source, row in sorted(thing.items())
                if (name := column.columns[source]) and (text := text_of(tables[source].columns[name][row]).strip())
            }
            if len(values) < 2:
                continue
            size = _size(list(values.values()), kind)
            compared += size is not None
            if size:
                differing.append(Difference(thing=number, column=column.name, kind=kind, size=size, values=values))
        if compared:
            agree = compared - len(differing)
            agreements.append(ColumnAgreement(column=column.name, kind=kind, compared=compared, agree=agree))
        found += differing
    found.sort(
        key=lambda difference: (difference.kind == "text", -difference.size, difference.thing, difference.column)
    )
    return agreements, found


def _kind(tables: Sequence[Table], column: AlignedColumn) -> Kind:
    """What the values of a column are compared as: as what they are in every table that has it."""
    kinds = set()
    for table, name in zip(tables, column.columns, strict=True):
        if name:
            kinds.add(column_type([text for text in table.texts[name] if text][:SAMPLE]))
    if kinds <= {"integer", "decimal", "price"}:
        return "number"
    return "date" if kinds <= {"date", "datetime"} else "text"


def _size(texts: Sequence[str], kind: Kind) -> float | None:
    """How far the values of one thing are apart, 0 where they agree; None where fewer than two can be compared."""
    if kind == "text":
        plain = [normalised(text) for text in texts]
        apart = 1 - min(fuzz.token_set_ratio(plain[0], text) for text in plain[1:]) / 100
        return apart if apart > MIN_TEXT_DIFFERENCE else 0.0
    values = [value for text in texts if (value := (_number if kind == "number" else _day)(text)) is not None]
    if len(values) < 2:
        return None
    low, high = min(values), max(values)
    if kind == "date":
        return 1 - exp((low - high) / 365)
    apart = (high - low) / max(abs(low), abs(high), 1e-9)
    return min(1.0, apart) if apart > SAME_NUMBER else 0.0


def _number(text: str) -> float | None:
    value = parse_value(text, column_type([text]))
    amount = value["amount"] if isinstance(value, dict) else value
    return float(amount) if isinstance(amount, int | float) else None


def _day(text: str) -> float | None:
    """The number of the day, where the text says one."""
    reader = reader_of([text])
    moment = reader.read(text) if reader else None
    return float(moment.toordinal()) if moment else None
