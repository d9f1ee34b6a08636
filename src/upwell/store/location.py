"""Where the state of a harvest lies: in a file of its folder, or in a PostgreSQL database named by a pointer file there.

The pointer file never contains a password; PostgreSQL's usual ways provide it (PGPASSWORD, PGPASSFILE or ~/.pgpass, a service file, a
certificate). These would be sent to any host that a pointer file names, so it is followed only to a database that the user has named: with
--state, now or before, or with the variable UPWELL_STATE.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from upwell.errors import MissingExtra, WrongUsage
from upwell.store.database import StateDatabase, without_password
from upwell.store.sqlite import SqliteDatabase, is_locked
from upwell.store.user_memory import is_remembered, remember

__all__ = [
    "POINTER_FILE",
    "STATE_FILES",
    "PostgresLocation",
    "has_state",
    "has_state_below",
    "open_database",
    "state_location",
    "write_pointer",
]

STATE_FILE, POINTER_FILE = "state.sqlite", "state.json"
STATE_FILES = (STATE_FILE, POINTER_FILE)
ADDRESS_VARIABLE = "UPWELL_STATE"
DATABASE = "database"  # kind of a remembered value


@dataclass(frozen=True)
class PostgresLocation:
    """Site of a PostgreSQL database; `address` may contain a password and is never shown."""

    address: str = field(repr=False)
    site: str

    def __str__(self) -> str:
        return f"{self.site} in {without_password(self.address)}"


def state_location(folder: Path, address: str = "") -> Path | PostgresLocation:
    """Return where the state of a folder is or will be: at `address`, else where the pointer file says, else in the folder's file."""
    if address:
        if (folder / STATE_FILE).is_file():
            raise WrongUsage(
                f"{folder} has its state in {STATE_FILE}, not at {without_password(address)}; leave --state out, or use another -o"
            )
        remember(DATABASE, without_password(address))
        return PostgresLocation(address, folder.name)
    if (folder / POINTER_FILE).is_file():
        try:
            pointer = json.loads((folder / POINTER_FILE).read_text(encoding="utf-8"))
            named, site = str(pointer["state"]), str(pointer["site"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise WrongUsage(
                f"{folder / POINTER_FILE} does not say where the state is ({error!r}); give it with --state"
            ) from error
        return PostgresLocation(_trusted(named, folder / POINTER_FILE), site)
    return folder / STATE_FILE


def _trusted(address: str, pointer: Path) -> str:
    """Return the address of a pointer file if the user has named this database; raise WrongUsage before anything is sent to another."""
    given = os.environ.get(ADDRESS_VARIABLE, "")
    if given and without_password(given) == address:
        return given
    if without_password(address) == address and is_remembered(DATABASE, address):
        return address
    raise WrongUsage(
        f"{pointer} says that the state is in {without_password(address)}, a database that you have not named here; it would be sent your "
        f"PostgreSQL password. If it is yours, set {ADDRESS_VARIABLE}={without_password(address)}"
    )


def write_pointer(folder: Path, location: Path | PostgresLocation) -> None:
    """Write the pointer file of a folder whose state is in PostgreSQL, without the password."""
    if isinstance(location, PostgresLocation):
        pointer = {"state": without_password(location.address), "site": location.site}
        (folder / POINTER_FILE).write_text(json.dumps(pointer, ensure_ascii=False) + "\n", encoding="utf-8")


def has_state(folder: Path) -> bool:
    """Return True if a folder is the folder of a harvest."""
    return any((folder / name).is_file() for name in STATE_FILES)


def has_state_below(folder: Path) -> bool:
    """Return True if a folder contains folders of harvests."""
    return any(True for name in STATE_FILES for _ in folder.glob(f"*/{name}"))


def open_database(location: Path | PostgresLocation | None, *, read_only: bool = False) -> StateDatabase:
    """Open the database at a location; None means in memory. A file that is being written can only be opened `read_only`."""
    if not isinstance(location, PostgresLocation):
        # otherwise a file of an older version is upgraded first
        is_reader = (
            read_only and location is not None and (not os.access(location.parent, os.W_OK) or is_locked(location))
        )
        return SqliteDatabase(location, read_only=is_reader)
    try:
        from upwell.store.postgres import PostgresDatabase  # psycopg is an optional dependency
    except ImportError as missing:
        raise MissingExtra(f"{location} needs the package psycopg: pip install 'upwell[postgres]'") from missing
    return PostgresDatabase(location.address, location.site, read_only=read_only)
