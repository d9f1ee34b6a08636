"""An index as a source: a response that holds all records, into which the page's own search looks without asking the site.

row      one object of the index, as texts by name
record   a row, or all rows of one page: an index may have a row for each section of a page
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

from upwell.page.embedded_data import MIN_ROWS, Row, largest_collection
from upwell.page.links import without_fragment
from upwell.page.tree import TagTree, read
from upwell.types import IndexInterface, Record, RenderedPage, TypedQuery

__all__ = ["answers_from_index", "index_interface", "records_of_index", "shows_records"]

SCORE = 0.95
MIN_LINKS = 2  # that an address rule must explain
MIN_ADDRESS_SHARE = 0.8  # of the values of a column that look like addresses, where no link explains one; not swept
MIN_SHOWN_ROWS = 2  # of an index, that typing brought onto the page
MIN_SECTION_WORDS = 3  # of a text of a section that is kept
MAX_VALUE_CHARS = 300  # of a value that may stand in an address
STARTS, ENDS = re.compile(r"[/#?=&!]+"), re.compile(r"[#?&/.]")
LOOKS_LIKE_ADDRESS = re.compile(r"(?:https?://|\.{0,2}/|#).*|[^\s?]*/[^\s]*|[^\s]+\.html?(?:#.*)?")
MARKUP = re.compile(r"</?[a-z][^>]*>", re.I)


def index_interface(
    body: bytes | str, url: str, home: TagTree, typed: Sequence[TypedQuery] = (), links: Iterable[str] = ()
) -> IndexInterface | None:
    """The interface of a response that holds many alike objects; `links` are those that pages of the site have."""
    rows = largest_collection(body)
    if not rows:
        return None
    address = _address_rule(rows, [*_links_of_answers(typed), *links], home.url)
    return IndexInterface(url=url, address=address, score=SCORE, via="index", page=home.url)


def records_of_index(interface: IndexInterface, body: bytes | str) -> tuple[Record, ...]:
    """The records of an index: its rows, those of one page together."""
    rows = [(_address_of(interface, row), row) for row in largest_collection(body)]
    pages: defaultdict[str, list[tuple[str, Row]]] = defaultdict(list)
    for address, row in rows:
        pages[without_fragment(address)].append((address, row))
    if "" in pages or len(pages) < max(MIN_ROWS, len(rows) // MAX_SECTIONS):
        return _distinct(_record(address, [row]) for address, row in rows)
    return _distinct(
        _record(min((address for address, _ in parts), key=len), [row for _, row in _first_page(parts)])
        for parts in pages.values()
    )


MAX_SECTIONS = 100  # of a page on average: beyond, the rows are things of one page and no sections


def answers_from_index(records: Sequence[Record], shown: RenderedPage) -> bool:
    """Whether typing brought records of the index onto the page, more often than an answer to nonsense at the same address shows them."""
    addresses = {unquote(record.url): record.key for record in records if record.url}
    titles = {_plain(value): record.key for record in records for value in record.fields.values() if len(value) < 200}
    nonsense = shown.typed[0].query if shown.typed else ""
    without = [typed for typed in shown.typed if typed.query == nonsense]
    hits: set[str] = set()
    for typed in shown.typed[len(without) :]:
        same = [known for known in without if urlsplit(known.url).path == urlsplit(typed.url).path] or without
        usual = max((_shown(known) for known in same), key=Counter.total)
        for item in _shown(typed) - usual:
            key = addresses.get(item) or addresses.get(urldefrag(item)[0]) or titles.get(_plain(item))
            if key:
                hits.add(key)
    return len(hits) >= MIN_SHOWN_ROWS


def shows_records(page: TagTree, records: Sequence[Record]) -> bool:
    """Whether a page shows texts of several records: months and labels that a script carries for itself stand on no page."""
    shown = {_plain(text) for text in page.chunks}
    return sum(any(_plain(value) in shown for value in record.fields.values()) for record in records) >= MIN_SHOWN_ROWS


def _shown(typed: TypedQuery) -> Counter[str]:
    """The targets of a page's links, without arguments that repeat the query, and its texts, each with how often it stands there."""
    tree = read(typed.html, url=typed.url)
    found = Counter(_without_arguments(unquote(target)) for _, target in tree.links())
    found.update(tree.text(row) for row, _ in tree.links())
    found.update(tree.chunks)
    return found


