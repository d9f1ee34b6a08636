"""Pagers (as labelled, and as a harvest follows them), totals, roles of URL arguments, second-level URLs and empty answers."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np

from benchmarks.corpora import CORPORA, labels, scorer
from benchmarks.papers.entity import Source, sources, wrongly_dropped
from upwell.answers import kind as empty_answers
from upwell.answers.argument_roles import learn_roles
from upwell.answers.facets import urls_to_fetch
from upwell.answers.next_page import next_link_url, next_page
from upwell.answers.totals import read_totals
from upwell.demo import Switches, serve
from upwell.page.tree import TagTree, read

__all__ = ["empty", "harvested_pagers", "pagers", "roles", "totals"]

BACKGROUND = 3
DEMO = {
    name: {"role": role, "irrelevant": role not in ("query", "filter")}
    for name, role in {"q": "query", "page": "page", "sort": "sort", "ref": "tracking", "continent": "filter", "country": "filter"}.items()
}  # fmt: skip
WORDS = (
    "lima",
    "spain",
    "san",
    "york",
    "paris",
    "united",
    "chile",
    "new",
    "port",
    "saint",
    "river",
    "la",
    "al",
    "don",
    "kota",
)


def pagers(corpus: str, next_url: Callable[[TagTree, str], str | None] = next_link_url) -> dict[str, float]:
    """Score next links against labels by people (`pagers`) or by the application itself (`kinds`)."""
    rows, found = labels(corpus), []
    for row in rows:
        tree = read((CORPORA / corpus / row["page"]).read_bytes(), url=row.get("url") or "")
        found.append({"page": row["page"], "next": next_url(tree, row.get("query") or "")})
    score = scorer("pagers").score(rows, found, CORPORA / corpus)
    return {name: score[name] for name in ("precision", "recall")}


def harvested_pagers() -> dict[str, float]:
    """Score the next pages that a harvest requests with a plain GET; forms are left out, because the labels are URLs."""
    return pagers("kinds", _harvested_url)


def _harvested_url(tree: TagTree, query: str) -> str | None:
    page = next_page(tree, query)
    return page.url if page is not None and page.method == "GET" and not page.fields else None


def totals(corpus: str) -> dict[str, float]:
    """Score stated totals of answers with a label."""
    rows = [row for row in labels(corpus) if row["kind"] == "multi" and row["total"] is not None]
    right = 0
    for row in rows:
        tree = read((CORPORA / corpus / row["page"]).read_bytes(), url=row["url"])
        right += read_totals(tree, [" ".join(map(str, values)) for values in row["records"]]).total == row["total"]
    return {"pages": float(len(rows)), "right": right / len(rows)}


def roles(few: int = 0) -> dict[str, float]:
    """Score irrelevant arguments, and URLs correctly kept or dropped, on the applications and the demo site; `few`: number of answers to learn from."""
    right = wrong = missed = named = known = 0
    found = kept = lost = 0
    for source in (*sources(CORPORA), _demo()):
        step = max(1, len(source.trees) // few) if few else 1
        learned = learn_roles(source.trees[::step], source.queries[::step])
        for name, label in source.labels.items():
            if label["role"] != "unknown":
                said = learned.arguments.get(name)
                true, says = bool(label["irrelevant"]), said is not None and said.irrelevant
                right, wrong, missed = (
                    right + (true and says),
                    wrong + (says and not true),
                    missed + (true and not says),
                )
                known, named = known + 1, named + (said is not None and said.role == label["role"])
        all_urls, keep, bad = wrongly_dropped(source, learned, learned.irrelevant)
        found, kept, lost = found + all_urls, kept + keep, lost + bad
    return {
        "precision": right / (right + wrong),
        "recall": right / (right + missed),
        "role_right": named / known,
        "not_lost": 1 - lost / found,
        "reduction": found / kept,
    }


def _demo() -> Source:
    """Return answers of the demo site, their pages and facets, as in a harvest."""
    rows: list[dict[str, Any]] = []
    trees: list[TagTree] = []
    with serve(Switches()) as site:

        def fetch(url: str, word: str) -> None:
            with urlopen(url) as answer:  # noqa: S310 # our own server
                trees.append(read(answer.read(), url=answer.url))
            rows.append({"query": word})

        for word in WORDS:
            fetch(f"{site.url}search?q={quote(word)}", word)
        learned = learn_roles(trees, WORDS)
        for url in list(urls_to_fetch(trees, learned, WORDS).by_partition.values())[:30]:
            fetch(url, "")
    return Source("demo", rows, trees, DEMO)


def empty(seeds: Sequence[int] = (0, 1, 2)) -> dict[str, float]:
    """Score "non-empty" with three background pages and no status codes, each page on its own."""
    rows, found = [], []
    for source in sources(CORPORA):
        nonsense = [i for i, row in enumerate(source.rows) if row["source"] == "nonsense"]
        for seed in seeds:
            chosen = set(np.random.default_rng(seed).choice(nonsense, BACKGROUND, replace=False).tolist())
            model = empty_answers.learn_empty([(source.trees[i], source.queries[i]) for i in sorted(chosen)])
            for i, row in enumerate(source.rows):
                if i not in chosen:
                    said = empty_answers.judge_answer(model, source.trees[i], source.queries[i]).kind
                    kind = {"matches": "multi", "none": "none"}.get(said, "error")
                    name = f"{seed}/{row['page']}"
                    rows.append({**row, "page": name})
                    found.append({"page": name, "cluster": 0, "kind": kind})
    precision, recall = scorer("kinds").score(rows, found)["nonempty"]
    return {"precision": precision, "recall": recall}
