"""The harvest of many sites: what all of them share, where they run, and what came of each as it ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from upwell.engines.frame import ENGINES, engine_of
from upwell.engines.schedule import Retry, Schedule
from upwell.errors import Interrupted, Refused, Unreachable, UpwellError, WorkerLost, WrongUsage
from upwell.harvest.events import Trouble
from upwell.harvest.plan import Plan
from upwell.harvest.site_work import Job, SiteWork, harvest_site, host_of
from upwell.model import Skipped
from upwell.net.manners import Manners
from upwell.places import address_of, shown

if TYPE_CHECKING:
    from upwell.engines.frame import Engine
    from upwell.harvest.events import Observer
    from upwell.harvest.files import Result
    from upwell.store.records import Format

__all__ = ["Running", "SiteOutcome", "Sites", "not_begun", "url_of"]

Numbered = tuple[int, "str | Job"]

AT_ONCE = 100  # sites
WORKER_LOSSES = 3  # how often a site runs again because its worker was lost


@dataclass(frozen=True, kw_only=True)
class Running:
    """Where the harvests of several sites run, and how many at once."""

    engine: str = "local"  # local, processes or ray
    workers: int = 0  # processes; 0: one a core
    at_once: int = 0  # sites; 0: as many as files and memory allow
    state: str = ""  # address of the state; "": a file in each folder
    retries: int = 0  # how often a site that did not answer is tried again later

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise WrongUsage(f"engine={self.engine!r}: it is none of {', '.join(ENGINES)}")
        for name in ("workers", "at_once", "retries"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it cannot be less than 0")


@dataclass(frozen=True, kw_only=True)
class SiteOutcome:
    """What came of one site."""

    number: int  # of the site among those that were named, from 0
    url: str  # as it was named
    result: Result | UpwellError
    tries: int = 1


@dataclass(kw_only=True)
class Sites:
    """Sites to harvest, and how."""

    places: Iterable[str | Job]
    out: str | Path
    plan: Plan
    manners: Manners
    format: Format
    queries: str | Path | Sequence[str] | None
    query_log: str | Path | None
    knowledge_base: str | Path | None
    observe: Observer
    running: Running
    begin: Callable[[Callable[[], None]], None] = lambda stop: None  # is told how to stop it

    async def outcomes(self) -> AsyncGenerator[SiteOutcome]:
        """What came of each site, as it ends; those that were not begun when it was stopped are left out."""
        from upwell.store.records import FORMATS

        if self.format not in FORMATS:
            raise WrongUsage(f"format {self.format!r} is none of {', '.join(FORMATS)}")
        work_of = self._work_maker()
        async with engine_of(self.running.engine, harvest_site, self.running.workers) as engine:

            async def run(place: Numbered) -> Result | UpwellError:
                return await self._run(engine, work_of(place[1]))

            schedule: Schedule[Numbered, Result | UpwellError] = Schedule(
                works=enumerate(self.places),
                run=run,
                host_of=lambda place: host_of(url_of(place[1])),
                at_once=self.running.at_once or AT_ONCE,
                retry=Retry(times=self.running.retries),
                is_passing=lambda result: isinstance(result, Unreachable) and not isinstance(result, Refused),
            )
            self.begin(schedule.stop)
            async for ended in schedule.ended():
                number, place = ended.work
                yield SiteOutcome(number=number, url=url_of(place), result=ended.result, tries=ended.tries)

    async def _run(self, engine: Engine[SiteWork, Any], work: SiteWork) -> Result | UpwellError:
        """What came of a site; where its worker is lost it goes on in another."""
        losses = 0
        while True:
            try:
                return await engine.run(work, host_of(work.job.url).partition(":")[0], self.observe)  # type: ignore[no-any-return] # harvest_site's
            except WorkerLost as error:
                losses += 1
                if losses > WORKER_LOSSES:
                    return error

    def _work_maker(self) -> Callable[[str | Job], SiteWork]:
        """What makes the work of a place, with the queries, the log and the knowledge base that all sites share."""
        from upwell.store.query_list import keys_by_query, read_queries

        words = tuple(read_queries(self.queries)) if self.queries is not None else ()
        asked_by = keys_by_query(self.queries) if self.queries is not None else {}
        knowledge = None
        if self.knowledge_base is not None:  # read once for all sites
            from upwell.offline.queries import read_knowledge

            base = self.knowledge_base
            knowledge = read_knowledge(base, lambda why: self._report("knowledge base", base, why))

        def work_of(place: str | Job) -> SiteWork:
            job = place if isinstance(place, Job) else Job(url=place, plan=self.plan, manners=self.manners)
            asked = (*job.plan.words, *words)
            if self.query_log is not None:
                from upwell.offline.queries import queries as from_log

                host = urlsplit(address_of(job.url)).hostname or ""
                logged = from_log(log=self.query_log, knowledge_base=knowledge or job.plan.knowledge, site=host)
                if not logged:
                    self._report("query log", self.query_log, f"no query that led to several pages of {host}")
                asked = (*asked, *(suggested.query for suggested in logged))
            plan = replace(job.plan, words=asked, asked_by=asked_by, knowledge=knowledge or job.plan.knowledge)
            return SiteWork(
                job=replace(job, plan=plan), out=str(self.out), format=self.format, state=self.running.state
            )

        return work_of

    def _report(self, stage: str, page: str | Path, reason: str) -> None:
        self.observe(Trouble(skipped=Skipped(stage=stage, page=str(page), reason=reason)))


def url_of(place: str | Job) -> str:
    """The address of a place as it was named."""
    return place.url if isinstance(place, Job) else place


def not_begun(place: str | Job) -> Interrupted:
    """What is said of a site that was not begun when everything was stopped."""
    return Interrupted(f"stopped before {shown(url_of(place))} was begun; the same command begins it")
