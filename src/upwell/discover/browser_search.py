"""Find the search of a page that needs JavaScript, by typing queries into the rendered page.

The search is a request that the page's script makes, an index that the script reads, a form, or pages that only the browser can show.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from upwell.discover import forms, interfaces
from upwell.discover.declared import QUERY_MARK, interface_of_url
from upwell.discover.index_source import answers_from_index, index_interface, records_of_index, shows_records
from upwell.discover.link_ranking import is_harmless
from upwell.discover.probe_words import nonsense, trial_words
from upwell.discover.steps import Steps, fetch, is_usable, show_page
from upwell.discover.trial import MIN_NEW_ITEMS, Accepted, Trials, items_of_page, try_interface, without_query
from upwell.lexicon.frequent_words import broad_queries
from upwell.lexicon.phrases import MORE, MORE_RESULTS
from upwell.page.language import language_of
from upwell.page.tree import TagTree, read
from upwell.source.script_paging import changes_for
from upwell.types import (
    JSON_TYPE,
    AddressInterface,
    BrowserVisit,
    Form,
    JsonInterface,
    LinkContext,
    RenderedPage,
    Request,
    SearchInterface,
    TypedInterface,
    TypedQuery,
)
from upwell.urls.acting import acting_evidence, posts_without_search
from upwell.urls.request_values import mark

__all__ = ["SearchOnlyPolicy", "interface_of_request", "try_in_browser"]

SCORE = 0.9  # of an interface that was found by typing
MAX_TYPED_WORDS = 3  # words typed after the nonsense
MARK = "upwellqueryplace"  # put in place of a query: only letters, so that no encoding changes it
MAX_INDEXES = 3  # responses with many similar objects that are examined


def interface_of_request(request: Request, query: str, *, only_whole: bool = False) -> SearchInterface | None:
    """Recognize a request that a page's script made for a typed query as a search interface; None if the query is not a value in it.

    The query may be part of a value, at any depth. With `only_whole`, only values that equal it count: a word may be part of any text.

    >>> interface_of_request(Request(url="http://x/api?q=heat+wave&n=5"), "heat wave").fields
    (('q', ''), ('n', '5'))
    >>> interface_of_request(Request(url="http://x/api/heat%20wave"), "heat wave").url
    'http://x/api/{query}'
    >>> interface_of_request(Request(url="http://x/api?filter=name ILIKE '%25heat%25'&n=5"), "heat").url
    'http://x/api?filter=name%20ILIKE%20%27%25{query}%25%27&n=5'
    >>> json_request = Request(url="http://x/api", method="POST", body=b'{"q":"heat"}', content_type="application/json")
    >>> interface_of_request(json_request, "heat").body
    '{"q": "{query}"}'
    >>> several = Request(url="http://x/api", method="POST", body=b'{"requests":[{"params":"query=heat&page=0"}]}')
    >>> interface_of_request(several, "heat").body
    '{"requests": [{"params": "query={query}&page=0"}]}'
    """
    marked, places = mark(request, query, MARK, only_whole=only_whole)
    if not places:
        return None
    interface: SearchInterface | None
    if request.method == "GET":
        interface = interface_of_url(marked.url.replace(MARK, QUERY_MARK), "browser")
    elif any(place[0] in ("path", "argument") for place in places) and not any(
        place[0] not in ("path", "argument") for place in places
    ):
        return None  # a POST whose body does not contain the query
    elif places[-1][0] == "field":
        pairs = parse_qsl(marked.body.decode("utf-8", "replace"), keep_blank_values=True)
        fields = tuple((name, value.replace(MARK, QUERY_MARK)) for name, value in pairs)
        whole = [name for name, value in fields if value == QUERY_MARK]
        if len(whole) == len(places):
            interface = interface_of_url(request.url, "browser", "POST", fields)
        else:
            of_mark = tuple((name, value.replace(QUERY_MARK, "{query}")) for name, value in fields)
            interface = AddressInterface(method="POST", url=request.url, fields=of_mark, via="browser")
    else:
        body = marked.body.decode("utf-8", "replace").replace(MARK, "{query}")
        kind = request.content_type or JSON_TYPE
        interface = JsonInterface(url=request.url, body=body, content_type=kind, via="browser")
    return replace(interface, score=SCORE, headers=request.headers) if interface is not None else None


class SearchOnlyPolicy:
    """Browser policy of a harvest: type only into search boxes, and let a page post only searches (`net.browser.BrowserPolicy`)."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        """Return True if a query may be typed into a box: its form may be submitted, or submits nothing that was typed.

        A box without a form or without a name belongs to a script, each of whose requests is checked.
        """
        return form < 0 or any(forms.may_be_sent(own) or _sends_nothing(own) for own in _form_at(page, url, form))

    def may_submit(self, page: str, url: str, form: int) -> bool:
        """Return True if Enter may be pressed in a box: it clicks the first button of the form, which must not act or post elsewhere."""
        return form < 0 or any(
            not own.acts and (own.method == "GET" or forms.may_be_sent(own)) for own in _form_at(page, url, form)
        )

    def may_post(self, request: Request, page: str, url: str) -> bool:
        """Return True if a POST is a search: a search form sends it, or it contains the query and its address, or the name of the query, says so.

        Before anything is typed, a page fills its list: the address must say that it searches.
        """
        path = urlsplit(request.url).path
        own = [
            form
            for form in forms.find(read(page, url=url))
            if form.method == "POST" and urlsplit(form.action).path == path
        ]
        if own:
            return any(forms.may_be_sent(form) for form in own)
        if not request.query:
            return not posts_without_search(request) and not acting_evidence(request)
        interface = interface_of_request(replace(request, query=""), request.query)
        if interface is None:
            return False
        typed = interfaces.fill(replace(interface, via="browser"), "")
        return not (posts_without_search(request) and posts_without_search(typed)) and not acting_evidence(typed)

    def may_click(self, label: str) -> bool:
        """Return True if a button that seems to open a search box, or to show more, may be clicked: its label does not act.

        >>> SearchOnlyPolicy().may_click("Cargar más"), SearchOnlyPolicy().may_click("Cargar documento")  # "load" and "upload"
        (True, False)
        """
        if any(phrase.fullmatch(" ".join(label.split())) for phrase in (MORE, MORE_RESULTS)):
            return True
        return not acting_evidence(Request(url="", context=LinkContext(label=label, is_button=True)))

    def words_to_type(self, page: str, url: str) -> tuple[str, ...]:
        """Return words of the page and of its language."""
        tree = read(page, url=url)
        return tuple(trial_words(tree, tree, [], 2 * MAX_TYPED_WORDS)[:MAX_TYPED_WORDS])

    def broad_query(self, page: str, url: str) -> str:
        """Return the most frequent word of the page's language."""
        return next((query for query in broad_queries(language_of(read(page, url=url))) if query.isalpha()), "a")


