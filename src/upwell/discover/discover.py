"""Finding the search interfaces of a site: what the home page offers, tried; else pages around it; else the browser's view of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from upwell.discover import declared, forms, interfaces
from upwell.discover.browser_search import try_in_browser
from upwell.discover.consent_page import Gate, open_site, through_gates
from upwell.discover.form_settings import open_presets
from upwell.discover.link_ranking import is_harmless, promising_links, search_pages
from upwell.discover.lists import find_list, longest_list
from upwell.discover.steps import Steps, fetch
from upwell.discover.trial import Limits, Trials, try_interface
from upwell.discover.without_search import feed_pages, find_export, find_record_pages, record_pages_of
from upwell.errors import Forbidden
from upwell.page.formats import read_page
from upwell.page.tree import TagTree, read
from upwell.types import Form, Request, SearchInterface
from upwell.urls.hosts import is_on_site

__all__ = ["Browser", "Discovery", "Limits", "discover"]

Browser = Literal["auto", "never", "always"]
MAX_DESCRIPTIONS = 2  # OpenSearch descriptions of a page that are fetched
MAX_RENDERED_PAGES = 3  # besides the home page, where nothing else was found
SPEAKING = ("id", "class", "name", "placeholder", "aria-label", "title")  # attributes that say what a control is for
MIN_LINKS = 3  # that a page has whose markup is all of it
MAX_CLICKS = 3  # from the home page to a page that is tried; a catalogue has collections, and each has its list
OTHER_TEXT_FIELDS = slice(1, 3)  # of a form that are tried where the likeliest one brings nothing


@dataclass
class Discovery:
    """What was found: the home page, the interfaces that bring records (best first), and what else was seen."""

    home: TagTree
    interfaces: list[SearchInterface] = field(default_factory=list)
    decoys: list[SearchInterface] = field(default_factory=list)  # tried, and brought nothing new
    opened_pages: list[str] = field(default_factory=list)  # besides the home page
    working_words: list[str] = field(default_factory=list)  # that brought records
    nonsense: list[str] = field(default_factory=list)  # that was asked
    out_of_reach: list[str] = field(default_factory=list)  # why interfaces of the site could not be tried
    pages: list[TagTree] = field(default_factory=list)  # the home page and those that were opened
    sitemaps: tuple[str, ...] = ()  # that robots.txt names
    gates: list[Gate] = field(default_factory=list)  # that were passed on the way to the home page
    not_shown: str = ""  # why the page was not looked at with JavaScript, where it should have been


def discover(
    url: str,
    rng: np.random.Generator,
    browser: Browser = "auto",
    limits: Limits | None = None,
    sitemaps: Callable[[], tuple[str, ...]] = tuple,
) -> Steps[Discovery]:
    """All interfaces that bring records, best first; without one, a list, or the sitemap; else the decoys of the home page at half their score.

    `sitemaps` gives those that robots.txt names, once the first page was fetched.
    """
    home, gates, closed = yield from open_site(url)
    return (
        yield from through_gates(_search_from(home, gates, closed, rng, browser, limits or Limits(), sitemaps), gates)
    )


def _search_from(
    home: TagTree,
    gates: list[Gate],
    closed: str,
    rng: np.random.Generator,
    browser: Browser,
    limits: Limits,
    sitemaps: Callable[[], tuple[str, ...]],
) -> Steps[Discovery]:
    """The search, once the home page has come; `closed` says why it is not what a person would see."""
    trials = Trials(home=home, rng=rng, limits=limits)
    trials.pages.append(home)
    trials.left_out += [closed] if closed else []
    opened: list[str] = []
    if browser != "always":
        yield from _try_page(trials, home)
        if not trials.accepted and (browser == "never" or not _is_made_by_script(trials)):
            yield from _try_linked_pages(trials, opened)
    if browser == "always" or (browser == "auto" and not trials.accepted):
        yield from _try_in_browser(trials, opened)
        if not trials.accepted and not opened:
            yield from _try_linked_pages(trials, opened)
    found = [accepted.interface for accepted in trials.accepted]
    if not found:
        found = yield from _without_search(trials, sitemaps())
    if not found and trials.forbidden:
        raise Forbidden(trials.forbidden[-1])
    if not found:
        of_home = [decoy for decoy in trials.decoys if decoy.page in ("", trials.home.url)]
        found = [replace(decoy, score=round(decoy.score / 2, 3)) for decoy in of_home]
    return Discovery(
        home=trials.home,
        interfaces=found,
        decoys=trials.decoys,
        opened_pages=opened,
        working_words=trials.working_words,
        nonsense=trials.nonsense,
        out_of_reach=list(dict.fromkeys([*trials.forbidden, *trials.left_out])),
        pages=trials.pages,
        sitemaps=sitemaps(),
        gates=gates,
        not_shown="".join(trials.missing[:1]),
    )


def _without_search(trials: Trials, sitemaps: tuple[str, ...]) -> Steps[list[SearchInterface]]:
    """What there is beside a search: a list or feed that goes on; data whose rows links lead to; a list of one page, or the sitemap; a feed; other data."""
    walked = yield from find_list(
        [page for page in trials.pages if not any(page is shown for shown in trials.rendered)]
    )
    if walked is not None:
        return [(yield from find_export(trials.pages, walked)) or walked]
    feeds = yield from feed_pages(trials.home)
    if (fed := (yield from find_list(feeds))) is not None:
        return [fed]
    index = trials.unproven_index
    if index is not None and index.address[0]:
        return [index]
    alone = longest_list(trials.pages)
    if alone is not None and any(alone.url == shown.url for shown in trials.rendered):
        alone = replace(alone, rendered=True)
    listed = yield from find_record_pages(trials.home.url, sitemaps)
    if alone is not None and (listed is None or 2 * len(record_pages_of(listed, alone.examples)) > len(alone.examples)):
        return [(yield from find_export(trials.pages, alone)) or alone]  # what the sitemap has beside it comes later
    others: tuple[SearchInterface | None, ...] = (listed, longest_list(feeds), index)
    return [other for other in others if other is not None][:1]


def _try_page(trials: Trials, page: TagTree, *, is_linked: bool = False) -> Steps[None]:
    """Tries the interfaces that one page offers; `is_linked` says that a link led to it."""
    offered = list(interfaces.find(page))
    for address in declared.opensearch_links(page)[:MAX_DESCRIPTIONS]:
        if is_on_site(address, trials.home.url):
            document = yield from fetch(Request(url=address))
            if document is not None and document.status == 200:
                offered += declared.opensearch_interfaces(document.body, document.url)
    page_forms = forms.find(page)
    trials.left_out += [
        f"form {form.index} of {page.url} ({form.method} {form.action}) is not used: {_why_not(form)}; --form {form.index} uses it"
        for form in page_forms
        if form.kind == "search" and not forms.may_be_sent(form)
    ]
    tried = 0
    for interface in offered:
        known = [*(accepted.interface for accepted in trials.accepted), *trials.decoys]
        if any(interfaces.same_interface(interface, other) for other in known):
            continue
        if not is_harmless(interfaces.fill(interface, ""), trials.home.url):
            trials.leave_out(interface)
            continue
        if tried >= trials.limits.interfaces:
            break
        tried += 1
        form = _form_of(interface, page_forms, page)
        is_accepted = yield from try_interface(trials, interface, page)
        if form is not None:
            for name in interfaces.text_fields(form)[OTHER_TEXT_FIELDS]:
                other = interfaces.from_form(form, page, name)
                if other is not None and not is_accepted:
                    is_accepted = yield from try_interface(trials, other, page)
            other = interfaces.from_form(form, page, everything_chosen=True)
            if other is not None and not is_accepted and not interfaces.same_interface(interface, other):
                is_accepted = yield from try_interface(trials, other, page)
            if is_accepted and not interface.choices:
                yield from open_presets(trials, form, page)
        if is_accepted and is_linked:
            trials.set_via("link", page.url)


def _why_not(form: Form) -> str:
    return f"“{form.acts[0]}” may change something" if form.acts else "it is posted, and may not be a search"


def _form_of(interface: SearchInterface, page_forms: tuple[Form, ...], page: TagTree) -> Form | None:
    """The form of a page that an interface was made from."""
    if interface.via != "form":
        return None
    searching = (form for form in page_forms if forms.may_be_sent(form))
    return next(
        (form for form in searching if interfaces.same_interface(interface, interfaces.from_form(form, page))), None
    )


def _try_linked_pages(trials: Trials, opened: list[str]) -> Steps[None]:
    """Tries pages a few clicks away: links that speak of searching first; none deeper once an interface is accepted."""
    waiting = [(not link.is_search, 1, link.url) for link in promising_links(trials.home) if link.url not in opened]
    known = {*opened, *(url for _, _, url in waiting)}
    while waiting and len(opened) < trials.limits.pages:
        waiting.sort(key=lambda link: link[:2])
        _, clicks, url = waiting.pop(0)
        response = yield from fetch(Request(url=url, reuses=True))
        opened.append(url)
        if response is None or response.status != 200 or "html" not in response.headers.get("Content-Type", "html"):
            continue
        page = read_page(response.body, response.url, response.headers)
        trials.pages.append(page)
        yield from _try_page(trials, page, is_linked=True)
        if clicks < MAX_CLICKS and not trials.accepted:
            links = [link for link in promising_links(page) if link.url not in known]
            known.update(link.url for link in links)
            waiting += [(not link.is_search, clicks + 1, link.url) for link in links[: trials.limits.pages]]


def _try_in_browser(trials: Trials, opened: list[str]) -> Steps[None]:
    """Tries what exists only after JavaScript: what the home page offers then, else pages that its links and routes lead to."""
    shown = yield from try_in_browser(trials, trials.home.url, _try_page)
    if shown is None:
        return
    trials.home = read(shown.html, url=shown.url)  # the plain page may be an empty shell
    trials.pages.append(trials.home)
    trials.rendered.append(trials.home)
    if not trials.accepted:
        yield from _try_linked_pages(trials, opened)
    for url in search_pages(trials.home)[:MAX_RENDERED_PAGES]:
        if trials.accepted:
            return
        yield from try_in_browser(trials, url, _try_page)


def _is_made_by_script(trials: Trials) -> bool:
    """Whether the home page seems to be searched by a script: a box or a button for it outside of forms, answers that never change, or hardly any links."""
    home = trials.home
    in_forms = {field.row for form in forms.find(home) if forms.may_be_sent(form) for field in form.fields}
    parts = [row for row in home.rows("input", "button") if row not in in_forms]
    speaking = any(
        home.attr(row, "type") == "search"
        or forms.SEARCH_WORDS.search(" ".join(home.attr(row, name) or "" for name in SPEAKING))
        for row in parts
        if home.attr(row, "type") in (None, "", "text", "search", "button")
    )
    return trials.is_static or speaking or sum(1 for _ in home.links()) < MIN_LINKS
