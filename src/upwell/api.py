"""The verbs: the chosen parts wired together. The command line has the same verbs with the same names."""

import asyncio
import errno
import importlib
import json
import pkgutil
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import numpy as np

from upwell import bench as benches
from upwell.answers import clusters
from upwell.bench import Table
from upwell.demo import Switches, serve
from upwell.errors import CannotKeep, Forbidden, Unreachable, WrongUsage
from upwell.extract import blocks as informative
from upwell.harvest import learn as source
from upwell.harvest import loop, offline, report, saved
from upwell.harvest.crawl import Frontier
from upwell.harvest.events import Event, Observer
from upwell.harvest.learn import SourceModel
from upwell.harvest.result import Plan, Site
from upwell.harvest.ways import Browser, Ways, look
from upwell.model import Request
from upwell.net.archive import Archive
from upwell.net.browser import Chromium
from upwell.net.fetch import Fetcher, Manners
from upwell.page.tree import TagTree, read
from upwell.queries import logs
from upwell.queries.knowledge import Knowledge, mentions_in, rank_types
from upwell.queries.select import Selection, select
from upwell.queries.snapshot import SAMPLINGS, of_texts, sample
from upwell.site import forms as site_forms
from upwell.site import templates as site_templates
from upwell.store import tables
from upwell.store.records import FORMATS, Format, read_keys, write
from upwell.store.state import State

