"""Try search interfaces: an interface returns records if words find items that neither its page nor a nonsense query shows.

item     distinguishable part of a page: the target of a link, or a longer text
decoy    interface that was tried and found nothing new
reach    the records behind an interface; interfaces with the same reach are one source
preset   value of a select or radio button in a search form; it may hide records
"""

import re
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urldefrag, urlsplit

import numpy as np

from upwell.discover import forms, interfaces
from upwell.discover.form_filters import only_changes_display
from upwell.discover.probe_words import nonsense, trial_words, words_of_links
from upwell.discover.steps import HOW_TO_LOG_IN, Steps, fetch, is_usable, with_fresh_tokens
from upwell.lexicon import argument_names as names
from upwell.lexicon.frequent_words import broad_queries
from upwell.lexicon.phrases import NOTHING_FOUND
from upwell.page.formats import is_json, json_value, read_page
from upwell.page.language import language_of
from upwell.page.tree import TagTree, read
from upwell.types import Form, FormInterface, IndexInterface, Response, SearchInterface, Via
from upwell.urls.arguments import spellings

__all__ = [
    "MIN_NEW_ITEMS",
    "Accepted",
    "TrialLimits",
    "Trials",
    "items_of_page",
    "items_of_response",
    "open_presets",
    "try_interface",
    "without_query",
]

MIN_TEXT_CHARS = 21  # length from which a text of a page is an item; shorter ones are labels
MIN_JSON_TEXT_CHARS = 3  # length from which a string in JSON is an item
MARKUP = re.compile(r"<[a-z][^<>]*>[^<]*<", re.I)  # in a string that contains HTML
MIN_NEW_ITEMS = 3  # new items that an answer needs; a record is at least a link and a text
# Words with the same response as nonsense, byte for byte, before an interface counts as a static file, unless it says that nothing was found.
MAX_STATIC_ANSWERS = 4
MAX_BROAD_WORDS = 3  # most frequent words of the language tried in the end
MAX_LINK_WORDS = 4  # words of the links of a page tried in addition, if its script sends the requests
FOR_MEMBERS = (
    "a login page",
    "login wall",
    "status 401",
    "status 403",
)  # refusals (`answers.kind.refusal`) of visitors
CHANGING_FACTOR = 2  # an answer needs more new items than this multiple of the difference between two nonsense answers


@dataclass(frozen=True, kw_only=True)
class TrialLimits:
    """Limits of the search for interfaces."""

    pages: int = 20  # pages opened besides the home page
    words: int = 9  # words tried before an interface counts as a decoy
    interfaces: int = 4  # interfaces tried per page
    setting_requests: int = 12  # requests to find presets that hide records
    values: int = 6  # values tried per select


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Interface that returns records, with the evidence."""

    interface: SearchInterface
    word: str = ""  # query that found records; "" if the interface is not queried with words
    items: frozenset[str] = frozenset()  # items of its answer that no other page has


@dataclass
class Trials:
    """State of the trials of a site's interfaces."""

    home: TagTree
    rng: np.random.Generator
    limits: TrialLimits
    pages: list[TagTree] = field(default_factory=list)  # the home page and the pages that were opened
    rendered: list[TagTree] = field(default_factory=list)  # those of `pages` that the browser rendered
    accepted: list[Accepted] = field(default_factory=list)
    decoys: list[SearchInterface] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)  # why requests were not sent
    left_out: list[str] = field(default_factory=list)  # interfaces that may change something or need a login, and why
    missing: list[str] = field(default_factory=list)  # why the browser was not used
    unused: list[str] = field(
        default_factory=list
    )  # what scripts requested and was not used; said if nothing else is found
    working_words: list[str] = field(default_factory=list)  # words that found records
    nonsense: list[str] = field(default_factory=list)  # nonsense queries that were sent
    nonsense_items: frozenset[str] = frozenset()  # items that the last interface shows for nonsense
    # data that may contain all records, although no query was seen to be answered from it
    unproven_index: IndexInterface | None = None
    is_static: bool = False  # an interface returned the same bytes for every query

    def ask(self, interface: SearchInterface, query: str, last_page: TagTree | None = None) -> Steps[Response | None]:
        """Return the answer of an interface to a query, sent with fresh tokens."""
        interface = yield from with_fresh_tokens(interface, last_page)
        return (yield from fetch(interfaces.fill(interface, query), self.forbidden))

    def leave_out(self, interface: SearchInterface) -> None:
        """Record an interface that is not queried because of its URL."""
        self.left_out.append(
            f"{interface.method} {interface.url} is not queried: it is on another site, or may change something"
        )

    def set_via(self, via: Via, page: str = "") -> None:
        """Record how the accepted interfaces were found; with `page`, only those of that page."""
        self.accepted = [
            replace(known, interface=replace(known.interface, via=via)) if page in ("", known.interface.page) else known
            for known in self.accepted
        ]


# Items


def items_of_page(page: TagTree) -> frozenset[str]:
    """Return the targets of a page's links and its longer texts."""
    targets = {urldefrag(url)[0] for _, url in page.links()} - {urldefrag(page.url)[0]}
    return frozenset([*targets, *(chunk for chunk in page.chunks if len(chunk) >= MIN_TEXT_CHARS)])


