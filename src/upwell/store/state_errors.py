"""What a person can do where the state of a harvest cannot be kept."""

import sqlite3
from pathlib import Path

from upwell.errors import CannotKeep, InUse
from upwell.store.state_tables import VERSION

__all__ = ["cannot_keep", "newer_version"]


def cannot_keep(path: Path | None, error: sqlite3.Error) -> CannotKeep:
    """SQLite's error with what the user can do about it."""
    message = str(error)
    if "locked" in message:
        return InUse(f"{path}: {message}; another process is harvesting into it; wait for it, or use another -o")
    if "full" in message:
        advice = "the disk is full; make room and run the same command again, it goes on where it was"
    elif "readonly" in message or "unable to open" in message:
        advice = "the folder cannot be written to; make it writable, or use another -o"
    elif "not a database" in message or "malformed" in message:
        advice = (
            "it is damaged; move it away to start again (records and archive written so far stay), or use another -o"
        )
    else:
        advice = "run the same command again, or use another -o"
    return CannotKeep(f"{path or 'the state in memory'}: {message}; {advice}")


def newer_version(place: str, version: int) -> CannotKeep:
    """The tables are of a version that this Upwell does not know."""
    return CannotKeep(
        f"{place} was written by a newer Upwell (version {version}, this one knows {VERSION}); "
        "update Upwell, or use another -o"
    )
