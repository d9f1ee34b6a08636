"""Data of a whole list that a site offers to download (CSV, JSON, XML), and feeds: links of pages that lead to the same records.

export    data that has nearly all records which a list shows: it is taken whole, and the list need not be walked
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import unescape
from statistics import mean
from urllib.parse import urldefrag, urljoin, urlsplit

from upwell.answers.next_page import next_page
from upwell.discover.index_source import index_interface, records_of_index
from upwell.discover.link_ranking import MAX_OF_ONE_SHAPE, link_shape
from upwell.discover.steps import Steps, fetch
from upwell.discover.trial import is_usable
from upwell.page.embedded_data import decompress
from upwell.page.formats import read_page
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.types import IndexInterface, ListInterface, Request
from upwell.urls.arguments import parse_arguments
from upwell.urls.hosts import is_on_site
from upwell.urls.patterns import learn_url_patterns, matches_any

__all__ = [
    "USUAL_PLACE",
    "addresses_in",
    "data_links",
    "feed_links",
    "feed_pages",
    "find_export",
    "find_record_pages",
    "read_sitemaps",
    "record_pages_of",
]

# --- Sitemaps: lists of a site's pages that the site itself keeps for programs (sitemaps.org, RFC 9309 leaves `Sitemap:` lines to it).
#
# group       addresses of a sitemap that are built alike: as deep, in the same folder, with the same arguments
# listing     a page that links to many pages of a group: a category, a tag, a month; its group has no records

USUAL_PLACE = "/sitemap.xml"  # where one lies that robots.txt does not name
MAX_FILES = 50  # sitemaps that are read: 50,000 addresses each by the protocol
LOCATION = re.compile(r"<(?:\w+:)?loc\s*>\s*(?:<!\[CDATA\[)?\s*(.*?)\s*(?:\]\]>)?\s*</(?:\w+:)?loc\s*>", re.I | re.S)
IS_INDEX = re.compile(r"<(?:\w+:)?sitemapindex\b", re.I)
PICTURE = re.compile(r"<(image|video):\w+.*?</\1:\w+\s*>", re.I | re.S)
MIN_PAGES = 20  # of a group whose pages may be records; not swept
MIN_GROUP_SHARE = 0.1  # of the largest such group; not swept
MAX_GROUPS = 4  # that are looked at
SAMPLED_PAGES = 3  # of a group
MIN_LISTED = 5.0  # pages of one group that a listing links to, in the mean; not swept
MAX_EXAMPLES = 200  # addresses that the shape of record pages is kept by

Group = tuple[str, ...]


def read_sitemaps(urls: Sequence[str], home: str) -> Steps[tuple[str, ...]]:
    """The addresses of pages of the site that these sitemaps have, and those that they lead to."""
    waiting, known = list(urls), set(urls)
    found: dict[str, None] = {}
    for _ in range(MAX_FILES):
        if not waiting:
            break
        response = yield from fetch(Request(url=waiting.pop(0)))
        if response is None or response.status != 200:
            continue
        inner, pages = addresses_in(response.body)
        new = [url for url in inner if url not in known and is_on_site(url, home)]
        waiting += new
        known.update(new)
        found.update(dict.fromkeys(url for url in pages if is_on_site(url, home) and is_page(url) and not acts(url)))
    return tuple(found)


def addresses_in(body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sitemaps that a sitemap leads to, and the pages: XML, or a line for each address; compressed or not.

    >>> addresses_in(b"<urlset><url><loc>http://x/?a=1&amp;b=2</loc></url></urlset>")
    ((), ('http://x/?a=1&b=2',))
    """
    text = decompress(body).decode("utf-8-sig", "replace")
    found = tuple(dict.fromkeys(urldefrag(unescape(url))[0] for url in LOCATION.findall(PICTURE.sub("", text))))
    if found:
        return (found, ()) if IS_INDEX.search(text) else ((), found)
    lines = text.split()
    return (), tuple(lines) if lines and all(line.startswith(("http://", "https://")) for line in lines) else ()


