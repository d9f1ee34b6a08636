"""Fit `acting`: does a request act (delete, buy, post, log out)?

The labelled links, labels and forms are `acting_links.tsv`, written for this purpose: address schemes of shops, wikis, trackers, forums, content
management systems, webmail, libraries, banks and governments, and labels in 75 languages. Harmless links are added from the corpora: next
links, record links, and the facets of answers. Only requests with an acting word are judged; all others count as harmless.

Three scores are measured: with whole applications and sites left out; with the labels of each language left out of the fit in turn; and,
for languages that the lexicon does not know, with the words of each language left out of the lexicon in turn.
"""

import importlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels, scorer
from benchmarks.fit.fitting import FittedJudgement, folds_by_group, logistic_weights
from upwell.judge.judgement import Judgement
from upwell.lexicon import vocabulary
from upwell.page.links import link_request
from upwell.page.tree import read
from upwell.types import LinkContext, Request
from upwell.urls import acting
from upwell.urls.acting import FEATURES, acting_hits, feature_values

__all__ = ["Example", "fit", "harmless_links", "recall_of_unknown_languages", "written_examples"]

LINKS = Path(__file__).with_name("acting_links.tsv")
HOST = "http://site.example"
FOLDS = 10
PENALTY = 0.3  # ridge; not swept
# Links of the corpora next to facets and inside records that do act.
OPENS_EDITOR = re.compile(
    r"[?&](?:do|action)=(?:edit|login|register)|Special:UserLogin|ShoppingCart|/checkout/|/sign-up/|/enroll\b"
)
ACTING_LABEL = re.compile(r"(?:save|purchase|buy|add|trade)\b", re.I)
MAX_HARMLESS_LOST = 0.001  # share of the links of the corpora that the threshold may lose, with sites left out; 0.004 lost `order=ascending`
# The written harmless links are hard on purpose ("/buy-lite"), and in doubt a request counts as acting. Only 1 and 0.2 were tried.
WRITTEN_HARMLESS_WEIGHT = 0.2
MAY_BE_NEGATIVE = frozenset(("constant", "search", "record title"))  # features that are no hits


class Example(NamedTuple):
    """A request, whether it acts, and the groups that are left out together."""

    request: Request
    acts: bool
    group: str  # application or site
    language: str


def written_examples() -> Iterator[Example]:
    """Yield the examples of `acting_links.tsv`."""
    for number, line in enumerate(LINKS.read_text(encoding="utf-8").splitlines()):
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
        # an application's addresses are one group, labels one per language; English labels by first letter, other evidence by line
        is_mixed = bool(other) or group in ("redirects", "options")
        own = (
            f"{group}-{label[:1].lower()}" if group == "labels" else f"{group}-{number % FOLDS}" if is_mixed else group
        )
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
            acting_labels = _acting_labels()
            cells = {" ".join(str(cell).split()) for record in row["records"] for cell in record}
            query, following = row.get("query") or "", row.get("next")
            for link, target in tree.links():
                kind = ""
                text = " ".join(tree.text(link).split())
                if following and target == urljoin(url, following):
                    kind = "next"
                elif (
                    len(text) > 3
                    and text in cells
                    and text.lower() not in acting_labels
                    and not (len(text) < 25 and ACTING_LABEL.match(text))
                ):
                    kind = "record"
                elif query and query in target and urlsplit(target).path == urlsplit(url).path and "?" in url:
                    kind = "facet"
                if kind and not OPENS_EDITOR.search(target):
                    yield kind, Example(link_request(tree, link, target, query), False, row["site"], "")


@cache
def _acting_labels() -> frozenset[str]:
    """Return the labels that act; the corpora list buttons inside records ("add to wishlist") as cells."""
    written = (example for example in written_examples() if example.acts and example.request.context)
    return frozenset(example.request.context.label.lower() for example in written if example.request.context)


