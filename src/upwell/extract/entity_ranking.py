"""Which candidates become columns: those that most pages have, that differ from page to page, that have a label and stand near the title."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

from upwell.extract.entity_alone import named_alone
from upwell.extract.entity_columns import Candidate
from upwell.extract.entity_stated import JSON_LD, is_stated
from upwell.page.tree import TagTree

__all__ = ["MAX_COLUMNS", "best_candidates"]

# The factors below were swept on 24 sites by the F1 of the first 20 columns, and checked on 16 others (docs/decisions/0081-entities.md).
MAX_COLUMNS = 40  # nobody reads a wider table
SAME_SHARE = 0.9  # of the pages on which two columns say the same: one is left out
VARIED_SHARE = 0.3  # of distinct texts, from which on more do not count
LABEL_FACTOR = 1.5
LIST_FACTOR = 0.5
LATER_FACTOR = 0.8  # for the second to fifth text of a place
LATE_FACTOR = 0.5  # for those after it
LATE = 5
LONG_CHARS = {400: 0.5, 100: 0.7}  # texts from so many characters on count by this factor
TITLE_DISTANCE = 300  # texts after the title where the factor is a half
BEFORE_TITLE = 3  # what stands before the title is as if so many times farther from it
GROUP_SIZE = 10  # texts of a group without labels where the factor is a half
STATED_FACTOR = 0.4  # what a page states in its head is mostly shown, too
JSON_LD_FACTOR = 1.2
HEADLINES = {"h1": 0.3, "h2": 0.2, "h3": 0.1, "strong": 0.05, "b": 0.05}  # what speaks for a title; not swept


def best_candidates(found: Sequence[Candidate], trees: Sequence[TagTree]) -> tuple[list[Candidate], Candidate | None]:
    """At most `MAX_COLUMNS` candidates, best first, none of which says what another says; and the one that is the title."""
    title = _title(found, trees)
    if len(trees) == 1:
        found = named_alone(found, trees[0], title)
    title_chunks = {page: texts[0].chunk for page, texts in title.cells.items()} if title else {}
    scores = {candidate: _score(candidate, len(trees), title_chunks) for candidate in found}
    ranked = sorted(found, key=lambda candidate: (candidate is not title, -scores[candidate]))
    kept: list[Candidate] = []
    for candidate in ranked:
        if len(kept) == MAX_COLUMNS:
            break
        same = next((other for other in kept if _say_the_same(candidate, other)), None)
        if same is None:
            kept.append(candidate)
        elif is_stated(candidate.address.place):
            same.stated_as.append(candidate.address.place)
    return kept, title


def _title(found: Sequence[Candidate], trees: Sequence[TagTree]) -> Candidate | None:
    words_of = [set(_words(tree.title)) for tree in trees]
    pages_with = Counter(word for words in words_of for word in words)
    constant = {word for word, count in pages_with.items() if count > len(trees) / 2} if len(trees) > 1 else set()
    titles = [words - constant for words in words_of]
    shown = [candidate for candidate in found if not is_stated(candidate.address.place)] or found
    return max(shown, key=lambda candidate: _title_fit(candidate, titles), default=None)


def _title_fit(candidate: Candidate, titles: Sequence[set[str]]) -> float:
    """How well a column fits as the title: by its words in <title>, and by its tags."""
    fit = 0.0
    for page, texts in candidate.cells.items():
        words = set(_words(texts[0].text))
        fit += 2 * len(words & titles[page]) / max(1, len(words) + len(titles[page]))
    tags = {step.split(".")[0] for step in candidate.address.place.split("/")}
    return fit / len(titles) + max((HEADLINES[tag] for tag in tags if tag in HEADLINES), default=0.0)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _score(candidate: Candidate, pages: int, title_chunks: dict[int, int]) -> float:
    cells, nth = candidate.cells, candidate.address.nth
    score: float = len(cells) / pages * min(1.0, candidate.distinct / len(cells) / VARIED_SHARE) ** 0.5
    chars = median(sum(len(found.text) for found in texts) for texts in cells.values())
    score *= next((factor for least, factor in LONG_CHARS.items() if chars >= least), 1.0)
    if is_stated(candidate.address.place):
        return score * (JSON_LD_FACTOR if candidate.address.place.startswith(JSON_LD) else STATED_FACTOR)
    score *= (
        1.0
        if nth == 1
        else (1.0 if candidate.label else LIST_FACTOR)
        if not nth
        else LATER_FACTOR
        if nth <= LATE
        else LATE_FACTOR
    )
    score *= LABEL_FACTOR if candidate.label else 1 / (1 + candidate.group_size / GROUP_SIZE)
    away: float = median(texts[0].chunk - title_chunks.get(page, 0) for page, texts in cells.items())
    return score / (1 + (away if away >= 0 else -BEFORE_TITLE * away) / TITLE_DISTANCE)


def _say_the_same(one: Candidate, other: Candidate) -> bool:
    most = max(len(one.cells), len(other.cells))
    if min(len(one.cells), len(other.cells)) < SAME_SHARE * most:
        return False
    return sum(text == other.plain.get(page) for page, text in one.plain.items()) >= SAME_SHARE * most
