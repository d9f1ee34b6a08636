"""The folder of a site's harvest: its path, and its state and archive while the harvest runs."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from upwell.errors import CannotKeep, WrongUsage
from upwell.store.archive import Archive
from upwell.store.state import State

__all__ = ["folder_of", "harvest_folders", "open_folder"]


def folder_of(url: str, out: str | Path) -> Path:
    """The folder for a site below `out`: named by its host, with the port if the address has one.

    >>> str(folder_of("http://127.0.0.1:8000/search", "harvest"))
    'harvest/127.0.0.1_8000'
    """
    parts = urlsplit(url)
    return Path(out) / ((parts.hostname or "") + (f"_{parts.port}" if parts.port else ""))


def harvest_folders(path: Path) -> Iterator[Path]:
    """The folders of harvests at a path: the path itself, or those below it."""
    if (path / "state.sqlite").is_file():
        yield path
        return
    below = sorted(file.parent for file in path.glob("*/state.sqlite")) or sorted(
        file.parent for file in path.glob("*/*/state.sqlite")
    )
    if not below:
        raise WrongUsage(
            f"{path} is not the folder of a harvest, and holds none; it is the one given to harvest with -o"
        )
    yield from below


@contextmanager
def open_folder(folder: Path) -> Iterator[tuple[Path, State, Archive]]:
    """Opens a site's folder with its state and archive; a full or read-only disk becomes an error of one line.

    The state is opened first, because its lock keeps a second process from repairing the archive at the same time.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error
    try:
        with State(folder / "state.sqlite") as state, Archive(folder / "archive") as archive:
            state.archive = archive
            yield folder, state, archive
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT):
            raise
        raise CannotKeep(
            f"{folder}: {error.strerror}; make room or make it writable and run the same command again, it goes on where it was"
        ) from error
