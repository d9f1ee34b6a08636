"""Lists of records that need no query: which links lead to them, and how their pages are read.

record URL   URL of a record that is held, or a URL of the same shape, unless every page links to it
family       lists whose URLs differ in one place: an alphabet, months, categories
export       data to download that may contain all records

A list has a layout of its own. Its records are identified by their URLs, so that they get the same keys as in answers to queries.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from upwell.arrays.key_set import KeySet
from upwell.discover.index_source import index_interface, records_of_index
from upwell.discover.link_ranking import SEARCH_SCORE, link_shape, ranked_links
from upwell.lexicon.argument_names import PAGE, PAGE_SIZE, SORT, undecorated
from upwell.page.links import without_fragment
from upwell.page.tree import TagTree
from upwell.source.apply import Reading, apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.types import Record
from upwell.urls.arguments import parse_arguments, split_url, without_arguments
from upwell.urls.patterns import UrlPattern, learn_url_patterns, matches_any

__all__ = [
    "MIN_RECORDS",
    "ExportReader",
    "ListLinks",
    "ListReader",
    "RecordAddresses",
    "SitemapReader",
    "family_of",
    "learn_list_reader",
    "turns_or_sorts",
]

# Links to lists: terms added to the score of a link (`link_ranking`)
BELOW_SCORE = 3.0  # for a URL that is the beginning of record URLs; not swept
SAME_ARGUMENTS_SCORE = 1.0  # for each argument shared with all record URLs; not swept
FEED_SCORE = 0.0  # score of a feed, which mostly contains the latest records only; not swept
MIN_SCORE = -2.0  # links with a higher score are opened; "about" and "contact" have a lower one; not swept
MAX_FAILED_OF_SHAPE = 2  # pages of one URL shape that are not lists, before no more of them are opened
MIN_FRAME_PAGES = 2  # pages needed to find the links that every page has

# Reading lists
MIN_RECORDS = 5  # records that a page must link to before it can be a list; not swept
MIN_SHARED = 3  # records with equal texts in a list and in answers before two columns count as the same; not swept
MIN_EQUAL_SHARE = 0.6  # of the records with the list's column that occur in both, the share that must have equal texts
MAX_RULES = 5  # cut rules of a list: some of its pages may have another layout
MIN_READ_SHARE = 0.8  # share of the record URLs on a page that the model of a list must read; not swept


@dataclass
class RecordAddresses:
    """Decides which URLs belong to records."""

    held: Container[str]
    frame: frozenset[str] = frozenset()  # URLs that all pages link to
    shapes: tuple[UrlPattern, ...] = ()
    volatile: tuple[str, ...] = ()  # arguments that do not identify the record

    @classmethod
    def learn(
        cls, held: Collection[str], pages: Sequence[TagTree], volatile: tuple[str, ...] = ()
    ) -> "RecordAddresses":
        """Learn from URLs of records, and from pages that do not list them."""
        links = [{without_fragment(url) for _, url in page.links()} for page in pages]
        frame = frozenset.intersection(*map(frozenset, links)) if len(links) >= MIN_FRAME_PAGES else frozenset()
        return cls(held=held, frame=frame, shapes=learn_url_patterns(held), volatile=volatile)

    def key(self, url: str | None) -> str | None:
        """Return the key of the record at a URL; None if it is not a record."""
        for variant in (url, without_fragment(url)) if url else ():
            key = without_arguments(variant, self.volatile)
            if key in self.held or matches_any(self.shapes, key):
                return key
        return None

    def is_record(self, url: str) -> bool:
        """Return True if a URL belongs to a record and not every page links to it."""
        return url not in self.frame and self.key(url) is not None

    def on(self, page: TagTree) -> set[str]:
        """Return the keys of the records that a page links to, without those that every page links to."""
        links = {without_fragment(url) for _, url in page.links()} - self.frame
        return {key for url in links if (key := self.key(url)) is not None}


@dataclass
class ListLinks:
    """Links that may lead to a list, collected from the pages seen so far; each is opened at most once."""

    opened: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)  # URLs of pages that were examined
    _scores: dict[str, float] = field(default_factory=dict)
    _failed: Counter[tuple[object, ...]] = field(default_factory=Counter)  # by URL shape

    def add(self, page: TagTree, records: RecordAddresses, query_field: str = "") -> None:
        """Add the links of a page, except those to records, queries, and later pages or other orders of a list."""
        for link in ranked_links(page):
            is_query = query_field and any(name == query_field for name, _ in split_url(link.url).arguments)
            if is_query or records.is_record(link.url) or turns_or_sorts(link.url):
                continue
            score = link.score - SEARCH_SCORE * link.is_search + _closeness(link.url, records.shapes)
            if score <= MIN_SCORE:
                continue
            self._scores[link.url] = max(score, self._scores.get(link.url, score))

    def add_feeds(self, urls: Iterable[str]) -> None:
        """Add feeds, which may have several pages (RFC 5005)."""
        for url in urls:
            self._scores.setdefault(url, FEED_SCORE)

    def prefer(self, urls: Iterable[str]) -> None:
        """Add lists of an earlier run; they are opened first."""
        self._scores.update(dict.fromkeys(urls, float("inf")))

    def next(self) -> str | None:
        """Return the link to open now; None if none is left."""
        waiting = [
            url
            for url in self._scores
            if url not in self.opened and self._failed[link_shape(url)] < MAX_FAILED_OF_SHAPE
        ]
        best = max(waiting, key=lambda url: (self._scores[url], url), default=None)
        if best is not None:
            self.opened.add(best)
        return best

    def fail(self, url: str) -> None:
        """Record that an opened page is not a list; it counts against URLs of its shape, unless they are top-level sections."""
        parts = urlsplit(url)
        if parts.query or parts.path.strip("/").count("/"):
            self._failed[link_shape(url)] += 1


def _closeness(url: str, shapes: Iterable[UrlPattern]) -> float:
    """Score how much a URL has in common with record URLs."""
    own = set(parse_arguments(urlsplit(url).query))
    scores = [
        BELOW_SCORE * shape.is_below(url) + SAME_ARGUMENTS_SCORE * len(own & set(shape.arguments)) for shape in shapes
    ]
    return max(scores, default=0.0)


def family_of(url: str, pages: Iterable[TagTree], is_record: Callable[[str], bool]) -> tuple[str, ...]:
    """Return links of pages that differ from a list's URL in one place, other than its page number, order or page size."""
    family: dict[str, None] = {}
    for page in pages:
        for link in ranked_links(page):
            if link.url != url and not is_record(link.url) and _differs_in_one_place(url, link.url):
                family.setdefault(link.url)
    return tuple(family)