__all__ = ["Result", "bench", "blocks", "cluster", "demo", "extract", "forms", "harvest", "probe", "queries"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, and its summary."""

    folder: Path
    records: Path
    report: Path
    summary: Mapping[str, object]


def _quiet(_: Event) -> None:
    """The observer that does nothing."""


def forms(
    page: str | Path, *, base_url: str = "", manners: Manners | None = None, browser: Browser = "auto"
) -> dict[str, object]:
    """How a site is asked: the forms of a page, judged, and the templates that follow, best first.

    A saved file is only read. At an address the interfaces are tried with a few queries, so that one that finds nothing is not
    offered, and where the page has none, pages one or two clicks away are looked at, and then the browser's view of it.
    """
    text = str(page)
    if text.startswith(("http://", "https://")):
        ways = asyncio.run(_look(text, manners or Manners(), browser))
        tree, found = ways.home, tuple(ways.found)
    else:
        path = Path(page)
        if not path.is_file():
            raise WrongUsage(f"{text} is neither a file nor an address that begins with http:// or https://")
        tree = read(path.read_bytes(), url=base_url)
        found = site_templates.find(tree)
    return {
        "page": text,
        "forms": [
            {"index": f.index, "kind": f.kind, "score": f.score, "query_field": f.query_field}
            for f in site_forms.find(tree)
        ],
        "templates": [
            {
                "method": t.method,
                "url": t.url,
                "query_field": t.query_field,
                "fields": dict(t.fields),
                "score": t.score,
                "via": t.via,
            }
            for t in found
        ],
    }


async def _look(url: str, manners: Manners, browser: Browser) -> Ways:
    async with Fetcher(manners, typed=(url,)) as net, Chromium(net) as chromium:
        return await loop.drive(look(url, np.random.default_rng(0), browser), net, chromium)


def extract(
    folder: str | Path,
    *,
    model: SourceModel | None = None,
    save: str | Path | None = None,
    links: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, object]]:
    """Offline: the kinds and records of saved answers of one source (a folder of HTML or JSON, or WARC), one result a page, in page order.

    Learns from all pages together (`save` keeps what was learned), or only applies `model`; `links` puts the targets of a
    record's links behind its text; `warn` hears what looks wrong. Memory does not grow with the number of pages.
    """
    return offline.extract(Path(folder), model, Path(save) if save is not None else None, links, warn)


def cluster(folder: str | Path, *, params: clusters.Params | None = None) -> Iterator[dict[str, object]]:
    """Offline: page clustering only; the kind of each page beside its cluster."""
    names, trees, queries = saved.answers(Path(folder))
    grouped = clusters.group(trees, params, rng=np.random.default_rng(0)).labels
    model = source.learn(trees, queries=queries)
    for name, tree, label in zip(names, trees, grouped, strict=True):
        yield {"page": name, "cluster": label, "kind": source.apply(model, tree, asked_at=model.asked_at).kind}


LEARN_BLOCKS = 1000  # pages of a site that are learned from; Wisdom §4.1: entropies stay within 0.1 past 200


def blocks(
    *places: str | Path,
    depth: int = 1,
    follow: Literal["all", "toc"] = "all",
    budget: int = 200,
    manners: Manners | None = None,
) -> Iterator[dict[str, object]]:
    """The informative blocks of the pages of one site, one result a page: saved pages (files and folders), or crawled from an address."""
    if follow not in ("all", "toc"):
        raise WrongUsage(f"follow {follow!r} is neither all nor toc")
    if len(places) == 1 and str(places[0]).startswith(("http://", "https://")):
        crawled = asyncio.run(_crawl(str(places[0]), depth, follow, budget, manners or Manners()))
        site = informative.learn(tree for _, tree in crawled)
        for name, tree in crawled:
            yield _blocks_of(name, tree, site)
        return
    pages = [page for place in places for page in saved.pages(place)]
    step = max(1, len(pages) / LEARN_BLOCKS)
    sample = [pages[int(i * step)] for i in range(min(len(pages), LEARN_BLOCKS))]
    site = informative.learn(read(body(), url=url) for _, body, url in sample)
    for name, body, url in pages:  # read again, so that memory does not grow with the site
        yield _blocks_of(name, read(body(), url=url), site)


def _blocks_of(name: str, tree: TagTree, site: informative.Site) -> dict[str, object]:
    found = informative.read_blocks(tree, site).blocks
    structure = informative.structure_of(tree, found)
    return {
        "page": name,
        "structure": structure.as_dict() if structure else None,
        "blocks": [{"type": b.type, "path": tree.path(b.row), "text": b.text, "score": b.score} for b in found],
    }


async def _crawl(
    entrance: str, depth: int, follow: Literal["all", "toc"], budget: int, manners: Manners
) -> list[tuple[str, TagTree]]:
    """The pages of a site from an entrance page; with `toc` only along links that inform (Wisdom §3.1)."""
    frontier = Frontier(entrance, depth)
    pages: list[tuple[str, TagTree]] = []
    site = informative.Site()
    async with Fetcher(manners) as net:
        while frontier and len(pages) < budget:
            address, level = frontier.pop()
            try:
                response = await net.fetch(Request(url=address))
            except (Forbidden, Unreachable):
                if not pages:
                    raise  # without the entrance there is nothing
                continue
            kind = response.headers.get("Content-Type", "text/html")
            if response.status >= 400 or "html" not in kind:
                if not pages:
                    raise Unreachable(
                        f"{address} answered with status {response.status} and {kind}; it is no page to start from"
                    )
                continue
            tree = read(response.body, url=response.url, headers=response.headers)
            pages.append((address, tree))
            if follow == "toc":
                site.add(tree)
                known = informative.read_blocks(tree, site).blocks
                frontier.add((a for b in known if b.type == "toc" for a in informative.links_of(tree, b)), level)
            else:
                frontier.add((found for _, found in tree.links()), level)
    return pages


def queries(
    *,
    snapshot: str | Path | None = None,
    method: str = "overflow",
    sampling: str = "all",
    words: int = 2000,
    selection: Selection | None = None,
    log: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    site: str = "",
    seed: int = 0,
) -> tuple[list[dict[str, object]], list[str]]:
    """Offline: what to ask, from a snapshot of texts, or from a query log and a knowledge base; also what was odd about the files."""
    if snapshot is not None and knowledge_base is not None:
        return _of_types(snapshot, knowledge_base)
    if snapshot is not None:
        if sampling not in SAMPLINGS:
            raise WrongUsage(f"sampling {sampling!r} is none of {', '.join(SAMPLINGS)}")
        texts, odd = _rows(snapshot, ["text"])
        how = selection or Selection()
        rng = np.random.default_rng(seed)
        some = sample(of_texts(text for (text,) in texts), sampling, words, rng, limit=how.limit)
        chosen = select(some, method, how, rng)
        return [{"query": c.query, "expected": c.expected} for c in chosen], odd
    if log is None and knowledge_base is None:
        raise WrongUsage(
            "`upwell queries` wants --snapshot FILE.jsonl, or --log and --knowledge; see upwell queries --help"
        )
    base, odd = _knowledge(knowledge_base) if knowledge_base else (Knowledge({}), [])
    if log is None:
        raise WrongUsage(
            "a knowledge base alone says nothing about the site; give --log too, or --snapshot with texts of its records"
        )
    if not site:
        raise WrongUsage("--log wants --site HOST: the queries are for one site")
    cells, broken = _rows(log, ["query", "url", "clicks"])
    rows = list(logs.read_rows(cells))
    good = [row for row in rows if row is not None]
    if len(good) < len(rows):
        broken.append(f"{log}: {len(rows) - len(good)} rows without query, address or a number of clicks left out")
    generated = logs.generate(good, base.names, site)
    return [{"query": query, "expected": clicks} for query, clicks in generated], [*odd, *broken]


def _rows(path: str | Path, columns: list[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of a table of the user's, and what was odd about it."""
    rows = list(tables.read(Path(path), columns))
    good = [row for row in rows if row is not None]
    if not good:
        raise WrongUsage(f"{path} has no row with {', '.join(columns)} in {len(rows)} lines")
    return good, [f"{path}: {len(rows) - len(good)} of {len(rows)} lines left out"] if len(good) < len(rows) else []


def _knowledge(path: str | Path) -> tuple[Knowledge, list[str]]:
    rows, odd = _rows(path, ["domain", "type", "entity"])
    base = Knowledge.of_rows(rows)
    return base, [*odd, f"{path}: {base.skipped} entities without a name left out"] if base.skipped else odd


def _of_types(records: str | Path, knowledge_base: str | Path) -> tuple[list[dict[str, object]], list[str]]:
    """The entities of the types that a site's records are about (Entity §4.2, without a log)."""
    texts, odd = _rows(records, ["text"])
    base, more = _knowledge(knowledge_base)
    ranked = rank_types(base, mentions_in((text for (text,) in texts), base.names))
    found = [
        {"query": name, "expected": round(score, 4), "type": f"{kind.domain}/{kind.name}"}
        for kind, score in ranked
        for name in sorted(base.types[kind])
    ]
    return found, [*odd, *more]


def probe(
    url: str,
    *,
    out: str | Path = "probe",
    plan: Plan | None = None,
    manners: Manners | None = None,
    observe: Observer = _quiet,
) -> dict[str, object]:
    """Sends probe queries until the kinds of answers are stable, and keeps the answers as a folder that `extract` reads."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    asked = asyncio.run(loop.probe(url, plan or Plan(), manners or Manners(), observe))
    lines = []
    for number, (query, response) in enumerate(asked.answers):
        name = f"{number:03d}.html"
        (folder / name).write_bytes(response.body)
        lines.append(
            json.dumps(
                {"page": name, "url": response.url, "query": query, "status": response.status}, ensure_ascii=False
            )
        )
    (folder / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    summary: dict[str, object] = {
        "site": urlsplit(url).netloc,
        "requests": asked.requests,
        "answers": asked.kinds,
        "stable": asked.stable,
        "template": {
            "method": asked.template.method,
            "url": asked.template.url,
            "query_field": asked.template.query_field,
        },
        "pages": len(lines),
    }
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return summary


def bench(name: str, *, corpora: str | Path, out: str | Path = "bench") -> Iterator[Table]:
    """Reproduces a paper's tables, or compares with a peer; plots are left in `out`."""
    known = sorted(m.name for m in pkgutil.iter_modules(benches.__path__) if not m.name.startswith("_"))
    if name not in known:
        raise WrongUsage(f"there is no bench {name!r}; there are {', '.join(known)}")
    if not Path(corpora).is_dir():
        raise WrongUsage(f"{corpora} is no folder: `upwell bench` wants the labelled corpora (--corpora)")
    Path(out).mkdir(parents=True, exist_ok=True)
    yield from importlib.import_module(f"{benches.__name__}.{name}").run(Path(corpora), Path(out))


def harvest(
    url: str,
    *,
    out: str | Path = "harvest",
    plan: Plan | None = None,
    manners: Manners | None = None,
    format: Format = "parquet",
    observe: Observer = _quiet,
) -> Result:
    """Everything: from a home page to a table, a summary and a report under `out/<host>`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongUsage(f"{url!r} is not an address; it should begin with http:// or https://")
    if format not in FORMATS:
        raise WrongUsage(f"format {format!r} is none of {', '.join(FORMATS)}")
    folder = Path(out) / (parts.hostname + (f"_{parts.port}" if parts.port else ""))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error
    with _kept(folder) as (state, archive):
        running = loop.run(url, plan or Plan(), manners or Manners(), observe, state=state, recorder=archive)
        site = asyncio.run(_interruptible(running))
        return _written(site, folder, format)


@contextmanager
def _kept(folder: Path) -> Iterator[tuple[State, Archive]]:
    """The state and the archive of a site's folder; what a disk cannot take is said in one line."""
    try:
        with State(folder / "state.sqlite") as state, Archive(folder / "archive") as archive:
            yield state, archive
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT):
            raise
        raise CannotKeep(
            f"{folder}: {error.strerror}; make room or make it writable and run the same command again, it goes on where it was"
        ) from error


