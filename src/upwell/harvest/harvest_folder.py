"""Run a harvest in its folder: choose the folder, return earlier results if nothing is left to send, and write the files at the end.

`harvest_to` is the entry point. A folder at a remote URL (`-o s3://…`) is harvested in a local working copy, which is uploaded regularly and at the
end (`harvest_remotely`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from upwell.choose.plan import ENDS, Plan
from upwell.errors import CannotKeep, Unreachable, UpwellError
from upwell.harvest.events import FolderLog, Observer, Trouble, wants_records
from upwell.harvest.files import Result, write_files, write_tables
from upwell.harvest.site_work import LostWorkers
from upwell.net.access import Access
from upwell.net.manners import Manners
from upwell.results import Summary, read_summary
from upwell.store.archive import WARC_FILE_BYTES
from upwell.store.folder import folder_of, open_folder, refuse_links
from upwell.store.location import PostgresLocation, has_state, open_database, state_location
from upwell.store.read_only import StateLocked, open_read_only
from upwell.store.remote import LEASE_SECONDS, RemoteFolder, is_remote, without_credentials
from upwell.store.sqlite import connect_safely
from upwell.store.state import ASKED_BY_NOTE, CORRECTED_NOTE, State
from upwell.store.user_memory import remember
from upwell.supervision import Doing
from upwell.table.writers import Format
from upwell.types import Skipped
from upwell.urls.hosts import host_and_port, is_private_address, without_login
from upwell.version import installed_version

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from upwell.harvest.summary import SiteHarvest

logger = logging.getLogger("upwell.store")

__all__ = ["OWN_HARVEST", "copy_open_database", "folder_for", "harvest_remotely", "harvest_text", "harvest_to"]

OWN_HARVEST = "harvest"  # kind under which the user's own harvests of private addresses are remembered

# Remote folders.

RENEW_SECONDS = LEASE_SECONDS / 3  # seconds between two renewals of the lease
CHECKPOINT_SECONDS = (
    300  # seconds between two uploads; a lost machine costs at most the requests sent in between; not swept
)
WARC_BYTES = 64_000_000  # size of an archive file; a growing file is uploaded again each time
COPY_SECONDS = 2.0  # wait for a lock that another process holds while it opens or closes the state
STATE = "state.sqlite"


async def harvest_remotely(
    url: str,
    address: str,
    choose: Callable[[Path], Path],
    harvest: Callable[[Path], Coroutine[None, None, Result]],
    observe: Observer,
    state_at: str = "",
) -> Result:
    """Run `harvest` in the working copy of a remote URL; `choose` returns the folder of this harvest in it.

    If the state is in a database, a lease there is enough: it ends with its worker, and the harvest can continue elsewhere at once.
    """
    remote = await asyncio.to_thread(RemoteFolder, address)
    name = folder_of(url, ".").name
    await asyncio.to_thread(_fetch_folders_of, remote, name)
    name = choose(remote.folder).name
    place = PostgresLocation(state_at, f"files of {without_credentials(remote.url)}/{name}")
    lease = await asyncio.to_thread(open_database, place) if state_at else None
    try:
        await asyncio.to_thread(remote.claim, name, is_alone=lease is not None)
        checkpoints = asyncio.create_task(_renew_and_upload(remote, name, observe))
        try:
            result = await harvest(remote.folder)
        finally:
            checkpoints.cancel()
            with suppress(asyncio.CancelledError):
                await checkpoints
            await asyncio.shield(asyncio.to_thread(_upload_and_release, remote, name))
    finally:
        if lease is not None:
            lease.close()
    return replace(result, address=f"{without_credentials(remote.url)}/{name}")


def _fetch_folders_of(remote: RemoteFolder, name: str) -> None:
    """Fetch the folders of one host; those of other start pages or topics have a number after the name."""
    for number in count(1):
        folder = name if number == 1 else f"{name}_{number}"
        if not remote.names(folder):
            return
        remote.fetch(folder)


async def _renew_and_upload(remote: RemoteFolder, name: str, observe: Observer) -> None:
    """Renew the lease and upload regularly; if the store is unreachable for a while, report it and try again."""
    last = time.monotonic()
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await asyncio.to_thread(remote.renew, name)
            if time.monotonic() - last >= CHECKPOINT_SECONDS:
                await asyncio.to_thread(upload_running, remote, name)
                last = time.monotonic()
        except CannotKeep as error:
            observe(Trouble(skipped=Skipped(stage="store", page=without_credentials(remote.url), reason=str(error))))


def upload_running(remote: RemoteFolder, name: str) -> None:
    """Upload the files of a running harvest, with a consistent copy of its state."""
    if not (remote.folder / name / STATE).exists():  # the state is in a database
        remote.send(name)
        return
    with TemporaryDirectory(prefix="upwell-") as scratch:
        copy = Path(scratch, STATE)
        is_copied = copy_open_database(remote.folder / name / STATE, copy)
        remote.send(
            name, {f"{name}/{STATE}": copy} if is_copied else None, leave_out=() if is_copied else (f"{name}/{STATE}",)
        )


def _upload_and_release(remote: RemoteFolder, name: str) -> None:
    """Upload all files and release the lease."""
    try:
        remote.renew(name)
        remote.send(name)
        remote.renew(name, 0)
    except CannotKeep as error:
        raise CannotKeep(
            f"{error}; the results are kept in {remote.folder / name}; run the same command again to upload them"
        ) from error


def copy_open_database(path: Path, target: Path) -> bool:
    """Copy an SQLite file that is being written; return True if the copy is intact.

    The file is only opened by SQLite: closing it otherwise would release the locks that this process has on it.
    """
    try:
        with (
            closing(connect_safely(path, read_only=True, timeout=COPY_SECONDS)) as source,
            closing(sqlite3.connect(target)) as db,
        ):
            source.backup(db)
            db.execute("PRAGMA journal_mode = DELETE")  # a single file
            return bool(db.execute("PRAGMA quick_check").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


# The harvest in a local folder.

_active_folders: dict[Path, str] = {}  # folders that this process harvests into, and their harvest identities


async def harvest_to(
    url: str,
    out: str | Path,
    plan: Plan,
    manners: Manners,
    observe: Observer,
    format: Format,
    state_at: str = "",
    started: float | None = None,
    lost: LostWorkers | None = None,
) -> Result:
    """Harvest a site into its folder below `out`, a path or a remote URL; a harvest that was finished before is returned at once.

    `state_at` is the URL of a PostgreSQL database for the state, for many workers; by default the state is in the folder. The time limit
    counts from `started`, on the monotonic clock.
    """
    lost = lost or LostWorkers()
    started = (time.monotonic() if started is None else started) - lost.elapsed
    if not is_remote(out):
        return await _harvest_locally(url, Path(out), plan, manners, observe, format, state_at, started, lost)

    return await harvest_remotely(
        url,
        str(out),
        lambda folder: folder_for(url, folder, plan, manners.access, state_at),
        lambda folder: _harvest_locally(
            url, folder, plan, manners, observe, format, state_at, started, lost, WARC_BYTES
        ),
        observe,
        state_at,
    )


async def _harvest_locally(
    url: str,
    out: Path,
    plan: Plan,
    manners: Manners,
    observe: Observer,
    format: Format,
    state_at: str,
    started: float,
    lost: LostWorkers,
    warc_bytes: int = WARC_FILE_BYTES,
) -> Result:
    """Harvest into a local folder; if that fails after loading a checkpoint, replay all answers instead."""
    from upwell.harvest.checkpoint import CheckpointFailed  # imported here: a finished harvest does not need it

    folder = folder_for(url, out, plan, manners.access, state_at)
    is_new = not state_at and not folder.exists()
    try:
        return await _harvest_once(url, out, plan, manners, observe, format, state_at, started, lost, warc_bytes)
    except Unreachable:
        if is_new and not _has_answer(folder):  # a wrong name leaves no folder
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except CheckpointFailed as error:
        logger.info("the checkpoint is not used: %s", error)
        return await _harvest_once(url, out, plan, manners, observe, format, state_at, started, lost, warc_bytes)


def _has_answer(folder: Path) -> bool:
    """Return True if any request of a harvest was answered, or that cannot be known."""
    if not has_state(folder):
        return False
    try:
        with open_read_only(folder) as state:
            return any(request.status for request in state.stored_requests())
    except (StateLocked, UpwellError):
        return True


async def _harvest_once(
    url: str,
    out: Path,
    plan: Plan,
    manners: Manners,
    observe: Observer,
    format: Format,
    state_at: str,
    started: float,
    lost: LostWorkers,
    warc_bytes: int,
) -> Result:
    wanted = _harvest_identity(url, plan, manners.access)
    folder = folder_for(url, out, plan, manners.access, state_at)
    key = _plan_fingerprint(plan, manners)
    earlier = _finished_before(folder, wanted, key, format)
    if earlier is not None:
        if wants_records(observe):
            from upwell.harvest.checkpoint import held_before

            for event in held_before(folder):
                observe(event)
        return earlier
    from upwell.harvest.loop import run  # imported here: a finished harvest does not need it
    from upwell.harvest.time_limit import note_files_written
    from upwell.source.model import load_all
    from upwell.table.build import saved_tables
    from upwell.table.user_schema import UserSchema

    UserSchema.parse(plan.columns, plan.drop, file=plan.schema)  # raise for invalid columns before any request
    with (
        _marked_active(folder, wanted),
        open_folder(folder, state_at, warc_bytes) as (_, state, archive),
        FolderLog(folder, plan.budget, observe) as observe,
    ):
        _claim(state, wanted)
        if is_private_address(host_and_port(url)[0]):
            remember(OWN_HARVEST, harvest_text(without_login(url), wanted))
        for number, reason in lost.unreadable:
            state.mark_unreadable(number, reason)
        state.set_note(
            "started", json.dumps({"url": without_login(url), "budget": plan.budget, "details": plan.details})
        )
        state.set_note("finished", "")
        if plan.asked_by:
            state.set_note(ASKED_BY_NOTE, json.dumps(dict(plan.asked_by), ensure_ascii=False))
        for problem in archive.problems:
            observe(Trouble(skipped=Skipped(stage="archive", page=str(folder), reason=problem)))
        if not plan.models and (corrected := state.note(CORRECTED_NOTE)):
            plan = replace(plan, models=load_all(corrected))
        try:
            if lost.is_stopping:
                raise asyncio.CancelledError
            unlimited = _plan_fingerprint(replace(plan, budget=1, seconds=0.0, bytes=0), manners)
            site = await run(
                url,
                plan,
                manners,
                observe,
                state=state,
                recorder=archive,
                folder=folder,
                key=unlimited and wanted + unlimited,
                started=started,
            )
        except asyncio.CancelledError:
            if len(state):
                with Doing("tables"):
                    write_tables(saved_tables(folder, state), folder, format)
            raise
        before = time.monotonic()
        with Doing("tables"):
            result = write_files(site, folder, format)
        note_files_written(state, time.monotonic() - before)
        for notice in result.notices:
            observe(Trouble(skipped=Skipped(stage="table", page=str(result.records), reason=notice)))
        if not plan.refresh and _is_finished(site, plan):
            state.set_note("finished", key)
        return result


def folder_for(url: str, out: str | Path, plan: Plan, access: Access, state_at: str = "") -> Path:
    """Return the folder below `out` for a harvest."""
    return _choose_folder(folder_of(url, out), _harvest_identity(url, plan, access), state_at)


def _harvest_identity(url: str, plan: Plan, access: Access) -> str:
    """Return the identity of a harvest: another start page, topic or login is another harvest."""
    parts = urlsplit(url)
    page = f"{parts.netloc.lower()}{parts.path.rstrip('/')}" + (f"?{parts.query}" if parts.query else "")
    return json.dumps([page, plan.about, plan.search_interface, plan.form, access.kind])


def harvest_text(url: str, identity: str) -> str:
    """Return a harvest as text under which it is remembered that the user started it."""
    return f"{url}\n{identity}"


def _choose_folder(folder: Path, wanted: str, state_at: str = "") -> Path:
    """Return the folder of this harvest: named by its site, with a number if other harvests use that name."""
    for number in count(1):
        candidate = folder if number == 1 else folder.with_name(f"{folder.name}_{number}")
        if _active_folders.get(candidate, wanted) != wanted:
            continue
        if not state_at and not has_state(candidate):
            return candidate
        refuse_links(candidate)
        with State(state_location(candidate, state_at), read_only=True) as state:
            if not len(state) or state.note("harvest", wanted) == wanted:
                return candidate
    raise AssertionError("count() does not end")


@contextmanager
def _marked_active(folder: Path, wanted: str) -> Iterator[None]:
    """Mark a folder as in use by this process, so that another harvest of the same host chooses another one."""
    before = _active_folders.setdefault(folder, wanted)
    try:
        yield
    finally:
        if before is wanted:
            _active_folders.pop(folder, None)


def _claim(state: State, wanted: str) -> None:
    """Store the identity of the harvest; answers of another harvest that returned no records are not reused."""
    before = state.note("harvest")
    if before and before != wanted:
        state.start_next_run()
    state.set_note("harvest", wanted)


def _plan_fingerprint(plan: Plan, manners: Manners) -> str:
    """Return everything that determines which queries are sent; "" if it cannot be determined."""
    if plan.proposers or (plan.knowledge is not None and not plan.knowledge.digest):
        return ""
    values: dict[str, Any] = {part.name: getattr(plan, part.name) for part in fields(plan)}
    values["asked_by"] = hashlib.sha1(json.dumps(dict(plan.asked_by)).encode(), usedforsecurity=False).hexdigest()
    values["knowledge"] = plan.knowledge and plan.knowledge.digest
    values["models"] = [hashlib.sha1(m.to_json().encode(), usedforsecurity=False).hexdigest() for m in plan.models]
    return json.dumps([installed_version(), manners.ignore_robots, values], default=str)


def _is_finished(site: SiteHarvest, plan: Plan) -> bool:
    """Return True if the same harvest would send nothing: a time limit applies to each run anew, other limits do not."""
    is_spent = site.requests >= plan.budget or (plan.bytes > 0 and site.bytes >= plan.bytes)
    return site.stopped in ENDS or (site.stopped == "budget" and is_spent)


def _finished_before(folder: Path, wanted: str, key: str, format: Format) -> Result | None:
    """Return the results of the same plan from before, written in another format if necessary."""
    from upwell.table.build import saved_tables

    names = ("source.json", "summary.json", "report.html")
    if not key or not has_state(folder) or not all((folder / name).is_file() for name in names):
        return None
    if (folder / "source.json").stat().st_mtime > (folder / "summary.json").stat().st_mtime:
        return None  # the user has edited the columns
    with State(state_location(folder), read_only=True) as state:
        if state.note("harvest") != wanted or state.note("finished") != key:
            return None
        try:
            summary = cast("Summary", read_summary(folder))
        except (OSError, ValueError):
            return None  # damaged: the harvest writes it again
        records = _largest_table(folder, format)
        if records is None:
            with Doing("tables"):
                records = write_tables(saved_tables(folder, state), folder, format)
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary, was_finished=True)


def _largest_table(folder: Path, format: Format) -> Path | None:
    """Return the (largest) table of a harvest in a format; None if there is none."""
    tables = [folder / f"records.{format}", *folder.glob(f"records-*.{format}")]
    return max((path for path in tables if path.is_file()), key=lambda path: path.stat().st_size, default=None)
