"""Indexes as sources: a response that contains all records, which the site's own search script reads instead of querying the server.

row      object of the index, as texts by name
record   a row, or all rows of one page: an index may have a row for each section of a page
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, unquote, unquote_plus, urljoin, urlsplit

from upwell.page.embedded_data import MIN_ROWS, Row, largest_collection
from upwell.page.links import without_fragment
from upwell.page.tree import TagTree, read
from upwell.types import IndexInterface, Record, RenderedPage, Request, TypedQuery
from upwell.urls.hosts import is_valid

__all__ = ["answers_from_index", "index_interface", "records_of_index", "shows_records"]

SCORE = 0.95  # of an index as search interface
MIN_LINKS = 2  # links that a URL rule must explain
MIN_URL_SHARE = 0.8  # share of a column's values that look like URLs, if no link explains a column; not swept
MIN_INDEX_SHARE = 0.8  # of what typing brings onto the page, the share that must be records of the index; not swept
MIN_SHOWN_ROWS = 2  # records of an index that must appear on a page
MIN_SECTION_WORDS = 3  # words from which the text of a section is kept
MAX_SECTIONS = 100  # mean number of sections per page; with more, the rows are records that share one page
MAX_DELIMITERS = 100  # safety limit: delimiters of a link whose parts are compared with values; every pair of delimiters makes a part
MAX_VALUE_CHARS = 300  # length of a value that may be part of a URL
MAX_TITLE_CHARS = 200  # length of a value that is compared with the texts of a page
STARTS, ENDS = re.compile(r"[/#?=&!]+"), re.compile(r"[#?&/.]")  # delimiters before and after a value in a URL
LOOKS_LIKE_URL = re.compile(r"(?:https?://|\.{0,2}/|#).*|[^\s?]*/[^\s]*|[^\s]+\.html?(?:#.*)?")
MARKUP = re.compile(r"</?[a-z][^<>]*+>", re.I)


def index_interface(
    body: bytes | str, url: str, home: TagTree, typed: Sequence[TypedQuery] = (), links: Iterable[str] = ()
) -> IndexInterface | None:
    """Return the interface of a response with many similar objects, None if it has none; `links` are links of the site's pages."""
    rows = largest_collection(body)
    if not rows:
        return None
    rule = _url_rule(rows, [*_links_of_answers(typed), *links], home.url)
    return IndexInterface(url=url, address=rule, score=SCORE, via="index", page=home.url)


def records_of_index(interface: IndexInterface, body: bytes | str) -> tuple[Record, ...]:
    """Return the records of an index; rows of one page are merged."""
    rows = [(_url_of(interface, row), row) for row in largest_collection(body)]
    pages: defaultdict[str, list[tuple[str, Row]]] = defaultdict(list)
    for url, row in rows:
        pages[without_fragment(url)].append((url, row))
    if "" in pages or len(pages) < max(MIN_ROWS, len(rows) // MAX_SECTIONS):
        return _distinct(_record(url, [row]) for url, row in rows)
    return _distinct(
        _record(min((url for url, _ in sections), key=len), [row for _, row in _page_first(sections)])
        for sections in pages.values()
    )


def answers_from_index(records: Sequence[Record], shown: RenderedPage) -> bool:
    """Return True if the page answers from these records alone: typing sends no request, and what it brings onto the page are records.

    Records that nonsense brings onto the page at the same path do not count.
    """
    if any(_asks(call, typed.query) for typed in shown.typed for call in typed.calls):
        return False
    key_of_url = {unquote(record.url): record.key for record in records if record.url}
    key_of_title = {
        _normalized(value): record.key
        for record in records
        for value in record.fields.values()
        if len(value) < MAX_TITLE_CHARS
    }
    nonsense = shown.typed[0].query if shown.typed else ""
    for_nonsense = [typed for typed in shown.typed if typed.query == nonsense]
    hits: set[str] = set()
    links: set[str] = set()  # new links of pages shown for typed words
    for typed in shown.typed[len(for_nonsense) :]:
        path = urlsplit(typed.url).path
        same_path = [other for other in for_nonsense if urlsplit(other.url).path == path] or for_nonsense
        usual = max((_shown(other) for other in same_path), key=Counter.total)
        for item in _shown(typed) - usual:
            key = key_of_url.get(item) or key_of_url.get(item.partition("#")[0]) or key_of_title.get(_normalized(item))
            if key:
                hits.add(key)
            elif is_valid(item) and "://" in item:
                links.add(item)
    return len(hits) >= MIN_SHOWN_ROWS and len(hits) >= MIN_INDEX_SHARE * (len(hits) + len(links))


def _asks(call: Request, query: str) -> bool:
    return query in unquote_plus(call.url) or query.encode() in call.body


def shows_records(page: TagTree, records: Sequence[Record]) -> bool:
    """Return True if a page shows texts of several records; data for the script's own use (names of months, labels) is not shown."""
    shown = {_normalized(text) for text in page.chunks}
    shown_records = sum(any(_normalized(value) in shown for value in record.fields.values()) for record in records)
    return shown_records >= MIN_SHOWN_ROWS


def _shown(typed: TypedQuery) -> Counter[str]:
    """Count the link targets of a page, without arguments that repeat the query, and its texts."""
    tree = read(typed.html, url=typed.url)
    items = Counter(_without_query_argument(unquote(target)) for _, target in tree.links())
    items.update(tree.text(row) for row, _ in tree.links())
    items.update(tree.chunks)
    return items


def _links_of_answers(typed: Sequence[TypedQuery]) -> Iterator[str]:
    for query in typed:
        for _, target in read(query.html, url=query.url).links():
            yield target


def _without_query_argument(url: str) -> str:
    """Remove an argument that tells the target page which word to highlight."""
    return re.sub(r"\?(?:h|highlight|q|query|s|search)=[^#]*", "", url)


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())


