"""The verbs that ask a site, for programs that run an event loop of their own: `await upwell.aio.harvest(…)`.

`upwell.api` runs the same code for everybody else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from upwell.errors import UpwellError
from upwell.harvest.events import Held, Stopping, without_records
from upwell.harvest.plan import Plan
from upwell.harvest.site_work import Job, at_first_address
from upwell.many_sites import Running, SiteOutcome, Sites, not_begun
from upwell.net.access import split_credentials
from upwell.net.manners import Manners
from upwell.places import address_of

if TYPE_CHECKING:
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.results import FormsOnPage, ProbeSummary
    from upwell.site.discover import Browser
    from upwell.store.records import Format
    from upwell.together.enrich import Enriched
    from upwell.together.merge import AskResult

__all__ = [
    "Job", "Running", "SiteOutcome", "Stopper", "ask", "enrich", "forms", "harvest", "harvest_all", "harvest_each", "probe",
    "records", "tell_of_each",
]  # fmt: skip


@without_records
def _ignore(_: Event) -> None:
    """The observer for those who do not want to observe."""


def _no_warning(_: str) -> None:
    """For those who do not want to be warned."""


class Stopper:
    """Ends harvests from a signal or from another thread: what there is is written, and they return."""

    def __init__(self) -> None:
        self.times = 0
        self.observe: Observer = _ignore
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def begin(self, end: Callable[[], object]) -> None:
        """Takes charge of what the running loop does, which `end` ends; a stop that came before ends it at once."""
        self._loop, self._end = asyncio.get_running_loop(), end
        if self.times:
            self._cancel()

    def stop(self) -> None:
        """Stops; once more only says again that it is stopping, so that nothing is lost by impatience."""
        self.times += 1
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel if self.times == 1 else self._say)

    def _cancel(self) -> None:
        self._say()
        self._end()

    def _say(self) -> None:
        self.observe(Stopping(times=self.times))


async def forms(
    page: str | Path,
    *,
    base_url: str = "",
    manners: Manners | None = None,
    browser: Browser = "auto",
    warn: Callable[[str], None] = _no_warning,
) -> FormsOnPage:
    """How a site is asked: the forms of a page, judged, and its search interfaces, best first.

    A saved file is only read. At an address the interfaces are tried with a few queries, so that none is offered that finds nothing;
    where the page has none, pages one or two clicks away are looked at, and then the page as the browser shows it.
    """
    from upwell.page.tree import read
    from upwell.results import FormsOnPage
    from upwell.site import forms as site_forms
    from upwell.site import interfaces as site_interfaces

    path = Path(page)
    if path.is_file():  # noqa: ASYNC240 # a saved page, read at once
        tree = read(path.read_bytes(), url=base_url)  # noqa: ASYNC240 # the same
        interfaces = site_interfaces.find(tree)
        return FormsOnPage(page=str(page), forms=tuple(site_forms.find(tree)), interfaces=interfaces)
    plan = Plan(browser=browser)

    async def look(url: str) -> FormsOnPage:
        from upwell.harvest.loop import look_around

        clean, access = split_credentials(url, (manners or Manners()).access)
        discovery = await look_around(clean, plan, replace(manners or Manners(), access=access))
        if discovery.not_shown and not discovery.interfaces:
            warn(f"JavaScript was not tried: {discovery.not_shown}")
        found = tuple(site_forms.find(discovery.home))
        return FormsOnPage(page=clean, forms=found, interfaces=tuple(discovery.interfaces))

    return await at_first_address(str(page), look)


async def probe(
    url: str,
    *,
    out: str | Path = "probe",
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _ignore,
) -> ProbeSummary:
    """Sends probe queries until the kinds of answers are stable, and keeps the answers as a folder that `extract` reads."""
    from upwell.store.remote import output

    with output(out) as folder:
        return await _probe(url, folder, plan or Plan(), manners or Manners(), observe)


async def _probe(url: str, folder: Path, plan: Plan, manners: Manners, observe: Observer) -> ProbeSummary:
    from upwell.harvest import loop
    from upwell.results import ProbeSummary

    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 # once, before anything is asked

    async def ask(address: str) -> tuple[str, loop.Probed]:
        clean, access = split_credentials(address, manners.access)
        return clean, await loop.probe(clean, plan, replace(manners, access=access), observe)

    address, probed = await at_first_address(url, ask)
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


async def harvest(
    url: str,
    *,
    out: str | Path = "harvest",
    plan: Plan | None = None,
    manners: Manners | None = None,
    format: Format = "parquet",
    queries: str | Path | Iterable[str] | None = None,
    query_log: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    running: Running | None = None,
    observe: Observer = _ignore,
    stopper: Stopper | None = None,
) -> Result:
    """From a home page to a table, a summary and a report under `out/<host>`; a cancelled one writes them first.

    `queries` are asked first: a file with one a line, `DIR:column` for the values of a column of another harvest, or strings.
    The same call again goes on where it was cut off; with a larger budget it goes further; with `Plan(refresh=True)` it asks anew.
    """
    (result,) = await harvest_all(
        [url],
        out=out,
        plan=plan,
        manners=manners,
        format=format,
        queries=queries,
        query_log=query_log,
        knowledge_base=knowledge_base,
        running=running,
        observe=observe,
        stopper=stopper,
    )
    if isinstance(result, UpwellError):
        raise result
    return result


async def harvest_all(
    urls: Iterable[str | Job],
    *,
    out: str | Path = "harvest",
    plan: Plan | None = None,
    manners: Manners | None = None,
    format: Format = "parquet",
    queries: str | Path | Iterable[str] | None = None,
    query_log: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    running: Running | None = None,
    observe: Observer = _ignore,
    stopper: Stopper | None = None,
) -> list[Result | UpwellError]:
    """Harvests several sites; a result or an error for each, in their order: one that fails does not stop the others.

    A `Job` in place of an address has a plan and manners of its own. `running` says how many at once, and where.
    """
    places = list(urls)
    running = running or Running()
    found: dict[int, Result | UpwellError] = {}
    each = harvest_each(
        places,
        out=out,
        plan=plan,
        manners=manners,
        format=format,
        queries=queries,
        query_log=query_log,
        knowledge_base=knowledge_base,
        running=running if running.sites is not None else replace(running, sites=len(places)),
        observe=observe,
        stopper=stopper,
    )
    async with aclosing(each):
        async for outcome in each:
            found[outcome.number] = outcome.result
    return [found[number] if number in found else not_begun(place) for number, place in enumerate(places)]


async def harvest_each(
    urls: Iterable[str | Job],
    *,
    out: str | Path = "harvest",
    plan: Plan | None = None,
    manners: Manners | None = None,
    format: Format = "parquet",
    queries: str | Path | Iterable[str] | None = None,
    query_log: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    running: Running | None = None,
    observe: Observer = _ignore,
    stopper: Stopper | None = None,
) -> AsyncGenerator[SiteOutcome]:
    """Harvests sites, of which there may be very many, and gives what came of each as it ends.

    Addresses are taken from the iterable when there is room for them. Those that were not begun when it was stopped are left out.
    """
    if isinstance(urls, Sequence):
        for place in urls:
            address_of(place.url if isinstance(place, Job) else place)  # raises if it is none, before anything is asked
    stopper = stopper or Stopper()
    stopper.observe = observe
    sites = Sites(
        places=urls,
        out=out,
        plan=plan or Plan(),
        manners=manners or Manners(),
        format=format,
        queries=queries if queries is None or isinstance(queries, str | Path) else tuple(queries),
        query_log=query_log,
        knowledge_base=knowledge_base,
        observe=observe,
        running=running or Running(),
        begin=stopper.begin,
    )
    async with aclosing(sites.outcomes()) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def tell_of_each(each: AsyncGenerator[SiteOutcome], ended: Callable[[SiteOutcome], None]) -> None:
    """Calls a function with what came of each site as it ends."""
    async with aclosing(each):
        async for outcome in each:
            ended(outcome)


async def records(
    url: str,
    *,
    out: str | Path = "harvest",
    plan: Plan | None = None,
    manners: Manners | None = None,
    format: Format = "parquet",
    queries: str | Path | Iterable[str] | None = None,
    query_log: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    observe: Observer = _ignore,
) -> AsyncIterator[Mapping[str, object]]:
    """The records of a harvest, each as soon as it is held; the files are written when it ends, or when nobody listens any more."""
    rows: asyncio.Queue[Mapping[str, object] | None] = asyncio.Queue()  # None: the end
    loop = asyncio.get_running_loop()

    def pass_on(event: Event) -> None:  # in the thread that reads pages
        if isinstance(event, Held):
            loop.call_soon_threadsafe(rows.put_nowait, dict(event.row))
        observe(event)

    stopper = Stopper()
    task = asyncio.ensure_future(
        harvest(
            url,
            out=out,
            plan=plan,
            manners=manners,
            format=format,
            queries=queries,
            query_log=query_log,
            knowledge_base=knowledge_base,
            observe=pass_on,
            stopper=stopper,
        )
    )
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
            task.exception()  # looked at, so that asyncio does not complain of an error that nobody waits for


async def ask(
    query: str,
    places: str | Path | Iterable[str | Path],
    *,
    pages: int = 1,
    deadline: float = 5.0,
    manners: Manners | Callable[[str], Manners] | None = None,
) -> AskResult:
    """Asks learned sources one question, all at once, and merges what they answer until the deadline; nothing is learned.

    A place is a `source.json`, the folder of a harvest, or a folder of many. `manners` may be a function that has those for an address.
    """
    from upwell.together.ask import ask as ask_sources

    return await ask_sources(query, places, pages=pages, deadline=deadline, manners=manners)


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
) -> Enriched:
    """Asks a learned source for each value of a column (`DIR:column`), and writes the rows with the best answer's fields beside them.

    The same call again goes on where it was cut off; with a larger budget it goes further.
    """
    from upwell.together.enrich import enrich_table

    folder = Path(out) if out is not None else None
    polite = manners or Manners()
    work = enrich_table(place, source, out=folder, budget=budget, manners=polite, format=format, tell=tell)
    task = asyncio.ensure_future(work)
    (stopper or Stopper()).begin(task.cancel)
    return await task
