"""Trying an interface: which words to ask it for, and what an answer shows that is worth comparing."""

import json
import re
from collections import Counter
from urllib.parse import quote, quote_plus, unquote, urldefrag

import wordfreq

from upwell.model import Response
from upwell.page.data import is_json, read_page
from upwell.page.terms import tokens
from upwell.page.tree import TagTree

__all__ = ["answered", "shown", "without", "words"]


def words(page: TagTree, home: TagTree, worked: list[str], count: int) -> list[str]:
    """Words to try with: those that worked elsewhere on the site, of the page's content, and common words of its language."""
    language = page.language or home.language or "en"
    try:
        common = wordfreq.top_n_list(language, 700)
    except LookupError:
        language, common = "en", wordfreq.top_n_list("en", 700)
    plain = [word for word in common[250:] if len(word) > 4 and word.isalpha()][::8]
    own = content(page, language) or content(home, language)
    half = count // 2 + 1
    return list(dict.fromkeys([*worked, *own[:half], *plain[: count - half]]))


def content(page: TagTree, language: str) -> list[str]:
    """The words of a page outside of its menus and forms: of records rather than of every page; the more frequent ones first.

    Words that are rare in the language but not unheard of come before the others: everybody's words are on no record or on all.
    """
    outside = list(page.rows("nav", "header", "footer", "form", "button", "label", "aside", "h1"))
    chunks = [
        chunk
        for chunk, row in zip(page.chunks, page.chunk_row.tolist(), strict=True)
        if not any(start <= row < page.end[start] for start in outside)
    ]
    often = Counter(word for chunk in chunks for word in tokens(chunk) if len(word) > 3 and word.isalpha())
    fit = {word: 2.0 <= wordfreq.zipf_frequency(word, language) <= 5.3 for word in often}
    return sorted(often, key=lambda word: (not fit[word], -often[word]))


def shown(page: TagTree) -> frozenset[str]:
    """What a page shows that can be told apart: link targets and longer texts."""
    targets = {urldefrag(address)[0] for _, address in page.links()} - {urldefrag(page.url)[0]}
    return frozenset([*targets, *(chunk for chunk in page.chunks if len(chunk) > 20)])


def answered(response: Response) -> frozenset[str]:
    """What an answer shows; of JSON, its texts."""
    if not is_json(response.body, response.headers.get("Content-Type", "")):
        return shown(read_page(response.body, response.url, response.headers))
    try:
        waiting: list[object] = [json.loads(response.body)]
    except (ValueError, RecursionError):
        return frozenset()
    found = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and len(value) > 2:
            found.add(value)
    return frozenset(found)


def without(items: frozenset[str], query: str = "") -> frozenset[str]:
    """Items with the query taken out of them: an answer that only repeats the query shows nothing new.

    Where it is all that an argument says, the argument goes: the columns of a list are sorted by links with and without it.
    """
    if not query:
        return frozenset(unquote(item.lower()) for item in items)
    written = {query.lower(), quote(query).lower(), quote_plus(query).lower()}
    forms = "|".join(map(re.escape, sorted(written)))
    argument = re.compile(rf"(?<=[?&;])[^=&;?#]*=(?:{forms})(?:[&;]|(?=#)|$)")
    found = set()
    for item in items:
        text = item.lower()
        if "?" in text:
            text = argument.sub("", text).rstrip("?&;")
        for form in written:
            text = text.replace(form, "")
        found.add(unquote(text))
    return frozenset(found)
