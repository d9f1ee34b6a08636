"""The verbs: the chosen parts wired together. The command line has the same verbs with the same names."""

import asyncio
import importlib
import json
import pkgutil
import signal
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from upwell import bench as benches
from upwell.bench import Table
from upwell.demo import Switches, serve
from upwell.errors import WrongUsage
from upwell.harvest import learn as source
from upwell.harvest import loop, report
from upwell.harvest.events import Event, Observer
from upwell.harvest.loop import Plan
from upwell.harvest.ways import Browser, Ways, look
from upwell.net import archive
from upwell.net.archive import Archive, Saved
from upwell.net.browser import Chromium
from upwell.net.fetch import Fetcher, Manners
from upwell.page.tree import read
from upwell.site import forms as site_forms
from upwell.site import templates as site_templates
from upwell.store.records import FORMATS, Format, read_keys, write

__all__ = ["Result", "bench", "demo", "extract", "forms", "harvest"]


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


def extract(folder: str | Path) -> Iterator[dict[str, object]]:
    """Offline: the kinds and records of saved answers of one source (a folder of HTML, or WARC), one result a page, in page order."""
    saved = list(_saved(Path(folder)))
    trees = [read(page.body, url=page.url, headers=page.headers) for page in saved]
    model = source.learn(trees)
    for name, tree in zip((page.page for page in saved), trees, strict=True):
        reading = source.apply(model, tree)
        yield {
            "page": name,
            "kind": reading.kind,
            "cluster": ("multi", "single", "none", "error").index(reading.kind),
            "pagelets": [{"path": reading.pagelet, "score": 1.0}] if reading.pagelet else [],
            "records": [{"text": r.text, "fields": dict(r.fields), "path": r.path} for r in reading.records],
        }


def _saved(root: Path) -> Iterator[Saved]:
    """The saved pages at a path: HTML files below it, with what `pages.jsonl` says of them; without any, the answers of its WARC files."""
    pages = sorted(p for p in root.rglob("*") if p.suffix.lower() in (".html", ".htm") and p.is_file())
    if not pages and not archive.files(root):
        raise WrongUsage(f"{root} has no .html files and no WARC; this wants saved answers of one source")
    known = _pages_file(root)
    for path in pages:
        name = path.relative_to(root).as_posix()
        said = known.get(name, {})
        url, query = said.get("url") or "", said.get("query") or ""
        yield Saved(page=name, url=url, query=query, status=200, headers={}, body=path.read_bytes())
    if not pages:
        yield from archive.pages(root)


def _pages_file(root: Path) -> dict[str, dict[str, str]]:
    """What `pages.jsonl` says of the pages of a folder, where there is one."""
    path = root / "pages.jsonl"
    if not path.is_file():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {row["page"]: row for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise WrongUsage(f'{path} is not JSON Lines with a "page" in each line ({error})') from error


def bench(name: str, *, corpora: str | Path, out: str | Path = "bench") -> Iterator[Table]:
    """Reproduces a paper's tables, or compares with a peer; plots are left in `out`."""
    known = sorted(module.name for module in pkgutil.iter_modules(benches.__path__))
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
    with Archive(folder / "archive") as kept:
        running = loop.run(url, plan or Plan(), manners or Manners(), observe, recorder=kept)
        brought = asyncio.run(_interruptible(running))
    summary = brought.summary()
    records = write(list(brought.records.values()), folder, format)
    (folder / "source.json").write_text(brought.model.to_json() + "\n", encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (folder / "report.html").write_text(report.html(brought), encoding="utf-8")
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary)


async def _interruptible(running: Coroutine[None, None, loop.Harvest]) -> loop.Harvest:
    """Runs a harvest so that Ctrl-C cancels it, and it ends with what it has."""
    task = asyncio.ensure_future(running)
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
