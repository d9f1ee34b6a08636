"""What typing queries into a rendered page shows of its search: a request of its script, an index that it looks into, or pages to render."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from upwell.discover import forms, interfaces
from upwell.discover.declared import QUERY_MARK, interface_of_address
from upwell.discover.index_source import answers_from_index, index_interface, records_of_index, shows_records
from upwell.discover.link_ranking import is_harmless
from upwell.discover.probe_words import nonsense, trial_words
from upwell.discover.steps import Steps, fetch, show_page
from upwell.discover.trial import (
    MIN_NEW_ITEMS,
    Accepted,
    Trials,
    is_usable,
    items_of_page,
    try_interface,
    without_query,
)
from upwell.page.tree import TagTree, read
from upwell.types import BrowserVisit, Form, JsonInterface, RenderedPage, Request, SearchInterface, TypedInterface
from upwell.urls.acting import acting_words_in_label

__all__ = ["SearchJudge", "interface_of_request", "try_in_browser"]

# --- A request that a page's own script made while a query was typed, recognised as a search interface.

SCORE = 0.9


def interface_of_request(request: Request, query: str) -> SearchInterface | None:
    """The interface that sends this request for this query; None where the query is not in it as a value of its own.

    >>> interface_of_request(Request(url="http://x/api?q=heat+wave&n=5"), "heat wave").fields
    (('q', ''), ('n', '5'))
    >>> interface_of_request(Request(url="http://x/api/heat%20wave"), "heat wave").url
    'http://x/api/{query}'
    >>> json_request = Request(url="http://x/api", method="POST", body=b'{"q":"heat"}', content_type="application/json")
    >>> interface_of_request(json_request, "heat").body
    '{"q": "{query}"}'
    """
    interface = _of_post(request, query) if request.method == "POST" else _of_get(request, query)
    return replace(interface, score=SCORE, headers=request.headers) if interface is not None else None


def _of_get(request: Request, query: str) -> SearchInterface | None:
    parts = urlsplit(request.url)
    path, arguments = parts.path, parts.query
    for spelling in dict.fromkeys((quote(query, safe=""), quote(query), query.replace(" ", "+"), query)):
        steps = [QUERY_MARK if step.lower() == spelling.lower() else step for step in path.split("/")]
        pairs = [
            f"{name}={QUERY_MARK}" if sign and value.lower() == spelling.lower() else f"{name}{sign}{value}"
            for name, sign, value in (pair.partition("=") for pair in arguments.split("&"))
        ]
        path, arguments = "/".join(steps), "&".join(pairs)
    return interface_of_address(urlunsplit(parts._replace(path=path, query=arguments)), "browser")


def _of_post(request: Request, query: str) -> SearchInterface | None:
    if "json" in request.content_type:
        try:
            value = json.loads(request.body)
        except ValueError:
            return None
        body = json.dumps(_marked(value, query), ensure_ascii=False)
        return JsonInterface(url=request.url, body=body, via="browser") if "{query}" in body else None
    if "urlencoded" not in request.content_type:
        return None
    pairs = parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
    fields = tuple((name, QUERY_MARK if value == query else value) for name, value in pairs)
    return interface_of_address(request.url, "browser", "POST", fields)


def _marked(value: object, query: str) -> object:
    """JSON with {query} for every text that is the query."""
    if isinstance(value, dict):
        return {name: _marked(inner, query) for name, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner, query) for inner in value]
    return "{query}" if value == query else value


# --- (main part)

MAX_TYPED_WORDS = 3
MAX_INDEXES = 3  # responses with many alike objects that are looked at
TYPED_SCORE = 0.9


class SearchJudge:
    """Says what a query may be typed into in the browser, and what a page may post then: only what is judged to be a search."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        """Whether a box may be typed into: its form may be sent, or sends nothing that was typed.

        A box without a form, or without a name in it, is the script's, whose requests are judged each.
        """
        return form < 0 or any(forms.may_be_sent(own) or _sends_nothing(own) for own in _form_at(page, url, form))

    def may_send(self, page: str, url: str, form: int) -> bool:
        """Whether Enter may be pressed in a box that may be typed into: it presses the first button of the form."""
        return form < 0 or any(not own.acts for own in _form_at(page, url, form))

    def may_post(self, request: Request, page: str, url: str) -> bool:
        """Whether a POST is a search: the query is in it, its path or a field speaks of searching, or it is a search form's own."""
        path = urlsplit(request.url).path
        own = [
            form
            for form in forms.find(read(page, url=url))
            if form.method == "POST" and urlsplit(form.action).path == path
        ]
        if own:
            return any(forms.may_be_sent(form) for form in own)
        interface = interface_of_request(replace(request, query=""), request.query)
        if interface is None:
            return False
        asked = interface.body if isinstance(interface, JsonInterface) else interface.query_field
        return bool(
            forms.SEARCH_WORDS.search(f"{path} {asked}")
            or re.search(r'(?:^|")(?:q|s|query|term|text|keywords?)(?:$|")', asked, re.I)
        )

    def may_press(self, label: str) -> bool:
        """Whether a button that seems to open a search may be pressed: its label does not act."""
        return not acting_words_in_label(label, is_button=True)

    def words_to_type(self, page: str, url: str) -> tuple[str, ...]:
        """Words of the page and of its language."""
        tree = read(page, url=url)
        return tuple(trial_words(tree, tree, [], 2 * MAX_TYPED_WORDS)[:MAX_TYPED_WORDS])


