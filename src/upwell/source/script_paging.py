"""Find the request for the next page of an answer that a script requests: JSON, or fragments of pages.

What changes from one page to the next is observed in the browser (`learn_changes`), stated by the answer (`next_address`), or known by
the names of arguments and members (`cursor_request`). What shows that an answer is the last page is found by `shows_end`.

cursor   a value of an answer that the request for the next page repeats
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from upwell.lexicon import argument_names as names
from upwell.page.embedded_data import MIN_ROWS
from upwell.page.formats import is_json, json_value
from upwell.types import PageChange, PageStep, Request, Response, SearchInterface
from upwell.urls.request_values import Place, Scalar, name_of, values, with_value

__all__ = [
    "apply_changes",
    "changes_for",
    "cursor_request",
    "learn_changes",
    "next_address",
    "sent_size",
    "shows_end",
]

MAX_CHARS = 20_000_000  # longer answers are not searched for cursors
MAX_COUNT = 10_000_000  # a larger number is a time or an identifier, not a position
SECOND_PAGE = 2  # number of the second page, if pages are counted from 1
MIN_CURSOR_CHARS = 2  # a shorter text occurs in any answer by chance
LAST_ITEM = "#-1"  # step of a place: the last item of a list

# Names of members, without "_" and "-", in lower case.
HAS_MORE = re.compile(
    r"has(?:next|more)(?:page|pages|results|items|data)?|more(?:results|available|items)|islasttrue|hasnext"
)
IS_LAST = re.compile(
    r"(?:is)?last(?:page)?|(?:is)?(?:end|finished|complete|done)(?:ofresults|oflist)?|islast|nomore(?:results)?"
)
CURSOR = re.compile(
    r"(?:next|end|continuation|scroll|search|bookmark)?(?:page)?(?:token|cursor|scrollid|marker|bookmark|after|continuation|startkey)"
    r"|next(?:page|offset|start|key|id|continuation)?|scrollid|continue"
)
# Cursors under whose names a request may repeat them although it has no such argument yet.
OWN_CURSOR = re.compile(r"(?:next|continuation)\w*|scrollid|endcursor|bookmark")
NEXT_ADDRESS = re.compile(r"next(?:page|link|url|href|uri|pageurl|pagelink)?|odatanextlink|nextpageuri")
LINK_HEADER = re.compile(r"<([^<>]{1,2000})>([^<,]{0,500})")


# What the browser observed


def learn_changes(step: PageStep) -> tuple[PageChange, ...]:
    """Return what changes from the request for one page to the request for the next; empty if that cannot be told.

    >>> first = Request(url="http://x/api?q=a&start=0&length=25&draw=3")
    >>> learn_changes(PageStep(request=first, following=replace(first, url="http://x/api?q=a&start=25&length=25&draw=4"), answer=""))
    (PageChange(kind='offset', place=('argument', 'start', '0'), source=('25',)), PageChange(kind='count', place=('argument', 'draw', '0'), source=('1',)))
    >>> following = Request(url="http://x/api?q=a&after=b7")
    >>> learn_changes(PageStep(request=Request(url="http://x/api?q=a"), following=following, answer='{"page": {"end": "b7"}}'))
    (PageChange(kind='cursor', place=('argument', 'after', '0'), source=('.page', '.end')),)
    >>> first, following = (Request(url="http://x/", method="POST", body=body) for body in (b'["a",null]', b'["a",1025]'))
    >>> learn_changes(PageStep(request=first, following=following, answer='{"last": 1025, "items": [{"id": 1024}, {"id": 1025}]}'))
    (PageChange(kind='cursor', place=('body', '#1'), source=('.last',)),)
    """
    first, following = step.request, step.following
    if first.method != following.method:
        return ()
    content = _json(step.answer)
    if following.method == "GET" and (place := _place_of_address(content, following.url, first.url)):
        return (PageChange("cursor", (), place),)
    if urlsplit(first.url).path.count("/") != urlsplit(following.url).path.count("/"):
        return ()
    before, after = dict(values(first)), dict(values(following))
    rows = _row_count(content)
    sizes = {number for value in before.values() if (number := _number(value)) is not None and number > 1}
    changes = []
    for place, value in after.items():
        if before.get(place) == value and place in before:
            continue
        change = _counted(place, before.get(place), value, rows, sizes) or _cursor(place, value, content)
        if change is not None:
            changes.append(change)
    if all(_is_counter(change) for change in changes):
        return ()
    return tuple(changes)


def changes_for(interface: SearchInterface, steps: Sequence[PageStep], first: Request) -> tuple[PageChange, ...]:
    """Return the changes of the first step that starts at a request like the interface's, `first`."""
    path, places = urlsplit(first.url).path, {place for place, _ in values(first)}
    for step in steps:
        same_path = urlsplit(step.request.url).path == path or any(place[0] == "path" for place in places)
        if step.request.method == interface.method and same_path and (changes := learn_changes(step)):
            return changes
    return ()


