"""Location of the labelled corpora and their scorers, which are next to the project and not part of it."""

import importlib.util
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["CORPORA", "by_site", "labels", "require", "scorer"]

CORPORA = Path(os.environ.get("CORPORA", Path(__file__).parents[2] / "shared" / "data"))


def require() -> None:
    """Exit with a message if the corpora are missing."""
    if not (CORPORA / "answers").is_dir():
        sys.exit(f"no labelled corpora at {CORPORA}: put them there, or name their folder with CORPORA=…")


def labels(corpus: str) -> list[dict[str, Any]]:
    """Return the labels of a corpus, one entry per page."""
    with (CORPORA / corpus / "labels.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def by_site(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group labels by site: learning uses the pages of one site together."""
    sites: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        sites[row["site"]].append(row)
    return dict(sites)


def scorer(name: str) -> ModuleType:
    """Import a scorer module from the folder of the corpora."""
    path = CORPORA.parent / "score" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"score_{name}", path)
    if spec is None or spec.loader is None:
        sys.exit(f"no scorer at {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
