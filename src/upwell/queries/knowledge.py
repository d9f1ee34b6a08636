"""Queries from a knowledge base (Entity §4.2): which types of entities a site is about, and their names as queries.

type        a domain and a type of it, such as book/author
site        seen as the multiset of entities that its queries, or its records, mention
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from upwell.page.terms import tokens
from upwell.queries.logs import Names

__all__ = ["Knowledge", "Type", "mentions_in", "rank_sites", "rank_types"]

THRESHOLD = 0.5  # Entity §4.2: relative to the best score


@dataclass(frozen=True, slots=True, order=True)
class Type:
    """A type of entities in a domain."""

    domain: str
    name: str


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The entities of each type; a name may be of several types."""

    types: Mapping[Type, Set[str]]
    skipped: int = 0  # rows without a name
    digest: str = ""  # stands for its content; "": that is not known

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[str]]) -> "Knowledge":
        """From rows of (domain, type, entity); rows without a name are counted and left out."""
        types: dict[tuple[str, str], set[str]] = {}
        skipped = 0
        for row in rows:
            name = " ".join(tokens(row[2])) if len(row) >= 3 else ""
            if not name:
                skipped += 1
                continue
            key = (row[0], row[1])
            if key not in types:
                types[key] = set()
            types[key].add(name)
        return cls({Type(*key): frozenset(types.pop(key)) for key in list(types)}, skipped)

    @cached_property
    def names(self) -> Names:
        """All names, to find mentions with; made once."""
        return Names((name for names in self.types.values() for name in names), clean=True)


def mentions_in(texts: Iterable[str], names: Names) -> Counter[str]:
    """The entities that texts (queries of a log, or fields of records) mention, with their number."""
    found: Counter[str] = Counter()
    for text in texts:
        words = tokens(text)
        for start, end in names.mentions(words):
            found[" ".join(words[start:end])] += 1
    return found


def rank_sites(knowledge: Knowledge, sites: Mapping[str, Counter[str]]) -> dict[Type, list[tuple[str, float]]]:
    """For each type the sites that it fits, by TFIDF cosine, down to half of the best (Entity §4.2, Definitions 1 and 2).

    A type is a query in which each of its entities stands once; idf goes over the sites.
    """
    number = len(sites)
    with_entity = Counter(entity for found in sites.values() for entity in found)
    idf = {entity: math.log(number / n) for entity, n in with_entity.items()}
    lengths = {s: math.sqrt(sum((n * idf[e]) ** 2 for e, n in found.items())) for s, found in sites.items()}
    ranked: dict[Type, list[tuple[str, float]]] = {}
    for kind, names in knowledge.types.items():
        query = math.sqrt(sum(weight**2 for name, weight in idf.items() if name in names)) or 1.0
        scores = {
            s: sum(n * idf[e] ** 2 for e, n in found.items() if e in names) / (query * (lengths[s] or 1.0))
            for s, found in sites.items()
        }
        best = max(scores.values(), default=0.0)
        kept = [(s, score) for s, score in scores.items() if score > 0 and score >= THRESHOLD * best]
        ranked[kind] = sorted(kept, key=lambda item: (-item[1], item[0]))
    return ranked


def rank_types(knowledge: Knowledge, found: Counter[str]) -> list[tuple[Type, float]]:
    """For one site the types that it is about, best first, down to half of the best.

    Entity §4.2 with one site has idf log 1 = 0; ours: an entity of many types says little about each (idf over types), a
    name of one common word says less than a longer one, and a large type is matched by chance more often than a small one.
    """
    in_types = {name: sum(name in names for names in knowledge.types.values()) for name in found}
    number = len(knowledge.types)
    scores = []
    for kind, names in knowledge.types.items():
        evidence = sum(
            math.log1p(n) * math.log((number + 1) / in_types[e]) * _telling(e) for e, n in found.items() if e in names
        )
        scores.append((kind, evidence / math.sqrt(len(names))))
    scores.sort(key=lambda item: (-item[1], item[0]))
    best = scores[0][1] if scores else 0.0
    return [(kind, score) for kind, score in scores if score > 0 and score >= THRESHOLD * best]


def _telling(name: str) -> float:
    """How much a name says: a single word is often not meant as the name."""
    words = name.count(" ") + 1
    return 0.2 if words == 1 else 1.0 if words == 2 else 1.5
