"""Names of a knowledge base to ask for while harvesting: of the types that the records mention (Entity §4.2; ours for one site).

shown     a name that a record held mentions; names that none shows are asked first, they may bring records of another corner
success   of a type: the share of its names asked that matched something

Names are asked as the base keeps them, in lower case; accepted gap: Chinese and Japanese names are kept as pairs of characters.
"""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from zlib import crc32

from upwell.page.terms import tokens
from upwell.queries.knowledge import Knowledge, Type, rank_types

__all__ = ["EntityQuestions"]

MIN_RECORDS = 50  # held before the types are ranked, as for check queries; not swept
RANK_AGAIN_FACTOR = 2  # rank the types again when so many times as many records are held
MAX_FRUITLESS_NAMES = 10  # of a type: so many asked and none matched, and the type is dropped; not swept


@dataclass(slots=True)
class _TypeProgress:
    """The names of a type in the order of asking, and what came of those that were asked."""

    names: Sequence[str]
    prior: float  # its score for the best type's: counts as one name asked
    unshown_at: int = 0  # names before this are shown or asked
    any_at: int = 0  # names before this are asked
    asked: int = 0
    matched: int = 0

    @property
    def success(self) -> float:
        return (self.matched + self.prior) / (self.asked + 1)

    @property
    def is_dropped(self) -> bool:
        return self.asked >= MAX_FRUITLESS_NAMES and not self.matched


class EntityQuestions:
    """Which name to ask a source for next; one for each source, all on the same knowledge base."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.success = 0.0  # of the type of the name that `next` gave last: the chance that it matches something
        self._records = 0
        self._rank_at = MIN_RECORDS  # records held at which the types are ranked again
        self._mentions: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._types: dict[Type, _TypeProgress] = {}  # all that were ever good enough
        self._ranked: list[Type] = []  # those that are now

    @property
    def types(self) -> list[Type]:
        """The types whose names are asked now, best first."""
        good = [kind for kind in self._ranked if not self._types[kind].is_dropped]
        return sorted(good, key=lambda kind: -self._types[kind].success)

    def hold(self, text: str) -> None:
        """Takes the text of a new record."""
        self._records += 1
        self._mentions.update(set(self.knowledge.names.all_mentions(tokens(text))))

    def next(self) -> str | None:
        """The name to ask next; the same again until it is asked. None where too few records are held, or no name is left."""
        if self._records >= self._rank_at:
            self._rank()
        types = [self._types[kind] for kind in self.types]
        for shown_too in (False, True):
            for progress in types:
                name = self._next_of(progress, shown_too)
                if name is not None:
                    self.success = progress.success
                    return name
        return None

    def asked(self, query: str) -> None:
        """A query was asked, by whatever way it was chosen: its name is not given again."""
        self._asked.add(" ".join(tokens(query)))

    def observe(self, name: str, matches: int) -> None:
        """The answer to a name came: counts for or against its types."""
        self.asked(name)
        for kind, progress in self._types.items():
            if name in self.knowledge.types[kind]:
                progress.asked += 1
                progress.matched += matches > 0

    def _rank(self) -> None:
        self._rank_at = RANK_AGAIN_FACTOR * self._records
        ranked = rank_types(self.knowledge, self._mentions)
        self._ranked = [kind for kind, _ in ranked]
        for kind, score in ranked:
            prior = score / ranked[0][1]
            if kind in self._types:
                self._types[kind].prior = prior
            else:
                self._types[kind] = _TypeProgress(_shuffled(self.knowledge.types[kind]), prior)

    def _next_of(self, progress: _TypeProgress, shown_too: bool) -> str | None:
        """The first name of a type that was not asked, and unless `shown_too`, is not shown; the places reached are remembered."""
        names = progress.names
        at = progress.any_at if shown_too else progress.unshown_at
        while at < len(names) and (names[at] in self._asked or (not shown_too and names[at] in self._mentions)):
            at += 1
        if shown_too:
            progress.any_at = at
        else:
            progress.unshown_at = at
        return names[at] if at < len(names) else None


def _shuffled(names: Set[str]) -> list[str]:
    """Names in an order that is always the same and has nothing to do with the alphabet."""
    return sorted(names, key=lambda name: (crc32(name.encode()), name))
