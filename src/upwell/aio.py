"""The verbs that send requests, as coroutines: `await upwell.aio.harvest(…)`.

These are the definitions; `upwell.api` derives the blocking functions from them.
"""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack
from urllib.parse import urlsplit

from upwell.choose.plan import Plan
from upwell.errors import UpwellError
from upwell.harvest.events import Held, Stopping, without_records
from upwell.harvest.site_work import Job, try_addresses
from upwell.many_sites import RunOptions, SiteOutcome, Sites, not_started
from upwell.net.access import split_credentials
from upwell.net.manners import Manners
from upwell.places import address_of

if TYPE_CHECKING:
    from upwell.combine.check import SourceCheck
    from upwell.combine.enrich import EnrichResult
    from upwell.combine.merge import AskResult
    from upwell.discover.discovery import Browser
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.results import FormsOnPage, ProbeSummary
    from upwell.table.writers import Format

__all__ = [
    "HarvestOptions",
    "Job",
    "RunOptions",
    "SiteOutcome",
    "Stopper",
    "ask",
    "check_sources",
    "enrich",
    "for_each_outcome",
    "forms",
    "harvest",
    "harvest_all",
    "harvest_each",
    "probe",
    "records",
]


@without_records
def _ignore(_: Event) -> None:
    """Observe nothing; the default observer."""


def _no_warning(_: str) -> None:
    """Drop a warning; the default for callers that print none."""


class Stopper:
    """Stops harvests from a signal handler or another thread; they write what they have and return."""

    def __init__(self) -> None:
        self.times = 0
        self.observe: Observer = _ignore
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def begin(self, end: Callable[[], object]) -> None:
        """Register `end`, which cancels the work of the running loop; call it at once if `stop` was called before."""
        self._loop, self._end = asyncio.get_running_loop(), end
        if self.times:
            self._cancel()

    def stop(self) -> None:
        """Stop the work. Further calls only repeat the event, so that an impatient second Ctrl-C loses nothing."""
        self.times += 1
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel if self.times == 1 else self._say)

    def _cancel(self) -> None:
        self._say()
        self._end()

    def _say(self) -> None:
        self.observe(Stopping(times=self.times))


class HarvestOptions(TypedDict, total=False):
    """The keyword arguments of `harvest`, `harvest_all`, `harvest_each` and `records`; each may be left out."""

    out: str | Path  # folder for the results, or an fsspec address; each site has a folder below it ("harvest")
    plan: Plan | None  # how far to go, and what is known about the site
    manners: Manners | None  # rate, identification, access
    format: Format  # of the tables: "parquet", "csv", "jsonl", "sqlite", "duckdb" or "xlsx"
    queries: str | Path | Iterable[str] | None  # sent first: a file with one per line, `DIR:column`, or strings
    query_log: str | Path | None  # table of query, url, clicks
    knowledge_base: str | Path | None  # table of domain, type, entity
    running: RunOptions | None  # how many sites at once, and on which engine
    observe: Observer  # called with every event
    on_record: (
        Callable[[Mapping[str, object]], object] | None
    )  # called with each record: those held before, then new ones
    stopper: Stopper | None  # stops the harvest from outside
    # any field of `Plan`, in place of `plan`; the most used ones:
    budget: int
    details: Literal["", "first", "last"] | int
    about: str
    columns: tuple[str, ...]
    drop: tuple[str, ...]
    refresh: bool


def _plan_of(options: HarvestOptions) -> Plan:
    """Return the plan, with the fields of `Plan` that were given as keywords."""
    given = {name: value for name, value in options.items() if name not in NOT_OF_PLAN}
    if unknown := given.keys() - Plan.__dataclass_fields__.keys():
        near = [
            difflib.get_close_matches(name, [*NOT_OF_PLAN, *Plan.__dataclass_fields__], n=1) for name in sorted(unknown)
        ]
        hint = "".join(f"; did you mean {found[0]}?" for found in near if found)
        raise TypeError(f"harvest has no option {', '.join(map(repr, sorted(unknown)))}{hint}")
    for name in ("columns", "drop", "words"):
        if isinstance(given.get(name), str):
            raise TypeError(f"{name}={given[name]!r}: give several names, as in {name}=('title', 'year')")
    return replace(options.get("plan") or Plan(), **given)  # type: ignore[arg-type] # checked by Plan


NOT_OF_PLAN = (
    "out", "plan", "manners", "format", "queries", "query_log", "knowledge_base", "running", "observe", "on_record", "stopper",
)  # fmt: skip