def _form_at(page: str, url: str, number: int) -> tuple[Form, ...]:
    return forms.find(read(page, url=url))[number : number + 1]


def _sends_nothing(form: Form) -> bool:
    """Return True if a form requests a page without anything that a user entered."""
    entered = (field.name for field in form.fields if field.type not in ("hidden", "submit"))
    return form.method == "GET" and not any(entered)


def try_in_browser(
    trials: Trials, url: str, try_forms: Callable[[Trials, TagTree], Steps[None]]
) -> Steps[RenderedPage | None]:
    """Try the rendered page: requests of its script for typed words, an index, its forms, and the pages shown for typed words.

    All words are typed in one visit. Return None if the page cannot be shown.
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
    if not trials.accepted:
        trials.unused += _unused_requests(trials, shown)
    return shown


def _unused_requests(trials: Trials, shown: RenderedPage) -> list[str]:
    """Say what the scripts of a page requested that might be a search, and why it is not used."""
    tried = [
        f"a script of {shown.url} requests {decoy.method} {decoy.url} for what is typed, but its answers show nothing new"
        for decoy in trials.decoys
        if decoy.via == "browser"
    ]
    refused = [
        f"a script of {shown.url} posts to {url}, which was not sent, because it may not be a search"
        for url in shown.refused
    ]
    return [*tried, *refused] or [f"{shown.url} shows no search box in the browser"] * (not shown.has_box)


def _try_requests(trials: Trials, shown: RenderedPage, page: TagTree) -> Steps[None]:
    """Try the requests that the page's script made for each typed word."""
    tried: set[tuple[str, str, str]] = set()
    answers_nonsense = any(
        interface_of_request(request, typed.query)
        for typed in shown.typed
        if typed.query in trials.nonsense
        for request in typed.calls
    )
    for typed in shown.typed:
        if answers_nonsense and typed.query not in trials.nonsense:
            continue  # a word may be in a request by chance, nonsense is not
        for request in typed.calls:
            is_word = typed.query not in trials.nonsense
            interface = interface_of_request(request, typed.query, only_whole=is_word)
            if (
                interface is None
                or not is_harmless(interfaces.fill(interface, ""), trials.home.url)
                or any(interfaces.same_interface(interface, decoy) for decoy in trials.decoys)
            ):
                continue
            shape = _request_shape(interface)
            if shape in tried or len(tried) >= trials.limits.interfaces:
                continue
            tried.add(shape)
            own = _of_shown_page(typed, request)
            if own is not None and (yield from try_interface(trials, own, page, typed.query)):
                return
            changes = changes_for(interface, shown.steps, request)
            interface = replace(interface, page_changes=changes)
            if (yield from try_interface(trials, interface, page, typed.query)):
                return


