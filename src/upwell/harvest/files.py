"""The files that a finished harvest leaves in its folder: table, source model, summary and report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from upwell.errors import MissingExtra
from upwell.store import parquet
from upwell.store.frames import pandas_frame, polars_frame
from upwell.store.records import FORMATS, Format, write

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from upwell.harvest.summary import SiteHarvest
    from upwell.harvest.tables import Table
    from upwell.results import Summary
    from upwell.store.state import State

__all__ = ["Result", "write_files", "write_tables"]

CHANGES = "changes.parquet"
CHANGE_COLUMNS = ("change", "_key", "_url", "column", "old", "new")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, its summary, and its table as other libraries have it."""

    folder: Path
    records: Path  # the largest table, where the site has several kinds of things
    report: Path
    summary: Summary
    address: str = ""  # where the files were put, if not only here
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
        from upwell.harvest.tables import saved_tables

        with TemporaryDirectory() as scratch:
            return pyarrow.parquet.read_table(write_tables(saved_tables(self.folder), Path(scratch), "parquet"))

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a pandas data frame."""
        return pandas_frame(lambda: self.table)

    def to_polars(self) -> polars.DataFrame:
        """The records as a Polars data frame."""
        return polars_frame(lambda: self.table)


def write_files(site: SiteHarvest, folder: Path, format: Format) -> Result:
    """Writes the tables, model, summary and report of a harvest, each file whole or not at all."""
    from upwell.extract.tidy import as_saved
    from upwell.harvest import report  # here, because a harvest that is finished needs none of it
    from upwell.harvest.describe import describe_tables
    from upwell.harvest.tables import WITH_PAGES, earlier_columns, tables_of

    lists = {column.name for source in site.sources for column in source.model.columns.columns if column.repeats}
    tables = tables_of(site.state, lists=lists, earlier=earlier_columns(folder), with_pages=site.with_pages)
    for table in tables if site.columns or site.drop else ():
        table.choose(site.columns, site.drop)
    site.state.set_note(WITH_PAGES, "yes" if site.with_pages else "no")
    records = write_tables(tables, folder, format)
    summary = cast("Summary", site.summary(tables))  # tests/test_contract.py compares their keys
    if site.refreshed:
        rows = list(_change_rows(site.state))
        partial = folder / f".{CHANGES}.part"
        parquet.write(rows, {name: name for name in CHANGE_COLUMNS}, partial)
        partial.replace(folder / CHANGES)
    models = [json.loads(source.model.to_json()) | {"template": source.interface.as_dict()} for source in site.sources]
    for model in models if site.gates else ():
        model["gates"] = [gate.as_dict() for gate in site.gates]
    if models:
        models[0]["tables"] = {table.kind: as_saved(table.columns) for table in tables}
    texts = {
        "source.json": json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1) + "\n",
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=1) + "\n",
        "report.html": report.html(site, summary, tables, records),
    }
    for name, text in texts.items():
        partial = folder / f".{name}.part"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)
    describe_tables(folder, tables, summary["title"], summary["site"], site.url, summary["statement"])
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary)


def write_tables(tables: Sequence[Table], folder: Path, format: Format) -> Path:
    """Writes the tables in a format, and anew in every other format in which they lie there, so that none grows stale; gives the first."""
    written: dict[Format, list[Path]] = {}
    for each in FORMATS:
        before = set(folder.glob(f"records.{each}")) | set(folder.glob(f"records-*.{each}"))
        if each == format or before:
            written[each] = [write(table.rows, folder, each, name=table.name) for table in tables]
            for stale in before - set(written[each]):
                stale.unlink()
    return written[format][0]


def _change_rows(state: State) -> Iterator[dict[str, Any]]:
    """What a refresh changed, a row for each field: of a new record those that it has, of a gone one those that it had.

    A record without such a field, or of which only its own page says something else, has one row without a column.
    """
    for change, before, now in state.changes():
        row = now or before
        names = dict.fromkeys(name for name in (*before, *now) if not name.startswith("_"))
        fields: list[tuple[str | None, Any, Any]]
        fields = [(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)]
        for field in fields or [(None, None, None)]:
            yield dict(zip(CHANGE_COLUMNS, (change, row["_key"], row.get("_url"), *field), strict=True))
