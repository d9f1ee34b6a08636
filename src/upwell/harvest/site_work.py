"""Harvest of one site as a picklable value (`SiteWork`), and the function that runs it in any process (`harvest_site`)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from upwell.choose.plan import Plan
from upwell.errors import CannotKeep, Crashed, Interrupted, MissingExtra, Refused, Unreachable, UpwellError
from upwell.net.access import split_credentials
from upwell.net.chromium_process import require_playwright
from upwell.net.manners import Manners
from upwell.places import address_of, addresses_to_try, shown
from upwell.store.safe_files import disk_problem
from upwell.supervision import job_accepted
from upwell.urls.hosts import host_and_port, is_private_address

if TYPE_CHECKING:
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.table.writers import Format

__all__ = ["Job", "LostWorkers", "SiteWork", "harvest_site", "host_of", "try_addresses"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Job:
    """Site to harvest, with its plan and manners."""

    url: str
    plan: Plan = field(default_factory=Plan)
    manners: Manners = field(default_factory=Manners)
    is_listed: bool = False  # the URL is a line of a file, which the user may not have written


@dataclass(frozen=True, kw_only=True)
class LostWorkers:
    """What workers that were lost while they harvested the site leave to the next one."""

    unreadable: tuple[tuple[int, str], ...] = ()  # answers that ended a worker: number, and why they are not read again
    elapsed: float = 0.0  # seconds of the time limit that they, or the start of the command, have used
    is_restart: bool = False  # True if a worker was lost
    is_stopping: bool = False  # True if the next worker only marks the unreadable answers and writes the records held


@dataclass(frozen=True, kw_only=True)
class SiteWork:
    """Job with everything needed to run it in any process."""

    job: Job
    out: str  # output folder or URL
    format: Format = "parquet"
    state: str = ""  # URL of a database for the state; "": a file in the harvest folder
    reports_records: bool = True  # True if the observer wants every record
    lost: LostWorkers = field(default_factory=LostWorkers)

    @property
    def is_bound_to_process(self) -> bool:
        """Return True if the plan has plug-ins of the caller, which may share values with its process."""
        return bool(self.job.plan.proposers)

    @property
    def seconds_left(self) -> float:
        """Return the rest of the time limit; 0 if there is none."""
        seconds = self.job.plan.seconds
        return max(0.1, seconds - self.lost.elapsed) if seconds else 0.0

    def with_budget(self, requests: int) -> SiteWork:
        """Return the same work with another request budget."""
        if requests == self.job.plan.budget:
            return self
        return replace(self, job=replace(self.job, plan=replace(self.job.plan, budget=requests)))


def host_of(place: str) -> str:
    """Return the server of a place without "www."; its harvests run one after the other."""
    host, port = host_and_port(address_of(place))
    return host.removeprefix("www.") + (f":{port}" if port else "")


async def harvest_site(work: SiteWork, observe: Observer) -> Result | UpwellError:
    """Harvest a site; errors are returned, and cancelling returns what there is."""
    from upwell.harvest.events import Held, without_records
    from upwell.harvest.harvest_folder import harvest_to

    # A worker that continues for a lost one has the time that is left, or the least that it needs, from its own start.
    job, started = work.job, (not work.lost.is_restart and job_accepted.get()) or time.monotonic()
    if job.is_listed and (refusal := _refusal_of_listed(job)) is not None:
        return refusal

    if job.plan.browser == "always":
        try:
            require_playwright()
        except MissingExtra as missing:
            return missing

    @without_records
    def observe_without_records(event: Event) -> None:
        if not isinstance(event, Held):
            observe(event)

    tell = observe if work.reports_records else observe_without_records

    async def at(url: str) -> Result:
        clean, access = split_credentials(url, job.manners.access)
        manners = replace(job.manners, access=access)
        return await harvest_to(clean, work.out, job.plan, manners, tell, work.format, work.state, started, work.lost)

    try:
        return await try_addresses(job.url, at, has_credentials=job.manners.access.has_credentials)
    except UpwellError as error:
        return error
    except asyncio.CancelledError:
        return Interrupted(
            f"stopped before anything about {shown(job.url)} was learned; its answers are kept, and the same command continues"
        )
    except Exception as error:  # noqa: BLE001 # a fault in one site must not lose the results of the others
        if problem := disk_problem(error):
            return CannotKeep(
                f"{shown(job.url)}: {problem}; what was received before is kept: free some space, then run the same command again to continue"
            )
        why = " ".join(job.manners.access.hide(f"{type(error).__name__}: {error}").split())
        if type(error) is sqlite3.DatabaseError:  # a damaged page; wrong statements have classes of their own
            return CannotKeep(f"{shown(job.url)}: {error}; the file is damaged, move it away to start again")
        return Crashed(f"{shown(job.url)}: {why}; this is a bug in Upwell, please report it")


def _refusal_of_listed(job: Job) -> Refused | None:
    """Return why a line of a file is not requested: a private address must be named by the user."""
    address = address_of(job.url)
    host, port = host_and_port(address)
    if not is_private_address(host) or job.manners.names(address):
        return None
    server = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    return Refused(
        f"{shown(job.url)} is in a private network and comes from a file; if you want it, add --allow {server}, or --allow with the name of the file"
    )


async def try_addresses(
    place: str, ask: Callable[[str], Coroutine[Any, Any, T]], *, has_credentials: bool = False
) -> T:
    """Call `ask` with the URL that a user entered; without a scheme, try HTTPS first and HTTP if it is unreachable.

    Credentials are never sent over plain HTTP unless the user typed http://.
    """
    addresses = addresses_to_try(place)
    if has_credentials or "@" in addresses[0].split("/")[2]:
        addresses = addresses[:1]
    for address in addresses[:-1]:
        try:
            return await ask(address)
        except Unreachable:
            continue
    return await ask(addresses[-1])
