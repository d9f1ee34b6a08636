"""The verbs, with the same names as on the command line. Those that read saved pages are in `upwell.offline`, the others here.

A verb imports what it needs when it is called, so that no verb pays for another's libraries.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from upwell.errors import UpwellError, WrongUsage
from upwell.harvest.plan import Plan
from upwell.lazy import lazily
from upwell.net.manners import Manners

if TYPE_CHECKING:
    from upwell.demo import Switches
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.files import Result
    from upwell.offline.blocks import blocks
    from upwell.offline.cluster import cluster
    from upwell.offline.entities import entities
    from upwell.offline.extract import extract
    from upwell.offline.links import links
    from upwell.offline.queries import queries
    from upwell.results import DemoTruth, FormsOnPage, ProbeSummary
    from upwell.site.discover import Browser, Discovery
    from upwell.store.folder import folder_of
    from upwell.store.records import Format
else:
    __getattr__ = lazily(
        __name__,
        {
            "Result": "upwell.harvest.files",
            "blocks": "upwell.offline.blocks",
            "cluster": "upwell.offline.cluster",
            "entities": "upwell.offline.entities",
            "extract": "upwell.offline.extract",
            "folder_of": "upwell.store.folder",
            "links": "upwell.offline.links",
            "queries": "upwell.offline.queries",
        },
    )

__all__ = [
    "Result", "blocks", "cluster", "demo", "entities", "extract", "folder_of", "forms", "harvest", "harvest_all", "links", "probe", "queries",
    "records", "sites_of",
]  # fmt: skip

T = TypeVar("T")


def sites_of(places: Iterable[str]) -> list[str]:
    """The addresses that places stand for, each once: a place is an address, or a file with one a line (# begins a comment line)."""
    addresses: list[str] = []
    for place in places:
        if place.startswith(("http://", "https://")) or not Path(place).is_file():
            addresses.append(place)
            continue
        lines = (line.strip() for line in Path(place).read_text(encoding="utf-8", errors="replace").splitlines())
        addresses += [line for line in lines if line and not line.startswith("#")]
    if not addresses:
        raise WrongUsage("there is no address to harvest; name one, or a file with one a line")
    return list(dict.fromkeys(addresses))


def _ignore(_: Event) -> None:
    """The observer for those who do not want to observe."""


def forms(
    page: str | Path, *, base_url: str = "", manners: Manners | None = None, browser: Browser = "auto"
) -> FormsOnPage:
    """How a site is asked: the forms of a page, judged, and its search interfaces, best first.

    A saved file is only read. At an address the interfaces are tried with a few queries, so that none is offered that finds nothing;
    where the page has none, pages one or two clicks away are looked at, and then the page as the browser shows it.
    """
    from upwell.page.tree import read
    from upwell.results import FormsOnPage
    from upwell.site import forms as site_forms
    from upwell.site import interfaces as site_interfaces

    text = str(page)
    if text.startswith(("http://", "https://")):
        import asyncio

        discovery = asyncio.run(_discover(text, manners or Manners(), browser))
        tree, interfaces = discovery.home, tuple(discovery.interfaces)
    else:
        path = Path(page)
        if not path.is_file():
            raise WrongUsage(f"{text} is neither a file nor an address that begins with http:// or https://")
        tree = read(path.read_bytes(), url=base_url)
        interfaces = site_interfaces.find(tree)
    return FormsOnPage(page=text, forms=tuple(site_forms.find(tree)), interfaces=interfaces)


async def _discover(url: str, manners: Manners, browser: Browser) -> Discovery:
    import numpy as np

    from upwell.harvest import loop
    from upwell.net.browser import Chromium
    from upwell.net.fetch import Fetcher
    from upwell.site.discover import discover

    async with Fetcher(manners, user_urls=(url,)) as net, Chromium(net) as chromium:
        return await loop.drive(discover(url, np.random.default_rng(0), browser), net, chromium)


def probe(
    url: str,
    *,
    out: str | Path = "probe",
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _ignore,
) -> ProbeSummary:
    """Sends probe queries until the kinds of answers are stable, and keeps the answers as a folder that `extract` reads."""
    import asyncio

    from upwell.harvest import loop
    from upwell.results import ProbeSummary

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    probed = asyncio.run(loop.probe(url, plan or Plan(), manners or Manners(), observe))
    lines = []
    for number, (query, response) in enumerate(probed.answers):
        name = f"{number:03d}.html"
        (folder / name).write_bytes(response.body)
        about = {"page": name, "url": response.url, "query": query, "status": response.status}
        lines.append(json.dumps(about, ensure_ascii=False))
    (folder / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    summary = ProbeSummary(
        site=urlsplit(url).netloc,
        requests=probed.requests,
        answers=probed.kinds,
        stable=probed.stable,
        interface=probed.interface,
        pages=len(lines),
    )
    text = json.dumps(summary.as_dict(), ensure_ascii=False, indent=1) + "\n"
    (folder / "summary.json").write_text(text, encoding="utf-8")
    return summary


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
    observe: Observer = _ignore,
) -> Result:
    """From a home page to a table, a summary and a report under `out/<host>`.

    `queries` are asked first: a file with one a line, `DIR:column` for the values of a column of another harvest, or strings.
    The same call again goes on where it was cut off; with a larger budget it goes further; with `Plan(refresh=True)` it asks anew.
    """
    (result,) = harvest_all(
        [url],
        out=out,
        plan=plan,
        manners=manners,
        format=format,
        queries=queries,
        query_log=query_log,
        knowledge_base=knowledge_base,
        observe=observe,
    )
    if isinstance(result, UpwellError):
        raise result
    return result


def harvest_all(
    urls: Sequence[str],
    *,
    out: str | Path = "harvest",
    plan: Plan | None = None,
    manners: Manners | None = None,
    format: Format = "parquet",
    queries: str | Path | Iterable[str] | None = None,
    query_log: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    observe: Observer = _ignore,
) -> list[Result | UpwellError]:
    """Harvests several sites at once; a result or an error for each, in their order: one that fails does not stop the others."""
    import asyncio

    from upwell.harvest import loop
    from upwell.harvest.events import Trouble
    from upwell.harvest.files import write_files
    from upwell.model import Skipped
    from upwell.offline.queries import queries as from_log
    from upwell.offline.queries import read_knowledge
    from upwell.store.folder import folder_of, open_folder
    from upwell.store.query_list import read_queries
    from upwell.store.records import FORMATS

    if format not in FORMATS:
        raise WrongUsage(f"format {format!r} is none of {', '.join(FORMATS)}")
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongUsage(f"{url!r} is not an address; it should begin with http:// or https://")

    def report(stage: str, page: str | Path, reason: str) -> None:
        observe(Trouble(skipped=Skipped(stage=stage, page=str(page), reason=reason)))

    common_plan = plan or Plan()
    if queries is not None:
        common_plan = replace(common_plan, words=(*common_plan.words, *read_queries(queries)))
    if knowledge_base is not None:  # read once for all sites
        base = read_knowledge(knowledge_base, lambda why: report("knowledge base", knowledge_base, why))
        common_plan = replace(common_plan, knowledge=base)

    def plan_for(url: str) -> Plan:
        if query_log is None:
            return common_plan
        host = urlsplit(url).hostname or ""
        logged = from_log(log=query_log, knowledge_base=common_plan.knowledge, site=host)
        if not logged:
            report("query log", query_log, f"no query that led to several pages of {host}")
        return replace(common_plan, words=(*common_plan.words, *(suggested.query for suggested in logged)))

    async def harvest_site(url: str) -> Result | UpwellError:
        try:
            with open_folder(folder_of(url, out)) as (folder, state, archive):
                site = await loop.run(url, plan_for(url), manners or Manners(), observe, state=state, recorder=archive)
                return write_files(site, folder, format)
        except UpwellError as error:
            return error

    return asyncio.run(_run_all([harvest_site(url) for url in urls]))


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
    """The records of a harvest, each as soon as it is held; the files are written when it ends (see `harvest`)."""
    import queue
    import threading

    from upwell.harvest.events import Held

    rows: queue.SimpleQueue[Mapping[str, object] | BaseException | None] = queue.SimpleQueue()  # None: the end

    def pass_on(event: Event) -> None:
        if isinstance(event, Held):
            rows.put(event.row)
        observe(event)

    def run() -> None:
        try:
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
            )
            rows.put(None)
        except BaseException as error:  # noqa: BLE001 # raised in the caller's thread
            rows.put(error)

    threading.Thread(target=run, daemon=True).start()
    while (row := rows.get()) is not None:
        if isinstance(row, BaseException):
            raise row
        yield row


