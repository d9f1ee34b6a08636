"""Empty answers: told from full ones by the answers to nonsense, and from errors, blocks and missing pages.

    background   answers to long random strings: what the source shows when it has nothing (Entity §5)
    place        where a text stands: the tags, classes and names above it, without numbers
    changing     places whose texts differ between background pages: advertisements, recently viewed, suggestions, counters
    own          what a page says at other places that no background page says: its matches, if it has any
    message      what background pages say and full pages do not: "0 results for …"

Entity §5 compares whole pages by the Jaccard similarity of their tokens (`method="jaccard"`). Departs from it: only what a page has of its own
counts, so a constant list of any length drowns nothing, and a page that says what empty pages say is empty whatever else it offers.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from upwell.answers.totals import read_totals
from upwell.lazy import late_pattern
from upwell.lexicon import phrases
from upwell.lexicon.phrases import BLOCKED, ERROR, NOTHING_FOUND, PAGE_MISSING, QUERY_REJECTED
from upwell.page.tokens import tokens
from upwell.page.tree import TagTree
from upwell.papers.entity import background_similarity, page_signature
from upwell.types import Response

__all__ = ["EmptyModel", "EmptyParams", "Verdict", "judge", "learn_empty", "matching_links", "refusal", "similarity"]

# --- Recognises a refusal that comes with status 200: a captcha, "too many requests", "access denied", a login wall.

MAX_BODY_BYTES = 40_000  # a refusal is a small page; a larger one is not searched
MAX_TEXT_BYTES = (
    1_500  # a refusal has little visible text beside; a normal page with a captcha in its contact form has more
)
MAX_PLAIN_BYTES = 300  # the same of a text without markup: it is nothing but text, and a record may speak of refusals
REFUSED_STATUS = frozenset((401, 402, 403, 407, 429, 451))
CHALLENGE_MARKUP = re.compile(rb"cf-challenge|cf-turnstile|challenge-platform", re.I)
ROBOT_CHECK = phrases.in_bytes(phrases.ROBOT_CHECK)
TOO_MANY_REQUESTS = phrases.in_bytes(phrases.TOO_MANY_REQUESTS)
DENIED_HEADING = re.compile(
    rb"<(?:title|h1|h2)[^>]*>\s*(?:error:? )?(?:403|forbidden|blocked|%s)\b" % phrases.ACCESS_DENIED.pattern.encode(),
    re.I,
)
LOGIN_WALL = phrases.in_bytes(phrases.LOGIN_WALL)
PASSWORD_FIELD = re.compile(rb"<input[^>]+type\s*=\s*[\"']?password", re.I)
NOT_VISIBLE = re.compile(rb"<(script|style|noscript)\b.*?</\1\s*>|<[^>]*>|\s+", re.I | re.S)


def refusal(response: Response, tree: TagTree | None = None) -> str:
    """Why an answer is a refusal, in a few words; "" where it is an answer.

    The fetcher knows only the status; the text of a page is looked at here, by the code that uses the answer. Where it has been read
    (`tree`), it is searched only if it says little.
    """
    body = response.body
    if response.blocked or response.status in REFUSED_STATUS:
        return response.blocked or f"status {response.status}"
    if len(body) > MAX_BODY_BYTES or (tree is not None and sum(map(len, tree.chunks)) > MAX_TEXT_BYTES):
        return ""
    reason = _reason(body)
    is_plain = response.headers.get("Content-Type", "").startswith("text/plain")
    longest = MAX_PLAIN_BYTES if is_plain else MAX_TEXT_BYTES
    return reason if reason and len(NOT_VISIBLE.sub(b" ", body)) <= longest else ""


def _reason(body: bytes) -> str:
    if CHALLENGE_MARKUP.search(body) or ROBOT_CHECK.search(body):
        return "captcha"
    if TOO_MANY_REQUESTS.search(body):
        return "too many requests"
    if DENIED_HEADING.search(body):
        return "access denied"
    return "login wall" if PASSWORD_FIELD.search(body) and LOGIN_WALL.search(body) else ""


# --- (main part)

Asked = tuple[TagTree, str]
Text = tuple[str, str]  # place, text
Said = Literal["matches", "none", "error", "blocked", "missing"]

DIGITS = late_pattern(r"\d+")
MAX_KNOWN = 20_000  # texts and places that are remembered from page to page


@dataclass(frozen=True, kw_only=True)
class EmptyParams:
    """How empty answers are told."""

    method: Literal["own", "jaccard"] = "own"
    threshold: float = 0.85  # Entity §5: 0.85 on the mean Jaccard similarity
    least: int = 1  # characters of its own that a full answer has at least; swept, see docs/decisions/0050
    short: int = (
        1500  # characters of its own that a refusal, a missing page or an error has at most; as net.refusal has it
    )
    unlike: float = 0.8  # similarity from which a page is like the empty ones, whatever it calls itself; not swept
    note: int = 400  # characters of its own that a page with an error message has at most
    bare: float = (
        0.5  # an answer with less than this share of the rows of an empty one is an error; as harvest.learn has 0.6
    )


@dataclass(frozen=True, kw_only=True)
class EmptyModel:
    """What empty answers of a source say; small, and made of texts only."""

    signatures: tuple[frozenset[str], ...] = ()  # the tokens of each background page, for the paper's method
    known: frozenset[str] = frozenset()  # what they say
    places: frozenset[str] = frozenset()  # where they have anything
    changing: frozenset[str] = frozenset()
    message: frozenset[Text] = frozenset()
    sure: bool = False  # the message was seen to be missing from full answers
    rows: int = 0  # how large a background page is
    echoes: frozenset[str] = frozenset()  # where all of them repeat what was asked

    def as_dict(self) -> dict[str, Any]:
        """As a source model keeps it; the signatures only as what all background pages have, which is what they are for."""
        common = frozenset.intersection(*self.signatures) if self.signatures else frozenset[str]()
        return {
            "signature": sorted(common),
            "known": sorted(self.known),
            "places": sorted(self.places),
            "changing": sorted(self.changing),
            "message": sorted(map(list, self.message)),
            "sure": self.sure,
            "rows": self.rows,
            "echoes": sorted(self.echoes),
        }

    def shortened(self) -> "EmptyModel":
        """The model as it is after saving and loading: one signature, of what all background pages have."""
        return self.of_dict(self.as_dict())

    @classmethod
    def of_dict(cls, kept: Mapping[str, Any]) -> "EmptyModel":
        """The way back."""
        return cls(
            signatures=(frozenset(kept["signature"]),),
            known=frozenset(kept["known"]),
            places=frozenset(kept["places"]),
            changing=frozenset(kept["changing"]),
            message=frozenset((place, text) for place, text in kept["message"]),
            sure=kept["sure"],
            rows=kept["rows"],
            echoes=frozenset(kept.get("echoes", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an answer was judged to be, and what spoke for it."""

    kind: Said
    own: int = 0  # characters that no empty answer has
    similarity: float = 0.0  # mean Jaccard similarity to the background (Entity §5)
    why: str = ""

    @property
    def empty(self) -> bool:
        """Whether there are no matches, for whatever reason."""
        return self.kind != "matches"


