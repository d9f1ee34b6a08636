"""Fit which of several names says what a column is: words that sites use as labels against words that they use as classes, and sources of names.

The weight of a word is its log odds of being a label, a heading or a property rather than a class, over the pages of several corpora. The
weights of the sources, and how much the words count, are a choice between the names that the record pages of SWDE give to a labelled attribute.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, scorer
from benchmarks.fit.fitting import FittedJudgement, choice_weights, folds_by_group
from benchmarks.quality import entities
from upwell.page.tree import TagTree, read
from upwell.records.column_names import NAME_FEATURES, NAME_SOURCES, WORD, name_features, name_words
from upwell.records.entity_columns import (
    MAX_SAMPLES,
    SampleText,
    best_candidates,
    column_candidates,
    possible_names,
    texts_at,
)
from upwell.records.record_page import PageTexts, TextLocator, learn_template, stated_texts

WORD_CORPORA = ("answers", "kinds", "kinds-more", "forms", "pagers", "entities")
SITE_FOLDERS = ("answers", "kinds", "kinds-more", "entities")  # corpora with several pages of a site in its folder
PAGES_OF_SITE = 6  # pages of a site, which are alike
MIN_SITES = 12  # sites with a word, as a label or as a class; 6 has the same score
MAX_LABEL = 30  # characters of a label
MAX_LABEL_WORDS = 3
COLON = re.compile(r"\s*([^\W\d_][^:\n]{1,30}?)\s*[:：]\s*$")
FOLDS = 10
PENALTY = 1.0
BESIDE_WORDS = (*NAME_FEATURES, *NAME_SOURCES)
WORDS = "words"  # feature of the fit: mean log odds of the words


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Names of one labelled attribute of a site, with their sources, and which of them say what it is."""

    site: str
    attribute: str
    names: list[tuple[str, str]]
    says: list[bool]


SiteWords = dict[str, tuple[set[str], set[str]]]  # site → words of its labels, words of its classes


def words_of_page(tree: TagTree) -> tuple[set[str], set[str]]:
    """Return the words of labels and properties of a page, and those of the classes around its texts."""
    labels: set[str] = set()
    classes: set[str] = set()
    for chunk, row in enumerate(tree.chunk_row.tolist()):
        text = tree.chunks[chunk].strip()
        rows = [row, *list(tree.ancestors(row))[:2]]
        tags = [tree.name(each) for each in rows]
        if len(text) <= MAX_LABEL and (tags[0] in ("th", "dt") or tags[1:2] == ["th"] or COLON.match(text)):
            words = name_words(text)
            labels.update(words if len(words) <= MAX_LABEL_WORDS else ())
        for each in rows:
            classes.update(name_words(tree.attr(each, "class") or ""))
    for attributes in tree.attributes.values():
        labels.update(name_words(attributes.get("itemprop") or ""))
    return labels, classes


def site_words() -> SiteWords:
    """Return the words of the sites of all corpora."""
    words: SiteWords = {}
    for corpus in WORD_CORPORA:
        seen: Counter[str] = Counter()
        for path in sorted((CORPORA / corpus).rglob("*.html*")):
            site = f"{corpus}/{path.parent.name if corpus in SITE_FOLDERS else path.stem}"
            seen[site] += 1
            if seen[site] <= PAGES_OF_SITE:
                labels, classes = words_of_page(read(path.read_bytes(), url="http://example.org/"))
                known = words.setdefault(site, (set(), set()))
                known[0].update(labels)
                known[1].update(classes)
    return words


def log_odds(words: SiteWords) -> dict[str, float]:
    """Return the log odds of each word that several sites use: as a label rather than as a class."""
    labels = Counter(word for own, _ in words.values() for word in own)
    classes = Counter(word for _, own in words.values() for word in own)
    of_sites = {part for site in words for part in name_words(site)}  # a judgement must not know sites
    all_words = [
        word
        for word in labels | classes
        if len(word) > 1 and labels[word] + classes[word] >= MIN_SITES and word not in of_sites
    ]
    return {word: math.log((labels[word] + 0.5) / (classes[word] + 0.5)) for word in sorted(all_words)}


