"""One function per corpus: figures by name, higher is better. Learning uses the pages of one site together, never the labels."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.corpora import CORPORA, by_site, labels, scorer
from benchmarks.ground.measure import measure
from benchmarks.ground.report import figures
from benchmarks.ground.settings import GATE
from benchmarks.papers import yuan as bench
from benchmarks.quality import blocks, entities, links, matches
from benchmarks.quality.naive_tree import differences
from upwell.answers.answer import Answer
from upwell.discover import forms as site_forms
from upwell.page.charset import decode
from upwell.page.tree import read
from upwell.papers import thor as clusters
from upwell.papers.yuan import Selection, sample_words
from upwell.source.apply import apply
from upwell.source.learn import learn_source

__all__ = ["MEASURES"]


def columns() -> dict[str, float]:
    """Return the share of real pages whose columns equal those of a naive tree walk, row by row."""
    pages = sorted(str(path.relative_to(CORPORA)) for path in (CORPORA / "answers").rglob("*.html"))
    with ProcessPoolExecutor(2) as pool:
        equal = list(pool.map(_equal, pages, chunksize=20))
    return {"pages": float(len(pages)), "equal": sum(equal) / len(pages)}


def _equal(page: str) -> bool:
    body = (CORPORA / page).read_bytes()
    return not differences(read(body), decode(body)[0])


def forms() -> dict[str, float]:
    """Score search forms against other forms, and the field that takes the query."""
    rows = labels("forms")
    found = []
    for row in rows:
        tree = read((CORPORA / "forms" / row["page"]).read_bytes(), url=row["url"])
        known = [{"index": f.index, "kind": f.kind, "query_field": f.query_field} for f in site_forms.find(tree)]
        found.append({"page": row["page"], "forms": known})
    score = scorer("forms").score(rows, found)
    return {name: score[name] for name in ("f1", "precision", "recall", "query_field")}


def records(corpus: str, links: bool = False) -> dict[str, float]:
    """Score records of answers against labelled records; `links`: the labels contain the targets of links.

    `f1_each` leaves out sites that label groups: at most two records per page, with up to 290 names (two sites of wien).
    """
    sites = list(by_site(labels(corpus)).values())
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(partial(_records, corpus, links), sites))
        some = [  # the scorer needs seconds for a page of a thousand records: pages are distributed over the processes
            (rows[i : i + 10], pages[i : i + 10], _grouped(rows))
            for rows, pages in zip(sites, found, strict=True)
            for i in range(0, len(rows), 10)
        ]
        counts = list(pool.map(_scored, some))
    each = [count for count, (_, _, grouped) in zip(counts, some, strict=True) if not grouped]
    return {**_ratios(counts), "f1_each": _ratios(each)["f1"]}


def _scored(some: tuple[list[dict[str, Any]], list[dict[str, Any]], bool]) -> dict[str, int]:
    score = scorer("records").score(some[0], some[1])
    return {name: score[name] for name in ("labelled", "found", "right")}


def _ratios(counts: list[dict[str, int]]) -> dict[str, float]:
    labelled, found, right = (sum(count[name] for count in counts) for name in ("labelled", "found", "right"))
    precision, recall = right / max(1, found), right / max(1, labelled)
    return {
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 4),
        "precision": round(precision, 4),
        "recall": round(recall, 4),
    }


def _grouped(rows: list[dict[str, Any]]) -> bool:
    return all(len(page["records"]) <= 2 for page in rows) and any(
        len(cells) > 40 for page in rows for cells in page["records"]
    )


def _records(corpus: str, links: bool, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    trees = [read((CORPORA / corpus / row["page"]).read_bytes(), url=row.get("url") or "") for row in rows]
    model = learn_source([Answer(tree, row.get("query") or "") for row, tree in zip(rows, trees, strict=True)])
    found = []
    for row, tree in zip(rows, trees, strict=True):
        matches = apply(model, tree).records
        texts = [" ".join([record.text, *record.links]) if links else record.text for record in matches]
        found.append({"page": row["page"], "records": [{"text": text} for text in texts]})
    return found


def kinds(corpus: str) -> dict[str, float]:
    """Score answers grouped by template (1 − entropy), their kinds, and the distinction between answers with and without records."""
    rows = labels(corpus)
    with ProcessPoolExecutor(2) as pool:
        found = [page for pages in pool.map(partial(_kinds, corpus), by_site(rows).values()) for page in pages]
    score = scorer("kinds").score(rows, found)
    return {
        "purity": 1 - score["entropy"],
        "few_clusters": 1 / score["clusters"],
        "kind_right": score["kind_right"],
        "full_precision": score["nonempty"][0],
        "full_recall": score["nonempty"][1],
    }


def _kinds(corpus: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    trees = [read((CORPORA / corpus / row["page"]).read_bytes(), url=row.get("url") or "") for row in rows]
    grouped = clusters.cluster_pages(trees, rng=np.random.default_rng(0)).labels
    model = learn_source([Answer(tree, row.get("query") or "") for row, tree in zip(rows, trees, strict=True)])
    return [
        {
            "page": row["page"],
            "cluster": label,
            "kind": apply(model, tree, asked_at=model.asked_at, query=row.get("query") or "").kind,
        }
        for row, tree, label in zip(rows, trees, grouped, strict=True)
    ]


def queries() -> dict[str, float]:
    """Score our dictionary on 3,000 newsgroup posts, k = 50: hit rate after 150 queries, and the reciprocal of the overlap rate at 75 %."""
    texts = bench._texts(CORPORA / "texts" / "newsgroups20.jsonl.gz")
    runs = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        words = sample_words(bench._part(texts, rng), "optimal", bench.WORDS, rng)
        runs.append(bench._issue(words, "overflow", Selection(result_cap=50), seed))
    return {
        "hit": float(np.mean([run.hit[-1] for run in runs])),
        "fresh_at_75": float(np.mean([1 / (run.overlap_at(0.75) or np.inf) for run in runs])),
    }


def ground() -> dict[str, float]:
    """Score a part of the simulated sources: requests of the oracle ÷ ours to 95 %, and how often statements hold."""
    tasks = [(name, setting, 0, 1000, True, 0) for name in ("things", "cities", "products") for setting in GATE]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(measure, tasks))
    found = figures(rows)
    return {
        "to_oracle": 1 / found["÷ oracle"],
        "reached": found["reached 95 %"],
        "holds": found["holds"],
        "low_holds": found["low holds"],
        "bounded": 1 - found["at least"],
    }


MEASURES: dict[str, Callable[[], dict[str, float]]] = {
    "columns": columns,
    "forms": forms,
    "queries": queries,
    "ground": ground,
    **{
        f"records/{corpus.rsplit('/', 1)[-1]}": partial(records, corpus)
        for corpus in ("answers/serp150", "answers/wien", "answers/tbdw", "answers/vints1", "kinds", "kinds-more")
    },
    "articles/site": partial(blocks.articles, "news", alone=False),
    "articles/alone": partial(blocks.articles, "news", alone=True),
    "articles/more": partial(blocks.articles, "articles", alone=True),
    "content": blocks.content,
    "tocs/site": partial(blocks.tocs, alone=False),
    "tocs/alone": partial(blocks.tocs, alone=True),
    "records/tbdw+links": partial(records, "answers/tbdw", links=True),
    "records/vints1+links": partial(records, "answers/vints1", links=True),
    "entities/site": entities.entities,
    "entities/5": partial(entities.entities, 5),
    "entities/alone": entities.entities_alone,
    "kinds": partial(kinds, "kinds"),
    "kinds-more": partial(kinds, "kinds-more"),
    "pagers/pages": partial(links.pagers, "pagers"),
    "pagers/more": partial(links.pagers, "pagers-more"),
    "pagers/kinds": partial(links.pagers, "kinds"),
    "pagers/kinds-more": partial(links.pagers, "kinds-more"),
    "pagers/harvest": links.harvested_pagers,
    "totals": partial(links.totals, "kinds"),
    "totals/more": partial(links.totals, "kinds-more"),
    "roles": links.roles,
    "roles/20": partial(links.roles, 20),
    "empty": links.empty,
    **{f"matches/{name}": partial(matches.matches, name) for name in matches.PAIRS},
}
