"""Harvest a thousand sites with one command: `python -m benchmarks.reliability.many [--sites 1000] [--budget 30] [--rate 2] [--open-files
0]`.

The sites are demo sites in all layouts, each on its own address in 127.0.0.0/8, served by one other process. Prints the number of sites
that ended, the shortest interval between two requests to a host at the server, CPU seconds per request relative to sequential harvests,
and memory.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median

from benchmarks.reliability.hosts import serving
from upwell.demo.switches import LAYOUTS

CLOCK_SECONDS = 0.006  # error of the kernel's time of a request, which counts in ticks of 4 ms


def command(sites: Path, out: Path, *more: str) -> list[str]:
    """Return the command that harvests the sites."""
    return [
        sys.executable,
        "-m",
        "upwell.cli",
        "harvest",
        str(sites),
        "--allow",
        str(sites),
        "-o",
        str(out),
        "--json",
        *more,
    ]


def harvest(
    urls: list[str], out: Path, *more: str, open_files: int = 0, seconds: float | None = None
) -> tuple[int, str, float, int]:
    """Harvest sites in a separate process; return its exit code, output, CPU seconds, and the peak memory of it and its workers.

    After `seconds` it is stopped as by Ctrl-C.
    """
    out.mkdir(parents=True)
    sites = out / "sites.txt"
    sites.write_text("\n".join(urls))
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))) if open_files else None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (out / "said").open("w") as said, (out / "ended").open("w") as ended:
        process = subprocess.Popen(command(sites, out, *more), stdout=ended, stderr=said, preexec_fn=limit)
        most = [0]
        threading.Thread(target=_watch, args=(process, most), daemon=True).start()
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            code = process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return code, (out / "said").read_text(), cpu, most[0]


def _watch(process: "subprocess.Popen[bytes]", most: list[int]) -> None:
    """Record the peak memory of a process and its children together, in bytes."""
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            pids = [process.pid, *map(int, children.read_text().split())]
            pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
        except OSError:
            continue
        most[0] = max(most[0], pages * os.sysconf("SC_PAGE_SIZE"))
        time.sleep(0.5)


def lines_of(out: Path) -> list[dict[str, object]]:
    """Return the lines of summary.jsonl."""
    return [json.loads(line) for line in (out / "summary.jsonl").read_text().splitlines()]


def requests_of(out: Path) -> int:
    """Return the requests of all sites."""
    return sum(int(str(line.get("requests", 0))) for line in lines_of(out))


def main() -> None:
    """Print the figures; exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--rate", type=float, default=2.0)
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--at-once", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="stop then, and say how far it came")
    parser.add_argument("--open-files", type=int, default=0, help="as ulimit -n; 0: as it is")
    options = parser.parse_args()
    plan = ("--budget", str(options.budget))
    with tempfile.TemporaryDirectory() as folder:
        with serving(2 * len(LAYOUTS)) as few:  # for comparison: every layout twice, one site after the other
            _, _, alone, _ = harvest(few.urls, Path(folder) / "alone", *plan, "--rate", "0", "--at-once", "1")
        alone_requests = requests_of(Path(folder) / "alone")
        started, out = time.monotonic(), Path(folder) / "many"
        with serving(options.sites) as hosts:
            more = ("--rate", str(options.rate), "--engine", options.engine, "--at-once", str(options.at_once))
            code, said, cpu, memory = harvest(
                hosts.urls, out, *plan, *more, open_files=options.open_files, seconds=options.seconds
            )
        lines = lines_of(out)
        requests = requests_of(out)
    gap, seconds = 1 / options.rate, time.monotonic() - started
    outcomes = dict(Counter(str(line["outcome"]) for line in lines))
    print(f"{len(lines)} of {options.sites} sites ended in {seconds:,.0f} s, exit code {code}: {outcomes}")
    print(f"{said.count('Traceback')} tracebacks; {memory / 1e6:,.0f} MB at most")
    early = [sum(one < gap - late for one in hosts.gaps) for late in (0.0, CLOCK_SECONDS)]
    print(
        f"{hosts.requests:,} requests at the servers, {requests:,} counted; {early[0]} closer than {gap:g} s, {early[1]} closer by more than {CLOCK_SECONDS} s"
    )
    print(f"closest {min(hosts.gaps):.3f} s, in the middle {median(hosts.gaps):.3f} s")
    ratio = cpu / requests / (alone / alone_requests)
    print(
        f"CPU a request: {1000 * cpu / requests:.1f} ms; one site after the other {1000 * alone / alone_requests:.1f} ms; {ratio:.2f} times"
    )


if __name__ == "__main__":
    main()
