"""What the state of a harvest needs of a database: `sqlite.py` is one, `postgres.py` the other.

SQL is written once for both: `?` for values, `ON CONFLICT (column)` for what exists already, no function that only one of them has.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from upwell.store.postgres_leases import PostgresLeases

__all__ = ["Connection", "Database", "Reader", "Rows"]

T = TypeVar("T")


class Rows(Protocol):
    """What a statement found."""

    def fetchone(self) -> Any:
        """The next row; None where there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Reader(Protocol):
    """Where statements are executed: `sqlite3.Connection` is one."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Executes a statement."""
        ...


class Connection(Reader, Protocol):
    """Where many rows are read and written at once."""

    def of_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        """What a SELECT finds for each of several keys, which is its last `?`."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Executes a statement with each of several rows of values."""
        ...


class Database(Connection, Protocol):
    """The tables of one site's harvest, created and of the newest version, which no other process writes."""

    @property
    def is_remote(self) -> bool:
        """Whether a statement may wait for another machine."""
        ...

    @property
    def is_leased(self) -> bool:
        """Whether a process, this one or another, is writing."""
        ...

    @property
    def host_leases(self) -> "PostgresLeases | None":
        """When each host may be asked next, where many machines keep one rate; None where it is a matter of this one."""
        ...

    def transaction(self, action: Callable[[Connection], T]) -> T:
        """Runs an action in one transaction; if it fails, the tables stay as they were, and CannotKeep says why."""
        ...

    def close(self) -> None:
        """Lets others write."""
        ...
