"""Read the search interfaces that a site declares: schema.org SearchAction (JSON-LD, microdata, RDFa) and OpenSearch descriptions."""

import json
import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from upwell.page.tree import TagTree, read
from upwell.types import AddressInterface, FormInterface, SearchInterface, Via

__all__ = ["QUERY_MARK", "interface_of_url", "opensearch_interfaces", "opensearch_links", "search_actions"]

QUERY_MARK = (
    "\ue000query\ue000"  # placeholder of the query while a URL is parsed; private-use characters occur in no URL
)
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Default values of required OpenSearch parameters (OpenSearch 1.1, "URL template syntax").
REQUIRED_VALUES = {
    "startpage": "1",
    "startindex": "1",
    "count": "20",
    "language": "*",
    "inputencoding": "UTF-8",
    "outputencoding": "UTF-8",
}
MAX_JSON_CHARS = 1_000_000  # longer JSON-LD scripts are ignored
SCORE = 0.97  # of a declared interface


def search_actions(tree: TagTree) -> tuple[SearchInterface, ...]:
    """Return the SearchActions that a page declares, in document order (schema.org, "Potential Actions")."""
    interfaces = [
        _interface_of_target(tree, target, name) for target, name in (*_json_ld_targets(tree), *_markup_targets(tree))
    ]
    return tuple(dict.fromkeys(interface for interface in interfaces if interface is not None))


def opensearch_links(tree: TagTree) -> tuple[str, ...]:
    """Return the URLs of a page's OpenSearch descriptions (OpenSearch 1.1, "Autodiscovery")."""
    urls = [
        tree.resolve(tree.attr(row, "href"))
        for row in tree.rows("link")
        if "search" in (tree.attr(row, "rel") or "").lower().split()
        and "opensearch" in (tree.attr(row, "type") or "opensearch").lower()
    ]
    return tuple(dict.fromkeys(url for url in urls if url))


def opensearch_interfaces(document: bytes, url: str) -> tuple[SearchInterface, ...]:
    """Return the interfaces of an OpenSearch description that return pages, not feeds or suggestions.

    The HTML parser reads it, because it expands no entities and loads no document types.
    """
    tree = read(document, url=url)
    interfaces = []
    for row in range(len(tree)):
        if tree.name(row).rsplit(":", 1)[-1] != "url" or "html" not in (tree.attr(row, "type") or "").lower():
            continue
        if (tree.attr(row, "rel") or "results").lower() != "results":
            continue
        method: Literal["GET", "POST"] = "POST" if (tree.attr(row, "method") or "").lower() == "post" else "GET"
        template = _without_optional(tree.attr(row, "template") or "")
        below = [i for i in range(row + 1, int(tree.end[row])) if tree.name(i).rsplit(":", 1)[-1] == "param"]
        params = [(tree.attr(i, "name") or "", _with_values(tree.attr(i, "value") or "")) for i in below]
        target = tree.resolve(_with_values(template)) or ""
        interface = interface_of_url(target, "opensearch", method, tuple(params))
        if interface is not None:
            interfaces.append(interface)
    return tuple(dict.fromkeys(interfaces))


def interface_of_url(
    url: str, via: Via, method: Literal["GET", "POST"] = "GET", params: tuple[tuple[str, str], ...] = ()
) -> SearchInterface | None:
    """Return the interface of a URL, and parameters sent with it, that contain QUERY_MARK in place of the query; None without it.

    >>> interface_of_url(f"http://x/find?lang=en&q={QUERY_MARK}", "opensearch").fields
    (('lang', 'en'), ('q', ''))
    >>> interface_of_url(f"http://x/tag/{QUERY_MARK}.html", "search-action").url
    'http://x/tag/{query}.html'
    """
    parts = urlsplit(url)
    pairs = params if method == "POST" else (*parse_qsl(parts.query, keep_blank_values=True), *params)
    query_field = next((name for name, value in pairs if value == QUERY_MARK), "")
    if query_field:
        target = parts._replace(fragment="") if method == "POST" else parts._replace(query="", fragment="")
        return FormInterface(
            method=method,
            url=urlunsplit(target),
            query_field=query_field,
            fields=tuple((name, "" if value == QUERY_MARK else value) for name, value in pairs),
            score=SCORE,
            via=via,
        )
    if QUERY_MARK not in url or parts.scheme not in ("http", "https") or QUERY_MARK in parts.netloc:
        return None
    arguments = "&".join(filter(None, (parts.query, urlencode(params) if method == "GET" else "")))
    return AddressInterface(
        method=method,
        url=urlunsplit(parts._replace(query=arguments, fragment="")).replace(QUERY_MARK, "{query}"),
        fields=params if method == "POST" else (),
        score=SCORE,
        via=via,
    )


