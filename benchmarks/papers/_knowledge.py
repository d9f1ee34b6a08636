"""How a knowledge base grows (Entity §4.2): the real one is too small, so a larger one is made by joining parts of its names."""

import gzip
import multiprocessing
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.papers import Table
from upwell.papers.entity import Knowledge, count_mentions, rank_sites, rank_types
from upwell.table import readers as tables

__all__ = ["made", "table"]

SIZES = (500_000, 1_000_000, 2_000_000)
AIM = 20_000_000
QUERIES = 100_000


def made(corpora: Path, count: int, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """So many entities in the shares of the real types: the real ones, then the beginning of one and the end of another."""
    types: defaultdict[tuple[str, str], list[list[str]]] = defaultdict(list)
    with gzip.open(corpora / "knowledge" / "entities.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            domain, kind, name = line.rstrip("\n").split("\t")
            if words := name.split():
                types[domain, kind].append(words)
    rng = np.random.default_rng(seed)
    share = np.array([len(names) for names in types.values()], dtype=float)
    for (domain, kind), number in zip(types, rng.multinomial(count, share / share.sum()).tolist(), strict=True):
        names = types[domain, kind]
        for words in names[:number]:
            yield domain, kind, " ".join(words)
        for a, b in rng.integers(len(names), size=(max(0, number - len(names)), 2)).tolist():
            yield domain, kind, " ".join([*names[a][: max(1, len(names[a]) - 1)], *names[b][len(names[b]) // 2 :]])


def _resident() -> float:
    """The memory of this process in MB; the peak that the system keeps is of no use, a child begins with its parent's."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def _measure(path: str) -> dict[str, float]:
    """Loads a base in a process of its own, so that its memory is seen; then finds mentions and ranks."""
    before = _resident()
    clock = [time.process_time()]
    base = Knowledge.of_rows(row for row in tables.read_columns(Path(path), ["domain", "type", "entity"]) if row)
    clock.append(time.process_time())
    names = base.names
    clock.append(time.process_time())
    memory = _resident() - before
    rng = np.random.default_rng(0)
    some = [name for found in base.types.values() for name in sorted(found)[:: max(1, 15 * len(found) // QUERIES)]]
    queries = [f"about {some[i]} online" for i in rng.integers(len(some), size=QUERIES).tolist()]
    sites = {f"site {i}": queries[i::10] for i in range(10)}
    clock.append(time.process_time())
    mentioned = {site: count_mentions(asked, names) for site, asked in sites.items()}
    clock.append(time.process_time())
    rank_types(base, Counter(mentioned["site 0"]))
    clock.append(time.process_time())
    rank_sites(base, mentioned)
    clock.append(time.process_time())
    load, index, _, match, types, ranks = np.diff(clock).tolist()
    return {"names": len(names), "load": load, "index": index, "MB": memory, "rate": QUERIES / match, "types": types, "sites": ranks}  # fmt: skip


def table(corpora: Path) -> Table:
    """Time and memory at half a million to two million entities, and what twenty would take if it goes on like this."""
    rows, found = [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            path = Path(folder) / f"{size}.tsv"
            with path.open("w", encoding="utf-8") as lines:
                lines.writelines("\t".join(row) + "\n" for row in made(corpora, size))
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as own:
                found.append(own.submit(_measure, str(path)).result())
            path.unlink()
    for size, got in zip(SIZES, found, strict=True):
        rows.append([f"{size:,}", f"{got['names']:,.0f}", *_cells(got)])
    line = {name: np.polyfit(SIZES, [got[name] for got in found], 1) for name in ("load", "index", "MB")}
    aim = {**found[-1], **{name: float(np.polyval(fit, AIM)) for name, fit in line.items()}}
    rows.append([f"{AIM:,}", "(extrapolated)", *_cells(aim)[:3], "—", "—", "—"])
    return Table(
        title="A made knowledge base: loading it, finding mentions, ranking types and sites",
        columns=[
            "entities", "distinct names", "load, CPU s", "index, CPU s", "MB", "queries a CPU s", "types for a site, ms", "10 sites, ms",
        ],
        rows=rows,
        note=f"Made from the real names. {QUERIES:,} queries, a tenth for each site; matching and ranking go by the query, not by the base.",
    )  # fmt: skip


def _cells(got: dict[str, float]) -> list[str]:
    times = [f"{1000 * got[name]:.0f}" for name in ("types", "sites")]
    return [f"{got['load']:.1f}", f"{got['index']:.1f}", f"{got['MB']:.0f}", f"{got['rate']:,.0f}", *times]
