"""Folders and files at an address of fsspec (`s3://…`, `gs://…`, `sftp://…`): a working copy here, which is fetched and sent by file.

SQLite and a growing archive need a disk, so a verb works in a folder of this machine, the working copy, and whole files go to the
address. Who wrote there last is said by a lease beside the files of a harvest: two machines never go on with one harvest at the same
time, and a machine that goes on with the harvest of another fetches it first.
"""

import json
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from upwell.errors import InUse, WrongUsage
from upwell.store.addresses import is_remote, open_store, shown, telling, working_folder

__all__ = [
    "LEASE_SECONDS",
    "RemoteFolder",
    "address_in",
    "is_remote",
    "local_copy",
    "output",
    "shown",
    "working_folder",
    "written_at",
]

ARCHIVE = "archive/"  # the folder of a harvest with its WARC files
LEASE, NOTES, HOLDER = ".lease-{}.json", ".sent.json", ".holder"
LEASE_NAME = re.compile(r"\.lease-(\d+)\.json")
LEASE_SECONDS = 180  # after which a silent machine has lost its harvest; renewed three times as often; not swept
FILE_NAME = re.compile(r"\.(?:parquet|csv|jsonl|sqlite|duckdb|xlsx|json)$")  # of a table: such an address is no folder
# Of a run over several sites: those here may be newer, and are put at its end.
RUN_FILES = ("run.json", "summary.jsonl")
# What stores say of a file that tells its versions apart; each says some of them.
VERSION_KEYS = ("size", "ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "created", "updated")


class RemoteFolder:
    """A folder at an address, and its working copy here; `name` is everywhere a path below both, such as that of one harvest."""

    def __init__(self, address: str, folder: Path | None = None) -> None:
        self.address, self.folder = address.rstrip("/"), folder or working_folder(address)
        self._store = open_store(self.address)

    def names(self, below: str = "") -> dict[str, str]:
        """The files at the address below a name, each with what tells its versions apart; files of our own are left out."""
        return {name: str([about.get(key) for key in VERSION_KEYS]) for name, about in self._listed(below).items()}

    def sizes(self) -> dict[str, int]:
        """The files at the address with their bytes."""
        return {name: int(about["size"]) for name, about in self._listed("").items()}

    def _listed(self, below: str) -> dict[str, Any]:
        with telling(self.address):
            self._store.files.invalidate_cache()
            try:
                found = self._store.files.find(self._store.path(below), detail=True)
            except FileNotFoundError:
                self._look_for_root()
                return {}
        names = {}
        for path, about in found.items():
            name = path.removeprefix(self._store.root).lstrip("/")
            parts = name.split("/")
            if not name or any(part.startswith(".") for part in parts):  # also ".."
                continue
            if not below or name.startswith(f"{below}/"):
                names[name] = about
        return names

    def _look_for_root(self) -> None:
        """Raises if not only the folder is missing, but the bucket that it should be in."""
        if self._store.has_buckets:
            self._store.files.ls(self._store.root.lstrip("/").partition("/")[0])

    def fetch(self, below: str = "", leave_out: str = "") -> None:
        """Makes the working copy what lies at the address; files whose path contains `leave_out` stay there."""
        names = {name: version for name, version in self.names(below).items() if not leave_out or leave_out not in name}
        groups: dict[str, dict[str, str]] = {_group(f"{below}/"): {}} if below else {}
        for name, version in names.items():
            groups.setdefault(_group(name), {})[name] = version
        for group, listed in groups.items():
            if group and self._is_ours(group):
                continue  # nobody else wrote: what lies here is as new, or newer
            notes = self._notes(group)
            for name, version in listed.items():
                path = self.folder / name
                if name in RUN_FILES and path.exists():
                    continue
                if notes.get(name) != [version, _mark(path)]:
                    self.fetch_file(name, path)
                    notes[name] = [version, _mark(path)]
            for path in _own_files(self.folder / group if group else self.folder, deep=bool(group)):
                name = path.relative_to(self.folder).as_posix()
                if name not in listed and name not in RUN_FILES and not (leave_out and leave_out in name):
                    path.unlink()
                    notes.pop(name, None)
            self._write_notes(group, notes)

    def fetch_missing(self, *names: str) -> None:
        """Fetches files directly at the address that are not here; those that are may be newer."""
        listed = self.names()
        for name in names:
            if name in listed and not (self.folder / name).exists():
                self.fetch_file(name, self.folder / name)

    def put_all(self, *names: str) -> None:
        """Puts files directly at the address, those that are here."""
        for name in names:
            if (self.folder / name).is_file():
                self.put(name, self.folder / name)

    def fetch_file(self, name: str, path: Path) -> None:
        """Brings one file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        with telling(self.address):
            self._store.files.get_file(self._store.path(name), str(partial))
        partial.replace(path)

    def send(self, below: str = "", instead: Mapping[str, Path] | None = None, leave_out: Collection[str] = ()) -> None:
        """Puts the files that changed since they were sent, archives first, so that a state never refers to what is not there.

        `instead` has copies of files that are in use, by name; those in `leave_out` stay there as they are.
        """
        files = {path.relative_to(self.folder).as_posix(): path for path in _own_files(self.folder / below)}
        files = {name: path for name, path in files.items() if name not in leave_out} | dict(instead or {})
        notes = {group: self._notes(group) for group in {_group(name) for name in [*files, f"{below}/" * bool(below)]}}
        sent: dict[str, list[int]] = {}
        for name, path in sorted(files.items(), key=lambda item: (ARCHIVE not in item[0], ".sqlite" not in item[0])):
            mark = _mark(path)
            if notes[_group(name)].get(name, [None, None])[1] != mark:
                self.put(name, path)
                sent[name] = mark
        known = [name for group in notes.values() for name in group]
        gone = [name for name in known if name not in files and name not in leave_out and name.startswith(below)]
        versions = self.names(below) if sent or gone else {}
        with telling(self.address):
            for name in gone:
                notes[_group(name)].pop(name)
                if name in versions:
                    self._store.files.rm_file(self._store.path(name))
        for name, mark in sent.items():
            notes[_group(name)][name] = [versions.get(name, ""), mark]
        for group, noted in notes.items():
            self._write_notes(group, noted)

    def put(self, name: str, path: Path) -> None:
        """Puts one file."""
        with telling(self.address):
            self._store.make_parent(self._store.path(name))
            self._store.files.put_file(str(path), self._store.path(name))

    def text(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        with telling(self.address):
            try:
                content: bytes = self._store.files.cat_file(self._store.path(name))
            except FileNotFoundError:
                return None
        return content.decode()

    def write_text(self, name: str, text: str, mode: str = "overwrite") -> None:
        """Writes a file; with the mode `create` only where there is none, else FileExistsError is raised."""
        with telling(self.address):
            path = self._store.path(name)
            self._store.make_parent(path)
            if mode == "create" and "file" in self._store.files.protocol:
                _create(Path(path), text)
            else:
                self._store.files.pipe_file(path, text.encode(), mode=mode)

    def claim(self, name: str, *, is_alone: bool = False) -> None:
        """Takes the lease of a harvest's folder, and fetches it if another machine wrote there last; raises InUse while another holds it.

        `is_alone`: a lease elsewhere says that no other harvests it, so that what a dead machine held is free.
        """
        number, lease = self._lease(name)
        is_own = lease.get("holder") == self._holder()
        if lease and not is_own and not is_alone and lease["until"] > time.time():
            raise InUse(
                f"{shown(self.address)}/{name} is harvested by {lease['machine']} just now; run the same command again "
                f"when that has ended, or {LEASE_SECONDS} seconds after it died"
            )
        is_newest_here = self._is_ours(name)
        if is_own:
            self._put_lease(name, number, LEASE_SECONDS, "overwrite")
        else:
            self._take_over(name, number)
        if not is_newest_here:
            self._fetch_as_first_holder(name)

    def renew(self, name: str, seconds: float = LEASE_SECONDS) -> None:
        """Keeps a lease; with 0 seconds it is given back, and what lies here stays the newest until another takes it."""
        number, lease = self._lease(name)
        if lease.get("holder") != self._holder():
            raise InUse(
                f"{shown(self.address)}/{name}: {lease.get('machine')} has taken it over; nothing more is put there"
            )
        self._put_lease(name, number, seconds, "overwrite")

    def _fetch_as_first_holder(self, name: str) -> None:
        """Fetches although the lease is ours already; only then does it say that what lies here is the newest."""
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / name / HOLDER).unlink(missing_ok=True)
        self.fetch(name)
        (self.folder / name / HOLDER).touch()

    def _is_ours(self, name: str) -> bool:
        return (self.folder / name / HOLDER).exists() and self._lease(name)[1].get("holder") == self._holder()

    def _take_over(self, name: str, number: int) -> None:
        """Takes a lease that is free: who makes the file with the next number has it, because only one can."""
        try:
            self._put_lease(name, number + 1, LEASE_SECONDS, "create")
        except FileExistsError:
            raise InUse(f"{shown(self.address)}/{name}: another machine took it just now") from None
        numbers = self._lease_numbers(name)
        if numbers[-1] > number + 1:  # others took it over since it was looked at
            raise InUse(f"{shown(self.address)}/{name}: another machine took it just now")
        with telling(self.address):
            for old in numbers[:-1]:
                self._store.files.rm_file(self._store.path(f"{name}/{LEASE.format(old)}"))

    def _put_lease(self, name: str, number: int, seconds: float, mode: str) -> None:
        lease = {"holder": self._holder(), "machine": socket.gethostname(), "until": time.time() + seconds}
        self.write_text(f"{name}/{LEASE.format(number)}", json.dumps(lease), mode)

    def _lease(self, name: str) -> tuple[int, dict[str, Any]]:
        """The number of the last lease, and what it says; 0 and nothing where there was none."""
        numbers = self._lease_numbers(name)
        if not numbers:
            return 0, {}
        lease: dict[str, Any] = json.loads(self.text(f"{name}/{LEASE.format(numbers[-1])}") or "{}")
        return numbers[-1], lease

    def _lease_numbers(self, name: str) -> list[int]:
        with telling(self.address):
            self._store.files.invalidate_cache()
            try:
                paths = self._store.files.ls(self._store.path(name), detail=False)
            except FileNotFoundError:
                return []
        found = (LEASE_NAME.fullmatch(str(path).rpartition("/")[2]) for path in paths)
        return sorted(int(match[1]) for match in found if match)

    def _holder(self) -> str:
        """Who this working copy is; made once."""
        path = self.folder / HOLDER
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with path.open("x") as out:
                    out.write(uuid4().hex)
            except FileExistsError:
                time.sleep(0.1)  # another process of this machine is writing it
        return path.read_text()

    def _notes(self, group: str) -> dict[str, list[Any]]:
        """What was fetched and sent: by name the version at the address, and the size and time of the file here."""
        try:
            notes: dict[str, list[Any]] = json.loads((self.folder / group / NOTES).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return notes

    def _write_notes(self, group: str, notes: dict[str, list[Any]]) -> None:
        path = self.folder / group / NOTES
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{NOTES}.part")
        partial.write_text(json.dumps(notes), encoding="utf-8")
        partial.replace(path)


def _group(name: str) -> str:
    """The folder directly below the address that a file is in; notes are kept for each, so that harvests do not wait for each other."""
    return name.partition("/")[0] if "/" in name else ""


def _mark(path: Path) -> list[int]:
    """What tells the versions of a local file apart; nothing where there is none."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return []
    return [about.st_size, about.st_mtime_ns]


def _own_files(folder: Path, *, deep: bool = True) -> list[Path]:
    """The files in a folder that belong at the address."""
    found = folder.rglob("*") if deep else folder.glob("*")
    return [
        path
        for path in sorted(found)
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.name.endswith(("-wal", "-shm"))
    ]


def local_copy(place: str | Path, *, with_archive: bool = True) -> Path:
    """A place to read from: a path itself; of an address a copy here that is brought up to date first, a file or a folder."""
    if not is_remote(place):
        return Path(place)
    address = str(place).rstrip("/")
    store = open_store(address)
    with telling(address):
        is_file = store.files.isfile(store.root)
    remote = RemoteFolder(address.rpartition("/")[0], working_folder(address)) if is_file else RemoteFolder(address)
    if is_file:
        name = address.rpartition("/")[2]
        remote.fetch_file(name, remote.folder / name)
        return remote.folder / name
    if not remote.names():
        raise WrongUsage(f"{shown(address)} holds no files")
    remote.fetch(leave_out="" if with_archive else ARCHIVE)
    return remote.folder


def address_in(place: str | Path, path: Path, folder: Path) -> str | Path:
    """How a path in the working copy of a place is called for the user: by its address, where the place is one."""
    return f"{shown(str(place)).rstrip('/')}/{path.relative_to(folder).as_posix()}" if is_remote(place) else path


def written_at(place: str | Path, path: Path) -> str | Path:
    """The same for a file directly in what `output` gave for a place."""
    if not is_remote(place):
        return path
    address = shown(str(place)).rstrip("/")
    return f"{address.rpartition('/')[0] if FILE_NAME.search(address) else address}/{path.name}"


@contextmanager
def output(place: str | Path, *, goes_on: bool = False) -> Iterator[Path]:
    """A path to write a file or a folder to; what is written for an address is put there in the end, also of work that failed.

    With `goes_on` what an earlier run left there is fetched first.
    """
    if not is_remote(place):
        yield Path(place)
        return
    address = str(place).rstrip("/")
    if goes_on:
        remote = RemoteFolder(address)
        remote.fetch()
        try:
            yield remote.folder
        finally:
            remote.send()
        return
    is_file = FILE_NAME.search(address) is not None
    with TemporaryDirectory(prefix="upwell-") as scratch:
        remote = RemoteFolder(address.rpartition("/")[0] if is_file else address, Path(scratch))
        yield remote.folder / address.rpartition("/")[2] if is_file else remote.folder
        remote.send()


def _create(path: Path, text: str) -> None:
    """Makes a file of this machine's, whole, where there is none; fsspec looks first and writes then, and two may do so at once."""
    whole = path.with_name(f"{path.name}.{uuid4().hex}.part")
    whole.write_text(text)
    try:
        path.hardlink_to(whole)
    finally:
        whole.unlink()
