"""What a page states about its thing without showing it: JSON-LD, Open Graph and other <meta>, microdata and RDFa in attributes, <title>.

Each statement is a text at a place of its own ("json-ld offers.price", "meta og:title"), so that it becomes a column like any other text.
"""

import json
from collections.abc import Collection, Iterator

from upwell.extract.entity_texts import Located
from upwell.page.tree import TagTree

__all__ = ["JSON_LD", "TITLE", "is_stated", "property_of", "stated_texts"]

JSON_LD, META, ATTRIBUTE, TITLE = "json-ld ", "meta ", "property ", "title"
MAX_JSON_DEPTH = 6  # levels of JSON-LD that are read
MAX_STATEMENTS = 1_000  # of one page; more are data of a script, not statements about one thing
# Of <meta>: what is said to browsers and robots, not about the thing.
NOT_ABOUT_THE_THING = frozenset(
    ["viewport", "robots", "generator", "charset", "theme-color", "format-detection", "referrer", "googlebot", "csrf-token", "rating"]
)  # fmt: skip
VALUE_ATTRIBUTES = ("content", "datetime", "href", "src")  # HTML standard §5.2.4 "values" of microdata, in short


def is_stated(place: str) -> bool:
    """Whether a place is one of a statement."""
    return place == TITLE or place.startswith((JSON_LD, META, ATTRIBUTE))


def property_of(place: str) -> str:
    """What a statement calls its text: "json-ld offers.price" → "price"; "" for <title>."""
    return "" if place == TITLE else place.split(" ", 1)[1].rsplit(".", 1)[-1].rsplit(":", 1)[-1].rsplit("/", 1)[-1]


def stated_texts(tree: TagTree, wanted: Collection[str] | None = None) -> Iterator[Located]:
    """The statements of a page; only those at wanted places, where some are named."""
    kinds = (
        (JSON_LD, META, ATTRIBUTE)
        if wanted is None
        else {kind for kind in (JSON_LD, META, ATTRIBUTE) for place in wanted if place.startswith(kind)}
    )
    statements: list[tuple[str, str]] = [(TITLE, tree.title)]
    if JSON_LD in kinds:
        statements += _json_ld(tree)
    if META in kinds:
        statements += _meta(tree)
    if ATTRIBUTE in kinds:
        statements += _attributes(tree)
    for place, text in statements[:MAX_STATEMENTS]:
        text = " ".join(text.split())
        if any(map(str.isalnum, text)) and (wanted is None or place in wanted):
            yield Located(-1, place, text, "", "", -1)


def _json_ld(tree: TagTree) -> Iterator[tuple[str, str]]:
    for row, text in tree.data.items():
        if "ld+json" not in (tree.attr(row, "type") or ""):
            continue
        try:
            stack: list[tuple[str, object, int]] = [("", json.loads(text), 0)]
        except (ValueError, RecursionError):
            continue
        while stack:
            name, value, depth = stack.pop()
            if depth > MAX_JSON_DEPTH:
                continue
            if isinstance(value, dict):
                inner = [
                    (f"{name}.{key}".strip("."), part) for key, part in value.items() if not str(key).startswith("@")
                ]
                inner += [(name, value["@graph"])] if "@graph" in value else []
                stack.extend((key, part, depth + 1) for key, part in reversed(inner))
            elif isinstance(value, list):
                stack.extend((name, part, depth + 1) for part in reversed(value))
            elif name and isinstance(value, str | int | float):
                yield JSON_LD + name, str(value).lower() if isinstance(value, bool) else str(value)


def _meta(tree: TagTree) -> Iterator[tuple[str, str]]:
    for row in tree.rows("meta").tolist():
        found = tree.attributes.get(row, {})
        name = (found.get("property") or found.get("name") or "").strip().lower()
        if name and name not in NOT_ABOUT_THE_THING and (content := found.get("content")):
            yield META + name, content


def _attributes(tree: TagTree) -> Iterator[tuple[str, str]]:
    for row, found in tree.attributes.items():
        name = found.get("itemprop") or (found.get("property") if tree.name(row) != "meta" else "")
        value = next((found[key] for key in VALUE_ATTRIBUTES if found.get(key)), "") if name else ""
        if name and value:
            yield ATTRIBUTE + name, value