async def _run_all(harvests: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Runs harvests at once so that Ctrl-C cancels each of them, and each ends with what it holds."""
    import asyncio
    import signal

    tasks = [asyncio.ensure_future(harvest) for harvest in harvests]

    def cancel() -> None:
        for task in tasks:
            task.cancel()

    with suppress(ValueError, RuntimeError):  # only the main thread can handle signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, cancel)
    await asyncio.wait(tasks)
    if all(task.cancelled() for task in tasks):
        raise KeyboardInterrupt
    return [task.result() for task in tasks if not task.cancelled()]


def demo(
    *,
    out: str | Path = "demo-harvest",
    switches: Switches | None = None,
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _ignore,
) -> tuple[Result, DemoTruth]:
    """Starts the bundled site, harvests it, and compares the records with what the site truly holds."""
    from upwell.demo import serve
    from upwell.results import DemoTruth
    from upwell.store.records import read_keys

    with serve(switches) as site:
        result = harvest(
            site.url, out=out, plan=plan or Plan(budget=700), manners=manners or Manners(rate=0), observe=observe
        )
        cities = {city.id for city in site.truth}
    last_parts = (urlsplit(key).path.rsplit("/", 1)[-1] for key in read_keys(result.records))
    held = cities & {int(part) for part in last_parts if part.isdigit()}
    return result, DemoTruth(cities=len(cities), held=len(held), coverage=round(len(held) / len(cities), 4))
