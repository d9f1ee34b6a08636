"""Harvests of a folder, and the processes that run them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from upwell.choose.plan import Plan
from upwell.combine.catalogue import held_tables
from upwell.errors import CannotKeep, UpwellError, WrongUsage
from upwell.harvest.events import EVENTS_FILE
from upwell.harvest.harvest_folder import OWN_HARVEST, folder_for, harvest_text
from upwell.net.access import Access
from upwell.places import address_of
from upwell.report.charts import gauge
from upwell.results import read_summary
from upwell.source.model import interface_entry
from upwell.store.folder import folder_of, harvest_folders
from upwell.store.location import has_state
from upwell.store.read_only import StateLocked, is_running, open_read_only
from upwell.store.user_memory import is_remembered
from upwell.urls.hosts import host_and_port, is_private_address
from upwell.web.live_progress import Progress

__all__ = ["Harvest", "Library", "Runs"]


LAST_CHARS = 2000  # characters kept of a process's stderr
SECONDS_TO_END = 20  # time that harvests have to write their records when the server ends


@dataclass
class _Run:
    """Process of a harvest, and its stderr."""

    process: subprocess.Popen[bytes]
    stderr: IO[bytes]


@dataclass
class Runs:
    """Harvests started by this server, each in its own process; they survive a closed page."""

    root: Path  # parent folder of new harvests
    manners: dict[str, Any] = field(default_factory=dict)  # for all harvests: rate, contact
    _runs: dict[Path, _Run] = field(default_factory=dict)

    def start(self, url: str, plan: dict[str, Any], out: Path | None = None) -> Path:
        """Start a harvest; return its folder."""
        out = out or self.root
        address = address_of(url)  # raises WrongUsage if it is invalid
        out.mkdir(parents=True, exist_ok=True)
        try:
            folder = folder_for(address, out, Plan(**plan), Access())
        except CannotKeep:
            folder = folder_of(address, out)
        if self.is_running(folder):
            raise WrongUsage(f"{folder.name} is already being harvested; stop it first, or wait until it ends")
        stderr_file = tempfile.TemporaryFile()  # noqa: SIM115 # closed in `_forget`
        process = subprocess.Popen(
            [sys.executable, "-m", "upwell.web.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr_file,
            start_new_session=True,  # Ctrl-C ends the server, which then stops the harvest cleanly
        )
        with suppress(FileExistsError):
            folder.mkdir()  # its page shows why a harvest failed that received nothing
        if process.stdin is None:
            raise RuntimeError("the process has no stdin")
        job = {"url": url, "out": str(out), "plan": plan, "manners": self.manners}
        process.stdin.write(json.dumps(job).encode())
        process.stdin.close()
        self._forget(folder)
        self._runs[folder] = _Run(process, stderr_file)
        return folder

    def folders(self) -> list[Path]:
        """Return the folders of harvests started by this server."""
        return list(self._runs)

    def is_running(self, folder: Path) -> bool:
        """Return True if a harvest runs in a folder, whoever started it."""
        run = self._runs.get(folder)
        return (run is not None and run.process.poll() is None) or is_running(folder)

    def failure(self, folder: Path) -> str:
        """Return the error message of the last harvest; "" if it succeeded."""
        run = self._runs.get(folder)
        if run is None or run.process.poll() in (None, 0):
            return ""
        run.stderr.seek(0)
        lines = run.stderr.read().decode("utf-8", "replace")[-LAST_CHARS:].strip().splitlines()
        return lines[-1] if lines else ""

    def stop(self, folder: Path) -> bool:
        """Ask a harvest to write its records and end; return False if none is running."""
        run = self._runs.get(folder)
        if run is not None and run.process.poll() is None:
            run.process.send_signal(signal.SIGTERM)
            return True
        if is_running(folder) and (number := _process_of(folder)):
            os.kill(number, signal.SIGTERM)
            return True
        return False

    def end(self) -> None:
        """Stop all harvests started by this server, and wait until their records are written."""
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
            run.stderr.close()


def _process_of(folder: Path) -> int:
    """Return the process id of a running harvest from its event log; 0 if unknown. Used only while the folder is locked."""
    try:
        with (folder / EVENTS_FILE).open(encoding="utf-8") as lines:
            number = json.loads(lines.readline(MAX_FIRST_LINE))["pid"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return number if type(number) is int and number > 1 else 0  # others stand for groups of processes


MAX_FIRST_LINE = 10_000  # characters of the first event
HUES = 8  # icon colours in the style sheet


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """Harvest as shown on the pages."""

    id: str  # path below the served folder, with ~ for /
    folder: Path
    summary: dict[str, Any]  # {} before the first run ends
    is_running: bool
    failure: str = ""  # why the last run failed
    topic: str = ""  # of its records, if not all were wanted
    path: str = ""  # of the page where it began, if that is not the home page

    @property
    def name(self) -> str:
        """Return the title of the site."""
        return str(self.summary.get("title") or self.site)

    @property
    def site(self) -> str:
        """Return the host of the site."""
        return str(self.summary.get("site") or self.folder.name.replace("_", ":", 1))

    @property
    def scope(self) -> str:
        """Return the site and what tells this harvest from others of it: its topic and first page."""
        return " · ".join(filter(None, (self.site, self.path and f"/{self.path}", self.topic and f"“{self.topic}”")))

    @property
    def records(self) -> int:
        """Return the number of records after the last run."""
        return int(self.summary.get("records", 0))

    @property
    def letter(self) -> str:
        """Return the letter of its icon."""
        return next((letter.upper() for letter in self.name if letter.isalnum()), "·")

    @property
    def hue(self) -> int:
        """Return the colour number of its icon, stable for a site."""
        return sum(map(ord, self.site)) % HUES

    @property
    def tables(self) -> dict[str, Path]:
        """Return the Parquet tables by entity kind, largest first, while it runs of what it holds; tables in other formats are not included."""
        if self.is_running and (held := held_tables(self.folder)):
            return held
        paths = [*self.folder.glob("records.parquet"), *self.folder.glob("records-*.parquet")]
        rows = self.summary.get("tables", {})
        kinds = {path.stem.removeprefix("records").removeprefix("-"): path for path in paths}
        return dict(sorted(kinds.items(), key=lambda pair: -int(rows.get(pair[0] or "records", 0))))

    def gauge(self) -> str:
        """Return the coverage gauge as SVG."""
        size, checks = self.summary.get("size"), self.summary.get("checks", {})
        if not size:
            return gauge(0, 0, 0, 0, is_lower_bound=True)
        is_open = bool(checks.get("lower_bound"))
        return gauge(self.records, size["low"], size["high"], size["estimate"], is_lower_bound=is_open)

    def progress(self) -> Progress:
        """Return the progress of its last run."""
        progress = Progress(self.folder)
        progress.read()
        return progress

    def plan(self) -> tuple[str, dict[str, Any]]:
        """Return the URL and the plan to continue with; raise WrongUsage if only the command line can continue it."""
        try:
            with open_read_only(self.folder) as state:
                if state.is_leased:
                    raise StateLocked(self.folder)
                identity, started = state.note("harvest", "[]"), dict(json.loads(state.note("started", "{}")))
                saved_plan = list(json.loads(identity))
        except StateLocked as error:
            raise WrongUsage(f"{self.name} is being harvested; stop it first") from error
        except (ValueError, TypeError, RecursionError) as error:
            raise WrongUsage(
                f"the state of {self.name} is damaged ({error}); harvest it again into another folder"
            ) from error
        if len(saved_plan) < 5 or saved_plan[4]:
            raise WrongUsage(
                f"{self.name} was harvested with a login, which is not stored; continue with `upwell harvest` and the same options"
            )
        page, about, search_interface, form = saved_plan[:4]
        interfaces = [interface_entry(source) for source in self.summary.get("sources", [])]
        is_plain = any(interface and str(interface["url"]).startswith("http://") for interface in interfaces)
        scheme = "http" if is_plain else "https"
        plan = {
            "about": about,
            "search_interface": search_interface,
            "form": form,
            "details": started.get("details", ""),
        }
        url = str(started.get("url") or f"{scheme}://{page}")
        addresses = (url, str(search_interface or url))
        if any(is_private_address(host_and_port(address)[0]) for address in addresses) and not is_remembered(
            OWN_HARVEST, harvest_text(url, identity)
        ):
            raise WrongUsage(
                f"{url} is in a private network, and this folder names it, not you; to harvest it, enter its address as a new harvest"
            )
        return url, plan


class Library:
    """Harvests below a folder, or the single harvest in that folder."""

    def __init__(self, folder: Path, runs: Runs) -> None:
        self.folder, self.runs = folder, runs
        self.root = folder.parent if has_state(folder) else folder

    def all(self) -> list[Harvest]:
        """Return all harvests: running ones first, then by number of records."""
        harvests = [self._harvest(folder) for folder in self._folders()]
        return sorted(harvests, key=lambda harvest: (not harvest.is_running, -harvest.records, harvest.id))

    def get(self, identity: str) -> Harvest | None:
        """Return the harvest with an id, or None."""
        return next((self._harvest(folder) for folder in self._folders() if self.id_of(folder) == identity), None)

    def id_of(self, folder: Path) -> str:
        """Return the id of a harvest in URLs."""
        return folder.relative_to(self.root).as_posix().replace("/", "~")

    def _folders(self) -> Iterator[Path]:
        folders: dict[Path, None] = {}
        with suppress(WrongUsage):  # no harvest yet
            folders.update(dict.fromkeys(harvest_folders(self.folder)))
        folders.update(dict.fromkeys(self.runs.folders()))
        yield from folders

    def _harvest(self, folder: Path) -> Harvest:
        summary: dict[str, Any] = {}
        with suppress(OSError, ValueError):  # not finished, or damaged: the rest can still be shown
            summary = read_summary(folder)
        is_running = self.runs.is_running(folder)
        failure = "" if is_running else self.runs.failure(folder)
        page = topic = ""
        with suppress(StateLocked, UpwellError, ValueError, TypeError), open_read_only(folder) as state:
            page, topic = [*state.harvest(), "", ""][:2]
        return Harvest(
            id=self.id_of(folder),
            folder=folder,
            summary=summary,
            is_running=is_running,
            failure=failure,
            topic=topic,
            path=page.partition("/")[2],
        )
