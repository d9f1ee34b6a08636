"""One harvest in its folder: which folder that is, whether anything is left to ask, and what is written when it ends."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from upwell.harvest.event_log import FolderLog
from upwell.harvest.events import Observer, Trouble
from upwell.harvest.files import Result, write_files, write_tables
from upwell.harvest.plan import ENDS, Plan
from upwell.model import Skipped
from upwell.net.access import Access
from upwell.net.manners import Manners
from upwell.page.hosts import without_login
from upwell.store.archive import WARC_FILE_BYTES
from upwell.store.folder import folder_of, open_folder, refuse_links
from upwell.store.places import has_state, place_of
from upwell.store.records import Format
from upwell.store.remote import is_remote
from upwell.store.state import ASKED_BY, State
from upwell.store.state_tables import CORRECTED
from upwell.version import installed_version

if TYPE_CHECKING:
    from upwell.harvest.summary import SiteHarvest
    from upwell.results import Summary

__all__ = ["folder_for", "harvest_into"]

_harvested_now: dict[Path, str] = {}  # the folders that this process harvests into, and for what


async def harvest_into(
    url: str,
    out: str | Path,
    plan: Plan,
    manners: Manners,
    observe: Observer,
    format: Format,
    state_at: str = "",
) -> Result:
    """Harvests a site into its folder below `out`, a path or an address; where just this was done before, what it brought is given at once.

    `state_at` is the address of a PostgreSQL database that keeps the state, for many workers; the folder has it otherwise.
    """
    if not is_remote(out):
        return await _harvest_here(url, Path(out), plan, manners, observe, format, state_at)
    from upwell.harvest.keep_remote import WARC_BYTES, harvest_at_address

    return await harvest_at_address(
        url,
        str(out),
        lambda folder: folder_for(url, folder, plan, manners.access, state_at),
        lambda folder: _harvest_here(url, folder, plan, manners, observe, format, state_at, WARC_BYTES),
        observe,
        state_at,
    )


async def _harvest_here(
    url: str,
    out: Path,
    plan: Plan,
    manners: Manners,
    observe: Observer,
    format: Format,
    state_at: str,
    warc_bytes: int = WARC_FILE_BYTES,
) -> Result:
    wanted = _wanted(url, plan, manners.access)
    folder = folder_for(url, out, plan, manners.access, state_at)
    key = _plan_key(plan, manners)
    earlier = _finished_before(folder, wanted, key, format)
    if earlier is not None:
        return earlier
    from upwell.harvest.loop import run  # here, because what is finished needs none of it
    from upwell.harvest.tables import saved_tables
    from upwell.source.model import load_all

    with (
        _marked(folder, wanted),
        open_folder(folder, state_at, warc_bytes) as (_, state, archive),
        FolderLog(folder, plan.budget, observe) as observe,
    ):
        _claim(state, wanted)
        state.set_note(
            "started", json.dumps({"url": without_login(url), "budget": plan.budget, "details": plan.details})
        )
        state.set_note("finished", "")
        if plan.asked_by:
            state.set_note(ASKED_BY, json.dumps(dict(plan.asked_by), ensure_ascii=False))
        for problem in archive.problems:
            observe(Trouble(skipped=Skipped(stage="archive", page=str(folder), reason=problem)))
        if not plan.models and (corrected := state.note(CORRECTED)):
            plan = replace(plan, models=load_all(corrected))
        try:
            unlimited = _plan_key(replace(plan, budget=1, seconds=0.0, bytes=0), manners)
            site = await run(
                url,
                plan,
                manners,
                observe,
                state=state,
                recorder=archive,
                folder=folder,
                key=unlimited and wanted + unlimited,
            )
        except asyncio.CancelledError:
            if len(state):
                write_tables(saved_tables(folder, state), folder, format)
            raise
        result = write_files(site, folder, format)
        known = result.summary["checks"]["fill"]
        for name in (name for name in plan.columns if name not in known):
            reason = f"no column is called {name}; there are {', '.join(known) or 'none of those that were named'}"
            observe(Trouble(skipped=Skipped(stage="table", page=str(result.records), reason=reason)))
        if not plan.refresh and _is_finished(site, plan):
            state.set_note("finished", key)
        return result


def folder_for(url: str, out: str | Path, plan: Plan, access: Access, state_at: str = "") -> Path:
    """The folder below `out` that a harvest goes into."""
    return _choose_folder(folder_of(url, out), _wanted(url, plan, access), state_at)


def _wanted(url: str, plan: Plan, access: Access) -> str:
    """What a folder is for: another start page, another topic or another person's view is another harvest."""
    parts = urlsplit(url)
    page = f"{parts.netloc.lower()}{parts.path.rstrip('/')}" + (f"?{parts.query}" if parts.query else "")
    return json.dumps([page, plan.about, plan.template, plan.form, access.kind])


