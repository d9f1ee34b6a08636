"""The verbs, with the same names as on the command line. Those that read saved pages are in `upwell.offline`, those that ask are in `upwell.aio`.

A verb imports what it needs when it is called, so that no verb pays for another's libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from upwell.harvest.events import without_records
from upwell.harvest.plan import Plan
from upwell.lazy import lazily
from upwell.net.manners import Manners

if TYPE_CHECKING:
    from upwell.aio import Job
    from upwell.demo import Switches
    from upwell.errors import UpwellError
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.harvest.folders import export, status
    from upwell.harvest.run_log import run_status
    from upwell.many_sites import Running, SiteOutcome
    from upwell.offline.blocks import blocks
    from upwell.offline.cluster import cluster
    from upwell.offline.entities import entities
    from upwell.offline.extract import extract
    from upwell.offline.links import links
    from upwell.offline.parts import read_in_parts
    from upwell.offline.queries import queries
    from upwell.places import sites_of
    from upwell.results import DemoTruth, FormsOnPage, ProbeSummary
    from upwell.site.discover import Browser
    from upwell.store.folder import folder_of
    from upwell.store.records import Format
    from upwell.together.catalogue import Catalogue
    from upwell.together.enrich import Enriched
    from upwell.together.merge import AskResult
    from upwell.together.verbs import compare, match, match_columns
else:
    __getattr__ = lazily(
        __name__,
        {
            "Catalogue": "upwell.together.catalogue",
            "Job": "upwell.aio",
            "Result": "upwell.harvest.files",
            "Running": "upwell.many_sites",
            "blocks": "upwell.offline.blocks",
            "cluster": "upwell.offline.cluster",
            "compare": "upwell.together.verbs",
            "entities": "upwell.offline.entities",
            "export": "upwell.harvest.folders",
            "extract": "upwell.offline.extract",
            "folder_of": "upwell.store.folder",
            "links": "upwell.offline.links",
            "match": "upwell.together.verbs",
            "match_columns": "upwell.together.verbs",
            "queries": "upwell.offline.queries",
            "read_in_parts": "upwell.offline.parts",
            "sites_of": "upwell.places",
            "run_status": "upwell.harvest.run_log",
            "status": "upwell.harvest.folders",
        },
    )

__all__ = [
    "Catalogue", "Job", "Result", "Running", "ask", "blocks", "cluster", "compare", "demo", "enrich", "entities", "export",
    "extract", "folder_of", "forms", "harvest", "harvest_all", "harvest_each", "links", "match", "match_columns", "open", "probe",
    "queries", "read_in_parts", "records", "run_status", "sites_of", "status",
]  # fmt: skip

DEMO_PORT = 8000  # always the same, so that a demo that was cut off goes on


@without_records
def _ignore(_: Event) -> None:
    """The observer for those who do not want to observe."""


def _no_warning(_: str) -> None:
    """For those who do not want to be warned."""


def forms(
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
    from upwell import aio
    from upwell.net.run import run_to_end

    return run_to_end(aio.forms(page, base_url=base_url, manners=manners, browser=browser, warn=warn))


def probe(
    url: str,
    *,
    out: str | Path = "probe",
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _ignore,
) -> ProbeSummary:
    """Sends probe queries until the kinds of answers are stable, and keeps the answers as a folder that `extract` reads."""
    from upwell import aio
    from upwell.net.run import run_to_end

    return run_to_end(aio.probe(url, out=out, plan=plan, manners=manners, observe=observe))


def harvest(
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
) -> Result:
    """From a home page to a table, a summary and a report under `out/<host>`.

    `queries` are asked first: a file with one a line, `DIR:column` for the values of a column of another harvest, or strings.
    The same call again goes on where it was cut off; with a larger budget it goes further; with `Plan(refresh=True)` it asks anew.
    """
    from upwell import aio
    from upwell.net.run import run_to_end

    stopper = aio.Stopper()
    asked = aio.harvest(
        url,
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
    return run_to_end(asked, stopper.stop)


def harvest_all(
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
) -> list[Result | UpwellError]:
    """Harvests several sites; a result or an error for each, in their order: one that fails does not stop the others."""
    from upwell import aio
    from upwell.net.run import run_to_end

    stopper = aio.Stopper()
    asked = aio.harvest_all(
        urls,
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
    return run_to_end(asked, stopper.stop)


def harvest_each(
    urls: Iterable[str | Job],
    ended: Callable[[SiteOutcome], None],
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
) -> None:
    """Harvests sites, of which there may be very many, and calls `ended` with what came of each as it ends.

    Addresses are taken from the iterable when there is room for them. Those that were not begun when it was stopped are left out.
    """
    from upwell import aio
    from upwell.net.run import run_to_end

    stopper = aio.Stopper()
    each = aio.harvest_each(
        urls,
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
    run_to_end(aio.tell_of_each(each, ended), stopper.stop)


def records(
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
) -> Iterator[Mapping[str, object]]:
    """The records of a harvest, each as soon as it is held; the files are written when it ends, or when you leave the loop."""
    import queue
    import threading

    from upwell import aio
    from upwell.harvest.events import Held
    from upwell.net.run import run_to_end

    rows: queue.SimpleQueue[Mapping[str, object] | BaseException | None] = queue.SimpleQueue()  # None: the end
    stopper = aio.Stopper()

    def pass_on(event: Event) -> None:
        if isinstance(event, Held):
            rows.put(dict(event.row))
        observe(event)

    asked = aio.harvest(
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

    def work() -> None:
        try:
            run_to_end(asked)
            rows.put(None)
        except BaseException as error:  # noqa: BLE001 # raised in the caller's thread
            rows.put(error)

    thread = threading.Thread(target=work, name="upwell-records", daemon=True)
    thread.start()
    try:
        while (row := rows.get()) is not None:
            if isinstance(row, BaseException):
                raise row
            yield row
    finally:  # also where the caller breaks off
        if thread.is_alive():
            stopper.stop()
        thread.join()


def open(*places: str | Path) -> Catalogue:
    """The harvests in some folders as one thing to search, ask, query, match and compare.

    >>> catalogue = open("harvest")  # nothing is read before it is asked for
    """
    from upwell.together.catalogue import Catalogue

    return Catalogue(*places)


def ask(
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
    from upwell import aio
    from upwell.net.run import run_to_end

    return run_to_end(aio.ask(query, places, pages=pages, deadline=deadline, manners=manners))


def enrich(
    place: str,
    source: str | Path,
    *,
    out: str | Path | None = None,
    budget: int = Plan.budget,
    manners: Manners | None = None,
    format: Format = "parquet",
    tell: Callable[[str], None] = _no_warning,
) -> Enriched:
    """Asks a learned source for each value of a column (`DIR:column`), and writes the rows with the best answer's fields beside them.

    The same call again goes on where it was cut off; with a larger budget it goes further.
    """
    from upwell import aio
    from upwell.net.run import run_to_end

    stopper = aio.Stopper()
    asked = aio.enrich(
        place, source, out=out, budget=budget, manners=manners, format=format, tell=tell, stopper=stopper
    )
    return run_to_end(asked, stopper.stop)


def demo(
    *,
    out: str | Path = "demo-harvest",
    switches: Switches | None = None,
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _ignore,
    port: int = DEMO_PORT,
    warn: Callable[[str], None] = _no_warning,
) -> tuple[Result, DemoTruth]:
    """Starts the bundled site, harvests it, and compares the records with what the site truly holds."""
    from upwell.demo import Switches, serve_anywhere
    from upwell.results import DemoTruth
    from upwell.store.records import read_keys

    changed = [
        f"{name}={value}"
        for name, value in asdict(switches or Switches()).items()
        if value != getattr(Switches(), name)
    ]
    with serve_anywhere(switches, port, warn) as site:
        result = harvest(
            site.url,
            out="/".join([str(out), *changed]),
            plan=plan or Plan(budget=700),
            manners=manners or Manners(rate=0),
            observe=observe,
        )
        cities = {city.id for city in site.truth}
    last_parts = (urlsplit(key).path.rsplit("/", 1)[-1] for key in read_keys(result.records))
    held = cities & {int(part) for part in last_parts if part.isdigit()}
    return result, DemoTruth(cities=len(cities), held=len(held), coverage=round(len(held) / len(cities), 4))
