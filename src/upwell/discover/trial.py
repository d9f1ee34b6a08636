"""Trying a search interface: its answers must show items that neither its page nor an answer to nonsense shows.

items    what a page shows that can be told apart (`site.items`)
decoy    an interface that was tried and brought nothing new
reach    which records are behind an interface; two interfaces with the same reach are one source
"""

import json
import re
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urldefrag, urlsplit

import numpy as np

from upwell.discover import forms, interfaces
from upwell.discover.probe_words import nonsense, trial_words
from upwell.discover.steps import HOW_TO_LOG_IN, Steps, fetch, with_fresh_tokens
from upwell.page.formats import is_json, read_page
from upwell.page.language import language_of
from upwell.page.tree import TagTree
from upwell.types import FormInterface, IndexInterface, Response, SearchInterface, Via
from upwell.urls.arguments import spellings

__all__ = [
    "Accepted",
    "Limits",
    "Trials",
    "is_usable",
    "items_of_page",
    "items_of_response",
    "try_interface",
    "without_query",
]

# --- What an answer shows that can be told apart: its items are the targets of links and longer texts.

MIN_TEXT_CHARS = 21  # of a text on a page: shorter ones are labels
MIN_JSON_TEXT_CHARS = 3


def items_of_page(page: TagTree) -> frozenset[str]:
    """The targets of a page's links and its longer texts."""
    targets = {urldefrag(address)[0] for _, address in page.links()} - {urldefrag(page.url)[0]}
    return frozenset([*targets, *(chunk for chunk in page.chunks if len(chunk) >= MIN_TEXT_CHARS)])


def items_of_response(response: Response) -> frozenset[str]:
    """The items of an answer; of JSON, its texts."""
    if not is_json(response.body, response.headers.get("Content-Type", "")):
        return items_of_page(read_page(response.body, response.url, response.headers))
    try:
        waiting: list[object] = [json.loads(response.body)]
    except (ValueError, RecursionError):
        return frozenset()
    texts = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and len(value) >= MIN_JSON_TEXT_CHARS:
            texts.add(value)
    return frozenset(texts)


def without_query(items: frozenset[str], query: str = "") -> frozenset[str]:
    """Items with the query taken out of them: an answer that only repeats the query shows nothing new.

    Where the query is the whole value of an argument, the argument goes too: links that sort a list come with and without it.
    """
    if not query:
        return frozenset(unquote(item.lower()) for item in items)
    spelled = spellings(query)
    any_spelling = "|".join(map(re.escape, sorted(spelled)))
    argument = re.compile(rf"(?<=[?&;])[^=&;?#]*=(?:{any_spelling})(?:[&;]|(?=#)|$)")
    stripped = set()
    for item in items:
        text = item.lower()
        if "?" in text:
            text = argument.sub("", text).rstrip("?&;")
        for spelling in spelled:
            text = text.replace(spelling, "")
        stripped.add(unquote(text))
    return frozenset(stripped)


# --- (main part)

