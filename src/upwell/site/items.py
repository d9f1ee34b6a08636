"""What an answer shows that can be told apart: its items are the targets of links and longer texts."""

import json
import re
from urllib.parse import unquote, urldefrag

from upwell.model import Response
from upwell.page.charset import spellings
from upwell.page.data import is_json, read_page
from upwell.page.tree import TagTree

__all__ = ["items_of_page", "items_of_response", "without_query"]

MIN_TEXT_CHARS = 21  # of a text on a page: shorter ones are labels
MIN_JSON_TEXT_CHARS = 3


def items_of_page(page: TagTree) -> frozenset[str]:
    """The targets of a page's links and its longer texts."""
    targets = {urldefrag(address)[0] for _, address in page.links()} - {urldefrag(page.url)[0]}
    return frozenset([*targets, *(chunk for chunk in page.chunks if len(chunk) >= MIN_TEXT_CHARS)])


def items_of_response(response: Response) -> frozenset[str]:
    """The items of an answer; of JSON, its texts."""
    if not is_json(response.body, response.headers.get("Content-Type", "")):
        return items_of_page(read_page(response.body, response.url, response.headers))
    try:
        waiting: list[object] = [json.loads(response.body)]
    except (ValueError, RecursionError):
        return frozenset()
    texts = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and len(value) >= MIN_JSON_TEXT_CHARS:
            texts.add(value)
    return frozenset(texts)


def without_query(items: frozenset[str], query: str = "") -> frozenset[str]:
    """Items with the query taken out of them: an answer that only repeats the query shows nothing new.

    Where the query is the whole value of an argument, the argument goes too: links that sort a list come with and without it.
    """
    if not query:
        return frozenset(unquote(item.lower()) for item in items)
    spelled = spellings(query)
    any_spelling = "|".join(map(re.escape, sorted(spelled)))
    argument = re.compile(rf"(?<=[?&;])[^=&;?#]*=(?:{any_spelling})(?:[&;]|(?=#)|$)")
    stripped = set()
    for item in items:
        text = item.lower()
        if "?" in text:
            text = argument.sub("", text).rstrip("?&;")
        for spelling in spelled:
            text = text.replace(spelling, "")
        stripped.add(unquote(text))
    return frozenset(stripped)
