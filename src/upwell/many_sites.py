"""The harvest of many sites: what all of them share, where they run, and what came of each as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwell.engines.frame import ENGINES, engine_of
from upwell.engines.schedule import Retry, Schedule, Telling
from upwell.errors import BudgetSpent, Interrupted, InUse, Refused, Unreachable, UpwellError, WorkerLost, WrongUsage
from upwell.harvest.events import Asked, Trouble, wants_records
from upwell.harvest.plan import Plan
from upwell.harvest.run_log import RUN, SUMMARIES, RunLog, read_lines
from upwell.harvest.site_work import Job, SiteWork, harvest_site, host_of
from upwell.harvest.told_once import ToldOnce
from upwell.model import Skipped
from upwell.net.manners import Manners
from upwell.page.hosts import site_host
from upwell.places import address_of, shown
from upwell.store.remote import RemoteFolder, is_remote, working_folder

if TYPE_CHECKING:
    from upwell.engines.frame import Engine
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.store.records import Format
    from upwell.store.shared_queries import SharedQueries

__all__ = ["Running", "SiteOutcome", "Sites", "not_begun", "url_of"]

Numbered = tuple[int, "str | Job"]

LEAST_SHARE = (
    30  # requests of a total budget that a site gets at least: with fewer, little more than its search is found
)
SHARED = ".shared"  # folder for what all sites of a run share
WORKER_LOSSES = 3  # how often a site runs again because its worker was lost


@dataclass(frozen=True, kw_only=True)
class Running:
    """Where the harvests of several sites run, and how many at once."""

    engine: str = "local"  # local, processes or ray
    workers: int = 0  # processes; 0: one a core
    at_once: int = 0  # sites; 0: as many as files and memory allow
    state: str = ""  # address of the state; "": a file in each folder
    retries: int = 0  # how often a site that did not answer is tried again later
    total_budget: int = 0  # requests of all sites together; 0: no limit but those of the plans
    sites: int | None = None  # how many there are, where that is known: they share the total budget

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise WrongUsage(f"engine={self.engine!r}: it is none of {', '.join(ENGINES)}")
        for name in ("workers", "at_once", "retries", "total_budget"):
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
        running = self.running
        if is_remote(self.out):
            remote = await asyncio.to_thread(RemoteFolder, str(self.out))
            await asyncio.to_thread(remote.fetch_missing, RUN, SUMMARIES)
        work_of, purse = self._work_maker(), Purse(running.total_budget, running.sites, read_lines(self._here))
        async with engine_of(running.engine, harvest_site, running.workers) as engine:

            async def run(place: Numbered, tell: Callable[[Telling], None]) -> Result | UpwellError:
                work = work_of(place[1])
                granted = purse.take(work.job.url, work.job.plan.budget)
                if not granted:
                    return _nothing_left(work.job.url, running.total_budget)
                return await self._run(engine, work.with_budget(granted), tell)

            schedule: Schedule[Numbered, Result | UpwellError] = Schedule(
                works=enumerate(self.places),
                run=run,
                host_of=lambda place: host_of(url_of(place[1])),
                at_once=running.at_once or engine.room,
                retry=Retry(times=running.retries),
                is_passing=_is_passing,
                is_cut_short=lambda place, result: purse.is_cut_short(url_of(place[1]), result),
                may_go_on=lambda: purse.left >= LEAST_SHARE,
            )
            self.begin(schedule.stop)
            with RunLog(self._here, running.sites, running.engine) as log, _shown_every_second(log, schedule):
                async for ended in schedule.ended():
                    number, place = ended.work
                    budget = purse.settle(url_of(place), ended.result)
                    log.add(url_of(place), ended.result, ended.tries, budget)
                    log.show(schedule.running)
                    yield SiteOutcome(number=number, url=url_of(place), result=ended.result, tries=ended.tries)
            if is_remote(self.out):
                await asyncio.to_thread(remote.put_all, RUN, SUMMARIES)

    @property
    def _here(self) -> Path:
        """Where what all sites share is kept while they are harvested."""
        return working_folder(self.out)

    async def _run(
        self, engine: Engine[SiteWork, Any], work: SiteWork, tell: Callable[[Telling], None]
    ) -> Result | UpwellError:
        """What came of a site; where its worker is lost it goes on in another, from its state."""
        told = ToldOnce(self.observe)

        def observe(event: Event) -> None:
            if isinstance(event, Asked):
                tell(Telling(requests=event.requests, records=event.records, expected=event.expected))
            told.follow(event)

        losses, task = 0, asyncio.current_task()
        while True:
            told.begin_again()
            try:
                return await engine.run(work, host_of(work.job.url).partition(":")[0], observe)  # type: ignore[no-any-return] # harvest_site's
            except asyncio.CancelledError:  # before it had a worker
                return not_begun(work.job.url)
            except WorkerLost as error:
                losses += 1
                if losses > WORKER_LOSSES or (task is not None and task.cancelling()):
                    return error

    def _work_maker(self) -> Callable[[str | Job], SiteWork]:
        """What makes the work of a place, with the queries, the log and the knowledge base that all sites share."""
        from upwell.store.query_list import keys_by_query, read_queries

        words = tuple(read_queries(self.queries)) if self.queries is not None else ()
        asked_by = keys_by_query(self.queries) if self.queries is not None else {}
        shared, digest = self._prepare()
        knowledge = shared.knowledge(digest) if shared is not None else None

        def work_of(place: str | Job) -> SiteWork:
            job = place if isinstance(place, Job) else Job(url=place, plan=self.plan, manners=self.manners)
            asked = (*job.plan.words, *words)
            if self.query_log is not None and shared is not None:
                host = site_host(address_of(job.url)).partition(":")[0]
                logged = shared.queries(host)
                if not logged:
                    self._report("query log", self.query_log, f"no query that led to several pages of {host}")
                asked = (*asked, *logged)
            plan = replace(job.plan, words=asked, asked_by=asked_by, knowledge=knowledge or job.plan.knowledge)
            return SiteWork(
                job=replace(job, plan=plan),
                out=str(self.out),
                format=self.format,
                state=self.running.state,
                tells_records=wants_records(self.observe),
            )

        return work_of

    def _prepare(self) -> tuple[SharedQueries | None, str]:
        """The knowledge base and the log in a file that all sites share, written once; and what stands for their content."""
        log, base = self.query_log, self.knowledge_base
        if log is None and base is None:
            return None, ""
        from upwell.offline.queries import read_knowledge, read_log
        from upwell.store.shared_queries import digest_of, open_shared, prepare

        try:
            digest = digest_of(log, base)
        except OSError as error:
            raise WrongUsage(f"{error.filename} cannot be read ({error.strerror})") from error
        file = self._here / SHARED / f"{digest}.sqlite"
        prepare(
            file,
            lambda: read_knowledge(base, lambda why: self._report("knowledge base", base, why)) if base else None,
            (lambda: read_log(log, lambda why: self._report("query log", log, why))) if log else None,
        )
        return open_shared(file), digest

    def _report(self, stage: str, page: str | Path, reason: str) -> None:
        self.observe(Trouble(skipped=Skipped(stage=stage, page=str(page), reason=reason)))


@contextmanager
def _shown_every_second(log: RunLog, schedule: Schedule[Any, Any]) -> Iterator[None]:
    """Has the log say how many run, also while none ends."""

    async def show() -> None:
        while True:
            await asyncio.sleep(1)
            log.show(schedule.running)

    task = asyncio.create_task(show())
    try:
        yield
    finally:
        task.cancel()


class Purse:
    """The total budget, and how it is shared: each site gets an equal part of what is left, and gives back what it does not need.

    What came back goes to sites that come later, then to those that spent their part and could go on. What a site got is remembered until
    it has ended, and by its line in summary.jsonl, so that the same command gives it the same again.
    """

    def __init__(self, total: int, sites: int | None, lines: Iterable[Mapping[str, Any]]) -> None:
        self.left, self._is_limited, self._sites = total, total > 0, sites
        self._granted: dict[str, int] = {}  # by site that has not ended
        self._wanted: dict[str, int] = {}  # the same
        self._cut_short: set[str] = set()  # of them those that spent what they got
        self._before: dict[str, int] = {}  # by site that an earlier run has ended
        if self._is_limited:
            self._before = {line["url"]: line["budget"] for line in lines if line["outcome"] == "done"}

    def take(self, url: str, wanted: int) -> int:
        """The requests that a site may send."""
        self._wanted[url] = wanted
        if not self._is_limited:
            self._granted[url] = wanted
        elif url in self._cut_short:
            share = max(LEAST_SHARE, self.left // len(self._cut_short))
            more = min(wanted - self._granted[url], share, self.left)
            self._cut_short.discard(url)
            self._granted[url] += more
            self.left -= more
        elif url not in self._granted:
            share = max(LEAST_SHARE, self.left // max(1, self._sites)) if self._sites else wanted
            granted = self._granted[url] = min(wanted, self._before.pop(shown(url), share), self.left)
            self.left -= granted
            self._sites = self._sites - 1 if self._sites else self._sites
        return self._granted[url]

    def settle(self, url: str, result: Result | UpwellError) -> int:
        """Takes back what a site that has ended did not need; what it was granted."""
        granted = self._granted.pop(url, 0)
        self._wanted.pop(url, None)
        self._cut_short.discard(url)
        sent = result.requests if isinstance(result, UpwellError) else result.summary["requests"]
        self.left += max(0, granted - sent) if sent is not None else 0
        return granted

    def is_cut_short(self, url: str, result: Result | UpwellError) -> bool:
        """Whether a site has spent its part, and wants more."""
        granted = self._granted.get(url, 0)
        if isinstance(result, UpwellError) or result.summary["requests"] < granted or granted >= self._wanted[url]:
            return False
        self._cut_short.add(url)
        return True


def _nothing_left(place: str, total: int) -> BudgetSpent:
    return BudgetSpent(
        f"{shown(place)} was not begun: the {total:,} requests of --total-budget are spent; a larger one begins it"
    )


def _is_passing(result: Result | UpwellError) -> bool:
    """Whether a site should be tried again later: it did not answer, or another worker, which may have been killed, has it."""
    return isinstance(result, (Unreachable, InUse)) and not isinstance(result, Refused)


def url_of(place: str | Job) -> str:
    """The address of a place as it was named."""
    return place.url if isinstance(place, Job) else place


def not_begun(place: str | Job) -> Interrupted:
    """What is said of a site that was not begun when everything was stopped."""
    return Interrupted(f"stopped before {shown(url_of(place))} was begun; the same command begins it")