def _form_at(page: str, url: str, number: int) -> tuple[Form, ...]:
    return forms.find(read(page, url=url))[number : number + 1]


def _sends_nothing(form: Form) -> bool:
    """Whether a form asks for a page without anything that a person typed."""
    typed = (field.name for field in form.fields if field.type not in ("hidden", "submit"))
    return form.method == "GET" and not any(typed)


def try_in_browser(
    trials: Trials, url: str, try_forms: Callable[[Trials, TagTree], Steps[None]]
) -> Steps[RenderedPage | None]:
    """Tries what a page offers after JavaScript: what its script requests when words are typed, an index, its forms, what is shown.

    All words are typed in one visit; None where the page cannot be shown.
    """
    trials.nonsense = trials.nonsense or list(nonsense(trials.rng, 2))
    shown = yield from show_page(BrowserVisit(url=url, trial_queries=(trials.nonsense[0],)), trials.missing)
    if shown is None or trials.accepted:
        return shown
    page = read(shown.html, url=shown.url)
    yield from _try_requests(trials, shown, page)
    if not trials.accepted:
        yield from _try_index(trials, shown, page)
    if not trials.accepted:
        yield from try_forms(trials, page)
        trials.set_via("browser")
    if not trials.accepted:
        yield from _try_shown_pages(trials, shown, page)
    return shown


def _try_requests(trials: Trials, shown: RenderedPage, page: TagTree) -> Steps[None]:
    """Tries the requests that the page's script made for each word."""
    tried: set[tuple[str, str, str]] = set()
    for typed in shown.typed:
        for request in typed.calls:
            interface = interface_of_request(request, typed.query)
            if (
                interface is None
                or not is_harmless(interfaces.fill(interface, ""), trials.home.url)
                or any(interfaces.same_interface(interface, decoy) for decoy in trials.decoys)
            ):
                continue
            shape = _shape(interface)
            if shape in tried or len(tried) >= trials.limits.interfaces:
                continue
            tried.add(shape)
            if (yield from try_interface(trials, interface, page, typed.query)):
                return


def _try_index(trials: Trials, shown: RenderedPage, page: TagTree) -> Steps[None]:
    """Takes what the page fetched, or carries itself, as the source, where its own search looks into that."""
    links = [target for _, target in (*trials.home.links(), *page.links())]
    for address in (*shown.data[:MAX_INDEXES], shown.url):
        response = yield from fetch(Request(url=address), trials.forbidden)
        if response is None or not is_usable(response):
            continue
        interface = index_interface(response.body, address, page, shown.typed, links)
        if interface is None:
            continue
        records = records_of_index(interface, response.body)
        if answers_from_index(records, shown):
            trials.accepted.append(Accepted(interface=replace(interface, is_whole=True)))
            return
        if interface.address[0] or shows_records(page, records):  # else it may be what a script itself needs
            trials.unproven_index = trials.unproven_index or interface


def _try_shown_pages(trials: Trials, shown: RenderedPage, page: TagTree) -> Steps[None]:
    """Takes the pages that words led to as answers, where they show something that the page and an answer to nonsense do not."""
    without_matches = [typed for typed in shown.typed if typed.query in trials.nonsense]
    known = items_of_page(page)
    for typed in without_matches:
        known |= without_query(items_of_page(read(typed.html, url=typed.url)), typed.query)
    for typed in shown.typed:
        if typed in without_matches:
            continue
        items = without_query(items_of_page(read(typed.html, url=typed.url)), typed.query)
        new = items - without_query(known, typed.query)
        if len(new) < MIN_NEW_ITEMS:
            continue
        interface = interface_of_request(Request(url=typed.url), typed.query) if typed.url != shown.url else None
        if interface is None:
            interface = TypedInterface(url=shown.url, score=TYPED_SCORE)
        if not is_harmless(interfaces.fill(interface, ""), trials.home.url):
            return
        interface = replace(interface, rendered=True, via="browser", page=shown.url)
        trials.accepted.append(Accepted(interface=interface, word=typed.query, items=new))
        trials.working_words.append(typed.query)
        return
    yield from ()


def _shape(interface: SearchInterface) -> tuple[str, str, str]:
    """The same for all requests that differ in numbers: a script may fetch every match, with the word in its address."""
    body = interface.body if isinstance(interface, JsonInterface) else ""
    return re.sub(r"\d+", "#", interface.url), interface.query_field, body
