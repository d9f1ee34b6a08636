"""Harvest many sites: shared queries and total budget, the engine they run on, and the outcome of each site as it ends."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwell.choose.plan import Plan
from upwell.engines.local import ENGINES, create_engine
from upwell.engines.schedule import Retry, Schedule, WorkProgress
from upwell.errors import (
    BudgetSpent,
    Interrupted,
    InUse,
    Refused,
    Unreachable,
    Unreadable,
    UpwellError,
    WorkerLost,
    WrongUsage,
)
from upwell.harvest.events import Asked, Event, Observer, Opened, Trouble, wants_records
from upwell.harvest.run_log import RUN_FILE, SUMMARIES_FILE, RunLog, read_site_lines
from upwell.harvest.site_work import Job, LostWorkers, SiteWork, harvest_site, host_of
from upwell.net.manners import Manners
from upwell.places import address_of, shown
from upwell.store.remote import RemoteFolder, is_remote, working_folder
from upwell.types import Skipped

if TYPE_CHECKING:
    from upwell.engines.engine import Engine
    from upwell.harvest.files import Result
    from upwell.store.shared_queries import SharedQueries
    from upwell.table.writers import Format

__all__ = ["EventDeduplicator", "RunOptions", "SiteOutcome", "Sites", "not_started", "url_of"]


class EventDeduplicator:
    """Observer that passes on each event once, even if a lost worker's harvest continues elsewhere.

    A harvest that continues reports all its records again, in the same order. It may report only some of its requests again, so these are recognized
    by their number.
    """

    def __init__(self, observe: Observer) -> None:
        self._observe = observe
        self._passed_on: Counter[type[Event]] = Counter()  # by event type
        self._requests = 0  # request number of the last event that has one
        self._repeats: Counter[type[Event]] = Counter()  # events that will be repeated
        self._requests_before = -1

    def restart(self) -> None:
        """Expect the harvest to report its events again from the start."""
        self._repeats, self._requests_before = Counter(self._passed_on), self._requests if self._passed_on else -1

    def follow(self, event: Event) -> None:
        """Pass an event on if it is new."""
        kind = type(event)
        if isinstance(event, Asked | Opened):
            if event.requests <= self._requests_before:
                return
            self._requests = max(self._requests, event.requests)
        elif self._repeats[kind]:
            self._repeats[kind] -= 1
            return
        self._passed_on[kind] += 1
        self._observe(event)


NumberedPlace = tuple[int, "str | Job"]

MIN_SITE_BUDGET = 30  # requests of a total budget granted to each site; fewer barely suffice to find its search
SHARED_FOLDER = ".shared"  # folder for files shared by all sites of a run
MAX_WORKER_LOSSES = 3  # restarts of a site whose worker was lost, unless another site was the reason
MAX_UNREADABLE = 10  # answers of a site that ended their worker, before the site is given up
MIN_SECONDS_LEFT = (
    8.0  # of a time limit for a site whose worker was lost, to read its answers again and write its tables
)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run over several sites: engine, parallelism, retries and total budget."""

    engine: str = "local"  # local, processes or ray
    workers: int = 0  # processes; 0: one per core
    at_once: int = 0  # sites in parallel; 0: as many as open files and memory allow
    state: str = ""  # URL of a database for the state; "": a file in each folder
    retries: int = 0  # later attempts for a site that did not answer
    total_budget: int = 0  # requests of all sites together; 0: limited only by the plans
    sites: int | None = None  # number of sites, if known, among which the total budget is divided
    started: float = 0.0  # when the command began, on the monotonic clock; the time limit of a single site includes it

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise WrongUsage(f"engine={self.engine!r}: use one of {', '.join(ENGINES)}")
        for name in ("workers", "at_once", "retries", "total_budget"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: must be 0 or more")


@dataclass(frozen=True, kw_only=True)
class SiteOutcome:
    """Outcome of one site."""

    number: int  # position of the site in the input, from 0
    url: str  # as given
    result: Result | UpwellError
    tries: int = 1


@dataclass(kw_only=True)
class Sites:
    """Sites to harvest and the options of the run."""

    places: Iterable[str | Job]
    out: str | Path
    plan: Plan
    manners: Manners
    format: Format
    queries: str | Path | Sequence[str] | None
    query_log: str | Path | None
    knowledge_base: str | Path | None
    observe: Observer
    running: RunOptions
    begin: Callable[[Callable[[], None]], None] = lambda stop: None  # receives the function that stops the run

    async def outcomes(self) -> AsyncGenerator[SiteOutcome]:
        """Yield the outcome of each site as it ends; sites not started when the run is stopped are omitted."""
        from upwell.harvest import files  # noqa: F401 # before a worker is forked, which needs it, too
        from upwell.table.writers import FORMATS

        if self.format not in FORMATS:
            raise WrongUsage(f"unknown format {self.format!r}: use one of {', '.join(FORMATS)}")
        running = self.running
        if is_remote(self.out):
            remote = await asyncio.to_thread(RemoteFolder, str(self.out))
            await asyncio.to_thread(remote.fetch_missing, RUN_FILE, SUMMARIES_FILE)
        work_of, budget = (
            self._work_maker(),
            TotalBudget(running.total_budget, running.sites, read_site_lines(self._here)),
        )
        async with create_engine(running.engine, harvest_site, running.workers) as engine:

            async def run(place: NumberedPlace, tell: Callable[[WorkProgress], None]) -> Result | UpwellError:
                work = work_of(place[1])
                granted = budget.take(work.job.url, work.job.plan.budget)
                if not granted:
                    return _budget_spent(work.job.url, running.total_budget)
                return await self._run(engine, work.with_budget(granted), tell)

            schedule: Schedule[NumberedPlace, Result | UpwellError] = Schedule(
                works=enumerate(self.places),
                run=run,
                host_of=lambda place: host_of(url_of(place[1])),
                at_once=running.at_once or engine.capacity,
                retry=Retry(times=running.retries),
                is_transient=_is_temporary,
                is_cut_short=lambda place, result: budget.is_cut_short(url_of(place[1]), result),
                may_continue=lambda: budget.left >= MIN_SITE_BUDGET,
            )
            self.begin(schedule.stop)
            with RunLog(self._here, running.sites, running.engine) as log, _updated_every_second(log, schedule):
                async for ended in schedule.completed():
                    number, place = ended.work
                    granted = budget.settle(url_of(place), ended.result)
                    log.add(url_of(place), ended.result, ended.tries, granted)
                    log.show(schedule.running)
                    yield SiteOutcome(number=number, url=url_of(place), result=ended.result, tries=ended.tries)
            if is_remote(self.out):
                await asyncio.to_thread(remote.put_all, RUN_FILE, SUMMARIES_FILE)

    @property
    def _here(self) -> Path:
        """Return the local folder for files shared by all sites."""
        return working_folder(self.out)

    async def _run(
        self, engine: Engine[SiteWork, Any], work: SiteWork, tell: Callable[[WorkProgress], None]
    ) -> Result | UpwellError:
        """Harvest a site; if its worker is lost, continue in another worker from the saved state.

        An answer that was being read when its worker was killed for reading it, or when two workers were lost, is marked as unreadable by
        the next worker.
        """
        deduplicator = EventDeduplicator(self.observe)

        def observe(event: Event) -> None:
            if isinstance(event, Asked):
                tell(WorkProgress(requests=event.requests, records=event.records, expected=event.expected))
            deduplicator.follow(event)

        losses, suspects, task = 0, Counter[int](), asyncio.current_task()
        started = self.running.started if self.running.started and self.running.sites == 1 else time.monotonic()
        work = replace(work, lost=replace(work.lost, elapsed=time.monotonic() - started))
        ending: UpwellError | None = None  # result after a worker has written what is held
        while True:
            deduplicator.restart()
            try:
                result = await engine.run(work, host_of(work.job.url).partition(":")[0], observe)
                return ending or result
            except asyncio.CancelledError:  # before a worker was assigned
                return not_started(work.job.url)
            except WorkerLost as error:
                if ending is not None:
                    return ending
                unreadable, suspects[error.outcome] = work.lost.unreadable, suspects[error.outcome] + 1
                if error.outcome and (error.is_certain or suspects[error.outcome] > 1):
                    reason = _unreadable(error)
                    self._report("read", error.url, reason)
                    unreadable = (*unreadable, (error.outcome, reason))
                else:
                    losses += error.is_blamed
                if error.is_certain and error.stage == "tables":
                    return _given_up(work.job.url, error)
                if task is not None and task.cancelling():
                    ending = _stopped(work.job.url)
                elif losses > MAX_WORKER_LOSSES or len(unreadable) > MAX_UNREADABLE:
                    ending = _given_up(work.job.url, error)
                elapsed = max(0.0, min(time.monotonic() - started, work.job.plan.seconds - MIN_SECONDS_LEFT))
                lost = LostWorkers(
                    unreadable=unreadable, elapsed=elapsed, is_restart=True, is_stopping=ending is not None
                )
                work = replace(work, lost=lost)

    def _work_maker(self) -> Callable[[str | Job], SiteWork]:
        """Return a function that creates the work of a place, with the queries, query log and knowledge base shared by all sites."""
        from upwell.papers.entity import log_host
        from upwell.table.readers import keys_by_query, read_queries

        words = tuple(read_queries(self.queries)) if self.queries is not None else ()
        asked_by = keys_by_query(self.queries) if self.queries is not None else {}
        shared, digest = self._prepare()
        knowledge = shared.knowledge(digest) if shared is not None else None

        def work_of(place: str | Job) -> SiteWork:
            job = place if isinstance(place, Job) else Job(url=place, plan=self.plan, manners=self.manners)
            asked, logged = (*job.plan.words, *words), job.plan.log_queries
            if self.query_log is not None and shared is not None:
                host = log_host(address_of(job.url))
                logged = shared.queries(host)
                if not logged:
                    self._report("query log", self.query_log, f"no query that led to several pages of {host}")
            plan = replace(
                job.plan, words=asked, log_queries=logged, asked_by=asked_by, knowledge=knowledge or job.plan.knowledge
            )
            return SiteWork(
                job=replace(job, plan=plan),
                out=str(self.out),
                format=self.format,
                state=self.running.state,
                reports_records=wants_records(self.observe),
            )

        return work_of

    def _prepare(self) -> tuple[SharedQueries | None, str]:
        """Write the knowledge base and the query log once into a file shared by all sites; return it and a digest of their contents."""
        log, base = self.query_log, self.knowledge_base
        if log is None and base is None:
            return None, ""
        from upwell.offline.queries import read_knowledge, read_log
        from upwell.store.shared_queries import files_digest, open_shared_queries, write_shared_queries

        try:
            digest = files_digest(log, base)
        except OSError as error:
            raise WrongUsage(f"{error.filename} cannot be read ({error.strerror})") from error
        file = self._here / SHARED_FOLDER / f"{digest}.sqlite"
        write_shared_queries(
            file,
            lambda: read_knowledge(base, lambda why: self._report("knowledge base", base, why)) if base else None,
            (lambda: read_log(log, lambda why: self._report("query log", log, why))) if log else None,
        )
        return open_shared_queries(file), digest

    def _report(self, stage: str, page: str | Path, reason: str) -> None:
        self.observe(Trouble(skipped=Skipped(stage=stage, page=str(page), reason=reason)))


@contextmanager
def _updated_every_second(log: RunLog, schedule: Schedule[Any, Any]) -> Iterator[None]:
    """Update the log every second, even if no site ends."""

    async def show() -> None:
        while True:
            await asyncio.sleep(1)
            log.show(schedule.running)

    task = asyncio.create_task(show())
    try:
        yield
    finally:
        task.cancel()


class TotalBudget:
    """Total budget, divided among sites: each site gets an equal part of the rest and returns what it does not use.

    Returned requests go to later sites, then to sites that used up their part and could continue. The grant of a site is remembered until it ends, and
    then in its line of summary.jsonl, so that the same command grants the same again.
    """

    def __init__(self, total: int, sites: int | None, lines: Iterable[Mapping[str, Any]]) -> None:
        self.left, self._is_limited, self._sites = total, total > 0, sites
        self._granted: dict[str, int] = {}  # by site that has not ended
        self._wanted: dict[str, int] = {}  # budget of its plan, by site that has not ended
        self._cut_short: set[str] = set()  # sites that used up their grant
        self._before: dict[str, int] = {}  # grants of sites that ended in an earlier run
        if self._is_limited:
            self._before = {line["url"]: line["budget"] for line in lines if line["outcome"] == "done"}

    def take(self, url: str, wanted: int) -> int:
        """Return the number of requests that a site may send."""
        self._wanted[url] = wanted
        if not self._is_limited:
            self._granted[url] = wanted
        elif url in self._cut_short:
            share = max(MIN_SITE_BUDGET, self.left // len(self._cut_short))
            more = min(wanted - self._granted[url], share, self.left)
            self._cut_short.discard(url)
            self._granted[url] += more
            self.left -= more
        elif url not in self._granted:
            share = max(MIN_SITE_BUDGET, self.left // max(1, self._sites)) if self._sites else wanted
            granted = self._granted[url] = min(wanted, self._before.pop(shown(url), share), self.left)
            self.left -= granted
            self._sites = self._sites - 1 if self._sites else self._sites
        return self._granted[url]

    def settle(self, url: str, result: Result | UpwellError) -> int:
        """Return the grant of a site that has ended, taking back what it did not use."""
        granted = self._granted.pop(url, 0)
        self._wanted.pop(url, None)
        self._cut_short.discard(url)
        sent = result.requests if isinstance(result, UpwellError) else result.summary["requests"]
        self.left += max(0, granted - sent) if sent is not None else 0
        return granted

    def is_cut_short(self, url: str, result: Result | UpwellError) -> bool:
        """Return True if a site has used up its grant and wants more."""
        granted = self._granted.get(url, 0)
        if isinstance(result, UpwellError) or result.summary["requests"] < granted or granted >= self._wanted[url]:
            return False
        self._cut_short.add(url)
        return True


def _budget_spent(place: str, total: int) -> BudgetSpent:
    return BudgetSpent(
        f"{shown(place)} was not started: the {total:,} requests of --total-budget are used up; use a larger one to start it"
    )


def _is_temporary(result: Result | UpwellError) -> bool:
    """Return True if a site should be retried later: it did not answer, or another worker, which may have been killed, holds its lease."""
    return isinstance(result, (Unreachable, InUse)) and not isinstance(result, (Refused, Unreadable))


def _unreadable(error: WorkerLost) -> str:
    """Return why an answer is not read again."""
    why = f"reading it {error}" if error.is_certain else "two processes that read it were lost"
    return f"the answer of {error.url} is not read, because {why}; the page may be built to do so"


def _given_up(place: str, error: WorkerLost) -> WorkerLost:
    """Return the error for a site that ended its worker too often, or while its tables were written."""
    what = "writing its tables" if error.stage == "tables" else "the last of several processes for it"
    return WorkerLost(
        f"{shown(place)} was given up: {what} {error}; its answers are kept, and the same command continues"
    )


def _stopped(place: str) -> Interrupted:
    return Interrupted(
        f"stopped while {shown(place)} was harvested; its answers are kept, and the same command continues"
    )


def url_of(place: str | Job) -> str:
    """Return the URL of a place as given."""
    return place.url if isinstance(place, Job) else place


def not_started(place: str | Job) -> Interrupted:
    """Return the error for a site that was not started when the run was stopped."""
    return Interrupted(f"stopped before {shown(url_of(place))} was started; run the same command to start it")
