"""A list to walk through where a site has no search: links that stand alike, and others at the same place on the next page."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from upwell.answers.next_page import next_page, next_page_request
from upwell.discover.link_ranking import SEARCH_WORTH, link_shape, weighed_links
from upwell.discover.steps import Steps, fetch
from upwell.discover.trial import is_usable
from upwell.lexicon.argument_names import PAGE, PAGE_SIZE, SORT, undecorated
from upwell.page.formats import read_page
from upwell.page.links import acts, is_page, without_fragment
from upwell.page.tree import TagTree
from upwell.types import ListInterface
from upwell.urls.arguments import parse_arguments, split_url, without_arguments
from upwell.urls.hosts import is_on_site
from upwell.urls.patterns import UrlPattern, learn_url_patterns, matches_any

__all__ = ["ListLinks", "RecordAddresses", "family_of", "find_list", "longest_list", "turns_or_sorts"]

# --- Lists without a query: pages of a site that list records, found by links and known by the addresses of the records they list.
#
# record address   an address that is held, or has the shape of those that are held, and that not every page links to
# family           lists whose addresses differ in one place: an alphabet, months, categories

BELOW_WORTH = 3.0  # of a link to where the addresses of records begin; not swept
SAME_ARGUMENTS_WORTH = 1.0  # of each argument that it shares with the addresses of all records; not swept
FEED_WORTH = 0.0  # of a feed, which mostly has the latest records only; not swept
MIN_WORTH = -2.0  # a link that is opened has more; "about" and "contact" have less; not swept
MAX_FAILED_OF_SHAPE = 2  # pages of one shape that are no lists, before no more of them are opened
MIN_FRAME_PAGES = 2  # pages that all link to an address, before it counts as part of the frame


@dataclass
class RecordAddresses:
    """Which addresses are those of records."""

    held: Container[str]
    frame: frozenset[str] = frozenset()  # addresses that all pages link to
    shapes: tuple[UrlPattern, ...] = ()
    volatile: tuple[str, ...] = ()  # arguments that say nothing about the record

    @classmethod
    def learn(
        cls, held: Collection[str], pages: Sequence[TagTree], volatile: tuple[str, ...] = ()
    ) -> "RecordAddresses":
        """Learns from the addresses of records, and from pages that list none of them."""
        links = [{without_fragment(address) for _, address in page.links()} for page in pages]
        frame = frozenset.intersection(*map(frozenset, links)) if len(links) >= MIN_FRAME_PAGES else frozenset()
        return cls(held=held, frame=frame, shapes=learn_url_patterns(held), volatile=volatile)

    def key(self, address: str | None) -> str | None:
        """The key of the record that an address leads to; None where it leads to none."""
        for written in (address, without_fragment(address)) if address else ():
            key = without_arguments(written, self.volatile)
            if key in self.held or matches_any(self.shapes, key):
                return key
        return None

    def is_record(self, address: str) -> bool:
        """Whether an address leads to a record that not every page links to."""
        return address not in self.frame and self.key(address) is not None

    def on(self, page: TagTree) -> set[str]:
        """The records that a page links to, without those that every page links to."""
        links = {without_fragment(address) for _, address in page.links()} - self.frame
        return {key for address in links if (key := self.key(address)) is not None}


@dataclass
class ListLinks:
    """The links of the pages seen so far that may lead to a list, each opened at most once."""

    opened: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)  # addresses of pages that were looked at
    _worth: dict[str, float] = field(default_factory=dict)
    _failed: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def add(self, page: TagTree, records: RecordAddresses, query_field: str = "") -> None:
        """Takes in the links of a page; not those to records, and not those that ask a query."""
        for link in weighed_links(page):
            asks = query_field and any(name == query_field for name, _ in split_url(link.url).arguments)
            if asks or records.is_record(link.url) or turns_or_sorts(link.url):  # a list itself is linked without
                continue
            worth = link.worth - SEARCH_WORTH * link.is_search + _closeness(link.url, records.shapes)
            if worth <= MIN_WORTH:
                continue
            self._worth[link.url] = max(worth, self._worth.get(link.url, worth))

    def add_feeds(self, urls: Iterable[str]) -> None:
        """Takes in feeds, which may go on (RFC 5005)."""
        for url in urls:
            self._worth.setdefault(url, FEED_WORTH)

    def prefer(self, urls: Iterable[str]) -> None:
        """Takes in lists that an earlier run walked through, to be opened first."""
        self._worth.update(dict.fromkeys(urls, float("inf")))

    def next(self) -> str | None:
        """The link to open now; None where none is left."""
        waiting = [
            url for url in self._worth if url not in self.opened and self._failed[link_shape(url)] < MAX_FAILED_OF_SHAPE
        ]
        best = max(waiting, key=lambda url: (self._worth[url], url), default=None)
        if best is not None:
            self.opened.add(best)
        return best

    def fail(self, url: str) -> None:
        """The page at an address that was opened is no list; so others of its shape may be none, unless they are sections of the site."""
        parts = urlsplit(url)
        if parts.query or parts.path.strip("/").count("/"):
            self._failed[link_shape(url)] += 1


def _closeness(url: str, shapes: Iterable[UrlPattern]) -> float:
    """How much an address has in common with those of records."""
    own = set(parse_arguments(urlsplit(url).query))
    shared = [
        BELOW_WORTH * shape.is_below(url) + SAME_ARGUMENTS_WORTH * len(own & set(shape.arguments)) for shape in shapes
    ]
    return max(shared, default=0.0)


def family_of(url: str, pages: Iterable[TagTree], is_record: Callable[[str], bool]) -> tuple[str, ...]:
    """The links of some pages that differ from a list's address in one place, which is not what turns its pages."""
    found: dict[str, None] = {}
    for page in pages:
        for link in weighed_links(page):
            if link.url != url and not is_record(link.url) and _differs_in_one_place(url, link.url):
                found.setdefault(link.url)
    return tuple(found)