def _differs_in_one_place(url: str, other_url: str) -> bool:
    """Return True if two URLs differ in one path segment or one argument value that is not a page number, order or page size."""
    a, b = urlsplit(url), urlsplit(other_url)
    segments, other_segments = a.path.split("/"), b.path.split("/")
    arguments, other_arguments = parse_arguments(a.query), parse_arguments(b.query)
    if a.netloc != b.netloc or len(segments) != len(other_segments):
        return False
    if [name for name, _ in arguments] != [name for name, _ in other_arguments]:
        return False
    path_changes = sum(x != y for x, y in zip(segments, other_segments, strict=True))
    if path_changes and len([segment for segment in segments if segment]) < 2:
        return False  # top-level paths are different sections of the site
    changed = [x[0] for x, y in zip(arguments, other_arguments, strict=True) if x != y]
    if path_changes + len(changed) != 1:
        return False
    return not any(_is_paging_name(name) for name in changed)


def turns_or_sorts(url: str) -> bool:
    """Return True if a URL has an argument for the page number, the order or the page size.

    >>> turns_or_sorts("http://x/posts/page/2/"), turns_or_sorts("http://x/posts?tag=2")
    (True, False)
    """
    return any(_is_paging_name(name) for name, _ in split_url(url).arguments)


def _is_paging_name(name: str) -> bool:
    return any(pattern.fullmatch(undecorated(name.strip("/"))) for pattern in (PAGE, PAGE_SIZE, SORT))


# Readers


