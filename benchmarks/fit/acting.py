"""Fit `acting`: does a request act (delete, buy, post, log out)?

The labelled links, labels and forms are `acting_links.tsv`, written for this purpose: address schemes of shops, wikis, trackers, forums, content
management systems, webmail, libraries, banks and governments, and labels in 75 languages. Harmless links are added from the corpora: next
links, record links, and the facets of answers. Only requests with an acting word are judged; all others count as harmless.

Two scores are measured: with whole applications and sites left out, and with each language left out in turn.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels, scorer
from benchmarks.fit.fitting import FittedJudgement, folds_by_group, logistic_weights
from upwell.page.links import link_request
from upwell.page.tree import read
from upwell.types import LinkContext, Request
from upwell.urls.acting import FEATURES, acting_hits, feature_values

__all__ = ["Example", "fit", "harmless_links", "written_examples"]

LINKS = Path(__file__).with_name("acting_links.tsv")
HOST = "http://site.example"
FOLDS = 10
PENALTY = 0.3  # ridge; swept 0.05 … 3: recall 0.980–0.985, harmless lost 0.1–0.3 %
MIN_RECALL = 0.985  # of the threshold, with applications left out


class Example(NamedTuple):
    """A request, whether it acts, and the groups that are left out together."""

    request: Request
    acts: bool
    group: str  # application or site
    language: str


def written_examples() -> Iterator[Example]:
    """Yield the examples of `acting_links.tsv`."""
    for line in LINKS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        acts, group, language, method, address, label, other = line.split("\t")
        parts = dict(part.partition("=")[::2] for part in other.split("; ") if part)
        fields: dict[str, Any] = {}
        if "json" in parts:
            fields = {"body": parts["json"].encode(), "content_type": "application/json"}
        elif "body" in parts:
            fields = {"body": parts["body"].encode(), "content_type": "application/x-www-form-urlencoded"}
        if "header" in parts:
            name, _, value = parts["header"].partition(":")
            fields["headers"] = ((name, value),)
        is_alike = "alike" in parts
        context = LinkContext(
            label=label,
            hints=tuple(filter(None, [parts.get("hints", "")])),
            marks=tuple(filter(None, [parts.get("marks", "")])),
            around=parts.get("around", ""),
            is_button="button" in parts,
            alike=20 if is_alike or "repeated" in parts else 0,
            same_label=20 if "repeated" in parts else 0,
            is_script=group == "js" and acts == "0",
        )
        request = Request(url=HOST + address, method="POST" if method == "POST" else "GET", context=context, **fields)
        # an application's addresses are one group; labels are grouped by language, English ones by their first letter
        own = f"{group}-{label[:1].lower()}" if group == "labels" else group
        yield Example(request, acts == "1", own, language)


def harmless_links() -> Iterator[tuple[str, Example]]:
    """Yield kind (next, record, facet) and example of every labelled harmless link of the corpora."""
    truth = scorer("pagers").truth
    for corpus in ("pagers", "pagers-more"):
        for row in labels(corpus):
            wanted = truth(row, CORPORA / corpus) or set()
            tree = read((CORPORA / corpus / row["page"]).read_bytes(), url=row["url"])
            for link, url in tree.links():
                if urldefrag(url)[0].rstrip("/") in wanted:
                    yield "next", Example(link_request(tree, link, url), False, urlsplit(row["url"]).netloc, "")
    for corpus in ("kinds", "kinds-more", "answers/serp150", "answers/wien", "answers/vints1", "answers/tbdw"):
        for row in labels(corpus):
            if not row.get("records"):
                continue
            url = row.get("url") or f"http://{row['site']}/"
            tree = read((CORPORA / corpus / row["page"]).read_bytes(), url=url)
            cells = {" ".join(str(cell).split()) for record in row["records"] for cell in record}
            query, following = row.get("query") or "", row.get("next")
            for link, target in tree.links():
                kind = ""
                text = " ".join(tree.text(link).split())
                if following and target == urljoin(url, following):
                    kind = "next"
                elif len(text) > 3 and text in cells and text not in NOT_TITLES:
                    kind = "record"
                elif query and query in target and urlsplit(target).path == urlsplit(url).path and "?" in url:
                    kind = "facet"
                if kind:
                    yield kind, Example(link_request(tree, link, target, query), False, row["site"], "")


# Labels of buttons inside records, which the corpora list as cells.
NOT_TITLES: frozenset[str] = frozenset()


def _matrix(examples: list[Example]) -> NDArray[np.float64]:
    at = {name: i for i, name in enumerate(FEATURES)}
    x = np.zeros((len(examples), len(FEATURES)))
    for i, example in enumerate(examples):
        for name, value in feature_values(example.request, acting_hits(example.request)).items():
            x[i, at[name]] = value
    return x


def fit() -> FittedJudgement:
    """Fit the weights on all examples; the card has the scores with applications and with languages left out."""
    written = list(written_examples())
    corpus = list(harmless_links())
    kinds = sorted({kind for kind, _ in corpus})
    examples = written + [example for _, example in corpus]
    judged = np.array([bool(acting_hits(example.request)) for example in examples])
    acts = np.array([example.acts for example in examples])
    is_written = np.arange(len(examples)) < len(written)
    own = [example for example, has_hit in zip(examples, judged, strict=True) if has_hit]
    x, y = _matrix(own), acts[judged]
    # many pages of one site repeat the same link: distinct feature vectors of the corpora count once
    weight = np.ones(len(own))
    seen: set[bytes] = set()
    for i, (row, in_file) in enumerate(zip(x, is_written[judged], strict=True)):
        key = own[i].group.encode() + row.tobytes()
        weight[i] = 1.0 if in_file or key not in seen else 0.0
        seen.add(key)
    evidence = _left_out(x, y, weight, [example.group for example in own])
    by_language = _left_out(x, y, weight, [example.language or example.group for example in own], folds=0)
    full = np.full(len(examples), -np.inf)
    full[judged] = evidence
    language_full = np.full(len(examples), -np.inf)
    language_full[judged] = by_language
    threshold = float(np.quantile(full[acts], 1 - MIN_RECALL, method="lower"))
    said, said_language = full >= threshold, language_full >= threshold
    card: dict[str, Any] = {
        "examples": len(examples),
        "written": len(written),
        "acting": int(acts.sum()),
        "recall": round(float(said[acts].mean()), 4),
        "recall_languages_left_out": round(float(said_language[acts & is_written].mean()), 4),
        "harmless_lost_written": round(float(said[~acts & is_written].mean()), 4),
    }
    of_corpus = [kind for kind, _ in corpus]
    lost = said[len(written) :]
    for kind in kinds:
        mask = np.array([other == kind for other in of_corpus])
        card[f"{kind}_links"], card[f"{kind}_lost"] = int(mask.sum()), int(lost[mask].sum())
    card["harmless_lost"] = round(float(lost.mean()), 5)
    weights = logistic_weights(x, y, weight, PENALTY)
    _print_errors(examples, said, is_written)
    return FittedJudgement(
        name="acting", features=FEATURES, outputs=("acts",), card=card, threshold=threshold, linear=weights[None, :]
    )


def _left_out(
    x: NDArray[np.float64], y: NDArray[np.bool_], weight: NDArray[np.float64], groups: list[str], folds: int = FOLDS
) -> NDArray[np.float64]:
    """Return the log odds of every example by weights that were fitted without its group; `folds` 0: each group in turn."""
    evidence = np.zeros(len(x))
    for train, test in folds_by_group(groups, folds or len(set(groups))):
        evidence[test] = x[test] @ logistic_weights(x[train], y[train], weight[train], PENALTY)
    return evidence


def _print_errors(examples: list[Example], said: NDArray[np.bool_], is_written: NDArray[np.bool_]) -> None:
    """Print the wrongly judged examples as JSON lines, for the person who improves words or features."""
    seen = set()
    for example, acting, own in zip(examples, said, is_written, strict=True):
        if example.acts != acting:
            context = example.request.context
            shown = {
                "acts": example.acts,
                "group": example.group,
                "url": example.request.url if own else "",  # pages of the corpora are not repeated
                "label": context.label if context and own else "",
                "hits": sorted({f"{hit.word}: {hit.feature}" for hit in acting_hits(example.request)}),
            }
            line = json.dumps(shown, ensure_ascii=False)
            if line not in seen:
                seen.add(line)
                print(line)
