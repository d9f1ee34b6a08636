"""Harvest the demo site with each of its faults on one answer in twenty: `python -m benchmarks.reliability.faults [--budget N]`.

Prints the true coverage of an undisturbed harvest and of one with each fault, and the difference in percentage points.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.papers import Table
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Switches
from upwell.demo.switches import FAULTS, Fault
from upwell.net.fetch import Manners

FAULT_RATE = 0.05


def coverage(fault: Fault, budget: int) -> tuple[float, int]:
    """Return the true coverage of a harvest of the demo site with a fault, and the number of requests."""
    with tempfile.TemporaryDirectory() as folder:
        switches = Switches(fault=fault, fault_rate=FAULT_RATE if fault else 0.0)
        manners = Manners(rate=0, timeout=3)
        result, truth = api.demo(out=Path(folder), switches=switches, plan=Plan(budget=budget), manners=manners)
        return truth.coverage, result.summary["requests"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=600)
    budget = parser.parse_args().budget
    undisturbed, requests = coverage("", budget)
    rows = [["none", f"{undisturbed:.1%}", f"{requests:,}", ""]]
    for fault in FAULTS:
        # a fault costs requests, not records: the budget is increased by the requests that are sent again
        disturbed, requests = coverage(fault, round(budget * (1 + 3 * FAULT_RATE)))
        rows.append([fault, f"{disturbed:.1%}", f"{requests:,}", f"{100 * (disturbed - undisturbed):+.1f}"])
        print(" | ".join(rows[-1]), flush=True)
    columns = ["fault on 5 % of answers", "true coverage", "requests", "points"]
    print(Table(title=f"Faults, budget {budget} (15 % more where answers fail)", columns=columns, rows=rows).text())


if __name__ == "__main__":
    main()
