"""Where the state of a harvest is: in a file of its folder, or in a PostgreSQL database that a small file there names.

The file never has a password: PostgreSQL's own ways bring it (PGPASSWORD, PGPASSFILE or ~/.pgpass, a service file, a certificate).
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from upwell.errors import MissingExtra, WrongUsage
from upwell.store.database import Database
from upwell.store.sqlite import SqliteDatabase

__all__ = [
    "POINTER",
    "STATE_FILES",
    "InPostgres",
    "has_state",
    "has_state_below",
    "open_database",
    "place_of",
    "point_to",
    "without_password",
]

FILE, POINTER = "state.sqlite", "state.json"
STATE_FILES = (FILE, POINTER)
SCHEMES = ("postgresql", "postgres")
SECRETS = ("password", "sslpassword")  # what libpq takes behind the "?" of an address


@dataclass(frozen=True)
class InPostgres:
    """One site of a database; `address` is shown nowhere, as it may have a password."""

    address: str = field(repr=False)
    site: str

    def __str__(self) -> str:
        return f"{self.site} in {without_password(self.address)}"


def place_of(folder: Path, address: str = "") -> Path | InPostgres:
    """Where the state of a folder is, or will be: at the address given, else where the folder says, else in its file."""
    if address:
        if (folder / FILE).is_file():
            raise WrongUsage(
                f"{folder} has its state in {FILE}, not at {without_password(address)}; leave --state out, or use another -o"
            )
        return InPostgres(address, folder.name)
    if (folder / POINTER).is_file():
        try:
            pointer = json.loads((folder / POINTER).read_text(encoding="utf-8"))
            return InPostgres(str(pointer["state"]), str(pointer["site"]))
        except (ValueError, KeyError, TypeError) as error:
            raise WrongUsage(
                f"{folder / POINTER} does not say where the state is ({error!r}); give it with --state"
            ) from error
    return folder / FILE


def has_state(folder: Path) -> bool:
    """Whether a folder is that of a harvest."""
    return any((folder / name).is_file() for name in STATE_FILES)


def has_state_below(folder: Path) -> bool:
    """Whether a folder holds folders of harvests."""
    return any(True for name in STATE_FILES for _ in folder.glob(f"*/{name}"))


def point_to(folder: Path, place: Path | InPostgres) -> None:
    """Notes in a folder where its state is, without the password."""
    if isinstance(place, InPostgres):
        pointer = {"state": without_password(place.address), "site": place.site}
        (folder / POINTER).write_text(json.dumps(pointer, ensure_ascii=False) + "\n", encoding="utf-8")


def open_database(place: Path | InPostgres | None, *, is_only_read: bool = False) -> Database:
    """The database at a place, in this process's memory where there is none."""
    if not isinstance(place, InPostgres):
        return SqliteDatabase(place)
    try:
        from upwell.store.postgres import PostgresDatabase
    except ImportError as missing:  # psycopg, or the library that it needs
        raise MissingExtra(f"{place} needs the package psycopg: pip install 'upwell[postgres]'") from missing
    return PostgresDatabase(place.address, place.site, is_only_read=is_only_read)


def without_password(address: str) -> str:
    """The address of a database as it may be shown and written down.

    >>> without_password("postgresql://me:secret@db.example/upwell?sslmode=require&password=secret")
    'postgresql://me@db.example/upwell?sslmode=require'
    """
    scheme, _, rest = address.partition("://")
    if scheme not in SCHEMES:
        raise WrongUsage(
            "--state takes the address of a PostgreSQL database: postgresql://USER@HOST/DATABASE (the password comes from PGPASSWORD or ~/.pgpass)"
        )
    place, mark, query = rest.partition("?")
    if "@" not in place and "@" in query:  # a password with signs that should have been written as %…
        return f"{scheme}://…"
    login, at, place = place.rpartition("@")
    options = urlencode([(name, value) for name, value in parse_qsl(query) if name not in SECRETS], safe="/")
    return f"{scheme}://{login.partition(':')[0]}{at}{place}{mark if options else ''}{options}"
