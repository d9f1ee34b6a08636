"""Learn the roles of a source's URL arguments, and the arguments of record links that do not identify the record.

    role         query, page, sort, filter, tracking, session, display or unknown
    prevalence   r(a, v): share of the answers that have a link with a = v; r(a): its mean over the values of a (Entity §6.3.3)
    irrelevant   changing the argument does not change which records match: page, sort, display, tracking, session
    constant     pair that nearly all answers and their links have: it narrows nothing by comparison with them
    default      constant that stands for all values (`cat=All`), so that any other value of its argument narrows

Entity §6 treats every argument with a prevalence above a threshold as irrelevant. This module departs from it: constants that select
records (`wiki=on`, `profile=all`) are as prevalent as constants that do not, so prevalence decides about the pair, not about the argument.
An argument that occurs together with the query is irrelevant only if its values, name or position show its purpose, or if nearly all links
have it and it accompanies whatever else they change (where on the page a link was followed: `from=7`, `from=8`).

`learn_roles` compares the URLs of answers, `non_identifying_arguments` the links to records, so that a record has the same URL on every
answer.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from upwell.answers.next_page import next_button, next_page
from upwell.answers.pager import further_link
from upwell.answers.totals import stated_matches
from upwell.lexicon import argument_names as names
from upwell.page.links import is_page
from upwell.page.tree import TagTree
from upwell.papers.entity import mean_prevalence
from upwell.urls.arguments import SplitUrl, split_url, without_arguments
from upwell.urls.hosts import leaves_site, site_host

__all__ = ["ArgumentRole", "Role", "RoleParams", "Roles", "learn_roles", "non_identifying_arguments"]
Role = Literal["query", "page", "sort", "filter", "tracking", "session", "display", "unknown"]
IRRELEVANT = frozenset(("page", "sort", "display", "tracking", "session"))


@dataclass(frozen=True, kw_only=True)
class RoleParams:
    """Thresholds of `learn_roles`."""

    # Prevalence from which an argument that never occurs together with the query is irrelevant; Entity §6.3.3: 0.1.
    min_prevalence: float = 0.1
    min_answers: int = 3  # mean number of answers per value that prevalence needs
    # Share of the answers that have one value, and of these values that differ, for an argument to be a token; not swept.
    token_share: float = 0.8
    # Share of the answers with a pair, in their own URL or in links, for the pair to be a constant. Not swept.
    constant_share: float = 0.9
    # Share of the links with the query that have an argument, and of its changes in which something else changes too, for it to be
    # tracking; not swept.
    tracking_share: float = 0.8
    max_answers: int = 300  # safety limit: answers examined; benchmarks.papers.entity: roles are stable from 20 on


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRole:
    """Role of an argument, with the reason for it."""

    role: Role
    prevalence: float
    why: str  # reason for the role

    @property
    def irrelevant(self) -> bool:
        """Return True if URLs that differ only in this argument request the same records."""
        return self.role in IRRELEVANT


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Roles of the arguments of a source, by name."""

    query: str = ""  # name of the argument that carries the query; "": unknown
    arguments: dict[str, ArgumentRole] = field(default_factory=dict)
    places: frozenset[str] = frozenset()  # endpoints of the answers
    constants: frozenset[tuple[str, str]] = frozenset()  # pairs that nearly all answers and links have
    defaults: frozenset[tuple[str, str]] = frozenset()  # constants that stand for all values of their argument

    @cached_property
    def irrelevant(self) -> frozenset[str]:
        """Names of the irrelevant arguments."""
        return frozenset(name for name, argument in self.arguments.items() if argument.irrelevant)

    @cached_property
    def ordering(self) -> frozenset[str]:
        """Names of the arguments that choose the sort order."""
        return frozenset(name for name, argument in self.arguments.items() if argument.role == "sort")

    def as_dict(self) -> dict[str, Any]:
        """Return the roles for JSON, as a source model stores them."""
        arguments = {name: [a.role, a.prevalence, a.why] for name, a in self.arguments.items()}
        return {
            "query": self.query,
            "arguments": arguments,
            "places": sorted(self.places),
            "constants": sorted(map(list, self.constants)),
            "defaults": sorted(map(list, self.defaults)),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Roles":
        """Build the roles from their JSON."""
        arguments = {
            name: ArgumentRole(role=role, prevalence=prevalence, why=why)
            for name, (role, prevalence, why) in saved["arguments"].items()
        }
        constants, defaults = (
            frozenset((name, value) for name, value in saved.get(kind, ())) for kind in ("constants", "defaults")
        )
        return cls(
            query=saved["query"],
            arguments=arguments,
            places=frozenset(saved["places"]),
            constants=constants,
            defaults=defaults,
        )

    def filters(self, url: SplitUrl) -> list[tuple[str, str]]:
        """Return the arguments of a URL that narrow the query: neither irrelevant nor constant."""
        return [
            (name, value)
            for name, value in url.arguments
            if value and name != self.query and name not in self.irrelevant and (name, value) not in self.constants
        ]

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Names of arguments with a constant that is no default: another value asks for other records, not for fewer."""
        return frozenset(name for name, _ in self.constants - self.defaults) - self.irrelevant


@dataclass
class _ArgumentEvidence:
    """Occurrences of one argument on the examined answers."""

    answers_with: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # by value
    with_query: int = 0  # occurrences together with the query argument: in URLs, and in forms that send the query
    links: int = 0
    exports: int = 0  # links that lead to a file, not to a page
    next_values: set[str] = field(default_factory=set)  # values in requests for the next page
    next_changes: int = 0  # requests for the next page that change it
    next_buttons: int = 0  # buttons for the next page that have its name
    in_answer_urls: int = 0  # answers whose own URL has it
    values_on: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # by answer
    controls: Counter[str] = field(default_factory=Counter)  # form controls: button, hidden, typed, shown
    query_echoes: int = 0  # values that contain the query
    link_texts: Counter[str] = field(default_factory=Counter)  # texts of the links that set only this argument
    options: set[str] = field(default_factory=set)  # options of a <select>
    counted_links: int = 0  # links that set only this argument and state a number of matches
    own_pages: defaultdict[str, set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )  # answers, by value in their URL
    own_values: Counter[str] = field(default_factory=Counter)  # in URLs of answers that carry the query
    second_level: int = 0  # links with the query of their answer that have it
    changes: int = 0  # of these, links in which it differs from the URL of the answer
    changes_alone: int = 0  # of these, links that change nothing else
    changed_with: set[str] = field(default_factory=set)  # arguments that such links change too; "": none that narrows
    first_option: tuple[str, str] = ("", "")  # value and label of the first option of its <select>


def learn_roles(
    answers: Sequence[TagTree], queries: Sequence[str] = (), *, query_field: str = "", params: RoleParams | None = None
) -> Roles:
    """Learn the roles from answers of one source; `queries` are their queries, as far as they are known."""
    params = params or RoleParams()
    step = max(1, len(answers) // params.max_answers)
    pages = [(tree, (queries[i] if i < len(queries) else "").strip()) for i, tree in enumerate(answers)][::step]
    query_name = query_field or _query_argument(pages)
    evidence: defaultdict[str, _ArgumentEvidence] = defaultdict(_ArgumentEvidence)
    for i, (tree, query) in enumerate(pages):
        _collect(evidence, i, tree, query, query_name)
    second_level = evidence[query_name].second_level if query_name else 0
    urls_with_query = sum(
        1
        for tree, query in pages
        if query_name and any(name == query_name for name, _ in split_url(tree.url, query).arguments)
    )
    arguments = {}
    for name, seen in evidence.items():
        if name.startswith("/") and not seen.with_query:
            continue  # a number in a path that is not related to the search identifies a page
        prevalence = mean_prevalence(seen.answers_with.values(), len(pages))
        role, why = _role(name, seen, prevalence, len(pages), urls_with_query, second_level, evidence, params)
        if name == query_name:
            role, why = "query", "carries the query"
        arguments[name] = ArgumentRole(role=role, prevalence=round(prevalence, 4), why=why)
    places = Counter(split_url(tree.url, query).endpoint for tree, query in pages)
    constants = {
        (name, value)
        for name, seen in evidence.items()
        if name != query_name
        for value in _constants(seen, len(pages), urls_with_query, params)
    }
    return Roles(
        query=query_name,
        arguments=dict(sorted(arguments.items())),
        places=frozenset(places),
        constants=frozenset(constants),
        defaults=frozenset((name, value) for name, value in constants if _stands_for_all(value, evidence[name])),
    )


def _constants(seen: _ArgumentEvidence, pages: int, urls_with_query: int, params: RoleParams) -> Iterator[str]:
    """Yield the values of an argument that most answers have in their own URL, and nearly all there or in a link."""
    for value, count in seen.own_values.items():
        if (
            value
            and pages >= params.min_answers
            and count > urls_with_query / 2
            and len(seen.answers_with[value] | seen.own_pages[value]) >= params.constant_share * pages
        ):
            yield value


def _stands_for_all(value: str, seen: _ArgumentEvidence) -> bool:
    """Return True if a value selects everything: it says so, or is the first option of a <select> whose label does."""
    first_value, label = seen.first_option
    return value.lower() in names.ANY_VALUES or (value == first_value and bool(names.ANY_LABEL.fullmatch(label)))


def _query_argument(pages: Sequence[tuple[TagTree, str]]) -> str:
    """Return the argument whose values are the queries, in URLs of answers or in text boxes; else the one with the usual name."""
    votes: Counter[str] = Counter()
    for tree, query in pages:
        own = split_url(tree.url, query).arguments
        plain_query = query.lower()
        if plain_query:
            votes.update({name: 3 for name, value in own if value.strip().lower() == plain_query})
            step = further_link(tree, query)
            next_arguments = split_url(step.url, query).arguments if step else ()
            votes.update({name: 3 for name, value in next_arguments if value.strip().lower() == plain_query})
        for row in tree.rows("input"):
            name, value = tree.attr(row, "name") or "", (tree.attr(row, "value") or "").strip()
            if name and value and (tree.attr(row, "type") or "text").lower() in ("text", "search"):
                votes[name] += 2 if value.lower() == plain_query else (value in [v for _, v in own]) + 0
    if votes and max(votes.values()) >= max(1, len(pages) // 4):
        return min(votes, key=lambda name: (-votes[name], name))
    named = Counter(
        n
        for tree, _ in pages
        for n, v in split_url(tree.url).arguments
        if v and names.QUERY.fullmatch(names.undecorated(n))
    )
    return named.most_common(1)[0][0] if named else ""


def _collect(
    evidence: defaultdict[str, _ArgumentEvidence], page: int, tree: TagTree, query: str, query_name: str
) -> None:
    """Collect the arguments of one answer: from its own URL, its links, the request for the next page and its search forms."""
    host, here = site_host(tree.url), split_url(tree.url, query)
    own = dict(here.arguments)
    for name, value in here.arguments:
        evidence[name].in_answer_urls += 1
        if query_name in own:
            evidence[name].own_values[value] += 1
            evidence[name].own_pages[value].add(page)
    _collect_from_url(evidence, page, here, query, query_name, "")
    for row, url in tree.links():
        if leaves_site(url, host):
            continue
        split = split_url(url, query)
        _collect_from_url(evidence, page, split, query, query_name, url)
        changed = [(name, value) for name, value in split.arguments if own.get(name) != value]
        # a facet link may also go back to page 1 or carry a token: ignore these
        set_names = [name for name, _ in changed if len(changed) == 1 or not _has_incidental_name(name)]
        if len(set_names) == 1:
            seen = evidence[set_names[0]]
            seen.link_texts[" ".join(tree.text(row).split())[:40].lower()] += 1
            seen.counted_links += stated_matches(tree, row) is not None
        if query_name in own and dict(split.arguments).get(query_name) == own[query_name]:
            _collect_changes(evidence, split, [name for name, _ in changed])
    step = further_link(tree, query)
    if step is not None:
        _collect_from_next_page(evidence, split_url(step.url, query).arguments, own)
    _collect_from_forms(evidence, page, tree, query, query_name)


def _collect_changes(evidence: defaultdict[str, _ArgumentEvidence], split: SplitUrl, changed: Sequence[str]) -> None:
    """Collect which arguments a link with the query of its answer has, and which of them it changes together."""
    for name in {name for name, _ in split.arguments}:
        evidence[name].second_level += 1
    for name in changed:
        seen = evidence[name]
        seen.changes += 1
        others = {other for other in changed if other != name}
        seen.changes_alone += not others
        if others:
            seen.changed_with |= {other for other in others if not _has_incidental_name(other)} or {""}


def _has_incidental_name(name: str) -> bool:
    word = names.undecorated(name)
    return any(known.fullmatch(word) for known in (names.PAGE, names.TRACKING, names.SESSION))


def _collect_from_url(
    evidence: defaultdict[str, _ArgumentEvidence], page: int, split: SplitUrl, query: str, query_name: str, link: str
) -> None:
    """Collect the arguments of a URL; `link` is the URL if it is a link, "" if it is that of the answer."""
    has_query = any(name == query_name and value for name, value in split.arguments)
    is_export = bool(link) and not is_page(link)
    for name, value in split.arguments:
        seen = evidence[name]
        if link:
            seen.answers_with[value].add(page)
            seen.values_on[page][value] += 1
            seen.links += 1
            seen.exports += is_export
        seen.with_query += has_query
        seen.query_echoes += bool(query) and query.lower() in value.lower()


def _collect_from_next_page(
    evidence: defaultdict[str, _ArgumentEvidence], arguments: Iterable[tuple[str, str]], own: Mapping[str, str]
) -> None:
    """Collect the arguments that the request for the next page changes."""
    for name, value in arguments:
        if own.get(name) != value:
            evidence[name].next_changes += 1
            evidence[name].next_values.add(value)


def _collect_from_forms(
    evidence: defaultdict[str, _ArgumentEvidence], page: int, tree: TagTree, query: str, query_name: str
) -> None:
    """Collect the fields of the forms that send the query, and of the form that leads to the next page."""
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
            seen = evidence[name]
            is_button = kind in ("submit", "image") or (tree.name(i) == "button" and kind in ("text", "submit"))
            is_typed = tree.name(i) == "input" and kind not in ("checkbox", "radio", "hidden")
            control = "button" if is_button else "hidden" if kind == "hidden" else "typed" if is_typed else "shown"
            seen.controls[control] += 1
            seen.with_query += 1
            if tree.name(i) == "input":
                seen.answers_with[value].add(page)
            elif tree.name(i) == "select":
                options = [o for o in range(i + 1, int(tree.end[i])) if tree.name(o) == "option"]
                labelled = [(label := " ".join(tree.text(o).split()), tree.attr(o, "value") or label) for o in options]
                seen.options.update(value for _, value in labelled)
                if labelled:
                    seen.first_option = labelled[0][1], labelled[0][0]
            seen.query_echoes += (
                bool(query) and len(query) > 3 and query.lower()[:4] in value.lower() and kind == "hidden"
            )
    step = next_button(tree, query)
    if step is not None:
        _collect_from_next_page(evidence, step.fields, dict(split_url(tree.url, query).arguments))
        if step.button and evidence[step.button].controls["button"]:
            evidence[step.button].next_buttons += 1


def _role(
    name: str,
    seen: _ArgumentEvidence,
    prevalence: float,
    pages: int,
    urls_with_query: int,
    second_level: int,
    evidence: Mapping[str, _ArgumentEvidence],
    params: RoleParams,
) -> tuple[Role, str]:
    """Return the role of an argument that is not the query, and the reason: by its values, then its name, then its position."""
    word, values = names.undecorated(name), [value for value in seen.answers_with if value]
    are_numbers = bool(values) and all(re.fullmatch(r"-?\d{1,9}", value) for value in values)
    are_sizes = bool(values) and all(re.fullmatch(r"\d{1,4}|all|max|alle", value, re.I) for value in values)
    are_opaque = sum(bool(names.OPAQUE.fullmatch(value)) for value in values) >= 0.8 * len(values)
    # values
    if seen.query_echoes and seen.query_echoes >= 0.5 * (seen.links or sum(seen.controls.values())) and len(values) > 1:
        return ("session" if are_opaque or seen.controls["hidden"] else "tracking"), "repeats the query"
    if not _is_token(seen, pages, params) and _accompanies_others(seen, second_level, params):
        return "tracking", "on nearly all links, and changes with whatever else they change"
    if seen.next_changes and _turns_pages(word, seen, are_numbers):
        return "page", "the next page changes it"
    if len(values) > 1 and are_opaque:
        return "session", "values are return addresses or opaque"
    if _is_token(seen, pages, params):
        return ("session" if names.SESSION.fullmatch(word) else "tracking"), "one value per answer, different in each"
    is_page_argument = names.PAGE.fullmatch(word) and (are_numbers or not values)
    if seen.controls["typed"] and not is_page_argument and not names.PAGE_SIZE.fullmatch(word):
        return "filter", "a text field"
    if seen.counted_links > 1 and seen.counted_links >= 0.5 * seen.link_texts.total() and not is_page_argument:
        return "filter", "its links state numbers of matches"
    # name
    if names.SESSION.fullmatch(word) or _copies_field(name, seen, evidence):
        return "session", "its name" if names.SESSION.fullmatch(word) else "a copy of another field"
    if is_page_argument:
        return "page", "its name and numeric values"
    if names.SORT.fullmatch(word) or (names.MAYBE_SORT.fullmatch(word) and _name_orders(values or [*seen.options])):
        return "sort", "its name"
    if names.PAGE_SIZE.fullmatch(word) and (are_sizes or not values) and not _has_minimum(word, evidence):
        return "display", "its name and sizes as values"
    if names.DISPLAY.fullmatch(word):
        return "display", "its name"
    if names.TRACKING.fullmatch(word):
        return "tracking", "its name"
    is_offered = seen.controls["shown"] > 0
    if names.OFF.fullmatch(word) and not is_offered and values and all(names.SWITCH.fullmatch(v) for v in values):
        return "display", "switches something on or off"
    all_values = [value for value in (*values, *seen.options) if value]
    if all_values and all(names.VIEW_VALUE.fullmatch(value) for value in all_values):
        return "display", "its values"
    if len(all_values) > 1 and all(names.SORT_VALUE.fullmatch(value) for value in all_values):
        return "sort", "its values"
    texts = [text for text in seen.link_texts if text]
    if (
        seen.with_query
        and len(texts) > 1
        and sum(bool(names.SORT_TEXT.fullmatch(text)) for text in texts) >= 0.8 * len(texts)
    ):
        return "sort", "the texts of its links"
    if seen.controls["button"] and not is_offered:
        return ("page" if are_numbers else "tracking"), "a button"
    if names.FILTER.fullmatch(word):
        return "filter", "its name"
    # position
    if seen.links and seen.exports == seen.links and not seen.controls:
        return "display", "only in links to exports"
    if values and all(names.OPAQUE.fullmatch(value) for value in values):
        return "session", "opaque values"
    if seen.with_query:
        if (
            urls_with_query > pages / 2
            and seen.controls["hidden"]
            and not seen.controls["shown"]
            and seen.in_answer_urls < urls_with_query / 2
            and values
            and all(names.SWITCH.fullmatch(value) for value in values)
        ):
            return "tracking", "a hidden switch that URLs of answers omit"
        return "filter", "occurs together with the query"
    if names.PLACE.fullmatch(word):
        return "unknown", "names a page of the site"
    if prevalence >= params.min_prevalence and prevalence * pages >= params.min_answers and len(values) <= 50:
        return "display", "on most answers, whatever the query"
    return "unknown", ""


def _name_orders(values: list[str]) -> bool:
    """Return True if values may name sort orders: several codes, or the name of an order."""
    are_codes = bool(values) and all(names.SORT_CODE.fullmatch(value) for value in values)
    return are_codes and (len(values) > 1 or bool(names.SORT_VALUE.fullmatch(values[0])))


def _has_minimum(word: str, others: Iterable[str]) -> bool:
    """Return True if a maximum (`max_price`) occurs with its minimum (`min_price`): together they are a filter."""
    return word.startswith("max") and any(names.undecorated(other) == "min" + word[3:] for other in others)


def _turns_pages(word: str, seen: _ArgumentEvidence, are_numbers: bool) -> bool:
    """Return True if an argument that the next page changes selects the page, rather than accompanying the one that does."""
    if names.PAGE.fullmatch(word) or seen.next_buttons:
        return True
    if any(
        known.fullmatch(word) for known in (names.PAGE_SIZE, names.SORT, names.DISPLAY, names.TRACKING, names.SESSION)
    ):
        return False
    return seen.next_changes > 1 and ((len(seen.answers_with) > 1 and are_numbers) or len(seen.next_values) > 1)


def _accompanies_others(seen: _ArgumentEvidence, second_level: int, params: RoleParams) -> bool:
    """Return True if nearly all links with the query have an argument with several values that changes, seldom alone, with several others.

    A filter is changed alone, or with one other (`field=author&value=Smith`), and a link to another page does not change it.
    """
    return (
        len(seen.changed_with) > 1
        and len(seen.answers_with) > 1
        and not (seen.controls["shown"] or seen.controls["typed"])
        and seen.second_level >= params.tracking_share * second_level
        and seen.changes_alone <= (1 - params.tracking_share) * seen.changes
    )


def _is_token(seen: _ArgumentEvidence, pages: int, params: RoleParams) -> bool:
    """Return True if each answer has its own value, the same in all its links."""
    repeated = [counts for counts in seen.values_on.values() if sum(counts.values()) > 1]
    if len(repeated) < max(3, pages // 3):
        return False
    single = [next(iter(counts)) for counts in repeated if len(counts) == 1]
    return len(single) >= params.token_share * len(repeated) and len(set(single)) >= params.token_share * len(single)


def _copies_field(name: str, seen: _ArgumentEvidence, evidence: Mapping[str, _ArgumentEvidence]) -> bool:
    """Return True if a hidden field has the values of another field whose name it extends by a prefix (`xDB`, `DB`)."""
    if not seen.controls["hidden"] or seen.controls["shown"]:
        return False
    originals = [
        other
        for other in evidence
        if other != name and len(other) >= 1 and name.endswith(other) and 0 < len(name) - len(other) <= 4
    ]
    return any(set(seen.answers_with) == set(evidence[original].answers_with) for original in originals)


# Arguments of record links that do not identify the record: a session, the query, the rank, the page on which it was listed.

RANK = re.compile(r"\d{1,9}")  # a longer number is not a position
MIN_RANKED = 3  # records on an answer before consecutive numbers are ranks


def non_identifying_arguments(answers: Sequence[tuple[TagTree, Sequence[str], str]]) -> tuple[str, ...]:
    """Return the names of arguments that do not distinguish records, from answers: page, URLs of its records, query."""
    return tuple(sorted(_same_within_answers(answers) | _added_by_pager(answers) | _ranks(answers)))


def _same_within_answers(answers: Iterable[tuple[TagTree, Sequence[str], str]]) -> set[str]:
    """Return the arguments with one value per answer that differs between answers or is the query."""
    all_values: defaultdict[str, set[str]] = defaultdict(set)
    identifying: set[str] = set()
    repeating_query: set[str] = set()
    for _, urls, query in answers:
        arguments = [dict(parse_qsl(urlsplit(url).query)) for url in urls]
        for name in {name for pairs in arguments for name in pairs}:
            values = {pairs[name] for pairs in arguments if name in pairs}
            all_values[name] |= values
            if len(values) > 1:
                identifying.add(name)
            elif query and values == {query} and len(arguments) > 1:
                repeating_query.add(name)
    changing = {name for name, values in all_values.items() if len(values) > 1}
    return (changing | repeating_query) - identifying


def _added_by_pager(answers: Iterable[tuple[TagTree, Sequence[str], str]]) -> set[str]:
    """Return the arguments that the next page adds and that no record on these answers has; records on later pages may have them."""
    added: set[str] = set()
    of_records: set[str] = set()
    for tree, urls, query in answers:
        following = next_page(tree, query)
        if following is not None:
            added |= _argument_names(following.url) - _argument_names(tree.url)
        of_records |= {name for url in urls for name in _argument_names(url)}
    return added - of_records


def _ranks(answers: Sequence[tuple[TagTree, Sequence[str], str]]) -> set[str]:
    """Return the arguments that number the records of each answer from the same number on, and are not needed to distinguish them."""
    first_ranks: defaultdict[str, set[int | None]] = defaultdict(set)  # None: the values are not ranks
    for _, urls, _ in answers:
        arguments = [dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)) for url in urls]
        for name in set().union(*arguments) if len(arguments) >= MIN_RANKED else ():
            values = [pairs.get(name, "") for pairs in arguments]
            starts = [int(value) - i for i, value in enumerate(values) if RANK.fullmatch(value)]
            shortened = {without_arguments(url, (name,)) for url in urls}
            is_rank = len(starts) == len(values) and len(set(starts)) == 1 and len(shortened) == len(set(urls))
            first_ranks[name].add(starts[0] if is_rank else None)
    has_several = sum(len(urls) >= MIN_RANKED for _, urls, _ in answers) > 1
    return {name for name, firsts in first_ranks.items() if has_several and len(firsts) == 1 and None not in firsts}


def _argument_names(url: str) -> set[str]:
    return {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
