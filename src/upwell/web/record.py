"""One record: its fields and where each came from, what it said before, and the page as it was archived."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from upwell.model import PAGE
from upwell.store.archive import read_archived
from upwell.store.peek import Busy, Peek, peek
from upwell.web.browse import Column, row_of
from upwell.web.columns import columns_in
from upwell.web.rendering import title_of

__all__ = ["Change", "FieldOfRecord", "RecordPage", "archived_page", "record_page"]


@dataclass(frozen=True, kw_only=True)
class FieldOfRecord:
    """One field: its value, and where it came from."""

    column: Column
    value: Any
    is_of_list: bool
    is_of_own_page: bool


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one refresh found otherwise."""

    run: int
    fields: list[tuple[str, Any, Any]]  # name, before, after
    is_gone: bool = False


@dataclass(frozen=True, kw_only=True)
class RecordPage:
    """All that is known of a record."""

    key: str
    title: str
    url: str
    fields: list[FieldOfRecord]
    row: dict[str, Any]
    queries: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    is_busy: bool = False  # the harvest runs: what only the state knows is not there


def record_page(folder: Path, table: Path, kind: str, key: str) -> RecordPage | None:
    """The record of a key in a table, if there is one."""
    columns, row = row_of(table, key)
    if row is None:
        return None
    origins = {column.name: column.comes_from for column in columns_in(folder, kind)}
    fields = []
    for column in columns:
        if column.name.startswith("_") or row[column.name] in (None, "", []):
            continue
        names = origins.get(column.name, ())
        is_of_page = any(name.startswith(PAGE) for name in names)
        is_of_list = not names or any(not name.startswith(PAGE) for name in names)
        fields.append(
            FieldOfRecord(column=column, value=row[column.name], is_of_list=is_of_list, is_of_own_page=is_of_page)
        )
    title = title_of({one.column.name: one.value for one in fields}) or key
    page = RecordPage(key=key, title=title, url=str(row.get("_url") or ""), fields=fields, row=row)
    try:
        with peek(folder) as state:
            return RecordPage(**{**vars(page), "queries": state.sights(key), "changes": _changes(state, key)})
    except Busy:
        return RecordPage(**{**vars(page), "is_busy": True})


def _changes(state: Peek, key: str) -> list[Change]:
    """What each refresh changed, the newest first."""
    after = state.row(key)
    found = []
    for run, before in state.history(key):
        if after is None:
            found.append(Change(run=run, fields=[], is_gone=True))
        else:
            names = dict.fromkeys(name for name in (*before, *after) if not name.startswith("_"))
            fields = [
                (name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
            ]
            found.append(Change(run=run, fields=fields))
        after = before
    return found


def archived_page(folder: Path, row: dict[str, Any], *, own: bool) -> tuple[str, bytes] | None:
    """The Content-Type and body of the page that brought a record, or of its own page, from the archive."""
    try:
        with peek(folder) as state:
            place = (
                state.archived_at(str(row.get("_url") or "")) if own else state.archived(str(row.get("_page") or ""))
            )
    except Busy:
        return None
    return read_archived(folder / "archive", place) if place is not None else None
