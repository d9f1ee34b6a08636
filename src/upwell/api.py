"""The verbs as blocking functions, with the names of the command line.

`forms`, `probe`, `ask`, `check_sources`, `harvest`, `harvest_all` and `enrich` are derived from the coroutines of `upwell.aio`, so that both have the same
arguments. Everything is imported on first use: no verb loads the libraries of another.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack
from urllib.parse import urlsplit

from upwell.choose.plan import Plan
from upwell.lazy import lazily
from upwell.net.manners import Manners

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(verb: Callable[P, Coroutine[Any, Any, T]], can_stop: bool = False) -> Callable[P, T]:
    """Turn a coroutine function into a blocking one; with `can_stop`, Ctrl-C and SIGTERM end it with what it has."""

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        from upwell.aio import Stopper
        from upwell.net.run import run_to_end

        if not can_stop:
            return run_to_end(verb(*args, **kwargs))
        stopper = kwargs.setdefault("stopper", Stopper())
        return run_to_end(verb(*args, **kwargs), getattr(stopper, "stop", None))

    return run


if TYPE_CHECKING:
    from upwell import aio
    from upwell.aio import HarvestOptions, Job
    from upwell.combine.catalogue import Catalogue, compare, match, match_columns
    from upwell.demo import Switches
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.explain import explain
    from upwell.harvest.files import Result
    from upwell.harvest.folders import export, schema_of, status
    from upwell.harvest.run_log import run_status
    from upwell.many_sites import RunOptions, SiteOutcome
    from upwell.offline.blocks import blocks
    from upwell.offline.entity_pages import entities
    from upwell.offline.extract import extract
    from upwell.offline.inspect import cluster, links
    from upwell.offline.many_archives import read_in_parts
    from upwell.offline.queries import queries
    from upwell.places import sites_of
    from upwell.results import DemoTruth
    from upwell.store.folder import folder_of

    ask = _blocking(aio.ask)
    check_sources = _blocking(aio.check_sources)
    enrich = _blocking(aio.enrich, can_stop=True)
    forms = _blocking(aio.forms)
    harvest = _blocking(aio.harvest, can_stop=True)
    harvest_all = _blocking(aio.harvest_all, can_stop=True)
    probe = _blocking(aio.probe)
else:
    _BLOCKING = {  # name of a coroutine of `upwell.aio`: whether it can be stopped
        "ask": False, "check_sources": False, "enrich": True, "forms": False, "harvest": True, "harvest_all": True, "probe": False,
    }  # fmt: skip
    _load = lazily(
        __name__,
        {
            "Catalogue": "upwell.combine.catalogue",
            "Job": "upwell.aio",
            "Result": "upwell.harvest.files",
            "RunOptions": "upwell.many_sites",
            "blocks": "upwell.offline.blocks",
            "cluster": "upwell.offline.inspect",
            "compare": "upwell.combine.catalogue",
            "entities": "upwell.offline.entity_pages",
            "explain": "upwell.harvest.explain",
            "export": "upwell.harvest.folders",
            "extract": "upwell.offline.extract",
            "folder_of": "upwell.store.folder",
            "links": "upwell.offline.inspect",
            "match": "upwell.combine.catalogue",
            "match_columns": "upwell.combine.catalogue",
            "queries": "upwell.offline.queries",
            "read_in_parts": "upwell.offline.many_archives",
            "schema_of": "upwell.harvest.folders",
            "run_status": "upwell.harvest.run_log",
            "sites_of": "upwell.places",
            "status": "upwell.harvest.folders",
        },
    )

    def __getattr__(name: str) -> object:
        if name not in _BLOCKING:
            return _load(name)
        return globals().setdefault(name, _blocking(getattr(import_module("upwell.aio"), name), _BLOCKING[name]))


__all__ = [
    "Catalogue", "Job", "Result", "RunOptions", "ask", "blocks", "check_sources", "cluster", "compare", "demo", "enrich", "entities", "explain", "export",
    "extract", "folder_of", "forms", "harvest", "harvest_all", "harvest_each", "links", "match", "match_columns", "open", "probe",
    "queries", "read_in_parts", "records", "run_status", "schema_of", "sites_of", "status",
]  # fmt: skip

DEMO_PORT = 8000  # fixed, so that an interrupted demo continues with the same URLs


def harvest_each(
    urls: Iterable[str | Job], ended: Callable[[SiteOutcome], None], **options: Unpack[HarvestOptions]
) -> None:
    """Harvest sites, of which there may be very many, and call `ended` with the outcome of each as it ends.

    URLs are taken from the iterable when there is room for them. Sites that were not begun before a stop are left out.
    """
    from upwell import aio
    from upwell.net.run import run_to_end

    stopper = options.setdefault("stopper", aio.Stopper())
    run_to_end(aio.for_each_outcome(aio.harvest_each(urls, **options), ended), stopper.stop if stopper else None)


def records(url: str, **options: Unpack[HarvestOptions]) -> Iterator[Mapping[str, object]]:
    """Yield the records that are held from before, then new ones as they arrive; the files are written at the end, or when the loop is left.

    Takes the keywords of `harvest`.
    """
    import queue
    import threading

    from upwell import aio
    from upwell.harvest.events import Held
    from upwell.net.run import run_to_end

    rows: queue.SimpleQueue[Mapping[str, object] | BaseException | None] = queue.SimpleQueue()  # None marks the end
    stopper = options.get("stopper") or aio.Stopper()
    observe = options.get("observe")

    def forward(event: Event) -> None:
        if isinstance(event, Held):
            rows.put(dict(event.row))
        if observe is not None:
            observe(event)

    options["observe"], options["stopper"] = forward, stopper

    def work() -> None:
        try:
            run_to_end(aio.harvest(url, **options))
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
    finally:  # also if the caller leaves the loop
        if thread.is_alive():
            stopper.stop()
        thread.join()


def open(*places: str | Path) -> Catalogue:
    """Open the harvests in some folders as a catalogue to search, ask, query, match and compare; nothing is read yet.

    >>> catalogue = open("harvest")
    """
    from upwell.combine.catalogue import Catalogue

    return Catalogue(*places)


def demo(
    *,
    out: str | Path = "demo-harvest",
    switches: Switches | None = None,
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer | None = None,
    port: int = DEMO_PORT,
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[Result, DemoTruth]:
    """Start the bundled site, harvest it, and compare the records with the true content of the site."""
    from upwell.demo import SMALL_SITE, Switches, serve_anywhere
    from upwell.results import DemoTruth
    from upwell.table.writers import read_keys

    switches = switches or Switches()
    changed = [f"{name}={value}" for name, value in asdict(switches).items() if value != getattr(Switches(), name)]
    folders = [] if switches == SMALL_SITE else changed or ["hard"]  # each variant of the site has its own folder
    options: HarvestOptions = {
        "out": "/".join([str(out), *folders]),
        "plan": plan or Plan(budget=700),
        "manners": manners or Manners(rate=0),
    }
    if observe is not None:
        options["observe"] = observe
    with serve_anywhere(switches, port, warn) as site:
        result = _harvest(site.url, **options)
        cities = {city.id for city in site.truth}
    last_parts = (urlsplit(key).path.rsplit("/", 1)[-1] for key in read_keys(result.records))
    held = cities & {int(part) for part in last_parts if part.isdecimal()}
    return result, DemoTruth(cities=len(cities), held=len(held), coverage=round(len(held) / len(cities), 4))


def _harvest(url: str, **options: Unpack[HarvestOptions]) -> Result:
    """Call `harvest`, which module code cannot see because it is created on first access."""
    result: Result = getattr(import_module(__name__), "harvest")(url, **options)  # noqa: B009 # as the docstring says
    return result