def _with_records(observe: Observer, on_record: Callable[[Mapping[str, object]], object] | None) -> Observer:
    """Return an observer that also calls a function with each record."""
    if on_record is None:
        return observe

    def forward(event: Event) -> None:
        if isinstance(event, Held):
            on_record(dict(event.row))
        observe(event)

    return forward


async def forms(
    page: str | Path,
    *,
    base_url: str = "",
    manners: Manners | None = None,
    browser: Browser = "auto",
    warn: Callable[[str], None] = _no_warning,
) -> FormsOnPage:
    """Classify the forms of a page, and return its search interfaces, best first.

    A saved file is only read. For a URL, the interfaces are tried with a few queries; if the page has none, pages one or two clicks
    away are searched, and then the page as rendered by the browser.
    """
    from upwell.discover import forms as site_forms
    from upwell.discover import interfaces as site_interfaces
    from upwell.page.tree import read
    from upwell.results import FormsOnPage

    path = Path(page)
    if path.is_file():  # noqa: ASYNC240 # a small local file
        tree = read(path.read_bytes(), url=base_url)  # noqa: ASYNC240 # the same
        interfaces = site_interfaces.find(tree)
        return FormsOnPage(page=str(page), forms=tuple(site_forms.find(tree)), interfaces=interfaces)
    if browser == "always":
        from upwell.net.chromium_process import require_playwright

        require_playwright()
    plan = Plan(browser=browser)

    async def look(url: str) -> FormsOnPage:
        from upwell.harvest.loop import look_around

        clean, access = split_credentials(url, (manners or Manners()).access)
        discovery = await look_around(clean, plan, replace(manners or Manners(), access=access))
        if discovery.not_shown and not discovery.interfaces:
            warn(f"JavaScript was not tried: {discovery.not_shown}")
        if discovery.wall is not None:
            warn(discovery.wall.reason)
        forms_of_page = tuple(site_forms.find(discovery.home))
        wall = discovery.wall.wall if discovery.wall is not None else None
        return FormsOnPage(page=clean, forms=forms_of_page, interfaces=tuple(discovery.interfaces), wall=wall)

    return await try_addresses(str(page), look, has_credentials=bool(manners and manners.access.has_credentials))


async def probe(
    url: str,
    *,
    out: str | Path = "probe",
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _ignore,
) -> ProbeSummary:
    """Send probe queries until the kinds of answers are stable, and save the answers in a folder for `extract`."""
    from upwell.store.remote import open_output

    with open_output(out) as folder:
        return await _probe(url, folder, plan or Plan(), manners or Manners(), observe)


