"""Small pictures as inline SVG, for the report and the page in the browser: their colours are those of the page's style sheet.

gauge       how much is held of how much there may be
growth      records held by requests sent, with the estimated size as a band and the forecast
bars        how the values of a column are distributed
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Growth", "Moment", "bars", "gauge", "growth", "percent", "short_number", "ticks"]

Scale = Callable[[float], float]  # a number → where it is drawn
RING = 52  # radius of the gauge
WIDTH, HEIGHT = 720, 280  # of the curve
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 18, 40  # its margins
BAR_WIDTH, BAR_HEIGHT = 132, 30
MAX_POINTS = 400  # of a curve that are drawn
MAX_OVER_HELD = 4.0  # the axis ends there: a far upper end of the size would press the curve flat


def short_number(number: float) -> str:
    """A number as people read it on an axis.

    >>> [short_number(n) for n in (0, 950, 1200, 34_006, 2_500_000)]
    ['0', '950', '1.2k', '34k', '2.5M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            scaled = number / size
            return (f"{scaled:.1f}".removesuffix(".0") if scaled < 10 else f"{scaled:.0f}") + letter
    return f"{number:.0f}" if number == int(number) else f"{number:g}"


def percent(share: float) -> str:
    """A share that never looks better than it is.

    >>> [percent(share) for share in (0.004, 0.5, 0.999, 1)]
    ['<1%', '50%', '99%', '100%']
    """
    return f"{math.floor(100 * share + 1e-9)}%" if share >= 0.01 else "<1%"


def ticks(end: float, most: int = 5) -> list[float]:
    """Round numbers from 0 up to about `end`.

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
    """A ring: the share held, its interval as a paler arc; open and without a share where nothing bounds the size from above."""
    around = 2 * math.pi * RING
    if not held:
        share, pale, middle, below = 0.0, (0.0, 0.0), "0", "records"
    elif is_lower_bound:
        share, pale, middle, below = 0.0, (0.0, 0.0), short_number(held), f"of ≥ {short_number(low)}"
    else:
        share = min(1.0, held / max(estimate, 1.0))
        pale = min(1.0, held / max(high, 1.0)), min(1.0, held / max(low, 1.0))
        middle = percent(share)
        low_share, high_share = percent(pale[0]), percent(pale[1])
        below = f"{low_share} – {high_share}" if low_share != high_share else "held"
    arcs = f'<circle class="ring{" open" if is_lower_bound else ""}" cx="64" cy="64" r="{RING}"/>'
    if pale[1] > pale[0]:
        arcs += _arc("ring-between", pale[0], pale[1], around)
    if share:
        arcs += _arc("ring-held", 0.0, min(share, pale[0]) if pale[1] > pale[0] else share, around)
    said = f"{middle} {below}"
    return (
        f'<svg class="gauge" viewBox="0 0 128 128" role="img" aria-label="{said}">{arcs}'
        f'<text x="64" y="66" class="gauge-share">{_text(middle)}</text>'
        f'<text x="64" y="83" class="gauge-between">{_text(below)}</text></svg>'
    )


def _arc(name: str, start: float, end: float, around: float) -> str:
    length = max(0.0, end - start) * around
    return (
        f'<circle class="{name}" cx="64" cy="64" r="{RING}" stroke-dasharray="{length:.1f} {around - length:.1f}" '
        f'stroke-dashoffset="{-start * around:.1f}" transform="rotate(-90 64 64)"/>'
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """What was known of a source's size after so many requests."""

    requests: int
    held: int
    estimate: float
    low: float
    high: float
    is_lower_bound: bool


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a curve is drawn of."""

    points: Sequence[tuple[int, int]]  # requests sent, records held
    moments: Sequence[Moment] = ()
    forecast: Sequence[tuple[str, int, float]] = ()  # label, at how many requests, how many records


def growth(data: Growth, *, requests_label: str = "requests", records_label: str = "records held") -> str:
    """Records held by requests sent, with axes; the estimated size as a band, the forecast as a dashed line."""
    if not data.points:
        return ""
    last_requests, last_held = data.points[-1]
    end_x = max([last_requests, *(at for _, at, _ in data.forecast)], default=1) or 1
    bounded = [moment for moment in data.moments if not moment.is_lower_bound]
    highest = max([last_held, *(records for _, _, records in data.forecast), *(m.estimate for m in bounded)])
    highest = max(highest, min(max((m.high for m in bounded), default=0), MAX_OVER_HELD * max(1, last_held)))
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
            )  # the first below its point, so that they do not touch
            anchor = "end" if x(at) > WIDTH - 90 else "middle"
            parts.append(f'<circle class="ahead-point" cx="{x(at)}" cy="{y(records)}" r="3.5"/>')
            parts.append(f'<text x="{x(at)}" y="{y(records) + below}" text-anchor="{anchor}">{_text(label)}</text>')
    parts.append(f'<circle class="held-point" cx="{x(last_requests)}" cy="{y(last_held)}" r="4.5"/>')
    parts.append(
        f'<text class="axis" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{_text(requests_label)}</text>'
    )
    parts.append(f'<text class="axis" x="8" y="{TOP - 6}">{_text(records_label)}</text>')
    said = f"{last_held:,} {records_label} after {last_requests:,} {requests_label}"
    return f'<svg class="growth" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(said)}">{"".join(parts)}</svg>'


def _band(moments: Sequence[Moment], x: Scale, y: Scale, last_requests: int) -> list[str]:
    """The estimated size as it was known over time: its interval and its middle."""
    if not moments:
        return []
    closed = [*moments]
    if closed[-1].requests < last_requests:
        last = closed[-1]
        closed.append(Moment(last_requests, last.held, last.estimate, last.low, last.high, False))
    upper = " ".join(f"{x(m.requests)},{y(m.high)}" for m in closed)
    lower = " ".join(f"{x(m.requests)},{y(m.low)}" for m in reversed(closed))
    middle = " ".join(f"{x(m.requests)},{y(m.estimate)}" for m in closed)
    return [f'<polygon class="band" points="{upper} {lower}"/>', f'<polyline class="estimate" points="{middle}"/>']


def bars(counts: Sequence[float], label: str) -> str:
    """A histogram without axes; the label says what it shows."""
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
    """Escaped for XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
