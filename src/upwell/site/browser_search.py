"""What typing a query into the rendered home page asks for: a request of the page's script, or an address to render."""

import re
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.model import BrowserVisit, JsonInterface, Request, SearchInterface
from upwell.page.tree import read
from upwell.queries.words import nonsense
from upwell.site import forms, interfaces
from upwell.site.interface_trial import MIN_NEW_ITEMS, Accepted, Trials, try_interface
from upwell.site.items import items_of_page, without_query
from upwell.site.promising_links import is_harmless
from upwell.site.script_requests import interface_of_request
from upwell.site.steps import Steps, show_page
from upwell.site.trial_words import trial_words

__all__ = ["SearchJudge", "try_typing"]

MAX_TYPED_WORDS = 3


class SearchJudge:
    """Says what a query may be typed into in the browser, and what a page may post then: only what is judged to be a search."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        """Whether a box may be typed into: its form may be sent; a box without a form is the script's, whose requests are judged each."""
        found = forms.find(read(page, url=url))
        return form < 0 or (form < len(found) and forms.may_be_sent(found[form]))

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


def try_typing(trials: Trials) -> Steps[None]:
    """Types words into the home page; the requests of its script are tried first, then the address that it went to."""
    home = trials.home
    tried: set[tuple[str, str, str]] = set()
    for word in trial_words(home, home, trials.working_words, trials.limits.words)[:MAX_TYPED_WORDS]:
        page = yield from show_page(BrowserVisit(url=home.url, query=word))
        if page is None:
            return
        for request in page.calls:
            interface = interface_of_request(request, word)
            if (
                interface is None
                or not is_harmless(interfaces.fill(interface, ""), home.url)
                or any(interfaces.same_interface(interface, decoy) for decoy in trials.decoys)
            ):
                continue
            shape = _shape(interface)
            if shape in tried or len(tried) >= trials.limits.interfaces:
                continue
            tried.add(shape)
            if (yield from try_interface(trials, interface, home, word)):
                return
        interface = interface_of_request(Request(url=page.url), word) if page.url != home.url else None
        if interface is not None:
            (query,) = nonsense(trials.rng, 1)
            without_matches = yield from show_page(BrowserVisit(url=interfaces.fill(interface, query).url))
            if without_matches is None or not is_harmless(interfaces.fill(interface, ""), home.url):
                return
            nonsense_items = without_query(items_of_page(read(without_matches.html, url=without_matches.url)), query)
            known_items = without_query(items_of_page(home) | nonsense_items, word)
            new = without_query(items_of_page(read(page.html, url=page.url)), word) - known_items
            if len(new) >= MIN_NEW_ITEMS:
                trials.accepted.append(Accepted(interface=replace(interface, rendered=True), word=word, items=new))
                return


def _shape(interface: SearchInterface) -> tuple[str, str, str]:
    """The same for all requests that differ in numbers: a script may fetch every match, with the word in its address."""
    body = interface.body if isinstance(interface, JsonInterface) else ""
    return re.sub(r"\d+", "#", interface.url), interface.query_field, body
