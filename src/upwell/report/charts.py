"""Charts as inline SVG and facts about columns, for the report and the web interface; colours come from the page's style sheet.

gauge          share of the records held
evidence       what the coverage statement rests on
growth         records held by requests sent, with the estimated size as a band and the forecast
bars           distribution of a column's values
column_facts   type in plain words, fill, examples and distribution of each column
"""

import datetime
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upwell.table.rows import FieldColumns, InMemoryRows, StreamedRows

__all__ = [
    "LARGEST_SHARE",
    "SKEW_FACTOR",
    "ColumnFacts",
    "GrowthData",
    "SizePoint",
    "bars",
    "column_facts",
    "evidence",
    "gauge",
    "growth",
    "percent",
    "plain_type",
    "short_number",
    "ticks",
]

#
# gauge       how much is held of how much there may be
# growth      records held by requests sent, with the estimated size as a band and the forecast
# bars        how the values of a column are distributed

Scale = Callable[[float], float]  # maps a number to a coordinate
RING_RADIUS = 52  # radius of the gauge
WIDTH, HEIGHT = 720, 280  # size of the growth chart
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 18, 40  # its margins
OPEN_AXIS = 1.25  # length of an axis without an upper bound, in multiples of what is known
BAR_WIDTH, BAR_HEIGHT = 132, 30  # size of a histogram
MAX_POINTS = 400  # points drawn of a curve
LARGEST_SHARE = 0.99  # that is stated of an estimated size: only a size that is known can be held completely
MAX_AXIS_FACTOR = (
    4.0  # the axis ends at this multiple of the records held; a distant upper bound would flatten the curve
)


