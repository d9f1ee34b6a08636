"""Write the files of a finished harvest: tables, source model, summary, report and descriptions for other tools.

`datapackage.json` is a Frictionless Data Package; `metadata.yaml` describes SQLite tables for Datasette.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from upwell.errors import MissingExtra, WrongUsage
from upwell.report.charts import plain_type
from upwell.store.safe_files import write_whole
from upwell.store.user_memory import remember
from upwell.table import parquet
from upwell.table.parquet import pandas_frame, polars_frame
from upwell.table.writers import FORMATS, Format, column_order, write
from upwell.urls.hosts import host_and_port, is_private_address

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from upwell.harvest.summary import SiteHarvest
    from upwell.results import Summary
    from upwell.store.state import State
    from upwell.table.build import Table

__all__ = ["DATA_PACKAGE", "Result", "describe_tables", "write_files", "write_tables"]


DATA_PACKAGE, DATASETTE = "datapackage.json", "metadata.yaml"
MEDIA_TYPES = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
FIELD_TYPES = {  # Table Schema, "Types and Formats"
    "integer": "integer", "decimal": "number", "price": "number", "date": "date", "datetime": "datetime", "boolean": "boolean",
}  # fmt: skip
PROVENANCE_COLUMNS = {
    "_key": ("string", "key that identifies the record"),
    "_source": ("string", "URL of the search interface"),
    "_url": ("string", "URL of the record page"),
    "_query": ("string", "query that returned it first"),
    "_page": ("string", "SHA-1 of the page that contained it"),
    "_path": ("string", "position on that page"),
    "_seen": ("integer", "number of times it was returned"),
    "_fetched": ("datetime", "time of the request"),
    "_other": ("string", "fields that few records have"),
}


def describe_tables(
    folder: Path, tables: Sequence[Table], title: str, site: str, url: str, statement: str, *, keep_order: bool = False
) -> None:
    """Write descriptions of the tables in a folder; `keep_order` is that of `writers.write`."""
    resources = [
        {
            "name": _slug(f"{table.name}-{format}"),
            "path": path.name,
            "format": format,
            "mediatype": media_type,
            "schema": {
                "fields": _fields(table, cast("Format", format), keep_order=keep_order),
                **({"primaryKey": "_key"} if "_key" in table.names else {}),
            },
        }
        for table in tables
        for format, media_type in MEDIA_TYPES.items()
        if (path := folder / f"{table.name}.{format}").is_file()
    ]
    package = {
        "name": _slug(site),
        "title": title or site,
        "description": statement,
        "sources": [{"title": title or site, "path": url}],
        "resources": resources,
    }
    if resources:
        write_whole(folder / DATA_PACKAGE, json.dumps(package, ensure_ascii=False, indent=1) + "\n")
    databases = {table.name: table for table in tables if (folder / f"{table.name}.sqlite").is_file()}
    if databases:
        write_whole(folder / DATASETTE, _datasette(databases, title or site, url, statement))


def _fields(table: Table, format: Format, *, keep_order: bool) -> list[dict[str, str]]:
    names = column_order(table.rows, format, keep_order=keep_order)
    return [_field(name, table.types.get(name, "")) for name in names]


def _field(name: str, kind: str) -> dict[str, str]:
    if name in PROVENANCE_COLUMNS:
        return {"name": name, "type": PROVENANCE_COLUMNS[name][0], "description": PROVENANCE_COLUMNS[name][1]}
    if kind.startswith("list of "):
        return {"name": name, "type": "array"}
    first = kind.split(" ")[0]
    uri = {"format": "uri"} if first in ("url", "image") else {}
    return {"name": name, "type": FIELD_TYPES.get(first, "string"), **uri}


def _datasette(databases: dict[str, Table], title: str, url: str, statement: str) -> str:
    """Return metadata for `datasette --metadata`: the search index and the column types."""
    lines = [f"title: {_yaml(title)}", f"source_url: {_yaml(url)}", "databases:"]
    for name, table in databases.items():
        lines += [
            f"  {_yaml(name)}:",
            "    tables:",
            "      records:",
            f"        description: {_yaml(statement)}",
            "        fts_table: records_fts",
            "        fts_pk: rowid",
            "        hidden: false",
        ]
        if table.types:
            lines.append("        columns:")
            lines += [f"          {_yaml(column)}: {_yaml(plain_type(kind))}" for column, kind in table.types.items()]
        lines += ["      records_fts:", "        hidden: true"]
    return "\n".join(lines) + "\n"


def _yaml(text: str) -> str:
    """Return a text as a YAML string; JSON strings are valid YAML (YAML 1.2 §1.3)."""
    return json.dumps(text, ensure_ascii=False)


def _slug(text: str) -> str:
    """Return a valid Data Package name.

    >>> _slug("127.0.0.1:8000 Städte")
    '127.0.0.1-8000-st-dte'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-") or "records"


