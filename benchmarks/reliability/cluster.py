"""Harvests on a disturbed cluster: `python -m benchmarks.reliability.cluster [NAME…] [--sites 60] [--budget 25] [--rate 2]`.

Two Ray nodes and a PostgreSQL server run as processes on this machine. The sites are small sites in another process, which logs the
requests with their times. Each disturbance (below) happens in the middle of a harvest of all sites. The resulting tables are compared row
by row with those of an undisturbed harvest, and so are the requests at the sites: only requests in flight may be sent twice, and none
earlier than the rate allows.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.reliability.cluster_sites import Asked, ClusterSites
from benchmarks.reliability.postgres_server import PostgresServer
from benchmarks.reliability.ray_nodes import RayNodes
from upwell.table.parquet import read_values

ROOT = Path(__file__).parents[2]
GRACE_SECONDS = 0.05  # seconds by which the process of the sites may note a request late on a busy machine, so that the next seems early
TIMELESS = ("_fetched", "_page")  # columns with the time of a record, and its archived page


@dataclass
class Run:
    """Results of one harvest of all sites."""

    rows: dict[str, list[str]]  # by table; each row as JSON, without the port of the sites
    asked: dict[str, int]  # by host and path
    closest: float  # seconds between two requests to one host
    early: int  # requests sent earlier than the rate allows
    seconds: float
    code: int  # exit code of the command; 3 if a site could not be harvested


@dataclass
class Cluster:
    """Everything that a harvest needs, and the disturbances."""

    sites: ClusterSites
    postgres: PostgresServer
    nodes: RayNodes
    folder: Path
    budget: int
    rate: float
    name: str = ""  # of the current harvest
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start the command of the current harvest, or start it again."""
        out = self.folder / self.name
        out.mkdir(exist_ok=True)
        sites = str(self.folder / "sites.txt")
        Path(sites).write_text("\n".join(self.sites.urls) + "\n")
        command = [
            sys.executable, "-m", "upwell.cli", "harvest", sites, "--allow", sites, "-o", str(out), "--engine", "ray",
            "--state", self.postgres.address(self.name.replace(" ", "_")), "--budget", str(self.budget), "--rate", str(self.rate),
            "--at-once", str(len(self.sites.urls)), "--json",
        ]  # fmt: skip
        with (out / "said").open("ab") as said:
            self.process = subprocess.Popen(command, env=self.nodes.environment, stdout=said, stderr=said)

    def wait(self) -> int:
        """Wait for the command and return its exit code."""
        assert self.process is not None
        return self.process.wait()


def kill_node(cluster: Cluster) -> None:
    """Kill a node (SIGKILL) with all its processes."""
    cluster.nodes.kill(1)


def restart_postgres(cluster: Cluster) -> None:
    """Stop PostgreSQL as in a crash, and start it again."""
    cluster.postgres.stop("immediate")
    time.sleep(3)
    cluster.postgres.start()


def refuse(cluster: Cluster) -> None:
    """Refuse all network connections for 20 seconds."""
    cluster.sites.refuse(20)


def kill_driver(cluster: Cluster) -> None:
    """Kill the command (SIGKILL) and start it again."""
    assert cluster.process is not None
    cluster.process.send_signal(signal.SIGKILL)
    cluster.process.wait()
    cluster.start()


HARVESTS: dict[str, Callable[[Cluster], None] | None] = {
    "undisturbed": None,
    "driver killed": kill_driver,
    "postgres restarted": restart_postgres,
    "network refusing": refuse,
    "node killed": kill_node,  # the last one, because the node does not come back
}


def run(cluster: Cluster, name: str, disturb: Callable[[Cluster], None] | None, after: int) -> Run:
    """Harvest all sites anew, with a disturbance after a number of requests."""
    cluster.name = name
    cluster.sites.log()
    started = time.monotonic()
    cluster.start()
    assert cluster.process is not None
    if disturb is not None:
        while cluster.sites.count() < after and cluster.process.poll() is None:
            time.sleep(0.05)
        if cluster.process.poll() is not None:
            raise RuntimeError(
                f"{name}: the harvest ended before it was disturbed; see {cluster.folder / name / 'said'}"
            )
        disturb(cluster)
    code = cluster.wait()
    seconds = time.monotonic() - started
    log = cluster.sites.log()
    closest, early = spacing(log, 1 / cluster.rate)
    return Run(
        rows=rows_of(cluster.folder / name, urlsplit(cluster.sites.urls[0]).port or 0),
        asked=Counter(f"{host} {path}" for _, host, path in log),
        closest=closest,
        early=early,
        seconds=seconds,
        code=code,
    )


