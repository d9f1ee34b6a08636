"""Informative blocks: article texts of the news corpus, and tables of contents of index pages that were labelled by hand.

How the tables of contents were labelled: one answer of each of the twelve applications was read by hand, link group by link group, and
the element that contains the list of matches was named. The same element was then marked on the first four answers with at least three
matches (`toc_labels.json`). The home page of the demo site and one answer in each layout were labelled in the same way (`DEMO`). Menus,
sort links, facets, pagers, exports and footers are not marked. Anchors are counted inside and outside (Wisdom's SNC); every page of an
application, and every application, has the same weight. The method was developed on these pages: there is no held-out part.
"""

import json
from pathlib import Path
from urllib.request import urlopen

import numpy as np

from benchmarks.corpora import CORPORA, by_site, labels, scorer
from benchmarks.fit.content_pages import content_labels, raw_pages
from upwell.content import main_content as blocks
from upwell.content.main_text import find_main_text
from upwell.demo import Switches, serve
from upwell.page.tree import TagTree, read
from upwell.papers import wisdom

__all__ = ["articles", "content", "tocs"]

LABELS = Path(__file__).with_name("toc_labels.json")
EVERY_CONTENT = 3  # one of this number of pages is read
LEARN = 60  # pages of an application that are learned from
DEMO = {
    "list": "/html/body/main/ul",
    "table": "/html/body/main/table/tbody",
    "grid": "/html/body/main/div[2]",
    "definitions": "/html/body/main/dl",
    "flat": "/html/body/main/div[2]",
}


def articles(corpus: str, alone: bool) -> dict[str, float]:
    """Score article texts, from each page alone or with the pages of its site."""
    rows, found = labels(corpus), []
    for pages in by_site(rows).values():
        trees = [read((CORPORA / corpus / row["page"]).read_bytes()) for row in pages]
        site = None if alone else blocks.learn_site(trees)
        for row, tree in zip(pages, trees, strict=True):
            known = blocks.find_blocks(tree, site)
            found.append({"page": row["page"], "blocks": [{"type": b.type, "text": b.text} for b in known]})
    score = scorer("articles").score(rows, found)
    return {name: score[name] for name in ("f1", "precision", "recall")}


def content() -> dict[str, float]:
    """Score the main content of every third page of the content corpus. The judgements were fitted on these pages, so the figures are
    higher than those with domains left out, which `python -m benchmarks.fit content_line` prints.
    """
    rows = content_labels()[::EVERY_CONTENT]
    wanted = {row["page"] for row in rows}
    found = [
        {"page": name, "main": find_main_text(read(body, reveals=True)).text}
        for name, body in raw_pages()
        if name in wanted
    ]
    score = scorer("content").score(rows, found)
    return {"f1": score["f1"], "with": score["with"], "without": score["without"], **score["kinds"]}


def tocs(alone: bool) -> dict[str, float]:
    """Score tables of contents of index pages, by anchors."""
    marked: dict[str, list[str]] = json.loads(LABELS.read_text())
    sites = [_application(rows, marked) for rows in by_site(labels("kinds")).values()]
    scores = [_score(trees, wanted, alone) for trees, wanted in (*sites, _demo())]
    precision, recall = np.mean(scores, axis=0).tolist()
    return {"f1": 2 * precision * recall / (precision + recall), "precision": precision, "recall": recall}


def _application(
    rows: list[dict[str, str]], marked: dict[str, list[str]]
) -> tuple[list[TagTree], dict[int, list[str]]]:
    trees = [read((CORPORA / "kinds" / row["page"]).read_bytes(), url=row["url"]) for row in rows[:LEARN]]
    return trees, {i: marked[row["page"]] for i, row in enumerate(rows[:LEARN]) if row["page"] in marked}


def _demo() -> tuple[list[TagTree], dict[int, list[str]]]:
    trees: list[TagTree] = []
    wanted: dict[int, list[str]] = {}
    for layout, path in DEMO.items():
        with serve(Switches.parse([f"layout={layout}"])) as site:
            for page in ("", "about", "search?q=lima", "search?q=spain"):
                if page == "" and layout == "list":
                    wanted[len(trees)] = ["/html/body/main/ul"]
                elif page == "search?q=lima":
                    wanted[len(trees)] = [path]
                with urlopen(site.url + page) as answer:  # noqa: S310 # our own server
                    trees.append(read(answer.read(), url=site.url + page))
    return trees, wanted


def _score(trees: list[TagTree], wanted: dict[int, list[str]], alone: bool) -> list[float]:
    site = None if alone else blocks.learn_site(trees)
    scores = []
    for i, paths in wanted.items():
        tree = trees[i]
        answer = [row for path in paths if (row := tree.row_at(path)) is not None]
        assert len(answer) == len(paths), "a label points to nothing"
        found = [row for b in blocks.find_blocks(tree, site) if b.type == "toc" for row in b.rows]
        scores.append(wisdom.score_by_anchors(tree, answer, found))
    return [float(value) for value in np.mean(scores, axis=0)]
