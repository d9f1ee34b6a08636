"""Log of a run over several sites, written while it runs.

summary.jsonl   one line per site when it ends; the last line of a site counts
run.json        number of sites waiting, running, done and failed; process id
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from upwell.errors import Interrupted, UpwellError, Walled, WrongUsage
from upwell.operating_system import process_exists
from upwell.places import shown
from upwell.store.remote import RemoteFolder, is_remote, working_folder
from upwell.store.safe_files import open_without_links, write_whole

if TYPE_CHECKING:
    from upwell.harvest.files import Result

__all__ = ["RUN_FILE", "SUMMARIES_FILE", "RunLog", "RunStatus", "read_site_lines", "run_status", "site_line"]

RUN_FILE = "run.json"
SUMMARIES_FILE = "summary.jsonl"
# entries of run.json, besides the number of sites, which may be unknown
RUN_NUMBERS: Mapping[str, type] = {
    **dict.fromkeys(("running", "done", "failed", "stopped", "requests", "records", "pid"), int),
    **dict.fromkeys(("engine", "started", "updated"), str),
    "is_over": bool,
}
EARLY_STOPS = ("interrupted", "blocked", "forbidden")  # stop reasons that leave work undone


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """Progress of a run over several sites."""

    run: str  # "running", "over", or "cut off" if its process no longer exists
    sites: int | None  # None: unknown
    waiting: int | None  # not started, or to be retried
    running: int
    done: int
    failed: int
    stopped: int  # before they were done
    requests: int  # of sites that have ended
    records: int
    engine: str
    pid: int
    started: str
    updated: str
    failures: tuple[Mapping[str, Any], ...]  # lines of summary.jsonl

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "failures": [dict(line) for line in self.failures]}


def run_status(place: str | Path) -> RunStatus | None:
    """Return the progress of the run in a folder, None if there was none; for a remote folder it is known once the run is over."""
    if is_remote(place):
        RemoteFolder(str(place)).fetch_missing(RUN_FILE, SUMMARIES_FILE)
    out = working_folder(place)
    try:
        numbers = json.loads((out / RUN_FILE).read_text(encoding="utf-8"))
        is_run = isinstance(numbers, dict) and all(
            type(numbers.get(name)) is kind for name, kind in RUN_NUMBERS.items()
        )
        if (
            not is_run
            or type(numbers.get("sites")) not in (int, type(None))
            or numbers.keys() - RUN_NUMBERS.keys() - {"sites"}
        ):
            raise ValueError("not the progress of a run")
    except (OSError, ValueError, RecursionError):
        return None
    is_over = numbers.pop("is_over")
    run = "over" if is_over else "running" if process_exists(numbers["pid"]) else "cut off"
    counted = numbers["done"] + numbers["failed"] + numbers["stopped"] + numbers["running"]
    waiting = numbers["sites"] - counted if numbers["sites"] is not None else None
    failures = tuple(line for line in read_site_lines(out) if line["outcome"] == "failed")
    return RunStatus(run=run, waiting=waiting, failures=failures, **numbers)


def site_line(url: str, result: Result | UpwellError, tries: int, budget: int) -> dict[str, Any]:
    """Return the line of a site for summary.jsonl."""
    line: dict[str, Any] = {"url": shown(url), "outcome": "failed", "tries": tries, "budget": budget, "ended": _now()}
    if isinstance(result, UpwellError):
        is_stopped = isinstance(result, Interrupted)
        return line | {
            "outcome": "stopped" if is_stopped else "failed",
            "error": type(result).__name__,
            "reason": str(result),
            **({"wall": result.wall} if isinstance(result, Walled) else {}),
        }
    summary = result.summary
    figures = {
        name: summary[name] for name in ("site", "records", "coverage", "requests", "bytes", "seconds", "stopped")
    }
    outcome = "stopped" if summary["stopped"] in EARLY_STOPS else "done"
    return line | {"outcome": outcome, "folder": result.folder.name, **figures, "was_finished": result.was_finished}


class RunLog:
    """Context manager that writes both files; it writes none for a single site, whose folder contains everything."""

    def __init__(self, out: Path, sites: int | None, engine: str) -> None:
        self._is_kept = sites != 1
        try:
            out.mkdir(parents=True, exist_ok=True)
            out = out.resolve()  # the user may name a link
            file = out / SUMMARIES_FILE if self._is_kept else Path(os.devnull)
            self._lines = open(file, "a", encoding="utf-8", opener=open_without_links)  # noqa: SIM115 # closed in `__exit__`
        except OSError as error:
            raise WrongUsage(f"cannot write to {out}: {error.strerror}; choose another folder with -o") from error
        self._file = out / RUN_FILE
        self.numbers: dict[str, Any] = {"sites": sites, "running": 0, "done": 0, "failed": 0, "stopped": 0}
        self.numbers |= {"requests": 0, "records": 0, "engine": engine, "pid": os.getpid(), "started": _now()}

    def __enter__(self) -> RunLog:
        self._write(is_over=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.numbers["running"] = 0
        self._write(is_over=True)
        self._lines.close()

    def add(self, url: str, result: Result | UpwellError, tries: int, budget: int) -> None:
        """Count a site that has ended, and write its line."""
        line = site_line(url, result, tries, budget)
        self._lines.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._lines.flush()
        self.numbers[line["outcome"]] += 1
        self.numbers["requests"] += line.get("requests", 0)
        self.numbers["records"] += line.get("records", 0)

    def show(self, running: int) -> None:
        """Write the current progress."""
        self.numbers["running"] = running
        self._write(is_over=False)

    def _write(self, *, is_over: bool) -> None:
        if not self._is_kept:
            return
        write_whole(self._file, json.dumps({**self.numbers, "updated": _now(), "is_over": is_over}) + "\n")


def read_site_lines(out: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the last line of each site in summary.jsonl, ignoring a truncated line."""
    last: dict[str, Mapping[str, Any]] = {}
    if (out / SUMMARIES_FILE).is_file():
        with (out / SUMMARIES_FILE).open(encoding="utf-8", errors="replace") as lines:
            for text in lines:
                if text.endswith("\n") and text.startswith("{"):
                    with suppress(ValueError, RecursionError):  # damaged
                        line = json.loads(text)
                        if isinstance(line.get("url"), str) and isinstance(line.get("outcome"), str):
                            last[line["url"]] = line
    yield from last.values()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