def _is_counter(change: PageChange) -> bool:
    """Return True if a change counts requests (`draw=3`), by the name: not a page argument, and nothing of the answer."""
    if change.kind != "count":
        return False
    word = names.undecorated(name_of(change.place))
    return bool(re.fullmatch(r"draw|echo|s?echo|_|t|ts|timestamp|rnd|request_?id|seq\w*", word))


def _counted(place: Place, before: Scalar, after: Scalar, rows: int, sizes: set[int]) -> PageChange | None:
    """Return a change of a number; None if it is not one that counts pages or records."""
    now, then = _number(after), _number(before)
    if now is None or (before is not None and then is None) or not 0 <= now <= MAX_COUNT:
        return None
    is_offset = now > 1 and (now == rows or now in sizes)
    if then is None and now > SECOND_PAGE and not is_offset:
        return None  # an identifier: the last record of the first page
    of_first = now if is_offset else 1  # the first page is requested without it
    step = of_first if then is None else now - then
    if step < 1:
        return None
    if step > 1 and (step == rows or step in sizes):
        return PageChange("offset", place, (str(step),))
    return PageChange("count", place, (str(step),)) if step == 1 or then is not None else None


def _cursor(place: Place, value: Scalar, content: object) -> PageChange | None:
    """Return a change to a value of the answer; None if the answer does not contain it."""
    if value is None or isinstance(value, bool) or len(str(value)) < MIN_CURSOR_CHARS or place[0] == "path":
        return None
    found = [known for known, inner in _plain_scalars(content) if inner is not None and str(inner) == str(value)]
    if not found:
        return None
    best = min(
        found, key=lambda known: (not _is_cursor_name(known), sum(step.startswith("#") for step in known), len(known))
    )
    return PageChange("cursor", place, _from_end(best, content))


def _place_of_address(content: object, url: str, base: str) -> Place:
    """Return the place in an answer of the address of the next page; () if it is not there."""
    for place, value in _plain_scalars(content):
        if (
            isinstance(value, str)
            and value.startswith(("http://", "https://", "/", "?"))
            and _resolved(base, value) == url
        ):
            return _from_end(place, content)
    return ()


def _from_end(place: Place, content: object) -> Place:
    """Return a place in which the last item of a list is counted from its end: the answer's last record."""
    counted, value = [], content
    for step in place:
        if step.startswith("#") and isinstance(value, list):
            counted.append(LAST_ITEM if int(step[1:]) == len(value) - 1 and len(value) > 1 else step)
            value = value[int(step[1:])]
        else:
            counted.append(step)
            value = value.get(step[1:]) if isinstance(value, dict) else None
    return tuple(counted)


# The next request


