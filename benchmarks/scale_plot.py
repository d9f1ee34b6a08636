"""Picture of `docs/scale.md`: share of the requests sent over time, on a logarithmic axis."""

import math
from collections.abc import Mapping, Sequence

__all__ = ["draw"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 380, 60, 50, 20, 240
COLOURS = ("#b2182b", "#ef8a62", "#2166ac", "#67a9cf", "#1b7837", "#7fbf7b")
TICKS = (
    (1, "1 h"),
    (24, "1 day"),
    (24 * 30, "1 month"),
    (24 * 365, "1 year"),
    (24 * 3650, "10 years"),
    (24 * 36500, "100 years"),
)


def draw(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw the curves as SVG; a curve is a sequence of (hours, share)."""
    last = max(curve[-1][0] for curve in curves.values())
    first = 0.1
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(hours: float) -> float:
        return LEFT + inner_width * (math.log(max(hours, first) / first) / math.log(last / first))

    def y(share: float) -> float:
        return TOP + inner_height * (1 - share)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path d="M{LEFT} {y(share):.1f}H{LEFT + inner_width}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for hours, name in TICKS:
        if hours <= last:
            parts.append(f'<path d="M{x(hours):.1f} {TOP}V{TOP + inner_height}" stroke="#ddd"/>')
            parts.append(f'<text x="{x(hours):.1f}" y="{TOP + inner_height + 18}" text-anchor="middle">{name}</text>')
    parts.append(
        f'<text x="{LEFT}" y="{HEIGHT - 8}">time since the beginning; share of all requests that were sent</text>'
    )
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{x(hours):.1f},{y(share):.1f}" for hours, share in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        height = TOP + 14 + 20 * number
        parts.append(f'<path d="M{WIDTH - RIGHT + 12} {height - 4}h18" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 36}" y="{height}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