def choices_of_site(site: str) -> list[Choice]:
    """Return the names that a site gives to its labelled attributes."""
    rows = entities._labels(site)
    trees = [read((entities.FOLDER / site / row["page"]).read_bytes(), url=row["url"]) for row in rows]
    pages = [PageTexts(tree) for tree in trees]
    locator = TextLocator(learn_template(pages))
    texts = [[*locator.texts(page), *stated_texts(page.tree)] for page in pages]
    kept, title = best_candidates(column_candidates(texts), trees)
    found = []
    for row, page in zip(rows, texts, strict=True):
        fields = {}
        at_place = defaultdict(list)
        for text in page:
            at_place[text.place].append(text)
        for number, candidate in enumerate(kept):
            if own := texts_at(candidate.location, at_place[candidate.location.place]):
                fields[str(number)] = own[0].text if candidate.location.nth else [text.text for text in own]
        found.append({"page": row["page"], "fields": fields})
    judge = scorer("entities")
    choices = []
    for attribute, score in judge.score(rows, found)["attributes"].items():
        if not score["column"] or kept[int(score["column"])] is title:
            continue
        candidate = kept[int(score["column"])]
        cells = [(page, own[0]) for page, own in list(candidate.cells.items())[:MAX_SAMPLES] if own[0].chunk >= 0]
        samples = [SampleText(trees[page], text.chunk, text.label_chunk) for page, text in cells]
        names = possible_names(candidate, samples)
        choices.append(
            Choice(site=site, attribute=attribute, names=names, says=[judge.says(name, attribute) for _, name in names])
        )
    return choices


def _row(kind: str, name: str, words: Mapping[str, float]) -> list[float]:
    features = name_features(name, kind, words.keys())
    mean = sum(value * words[key.removeprefix(WORD)] for key, value in features.items() if key.startswith(WORD))
    return [*(features.get(feature, 0.0) for feature in BESIDE_WORDS), mean]


def _fitted(choices: list[Choice], words: Mapping[str, float]) -> NDArray[np.float64]:
    examples = [
        (np.array([_row(kind, name, words) for kind, name in choice.names]), np.array(choice.says), 1.0)
        for choice in choices
    ]
    return choice_weights(examples, PENALTY)


def _chosen(choice: Choice, weights: NDArray[np.float64], words: Mapping[str, float]) -> int:
    return int(np.argmax([np.dot(_row(kind, name, words), weights) for kind, name in choice.names]))


def left_out(choices: list[Choice], all_words: SiteWords) -> Iterator[tuple[Choice, int]]:
    """Yield each choice with the number of the name chosen by weights that were fitted without its site."""
    for train, test in folds_by_group([choice.site for choice in choices], FOLDS):
        unseen = {f"entities/{choice.site}" for choice, is_test in zip(choices, test, strict=True) if is_test}
        words = log_odds({site: own for site, own in all_words.items() if site not in unseen})
        weights = _fitted([choice for choice, is_known in zip(choices, train, strict=True) if is_known], words)
        for choice, is_test in zip(choices, test, strict=True):
            if is_test:
                yield choice, _chosen(choice, weights, words)


def fit() -> FittedJudgement:
    with ProcessPoolExecutor(2) as pool:
        choices = [choice for own in pool.map(choices_of_site, entities._sites()) for choice in own if choice.names]
    all_words = site_words()
    judged = [choice.says[number] for choice, number in left_out(choices, all_words)]
    words = log_odds(all_words)
    weights = _fitted(choices, words)
    first = [choice.says[0] for choice in choices]
    card = {
        "data": {"attributes": len(choices), "sites": len({choice.site for choice in choices}), "words": len(words)},
        "folds": f"{FOLDS}, whole sites left out",
        "penalty": PENALTY,
        "score": {
            "named": round(float(np.mean(judged)), 4),
            "best possible": round(float(np.mean([any(choice.says) for choice in choices])), 4),
            "first source": round(float(np.mean(first)), 4),
        },
    }
    features = [*BESIDE_WORDS, *(WORD + word for word in words)]
    linear = np.array([*weights[:-1], *(weights[-1] * value for value in words.values())])
    return FittedJudgement(name="column_name", features=features, outputs=("says",), card=card, linear=linear)
