"""The harvests of a folder, as the pages show them."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage
from upwell.harvest.charts import gauge
from upwell.store.folder import harvest_folders
from upwell.store.peek import Busy, peek
from upwell.store.places import has_state
from upwell.web.progress import Progress
from upwell.web.runs import Runs

__all__ = ["Harvest", "Library"]

HUES = 8  # colours of icons that the style sheet has


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """One harvest."""

    id: str  # its path below the folder that is served, with ~ for /
    folder: Path
    summary: dict[str, Any]  # {} where it has not ended yet
    is_running: bool
    failure: str = ""  # why the last run could not be done

    @property
    def name(self) -> str:
        """What people call the site."""
        return str(self.summary.get("title") or self.site)

    @property
    def site(self) -> str:
        """Its host."""
        return str(self.summary.get("site") or self.folder.name.replace("_", ":", 1))

    @property
    def records(self) -> int:
        """Held when it ended last."""
        return int(self.summary.get("records", 0))

    @property
    def letter(self) -> str:
        """For its icon."""
        return next((letter.upper() for letter in self.name if letter.isalnum()), "·")

    @property
    def hue(self) -> int:
        """For its icon: always the same for the same site, in steps that the style sheet has."""
        return sum(map(ord, self.site)) % HUES

    @property
    def tables(self) -> dict[str, Path]:
        """Its tables in Parquet by kind, the largest first; those that are written in other formats are not there."""
        paths = [*self.folder.glob("records.parquet"), *self.folder.glob("records-*.parquet")]
        rows = self.summary.get("tables", {})
        kinds = {path.stem.removeprefix("records").removeprefix("-"): path for path in paths}
        return dict(sorted(kinds.items(), key=lambda pair: -int(rows.get(pair[0] or "records", 0))))

    def gauge(self) -> str:
        """How much is held, as SVG."""
        size, checks = self.summary.get("size"), self.summary.get("checks", {})
        if not size:
            return gauge(0, 0, 0, 0, is_lower_bound=True)
        is_open = bool(checks.get("lower_bound"))
        return gauge(self.records, size["low"], size["high"], size["estimate"], is_lower_bound=is_open)

    def progress(self) -> Progress:
        """What its last run did."""
        progress = Progress(self.folder)
        progress.read()
        return progress

    def plan(self) -> tuple[str, dict[str, Any]]:
        """The address and the plan with which it goes on; raises WrongUsage where only the command line can."""
        try:
            with peek(self.folder) as state:
                wanted, started = json.loads(state.note("harvest", "[]")), json.loads(state.note("started", "{}"))
        except Busy as error:
            raise WrongUsage(f"{self.name} is being harvested; stop it first") from error
        if len(wanted) < 5 or wanted[4]:
            raise WrongUsage(
                f"{self.name} was harvested with a login, which is kept nowhere: go on with `upwell harvest` and the same options"
            )
        page, about, template, form = wanted[:4]
        interfaces = [source["template"] for source in self.summary.get("sources", [])]
        scheme = "http" if any(str(one["url"]).startswith("http://") for one in interfaces) else "https"
        plan = {"about": about, "template": template, "form": form, "details": started.get("details", "")}
        return str(started.get("url") or f"{scheme}://{page}"), plan


class Library:
    """All harvests below a folder; or the one harvest that the folder itself is."""

    def __init__(self, folder: Path, runs: Runs) -> None:
        self.folder, self.runs = folder, runs
        self.is_one = has_state(folder)
        self.root = folder.parent if self.is_one else folder

    def all(self) -> list[Harvest]:
        """Every harvest, those that run first, then the largest."""
        found = [self._harvest(folder) for folder in self._folders()]
        return sorted(found, key=lambda harvest: (not harvest.is_running, -harvest.records, harvest.id))

    def get(self, identity: str) -> Harvest | None:
        """The harvest of a name, if there is one."""
        return next((self._harvest(folder) for folder in self._folders() if self.id_of(folder) == identity), None)

    def id_of(self, folder: Path) -> str:
        """A harvest's name in addresses."""
        return folder.relative_to(self.root).as_posix().replace("/", "~")

    def _folders(self) -> Iterator[Path]:
        known: dict[Path, None] = {}
        with suppress(WrongUsage):  # there is none yet
            known.update(dict.fromkeys(harvest_folders(self.folder)))
        known.update(dict.fromkeys(self.runs.folders()))
        yield from known

    def _harvest(self, folder: Path) -> Harvest:
        summary: dict[str, Any] = {}
        with suppress(OSError, ValueError):  # it has not ended yet, or the file is damaged: the rest can still be shown
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        is_running = self.runs.is_running(folder)
        failure = "" if is_running else self.runs.failure(folder)
        return Harvest(id=self.id_of(folder), folder=folder, summary=summary, is_running=is_running, failure=failure)
