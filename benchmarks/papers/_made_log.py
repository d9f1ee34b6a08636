"""A generated query log, because no public one exists: entities of a knowledge base with the affixes of Entity's Table 3."""

import gzip
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.papers import Table
from upwell.page.tokens import tokens
from upwell.papers import entity as knowledge
from upwell.papers import entity as logs
from upwell.papers.entity import EntityType, Knowledge, LogRow

__all__ = ["AFFIXES", "SITES", "knowledge_of", "rows_of", "tables"]

PREFIXES = ("how", "watch", "download", "is", "which", "free", "the", "best")
PREPOSITIONAL = (
    "lyrics to",
    "pictures of",
    "list of",
    "map of",
    "history of",
    "lyrics for",
    "pics of",
    "lyrics of",
    "facts about",
)
SUFFIXES = ("lyrics", "download", "wiki", "torrent", "online", "video", "review", "pictures")
AFFIXES = frozenset((*PREFIXES, *PREPOSITIONAL, *SUFFIXES))
SITES = {
    "books.example": ("book",),
    "films.example": ("movie",),
    "songs.example": ("music",),
    "tables.example": ("restaurant",),
    "campus.example": ("university",),
    "hoops.example": ("nbaplayer",),
    "media.example": ("book", "movie", "music"),
}


def knowledge_of(corpora: Path) -> Knowledge:
    """Read the knowledge base of the corpora."""
    with gzip.open(corpora / "knowledge" / "entities.tsv.gz", "rt", encoding="utf-8") as lines:
        return Knowledge.of_rows(line.rstrip("\n").split("\t") for line in lines)


def rows_of(base: Knowledge, count: int, seed: int = 0) -> Iterator[LogRow]:
    """Generate log rows: 60 % bare names, 30 % with an affix, 5 % navigational, 5 % two names; clicks are skewed."""
    rng = np.random.default_rng(seed)
    names = {kind: sorted(found) for kind, found in base.types.items()}
    by_site: list[tuple[str, list[EntityType]]] = [(s, [t for t in names if t.domain in ds]) for s, ds in SITES.items()]
    made = 0
    while made < count:
        site, kinds = by_site[int(rng.integers(len(by_site)))]
        kind = kinds[int(rng.integers(len(kinds)))]
        place = (
            min(int(rng.zipf(1.3)) - 1, len(names[kind]) - 1)
            if rng.random() < 0.5
            else int(rng.integers(len(names[kind])))
        )
        name = names[kind][place]
        dice = rng.random()
        if dice < 0.1:
            name = f"{PREFIXES[int(rng.integers(len(PREFIXES)))]} {name}"
        elif dice < 0.2:
            name = f"{PREPOSITIONAL[int(rng.integers(len(PREPOSITIONAL)))]} {name}"
        elif dice < 0.3:
            name = f"{name} {SUFFIXES[int(rng.integers(len(SUFFIXES)))]}"
        elif dice < 0.35:
            yield LogRow(f"{site.split('.')[0]} {name.split()[0]}", f"http://www.{site}/", int(rng.integers(1, 50)))
            made += 1
            continue
        elif dice < 0.4:
            other = names[kind][int(rng.integers(len(names[kind])))]
            name = f"{name} {other}"
        for page in range(2):
            yield LogRow(name, f"http://www.{site}/item/{place}-{page}", int(rng.integers(2, 12)))
            made += 1


def tables(corpora: Path) -> Iterator[Table]:
    """Yield Entity's Figures 5 and 6 for a generated log, and the speed of finding mentions."""
    base = knowledge_of(corpora)
    rows = list(rows_of(base, 1_000_000))
    names = base.names
    queries = [row.query for row in rows]
    start = time.process_time()
    affixes = logs.count_affixes(queries, names, logs.LogCleaning())
    cleaned = [logs.clean_query(query, affixes) for query in queries]
    rate = len(queries) / (time.process_time() - start)
    table = []
    for top in (10, 20, 50, 100, 200):
        affixes.choose(logs.LogCleaning(top=top))
        stripped = [" ".join(a) for a in (*affixes.strip_prefixes, *affixes.strip_suffixes)]
        right = sum(a in AFFIXES for a in stripped) / max(1, len(stripped))
        touched = sum(logs.clean_query(q, affixes) != " ".join(tokens(q)) for q in queries[:100_000]) / min(
            len(queries), 100_000
        )
        table.append([top, f"{right:.2f}", f"{touched:.1%}", "plot only; 19 % at 200" if top == 200 else "plot only"])
    yield Table(
        title=f"A made log of {len(rows):,} rows ({len(set(queries)):,} distinct queries): top affixes",
        columns=["top affixes", "precision", "queries cleaned", "Entity Figure 5"],
        rows=table,
        note=f"Made of {sum(map(len, base.types.values())):,} entities and the affixes of Entity's Table 3. {rate:,.0f} queries a "
        f"CPU-second for mentions, affixes and cleaning; distinct queries fall by "
        f"{1 - len(set(cleaned)) / len(set(queries)):.1%} (Entity: 12 %). Only {len(AFFIXES)} affixes are in the log, so that "
        "precision must fall after that.",
    )
    by_site = {
        s: knowledge.count_mentions(found, names)
        for s, found in logs.informational_queries(rows, logs.LogCleaning()).items()
    }
    matches = knowledge.rank_sites(base, by_site)
    fitting = {(kind, s) for kind in base.types for s, domains in SITES.items() if kind.domain in domains}
    scored = []
    for threshold in (0.1, 0.3, 0.5, 0.7, 0.9):
        kept = {(kind, s) for kind, found in matches.items() for s, score in found if score >= threshold * found[0][1]}
        scored.append(
            [
                threshold,
                len(kept),
                f"{len(kept & fitting) / max(1, len(kept)):.2f}",
                f"{len(kept & fitting) / len(fitting):.2f}",
                "plot only; 0.5 is used",
            ]
        )
    yield Table(
        title="Types matched to the sites of the made log, by relative threshold (rank_sites keeps those from 0.5 on)",
        columns=["threshold", "matches", "precision", "recall", "Entity Figure 6"],
        rows=scored,
    )
