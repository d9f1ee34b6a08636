"""Entity: the methods of He et al. 2013, *Crawling Deep Web Entity Pages*.

    queries from a log              §4.1: `informational_queries`, `count_affixes`, `clean_query`, `queries_for_site`
    queries from a knowledge base   §4.2: `rank_sites` by TF-IDF, `rank_types`
    empty pages                     §5: `page_signature`, `background_similarity`
    irrelevant URL arguments        §6.3: `argument_prevalence`

`upwell queries --log` and `--knowledge` run §4; `benchmarks.papers.entity` and `benchmarks.papers.queries` measure all of it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from upwell.page.tokens import token_blocks, tokens
from upwell.page.tree import TagTree
from upwell.urls.hosts import host_and_port

__all__ = [
    "Affixes",
    "EntityNames",
    "EntityType",
    "Knowledge",
    "LogCleaning",
    "LogRow",
    "argument_prevalence",
    "background_similarity",
    "clean_query",
    "count_affixes",
    "count_mentions",
    "informational_queries",
    "log_host",
    "mean_prevalence",
    "page_signature",
    "parse_log_rows",
    "queries_by_site",
    "queries_for_site",
    "rank_sites",
    "rank_types",
]

# Queries from a query log (§4.1). A mention is the longest run of a query's words that is the name of an entity; an affix is the text before
# (prefix) or after (suffix) a mention.

PREPOSITIONS = frozenset(("to", "of", "for", "in", "on", "at", "about", "from", "with", "by", "into", "near"))


@dataclass(frozen=True, slots=True)
class LogRow:
    """Row of a query log: a query, a URL that was clicked for it, and the number of clicks (Entity §4.1)."""

    query: str
    url: str
    clicks: int


@dataclass(frozen=True, kw_only=True)
class LogCleaning:
    """Parameters of query log filtering and cleaning (Entity §4.1)."""

    pages: int = 2  # §4.1.1: a query is kept if at least 2 pages of the site were clicked …
    clicks: int = 3  # … at least 3 times each
    top: int = 200  # number of most frequent affixes to strip; §4.1.2: 200
    # Weight of a prefix that contains a preposition; the paper prefers these without a number. Swept 1 … 10 on the generated log: 1.5 to 3
    # are equal, from 5 on accidental prefixes displace real affixes (docs/decisions/0040).
    preposition: float = 3.0


class EntityNames:
    """Entity names of a knowledge base, indexed by their words; finds mentions in queries and texts (Entity §4.1.2, §4.2)."""

    def __init__(self, names: Iterable[str], *, clean: bool = False) -> None:
        """Index names; `clean` names are already tokens joined by single spaces and are shared instead of copied."""
        own = set(names) if clean else {" ".join(tokens(name)) for name in names}
        own.discard("")
        self._names: Set[str] = own
        self.lengths: dict[str, int] = {}  # for each first word, the words of the longest name that begins with it
        self._length_of: Callable[[str], int] = lambda word: self.lengths.get(word, 0)
        for name in own:
            first, length = name.partition(" ")[0], name.count(" ") + 1
            if self.lengths.get(first, 0) < length:
                self.lengths[first] = length

    @classmethod
    def from_lookup(cls, names: Set[str], length_of: Callable[[str], int]) -> "EntityNames":
        """Wrap names that are stored outside memory; `length_of` returns the longest name that begins with a word."""
        instance = cls(())
        instance._names, instance._length_of = names, length_of
        return instance

    def __len__(self) -> int:
        return len(self._names)

    def mentions(self, words: list[str]) -> list[tuple[int, int]]:
        """Entity §4.1.2: return start and end of the longest mentions; all have the same length."""
        spans: list[tuple[int, int]] = []
        longest = 1
        length_of, names = self._length_of, self._names
        for i, word in enumerate(words):
            for n in range(min(length_of(word), len(words) - i), longest - 1, -1):
                if " ".join(words[i : i + n]) in names:
                    if n > longest:
                        spans, longest = [], n
                    spans.append((i, i + n))
                    break
        return spans

    def all_mentions(self, words: list[str]) -> Iterator[str]:
        """Yield the names in a longer text, from left to right: at each position the longest, without overlaps (ours, for Entity §4.2)."""
        length_of, names = self._length_of, self._names
        i = 0
        while i < len(words):
            end = i + min(length_of(words[i]), len(words) - i)
            while end > i and (name := " ".join(words[i:end])) not in names:
                end -= 1
            if end > i:
                yield name
            i = max(end, i + 1)


def parse_log_rows(rows: Iterable[Mapping[str, object] | tuple[object, ...]]) -> Iterator[LogRow | None]:
    """Parse rows of a query log (Entity §4.1) from any table; yield None for an unusable row, so that the caller can count them."""
    for row in rows:
        try:
            query, url, clicks = (row["query"], row["url"], row["clicks"]) if isinstance(row, Mapping) else row
            text, address = str(query).strip(), str(url).strip()
            yield LogRow(text, address, int(str(clicks))) if text and address else None
        except (ValueError, KeyError, TypeError):
            yield None


def informational_queries(rows: Iterable[LogRow], params: LogCleaning) -> dict[str, Counter[str]]:
    """Entity §4.1.1: return the queries of each site with their clicks, without navigational queries."""
    clicks_by_page: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        clicks = clicks_by_page.setdefault((log_host(row.url), row.query), {})
        clicks[row.url] = clicks.get(row.url, 0) + row.clicks
    queries: dict[str, Counter[str]] = {}
    for (site, query), clicks in clicks_by_page.items():
        if sum(n >= params.clicks for n in clicks.values()) >= params.pages:
            queries.setdefault(site, Counter())[query] += sum(clicks.values())
    return queries


def log_host(url: str) -> str:
    """Return the host of a URL without www and port; the URL may lack a scheme."""
    return host_and_port(url if "//" in url else f"//{url}")[0].removeprefix("www.")


@dataclass
class Affixes:
    """Number of occurrences of each prefix and suffix of mentions in a log, and the affixes chosen for stripping (Entity §4.1.2)."""

    prefixes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    suffixes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    strip_prefixes: frozenset[tuple[str, ...]] = frozenset()
    strip_suffixes: frozenset[tuple[str, ...]] = frozenset()

    def add(self, words: list[str], mentions: list[tuple[int, int]]) -> None:
        """Entity §4.1.2: count the affixes of one query."""
        for start, end in mentions:
            if start:
                self.prefixes[tuple(words[:start])] += 1
            if end < len(words):
                self.suffixes[tuple(words[end:])] += 1

    def choose(self, params: LogCleaning) -> None:
        """Entity §4.1.2: choose the most frequent affixes; prefixes with a preposition weigh more, suffixes with one are not stripped."""
        prefix_weights = {
            p: n * (params.preposition if PREPOSITIONS & set(p) else 1.0) for p, n in self.prefixes.items() if n > 1
        }
        suffix_weights = {s: float(n) for s, n in self.suffixes.items() if n > 1 and not PREPOSITIONS & set(s)}
        ranked = sorted(
            [(n, 0, p) for p, n in prefix_weights.items()] + [(n, 1, s) for s, n in suffix_weights.items()],
            key=lambda x: (-x[0], x[1:]),
        )
        top = ranked[: params.top]
        self.strip_prefixes = frozenset(affix for _, side, affix in top if side == 0)
        self.strip_suffixes = frozenset(affix for _, side, affix in top if side == 1)


def count_affixes(queries: Iterable[str], names: EntityNames, params: LogCleaning | None = None) -> Affixes:
    """Entity §4.1.2: count the affixes of all queries of a log and choose those to strip (query pattern aggregation)."""
    affixes = Affixes()
    for query in queries:
        words = tokens(query)
        affixes.add(words, names.mentions(words))
    affixes.choose(params or LogCleaning())
    return affixes


def clean_query(query: str, affixes: Affixes) -> str:
    """Entity §4.1.2: remove the longest known prefix and suffix from a query; at least one word remains.

    >>> clean_query("price of the hobbit review", Affixes(strip_prefixes=frozenset({("price", "of")}), strip_suffixes=frozenset({("review",)})))
    'the hobbit'
    """
    words = tokens(query)
    for n in range(len(words) - 1, 0, -1):
        if tuple(words[:n]) in affixes.strip_prefixes:
            words = words[n:]
            break
    for n in range(1, len(words)):
        if tuple(words[n:]) in affixes.strip_suffixes:
            words = words[:n]
            break
    return " ".join(words)


def queries_for_site(
    rows: Iterable[LogRow], names: EntityNames, site: str, params: LogCleaning | None = None
) -> list[tuple[str, int]]:
    """Entity §4.1: return the queries for one site with their clicks, most clicked first: filtered, cleaned, deduplicated.

    Affixes are counted over the whole log.
    """
    by_site, affixes = _filtered_log(rows, names, params or LogCleaning())
    return _cleaned(by_site.get(log_host(site), Counter()), affixes)


def queries_by_site(
    rows: Iterable[LogRow], names: EntityNames, params: LogCleaning | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Entity §4.1: yield every site of a log with its queries, as `queries_for_site` returns them."""
    by_site, affixes = _filtered_log(rows, names, params or LogCleaning())
    for site in sorted(by_site):
        yield site, [query for query, _ in _cleaned(by_site[site], affixes)]


