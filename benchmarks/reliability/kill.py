"""Kill a harvest repeatedly and start it again: `python -m benchmarks.reliability.kill [--kills 50] [--result-cap N] [--page-size N] [--budget
N]`.

The demo site logs its requests. An undisturbed harvest is compared with one that is killed (SIGKILL) at random moments and started again
with the same command: the keys of the records must be the same, and only requests in flight at a kill may be sent twice.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from upwell.demo import Running, Switches, serve
from upwell.table.writers import read_keys

MAX_IN_FLIGHT = 1  # a source has one request at a time


def command(site: Running, out: Path, budget: int) -> list[str]:
    """Return the command line of a harvest of the demo site."""
    return [
        sys.executable, "-m", "upwell.cli", "harvest", site.url, "-o", str(out), "--rate", "0", "--budget", str(budget), "--json",
    ]  # fmt: skip


def ids(folder: Path) -> set[str]:
    """Return the city numbers of a harvest, because their URLs contain the port of the site."""
    (table,) = folder.rglob("records.parquet")
    return {key.partition("?")[0].rsplit("/", 1)[-1] for key in read_keys(table)}


def run(kills: int, switches: Switches, budget: int, seed: int = 0) -> dict[str, object]:
    """Harvest once undisturbed and once with kills; return the figures of both."""
    rng = random.Random(seed)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        undisturbed, interrupted = Path(scratch) / "undisturbed", Path(scratch) / "interrupted"
        with serve(switches) as site:
            started = time.monotonic()
            done = subprocess.run(command(site, undisturbed, budget), env=environment, capture_output=True, check=True)
            seconds, needed = time.monotonic() - started, len(site.received)
        summary = json.loads(done.stdout)
        with serve(switches) as site:
            killed = 0
            while killed < kills:
                running = subprocess.Popen(
                    command(site, interrupted, budget),
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                before, more = len(site.received), rng.randrange(1, max(2, 3 * needed // (2 * kills)))
                deadline = time.monotonic() + seconds + 60
                while running.poll() is None and len(site.received) < before + more and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(rng.random() * 0.01)
                if running.poll() is not None:
                    break  # it ended before the kill
                running.send_signal(signal.SIGKILL)
                running.wait()
                killed += 1
            last = subprocess.run(command(site, interrupted, budget), env=environment, capture_output=True, check=True)
            times_sent = Counter((r.method, r.path, r.query) for r in site.received)
            total = len(site.received)
        return {
            "kills": killed,
            "stopped": [summary["stopped"], json.loads(last.stdout)["stopped"]],
            "records": [len(ids(undisturbed)), len(ids(interrupted))],
            "same": ids(undisturbed) == ids(interrupted),
            "requests": [needed, total],
            "sent twice": total - needed,
            "allowed": MAX_IN_FLIGHT * killed,
            "most for one": max(times_sent.values()),
        }


def main() -> None:
    """Print the figures; exit with 1 if records differ or too many requests were sent twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--result-cap",
        type=int,
        default=40_000,
        help="the result cap; the default is more than the site has, so that the harvest ends by itself",
    )
    parser.add_argument("--page-size", type=int, default=100)
    parser.add_argument("--budget", type=int, default=5000)
    options = parser.parse_args()
    figures = run(options.kills, Switches(result_cap=options.result_cap, page_size=options.page_size), options.budget)
    print(json.dumps(figures))
    sys.exit(0 if figures["same"] and int(str(figures["sent twice"])) <= int(str(figures["allowed"])) else 1)


if __name__ == "__main__":
    main()