def _differs_in_one_place(one: str, other: str) -> bool:
    """Whether two addresses differ in one step of the path or in the value of one argument, which is not a page, order or size."""
    a, b = urlsplit(one), urlsplit(other)
    steps, other_steps = a.path.split("/"), b.path.split("/")
    arguments, other_arguments = parse_arguments(a.query), parse_arguments(b.query)
    if a.netloc != b.netloc or len(steps) != len(other_steps):
        return False
    if [name for name, _ in arguments] != [name for name, _ in other_arguments]:
        return False
    path_changes = sum(x != y for x, y in zip(steps, other_steps, strict=True))
    if path_changes and len([step for step in steps if step]) < 2:
        return False  # what lies in no folder is a section of its own
    changed = [x[0] for x, y in zip(arguments, other_arguments, strict=True) if x != y]
    if path_changes + len(changed) != 1:
        return False
    return not any(_is_of_pages(name) for name in changed)


def turns_or_sorts(url: str) -> bool:
    """Whether an address has an argument that turns pages, sorts, or says how many records are shown.

    >>> turns_or_sorts("http://x/posts/page/2/"), turns_or_sorts("http://x/posts?tag=2")
    (True, False)
    """
    return any(_is_of_pages(name) for name, _ in split_url(url).arguments)


def _is_of_pages(name: str) -> bool:
    return any(known.fullmatch(undecorated(name.strip("/"))) for known in (PAGE, PAGE_SIZE, SORT))


# --- (main part)

MIN_LINKS = 5  # of a list that goes on
MIN_LINKS_ALONE = 20  # of a list of one page
MIN_NEW_LINKS = 3  # on its next page
MAX_TRIED = 4  # pages with a next page that are tried
MIN_TEXT_CHARS = 2  # of the text of a link to a record, in the mean: shorter ones are numbers of pages

DIGITS = re.compile(r"\d+")

Links = dict[str, int]  # address → characters of its longest text
Place = tuple[object, ...]


def find_list(pages: Sequence[TagTree]) -> Steps[ListInterface | None]:
    """The list of these pages that goes on, and has the most to say; None where there is none."""
    frame = _frame(pages)
    of_page = {page.url: (page, _links_by_place(page, frame)) for page in pages}
    going_on = [
        (max(map(_chars, places.values())), page, following, places)
        for page, places in of_page.values()
        if places and not turns_or_sorts(page.url) and (following := next_page(page)) is not None
    ]
    later = {DIGITS.sub("#", following.url) for _, _, following, _ in going_on}
    beginnings = [one for one in going_on if DIGITS.sub("#", one[1].url) not in later] or going_on
    for _, page, following, places in sorted(beginnings, key=lambda one: -one[0])[:MAX_TRIED]:
        response = yield from fetch(replace(next_page_request(following), reuses=True))
        if response is None or not is_usable(response):
            continue
        after = _links_by_place(read_page(response.body, response.url, response.headers), frame)
        new = {place: _without(after.get(place, {}), links) for place, links in places.items()}
        best = max(new, key=lambda place: _chars(new[place]))
        if len(new[best]) >= MIN_NEW_LINKS:
            return ListInterface(url=page.url, via="list", page=page.url, examples=(*places[best], *new[best]))
    return None


def longest_list(pages: Sequence[TagTree]) -> ListInterface | None:
    """The longest list that stands on one of these pages alone; None where there is none."""
    frame = _frame(pages)
    alone = [
        (_chars(links), page.url, links)
        for page in pages
        for links in _links_by_place(page, frame).values()
        if len(links) >= MIN_LINKS_ALONE
    ]
    _, url, links = max(alone, key=lambda one: one[:2], default=(0, "", {}))
    return ListInterface(url=url, via="list", page=url, examples=tuple(links)) if links else None


def _links_by_place(page: TagTree, frame: frozenset[str]) -> dict[Place, Links]:
    """The links of a page that may lead to records, by where they stand: the same tags and classes around, addresses built alike."""
    places: defaultdict[Place, Links] = defaultdict(dict)
    for row, address in page.links():
        url = without_fragment(address)
        text = " ".join(page.text(row).split())
        if url in frame or not is_on_site(url, page.url) or not is_page(url) or acts(url, text) or url == page.url:
            continue
        parts = urlsplit(url)
        names = tuple(sorted(name for name, _ in parse_arguments(parts.query)))
        place = (page.signatures[page.signature_of[row]].class_path, parts.path.rstrip("/").count("/"), names)
        places[place][url] = max(len(text), places[place].get(url, 0))
    return {
        place: links
        for place, links in places.items()
        if len(links) >= MIN_LINKS and _chars(links) > MIN_TEXT_CHARS * len(links)
    }


def _frame(pages: Sequence[TagTree]) -> frozenset[str]:
    """The addresses that all of these pages link to."""
    return frozenset.intersection(*(frozenset(_addresses(page)) for page in pages)) if len(pages) > 1 else frozenset()


def _addresses(page: TagTree) -> set[str]:
    return {without_fragment(address) for _, address in page.links()}


def _chars(links: Links) -> int:
    return sum(links.values())


def _without(links: Links, known: Links) -> Links:
    return {url: chars for url, chars in links.items() if url not in known}