MIN_NEW_ITEMS = 3  # a record is a link and a text at least
MAX_STATIC_ANSWERS = (
    4  # words that bring the same bytes as nonsense, before a file is taken to answer whatever is asked
)
FOR_MEMBERS = (
    "a login page",
    "login wall",
    "status 401",
    "status 403",
)  # as `answers.refusal` names what only members get past
CHANGING_FACTOR = 2  # new items must be more than this many times what differs between two answers to nonsense


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far the search for interfaces goes."""

    pages: int = 20  # that are opened besides the home page
    words: int = 9  # that an interface is asked for before it counts as a decoy
    interfaces: int = 4  # of one page that are tried
    setting_requests: int = 12  # to see whether presets of a form hide records
    values: int = 6  # of a select that are tried


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """An interface that brings records, and what showed it."""

    interface: SearchInterface
    word: str = ""  # that was asked for; "" where it is not asked by words
    items: frozenset[str] = frozenset()  # that the answer had and other pages had not


@dataclass
class Trials:
    """What trying the interfaces of a site has shown so far."""

    home: TagTree
    rng: np.random.Generator
    limits: Limits
    pages: list[TagTree] = field(default_factory=list)  # the home page and those that were opened
    rendered: list[TagTree] = field(default_factory=list)  # those of them that the browser showed
    accepted: list[Accepted] = field(default_factory=list)
    decoys: list[SearchInterface] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)  # why requests were not sent
    left_out: list[str] = field(default_factory=list)  # forms and declared searches that may change something, and why
    missing: list[str] = field(default_factory=list)  # why the browser was not used
    working_words: list[str] = field(default_factory=list)  # that brought records
    nonsense: list[str] = field(default_factory=list)  # that was asked
    nonsense_items: frozenset[str] = frozenset()  # that the last interface shows for nonsense
    unproven_index: IndexInterface | None = (
        None  # data that may be all records, though no query was seen to be answered from it
    )
    is_static: bool = False  # an interface gave the same bytes whatever was asked

    def ask(self, interface: SearchInterface, query: str, last_page: TagTree | None = None) -> Steps[Response | None]:
        """The answer of an interface to a query, with fresh tokens."""
        interface = yield from with_fresh_tokens(interface, last_page)
        return (yield from fetch(interfaces.fill(interface, query), self.forbidden))

    def leave_out(self, interface: SearchInterface) -> None:
        """Notes an interface that is not asked because its address may change something."""
        self.left_out.append(
            f"{interface.method} {interface.url} is not asked: it is on another site, or may change something"
        )

    def set_via(self, via: Via, page: str = "") -> None:
        """Notes how the accepted interfaces were found; where a page is given, those of this page."""
        self.accepted = [
            replace(known, interface=replace(known.interface, via=via)) if page in ("", known.interface.page) else known
            for known in self.accepted
        ]


def is_usable(answer: Response | None) -> bool:
    """Whether an answer can show records."""
    return answer is not None and answer.status < 400 and not answer.blocked


def try_interface(trials: Trials, interface: SearchInterface, page: TagTree, typed_word: str = "") -> Steps[bool]:
    """Whether an interface of a page brings records: words must bring items that neither the page nor nonsense brings.

    Madhavan et al. 2008 §4 asks for distinct answers; departs from it: distinct from the page itself too, because a box that
    filters the page's own list answers distinctly and holds nothing more. Where the interface is a request that was seen when
    a word was typed, another word must bring something: the typed one may be in the address by chance.
    """
    page_items = items_of_page(page)
    if isinstance(interface, FormInterface) and interface.choices:
        return (yield from _try_choices(trials, interface, page_items))
    trials.nonsense = trials.nonsense or list(nonsense(trials.rng, 2, language_of(trials.home)))
    for_nonsense: list[frozenset[str]] = []
    answer_path = ""
    bodies: set[bytes] = set()
    static_answers = 0
    last_page = page
    for query in trials.nonsense:
        interface = yield from with_fresh_tokens(interface, last_page)
        answer = yield from fetch(interfaces.fill(interface, query), trials.forbidden)
        if answer is not None and not answer.blocked:
            last_page = read_page(answer.body, answer.url, answer.headers)
            if forms.asks_for_password(last_page) and not forms.asks_for_password(page):
                answer = replace(answer, blocked="a login page")
        if answer is None or answer.blocked:
            trials.decoys.append(interface)
            if answer is not None and answer.blocked in FOR_MEMBERS:
                trials.left_out.append(
                    f"{interface.method} {interface.url} is for members ({answer.blocked}): {HOW_TO_LOG_IN}"
                )
            return False
        for_nonsense.append(without_query(items_of_response(answer), query))
        answer_path = urlsplit(answer.url).path
        bodies.add(answer.body)
    trials.nonsense_items = for_nonsense[0] | for_nonsense[1]
    changing = len(for_nonsense[1] - for_nonsense[0] - without_query(page_items))
    for word in trial_words(page, trials.home, trials.working_words, trials.limits.words):
        if word == typed_word or len(word) < interface.min_chars:
            continue
        interface = yield from with_fresh_tokens(interface, last_page)
        answer = yield from fetch(interfaces.fill(interface, word), trials.forbidden)
        if answer is None or not is_usable(answer):
            continue
        bodies.add(answer.body)
        static_answers += 1
        if len(bodies) == 1 and static_answers == MAX_STATIC_ANSWERS:
            trials.is_static = True
            break
        last_page = read_page(answer.body, answer.url, answer.headers)
        if trials.accepted and urlsplit(answer.url).path != answer_path:
            continue  # the site went to the only match by itself: that does not say which records are behind this interface
        known_items = page_items | trials.nonsense_items
        new = without_query(items_of_response(answer), word) - without_query(known_items, word)
        if len(new) >= CHANGING_FACTOR * changing + MIN_NEW_ITEMS:
            if (yield from _has_known_reach(trials, word, new)):
                return False
            trials.accepted.append(Accepted(interface=interface, word=word, items=new))
            trials.working_words += [word] if word not in trials.working_words else []
            return True
    trials.decoys.append(interface)
    return False


def _has_known_reach(trials: Trials, word: str, items: frozenset[str]) -> Steps[bool]:
    """Whether most of what a word brought comes through an accepted interface too."""
    for known in list(trials.accepted):
        known_items = known.items
        if known.word != word and not known.interface.choices:
            answer = yield from trials.ask(known.interface, word)
            known_items = without_query(items_of_response(answer), word) if answer is not None else frozenset()
        if len(items & known_items) * 2 > min(len(items), len(known_items)):
            return True
    return False


def _try_choices(trials: Trials, interface: FormInterface, page_items: frozenset[str]) -> Steps[bool]:
    """A form without text: its choices must bring distinct answers with something new in them."""
    step = max(1, len(interface.choices) // trials.limits.values)
    tried = interface.choices[::step][: trials.limits.values]
    answers: list[frozenset[str]] = []
    for value in tried:
        answer = yield from fetch(interfaces.fill(interface, value), trials.forbidden)
        if answer is not None and is_usable(answer):
            new = items_of_response(answer) - page_items
            for echoed in tried:  # out of every answer, or a value would tell it from the others
                new = without_query(new, echoed)
            answers.append(new)
    if not interfaces.are_informative(answers) or max(map(len, answers)) < 2:
        trials.decoys.append(interface)
        return False
    trials.accepted.append(Accepted(interface=interface, items=frozenset().union(*answers)))
    return True
