"""The harvest of one site as a value that another process can run, and what came of it as one that can be handed back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from upwell.errors import Crashed, Interrupted, Unreachable, UpwellError
from upwell.harvest.plan import Plan
from upwell.net.access import split_credentials
from upwell.net.manners import Manners
from upwell.page.hosts import host_and_port
from upwell.places import address_of, addresses_to_try, shown

if TYPE_CHECKING:
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.store.records import Format

__all__ = ["Job", "SiteWork", "at_first_address", "harvest_site", "host_of"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One site to harvest, and how."""

    url: str
    plan: Plan = field(default_factory=Plan)
    manners: Manners = field(default_factory=Manners)


@dataclass(frozen=True, kw_only=True)
class SiteWork:
    """A job with all that is needed to run it anywhere."""

    job: Job
    out: str  # folder
    format: Format = "parquet"
    state: str = ""  # address of the state; "": a file in the folder of the harvest
    tells_records: bool = True  # whether somebody wants to hear of each record

    def with_budget(self, requests: int) -> SiteWork:
        """The same work with so many requests."""
        if requests == self.job.plan.budget:
            return self
        return replace(self, job=replace(self.job, plan=replace(self.job.plan, budget=requests)))


def host_of(place: str) -> str:
    """The server that a place is at, with or without "www.": its harvests run one after the other."""
    host, port = host_and_port(address_of(place))
    return host.removeprefix("www.") + (f":{port}" if port else "")


async def harvest_site(work: SiteWork, observe: Observer) -> Result | UpwellError:
    """Harvests a site; an error is a value, and so is what there is when it is cancelled."""
    from upwell.harvest.events import Held, without_records
    from upwell.harvest.keep import harvest_into

    job = work.job

    @without_records
    def tell_but_records(event: Event) -> None:
        if not isinstance(event, Held):
            observe(event)

    tell = observe if work.tells_records else tell_but_records

    async def at(url: str) -> Result:
        clean, access = split_credentials(url, job.manners.access)
        manners = replace(job.manners, access=access)
        return await harvest_into(clean, work.out, job.plan, manners, tell, work.format, work.state)

    try:
        return await at_first_address(job.url, at)
    except UpwellError as error:
        return error
    except asyncio.CancelledError:
        return Interrupted(
            f"stopped before anything of {shown(job.url)} was learned; what was asked is kept, and the same command goes on from there"
        )
    except Exception as error:  # noqa: BLE001 # a fault in one site must not take the results of the others
        why = " ".join(job.manners.access.hide(f"{type(error).__name__}: {error}").split())
        return Crashed(f"{shown(job.url)}: {why}; this is a fault of Upwell, please report it")


async def at_first_address(place: str, ask: Callable[[str], Coroutine[Any, Any, T]]) -> T:
    """What is found at the address that a person wrote; where they wrote no scheme and nobody answers by HTTPS, by HTTP."""
    addresses = addresses_to_try(place)
    for address in addresses[:-1]:
        try:
            return await ask(address)
        except Unreachable:
            continue
    return await ask(addresses[-1])
