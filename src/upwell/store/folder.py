"""Folder of a site's harvest: its name, and opening it with its state and archive."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from upwell.errors import CannotKeep, WrongUsage
from upwell.store.archive import WARC_FILE_BYTES, Archive
from upwell.store.location import STATE_FILES, has_state, state_location, write_pointer
from upwell.store.safe_files import disk_problem
from upwell.store.state import State
from upwell.urls.hosts import host_and_port, without_login

__all__ = ["folder_of", "harvest_folders", "open_folder", "refuse_links"]

SAFE_NAME = re.compile(r"(?!\.+$)[^/\\\x00-\x1f]{1,200}")  # never a path, never "." or ".."


def folder_of(url: str, out: str | Path) -> Path:
    """Return the folder of a site below `out`, named by its host, and the port if the URL has one.

    >>> str(folder_of("http://127.0.0.1:8000/search", "harvest"))
    'harvest/127.0.0.1_8000'
    """
    host, port = host_and_port(url)
    name = host + (f"_{port}" if port else "")
    if not SAFE_NAME.fullmatch(name):
        raise WrongUsage(f"{without_login(url)} has no host that a folder can be named after")
    return Path(out) / name


def harvest_folders(path: Path) -> Iterator[Path]:
    """Yield the folders of harvests at a path: the path itself, or the folders one or two levels below."""
    if has_state(path):
        refuse_links(path)
        yield path
        return
    folders = _folders_below(path, "*") or _folders_below(path, "*/*")
    if not folders:
        raise WrongUsage(
            f"{path} is not the folder of a harvest, and contains none; give the folder that harvest got with -o"
        )
    for folder in folders:
        refuse_links(folder)
        yield folder


def _folders_below(path: Path, level: str) -> list[Path]:
    return sorted({file.parent for name in STATE_FILES for file in path.glob(f"{level}/{name}")})


def refuse_links(folder: Path) -> None:
    """Raise WrongUsage if a folder is or contains a symbolic link at any depth, through which files could be written elsewhere."""
    inside = ((Path(at) / name for name in (*folders, *files)) for at, folders, files in os.walk(folder))
    if folder.is_symlink() or any(file.is_symlink() for files in inside for file in files):
        raise WrongUsage(
            f"{folder} is or contains a symbolic link, which may lead elsewhere; name another folder with -o"
        )


@contextmanager
def open_folder(
    folder: Path, address: str = "", warc_bytes: int = WARC_FILE_BYTES
) -> Iterator[tuple[Path, State, Archive]]:
    """Open a site's folder with its archive and its state, which may be in a database at `address`.

    The state is opened first, because its lock keeps a second process from repairing the archive at the same time. A full or read-only
    disk raises CannotKeep.
    """
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error
    try:
        location = state_location(folder, address)
        with State(location) as state, Archive(folder / "archive", max_bytes=warc_bytes) as archive:
            write_pointer(folder, location)
            state.archive = archive
            yield folder, state, archive
    except (OSError, sqlite3.Error, RuntimeError) as error:
        if not (problem := disk_problem(error)):
            raise
        raise CannotKeep(
            f"{folder}: {problem}; what was received before is kept: free some space or make the folder writable, then run the same command again to continue"
        ) from error
