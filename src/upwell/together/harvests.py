"""The harvests that lie in folders: which site each is of, and the files of its tables."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.store.folder import refuse_links
from upwell.store.places import STATE_FILES
from upwell.store.records import READABLE
from upwell.store.remote import local_copy

__all__ = ["Harvest", "harvests_at"]

TABLE = (
    "records"  # the name of the table of a harvest, with "-" and the kind of thing behind it where there are several
)
MARKS = (*STATE_FILES, "summary.json", "source.json")  # files that only the folder of a harvest has


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """The folder of one harvest, the site that it is of, and its newest tables by kind of thing ("" where there is one)."""

    folder: Path
    site: str
    tables: dict[str, Path] = field(default_factory=dict)
    trouble: str = ""  # why it has no table that can be read


def harvests_at(places: Iterable[str | Path]) -> list[Harvest]:
    """The harvests at places, each once: folders of harvests, and folders that hold such folders one or two levels below."""
    found: dict[Path, Harvest] = {}
    for place in (local_copy(one, with_archive=False) for one in places):
        if not place.is_dir():
            raise WrongUsage(f"{place} is no folder; name the folder of a harvest, or the one given to harvest with -o")
        here = _below(place, 2)
        if not here:
            raise WrongUsage(
                f"{place} is not the folder of a harvest, and holds none; it is the one given to harvest with -o"
            )
        found |= {harvest.folder.resolve(): harvest for harvest in here}
    return list(found.values())


def _below(folder: Path, levels: int) -> list[Harvest]:
    """The harvest in a folder, else those of the folders in it."""
    with os.scandir(folder) as entries:
        names = {entry.name: entry for entry in entries}
    tables: dict[str, Path] = {}
    for name in sorted(names):
        stem, _, format = name.rpartition(".")
        if format in READABLE and (stem == TABLE or stem.startswith(f"{TABLE}-")):
            kind = stem.removeprefix(TABLE).removeprefix("-")
            other = tables.get(kind)
            if other is None or names[other.name].stat().st_mtime < names[name].stat().st_mtime:
                tables[kind] = folder / name
    if tables or any(mark in names for mark in MARKS):
        refuse_links(folder)
        trouble = "" if tables else "has no table yet; run its harvest to the end, or write one with `upwell export`"
        return [Harvest(folder=folder, site=_site(folder), tables=tables, trouble=trouble)]
    if not levels:
        return []
    deeper = [folder / name for name in sorted(names) if not name.startswith(".") and names[name].is_dir()]
    return [harvest for one in deeper if not one.is_symlink() for harvest in _below(one, levels - 1)]


def _site(folder: Path) -> str:
    """The site as the summary calls it; the name of the folder where there is none."""
    try:
        return str(json.loads((folder / "summary.json").read_text(encoding="utf-8"))["site"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.resolve().name
