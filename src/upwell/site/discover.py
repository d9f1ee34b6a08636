"""Finding the ways in to a site: what the home page offers, tried; else a few pages away; else in the browser.

No request is sent here: the functions are generators that yield what they want to see (a Request, or a Look in the browser)
and are sent what came. Whoever drives them owns the network (`loop.drive`), and a test can answer from a dictionary.
"""

import re
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.refusal import refusal
from upwell.errors import Forbidden, MissingExtra, Unreachable
from upwell.model import (
    Form,
    FormInterface,
    JsonInterface,
    Look,
    Request,
    Response,
    SearchInterface,
    Seen,
)
from upwell.page.data import read_page
from upwell.page.links import acts
from upwell.page.tree import TagTree, read
from upwell.queries.words import nonsense
from upwell.site import declared, forms, interfaces, page_links
from upwell.site.interface_trial import answered, shown, without, words
from upwell.site.script_requests import of_call

__all__ = ["Browser", "Discovery", "Limits", "fresh", "look"]

Browser = Literal["auto", "never", "always"]
ANY = ("", "all", "any", "*", "everything", "alle", "tout", "tous", "todos", "0", "-1")
# Settings that change how matches are shown, not which there are.
SHOWN = (
    "sort",
    "order",
    "dir",
    "max",
    "limit",
    "count",
    "size",
    "per",
    "num",
    "rows",
    "format",
    "view",
    "display",
    "lang",
    "style",
    "theme",
    "page",
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far the search for a way in goes."""

    pages: int = 20  # opened besides the home page; the "about 20"
    words: int = 9  # asked of an interface before it counts as one that finds nothing
    ways: int = 4  # interfaces of one page that are tried
    settings: int = 12  # requests to see whether a default hides records
    values: int = 6  # of a select that are tried


@dataclass
class Discovery:
    """What was found: the home page, the interfaces that brought matches (best first), and what else was seen."""

    home: TagTree
    found: list[SearchInterface] = field(default_factory=list)
    decoys: list[SearchInterface] = field(default_factory=list)  # tried, and brought nothing that was not there before
    opened: list[str] = field(default_factory=list)  # pages besides the home page
    refused: str = ""  # why an interface could not be tried, where something forbade it
    words: list[str] = field(default_factory=list)  # that brought matches
    background: list[str] = field(default_factory=list)  # nonsense that was asked
    again: tuple[str, ...] = ()  # what to ask first, where a harvest is refreshed
    nothing: frozenset[str] = frozenset()  # what the last interface that was tried shows for nonsense
    reach: list[tuple[str, frozenset[str]]] = field(
        default_factory=list
    )  # for each found: the word and what it brought


def look(
    url: str, rng: np.random.Generator, browser: Browser = "auto", limits: Limits | None = None
) -> Generator[Request | Look, Response | Seen, Discovery]:
    """All interfaces that reach records, best first; without one, the untried or failed ones of the home page, at half their score."""
    limits = limits or Limits()
    home = yield Request(url=url)
    if not isinstance(home, Response):
        raise TypeError("a Request is answered by a Response")
    if home.status >= 400:
        raise Unreachable(f"{url} answered with status {home.status}; is the address right?")
    if home.status >= 300 and home.headers.get("Location"):
        raise Unreachable(f"{url} has moved to {home.headers['Location']}, which is another site; name that one")
    ways = Discovery(read_page(home.body, home.url, home.headers))
    if browser != "always":
        yield from _page(ways, ways.home, limits, rng)
        if not ways.found:
            yield from _around(ways, limits, rng)
    if browser == "always" or (browser == "auto" and not ways.found):
        yield from _rendered(ways, limits, rng)
    if ways.found:
        return ways
    if ways.refused:
        raise Forbidden(ways.refused)
    ways.found = [replace(t, score=round(t.score / 2, 3)) for t in ways.decoys if t.page in ("", ways.home.url)]
    return ways


def fresh(
    template: SearchInterface, tree: TagTree | None
) -> Generator[Request | Look, Response | Seen, SearchInterface]:
    """The template with tokens that the site takes: those of the last answer, else of the page of the form, fetched again."""
    if not isinstance(template, FormInterface) or not template.tokens:
        return template
    renewed = interfaces.refresh(template, tree) if tree is not None else None
    if renewed is None and template.page:
        page = yield from _get(Request(url=template.page))
        renewed = (
            interfaces.refresh(template, read_page(page.body, page.url, page.headers)) if page is not None else None
        )
    return renewed or template


def _page(
    ways: Discovery, tree: TagTree, limits: Limits, rng: np.random.Generator, via: str = ""
) -> Generator[Request | Look, Response | Seen, None]:
    """Tries what one page offers."""
    offered = list(interfaces.find(tree))
    for address in declared.descriptions(tree)[:2]:
        if page_links.inside(address, ways.home.url):
            document = yield from _get(Request(url=address))
            if document is not None and document.status == 200:
                offered += declared.opensearch(document.body, document.url)
    judged = forms.find(tree)
    tried = 0
    for template in offered:
        known = (*ways.found, *ways.decoys)
        if any(interfaces.same_interface(template, other) for other in known) or not _harmless(template, ways.home.url):
            continue
        if tried >= limits.ways:
            break
        tried += 1
        form = next(
            (
                f
                for f in judged
                if template.via == "form"
                and f.kind == "search"
                and interfaces.same_interface(template, interfaces.of_form(f, tree))
            ),
            None,
        )
        found = yield from _try(ways, template, tree, limits, rng)
        if not found and form is not None:
            for other in interfaces.texts(form)[1:3]:
                second = interfaces.of_form(form, tree, other)
                if second is not None and not found:
                    found = yield from _try(ways, second, tree, limits, rng)
        if found and form is not None and not template.choices:
            yield from _settings(ways, form, tree, limits)
        if found and via:
            for i, one in enumerate(ways.found):
                if one.page == tree.url:
                    ways.found[i] = replace(one, via="link")


def _harmless(template: SearchInterface, home: str) -> bool:
    """On the site itself, and not by its address something that acts."""
    spoken = forms.SEARCH.search(urlsplit(template.url).path)
    return page_links.inside(template.url, home) and (bool(spoken) or not acts(template.url))


def _around(
    ways: Discovery, limits: Limits, rng: np.random.Generator
) -> Generator[Request | Look, Response | Seen, None]:
    """Opens pages one and two clicks away: search-like links first, then sections; none deeper once a way is found."""
    waiting = [
        (not spoken, 1, address) for spoken, address in page_links.onward(ways.home) if address not in ways.opened
    ]
    known = {*ways.opened, *(address for _, _, address in waiting)}
    while waiting and len(ways.opened) < limits.pages:
        waiting.sort(key=lambda link: link[:2])
        _, clicks, address = waiting.pop(0)
        response = yield from _get(Request(url=address))
        ways.opened.append(address)
        if response is None or response.status != 200 or "html" not in response.headers.get("Content-Type", "html"):
            continue
        tree = read_page(response.body, response.url, response.headers)
        yield from _page(ways, tree, limits, rng, via="link")
        if clicks == 1 and not ways.found:
            more = [(s, a) for s, a in page_links.onward(tree) if a not in known]
            known.update(address for _, address in more)
            waiting += [(not spoken, 2, address) for spoken, address in more[: limits.pages]]


# -- trying ------------------------------------------------------------------------------------------------------------------


def _try(
    ways: Discovery, template: SearchInterface, tree: TagTree, limits: Limits, rng: np.random.Generator, typed: str = ""
) -> Generator[Request | Look, Response | Seen, bool]:
    """Whether an interface brings records: what words bring must be new, beside what the page shows and what nonsense brings.

    Madhavan et al. 2008 §4 asks for distinct answers; departs from it: distinct from the page itself too, because a box that
    filters the page's own list answers distinctly and holds nothing more. Of an address that was seen when a word was `typed`,
    another word must bring something: the word may be in it by chance.
    """
    base = shown(tree)
    if isinstance(template, FormInterface) and template.choices:
        return (yield from _try_values(ways, template, base, limits))
    none: list[frozenset[str]] = []
    where = ""
    last: TagTree | None = tree
    ways.background = ways.background or list(nonsense(rng, 2))
    for query in ways.background:
        template = yield from fresh(template, last)
        answer = yield from _get(interfaces.fill(template, query), ways)
        if answer is None or answer.blocked:
            ways.decoys.append(template)
            return False
        last = read_page(answer.body, answer.url, answer.headers)
        none.append(without(answered(answer), query))
        where = urlsplit(answer.url).path
    ways.nothing = none[0] | none[1]
    noise = len(none[1] - none[0] - without(base))
    for word in words(tree, ways.home, ways.words, limits.words):
        if word == typed:
            continue
        template = yield from fresh(template, last)
        answer = yield from _get(interfaces.fill(template, word), ways)
        if answer is None or answer.status >= 400 or answer.blocked:
            continue
        last = read_page(answer.body, answer.url, answer.headers)
        if ways.found and urlsplit(answer.url).path != where:
            continue  # the site went to the only match by itself: that does not say which records are behind this door
        new = without(answered(answer), word) - without(base | none[0] | none[1], word)
        if len(new) > 2 * noise + 2:  # a match is a link and a text at least
            if (yield from _known(ways, word, new)):
                return False
            ways.found.append(template)
            ways.reach.append((word, new))
            ways.words += [word] if word not in ways.words else []
            return True
    ways.decoys.append(template)
    return False


def _known(ways: Discovery, word: str, new: frozenset[str]) -> Generator[Request | Look, Response | Seen, bool]:
    """Whether what a word brought is mostly what it brings through an interface that is known: another door to the same room."""
    for other, (known, reached) in list(zip(ways.found, ways.reach, strict=True)):
        if known != word and not other.choices:
            answer = yield from _get(interfaces.fill((yield from fresh(other, None)), word), ways)
            reached = without(answered(answer), word) if answer is not None else frozenset()
        if len(new & reached) * 2 > min(len(new), len(reached)):
            return True
    return False


def _try_values(
    ways: Discovery, template: FormInterface, base: frozenset[str], limits: Limits
) -> Generator[Request | Look, Response | Seen, bool]:
    """A form without text: its values must bring distinct answers with something new in them."""
    step = max(1, len(template.choices) // limits.values)
    tried = template.choices[::step][: limits.values]
    seen: list[frozenset[str]] = []
    for value in tried:
        answer = yield from _get(interfaces.fill(template, value), ways)
        if answer is not None and answer.status < 400 and not answer.blocked:
            new = answered(answer) - base
            for echoed in tried:  # out of every answer, or a value would tell it from the others
                new = without(new, echoed)
            seen.append(new)
    good = interfaces.informative(seen) and max(map(len, seen)) > 1
    (ways.found if good else ways.decoys).append(template)
    if good:
        ways.reach.append(("", frozenset().union(*seen)))
    return good


def _settings(
    ways: Discovery, form: Form, tree: TagTree, limits: Limits
) -> Generator[Request | Look, Response | Seen, None]:
    """Whether a default hides records (Entity §3: 6 % of sites): then "any" is set, or each value is a source of its own."""
    template, (word, held) = ways.found[-1], ways.reach[-1]
    if not isinstance(template, FormInterface):
        return
    base, left = without(shown(tree) | ways.nothing, word), limits.settings
    for name, values in interfaces.settings(form):
        default = dict(template.fields).get(name)
        if default is None or default.lower() in ANY or any(shown in name.lower() for shown in SHOWN):
            continue
        wide = [value for value in values if value.lower() in ANY]
        others = wide or [value for value in values if value != default][: limits.values]
        apart: list[tuple[SearchInterface, frozenset[str]]] = []
        for value in others[:left]:
            left -= 1
            set_so = replace(template, fields=tuple((n, value if n == name else v) for n, v in template.fields))
            answer = yield from _get(interfaces.fill((yield from fresh(set_so, None)), word), ways)
            if answer is None or answer.status >= 400 or answer.blocked:
                continue
            new = without(answered(answer), word) - base
            if wide and len(new - held) > 1:
                ways.found[-1], ways.reach[-1] = set_so, (word, new)
                break
            if len(new - held) * 2 > len(new) > max(2, len(held) / 10):
                apart.append((set_so, new))
        if apart and (yield from _one_room(ways, template, apart[0][0], base)):
            continue
        if apart and interfaces.informative([held, *(new for _, new in apart)]):
            ways.found += [one for one, _ in apart]
            ways.reach += [(word, new) for _, new in apart]
            return  # one setting at a time, never the cross product (Madhavan et al. 2008 §5)


def _one_room(
    ways: Discovery, one: SearchInterface, other: SearchInterface, base: frozenset[str]
) -> Generator[Request | Look, Response | Seen, bool]:
    """Whether two settings show the same where nothing is asked: then they choose what is searched in a record, not which records."""
    seen = []
    for template in (one, other):
        answer = yield from _get(interfaces.fill((yield from fresh(template, None)), ""), ways)
        seen.append(without(answered(answer)) - base if answer is not None and answer.status < 400 else frozenset())
    return len(seen[0] & seen[1]) * 2 > max(map(len, seen)) > 2


# -- the browser -------------------------------------------------------------------------------------------------------------


def _rendered(
    ways: Discovery, limits: Limits, rng: np.random.Generator
) -> Generator[Request | Look, Response | Seen, None]:
    """What exists only after JavaScript: a form that can be sent plainly, the request that typing a query makes, else links to other pages."""
    seen = yield from _show(Look(url=ways.home.url))
    if seen is None:
        return
    tree = ways.home = read(seen.html, url=seen.url)  # the plain page may be an empty shell
    before = len(ways.found)
    yield from _page(ways, tree, limits, rng)
    ways.found[before:] = [replace(one, via="browser") for one in ways.found[before:]]
    if not ways.found:
        yield from _typed(ways, seen.url, limits, rng)
    if not ways.found:
        yield from _around(ways, limits, rng)


def _typed(
    ways: Discovery, url: str, limits: Limits, rng: np.random.Generator
) -> Generator[Request | Look, Response | Seen, None]:
    """What typing into the rendered home page asks for: a request of its own, or an address that must be rendered."""
    tree = ways.home
    tried: set[tuple[str, str, str]] = set()
    for word in words(tree, tree, ways.words, limits.words)[:3]:
        typed = yield from _show(Look(url=ways.home.url, query=word))
        if typed is None:
            return
        for call in typed.calls:
            template = of_call(call, word)
            if (
                template is None
                or not _harmless(template, ways.home.url)
                or any(interfaces.same_interface(template, t) for t in ways.decoys)
            ):
                continue
            # a script may fetch every match, with the word in its address
            body = template.body if isinstance(template, JsonInterface) else ""
            shape = re.sub(r"\d+", "#", template.url), template.query_field, body
            if shape in tried or len(tried) >= limits.ways:
                continue
            tried.add(shape)
            if (yield from _try(ways, template, tree, limits, rng, word)):
                return
        if typed.url != url and (template := of_call(Request(url=typed.url), word)) is not None:
            (other,) = nonsense(rng, 1)
            nothing = yield from _show(Look(url=interfaces.fill(template, other).url))
            if nothing is None or not _harmless(template, ways.home.url):
                return
            none = without(shown(read(nothing.html, url=nothing.url)), other)
            new = without(shown(read(typed.html, url=typed.url)), word) - without(shown(tree) | none, word)
            if len(new) > 2:
                ways.found.append(replace(template, rendered=True))
                return


# -- small things ------------------------------------------------------------------------------------------------------------


def _get(
    request: Request, ways: Discovery | None = None
) -> Generator[Request | Look, Response | Seen, Response | None]:
    """One answer; None where it cannot be had."""
    try:
        answer = yield request
    except Forbidden as error:
        if ways is not None:
            ways.refused = str(error)
        return None
    except Unreachable:
        return None
    return replace(answer, blocked=refusal(answer)) if isinstance(answer, Response) else None


def _show(wanted: Look) -> Generator[Request | Look, Response | Seen, Seen | None]:
    """What the browser shows; None where it cannot, or where there is none."""
    try:
        shown = yield wanted
    except (Unreachable, Forbidden, MissingExtra):
        return None
    return shown if isinstance(shown, Seen) else None
