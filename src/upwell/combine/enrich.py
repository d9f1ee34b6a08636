"""Enrich a table with another source: send each value of a column as a query, and add the best record's fields to the row.

Answers are kept in a state file (`store.state`), so that the same command continues after an interruption.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from upwell.combine.ask import ask_each
from upwell.combine.learned_source import LearnedSource, SourceAnswer, load_sources, source_files
from upwell.combine.search_index import fold
from upwell.errors import WrongUsage
from upwell.net.manners import Manners
from upwell.page.tokens import tokens
from upwell.store.state import State
from upwell.table import readers
from upwell.table.readers import split_column
from upwell.table.writers import Format, write

__all__ = ["EnrichResult", "best_record", "enrich_table"]

Row = Mapping[str, object]
# Jaccard similarity between a value and the most similar field of a record, for the record to count; not swept
MIN_LIKENESS = 0.5
ANSWER_PREFIX = "_answer_"  # prefix of the columns that name the source and URL of the added fields


@dataclass(frozen=True, kw_only=True)
class EnrichResult:
    """Outcome of enriching a table."""

    file: Path
    rows: int
    values: int  # distinct values of the column
    asked: int  # values that were sent as queries
    found: int  # rows that received fields
    columns: tuple[str, ...]  # added columns
    requests: int
    stopped: str  # exhausted, budget or interrupted

    def as_dict(self) -> dict[str, object]:
        """Return the value as JSON-compatible data."""
        return {**vars(self), "file": str(self.file), "columns": list(self.columns)}


async def enrich_table(
    place: str,
    source: str | Path,
    *,
    out: Path | None,
    budget: int,
    manners: Manners,
    format: Format,
    tell: Callable[[str], None],
) -> EnrichResult:
    """Query the source for each value of the column in `DIR:column`, and write the enriched rows; if cancelled, with the answers so far."""
    table, column, rows = read_rows(place)
    (file, *other_files) = source_files([source])
    learned = load_sources(file)
    if other_files or len(learned) > 1:
        raise WrongUsage(f"{source} has several sources; copy one of them into its own source.json, and use that")
    values = [value for value in dict.fromkeys(query_text(row.get(column)) for row in rows) if value]
    folder = out or table.parent
    name = f"enriched-{_safe_name(learned[0].name, '.-')}"
    answers: dict[str, SourceAnswer] = {}
    with _open_state(folder, f"{name}.state.sqlite") as state:
        try:
            stopped = await ask_each(
                learned[0], values, manners=manners, memory=state, budget=budget, answers=answers, tell=tell
            )
        except asyncio.CancelledError:
            stopped = "interrupted"
        requests = state.requests_sent()
    target = folder / f"{name}.{format}"
    rows_enriched, columns = write_enriched(rows, column, answers, learned[0], target, format)
    return EnrichResult(
        file=target,
        rows=len(rows),
        values=len(values),
        asked=len(answers),
        found=rows_enriched,
        columns=columns,
        requests=requests,
        stopped=stopped,
    )


def _open_state(folder: Path, name: str) -> State:
    """Open the state file, creating its folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; choose another folder with -o") from error
    return State(folder / name)


def read_rows(place: str) -> tuple[Path, str, list[dict[str, object]]]:
    """Read `DIR:column`: return the table's file, the column, and the rows."""
    path, column = split_column(place, "upwell enrich", "DIR:column")
    if not column:
        raise WrongUsage(f"{place} has no column name; use {place}:column")
    file = readers.table_path(path)
    rows = [row for row in readers.read_values(file) if row is not None]
    if names := dict.fromkeys(name for row in rows for name in row):
        if column not in names:
            raise WrongUsage(f"{file} has no column {column}; its columns are {', '.join(names)}")
        return file, column, rows
    raise WrongUsage(f"{file} has no rows to enrich")


def best_record(value: str, row: Row, answer: SourceAnswer) -> int | None:
    """Return the number of the record whose most similar field fits the value; ties are broken by overlap with the row."""
    value_words = _words(value)
    row_words = _words(" ".join(str(other) for name, other in row.items() if not name.startswith("_"))) - value_words
    best_score: tuple[float, float, int] | None = None
    for number, fields in enumerate(answer.fields):
        likeness = max((_likeness(value_words, _words(str(text))) for text in fields.values()), default=0.0)
        if likeness < MIN_LIKENESS:
            continue
        record_words = _words(" ".join(map(str, fields.values())))
        score = (likeness, len(row_words & record_words) / max(1, len(row_words)), -number)
        if best_score is None or score > best_score:
            best_score = score
    return None if best_score is None else -best_score[2]


def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(fold(text)))


def _likeness(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of words."""
    return len(a & b) / len(a | b) if a and b else 0.0


def write_enriched(
    rows: Sequence[Row],
    column: str,
    answers: Mapping[str, SourceAnswer],
    source: LearnedSource,
    file: Path,
    format: Format,
) -> tuple[int, tuple[str, ...]]:
    """Write the rows with the fields of the best records; return the number of enriched rows and the added columns."""
    existing = {name for row in rows for name in row}
    matches: list[tuple[SourceAnswer, int] | None] = []
    new_fields: dict[str, None] = {}  # fields with values that the row does not contain
    for row in rows:
        answer = answers.get(query_text(row.get(column)))
        number = best_record(query_text(row.get(column)), row, answer) if answer is not None else None
        matches.append((answer, number) if answer is not None and number is not None else None)
        if answer is not None and number is not None:
            row_values = {_words(str(value)) for value in row.values()}
            new_fields.update(
                (name, None) for name, value in answer.fields[number].items() if _words(str(value)) not in row_values
            )
    names = {name: f"{name}_{_safe_name(source.name)}" if name in existing else name for name in new_fields}
    enriched = []
    for row, match in zip(rows, matches, strict=True):
        added: dict[str, object] = {}
        if match is not None:
            answer, number = match
            added = {names[name]: value for name, value in answer.fields[number].items() if name in names}
            added |= {f"{ANSWER_PREFIX}source": source.name, f"{ANSWER_PREFIX}url": answer.records[number].url}
        enriched.append({**row, **added})
    write(enriched, file.parent, format, file=file)
    return sum(match is not None for match in matches), tuple(names.values())


def query_text(value: object) -> str:
    """Return a value as query text.

    >>> query_text(["a ", "b"]), query_text(None)
    ('a b', '')
    """
    text = " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return " ".join(text.split())


def _safe_name(name: str, allowed: str = "") -> str:
    return "".join(char if char.isalnum() or char in allowed else "_" for char in name)
