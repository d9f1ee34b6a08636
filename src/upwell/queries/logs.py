"""Queries from a query log (Entity §4.1): navigational queries out, entity mentions found, what people put around them stripped.

log       rows of (query, url, clicks)
mention   the longest run of a query's words that is the name of an entity
affix     what stands before (prefix) or after (suffix) a mention
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from upwell.page.hosts import site_host
from upwell.page.terms import tokens

__all__ = ["Affixes", "Cleaning", "LogRow", "Names", "affixes_of", "clean", "generate", "queries_by_host", "read_rows"]

PREPOSITIONS = frozenset(("to", "of", "for", "in", "on", "at", "about", "from", "with", "by", "into", "near"))


@dataclass(frozen=True, slots=True)
class LogRow:
    """One line of a log: a query, the address that was clicked after it, and how often."""

    query: str
    url: str
    clicks: int


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What counts as navigational, and how many affixes are stripped."""

    pages: int = 2  # Entity §4.1.1: clicked for at least 2 pages of the site …
    clicks: int = 3  # … each at least 3 times
    top: int = 200  # Entity §4.1.2 looks at the 200 most frequent affixes
    # A prefix with a preposition counts so many times; Entity says more, not how much. Swept 1 … 10 on the made log: 1.5 to 3 are
    # equal, from 5 on chance prefixes push out real affixes (docs/decisions/0040).
    preposition: float = 3.0


class Names:
    """The names of a knowledge base, by their words; finds the longest mention in a query."""

    def __init__(self, names: Iterable[str], *, clean: bool = False) -> None:
        """`clean`: the names are tokens with a space between them already, and are shared, not copied."""
        own = set(names) if clean else {" ".join(tokens(name)) for name in names}
        own.discard("")
        self._names: Set[str] = own
        self.lengths: dict[str, int] = {}  # for each first word, the length of the longest name that begins with it
        self._length_of: Callable[[str], int] = lambda word: self.lengths.get(word, 0)
        for name in own:
            first, length = name.partition(" ")[0], name.count(" ") + 1
            if self.lengths.get(first, 0) < length:
                self.lengths[first] = length

    @classmethod
    def kept_elsewhere(cls, names: Set[str], length_of: Callable[[str], int]) -> "Names":
        """Names that are not in memory, nor are the lengths of the longest that begin with each word."""
        made = cls(())
        made._names, made._length_of = names, length_of
        return made

    def __len__(self) -> int:
        return len(self._names)

    def mentions(self, words: list[str]) -> list[tuple[int, int]]:
        """Where the longest mentions begin and end; all of the same greatest length (Entity §4.1.2)."""
        best: list[tuple[int, int]] = []
        longest = 1
        length_of, names = self._length_of, self._names
        for i, word in enumerate(words):
            for n in range(min(length_of(word), len(words) - i), longest - 1, -1):
                if " ".join(words[i : i + n]) in names:
                    if n > longest:
                        best, longest = [], n
                    best.append((i, i + n))
                    break
        return best

    def all_mentions(self, words: list[str]) -> Iterator[str]:
        """The names in a longer text, from left to right, at each word the longest that begins there and does not overlap the one before."""
        length_of, names = self._length_of, self._names
        i = 0
        while i < len(words):
            end = i + min(length_of(words[i]), len(words) - i)
            while end > i and (name := " ".join(words[i:end])) not in names:
                end -= 1
            if end > i:
                yield name
            i = max(end, i + 1)


def read_rows(rows: Iterable[Mapping[str, object] | tuple[object, ...]]) -> Iterator[LogRow | None]:
    """Log rows from any table; None for a row that cannot be one (the caller counts them)."""
    for row in rows:
        try:
            query, url, clicks = (row["query"], row["url"], row["clicks"]) if isinstance(row, Mapping) else row
            text, address = str(query).strip(), str(url).strip()
            yield LogRow(text, address, int(str(clicks))) if text and address else None
        except (ValueError, KeyError, TypeError):
            yield None