def learn_empty(background: Sequence[Asked], answers: Sequence[Asked] = ()) -> EmptyModel:
    """Learns from answers to nonsense (each with its query); with other answers it also learns which of their texts is the message."""
    pages = [_Page(tree, query) for tree, query in background]
    if len(pages) > 2:
        pages = _agreeing(pages)
    if not pages:
        return EmptyModel()
    counts = Counter(text for page in pages for text in page.texts)
    by_place = [_by_place(page.texts) for page in pages]
    places = {place for page in by_place for place in page}
    changing = {place for place in places if len({frozenset(page.get(place, ())) for page in by_place}) > 1}
    model = EmptyModel(
        signatures=tuple(page_signature(page.tree, page.query) for page in pages),
        known=frozenset(text for _, text in counts),
        places=frozenset(place for page in pages for place in page.places),
        changing=frozenset(changing),
        rows=int(np.median([len(page.tree) for page in pages])),
        echoes=frozenset.intersection(*(page.echoes() for page in pages)) if len(pages) > 1 else frozenset(),
    )
    steady = [text for text, n in counts.items() if n == len(pages) and text[0] not in changing]
    return _with_message(model, steady, [_Page(tree, query) for tree, query in answers])


def _agreeing(pages: list["_Page"]) -> list["_Page"]:
    """The background pages without one that found something by accident: it alone has places that the others do not (Entity §5)."""
    often = Counter(place for page in pages for place in set(page.places))
    strange = [sum(often[place] == 1 for place in set(page.places)) for page in pages]
    return [page for page, n in zip(pages, strange, strict=True) if n <= 2 * np.median(strange) + 3]


