"""Read and change the values that a request carries, however they are nested.

value   text, number or truth value: a path segment, an argument, a form field, a member of a JSON body
place   where a value is, as steps from the outside in: `("argument", "filter", "0", "json", ".q")`

A text that contains JSON or a query string is a container too: `?filter={"q":"a"}`, `{"params":"query=a&page=0"}`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit

from upwell.types import Request

__all__ = ["Place", "Scalar", "mark", "name_of", "scalars", "value_at", "values", "with_value"]

Scalar = str | int | float | bool | None
Place = tuple[str, ...]
MAX_DEPTH = 30  # nesting levels that are searched
MAX_CHARS = 1_000_000  # longer bodies are uploads, not queries
# A query string inside a text: at least two pairs, without spaces.
QUERY_STRING = re.compile(r"[\w.\[\]%-]{1,60}=[^&=\s]*(?:&[\w.\[\]%-]{1,60}=[^&=\s]*)+")


def values(request: Request) -> Iterator[tuple[Place, Scalar]]:
    """Yield the values of a request with their places.

    >>> list(values(Request(url='http://x/?filter={"q":"a"}&start=0')))
    [(('path', '1'), ''), (('argument', 'filter', '0', 'json', '.q'), 'a'), (('argument', 'start', '0'), '0')]
    >>> body = b'{"requests":[{"indexName":"things","params":"query=a&page=0"}]}'
    >>> [value for _, value in values(Request(url="http://x/", method="POST", body=body))]
    ['', 'things', 'a', '0']
    """
    parts = urlsplit(request.url)
    for i, segment in enumerate(parts.path.split("/")[1:], 1):
        yield ("path", str(i)), unquote(segment)
    yield from _of_pairs("argument", parts.query, ())
    if len(request.body) > MAX_CHARS:
        return
    for kind, content in _contents(request):
        if isinstance(content, str):
            yield from _of_pairs("field", content, ())
        else:
            yield from scalars(content, (kind,))


def scalars(value: object, place: Place = ()) -> Iterator[tuple[Place, Scalar]]:
    """Yield the scalars in a JSON value with their places, also those in texts that are JSON or query strings themselves.

    >>> list(scalars({"a": [1, "x"], "b": None}))
    [(('.a', '#0'), 1), (('.a', '#1'), 'x'), (('.b',), None)]
    """
    if len(place) > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from scalars(inner, (*place, f".{name}"))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from scalars(inner, (*place, f"#{i}"))
    elif isinstance(value, str):
        inner = _nested(value)
        if inner is not None:
            yield from scalars(inner, (*place, "json"))
        elif QUERY_STRING.fullmatch(value):
            yield from _of_pairs("pair", value, place)
        else:
            yield place, value
    elif value is None or isinstance(value, int | float):
        yield place, value


def _of_pairs(kind: str, text: str, place: Place) -> Iterator[tuple[Place, Scalar]]:
    seen: dict[str, int] = {}
    for pair in filter(None, text.split("&")):
        name, _, value = pair.partition("=")
        name = unquote_plus(name)
        number = seen.get(name, 0)
        seen[name] = number + 1
        yield from scalars(unquote_plus(value), (*place, kind, name, str(number)))


def _nested(text: str) -> object:
    """Return the object or list that a text contains as JSON; None if it contains none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _contents(request: Request) -> Iterator[tuple[str, object]]:
    """Yield the contents of a body: one JSON value, JSON values line by line, or the text of a form."""
    if not request.body:
        return
    text = request.body.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield "body", json.loads(text)
            return
        except (ValueError, RecursionError):
            lines = [_nested(line) for line in text.splitlines() if line.strip()]
            if all(line is not None for line in lines):
                yield from ((f"line{i}", line) for i, line in enumerate(lines))
                return
    if "urlencoded" in request.content_type:
        yield "field", text


def name_of(place: Place) -> str:
    """Return the innermost name of a place; "" for a path segment.

    >>> name_of(("argument", "range", "0", "json", "#1")), name_of(("body", ".variables", ".after"))
    ('range', 'after')
    """
    names = [
        step[1:] if step.startswith(".") else step
        for i, step in enumerate(place)
        if step.startswith(".") or (i and place[i - 1] in ("argument", "field", "pair"))
    ]
    return names[-1] if names else ""


def value_at(request: Request, place: Place) -> Scalar:
    """Return the value at a place; None if there is none."""
    return next((value for known, value in values(request) if known == place), None)


