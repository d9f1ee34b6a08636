"""Queries from tables that the user has: texts of the source, a query log, a knowledge base."""

from pathlib import Path

import numpy as np

from upwell.errors import WrongUsage
from upwell.queries import logs
from upwell.queries.knowledge import Knowledge, mentions_in, rank_types
from upwell.queries.select import Selection, select
from upwell.queries.snapshot import SAMPLINGS, of_texts, sample
from upwell.store import tables

__all__ = ["queries"]


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
    base = Knowledge.of_rows(row or () for row in tables.read(Path(path), ["domain", "type", "entity"]))
    if not base.types:
        raise WrongUsage(f"{path} has no row with domain, type, entity")
    return base, [f"{path}: {base.skipped} lines without domain, type or name left out"] if base.skipped else []


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