def _with_message(model: EmptyModel, steady: Sequence[Text], answers: Sequence["_Page"]) -> EmptyModel:
    """Finds the message: what empty pages always say and a good part of the answers with something of their own do not."""
    full = [page for page in answers if page.own(model)] or [page for page in answers if page.other(model)]
    if len(full) < 3:
        return replace(model, message=frozenset(text for text in steady if NOTHING_FOUND.search(text[1])))
    said = [text for text in steady if sum(not page.says(text) for page in full) >= max(2, 0.2 * len(full))]
    worded = [text for text in said if NOTHING_FOUND.search(text[1])]
    return replace(model, message=frozenset(worded or said), sure=bool(said))


def judge(
    model: EmptyModel,
    tree: TagTree,
    query: str = "",
    *,
    status: int = 200,
    records: int | None = None,
    params: EmptyParams | None = None,
) -> Verdict:
    """Judges one answer; `records` is how many matches a source model read from it, where there is one."""
    params = params or EmptyParams()
    page = _Page(tree, query)
    near = similarity(model, tree, query)
    mine = page.own(model)
    own = sum(len(text) for _, text in mine)

    def verdict(kind: Said, why: str) -> Verdict:
        return Verdict(kind=kind, own=own, similarity=round(near, 4), why=why)

    if status in (401, 403, 407, 429, 451, 503):
        return verdict("blocked", f"status {status}")
    if status >= 400:
        return verdict("missing" if status in (404, 410) else "error", f"status {status}")
    if not tree.chunks:
        return verdict("error", "says nothing")
    if params.method == "jaccard":
        return verdict("none" if near >= params.threshold else "matches", "similarity")
    said = bool(model.message) and all(page.says(text) for text in model.message) and not page.answers(model)
    if not said and (wrong := _wrong(model, page, near, own, params)):
        return verdict(wrong, "says so")
    if (
        own <= params.note
        and not page.new_links(model)
        and (note := next((t for _, t in mine if QUERY_REJECTED.search(t)), ""))
    ):
        return verdict("error", note)
    is_bare = own <= params.note and records == 0
    if not said and is_bare and query and model.echoes and not model.echoes & page.echoes():
        return verdict("missing", "does not repeat the query, as empty answers do")
    if said and (model.sure or not read_totals(tree).total):
        return verdict("none", "says what empty answers say")
    if model.message and not said and page.other(model):
        return verdict("matches", "does not say what empty answers say")
    if own < params.least and not records:
        return verdict("none", "nothing of its own")
    if records == 0 and near >= params.threshold:
        return verdict("none", "no records, and like an empty answer")
    return verdict("matches", f"{own} characters of its own")


def matching_links(model: EmptyModel, tree: TagTree, query: str) -> list[int]:
    """The links of an answer that must be its matches: it is not empty, and empty answers have nothing at their places.

    Only where that is certain: it does not say what empty answers are known to say, or it states how many matches there are (it may
    still say the same of one block of several, or nothing but the query).
    """
    kind = judge(model, tree, query, records=0).kind
    has_matches = (kind == "matches" and model.sure) or (kind in ("matches", "none") and read_totals(tree).total)
    if not has_matches or not model.places:
        return []
    page = _Page(tree, query)
    return [row for row in page.new_links(model) if " ".join(tree.text(row).lower().split()) not in model.known]


def similarity(model: EmptyModel, tree: TagTree, query: str = "") -> float:
    """Return the mean Jaccard similarity of a page to the background pages (Entity §5, `papers.entity`)."""
    return background_similarity(page_signature(tree, query), model.signatures)


