"""The folder of a site's harvest: its path, and its state and archive while the harvest runs."""

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from upwell.errors import CannotKeep, WrongUsage
from upwell.page.hosts import host_and_port, without_login
from upwell.store.archive import Archive
from upwell.store.state import State

__all__ = ["folder_of", "folders_of", "open_folder"]

SAFE_NAME = re.compile(r"(?!\.+$)[^/\\\x00-\x1f]{1,200}")  # never a path, never "." or ".."
MAX_NAME_CHARS = 60  # of a path in the name of a folder
# What Upwell writes in a folder: none of it may be a link that leads elsewhere.
OWN_NAMES = (
    "state.sqlite", "archive", "source.json", "summary.json", "report.html", "records.parquet", "records.csv", "records.jsonl", "records.sqlite",
    ".source.json.part", ".summary.json.part", ".report.html.part", ".records.parquet.part", ".records.csv.part", ".records.jsonl.part",
    ".records.sqlite.part",
)  # fmt: skip


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


def folders_of(urls: Sequence[str], out: str | Path) -> dict[str, Path]:
    """The folder of each of several sites; those on one host are told apart by their paths.

    >>> [str(folder) for folder in folders_of(["http://h/", "http://h/books/?x=1", "http://i/a"], "o").values()]
    ['o/h', 'o/h_books_x_1', 'o/i']
    """
    folders: dict[str, Path] = {}
    for url in urls:
        folder = folder_of(url, out)
        if folder in folders.values():
            parts = urlsplit(url)
            told_apart = "_".join(re.findall(r"[\w-]+", f"{parts.path} {parts.query}"))[:MAX_NAME_CHARS] or "home"
            folder = folder.with_name(f"{folder.name}_{told_apart}")
            while folder in folders.values():
                folder = folder.with_name(f"{folder.name}_")
        folders[url] = folder
    return folders


@contextmanager
def open_folder(folder: Path) -> Iterator[tuple[Path, State, Archive]]:
    """Opens a site's folder with its state and archive; a full or read-only disk becomes an error of one line.

    The state is opened first, because its lock keeps a second process from repairing the archive at the same time.
    """
    try:
        if folder.is_symlink() or any((folder / name).is_symlink() for name in OWN_NAMES):
            raise WrongUsage(
                f"{folder} is or has a symbolic link, which may lead elsewhere; name another folder with -o"
            )
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
