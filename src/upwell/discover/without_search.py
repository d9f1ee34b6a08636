"""Fallbacks when a site has no search: lists, downloads, feeds and the sitemap.

list          links with the same markup; a list that continues has other links at the same place of its next page
export        data to download (CSV, JSON, XML) with nearly all records of a list; it replaces reading the list page by page
sitemap       URLs of a site's pages, published for programs (sitemaps.org)
group         URLs of a sitemap with the same depth, folder and argument names
listing       page that links to many pages of one group (category, tag, month); a group of listings contains no records
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import unescape
from statistics import mean
from urllib.parse import urldefrag, urljoin, urlsplit

from upwell.answers.next_page import next_page, next_page_request
from upwell.discover.index_source import index_interface, records_of_index
from upwell.discover.link_ranking import MAX_OF_ONE_SHAPE, link_shape
from upwell.discover.lists import turns_or_sorts
from upwell.discover.steps import Steps, fetch, is_usable
from upwell.discover.trial import Trials
from upwell.page.embedded_data import decompress
from upwell.page.formats import read_page
from upwell.page.links import acts, acts_at, is_page, without_fragment
from upwell.page.tree import TagTree
from upwell.types import IndexInterface, ListInterface, Request, SearchInterface
from upwell.urls.arguments import parse_arguments
from upwell.urls.hosts import is_on_site, is_valid
from upwell.urls.patterns import learn_url_patterns, matches_any

__all__ = [
    "DEFAULT_SITEMAP",
    "data_links",
    "feed_links",
    "find_without_search",
    "read_sitemaps",
    "record_pages_of",
]

# Lists
MIN_LINKS = 5  # links that a list needs if it continues on a next page
MIN_LINKS_ALONE = 20  # links that a list of a single page needs
MIN_NEW_LINKS = 3  # new links that the next page of a list needs
MAX_TRIED_LISTS = 4  # pages with a next page that are tried
MIN_MEAN_TEXT_CHARS = 2  # mean length of link texts in a list; shorter ones are page numbers
DIGITS = re.compile(r"\d+")
Links = dict[str, int]  # URL → length of its longest link text
Place = tuple[object, ...]  # markup around a link and shape of its URL

# Exports and feeds
MAX_EXPORTS = 3  # exports fetched
MAX_FEEDS = 2  # feeds of the home page fetched
MIN_LISTED_SHARE = 0.9  # share of a list's records that an export must contain; not swept
DATA_FORMAT = re.compile(r"csv|tsv|jsonl?|ndjson|xml", re.I)
FEED_TYPE = re.compile(r"application/(?:rss|atom)\+xml", re.I)

# Sitemaps
DEFAULT_SITEMAP = "/sitemap.xml"  # usual path of a sitemap, if robots.txt names none
MAX_FILES = 50  # sitemaps read; the protocol allows 50,000 URLs each
LOCATION = re.compile(r"<(?:\w++:)?+loc\s*+>", re.I)
LOCATION_END = re.compile(r"</(?:\w++:)?+loc\s*+>", re.I)
CDATA_START, CDATA_END = "<![CDATA[", "]]>"
IS_INDEX = re.compile(r"<(?:\w+:)?sitemapindex\b", re.I)
PICTURE = re.compile(r"<(image|video):\w", re.I)
PICTURE_END = {
    "image": re.compile(r"</image:\w++\s*+>", re.I),
    "video": re.compile(r"</video:\w++\s*+>", re.I),
}
MIN_PAGES = 20  # pages of a group that may be records; not swept
MIN_GROUP_SHARE = 0.1  # size of a group of records as a share of the largest; not swept
MAX_GROUPS = 40  # safety limit: groups examined, largest first
SAMPLED_PAGES = 3  # pages fetched of each of the largest groups
SAMPLED_OF_MANY = 1  # pages fetched of each further group
WELL_SAMPLED_GROUPS = 4
MIN_LISTED = 5.0  # mean number of links to pages of one group, from which a group consists of listings; not swept
MAX_EXAMPLES = 200  # URLs kept, from which the URL patterns of record pages are learned
Group = tuple[str, ...]


def find_without_search(trials: Trials, sitemaps: tuple[str, ...]) -> Steps[list[SearchInterface]]:
    """Find the best fallback; empty if there is none.

    In this order: a list or feed with a next page; an index whose rows have URLs; a list of a single page or the sitemap; a feed of a
    single page; another index.
    """
    walked = yield from _find_list(
        [page for page in trials.pages if not any(page is shown for shown in trials.rendered)]
    )
    if walked is not None:
        return [(yield from _find_export(trials.pages, walked)) or walked]
    feeds = yield from _feed_pages(trials.home)
    if (feed := (yield from _find_list(feeds))) is not None:
        return [feed]
    index = trials.unproven_index
    if index is not None and index.address[0]:
        return [index]
    single = _longest_list(trials.pages)
    if single is not None and any(single.url == shown.url for shown in trials.rendered):
        single = replace(single, rendered=True)
    sitemap = yield from _find_record_pages(trials.home.url, sitemaps)
    if single is not None and (
        sitemap is None or 2 * len(record_pages_of(sitemap, single.examples)) > len(single.examples)
    ):
        return [
            (yield from _find_export(trials.pages, single)) or single
        ]  # the harvest reads the rest of the sitemap later
    others: tuple[SearchInterface | None, ...] = (sitemap, _longest_list(feeds), index)
    return [other for other in others if other is not None][:1]


# Lists


def _find_list(pages: Sequence[TagTree]) -> Steps[ListInterface | None]:
    """Find the list with the most text that continues on a next page; None if there is none."""
    frame = _frame(pages)
    places_of = {page.url: (page, _links_by_place(page, frame)) for page in pages}
    continuing = [
        (max(map(_chars, places.values())), page, following, places)
        for page, places in places_of.values()
        if places and not turns_or_sorts(page.url) and (following := next_page(page)) is not None
    ]
    later = {DIGITS.sub("#", following.url) for _, _, following, _ in continuing}
    first_pages = [listed for listed in continuing if DIGITS.sub("#", listed[1].url) not in later] or continuing
    for _, page, following, places in sorted(first_pages, key=lambda listed: -listed[0])[:MAX_TRIED_LISTS]:
        response = yield from fetch(replace(next_page_request(following), reuses=True))
        if response is None or not is_usable(response):
            continue
        after = _links_by_place(read_page(response.body, response.url, response.headers), frame)
        new = {place: _without(after.get(place, {}), links) for place, links in places.items()}
        best = max(new, key=lambda place: _chars(new[place]))
        if len(new[best]) >= MIN_NEW_LINKS:
            return ListInterface(url=page.url, via="list", page=page.url, examples=(*places[best], *new[best]))
    return None


def _longest_list(pages: Sequence[TagTree]) -> ListInterface | None:
    """Return the longest list that is complete on one page; None if there is none."""
    frame = _frame(pages)
    lists = [
        (_chars(links), page.url, links)
        for page in pages
        for links in _links_by_place(page, frame).values()
        if len(links) >= MIN_LINKS_ALONE
    ]
    _, url, links = max(lists, key=lambda listed: listed[:2], default=(0, "", {}))
    return ListInterface(url=url, via="list", page=url, examples=tuple(links)) if links else None


def _links_by_place(page: TagTree, frame: frozenset[str]) -> dict[Place, Links]:
    """Group the links that may lead to records by tags and classes around them, path depth and argument names."""
    places: defaultdict[Place, Links] = defaultdict(dict)
    for row, target in page.links():
        url = without_fragment(target)
        text = " ".join(page.text(row).split())
        if (
            url in frame
            or not is_on_site(url, page.url)
            or not is_page(url)
            or acts_at(page, row, url)
            or url == page.url
        ):
            continue
        parts = urlsplit(url)
        names = tuple(sorted(name for name, _ in parse_arguments(parts.query)))
        place = (page.signatures[page.signature_of[row]].class_path, parts.path.rstrip("/").count("/"), names)
        places[place][url] = max(len(text), places[place].get(url, 0))
    return {
        place: links
        for place, links in places.items()
        if len(links) >= MIN_LINKS and _chars(links) > MIN_MEAN_TEXT_CHARS * len(links)
    }


def _frame(pages: Sequence[TagTree]) -> frozenset[str]:
    """Return the URLs that all pages link to."""
    links = [frozenset(without_fragment(url) for _, url in page.links()) for page in pages]
    return frozenset.intersection(*links) if len(links) > 1 else frozenset()


def _chars(links: Links) -> int:
    return sum(links.values())


def _without(links: Links, known: Links) -> Links:
    return {url: chars for url, chars in links.items() if url not in known}


# Exports and feeds


def _find_export(pages: Sequence[TagTree], walked: ListInterface) -> Steps[IndexInterface | None]:
    """Find an export with nearly all records of a list; None if there is none."""
    list_path = urlsplit(walked.url).path.rstrip("/")
    is_below_list = {
        url: urlsplit(url).path.startswith(list_path)
        for page in pages
        for _, url in page.links()
        if _leads_to_data(url, page)
    }
    for url in sorted(is_below_list, key=lambda url: not is_below_list[url])[:MAX_EXPORTS]:
        response = yield from fetch(Request(url=url))
        if response is None or not is_usable(response):
            continue
        interface = index_interface(response.body, url, pages[0], links=walked.examples)
        if interface is None:
            continue
        urls = {record.url for record in records_of_index(interface, response.body)}
        if sum(example in urls for example in walked.examples) >= MIN_LISTED_SHARE * len(walked.examples):
            return replace(interface, is_whole=True)
    return None


def data_links(pages: Sequence[TagTree], query_field: str = "") -> list[str]:
    """Return links to data, without those that contain a query, and without many links of one shape, which contain one record each."""
    links = dict.fromkeys(
        url
        for page in pages
        for _, url in page.links()
        if _leads_to_data(url, page) and query_field not in dict(parse_arguments(urlsplit(url).query))
    )
    shape_counts = Counter(map(link_shape, links))
    return [url for url in links if shape_counts[link_shape(url)] <= MAX_OF_ONE_SHAPE][:MAX_EXPORTS]


def feed_links(home: TagTree) -> list[str]:
    """Return the feeds that a page declares."""
    declared = [
        url
        for row in home.rows("link")
        if FEED_TYPE.match(home.attr(row, "type") or "") and (url := home.resolve(home.attr(row, "href")))
    ]
    return [url for url in dict.fromkeys(declared) if is_on_site(url, home.url)][:MAX_FEEDS]


def _feed_pages(home: TagTree) -> Steps[list[TagTree]]:
    """Fetch the feeds that a page declares; those with a next page come first."""
    feeds: list[TagTree] = []
    for url in feed_links(home):
        response = yield from fetch(Request(url=url))
        if response is not None and is_usable(response):
            feeds.append(read_page(response.body, response.url, response.headers))
    return sorted(feeds, key=lambda page: next_page(page) is None)


def _leads_to_data(url: str, page: TagTree) -> bool:
    """Return True if a link leads to data, by the extension of its path or an argument that names a format."""
    parts = urlsplit(url)
    _, dot, extension = parts.path.rpartition("/")[2].rpartition(".")
    is_data = bool(dot and DATA_FORMAT.fullmatch(extension))
    is_data |= any(DATA_FORMAT.fullmatch(value) for _, value in parse_arguments(parts.query))
    return is_data and is_on_site(url, page.url) and not acts(url)


# Sitemaps


def read_sitemaps(urls: Sequence[str], home: str) -> Steps[tuple[str, ...]]:
    """Return the URLs of the site's pages in sitemaps and in the sitemaps that they refer to."""
    waiting, known = list(urls), set(urls)
    pages: dict[str, None] = {}
    for _ in range(MAX_FILES):
        if not waiting:
            break
        response = yield from fetch(Request(url=waiting.pop(0)))
        if response is None or response.status != 200:
            continue
        inner, page_urls = _urls_in_sitemap(response.body)
        new = [url for url in inner if url not in known and is_on_site(url, home)]
        waiting += new
        known.update(new)
        pages.update(
            dict.fromkeys(url for url in page_urls if is_on_site(url, home) and is_page(url) and not acts(url))
        )
    return tuple(pages)