def _interface_of_target(tree: TagTree, target: str, query_name: str) -> SearchInterface | None:
    """Return the interface of a SearchAction's target: `{query_name}` is the query, other placeholders stay empty."""
    names = PLACEHOLDER.findall(target)
    if not names:
        return None
    query_name = query_name if query_name in names else names[0]
    marked = PLACEHOLDER.sub(lambda match: QUERY_MARK if match[1] == query_name else "", target)
    return interface_of_url(tree.resolve(marked) or "", "search-action")


def _json_ld_targets(tree: TagTree) -> Iterator[tuple[str, str]]:
    """Yield target and query variable of each SearchAction in a page's JSON-LD."""
    for text in tree.data.values():
        if "SearchAction" not in text or len(text) > MAX_JSON_CHARS:
            continue
        try:
            waiting: list[object] = [json.loads(text, strict=False)]
        except (ValueError, RecursionError):
            continue  # other scripts may be valid
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting += reversed(value)
            elif isinstance(value, dict):
                if "SearchAction" in _type_names(value.get("@type")):
                    name = _query_name(value.get("query-input"))
                    yield from ((target, name) for target in _target_urls(value.get("target")))
                else:
                    waiting += reversed(value.values())


def _type_names(value: object) -> list[str]:
    """Return the types of a JSON-LD object without their vocabulary."""
    types = value if isinstance(value, list) else [value]
    return [text.rsplit("/", 1)[-1] for text in types if isinstance(text, str)]


def _target_urls(value: object) -> Iterator[str]:
    for target in value if isinstance(value, list) else [value]:
        url = target.get("urlTemplate") or target.get("url") if isinstance(target, dict) else target
        if isinstance(url, str):
            yield url


def _query_name(query_input: object) -> str:
    """Return the query variable, given as text (`required name=q`) or as a PropertyValueSpecification."""
    if isinstance(query_input, dict):
        return str(query_input.get("valueName") or "")
    name = re.search(r"name=([^\s{}]+)", query_input) if isinstance(query_input, str) else None
    return name[1] if name else ""


def _markup_targets(tree: TagTree) -> Iterator[tuple[str, str]]:
    """Yield target and query variable of each SearchAction in microdata or RDFa."""
    inside = 0  # end of the previous action: elements inside an action are not actions of their own
    item_types, rdfa_types = tree.attribute_by_row("itemtype"), tree.attribute_by_row("typeof")
    for action in sorted({*item_types, *rdfa_types}):
        if action < inside:
            continue
        types = (item_types.get(action) or rdfa_types.get(action) or "").split()
        if "SearchAction" not in [name.rsplit("/", 1)[-1].rsplit(":", 1)[-1] for name in types]:
            continue
        targets, query_name = [], ""
        inside = int(tree.end[action])
        for row in range(action, int(tree.end[action])):
            prop = (tree.attr(row, "itemprop") or tree.attr(row, "property") or "").rsplit(":", 1)[-1]
            content = tree.attr(row, "content") or tree.attr(row, "href") or ""
            if prop in ("target", "urlTemplate") and "{" in content:
                targets.append(content)
            elif prop == "query-input":
                query_name = tree.attr(row, "name") or _query_name(content)
        yield from ((target, query_name) for target in targets)


def _without_optional(template: str) -> str:
    """Remove the optional arguments (`{name?}`) from an OpenSearch URL template."""
    start, sign, query = template.partition("?")
    if "}" in query or not sign:
        kept = [
            pair
            for pair in re.split(r"&(?:amp;)?", query)
            if not re.search(r"\{[^{}]*\?\}", pair) or "{searchTerms" in pair
        ]
        template = start + (f"?{'&'.join(kept)}" if kept else "")
    return template


def _with_values(text: str) -> str:
    """Replace the parameters of an OpenSearch template: the query by QUERY_MARK, others by default values."""

    def value(match: re.Match[str]) -> str:
        name = match[1].rstrip("?").rsplit(":", 1)[-1].lower()
        if name == "searchterms":
            return QUERY_MARK
        return "" if match[1].endswith("?") else REQUIRED_VALUES.get(name, "")

    return PLACEHOLDER.sub(value, text)