async def _probe(url: str, folder: Path, plan: Plan, manners: Manners, observe: Observer) -> ProbeSummary:
    from upwell.harvest import loop
    from upwell.results import ProbeSummary

    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 # once, before the first request

    async def ask(address: str) -> tuple[str, loop.Probed]:
        clean, access = split_credentials(address, manners.access)
        return clean, await loop.probe(clean, plan, replace(manners, access=access), observe)

    address, probed = await try_addresses(url, ask, has_credentials=manners.access.has_credentials)
    lines = []
    for number, (query, response) in enumerate(probed.answers):
        name = f"{number:03d}.html"
        (folder / name).write_bytes(response.body)
        about = {"page": name, "url": response.url, "query": query, "status": response.status}
        lines.append(json.dumps(about, ensure_ascii=False))
    (folder / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    summary = ProbeSummary(
        site=urlsplit(address).netloc,
        requests=probed.requests,
        answers=probed.kinds,
        stable=probed.stable,
        interface=probed.interface,
        pages=len(lines),
    )
    text = json.dumps(summary.as_dict(), ensure_ascii=False, indent=1) + "\n"
    (folder / "summary.json").write_text(text, encoding="utf-8")
    return summary


async def harvest(url: str, **options: Unpack[HarvestOptions]) -> Result:
    """Harvest a site into a table, a summary and a report under `out/<host>`.

    The same call again continues where the last one stopped; with a larger budget it goes further; with `Plan(refresh=True)` it
    requests everything again and reports changes. A cancelled harvest writes its files first. See `HarvestOptions` for the keywords.
    """
    (result,) = await harvest_all([url], **options)
    if isinstance(result, UpwellError):
        raise result
    return result


async def harvest_all(urls: Iterable[str | Job], **options: Unpack[HarvestOptions]) -> list[Result | UpwellError]:
    """Harvest several sites and return a result or an error for each, in their order; a failing site does not stop the others.

    A `Job` instead of a URL carries its own plan and manners. See `HarvestOptions` for the keywords.
    """
    places = list(urls)
    running = options.get("running") or RunOptions()
    options["running"] = running if running.sites is not None else replace(running, sites=len(places))
    results: dict[int, Result | UpwellError] = {}
    async with aclosing(harvest_each(places, **options)) as outcomes:
        async for outcome in outcomes:
            results[outcome.number] = outcome.result
    return [results[number] if number in results else not_started(place) for number, place in enumerate(places)]


async def harvest_each(urls: Iterable[str | Job], **options: Unpack[HarvestOptions]) -> AsyncGenerator[SiteOutcome]:
    """Harvest sites, of which there may be very many, and yield the outcome of each as it ends.

    URLs are taken from the iterable when there is room for them. Sites that were not begun before a stop are left out.
    See `HarvestOptions` for the keywords.
    """
    if isinstance(urls, Sequence):
        for place in urls:
            address_of(place.url if isinstance(place, Job) else place)  # raise for an invalid URL before any request
    queries, observe = options.get("queries"), _with_records(options.get("observe", _ignore), options.get("on_record"))
    plan = _plan_of(options)
    stopper = options.get("stopper") or Stopper()
    stopper.observe = observe
    sites = Sites(
        places=urls,
        out=options.get("out", "harvest"),
        plan=plan,
        manners=options.get("manners") or Manners(),
        format=options.get("format", "parquet"),
        queries=queries if queries is None or isinstance(queries, str | Path) else tuple(queries),
        query_log=options.get("query_log"),
        knowledge_base=options.get("knowledge_base"),
        observe=observe,
        running=options.get("running") or RunOptions(),
        begin=stopper.begin,
    )
    async with aclosing(sites.outcomes()) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def for_each_outcome(outcomes: AsyncGenerator[SiteOutcome], call: Callable[[SiteOutcome], None]) -> None:
    """Call a function with the outcome of each site as it ends."""
    async with aclosing(outcomes):
        async for outcome in outcomes:
            call(outcome)


async def records(url: str, **options: Unpack[HarvestOptions]) -> AsyncIterator[Mapping[str, object]]:
    """Yield the records that are held from before, then new ones as they arrive; the files are written at the end, or when the iteration is abandoned.

    See `HarvestOptions` for the keywords.
    """
    rows: asyncio.Queue[Mapping[str, object] | None] = asyncio.Queue()  # None marks the end
    loop = asyncio.get_running_loop()
    observe = options.get("observe", _ignore)

    def forward(event: Event) -> None:  # runs in the thread that reads pages
        if isinstance(event, Held):
            loop.call_soon_threadsafe(rows.put_nowait, dict(event.row))
        observe(event)

    stopper = options.get("stopper") or Stopper()
    options["observe"], options["stopper"] = forward, stopper
    task = asyncio.ensure_future(harvest(url, **options))
    task.add_done_callback(lambda _: rows.put_nowait(None))
    try:
        while (row := await rows.get()) is not None:
            yield row
        await task
    finally:
        if not task.done():
            stopper.stop()
            await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # mark it as retrieved, or asyncio reports an exception that nobody awaited


async def ask(
    query: str,
    places: str | Path | Iterable[str | Path],
    *,
    pages: int = 1,
    deadline: float = 5.0,
    manners: Manners | Callable[[str], Manners] | None = None,
) -> AskResult:
    """Send one query to several learned sources at once, and merge the answers that arrive before the deadline.

    A place is a `source.json`, the folder of a harvest, or a folder of harvests. `manners` may be a function of the URL.
    """
    from upwell.combine.ask import ask as ask_sources

    return await ask_sources(query, places, pages=pages, deadline=deadline, manners=manners)


async def check_sources(
    places: str | Path | Iterable[str | Path],
    *,
    deadline: float = 5.0,
    manners: Manners | Callable[[str], Manners] | None = None,
) -> list[SourceCheck]:
    """Ask each learned source one query that it answered before, and return whether it still answers and looks as it did."""
    from upwell.combine.check import check_sources as check

    return await check(places, deadline=deadline, manners=manners)


async def enrich(
    place: str,
    source: str | Path,
    *,
    out: str | Path | None = None,
    budget: int = Plan.budget,
    manners: Manners | None = None,
    format: Format = "parquet",
    tell: Callable[[str], None] = _no_warning,
    stopper: Stopper | None = None,
) -> EnrichResult:
    """Query a learned source for each value of a column (`DIR:column`), and write the rows with the fields of the best answer.

    The same call again continues where the last one stopped; with a larger budget it goes further.
    """
    from upwell.combine.enrich import enrich_table

    folder = Path(out) if out is not None else None
    polite = manners or Manners()
    work = enrich_table(place, source, out=folder, budget=budget, manners=polite, format=format, tell=tell)
    task = asyncio.ensure_future(work)
    (stopper or Stopper()).begin(task.cancel)
    return await task
