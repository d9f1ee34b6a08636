"""Harvests as processes of their own, one for each: the page may be closed, and the server ended; what they hold is on disk."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from upwell.errors import CannotKeep, WrongUsage
from upwell.harvest.event_log import EVENTS
from upwell.harvest.keep import folder_for
from upwell.harvest.plan import Plan
from upwell.net.access import Access
from upwell.places import address_of
from upwell.store.folder import folder_of
from upwell.store.peek import is_running

__all__ = ["Runs"]

LAST_CHARS = 2000  # of what a process said on stderr
SECONDS_TO_END = 20  # that harvests have to write what they hold when the server ends


@dataclass
class _Run:
    process: subprocess.Popen[bytes]
    said: IO[bytes]


@dataclass
class Runs:
    """The harvests that this server has started."""

    root: Path  # that new harvests go below
    manners: dict[str, Any] = field(default_factory=dict)  # of all of them: rate, contact
    _runs: dict[Path, _Run] = field(default_factory=dict)

    def start(self, url: str, plan: dict[str, Any], out: Path | None = None) -> Path:
        """Starts a harvest, and gives the folder that it goes into."""
        out = out or self.root
        address = address_of(url)  # raises if it is none
        out.mkdir(parents=True, exist_ok=True)
        try:
            folder = folder_for(address, out, Plan(**plan), Access())
        except CannotKeep:
            folder = folder_of(address, out)
        if self.is_running(folder):
            raise WrongUsage(f"{folder.name} is being harvested already; stop it first, or wait until it has ended")
        said = tempfile.TemporaryFile()  # noqa: SIM115 # closed when the process is forgotten
        process = subprocess.Popen(
            [sys.executable, "-m", "upwell.web.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,  # Ctrl-C in the terminal ends the server, which then ends it in peace
        )
        if process.stdin is None:
            raise RuntimeError("a pipe was asked for")
        job = {"url": url, "out": str(out), "plan": plan, "manners": self.manners}
        process.stdin.write(json.dumps(job).encode())
        process.stdin.close()
        self._forget(folder)
        self._runs[folder] = _Run(process, said)
        return folder

    def folders(self) -> list[Path]:
        """The folders that this server has started harvests into."""
        return list(self._runs)

    def is_running(self, folder: Path) -> bool:
        """Whether a harvest runs in a folder, whoever has started it."""
        run = self._runs.get(folder)
        return (run is not None and run.process.poll() is None) or is_running(folder)

    def failure(self, folder: Path) -> str:
        """What the last harvest said when it could not be done; "" where it could."""
        run = self._runs.get(folder)
        if run is None or run.process.poll() in (None, 0):
            return ""
        run.said.seek(0)
        lines = run.said.read().decode("utf-8", "replace")[-LAST_CHARS:].strip().splitlines()
        return lines[-1] if lines else ""

    def stop(self, folder: Path) -> bool:
        """Asks a harvest to write what it holds and end; whether there was one."""
        run = self._runs.get(folder)
        if run is not None and run.process.poll() is None:
            run.process.send_signal(signal.SIGTERM)
            return True
        if is_running(folder) and (number := _process_of(folder)):
            os.kill(number, signal.SIGTERM)
            return True
        return False

    def end(self) -> None:
        """Ends all harvests that this server has started, and waits until what they hold is written."""
        for run in self._runs.values():
            if run.process.poll() is None:
                run.process.send_signal(signal.SIGTERM)
        for run in self._runs.values():
            try:
                run.process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                run.process.kill()
                run.process.wait()
        for folder in list(self._runs):
            self._forget(folder)

    def _forget(self, folder: Path) -> None:
        run = self._runs.pop(folder, None)
        if run is not None:
            run.process.wait()
            run.said.close()


def _process_of(folder: Path) -> int:
    """The process that harvests into a folder, as it has written itself; only asked while the folder is locked."""
    try:
        with (folder / EVENTS).open(encoding="utf-8") as lines:
            return int(json.loads(lines.readline())["pid"])
    except (OSError, ValueError, KeyError):
        return 0
