"""Fit the choice of the stated total among the numbers of an answer.

Examples are answers of applications (`kinds`, `kinds-more`), answers of 240 sites whose totals were read by the former rules and checked by
eye (`total_labels.json`), and JSON answers in the shapes of documented interfaces. The records are those that a model learned from the
answers of the site reads, as in a harvest. Copies of the pages hide the words of all languages, the names of elements, or the records.
"""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels
from benchmarks.fit.fitting import FittedJudgement, choice_weights, folds_by_group
from upwell.answers import totals
from upwell.answers.answer import Answer
from upwell.page.formats import read_page
from upwell.page.tree import TagTree, read
from upwell.source.apply import apply
from upwell.source.learn import learn_source

FOLDS = 10
PENALTY = 0.3  # swept from 0.1 to 1: right totals with sites left out change by less than half a point
THRESHOLD = (
    1.0  # log odds; from 0 to 1, wrong totals on pages without words fall by a third and right ones by two points
)
LABELS = Path(__file__).with_name("total_labels.json")
PAGES_PER_SOURCE = 24  # of an application and kind of label
SOURCE_WEIGHT = 4.0  # together, of the pages of one source
# Copies of each page, and the weight of each.
COPIES = {"": 1.0, "no words": 1.0, "no names": 0.5, "no records": 0.3}
WITHOUT_TOTAL = 0.5  # factor of the weight of further copies from which the total is removed: they state none
WORDS = (
    "NOUN_AFTER", "FOUND_BEFORE", "FOUND_IN_LINE", "RESULT_IN_LINE", "SHOWING_IN_LINE", "OUT_OF_BEFORE", "OUT_OF_AFTER", "HEDGE_BEFORE",
    "OTHER_NUMBERS", "PAGE_BEFORE", "CAP_BEFORE", "SECONDS_AFTER", "OF_ALL",
)  # fmt: skip
# Applications whose answers state no total: their label is not "unknown".
SILENT = ("verdaccio", "dokuwiki", "gitweb", "fossil", "devpi")
FOR = (
    "noun_after", "found_before", "found_in_line", "result_in_line", "showing_in_line", "out_of_before", "name_total", "name_matching",
    "field_total", "field_matching", "field_found", "field_and_pages", "query_in_line", "after_range", "before_range", "after_loose_range",
    "range_elsewhere", "above_with_next", "pager_agrees", "near_above", "lone_above_with_next", "noun_and_found", "equal_without_next",
    "above_on_later_page", "in_heading", "out_of_after",
)  # fmt: skip
AGAINST = (
    "other_in_line", "page_before", "cap_before", "seconds_after", "name_other", "no_letters", "many_numbers", "year", "money",
    "date_or_code", "equal_with_next", "above_without_next", "pager_contradicts", "far_steps", "inside_list", "below_list", "in_link",
    "in_control", "alike", "field_other", "field_of_pages", "of_all", "field_below_field", "field_counts_pages", "below_records", "badge",
    "in_frame", "part_of_range", "records_unknown",
)  # fmt: skip
SIGNS = [1 if name in FOR else -1 if name in AGAINST else 0 for name in totals.FEATURES]


@dataclass(frozen=True, kw_only=True)
class Example:
    """Numbers of a page with their features, and the total (None: the page states none)."""

    group: str
    page: str
    site: str
    copy: str
    weight: float
    values: Sequence[int]
    x: NDArray[np.float64]
    total: int | None

    @property
    def right(self) -> NDArray[np.bool_]:
        """Return which candidates are the total."""
        return np.array([value == self.total for value in self.values], bool)


@contextmanager
def without_words() -> Iterator[None]:
    """Read lines as if every language were unknown."""
    kept = {name: getattr(totals, name) for name in WORDS}
    for name in WORDS:
        setattr(totals, name, re.compile("(?!)"))
    totals._numbers_in.cache_clear()
    try:
        yield
    finally:
        for name, pattern in kept.items():
            setattr(totals, name, pattern)
        totals._numbers_in.cache_clear()


@contextmanager
def _without_names() -> Iterator[None]:
    """Read pages as if names of elements said nothing."""
    kept = totals._name_features
    totals._name_features = lambda names: frozenset()
    try:
        yield
    finally:
        totals._name_features = kept


