"""Settings of a search form whose preset hides records: opened to "any", else each value is a source of its own."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlencode, urlsplit, urlunsplit

from upwell.answers.facets import links_with_query
from upwell.answers.pager import NextPage
from upwell.discover import forms, interfaces
from upwell.discover.steps import Steps
from upwell.discover.trial import Accepted, Trials, is_usable, items_of_page, items_of_response, without_query
from upwell.lexicon import argument_names as names
from upwell.page.tree import TagTree
from upwell.types import (
    AddressInterface,
    Form,
    FormInterface,
    IndexInterface,
    JsonInterface,
    ListInterface,
    SearchInterface,
    TypedInterface,
)
from upwell.urls.arguments import parse_arguments, split_url

__all__ = ["is_larger_page", "larger_page_settings", "open_presets", "with_setting"]

# --- More records on a page: the settings that a source has for it, so that an answer takes fewer requests.
#
#     offered   a select or radio of the search form, or links of an answer, whose values are whole numbers
#     own       a value that is sent with every query, or with the next page
#
# A setting is found by its name, or because its value is the number of records shown; trying it shows whether it is one
# (`is_larger_page`).

Pair = tuple[str, str]
MAX_PAGE_SIZE = 1000  # records on a page that are asked for at most: a larger page takes long where it is made
USUAL_PAGE_SIZE = 100  # records that are asked for where the source does not say what it takes: as many as most do
MIN_SHOWN = 5  # records on a page, before a value that is as large is taken for its size
MIN_GROWTH = 1.5  # times the records of a page that a larger one must have; not swept
MIN_KEPT_SHARE = 0.8  # of the records of a page that must be on the larger one; not swept


def larger_page_settings(
    interface: SearchInterface, pages: Sequence[TagTree], query: str, shown: int, next_page: NextPage | None = None
) -> list[Pair]:
    """The settings that may show more than the `shown` records of a full page, offered ones first, each with the largest value.

    `pages` are the page with the form and an answer to `query`; `next_page` is what leads on from that answer.
    """
    own = dict(_own_settings(interface))
    offered: defaultdict[str, set[int]] = defaultdict(set)
    if isinstance(interface, JsonInterface):
        pages, next_page = (), None  # what forms and links say has no place in a JSON body
    for tree in pages:
        for form in forms.find(tree):
            if interface.query_field and form.query_field != interface.query_field:
                continue
            preset = {field.name: field.preset[-1] for field in form.fields if field.preset}
            for name, values in interfaces.settings(form):
                sizes = [int(value) for value in values if value.isdecimal()]
                if len(sizes) == len([value for value in values if value]) and _is_size(name, preset.get(name), shown):
                    offered[name].update(sizes)
        for row, url in links_with_query(tree, interface.query_field, query):
            text = tree.text(row).strip()
            for name, value in split_url(url, query).arguments:
                if value.isdecimal() and value == text and _is_size(name, None, shown):
                    offered[name].add(int(value))
    for name, value in (*split_url(next_page.url, query).arguments, *next_page.fields) if next_page else ():
        if names.PAGE_SIZE.fullmatch(names.undecorated(name)):
            own.setdefault(name, value)
    largest = {name: max((n for n in sizes if n <= MAX_PAGE_SIZE), default=0) for name, sizes in offered.items()}
    for name, value in own.items():
        if name not in largest and value.isdecimal() and _is_size(name, value, shown):
            largest[name] = USUAL_PAGE_SIZE
    return [(name, str(size)) for name, size in largest.items() if size > max(shown, _whole_number(own.get(name)))]


def with_setting(interface: SearchInterface, name: str, value: str) -> SearchInterface:
    """The interface with one setting changed, wherever it stands: in its fields, its address or its body; else added.

    >>> with_setting(AddressInterface(url="http://x/s/{query}?size=20"), "size", "100").url
    'http://x/s/{query}?size=100'
    """
    if isinstance(interface, TypedInterface | IndexInterface):
        return interface  # nothing is sent that could be set
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
    """Whether the answer with a setting has the same records and more (given by their keys), and its next page keeps the setting."""
    kept = len(set(before) & set(after))
    if len(after) < MIN_GROWTH * len(before) or kept < MIN_KEPT_SHARE * len(before):
        return False
    return next_page is None or value in [v for _, v in (*split_url(next_page.url).arguments, *next_page.fields)]


def _own_settings(interface: SearchInterface) -> Iterable[Pair]:
    """What is sent with every query."""
    if isinstance(interface, TypedInterface | IndexInterface):
        return []
    if isinstance(interface, JsonInterface):
        try:
            body = json.loads(interface.body)
        except ValueError:
            return []
        return (
            [(name, str(value)) for name, value in body.items() if type(value) is int] if isinstance(body, dict) else []
        )
    fields = () if isinstance(interface, ListInterface) else interface.fields
    return [*parse_arguments(urlsplit(interface.url).query), *fields]


def _is_size(name: str, value: str | None, shown: int) -> bool:
    word = names.undecorated(name)
    if names.PAGE.fullmatch(word):
        return False
    return bool(names.PAGE_SIZE.fullmatch(word)) or (shown >= MIN_SHOWN and value == str(shown))


def _whole_number(value: str | None) -> int:
    return int(value) if value and value.isdecimal() else 0


# --- (main part)

ANY_VALUES = ("", "all", "any", "*", "everything", "alle", "tout", "tous", "todos", "0", "-1")
# In an address it may select records, but in a form it is the language of the site: with another one every link is new.
LANGUAGE_NAMES = ("lang", "language")


def open_presets(trials: Trials, form: Form, page: TagTree) -> Steps[None]:
    """Tries other values of the form that was accepted last (Entity §3: on 6 % of sites a preset hides records).

    Where a setting has an "any" that brings more, it is set; else values that bring other records are sources of their own.
    """
    accepted = trials.accepted[-1]
    interface, word = accepted.interface, accepted.word
    if not isinstance(interface, FormInterface):
        return
    known_items = without_query(items_of_page(page) | trials.nonsense_items, word)
    requests_left = trials.limits.setting_requests
    for name, values in interfaces.settings(form):
        preset = dict(interface.fields).get(name)
        if preset is None or preset.lower() in ANY_VALUES or only_changes_display(name, values):
            continue
        any_values = [value for value in values if value.lower() in ANY_VALUES]
        others = any_values or [value for value in values if value != preset][: trials.limits.values]
        sources: list[Accepted] = []
        for value in others[:requests_left]:
            requests_left -= 1
            changed = replace(interface, fields=tuple((n, value if n == name else v) for n, v in interface.fields))
            answer = yield from trials.ask(changed, word)
            if answer is None or not is_usable(answer):
                continue
            items = without_query(items_of_response(answer), word) - known_items
            if any_values and len(items - accepted.items) > 1:
                trials.accepted[-1] = Accepted(interface=changed, word=word, items=items)
                break
            if len(items - accepted.items) * 2 > len(items) > max(2, len(accepted.items) / 10):
                sources.append(Accepted(interface=changed, word=word, items=items))
        if sources and (yield from _have_same_records(trials, interface, sources[0].interface, known_items)):
            continue
        if sources and interfaces.are_informative([accepted.items, *(source.items for source in sources)]):
            trials.accepted += sources
            return  # one setting at a time, never the cross product (Madhavan et al. 2008 §5)


def only_changes_display(name: str, values: Sequence[str]) -> bool:
    """Whether a setting changes how records are shown (order, page, layout, language), not which there are.

    >>> only_changes_display("sort_by", ["title", "date"]), only_changes_display("show", ["10", "50", "all"])
    (True, True)
    >>> only_changes_display("show", ["open", "closed"]), only_changes_display("category", ["book", "film"])
    (False, False)
    """
    word = names.undecorated(name)
    selecting = [value for value in values if value.lower() not in ANY_VALUES]
    if names.SORT.fullmatch(word) or names.DISPLAY.fullmatch(word) or word in LANGUAGE_NAMES:
        return True
    if names.PAGE.fullmatch(word) or names.PAGE_SIZE.fullmatch(word):
        return all(value.isdecimal() for value in selecting)
    return bool(names.MAYBE_SORT.fullmatch(word)) and all(names.SORT_CODE.fullmatch(value) for value in selecting)


def _have_same_records(
    trials: Trials, interface: SearchInterface, other: SearchInterface, known_items: frozenset[str]
) -> Steps[bool]:
    """Whether two settings show the same for an empty query: then they choose what is searched in a record, not which records."""
    shown = []
    for each in (interface, other):
        answer = yield from trials.ask(each, "")
        items = items_of_response(answer) if answer is not None and answer.status < 400 else frozenset()
        shown.append(without_query(items) - known_items)
    return len(shown[0] & shown[1]) * 2 > max(map(len, shown)) > 2