def apply_changes(changes: Sequence[PageChange], request: Request, answer: Response, shown: int) -> Request | None:
    """Return the request for the next page; None if the answer has no cursor, which shows that it is the last page.

    >>> change = PageChange("offset", ("argument", "range", "0", "json", "#0"), ("25",))
    >>> apply_changes([change], Request(url="http://x/?range=[0,24]"), Response(request=Request(url=""), url="", status=200, headers={}, body=b""), 25).url
    'http://x/?range=%5B25%2C24%5D'
    """
    content: object = None
    if any(change.kind == "cursor" for change in changes):
        content = _json(answer.body)
    known = dict(values(request))
    for change in changes:
        if change.kind == "cursor":
            value = _at(content, change.source)
            if value in (None, "", False):
                return None
            if not change.place:
                return replace(request, url=_resolved(answer.url or request.url, str(value)))
            request = with_value(request, change.place, value)
            continue
        step = int(change.source[0])
        old = known.get(change.place)
        if change.kind == "offset":
            new = (_number(old) or 0) + (step if name_of(change.place) in ("", "range") else max(shown, 1))
        else:
            new = (_number(old) or (1 if old is None else 0)) + step
        request = with_value(request, change.place, str(new) if old is None or isinstance(old, str) else new)
    return request


def next_address(request: Request, answer: Response) -> Request | None:
    """Return the request for the address of the next page that an answer states: in its Link header (RFC 8288) or in its JSON.

    >>> answer = Response(request=Request(url=""), url="http://x/api?q=a", status=200, headers={"Link": '</api?q=a&page=2>; rel="next"'}, body=b"")
    >>> next_address(Request(url="http://x/api?q=a"), answer).url
    'http://x/api?q=a&page=2'
    """
    base = answer.url or request.url
    header = next((value for name, value in answer.headers.items() if name.lower() == "link"), "")
    for target, attributes in LINK_HEADER.findall(header[:10_000]):
        if re.search(r'rel="?(?:[\w -]{0,50} )?next\b', attributes):
            return _with_address(request, base, target)
    if request.method != "GET":
        return None
    for place, value in _outside_rows(_json(answer.body)):
        name = _plain(
            next((step[1:] for step in reversed(place) if step.startswith(".") and step[1:] not in ("href", "url")), "")
        )
        if (
            isinstance(value, str)
            and NEXT_ADDRESS.fullmatch(name)
            and value.startswith(("http://", "https://", "/", "?"))
        ):
            return _with_address(request, base, value)
    return None


def _with_address(request: Request, base: str, target: str) -> Request | None:
    url = _resolved(base, target)
    same_host = urlsplit(url).netloc == urlsplit(request.url).netloc
    return replace(request, url=url) if same_host and url != request.url else None


def cursor_request(request: Request, answer: Response) -> Request | None:
    """Return the request that repeats the cursor of an answer, under the argument whose name says so; None without both.

    The argument is one of the request, or a variable that its GraphQL text declares, or has the name of the cursor.

    >>> body = b'{"variables": {"q": "a", "after": null}}'
    >>> answer = Response(request=Request(url=""), url="", status=200, headers={}, body=b'{"items": [], "pageInfo": {"endCursor": "b7"}}')
    >>> cursor_request(Request(url="http://x/", method="POST", body=body), answer).body
    b'{"variables": {"q": "a", "after": "b7"}}'
    """
    found = [
        (place, value)
        for place, value in _outside_rows(_json(answer.body))
        if _is_cursor_name(place)
        and isinstance(value, str | int)
        and not isinstance(value, bool)
        and value not in ("", 0)
        and not str(value).startswith(("http://", "https://", "/"))
    ]
    if not found:
        return None
    place, cursor = min(found, key=lambda each: len(each[0]))
    sent = list(values(request))
    for known, value in sent:
        word = _plain(name_of(known))
        if known[0] != "path" and word not in ("next", "continue") and CURSOR.fullmatch(word) and value != cursor:
            return with_value(request, known, cursor)
    text = next((str(value) for known, value in sent if known == ("body", ".query")), "")
    declared = re.search(r"\$(after|cursor|\w{0,20}[cC]ursor|\w{0,20}[tT]oken)\s{0,5}:", text)
    if declared is not None:
        return with_value(request, ("body", ".variables", f".{declared[1]}"), cursor)
    name = place[-1][1:]
    if request.method == "GET" and OWN_CURSOR.fullmatch(_plain(name)):
        name = re.sub(r"^next_?(?=\w)", "", name) or name
        return with_value(request, ("argument", name[:1].lower() + name[1:], "0"), cursor)
    return None