def with_value(request: Request, place: Place, value: Scalar) -> Request:
    """Return a request with another value at a place; an argument, field or member that is missing is added.

    >>> with_value(Request(url="http://x/api?range=[0,24]"), ("argument", "range", "0", "json", "#1"), 49).url
    'http://x/api?range=%5B0%2C49%5D'
    >>> body = b'{"params": "query=a&page=0"}'
    >>> with_value(Request(url="http://x/", method="POST", body=body), ("body", ".params", "pair", "page", "0"), "1").body
    b'{"params": "query=a&page=1"}'
    """
    kind, rest = place[0], place[1:]
    parts = urlsplit(request.url)
    if kind == "path":
        segments = parts.path.split("/")
        if int(rest[0]) < len(segments):
            segments[int(rest[0])] = quote(_text(value), safe="")
        return replace(request, url=urlunsplit(parts._replace(path="/".join(segments))))
    if kind == "argument":
        return replace(request, url=urlunsplit(parts._replace(query=_with_pair(parts.query, rest, value))))
    text = request.body.decode("utf-8", "replace")
    if kind == "field":
        return replace(request, body=_with_pair(text, rest, value).encode())
    if kind == "body":
        return replace(request, body=_dumped(_changed(json.loads(text), rest, value)).encode())
    lines = [line for line in text.splitlines() if line.strip()]
    number = int(kind.removeprefix("line"))
    lines[number] = _dumped(_changed(json.loads(lines[number]), rest, value))
    return replace(request, body=("\n".join(lines) + "\n").encode())


def _with_pair(text: str, steps: Place, value: Scalar) -> str:
    """Return a query string in which the pair of a name and number has another value; the other pairs are kept as written."""
    name, number, rest = steps[0], int(steps[1]), steps[2:]
    pairs = [pair for pair in text.split("&") if pair]
    same_name = [i for i, pair in enumerate(pairs) if unquote_plus(pair.partition("=")[0]) == name]
    if number >= len(same_name):
        return "&".join([*pairs, f"{quote_plus(name)}={quote(_text(value), safe='')}"])
    written, _, old = pairs[same_name[number]].partition("=")
    pairs[same_name[number]] = f"{written}={quote(_text(_changed(unquote_plus(old), rest, value)), safe='')}"
    return "&".join(pairs)


def _changed(value: object, steps: Place, new: Scalar) -> object:
    """Return a JSON value with another scalar at a place; the types of numbers in it are kept."""
    if not steps:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return int(new) if is_number and isinstance(new, str) and new.isdecimal() else new
    step, rest = steps[0], steps[1:]
    if step == "json" and isinstance(value, str):
        return _dumped(_changed(json.loads(value), rest, new), is_compact=True)
    if step == "pair" and isinstance(value, str):
        return _with_pair(value, rest, new)
    if isinstance(value, dict) and step.startswith("."):
        return {**value, step[1:]: _changed(value.get(step[1:]), rest, new)}
    if isinstance(value, list) and step.startswith("#") and int(step[1:]) < len(value):
        at = int(step[1:])
        return [*value[:at], _changed(value[at], rest, new), *value[at + 1 :]]
    return value


def mark(request: Request, query: str, marked: str, *, only_whole: bool = False) -> tuple[Request, list[Place]]:
    """Replace a query in the values of a request by another text; return the request and the places.

    With `only_whole`, only values that equal the query are replaced, because a word may be part of any value by chance.

    >>> mark(Request(url="http://x/s?filter=name LIKE '%25heat%25'"), "heat", "{query}")[0].url
    'http://x/s?filter=name%20LIKE%20%27%25%7Bquery%7D%25%27'
    """
    places = []
    wanted = query.casefold()
    for place, value in list(values(request)) if wanted else ():
        if not isinstance(value, str) or wanted not in value.casefold():
            continue
        whole = value.strip().casefold() == wanted
        if not whole and (only_whole or wanted not in value.lower() or len(value.lower()) != len(value)):
            continue
        request = with_value(request, place, marked if whole else _replaced(value, wanted, marked))
        places.append(place)
    return request, places


def _replaced(text: str, wanted: str, new: str) -> str:
    """Replace a text in any case."""
    lower, parts, at = text.lower(), [], 0
    while (found := lower.find(wanted, at)) >= 0:
        parts += [text[at:found], new]
        at = found + len(wanted)
    return "".join([*parts, text[at:]])


def _dumped(value: object, *, is_compact: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if is_compact else None)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
