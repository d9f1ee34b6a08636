"""What this user named in earlier commands, kept outside of all harvests in a file that only the user can read and write.

A folder may come from a stranger, so it must not decide which private server is queried or which database gets a password. The file holds
digests only: of search interfaces and harvests of private addresses, and of databases given with --state.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from upwell.operating_system import PRIVATE_FLAGS, is_own

__all__ = ["is_remembered", "memory_file", "remember"]


def memory_file() -> Path:
    """Return the file, in the user's state folder (XDG Base Directory Specification)."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "upwell" / "named"


def remember(kind: str, value: str) -> None:
    """Remember that the user named a value; if the file cannot be written, the user is asked to name it again later."""
    line, file = _digest(kind, value), memory_file()
    with suppress(OSError):
        if line in _lines(file):
            return
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | PRIVATE_FLAGS, 0o600)
        with open(descriptor, "w", encoding="ascii") as out:
            out.write(f"{line}\n")


def is_remembered(kind: str, value: str) -> bool:
    """Return True if the user named this value before."""
    with suppress(OSError, UnicodeDecodeError):
        return _digest(kind, value) in _lines(memory_file())
    return False


def _lines(file: Path) -> set[str]:
    """Return the digests of the file; none if another user could have written it."""
    if not file.exists():
        return set()
    if not is_own(file.stat(), others_may=0o022):
        return set()
    return set(file.read_text(encoding="ascii").split())


def _digest(kind: str, value: str) -> str:
    return hashlib.sha256(f"{kind}\0{value}".encode()).hexdigest()
