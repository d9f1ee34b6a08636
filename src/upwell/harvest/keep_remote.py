"""A harvest whose folder lies at an address (`-o s3://…`): it works in a copy here, and puts its files there now and then and at its end."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from upwell.errors import CannotKeep
from upwell.harvest.events import Observer, Trouble
from upwell.model import Skipped
from upwell.store.folder import folder_of
from upwell.store.places import InPostgres, open_database
from upwell.store.remote import LEASE_SECONDS, RemoteFolder, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from upwell.harvest.files import Result

__all__ = ["copy_open_database", "harvest_at_address"]

RENEW_SECONDS = LEASE_SECONDS / 3
CHECKPOINT_SECONDS = 300  # what a machine that is lost costs at most, in requests that are sent again; not swept
WARC_BYTES = 64_000_000  # of a file of the archive: one that grows is put again at each checkpoint
COPY_TRIES = 20
CLOCK_GRAIN_NS = 50_000_000  # by which file systems round the time of a change, generously
STATE = "state.sqlite"


async def harvest_at_address(
    url: str,
    address: str,
    choose: Callable[[Path], Path],
    harvest: Callable[[Path], Coroutine[None, None, Result]],
    observe: Observer,
    state_at: str = "",
) -> Result:
    """Runs `harvest` in the working copy of an address; `choose` says which of the folders in it is that of this harvest.

    Where the state is in a database, a lease there is enough: it ends with its worker, and the harvest goes on elsewhere at once.
    """
    remote = await asyncio.to_thread(RemoteFolder, address)
    name = folder_of(url, ".").name
    await asyncio.to_thread(_fetch_folders_of, remote, name)
    name = choose(remote.folder).name
    place = InPostgres(state_at, f"files of {shown(remote.address)}/{name}")
    lease = await asyncio.to_thread(open_database, place) if state_at else None
    try:
        await asyncio.to_thread(remote.claim, name, is_alone=lease is not None)
        checkpoints = asyncio.create_task(_checkpoints(remote, name, observe))
        try:
            result = await harvest(remote.folder)
        finally:
            checkpoints.cancel()
            with suppress(asyncio.CancelledError):
                await checkpoints
            await asyncio.shield(asyncio.to_thread(_finish, remote, name))
    finally:
        if lease is not None:
            lease.close()
    return replace(result, address=f"{shown(remote.address)}/{name}")


def _fetch_folders_of(remote: RemoteFolder, name: str) -> None:
    """Fetches the folders of one host: another start page or topic has a number behind the name."""
    for number in count(1):
        folder = name if number == 1 else f"{name}_{number}"
        if not remote.names(folder):
            return
        remote.fetch(folder)


async def _checkpoints(remote: RemoteFolder, name: str, observe: Observer) -> None:
    """Keeps the lease, and puts what there is; a store that cannot be reached for a while is named, and tried again."""
    last = time.monotonic()
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await asyncio.to_thread(remote.renew, name)
            if time.monotonic() - last >= CHECKPOINT_SECONDS:
                await asyncio.to_thread(send_running, remote, name)
                last = time.monotonic()
        except CannotKeep as error:
            observe(Trouble(skipped=Skipped(stage="store", page=shown(remote.address), reason=str(error))))


def send_running(remote: RemoteFolder, name: str) -> None:
    """Puts the files of a harvest that goes on; of its state a copy that is whole."""
    if not (remote.folder / name / STATE).exists():  # it is in a database
        remote.send(name)
        return
    with TemporaryDirectory(prefix="upwell-") as scratch:
        copy = Path(scratch, STATE)
        is_copied = copy_open_database(remote.folder / name / STATE, copy)
        remote.send(
            name, {f"{name}/{STATE}": copy} if is_copied else None, leave_out=() if is_copied else (f"{name}/{STATE}",)
        )


def _finish(remote: RemoteFolder, name: str) -> None:
    """Puts all files, and gives the lease back."""
    try:
        remote.renew(name)
        remote.send(name)
        remote.renew(name, 0)
    except CannotKeep as error:
        raise CannotKeep(
            f"{error}; what there is is kept in {remote.folder / name}, and the same command puts it there"
        ) from error


def copy_open_database(path: Path, target: Path) -> bool:
    """Copies an SQLite file that another connection has open in WAL mode; whether the copy is whole.

    The file itself changes only when the log is moved into it (SQLite, "Write-Ahead Logging" §2.1): where it did not change while it and
    then its log were copied, the two belong together. The lock of the state keeps everyone from a plain backup.
    """
    log, log_copy = path.with_name(f"{path.name}-wal"), target.with_name(f"{target.name}-wal")
    for _ in range(COPY_TRIES):
        before = path.stat().st_mtime_ns
        shutil.copyfile(path, target)
        log_copy.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(log, log_copy)
        if path.stat().st_mtime_ns == before and time.time_ns() - before > CLOCK_GRAIN_NS:
            break
        time.sleep(0.1)
    else:
        return False
    try:
        with closing(sqlite3.connect(target)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # moves the log into the file
            return bool(db.execute("PRAGMA quick_check").fetchone() == ("ok",))
    except sqlite3.Error:
        return False
