"""Connecting to Ray: to the cluster that `RAY_ADDRESS` names, else to one of this machine alone, for as long as the work takes."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from upwell.errors import MissingExtra, Unreachable

__all__ = ["RayConnection"]

OBJECT_STORE_BYTES = (
    100_000_000  # of a Ray of this machine alone: what is sent is small, and the store is taken from memory
)


class RayConnection:
    """The module `ray`, connected inside `with`; a connection that the program has already is used and left as it is."""

    def __init__(self, workers: int = 0) -> None:
        self._workers = workers  # cores of a Ray that is started here; 0: those of this machine
        self._own_folder: Path | None = None  # of a Ray that was started here
        self._is_connected_here = False

    def __enter__(self) -> Any:
        ray = _load()
        if not ray.is_initialized():
            logging.getLogger("ray").setLevel(logging.ERROR)
            if os.environ.get("RAY_ADDRESS"):
                _join(ray)
            else:
                self._start(ray)
            self._is_connected_here = True
        return ray

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_connected_here:
            _load().shutdown()
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)

    def _start(self, ray: Any) -> None:
        """Starts a Ray that only this machine can reach."""
        # the path of a socket has at most 107 characters, so it is not below a long TMPDIR
        self._own_folder = Path(tempfile.mkdtemp(prefix="upwell-ray-", dir="/tmp"))
        ray.init(
            num_cpus=self._workers or len(os.sched_getaffinity(0)),
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            logging_level=logging.ERROR,
            log_to_driver=False,
            _temp_dir=str(self._own_folder),
        )


def _join(ray: Any) -> None:
    """Connects to the cluster, with this very code."""
    code = {"py_modules": [str(Path(__file__).parents[1])], "excludes": ["__pycache__"]}
    try:
        ray.init(runtime_env=code, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError) as error:
        why = str(error).strip().partition("\n")[0]
        raise Unreachable(
            f"RAY_ADDRESS {os.environ['RAY_ADDRESS']}: {why}; is the cluster up? (`ray status`)"
        ) from error


def _load() -> Any:
    """The module `ray`, set up before it is first loaded: it sends no statistics, and what it starts listens on loopback only."""
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not os.environ.get("RAY_ADDRESS"):
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # what Ray reads as: use the loopback address
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        import ray
    except ImportError as missing:
        raise MissingExtra("--engine ray needs the package ray: pip install 'upwell[ray]'") from missing
    return ray