@dataclass
class ListReader:
    """Reads the pages of a list as records of the source."""

    url: str
    model: SourceModel
    records: RecordAddresses
    names: dict[str, str] = field(default_factory=dict)  # column of the list → its name in answers

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """Read a page of the list; pieces that do not link to a record are left out."""
        reading = apply(self.model, tree, status=status)
        records = self.records_of(tree, reading)
        if reading.kind == "error":
            return reading
        if not records and (other := learn_list_reader(self.url, tree, self.records)) is not None:
            self.model = replace(self.model, rules=(*self.model.rules, *other.model.rules)[:MAX_RULES])
            return other.read(tree, status)
        return replace(reading, kind="multi" if records else "none", records=records)

    def records_of(self, tree: TagTree, reading: Reading) -> tuple[Record, ...]:
        """Return the pieces of a page that link to records of the source, one per record."""
        records = [self._with_key(record, tree) for record in reading.records]
        return tuple({record.key: record for record in records if record is not None}.values())

    def _with_key(self, record: Record, tree: TagTree) -> Record | None:
        """Return a piece of a list as a record of the source; None if it links to no record."""
        for target in (record.url, *(tree.resolve(target) for target in record.links)):
            if (key := self.records.key(target)) is not None:
                fields = {self.names.get(name, name): value for name, value in record.fields.items()}
                return replace(record, key=key, url=key, fields=fields)
        return None

    def name_columns_as(self, answers: Mapping[str, Mapping[str, str]], records: Sequence[Record]) -> None:
        """Rename columns as in answers, by the records that occur in both; `answers` has their fields by key."""
        shared = [(record.fields, answers[record.key]) for record in records if record.key in answers]
        equal: Counter[tuple[str, str]] = Counter()
        for own, known in shared:
            equal.update((a, b) for a in own for b in known if _normalized(own[a]) == _normalized(known[b]))
        own_names = {name for record in records for name in record.fields}
        for (own_name, name), times in sorted(equal.items(), key=lambda pair: (-pair[1], pair[0])):
            having = sum(own_name in own for own, _ in shared)
            is_free = (
                own_name not in self.names
                and name not in self.names.values()
                and (name not in own_names or name == own_name)
            )
            if is_free and times >= max(MIN_SHARED, MIN_EQUAL_SHARE * having):
                self.names[own_name] = name


@dataclass
class SitemapReader(ListReader):
    """Reads the pages of a sitemap, each of which shows one record; removes the keys of pages without a record from `keys`."""

    keys: KeySet = field(kw_only=True)  # of all records of the sitemap; the `Listing` has the same object

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """Read the record of a page; none if the page does not exist or is itself a list."""
        if status >= 400 or not tree.chunks or len(apply(self.model, tree).records) >= MIN_RECORDS:
            self.keys.discard(self.records.key(address) or address)
            return Reading(kind="error" if status >= 400 else "none")
        key, frame = self.records.key(address) or address, frozenset(self.model.frame)
        text = " ".join(chunk.strip() for chunk in tree.chunks if chunk not in frame)
        return Reading(kind="single", records=(Record(key=key, url=key, path=tree.path(0), text=text),))


@dataclass
class ExportReader(ListReader):
    """Reads data to download (CSV, JSON, XML) that may contain all records of the source."""

    home: TagTree = field(kw_only=True)
    addresses: tuple[str, ...] = field(kw_only=True)  # URLs of some records, from which the URL pattern is learned
    answers: Mapping[str, Mapping[str, str]] = field(kw_only=True)  # fields of records in answers, by key

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """Read the records of the data under the keys of the source; none if most of its rows are something else."""
        interface = index_interface(body, self.url, self.home, links=self.addresses) if status < 400 else None
        rows = records_of_index(interface, body) if interface is not None else ()
        records = tuple(
            {record.key: record for row in rows if (record := self._with_key(row, tree)) is not None}.values()
        )
        if len(records) < max(MIN_RECORDS, MIN_READ_SHARE * len(rows)):
            return Reading(kind="error" if status >= 400 else "none")
        self.name_columns_as(self.answers, records)
        named = (self._with_key(record, tree) for record in records)
        return Reading(kind="multi", records=tuple(record for record in named if isinstance(record, Record)))


def learn_list_reader(
    url: str, tree: TagTree, records: RecordAddresses, background: Sequence[TagTree] = ()
) -> ListReader | None:
    """Learn to read a page as a list of records; `background` are pages without records. None if it is not a list."""
    on_page = records.on(tree)
    if len(on_page) < MIN_RECORDS:
        return None
    model = learn_source([tree], background, is_record_address=records.is_record)
    reader = ListReader(url=url, model=model, records=records)
    if not model.rules or len(reader.records_of(tree, apply(model, tree))) < MIN_READ_SHARE * len(on_page):
        return None
    return reader


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
