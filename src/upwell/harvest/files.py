"""The files that a finished harvest leaves in its folder: table, source model, summary and report."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from upwell.harvest import report
from upwell.harvest.summary import SiteHarvest
from upwell.results import Summary
from upwell.store.records import Format, write
from upwell.store.typed import types_of, with_types

__all__ = ["Result", "write_files"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, and its summary."""

    folder: Path
    records: Path
    report: Path
    summary: Summary


def write_files(site: SiteHarvest, folder: Path, format: Format) -> Result:
    """Writes the table, model, summary and report of a harvest, each file whole or not at all."""
    types = types_of(site.state.rows())
    summary = cast(Summary, site.summary(types))  # tests/test_contract.py compares their keys
    records = write(with_types(site.state.rows(), types), folder, format)
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
