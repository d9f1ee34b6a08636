"""Gates: a page in front of a site that wants a button pressed before it shows anything, such as terms of use or a question for the age.

gate     a page that stands in place of others, and leads nowhere but through a form without anything to write or to choose
press    what one of its buttons sends: nothing is filled in but boxes to tick, and what says more than yes or no is not sent
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urldefrag, urljoin, urlsplit

from upwell.discover import forms
from upwell.discover.steps import Steps, check_start_page, fetch
from upwell.discover.trial import is_usable
from upwell.errors import Forbidden, MissingExtra, Unreachable
from upwell.lexicon.vocabulary import words
from upwell.page import form_encoding as form_data
from upwell.page.formats import read_page
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.types import BrowserVisit, Form, RenderedPage, Request, Response
from upwell.urls.acting import acting_words, acting_words_in_label
from upwell.urls.hosts import is_on_site, is_same_host

__all__ = ["Gate", "open_site", "press_again", "through_gates"]

T = TypeVar("T")
FormKey = tuple[
    str, frozenset[str]
]  # the path that a form is sent to ("": that of its page), and the names of its fields
MAX_LINKS = 8  # of a gate to other pages of the site: its terms, its imprint; not swept
MAX_LOOKS = 3  # of these that are opened, to see that they lead nowhere else
MAX_PRESSES = 3  # of a gate that cannot be passed
MAX_GATES = 2  # one behind the other: terms of use, then the age
MIN_SAME_SHARE = (
    0.9  # of the texts of two pages that are the same page, but for the address that was asked for; not swept
)
HARMLESS_TYPES = {"hidden", "checkbox", "submit", "image", "button", "reset"}
UNKNOWN_PATH = "no-such-page-of-this-site"  # an address that nobody has made: a gate stands there, too
BY_HAND = "open it in your browser, and give its cookies with --cookies FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate that was passed, and how."""

    url: str  # of its page
    label: str  # of the button that was pressed
    form: FormKey
    button: int  # its number among the buttons of the form
    is_ticked: bool = False  # boxes were ticked that a browser does not insist on

    @property
    def mark(self) -> bytes:
        """What every page has that shows it."""
        path, names = self.form
        return (path.rpartition("/")[2] or max(names, key=len, default="") or "<form").encode()

    def as_dict(self) -> dict[str, Any]:
        """As `source.json` keeps it."""
        return {**asdict(self), "form": [self.form[0], sorted(self.form[1])]}

    @classmethod
    def of_dict(cls, saved: Mapping[str, Any]) -> "Gate":
        """The way back.

        >>> gate = Gate(url="http://x/gate", label="Enter", form=("/enter", frozenset(["token"])), button=0)
        >>> Gate.of_dict(gate.as_dict()) == gate
        True
        """
        path, names = saved["form"]
        return cls(**{**saved, "form": (str(path), frozenset(names))})

    def request_on(self, page: TagTree) -> Request | None:
        """What passes it on a page that shows it, with the tokens of that page; None where the page does not."""
        same = (
            press
            for form in forms.find(page)
            if _key(form, page) == self.form
            for gate, press in _presses(form, page)
            if (gate.button, gate.is_ticked) == (self.button, self.is_ticked)
        )
        return next(same, None)


def open_site(url: str, *, may_be_anything: bool = False) -> Steps[tuple[TagTree, list[Gate], str]]:
    """The start page of a site, the gates that were passed on the way to it, and what is to be said of one that was not."""
    response = yield Request(url=url)
    if not isinstance(response, Response):
        raise TypeError("a Request is answered by a Response")
    if not may_be_anything:
        check_start_page(response, url)
    home = read_page(response.body, response.url, response.headers)
    gates: list[Gate] = []
    while len(gates) < MAX_GATES and (yield from _stands_in_front(home, url)):
        passed = yield from _pass(home, url)
        if passed is None:
            return home, gates, f"{home.url} wants a button pressed, and pressing it leads nowhere: {BY_HAND}"
        gates.append(passed[0])
        home = passed[1]
    return home, gates, ""


def through_gates(
    steps: Generator[Request | BrowserVisit, Response | RenderedPage, T], gates: Sequence[Gate]
) -> Generator[Request | BrowserVisit, Response | RenderedPage, T]:
    """The same steps; a gate that comes up again, because a session has ended, is passed again, and what was asked for is asked once more."""
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
            press = press_again(gates, answer) if isinstance(answer, Response) else None
            if press is not None and isinstance(wanted, Request):
                yield press
                again = yield replace(wanted, query="", reuses=False)  # not from memory
                answer = replace(again, request=wanted) if isinstance(again, Response) else answer
        except (Unreachable, Forbidden, MissingExtra) as trouble:
            error = trouble


