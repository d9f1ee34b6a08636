"""Lists without a query: pages of a site that list records, found by links and known by the addresses of the records they list.

record address   an address that is held, or has the shape of those that are held, and that not every page links to
family           lists whose addresses differ in one place: an alphabet, months, categories
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urlsplit

from upwell.answers.argument_names import PAGE, PAGE_SIZE, SORT, plain
from upwell.page.address_shapes import AddressShape, has_shape, learn_shapes
from upwell.page.tree import TagTree
from upwell.page.url_arguments import parse_arguments, split
from upwell.site.promising_links import SEARCH_WORTH, link_shape, weighed_links

__all__ = ["ListLinks", "RecordAddresses", "family_of"]

BELOW_WORTH = 3.0  # of a link to where the addresses of records begin; not swept
SAME_ARGUMENTS_WORTH = 1.0  # of each argument that it shares with the addresses of all records; not swept
MAX_FAILED_OF_SHAPE = 2  # pages of one shape that are no lists, before no more of them are opened
MIN_FRAME_PAGES = 2  # pages that all link to an address, before it counts as part of the frame


@dataclass
class RecordAddresses:
    """Which addresses are those of records."""

    held: Collection[str]
    frame: frozenset[str] = frozenset()  # addresses that all pages link to
    shapes: tuple[AddressShape, ...] = ()

    @classmethod
    def learn(cls, held: Collection[str], pages: Sequence[TagTree]) -> "RecordAddresses":
        """Learns from the addresses of records, and from pages that list none of them."""
        links = [{urldefrag(address)[0] for _, address in page.links()} for page in pages]
        frame = frozenset.intersection(*map(frozenset, links)) if len(links) >= MIN_FRAME_PAGES else frozenset()
        return cls(held=held, frame=frame, shapes=learn_shapes(held))

    def __contains__(self, address: object) -> bool:
        if not isinstance(address, str) or address in self.frame:
            return False
        return address in self.held or has_shape(self.shapes, address)

    def on(self, page: TagTree) -> set[str]:
        """The record addresses that a page links to."""
        return {target for _, address in page.links() if (target := urldefrag(address)[0]) in self}


@dataclass
class ListLinks:
    """The links of the pages seen so far that may lead to a list, each opened at most once."""

    opened: set[str] = field(default_factory=set)
    _worth: dict[str, float] = field(default_factory=dict)
    _failed: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def add(self, page: TagTree, records: RecordAddresses, query: str = "") -> None:
        """Takes in the links of a page; not those to records, and not those that ask for the query again."""
        asked = query.strip().lower()
        for link in weighed_links(page):
            arguments = split(link.url).arguments
            if link.url in records or (asked and asked in [value.strip().lower() for _, value in arguments]):
                continue
            if any(_turns_or_sorts(name) for name, _ in arguments):
                continue  # the list itself is linked without
            worth = link.worth - SEARCH_WORTH * link.is_search + _closeness(link.url, records.shapes)
            self._worth[link.url] = max(worth, self._worth.get(link.url, worth))

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
        """The page at an address that was opened is no list."""
        self._failed[link_shape(url)] += 1


def _closeness(url: str, shapes: Iterable[AddressShape]) -> float:
    """How much an address has in common with those of records."""
    own = set(parse_arguments(urlsplit(url).query))
    shared = [
        BELOW_WORTH * shape.lies_below(url) + SAME_ARGUMENTS_WORTH * len(own & set(shape.arguments)) for shape in shapes
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
    changed = [x[0] for x, y in zip(arguments, other_arguments, strict=True) if x != y]
    if path_changes + len(changed) != 1:
        return False
    return not any(_turns_or_sorts(name) for name in changed)


def _turns_or_sorts(name: str) -> bool:
    """Whether an argument is called as those are that turn pages, sort, or say how many records are shown."""
    return any(known.fullmatch(plain(name.strip("/"))) for known in (PAGE, PAGE_SIZE, SORT))
