"""What a person asks the search index, as the index takes it.

lima peru             both words              lima OR cusco        one of them            -lima      not this one
"san juan"            a phrase                san*                 a prefix               "san ju"*  a phrase with a prefix
country:peru          in a column             site:example.org     of a site
population:[1 TO 9]   a range, with its ends  price:>10            numbers and dates (2024, 2024-05, 2024-05-31)
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from upwell.errors import WrongUsage
from upwell.together.search_index import SearchIndex, column_key
from upwell.together.words import words_at, words_of

if TYPE_CHECKING:
    from tantivy import Query

__all__ = ["Asked", "Highlight", "parse", "snippet"]

DATE = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
Shown = tuple[str, str]  # a column, "" for any, and a word
SITE = "site"
SNIPPET_CHARS = 160
MAX_SNIPPET_TEXT = 20_000  # characters of a text that are looked at for a snippet


@dataclass(kw_only=True)
class Asked:
    """A query, and the words of it that are shown in what is found."""

    query: Query
    words: set[Shown] = field(default_factory=set)
    prefixes: set[Shown] = field(default_factory=set)


def parse(text: str, search: SearchIndex) -> Asked:
    """A query as a person writes it; what makes no sense as a column or an operator is taken for words."""
    from tantivy import Query, parse_query_lenient

    parser = _Parser(search)
    tree, _ = parse_query_lenient(text)
    query = parser.of(tree)
    if query is None and text.strip():
        query = parser.words(None, text, is_phrase=False)
    return Asked(query=query or Query.empty_query(), words=parser.shown, prefixes=parser.prefixes)


class _Parser:
    """Builds the query for one index."""

    def __init__(self, search: SearchIndex) -> None:
        self.index, self.schema, self.columns = search.index, search.schema, search.columns
        self.shown: set[Shown] = set()
        self.prefixes: set[Shown] = set()

    def of(self, node: dict[str, Any]) -> Query | None:
        """The query for a part of what was written; None where that part says nothing."""
        from tantivy import Query

        match node["type"]:
            case "bool":
                return self._all_of(node["clauses"])
            case "literal":
                return self._literal(node)
            case "range":
                return self._range(node)
            case "boost":
                inner = self.of(node["underlying"])
                return None if inner is None else Query.boost_query(inner, node["boost"])
            case "set":
                found = [self._words_of_column(node["field"], text) for text in node["elements"]]
                return _any_of([query for query in found if query is not None])
            case "all":
                return Query.all_query()
            case "exists":
                return self._range(
                    {"field": node["field"], "lower": {"type": "unbounded"}, "upper": {"type": "unbounded"}}
                )
            case "regex":  # an address, most of the time
                return self.words(None, f"{node.get('field') or ''} {node['pattern']}", is_phrase=False)
        return None

    def _all_of(self, clauses: list[tuple[str | None, dict[str, Any]]]) -> Query | None:
        """Parts of which all must match, unless OR stands between them."""
        from tantivy import Occur, Query

        occurs = {"should": Occur.Should, "must_not": Occur.MustNot}
        parts = []
        for occur, node in clauses:
            shown, prefixes = set(self.shown), set(self.prefixes)
            query = self.of(node)
            if occur == "must_not":
                self.shown, self.prefixes = shown, prefixes
            if query is not None:
                parts.append((occurs.get(occur or "", Occur.Must), query))
        if parts and all(occur == Occur.MustNot for occur, _ in parts):
            parts.append((Occur.Must, Query.all_query()))
        return Query.boolean_query(parts) if parts else None

    def _literal(self, node: dict[str, Any]) -> Query | None:
        name, text = node["field_name"], node["phrase"]
        is_quoted = node["delimiter"] != "none"
        is_prefix = node["prefix"] or (not is_quoted and text.endswith("*") and text != "*")
        if name == SITE:
            return self._site(text)
        if name is not None and column_key(name) in self.columns:
            return self._words_of_column(name, text, is_prefix=is_prefix, slop=node["slop"])
        if name is not None:  # no column: it was meant as it stands
            text = f"{name}:{text}"
        return self.words(None, text, is_phrase=True, is_prefix=is_prefix, slop=node["slop"])

    def _site(self, text: str) -> Query:
        from tantivy import Query

        if text.endswith("*"):
            return Query.regex_query(self.schema, SITE, re.escape(text[:-1]) + ".*")
        return Query.term_query(self.schema, SITE, text, "basic")

    def _words_of_column(self, name: str, text: str, *, is_prefix: bool = False, slop: int = 0) -> Query | None:
        """What a column says: words of its texts, or a value of it."""
        from tantivy import Query

        key = column_key(name)
        parts = [self.words(key, text, is_phrase=True, is_prefix=is_prefix, slop=slop)]
        if NUMBER.fullmatch(text):
            parts.append(Query.term_query(self.schema, f"values.{key}", float(text) if "." in text else int(text)))
        if DATE.fullmatch(text):
            parts.append(self._range_of(key, "[", text, text, "]"))
        return _any_of([part for part in parts if part is not None])

    def words(
        self, column: str | None, text: str, *, is_phrase: bool, is_prefix: bool = False, slop: int = 0
    ) -> Query | None:
        """Words in a column or anywhere; several are a phrase, or all must match."""
        from tantivy import Occur, Query

        field_name, schema = f"texts.{column}" if column else "text", self.schema
        words = words_of(text)
        if not words:
            return None
        self.shown.update((column or "", word) for word in (words[:-1] if is_prefix else words))
        if is_prefix:
            self.prefixes.add((column or "", words[-1]))
            if len(words) == 1:
                return Query.fuzzy_term_query(schema, field_name, words[0], distance=0, prefix=True)
            return Query.phrase_prefix_query(schema, field_name, [*words])
        if len(words) == 1:
            return Query.term_query(schema, field_name, words[0], "freq")
        if is_phrase:
            return Query.phrase_query(schema, field_name, [*words], slop)
        return Query.boolean_query([(Occur.Must, Query.term_query(schema, field_name, word, "freq")) for word in words])

    def _range(self, node: dict[str, Any]) -> Query | None:
        name = node["field"] or ""
        if column_key(name) not in self.columns:
            known = ", ".join(sorted(self.columns)[:20]) or "none"
            raise WrongUsage(f"a range needs a column, and {name or 'none'} is no column here; there are {known}")
        lower, upper = node["lower"], node["upper"]
        begin = "{" if lower["type"] == "exclusive" else "["
        end = "}" if upper["type"] == "exclusive" else "]"
        return self._range_of(column_key(name), begin, lower.get("value", "*"), upper.get("value", "*"), end)

    def _range_of(self, key: str, begin: str, low: str, high: str, end: str) -> Query:
        """Values between two: numbers, or days; a year or a month is all of its days."""
        numbers = [text == "*" or NUMBER.fullmatch(text) for text in (low, high)]
        dates = [text == "*" or DATE.fullmatch(text) for text in (low, high)]
        if not all(numbers) and not all(dates):
            raise WrongUsage(f"{key}:{begin}{low} TO {high}{end}: a range has numbers, or dates as 2024-05-31")
        parts = []
        if all(numbers):
            parts.append(self._between(key, begin, low, high, end))
        if all(dates) and not (low == high == "*"):
            first = "*" if low == "*" else _moment(low, is_end=begin == "{")
            last = "*" if high == "*" else _moment(high, is_end=end == "]")
            parts.append(self._between(key, "[", first, last, "}"))
        found = _any_of(parts)
        if found is None:
            raise WrongUsage(f"{key}:{begin}{low} TO {high}{end} says nothing")
        return found

    def _between(self, key: str, begin: str, low: str, high: str, end: str) -> Query:
        """Values from one on and up to another, as two conditions: tantivy panics where one end is whole and the other is not."""
        halves = [f"{begin}{low} TO *]"] * (low != "*" or high == "*") + [f"[* TO {high}{end}"] * (high != "*")
        first, *rest = (self.index.parse_query(f"values.{key}:{half}") for half in halves)
        return first.and_must_match(*rest) if rest else first


def _any_of(parts: Collection[Query]) -> Query | None:
    from tantivy import Occur, Query

    queries = list(parts)
    if len(queries) < 2:
        return queries[0] if queries else None
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def _moment(text: str, *, is_end: bool) -> str:
    """The first moment of a year, a month or a day, or the first after it.

    >>> _moment("2024", is_end=False), _moment("2024-12", is_end=True), _moment("2024-02-29", is_end=True)
    ('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z', '2024-03-01T00:00:00Z')
    """
    found = DATE.fullmatch(text)
    if found is None:
        raise WrongUsage(f"{text} is no date as 2024-05-31")
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        first = datetime.date(year or 1, month or 1, day or 1)
        if is_end and day:
            first += datetime.timedelta(days=1)
        elif is_end and month:
            first = datetime.date(first.year + month // 12, month % 12 + 1, 1)
        elif is_end:
            first = datetime.date(first.year + 1, 1, 1)
    except (ValueError, OverflowError) as error:
        raise WrongUsage(f"{text} is no day of the calendar") from error
    return f"{first.isoformat()}T00:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """A piece of a record with the words that were asked for."""

    column: str = ""
    text: str = ""
    marks: tuple[tuple[int, int], ...] = ()  # where the words stand in the text


def snippet(record: dict[str, Any], asked: Asked) -> Highlight:
    """The piece of a record that has most of the words: the column with most of them, and the part of its text around them."""
    best, best_score = Highlight(), (0, 0)
    for name, value in record.items():
        if name.startswith("_") or value is None:
            continue
        text = ("; ".join(map(str, value)) if isinstance(value, list) else str(value))[:MAX_SNIPPET_TEXT]
        found = _marks(column_key(name), text, asked)
        score = (len({word for _, _, word in found}), len(found))
        if found and score > best_score:
            best, best_score = _cut(name, text, found), score
    return best


def _marks(column: str, text: str, asked: Asked) -> list[tuple[int, int, str]]:
    """Where a text has words that were asked for."""
    words = {word for place, word in asked.words if place in ("", column)}
    prefixes = tuple(word for place, word in asked.prefixes if place in ("", column))
    found = []
    for start, end, parts in words_at(text):
        if all(part in words or (prefixes and part.startswith(prefixes)) for part in parts) and parts:
            found.append((start, end, " ".join(parts)))
    return found


def _cut(name: str, text: str, found: list[tuple[int, int, str]]) -> Highlight:
    """The part of a text with most of the words."""
    starts = [start for start, _, _ in found]
    inside = [
        {word for begin, end, word in found if start <= begin and end <= start + SNIPPET_CHARS} for start in starts
    ]
    first = starts[max(range(len(starts)), key=lambda i: (len(inside[i]), -i))]
    begin = 0 if len(text) <= SNIPPET_CHARS else max(0, min(first - SNIPPET_CHARS // 4, len(text) - SNIPPET_CHARS))
    end = min(len(text), begin + SNIPPET_CHARS)
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    marks = tuple(
        (start - begin + len(before), stop - begin + len(before))
        for start, stop, _ in found
        if begin <= start and stop <= end
    )
    return Highlight(column=name, text=f"{before}{text[begin:end]}{after}", marks=marks)