# The end


def shows_end(answer: Response) -> bool:
    """Return True if an answer says that it is the last page, by a flag or an empty cursor.

    >>> def answer(body: bytes) -> Response:
    ...     return Response(request=Request(url=""), url="", status=200, headers={}, body=body)
    >>> shows_end(answer(b'{"a": [{}], "hasNextPage": false}')), shows_end(answer(b'{"a": [{}], "hasNextPage": true}'))
    (True, False)
    """
    content = _json(answer.body)
    for place, value in _outside_rows(content):
        name = _plain(place[-1][1:]) if place and place[-1].startswith(".") else ""
        if (value is False and HAS_MORE.fullmatch(name)) or (value is True and IS_LAST.fullmatch(name)):
            return True
        if value is None and (_is_cursor_name(place) or NEXT_ADDRESS.fullmatch(name)):
            return True
    return False


def sent_size(request: Request, shown: int) -> bool:
    """Return True if a request asks for as many records as its answer shows, so that there may be more.

    >>> sent_size(Request(url="http://x/?q=a&limit=20"), 20), sent_size(Request(url="http://x/?q=a&limit=20"), 7)
    (True, False)
    """
    return shown > 1 and any(_number(value) == shown for _, value in values(request))


# JSON


def _json(body: bytes | str) -> object:
    if len(body) > MAX_CHARS:
        return None
    content = (body.encode() if isinstance(body, str) else body).removeprefix(b"\xef\xbb\xbf")
    if not is_json(content):
        return None
    try:
        return json_value(content)
    except (ValueError, RecursionError):
        return None


def _plain_scalars(value: object, place: Place = ()) -> Iterator[tuple[Place, Scalar]]:
    """Yield the scalars in a JSON value; texts are not searched."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _plain_scalars(inner, (*place, f".{name}"))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _plain_scalars(inner, (*place, f"#{i}"))
    elif value is None or isinstance(value, str | int | float):
        yield place, value


def _outside_rows(value: object, place: Place = ()) -> Iterator[tuple[Place, Scalar]]:
    """Yield the scalars that belong to the answer as a whole: not inside its lists, except lists of one item."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _outside_rows(inner, (*place, f".{name}"))
    elif isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], Mapping):
            has_lists = any(isinstance(inner, list | dict) for inner in value[0].values())
            if has_lists:
                yield from _outside_rows(value[0], (*place, "#0"))
    elif value is None or isinstance(value, str | int | float):
        yield place, value


def _at(content: object, place: Place) -> Scalar:
    """Return the scalar at a place of an answer; None if there is none."""
    value: object = content
    for step in place:
        if step.startswith("#") and isinstance(value, list) and value:
            at = int(step[1:])
            value = value[at] if -len(value) <= at < len(value) else None
        elif isinstance(value, dict):
            value = value.get(step[1:])
        else:
            return None
    return value if isinstance(value, str | int | float) else None


def _row_count(content: object) -> int:
    """Return the length of the longest list in an answer."""
    longest, waiting = 0, [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            longest = max(longest, len(value))
            waiting += value[:MIN_ROWS]
        elif isinstance(value, dict):
            waiting += value.values()
    return longest


def _is_cursor_name(place: Place) -> bool:
    return bool(place) and place[-1].startswith(".") and bool(CURSOR.fullmatch(_plain(place[-1][1:])))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _number(value: object) -> int | None:
    """Return a whole number, also one written as text; None for other values."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 9:
        return int(value)
    return None


def _resolved(base: str, target: str) -> str:
    try:
        return urljoin(base, target)
    except ValueError:
        return ""