def _choose_folder(folder: Path, wanted: str, state_at: str = "") -> Path:
    """The folder of this very harvest: the first that is named by its site, and by a number where others have taken that."""
    for number in count(1):
        candidate = folder if number == 1 else folder.with_name(f"{folder.name}_{number}")
        if _harvested_now.get(candidate, wanted) != wanted:
            continue
        if not state_at and not has_state(candidate):
            return candidate
        refuse_links(candidate)
        with State(place_of(candidate, state_at), is_only_read=True) as state:
            if not len(state) or state.note("harvest", wanted) == wanted:
                return candidate
    raise AssertionError("count() does not end")


@contextmanager
def _marked(folder: Path, wanted: str) -> Iterator[None]:
    """Marks a folder as in use by this process, so that another harvest of the same host takes another one."""
    before = _harvested_now.setdefault(folder, wanted)
    try:
        yield
    finally:
        if before is wanted:
            _harvested_now.pop(folder, None)


def _claim(state: State, wanted: str) -> None:
    """Notes what the folder is for; answers of something else that brought no records are not used."""
    before = state.note("harvest")
    if before and before != wanted:
        state.start_next_run()
    state.set_note("harvest", wanted)


def _plan_key(plan: Plan, manners: Manners) -> str:
    """What decides which questions are asked; "" where that cannot be told."""
    if plan.proposers or (plan.knowledge is not None and not plan.knowledge.digest):
        return ""
    values: dict[str, Any] = {part.name: getattr(plan, part.name) for part in fields(plan)}
    values["asked_by"] = hashlib.sha1(json.dumps(dict(plan.asked_by)).encode(), usedforsecurity=False).hexdigest()
    values["knowledge"] = plan.knowledge and plan.knowledge.digest
    values["models"] = [hashlib.sha1(m.to_json().encode(), usedforsecurity=False).hexdigest() for m in plan.models]
    return json.dumps([installed_version(), manners.ignore_robots, values], default=str)


def _is_finished(site: SiteHarvest, plan: Plan) -> bool:
    """Whether the same again would ask nothing: a limit of seconds is for each time anew, the others are not."""
    is_spent = site.requests >= plan.budget or (plan.bytes > 0 and site.bytes >= plan.bytes)
    return site.stopped in ENDS or (site.stopped == "budget" and is_spent)


def _finished_before(folder: Path, wanted: str, key: str, format: Format) -> Result | None:
    """What the same plan brought before; in another format it is written now."""
    from upwell.harvest.tables import saved_tables

    names = ("source.json", "summary.json", "report.html")
    if not key or not has_state(folder) or not all((folder / name).is_file() for name in names):
        return None
    if (folder / "source.json").stat().st_mtime > (folder / "summary.json").stat().st_mtime:
        return None  # a person has edited the columns
    with State(place_of(folder), is_only_read=True) as state:
        if state.note("harvest") != wanted or state.note("finished") != key:
            return None
        records = _largest_table(folder, format)
        if records is None:
            records = write_tables(saved_tables(folder, state), folder, format)
    summary = cast("Summary", json.loads((folder / "summary.json").read_text(encoding="utf-8")))
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary, was_finished=True)


def _largest_table(folder: Path, format: Format) -> Path | None:
    """The table of a harvest in a format, the largest where it has several; None where there is none."""
    tables = [folder / f"records.{format}", *folder.glob(f"records-*.{format}")]
    return max((path for path in tables if path.is_file()), key=lambda path: path.stat().st_size, default=None)
