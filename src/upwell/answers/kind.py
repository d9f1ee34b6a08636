"""Detect answers without matches, error pages, missing pages and refusals.

    background       answers to long random strings: pages that the source shows if nothing matches (Entity §5)
    place            position of a text: hash of the tags, classes and ids above it, without numbers
    changing place   place whose texts differ between background pages: advertisements, recently viewed items, counters
    own text         text of a page that no background page has, outside changing places: its matches, if it has any
    message          text that background pages have and other answers lack: "0 results for …"

Entity §5 compares whole pages by the Jaccard similarity of their tokens (`method="jaccard"`). The default method departs from it: only own
text counts, so that a constant list of any length does not hide a single match, and a page with the message is empty even if it offers
alternatives.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np

from upwell.answers.totals import read_totals
from upwell.lazy import late_pattern
from upwell.lexicon.phrases import (
    ACCESS_DENIED,
    BLOCKED,
    ERROR,
    LOGIN_WALL,
    NOTHING_FOUND,
    PAGE_MISSING,
    QUERY_REJECTED,
    ROBOT_CHECK,
    TOO_MANY_REQUESTS,
)
from upwell.page.markup import elements, replace_between
from upwell.page.tokens import tokens
from upwell.page.tree import TagTree
from upwell.papers.entity import background_similarity, page_signature
from upwell.types import Response

__all__ = [
    "EmptyModel",
    "EmptyParams",
    "Verdict",
    "VerdictKind",
    "judge_answer",
    "learn_empty",
    "matching_links",
    "names_robot_check",
    "refusal_reason",
    "similarity_to_empty",
]

# Refusals, which often have status 200: a captcha, "too many requests", "access denied", a login wall.

MAX_BODY_BYTES = 40_000  # a refusal is a small page; a larger one is not searched
MAX_TEXT_BYTES = 1_500  # visible text of a refusal; an ordinary page with a captcha in its contact form has more
MAX_PLAIN_BYTES = 300  # text of a refusal without markup; longer plain text may be a record about refusals
REFUSED_STATUS = frozenset((401, 402, 403, 407, 429, 451))
CHALLENGE_MARKUP = re.compile(rb"cf-challenge|cf-turnstile|challenge-platform", re.I)
DENIED_HEADING = r"<(?:title|h1|h2)[^<>]*+>\s*+(?:error:? )?(?:403|forbidden|blocked|%s)\b"
THROTTLED_HEADING = r"<(?:title|h1|h2)[^<>]*+>\s*+(?:error:? ?)?(?:http )?(?:429\W{1,3})?(?:%s)"
PASSWORD_TYPE = re.compile(rb"type\s*+=\s*+[\"']?+password", re.I)
NOT_SHOWN = re.compile(r"<(script|style|noscript)\b", re.I)
WHITE_SPACE = re.compile(r"\s+", re.A)


@cache
def _in_bytes(phrase: re.Pattern[str], frame: str = "%s") -> re.Pattern[bytes]:
    """Return a pattern for the UTF-8 or ASCII bytes of a page that is not parsed; %s in `frame` stands for the phrase."""
    return re.compile((frame % phrase.pattern).encode(), re.I)


def refusal_reason(response: Response, tree: TagTree | None = None) -> str:
    """Return the reason why a response is a refusal; "" if it is not.

    The fetcher checks the status only; the text is checked here. If the page is already parsed (`tree`), a page with much text is not
    searched.
    """
    body = response.body
    if response.blocked or response.status in REFUSED_STATUS:
        return response.blocked or f"status {response.status}"
    if len(body) > MAX_BODY_BYTES or (tree is not None and sum(map(len, tree.chunks)) > MAX_TEXT_BYTES):
        return ""
    reason = _refusal_in_body(body)
    is_plain = response.headers.get("Content-Type", "").startswith("text/plain")
    max_bytes = MAX_PLAIN_BYTES if is_plain else MAX_TEXT_BYTES
    return reason if reason and _visible_chars(body) <= max_bytes else ""


def names_robot_check(body: bytes) -> bool:
    """Return True if a page names a check for robots, in its text or its markup; only in a small page that means that it is one."""
    return bool(CHALLENGE_MARKUP.search(body) or _in_bytes(ROBOT_CHECK).search(body))


def _refusal_in_body(body: bytes) -> str:
    if names_robot_check(body):
        return "captcha"
    if _in_bytes(TOO_MANY_REQUESTS).search(body) and (
        _in_bytes(TOO_MANY_REQUESTS, THROTTLED_HEADING).search(body) or _visible_chars(body) <= MAX_PLAIN_BYTES
    ):  # a record may be about refusals: "Handle HTTP 429 Too Many Requests"
        return "too many requests"
    if _in_bytes(ACCESS_DENIED, DENIED_HEADING).search(body):
        return "access denied"
    return "login wall" if _has_password_field(body) and _in_bytes(LOGIN_WALL).search(body) else ""


def _has_password_field(body: bytes) -> bool:
    for part in body.split(b">"):
        start = part.lower().find(b"<input")
        if start >= 0 and PASSWORD_TYPE.search(part, start + len(b"<input") + 1):
            return True
    return False


def _visible_chars(body: bytes) -> int:
    """Return the length of a page's text; tags, scripts and white space count as one character each."""
    text = body.decode("latin-1")
    hidden = list(elements(text, NOT_SHOWN, fold_case=True))
    bounds = [0, *(at for element in hidden for at in (element.start, element.end)), len(text)]
    parts = [text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    return len(WHITE_SPACE.sub(" ", replace_between("\0".join(parts), "<", ">", "\0")))


# Answers without matches.

PageWithQuery = tuple[TagTree, str]
PlacedText = tuple[str, str]  # place, text
VerdictKind = Literal["matches", "none", "error", "blocked", "missing"]

DIGITS = late_pattern(r"\d+")
MAX_CACHED = 20_000  # safety limit: texts and places cached across pages
MAX_CACHED_CHARS = 200  # safety limit: characters of such a text; longer ones are rarely repeated


@dataclass(frozen=True, kw_only=True)
class EmptyParams:
    """Thresholds of `judge_answer`; numbers of characters refer to own text."""

    method: Literal["own text", "jaccard"] = "own text"
    min_similarity: float = 0.85  # mean Jaccard similarity of an empty answer; Entity §5: 0.85
    min_own_chars: int = 1  # least for an answer with matches; swept, see docs/decisions/0050
    max_error_chars: int = 1500  # most for a refusal, missing page or error page; as MAX_TEXT_BYTES
    max_error_similarity: float = 0.8  # a page more similar to the background is not an error page; not swept
    max_notice_chars: int = 400  # most for a page with only an error notice; not swept
    # Size of an answer relative to a background page, in rows; a smaller one without message is an error. Not swept.
    min_relative_size: float = 0.5


@dataclass(frozen=True, kw_only=True)
class EmptyModel:
    """Texts of the empty answers of a source, and where they are."""

    signatures: tuple[frozenset[str], ...] = ()  # tokens of each background page, for the method of the paper
    known_texts: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()  # all places of the background pages
    changing_places: frozenset[str] = frozenset()
    message: frozenset[PlacedText] = frozenset()
    is_message_certain: bool = False  # True if answers with matches were seen to lack the message
    rows: int = 0  # median size of a background page
    echo_places: frozenset[str] = frozenset()  # places where all background pages repeat the query

    def as_dict(self) -> dict[str, Any]:
        """Return the model for JSON, as a source model stores it; of the signatures only what all background pages share."""
        common = frozenset.intersection(*self.signatures) if self.signatures else frozenset[str]()
        return {
            "signature": sorted(common),
            "known": sorted(self.known_texts),
            "places": sorted(self.places),
            "changing": sorted(self.changing_places),
            "message": sorted(map(list, self.message)),
            "sure": self.is_message_certain,
            "rows": self.rows,
            "echoes": sorted(self.echo_places),
        }

    def shortened(self) -> "EmptyModel":
        """Return the model as it is after saving and loading: with one signature, which all background pages share."""
        return self.from_dict(self.as_dict())

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "EmptyModel":
        """Build the model from its JSON."""
        return cls(
            signatures=(frozenset(saved["signature"]),),
            known_texts=frozenset(saved["known"]),
            places=frozenset(saved["places"]),
            changing_places=frozenset(saved["changing"]),
            message=frozenset((place, text) for place, text in saved["message"]),
            is_message_certain=saved["sure"],
            rows=saved["rows"],
            echo_places=frozenset(saved.get("echoes", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Kind of an answer, with the reason for it."""

    kind: VerdictKind
    own_chars: int = 0  # characters of own text
    similarity: float = 0.0  # mean Jaccard similarity to the background (Entity §5)
    reason: str = ""

    @property
    def is_empty(self) -> bool:
        """Return True if the answer has no matches, for any reason."""
        return self.kind != "matches"


def learn_empty(background: Sequence[PageWithQuery], answers: Sequence[PageWithQuery] = ()) -> EmptyModel:
    """Learn the model from answers to nonsense queries; other answers show which of their texts is the message."""
    pages = [_PlacedTexts(tree, query) for tree, query in background]
    if len(pages) > 2:
        pages = _without_outliers(pages)
    if not pages:
        return EmptyModel()
    counts = Counter(text for page in pages for text in page.texts)
    texts_by_place = [_by_place(page.texts) for page in pages]
    text_places = {place for texts in texts_by_place for place in texts}
    changing = {
        place for place in text_places if len({frozenset(texts.get(place, ())) for texts in texts_by_place}) > 1
    }
    model = EmptyModel(
        signatures=tuple(page_signature(page.tree, page.query) for page in pages),
        known_texts=frozenset(text for _, text in counts),
        places=frozenset(place for page in pages for place in page.places),
        changing_places=frozenset(changing),
        rows=int(np.median([len(page.tree) for page in pages])),
        echo_places=frozenset.intersection(*(page.echo_places() for page in pages)) if len(pages) > 1 else frozenset(),
    )
    constant = [text for text, n in counts.items() if n == len(pages) and text[0] not in changing]
    return _with_message(model, constant, [_PlacedTexts(tree, query) for tree, query in answers])


def _without_outliers(pages: list["_PlacedTexts"]) -> list["_PlacedTexts"]:
    """Exclude background pages with many places that no other has: their query matched something by accident (Entity §5)."""
    pages_with = Counter(place for page in pages for place in set(page.places))
    unique = [sum(pages_with[place] == 1 for place in set(page.places)) for page in pages]
    return [page for page, n in zip(pages, unique, strict=True) if n <= 2 * np.median(unique) + 3]


def _with_message(model: EmptyModel, constant: Sequence[PlacedText], answers: Sequence["_PlacedTexts"]) -> EmptyModel:
    """Add the message: constant texts of background pages that at least a fifth of the answers with own text lack."""
    full = [page for page in answers if page.own_texts(model)] or [page for page in answers if page.new_texts(model)]
    if len(full) < 3:
        return replace(model, message=frozenset(text for text in constant if NOTHING_FOUND.search(text[1])))
    often_missing = [text for text in constant if sum(not page.has(text) for page in full) >= max(2, 0.2 * len(full))]
    phrased = [text for text in often_missing if NOTHING_FOUND.search(text[1])]
    return replace(model, message=frozenset(phrased or often_missing), is_message_certain=bool(often_missing))


def judge_answer(
    model: EmptyModel,
    tree: TagTree,
    query: str = "",
    *,
    status: int = 200,
    records: int | None = None,
    params: EmptyParams | None = None,
) -> Verdict:
    """Judge one answer; `records` is the number of records that a source model read from it, None if there is no model."""
    params = params or EmptyParams()
    page = _PlacedTexts(tree, query)
    similarity = similarity_to_empty(model, tree, query)
    own_texts = page.own_texts(model)
    own_chars = sum(len(text) for _, text in own_texts)

    def verdict(kind: VerdictKind, reason: str) -> Verdict:
        return Verdict(kind=kind, own_chars=own_chars, similarity=round(similarity, 4), reason=reason)

    if status in (401, 403, 407, 429, 451, 503):
        return verdict("blocked", f"status {status}")
    if status >= 400:
        return verdict("missing" if status in (404, 410) else "error", f"status {status}")
    if not tree.chunks:
        return verdict("error", "no text")
    if params.method == "jaccard":
        return verdict("none" if similarity >= params.min_similarity else "matches", "similarity")
    has_message = (
        bool(model.message)
        and all(page.has(text) for text in model.message)
        and not page.has_new_link_with_query(model)
    )
    if not has_message and (error_kind := _error_kind(model, page, similarity, own_chars, params)):
        return verdict(error_kind, "title, headings or size of an error page")
    if (
        own_chars <= params.max_notice_chars
        and not page.new_links(model)
        and (notice := next((text for _, text in own_texts if QUERY_REJECTED.search(text)), ""))
    ):
        return verdict("error", notice)
    is_bare = own_chars <= params.max_notice_chars and records == 0
    if not has_message and is_bare and query and model.echo_places and not model.echo_places & page.echo_places():
        return verdict("missing", "does not repeat the query, unlike empty answers")
    if has_message and (model.is_message_certain or not read_totals(tree).total):
        return verdict("none", "has the message of empty answers")
    if model.message and not has_message and page.new_texts(model):
        return verdict("matches", "lacks the message of empty answers")
    if own_chars < params.min_own_chars and not records:
        return verdict("none", "no own text")
    if records == 0 and similarity >= params.min_similarity:
        return verdict("none", "no records, and similar to empty answers")
    return verdict("matches", f"{own_chars} characters of own text")


def matching_links(model: EmptyModel, tree: TagTree, query: str) -> list[int]:
    """Return the rows of the links that must be matches: links at places that no background page has, if there certainly are matches.

    That is certain if the answer lacks a message that is certain, or if it states a total. An answer that states a total may have the
    message in one of several blocks, and its only own text may be the query.
    """
    kind = judge_answer(model, tree, query, records=0).kind
    has_matches = (kind == "matches" and model.is_message_certain) or (
        kind in ("matches", "none") and read_totals(tree).total
    )
    if not has_matches or not model.places:
        return []
    page = _PlacedTexts(tree, query)
    return [row for row in page.new_links(model) if " ".join(tree.text(row).lower().split()) not in model.known_texts]


def similarity_to_empty(model: EmptyModel, tree: TagTree, query: str = "") -> float:
    """Return the mean Jaccard similarity of a page to the background pages (Entity §5, `papers.entity`)."""
    return background_similarity(page_signature(tree, query), model.signatures)


class _PlacedTexts:
    """Texts of a page with their places, without numbers and without the echo of the query."""

    def __init__(self, tree: TagTree, query: str) -> None:
        self.tree, self.query = tree, query
        self.echo = _echo_pattern(query)
        self.places = _places(tree)
        rows = memoryview(tree.chunk_row.data)
        texts = ((self.places[row], self.plain(text)) for text, row in zip(tree.chunks, rows, strict=True))
        self.texts = frozenset((place, text) for place, text in texts if any(map(str.isalpha, text)))

    def plain(self, text: str) -> str:
        """Remove numbers and the echo of the query from a text."""
        text = _without_numbers(text) if len(text) <= MAX_CACHED_CHARS else _without_numbers.__wrapped__(text)
        return " ".join((self.echo.sub(" ", text) if self.echo else text).split())

    def echo_places(self) -> frozenset[str]:
        """Return the places that contain a word of the query: texts, form fields and the title."""
        tree, words = self.tree, tokens(self.query)
        texts = [(self.places[int(row)], text) for text, row in zip(tree.chunks, tree.chunk_row, strict=True)]
        texts += [(self.places[int(row)], tree.attr(int(row), "value") or "") for row in tree.rows("input")]
        texts.append(("title", tree.title))
        return frozenset(place for place, text in texts if any(word in text.lower() for word in words))

    def has(self, text: PlacedText) -> bool:
        """Return True if the page has a text of a background page, apart from words of the query."""
        return (text[0], self.plain(text[1])) in self.texts

    def new_texts(self, model: EmptyModel) -> list[PlacedText]:
        """Return the texts that no background page has at any place."""
        new = [text for text in self.texts if text[1] not in model.known_texts]
        if not new or not self.echo:
            return new
        known = {self.plain(text) for text in model.known_texts}
        return [text for text in new if text[1] not in known]

    def own_texts(self, model: EmptyModel) -> list[PlacedText]:
        """Return the texts that no background page has, outside changing places."""
        return [text for text in self.new_texts(model) if text[0] not in model.changing_places]

    def has_new_link_with_query(self, model: EmptyModel) -> bool:
        """Return True if a new link contains the query: one block of an answer may be empty and another not."""
        words = [word for word in (self.query.strip().lower(), *tokens(self.query)) if len(word) > 2]
        return bool(words) and any(
            word in self.tree.text(row).lower() for row in self.new_links(model) for word in words
        )

    def new_links(self, model: EmptyModel) -> list[int]:
        """Return the rows of links at places that no background page has."""
        return [row for row in self.tree.rows("a").tolist() if self.places[row] not in model.places]


def _echo_pattern(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the query, its words and their stems, as pages repeat them ("librari" for "libraries")."""
    words = tokens(query)
    if not words:
        return None
    stems = [re.escape(word[: max(4, len(word) - 3)]) + r"\w*" for word in words if len(word) > 4]
    whole = sorted({re.escape(query.strip().lower()), *map(re.escape, words)}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join([*whole, *stems])})(?!\w)")


def _places(tree: TagTree) -> list[str]:
    """Return the place of each row."""
    places: list[str] = []
    ids, signatures = tree.attribute_by_row("id"), tree.signatures
    for row, (parent, number) in enumerate(zip(tree.parent_of, tree.signature_of, strict=True)):
        signature = signatures[number]
        places.append(_place(places[parent] if row else "", signature.tag, signature.cls, ids.get(row, "")))
    return places


@lru_cache(maxsize=MAX_CACHED)
def _place(above: str, tag: str, cls: str, element_id: str) -> str:
    path = f"{above}/{tag}.{cls}#{DIGITS.sub('#', element_id)}"
    return f"{zlib.crc32(path.encode()):08x}"


@lru_cache(maxsize=MAX_CACHED)
def _without_numbers(text: str) -> str:
    """Return a text in lower case without numbers; cached, as most texts of an answer occur on others too."""
    return DIGITS.sub(" ", text.lower())


def _by_place(texts: frozenset[PlacedText]) -> dict[str, set[str]]:
    by_place: dict[str, set[str]] = {}
    for place, text in texts:
        by_place.setdefault(place, set()).add(text)
    return by_place


def _error_kind(
    model: EmptyModel, page: _PlacedTexts, similarity: float, own_chars: int, params: EmptyParams
) -> VerdictKind | None:
    """Return the kind of an error page, missing page or refusal, by its title, headings, text and size; None for other pages.

    Only pages with little own text that are not similar to empty answers are considered.
    """
    tree = page.tree
    if similarity >= params.max_error_similarity or own_chars > params.max_error_chars:
        return None
    heading = page.plain(" · ".join([tree.title, *(tree.text(int(row)) for row in tree.rows("h1", "h2")[:2])]))
    if BLOCKED.search(page.plain(tree.text())):
        return "blocked"
    if PAGE_MISSING.search(heading):
        return "missing"
    if ERROR.search(heading):
        return "error"
    is_small = len(tree) < params.min_relative_size * model.rows and own_chars <= params.max_notice_chars
    return "error" if is_small else None
