"""Detect requests that act: that delete, buy, post, cancel, sign or log out.

Every request is checked before it is sent, wherever it comes from: forms, buttons, links, pagers, facets, declared searches, redirects and
scripts. The decoded path, the names and values of arguments and hidden fields, and the name, value and label of the button are searched for
words (`lexicon/acting_*.toml`). In doubt a request counts as acting; requests that are left out are reported, and users can allow them.

operation   argument that names the operation: `action=…`, `do=…`, `_method=…`
title       path segment or value of many words: it names a thing ("how-to-delete-files-in-linux") and does not act
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from upwell.lazy import late_pattern
from upwell.lexicon.vocabulary import alternatives, fold_accents, words
from upwell.types import Request

__all__ = [
    "acting_words",
    "acting_words_in_fields",
    "acting_words_in_label",
    "acting_words_in_text",
    "acting_words_in_url",
]

CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]")
WORD = re.compile(r"[^\W\d_]+")
# Arguments whose value may be the first record of a page, which may have any name.
CURSORS = frozenset(("next", "cursor", "after", "start", "offset", "skip"))
OPERATION = re.compile(
    r"_?(?:action|act|do|doing|cmd|command|op|operation|oper|task|todo|method|_method|http_method|mode|event|func|function|fn|func_name|call|intent|"
    r"verb|step|perform|what|aktion|accion|acao|azione|actie|submit\w*|btn\w*|button\w*|commit|go)",
    re.I,
)
STATIC_FILE = re.compile(r"\.(?:js|mjs|css)$", re.I)
MAX_WORDS = 4  # words of a path segment or value that may name an operation; more are a title
MAX_LABEL_WORDS = 8  # words of the label of a button or link; more are a title
MAX_SEGMENTS = 50  # path segments; a longer path counts as acting
MAX_PATH_CHARS = 8000  # characters of a path that are read; RFC 9110 §4.1: longer URLs are not sent
MAX_DECODINGS = 3  # times that nested percent-encoding is decoded
MAX_BODY_CHARS = 200_000
MAX_CACHED = 8192  # cached URLs, paths, fields and labels
MAX_CACHED_CHARS = 100  # longer fields and labels are not cached
VERB_PREFIXES = frozenset(("do", "btn", "button", "submit", "action", "cmd", "place", "make", "confirm", "new", "go"))
# Words after which the word before is not a verb: "order by", "post type", "update results".
NO_OBJECTS = frozenset((
    "by", "per", "asc", "desc", "dir", "direction", "type", "types", "field", "number", "no", "id", "list", "date", "nr", "results",
    "search", "filter", "filters", "view", "code", "office", "language",
))  # fmt: skip
NUMBERED = re.compile(r"\w[-_.]\d+$")  # segment that names a page by a noun and a number: post-143
JSON_OPERATION = re.compile(r"^\s*mutation\b", re.I)
PHRASES = late_pattern(lambda: rf"\b(?:{alternatives('acting_phrases')})\b")
INSIDE_WORDS = late_pattern(lambda: alternatives("acting_inside_words"))
UNSPACED_WORDS = late_pattern(lambda: alternatives("acting_unspaced"))


class _ActingVocabulary(NamedTuple):
    """Sets of words by where they act."""

    always: frozenset[str]  # act in any position
    verbs: frozenset[str]  # act in the position of a verb: last path segment, operation, first word of a label
    nouns: frozenset[str]  # verbs that do not act as the name of an argument
    pages: frozenset[str]  # nouns that do not act before an identifier
    objects: frozenset[str]  # objects of verbs


@cache
def _vocabulary() -> _ActingVocabulary:
    return _ActingVocabulary(
        words("acting_words"),
        words("acting_verbs"),
        words("acting_nouns"),
        words("acting_pages"),
        words("acting_objects"),
    )


def acting_words(request: Request) -> list[str]:
    """Return the words that show that a request acts; empty if it only reads. The query itself is ignored.

    >>> acting_words(Request(url="http://x/item/7/d%65lete")), acting_words(Request(url="http://x/s?q=delete&order=asc", query="delete"))
    (['delete'], [])
    >>> acting_words(Request(url="http://x/post-143.html")), acting_words(Request(url="http://x/order-143"))
    ([], ['order'])
    >>> acting_words(Request(url="http://x/s", method="POST", body=b"q=a&op=close", content_type="application/x-www-form-urlencoded"))
    ['close']
    """
    acting = acting_words_in_url(request.url, request.query)
    if request.body:
        acting += acting_words_in_fields(_body_fields(request), request.query)
    if request.is_consent:  # the answer to a consent or age page changes only what the site shows
        acting = [word for word in acting if word not in words("consent_answers")]
    return list(dict.fromkeys(acting))


def acting_words_in_url(url: str, query: str = "") -> list[str]:
    """Return the acting words of a URL: of its decoded path and of its arguments.

    >>> acting_words_in_url("http://x/posts/12"), acting_words_in_url("http://x/posts/12/close"), acting_words_in_url("http://x/cart/add")
    ([], ['close'], ['cart', 'add'])
    >>> acting_words_in_url("http://x/?post_type=product&orderby=price"), acting_words_in_url("http://x/research/cancer")
    ([], [])
    """
    return list(_words_in_url(url, query))


@lru_cache(MAX_CACHED)
def _words_in_url(url: str, query: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ()
    path = parts.path[:MAX_PATH_CHARS]
    may_have_query = ";" in path or "%" in path  # in a matrix parameter
    return (*_words_in_path(path, query if may_have_query else ""), *acting_words_in_fields(_pairs(parts.query), query))


@lru_cache(MAX_CACHED)
def _words_in_path(path: str, query: str) -> tuple[str, ...]:
    """Return the acting words of a path; cached, as many URLs of a site share a path."""
    path = _decoded(path)
    if STATIC_FILE.search(path):
        path = ""
    segments = [segment for segment in re.split(r"[/\\]", path) if segment]
    if len(segments) > MAX_SEGMENTS:
        return (f"a path of {len(segments)} segments",)
    acting: list[str] = []
    last_with_words = max((i for i, segment in enumerate(segments) if WORD.search(segment)), default=-1)
    for number, segment in enumerate(segments):
        name, *matrix = segment.split(";")
        acting += acting_words_in_fields(_pairs("&".join(matrix)), query)
        stem = re.sub(r"\.\w{1,5}$", "", name)
        is_last = number == len(segments) - 1 and not NUMBERED.search(stem)
        acting += _words_in_segment(_split(stem), is_last=is_last, is_last_word=number >= last_with_words)
    return tuple(acting)


def acting_words_in_fields(fields: Iterable[tuple[str, str]], query: str = "") -> list[str]:
    """Return the acting words of names and values that would be sent.

    >>> acting_words_in_fields([("do", "close"), ("sort", "order"), ("status", "closed")]), acting_words_in_fields([("remove_item", "7")])
    (['close'], ['remove'])
    >>> acting_words_in_fields([("_next", "squid-purge,squid-purge")]), acting_words_in_fields([("next", "purge")])
    ([], ['purge'])
    """
    acting: list[str] = []
    plain_query = _normalized(query)
    for name, value in fields:
        is_query = not value or (bool(plain_query) and _normalized(value) == plain_query)
        value = "" if is_query else value
        find = _cached_words_in_field if len(name) + len(value) <= MAX_CACHED_CHARS else _words_in_field
        acting += find(name, value)
    return acting


def _words_in_field(name: str, value: str) -> tuple[str, ...]:
    """Return the acting words of a name and its value."""
    name_words = [fold_accents(word) for word in _split(name)]
    acting = _words_in_name(name_words)
    if not value:
        return tuple(acting)
    always = _vocabulary().always
    value_words = [fold_accents(word) for word in _split(value)]
    if OPERATION.fullmatch(name.strip("[]$:.")) or (name_words and OPERATION.fullmatch(name_words[-1])):
        acting += _leading_verb(value_words)
        acting += [word for word in value_words if word in always]
    elif len(value_words) <= MAX_WORDS:
        in_value = [word for word in value_words if word in always or _has_acting_part(word)]
        is_cursor = bool(name_words) and name_words[-1] in CURSORS and len(in_value) < len(value_words)
        acting += [] if is_cursor else in_value
    acting += UNSPACED_WORDS.findall(value)[:1] if len(value) <= 30 else []
    if "://" in value or value.startswith("/"):
        acting += acting_words_in_url(value) if len(value) < 2000 else []
    return tuple(acting)


_cached_words_in_field = lru_cache(MAX_CACHED)(_words_in_field)  # many URLs of a site share fields


def acting_words_in_label(text: str, *, is_button: bool = True) -> list[str]:
    """Return the acting words of the label of a button or of a link; the first word of a link is often a noun ("Message boards").

    >>> acting_words_in_label("Log out"), acting_words_in_label("Order now"), acting_words_in_label("Order by: price"), acting_words_in_label("Empty")
    (['log out'], ['order now', 'order'], [], ['empty'])
    >>> acting_words_in_label("Search"), acting_words_in_label("In den Warenkorb"), acting_words_in_label("Apply filters")
    ([], ['in den warenkorb', 'warenkorb'], [])
    """
    find = _cached_words_in_label if len(text) <= MAX_CACHED_CHARS else _words_in_label
    return list(find(text, is_button))


def _words_in_label(text: str, is_button: bool) -> tuple[str, ...]:
    label_words = [fold_accents(word) for word in _split(text)]
    verbs = _leading_verb(label_words, needs_object=not is_button) if len(label_words) <= MAX_LABEL_WORDS else []
    return tuple(dict.fromkeys([*acting_words_in_text(text), *verbs]))


_cached_words_in_label = lru_cache(MAX_CACHED)(_words_in_label)


def acting_words_in_text(text: str) -> list[str]:
    """Return the acting words of a longer text, such as the text of a form.

    >>> acting_words_in_text("Cancer research: donate"), acting_words_in_text("Post code or place, sort order")
    (['donate'], [])
    """
    folded = [fold_accents(word) for word in _split(text)]
    acting = [match[0] for match in PHRASES.finditer(" ".join(folded))][:1] + UNSPACED_WORDS.findall(text)[:1]
    acting += [word for word in folded if _always_acts(word)]
    return list(dict.fromkeys(acting))


def _words_in_segment(segment_words: list[str], *, is_last: bool, is_last_word: bool) -> list[str]:
    """Return the acting words of a path segment."""
    acting = UNSPACED_WORDS.findall("".join(segment_words))[:1]
    folded = [fold_accents(word) for word in segment_words]
    searched = folded if len(folded) <= MAX_WORDS else folded[:1]
    acting += [word for word in searched if _always_acts(word)]
    acting += [match[0] for match in PHRASES.finditer(" ".join(searched))]
    verbs, known = _leading_verb(folded, needs_object=True), _vocabulary()
    if is_last or (is_last_word and not known.pages.issuperset(verbs)) or not known.nouns.issuperset(verbs):
        acting += verbs
    return acting


def _leading_verb(folded: list[str], *, needs_object: bool = False) -> list[str]:
    """Return the first of a few words if it is a verb: in "close account" and "do post", not in "order by".

    In "close encounters" it is a verb only if no object is needed.
    """
    known = _vocabulary()
    if len(folded) > 1 and folded[0] in VERB_PREFIXES:
        folded = folded[1:]
    if not folded or len(folded) > MAX_WORDS or _without_article(folded[0]) not in known.verbs:
        return []
    if len(folded) > 1 and (folded[1] in NO_OBJECTS or (needs_object and folded[1] not in known.objects)):
        return []
    return [folded[0]]


def _words_in_name(folded: list[str]) -> list[str]:
    """Return the acting words of the name of an argument or field; a noun acts only after a verb prefix (`new_order`)."""
    if len(folded) > MAX_WORDS or not folded:
        return []
    known = _vocabulary()
    acting = [word for word in folded if word in known.always or _has_acting_part(word)]
    acting += UNSPACED_WORDS.findall("".join(folded))[:1]
    acting += [match[0] for match in PHRASES.finditer(" ".join(folded))]
    is_verb = folded[0] in known.verbs and folded[0] not in known.nouns
    if is_verb and not (len(folded) > 1 and folded[1] in NO_OBJECTS):
        acting.append(folded[0])
    elif len(folded) > 1 and folded[0] in VERB_PREFIXES and folded[1] in known.verbs:
        acting.append(folded[1])
    return acting


def _always_acts(word: str) -> bool:
    always = _vocabulary().always
    return word in always or _without_article(word) in always or _has_acting_part(word)


def _without_article(word: str) -> str:
    """Remove the Arabic article."""
    return word.removeprefix("ال")


def _has_acting_part(word: str) -> bool:
    return len(word) > 5 and bool(INSIDE_WORDS.search(word))  # shorter words are listed themselves


def _split(text: str) -> list[str]:
    """Return the words of a name as programmers and others write it: `deleteItem`, `delete_item`, `delete item`."""
    return WORD.findall(CAMEL_CASE.sub(" ", text if text.isascii() else INVISIBLE.sub("", text)))


def _decoded(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    for _ in range(MAX_DECODINGS):
        decoded = unquote_plus(text)
        if decoded == text:
            break
        text = decoded
    return text


def _normalized(text: str) -> str:
    return " ".join(_decoded(text).lower().replace("-", " ").split())


def _pairs(arguments: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"[&;]", arguments):
        name, _, value = part.partition("=")
        if name or value:
            yield _decoded(name), _decoded(value)


def _body_fields(request: Request) -> list[tuple[str, str]]:
    """Return the names and values in the body of a request; an invalid JSON body counts as an operation."""
    text = request.body[:MAX_BODY_CHARS].decode("utf-8", "replace")
    if "json" in request.content_type or text.lstrip().startswith(("{", "[")):
        try:
            return list(_json_fields(json.loads(request.body)))
        except (ValueError, RecursionError):
            return [("action", text[:1000])]
    if "multipart" in request.content_type:
        return list(_multipart_fields(text))
    if "urlencoded" in request.content_type:
        return parse_qsl(text, keep_blank_values=True)
    return list(_pairs(text.replace("\r\n", "&")))


def _multipart_fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a multipart body (RFC 7578); a value that is cut off counts, too."""
    for part in text.replace("\r\n", "\n").split("\n--"):
        head, blank_line, value = part.partition("\n\n")
        name = re.search(r'name="([^"]*)"', head)
        if name and blank_line:
            yield name[1], value


def _json_fields(value: object) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        name, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [(str(key), part) for key, part in inner.items()]
        elif isinstance(inner, list):
            waiting += [(name, part) for part in inner]
        elif isinstance(inner, str) and JSON_OPERATION.search(inner):
            yield "action", "mutation"
        else:
            yield name, "" if inner is None else str(inner)