def rows_of(out: Path, port: int) -> dict[str, list[str]]:
    """Return the rows of all tables, by table; the port of the sites differs between runs and is removed."""
    rows = {}
    for table in sorted(out.glob("*/records*.parquet")):
        found = ({name: value for name, value in row.items() if name not in TIMELESS} for row in read_values(table))
        texts = [json.dumps(row, default=str, ensure_ascii=False).replace(f":{port}", "") for row in found]
        rows[str(table.relative_to(out)).replace(f"_{port}", "")] = texts
    return rows


def spacing(log: list[Asked], gap: float) -> tuple[float, int]:
    """Return the shortest interval between two requests to one host, and the number of requests that were too early."""
    times: dict[str, list[float]] = {}
    for when, host, _ in sorted(log):
        times.setdefault(host, []).append(when)
    gaps = [after - before for of_host in times.values() for before, after in pairwise(of_host)]
    return min(gaps, default=gap), sum(between < gap - GRACE_SECONDS for between in gaps)


def figures(name: str, found: Run, expected: Run) -> dict[str, Any]:
    """Compare a harvest with the undisturbed one."""
    asked, wanted = Counter(found.asked), Counter(expected.asked)
    again = asked - wanted
    by_host = Counter(request.partition(" ")[0] for request in again.elements())
    return {
        "harvest": name,
        "code": found.code,
        "sites": len(found.rows),
        "records": sum(map(len, found.rows.values())),
        "same": found.rows == expected.rows and found.code == expected.code,
        "other sites": sorted(site for site in expected.rows if found.rows.get(site) != expected.rows[site])[:5],
        "requests": asked.total(),
        "sent twice": again.total(),
        "most for one host": max(by_host.values(), default=0),
        "never sent": (wanted - asked).total(),
        "closest": round(found.closest, 3),
        "early": found.early,
        "seconds": round(found.seconds),
    }


def is_good(figure: dict[str, Any]) -> bool:
    """Return True if the rows are the same, at most the request in flight of each host was sent twice, and no request was too early."""
    return bool(figure["same"]) and figure["most for one host"] <= 1 and not figure["early"]


def main() -> None:
    """Print a line for each harvest; exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which of: {', '.join(HARVESTS)}; all where none is named")
    parser.add_argument("--sites", type=int, default=60)
    parser.add_argument("--budget", type=int, default=25)
    parser.add_argument("--rate", type=float, default=2.0)
    parser.add_argument(
        "--keep", type=Path, help="folder for what came of each harvest; what is there is not done again"
    )
    options = parser.parse_args()
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        kept = options.keep or Path(scratch)
        kept.mkdir(exist_ok=True)
        left = [name for name in options.names or HARVESTS if not (kept / name).is_file()]
        if left:
            cluster = Cluster(
                sites=stack.enter_context(ClusterSites(options.sites)),
                postgres=stack.enter_context(PostgresServer()),
                nodes=stack.enter_context(RayNodes(2, environment={**os.environ, "PYTHONPATH": path})),
                folder=Path(stack.enter_context(tempfile.TemporaryDirectory())),
                budget=options.budget,
                rate=options.rate,
            )
        for name in left:
            found = run(cluster, name, HARVESTS[name], options.sites * options.budget // 2)
            (kept / name).write_text(json.dumps(vars(found)))
        runs = {name: Run(**json.loads((kept / name).read_text())) for name in HARVESTS if (kept / name).is_file()}
    lines = [figures(name, runs[name], runs["undisturbed"]) for name in runs if "undisturbed" in runs]
    print("\n".join(map(json.dumps, lines)))
    sys.exit(0 if all(map(is_good, lines)) else 1)


if __name__ == "__main__":
    main()
