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
from upwell.answers import clusters
from upwell.bench import Table
from upwell.demo import Switches, serve
from upwell.errors import WrongUsage
from upwell.harvest import learn as source
from upwell.harvest import loop, report
from upwell.harvest.events import Event, Observer
from upwell.harvest.learn import SourceModel
from upwell.harvest.loop import Plan
from upwell.model import Request
from upwell.net.fetch import Fetcher, Manners
from upwell.page.tree import TagTree, read
from upwell.site import forms as site_forms
from upwell.site import templates as site_templates
from upwell.store.records import FORMATS, Format, read_keys, write

__all__ = ["Result", "bench", "cluster", "demo", "extract", "forms", "harvest"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, and its summary."""

    folder: Path
    records: Path
    report: Path
    summary: Mapping[str, object]


def _quiet(_: Event) -> None:
    """The observer that does nothing."""


def forms(page: str | Path, *, base_url: str = "", manners: Manners | None = None) -> dict[str, object]:
    """How a site is asked: the forms of a page (a URL or a saved file), judged, and the templates that follow, best first."""
    text = str(page)
    if text.startswith(("http://", "https://")):
        tree = asyncio.run(_get(text, manners or Manners()))
    else:
        path = Path(page)
        if not path.is_file():
            raise WrongUsage(f"{text} is neither a file nor an address that begins with http:// or https://")
        tree = read(path.read_bytes(), url=base_url)
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
            for t in site_templates.find(tree)
        ],
    }


async def _get(url: str, manners: Manners) -> TagTree:
    async with Fetcher(manners) as net:
        response = await net.fetch(Request(url=url))
        return read(response.body, url=response.url, headers=response.headers)


def extract(
    folder: str | Path, *, model: SourceModel | None = None, save: str | Path | None = None, links: bool = False
) -> Iterator[dict[str, object]]:
    """Offline: the kinds and records of a folder of saved answers of one source, one result a page, in page order.

    Learns from all pages together (`save` keeps what was learned), or only applies `model`; `links` puts the targets of a
    record's links behind its text.
    """
    names, trees, queries = _saved(Path(folder))
    if model is None:
        model = source.learn(trees, queries=queries)
    if save is not None:
        Path(save).write_text(model.to_json() + "\n", encoding="utf-8")
    grouped = clusters.group(trees, rng=np.random.default_rng(0)).labels
    for name, tree, query, cluster in zip(names, trees, queries, grouped, strict=True):
        reading = source.apply(model, tree, asked_at=model.asked_at)
        yield {
            "page": name,
            "kind": reading.kind,
            "cluster": cluster,
            "pagelets": [{"path": reading.pagelet, "score": round(reading.score, 2)}] if reading.pagelet else [],
            "records": [
                {"text": " ".join([r.text, *r.links]) if links else r.text, "fields": dict(r.fields), "path": r.path}
                for r in reading.records
            ],
            "checks": source.check(reading, tree, query),
        }


def cluster(folder: str | Path, *, params: clusters.Params | None = None) -> Iterator[dict[str, object]]:
    """Offline: page clustering only; the kind of each page beside its cluster."""
    names, trees, queries = _saved(Path(folder))
    grouped = clusters.group(trees, params, rng=np.random.default_rng(0)).labels
    model = source.learn(trees, queries=queries)
    for name, tree, label in zip(names, trees, grouped, strict=True):
        yield {"page": name, "cluster": label, "kind": source.apply(model, tree, asked_at=model.asked_at).kind}


def _saved(root: Path) -> tuple[list[str], list[TagTree], list[str]]:
    """The pages of a folder: their names, trees and queries ("" where they are not known)."""
    pages = sorted(p for p in root.rglob("*") if p.suffix.lower() in (".html", ".htm") and p.is_file())
    if not pages:
        raise WrongUsage(f"{root} has no .html files; `upwell extract` wants a folder of saved answers of one source")
    known = _pages_file(root)
    names = [p.relative_to(root).as_posix() for p in pages]
    trees = [read(p.read_bytes(), url=known.get(n, {}).get("url") or "") for p, n in zip(pages, names, strict=True)]
    return names, trees, [known.get(name, {}).get("query") or "" for name in names]


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
    brought = asyncio.run(_interruptible(loop.run(url, plan or Plan(), manners or Manners(), observe)))
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
