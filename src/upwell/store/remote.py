"""Files and folders at an fsspec URL (`s3://…`, `gs://…`, `sftp://…`), used through a working copy on this machine.

SQLite and a growing archive need a disk, so commands work in a local folder, the working copy, and whole files are fetched from and sent to
the URL. Each harvest has a lease file next to its files at the URL: two machines never continue one harvest at the same time, and a machine
that takes over the harvest of another fetches it first.
"""

import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from upwell.errors import CannotKeep, InUse, MissingExtra, WrongUsage

__all__ = [
    "LEASE_SECONDS",
    "RemoteFolder",
    "displayed_output",
    "displayed_path",
    "is_remote",
    "local_copy",
    "open_output",
    "without_credentials",
    "working_folder",
]

URL = re.compile(r"([a-z][a-z0-9+.-]+)(?:::[a-z][a-z0-9+.-]+)*://", re.I)
WEB_SCHEMES = ("http", "https")  # URLs of sites, not of files
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
OBJECT_STORES = ("s3", "gs", "abfs", "oss", "oci")  # protocols without folders: creating one would create a bucket
ARCHIVE = "archive/"  # folder of a harvest with its WARC files
LEASE_FILE, SYNC_FILE, HOLDER_FILE = ".lease-{}.json", ".sent.json", ".holder"
LEASE_NAME = re.compile(r"\.lease-(\d+)\.json")
LEASE_SECONDS = 180  # after which a silent machine has lost its harvest; renewed three times as often; not swept
TABLE_FILE = re.compile(
    r"\.(?:parquet|csv|jsonl|sqlite|duckdb|xlsx|json)$"
)  # a URL that ends so is a file, not a folder
# Files of a run over several sites: the local ones may be newer, and are sent when the run ends.
RUN_FILES = ("run.json", "summary.jsonl")
# Properties that distinguish versions of a file; each file system reports some of them.
VERSION_KEYS = ("size", "ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "created", "updated")


def is_remote(location: object) -> bool:
    """Return True if a location is an fsspec URL, neither a path nor the URL of a site.

    >>> [is_remote(location) for location in ("s3://bucket/harvest", "harvest", "https://example.org/", "C:/data")]
    [True, False, False, False]
    """
    match = URL.match(str(location)) if isinstance(location, str) else None
    return match is not None and match[1].lower() not in WEB_SCHEMES


def without_credentials(url: str) -> str:
    """Return a URL without user name and password.

    >>> without_credentials("sftp://me:secret@example.org/data")
    'sftp://example.org/data'
    """
    return CREDENTIALS.sub("", url)


def working_folder(location: str | Path) -> Path:
    """Return the working copy of a location: a path itself; for a URL always the same folder in this user's cache."""
    if not is_remote(location):
        return Path(location)
    url = str(location).rstrip("/")
    readable = re.sub(r"[^\w.-]+", "_", without_credentials(url))[-60:]
    digest = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()[:12]
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"  # XDG Base Directory Specification
    return Path(cache, "upwell", f"{readable}-{digest}")


def local_copy(location: str | Path, *, with_archive: bool = True) -> Path:
    """Return a local path to read from: a path itself, or the updated working copy of a file or folder at a URL."""
    if not is_remote(location):
        return Path(location)
    url = str(location).rstrip("/")
    store = _open_store(url)
    with _translated_errors(url):
        is_file = store.files.isfile(store.root)
    if is_file:
        parent, _, name = url.rpartition("/")
        remote = RemoteFolder(parent, working_folder(url))
        remote.fetch_file(name, remote.folder / name)
        return remote.folder / name
    remote = RemoteFolder(url)
    if not remote.names():
        raise WrongUsage(f"{without_credentials(url)} holds no files; check its name")
    remote.fetch(leave_out="" if with_archive else ARCHIVE)
    return remote.folder


@contextmanager
def open_output(location: str | Path, *, resume: bool = False) -> Iterator[Path]:
    """Yield a path to write a file or folder to; if the location is a URL, send what was written there at the end.

    With `resume`, fetch first what an earlier run left there, and send also if the work fails.
    """
    if not is_remote(location):
        yield Path(location)
        return
    url = str(location).rstrip("/")
    if resume:
        remote = RemoteFolder(url)
        remote.fetch()
        try:
            yield remote.folder
        finally:
            remote.send()
        return
    is_file = TABLE_FILE.search(url) is not None
    with TemporaryDirectory(prefix="upwell-") as scratch:
        remote = RemoteFolder(url.rpartition("/")[0] if is_file else url, Path(scratch))
        yield remote.folder / url.rpartition("/")[2] if is_file else remote.folder
        remote.send()


def displayed_path(location: str | Path, path: Path, folder: Path) -> str | Path:
    """Return how to show the user a path in the working copy of a location: as URL if the location is one."""
    if not is_remote(location):
        return path
    return f"{without_credentials(str(location)).rstrip('/')}/{path.relative_to(folder).as_posix()}"


def displayed_output(location: str | Path, path: Path) -> str | Path:
    """Return how to show the user a file written directly in the output of a location: as URL if the location is one."""
    if not is_remote(location):
        return path
    url = without_credentials(str(location)).rstrip("/")
    return f"{url.rpartition('/')[0] if TABLE_FILE.search(url) else url}/{path.name}"


@contextmanager
def _translated_errors(url: str) -> Iterator[None]:
    """Translate errors of a file system to errors of one line without credentials."""
    try:
        yield
    except (FileExistsError, CannotKeep, MissingExtra, WrongUsage):
        raise
    except ImportError as error:
        extra = "s3" if url.partition(":")[0] in ("s3", "s3a") else "files"
        reason = " ".join(str(error).split())
        raise MissingExtra(f"{without_credentials(url)}: {reason} (pip install 'upwell[{extra}]')") from error
    except Exception as error:  # the errors of botocore, Google and others have no common base class
        credentials = CREDENTIALS.search(url)
        reason = " ".join(str(error).split()) or type(error).__name__
        for secret in credentials[0].rstrip("@").split(":") if credentials else ():
            reason = reason.replace(secret, "…")
        raise CannotKeep(
            f"{without_credentials(url)} cannot be used ({type(error).__name__}: {reason}); "
            "check its name and your credentials for it"
        ) from error


@dataclass(frozen=True)
class FileStore:
    """fsspec file system of a URL, and the path of the URL in it."""

    files: Any
    root: str

    def path(self, name: str) -> str:
        """Return the path of a file from its name below the URL."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    @property
    def has_buckets(self) -> bool:
        """Return True if it is an object store."""
        return any(protocol in self.files.protocol for protocol in OBJECT_STORES)

    def make_parent(self, path: str) -> None:
        """Create the parent folder of a file, if the file system has folders."""
        if not self.has_buckets:
            self.files.makedirs(self.files._parent(path), exist_ok=True)


def _open_store(url: str) -> FileStore:
    try:
        import fsspec  # an optional dependency
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{without_credentials(url)} needs the package fsspec: pip install 'upwell[files]'"
        ) from error
    with _translated_errors(url):
        files, root = fsspec.url_to_fs(url.rstrip("/"))
        return FileStore(files, root)


class RemoteFolder:
    """Folder at a URL and its working copy; `name` is always a path below both, such as that of one harvest."""

    def __init__(self, url: str, folder: Path | None = None) -> None:
        self.url, self.folder = url.rstrip("/"), folder or working_folder(url)
        self._store = _open_store(self.url)

    def names(self, below: str = "") -> dict[str, str]:
        """Return the files at the URL below a name, each with a text that changes with its version; hidden files are left out."""
        return {
            name: str([properties.get(key) for key in VERSION_KEYS]) for name, properties in self._list(below).items()
        }

    def sizes(self) -> dict[str, int]:
        """Return the files at the URL with their sizes in bytes."""
        return {name: int(properties["size"]) for name, properties in self._list("").items()}

    def _list(self, below: str) -> dict[str, Any]:
        with _translated_errors(self.url):
            self._store.files.invalidate_cache()
            try:
                paths = self._store.files.find(self._store.path(below), detail=True)
            except FileNotFoundError:
                self._check_bucket()
                return {}
        listed = {}
        for path, properties in paths.items():
            name = path.removeprefix(self._store.root).lstrip("/")
            if not name or any(part.startswith(".") for part in name.split("/")):  # ".." too
                continue
            if not below or name.startswith(f"{below}/"):
                listed[name] = properties
        return listed

    def _check_bucket(self) -> None:
        """Raise an error if not only the folder is missing, but the bucket as well."""
        if self._store.has_buckets:
            self._store.files.ls(self._store.root.lstrip("/").partition("/")[0])

    def fetch(self, below: str = "", leave_out: str = "") -> None:
        """Update the working copy from the URL; files whose path contains `leave_out` are not fetched."""
        versions = {
            name: version for name, version in self.names(below).items() if not leave_out or leave_out not in name
        }
        groups: dict[str, dict[str, str]] = {_group(f"{below}/"): {}} if below else {}
        for name, version in versions.items():
            groups.setdefault(_group(name), {})[name] = version
        for group, listed in groups.items():
            if group and self._is_newest_here(group):
                continue
            synced = self._read_synced(group)
            for name, version in listed.items():
                path = self.folder / name
                if name in RUN_FILES and path.exists():
                    continue
                if synced.get(name) != [version, _local_version(path)]:
                    self.fetch_file(name, path)
                    synced[name] = [version, _local_version(path)]
            for path in _local_files(self.folder / group if group else self.folder, deep=bool(group)):
                name = path.relative_to(self.folder).as_posix()
                if name not in listed and name not in RUN_FILES and not (leave_out and leave_out in name):
                    path.unlink()
                    synced.pop(name, None)
            self._write_synced(group, synced)

    def fetch_missing(self, *names: str) -> None:
        """Fetch files directly below the URL that the working copy lacks; existing local files may be newer."""
        listed = self.names()
        for name in names:
            if name in listed and not (self.folder / name).exists():
                self.fetch_file(name, self.folder / name)

    def fetch_file(self, name: str, path: Path) -> None:
        """Fetch one file atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        with _translated_errors(self.url):
            self._store.files.get_file(self._store.path(name), str(partial))
        partial.replace(path)

    def send(
        self, below: str = "", replacements: Mapping[str, Path] | None = None, leave_out: Collection[str] = ()
    ) -> None:
        """Send files that changed since they were last sent, archives first, so that a state never refers to missing pages.

        `replacements` has copies of files that are in use, by name; files in `leave_out` are neither sent nor deleted.
        """
        files = {path.relative_to(self.folder).as_posix(): path for path in _local_files(self.folder / below)}
        files = {name: path for name, path in files.items() if name not in leave_out} | dict(replacements or {})
        groups = {_group(name) for name in [*files, f"{below}/" * bool(below)]}
        synced = {group: self._read_synced(group) for group in groups}
        sent: dict[str, list[int]] = {}
        for name, path in sorted(files.items(), key=lambda item: (ARCHIVE not in item[0], ".sqlite" not in item[0])):
            version = _local_version(path)
            if synced[_group(name)].get(name, [None, None])[1] != version:
                self.put(name, path)
                sent[name] = version
        known = [name for names in synced.values() for name in names]
        deleted = [name for name in known if name not in files and name not in leave_out and name.startswith(below)]
        versions = self.names(below) if sent or deleted else {}
        with _translated_errors(self.url):
            for name in deleted:
                synced[_group(name)].pop(name)
                if name in versions:
                    self._store.files.rm_file(self._store.path(name))
        for name, version in sent.items():
            synced[_group(name)][name] = [versions.get(name, ""), version]
        for group, names in synced.items():
            self._write_synced(group, names)

    def put_all(self, *names: str) -> None:
        """Send those of the named files directly below the URL that exist in the working copy."""
        for name in names:
            if (self.folder / name).is_file():
                self.put(name, self.folder / name)

    def put(self, name: str, path: Path) -> None:
        """Send one file."""
        with _translated_errors(self.url):
            self._store.make_parent(self._store.path(name))
            self._store.files.put_file(str(path), self._store.path(name))

    def text(self, name: str) -> str | None:
        """Return the text of a file at the URL, or None if it does not exist."""
        with _translated_errors(self.url):
            try:
                content: bytes = self._store.files.cat_file(self._store.path(name))
            except FileNotFoundError:
                return None
        return content.decode()

    def write_text(self, name: str, text: str, mode: str = "overwrite") -> None:
        """Write a file at the URL; with mode `create` raise FileExistsError if it exists."""
        with _translated_errors(self.url):
            path = self._store.path(name)
            self._store.make_parent(path)
            if mode == "create" and "file" in self._store.files.protocol:
                _create_local(Path(path), text)
            else:
                self._store.files.pipe_file(path, text.encode(), mode=mode)

    # Leases

    def claim(self, name: str, *, is_alone: bool = False) -> None:
        """Take the lease of a harvest's folder, and fetch the folder if another machine wrote it last.

        Raise InUse while another machine holds the lease, unless `is_alone`: then a lease elsewhere (the state's database) proves that no
        other machine is harvesting, so the lease of a dead one is taken over at once.
        """
        number, lease = self._lease(name)
        is_own = lease.get("holder") == self._holder()
        if lease and not is_own and not is_alone and lease["until"] > time.time():
            raise InUse(
                f"{without_credentials(self.url)}/{name} is being harvested by {lease['machine']}; run the same command again "
                f"when that has ended, or {LEASE_SECONDS} seconds after it died"
            )
        is_newest_here = self._is_newest_here(name)
        if is_own:
            self._write_lease(name, number, LEASE_SECONDS, "overwrite")
        else:
            self._take_over(name, number)
        if not is_newest_here:
            self._fetch_as_holder(name)

    def renew(self, name: str, seconds: float = LEASE_SECONDS) -> None:
        """Extend a lease; 0 seconds release it, and the working copy stays the newest until another machine takes the lease."""
        number, lease = self._lease(name)
        if lease.get("holder") != self._holder():
            raise InUse(
                f"{without_credentials(self.url)}/{name}: {lease.get('machine')} has taken it over; nothing more is sent there"
            )
        self._write_lease(name, number, seconds, "overwrite")

    def _fetch_as_holder(self, name: str) -> None:
        """Fetch a folder after its lease was taken, and mark the working copy as the newest afterwards."""
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / name / HOLDER_FILE).unlink(missing_ok=True)
        self.fetch(name)
        (self.folder / name / HOLDER_FILE).touch()

    def _is_newest_here(self, name: str) -> bool:
        """Return True if this working copy held the lease last, so that it is at least as new as the files at the URL."""
        return (self.folder / name / HOLDER_FILE).exists() and self._lease(name)[1].get("holder") == self._holder()

    def _take_over(self, name: str, number: int) -> None:
        """Take a free lease by creating the file with the next number, which only one machine can."""
        try:
            self._write_lease(name, number + 1, LEASE_SECONDS, "create")
        except FileExistsError:
            raise InUse(f"{without_credentials(self.url)}/{name}: another machine took it just now") from None
        numbers = self._lease_numbers(name)
        if numbers[-1] > number + 1:  # others took it over since the lease was read
            raise InUse(f"{without_credentials(self.url)}/{name}: another machine took it just now")
        with _translated_errors(self.url):
            for old in numbers[:-1]:
                self._store.files.rm_file(self._store.path(f"{name}/{LEASE_FILE.format(old)}"))

    def _write_lease(self, name: str, number: int, seconds: float, mode: str) -> None:
        lease = {"holder": self._holder(), "machine": socket.gethostname(), "until": time.time() + seconds}
        self.write_text(f"{name}/{LEASE_FILE.format(number)}", json.dumps(lease), mode)

    def _lease(self, name: str) -> tuple[int, dict[str, Any]]:
        """Return number and content of the last lease; 0 and an empty one if there was none."""
        numbers = self._lease_numbers(name)
        if not numbers:
            return 0, {}
        lease: dict[str, Any] = json.loads(self.text(f"{name}/{LEASE_FILE.format(numbers[-1])}") or "{}")
        return numbers[-1], lease

    def _lease_numbers(self, name: str) -> list[int]:
        with _translated_errors(self.url):
            self._store.files.invalidate_cache()
            try:
                paths = self._store.files.ls(self._store.path(name), detail=False)
            except FileNotFoundError:
                return []
        matches = (LEASE_NAME.fullmatch(str(path).rpartition("/")[2]) for path in paths)
        return sorted(int(match[1]) for match in matches if match)

    def _holder(self) -> str:
        """Return the identifier of this working copy; create it on first use."""
        path = self.folder / HOLDER_FILE
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):  # another process of this machine was faster
                _create_local(path, uuid4().hex)
        return path.read_text()

    # Synchronized versions

    def _read_synced(self, group: str) -> dict[str, list[Any]]:
        """Read the versions last fetched or sent, by name: at the URL, and of the local file."""
        try:
            synced: dict[str, list[Any]] = json.loads((self.folder / group / SYNC_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return synced

    def _write_synced(self, group: str, synced: dict[str, list[Any]]) -> None:
        path = self.folder / group / SYNC_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{SYNC_FILE}.part")
        partial.write_text(json.dumps(synced), encoding="utf-8")
        partial.replace(path)


def _group(name: str) -> str:
    """Return the top folder of a file; each has its own file of versions, so that harvests do not wait for each other."""
    return name.partition("/")[0] if "/" in name else ""


def _local_version(path: Path) -> list[int]:
    """Return size and modification time of a local file; empty if it does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return []
    return [status.st_size, status.st_mtime_ns]


def _local_files(folder: Path, *, deep: bool = True) -> list[Path]:
    """Return the files of a working copy that belong at the URL."""
    return [
        path
        for path in sorted(folder.rglob("*") if deep else folder.glob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.name.endswith(("-wal", "-shm"))
    ]


def _create_local(path: Path, text: str) -> None:
    """Create a local file atomically, or raise FileExistsError; fsspec checks first and writes later, which is a race."""
    partial = path.with_name(f"{path.name}.{uuid4().hex}.part")
    partial.write_text(text)
    try:
        path.hardlink_to(partial)
    finally:
        partial.unlink()
