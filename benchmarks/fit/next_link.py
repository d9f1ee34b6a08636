"""Fit the next link: which target of a page is its next page, and which leads to further records of the same list.

The model is a choice: log odds of each target against "none", fitted by the likelihood of the labelled target of a page. Labels:

    pagers, pagers-more   labelled by people; `further` is derived: the older entries of a blog, the next number where nothing is marked as next,
                          none where the label is the next article
    kinds, kinds-more     labelled by the application
    content               rel=next, which is hidden from the features; articles, products and services have no further page
    entities, news        pages of one record or article: no further page

Every page labelled by people counts several times: as it is, without its URL, without rel, with words of no known language,
with no link to the next page but its number (which people label as a page and not as "next"), without any link to it, without all links
forward, as the last page, and bare: the features of markup and place are 0, as on a page of plain links.
"""

import gzip
import json
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels, scorer
from benchmarks.fit.fitting import FittedJudgement, choice_weights, folds_by_group, site_of
from upwell.answers import pager
from upwell.page.tree import TagTree, read
from upwell.urls.arguments import split_url

OUTPUTS = ("next", "further")
FOLDS = 10
PENALTY = 0.2  # swept from 0.1 to 0.8: the likelihood of sites left out is flat up to 0.3 and falls after it
KINDS_PER_SOURCE = 6  # answers with and without a next page, first and later pages, per source
KINDS_WEIGHT = 0.5
OTHER_WEIGHT = 0.15  # of a page whose label is not by people or by its application
# weight of each copy of a labelled page
COPIES = {
    "": 0.4,
    "no url": 0.2,
    "no rel": 0.2,
    "no words": 0.2,
    "only numbers": 0.3,
    "no next": 0.2,
    "last page": 0.2,
    "bare": 0.2,
    "bare, no url": 0.1,
}
CONTEXT = (
    "label_next", "rel_next", "class_next", "class_right", "class_single", "class_pager", "among_pager_links", "with_numbers", "with_back",
    "with_current", "last_of_pager", "after_numbers", "little_other_text", "low", "repeated", "declared", "next_number", "number",
    "next_number_and_text", "marked_in_pager", "arrow_in_pager", "step_in_pager",
)  # fmt: skip
BARE = [pager.FEATURES.index(name) for name in CONTEXT]
CHANGED = ("only numbers", "no next", "last page")  # copies without some of the links
ENTITY_PAGES, NEWS_PAGES = 2, 1  # pages per site
# Features whose weight has a known sign. With a few hundred pages, the bounds keep correlated features from cancelling out.
FOR = (
    "next_word", "more_results", "arrow", "next_number", "label_next", "rel_next", "class_next", "class_pager", "among_pager_links",
    "with_numbers", "with_back", "with_current", "last_of_pager", "after_numbers", "step_one", "new_two", "page_argument",
    "has_page_argument", "same_path", "repeated", "declared", "repeats_search", "only_number_repeats_search", "marked", "marked_and_step",
    "next_number_and_text", "little_other_text", "marked_in_pager", "arrow_in_pager", "next_start_and_step",
    "more_and_step", "step_in_pager", "marked_and_search",
)  # fmt: skip
AGAINST = (
    "next_item", "back_word", "last_word", "label_back", "label_last", "rel_prev", "class_back", "class_end", "class_slides", "many_targets",
    "beyond_number", "other_number", "drops_search", "declared_prev", "date", "step_back", "loses_arguments", "other_changes", "other_path",
    "long_text", "number_before", "number_beyond", "marked_and_no_step", "marked_without_context", "no_step",
)  # fmt: skip
SIGNS = [1 if name in FOR else -1 if name in AGAINST else 0 for name in pager.FEATURES]
NO_WORDS = ("NEXT", "NEXT_START", "NEXT_ITEM", "PREVIOUS", "MORE", "MORE_RESULTS", "OLDER", "NEWER", "LAST")
SINGLE_KINDS = ("article", "product", "service", "documentation")


@dataclass(frozen=True, kw_only=True)
class Example:
    """Page with the features of its targets, and which of them are right, per output (None: not known)."""

    corpus: str
    page: str
    site: str
    copy: str
    weight: float
    targets: Sequence[str]
    x: NDArray[np.float64]
    right: tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]
    wanted: frozenset[str]  # labelled URLs, as the scorer writes them


@contextmanager
def _without_words() -> Iterator[None]:
    """Read labels as if every language were unknown; arrows and numbers remain."""
    kept = {name: getattr(pager, name) for name in NO_WORDS}
    for name in NO_WORDS:
        setattr(pager, name, re.compile("(?!)"))
    pager.parse_label.cache_clear()
    try:
        yield
    finally:
        for name, pattern in kept.items():
            setattr(pager, name, pattern)
        pager.parse_label.cache_clear()


def _targets(tree: TagTree, query: str, copy: str) -> pager.Pager:
    found = pager.Pager(tree, query, uses_rel=copy != "no rel")
    _ = found.features
    return found


def _column(found: pager.Pager, name: str) -> NDArray[np.bool_]:
    return found.features[:, pager.FEATURES.index(name)] > 0


