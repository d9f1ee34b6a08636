"""The files that a finished harvest leaves in its folder: table, source model, summary and report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from upwell.errors import MissingExtra
from upwell.results import Summary
from upwell.store import parquet
from upwell.store.records import FORMATS, Format, write
from upwell.store.typed import types_of, with_types

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from upwell.extract.values import Type
    from upwell.harvest.summary import SiteHarvest
    from upwell.store.state import State

__all__ = ["Result", "write_files", "write_tables"]

CHANGES = "changes.parquet"
CHANGE_COLUMNS = ("change", "_key", "_url", "column", "old", "new")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, its summary, and its table as other libraries have it."""

    folder: Path
    records: Path
    report: Path
    summary: Summary
    was_finished: bool = False  # all of it was there before, and nothing was asked

    @property
    def table(self) -> pyarrow.Table:
        """The records as an Arrow table."""
        try:
            import pyarrow.parquet
        except ImportError as missing:
            raise MissingExtra("an Arrow table needs the package pyarrow: pip install 'upwell[arrow]'") from missing
        if self.records.suffix == ".parquet":
            return pyarrow.parquet.read_table(self.records)
        with TemporaryDirectory() as scratch, _state(self.folder) as state:
            return pyarrow.parquet.read_table(write_tables(state, Path(scratch), "parquet"))

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a pandas data frame."""
        try:
            import pandas  # noqa: F401 # Arrow needs it
        except ImportError as missing:
            raise MissingExtra("a data frame needs the package pandas: pip install 'upwell[pandas]'") from missing
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The records as a Polars data frame."""
        try:
            import polars
        except ImportError as missing:
            raise MissingExtra("a data frame needs the package polars: pip install 'upwell[polars]'") from missing
        frame = polars.from_arrow(self.table)
        return frame if isinstance(frame, polars.DataFrame) else frame.to_frame()


def _state(folder: Path) -> State:
    from upwell.store.state import State

    return State(folder / "state.sqlite")


def write_files(site: SiteHarvest, folder: Path, format: Format) -> Result:
    """Writes the table, model, summary and report of a harvest, each file whole or not at all."""
    from upwell.harvest import report  # here, because a harvest that is finished needs none of it

    types = types_of(site.state.rows())
    summary = cast(Summary, site.summary(types))  # tests/test_contract.py compares their keys
    records = write_tables(site.state, folder, format, types)
    if site.refreshed:
        rows = list(_change_rows(site.state))
        partial = folder / f".{CHANGES}.part"
        parquet.write(rows, {name: name for name in CHANGE_COLUMNS}, partial)
        partial.replace(folder / CHANGES)
    models = [json.loads(source.model.to_json()) | {"template": source.interface.as_dict()} for source in site.sources]
    texts = {
        "source.json": json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1) + "\n",
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=1) + "\n",
        "report.html": report.html(site),
    }
    for name, text in texts.items():
        partial = folder / f".{name}.part"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary)


def write_tables(state: State, folder: Path, format: Format, types: dict[str, Type] | None = None) -> Path:
    """Writes the table in a format, and anew in every other format in which it lies there, so that none grows stale."""
    types = types_of(state.rows()) if types is None else types
    rows = list(with_types(state.rows(), types))
    others = [other for other in FORMATS if other != format and (folder / f"records.{other}").is_file()]
    for other in others:
        write(rows, folder, other)
    return write(rows, folder, format)


def _change_rows(state: State) -> Iterator[dict[str, Any]]:
    """What a refresh changed, a row for each field: of a new record those that it has, of a gone one those that it had."""
    for change, before, now in state.changes():
        row = now or before
        names = dict.fromkeys(name for name in (*before, *now) if not name.startswith("_"))
        for name in names:
            old, new = before.get(name), now.get(name)
            if old != new:
                cells = (change, row["_key"], row.get("_url"), name, old, new)
                yield dict(zip(CHANGE_COLUMNS, cells, strict=True))