def _url_rule(rows: Sequence[Row], links: Iterable[str], home: str) -> tuple[str, str, str]:
    """Learn how record URLs are made: a column, and the text before and after its value; empty if there is no rule.

    The rule that explains the most characters of the links wins. Without links, use a column whose values look like URLs.
    """
    columns_of: dict[str, set[str]] = defaultdict(set)  # by value
    for row in rows:
        for name, value in row.items():
            if 0 < len(value) <= MAX_VALUE_CHARS:
                columns_of[_url_part(value)].add(name)
    explained: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for link in {_without_query_argument(unquote(link)) for link in links}:
        for start, end in _parts(link):
            for name in columns_of.get(link[start:end], ()):
                explained[name, link[:start], link[end:]].add(link[start:end])
    chars = {rule: sum(map(len, values)) for rule, values in explained.items() if len(values) >= MIN_LINKS}
    if chars:
        return max(chars, key=lambda rule: (chars[rule], -len(rule[2]), rule))
    for name in dict.fromkeys(name for row in rows for name in row):
        matching = sum(bool(LOOKS_LIKE_URL.fullmatch(row[name])) for row in rows if name in row)
        if matching >= MIN_URL_SHARE * len(rows):
            return name, urljoin(home, "."), ""
    return "", "", ""


def _url_part(value: str) -> str:
    """Return a value as it appears inside a URL."""
    return unquote(value) if "://" in value else unquote(value).lstrip("./")


def _parts(link: str) -> Iterator[tuple[int, int]]:
    """Yield the positions in a URL, between two delimiters, where a value may be."""
    starts = [0, *(match.end() for match in STARTS.finditer(link))]
    if len(starts) > MAX_DELIMITERS:
        return iter(())
    ends = [
        len(link),
        *(match.start() for match in ENDS.finditer(link)),
        *(match.end() for match in ENDS.finditer(link)),
    ]
    return ((start, end) for start in starts for end in set(ends) if start < end)


def _url_of(interface: IndexInterface, row: Row) -> str:
    """Return the URL of a row by the interface's rule; "" if there is none."""
    name, before, after = interface.address
    value = row.get(name, "")
    if not name:
        return ""
    if "://" in value:
        return value if is_valid(value) else ""
    return f"{before}{quote(_url_part(value), safe='/#?&=:;,+@!$()*~')}{after}" if value or not after else ""


def _page_first(sections: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """Sort the rows of a page: rows of the page itself before rows of its sections."""
    return sorted(sections, key=lambda section: "#" in section[0])


def _record(url: str, rows: Sequence[Row]) -> Record:
    """Build a record from the fields of its first row and the texts that only the other rows have."""
    fields = {name: _text(value) for name, value in rows[0].items()}
    whole = " ".join(fields.values())
    sections: dict[str, None] = {}
    for row in rows[1:]:
        for value in map(_text, row.values()):
            if len(value.split()) >= MIN_SECTION_WORDS and value not in whole and value not in sections:
                sections[value] = None
    if sections:
        fields["sections"] = " ".join(sections)
    text = " ".join(fields.values())
    key = url or hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Record(key=key, url=url or None, path="", text=text, fields={n: v for n, v in fields.items() if v})


def _text(value: str) -> str:
    """Return a value without markup."""
    return " ".join((read(value).text() if MARKUP.search(value) else value).split())


def _distinct(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple({record.key: record for record in records}.values())