def press_again(gates: Iterable[Gate], answer: Response) -> Request | None:
    """What passes the gate that an answer shows; None where it shows none. Most pages do not even have a mark of one."""
    for gate in gates:
        if gate.mark in answer.body:
            press = gate.request_on(read_page(answer.body, answer.url, answer.headers))
            if press is not None:
                return press
    return None


def _stands_in_front(page: TagTree, url: str) -> Steps[bool]:
    """Whether a page is a gate: it is shown in place of another address, and what it links to leads nowhere else.

    Pages of an ordinary site may all have the same small form; then what they link to has it, too.
    """
    if not _presses_on(page) or len(_links(page)) > MAX_LINKS:
        return False
    is_shown_elsewhere = urlsplit(page.url).path != urlsplit(url).path
    known = {*_links(page), url, page.url}
    for address in (urljoin(page.url, f"/{UNKNOWN_PATH}"), *_links(page)[:MAX_LOOKS]):
        response = yield from fetch(Request(url=address))
        if response is None or not is_usable(response):
            continue
        other = read_page(response.body, response.url, response.headers)
        if _is_same_page(page, other):
            is_shown_elsewhere |= urlsplit(address).path != urlsplit(page.url).path
        elif not known.issuperset(_links(other)) or _form_keys(page) & _form_keys(other):
            return False
    return is_shown_elsewhere


def _pass(page: TagTree, url: str) -> Steps[tuple[Gate, TagTree] | None]:
    """Presses one button after the other, until the start address shows a page that leads somewhere."""
    known = {*_links(page), url, page.url}
    for gate, press in _presses_on(page)[:MAX_PRESSES]:
        yield from fetch(press)
        response = yield from fetch(Request(url=url))
        if response is None or not is_usable(response):
            continue
        behind = read_page(response.body, response.url, response.headers)
        if gate.request_on(behind) is None and (forms.find(behind) or not known.issuperset(_links(behind))):
            return gate, behind
    return None


def _presses_on(page: TagTree) -> list[tuple[Gate, Request]]:
    """What the buttons of a page send; nothing where one of its forms wants more than a press, or leads elsewhere."""
    found = forms.find(page)
    if any({field.type for field in form.fields} - HARMLESS_TYPES for form in found):
        return []
    if not all(is_same_host(form.action, page.url) for form in found):
        return []
    return [press for form in found for press in _presses(form, page)]


def _presses(form: Form, page: TagTree) -> Iterator[tuple[Gate, Request]]:
    """What each button of a form sends: with the boxes ticked that a browser insists on, then with all of them."""
    row = int(page.rows("form")[form.index])
    buttons = [field for field in form.fields if field.type in form_data.BUTTON_TYPES and field.choices]
    required = form_data.choose_required(page, form.fields)
    ticked = [replace(field, preset=field.choices) if field.type == "checkbox" else field for field in required]
    for is_ticked, fields in ((False, required), (True, ticked)):
        for number, button in enumerate(buttons if not is_ticked or ticked != required else ()):
            method, action, enctype = form_data.form_target(page, row, button)
            entries = form_data.entry_list(fields, button, form.charset)
            request = form_data.form_request(method, action, entries, charset=form.charset, enctype=enctype)
            sent = replace(request, passes_gate=True)
            label = " ".join(form_data.button_label(page, button.row).split())
            if acting_words(sent) or not words("consent_answers").issuperset(acting_words_in_label(label)):
                continue
            if is_same_host(action, page.url):
                gate = Gate(url=page.url, label=label, form=_key(form, page), button=number, is_ticked=is_ticked)
                yield gate, sent


def _key(form: Form, page: TagTree) -> FormKey:
    path = urlsplit(form.action).path
    return path if path != urlsplit(page.url).path else "", frozenset(field.name for field in form.fields)


def _form_keys(page: TagTree) -> set[FormKey]:
    return {_key(form, page) for form in forms.find(page)}


def _links(page: TagTree) -> list[str]:
    """The other pages of the site that a page links to."""
    found = dict.fromkeys(
        urldefrag(url)[0] for row, url in page.links() if is_page(url) and not acts(url, page.text(row))
    )
    return [url for url in found if is_on_site(url, page.url) and url != urldefrag(page.url)[0]]


def _is_same_page(one: TagTree, other: TagTree) -> bool:
    """Whether two pages say the same and have the same forms."""
    some, others = set(one.chunks), set(other.chunks)
    return len(some & others) >= MIN_SAME_SHARE * len(some | others) and _form_keys(one) == _form_keys(other)
