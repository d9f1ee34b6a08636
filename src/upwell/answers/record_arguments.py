"""Which URL arguments of links to records say nothing about the record: a session, the query, its rank, the page it was listed on.

`answers.roles` learns the same for addresses of answers. Here the links to records are compared, so that one record has
one address whatever answer it was found on.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, urlsplit

from upwell.answers.next_page import next_page
from upwell.page.tree import TagTree
from upwell.page.url_arguments import without_arguments

__all__ = ["not_identifying"]

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
