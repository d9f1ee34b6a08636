"""Implement `upwell status` and `upwell export`: read the folders of harvests and write their tables in other formats, sending nothing."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from upwell.errors import UpwellError, WrongUsage
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
from upwell.store.safe_files import file_problem
from upwell.table.build import Table, saved_tables
from upwell.table.user_schema import UserSchema, schema_json
from upwell.table.writers import FORMATS, TOGETHER, Format, write, write_together

__all__ = ["export", "schema_of", "status"]

OTHER_SUFFIXES: dict[Format, tuple[str, ...]] = {  # by format, other suffixes of its files
    "jsonl": (".ndjson", ".json"), "sqlite": (".db", ".sqlite3"), "duckdb": (".ddb",),
}  # fmt: skip

TEMPORARY_SUFFIXES = ("-shm", "-wal")  # suffixes of temporary files that SQLite creates even for readers
TAIL_BYTES = 50_000  # size of the end of events.jsonl that is read for a running harvest


def status(folder: str | Path, *, warn: Callable[[str], None] | None = None) -> Iterator[FolderStatus]:
    """Yield the status of each harvest in a folder; this is the folder of a harvest, or the parent of several.

    A harvest that cannot be read is an error; with `warn`, which is called with its message, the others follow.
    """
    here = local_copy(folder, with_archive=False)
    for path in harvest_folders(here):
        try:
            found = replace(_status(path), folder=displayed_path(folder, path, here))
        except (UpwellError, OSError) as error:
            if warn is None:
                raise
            warn(file_problem(error) or str(error))
            continue
        yield found


def _status(folder: Path) -> FolderStatus:
    summary: dict[str, Any] = {}
    if (folder / "summary.json").is_file():
        try:
            summary = read_summary(folder)
        except ValueError as error:
            raise WrongUsage(f"{folder / 'summary.json'} is damaged ({error}); run the same harvest again") from error
    events = folder / EVENTS_FILE
    try:
        with open_read_only(folder) as state:  # read-only: a harvest may be about to continue there
            records, requests, is_running = state.records(), state.requests(), state.is_leased
            harvest = state.harvest()
    except StateLocked:
        records, requests = _progress_from_events(events, summary)
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
        stopped="running"
        if is_running
        else "failed"
        if _has_failed(events)
        else str(summary.get("stopped", "not finished")),
        next_hour=dict(summary.get("checks", {}).get("next_hour", {})),
        files=files,
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        changed=datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds"),
    )


def _has_failed(events: Path) -> bool:
    """Return True if the last run ended with an error."""
    if not events.is_file():
        return False
    with events.open("rb") as file:
        file.seek(max(0, events.stat().st_size - TAIL_BYTES))
        return file.read().rstrip().rpartition(b"\n")[2].startswith(b'{"event": "failed"')


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
    format: Format | None = None,
    out: str | Path | None = None,
    columns: Sequence[str] = (),
    schema: UserSchema | None = None,
    keep_formulas: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> list[Exported]:
    """Write the tables of a harvest in another format to `out`, by default next to its own tables; one file per kind of entity.

    Without a `format`, the suffix of `out` decides (Parquet if it has none). Workbooks and databases hold all tables in one file.
    `schema` says which columns, in which order, with which names and types; `columns` names exactly these, without any other.
    Both `folder` and `out` may be remote URLs; for a remote `folder`, `out` is required.
    In CSV, an apostrophe is put before texts that a spreadsheet would interpret as a formula, unless `keep_formulas` is set.
    """
    format = _format_of(format, out)
    if columns and schema:
        raise WrongUsage("choose the columns in one way: by `columns`, or by a schema")
    if columns:
        schema = UserSchema.parse(columns, is_plain=True)
    if out is None and is_remote(folder):
        raise WrongUsage(f"{without_credentials(str(folder))} is a remote folder: choose a local output with -o")
    harvests = list(harvest_folders(local_copy(folder, with_archive=False)))
    if len(harvests) > 1:
        raise WrongUsage(f"{folder} contains {len(harvests)} harvests; choose one of {', '.join(map(str, harvests))}")
    tables = saved_tables(harvests[0], schema=schema)
    for notice in (notice for table in tables for notice in table.notices):
        warn(notice)
    target = out if out is not None else harvests[0]
    with open_output(target) as place:
        first = place / f"records.{format}" if place.is_dir() else place
        if len(tables) > 1 and format in TOGETHER and not place.is_dir():
            return [_export_together(tables, first, target, format, keep_order=bool(schema and schema.columns))]
        return [_export(table, first, target, format, keep_formulas, keep_order=bool(schema)) for table in tables]


def schema_of(folder: str | Path) -> dict[str, Any]:
    """Return the schema of the tables of a harvest: names, types and fields of the columns, as `--schema` reads it."""
    harvests = list(harvest_folders(local_copy(folder, with_archive=False)))
    if len(harvests) != 1:
        raise WrongUsage(f"{folder} contains {len(harvests)} harvests; choose one of {', '.join(map(str, harvests))}")
    return schema_json({table.kind: table.columns for table in saved_tables(harvests[0])})


def _format_of(format: Format | None, out: str | Path | None) -> Format:
    """Return the format that was named, or else the one of the suffix of the output; raise if they differ."""
    suffix = PurePosixPath(str(out or "")).suffix.lower()
    by_suffix = next((name for name in FORMATS if suffix in (f".{name}", *OTHER_SUFFIXES.get(name, ()))), None)
    if format is None:
        return by_suffix or "parquet"
    if format not in FORMATS:
        raise WrongUsage(f"unknown format {format!r}: use one of {', '.join(FORMATS)}")
    if by_suffix not in (None, format):
        raise WrongUsage(
            f"{out} is a file name for {by_suffix}, but the format is {format}; leave out --format or change the name"
        )
    return format


def _export_together(
    tables: Sequence[Table], file: Path, target: str | Path, format: Format, *, keep_order: bool
) -> Exported:
    """Write all tables into one file."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_together({table.name: table.rows for table in tables}, file, format, keep_order=keep_order)
    except OSError as error:
        raise WrongUsage(f"{file} cannot be written ({error.strerror}); choose another with -o") from error
    columns = len({name for table in tables for name in table.names})
    return Exported(
        file=displayed_output(target, file), records=sum(len(table.rows) for table in tables), columns=columns
    )


def _export(
    table: Table, first: Path, target: str | Path, format: Format, keep_formulas: bool, *, keep_order: bool
) -> Exported:
    """Write one table next to the first."""
    file = first.with_name(f"{first.stem}-{table.kind}{first.suffix}") if table.kind else first
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(table.rows, file.parent, format, file=file, keep_formulas=keep_formulas, keep_order=keep_order)
    except OSError as error:
        raise WrongUsage(f"{file} cannot be written ({error.strerror}); choose another with -o") from error
    return Exported(file=displayed_output(target, file), records=len(table.rows), columns=len(table.names))
