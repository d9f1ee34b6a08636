"""Which URL arguments of links to records say nothing about the record: a session, the query, its rank, the page it was listed on.

`answers.roles` learns the same for addresses of answers. Here the links to records are compared, so that one record has
one address whatever answer it was found on.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from upwell.answers.next_page import next_button, next_page
from upwell.answers.pager import next_link
from upwell.answers.totals import stated_matches
from upwell.lexicon import argument_names as names
from upwell.page.links import is_page
from upwell.page.tree import TagTree
from upwell.urls.arguments import SplitUrl, split_url, without_arguments
from upwell.urls.hosts import leaves_site, site_host

__all__ = ["Argument", "Role", "RoleParams", "Roles", "learn_roles", "not_identifying"]

# --- Roles of a source's URL arguments: which carry the query, filter, turn pages, sort, or only say how things are shown.
#
#     prevalence   r(a, v): the share of answers that have a link with a = v; r(a): its mean over the values of a (Entity §6.3.3)
#     role         query, page, sort, filter, tracking, session, display or unknown
#     irrelevant   changing it does not change which records match: page, sort, display, tracking, session
#
# Entity §6 takes prevalence over a threshold as irrelevant; departs from it: constants that select (`wiki=on`, `profile=all`) are as
# prevalent as those that do not, so an argument beside the query is irrelevant only where something says what it is for.

Role = Literal["query", "page", "sort", "filter", "tracking", "session", "display", "unknown"]
IRRELEVANT = frozenset(("page", "sort", "display", "tracking", "session"))


@dataclass(frozen=True, kw_only=True)
class RoleParams:
    """When an argument is irrelevant."""

    prevalence: float = 0.1  # Entity §6.3.3: 0.1; here only for what never stands beside the query
    least: int = 3  # answers that have a value, in the mean, before prevalence says anything
    changing: float = 0.8  # share of answers with a value of their own that makes a token; not swept
    pages: int = 300  # answers that are looked at; the roles of the twelve applications are stable from 20 on


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What was learned of one argument."""

    role: Role
    prevalence: float
    why: str  # what spoke for the role

    @property
    def irrelevant(self) -> bool:
        """Whether addresses that differ only in it ask for the same records."""
        return self.role in IRRELEVANT


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The arguments of a source by name; `query` is the one that carries what is asked for ("" where none was found)."""

    query: str = ""
    arguments: dict[str, Argument] = field(default_factory=dict)
    places: frozenset[str] = frozenset()  # where answers come from

    @cached_property
    def irrelevant(self) -> frozenset[str]:
        """The names of irrelevant arguments."""
        return frozenset(name for name, argument in self.arguments.items() if argument.irrelevant)

    @cached_property
    def ordering(self) -> frozenset[str]:
        """The names of arguments that choose the order of the records."""
        return frozenset(name for name, argument in self.arguments.items() if argument.role == "sort")

    def as_dict(self) -> dict[str, Any]:
        """As a source model keeps it."""
        known = {name: [a.role, a.prevalence, a.why] for name, a in self.arguments.items()}
        return {"query": self.query, "arguments": known, "places": sorted(self.places)}

    @classmethod
    def of_dict(cls, kept: Mapping[str, Any]) -> "Roles":
        """The way back."""
        known = {n: Argument(role=role, prevalence=r, why=why) for n, (role, r, why) in kept["arguments"].items()}
        return cls(query=kept["query"], arguments=known, places=frozenset(kept["places"]))

    def filters(self, address: SplitUrl) -> list[tuple[str, str]]:
        """The arguments of an address that narrow the query."""
        return [
            (name, value)
            for name, value in address.arguments
            if value and name != self.query and name not in self.irrelevant
        ]


@dataclass
class _Seen:
    """What was seen of one argument."""

    values: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    beside: int = 0  # addresses that carry the query too
    links: int = 0
    exports: int = 0
    steps: set[str] = field(default_factory=set)  # values in links to the next page
    turned: int = 0  # links to the next page that change it
    pressed: int = 0  # buttons for the next page that have its name
    asked: int = 0  # answers whose own address has it
    by_page: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    controls: Counter[str] = field(default_factory=Counter)  # hidden, shown, button
    echoes: int = 0  # values that hold the query
    texts: Counter[str] = field(default_factory=Counter)
    offered: set[str] = field(default_factory=set)  # options of a select
    counted: int = 0  # links that set it and have a number behind them


def learn_roles(
    answers: Sequence[TagTree], queries: Sequence[str] = (), *, query_field: str = "", params: RoleParams | None = None
) -> Roles:
    """Learns the roles from answers of one source, with the queries that brought them where they are known."""
    params = params or RoleParams()
    step = max(1, len(answers) // params.pages)
    pages = [(tree, (queries[i] if i < len(queries) else "").strip()) for i, tree in enumerate(answers)][::step]
    name = query_field or _query_argument(pages)
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    for i, (tree, query) in enumerate(pages):
        _look(seen, i, tree, query, name)
    with_query = sum(
        1 for tree, query in pages if name and any(n == name for n, _ in split_url(tree.url, query).arguments)
    )
    arguments = {}
    for found, facts in seen.items():
        if found.startswith("/") and not facts.beside:
            continue  # a number in a path that has nothing to do with the search is a thing of its own
        prevalence = sum(map(len, facts.values.values())) / max(1, len(facts.values)) / max(1, len(pages))
        role, why = _role(found, facts, prevalence, len(pages), with_query, seen, params)
        if found == name:
            role, why = "query", "carries the query"
        arguments[found] = Argument(role=role, prevalence=round(prevalence, 4), why=why)
    places = Counter(split_url(tree.url, query).endpoint for tree, query in pages)
    return Roles(query=name, arguments=dict(sorted(arguments.items())), places=frozenset(places))


def _query_argument(pages: Sequence[tuple[TagTree, str]]) -> str:
    """The argument whose values are the queries: in the answers' own addresses, else in their text boxes; else the one so named."""
    votes: Counter[str] = Counter()
    for tree, query in pages:
        own = split_url(tree.url, query).arguments
        wanted = query.lower()
        if wanted:
            votes.update({name: 3 for name, value in own if value.strip().lower() == wanted})
            step = next_link(tree, query)
            onward = split_url(step.url, query).arguments if step else ()
            votes.update({name: 3 for name, value in onward if value.strip().lower() == wanted})
        for row in tree.rows("input"):
            name, value = tree.attr(row, "name") or "", (tree.attr(row, "value") or "").strip()
            if name and value and (tree.attr(row, "type") or "text").lower() in ("text", "search"):
                votes[name] += 2 if value.lower() == wanted else (value in [v for _, v in own]) + 0
    if votes and max(votes.values()) >= max(1, len(pages) // 4):
        return min(votes, key=lambda name: (-votes[name], name))
    named = Counter(
        n
        for tree, _ in pages
        for n, v in split_url(tree.url).arguments
        if v and names.QUERY.fullmatch(names.undecorated(n))
    )
    return named.most_common(1)[0][0] if named else ""


def _look(seen: defaultdict[str, _Seen], page: int, tree: TagTree, query: str, query_name: str) -> None:
    """Takes down the arguments of one answer: of its links, its search form and its own address."""
    host, here = site_host(tree.url), split_url(tree.url, query)
    own = dict(here.arguments)
    for name in own:
        seen[name].asked += 1
    _note(seen, page, here, query, query_name, "")
    for row, url in tree.links():
        if leaves_site(url, host):
            continue
        address = split_url(url, query)
        _note(seen, page, address, query, query_name, url)
        changed = [(n, v) for n, v in address.arguments if own.get(n) != v]
        # a facet link may also go back to page 1 or carry a token: what is set is what is left without these
        setting = [n for n, _ in changed if len(changed) == 1 or not _aside(n)]
        if len(setting) == 1:
            facts = seen[setting[0]]
            facts.texts[" ".join(tree.text(row).split())[:40].lower()] += 1
            facts.counted += stated_matches(tree, row) is not None
    step = next_link(tree, query)
    if step is not None:
        for name, value in split_url(step.url, query).arguments:
            if own.get(name) != value:
                seen[name].turned += 1
                seen[name].steps.add(value)
    _forms(seen, page, tree, query, query_name)


def _aside(name: str) -> bool:
    word = names.undecorated(name)
    return any(known.fullmatch(word) for known in (names.PAGE, names.TRACKING, names.SESSION))


def _note(seen: defaultdict[str, _Seen], page: int, address: SplitUrl, query: str, query_name: str, url: str) -> None:
    beside = any(name == query_name and value for name, value in address.arguments)
    export = bool(url) and not is_page(url)
    for name, value in address.arguments:
        facts = seen[name]
        if url:
            facts.values[value].add(page)
            facts.by_page[page][value] += 1
            facts.links += 1
            facts.exports += export
        facts.beside += beside
        facts.echoes += bool(query) and query.lower() in value.lower()


def _forms(seen: defaultdict[str, _Seen], page: int, tree: TagTree, query: str, query_name: str) -> None:
    """The fields of the forms that ask the query."""
    for form in map(int, tree.rows("form")):
        rows = [
            i
            for i in range(form + 1, int(tree.end[form]))
            if tree.name(i) in ("input", "select", "button") and tree.attr(i, "name")
        ]
        if not any(tree.attr(i, "name") == query_name for i in rows):
            continue
        for i in rows:
            name, kind = tree.attr(i, "name") or "", (tree.attr(i, "type") or "text").lower()
            value = tree.attr(i, "value") or ""
            facts = seen[name]
            button = kind in ("submit", "image") or (tree.name(i) == "button" and kind in ("text", "submit"))
            typed = tree.name(i) == "input" and kind not in ("checkbox", "radio", "hidden")
            facts.controls["button" if button else "hidden" if kind == "hidden" else "typed" if typed else "shown"] += 1
            facts.beside += 1
            if tree.name(i) == "input":
                facts.values[value].add(page)
            elif tree.name(i) == "select":
                options = [o for o in range(i + 1, int(tree.end[i])) if tree.name(o) == "option"]
                facts.offered.update(tree.attr(o, "value") or " ".join(tree.text(o).split()) for o in options)
            facts.echoes += bool(query) and len(query) > 3 and query.lower()[:4] in value.lower() and kind == "hidden"
    step = next_button(tree, query)
    if step is not None:
        own = dict(split_url(tree.url, query).arguments)
        for name, value in step.fields:
            if own.get(name) != value:
                seen[name].turned += 1
                seen[name].steps.add(value)
        if step.button and seen[step.button].controls["button"]:
            seen[step.button].pressed += 1


def _role(
    name: str, facts: _Seen, prevalence: float, pages: int, with_query: int, seen: dict[str, _Seen], params: RoleParams
) -> tuple[Role, str]:
    """The role of an argument that is not the query: what its values do first, then its name, then where it stands."""
    word, values = names.undecorated(name), [value for value in facts.values if value]
    numeric = bool(values) and all(re.fullmatch(r"-?\d{1,9}", value) for value in values)
    sized = bool(values) and all(re.fullmatch(r"\d{1,4}|all|max|alle", value, re.I) for value in values)
    # -- what the values do
    if facts.echoes and facts.echoes >= 0.5 * (facts.links or sum(facts.controls.values())) and len(values) > 1:
        back = sum(bool(names.OPAQUE.fullmatch(v)) for v in values) >= 0.8 * len(values)
        return ("session" if back or facts.controls["hidden"] else "tracking"), "repeats the query"
    if facts.turned and _turns(word, facts, numeric):
        return "page", "the next page changes it"
    if values and len(values) > 1 and sum(bool(names.OPAQUE.fullmatch(v)) for v in values) >= 0.8 * len(values):
        return "session", "its values say where to go back to, or nothing"
    if _token(facts, pages, params):
        return ("session" if names.SESSION.fullmatch(word) else "tracking"), "one value an answer, another in the next"
    paged = names.PAGE.fullmatch(word) and (numeric or not values)
    if facts.controls["typed"] and not paged and not names.PAGE_SIZE.fullmatch(word):
        return "filter", "people write into it"
    if facts.counted > 1 and facts.counted >= 0.5 * facts.texts.total() and not paged:
        return "filter", "its links say how many there are"
    # -- what it is called
    if names.SESSION.fullmatch(word) or _copy(name, facts, seen):
        return "session", "its name" if names.SESSION.fullmatch(word) else "a copy of another field"
    if paged:
        return "page", "its name, and numbers"
    if names.SORT.fullmatch(word) or (names.MAYBE_SORT.fullmatch(word) and _ordering(values or [*facts.offered])):
        return "sort", "its name"
    if names.PAGE_SIZE.fullmatch(word) and (sized or not values) and not _bounded(word, seen):
        return "display", "its name, and sizes"
    if names.DISPLAY.fullmatch(word):
        return "display", "its name"
    if names.TRACKING.fullmatch(word):
        return "tracking", "its name"
    offered = facts.controls["shown"] > 0
    if names.OFF.fullmatch(word) and not offered and values and all(names.SWITCH.fullmatch(v) for v in values):
        return "display", "turns something on or off"
    shown = [value for value in (*values, *facts.offered) if value]
    if shown and all(names.VIEW_VALUE.fullmatch(value) for value in shown):
        return "display", "its values"
    if len(shown) > 1 and all(names.SORT_VALUE.fullmatch(value) for value in shown):
        return "sort", "its values"
    texts = [text for text in facts.texts if text]
    if (
        facts.beside
        and len(texts) > 1
        and sum(bool(names.SORT_TEXT.fullmatch(text)) for text in texts) >= 0.8 * len(texts)
    ):
        return "sort", "what its links say"
    if facts.controls["button"] and not offered:
        return ("page" if numeric else "tracking"), "a button"
    if names.FILTER.fullmatch(word):
        return "filter", "its name"
    # -- where it stands
    if facts.links and facts.exports == facts.links and not facts.controls:
        return "display", "only in exports"
    if values and all(names.OPAQUE.fullmatch(v) for v in values):
        return "session", "its values say nothing"
    if facts.beside:
        if (
            with_query > pages / 2
            and facts.controls["hidden"]
            and not facts.controls["shown"]
            and facts.asked < with_query / 2
            and values
            and all(names.SWITCH.fullmatch(v) for v in values)
        ):
            return "tracking", "a hidden switch that answers do without"
        return "filter", "beside the query"
    if names.PLACE.fullmatch(word):
        return "unknown", "names a page of the site"
    if prevalence >= params.prevalence and prevalence * pages >= params.least and len(values) <= 50:
        return "display", "on most answers, whatever was asked"
    return "unknown", ""


def _ordering(values: list[str]) -> bool:
    """Whether values can name an order: codes, of which there are several or one that says so."""
    coded = bool(values) and all(names.SORT_CODE.fullmatch(value) for value in values)
    return coded and (len(values) > 1 or bool(names.SORT_VALUE.fullmatch(values[0])))


def _bounded(word: str, seen: dict[str, _Seen]) -> bool:
    """Whether a greatest value has a least one beside it: then both narrow."""
    return word.startswith("max") and any(names.undecorated(other) == "min" + word[3:] for other in seen)


def _turns(word: str, facts: _Seen, numeric: bool) -> bool:
    """Whether an argument that the next page changes is the one that turns pages: it counts, or is new each time, and sets no size."""
    if names.PAGE.fullmatch(word) or facts.pressed:
        return True
    if any(
        known.fullmatch(word) for known in (names.PAGE_SIZE, names.SORT, names.DISPLAY, names.TRACKING, names.SESSION)
    ):
        return False
    return facts.turned > 1 and ((len(facts.values) > 1 and numeric) or len(facts.steps) > 1)


def _token(facts: _Seen, pages: int, params: RoleParams) -> bool:
    """Whether each answer gives an argument one value of its own, the same in all its links."""
    there = [counts for counts in facts.by_page.values() if sum(counts.values()) > 1]
    if len(there) < max(3, pages // 3):
        return False
    single = [next(iter(counts)) for counts in there if len(counts) == 1]
    return len(single) >= params.changing * len(there) and len(set(single)) >= params.changing * len(single)


def _copy(name: str, facts: _Seen, seen: dict[str, _Seen]) -> bool:
    """Whether a hidden field repeats another one under a name with something before it (`xDB` beside `DB`)."""
    if not facts.controls["hidden"] or facts.controls["shown"]:
        return False
    twins = [
        other
        for other in seen
        if other != name and len(other) >= 1 and name.endswith(other) and 0 < len(name) - len(other) <= 4
    ]
    return any(set(facts.values) == set(seen[twin].values) for twin in twins)


# --- (main part)

MIN_COUNTED = 3  # matches of an answer, from which on numbers that follow each other are ranks


def not_identifying(answers: Sequence[tuple[TagTree, Sequence[str], str]]) -> tuple[str, ...]:
    """The names of URL arguments that do not tell records apart, from answers with records: the page, the addresses of its records, the query."""
    return tuple(sorted(_same_within_answers(answers) | _added_by_pager(answers) | _ranks(answers)))


def _same_within_answers(answers: Iterable[tuple[TagTree, Sequence[str], str]]) -> set[str]:
    """Arguments with one value in all records of an answer, where other answers have another value, or the value is the query."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    identifying: set[str] = set()
    repeating_query: set[str] = set()
    for _, addresses, query in answers:
        arguments = [dict(parse_qsl(urlsplit(address).query)) for address in addresses]
        for name in {name for pairs in arguments for name in pairs}:
            own = {pairs[name] for pairs in arguments if name in pairs}
            values[name] |= own
            if len(own) > 1:
                identifying.add(name)
            elif query and own == {query} and len(arguments) > 1:
                repeating_query.add(name)
    changing = {name for name, seen in values.items() if len(seen) > 1}
    return (changing | repeating_query) - identifying


def _added_by_pager(answers: Iterable[tuple[TagTree, Sequence[str], str]]) -> set[str]:
    """Arguments that the next page adds and records of these answers do without: on later pages they may carry them."""
    added: set[str] = set()
    of_records: set[str] = set()
    for tree, addresses, query in answers:
        following = next_page(tree, query)
        if following is not None:
            added |= _names(following.url) - _names(tree.url)
        of_records |= {name for address in addresses for name in _names(address)}
    return added - of_records


def _ranks(answers: Sequence[tuple[TagTree, Sequence[str], str]]) -> set[str]:
    """Arguments that count the matches of an answer (7, 8, 9 …) from the same number on, where the addresses differ without them too."""
    first: defaultdict[str, set[int | None]] = defaultdict(set)  # None: it does not count
    for _, addresses, _ in answers:
        pairs = [dict(parse_qsl(urlsplit(address).query, keep_blank_values=True)) for address in addresses]
        for name in set().union(*pairs) if len(pairs) >= MIN_COUNTED else ():
            values = [own.get(name, "") for own in pairs]
            places = [int(value) - i for i, value in enumerate(values) if value.isdecimal()]
            rest = {without_arguments(address, (name,)) for address in addresses}
            is_rank = len(places) == len(values) and len(set(places)) == 1 and len(rest) == len(set(addresses))
            first[name].add(places[0] if is_rank else None)
    several = sum(len(addresses) >= MIN_COUNTED for _, addresses, _ in answers) > 1
    return {name for name, numbers in first.items() if several and len(numbers) == 1 and None not in numbers}


def _names(url: str) -> set[str]:
    return {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
