"""Request more records per page: find the page-size setting of a source, so that an answer takes fewer requests.

offered setting   select or radio buttons of the search form, or links of an answer, whose values are whole numbers
own setting       value that is sent with every query, or with the next page

A setting is recognized by its name, or because its value is the number of records shown. A trial shows whether it really changes the page
size (`is_larger_page`).
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlencode, urlsplit, urlunsplit

from upwell.answers.facets import links_with_query
from upwell.answers.pager import NextPage
from upwell.discover import forms, interfaces
from upwell.lexicon import argument_names as names
from upwell.page.tree import TagTree
from upwell.types import (
    AddressInterface,
    IndexInterface,
    JsonInterface,
    ListInterface,
    SearchInterface,
    TypedInterface,
)
from upwell.urls.arguments import parse_arguments, split_url

__all__ = ["is_larger_page", "larger_page_settings", "with_setting"]

Setting = tuple[str, str]  # name and value
MAX_PAGE_SIZE = 1000  # largest page size requested; a server needs long for a larger page
MAX_SIZE_DIGITS = 9  # safety limit: digits of a number that may be a size; `int` raises for thousands of them
USUAL_PAGE_SIZE = 100  # page size requested if the source offers no values; most sources allow it
MIN_SHOWN = 5  # records on a page, from which a value equal to their number counts as the page size
MIN_GROWTH = 1.5  # records of a larger page as a multiple of those of the page before, at least; not swept
MIN_KEPT_SHARE = 0.8  # share of the records of a page that the larger page must contain; not swept


def larger_page_settings(
    interface: SearchInterface, pages: Sequence[TagTree], query: str, shown: int, next_page: NextPage | None = None
) -> list[Setting]:
    """Return settings that may show more than the `shown` records of a full page, offered ones first, each with its largest value.

    `pages` are the page with the form and an answer to `query`; `next_page` is the next page of that answer.
    """
    own = dict(_own_settings(interface))
    offered: defaultdict[str, set[int]] = defaultdict(set)
    if isinstance(interface, JsonInterface):
        pages, next_page = (), None  # settings of forms and links do not apply to a JSON body
    for tree in pages:
        for form in forms.find(tree):
            if interface.query_field and form.query_field != interface.query_field:
                continue
            preset = {field.name: field.preset[-1] for field in form.fields if field.preset}
            for name, values in interfaces.settings(form):
                sizes = [_whole_number(value) for value in values if value.isdecimal()]
                if len(sizes) == len([value for value in values if value]) and _is_size(name, preset.get(name), shown):
                    offered[name].update(sizes)
        for row, url in links_with_query(tree, interface.query_field, query):
            text = tree.text(row).strip()
            for name, value in split_url(url, query).arguments:
                if value.isdecimal() and value == text and _is_size(name, None, shown):
                    offered[name].add(_whole_number(value))
    for name, value in (*split_url(next_page.url, query).arguments, *next_page.fields) if next_page else ():
        if names.PAGE_SIZE.fullmatch(names.undecorated(name)):
            own.setdefault(name, value)
    largest = {name: max((n for n in sizes if n <= MAX_PAGE_SIZE), default=0) for name, sizes in offered.items()}
    for name, value in own.items():
        if name not in largest and value.isdecimal() and _is_size(name, value, shown):
            largest[name] = USUAL_PAGE_SIZE
    return [(name, str(size)) for name, size in largest.items() if size > max(shown, _whole_number(own.get(name)))]


def with_setting(interface: SearchInterface, name: str, value: str) -> SearchInterface:
    """Return the interface with a setting changed in its fields, URL or body, or added if it has none of this name.

    >>> with_setting(AddressInterface(url="http://x/s/{query}?size=20"), "size", "100").url
    'http://x/s/{query}?size=100'
    """
    if isinstance(interface, TypedInterface | IndexInterface):
        return interface  # their requests have no settings
    if isinstance(interface, JsonInterface):
        return replace(interface, body=json.dumps({**json.loads(interface.body), name: int(value)}))
    if not isinstance(interface, ListInterface) and name in dict(interface.fields):
        fields = tuple((known, value if known == name else old) for known, old in interface.fields)
        return replace(interface, fields=fields)
    parts = urlsplit(interface.url)
    arguments = dict(parse_arguments(parts.query))
    if name in arguments or isinstance(interface, AddressInterface | ListInterface):
        query = urlencode({**arguments, name: value}, safe="{}")
        return replace(interface, url=urlunsplit(parts._replace(query=query)))
    return replace(interface, fields=(*interface.fields, (name, value)))


def is_larger_page(before: Collection[str], after: Collection[str], value: str, next_page: NextPage | None) -> bool:
    """Return True if the record keys `after` a setting was changed contain those `before` and more, and the next page keeps the setting."""
    kept = len(set(before) & set(after))
    if len(after) < MIN_GROWTH * len(before) or kept < MIN_KEPT_SHARE * len(before):
        return False
    return next_page is None or value in [v for _, v in (*split_url(next_page.url).arguments, *next_page.fields)]


def _own_settings(interface: SearchInterface) -> Iterable[Setting]:
    """Return the names and values that an interface sends with every query."""
    if isinstance(interface, TypedInterface | IndexInterface):
        return []
    if isinstance(interface, JsonInterface):
        try:
            body = json.loads(interface.body)
        except (ValueError, RecursionError):
            return []
        members = body.items() if isinstance(body, dict) else ()
        return [(name, str(value)) for name, value in members if type(value) is int]
    fields = () if isinstance(interface, ListInterface) else interface.fields
    return [*parse_arguments(urlsplit(interface.url).query), *fields]


def _is_size(name: str, value: str | None, shown: int) -> bool:
    """Return True if a setting is a page size, by its name or because its value is the number of records shown."""
    word = names.undecorated(name)
    if names.PAGE.fullmatch(word):
        return False
    return bool(names.PAGE_SIZE.fullmatch(word)) or (shown >= MIN_SHOWN and value == str(shown))


def _whole_number(value: str | None) -> int:
    """Return a number that a page states; 0 for other texts, and for numbers that are no sizes."""
    return int(value) if value and value.isdecimal() and len(value) <= MAX_SIZE_DIGITS else 0
