"""Full-text and field search over all harvested records: ranked records, their number, facets and snippets.

lima peru             both words              lima OR cusco        either word            -lima      excludes a word
"san juan"            a phrase                san*                 a prefix               "san ju"*  a phrase with a prefix
country:peru          a column                site:example.org     a site
population:[1 TO 9]   an inclusive range      price:>10            numbers and dates (2024, 2024-05, 2024-05-31)
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwell.combine.catalogue import harvests_at
from upwell.combine.search_index import SearchIndex, column_key, index_terms, open_index, terms_with_offsets
from upwell.errors import WrongUsage
from upwell.store.remote import local_copy

if TYPE_CHECKING:
    from tantivy import Query

__all__ = ["Highlight", "Hit", "Hits", "ParsedQuery", "parse_query", "search", "search_index", "snippet"]

DATE = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
MAX_INTEGER_CHARS = 18  # a longer integer does not fit into the index and is searched as a float
MAX_QUERY_CHARS = 2000  # safety limit: length of a query
MAX_QUERY_DEPTH = 50  # safety limit: brackets inside brackets; the parser calls itself for each
QueryTerm = tuple[str, str]  # column ("" for any) and word
SITE = "site"
SNIPPET_CHARS = 160  # length of a snippet
MAX_SNIPPET_TEXT = 20_000  # characters of a text searched for a snippet


@dataclass(kw_only=True)
class ParsedQuery:
    """Query for the index, and the words and prefixes to highlight."""

    query: Query
    words: set[QueryTerm] = field(default_factory=set)
    prefixes: set[QueryTerm] = field(default_factory=set)
    unknown: tuple[str, ...] = ()  # names before a colon that are no column


def parse_query(text: str, search: SearchIndex) -> ParsedQuery:
    """Parse a query written by a person; anything that is not a valid column or operator is treated as words."""
    from tantivy import Query, parse_query_lenient

    _check_size(text)
    parser = _Parser(search)
    tree, _ = parse_query_lenient(text)
    try:
        query = parser.convert(tree)
    except RecursionError as error:  # hundreds of NOT
        raise WrongUsage("the operators of the query are nested too deep") from error
    if query is None and text.strip():
        query = parser.words(None, text, is_phrase=False)
    return ParsedQuery(
        query=query or Query.empty_query(), words=parser.shown, prefixes=parser.prefixes, unknown=tuple(parser.unknown)
    )


def _check_size(text: str) -> None:
    """Raise WrongUsage for a query that is too long or too deep: the parser would end the process, not only the search."""
    if len(text) > MAX_QUERY_CHARS:
        raise WrongUsage(f"a query has at most {MAX_QUERY_CHARS:,} characters, not {len(text):,}")
    depth = deepest = 0
    for sign in text:
        depth = max(0, depth + (sign == "(") - (sign == ")"))
        deepest = max(deepest, depth)
    if deepest > MAX_QUERY_DEPTH:
        raise WrongUsage(f"brackets of a query are nested at most {MAX_QUERY_DEPTH} deep, not {deepest:,}")


class _Parser:
    """Converts a parsed query tree into a query for one index."""

    def __init__(self, search: SearchIndex) -> None:
        self.index, self.schema, self.columns = search.index, search.schema, search.columns
        self.shown: set[QueryTerm] = set()
        self.prefixes: set[QueryTerm] = set()
        self.unknown: dict[str, None] = {}  # names before a colon that are no column

    def convert(self, node: dict[str, Any]) -> Query | None:
        """Return the query for a node of the query tree; None if the node has no content."""
        from tantivy import Query

        match node["type"]:
            case "bool":
                return self._all_of(node["clauses"])
            case "literal":
                return self._literal(node)
            case "range":
                return self._range(node)
            case "boost":
                inner = self.convert(node["underlying"])
                return None if inner is None else Query.boost_query(inner, node["boost"])
            case "set":
                queries = [self._in_column(node["field"], text) for text in node["elements"]]
                return _any_of([query for query in queries if query is not None])
            case "all":
                return Query.all_query()
            case "exists":
                return self._range(
                    {"field": node["field"], "lower": {"type": "unbounded"}, "upper": {"type": "unbounded"}}
                )
            case "regex":  # usually a URL
                return self.words(None, f"{node.get('field') or ''} {node['pattern']}", is_phrase=False)
        return None

    def _all_of(self, clauses: list[tuple[str | None, dict[str, Any]]]) -> Query | None:
        """Combine clauses that must all match, unless they are joined by OR."""
        from tantivy import Occur, Query

        occurs = {"should": Occur.Should, "must_not": Occur.MustNot}
        parts = []
        for occur, node in clauses:
            shown, prefixes = set(self.shown), set(self.prefixes)
            query = self.convert(node)
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
            return self._in_column(name, text, is_prefix=is_prefix, slop=node["slop"])
        if name is not None:  # not a column: search for the literal text
            self.unknown[name] = None
            text = f"{name}:{text}"
        return self.words(None, text, is_phrase=True, is_prefix=is_prefix, slop=node["slop"])

    def _site(self, text: str) -> Query:
        from tantivy import Query

        if text.endswith("*"):
            return Query.regex_query(self.schema, SITE, re.escape(text[:-1]) + ".*")
        return Query.term_query(self.schema, SITE, text, "basic")

    def _in_column(self, name: str, text: str, *, is_prefix: bool = False, slop: int = 0) -> Query | None:
        """Search a column for words of its texts, or for a value."""
        from tantivy import Query

        key = column_key(name)
        parts = [self.words(key, text, is_phrase=True, is_prefix=is_prefix, slop=slop)]
        if NUMBER.fullmatch(text):
            value = int(text) if "." not in text and len(text) <= MAX_INTEGER_CHARS else float(text)
            with suppress(ValueError, OverflowError):  # no column has a value that the index cannot hold
                parts.append(Query.term_query(self.schema, f"values.{key}", value))
        if DATE.fullmatch(text):
            parts.append(self._range_of(key, "[", text, text, "]"))
        return _any_of([part for part in parts if part is not None])

    def words(
        self, column: str | None, text: str, *, is_phrase: bool, is_prefix: bool = False, slop: int = 0
    ) -> Query | None:
        """Search for words in a column or anywhere, as a phrase or as a conjunction."""
        from tantivy import Occur, Query

        field_name, schema = f"texts.{column}" if column else "text", self.schema
        words = index_terms(text)
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
            raise WrongUsage(f"a range needs a column; {name or '(empty)'} is not one of {known}")
        lower, upper = node["lower"], node["upper"]
        begin = "{" if lower["type"] == "exclusive" else "["
        end = "}" if upper["type"] == "exclusive" else "]"
        return self._range_of(column_key(name), begin, lower.get("value", "*"), upper.get("value", "*"), end)

    def _range_of(self, key: str, begin: str, low: str, high: str, end: str) -> Query:
        """Search for values in a range of numbers or days; a year or month includes all of its days."""
        numbers = [text == "*" or NUMBER.fullmatch(text) for text in (low, high)]
        dates = [text == "*" or DATE.fullmatch(text) for text in (low, high)]
        if not all(numbers) and not all(dates):
            raise WrongUsage(f"{key}:{begin}{low} TO {high}{end}: a range needs numbers, or dates such as 2024-05-31")
        parts = []
        if all(numbers):
            parts.append(self._between(key, begin, low, high, end))
        if all(dates) and not (low == high == "*"):
            first = "*" if low == "*" else _moment(low, is_end=begin == "{")
            last = "*" if high == "*" else _moment(high, is_end=end == "]")
            parts.append(self._between(key, "[", first, last, "}"))
        query = _any_of(parts)
        if query is None:
            raise WrongUsage(f"{key}:{begin}{low} TO {high}{end} has no bounds; give at least one")
        return query

    def _between(self, key: str, begin: str, low: str, high: str, end: str) -> Query:
        """Search for values between two bounds, as two conditions: tantivy panics if only one bound is an integer."""
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
    """Return the first moment of a year, month or day, or the first moment after it.

    >>> _moment("2024", is_end=False), _moment("2024-12", is_end=True), _moment("2024-02-29", is_end=True)
    ('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z', '2024-03-01T00:00:00Z')
    """
    match = DATE.fullmatch(text)
    if match is None:
        raise WrongUsage(f"{text} is not a date such as 2024-05-31")
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        first = datetime.date(year or 1, month or 1, day or 1)
        if is_end and day:
            first += datetime.timedelta(days=1)
        elif is_end and month:
            first = datetime.date(first.year + month // 12, month % 12 + 1, 1)
        elif is_end:
            first = datetime.date(first.year + 1, 1, 1)
    except (ValueError, OverflowError) as error:
        raise WrongUsage(f"{text} is not a day of the calendar") from error
    return f"{first.isoformat()}T00:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """Excerpt of a record with the positions of the query's words."""

    column: str = ""
    text: str = ""
    marks: tuple[tuple[int, int], ...] = ()  # start and end of each word in `text`