def short_number(number: float) -> str:
    """Format a number for an axis.

    >>> [short_number(n) for n in (0, 950, 1200, 34_006, 2_500_000)]
    ['0', '950', '1.2k', '34k', '2.5M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            scaled = number / size
            return (f"{scaled:.1f}".removesuffix(".0") if scaled < 10 else f"{scaled:.0f}") + letter
    return f"{number:.0f}" if number == int(number) else f"{number:g}"


def percent(share: float) -> str:
    """Format a share, rounding down.

    >>> [percent(share) for share in (0.004, 0.5, 0.999, 1)]
    ['<1%', '50%', '99%', '100%']
    """
    return f"{math.floor(100 * share + 1e-9)}%" if share >= 0.01 else "<1%"


def ticks(end: float, most: int = 5) -> list[float]:
    """Return round numbers from 0 up to about `end`.

    >>> ticks(34_006), ticks(300)
    ([0, 10000, 20000, 30000], [0, 100, 200, 300])
    """
    if end <= 0:
        return [0]
    raw = end / most
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    return [step * i for i in range(int(end / step + 1e-9) + 1)]


def gauge(held: int, low: float, high: float, estimate: float, *, is_lower_bound: bool) -> str:
    """Draw the share held as a ring and its interval as a paler arc; without an upper bound the ring is open and shows no share."""
    around = 2 * math.pi * RING_RADIUS
    if not held:
        share, pale, middle, below = 0.0, (0.0, 0.0), "0", "records"
    elif is_lower_bound:
        share, pale, middle, below = 0.0, (0.0, 0.0), short_number(held), f"of ≥ {short_number(low)}"
    else:
        share = min(1.0 if high <= held else LARGEST_SHARE, held / max(estimate, 1.0))
        pale = min(1.0, held / max(high, 1.0)), min(1.0, held / max(low, 1.0))
        middle = percent(share)
        low_share, high_share = percent(pale[0]), percent(pale[1])
        below = f"{low_share} – {high_share}" if low_share != high_share else "held"
    arcs = f'<circle class="ring{" open" if is_lower_bound else ""}" cx="64" cy="64" r="{RING_RADIUS}"/>'
    if pale[1] > pale[0]:
        arcs += _arc("ring-between", pale[0], pale[1], around)
    if share:
        arcs += _arc("ring-held", 0.0, min(share, pale[0]) if pale[1] > pale[0] else share, around)
    label = f"{middle} {below}"
    return (
        f'<svg class="gauge" viewBox="0 0 128 128" role="img" aria-label="{label}">{arcs}'
        f'<text x="64" y="66" class="gauge-share">{_text(middle)}</text>'
        f'<text x="64" y="83" class="gauge-between">{_text(below)}</text></svg>'
    )


def _arc(name: str, start: float, end: float, around: float) -> str:
    length = max(0.0, end - start) * around
    return (
        f'<circle class="{name}" cx="64" cy="64" r="{RING_RADIUS}" stroke-dasharray="{length:.1f} {around - length:.1f}" '
        f'stroke-dashoffset="{-start * around:.1f}" transform="rotate(-90 64 64)"/>'
    )


@dataclass(frozen=True, slots=True)
class SizePoint:
    """Estimated size of a source after a number of requests."""

    requests: int
    held: int
    estimate: float
    low: float
    high: float
    is_lower_bound: bool
    state: str = "estimated"  # as in `size_state` of `summary.json`
    by: str = ""  # the evidence


@dataclass(frozen=True, kw_only=True)
class GrowthData:
    """Data of a growth chart."""

    points: Sequence[tuple[int, int]]  # requests sent, records held
    moments: Sequence[SizePoint] = ()
    forecast: Sequence[tuple[str, int, float]] = ()  # label, total requests, records


def growth(data: GrowthData, *, requests_label: str = "requests", records_label: str = "records held") -> str:
    """Draw records held by requests sent, with axes; the estimated size is a band and the forecast a dashed line."""
    if not data.points:
        return ""
    last_requests, last_held = data.points[-1]
    end_x = max([last_requests, *(at for _, at, _ in data.forecast)], default=1) or 1
    bounded = [moment for moment in data.moments if not moment.is_lower_bound]
    highest = max([last_held, *(records for _, _, records in data.forecast), *(m.estimate for m in bounded)])
    highest = max(highest, min(max((m.high for m in bounded), default=0), MAX_AXIS_FACTOR * max(1, last_held)))
    marks_y, marks_x = ticks(highest * 1.02), ticks(end_x)
    end_y = max(highest * 1.05, 1.0)

    def x(requests: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * requests / end_x, 1)

    def y(records: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(records, end_y) / end_y, 1)

    parts = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(mark)}" y2="{y(mark)}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{y(mark) + 4}" text-anchor="end">{short_number(mark)}</text>'
        for mark in marks_y
    ]
    parts += [
        f'<text class="tick" x="{x(mark)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short_number(mark)}</text>'
        for mark in marks_x
    ]
    parts += _band(bounded, x, y, last_requests)
    step = max(1, len(data.points) // MAX_POINTS)
    drawn = [*data.points[::step], data.points[-1]]
    line = " ".join(f"{x(requests)},{y(held)}" for requests, held in drawn)
    parts.append(f'<polyline class="held-line" points="{x(0)},{y(0)} {line}"/>')
    if data.forecast:
        ahead = " ".join(f"{x(at)},{y(records)}" for _, at, records in data.forecast)
        parts.append(f'<polyline class="ahead" points="{x(last_requests)},{y(last_held)} {ahead}"/>')
        for i, (label, at, records) in enumerate(data.forecast):
            below = (
                20 if i == 0 and len(data.forecast) > 1 else -9
            )  # the first label goes below its point, so that the labels do not touch
            anchor = "end" if x(at) > WIDTH - 90 else "middle"
            parts.append(f'<circle class="ahead-point" cx="{x(at)}" cy="{y(records)}" r="3.5"/>')
            parts.append(f'<text x="{x(at)}" y="{y(records) + below}" text-anchor="{anchor}">{_text(label)}</text>')
    parts.append(f'<circle class="held-point" cx="{x(last_requests)}" cy="{y(last_held)}" r="4.5"/>')
    parts.append(
        f'<text class="axis" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{_text(requests_label)}</text>'
    )
    parts.append(f'<text class="axis" x="8" y="{TOP - 6}">{_text(records_label)}</text>')
    label = f"{last_held:,} {records_label} after {last_requests:,} {requests_label}"
    return f'<svg class="growth" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(label)}">{"".join(parts)}</svg>'


def _band(moments: Sequence[SizePoint], x: Scale, y: Scale, last_requests: int) -> list[str]:
    """Draw the interval and the middle of the estimated size over time."""
    if not moments:
        return []
    closed = [*moments]
    if closed[-1].requests < last_requests:
        last = closed[-1]
        closed.append(SizePoint(last_requests, last.held, last.estimate, last.low, last.high, False))
    upper = " ".join(f"{x(m.requests)},{y(m.high)}" for m in closed)
    lower = " ".join(f"{x(m.requests)},{y(m.low)}" for m in reversed(closed))
    middle = " ".join(f"{x(m.requests)},{y(m.estimate)}" for m in closed)
    return [f'<polygon class="band" points="{upper} {lower}"/>', f'<polyline class="estimate" points="{middle}"/>']


def evidence(held: int, low: float, high: float, views: Sequence[str], *, is_lower_bound: bool) -> str:
    """Draw what a coverage statement rests on: the records held and the interval on one axis, and below it the views.

    Without an upper bound the axis is open.
    """
    if not held:
        return ""
    end = max(held, low if is_lower_bound else high) * (OPEN_AXIS if is_lower_bound else 1.0)
    left, right, top = LEFT, WIDTH - RIGHT, 20

    def x(records: float) -> float:
        return round(left + (right - left) * min(records, end) / end, 1)

    marks = {held: "held", round(low): "at least"} | ({} if is_lower_bound else {round(high): "at most"})
    parts = [
        f'<rect class="band" x="{left}" y="{top}" width="{right - left}" height="14" rx="7"/>',
        f'<rect class="ring-held-bar" x="{left}" y="{top}" width="{max(2.0, x(held) - left)}" height="14" rx="7"/>',
    ]
    if is_lower_bound:
        parts.append(f'<line class="ahead" x1="{x(max(held, low))}" x2="{right}" y1="{top + 7}" y2="{top + 7}"/>')
    else:
        parts.append(
            f'<rect class="between-bar" x="{x(low)}" y="{top}" width="{max(2.0, x(high) - x(low))}" height="14"/>'
        )
    parts += [
        f'<text class="tick" x="{x(at)}" y="{top - 6 if name == "held" else top + 30}" text-anchor="{_anchor(x(at))}">'
        f"{name} {short_number(at)}</text>"
        for at, name in marks.items()
    ]
    parts += [
        f'<circle class="held-point" cx="{left + 6}" cy="{top + 50 + 20 * i}" r="4"/>'
        f'<text x="{left + 18}" y="{top + 54 + 20 * i}">{_text(view)}</text>'
        for i, view in enumerate(views)
    ]
    label = f"{held:,} held; {', '.join(views) or 'no view of the size'}"
    return (
        f'<svg class="growth evidence" viewBox="0 0 {WIDTH} {top + 50 + 20 * len(views)}" role="img" aria-label="{_text(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _anchor(x: float) -> str:
    return "end" if x > WIDTH / 2 else "start"


def bars(counts: Sequence[float], label: str) -> str:
    """Draw a histogram without axes; the label describes it."""
    most = max(counts, default=0) or 1
    width = BAR_WIDTH / max(1, len(counts))
    drawn = "".join(
        f'<rect x="{i * width + 0.5:.1f}" y="{BAR_HEIGHT - height:.1f}" width="{max(1.0, width - 1):.1f}" height="{height:.1f}"/>'
        for i, count in enumerate(counts)
        if (height := max(1.0, BAR_HEIGHT * count / most) if count else 0.0)
    )
    return (
        f'<svg class="bars" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" role="img" aria-label="{_text(label)}" '
        f'preserveAspectRatio="none">{drawn}</svg>'
    )


def _text(text: str) -> str:
    """Escape a text for XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