class _Data(NamedTuple):
    """Examples with an acting word: distinct rows of features, and for each example its row, label and weight."""

    rows: NDArray[np.float64]
    row_of: NDArray[np.int64]
    acts: NDArray[np.bool_]
    weight: NDArray[np.float64]

    def weights(self, fitted_on: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the weights of the features, fitted on some of the examples."""
        count = len(self.rows)
        acting = np.bincount(self.row_of[fitted_on & self.acts], self.weight[fitted_on & self.acts], count)
        harmless = np.bincount(self.row_of[fitted_on & ~self.acts], self.weight[fitted_on & ~self.acts], count)
        used = np.flatnonzero((self.rows[(acting + harmless) > 0] != 0).any(axis=0))
        x = np.vstack([self.rows[acting > 0], self.rows[harmless > 0]])
        y = np.arange(len(x)) < (acting > 0).sum()
        counts = np.concatenate([acting[acting > 0], harmless[harmless > 0]])
        while True:  # an acting word never makes a request less acting: features with negative weights are left out
            weights = np.zeros(len(FEATURES))
            weights[used] = logistic_weights(x[:, used], y, counts, PENALTY)
            negative = {i for i in used.tolist() if weights[i] < 0 and FEATURES[i] not in MAY_BE_NEGATIVE}
            if not negative:
                return weights
            used = np.array([i for i in used.tolist() if i not in negative])

    def left_out(self, groups: list[str], folds: int = FOLDS) -> NDArray[np.float64]:
        """Return the log odds of every example by weights that were fitted without its group; `folds` 0: each group in turn."""
        evidence = np.zeros(len(self.acts))
        for train, test in folds_by_group(groups, folds or len(set(groups))):
            evidence[test] = (self.rows @ self.weights(train))[self.row_of[test]]
        return evidence


def _data(examples: list[Example], written: int) -> tuple[NDArray[np.bool_], _Data]:
    """Return which examples have an acting word, and these as data.

    Many pages of one site repeat the same link: the equal links of a site of the corpora count once.
    """
    at = {name: i for i, name in enumerate(FEATURES)}
    numbers: dict[tuple[tuple[str, float], ...], int] = {}
    judged, row_of, acts, weight = np.zeros(len(examples), bool), [], [], []
    seen: set[tuple[str, int]] = set()
    for i, example in enumerate(examples):
        hits = acting_hits(example.request)
        if not hits:
            continue
        judged[i] = True
        row = numbers.setdefault(tuple(sorted(feature_values(example.request, hits).items())), len(numbers))
        if i < written:
            weight.append(1.0 if example.acts else WRITTEN_HARMLESS_WEIGHT)
        else:
            weight.append(float((example.group, row) not in seen))
        seen.add((example.group, row))
        row_of.append(row)
        acts.append(example.acts)
    rows = np.zeros((len(numbers), len(FEATURES)))
    for values, row in numbers.items():
        for name, value in values:
            rows[row, at[name]] = value
    return judged, _Data(rows, np.array(row_of), np.array(acts), np.array(weight))


@contextmanager
def _lexicon_without(language: str) -> Iterator[object]:
    """Leave the acting words of a language out of the lexicon; English words that are also of this language stay."""
    read_meaning = vocabulary._by_language

    def without(meaning: str) -> dict[str, list[str]]:
        entries = read_meaning(meaning)
        is_left_out = meaning.startswith("acting_")
        return {own: words for own, words in entries.items() if not (is_left_out and own == language)}

    try:
        vocabulary._by_language = without  # type: ignore[assignment]
        vocabulary.words.cache_clear()
        yield importlib.reload(acting)  # with empty caches
    finally:
        vocabulary._by_language = read_meaning
        vocabulary.words.cache_clear()
        importlib.reload(acting)


def recall_of_unknown_languages(judgement: Judgement, examples: list[Example]) -> float:
    """Return the share of the acting labels of other languages that is found if the lexicon does not know their language."""
    found = total = 0
    for language in sorted({example.language for example in examples} - {"en", "mul", ""}):
        with _lexicon_without(language):
            for example in examples:
                if example.acts and example.language == language:
                    hits = acting.acting_hits(example.request)
                    row = judgement.row(acting.feature_values(example.request, hits))
                    found += bool(hits) and bool(judgement.accepts(row)[0])
                    total += 1
    return found / total


def fit() -> FittedJudgement:
    """Fit the weights on all examples; the card has the scores with applications and with languages left out."""
    written = list(written_examples())
    corpus = list(harmless_links())
    examples = written + [example for _, example in corpus]
    acts = np.array([example.acts for example in examples])
    is_written = np.arange(len(examples)) < len(written)
    is_foreign = np.array([example.language not in ("en", "mul", "") for example in examples])
    judged, data = _data(examples, len(written))
    own = [example for example, has_hit in zip(examples, judged, strict=True) if has_hit]
    evidence, by_language = np.full(len(examples), -np.inf), np.full(len(examples), -np.inf)
    evidence[judged] = data.left_out([example.group for example in own])
    by_language[judged] = data.left_out([example.language for example in own], folds=0)
    threshold = float(np.quantile(evidence[~is_written], 1 - MAX_HARMLESS_LOST)) + 1e-3
    said, said_by_language = evidence >= threshold, by_language >= threshold
    score: dict[str, Any] = {
        "examples": len(examples),
        "written": len(written),
        "acting": int(acts.sum()),
        "languages": len({example.language for example in written}),
        "recall": round(float(said[acts].mean()), 4),
        "recall_other_languages": round(float(said_by_language[acts & is_foreign].mean()), 4),
        "harmless_lost_written": round(float(said[~acts & is_written].mean()), 4),
    }
    lost = said[len(written) :]
    for kind in sorted({kind for kind, _ in corpus}):
        mask = np.array([other == kind for other, _ in corpus])
        score[f"{kind}_links"], score[f"{kind}_lost"] = int(mask.sum()), int(lost[mask].sum())
    score["harmless_lost"] = round(float(lost.mean()), 5)
    _print_errors(examples, said, is_written)
    card = {
        "data": "links, labels and forms written for the purpose (acting_links.tsv), and links of answers, pagers and kinds",
        "score": score,
    }
    weights = data.weights(np.ones(len(own), bool))
    fitted = FittedJudgement(
        name="acting", features=FEATURES, outputs=("acts",), card=card, threshold=threshold, linear=weights[None, :]
    )
    score["recall_unknown_languages"] = round(recall_of_unknown_languages(fitted.judgement(), written), 4)
    return fitted


def _print_errors(examples: list[Example], said: NDArray[np.bool_], is_written: NDArray[np.bool_]) -> None:
    """Print the wrongly judged examples as JSON lines, for the person who improves words or features."""
    seen = set()
    for example, is_judged_acting, own in zip(examples, said, is_written, strict=True):
        if example.acts != is_judged_acting:
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
