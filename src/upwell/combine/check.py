"""Check learned sources: does each one still answer, and does its source model still fit?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from upwell.combine.ask import ask_sources
from upwell.combine.learned_source import load_sources, source_files
from upwell.errors import UpwellError
from upwell.net.manners import Manners
from upwell.types import ListInterface

__all__ = ["SourceCheck", "check_sources"]

CheckState = Literal["ok", "changed", "failed", "skipped"]
MAX_ROWS = 10_000  # rows of a table from which a query is chosen; safety limit


@dataclass(frozen=True, kw_only=True)
class SourceCheck:
    """What the check of one source found."""

    source: str
    file: str
    state: CheckState  # changed: it answers, but the source model does not fit
    query: str = ""
    records: int = 0  # of the answer
    requests: int = 0
    detail: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the check for JSON."""
        return asdict(self)


async def check_sources(
    places: str | Path | Iterable[str | Path],
    *,
    deadline: float = 5.0,
    manners: Manners | Callable[[str], Manners] | None = None,
) -> list[SourceCheck]:
    """Ask each learned source one query that it answered before, and judge the answer by its source model."""
    files = source_files([places] if isinstance(places, str | Path) else places)
    manners_of = manners if callable(manners) else lambda _: manners or Manners()
    checks: list[SourceCheck] = []
    for file in files:
        checks += await _check(file, deadline, manners_of)
    return checks


async def _check(file: Path, deadline: float, manners_of: Callable[[str], Manners]) -> list[SourceCheck]:
    name = file.parent.name or str(file)
    try:
        sources = load_sources(file)
        query = _answered_query(file.parent)
    except UpwellError as error:
        return [SourceCheck(source=name, file=str(file), state="failed", detail=str(error))]
    if all(isinstance(source.interface, ListInterface) for source in sources):
        return [
            SourceCheck(source=name, file=str(file), state="skipped", detail="it was read from lists and has no search")
        ]
    if not query:
        return [
            SourceCheck(source=name, file=str(file), state="skipped", detail="its table names no query with an answer")
        ]
    answers = await ask_sources(query, [file], deadline=deadline, manners_of=manners_of)
    checks = []
    for answer in answers:
        state: CheckState = "failed" if answer.trouble and not answer.pages else "changed" if answer.drift else "ok"
        detail = answer.drift or answer.trouble
        if state == "ok" and not answer.records:
            state, detail = (
                "changed",
                f"no records for “{query}”, which had some before; harvest it again to update its source model",
            )
        checks.append(
            SourceCheck(
                source=answer.source, file=str(file), state=state, query=query, records=len(answer.records),
                requests=answer.requests, detail=detail,
            )
        )  # fmt: skip
    return checks


def _answered_query(folder: Path) -> str:
    """Return the query that brought the most rows of a harvest's tables; "" if there is none."""
    counts: dict[str, int] = {}
    for path in sorted(folder.glob("records*.parquet")):
        file = pq.ParquetFile(path)
        if "_query" in file.schema_arrow.names:
            for query in _first(file):
                counts[query] = counts.get(query, 0) + 1
    return max(counts, key=lambda query: (counts[query], query), default="")


def _first(file: pq.ParquetFile) -> Sequence[str]:
    column = next(file.iter_batches(MAX_ROWS, columns=["_query"]), None)
    values = column.column(0).to_pylist() if column is not None else []
    return [
        value
        for value in values
        if isinstance(value, str) and value.strip() and "://" not in value and "=" not in value
    ]
