"""Ways in that a site declares itself: schema.org SearchAction (JSON-LD, microdata, RDFa) and OpenSearch descriptions."""

import json
import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from upwell.model import AddressInterface, FormInterface, SearchInterface, Via
from upwell.page.tree import TagTree, read

__all__ = ["actions", "descriptions", "of_address", "opensearch"]

MARK = "\ue000query\ue000"  # stands for the query while an address is taken apart; private use, so no address has it
PLACE = re.compile(r"\{([^{}]*)\}")
# OpenSearch 1.1, "Url template": what the parameters that must be given stand for when there is nothing to say.
GIVEN = {
    "startpage": "1",
    "startindex": "1",
    "count": "20",
    "language": "*",
    "inputencoding": "UTF-8",
    "outputencoding": "UTF-8",
}
MAX_DATA = 1_000_000  # characters of JSON-LD that are looked at


def actions(tree: TagTree) -> tuple[SearchInterface, ...]:
    """Every SearchAction that a page declares, in document order (schema.org, "Potential Actions")."""
    found = [_target(tree, target, name) for target, name in (*_linked_data(tree), *_microdata(tree))]
    return tuple(dict.fromkeys(template for template in found if template is not None))


def descriptions(tree: TagTree) -> tuple[str, ...]:
    """The addresses of the page's OpenSearch descriptions (OpenSearch 1.1, "Autodiscovery")."""
    found = [
        tree.resolve(tree.attr(row, "href"))
        for row in tree.rows("link")
        if "search" in (tree.attr(row, "rel") or "").lower().split()
        and "opensearch" in (tree.attr(row, "type") or "opensearch").lower()
    ]
    return tuple(dict.fromkeys(address for address in found if address))


def opensearch(document: bytes, url: str) -> tuple[SearchInterface, ...]:
    """The templates of an OpenSearch description that bring back pages; those for feeds and suggestions are left out.

    Read with the HTML parser: it knows no entities that grow and no document types.
    """
    tree = read(document, url=url)
    found = []
    for row in range(len(tree)):
        if tree.name(row).rsplit(":", 1)[-1] != "url" or "html" not in (tree.attr(row, "type") or "").lower():
            continue
        if (tree.attr(row, "rel") or "results").lower() != "results":
            continue
        method: Literal["GET", "POST"] = "POST" if (tree.attr(row, "method") or "").lower() == "post" else "GET"
        address = _without_optional(tree.attr(row, "template") or "")
        below = [i for i in range(row + 1, int(tree.end[row])) if tree.name(i).rsplit(":", 1)[-1] == "param"]
        pairs = [(tree.attr(i, "name") or "", _fixed(tree.attr(i, "value") or "")) for i in below]
        template = of_address(tree.resolve(_fixed(address)) or "", "opensearch", method, tuple(pairs))
        if template is not None:
            found.append(template)
    return tuple(dict.fromkeys(found))


def of_address(
    address: str, via: Via, method: Literal["GET", "POST"] = "GET", more: tuple[tuple[str, str], ...] = ()
) -> SearchInterface | None:
    """A template from an address, or fields to post, with MARK where the query goes; None where it has none.

    >>> of_address(f"http://x/find?lang=en&q={MARK}", "opensearch").fields
    (('lang', 'en'), ('q', ''))
    >>> of_address(f"http://x/tag/{MARK}.html", "search-action").url
    'http://x/tag/{query}.html'
    """
    parts = urlsplit(address)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    own = more if method == "POST" else (*pairs, *more)
    field = next((name for name, value in own if value == MARK), "")
    if field:
        bare = parts._replace(fragment="") if method == "POST" else parts._replace(query="", fragment="")
        fields = tuple((name, "" if value == MARK else value) for name, value in own)
        return FormInterface(method=method, url=urlunsplit(bare), query_field=field, fields=fields, score=0.97, via=via)
    if MARK not in address or parts.scheme not in ("http", "https") or MARK in parts.netloc:
        return None
    arguments = "&".join(filter(None, (parts.query, urlencode(more) if method == "GET" else "")))
    bare_address = urlunsplit(parts._replace(query=arguments, fragment="")).replace(MARK, "{query}")
    fields = more if method == "POST" else ()
    return AddressInterface(method=method, url=bare_address, fields=fields, score=0.97, via=via)


def _target(tree: TagTree, target: str, name: str) -> SearchInterface | None:
    places = PLACE.findall(target)
    if not places:
        return None
    query = name if name in places else places[0]
    marked = PLACE.sub(lambda found: MARK if found[1] == query else "", target)
    return of_address(tree.resolve(marked) or "", "search-action")


def _linked_data(tree: TagTree) -> Iterator[tuple[str, str]]:
    """Target and name of the query of each SearchAction in the page's JSON-LD."""
    for text in tree.data.values():
        if "SearchAction" not in text or len(text) > MAX_DATA:
            continue
        try:
            waiting: list[object] = [json.loads(text, strict=False)]
        except (ValueError, RecursionError):
            continue  # one bad script is no reason to look at no other
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting += reversed(value)
            elif isinstance(value, dict):
                if "SearchAction" in _texts(value.get("@type")):
                    yield from ((target, _name(value.get("query-input"))) for target in _targets(value.get("target")))
                else:
                    waiting += reversed(value.values())


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [text.rsplit("/", 1)[-1] for text in found if isinstance(text, str)]


def _targets(value: object) -> Iterator[str]:
    for target in value if isinstance(value, list) else [value]:
        address = target.get("urlTemplate") or target.get("url") if isinstance(target, dict) else target
        if isinstance(address, str):
            yield address


def _name(said: object) -> str:
    """The variable that takes the query: `required name=q` as a text, or a PropertyValueSpecification."""
    if isinstance(said, dict):
        return str(said.get("valueName") or "")
    found = re.search(r"name=([^\s{}]+)", said) if isinstance(said, str) else None
    return found[1] if found else ""


def _microdata(tree: TagTree) -> Iterator[tuple[str, str]]:
    """Target and name of the query of each SearchAction in microdata or RDFa."""
    for action, attributes in tree.attributes.items():
        kind = (attributes.get("itemtype") or attributes.get("typeof") or "").split()
        if "SearchAction" not in [name.rsplit("/", 1)[-1].rsplit(":", 1)[-1] for name in kind]:
            continue
        targets, name = [], ""
        for row in range(action, int(tree.end[action])):
            said = (tree.attr(row, "itemprop") or tree.attr(row, "property") or "").rsplit(":", 1)[-1]
            content = tree.attr(row, "content") or tree.attr(row, "href") or ""
            if said in ("target", "urlTemplate") and "{" in content:
                targets.append(content)
            elif said == "query-input":
                name = tree.attr(row, "name") or _name(content)
        yield from ((target, name) for target in targets)


def _without_optional(address: str) -> str:
    """An OpenSearch address without the arguments that may be left out (`{name?}`)."""
    start, sign, query = address.partition("?")
    if "}" in query or not sign:
        kept = [
            pair
            for pair in re.split(r"&(?:amp;)?", query)
            if not re.search(r"\{[^{}]*\?\}", pair) or "{searchTerms" in pair
        ]
        address = start + (f"?{'&'.join(kept)}" if kept else "")
    return address


def _fixed(text: str) -> str:
    """An OpenSearch parameter text with the query marked and the rest given their plainest value."""

    def value(found: re.Match[str]) -> str:
        name = found[1].rstrip("?").rsplit(":", 1)[-1].lower()
        return MARK if name == "searchterms" else "" if found[1].endswith("?") else GIVEN.get(name, "")

    return PLACE.sub(value, text)
