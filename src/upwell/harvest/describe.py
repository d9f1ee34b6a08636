"""What other tools read beside the tables: `datapackage.json` (Frictionless Data Package), and `metadata.yaml` for Datasette beside SQLite."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from upwell.harvest.column_facts import plain_type

if TYPE_CHECKING:
    from upwell.harvest.tables import Table

__all__ = ["DATA_PACKAGE", "describe_tables"]

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
OWN_COLUMNS = {
    "_key": ("string", "what the record is known by"),
    "_source": ("string", "the search that it came from"),
    "_url": ("string", "its own page"),
    "_query": ("string", "the query that brought it first"),
    "_page": ("string", "SHA-1 of the page that brought it"),
    "_path": ("string", "where on that page it was"),
    "_seen": ("integer", "how often it came"),
    "_fetched": ("datetime", "when it came"),
    "_other": ("string", "what few records have"),
}


def describe_tables(folder: Path, tables: Sequence["Table"], title: str, site: str, url: str, statement: str) -> None:
    """Describes the tables that lie in a folder."""
    resources = [
        {
            "name": _slug(f"{table.name}-{format}"),
            "path": path.name,
            "format": format,
            "mediatype": media_type,
            "schema": {"fields": _fields(table), "primaryKey": "_key"},
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
        _write(folder / DATA_PACKAGE, json.dumps(package, ensure_ascii=False, indent=1) + "\n")
    databases = {table.name: table for table in tables if (folder / f"{table.name}.sqlite").is_file()}
    if databases:
        _write(folder / DATASETTE, _datasette(databases, title or site, url, statement))


def _fields(table: "Table") -> list[dict[str, str]]:
    names = dict.fromkeys(name for row in table.rows[:1000] for name in row)
    return [_field(name, table.types.get(name, "")) for name in names]


def _field(name: str, kind: str) -> dict[str, str]:
    if name in OWN_COLUMNS:
        return {"name": name, "type": OWN_COLUMNS[name][0], "description": OWN_COLUMNS[name][1]}
    if kind.startswith("list of "):
        return {"name": name, "type": "array"}
    first = kind.split(" ")[0]
    uri = {"format": "uri"} if first in ("url", "image") else {}
    return {"name": name, "type": FIELD_TYPES.get(first, "string"), **uri}


def _datasette(databases: dict[str, "Table"], title: str, url: str, statement: str) -> str:
    """Metadata that Datasette takes with `--metadata`: it names the search index, and says what the columns are."""
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
    """A text as YAML takes it: JSON's strings are YAML's (YAML 1.2 §1.3)."""
    return json.dumps(text, ensure_ascii=False)


def _slug(text: str) -> str:
    """A name as Data Packages want it.

    >>> _slug("127.0.0.1:8000 Städte")
    '127.0.0.1-8000-st-dte'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-") or "records"


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