def snippet(record: dict[str, Any], query: ParsedQuery) -> Highlight:
    """Return the excerpt with most of the query's words: the best column, cut around them."""
    best, best_score = Highlight(), (0, 0)
    for name, value in record.items():
        if name.startswith("_") or value is None:
            continue
        text = ("; ".join(map(str, value)) if isinstance(value, list) else str(value))[:MAX_SNIPPET_TEXT]
        marks = _marks(column_key(name), text, query)
        score = (len({word for _, _, word in marks}), len(marks))
        if marks and score > best_score:
            best, best_score = _cut(name, text, marks), score
    return best


def _marks(column: str, text: str, query: ParsedQuery) -> list[tuple[int, int, str]]:
    """Return the positions of the query's words in a text."""
    words = {word for term_column, word in query.words if term_column in ("", column)}
    prefixes = tuple(word for term_column, word in query.prefixes if term_column in ("", column))
    marks = []
    for start, end, parts in terms_with_offsets(text):
        if all(part in words or (prefixes and part.startswith(prefixes)) for part in parts) and parts:
            marks.append((start, end, " ".join(parts)))
    return marks


def _cut(name: str, text: str, positions: list[tuple[int, int, str]]) -> Highlight:
    """Cut the part of a text with most of the query's words."""
    starts = [start for start, _, _ in positions]
    words_from = [
        {word for begin, end, word in positions if start <= begin and end <= start + SNIPPET_CHARS} for start in starts
    ]
    first = starts[max(range(len(starts)), key=lambda i: (len(words_from[i]), -i))]
    begin = 0 if len(text) <= SNIPPET_CHARS else max(0, min(first - SNIPPET_CHARS // 4, len(text) - SNIPPET_CHARS))
    end = min(len(text), begin + SNIPPET_CHARS)
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    marks = tuple(
        (start - begin + len(before), stop - begin + len(before))
        for start, stop, _ in positions
        if begin <= start and stop <= end
    )
    return Highlight(column=name, text=f"{before}{text[begin:end]}{after}", marks=marks)


MAX_FACETS = 10  # values counted for each facet
NEAREST_COLUMNS = 3  # columns named instead of an unknown one


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Record found by a search."""

    site: str
    score: float
    record: dict[str, Any]
    highlight: Highlight = field(default_factory=Highlight)

    def as_dict(self) -> dict[str, object]:
        """Return the value as JSON-compatible data."""
        highlight = self.highlight
        snippet = {
            "column": highlight.column,
            "text": highlight.text,
            "marks": [list(mark) for mark in highlight.marks],
        }
        return {"site": self.site, "score": round(self.score, 4), "record": self.record, "snippet": snippet}


@dataclass(frozen=True, kw_only=True)
class Hits:
    """Search result: the best records, the number of matches, and the number of records searched."""

    hits: tuple[Hit, ...]
    count: int
    records: int
    facets: dict[str, dict[str, int]] = field(default_factory=dict)  # column → value → records
    troubles: tuple[str, ...] = ()  # harvests missing from the index, and unknown columns of a query that found nothing

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


def search(
    query: str,
    places: Iterable[str | Path],
    *,
    limit: int = 10,
    offset: int = 0,
    sites: Sequence[str] = (),
    facets: Sequence[str] = (),
    index: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Hits:
    """Return the best records for a query in the harvests at the given places, after updating the index.

    The index is kept in the first place, as `search-index`, unless `index` names another folder.
    """
    folders = [local_copy(place, with_archive=False) for place in places]
    harvests = harvests_at(folders)
    opened = open_index(folders[0], Path(index) if index is not None else None)
    updated = opened.update(harvests, tell)
    hits = search_index(opened, query, limit=limit, offset=offset, sites=sites, facets=facets)
    return Hits(**{**vars(hits), "troubles": (*updated.troubles, *hits.troubles)})


def search_index(
    opened: SearchIndex,
    query: str,
    *,
    limit: int = 10,
    offset: int = 0,
    sites: Sequence[str] = (),
    facets: Sequence[str] = (),
    with_count: bool = True,
) -> Hits:
    """Search an index without updating it. Counting all matches takes longer than ranking, and can be turned off."""
    from tantivy import Query

    parsed = parse_query(query, opened)
    index_query = parsed.query
    if sites:
        index_query = index_query.and_must_match(
            Query.const_score_query(Query.term_set_query(opened.schema, SITE, list(sites)), 0.0)
        )
    searcher = opened.index.searcher()
    hits = []
    for score, address in searcher.search(index_query, limit, count=False, offset=offset).hits:
        document = searcher.doc(address)
        record = json.loads(bytes(document["record"][0]))
        hits.append(Hit(site=document["site"][0], score=score, record=record, highlight=snippet(record, parsed)))
    fields = {name: SITE if name == SITE else f"values.{_facet(name, opened)}" for name in facets}
    counted = {}
    if fields:
        terms = {name: {"terms": {"field": path, "size": MAX_FACETS}} for name, path in fields.items()}
        aggregated = searcher.aggregate(index_query, terms)
        counted = {
            name: {str(bucket["key"]): int(bucket["doc_count"]) for bucket in aggregated[name]["buckets"]}
            for name in fields
        }
    count = int(searcher.search(index_query, 1).count) if with_count else len(hits)  # type: ignore[attr-defined] # missing in the stubs
    troubles = tuple(_nearest_columns(name, opened) for name in parsed.unknown) if not hits else ()
    return Hits(hits=tuple(hits), count=count, records=searcher.num_docs, facets=counted, troubles=troubles)


def _nearest_columns(name: str, opened: SearchIndex) -> str:
    """Say that there is no such column, and which ones have similar names."""
    near = get_close_matches(column_key(name), opened.columns, n=NEAREST_COLUMNS, cutoff=0.5)
    known = near or sorted(opened.columns)[:MAX_FACETS]
    label = "nearest" if near else "known"
    return f"there is no column {name}; {label} columns: {', '.join(known) or 'none'}"


def _facet(name: str, opened: SearchIndex) -> str:
    key = column_key(name)
    if key not in opened.columns:
        raise WrongUsage(f"{name} cannot be used as a facet; known facets: {', '.join([SITE, *opened.facets]) or SITE}")
    return key
