"""`upwell queries`: what to ask, from tables that the user has: texts of the source, a query log, a knowledge base."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from upwell.errors import WrongUsage
from upwell.queries import logs
from upwell.queries.knowledge import Knowledge, mentions_in, rank_types
from upwell.queries.select import Selection, select
from upwell.queries.snapshot import SAMPLINGS, of_texts, sample
from upwell.results import SuggestedQuery
from upwell.store import tables

__all__ = ["queries"]

Warn = Callable[[str], None]


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
    warn: Warn = lambda _: None,
) -> list[SuggestedQuery]:
    """Offline: what to ask, from a snapshot of texts, from a query log, or from a knowledge base with either; best first.

    `warn` hears of rows that cannot be used.
    """
    if snapshot is not None and knowledge_base is not None:
        return _names_of_types(snapshot, knowledge_base, warn)
    if snapshot is not None:
        return _dictionary(snapshot, method, sampling, words, selection or Selection(), seed, warn)
    if log is None and knowledge_base is None:
        raise WrongUsage(
            "`upwell queries` wants --snapshot FILE.jsonl, or --log and --knowledge; see upwell queries --help"
        )
    base = _knowledge(knowledge_base, warn) if knowledge_base else Knowledge({})
    if log is None:
        raise WrongUsage(
            "a knowledge base alone says nothing about the site; give --log too, or --snapshot with texts of its records"
        )
    if not site:
        raise WrongUsage("--log wants --site HOST: the queries are for one site")
    return _from_log(log, base, site, warn)


def _dictionary(
    snapshot: str | Path, method: str, sampling: str, words: int, selection: Selection, seed: int, warn: Warn
) -> list[SuggestedQuery]:
    """A dictionary of queries chosen from texts of the source (Yuan ch. 4–5)."""
    if sampling not in SAMPLINGS:
        raise WrongUsage(f"sampling {sampling!r} is none of {', '.join(SAMPLINGS)}")
    rng = np.random.default_rng(seed)
    texts = of_texts(text for (text,) in _rows(snapshot, ["text"], warn))
    sampled = sample(texts, sampling, words, rng, limit=selection.limit)
    return [
        SuggestedQuery(query=choice.query, expected=choice.expected)
        for choice in select(sampled, method, selection, rng)
    ]


def _from_log(log: str | Path, base: Knowledge, site: str, warn: Warn) -> list[SuggestedQuery]:
    """The queries that led people to a site, cleaned with the names of a knowledge base (Entity §4.1)."""
    rows = list(logs.read_rows(_rows(log, ["query", "url", "clicks"], warn)))
    usable = [row for row in rows if row is not None]
    if len(usable) < len(rows):
        warn(f"{log}: {len(rows) - len(usable)} rows without query, address or a number of clicks left out")
    return [SuggestedQuery(query=query, expected=clicks) for query, clicks in logs.generate(usable, base.names, site)]


def _names_of_types(records: str | Path, knowledge_base: str | Path, warn: Warn) -> list[SuggestedQuery]:
    """The entities of the types that a site's records are about (Entity §4.2, without a log)."""
    texts = _rows(records, ["text"], warn)
    base = _knowledge(knowledge_base, warn)
    ranked = rank_types(base, mentions_in((text for (text,) in texts), base.names))
    return [
        SuggestedQuery(query=name, expected=round(score, 4), type=f"{kind.domain}/{kind.name}")
        for kind, score in ranked
        for name in sorted(base.types[kind])
    ]


def _rows(path: str | Path, columns: list[str], warn: Warn) -> list[tuple[str, ...]]:
    """The rows of a table that have all the columns."""
    rows = list(tables.read(Path(path), columns))
    usable = [row for row in rows if row is not None]
    if not usable:
        raise WrongUsage(f"{path} has no row with {', '.join(columns)} in {len(rows)} lines")
    if len(usable) < len(rows):
        warn(f"{path}: {len(rows) - len(usable)} of {len(rows)} lines left out")
    return usable


def _knowledge(path: str | Path, warn: Warn) -> Knowledge:
    base = Knowledge.of_rows(row or () for row in tables.read(Path(path), ["domain", "type", "entity"]))
    if not base.types:
        raise WrongUsage(f"{path} has no row with domain, type, entity")
    if base.skipped:
        warn(f"{path}: {base.skipped} lines without domain, type or name left out")
    return base