def _further(found: pager.Pager, right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Derive which targets lead to further records from those that are labelled as next."""

    def has(name: str) -> NDArray[np.bool_]:
        return _column(found, name)

    forward = has("step_one") | has("step_more") | has("new_number") | has("own_url_unknown")
    older = has("older") & forward
    if older.any():
        return older
    if not right.any():
        numbered = has("next_number") & ~has("date") & ~has("step_back")
        return numbered if numbered.any() else has("only_declared")
    return right & (has("has_page_argument") | has("with_numbers") | has("after_numbers"))


def _labelled(corpus: str) -> Iterator[Example]:
    score = scorer("pagers")
    for row in labels(corpus):
        wanted = score.truth(row, CORPORA / corpus)
        if wanted is None:
            continue
        tree = read((CORPORA / corpus / row["page"]).read_bytes(), url=row["url"])
        for copy, weight in COPIES.items():
            shown = _changed_page(tree, wanted, copy)
            if shown is None:
                continue
            with _read_as(copy):
                found = _targets(shown, "", copy)
            right = np.array([score.clean(url) in wanted for url in found.targets], bool)
            further: NDArray[np.bool_] | None = _further(found, right)
            if copy == "only numbers":
                if not (right & _column(found, "next_number") & ~_column(found, "repeats_search")).any():
                    continue
                right, further = np.zeros(len(right), bool), right
            is_changed = copy in CHANGED
            x = found.features.copy()
            if copy.startswith("bare"):
                x[:, BARE] = 0
                if not x[right, pager.FEATURES.index("marked")].any():
                    continue
            if copy == "last page":
                further = np.zeros(len(right), bool)
            elif copy == "no next":
                further = None  # the last page, or a page further on, may be better than nothing
            yield Example(
                corpus=corpus, page=row["page"], site=site_of(row["url"]), copy=copy, weight=weight, targets=found.targets, x=x,
                right=(right, further), wanted=frozenset(() if is_changed else wanted),
            )  # fmt: skip


def _changed_page(tree: TagTree, wanted: set[str], copy: str) -> TagTree | None:
    """Return the page of a copy: without some of its links. None if it would be the same page."""
    if copy not in CHANGED:
        return tree
    clean = scorer("pagers").clean
    of_next = [(row, url) for row, url in tree.links() if clean(url) in wanted]
    if copy == "only numbers":
        removed = {row for row, _ in of_next if not pager.PAGE_NUMBER.fullmatch(tree.text(row).strip())}
    elif copy == "no next":
        removed = {row for row, _ in of_next}
    else:
        removed = {row for row, url in tree.links() if clean(url) in wanted or pager._increase(tree.url, url) > 0}
    return tree.without_attributes(removed | set(tree.rows("link").tolist())) if of_next and removed else None


@contextmanager
def _read_as(copy: str) -> Iterator[None]:
    with _without_words() if copy == "no words" else _unknown_url() if copy.endswith("no url") else nullcontext():
        yield


@contextmanager
def _unknown_url() -> Iterator[None]:
    """Judge pages as if their URL were unknown."""
    kept = pager._page_url
    pager._page_url = lambda tree: ""  # the name is that of the function it replaces
    try:
        yield
    finally:
        pager._page_url = kept


def _of_applications(corpus: str) -> Iterator[Example]:
    score = scorer("pagers")
    taken: Counter[tuple[str, bool, bool]] = Counter()
    for row in labels(corpus):
        arguments = split_url(row["url"], row["query"] or "").arguments
        is_later = any(pager._is_page_name(name) and value not in ("", "0", "1") for name, value in arguments)
        key = row["site"], bool(row["next"]), is_later
        taken[key] += 1
        if taken[key] > KINDS_PER_SOURCE:
            continue
        found = _targets(read((CORPORA / corpus / row["page"]).read_bytes(), url=row["url"]), row["query"] or "", "")
        wanted = {score.clean(row["next"])} if row["next"] else set()
        right = np.array([score.clean(url) in wanted for url in found.targets], bool)
        yield Example(
            corpus=corpus, page=row["page"], site=row["site"], copy="", weight=KINDS_WEIGHT, targets=found.targets, x=found.features, right=(right, right),
            wanted=frozenset(wanted),
        )  # fmt: skip


def _declared(tree: TagTree) -> set[str]:
    """Return the targets of rel=next, in the head or in links."""
    return {
        urldefrag(tree.resolve(tree.attr(row, "href")) or "")[0].rstrip("/")
        for row in tree.rows("link", "a").tolist()
        if "next" in (tree.attr(row, "rel") or "").lower().split()
    } - {""}


def _of_content() -> Iterator[Example]:
    with gzip.open(CORPORA / "content" / "labels.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = {row["page"]: row for row in map(json.loads, lines)}
    with tarfile.open(CORPORA / "content" / "pages.tar.xz", "r|xz") as pages:
        for member in pages:
            row = rows.get(member.name.rpartition("/")[2])
            if row is None or not member.isfile():
                continue
            stream = pages.extractfile(member)
            tree = read(stream.read() if stream else b"", url=row["url"])
            declared = _declared(tree)
            is_single = row["kind"] in SINGLE_KINDS
            if not declared and not is_single:
                continue
            found = _targets(tree, "", "no rel")
            right = np.array([url.rstrip("/") in declared for url in found.targets], bool)
            if not len(right) or (declared and not right.any()):
                continue
            nothing = np.zeros(len(right), bool)
            next_right = right if declared else nothing if row["kind"] in ("product", "service") else None
            yield Example(
                corpus="content", page=row["page"], site=site_of(row["url"]), copy="no rel", weight=OTHER_WEIGHT, targets=found.targets,
                x=found.features, right=(next_right, nothing if is_single else right), wanted=frozenset(declared),
            )  # fmt: skip


def _of_single_pages() -> Iterator[Example]:
    """Yield pages of one record or article."""
    taken: Counter[str] = Counter()
    for folder in sorted((CORPORA / "entities").iterdir()):
        rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
        for row in rows[:ENTITY_PAGES]:
            path = folder / row["page"] if (folder / row["page"]).exists() else CORPORA / "entities" / row["page"]
            yield from _single("entities", row["page"], folder.name, path.read_bytes(), row.get("url") or "")
    for row in labels("news"):
        taken[row["site"]] += 1
        if taken[row["site"]] <= NEWS_PAGES:
            content = (CORPORA / "news" / row["page"]).read_bytes()
            yield from _single("news", row["page"], row["site"], content, row.get("url") or "")


def _single(corpus: str, page: str, site: str, content: bytes, url: str) -> Iterator[Example]:
    found = _targets(read(content, url=url), "", "")
    if len(found.targets):
        nothing = np.zeros(len(found.targets), bool)
        yield Example(
            corpus=corpus, page=page, site=site, copy="", weight=OTHER_WEIGHT, targets=found.targets, x=found.features, right=(None, nothing),
            wanted=frozenset(),
        )  # fmt: skip


def examples() -> list[Example]:
    """Return all examples."""
    parts = [
        _labelled("pagers"),
        _labelled("pagers-more"),
        _of_applications("kinds"),
        _of_applications("kinds-more"),
        _of_content(),
    ]
    return [example for part in (*parts, _of_single_pages()) for example in part]


def weights_of(data: Sequence[Example], penalty: float = PENALTY) -> NDArray[np.float64]:
    """Fit the weights of both outputs."""
    return np.array(
        [
            choice_weights(
                [
                    (example.x, right, example.weight)
                    for example in data
                    if (right := example.right[output]) is not None
                ],
                penalty,
                SIGNS,
            )
            for output in range(len(OUTPUTS))
        ]
    )


def chosen(example: Example, weights: NDArray[np.float64], output: int) -> int | None:
    """Return the target that the weights choose; None: none."""
    if not len(example.x):
        return None
    evidence = example.x @ weights[output]
    best = int(evidence.argmax())
    return best if evidence[best] >= 0 else None


def scores(data: Sequence[Example], weights_by_site: dict[str, NDArray[np.float64]], output: int) -> dict[str, Any]:
    """Count right, wrong and missed pages, as the scorer does."""
    tp = fp = fn = 0
    for example in data:
        right = example.right[output]
        if right is None:
            continue
        best = chosen(example, weights_by_site[example.site], output)
        hit = best is not None and bool(right[best])
        # a labelled link that is not among the targets is missed
        has = bool(right.any()) or (output == 0 and bool(example.wanted))
        tp, fp, fn = tp + hit, fp + (best is not None and not hit), fn + (has and not hit)
    counts: dict[str, Any] = {"pages": len(data), "right": tp, "wrong": fp, "missed": fn}
    if tp + fn:
        counts |= {"precision": round(tp / max(1, tp + fp), 3), "recall": round(tp / (tp + fn), 3)}
    return counts


def left_out_weights(
    data: Sequence[Example], penalty: float = PENALTY, folds: int = FOLDS
) -> dict[str, NDArray[np.float64]]:
    """Return, for each site, weights that were fitted without it."""
    by_site: dict[str, NDArray[np.float64]] = {}
    for train, test in folds_by_group([example.site for example in data], folds):
        weights = weights_of([example for example, taken in zip(data, train, strict=True) if taken], penalty)
        by_site |= {example.site: weights for example, taken in zip(data, test, strict=True) if taken}
    return by_site


def fit() -> FittedJudgement:
    data = examples()
    left_out = left_out_weights(data)
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    for example in data:
        name = (
            "pagers"
            if example.corpus.startswith("pagers")
            else "kinds"
            if example.corpus.startswith("kinds")
            else example.corpus
        )
        groups[f"{name}, {example.copy}" if example.copy else name].append(example)
    card = {
        "data": {name: len(of_group) for name, of_group in groups.items()},
        "folds": f"{FOLDS}, whole sites left out",
        "penalty": PENALTY,
        "score": {
            output: {name: scores(of_group, left_out, number) for name, of_group in groups.items()}
            for number, output in enumerate(OUTPUTS)
        },
    }
    return FittedJudgement(
        name="next_link", features=pager.FEATURES, outputs=OUTPUTS, card=card, linear=weights_of(data)
    )
