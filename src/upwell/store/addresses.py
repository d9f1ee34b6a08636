"""Addresses of fsspec: what is one, how it is shown, where work on it is done, and its store with errors of one line."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upwell.errors import CannotKeep, MissingExtra, WrongUsage

__all__ = ["Store", "is_remote", "open_store", "shown", "telling", "working_folder"]

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)(?:::[a-z][a-z0-9+.-]+)*://", re.I)
WEB = ("http", "https")  # addresses of sites, not of files
USER = re.compile(r"(?<=://)[^/@\s]+@")
OBJECT_STORES = ("s3", "gs", "abfs", "oss", "oci")  # have no folders: one that is made there would be a bucket


def is_remote(place: object) -> bool:
    """Whether a place is an address for fsspec: not a path, and not the address of a site.

    >>> [is_remote(place) for place in ("s3://bucket/harvest", "harvest", "https://example.org/", "C:/data")]
    [True, False, False, False]
    """
    found = ADDRESS.match(str(place)) if isinstance(place, str) else None
    return found is not None and found[1].lower() not in WEB


def shown(address: str) -> str:
    """An address without name and password.

    >>> shown("sftp://me:secret@example.org/data")
    'sftp://example.org/data'
    """
    return USER.sub("", address)


def working_folder(place: str | Path) -> Path:
    """Where work on a place is done: a path itself; for an address a folder in this user's cache, always the same."""
    if not is_remote(place):
        return Path(place)
    address = str(place).rstrip("/")
    readable = re.sub(r"[^\w.-]+", "_", shown(address))[-60:]
    digest = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()[:12]
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"  # XDG Base Directory Specification
    return Path(cache, "upwell", f"{readable}-{digest}")


@contextmanager
def telling(address: str) -> Iterator[None]:
    """Errors of a store as errors of one line, without name and password."""
    try:
        yield
    except (FileExistsError, CannotKeep, MissingExtra, WrongUsage):
        raise
    except ImportError as error:
        kind = address.partition(":")[0]
        extra = "s3" if kind in ("s3", "s3a") else "files"
        reason = " ".join(str(error).split())
        raise MissingExtra(f"{shown(address)}: {reason} (pip install 'upwell[{extra}]')") from error
    except Exception as error:  # every store has errors of its own: botocore's and Google's have no common root
        user = USER.search(address)
        reason = " ".join(str(error).split()) or type(error).__name__
        for secret in user[0].rstrip("@").split(":") if user else ():
            reason = reason.replace(secret, "…")
        raise CannotKeep(
            f"{shown(address)} cannot be used ({type(error).__name__}: {reason}); "
            "look at its name and at your credentials for it"
        ) from error


@dataclass(frozen=True)
class Store:
    """The file system of fsspec for an address, and the path in it."""

    files: Any
    root: str

    def path(self, name: str) -> str:
        """The path of a file, by its name below the address."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    @property
    def has_buckets(self) -> bool:
        """Whether it is an object store."""
        return any(protocol in self.files.protocol for protocol in OBJECT_STORES)

    def make_parent(self, path: str) -> None:
        """Makes the folder that a file is put into, where there are folders."""
        if not self.has_buckets:
            self.files.makedirs(self.files._parent(path), exist_ok=True)


def open_store(address: str) -> Store:
    """The store of an address."""
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{shown(address)} needs the package fsspec: pip install 'upwell[files]'") from error
    with telling(address):
        files, root = fsspec.url_to_fs(address.rstrip("/"))
        return Store(files, root)
