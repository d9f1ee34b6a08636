"""Renaming and leaving out columns: kept in `source.json`, where the next harvest finds it, and the tables are written anew."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage
from upwell.harvest.files import write_tables
from upwell.harvest.tables import saved_tables
from upwell.store.records import FORMATS, Format

__all__ = ["EditableColumn", "columns_in", "edit_columns"]

MAX_NAME = 80  # characters


@dataclass(frozen=True, kw_only=True)
class EditableColumn:
    """A column as `source.json` has it."""

    number: int  # in its table there
    name: str
    type: str
    is_dropped: bool
    comes_from: tuple[str, ...]  # names in the lists and on record pages


def _saved(folder: Path) -> list[dict[str, Any]]:
    try:
        saved = json.loads((folder / "source.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUsage("this harvest has learned no columns yet; let it run first") from error
    return saved if isinstance(saved, list) else [saved]


def columns_in(folder: Path, kind: str = "") -> list[EditableColumn]:
    """The columns of a table, also those that are left out."""
    try:
        columns = _saved(folder)[0].get("tables", {}).get(kind, [])
    except WrongUsage:
        return []
    return [
        EditableColumn(
            number=number,
            name=str(column["name"]),
            type=str(column.get("type", "text")),
            is_dropped=bool(column.get("drop")),
            comes_from=tuple(column["of"]),
        )
        for number, column in enumerate(columns)
    ]


def edit_columns(folder: Path, kind: str, names: Mapping[int, str], kept: set[int]) -> None:
    """Gives columns of a table new names, leaves out those that are not kept, and writes the tables anew."""
    models = _saved(folder)
    columns = models[0].get("tables", {}).get(kind)
    if columns is None:
        raise WrongUsage(f"there is no table {kind or 'records'}")
    wanted = {number: " ".join(name.split())[:MAX_NAME] for number, name in names.items()}
    used: set[str] = set()
    for number, column in enumerate(columns):
        name = wanted.get(number) or str(column["name"])
        if name.startswith("_"):
            raise WrongUsage(f"{name}: a name that begins with _ is for Upwell's own columns")
        is_kept = number in kept or number not in wanted
        if is_kept and name.lower() in used:
            raise WrongUsage(f"two columns would be called {name}")
        used |= {name.lower()} if is_kept else set()
        # a pinned column keeps its name and its place, whatever a later harvest finds
        column.update(name=name, drop=not is_kept, pin=bool(column.get("pin")) or name != column["name"])
    file = folder / "source.json"
    partial = file.with_name(".source.json.part")
    text = json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(file)
    tables = saved_tables(folder)
    written: list[Format] = [one for one in FORMATS if (folder / f"{tables[0].name}.{one}").is_file()]
    write_tables(tables, folder, written[0] if written else "parquet")
