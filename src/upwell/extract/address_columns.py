"""Pictures, downloads and links to other sites that the pages of one template have, as columns of addresses.

A column is a place whose addresses differ from page to page: what most pages share is furniture. Links to pages of the same site are no
columns here: their texts are.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

from upwell.extract.column_names import column_name, unused_name
from upwell.page.hosts import leaves_site, site_host
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree

__all__ = ["AddressColumn", "addresses", "learn_addresses"]

SOURCES = ("src", "data-src", "data-original", "data-lazy-src")  # of a picture
MIN_SHARE = 0.2  # of the pages that have an address at a place
MIN_DISTINCT = 0.5  # distinct addresses for each page that has one
MAX_COLUMNS = 8
MAX_IN_LIST = 20  # addresses of one page at one place; more are a gallery of something else


class AddressColumn(NamedTuple):
    """A place of pictures or links."""

    name: str
    place: str
    is_list: bool


def learn_addresses(pages: Sequence[TagTree], known: Collection[str] = ()) -> tuple[AddressColumn, ...]:
    """The columns of addresses of pages that are of one template; `known` are names that other columns have."""
    found = [_by_place(page) for page in pages]
    pages_with = Counter(address for on_page in found for at in on_page.values() for address in set(at))
    by_place: defaultdict[str, list[list[str]]] = defaultdict(list)
    texts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for on_page in found:
        for place, at in on_page.items():
            own = [address for address in at if 2 * pages_with[address] <= len(pages)]
            if 0 < len(own) <= MAX_IN_LIST:
                by_place[place].append(own)
                texts[place].update(at.values())
    columns: list[AddressColumn] = []
    taken = set(known)
    for place, lists in sorted(by_place.items(), key=lambda item: -len(item[1])):
        distinct = {address for own in lists for address in own}
        if len(lists) < max(2, MIN_SHARE * len(pages)) or len(distinct) < MIN_DISTINCT * len(lists):
            continue
        name = unused_name(_name(place, texts[place], next(iter(distinct))), taken)
        taken.add(name)
        columns.append(AddressColumn(name, place, 2 * sum(len(own) > 1 for own in lists) > len(lists)))
    return tuple(columns[:MAX_COLUMNS])


def addresses(columns: Sequence[AddressColumn], page: TagTree) -> dict[str, str | list[str]]:
    """The addresses of a page by column."""
    found = _by_place(page) if columns else {}
    return {
        column.name: list(found[column.place]) if column.is_list else next(iter(found[column.place]))
        for column in columns
        if column.place in found
    }


def _by_place(page: TagTree) -> dict[str, dict[str, str]]:
    """Place → address → text of its link, of pictures, downloads and links that leave the site."""
    host, own = site_host(page.url), unquote(page.url).partition("://")[2]
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in page.rows("img", "a").tolist():
        if page.name(row) == "img":
            source = next((value for name in SOURCES if (value := page.attr(row, name))), None)
            address = page.resolve(source) if source and not source.startswith("data:") else None
        else:
            address = page.resolve(page.attr(row, "href"))
            if address and (acts(address) or not address.startswith(("http://", "https://"))):
                address = None
            if address and is_page(address) and (own in unquote(address) or not leaves_site(address, host)):
                address = None  # a page of the site, or one that this page is handed on to: "share"
        if address:
            found[page.spots[page.spot[row]].place].setdefault(urldefrag(address)[0], " ".join(page.text(row).split()))
    return found


def _name(place: str, texts: Counter[str], example: str) -> str:
    """What the links at a place are called: the text that they share, else by what they are."""
    is_picture = place.rsplit("/", 1)[-1].startswith("img")
    text, times = texts.most_common(1)[0]
    if not is_picture and text and len(texts) > 1 and 2 * times <= texts.total():
        text = ""
    if is_picture or not text or "://" in text:
        return "image" if is_picture else "link" if is_page(example) else "download"
    return column_name(text)