def filtered(rows: Iterable[LogRow], how: Cleaning) -> dict[str, Counter[str]]:
    """For each site the queries that are not navigational, with their clicks."""
    pages: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        site = pages.setdefault((host(row.url), row.query), {})
        site[row.url] = site.get(row.url, 0) + row.clicks
    found: dict[str, Counter[str]] = {}
    for (site_name, query), clicked in pages.items():
        if sum(n >= how.clicks for n in clicked.values()) >= how.pages:
            found.setdefault(site_name, Counter())[query] += sum(clicked.values())
    return found


def host(url: str) -> str:
    """The site of an address: its host without www."""
    return site_host(url if "//" in url else f"//{url}")


@dataclass
class Affixes:
    """How often each prefix and suffix stands around a mention, over the whole log; the most frequent are stripped."""

    prefixes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    suffixes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    strip_prefixes: frozenset[tuple[str, ...]] = frozenset()
    strip_suffixes: frozenset[tuple[str, ...]] = frozenset()

    def add(self, words: list[str], mentions: list[tuple[int, int]]) -> None:
        for start, end in mentions:
            if start:
                self.prefixes[tuple(words[:start])] += 1
            if end < len(words):
                self.suffixes[tuple(words[end:])] += 1

    def settle(self, how: Cleaning) -> None:
        """Chooses what is stripped: the most frequent; a prefix with a preposition counts more, a suffix with one is kept."""
        weighed = {
            p: n * (how.preposition if PREPOSITIONS & set(p) else 1.0) for p, n in self.prefixes.items() if n > 1
        }
        ends = {s: float(n) for s, n in self.suffixes.items() if n > 1 and not PREPOSITIONS & set(s)}
        ranked = sorted(
            [(n, 0, p) for p, n in weighed.items()] + [(n, 1, s) for s, n in ends.items()], key=lambda x: (-x[0], x[1:])
        )
        top = ranked[: how.top]
        self.strip_prefixes = frozenset(a for _, side, a in top if side == 0)
        self.strip_suffixes = frozenset(a for _, side, a in top if side == 1)


def affixes_of(queries: Iterable[str], names: Names, how: Cleaning | None = None) -> Affixes:
    """The affixes of a log's queries, ready to strip."""
    affixes = Affixes()
    for query in queries:
        words = tokens(query)
        affixes.add(words, names.mentions(words))
    affixes.settle(how or Cleaning())
    return affixes


def clean(query: str, affixes: Affixes) -> str:
    """A query without its longest stripped prefix and suffix; never nothing.

    >>> clean("price of the hobbit review", Affixes(strip_prefixes=frozenset({("price", "of")}), strip_suffixes=frozenset({("review",)})))
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


def generate(rows: Iterable[LogRow], names: Names, site: str, how: Cleaning | None = None) -> list[tuple[str, int]]:
    """The queries for one site, most clicked first: filtered, cleaned, duplicates merged; affixes come from the whole log."""
    how = how or Cleaning()
    by_site = filtered(rows, how)
    affixes = affixes_of((query for queries in by_site.values() for query in queries), names, how)
    return _cleaned(by_site.get(host(site), Counter()), affixes)


def queries_by_host(
    rows: Iterable[LogRow], names: Names, how: Cleaning | None = None
) -> Iterator[tuple[str, list[str]]]:
    """The same for all sites of a log."""
    how = how or Cleaning()
    by_site = filtered(rows, how)
    affixes = affixes_of((query for queries in by_site.values() for query in queries), names, how)
    for site in sorted(by_site):
        yield site, [query for query, _ in _cleaned(by_site[site], affixes)]


def _cleaned(queries: Counter[str], affixes: Affixes) -> list[tuple[str, int]]:
    merged: Counter[str] = Counter()
    for query, clicks in queries.items():
        merged[clean(query, affixes)] += clicks
    return sorted(merged.items(), key=lambda item: (-item[1], item[0]))
