"""What people want to know of a column at a glance: its type in plain words, how full it is, examples, how its values are spread."""

import datetime
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upwell.extract.cells import Cells
from upwell.harvest.charts import bars, short_number
from upwell.store.streamed_rows import HeldRows, StreamedRows

__all__ = ["SKEWED", "ColumnFacts", "column_facts", "plain_type"]

MAX_ROWS = 20_000  # that are looked at, evenly spread
MAX_EXAMPLES = 3
EXAMPLE_CHARS = 80
BINS = 16
TOP_VALUES = 8
SKEWED = 10  # times as far from the lowest value lies the end as the middle: bins of equal width would hide the shape
MIN_REPEATS = 1.5  # rows a value, from which on a text is one of a few that come again
PLAIN_TYPES = {
    "text": "text", "integer": "whole number", "decimal": "number", "price": "price", "date": "date", "datetime": "date and time",
    "boolean": "yes or no", "url": "link", "image": "picture",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """One column."""

    name: str
    type: str
    fill: float  # share of the rows
    examples: list[str]
    chart: str  # as SVG
    spread: str  # in words


def plain_type(kind: str) -> str:
    """A type as people call it.

    >>> plain_type("integer"), plain_type("price (€)"), plain_type("list of text")
    ('whole number', 'price (€)', 'several texts')
    """
    if kind.startswith("list of "):
        return f"several {plain_type(kind.removeprefix('list of '))}s"
    name, _, rest = kind.partition(" ")
    return f"{PLAIN_TYPES.get(name, name)} {rest}".strip()


def column_facts(
    rows: HeldRows | StreamedRows, types: Mapping[str, str], fill: Mapping[str, float]
) -> list[ColumnFacts]:
    """The facts of every column, the fullest first."""
    step = max(1, len(rows) // MAX_ROWS)
    columns = rows.columns if isinstance(rows, HeldRows) else Cells.of(rows[::step]).columns
    step = step if isinstance(rows, HeldRows) else 1
    return [_facts(name, types.get(name, "text"), share, columns.get(name, [])[::step]) for name, share in fill.items()]


def _facts(name: str, kind: str, fill: float, cells: Sequence[Any]) -> ColumnFacts:
    values = [value for value in cells if value or value == 0]
    examples = list(dict.fromkeys(_shown(value) for value in values[: 50 * MAX_EXAMPLES]))[:MAX_EXAMPLES]
    chart, spread = _spread(values)
    return ColumnFacts(name=name, type=plain_type(kind), fill=fill, examples=examples, chart=chart, spread=spread)


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= EXAMPLE_CHARS else text[: EXAMPLE_CHARS - 1] + "…"


def _spread(values: Sequence[Any]) -> tuple[str, str]:
    """How values are spread, as a picture and in words; nothing where they say nothing by it."""
    kinds = set(map(type, values))
    if kinds and kinds <= {int, float, datetime.date, datetime.datetime}:
        return _histogram(list(map(_number, values)), values)
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    counts = Counter(map(str, texts))
    if not counts or len(texts) < MIN_REPEATS * len(counts):
        return "", "nearly all different" if len(counts) > 1 else ""
    top = counts.most_common(TOP_VALUES)
    most, number = top[0]
    said = f"{len(counts):,} different, most often {_shown(most)[:30]} ({number / len(texts):.0%})"
    return bars([count for _, count in top], said), said


def _number(value: float | datetime.date) -> float:
    """Where a value lies among others."""
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    return float(value.toordinal() if isinstance(value, datetime.date) else value)


def _histogram(numbers: Sequence[float], values: Sequence[Any]) -> tuple[str, str]:
    """The bins end where all but the highest hundredth lie, so that one outlier does not hide the rest; they grow where most is small."""
    ordered = sorted(numbers)
    low, high = ordered[0], ordered[-1]
    middle, end = ordered[len(ordered) // 2], ordered[int(0.99 * (len(ordered) - 1))]
    if low >= 0 and end - low > SKEWED * (middle - low) and isinstance(values[0], int | float):
        numbers = [math.log1p(number) for number in numbers]
        low, end = math.log1p(low), math.log1p(end)
    counts = [0] * BINS
    for number in numbers:
        counts[min(BINS - 1, int((number - low) / (end - low) * BINS)) if end > low else 0] += 1
    first, last = min(values), max(values)
    if isinstance(first, datetime.datetime):
        first, last = first.date(), last.date()
    if not isinstance(first, datetime.date):
        first, last = short_number(ordered[0]), short_number(high)
    said = f"{first} to {last}"
    return bars(counts, said), said
