"""Kills a harvest again and again and lets it go on: `python -m benchmarks.reliability.kill [--kills 50] [--limit N] [--page-size N] [--budget N]`.

The demo site counts what it is asked. An undisturbed harvest of it is compared with one that is killed (SIGKILL) at random moments and started
again by the same command: the keys of the records must be the same, and no request may come twice but those in flight when it was killed.
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
from upwell.store.records import read_keys

IN_FLIGHT = 1  # a source is asked one thing at a time


def command(site: Running, out: Path, budget: int) -> list[str]:
    """The command line of a harvest of the demo site."""
    return [
        sys.executable, "-m", "upwell.cli", "harvest", site.url, "-o", str(out), "--rate", "0", "--budget", str(budget), "--json",
    ]  # fmt: skip


def ids(folder: Path) -> set[str]:
    """The cities of a harvest, by their own numbers: the port of the site differs."""
    (table,) = folder.rglob("records.parquet")
    return {key.partition("?")[0].rsplit("/", 1)[-1] for key in read_keys(table)}


def run(kills: int, switches: Switches, budget: int, seed: int = 0) -> dict[str, object]:
    """The figures."""
    rng = random.Random(seed)  # moments, not secrets
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        whole, cut = Path(scratch) / "whole", Path(scratch) / "cut"
        with serve(switches) as site:
            started = time.monotonic()
            done = subprocess.run(command(site, whole, budget), env=environment, capture_output=True, check=True)
            took, plain = time.monotonic() - started, len(site.received)
        summary = json.loads(done.stdout)
        with serve(switches) as site:
            killed = 0
            while killed < kills:
                running = subprocess.Popen(
                    command(site, cut, budget), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                before, wanted = len(site.received), rng.randrange(1, max(2, 3 * plain // (2 * kills)))
                until = time.monotonic() + took + 60
                while running.poll() is None and len(site.received) < before + wanted and time.monotonic() < until:
                    time.sleep(0.002)
                time.sleep(rng.random() * 0.01)
                if running.poll() is not None:
                    break  # it came to its end first
                running.send_signal(signal.SIGKILL)
                running.wait()
                killed += 1
            last = subprocess.run(command(site, cut, budget), env=environment, capture_output=True, check=True)
            asked = Counter((r.method, r.path, r.query) for r in site.received)
            total = len(site.received)
        return {
            "kills": killed,
            "stopped": [summary["stopped"], json.loads(last.stdout)["stopped"]],
            "records": [len(ids(whole)), len(ids(cut))],
            "same": ids(whole) == ids(cut),
            "requests": [plain, total],
            "sent twice": total - plain,
            "allowed": IN_FLIGHT * killed,
            "most for one": max(asked.values()),
        }


def main() -> None:
    """Prints the figures; the exit code says whether they hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--limit",
        type=int,
        default=40_000,
        help="results a query; the default holds nothing back, so that the harvest ends by itself",
    )
    parser.add_argument("--page-size", type=int, default=100)
    parser.add_argument("--budget", type=int, default=5000)
    options = parser.parse_args()
    found = run(options.kills, Switches(limit=options.limit, page_size=options.page_size), options.budget)
    print(json.dumps(found))
    sys.exit(0 if found["same"] and int(str(found["sent twice"])) <= int(str(found["allowed"])) else 1)


if __name__ == "__main__":
    main()
