"""A list to walk through where a site has no search: links that stand alike, and others at the same place on the next page."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.answers.next_page import next_page, request_of
from upwell.model import ListInterface
from upwell.page.data import read_page
from upwell.page.hosts import is_on_site
from upwell.page.links import acts, is_page, page_address
from upwell.page.tree import TagTree
from upwell.page.url_arguments import parse_arguments
from upwell.site.interface_trial import is_usable
from upwell.site.lists import turns_or_sorts
from upwell.site.steps import Steps, fetch

__all__ = ["find_list", "longest_list"]

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
        response = yield from fetch(replace(request_of(following), reuses=True))
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
        url = page_address(address)
        text = " ".join(page.text(row).split())
        if url in frame or not is_on_site(url, page.url) or not is_page(url) or acts(url, text) or url == page.url:
            continue
        parts = urlsplit(url)
        names = tuple(sorted(name for name, _ in parse_arguments(parts.query)))
        place = (page.spots[page.spot_of[row]].classed, parts.path.rstrip("/").count("/"), names)
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
    return {page_address(address) for _, address in page.links()}


def _chars(links: Links) -> int:
    return sum(links.values())


def _without(links: Links, known: Links) -> Links:
    return {url: chars for url, chars in links.items() if url not in known}
