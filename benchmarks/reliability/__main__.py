"""Print one table of load, faults, kills, hostile sites and bad files: `python -m benchmarks.reliability [--quick] [--only ROW …]`.

Hostile sites and bad files are the tests of `tests/hostile`: real servers and real Chromium; the requests that reached the servers are counted.
A row is chosen by the start of its name: `--only faults "bad files"`. Tests that fail are named on stderr.
"""

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

from benchmarks.papers import Table
from benchmarks.reliability import faults, kill
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.demo.switches import FAULTS
from upwell.errors import UpwellError
from upwell.net.fetch import Manners

BAD_FILES = ("test_bad_files", "test_checkpoint_file", "test_files_and_output", "test_fuzzed_files")
MAX_LOSS_POINTS = 1.0  # largest loss of true coverage, in percentage points, for a fault to count as survived


def main() -> None:
    """Print the table; exit with 1 if something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller numbers, for a look")
    parser.add_argument("--only", nargs="+", default=[""], metavar="ROW", help="rows whose names begin like this")
    options = parser.parse_args()
    rows = []
    for row in _rows(options.quick, tuple(options.only)):
        print(" | ".join(row), file=sys.stderr, flush=True)
        rows.append(row)
    columns = ["what", "tried", "held", "lost"]
    print(Table(title="Reliability", columns=columns, rows=rows).text())
    sys.exit(1 if any(row[3] not in ("0", "0 records") for row in rows) else 0)


def _rows(quick: bool, only: tuple[str, ...]) -> Iterator[list[str]]:
    if "load".startswith(only):
        yield _load(5 if quick else 30)
    if "faults".startswith(only):
        yield _faults(120 if quick else 600)
    if "kills".startswith(only):
        yield _kills(3 if quick else 20)
    yield from _hostile(only)


def _load(sites: int) -> list[str]:
    """Harvest demo sites concurrently; count those that end with a table."""
    running = [serve() for _ in range(sites)]
    urls = [site.__enter__().url for site in running]
    try:
        with tempfile.TemporaryDirectory() as folder:
            plan, manners = Plan(budget=40), Manners(rate=0)
            results = api.harvest_all(urls, out=Path(folder), plan=plan, manners=manners)
    finally:
        for site in running:
            site.__exit__(None, None, None)
    failed = sum(isinstance(result, UpwellError) for result in results)
    return ["load: sites at once", str(sites), str(sites - failed), str(failed)]


def _faults(budget: int) -> list[str]:
    """Inject faults into one answer in twenty; a fault is survived if it costs at most one point of true coverage."""
    undisturbed, _ = faults.coverage("", budget)
    more = round(budget * (1 + 3 * faults.FAULT_RATE))
    lost = [fault for fault in FAULTS if 100 * (undisturbed - faults.coverage(fault, more)[0]) > MAX_LOSS_POINTS]
    return ["faults: kinds", str(len(FAULTS)), str(len(FAULTS) - len(lost)), ", ".join(lost) or "0"]


def _kills(kills: int) -> list[str]:
    """Kill harvests at random moments; the records must equal those of an undisturbed harvest."""
    figures = kill.run(kills, Switches(result_cap=100, page_size=100), 300)
    return ["kills", str(figures["kills"]), str(figures["kills"]), "0 records" if figures["same"] else "records"]


def _hostile(only: tuple[str, ...]) -> Iterator[list[str]]:
    """Run the hostile cases by file; yield a row for each file."""
    for path in sorted(Path("tests/hostile").glob("test_*.py")):
        kind = "bad files" if path.stem in BAD_FILES else "hostile"
        name = f"{kind}: {path.stem.removeprefix('test_').replace('_', ' ')}"
        if not name.startswith(only):
            continue
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            command = [sys.executable, "-m", "pytest", "-q", str(path), f"--junitxml={report.name}"]
            subprocess.run(command, capture_output=True, check=False)
            suite = ElementTree.parse(report.name).getroot()[0]  # noqa: S314 # pytest's own file
        tried = int(suite.get("tests", "0"))
        lost = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        skipped = int(suite.get("skipped", "0"))
        for case in suite:
            if case.find("failure") is not None or case.find("error") is not None:
                print(f"lost: {path.name}: {case.get('name')}", file=sys.stderr)
        yield [name, str(tried - skipped), str(tried - skipped - lost), str(lost)]


if __name__ == "__main__":
    main()
