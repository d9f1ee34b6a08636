"""`upwell status` and `upwell export`: what lies in the folders of harvests, and the same as other files. Nothing is asked or replayed."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage
from upwell.harvest.event_log import EVENTS
from upwell.harvest.tables import Table, saved_tables
from upwell.results import Exported, FolderStatus
from upwell.store.folder import harvest_folders
from upwell.store.peek import Busy, peek
from upwell.store.records import FORMATS, Format, write
from upwell.store.remote import address_in, is_remote, local_copy, output, shown, written_at

__all__ = ["export", "status"]

TEMPORARY = ("-shm", "-wal")  # ends of names of files that SQLite makes, also where somebody only looks
TAIL_BYTES = 50_000  # of the events of a harvest that runs, that are looked at


def status(folder: str | Path) -> Iterator[FolderStatus]:
    """What each harvest at a place holds, and how it ended; a place is the folder of a harvest, or the one that holds several."""
    here = local_copy(folder, with_archive=False)
    return (replace(_status(one), folder=address_in(folder, one, here)) for one in harvest_folders(here))


def _status(folder: Path) -> FolderStatus:
    summary: dict[str, Any] = {}
    if (folder / "summary.json").is_file():
        try:
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        except ValueError as error:
            raise WrongUsage(f"{folder / 'summary.json'} is damaged ({error}); run the same harvest again") from error
    try:
        with peek(folder) as state:  # which changes nothing: a harvest may be about to go on there
            records, requests, is_running = state.records(), state.requests(), state.is_leased
            harvest = json.loads(state.note("harvest", "[]"))
    except Busy:
        records, requests = _so_far(folder / EVENTS, summary)
        harvest, is_running = [], True
    paths = [path for path in folder.iterdir() if not path.name.endswith(TEMPORARY)]
    files = tuple(sorted(path.name for path in paths if path.is_file() and not path.name.startswith(".")))
    changed = max(path.stat().st_mtime for path in paths)
    return FolderStatus(
        folder=folder,
        site=str(summary.get("site") or (harvest[0].partition("/")[0] if harvest else folder.name)),
        about=str(harvest[1]) if len(harvest) > 1 else "",
        records=records,
        requests=requests,
        statement=str(summary.get("statement", "")),
        stopped="running" if is_running else str(summary.get("stopped", "not finished")),
        next_hour=dict(summary.get("checks", {}).get("next_hour", {})),
        files=files,
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        changed=datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds"),
    )


def _so_far(events: Path, summary: dict[str, Any]) -> tuple[int, int]:
    """Records and requests of a harvest that runs, as the last of its events say."""
    records, requests = int(summary.get("records", 0)), int(summary.get("requests", 0))
    if not events.is_file():
        return records, requests
    with events.open("rb") as file:
        file.seek(max(0, events.stat().st_size - TAIL_BYTES))
        held: dict[str, int] = {}  # by source
        for text in file.read().decode(errors="replace").splitlines():
            if text.startswith('{"event": "asked"') and text.endswith("}"):
                line = json.loads(text)
                held[line["source"]], requests = line["records"], line["requests"]
    return sum(held.values()) or records, requests


def export(
    folder: str | Path,
    *,
    format: Format = "parquet",
    out: str | Path | None = None,
    columns: Sequence[str] = (),
    keep_formulas: bool = False,
) -> list[Exported]:
    """Writes the tables of a harvest in another format: to `out`, else beside its own; one, unless the site has several kinds of things.

    Both may be addresses; where `folder` is one, `out` is needed.
    In CSV an apostrophe is put before texts that a spreadsheet would take for a formula, unless `keep_formulas`.
    """
    if format not in FORMATS:
        raise WrongUsage(f"format {format!r} is none of {', '.join(FORMATS)}")
    if out is None and is_remote(folder):
        raise WrongUsage(f"{shown(str(folder))} is an address: say where to write with -o")
    harvests = list(harvest_folders(local_copy(folder, with_archive=False)))
    if len(harvests) > 1:
        raise WrongUsage(f"{folder} has {len(harvests)} harvests; name one of {', '.join(map(str, harvests))}")
    tables = saved_tables(harvests[0])
    known = {name for table in tables for row in table.rows for name in row}
    if unknown := [name for name in columns if name not in known]:
        raise WrongUsage(f"{harvests[0]} has no column {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    target = out if out is not None else harvests[0]
    with output(target) as place:
        first = place / f"records.{format}" if place.is_dir() else place
        return [_export(table, first, target, format, columns, keep_formulas) for table in tables]


def _export(
    table: Table, first: Path, target: str | Path, format: Format, columns: Sequence[str], keep_formulas: bool
) -> Exported:
    """Writes one table beside the first."""
    rows = [{name: row.get(name) for name in columns} for row in table.rows] if columns else table.rows
    file = first.with_name(f"{first.stem}-{table.kind}{first.suffix}") if table.kind else first
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(rows, file.parent, format, file=file, keep_formulas=keep_formulas)
    except OSError as error:
        raise WrongUsage(f"{file} cannot be written ({error.strerror}); name another with -o") from error
    return Exported(
        file=written_at(target, file), records=len(rows), columns=len({name for row in rows for name in row})
    )
