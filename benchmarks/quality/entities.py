"""Record pages as tables: columns learned from the pages of a site, compared with labelled attributes."""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from benchmarks.corpora import CORPORA, scorer
from upwell.page.tree import read
from upwell.records.entity_model import apply_entity_model, learn_entities

__all__ = ["entities", "entities_alone"]

FOLDER = CORPORA / "entities"
ALONE_PAGES = 3  # pages of each site that are read as single pages


def entities(learned: int = 0) -> dict[str, float]:
    """Score all pages of 40 sites with the columns learned from all pages, or from the first `learned`; return the means of the scorer."""
    with ProcessPoolExecutor(2) as pool:
        scores = list(pool.map(partial(_score, learned), _sites()))
    columns = sum(score["columns"] for score in scores)
    return {
        "f1": sum(score["f1"] for score in scores) / len(scores),
        "named": sum(score["named"] for score in scores) / len(scores),
        "few_columns": min(40 / score["columns"] for score in scores),
        "not_same": 1 - sum(score["same"] for score in scores) / columns,
        "not_sparse": 1 - sum(score["sparse"] for score in scores) / columns,
    }


def entities_alone() -> dict[str, float]:
    """Score single pages, each learned from itself: the share of attributes with a column, and with a meaningful column name."""
    with ProcessPoolExecutor(2) as pool:
        scores = [score for found in pool.map(_score_alone, _sites()) for score in found]
    return {name: sum(score[name] for score in scores) / len(scores) for name in ("f1", "named")}


def _sites() -> list[str]:
    return sorted(folder.name for folder in FOLDER.iterdir() if (folder / "labels.jsonl").is_file())


def _labels(site: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / site / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def _score(learned: int, site: str) -> dict[str, Any]:
    rows = _labels(site)
    trees = [read((FOLDER / site / row["page"]).read_bytes(), url=row["url"]) for row in rows]
    model = learn_entities(trees[: learned or len(trees)])
    found = [
        {"page": row["page"], "fields": apply_entity_model(model, tree)} for row, tree in zip(rows, trees, strict=True)
    ]
    return scorer("entities").score(rows, found)  # type: ignore[no-any-return] # the scorer has no types


def _score_alone(site: str) -> list[dict[str, Any]]:
    scores = []
    for row in _labels(site)[:ALONE_PAGES]:
        tree = read((FOLDER / site / row["page"]).read_bytes(), url=row["url"])
        found = [{"page": row["page"], "fields": apply_entity_model(learn_entities([tree]), tree)}]
        scores.append(scorer("entities").score([row], found))
    return scores
