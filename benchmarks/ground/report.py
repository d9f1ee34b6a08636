"""Tables of many harvests: requests compared with the oracle and an earlier run, and how often the interval contained the truth."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks.ground.oracle import SHARES
from benchmarks.ground.run import MOMENTS
from benchmarks.papers._plots import lines as plot_lines

__all__ = ["figures", "plots", "table", "table_by_class"]

Row = dict[str, Any]
NEVER = 6  # a share that was not reached counts as the whole budget: this many times the pages, plus START
START = 300
WHOLE, NOT_WHOLE = 0.995, 0.97  # shares said to be held and really held, from which on a statement is a false "100 %"


def requests_to(row: Row, share: str) -> float:
    """Return the requests until a share; the whole budget if it was not reached."""
    page = max(row["settings"]["page"], row["settings"]["offered"])
    return float(row["requests"][share] or NEVER * -(-row["records"] // page) + START)


def figures(rows: Sequence[Row], before: Sequence[Row] = ()) -> dict[str, float]:
    """Return the figures of a set of harvests."""
    earlier = {(row["collection"], row["setting"], row["seed"]): row for row in before}
    ratios, to_oracle = [], []
    for row in rows:
        old = earlier.get((row["collection"], row["setting"], row["seed"]))
        if old and (row["requests"]["0.95"] or old["requests"]["0.95"]):  # at least one of them reached it
            ratios.append(requests_to(row, "0.95") / requests_to(old, "0.95"))
        best = (row["oracle"] or (old or row)["oracle"]).get("0.95")
        if best:
            to_oracle.append(requests_to(row, "0.95") / best)
    moments = [(row, moment) for row in rows for moment in row["moments"]]
    past_half = [(row, m) for row, m in moments if m["held"] >= 0.5 * row["records"]]
    at_three_quarters = [
        (m["high"] - m["low"]) / row["records"] for row, m in moments if m["share"] == 0.75 and not m["lower_bound"]
    ]
    return {
        "runs": len(rows),
        "reached 95 %": _share(row["requests"]["0.95"] is not None for row in rows),
        "requests": geometric_mean([requests_to(row, "0.95") for row in rows]),
        "÷ before": geometric_mean(ratios) if ratios else float("nan"),
        "÷ oracle": median(to_oracle) if to_oracle else float("nan"),
        "holds": _share(_holds(row, m) for row, m in moments),
        "low holds": _share(m["low"] <= row["records"] for row, m in moments),
        "false 100 %": _share(_is_false_whole(row, m) for row, m in moments),
        "at least": _share(m["lower_bound"] for _, m in past_half),
        "width": median(at_three_quarters) if at_three_quarters else float("nan"),
        "held at the end": _mean(m["held"] / row["records"] for row, m in moments if m["share"] is None),
    }


def _holds(row: Row, moment: Row) -> bool:
    return bool(moment["low"] <= row["records"] and (moment["lower_bound"] or row["records"] <= moment["high"]))


def _is_false_whole(row: Row, moment: Row) -> bool:
    """Return True if a statement says that (nearly) everything is held while it is not."""
    says_whole = not moment["lower_bound"] and moment["held"] >= WHOLE * moment["size"]
    return bool(says_whole and moment["held"] < NOT_WHOLE * row["records"])


def _share(values: Iterable[bool]) -> float:
    return _mean(map(float, values))


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else float("nan")


def table(rows: Sequence[Row], before: Sequence[Row] = ()) -> str:
    """Return the table: all harvests, each class, collection and setting; then the statements by moment."""
    groups: dict[str, list[Row]] = {"everything": list(rows)}
    for key in ("class", "collection", "setting"):
        parts = defaultdict(list)
        for row in rows:
            parts[row[key]].append(row)
        groups |= {f"{key}: {name}": part for name, part in parts.items()}
    names = list(figures(rows, before))
    width = max(map(len, groups))
    lines = [" " * width + "".join(f"{name:>16}" for name in names)]
    for name, part in groups.items():
        values = figures(part, before)
        lines.append(f"{name:{width}}" + "".join(f"{values[column]:16.3f}" for column in names))
    lines += ["", *_by_moment(rows)]
    return "\n".join(lines)


def table_by_class(rows: Sequence[Row]) -> str:
    """Return the table of harvests with random settings: all, and each class that a user could name."""
    groups: dict[str, list[Row]] = {"everything": list(rows)}
    for row in rows:
        for name in row["classes"]:
            groups.setdefault(name, []).append(row)
    columns = ("runs", "reached 95 %", "÷ oracle", "holds", "low holds", "false 100 %", "at least", "width")
    width = max(map(len, groups))
    lines = [" " * width + "".join(f"{name:>14}" for name in columns)]
    for name, part in sorted(groups.items(), key=lambda group: (group[0] != "everything", group[0])):
        values = figures(part)
        lines.append(f"{name:{width}}" + "".join(f"{values[column]:14.3f}" for column in columns))
    lines += ["", *_by_moment(rows)]
    for evidence in sorted({m["by"] for row in rows for m in row["moments"]}):
        moments = [(row, m) for row in rows for m in row["moments"] if m["by"] == evidence and not m["lower_bound"]]
        lines.append(
            f"by {evidence:12} {len(moments):6} bounded, holds {_share(_holds(row, m) for row, m in moments):.3f}"
        )
    return "\n".join(lines)


def _by_moment(rows: Sequence[Row]) -> Iterable[str]:
    """Yield a line for each moment: how often the interval holds, by evidence."""
    for share in (*MOMENTS, None):
        moments = [(row, m) for row in rows for m in row["moments"] if m["share"] == share]
        by = defaultdict(list)
        for row, m in moments:
            by[m["by"] + (" (at least)" if m["lower_bound"] else "")].append(_holds(row, m))
        evidence = ", ".join(f"{name} {sum(held)}/{len(held)}" for name, held in sorted(by.items()))
        when = "the end" if share is None else f"{share:.0%}"
        yield f"at {when:8} holds {_share(_holds(row, m) for row, m in moments):.3f}   {evidence}"


def plots(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write two plots by class of source: requests to each share relative to the minimum, and how often the interval contained the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = sorted({row["class"] for row in rows})
    requests, holds = {}, {}
    for name in classes:
        part = [row for row in rows if row["class"] == name]
        least = [max(1.0, row["records"] / max(row["settings"]["page"], row["settings"]["offered"])) for row in part]
        ratios = [
            geometric_mean([requests_to(row, str(s)) / (s * n) for row, n in zip(part, least, strict=True)])
            for s in SHARES
        ]
        requests[name] = [SHARES, ratios]
        moments = [[(row, m) for row in part for m in row["moments"] if m["share"] == share] for share in MOMENTS]
        holds[name] = [MOMENTS, [_share(_holds(row, m) for row, m in at) for at in moments]]
    made = [folder / "requests.png", folder / "holds.png"]
    plot_lines(
        made[0],
        "Requests to a share ÷ records of the share on full pages",
        requests,
        ("share held", "requests ÷ pages"),
        marks=True,
    )
    plot_lines(
        made[1], "How often the interval contains the truth", holds, ("share held", "share of statements"), marks=True
    )
    return made
