"""Fit `page_wall`: does a page consist of a login form, so that it is shown instead of a site?

The login pages are those of the forms corpus, chosen by people who looked at address, title, size and forms. Everything else is no wall:
other pages of that corpus, among them many with a login form in their header, pages that register or recover a password, and the
pages of the corpora content, articles and kinds. Every page also counts without its address, because applications show a login form at any
address.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels
from benchmarks.fit.content_pages import content_labels, raw_pages
from benchmarks.fit.fitting import FittedJudgement, choice_weights, folds_by_group, site_of
from upwell.discover import forms
from upwell.discover.walls import WALL_FEATURES, wall_features
from upwell.page.tree import read

FOLDS = 10
PENALTY = 0.3  # ridge; not swept
PAGES_PER_APPLICATION = 10  # of the corpora kinds and kinds-more
MARGIN = 0.5  # log odds between the most doubtful page that is no wall, with its site left out, and the threshold
# Features whose weight has a known sign, so that correlated features do not cancel out.
FOR = (
    "login form", "login form is certain", "password outside forms", "share of text in login form", "login word in title", "login word in heading",
    "asks to log in", "login word in address",
)  # fmt: skip
AGAINST = (
    "other account form", "several passwords", "text outside", "long texts outside", "links outside", "search form", "other forms"
)  # fmt: skip
SIGNS = [1 if name in FOR else -1 if name in AGAINST else 0 for name in WALL_FEATURES]
# Numbers of the pages of the forms corpus that consist of a login form.
LOGIN_PAGES = frozenset((
    15, 28, 33, 61, 118, 121, 135, 141, 147, 167, 184, 189, 230, 232, 236, 249, 250, 272, 283, 315, 339, 347, 348, 370, 376, 377, 381, 406, 411,
    439, 451, 458, 471, 485, 536, 548, 582, 587, 606, 622, 664, 681, 686, 706, 721, 727, 733, 747, 778, 781, 783, 791, 794, 799, 820, 842, 858,
    877, 883, 914, 920, 924, 938, 940, 946,
))  # fmt: skip
# Pages with a login form and a registration form of equal rank, or with a login form in a dialog: neither.
UNCLEAR = frozenset((79, 177, 239, 274, 413, 685, 904))


class Example(NamedTuple):
    """A page: its features with and without its address, and whether it is a login wall."""

    corpus: str
    page: str
    site: str
    rows: NDArray[np.float64]  # two
    is_wall: bool


def _example(corpus: str, page: str, site: str, body: bytes, url: str, is_wall: bool = False) -> Example | None:
    """Return a page as an example; None if it has no field of an account, as most pages: it is never judged."""
    tree = read(body, url=url)
    page_forms = forms.find(tree)
    if not forms.asks_for_password(tree) and not any(form.kind == "login" for form in page_forms):
        return None
    rows = np.vstack([wall_features(tree, page_forms, with_address=with_address) for with_address in (True, False)])
    return Example(corpus, page, site, rows, is_wall)


def examples() -> Iterator[Example | None]:
    """Yield the judged pages of all corpora; None stands for a page without a field of an account."""
    for row in labels("forms"):
        number = int(row["page"].rpartition("/")[2].partition(".")[0])
        if number not in UNCLEAR:
            body = (CORPORA / "forms" / row["page"]).read_bytes()
            yield _example("forms", row["page"], site_of(row["url"]), body, row["url"], number in LOGIN_PAGES)
    for row in labels("articles"):
        yield _example("articles", row["page"], row["site"], (CORPORA / "articles" / row["page"]).read_bytes(), "")
    for corpus in ("kinds", "kinds-more"):
        taken: Counter[str] = Counter()
        for row in labels(corpus):
            taken[row["site"]] += 1
            if taken[row["site"]] <= PAGES_PER_APPLICATION:
                yield _example(
                    corpus, row["page"], row["site"], (CORPORA / corpus / row["page"]).read_bytes(), row["url"]
                )
    urls = {row["page"]: row["url"] for row in content_labels()}
    for name, body in raw_pages():
        if name in urls:
            yield _example("content", name, site_of(urls[name]), body, urls[name])


def _weights(data: list[Example]) -> NDArray[np.float64]:
    """Fit the weights: each page is a choice between "login wall" and nothing, which is a logistic regression with bounds."""
    choices = [(row[np.newaxis], np.array([example.is_wall]), 1.0) for example in data for row in example.rows]
    return choice_weights(choices, PENALTY, SIGNS)


def evidence_left_out(data: list[Example]) -> NDArray[np.float64]:
    """Return the log odds of each page with and without its address, by weights that were fitted without its site."""
    evidence = np.zeros((len(data), 2))
    for fitted_on, left_out in folds_by_group([example.site for example in data], FOLDS):
        weights = _weights([data[i] for i in np.flatnonzero(fitted_on).tolist()])
        for i in np.flatnonzero(left_out).tolist():
            evidence[i] = data[i].rows @ weights
    return evidence


def fit() -> FittedJudgement:
    """Fit on all pages; the threshold is above all pages that are no wall, with their sites left out."""
    every = list(examples())
    data = [example for example in every if example is not None]
    evidence = evidence_left_out(data)
    is_wall = np.array([example.is_wall for example in data])
    threshold = float(evidence[~is_wall].max()) + MARGIN
    found = evidence >= threshold
    card = {
        "data": f"{len(every)} pages, {len(data)} of them judged, {int(is_wall.sum())} login pages",
        "folds": f"{FOLDS}, whole sites left out; the threshold was chosen on them",
        "score": {
            name: {"recall": round(float(found[is_wall, copy].mean()), 3), "wrong": int(found[~is_wall, copy].sum())}
            for copy, name in enumerate(("with address", "without address"))
        },
    }
    weights = _weights(data)[np.newaxis]
    return FittedJudgement(
        name="page_wall", features=WALL_FEATURES, outputs=("login",), threshold=threshold, card=card, linear=weights
    )
