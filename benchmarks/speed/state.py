"""State in PostgreSQL relative to the state in a file: `python -m benchmarks.speed.state [--budget 300] [--rounds 3]`.

The demo site, the server and each harvest are separate processes on this machine. Harvests with both states alternate. Compared are the
CPU time of the harvest, that of the server, and the elapsed time; the server writes to disk as by default.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.reliability.postgres_server import PostgresServer
from upwell.demo import serve

HARVEST = """
import sys
import upwell
from upwell import api
url, out, budget, rate, state = sys.argv[1:]
manners = upwell.Manners(rate=float(rate))
running = api.RunOptions(state=state)
api.harvest(url, out=out, plan=upwell.Plan(budget=int(budget)), manners=manners, running=running)
"""


def spent() -> float:
    """Return the CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def harvest(url: str, out: Path, budget: int, rate: float, state: str) -> tuple[float, float]:
    """Return the CPU seconds and elapsed seconds of one harvest."""
    before, began = spent(), time.monotonic()
    command = [sys.executable, "-c", HARVEST, url, str(out), str(budget), str(rate), state]
    subprocess.run(command, check=True)
    return spent() - before, time.monotonic() - began


def main() -> None:
    """Print milliseconds per request with both, and their ratio."""
    options = argparse.ArgumentParser()
    options.add_argument("--budget", type=int, default=300)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--rate", type=float, default=0.0)  # with a rate, the leases of hosts are requested too
    chosen = options.parse_args()
    found: dict[str, list[tuple[float, float]]] = {"file": [], "database": []}
    server_cpu: list[float] = []
    with tempfile.TemporaryDirectory() as folder, PostgresServer("fsync=on") as server:
        for number in range(chosen.rounds):
            for name in found:
                with serve() as site:
                    address = server.address(f"round{number}") if name == "database" else ""
                    server.stop()
                    before = spent()
                    server.start()
                    place = Path(folder) / f"{name}{number}"
                    found[name].append(harvest(site.url, place, chosen.budget, chosen.rate, address))
                    server.stop()
                    cpu = spent() - before - found[name][-1][0]
                    server.start()
                if name == "database":
                    server_cpu[-1] = cpu - server_cpu[-1]
                else:
                    server_cpu.append(cpu)  # cost of starting and stopping it
    a_request = 1000 / chosen.budget
    for name, times in found.items():
        cpu, seconds = (median(column) * a_request for column in zip(*times, strict=True))
        print(f"{name:9} {cpu:6.2f} ms of CPU a request, {seconds:6.2f} ms until the next")
    ratio = median(cpu for cpu, _ in found["database"]) / median(cpu for cpu, _ in found["file"])
    print(f"database ÷ file, CPU: {ratio:.2f}; the server itself: {median(server_cpu) * a_request:.2f} ms a request")


if __name__ == "__main__":
    main()
