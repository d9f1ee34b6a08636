"""Data of a whole list that a site offers to download (CSV, JSON, XML), and feeds: links of pages that lead to the same records.

export    data that has nearly all records which a list shows: it is taken whole, and the list need not be walked
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.answers.next_page import next_page
from upwell.model import IndexInterface, ListInterface, Request
from upwell.page.data import read_page
from upwell.page.hosts import is_on_site
from upwell.page.links import acts
from upwell.page.tree import TagTree
from upwell.page.url_arguments import parse_arguments
from upwell.site.index_source import index_interface, records_of_index
from upwell.site.interface_trial import is_usable
from upwell.site.promising_links import MAX_OF_ONE_SHAPE, link_shape
from upwell.site.steps import Steps, fetch

__all__ = ["data_links", "feed_links", "feed_pages", "find_export"]

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
