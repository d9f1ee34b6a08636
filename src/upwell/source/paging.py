"""Find the request for the next page of an answer: follow its pager, or increment a page argument."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.answers.next_page import next_page
from upwell.answers.pager import NextPage
from upwell.lexicon.argument_names import PAGE, PAGE_SIZE, undecorated
from upwell.page.tree import TagTree
from upwell.source.apply import Reading
from upwell.types import Request

__all__ = ["count_on", "counted_on", "next_page_of", "next_request_of_script", "posts_elsewhere", "small_numbers"]

# argument names that count records; all others count pages
PAGE_NUMBER = re.compile(r"\d{1,18}")  # a longer number is an identifier
OFFSET = re.compile(r"start|offset|from|skip|first|begin", re.I)


def next_page_of(tree: TagTree, reading: Reading, query: str, shown: Sequence[str] = ()) -> NextPage | None:
    """Return what to send for the next page of an answer; None on the last page.

    `shown` is the link marked by a person (`SourceModel.next_link`). Links inside records are ignored at first, because the
    title of a record may be "next".
    """
    if reading.kind != "multi":
        return None
    if shown:
        return _shown_link(tree, *shown)
    record_links = {target for record in reading.records for target in record.links if target}
    of_records = {row for row, target in tree.attribute_by_row("href").items() if target in record_links}
    following = next_page(tree.without_attributes(of_records), query)
    if following is None:  # the pager may be inside the last record
        following = next_page(tree, query)
        if following is not None and urlsplit(following.url).path != urlsplit(tree.url).path:
            return None
    return following


def _shown_link(tree: TagTree, place: str, text: str) -> NextPage | None:
    """Return the link at the marked position with the marked text; a page without it is the last page."""
    for row, url in tree.links():
        if tree.signatures[tree.signature_of[row]].short_path == place and " ".join(tree.text(row).split()) == text:
            return NextPage(url=url)
    return None


def posts_elsewhere(step: NextPage, tree: TagTree, interface_url: str) -> bool:
    """Return True if a step posts to an address other than the search or the answer; such a step is never sent."""
    paths = [urlsplit(url).path for url in (tree.url, interface_url)]
    return step.method == "POST" and urlsplit(step.url).path not in paths


def count_on(previous_url: str, url: str) -> NextPage | None:
    """Return the next address if two addresses differ in one increasing number: many pagers stop at the tenth link.

    >>> count_on("http://h/s?q=a1&page=9", "http://h/s?q=a1&page=10").url
    'http://h/s?q=a1&page=11'
    """
    before, now = re.split(r"(\d+)", previous_url), re.split(r"(\d+)", url)
    different = [i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]
    if len(before) != len(now) or len(different) != 1:
        return None
    at = different[0]
    if not (PAGE_NUMBER.fullmatch(now[at]) and PAGE_NUMBER.fullmatch(before[at])) or int(now[at]) <= int(before[at]):
        return None
    following = 2 * int(now[at]) - int(before[at])
    return NextPage(url="".join([*now[:at], str(following), *now[at + 1 :]]))


def small_numbers(request: Request) -> list[str]:
    """Return the arguments that may be page numbers under any name: those that are 0 or 1 on the first page.

    >>> small_numbers(Request(url="http://h/api?q=a&seite=1&viele=20"))
    ['seite']
    """
    if request.method == "GET":
        pairs = [pair.partition("=") for pair in urlsplit(request.url).query.split("&")]
        return [name for name, _, value in pairs if value in ("0", "1")]
    return list(dict.fromkeys(_small_numbers(_json_of(request))))


def _small_numbers(value: object) -> Iterator[str]:
    parts = (
        value.items() if isinstance(value, dict) else [("", part) for part in value] if isinstance(value, list) else []
    )
    for name, part in parts:
        if type(part) is int and part in (0, 1) and name:
            yield name
        yield from _small_numbers(part)


def counted_on(request: Request, argument: str, step: int) -> Request:
    """Return the request with an argument incremented by `step`.

    >>> counted_on(Request(url="http://h/api?q=a&seite=1"), "seite", 1).url
    'http://h/api?q=a&seite=2'
    """
    if request.method == "GET":
        number = re.compile(rf"([?&]{re.escape(argument)}=)(\d{{1,18}})(?!\d)")
        return replace(request, url=number.sub(lambda match: f"{match[1]}{int(match[2]) + step}", request.url))

    def larger(value: object) -> object:
        if isinstance(value, list):
            return [larger(part) for part in value]
        if not isinstance(value, dict):
            return value
        return {n: p + step if n == argument and type(p) is int else larger(p) for n, p in value.items()}

    return replace(request, body=json.dumps(larger(_json_of(request)), ensure_ascii=False).encode())


def _json_of(request: Request) -> object:
    """Return the JSON body of a request; None if it has none."""
    try:
        return json.loads(request.body) if "json" in request.content_type else None
    except (ValueError, RecursionError):
        return None


def next_request_of_script(request: Request, shown: int) -> Request | None:
    """Return the request for the next page of a script's API: its page argument, in URL or JSON body, incremented.

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
    before = _json_of(request)
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
    """Return the value of an argument on the next page; only page arguments change."""
    word = undecorated(name)
    is_size = bool(PAGE_SIZE.fullmatch(word)) or (word == "first" and int(value) >= shown)  # GraphQL: page size
    if is_size or not (PAGE.fullmatch(word) or word == "from"):
        return value
    return str(int(value) + (shown if OFFSET.search(word) else 1))
