"""The folder of a site's harvest: its path, and its state and archive while the harvest runs."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from upwell.errors import CannotKeep, WrongUsage
from upwell.page.hosts import host_and_port, without_login
from upwell.store.archive import WARC_FILE_BYTES, Archive
from upwell.store.places import STATE_FILES, has_state, place_of, point_to
from upwell.store.state import State

__all__ = ["folder_of", "harvest_folders", "open_folder", "refuse_links"]

SAFE_NAME = re.compile(r"(?!\.+$)[^/\\\x00-\x1f]{1,200}")  # never a path, never "." or ".."


def folder_of(url: str, out: str | Path) -> Path:
    """The folder for a site below `out`: named by its host, with the port if the address has one.

    >>> str(folder_of("http://127.0.0.1:8000/search", "harvest"))
    'harvest/127.0.0.1_8000'
    """
    host, port = host_and_port(url)
    name = host + (f"_{port}" if port else "")
    if not SAFE_NAME.fullmatch(name):
        raise WrongUsage(f"{without_login(url)} has no host that a folder can be named after")
    return Path(out) / name


def harvest_folders(path: Path) -> Iterator[Path]:
    """The folders of harvests at a path: the path itself, or those below it."""
    if has_state(path):
        refuse_links(path)
        yield path
        return
    below = _folders(path, "*") or _folders(path, "*/*")
    if not below:
        raise WrongUsage(
            f"{path} is not the folder of a harvest, and holds none; it is the one given to harvest with -o"
        )
    for folder in below:
        refuse_links(folder)
        yield folder


def _folders(path: Path, level: str) -> list[Path]:
    return sorted({file.parent for name in STATE_FILES for file in path.glob(f"{level}/{name}")})


def refuse_links(folder: Path) -> None:
    """Raises WrongUsage if a folder is a symbolic link or has one: what is written there might go elsewhere."""
    if folder.is_symlink() or (folder.is_dir() and any(file.is_symlink() for file in folder.iterdir())):
        raise WrongUsage(f"{folder} is or has a symbolic link, which may lead elsewhere; name another folder with -o")


@contextmanager
def open_folder(
    folder: Path, address: str = "", warc_bytes: int = WARC_FILE_BYTES
) -> Iterator[tuple[Path, State, Archive]]:
    """Opens a site's folder with its archive and its state, which may be in a database; a full or read-only disk is an error of one line.

    The state is opened first, because its lock keeps a second process from repairing the archive at the same time.
    """
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error
    try:
        place = place_of(folder, address)
        with State(place) as state, Archive(folder / "archive", max_bytes=warc_bytes) as archive:
            point_to(folder, place)
            state.archive = archive
            yield folder, state, archive
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT):
            raise
        raise CannotKeep(
            f"{folder}: {error.strerror}; make room or make it writable and run the same command again, it goes on where it was"
        ) from error
