"""Implement `upwell status` and `upwell export`: read the folders of harvests and write their tables in other formats, sending nothing."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage
from upwell.harvest.events import EVENTS_FILE
from upwell.results import Exported, FolderStatus, read_summary
from upwell.store.folder import harvest_folders
from upwell.store.read_only import StateLocked, open_read_only
from upwell.store.remote import (
    displayed_output,
    displayed_path,
    is_remote,
    local_copy,
    open_output,
    without_credentials,
)
from upwell.table.build import Table, saved_tables
from upwell.table.writers import FORMATS, Format, write

__all__ = ["export", "status"]

TEMPORARY_SUFFIXES = ("-shm", "-wal")  # suffixes of temporary files that SQLite creates even for readers
TAIL_BYTES = 50_000  # size of the end of events.jsonl that is read for a running harvest


def status(folder: str | Path) -> Iterator[FolderStatus]:
    """Return the status of each harvest in a folder; this is the folder of a harvest, or the parent of several."""
    here = local_copy(folder, with_archive=False)
    return (replace(_status(path), folder=displayed_path(folder, path, here)) for path in harvest_folders(here))


def _status(folder: Path) -> FolderStatus:
    summary: dict[str, Any] = {}
    if (folder / "summary.json").is_file():
        try:
            summary = read_summary(folder)
        except ValueError as error:
            raise WrongUsage(f"{folder / 'summary.json'} is damaged ({error}); run the same harvest again") from error
    try:
        with open_read_only(folder) as state:  # read-only: a harvest may be about to continue there
            records, requests, is_running = state.records(), state.requests(), state.is_leased
            harvest = state.harvest()
    except StateLocked:
        records, requests = _progress_from_events(folder / EVENTS_FILE, summary)
        harvest, is_running = [], True
    paths = [path for path in folder.iterdir() if not path.name.endswith(TEMPORARY_SUFFIXES)]
    files = tuple(sorted(path.name for path in paths if path.is_file() and not path.name.startswith(".")))
    changed = max(path.stat().st_mtime for path in paths)
    return FolderStatus(
        folder=folder,
        site=str(summary.get("site") or (harvest[0].partition("/")[0] if harvest else folder.name)),
        about=harvest[1] if len(harvest) > 1 else "",
        records=records,
        requests=requests,
        statement=str(summary.get("statement", "")),
        stopped="running" if is_running else str(summary.get("stopped", "not finished")),
        next_hour=dict(summary.get("checks", {}).get("next_hour", {})),
        files=files,
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        changed=datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds"),
    )


def _progress_from_events(events: Path, summary: dict[str, Any]) -> tuple[int, int]:
    """Return records and requests of a running harvest from its last events."""
    records, requests = int(summary.get("records", 0)), int(summary.get("requests", 0))
    if not events.is_file():
        return records, requests
    with events.open("rb") as file:
        file.seek(max(0, events.stat().st_size - TAIL_BYTES))
        held: dict[str, int] = {}  # by source
        for text in file.read().decode(errors="replace").splitlines():
            if text.startswith('{"event": "asked"') and text.endswith("}"):
                with suppress(ValueError, KeyError, TypeError, RecursionError):  # damaged
                    line = json.loads(text)
                    held[str(line["source"])], requests = int(line["records"]), int(line["requests"])
    return sum(held.values()) or records, requests


def export(
    folder: str | Path,
    *,
    format: Format = "parquet",
    out: str | Path | None = None,
    columns: Sequence[str] = (),
    keep_formulas: bool = False,
) -> list[Exported]:
    """Write the tables of a harvest in another format to `out`, by default next to its own tables; one file per kind of entity.

    Both may be remote URLs; for a remote `folder`, `out` is required.
    In CSV, an apostrophe is put before texts that a spreadsheet would interpret as a formula, unless `keep_formulas` is set.
    """
    if format not in FORMATS:
        raise WrongUsage(f"unknown format {format!r}: use one of {', '.join(FORMATS)}")
    if out is None and is_remote(folder):
        raise WrongUsage(f"{without_credentials(str(folder))} is a remote folder: choose a local output with -o")
    harvests = list(harvest_folders(local_copy(folder, with_archive=False)))
    if len(harvests) > 1:
        raise WrongUsage(f"{folder} contains {len(harvests)} harvests; choose one of {', '.join(map(str, harvests))}")
    tables = saved_tables(harvests[0])
    known = {name for table in tables for name in table.names}
    if unknown := [name for name in columns if name not in known]:
        raise WrongUsage(f"{harvests[0]} has no column {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    target = out if out is not None else harvests[0]
    with open_output(target) as place:
        first = place / f"records.{format}" if place.is_dir() else place
        return [_export(table, first, target, format, columns, keep_formulas) for table in tables]


def _export(
    table: Table, first: Path, target: str | Path, format: Format, columns: Sequence[str], keep_formulas: bool
) -> Exported:
    """Write one table next to the first."""
    if columns:
        table.take(columns)
    file = first.with_name(f"{first.stem}-{table.kind}{first.suffix}") if table.kind else first
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(table.rows, file.parent, format, file=file, keep_formulas=keep_formulas)
    except OSError as error:
        raise WrongUsage(f"{file} cannot be written ({error.strerror}); choose another with -o") from error
    return Exported(file=displayed_output(target, file), records=len(table.rows), columns=len(table.names))
