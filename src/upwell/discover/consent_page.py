"""Click through consent pages: terms of use or an age question shown instead of a site until a button is clicked.

A page counts as a consent page if it is shown at several URLs, links to hardly anything, and its forms have only buttons and checkboxes.
Nothing is entered: checkboxes are ticked, and a button is clicked only if its label says no more than yes or no. Every click is reported.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urldefrag, urljoin, urlsplit

from upwell.discover import forms
from upwell.discover.steps import Steps, fetch, is_usable
from upwell.discover.walls import ShownWall
from upwell.errors import Forbidden, MissingExtra, Unreachable
from upwell.lexicon.phrases import ASKS_FOR_MORE
from upwell.lexicon.vocabulary import fold_accents
from upwell.page import form_encoding as form_data
from upwell.page.formats import read_page
from upwell.page.links import acts_at, is_page
from upwell.page.tree import TagTree
from upwell.types import BrowserVisit, Field, Form, RenderedPage, Request, Response
from upwell.urls.acting import acting_evidence
from upwell.urls.hosts import is_on_site, is_same_host

__all__ = ["ConsentPage", "StartPage", "click_through", "consent_request", "keep_consent"]

T = TypeVar("T")
FormKey = tuple[str, frozenset[str]]  # path of the form's action ("": the path of its page), and names of its fields
MAX_LINKS = 8  # links of a consent page to other pages of the site (terms, imprint); not swept
MAX_CHECKED_LINKS = 3  # of these links, how many are opened to check that they lead nowhere else
MAX_CLICKS = 3  # buttons tried before a consent page is given up
MAX_CONSENT_PAGES = 2  # consecutive consent pages: terms of use, then the age
MIN_SAME_SHARE = 0.9  # share of common texts from which two pages count as the same page; not swept
BUTTON_FORM_TYPES = {"hidden", "checkbox", "submit", "image", "button", "reset"}  # fields of a form to click through
UNKNOWN_PATH = "no-such-page-of-this-site"  # path that exists on no site; a consent page is shown there too
BY_HAND = "open it in your browser, and give its cookies with --cookies FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPage:
    """Consent page that was clicked through, and which button of it."""

    url: str
    label: str  # of the clicked button
    form: FormKey
    button: int  # index among the buttons of the form
    is_ticked: bool = False  # checkboxes were ticked that a browser does not require

    @property
    def marker(self) -> bytes:
        """Return a string that every response with this consent page contains; a cheap test before parsing."""
        path, names = self.form
        return (path.rpartition("/")[2] or max(names, key=len, default="") or "<form").encode()

    def as_dict(self) -> dict[str, Any]:
        """Return the consent page as stored in `source.json`."""
        return {**asdict(self), "form": [self.form[0], sorted(self.form[1])]}

    @classmethod
    def of_dict(cls, saved: Mapping[str, Any]) -> "ConsentPage":
        """Restore a consent page from `as_dict`.

        >>> page = ConsentPage(url="http://x/terms", label="Enter", form=("/enter", frozenset(["token"])), button=0)
        >>> ConsentPage.of_dict(page.as_dict()) == page
        True
        """
        path, names = saved["form"]
        return cls(**{**saved, "form": (str(path), frozenset(names))})

    def request_on(self, page: TagTree) -> Request | None:
        """Return the click as a request, with the tokens of `page`; None if `page` is not this consent page."""
        clicks = (
            request
            for form in forms.find(page)
            if _key(form, page) == self.form
            for clicked, request in _clicks_in_form(form, page)
            if (clicked.button, clicked.is_ticked) == (self.button, self.is_ticked)
        )
        return next(clicks, None)


@dataclass(frozen=True, kw_only=True)
class StartPage:
    """Start page of a site, after its consent pages."""

    page: TagTree
    consent_pages: tuple[ConsentPage, ...] = ()  # that were clicked through
    problem: str = ""  # why `page` is still a consent page; "" if it is not
    wall: ShownWall | None = None  # a check for robots that is shown instead


def click_through(page: TagTree, url: str) -> Steps[StartPage]:
    """Click through the consent pages shown at the start URL `url`, of which `page` is the first response."""
    clicked: list[ConsentPage] = []
    problem = ""
    while len(clicked) < MAX_CONSENT_PAGES and (yield from _is_consent_page(page, url)):
        opened = yield from _click(page, url)
        if opened is None:
            problem = f"{page.url} is a consent page, and clicking its button does not open the site: {BY_HAND}"
            break
        clicked.append(opened[0])
        page = opened[1]
    return StartPage(page=page, consent_pages=tuple(clicked), problem=problem)


def keep_consent(
    steps: Generator[Request | BrowserVisit, Response | RenderedPage, T], consent_pages: Sequence[ConsentPage]
) -> Generator[Request | BrowserVisit, Response | RenderedPage, T]:
    """Run steps; if a consent page is shown again because a session has ended, click through it and repeat the request."""
    answer: Response | RenderedPage | None = None
    error: Exception | None = None
    while True:
        try:
            wanted = steps.throw(error) if error is not None else steps.send(answer)  # type: ignore[arg-type] # None starts it
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what the generator returned
        answer = error = None
        try:
            answer = yield wanted
            click = consent_request(consent_pages, answer) if isinstance(answer, Response) else None
            if click is not None and isinstance(wanted, Request):
                yield click
                repeated = yield replace(
                    wanted, query="", reuses=False
                )  # without the query it is not replayed from memory
                answer = replace(repeated, request=wanted) if isinstance(repeated, Response) else answer
        except (Unreachable, Forbidden, MissingExtra) as raised:
            error = raised


def consent_request(consent_pages: Iterable[ConsentPage], response: Response) -> Request | None:
    """Return the request that clicks through the consent page shown by a response; None if it shows none of them."""
    for consent_page in consent_pages:
        if consent_page.marker in response.body:
            click = consent_page.request_on(read_page(response.body, response.url, response.headers))
            if click is not None:
                return click
    return None


def _is_consent_page(page: TagTree, url: str) -> Steps[bool]:
    """Return True if a page is shown instead of other pages, and the pages it links to lead nowhere else.

    All pages of an ordinary site may have the same small form; then the linked pages have it too.
    """
    if not _clicks_on_page(page) or len(_links(page)) > MAX_LINKS:
        return False
    is_shown_elsewhere = urlsplit(page.url).path != urlsplit(url).path
    known = {*_links(page), url, page.url}
    for other_url in (urljoin(page.url, f"/{UNKNOWN_PATH}"), *_links(page)[:MAX_CHECKED_LINKS]):
        response = yield from fetch(Request(url=other_url))
        if response is None or not is_usable(response):
            continue
        other = read_page(response.body, response.url, response.headers)
        if _is_same_page(page, other):
            is_shown_elsewhere |= urlsplit(other_url).path != urlsplit(page.url).path
        elif not known.issuperset(_links(other)) or _form_keys(page) & _form_keys(other):
            return False
    return is_shown_elsewhere


def _click(page: TagTree, url: str) -> Steps[tuple[ConsentPage, TagTree] | None]:
    """Click one button after the other until the start URL shows a page with forms or other links; None if no click does that."""
    known = {*_links(page), url, page.url}
    for consent_page, request in _clicks_on_page(page)[:MAX_CLICKS]:
        yield from fetch(request)
        response = yield from fetch(Request(url=url))
        if response is None or not is_usable(response):
            continue
        opened = read_page(response.body, response.url, response.headers)
        if consent_page.request_on(opened) is None and (forms.find(opened) or not known.issuperset(_links(opened))):
            return consent_page, opened
    return None


def _clicks_on_page(page: TagTree) -> list[tuple[ConsentPage, Request]]:
    """Return the possible clicks on a page; none if one of its forms has other fields or is sent to another host."""
    page_forms = forms.find(page)
    if any({field.type for field in form.fields} - BUTTON_FORM_TYPES for form in page_forms):
        return []
    if not all(is_same_host(form.action, page.url) for form in page_forms):
        return []
    return [click for form in page_forms for click in _clicks_in_form(form, page)]


def _clicks_in_form(form: Form, page: TagTree) -> Iterator[tuple[ConsentPage, Request]]:
    """Yield a request per button, first with the required checkboxes ticked, then with all of them; buttons that act are left out."""
    row = int(page.rows("form")[form.index])
    buttons = [field for field in form.fields if field.type in form_data.BUTTON_TYPES and field.choices]
    required = form_data.choose_required(page, form.fields)
    ticked = [replace(field, preset=field.choices) if field.type == "checkbox" else field for field in required]
    for is_ticked, fields in ((False, required), (True, ticked)):
        for number, button in enumerate(buttons if not is_ticked or ticked != required else ()):
            method, action, enctype = form_data.form_target(page, row, button)
            entries = form_data.entry_list(fields, button, form.charset)
            request = form_data.form_request(method, action, entries, charset=form.charset, enctype=enctype)
            context = form_data.form_context(page, row, button.row, action)
            click = replace(
                request, is_consent=True, context=replace(context, is_search=True)
            )  # the click needs no search words
            label = context.label
            if acting_evidence(click) or _asks_for_more(page, row, label, fields):
                continue
            if is_same_host(action, page.url):
                key = _key(form, page)
                yield ConsentPage(url=page.url, label=label, form=key, button=number, is_ticked=is_ticked), click


def _asks_for_more(page: TagTree, form: int, label: str, fields: Iterable[Field]) -> bool:
    """Return True if a button, a ticked box or the text of its form says more than agreement: money, an order, a contract, a subscription."""
    ticked = [field for field in fields if field.type == "checkbox" and field.preset]
    texts = [label, *(f"{field.words} {_text_of_box(page, field.row)}" for field in ticked)]
    around = form_data.text_around_controls(page, form)
    if ticked and len(around) <= form_data.MAX_FORM_TEXT_CHARS:
        texts.append(around)
    return any(ASKS_FOR_MORE.search(fold_accents(text)) for text in texts)


def _text_of_box(page: TagTree, row: int) -> str:
    """Return the text of the label around a box, or of the element that contains it."""
    labels = (above for above in page.ancestors(row) if page.name(above) == "label")
    above = next(labels, int(page.parent[row]))
    return page.text(above)[: form_data.MAX_LABEL_CHARS] if above >= 0 else ""


def _key(form: Form, page: TagTree) -> FormKey:
    path = urlsplit(form.action).path
    return path if path != urlsplit(page.url).path else "", frozenset(field.name for field in form.fields)


def _form_keys(page: TagTree) -> set[FormKey]:
    return {_key(form, page) for form in forms.find(page)}


def _links(page: TagTree) -> list[str]:
    """Return the other pages of the site that a page links to."""
    urls = dict.fromkeys(urldefrag(url)[0] for row, url in page.links() if is_page(url) and not acts_at(page, row, url))
    return [url for url in urls if is_on_site(url, page.url) and url != urldefrag(page.url)[0]]


def _is_same_page(page: TagTree, other: TagTree) -> bool:
    """Return True if two pages have nearly the same texts and the same forms."""
    texts, other_texts = set(page.chunks), set(other.chunks)
    common = len(texts & other_texts)
    return common >= MIN_SAME_SHARE * len(texts | other_texts) and _form_keys(page) == _form_keys(other)