def _links_of_answers(typed: Sequence[TypedQuery]) -> Iterator[str]:
    for query in typed:
        for _, target in read(query.html, url=query.url).links():
            yield target


def _without_arguments(address: str) -> str:
    """An address without what stands between "?" and "#" when that is for the page that it leads to: a word to mark."""
    return re.sub(r"\?(?:h|highlight|q|query|s|search)=[^#]*", "", address)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _address_rule(rows: Sequence[Row], links: Iterable[str], home: str) -> tuple[str, str, str]:
    """Which column the addresses of records are made of, and what stands before and after its value.

    Learned from links: the rule that explains the most characters of them. Without links it is a column that looks like addresses.
    """
    values: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, value in row.items():
            if 0 < len(value) <= MAX_VALUE_CHARS:
                values[_bare(value)].add(name)
    explained: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for link in {_without_arguments(unquote(link)) for link in links}:
        for start, end in _parts(link):
            for name in values.get(link[start:end], ()):
                explained[name, link[:start], link[end:]].add(link[start:end])
    found = {rule: sum(map(len, matched)) for rule, matched in explained.items() if len(matched) >= MIN_LINKS}
    if found:
        return max(found, key=lambda rule: (found[rule], -len(rule[2]), rule))
    columns = dict.fromkeys(name for row in rows for name in row)
    for name in columns:
        column = [row[name] for row in rows if name in row]
        fitting = sum(bool(LOOKS_LIKE_ADDRESS.fullmatch(value)) for value in column)
        if fitting >= MIN_ADDRESS_SHARE * len(rows):
            return name, urljoin(home, "."), ""
    return "", "", ""


def _bare(value: str) -> str:
    """A value as it can stand inside an address."""
    return unquote(value) if "://" in value else unquote(value).lstrip("./")


def _parts(link: str) -> Iterator[tuple[int, int]]:
    """Where a value may stand in an address: from one sign to another."""
    starts = [0, *(match.end() for match in STARTS.finditer(link))]
    ends = [
        len(link),
        *(match.start() for match in ENDS.finditer(link)),
        *(match.end() for match in ENDS.finditer(link)),
    ]
    return ((start, end) for start in starts for end in set(ends) if start < end)


def _address_of(interface: IndexInterface, row: Row) -> str:
    name, before, after = interface.address
    value = row.get(name, "")
    if not name:
        return ""
    if "://" in value:
        return value
    return f"{before}{quote(_bare(value), safe='/#?&=:;,+@!$()*~')}{after}" if value or not after else ""


def _first_page(parts: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """The rows of one page, that of the page itself first."""
    return sorted(parts, key=lambda part: "#" in part[0])


def _record(address: str, rows: Sequence[Row]) -> Record:
    """One record: the fields of its first row, and the texts of the others that it does not have."""
    fields = {name: _text(value) for name, value in rows[0].items()}
    whole = " ".join(fields.values())
    sections: list[str] = []
    for row in rows[1:]:
        for value in map(_text, row.values()):
            if len(value.split()) >= MIN_SECTION_WORDS and value not in whole and value not in sections:
                sections.append(value)
    if sections:
        fields["sections"] = " ".join(sections)
    text = " ".join(fields.values())
    key = address or hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Record(key=key, url=address or None, path="", text=text, fields={n: v for n, v in fields.items() if v})


def _text(value: str) -> str:
    """A value without its markup."""
    return " ".join((read(value).text() if MARKUP.search(value) else value).split())


def _distinct(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple({record.key: record for record in records}.values())