def _copies(
    group: str,
    page: str,
    site: str,
    weight: float,
    total: int | None,
    read_as: Callable[[bool], totals.TotalCandidates],
) -> Iterator[Example]:
    """Yield the examples of a page."""
    for copy, copy_weight in COPIES.items():
        hidden = without_words() if copy == "no words" else _without_names() if copy == "no names" else nullcontext()
        with hidden:
            candidates = read_as(copy == "no records")
            x = candidates.features
        values = [number.value for _, number in candidates.found]
        of_all = Example(
            group=group, page=page, site=site, copy=copy, weight=weight * copy_weight, values=values, x=x, total=total
        )
        yield of_all
        if (
            total is not None and of_all.right.any() and group != "json"
        ):  # other numbers of JSON answers are totals of other things
            kept = ~of_all.right
            yield replace(
                of_all, copy=f"{copy or 'words'}, no total", weight=WITHOUT_TOTAL * of_all.weight, total=None, x=x[kept],
                values=[value for value, is_kept in zip(values, kept, strict=True) if is_kept],
            )  # fmt: skip


def _of_site(task: tuple[str, str, list[dict[str, Any]]]) -> list[Example]:
    """Return the examples of one site, whose rows have `page`, `query`, `url` and `total`."""
    corpus, site, rows = task
    trees = [read((CORPORA / corpus / row["page"]).read_bytes(), url=row.get("url") or "") for row in rows]
    model = learn_source([Answer(tree, row.get("query") or "") for row, tree in zip(rows, trees, strict=True)])
    frame = frozenset(model.frame)
    found: list[Example] = []
    for row, tree in zip(rows, trees, strict=True):
        reading = apply(model, tree)
        if reading.kind != "multi":
            continue
        texts = [record.text for record in reading.records]

        def read_as(
            hides_records: bool, tree: TagTree = tree, texts: list[str] = texts, query: str = row.get("query") or ""
        ) -> totals.TotalCandidates:
            return totals.TotalCandidates(tree, () if hides_records else texts, query, frame=frame)

        weight = min(1.0, SOURCE_WEIGHT / len(rows))
        found += _copies(corpus, row["page"], site, weight, row["total"], read_as)
    return found


def _tasks() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    for corpus in ("kinds", "kinds-more"):
        by_site: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        taken: Counter[tuple[str, bool, bool]] = Counter()
        for row in labels(corpus):
            if row["kind"] != "multi" or (row["total"] is None and row["site"] not in SILENT):
                continue
            key = row["site"], row["next"] is None, "page" in row["url"] or "start" in row["url"]
            taken[key] += 1
            if taken[key] <= PAGES_PER_SOURCE:
                by_site[row["site"]].append(row)
        yield from ((corpus, site, rows) for site, rows in by_site.items())
    checked = json.loads(LABELS.read_text())
    for corpus, of_sites in checked.items():
        rows_of = {row["page"]: row for row in labels(corpus)}
        for site, of_pages in of_sites.items():
            rows = [{**rows_of[f"{site}/{page}.html"], "total": total} for page, total in of_pages.items()]
            yield corpus, site, rows