def _of_shown_page(typed: TypedQuery, request: Request) -> SearchInterface | None:
    """Return the page that shows the answer as an interface, if a script requested a part of it by a header; None otherwise."""
    is_part = bool(request.headers) and request.method == "GET"
    if not is_part or urlsplit(typed.url)[:3] != urlsplit(request.url)[:3] or "#" in typed.url:
        return None
    return interface_of_request(Request(url=typed.url), typed.query, only_whole=True)


def _try_index(trials: Trials, shown: RenderedPage, page: TagTree) -> Steps[None]:
    """Accept data that the page fetched or contains, if the page answers queries from it and sends no query."""
    links = [target for _, target in (*trials.home.links(), *page.links())]
    for url in (*shown.data[:MAX_INDEXES], shown.url):
        response = yield from fetch(Request(url=url), trials.forbidden)
        if response is None or not is_usable(response):
            continue
        interface = index_interface(response.body, url, page, shown.typed, links)
        if interface is None:
            continue
        records = records_of_index(interface, response.body)
        is_asked = any(interface_of_request(call, typed.query) for typed in shown.typed[:1] for call in typed.calls)
        if not is_asked and answers_from_index(records, shown):
            trials.accepted.append(Accepted(interface=replace(interface, is_whole=True)))
            return
        if interface.address[0] or shows_records(page, records):  # otherwise it may be data for the script's own use
            trials.unproven_index = trials.unproven_index or interface


def _try_shown_pages(trials: Trials, shown: RenderedPage, page: TagTree) -> Steps[None]:
    """Accept the pages shown for typed words as answers, if they show items that neither the page nor a nonsense answer shows."""
    without_matches = [typed for typed in shown.typed if typed.query in trials.nonsense]
    known = items_of_page(page)
    for typed in without_matches:
        known |= without_query(items_of_page(read(typed.html, url=typed.url)), typed.query)
    before: frozenset[str] = frozenset()  # items shown before the query was typed
    for typed in shown.typed:
        if typed in without_matches:
            continue
        own_items = items_of_page(read(typed.html, url=typed.url))
        is_earlier_answer, before = own_items == before, own_items
        if is_earlier_answer:
            continue
        items = without_query(own_items, typed.query)
        new = items - without_query(known, typed.query)
        if len(new) < MIN_NEW_ITEMS:
            continue
        # only whole values: a word, above all the broad query of one letter, is in an address by chance
        own = interface_of_request(Request(url=typed.url), typed.query, only_whole=True)
        interface = own if typed.url != shown.url else None
        if interface is None:
            interface = TypedInterface(url=shown.url, score=SCORE)
        if not is_harmless(interfaces.fill(interface, ""), trials.home.url):
            return
        is_new = not any(interfaces.same_interface(interface, decoy) for decoy in trials.decoys)
        if not isinstance(interface, TypedInterface) and "#" not in interface.url and is_new:
            plain = replace(interface, via="browser", page=shown.url)  # the server may make the page without scripts
            if (yield from try_interface(trials, plain, page, typed.query)):
                return
        interface = replace(interface, rendered=True, via="browser", page=shown.url)
        trials.accepted.append(Accepted(interface=interface, word=typed.query, items=new))
        trials.working_words.append(typed.query)
        return


def _request_shape(interface: SearchInterface) -> tuple[str, str, str]:
    """Return a key that ignores numbers: a script may fetch every match, with the word in its URL."""
    body = interface.body if isinstance(interface, JsonInterface) else ""
    return re.sub(r"\d+", "#", interface.url), interface.query_field, body
