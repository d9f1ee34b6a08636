"""Run the quality gate: print every figure with its floor, and fail if one is below it."""

import json
import sys
import time
from pathlib import Path

from benchmarks.corpora import require
from benchmarks.quality.measures import MEASURES

FLOORS = Path(__file__).with_name("floors.json")


def main(only: list[str]) -> int:
    require()
    floors: dict[str, dict[str, float]] = json.loads(FLOORS.read_text())
    passed = failed = 0
    for name, measure in MEASURES.items():
        if only and not any(name.startswith(wanted) for wanted in only):
            continue
        start = time.monotonic()
        figures = measure()
        for figure, floor in floors.get(name, {}).items():
            good = figures[figure] >= floor
            passed, failed = passed + good, failed + (not good)
            print(f"{'ok  ' if good else 'FAIL'} {name} {figure} {figures[figure]:.4f} (floor {floor})")
        rest = {figure: round(value, 4) for figure, value in figures.items() if figure not in floors.get(name, {})}
        print(f"     {name} {rest} in {time.monotonic() - start:.0f} s", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