# JSON answers in the shapes of documented interfaces; t: total of the query, n: records of the page, p: page, s: page size, a: all records.
Shape = Callable[[list[Any], int, int, int, int], Any]
SHAPES: dict[str, Shape] = {
    "elasticsearch": lambda r, t, p, s, a: {
        "took": 5 + p,
        "timed_out": False,
        "_shards": {"total": 5, "successful": 5, "skipped": 0, "failed": 0},
        "hits": {
            "total": {"value": t, "relation": "eq"},
            "max_score": 12,
            "hits": [{"_score": 3, "_source": x} for x in r],
        },
    },
    "elasticsearch 6": lambda r, t, p, s, a: {
        "took": 31,
        "hits": {"total": t, "max_score": None, "hits": [{"_source": x} for x in r]},
    },
    "algolia": lambda r, t, p, s, a: {
        "hits": r,
        "nbHits": t,
        "page": p - 1,
        "nbPages": -(-t // s),
        "hitsPerPage": s,
        "exhaustiveNbHits": True,
        "processingTimeMS": 3,
    },
    "meilisearch": lambda r, t, p, s, a: {
        "hits": r,
        "query": "x",
        "processingTimeMs": 4,
        "limit": s,
        "offset": (p - 1) * s,
        "estimatedTotalHits": t,
    },
    "meilisearch pages": lambda r, t, p, s, a: {
        "hits": r,
        "hitsPerPage": s,
        "page": p,
        "totalPages": -(-t // s),
        "totalHits": t,
        "processingTimeMs": 2,
    },
    "typesense": lambda r, t, p, s, a: {
        "facet_counts": [],
        "found": t,
        "hits": [{"document": x} for x in r],
        "out_of": a,
        "page": p,
        "search_time_ms": 7,
    },
    "solr": lambda r, t, p, s, a: {
        "responseHeader": {"status": 0, "QTime": 12},
        "response": {"numFound": t, "start": (p - 1) * s, "numFoundExact": True, "docs": r},
    },
    "datatables": lambda r, t, p, s, a: {"draw": 4 + p, "recordsTotal": a, "recordsFiltered": t, "data": r},
    "datatables 1.9": lambda r, t, p, s, a: {"sEcho": 3, "iTotalRecords": a, "iTotalDisplayRecords": t, "aaData": r},
    "django rest": lambda r, t, p, s, a: {
        "count": t,
        "next": f"/api/?page={p + 1}" if p * s < t else None,
        "previous": None,
        "results": r,
    },
    "laravel": lambda r, t, p, s, a: {
        "current_page": p,
        "data": r,
        "from": (p - 1) * s + 1,
        "last_page": -(-t // s),
        "per_page": s,
        "to": (p - 1) * s + len(r),
        "total": t,
    },
    "json:api": lambda r, t, p, s, a: {"data": r, "meta": {"total-pages": -(-t // s), "record-count": t}},
    "json:api 2": lambda r, t, p, s, a: {
        "meta": {"pagination": {"page": p, "pageSize": s, "pageCount": -(-t // s), "total": t}},
        "data": r,
    },
    "spring": lambda r, t, p, s, a: {
        "content": r,
        "totalElements": t,
        "totalPages": -(-t // s),
        "size": s,
        "number": p - 1,
        "numberOfElements": len(r),
        "first": p == 1,
    },
    "spring hal": lambda r, t, p, s, a: {
        "_embedded": {"items": r},
        "page": {"size": s, "totalElements": t, "totalPages": -(-t // s), "number": p - 1},
    },
    "graphql relay": lambda r, t, p, s, a: {
        "data": {
            "items": {
                "totalCount": t,
                "pageInfo": {"hasNextPage": p * s < t, "endCursor": "YXJyYXk6OQ"},
                "edges": [{"node": x} for x in r],
            }
        }
    },
    "github": lambda r, t, p, s, a: {"total_count": t, "incomplete_results": False, "items": r},
    "ckan": lambda r, t, p, s, a: {
        "success": True,
        "result": {
            "count": t,
            "sort": "score",
            "results": r,
            "search_facets": {"tags": {"items": [{"count": 3 + i, "name": "ab"} for i in range(5)]}},
        },
    },
    "mediawiki": lambda r, t, p, s, a: {
        "batchcomplete": "",
        "continue": {"sroffset": p * s},
        "query": {"searchinfo": {"totalhits": t}, "search": r},
    },
    "crossref": lambda r, t, p, s, a: {
        "status": "ok",
        "message-version": "1.0",
        "message": {
            "facets": {},
            "total-results": t,
            "items": r,
            "items-per-page": s,
            "query": {"start-index": (p - 1) * s},
        },
    },
    "openalex": lambda r, t, p, s, a: {
        "meta": {"count": t, "db_response_time_ms": 57, "page": p, "per_page": s},
        "results": r,
    },
    "dspace": lambda r, t, p, s, a: {
        "_embedded": {
            "searchResult": {
                "_embedded": {"objects": r},
                "page": {"number": p - 1, "size": s, "totalPages": -(-t // s), "totalElements": t},
            }
        }
    },
    "koha": lambda r, t, p, s, a: {"records": r, "resultCount": t, "status": "OK"},
    "open library": lambda r, t, p, s, a: {
        "numFound": t,
        "start": (p - 1) * s,
        "docs": r,
        "num_found": t,
        "offset": None,
    },
    "zotero rpc": lambda r, t, p, s, a: {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"rows": r, "records": t, "page": p, "total": -(-t // s)},
    },
    "german": lambda r, t, p, s, a: {"ergebnisliste": r, "maxErgebnisse": t, "page": p, "size": s},
    "spanish": lambda r, t, p, s, a: {"pagina": p, "tamano": s, "totalRegistros": t, "registros": r},
    "cursor without total": lambda r, t, p, s, a: {"items": r, "limit": s, "next_cursor": "abc", "took_ms": 12 + p},
    "page without total": lambda r, t, p, s, a: {"page": p, "per_page": s, "items": r, "version": 3},
    "status only": lambda r, t, p, s, a: {
        "status": 200,
        "time": 1700000000 + p,
        "rate_limit_remaining": 4900,
        "data": r,
    },
}
ANSWERS_PER_SHAPE = 12
TITLE_WORDS = [
    "red",
    "lamp",
    "old",
    "river",
    "stone",
    "house",
    "small",
    "garden",
    "night",
    "paper",
    "winter",
    "road",
    "green",
    "table",
    "island",
    "bird",
]


def _json_answers() -> Iterator[Example]:
    """Yield answers of each shape: first pages, later pages and answers without further pages."""
    for name, shape in SHAPES.items():
        rng = random.Random(name)  # not for security
        for at in range(ANSWERS_PER_SHAPE):
            size, everything = rng.choice((10, 20, 25, 50)), rng.randint(2000, 90000)
            total = rng.choice((rng.randint(2, size), rng.randint(size + 1, 20 * size), rng.randint(60, 1900)))
            page = rng.randint(1, -(-total // size)) if at % 3 == 2 else 1
            shown = min(size, total - (page - 1) * size)
            records: list[dict[str, Any]] = [
                {
                    "id": rng.randint(1, 99999),
                    "title": " ".join(rng.sample(TITLE_WORDS, 4)),
                    "year": rng.randint(1950, 2024),
                    "pages": rng.randint(3, 900),
                }
                for _ in range(shown)
            ]
            body = json.dumps(shape(records, total, page, size, everything)).encode()
            tree = read_page(body, f"http://127.0.0.1/api?q=x&page={page}", {"Content-Type": "application/json"})
            texts = [
                " ".join(tree.text(int(row)).split())
                for row in tree.rows("li")
                if any(record["title"] in tree.text(int(row)) for record in records)
            ]

            def read_as(hides_records: bool, tree: TagTree = tree, texts: list[str] = texts) -> totals.TotalCandidates:
                return totals.TotalCandidates(tree, () if hides_records else texts, "x")

            stated = None if name.endswith("without total") or name == "status only" else total
            weight = SOURCE_WEIGHT / ANSWERS_PER_SHAPE
            yield from _copies("json", f"{name} {at}", f"json {name}", weight, stated, read_as)


def examples() -> list[Example]:
    """Return all examples."""
    with ProcessPoolExecutor(2) as pool:
        found = [example for of_site in pool.map(_of_site, _tasks(), chunksize=4) for example in of_site]
    return found + [example for example in _json_answers() if not example.copy.startswith("no names")]


def weights_of(data: Sequence[Example], penalty: float = PENALTY) -> NDArray[np.float64]:
    """Fit the weights; a page that states a total that is not among its numbers teaches nothing."""
    usable = [example for example in data if example.total is None or example.right.any()]
    return choice_weights([(example.x, example.right, example.weight) for example in usable], penalty, SIGNS)


def scores(
    data: Sequence[Example], weights_by_site: dict[str, NDArray[np.float64]], threshold: float = 0.0
) -> dict[str, Any]:
    """Count right, wrong and missed totals."""
    right = wrong = missed = silent = 0
    for example in data:
        evidence = example.x @ weights_by_site[example.site] if len(example.x) else np.zeros(0)
        said = example.values[int(evidence.argmax())] if len(evidence) and evidence.max() >= threshold else None
        right += said is not None and said == example.total
        wrong += said is not None and said != example.total
        missed += said is None and example.total is not None
        silent += said is None and example.total is None
    return {
        "pages": len(data), "right": right, "wrong": wrong, "missed": missed, "rightly none": silent,
        "precision": round(right / max(1, right + wrong), 3), "recall": round(right / max(1, sum(e.total is not None for e in data)), 3),
    }  # fmt: skip


def left_out_weights(data: Sequence[Example], penalty: float = PENALTY) -> dict[str, NDArray[np.float64]]:
    """Return, for each site, weights that were fitted without it."""
    by_site: dict[str, NDArray[np.float64]] = {}
    for train, test in folds_by_group([example.site for example in data], FOLDS):
        weights = weights_of([example for example, taken in zip(data, train, strict=True) if taken], penalty)
        by_site |= {example.site: weights for example, taken in zip(data, test, strict=True) if taken}
    return by_site


def fit() -> FittedJudgement:
    data = examples()
    left_out = left_out_weights(data)
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    for example in data:
        name = (
            "applications"
            if example.group.startswith("kinds")
            else "sites"
            if example.group.startswith("answers")
            else "json"
        )
        groups[f"{name}, {example.copy}" if example.copy else name].append(example)
    card = {
        "data": {name: len(of_group) for name, of_group in groups.items()},
        "folds": f"{FOLDS}, whole sites, applications and interfaces left out",
        "penalty": PENALTY,
        "score": {name: scores(of_group, left_out) for name, of_group in groups.items()},
    }
    return FittedJudgement(
        name="total",
        features=totals.FEATURES,
        outputs=("total",),
        card=card,
        linear=weights_of(data)[None],
    )
