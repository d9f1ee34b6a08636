"""Tokens of the API: what their owner may do, and how many requests to sites it may cause. Only digests are stored.

The file lies in the user's state folder, not in the folder that is served, which may come from somebody else.
"""

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.store.user_memory import memory_file

__all__ = ["ALL_SCOPES", "SCOPES", "ApiToken", "TokenStore"]

SCOPES = ("read", "ask", "harvest")
ALL_SCOPES = frozenset(SCOPES)
SCHEMA = """CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL, budget INTEGER, used INTEGER NOT NULL DEFAULT 0, created REAL NOT NULL
)"""
BUSY_SECONDS = 10.0  # to wait for another process that writes the file


@dataclass(frozen=True, kw_only=True)
class ApiToken:
    """Token as stored: without its secret."""

    name: str
    scopes: frozenset[str]
    budget: int | None = None  # requests to sites that it may cause in all; None: no limit
    used: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return the token for JSON."""
        return {"name": self.name, "scopes": sorted(self.scopes), "budget": self.budget, "used": self.used}


class TokenStore:
    """Tokens of this user, shared by all servers."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file or memory_file().with_name("tokens.sqlite")

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.file.touch(mode=0o600)
        database = sqlite3.connect(self.file, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            database.execute(SCHEMA)
            yield database
        finally:
            database.close()

    def add(self, name: str, scopes: Sequence[str], budget: int | None = None) -> str:
        """Create a token and return its secret, which is shown only once."""
        if not name.strip() or not name.isprintable() or len(name) > 80:
            raise WrongUsage("a token needs a name of up to 80 characters")
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise WrongUsage(f"there is no scope {unknown[0]!r}; scopes: {', '.join(SCOPES)}")
        secret = f"upw_{secrets.token_urlsafe(32)}"
        row = (name, _digest(secret), ",".join(sorted(set(scopes))), budget, time.time())
        with self._database() as database:
            try:
                database.execute(
                    "INSERT INTO tokens (name, digest, scopes, budget, created) VALUES (?, ?, ?, ?, ?)", row
                )
            except sqlite3.IntegrityError as error:
                raise WrongUsage(f"there is a token called {name!r} already; remove it first") from error
        return secret

    def remove(self, name: str) -> None:
        """Remove a token; requests with it are refused from now on."""
        with self._database() as database:
            if not database.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount:
                known = ", ".join(token.name for token in self._all(database)) or "none"
                raise WrongUsage(f"there is no token called {name!r}; tokens: {known}")

    def all(self) -> list[ApiToken]:
        """Return all tokens."""
        if not self.file.exists():
            return []
        with self._database() as database:
            return self._all(database)

    def _all(self, database: sqlite3.Connection) -> list[ApiToken]:
        return list(map(_token, database.execute("SELECT name, scopes, budget, used FROM tokens ORDER BY name")))

    def find(self, secret: str) -> ApiToken | None:
        """Return the token with a secret, or None."""
        if not self.file.exists() or not secret.startswith("upw_"):
            return None
        with self._database() as database:
            # found by the digest of a random secret: the time of the comparison says nothing about it
            row = database.execute(
                "SELECT name, scopes, budget, used FROM tokens WHERE digest = ?", (_digest(secret),)
            ).fetchone()
        return _token(row) if row else None

    def take(self, name: str, requests: int) -> bool:
        """Set requests aside from the budget of a token; return False if fewer are left. Parallel calls cannot exceed the budget."""
        with self._database() as database:
            changed = database.execute(
                "UPDATE tokens SET used = used + ? WHERE name = ? AND (budget IS NULL OR used + ? <= budget)",
                (requests, name, requests),
            )
            return changed.rowcount == 1

    def give_back(self, name: str, requests: int) -> None:
        """Return requests that were set aside and not sent."""
        with self._database() as database:
            database.execute("UPDATE tokens SET used = max(0, used - ?) WHERE name = ?", (requests, name))


def _token(row: Sequence[object]) -> ApiToken:
    name, scopes, budget, used = row
    return ApiToken(
        name=str(name),
        scopes=frozenset(str(scopes).split(",")) & ALL_SCOPES,
        budget=budget if isinstance(budget, int) else None,
        used=used if isinstance(used, int) else 0,
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
