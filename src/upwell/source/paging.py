"""The request for the next page of an answer: by the links around its records, else by counting on."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.answers.argument_names import PAGE, PAGE_SIZE, plain
from upwell.answers.next_page import next_page
from upwell.answers.pager import NextPage
from upwell.model import Request
from upwell.page.tree import TagTree
from upwell.source.apply import Reading

__all__ = ["count_on", "next_page_of", "next_request_of_script", "posts_elsewhere"]

OFFSET = re.compile(r"start|offset|from|skip|first|begin", re.I)  # names that count records; others count pages


def next_page_of(tree: TagTree, reading: Reading, query: str, shown: Sequence[str] = ()) -> NextPage | None:
    """What to send for the next page of an answer; `shown` is the link that a person has shown (`SourceModel.next_link`).

    The records' own links are left out at first: a record may be called "next".
    """
    if reading.kind != "multi":
        return None
    if shown:
        return _shown_link(tree, *shown)
    record_links = {target for record in reading.records for target in record.links}
    of_records = {row for row, target in tree.having("href").items() if target and target in record_links}
    following = next_page(tree.without_attributes(of_records), query)
    if following is None:  # the pager may have been read as a part of the last record
        following = next_page(tree, query)
        if following is not None and urlsplit(following.url).path != urlsplit(tree.url).path:
            return None
    return following


def _shown_link(tree: TagTree, place: str, text: str) -> NextPage | None:
    """The link that stands where a person has shown one, with the same text; a page without it is the last."""
    for row, url in tree.links():
        if tree.spots[tree.spot_of[row]].place == place and " ".join(tree.text(row).split()) == text:
            return NextPage(url=url)
    return None


def posts_elsewhere(step: NextPage, tree: TagTree, interface_url: str) -> bool:
    """Whether a step would be posted to another address than that of the search or of the answer: then it is not sent."""
    paths = [urlsplit(url).path for url in (tree.url, interface_url)]
    return step.method == "POST" and urlsplit(step.url).path not in paths


def count_on(previous_url: str, url: str) -> NextPage | None:
    """The address after two that differ in one number only: many pagers stop at a tenth link although the source goes on.

    >>> count_on("http://h/s?q=a1&page=9", "http://h/s?q=a1&page=10").url
    'http://h/s?q=a1&page=11'
    """
    before, now = re.split(r"(\d+)", previous_url), re.split(r"(\d+)", url)
    different = [i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]
    if len(before) != len(now) or len(different) != 1:
        return None
    at = different[0]
    if not now[at].isdigit() or not before[at].isdigit() or int(now[at]) <= int(before[at]):
        return None
    following = 2 * int(now[at]) - int(before[at])
    return NextPage(url="".join([*now[:at], str(following), *now[at + 1 :]]))


def next_request_of_script(request: Request, shown: int) -> Request | None:
    """The request for the next page where a script makes the requests: its page argument, in the address or in a JSON body, counted on.

    >>> next_request_of_script(Request(url="http://h/api?q=a&page=1&size=20"), 20).url
    'http://h/api?q=a&page=2&size=20'
    >>> body = b'{"query": "query($q: String) {...}", "variables": {"q": "a", "offset": 0}}'
    >>> next_request_of_script(Request(url="http://h/graphql", method="POST", body=body, content_type="application/json"), 10).body[-14:]
    b'"offset": 10}}'
    """
    if request.method == "GET":
        head, mark, arguments = request.url.partition("?")
        pairs = [pair.partition("=") for pair in arguments.split("&")]
        counted = [_counted_on(name, value, shown) if value.isdecimal() else value for name, _, value in pairs]
        if counted == [value for _, _, value in pairs]:
            return None
        written = [f"{name}{sign}{value}" for (name, sign, _), value in zip(pairs, counted, strict=True)]
        return replace(request, url=f"{head}{mark}{'&'.join(written)}")
    if "json" not in request.content_type:
        return None
    try:
        before = json.loads(request.body)
    except ValueError:
        return None
    after = _with_next_page(before, shown)
    return replace(request, body=json.dumps(after, ensure_ascii=False).encode()) if after != before else None


def _with_next_page(value: object, shown: int) -> object:
    if isinstance(value, list):
        return [_with_next_page(part, shown) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: int(_counted_on(name, str(part), shown)) if type(part) is int else _with_next_page(part, shown)
        for name, part in value.items()
    }


def _counted_on(name: str, value: str, shown: int) -> str:
    """The value of an argument on the next page: that of one which turns the page is larger."""
    word = plain(name)
    is_size = bool(PAGE_SIZE.fullmatch(word)) or (word == "first" and int(value) >= shown)  # GraphQL's: so many at most
    if is_size or not (PAGE.fullmatch(word) or word == "from"):
        return value
    return str(int(value) + (shown if OFFSET.search(word) else 1))
