"""Whether something that would be sent acts: deletes, buys, posts, cancels, signs, logs out.

One judgement for everything that can be sent (a form, a button, a link, a pager, a facet, an option, a declared search, a redirect, a request of a
page's script), over all that would be sent: the decoded path, the names and values of arguments and hidden fields, the button's name,
value and label. It errs towards "acts": what is left out is said, and a person can name it.

operation   an argument that says what to do: `action=…`, `do=…`, `_method=…`
title       a step of a path or a value of many words: it names a thing ("how-to-delete-files-in-linux"), it does not act
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from upwell.lexicon.acting_words import (
    ALWAYS,
    AS_A_VERB,
    GLUED,
    NOUNS,
    OBJECTS,
    PAGES,
    PHRASES,
    SUBSTRINGS,
    YES_OR_NO,
    fold_accents,
)
from upwell.types import Request

__all__ = ["acting_words", "words_of_address", "words_of_fields", "words_of_label", "words_of_text"]

CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]")
WORD = re.compile(r"[^\W\d_]+")
# Arguments that say where in a list a page begins, by the record there: a record may be called anything.
CURSORS = frozenset(("next", "cursor", "after", "start", "offset", "skip"))
OPERATION = re.compile(
    r"_?(?:action|act|do|doing|cmd|command|op|operation|oper|task|todo|method|_method|http_method|mode|event|func|function|fn|func_name|call|intent|"
    r"verb|step|perform|what|aktion|accion|acao|azione|actie|submit\w*|btn\w*|button\w*|commit|go)",
    re.I,
)
STATIC_FILE = re.compile(r"\.(?:js|mjs|css)$", re.I)
MAX_WORDS = 4  # of a step of a path or of a value that may say what is done; more are a title
MAX_LABEL_WORDS = 8  # of a button or link; more are a title
MAX_STEPS = 50  # of a path; where it has more, nobody knows what it says
MAX_PATH_CHARS = 8000  # RFC 9110 §4.1: longer addresses are not sent
MAX_DECODINGS = 3  # of percent signs that hide percent signs
MAX_BODY_CHARS = 200_000
MAX_KNOWN = 8192  # addresses, paths, fields and labels that are remembered …
MAX_KNOWN_CHARS = 100  # … and of how many characters a field or label has then at most
VERB_PREFIXES = frozenset(("do", "btn", "button", "submit", "action", "cmd", "place", "make", "confirm", "new", "go"))
# After a word that may be a verb: "order by", "post type", "update results".
NO_OBJECTS = frozenset(
    (
        "by",
        "per",
        "asc",
        "desc",
        "dir",
        "direction",
        "type",
        "types",
        "field",
        "number",
        "no",
        "id",
        "list",
        "date",
        "nr",
        "results",
        "search",
        "filter",
        "filters",
        "view",
        "code",
        "office",
        "language",
    )
)
NUMBERED = re.compile(r"\w[-_.]\d+$")  # a step that names a page by a noun and its number: post-143
JSON_OPERATION = re.compile(r"^\s*mutation\b", re.I)


def acting_words(request: Request) -> list[str]:
    """The words that say that a request acts; none where it only asks. The query itself says nothing.

    >>> acting_words(Request(url="http://x/item/7/d%65lete")), acting_words(Request(url="http://x/s?q=delete&order=asc", query="delete"))
    (['delete'], [])
    >>> acting_words(Request(url="http://x/post-143.html")), acting_words(Request(url="http://x/order-143"))
    ([], ['order'])
    >>> acting_words(Request(url="http://x/s", method="POST", body=b"q=a&op=close", content_type="application/x-www-form-urlencoded"))
    ['close']
    """
    found = words_of_address(request.url, request.query)
    if request.body:
        found += words_of_fields(_fields_of_body(request), request.query)
    if request.is_consent:  # answering yes or no on a consent page changes only what the site shows
        found = [word for word in found if word not in YES_OR_NO]
    return list(dict.fromkeys(found))


@lru_cache(MAX_KNOWN)
def _words_of_address(url: str, query: str) -> tuple[str, ...]:
    return tuple(_find_in_address(url, query))


def words_of_address(url: str, query: str = "") -> list[str]:
    """The acting words of an address: of its path, decoded, and of its arguments.

    >>> words_of_address("http://x/posts/12"), words_of_address("http://x/posts/12/close"), words_of_address("http://x/cart/add")
    ([], ['close'], ['cart', 'add'])
    >>> words_of_address("http://x/?post_type=product&orderby=price"), words_of_address("http://x/research/cancer")
    ([], [])
    """
    return list(_words_of_address(url, query))


def _find_in_address(url: str, query: str) -> list[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    path = parts.path[:MAX_PATH_CHARS]
    may_have_query = ";" in path or "%" in path  # in an argument of a step
    return [*_words_of_path(path, query if may_have_query else ""), *words_of_fields(_pairs(parts.query), query)]


@lru_cache(MAX_KNOWN)
def _words_of_path(path: str, query: str) -> tuple[str, ...]:
    """The acting words of a path, which many addresses of a site share."""
    path = _decoded(path)
    if STATIC_FILE.search(path):
        path = ""
    steps = [step for step in re.split(r"[/\\]", path) if step]
    if len(steps) > MAX_STEPS:
        return (f"a path of {len(steps)} steps",)
    found: list[str] = []
    last_with_words = max((i for i, step in enumerate(steps) if WORD.search(step)), default=-1)
    for number, step in enumerate(steps):
        name, *matrix = step.split(";")
        found += words_of_fields(_pairs("&".join(matrix)), query)
        stem = re.sub(r"\.\w{1,5}$", "", name)
        is_last = number == len(steps) - 1 and not NUMBERED.search(stem)
        found += _of_step(_split(stem), is_last=is_last, is_last_word=number >= last_with_words)
    return tuple(found)


def words_of_fields(fields: Iterable[tuple[str, str]], query: str = "") -> list[str]:
    """The acting words of what is sent as names and values.

    >>> words_of_fields([("do", "close"), ("sort", "order"), ("status", "closed")]), words_of_fields([("remove_item", "7")])
    (['close'], ['remove'])
    >>> words_of_fields([("_next", "squid-purge,squid-purge")]), words_of_fields([("next", "purge")])
    ([], ['purge'])
    """
    found: list[str] = []
    asked = _plain(query)
    for name, value in fields:
        is_query = not value or (bool(asked) and _plain(value) == asked)
        value = "" if is_query else value
        find = _known_words_of_field if len(name) + len(value) <= MAX_KNOWN_CHARS else _words_of_field
        found += find(name, value)
    return found


def _words_of_field(name: str, value: str) -> tuple[str, ...]:
    """The acting words of one name and its value."""
    names = [fold_accents(word) for word in _split(name)]
    found = _of_argument_name(names)
    if not value:
        return tuple(found)
    words = _split(value)
    if OPERATION.fullmatch(name.strip("[]$:.")) or (names and OPERATION.fullmatch(names[-1])):
        found += _of_verb_place([fold_accents(word) for word in words])
        found += [word for word in map(fold_accents, words) if word in ALWAYS]
    elif len(words) <= MAX_WORDS:
        acting = [word for word in map(fold_accents, words) if word in ALWAYS or _is_glued(word)]
        is_cursor = bool(names) and names[-1] in CURSORS and len(acting) < len(words)
        found += [] if is_cursor else acting
    found += SUBSTRINGS.findall(value)[:1] if len(value) <= 30 else []
    if "://" in value or value.startswith("/"):
        found += words_of_address(value) if len(value) < 2000 else []
    return tuple(found)


_known_words_of_field = lru_cache(MAX_KNOWN)(_words_of_field)  # many addresses of a site share these


def words_of_label(text: str, *, is_button: bool = True) -> list[str]:
    """The acting words of what stands on a button, or on a link, whose first word is more often a noun ("Message boards").

    >>> words_of_label("Log out"), words_of_label("Order now"), words_of_label("Order by: price"), words_of_label("Empty")
    (['log out'], ['order now', 'order'], [], ['empty'])
    >>> words_of_label("Search"), words_of_label("In den Warenkorb"), words_of_label("Apply filters")
    ([], ['in den warenkorb', 'warenkorb'], [])
    """
    find = _known_words_of_label if len(text) <= MAX_KNOWN_CHARS else _words_of_label
    return list(find(text, is_button))


def _words_of_label(text: str, is_button: bool) -> tuple[str, ...]:
    words = [fold_accents(word) for word in _split(text)]
    verbs = _of_verb_place(words, needs_object=not is_button) if len(words) <= MAX_LABEL_WORDS else []
    return tuple(dict.fromkeys([*words_of_text(text), *verbs]))


_known_words_of_label = lru_cache(MAX_KNOWN)(_words_of_label)


def words_of_text(text: str) -> list[str]:
    """The acting words of a longer text, such as what stands in a form.

    >>> words_of_text("Cancer research: donate"), words_of_text("Post code or place, sort order")
    (['donate'], [])
    """
    words = [fold_accents(word) for word in _split(text)]
    found = [match[0] for match in PHRASES.finditer(" ".join(words))][:1] + SUBSTRINGS.findall(text)[:1]
    found += [word for word in words if word in ALWAYS or _without_article(word) in ALWAYS or _is_glued(word)]
    return list(dict.fromkeys(found))


def _of_step(words: list[str], *, is_last: bool, is_last_word: bool) -> list[str]:
    """The acting words of one step of a path."""
    found = SUBSTRINGS.findall("".join(words))[:1]
    plain = [fold_accents(word) for word in words]
    within = plain if len(plain) <= MAX_WORDS else plain[:1]
    found += [word for word in within if word in ALWAYS or _without_article(word) in ALWAYS or _is_glued(word)]
    found += [match[0] for match in PHRASES.finditer(" ".join(within))]
    verbs = _of_verb_place(plain, needs_object=True)
    if is_last or (is_last_word and not PAGES.issuperset(verbs)) or not NOUNS.issuperset(verbs):
        found += verbs
    return found


def _of_verb_place(words: list[str], *, needs_object: bool = False) -> list[str]:
    """The first of a few words, where it is a verb: "close account", "do post", not "order by"; "close encounters" if no object is needed."""
    if len(words) > 1 and words[0] in VERB_PREFIXES:
        words = words[1:]
    if not words or len(words) > MAX_WORDS or _without_article(words[0]) not in AS_A_VERB:
        return []
    if len(words) > 1 and (words[1] in NO_OBJECTS or (needs_object and words[1] not in OBJECTS)):
        return []
    return [words[0]]


def _of_argument_name(words: list[str]) -> list[str]:
    """The acting words of the name of an argument or field; a noun says nothing unless a verb stands before it."""
    if len(words) > MAX_WORDS or not words:
        return []
    found = [word for word in words if word in ALWAYS or _is_glued(word)] + SUBSTRINGS.findall("".join(words))[:1]
    found += [match[0] for match in PHRASES.finditer(" ".join(words))]
    is_verb = words[0] in AS_A_VERB and words[0] not in NOUNS
    if is_verb and not (len(words) > 1 and words[1] in NO_OBJECTS):
        found.append(words[0])
    elif len(words) > 1 and words[0] in VERB_PREFIXES and words[1] in AS_A_VERB:
        found.append(words[1])
    return found


def _without_article(word: str) -> str:
    return word.removeprefix("ال")


def _is_glued(word: str) -> bool:
    return len(word) > 5 and bool(GLUED.search(word))  # shorter ones are in ALWAYS


def _split(text: str) -> list[str]:
    """The words of a name, as programmers and people write them: `deleteItem`, `delete_item`, `delete item`."""
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


def _plain(text: str) -> str:
    return " ".join(_decoded(text).lower().replace("-", " ").split())


def _pairs(arguments: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"[&;]", arguments):
        name, _, value = part.partition("=")
        if name or value:
            yield _decoded(name), _decoded(value)


def _fields_of_body(request: Request) -> list[tuple[str, str]]:
    text = request.body[:MAX_BODY_CHARS].decode("utf-8", "replace")
    if "json" in request.content_type or text.lstrip().startswith(("{", "[")):
        try:
            return list(_json_fields(json.loads(request.body)))
        except (ValueError, RecursionError):
            return [("action", text[:1000])]
    if "multipart" in request.content_type:
        found = re.findall(r'name="([^"]*)"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n(.*?)\r?\n--', text, re.S)
        return [(name, value) for name, value in found]
    if "urlencoded" in request.content_type:
        return parse_qsl(text, keep_blank_values=True)
    return list(_pairs(text.replace("\r\n", "&")))


def _json_fields(value: object) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        name, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [(str(key), held) for key, held in inner.items()]
        elif isinstance(inner, list):
            waiting += [(name, held) for held in inner]
        elif isinstance(inner, str) and JSON_OPERATION.search(inner):
            yield "action", "mutation"
        else:
            yield name, "" if inner is None else str(inner)
