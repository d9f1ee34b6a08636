"""`upwell queries`: suggest queries from the user's own tables: texts of the source, a query log, a knowledge base."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from upwell.errors import WrongUsage
from upwell.papers import entity
from upwell.papers.entity import Knowledge, count_mentions, rank_types
from upwell.papers.yuan import SAMPLINGS, Selection, build_snapshot, expected_rates, sample_words, select_queries
from upwell.records.values import column_type
from upwell.results import SuggestedQuery
from upwell.table import readers

__all__ = ["queries", "read_knowledge", "read_log"]

Warn = Callable[[str], None]


def queries(
    *,
    snapshot: str | Path | None = None,
    columns: Sequence[str] = (),
    method: str = "overflow",
    sampling: str = "all",
    words: int = 2000,
    selection: Selection | None = None,
    log: str | Path | None = None,
    knowledge_base: str | Path | Knowledge | None = None,
    site: str = "",
    seed: int = 0,
    curve: bool = False,
    warn: Warn = lambda _: None,
) -> list[SuggestedQuery]:
    """Return suggested queries, best first, from a snapshot of texts, a query log, or a knowledge base combined with either.

    A snapshot is a table or the folder of a harvest; `columns` names its text columns, by default `text`, or else all text columns that
    are not Upwell's own; with `curve`, each query has the hit rate and overlap rate that
    a source with these texts should have after it. `warn` receives warnings about unusable rows.
    """
    if isinstance(columns, str):
        columns = (columns,)
    if snapshot is not None and knowledge_base is not None:
        return _names_of_types(_texts(snapshot, columns, warn), read_knowledge(knowledge_base, warn))
    if snapshot is not None:
        texts = _texts(snapshot, columns, warn)
        return _dictionary(texts, method, sampling, words, selection or Selection(), seed, curve)
    if log is None and knowledge_base is None:
        raise WrongUsage(
            "give --snapshot with a table or the folder of a harvest, or --log with --knowledge; see `upwell queries --help`"
        )
    base = read_knowledge(knowledge_base, warn) if knowledge_base else Knowledge({})
    if log is None:
        raise WrongUsage(
            "a knowledge base alone does not describe the site; add --log, or --snapshot with texts of its records"
        )
    if not site:
        raise WrongUsage("--log needs --site HOST, because queries are suggested for one site")
    return _from_log(log, base, site, warn)


def _dictionary(
    texts: list[str], method: str, sampling: str, words: int, selection: Selection, seed: int, curve: bool
) -> list[SuggestedQuery]:
    """Select a dictionary of queries from texts of the source (Yuan §4–§5)."""
    if sampling not in SAMPLINGS:
        raise WrongUsage(f"sampling must be one of {', '.join(SAMPLINGS)}, not {sampling!r}")
    rng = np.random.default_rng(seed)
    sampled = sample_words(build_snapshot(texts), sampling, words, rng, result_cap=selection.result_cap)
    chosen = select_queries(sampled, method, selection, rng)
    rates = expected_rates(sampled, [choice.query for choice in chosen], selection.result_cap) if curve else []
    return [
        SuggestedQuery(
            query=choice.query,
            expected=choice.expected,
            hit_rate=round(rates[i][0], 4) if curve else None,
            overlap_rate=round(rates[i][1], 3) if curve else None,
        )
        for i, choice in enumerate(chosen)
    ]


def _from_log(log: str | Path, base: Knowledge, site: str, warn: Warn) -> list[SuggestedQuery]:
    """Return the queries that led people to a site, cleaned with the names of a knowledge base (Entity §4.1)."""
    site_queries = entity.queries_for_site(read_log(log, warn), base.names, site)
    return [SuggestedQuery(query=query, expected=clicks) for query, clicks in site_queries]


def read_log(log: str | Path, warn: Warn = lambda _: None) -> list[entity.LogRow]:
    """Read a query log from a table with the columns query, url and clicks."""
    rows = list(entity.parse_log_rows(_rows(log, ["query", "url", "clicks"], warn)))
    usable = [row for row in rows if row is not None]
    if len(usable) < len(rows):
        warn(f"{log}: {len(rows) - len(usable)} rows without query, URL or number of clicks were skipped")
    return usable


def _names_of_types(texts: list[str], base: Knowledge) -> list[SuggestedQuery]:
    """Return the entities of the types that a site's records mention (Entity §4.2, without a log)."""
    ranked = rank_types(base, count_mentions(texts, base.names))
    return [
        SuggestedQuery(query=name, expected=round(score, 4), type=f"{kind.domain}/{kind.name}")
        for kind, score in ranked
        for name in sorted(base.types[kind])
    ]


def _rows(path: str | Path, columns: list[str], warn: Warn) -> list[tuple[str, ...]]:
    """Return the rows of a table that have all the columns."""
    rows = list(readers.read_columns(Path(path), columns))
    usable = [row for row in rows if row is not None]
    if not usable:
        raise WrongUsage(f"{path} has no row with {', '.join(columns)} in {len(rows)} lines")
    if len(usable) < len(rows):
        warn(f"{path}: {len(rows) - len(usable)} of {len(rows)} lines were skipped")
    return usable


def _texts(path: str | Path, columns: Sequence[str], warn: Warn) -> list[str]:
    """Return the texts of a table: the values of the chosen columns of each row, joined; empty rows are skipped."""
    names: dict[str, None] = {}
    rows: list[dict[str, str]] = []
    for row in readers.read_rows(Path(path)):
        names.update(dict.fromkeys(row or ()))
        kept = (row or {}).items()
        rows.append({name: text for name, text in kept if text and (name in columns or not name.startswith("_"))})
    if not any(rows):
        raise WrongUsage(f"{path} has no row with a text in {len(rows)} lines")
    missing = [name for name in columns if name not in names]
    chosen = columns or (["text"] if "text" in names else _text_columns(rows))
    if missing or not chosen:
        problem = f"no column {', '.join(missing)}" if missing else "no column of text"
        raise WrongUsage(f"{path} has {problem}; choose with --column from {', '.join(names)}")
    texts = [" ".join(row[name] for name in chosen if name in row) for row in rows]
    usable = [text for text in texts if text]
    if not usable:
        raise WrongUsage(f"{path} has no row with {', '.join(chosen)} in {len(rows)} lines")
    if len(usable) < len(rows):
        warn(f"{path}: {len(rows) - len(usable)} of {len(rows)} lines were skipped")
    return usable


def _text_columns(rows: list[dict[str, str]]) -> list[str]:
    """Return the columns that contain neither numbers nor prices, dates or URLs."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for name, text in row.items():
            values.setdefault(name, set()).add(text)
    return [name for name, texts in values.items() if column_type(texts) == "text"]


def read_knowledge(path: str | Path | Knowledge, warn: Warn = lambda _: None) -> Knowledge:
    """Read a knowledge base from a table with the columns domain, type and entity; a `Knowledge` is returned unchanged."""
    if isinstance(path, Knowledge):
        return path
    base = Knowledge.of_rows(row or () for row in readers.read_columns(Path(path), ["domain", "type", "entity"]))
    if not base.types:
        raise WrongUsage(f"{path} has no row with domain, type, entity")
    if base.skipped:
        warn(f"{path}: {base.skipped} lines without domain, type or name were skipped")
    return base
