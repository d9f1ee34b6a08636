"""Each fault that the demo site knows, alone, on one answer in twenty: `python -m benchmarks.reliability.faults [--budget N]`.

Coverage of the undisturbed harvest, of each disturbed one, and the difference in points.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.papers import Table
from upwell import api
from upwell.demo import Switches
from upwell.demo.switches import FAULTS, Fault
from upwell.harvest.plan import Plan
from upwell.net.fetch import Manners

RATE = 0.05


def coverage(fault: Fault, budget: int) -> tuple[float, int]:
    """The true coverage of a harvest of the demo site with a fault, and the requests that it took."""
    with tempfile.TemporaryDirectory() as folder:
        switches = Switches(fault=fault, fault_rate=RATE if fault else 0.0)
        manners = Manners(rate=0, timeout=3)
        # a fault costs requests, not records: what was repeated is given on top
        result, truth = api.demo(out=Path(folder), switches=switches, plan=Plan(budget=budget), manners=manners)
        return float(str(truth["coverage"])), int(str(result.summary["requests"]))


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=600)
    budget = parser.parse_args().budget
    whole, sent = coverage("", budget)
    rows = [["none", f"{whole:.1%}", f"{sent:,}", ""]]
    for fault in FAULTS:
        held, sent = coverage(fault, round(budget * (1 + 3 * RATE)))
        rows.append([fault, f"{held:.1%}", f"{sent:,}", f"{100 * (held - whole):+.1f}"])
        print(" | ".join(rows[-1]), flush=True)
    columns = ["fault on 5 % of answers", "true coverage", "requests", "points"]
    print(Table(title=f"Faults, budget {budget} (15 % more where answers fail)", columns=columns, rows=rows).text())


if __name__ == "__main__":
    main()
