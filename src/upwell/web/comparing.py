"""Several sources side by side, as the pages show them: `together.compare`, with what each differing thing is called and its key in each source."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from upwell.together.compare import compare
from upwell.together.tables import read_table
from upwell.together.values import Comparison
from upwell.web.rendering import title_of

__all__ = ["Compared", "compare_tables"]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A comparison, and the things of which sources say different things: what each is called, and its key by source."""

    comparison: Comparison
    titles: Mapping[int, str]
    keys: Mapping[int, Mapping[str, str]]


def compare_tables(tables: Mapping[str, Path]) -> Compared:
    """Compares tables by the names of their sources."""
    with TemporaryDirectory(prefix="upwell-compare-") as scratch:
        found = compare([read_table(path, name) for name, path in tables.items()], out=scratch)
        wanted = list({difference.thing for difference in found.differences})
        rows: list[dict[str, Any]] = []
        if wanted and found.table is not None:
            with duckdb.connect() as database:
                answer = database.execute(
                    "SELECT * FROM read_parquet($file) WHERE list_contains($wanted, _thing)",
                    {"file": str(found.table), "wanted": wanted},
                )
                names = [str(column[0]) for column in answer.description or ()]
                rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    sources = [source.name for source in found.sources]
    keys = {
        int(row["_thing"]): {name: str(row[f"_key ({name})"]) for name in sources if row[f"_key ({name})"] is not None}
        for row in rows
    }
    return Compared(comparison=found, titles={int(row["_thing"]): title_of(row) for row in rows}, keys=keys)