def _written(site: Site, folder: Path, format: Format) -> Result:
    """Writes what a harvest brought, each file whole or not at all."""
    summary = site.summary()
    records = write(site.state.rows(), folder, format)
    models = [json.loads(one.model.to_json()) | {"template": asdict(one.template)} for one in site.sources]
    texts = {
        "source.json": json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1) + "\n",
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=1) + "\n",
        "report.html": report.html(site),
    }
    for name, text in texts.items():
        partial = folder / f".{name}.part"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary)


async def _interruptible(running: Coroutine[None, None, T]) -> T:
    """Runs a harvest so that Ctrl-C cancels it, and it ends with what it has."""
    task = asyncio.ensure_future(running)
    with suppress(ValueError, RuntimeError):  # only the main thread hears of signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    return await task


def demo(
    *, out: str | Path = "demo-harvest", switches: Switches | None = None, budget: int = 700, observe: Observer = _quiet
) -> tuple[Result, dict[str, object]]:
    """Starts the bundled site, harvests it, and compares with what it truly holds."""
    with serve(switches) as site:
        result = harvest(site.url, out=out, plan=Plan(budget=budget), manners=Manners(rate=0), observe=observe)
        true = {city.id for city in site.truth}
    places = (urlsplit(key).path.rsplit("/", 1)[-1] for key in read_keys(result.records))
    held = {int(place) for place in places if place.isdigit()}
    return result, {"cities": len(true), "held": len(held & true), "coverage": round(len(held & true) / len(true), 4)}
