"""Which URL arguments of links to records say nothing about the record: a session, the query, the page it was listed on.

`answers.roles` learns the same for addresses of answers. Here the links to records are compared, so that one record has
one address whatever answer it was found on.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, urlsplit

from upwell.answers.next_page import next_page
from upwell.page.tree import TagTree

__all__ = ["not_identifying"]


def not_identifying(answers: Sequence[tuple[TagTree, Sequence[str], str]]) -> tuple[str, ...]:
    """The names of URL arguments that do not tell records apart, from answers with records: the page, the addresses of its records, the query."""
    return tuple(sorted(_same_within_answers(answers) | _added_by_pager(answers)))


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


def _names(url: str) -> set[str]:
    return {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
