"""A request that a page's own script made while a query was typed, recognised as a search interface."""

import json
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from upwell.model import JsonInterface, Request, SearchInterface
from upwell.site.declared import QUERY_MARK, interface_of_address

__all__ = ["interface_of_request"]

SCORE = 0.9


def interface_of_request(request: Request, query: str) -> SearchInterface | None:
    """The interface that sends this request for this query; None where the query is not in it as a value of its own.

    >>> interface_of_request(Request(url="http://x/api?q=heat+wave&n=5"), "heat wave").fields
    (('q', ''), ('n', '5'))
    >>> interface_of_request(Request(url="http://x/api/heat%20wave"), "heat wave").url
    'http://x/api/{query}'
    >>> json_request = Request(url="http://x/api", method="POST", body=b'{"q":"heat"}', content_type="application/json")
    >>> interface_of_request(json_request, "heat").body
    '{"q": "{query}"}'
    """
    interface = _of_post(request, query) if request.method == "POST" else _of_get(request, query)
    return replace(interface, score=SCORE, headers=request.headers) if interface is not None else None


def _of_get(request: Request, query: str) -> SearchInterface | None:
    parts = urlsplit(request.url)
    path, arguments = parts.path, parts.query
    for spelling in dict.fromkeys((quote(query, safe=""), quote(query), query.replace(" ", "+"), query)):
        steps = [QUERY_MARK if step.lower() == spelling.lower() else step for step in path.split("/")]
        pairs = [
            f"{name}={QUERY_MARK}" if sign and value.lower() == spelling.lower() else f"{name}{sign}{value}"
            for name, sign, value in (pair.partition("=") for pair in arguments.split("&"))
        ]
        path, arguments = "/".join(steps), "&".join(pairs)
    return interface_of_address(urlunsplit(parts._replace(path=path, query=arguments)), "browser")


def _of_post(request: Request, query: str) -> SearchInterface | None:
    if "json" in request.content_type:
        try:
            value = json.loads(request.body)
        except ValueError:
            return None
        body = json.dumps(_marked(value, query), ensure_ascii=False)
        return JsonInterface(url=request.url, body=body, via="browser") if "{query}" in body else None
    if "urlencoded" not in request.content_type:
        return None
    pairs = parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
    fields = tuple((name, QUERY_MARK if value == query else value) for name, value in pairs)
    return interface_of_address(request.url, "browser", "POST", fields)


def _marked(value: object, query: str) -> object:
    """JSON with {query} for every text that is the query."""
    if isinstance(value, dict):
        return {name: _marked(inner, query) for name, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner, query) for inner in value]
    return "{query}" if value == query else value