SHOWN_ROWS = 10  # rows that a notebook shows of a result
CHANGES_FILE = "changes.parquet"
CHANGE_COLUMNS = ("run", "time", "change", "_key", "_url", "column", "old", "new")
SIZE_SAMPLE = "size-sample.parquet"
SAMPLE_NAMES = (
    "source", "query", "probability", "records_held", "complete", "record", "degree", "held", "shown", "shown_before",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Result:
    """Files of a harvest, its summary, and its table for other libraries."""

    folder: Path
    records: Path  # the largest table if the site has several kinds of entities
    report: Path
    summary: Summary
    address: str = ""  # URL of the remote folder, if any
    was_finished: bool = False  # True if everything was there before and nothing was sent
    notices: tuple[str, ...] = ()  # what could not be given of the schema that the user asked for

    @property
    def table(self) -> pyarrow.Table:
        """Return the records as an Arrow table."""
        try:
            import pyarrow.parquet
        except ImportError as missing:
            raise MissingExtra("an Arrow table needs the package pyarrow: pip install 'upwell[arrow]'") from missing
        if self.records.suffix == ".parquet":
            return pyarrow.parquet.read_table(self.records)
        from upwell.table.build import saved_tables

        with TemporaryDirectory() as scratch:
            return pyarrow.parquet.read_table(write_tables(saved_tables(self.folder), Path(scratch), "parquet"))

    def __len__(self) -> int:
        return int(self.summary["records"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the (largest) table."""
        return iter(self.table.to_pylist())

    def __bool__(self) -> bool:
        return True  # a result without records is a result, too

    def _repr_html_(self) -> str:
        """Return the first rows and the coverage statement, as notebooks show them."""
        rows = self.table.slice(0, SHOWN_ROWS).to_pylist()
        names = [name for name in (rows[0] if rows else ()) if not name.startswith("_")]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(str(row[name]))}</td>" if row[name] is not None else "<td></td>" for name in names)
            + "</tr>"
            for row in rows
        )
        more = f"{len(rows)} of {len(self):,} rows. " if len(self) > len(rows) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{more}{escape(self.summary['statement'])}</p>"

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a pandas data frame."""
        return pandas_frame(lambda: self.table)

    def to_polars(self) -> polars.DataFrame:
        """Return the records as a Polars data frame."""
        return polars_frame(lambda: self.table)


def write_files(site: SiteHarvest, folder: Path, format: Format) -> Result:
    """Write the tables, source model, summary and report of a harvest, each file completely or not at all."""
    from upwell.records.column_names import column_name
    from upwell.report import report  # imported here: a finished harvest does not need it
    from upwell.source.model import INTERFACE_KEY, OWN_SOURCE, interface_text
    from upwell.table.build import FIELDS_NOTE, WITH_PAGES, build_tables, saved_columns
    from upwell.table.schema import columns_to_json

    lists = {column.name for source in site.sources for column in source.model.columns.columns if column.repeats}
    fields = {
        column.name: [column.named_by, column.varies]
        for source in site.sources
        for column in source.model.columns.columns
    }
    fields |= {column_name(label): ["label", True] for source in site.sources for label in source.model.columns.labels}
    site.state.set_note(FIELDS_NOTE, json.dumps(fields, ensure_ascii=False))
    earlier = saved_columns(folder)
    misnamed: WrongUsage | None = None
    try:
        tables = build_tables(site.state, lists=lists, earlier=earlier, with_pages=site.with_pages, schema=site.schema)
    except WrongUsage as error:  # a column that no table has: nothing of the harvest is lost
        misnamed = error
        tables = build_tables(site.state, lists=lists, earlier=earlier, with_pages=site.with_pages)
    site.state.set_note(WITH_PAGES, "yes" if site.with_pages else "no")
    records = write_tables(tables, folder, format, keep_order=bool(site.schema.columns))
    summary = cast("Summary", site.summary(tables))  # tests/test_contract.py compares their keys
    if site.refreshed:
        _append_changes(site.state, folder / CHANGES_FILE)
    models = [
        json.loads(source.model.to_json()) | {INTERFACE_KEY: source.interface.as_dict()} for source in site.sources
    ]
    for model in models if site.consent_pages else ():
        model["consent_pages"] = [consent_page.as_dict() for consent_page in site.consent_pages]
    if models:
        models[0]["tables"] = {table.kind: columns_to_json(table.columns) for table in tables}
    texts = {
        "source.json": json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1) + "\n",
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=1) + "\n",
        "report.html": report.report_html(site, summary, tables, records),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    _write_size_sample(site, folder / SIZE_SAMPLE)
    for model in models:
        if is_private_address(host_and_port(model[INTERFACE_KEY]["url"])[0]):
            remember(
                OWN_SOURCE, interface_text(model)
            )  # `upwell ask` queries a private address only if the user has harvested it
    describe_tables(
        folder, tables, summary["title"], summary["site"], site.url, summary["statement"],
        keep_order=bool(site.schema.columns),
    )  # fmt: skip
    if misnamed is not None:
        raise WrongUsage(
            f"{misnamed}. All {summary['records']:,} records are kept in {folder}, with all columns; "
            "the same command with other --columns sends nothing again"
        )
    notices = tuple(notice for table in tables for notice in table.notices)
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary, notices=notices)


def _write_size_sample(site: SiteHarvest, path: Path) -> None:
    """Write the queries drawn at random for the size with their matches, so that anyone can check it; remove a table of an earlier run."""
    rows = [
        {"source": source.interface.url, **row}
        for source in site.sources
        if source.coverage.sample is not None
        for row in source.coverage.sample.rows()
    ]
    if rows:
        parquet.write(rows, {name: name for name in SAMPLE_NAMES}, path)
    else:
        path.unlink(missing_ok=True)


def write_tables(tables: Sequence[Table], folder: Path, format: Format, *, keep_order: bool = False) -> Path:
    """Write the tables in a format and again in every other format that exists in the folder, so that none becomes stale; return the first file."""
    written: dict[Format, list[Path]] = {}
    for each in FORMATS:
        before = set(folder.glob(f"records.{each}")) | set(folder.glob(f"records-*.{each}"))
        if each == format or before:
            written[each] = [
                write(table.rows, folder, each, name=table.name, keep_order=keep_order) for table in tables
            ]
            for stale in before - set(written[each]):
                stale.unlink()
    return written[format][0]


def _append_changes(state: State, file: Path) -> None:
    """Add the changes of this run to those of earlier runs; changes that this run has written before are replaced."""
    earlier: list[dict[str, Any]] = []
    if file.is_file():
        try:
            earlier = [row for row in parquet.read_values(file) if row.get("run") != state.run_number]
        except WrongUsage:  # damaged: the changes of this run are not lost with it
            file.replace(file.with_name(f"{file.name}.damaged"))
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    rows = [{"run": state.run_number, "time": now, **row} for row in _change_rows(state)]
    partial = file.with_name(f".{file.name}.part")
    parquet.write([*earlier, *rows], {name: name for name in CHANGE_COLUMNS}, partial)
    partial.replace(file)


def _change_rows(state: State) -> Iterator[dict[str, Any]]:
    """Yield the changes of a refresh, one row per field: the fields of a new record, the former fields of a gone one.

    A record without fields, or with changes only on its record page, has one row without a column.
    """
    for change, before, now in state.changes():
        row = now or before
        names = dict.fromkeys(name for name in (*before, *now) if not name.startswith("_"))
        fields: list[tuple[str | None, Any, Any]]
        fields = [(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)]
        for field in fields or [(None, None, None)]:
            yield dict(zip(CHANGE_COLUMNS[2:], (change, row["_key"], row.get("_url"), *field), strict=True))
