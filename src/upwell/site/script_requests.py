"""A request that a page's own script made while a query was typed, recognised as a template."""

import json
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from upwell.model import JsonInterface, Request, SearchInterface
from upwell.site.declared import MARK, of_address

__all__ = ["of_call"]


def of_call(call: Request, query: str) -> SearchInterface | None:
    """The template of which this request is one filling; None where the query is not in it, or not as a value of its own.

    >>> of_call(Request(url="http://x/api?q=heat+wave&n=5"), "heat wave").fields
    (('q', ''), ('n', '5'))
    >>> of_call(Request(url="http://x/api/heat%20wave"), "heat wave").url
    'http://x/api/{query}'
    >>> of_call(Request(url="http://x/api", method="POST", body=b'{"q":"heat"}', content_type="application/json"), "heat").body
    '{"q": "{query}"}'
    """
    if call.method == "POST":
        template = _posted(call, query)
    else:
        parts = urlsplit(call.url)
        written = dict.fromkeys((quote(query, safe=""), quote(query), query.replace(" ", "+"), query))
        path, arguments = parts.path, parts.query
        for form in written:
            steps = [MARK if step.lower() == form.lower() else step for step in path.split("/")]
            pairs = [
                f"{name}={MARK}" if sign and value.lower() == form.lower() else f"{name}{sign}{value}"
                for name, sign, value in (pair.partition("=") for pair in arguments.split("&"))
            ]
            path, arguments = "/".join(steps), "&".join(pairs)
        template = of_address(urlunsplit(parts._replace(path=path, query=arguments)), "browser")
    return replace(template, score=0.9) if template is not None else None


def _posted(call: Request, query: str) -> SearchInterface | None:
    if "json" in call.content_type:
        try:
            value = json.loads(call.body)
        except ValueError:
            return None
        body = json.dumps(_marked(value, query), ensure_ascii=False)
        if body.count("{query}") == 0:
            return None
        return JsonInterface(url=call.url, body=body, via="browser")
    if "urlencoded" not in call.content_type:
        return None
    pairs = tuple((name, MARK if value == query else value) for name, value in _pairs(call.body))
    return of_address(call.url, "browser", "POST", pairs)


def _pairs(body: bytes) -> list[tuple[str, str]]:
    return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)


def _marked(value: object, query: str) -> object:
    """JSON with {query} for every text that is the query."""
    if isinstance(value, dict):
        return {name: _marked(inner, query) for name, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner, query) for inner in value]
    return "{query}" if value == query else value
