"""The user's own queries: a file with one a line, a column of a table, or plain strings."""

import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.store import tables

__all__ = ["keys_by_query", "place_of", "read_queries"]

TABLES = (".parquet", ".sqlite", ".csv", ".tsv")  # files that are read by column, never line by line
QUERY_COLUMN = "query"  # of a table for which no column is named, and the key that `upwell queries --json` writes
FORMS = "a file with one query a line, or DIR:column"


def read_queries(given: str | Path | Iterable[str]) -> tuple[str, ...]:
    """Queries in their order, each once.

    A file has one a line, as plain text or as JSON with the key `query`; what follows a tab, empty lines and lines that begin with #
    are left out. `DIR:column` and `FILE:column` stand for the values of a column of a harvest or of a table.
    """
    if isinstance(given, str | Path):
        path, column = place_of(str(given))
        is_table = path.is_dir() or path.name.removesuffix(".gz").endswith(TABLES)
        found = _values(path, column or QUERY_COLUMN) if column or is_table else _lines(path)
        what = f"{path} has no query in it" if not column else f"{path} has no value of {column}"
    else:
        found, what = iter(given), "there is no query among those given"
    queries = tuple(dict.fromkeys(query for text in found if (query := " ".join(text.split()))))
    if not queries:
        raise WrongUsage(what)
    return queries


def keys_by_query(given: str | Path | Iterable[str]) -> dict[str, list[str]]:
    """For queries that are the values of a column of a harvest: the keys of the rows that each stands in; nothing for other queries."""
    if not isinstance(given, str | Path):
        return {}
    path, column = place_of(str(given))
    keys: dict[str, list[str]] = {}
    for row in tables.rows(path) if column else ():
        if row and row.get(column) and row.get("_key"):
            keys.setdefault(" ".join(row[column].split()), []).append(row["_key"])
    return keys


def place_of(text: str, taken_by: str = "--queries", forms: str = FORMS) -> tuple[Path, str]:
    """The path and the column, if one is named behind the last colon."""
    path, colon, column = (text, "", "") if Path(text).exists() else text.rpartition(":")
    if not colon and not path:
        raise WrongUsage(f"{text} does not exist; {taken_by} takes {forms}")
    if not Path(path).exists():
        raise WrongUsage(f"{path} (of {text}) does not exist; {taken_by} takes {forms}")
    return Path(path), column


def _values(path: Path, column: str) -> Iterator[str]:
    """The values of a column."""
    names: dict[str, None] = {}
    for row in tables.rows(path):
        names.update(dict.fromkeys(row or ()))
        if row and column in row:
            yield row[column]
    if column not in names:
        raise WrongUsage(f"{path} has no column {column}; name one as {path}:column, of {', '.join(names) or 'none'}")


def _lines(path: Path) -> Iterator[str]:
    """The queries of a text file."""
    try:
        with tables.open_text(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith("{"):
                    yield _json_query(line, f"{path}, line {number}")
                elif not line.startswith("#"):
                    yield line.partition("\t")[0]
    except (OSError, EOFError, zlib.error) as error:
        raise WrongUsage(f"{path} cannot be read: {error}") from error


def _json_query(line: str, where: str) -> str:
    try:
        return str(json.loads(line)[QUERY_COLUMN])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WrongUsage(
            f'{where}: it should be JSON with "{QUERY_COLUMN}", as `upwell queries --json` writes'
        ) from error
