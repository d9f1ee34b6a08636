"""Ray cluster of several nodes on this machine, in a separate process: `with RayNodes(2) as nodes: … nodes.kill(1)`.

It listens on loopback only. Each node has its own folder for temporary files, like a machine, so that data shared by processes of one
machine (the rate of a host) is not shared between nodes.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["RayNodes", "descendants"]

OBJECT_STORE_BYTES = 80_000_000  # object store memory in bytes; Ray's minimum is about 75 MB


class RayNodes:
    """A running cluster: `environment` has the variables that a program needs to reach it."""

    def __init__(self, nodes: int = 2, *, cores: int = 1, environment: dict[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="uwr", dir="/tmp"))  # the path of a socket must be short
        secret = secrets.token_hex(32)
        self.environment = {
            **(environment or os.environ),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # value that makes Ray use the loopback address
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secret,
            "RAY_TMPDIR": str(self.folder),
            "OMP_NUM_THREADS": "1",
        }
        self.environment.pop("RAY_ADDRESS", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.reliability.ray_nodes", str(nodes), str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline() or "{}")
        if not said:
            raise RuntimeError(f"Ray did not start; see the logs in {self.folder}")
        self.raylets: list[int] = said["raylets"]
        self.environment["RAY_ADDRESS"] = said["address"]

    def __enter__(self) -> "RayNodes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self, node: int) -> None:
        """Kill all processes of a node at once, as in a power failure."""
        for pid in [self.raylets[node], *descendants(self.raylets[node])]:
            os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> Iterator[int]:
    """Return all descendants of a process."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from descendants(child)


def main() -> None:
    """Start the nodes, print their addresses, and stop them when the input ends."""
    from ray import cluster_utils

    folder, nodes, cores = Path(os.environ["RAY_TMPDIR"]), int(sys.argv[1]), int(sys.argv[2])
    (folder / "ray").mkdir()

    def arguments(number: int) -> dict[str, object]:
        own = folder / f"tmp{number}"
        own.mkdir()
        return {
            "num_cpus": cores,
            "object_store_memory": OBJECT_STORE_BYTES,
            "include_log_monitor": False,
            "env_vars": {"TMPDIR": str(own)},
        }

    cluster: Any = cluster_utils.Cluster(initialize_head=True, head_node_args=arguments(0))
    for number in range(1, nodes):
        cluster.add_node(**arguments(number))
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()]
    print(json.dumps({"address": cluster.address, "raylets": raylets}), flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
