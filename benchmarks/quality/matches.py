"""Pairs of tables with common entities: which rows and which columns correspond. Labels are not used."""

import json

from benchmarks.corpora import CORPORA, scorer
from upwell.combine.align import align_two
from upwell.combine.match import match
from upwell.combine.source_table import read_table

__all__ = ["PAIRS", "matches"]

PAIRS = (
    "dblp-acm", "fodors-zagats", "walmart-amazon", "beer", "books-barnesandnoble-booksamillion", "books-booksamillion-borders",
    "abt-buy", "books-amazon-borders", "dblp-googlescholar", "movies-imdb-tmdb",
)  # fmt: skip


def matches(name: str) -> dict[str, float]:
    """Return the F1 of the matched rows, and the share of correctly aligned columns."""
    folder = next(path for corpus in ("matches", "matches-more") if (path := CORPORA / corpus / name).is_dir())
    a, b = read_table(folder / "a.jsonl"), read_table(folder / "b.jsonl")
    truth = [json.loads(line) for line in (folder / "matches.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [{"a": pair.a, "b": pair.b} for pair in match(a, b)]
    score = scorer("matches").score(truth, found)
    columns: dict[str, str] = json.loads((folder / "columns.json").read_text(encoding="utf-8"))
    aligned = dict(align_two(a, b))
    right = sum(aligned.get(column) == other for column, other in columns.items()) / len(columns)
    return {"f1": score["f1"], "precision": score["precision"], "recall": score["recall"], "columns": right}