def find_record_pages(home: str, declared: Sequence[str]) -> Steps[ListInterface | None]:
    """The sitemap of a site as a source whose records are pages of the largest groups that are no listings; None where there is none."""
    places = tuple(declared) or (urljoin(home, USUAL_PLACE),)
    addresses = yield from read_sitemaps(places, home)
    groups = _groups(address for address in addresses if urlsplit(address).path.strip("/") or urlsplit(address).query)
    group_of = {address: group for group, members in groups.items() for address in members}
    largest = sorted(groups, key=lambda group: -len(groups[group]))[:MAX_GROUPS]
    linked: dict[Group, list[set[str]]] = {}
    for group in largest:
        if len(groups[group]) >= MIN_PAGES:
            linked[group] = yield from _linked_from(groups[group])
    pages = [links for of_group in linked.values() for links in of_group]
    frame = set.intersection(*pages) if len(pages) > 1 else set()
    with_records = [group for group in linked if not _is_listing(linked[group], frame, group_of)]
    least = MIN_GROUP_SHARE * max((len(groups[group]) for group in with_records), default=0)
    kept = [group for group in with_records if len(groups[group]) >= least]
    if not kept:
        return None
    examples = [address for group in kept for address in _spread(groups[group], MAX_EXAMPLES // len(kept))]
    return ListInterface(url=places[0], via="sitemap", page=home, examples=tuple(examples))


def record_pages_of(interface: ListInterface, addresses: Iterable[str]) -> tuple[str, ...]:
    """The addresses of a sitemap that are built as those of records."""
    shapes = [shape for members in _groups(interface.examples).values() for shape in learn_url_patterns(members)]
    return tuple(address for address in addresses if matches_any(shapes, address))


def _groups(addresses: Iterable[str]) -> dict[Group, list[str]]:
    """Addresses by how they are built; a folder that is a number stands for all numbers."""
    groups: defaultdict[Group, list[str]] = defaultdict(list)
    for address in addresses:
        parts = urlsplit(address)
        steps = parts.path.strip("/").split("/")
        folder = "" if len(steps) == 1 else "#" if steps[0].isdigit() else steps[0]
        names = sorted(name for name, _ in parse_arguments(parts.query))
        groups[str(len(steps)), folder, str(parts.path.endswith("/")), *names].append(address)
    return dict(groups)


def _linked_from(addresses: Sequence[str]) -> Steps[list[set[str]]]:
    """The links of some pages of a group, without those to themselves."""
    found: list[set[str]] = []
    for address in _spread(addresses, SAMPLED_PAGES):
        response = yield from fetch(Request(url=address))
        if response is not None and is_usable(response):
            page = read_page(response.body, response.url, response.headers)
            found.append({urldefrag(target)[0] for _, target in page.links()} - {address, response.url})
    return found


def _is_listing(pages: Sequence[set[str]], frame: set[str], group_of: dict[str, Group]) -> bool:
    """Whether the pages of a group list pages of a group; also where none of them could be had."""
    counts: defaultdict[Group, list[int]] = defaultdict(lambda: [0] * len(pages))
    for at, links in enumerate(pages):
        for link in links - frame:
            if link in group_of:
                counts[group_of[link]][at] += 1
    return not pages or any(mean(of_pages) >= MIN_LISTED for of_pages in counts.values())


def _spread(addresses: Sequence[str], number: int) -> list[str]:
    """Some addresses, from everywhere in the list."""
    step = max(1, len(addresses) // max(1, number))
    return list(addresses[::step][:number])


# --- (main part)

MAX_EXPORTS = 3  # that are fetched
MAX_FEEDS = 2  # of the home page, that are fetched
MIN_LISTED_SHARE = 0.9  # of the records that a list shows, that an export must have; not swept
DATA = re.compile(r"csv|tsv|jsonl?|ndjson|xml", re.I)
FEED_TYPE = re.compile(r"application/(?:rss|atom)\+xml", re.I)


def find_export(pages: Sequence[TagTree], walked: ListInterface) -> Steps[IndexInterface | None]:
    """An export that has the records of a list; None where there is none."""
    own = urlsplit(walked.url).path.rstrip("/")
    links = {
        url: urlsplit(url).path.startswith(own)
        for page in pages
        for _, url in page.links()
        if _leads_to_data(url, page)
    }
    for url in sorted(links, key=lambda url: not links[url])[:MAX_EXPORTS]:
        response = yield from fetch(Request(url=url))
        if response is None or not is_usable(response):
            continue
        interface = index_interface(response.body, url, pages[0], links=walked.examples)
        if interface is None:
            continue
        addresses = {record.url for record in records_of_index(interface, response.body)}
        if sum(example in addresses for example in walked.examples) >= MIN_LISTED_SHARE * len(walked.examples):
            return replace(interface, is_whole=True)
    return None


def data_links(pages: Sequence[TagTree], query_field: str = "") -> list[str]:
    """The links of some pages to data, without those that ask a query, and those of which there are many alike: each has one record."""
    links = dict.fromkeys(
        url
        for page in pages
        for _, url in page.links()
        if _leads_to_data(url, page) and query_field not in dict(parse_arguments(urlsplit(url).query))
    )
    alike = Counter(map(link_shape, links))
    return [url for url in links if alike[link_shape(url)] <= MAX_OF_ONE_SHAPE][:MAX_EXPORTS]


def feed_links(home: TagTree) -> list[str]:
    """The feeds of the site that a page declares."""
    declared = [
        address
        for row in home.rows("link")
        if FEED_TYPE.match(home.attr(row, "type") or "") and (address := home.resolve(home.attr(row, "href")))
    ]
    return [address for address in dict.fromkeys(declared) if is_on_site(address, home.url)][:MAX_FEEDS]


def feed_pages(home: TagTree) -> Steps[list[TagTree]]:
    """The feeds that a page declares, as pages."""
    found: list[TagTree] = []
    for address in feed_links(home):
        response = yield from fetch(Request(url=address))
        if response is not None and is_usable(response):
            found.append(read_page(response.body, response.url, response.headers))
    return sorted(found, key=lambda page: next_page(page) is None)


def _leads_to_data(url: str, page: TagTree) -> bool:
    """Whether a link leads to data: by the ending of its path, or by an argument that names a format."""
    parts = urlsplit(url)
    ending = parts.path.rpartition("/")[2].rpartition(".")
    is_data = bool(ending[1] and DATA.fullmatch(ending[2]))
    is_data |= any(DATA.fullmatch(value) for _, value in parse_arguments(parts.query))
    return is_data and is_on_site(url, page.url) and not acts(url)
