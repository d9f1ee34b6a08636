"""`upwell queries`: what to ask, from tables that the user has: texts of the source, a query log, a knowledge base."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from upwell.errors import WrongUsage
from upwell.extract.values import column_type
from upwell.queries import logs
from upwell.queries.knowledge import Knowledge, mentions_in, rank_types
from upwell.queries.select import Selection, select
from upwell.queries.snapshot import SAMPLINGS, of_texts, sample
from upwell.results import SuggestedQuery
from upwell.store import tables

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
    warn: Warn = lambda _: None,
) -> list[SuggestedQuery]:
    """Offline: what to ask, from a snapshot of texts, from a query log, or from a knowledge base with either; best first.

    A snapshot is a table or the folder of a harvest; `columns` says which of its columns are the texts. Without it that is `text`,
    or else all columns of text that are not Upwell's own. `warn` hears of rows that cannot be used.
    """
    if isinstance(columns, str):
        columns = (columns,)
    if snapshot is not None and knowledge_base is not None:
        return _names_of_types(_texts(snapshot, columns, warn), read_knowledge(knowledge_base, warn))
    if snapshot is not None:
        texts = _texts(snapshot, columns, warn)
        return _dictionary(texts, method, sampling, words, selection or Selection(), seed)
    if log is None and knowledge_base is None:
        raise WrongUsage(
            "`upwell queries` wants --snapshot with a table or a harvest's folder, or --log and --knowledge; see upwell queries --help"
        )
    base = read_knowledge(knowledge_base, warn) if knowledge_base else Knowledge({})
    if log is None:
        raise WrongUsage(
            "a knowledge base alone says nothing about the site; give --log too, or --snapshot with texts of its records"
        )
    if not site:
        raise WrongUsage("--log wants --site HOST: the queries are for one site")
    return _from_log(log, base, site, warn)


def _dictionary(
    texts: list[str], method: str, sampling: str, words: int, selection: Selection, seed: int
) -> list[SuggestedQuery]:
    """A dictionary of queries chosen from texts of the source (Yuan ch. 4–5)."""
    if sampling not in SAMPLINGS:
        raise WrongUsage(f"sampling {sampling!r} is none of {', '.join(SAMPLINGS)}")
    rng = np.random.default_rng(seed)
    sampled = sample(of_texts(texts), sampling, words, rng, limit=selection.limit)
    return [
        SuggestedQuery(query=choice.query, expected=choice.expected)
        for choice in select(sampled, method, selection, rng)
    ]


def _from_log(log: str | Path, base: Knowledge, site: str, warn: Warn) -> list[SuggestedQuery]:
    """The queries that led people to a site, cleaned with the names of a knowledge base (Entity §4.1)."""
    found = logs.generate(read_log(log, warn), base.names, site)
    return [SuggestedQuery(query=query, expected=clicks) for query, clicks in found]


def read_log(log: str | Path, warn: Warn = lambda _: None) -> list[logs.LogRow]:
    """A query log from a table of query, url, clicks."""
    rows = list(logs.read_rows(_rows(log, ["query", "url", "clicks"], warn)))
    usable = [row for row in rows if row is not None]
    if len(usable) < len(rows):
        warn(f"{log}: {len(rows) - len(usable)} rows without query, address or a number of clicks left out")
    return usable


def _names_of_types(texts: list[str], base: Knowledge) -> list[SuggestedQuery]:
    """The entities of the types that a site's records are about (Entity §4.2, without a log)."""
    ranked = rank_types(base, mentions_in(texts, base.names))
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


def _texts(path: str | Path, columns: Sequence[str], warn: Warn) -> list[str]:
    """The texts of a table: of each row the values of the columns, joined; rows without any are left out."""
    names: dict[str, None] = {}
    rows: list[dict[str, str]] = []
    for row in tables.rows(Path(path)):
        names.update(dict.fromkeys(row or ()))
        kept = (row or {}).items()
        rows.append({name: text for name, text in kept if text and (name in columns or not name.startswith("_"))})
    if not any(rows):
        raise WrongUsage(f"{path} has no row with a text in {len(rows)} lines")
    missing = [name for name in columns if name not in names]
    chosen = columns or (["text"] if "text" in names else _text_columns(rows))
    if missing or not chosen:
        what = f"no column {', '.join(missing)}" if missing else "no column of text"
        raise WrongUsage(f"{path} has {what}; --column takes one of {', '.join(names)}")
    texts = [" ".join(row[name] for name in chosen if name in row) for row in rows]
    usable = [text for text in texts if text]
    if not usable:
        raise WrongUsage(f"{path} has no row with {', '.join(chosen)} in {len(rows)} lines")
    if len(usable) < len(rows):
        warn(f"{path}: {len(rows) - len(usable)} of {len(rows)} lines left out")
    return usable


def _text_columns(rows: list[dict[str, str]]) -> list[str]:
    """The columns that hold neither numbers nor prices, dates or addresses."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for name, text in row.items():
            values.setdefault(name, set()).add(text)
    return [name for name, texts in values.items() if column_type(texts) == "text"]


def read_knowledge(path: str | Path | Knowledge, warn: Warn = lambda _: None) -> Knowledge:
    """A knowledge base from a table of domain, type, entity; one that was read before is given back."""
    if isinstance(path, Knowledge):
        return path
    base = Knowledge.of_rows(row or () for row in tables.read(Path(path), ["domain", "type", "entity"]))
    if not base.types:
        raise WrongUsage(f"{path} has no row with domain, type, entity")
    if base.skipped:
        warn(f"{path}: {base.skipped} lines without domain, type or name left out")
    return base