class _Page:
    """What a page says and where, without numbers and without the echo of its query."""

    def __init__(self, tree: TagTree, query: str) -> None:
        self.tree, self.query = tree, query
        self.echo = _echo(query)
        self.places = _places(tree)
        rows = tree.chunk_row.tolist()
        found = ((self.places[row], self.plain(text)) for text, row in zip(tree.chunks, rows, strict=True))
        self.texts = frozenset((place, text) for place, text in found if any(map(str.isalpha, text)))

    def plain(self, text: str) -> str:
        """A text without numbers and without the echo of the query."""
        text = _without_numbers(text)
        return " ".join((self.echo.sub(" ", text) if self.echo else text).split())

    def echoes(self) -> frozenset[str]:
        """The places that repeat a word of what was asked: of texts, of fields, and the title."""
        tree, words = self.tree, tokens(self.query)
        said = [(self.places[int(row)], text) for text, row in zip(tree.chunks, tree.chunk_row, strict=True)]
        said += [(self.places[int(row)], tree.attr(int(row), "value") or "") for row in tree.rows("input")]
        said.append(("title", tree.title))
        return frozenset(place for place, text in said if any(word in text.lower() for word in words))

    def says(self, text: Text) -> bool:
        """Whether a text of an empty page stands here, but for words that were asked for."""
        return (text[0], self.plain(text[1])) in self.texts

    def other(self, model: EmptyModel) -> list[Text]:
        """What no empty page says, wherever it stands."""
        other = [text for text in self.texts if text[1] not in model.known]
        if not other or not self.echo:
            return other
        known = {self.plain(text) for text in model.known}
        return [text for text in other if text[1] not in known]

    def own(self, model: EmptyModel) -> list[Text]:
        """What no empty page says, at places that do not change by themselves."""
        return [text for text in self.other(model) if text[0] not in model.changing]

    def answers(self, model: EmptyModel) -> bool:
        """Whether links where empty pages have nothing hold the query: one block of the answer may be empty and another not."""
        words = [word for word in (self.query.strip().lower(), *tokens(self.query)) if len(word) > 2]
        rows = [int(row) for row in self.tree.rows("a") if self.places[int(row)] not in model.places]
        return bool(words) and any(word in self.tree.text(row).lower() for row in rows for word in words)

    def new_links(self, model: EmptyModel) -> list[int]:
        """The links where empty pages have nothing."""
        return [row for row in self.tree.rows("a").tolist() if self.places[row] not in model.places]


def _echo(query: str) -> re.Pattern[str] | None:
    """The query, its words and their stems, as pages repeat them ("librari" for "libraries")."""
    words = tokens(query)
    if not words:
        return None
    stems = [re.escape(word[: max(4, len(word) - 3)]) + r"\w*" for word in words if len(word) > 4]
    whole = sorted({re.escape(query.strip().lower()), *map(re.escape, words)}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join([*whole, *stems])})(?!\w)")


def _places(tree: TagTree) -> list[str]:
    """The place of each row: a short name for the tags, classes and names above it."""
    found: list[str] = []
    ids, signatures = tree.attribute_by_row("id"), tree.signatures
    for row, (above, signature) in enumerate(zip(tree.parent.tolist(), tree.signature_of, strict=True)):
        at = signatures[signature]
        found.append(_place(found[above] if row else "", at.tag, at.cls, ids.get(row, "")))
    return found


@lru_cache(maxsize=MAX_KNOWN)
def _place(above: str, tag: str, cls: str, name: str) -> str:
    look = f"{above}/{tag}.{cls}#{DIGITS.sub('#', name)}"
    return f"{zlib.crc32(look.encode()):08x}"


@lru_cache(maxsize=MAX_KNOWN)
def _without_numbers(text: str) -> str:
    """A text in lower case without numbers; most texts of an answer stand on others, too."""
    return DIGITS.sub(" ", text.lower())


def _by_place(texts: frozenset[Text]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for place, text in texts:
        found.setdefault(place, set()).add(text)
    return found


def _wrong(model: EmptyModel, page: _Page, near: float, own: int, params: EmptyParams) -> Said | None:
    """Whether a page is an error, a refusal or a missing page: it says so in what it calls itself, says little else, and is unlike empty answers."""
    tree = page.tree
    if near >= params.unlike or own > params.short:
        return None
    heading = page.plain(" · ".join([tree.title, *(tree.text(int(row)) for row in tree.rows("h1", "h2")[:2])]))
    if BLOCKED.search(page.plain(tree.text())):
        return "blocked"
    if PAGE_MISSING.search(heading):
        return "missing"
    if ERROR.search(heading):
        return "error"
    return "error" if len(tree) < params.bare * model.rows and own <= params.note else None
