"""The files that a finished harvest leaves in its folder: table, source model, summary and report."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from upwell.extract.tidy import as_saved
from upwell.harvest import report
from upwell.harvest.summary import SiteHarvest
from upwell.harvest.tables import earlier_columns, tables_of
from upwell.results import Summary
from upwell.store.records import Format, write

__all__ = ["Result", "write_files"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, and its summary."""

    folder: Path
    records: Path  # the largest table, where the site has several kinds of things
    report: Path
    summary: Summary


def write_files(site: SiteHarvest, folder: Path, format: Format) -> Result:
    """Writes the tables, model, summary and report of a harvest, each file whole or not at all."""
    lists = {column.name for source in site.sources for column in source.model.columns.columns if column.repeats}
    tables = tables_of(site.state.rows(), lists=lists, earlier=earlier_columns(folder))
    paths = [write(table.rows, folder, format, name=table.name) for table in tables]
    for stale in set(folder.glob(f"records*.{format}")) - set(paths):
        stale.unlink()
    summary = cast(Summary, site.summary(tables))  # tests/test_contract.py compares their keys
    models = [json.loads(source.model.to_json()) | {"template": source.interface.as_dict()} for source in site.sources]
    if models:
        models[0]["tables"] = {table.kind: as_saved(table.columns) for table in tables}
    texts = {
        "source.json": json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1) + "\n",
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=1) + "\n",
        "report.html": report.html(site, tables),
    }
    for name, text in texts.items():
        partial = folder / f".{name}.part"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)
    return Result(folder=folder, records=paths[0], report=folder / "report.html", summary=summary)