MAX_ROWS = 20_000  # rows examined, evenly spread
MAX_EXAMPLES = 3
EXAMPLE_CHARS = 80
BINS = 16  # bars of a histogram of numbers
TOP_VALUES = 8  # bars of a histogram of texts
SKEW_FACTOR = 10  # logarithmic bins are used if the end is this many times as far from the lowest value as the middle
MIN_REPEATS = 1.5  # rows per distinct text from which on the most frequent texts are shown
PLAIN_TYPES = {
    "text": "text", "integer": "whole number", "decimal": "number", "price": "price", "date": "date", "datetime": "date and time",
    "boolean": "yes or no", "url": "link", "image": "picture",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """Facts about one column."""

    name: str
    type: str
    fill: float  # share of rows with a value
    examples: list[str]
    chart: str  # SVG
    spread: str  # distribution in words


def plain_type(kind: str) -> str:
    """Return a type in everyday words.

    >>> plain_type("integer"), plain_type("price (€)"), plain_type("list of text")
    ('whole number', 'price (€)', 'several texts')
    """
    if kind.startswith("list of "):
        return f"several {plain_type(kind.removeprefix('list of '))}s"
    name, _, rest = kind.partition(" ")
    return f"{PLAIN_TYPES.get(name, name)} {rest}".strip()


def column_facts(
    rows: InMemoryRows | StreamedRows, types: Mapping[str, str], fill: Mapping[str, float]
) -> list[ColumnFacts]:
    """Return the facts of every column, fullest first."""
    step = max(1, len(rows) // MAX_ROWS)
    columns = rows.columns if isinstance(rows, InMemoryRows) else FieldColumns.of(rows[::step]).columns
    step = step if isinstance(rows, InMemoryRows) else 1
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
    """Describe the distribution of values as a chart and in words; empty if there is nothing to show."""
    kinds = set(map(type, values))
    if kinds and kinds <= {int, float, datetime.date, datetime.datetime}:
        return _histogram(list(map(_number, values)), values)
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    counts = Counter(map(str, texts))
    if not counts or len(texts) < MIN_REPEATS * len(counts):
        return "", "nearly all different" if len(counts) > 1 else ""
    top = counts.most_common(TOP_VALUES)
    most, number = top[0]
    label = f"{len(counts):,} different, most often {_shown(most)[:30]} ({number / len(texts):.0%})"
    return bars([count for _, count in top], label), label


def _number(value: float | datetime.date) -> float:
    """Return the position of a value on a number line."""
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    return float(value.toordinal() if isinstance(value, datetime.date) else value)


def _histogram(numbers: Sequence[float], values: Sequence[Any]) -> tuple[str, str]:
    """Draw a histogram whose last bin contains the highest 1 %, so that an outlier does not hide the rest; bins are logarithmic if most values are small."""
    ordered = sorted(numbers)
    low, high = ordered[0], ordered[-1]
    middle, end = ordered[len(ordered) // 2], ordered[int(0.99 * (len(ordered) - 1))]
    if low >= 0 and end - low > SKEW_FACTOR * (middle - low) and isinstance(values[0], int | float):
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
    label = f"{first} to {last}"
    return bars(counts, label), label