def _filtered_log(
    rows: Iterable[LogRow], names: EntityNames, params: LogCleaning
) -> tuple[dict[str, Counter[str]], Affixes]:
    by_site = informational_queries(rows, params)
    return by_site, count_affixes((query for queries in by_site.values() for query in queries), names, params)


def _cleaned(queries: Counter[str], affixes: Affixes) -> list[tuple[str, int]]:
    merged: Counter[str] = Counter()
    for query, clicks in queries.items():
        merged[clean_query(query, affixes)] += clicks
    return sorted(merged.items(), key=lambda item: (-item[1], item[0]))


# Queries from a knowledge base (§4.2). A site is the multiset of entities that its queries, or its records, mention.

MIN_RELATIVE_SCORE = 0.5  # sites and types below this share of the best score are dropped; §4.2


@dataclass(frozen=True, slots=True, order=True)
class EntityType:
    """Type of entities in a domain, such as book/author (Entity §4.2)."""

    domain: str
    name: str


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knowledge base: the entity names of each type; a name may have several types (Entity §4.2)."""

    types: Mapping[EntityType, Set[str]]
    skipped: int = 0  # rows without a name
    digest: str = ""  # identifies the content; "" if it is not known

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[str]]) -> "Knowledge":
        """Build a knowledge base from rows of (domain, type, entity); count and skip rows without a name."""
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
        return cls({EntityType(*key): frozenset(types.pop(key)) for key in list(types)}, skipped)

    @cached_property
    def names(self) -> EntityNames:
        """Index of all names."""
        return EntityNames((name for names in self.types.values() for name in names), clean=True)


def count_mentions(texts: Iterable[str], names: EntityNames) -> Counter[str]:
    """Entity §4.2: count the entities mentioned in texts: queries of a log, or fields of records."""
    mentions: Counter[str] = Counter()
    for text in texts:
        words = tokens(text)
        for start, end in names.mentions(words):
            mentions[" ".join(words[start:end])] += 1
    return mentions


def rank_sites(knowledge: Knowledge, sites: Mapping[str, Counter[str]]) -> dict[EntityType, list[tuple[str, float]]]:
    """Entity §4.2, Definitions 1 and 2: return the sites that fit each type by TF-IDF cosine, down to half of the best score.

    `sites` has the entity mentions of each site. A type is a query that contains each of its entities once; idf is computed over the sites.
    """
    number = len(sites)
    sites_with = Counter(entity for mentions in sites.values() for entity in mentions)
    idf = {entity: math.log(number / n) for entity, n in sites_with.items()}
    lengths = {s: math.sqrt(sum((n * idf[e]) ** 2 for e, n in mentions.items())) for s, mentions in sites.items()}
    ranked: dict[EntityType, list[tuple[str, float]]] = {}
    for entity_type, names in knowledge.types.items():
        query_length = math.sqrt(sum(weight**2 for name, weight in idf.items() if name in names)) or 1.0
        scores = {
            s: sum(n * idf[e] ** 2 for e, n in mentions.items() if e in names) / (query_length * (lengths[s] or 1.0))
            for s, mentions in sites.items()
        }
        best = max(scores.values(), default=0.0)
        kept = [(s, score) for s, score in scores.items() if score > 0 and score >= MIN_RELATIVE_SCORE * best]
        ranked[entity_type] = sorted(kept, key=lambda item: (-item[1], item[0]))
    return ranked


def rank_types(knowledge: Knowledge, mentions: Counter[str]) -> list[tuple[EntityType, float]]:
    """Return the types that one site is about, best first, down to half of the best score (ours, for Entity §4.2 with one site).

    With one site the published idf is log 1 = 0. Here idf is computed over types, a name of one word weighs less than a longer one, and a
    large type is penalised because it matches more by chance.
    """
    types_with = {name: sum(name in names for names in knowledge.types.values()) for name in mentions}
    number = len(knowledge.types)
    scores = []
    for entity_type, names in knowledge.types.items():
        evidence = sum(
            math.log1p(n) * math.log((number + 1) / types_with[e]) * _length_weight(e)
            for e, n in mentions.items()
            if e in names
        )
        scores.append((entity_type, evidence / math.sqrt(len(names))))
    scores.sort(key=lambda item: (-item[1], item[0]))
    best = scores[0][1] if scores else 0.0
    return [(entity_type, score) for entity_type, score in scores if score > 0 and score >= MIN_RELATIVE_SCORE * best]


def _length_weight(name: str) -> float:
    """Weigh a name by its number of words: a single word is often not used as a name."""
    words = name.count(" ") + 1
    return 0.2 if words == 1 else 1.0 if words == 2 else 1.5


# Empty pages (§5): an answer that is similar to the answers to nonsense queries, the background pages, is empty.


# Safety limit: distinct tokens of a page from which on its text is not compared. The signatures of
# several answers are held at once, and a token needs 130 bytes.
MAX_SIGNATURE_TOKENS = 50_000


def page_signature(tree: TagTree, query: str) -> frozenset[str]:
    """Entity §5: return the tokens of a page, after Madhavan et al. 2008, without numbers, dates and the echo of the query."""
    echo, query_text = set(tokens(query)), query.strip().lower() or "\0"
    signature: set[str] = set()
    for block in token_blocks(tree.text()):
        own = (token for token in set(block) - echo - signature if query_text not in token)
        signature.update(token for token in own if token.isalpha() or not any(map(str.isdigit, token)))
        if len(signature) >= MAX_SIGNATURE_TOKENS:
            break
    return frozenset(signature)


def background_similarity(signature: Set[str], background: Sequence[Set[str]]) -> float:
    """Entity §5, Definition 3: return the mean Jaccard similarity of a page to the background pages; 0 without background pages.

    The paper treats a page as empty from 0.85 on. `answers.kind` does so with `method="jaccard"`; its default compares only the text that
    no background page has.

    >>> background_similarity({"no", "results"}, [{"no", "results"}, {"no", "matches"}])
    0.6666666666666666
    """
    similarities: list[float] = []
    for other in background:
        shared = len(signature & other)
        similarities.append(shared / max(1, len(signature) + len(other) - shared))
    return sum(similarities) / len(similarities) if similarities else 0.0


# Irrelevant URL arguments (§6.3).


def argument_prevalence(pages: Iterable[Iterable[tuple[str, str]]]) -> dict[str, float]:
    """Entity §6.3.3, Definition 4: return r(a) of each URL argument a: the mean of r(a, v) over its values v.

    `pages` has, for each answer of a site, the arguments and values of its second-level URLs; r(a, v) is the share of answers with a = v.
    The paper ignores arguments above 0.1. `answers.argument_roles` uses prevalence only for arguments that never occur together with the
    query, because constants that select records are as prevalent as those that do not.

    >>> argument_prevalence([[("sort", "1"), ("id", "7")], [("sort", "1"), ("id", "8")]])
    {'sort': 1.0, 'id': 0.5}
    """
    pages_with: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    number = 0
    for page in pages:
        for name, value in page:
            pages_with[name][value].add(number)
        number += 1
    return {name: mean_prevalence(values.values(), number) for name, values in pages_with.items()}


def mean_prevalence(pages_with_value: Collection[Set[int]], pages: int) -> float:
    """Entity §6.3.3, Definition 4: return r(a) of one argument from the answers with each of its values."""
    return sum(map(len, pages_with_value)) / max(1, len(pages_with_value)) / max(1, pages)
