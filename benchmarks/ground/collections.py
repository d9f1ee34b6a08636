"""Records for simulated sources: texts, names, entities and cities."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np

from benchmarks.corpora import CORPORA as DATA
from benchmarks.ground.source import Collection
from upwell.demo.cities import all_cities

__all__ = ["CHOSEN_ON", "COLLECTIONS", "JUDGED_ON", "collection", "from_file"]

Row = tuple[str, list[str]]
KEYS = ("id", "_key", "url")
MIN_TEXTS = 1  # texts that a record must have to be searchable


def from_file(path: Path, *, size: int = 0, seed: int = 0) -> Collection:
    """Read records from JSON Lines (gzip allowed): `id` and all string values; sample `size` of them (0: all)."""
    return _sampled(path.name.split(".")[0], list(_rows_of_file(path)), size, seed)


def collection(name: str, *, size: int = 0, seed: int = 0) -> Collection:
    """Return one of COLLECTIONS, or a sample of `size` records."""
    return _sampled(name, list(COLLECTIONS[name]()), size, seed)


def _sampled(name: str, rows: list[Row], size: int, seed: int) -> Collection:
    unique = {key: texts for key, texts in rows if len([text for text in texts if text.strip()]) >= MIN_TEXTS}
    keys = list(unique)
    if 0 < size < len(keys):
        keys = [keys[i] for i in np.random.default_rng(seed).choice(len(keys), size, replace=False)]
    return Collection(name, [(key, unique[key]) for key in keys], seed)


def _rows_of_file(path: Path) -> Iterator[Row]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            texts = [str(value) for name, value in row.items() if isinstance(value, str) and name not in KEYS]
            yield str(row.get("id", row.get("_key", number))), texts


def _names(domain: str, kind: str) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        with gzip.open(DATA / "knowledge" / "entities.tsv.gz", "rt", encoding="utf-8", newline="") as lines:
            rows_of_kind = (
                row for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if row[:2] == [domain, kind]
            )
            yield from ((str(number), [row[2]]) for number, row in enumerate(islice(rows_of_kind, 40_000)))

    return rows


def _things() -> Iterator[Row]:
    """Yield entities of record pages of many sites: cars, books, cameras, jobs …"""
    for labels in sorted((DATA / "entities").glob("*/labels.jsonl")):
        for line in labels.open(encoding="utf-8"):
            row = json.loads(line)
            yield f"{labels.parent.name}/{row['page']}", [" ".join(texts) for texts in row["values"].values() if texts]


def _cities() -> Iterator[Row]:
    for city in all_cities():
        shown = (city.name, city.country, city.region, city.continent, city.timezone, " ".join(city.other_names))
        yield str(city.id), list(shown)


COLLECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "newsgroups": lambda: _rows_of_file(DATA / "texts" / "newsgroups20.jsonl.gz"),
    "abstracts": lambda: _rows_of_file(DATA / "texts" / "ohsumed.jsonl.gz"),
    "films": _names("movie", "title"),
    "things": _things,
    "products": lambda: _rows_of_file(DATA / "matches" / "walmart-amazon" / "b.jsonl"),
    "cities": _cities,
}
# Collections on which constants are chosen, and those on which they are judged.
CHOSEN_ON = tuple(COLLECTIONS)


def _news() -> Iterator[Row]:
    for line in (DATA / "news" / "labels.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        title, _, article = row["article"].partition("\n")
        yield str(row["page"]), [title, article]


COLLECTIONS |= {
    "news": _news,
    "bands": _names("music", "band"),
    "papers": lambda: _rows_of_file(DATA / "matches-more" / "dblp-googlescholar" / "b.jsonl"),
    "movies": lambda: _rows_of_file(DATA / "matches-more" / "movies-imdb-tmdb" / "b.jsonl"),
    "books": lambda: _rows_of_file(DATA / "matches-more" / "books-amazon-borders" / "a.jsonl"),
    "beers-and-tables": lambda: chain(
        _rows_of_file(DATA / "matches" / "fodors-zagats" / "a.jsonl"),
        _rows_of_file(DATA / "matches" / "beer" / "a.jsonl"),
    ),
}
JUDGED_ON = tuple(name for name in COLLECTIONS if name not in CHOSEN_ON)