def _urls_in_sitemap(body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sitemaps that a sitemap refers to, and the pages; it is XML or a URL per line, compressed or not.

    >>> _urls_in_sitemap(b"<urlset><url><loc>http://x/?a=1&amp;b=2</loc></url></urlset>")
    ((), ('http://x/?a=1&b=2',))
    """
    text = decompress(body).decode("utf-8-sig", "replace")
    urls = tuple(
        dict.fromkeys(
            url.partition("#")[0] for url in map(unescape, _locations(_without_pictures(text))) if is_valid(url)
        )
    )
    if urls:
        return (urls, ()) if IS_INDEX.search(text) else ((), urls)
    lines = text.split()
    is_list = bool(lines) and all(line.startswith(("http://", "https://")) for line in lines)
    return (), tuple(filter(is_valid, lines)) if is_list else ()


def _locations(text: str) -> Iterator[str]:
    """Yield the contents of the <loc> elements of a sitemap."""
    at = 0
    while (start := LOCATION.search(text, at)) is not None and (end := LOCATION_END.search(text, start.end())):
        content = text[start.end() : end.start()].strip()
        if content[: len(CDATA_START)].upper() == CDATA_START:
            content = content[len(CDATA_START) :].strip()
        yield content.removesuffix(CDATA_END).strip()
        at = end.end()


def _without_pictures(text: str) -> str:
    """Remove the elements of pictures and videos, whose <loc> is not a page."""
    kept: list[str] = []
    at = searched = 0
    unclosed: set[str] = set()
    while len(unclosed) < len(PICTURE_END) and (start := PICTURE.search(text, searched)) is not None:
        kind, searched = start[1].lower(), start.end()
        end = PICTURE_END[kind].search(text, searched) if kind not in unclosed else None
        if end is None:
            unclosed.add(kind)  # nor is there an end after a later start
            continue
        kept.append(text[at : start.start()])
        at = searched = end.end()
    return "".join([*kept, text[at:]])


def _find_record_pages(home: str, declared: Sequence[str]) -> Steps[ListInterface | None]:
    """Return the sitemap as a source whose records are the pages of the largest groups without listings; None if there are none."""
    sitemaps = tuple(declared) or (urljoin(home, DEFAULT_SITEMAP),)
    urls = yield from read_sitemaps(sitemaps, home)
    groups = _groups(url for url in urls if urlsplit(url).path.strip("/") or urlsplit(url).query)
    group_of = {url: group for group, members in groups.items() for url in members}
    largest = sorted(groups, key=lambda group: -len(groups[group]))[:MAX_GROUPS]
    links_of: dict[Group, list[set[str]]] = {}
    for number, group in enumerate(largest):
        if len(groups[group]) >= MIN_PAGES:
            sampled = SAMPLED_PAGES if number < WELL_SAMPLED_GROUPS else SAMPLED_OF_MANY
            links_of[group] = yield from _sample_links(groups[group], sampled)
    pages = [links for of_group in links_of.values() for links in of_group]
    frame = set.intersection(*pages) if len(pages) > 1 else set()
    with_records = [group for group in links_of if not _is_listing(links_of[group], frame, group_of)]
    least = MIN_GROUP_SHARE * max((len(groups[group]) for group in with_records), default=0)
    kept = [group for group in with_records if len(groups[group]) >= least]
    if not kept:
        return None
    examples = [url for group in kept for url in _spread(groups[group], MAX_EXAMPLES // len(kept))]
    return ListInterface(url=sitemaps[0], via="sitemap", page=home, examples=tuple(examples))


def record_pages_of(interface: ListInterface, urls: Iterable[str]) -> tuple[str, ...]:
    """Return those of `urls` that match the URL patterns of the records of a sitemap."""
    patterns = [pattern for members in _groups(interface.examples).values() for pattern in learn_url_patterns(members)]
    return tuple(url for url in urls if matches_any(patterns, url))


def _groups(urls: Iterable[str]) -> dict[Group, list[str]]:
    """Group URLs by depth, folder and argument names; all numeric folders count as one."""
    groups: defaultdict[Group, list[str]] = defaultdict(list)
    for url in urls:
        parts = urlsplit(url)
        steps = parts.path.strip("/").split("/")
        folder = "" if len(steps) == 1 else "#" if steps[0].isdigit() else steps[0]
        names = sorted(name for name, _ in parse_arguments(parts.query))
        groups[str(len(steps)), folder, str(parts.path.endswith("/")), *names].append(url)
    return dict(groups)


def _sample_links(urls: Sequence[str], number: int) -> Steps[list[set[str]]]:
    """Fetch some pages of a group and return the links of each, without links to itself."""
    links: list[set[str]] = []
    for url in _spread(urls, number):
        response = yield from fetch(Request(url=url))
        if response is not None and is_usable(response):
            page = read_page(response.body, response.url, response.headers)
            links.append({urldefrag(target)[0] for _, target in page.links()} - {url, response.url})
    return links


def _is_listing(pages: Sequence[set[str]], frame: set[str], group_of: dict[str, Group]) -> bool:
    """Return True if the pages of a group link to many pages of one group, or if none of them could be fetched."""
    counts: defaultdict[Group, list[int]] = defaultdict(lambda: [0] * len(pages))
    for at, links in enumerate(pages):
        for link in links - frame:
            if link in group_of:
                counts[group_of[link]][at] += 1
    return not pages or any(mean(of_pages) >= MIN_LISTED for of_pages in counts.values())


def _spread(urls: Sequence[str], number: int) -> list[str]:
    """Return a sample spread evenly over a list."""
    step = max(1, len(urls) // max(1, number))
    return list(urls[::step][:number])