def items_of_response(response: Response) -> frozenset[str]:
    """Return the items of an answer; for JSON, its strings."""
    if not is_json(response.body, response.headers.get("Content-Type", "")):
        return items_of_page(read_page(response.body, response.url, response.headers))
    try:
        waiting: list[object] = [json_value(response.body)]
    except (ValueError, RecursionError):
        return frozenset()
    texts: set[str] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and MARKUP.search(value):  # a part of a page
            texts |= items_of_page(read(value, url=response.url))
        elif isinstance(value, str) and len(value) >= MIN_JSON_TEXT_CHARS:
            texts.add(value)
    return frozenset(texts)


def without_query(items: frozenset[str], query: str = "") -> frozenset[str]:
    """Remove the query from items, because an answer that only repeats the query shows nothing new.

    If the query is the whole value of an argument, the argument is removed too: links that sort a list occur with and without it.
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


# Trials


def try_interface(trials: Trials, interface: SearchInterface, page: TagTree, typed_word: str = "") -> Steps[bool]:
    """Return True if an interface of `page` returns records: words must find items that neither the page nor nonsense shows.

    Madhavan et al. 2008 §4 require distinct answers. Here they must be distinct from the page itself too, because a box that filters
    the page's own list gives distinct answers without more records. If the interface is a request observed while `typed_word` was typed,
    another word must find something: the typed word may be in the URL by chance.
    """
    page_items = items_of_page(page)
    if isinstance(interface, FormInterface) and interface.choices:
        return (yield from _try_choices(trials, interface, page_items))
    trials.nonsense = trials.nonsense or list(nonsense(trials.rng, 2, language_of(trials.home)))
    for_nonsense: list[frozenset[str]] = []
    answer_path = ""
    bodies: set[bytes] = set()
    answers = 0
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
    words = trial_words(page, trials.home, trials.working_words, trials.limits.words)
    if interface.via == "browser":
        words += words_of_links(page, MAX_LINK_WORDS)
    words += broad_queries(language_of(trials.home))[-MAX_BROAD_WORDS:]  # the words of the site may occur in no record
    for word in dict.fromkeys(words):
        if word == typed_word or len(word) < interface.min_chars:
            continue
        interface = yield from with_fresh_tokens(interface, last_page)
        answer = yield from fetch(interfaces.fill(interface, word), trials.forbidden)
        if answer is None or not is_usable(answer):
            continue
        bodies.add(answer.body)
        answers += 1
        last_page = read_page(answer.body, answer.url, answer.headers)
        if (
            len(bodies) == 1
            and answers == MAX_STATIC_ANSWERS
            and any(for_nonsense)  # an answer without anything says that nothing was found
            and not any(map(NOTHING_FOUND.search, last_page.chunks))
        ):
            trials.is_static = True
            break
        if trials.accepted and urlsplit(answer.url).path != answer_path:
            continue  # a redirect to the only match does not show which records this interface reaches
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
    """Return True if an accepted interface returns most of the items that a word found."""
    for known in list(trials.accepted):
        known_items = known.items
        if known.word != word and not known.interface.choices:
            answer = yield from trials.ask(known.interface, word)
            known_items = without_query(items_of_response(answer), word) if answer is not None else frozenset()
        if len(items & known_items) * 2 > min(len(items), len(known_items)):
            return True
    return False


def _try_choices(trials: Trials, interface: FormInterface, page_items: frozenset[str]) -> Steps[bool]:
    """Try a form without text field: its choices must give distinct answers with new items."""
    step = max(1, len(interface.choices) // trials.limits.values)
    tried = interface.choices[::step][: trials.limits.values]
    answers: list[frozenset[str]] = []
    for value in tried:
        answer = yield from fetch(interfaces.fill(interface, value), trials.forbidden)
        if answer is not None and is_usable(answer):
            new = items_of_response(answer) - page_items
            for (
                echoed
            ) in tried:  # remove all values from every answer, so that an echoed value does not make it distinct
                new = without_query(new, echoed)
            answers.append(new)
    if not interfaces.are_informative(answers) or max(map(len, answers)) < 2:
        trials.decoys.append(interface)
        return False
    trials.accepted.append(Accepted(interface=interface, items=frozenset().union(*answers)))
    return True


# Presets that hide records


def open_presets(trials: Trials, form: Form, page: TagTree) -> Steps[None]:
    """Try other values of the form that was accepted last (Entity §3: on 6 % of sites a preset hides records).

    A setting with an "any" value that returns more is set to it; otherwise values that return other records become sources of their own.
    """
    accepted = trials.accepted[-1]
    interface, word = accepted.interface, accepted.word
    if not isinstance(interface, FormInterface):
        return
    known_items = without_query(items_of_page(page) | trials.nonsense_items, word)
    requests_left = trials.limits.setting_requests
    for name, values in interfaces.settings(form):
        preset = dict(interface.fields).get(name)
        if preset is None or preset.lower() in names.ANY_VALUES or only_changes_display(name, values):
            continue
        any_values = [value for value in values if value.lower() in names.ANY_VALUES]
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


def _have_same_records(
    trials: Trials, interface: SearchInterface, other: SearchInterface, known_items: frozenset[str]
) -> Steps[bool]:
    """Return True if two settings show the same for an empty query: they choose which fields are searched, not which records."""
    shown = []
    for each in (interface, other):
        answer = yield from trials.ask(each, "")
        items = items_of_response(answer) if answer is not None and answer.status < 400 else frozenset()
        shown.append(without_query(items) - known_items)
    return len(shown[0] & shown[1]) * 2 > max(map(len, shown)) > 2
