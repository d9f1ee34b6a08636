"""Answers that are none: of a sidebar, or a box that filters nothing, which show the same list for any word; of a search for members."""

from collections.abc import Sequence

from upwell.model import Skipped
from upwell.page.tree import TagTree
from upwell.site.forms import asks_for_password
from upwell.site.start_page import HOW_TO_LOG_IN
from upwell.source.apply import apply
from upwell.source.model import SourceModel

__all__ = ["depends_on_query", "keys_on", "why_unreadable"]

MIN_REACTION = 0.1  # share of the records of an answer, that another query must change more than the same one asked again; not swept


def depends_on_query(first: frozenset[str], again: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    """Whether other queries change the keys of an answer more than the same query does when it is asked again.

    >>> listed = frozenset("abc")
    >>> depends_on_query(listed, listed, [frozenset("xyz")]), depends_on_query(listed, listed, [listed])
    (True, False)
    """
    other = sum(_overlap(first, keys) for keys in others) / len(others)
    return _overlap(first, again) > other + MIN_REACTION


def keys_on(model: SourceModel, tree: TagTree) -> frozenset[str]:
    """The keys of the records of an answer."""
    return frozenset(record.key for record in apply(model, tree).records)


def why_unreadable(url: str, answers: Sequence[TagTree], home: TagTree, skipped: Sequence[Skipped]) -> str:
    """Why no answer of a source has records, and what a person can do."""
    wants_password = any(map(asks_for_password, answers)) and not asks_for_password(home)
    if wants_password or any("login wall" in one.reason for one in skipped):
        return f"{url} answers with a login page: {HOW_TO_LOG_IN}"
    return f"{len(answers)} answers of {url}, none with a list of matches; name words that it knows with --words"


def _overlap(some: frozenset[str], others: frozenset[str]) -> float:
    """The share of the records of two answers that both have."""
    return len(some & others) / max(1, len(some | others))
