"""Enriching a table: each value of a column is asked at another source, and the best answer's fields are put beside the row.

What every request brought is kept in a state of its own (`store.state`), so that the same command goes on where it was cut off.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.net.manners import Manners
from upwell.page.terms import tokens
from upwell.store import tables
from upwell.store.query_list import place_of
from upwell.store.records import Format, write
from upwell.store.state import State
from upwell.together.ask import ask_each
from upwell.together.learned import LearnedSource, SourceAnswer, load_sources, source_files
from upwell.together.words import fold

__all__ = ["Enriched", "best_record", "enrich_table"]

Row = Mapping[str, object]
MIN_LIKENESS = (
    0.5  # of a value and the field of a record that is most like it, for the record to be about it; not swept
)
ANSWER = "_answer_"  # begins the columns that say where the fields came from


@dataclass(frozen=True, kw_only=True)
class Enriched:
    """What enriching a table brought."""

    file: Path
    rows: int
    values: int  # different values of the column
    asked: int  # of them
    found: int  # rows that got fields
    columns: tuple[str, ...]  # that were added
    requests: int
    stopped: str  # exhausted, budget or interrupted

    def as_dict(self) -> dict[str, object]:
        """As JSON has it."""
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
) -> Enriched:
    """Asks for each value of the column that `DIR:column` names, and writes the rows with the best answers; cancelled, with those that came."""
    table, column, rows = read_rows(place)
    (file, *others) = source_files([source])
    learned = load_sources(file)
    if others or len(learned) > 1:
        raise WrongUsage(f"{source} has several sources; put one of them into a source.json of its own, and name that")
    values = [value for value in dict.fromkeys(value_of(row.get(column)) for row in rows) if value]
    folder = out or table.parent
    name = f"enriched-{_plain(learned[0].name, '.-')}"
    answers: dict[str, SourceAnswer] = {}
    with _memory(folder, f"{name}.state.sqlite") as memory:
        try:
            stopped = await ask_each(
                learned[0], values, manners=manners, memory=memory, budget=budget, answers=answers, tell=tell
            )
        except asyncio.CancelledError:
            stopped = "interrupted"
        requests = memory.requests_sent()
    written = folder / f"{name}.{format}"
    found, columns = write_enriched(rows, column, answers, learned[0], written, format)
    return Enriched(
        file=written,
        rows=len(rows),
        values=len(values),
        asked=len(answers),
        found=found,
        columns=columns,
        requests=requests,
        stopped=stopped,
    )


def _memory(folder: Path, name: str) -> State:
    """The memory of what was asked."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error
    return State(folder / name)


def read_rows(place: str) -> tuple[Path, str, list[dict[str, object]]]:
    """The table that `DIR:column` names, the column, and the rows; a column that is not there is an error that names those that are."""
    path, column = place_of(place, "upwell enrich", "DIR:column")
    if not column:
        raise WrongUsage(f"{place} names no column; write {place}:column")
    file = tables.table_of(path)
    rows = [row for row in tables.values(file) if row is not None]
    if names := dict.fromkeys(name for row in rows for name in row):
        if column not in names:
            raise WrongUsage(f"{file} has no column {column}; it has {', '.join(names)}")
        return file, column, rows
    raise WrongUsage(f"{file} has no rows to enrich")


def best_record(value: str, row: Row, answer: SourceAnswer) -> int | None:
    """The record of an answer that is about a value: that with a field most like it; of several, the one that shares most with the row."""
    wanted = _words(value)
    around = _words(" ".join(str(other) for name, other in row.items() if not name.startswith("_"))) - wanted
    best: tuple[float, float, int] | None = None
    for number, fields in enumerate(answer.fields):
        likeness = max((_likeness(wanted, _words(str(text))) for text in fields.values()), default=0.0)
        if likeness < MIN_LIKENESS:
            continue
        said = _words(" ".join(map(str, fields.values())))
        score = (likeness, len(around & said) / max(1, len(around)), -number)
        if best is None or score > best:
            best = score
    return None if best is None else -best[2]


def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(fold(text)))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of both that both have (Jaccard)."""
    return len(one & other) / len(one | other) if one and other else 0.0


def write_enriched(
    rows: Sequence[Row],
    column: str,
    answers: Mapping[str, SourceAnswer],
    source: LearnedSource,
    file: Path,
    format: Format,
) -> tuple[int, tuple[str, ...]]:
    """Writes the rows with the fields of the best answers; how many rows got some, and the columns that were added."""
    taken = {name for row in rows for name in row}
    chosen: list[tuple[SourceAnswer, int] | None] = []
    new: dict[str, None] = {}  # fields that say something that a row does not say itself
    for row in rows:
        answer = answers.get(value_of(row.get(column)))
        number = best_record(value_of(row.get(column)), row, answer) if answer is not None else None
        chosen.append((answer, number) if answer is not None and number is not None else None)
        if answer is not None and number is not None:
            said = {_words(str(value)) for value in row.values()}
            new.update((name, None) for name, value in answer.fields[number].items() if _words(str(value)) not in said)
    names = {name: f"{name}_{_plain(source.name)}" if name in taken else name for name in new}
    enriched = []
    for row, best in zip(rows, chosen, strict=True):
        added: dict[str, object] = {}
        if best is not None:
            answer, number = best
            added = {names[name]: value for name, value in answer.fields[number].items() if name in names}
            added |= {f"{ANSWER}source": source.name, f"{ANSWER}url": answer.records[number].url}
        enriched.append({**row, **added})
    write(enriched, file.parent, format, file=file)
    return sum(best is not None for best in chosen), tuple(names.values())


def value_of(value: object) -> str:
    """A value as it is asked for.

    >>> value_of(["a ", "b"]), value_of(None)
    ('a b', '')
    """
    text = " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return " ".join(text.split())


def _plain(name: str, kept: str = "") -> str:
    return "".join(sign if sign.isalnum() or sign in kept else "_" for sign in name)
