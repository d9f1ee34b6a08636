"""Split text into tokens; stop words, stems, and the terms of a page and its subtrees.

term        token in lower case, optionally stemmed; a run of an unspaced script (Chinese, Thai …) becomes overlapping pairs of characters
character   base character with its combining marks
slice       terms of a subtree, a range of the page's term ids
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import compress, pairwise
from typing import overload

import numpy as np
import Stemmer
import stop_words
from numpy.typing import NDArray

from upwell.lazy import late_pattern
from upwell.lexicon.scripts import CJK_RUN, UNSPACED, UNSPACED_RUN, is_unspaced
from upwell.native import compiled
from upwell.page.tree import GLUED, Ints, TagTree

__all__ = [
    "Terms",
    "characters",
    "plain_terms",
    "plain_tokens",
    "query_words",
    "stem",
    "stop_words_of",
    "terms_of",
    "token_blocks",
    "tokens",
    "words_of_query",
]

# Unicode blocks with combining marks (vowel signs, accents), which `\w` does not match.
MARKED_BLOCKS = (
    (0x300, 0x1100),
    (0x1700, 0x1D00),
    (0x1DC0, 0x1E00),
    (0x302A, 0x30A0),
    (0xA660, 0xAC00),
    (0xFE20, 0xFE30),
)
MARKS = "".join(
    chr(code) for first, end in MARKED_BLOCKS for code in range(first, end) if unicodedata.category(chr(code))[0] == "M"
)
JOINERS = "\u200c\u200d"  # zero-width (non-)joiners inside a word
LETTER = rf"[\w{MARKS}]"
WORD = rf"{LETTER}+(?:[{JOINERS}]{LETTER}+)*"
CHARACTER = late_pattern(rf".[{MARKS}{JOINERS}]*", re.S)
AMOUNT = r"\b\d{1,3}(?:[.,٬]\d{3})+\b"  # an amount in groups of three digits is one token
SPACE = re.compile(r"\s")
MARK = late_pattern(f"[{MARKS}{JOINERS}]")
PLAIN_TOKEN = late_pattern(rf"{AMOUNT}|\w+(?:['’]\w+)*")
TOKEN = late_pattern(rf"{AMOUNT}|{WORD}(?:['’]{WORD})*")
EDGE = "\x00"  # separates the chunks of a page while all are tokenised at once; the parser removes NUL from text
PLAIN_TOKEN_OR_EDGE = late_pattern(PLAIN_TOKEN.pattern + "|" + EDGE)
TOKEN_OR_EDGE = late_pattern(TOKEN.pattern + "|" + EDGE)
MIXED = late_pattern(f"[{UNSPACED}]+|[^{UNSPACED}]+")
# Words of unspaced scripts are likely to end where the script changes: runs of Han, katakana, hangul.
SAME_SCRIPT = late_pattern(
    "[\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[\u30a0-\u30ff]+|[\uac00-\ud7af]+"
)
MAX_GLUED_CHARS = 200  # longest word over several elements that is divided among them exactly; a safety limit
BLOCK_CHARS = 20_000  # characters of a long text that are tokenised at once: a token needs up to 40 times its size
MAX_COPIED_CHARS = 50_000  # characters of a page from which on its distinct words are copied only when they are read
MAX_CUT_TRIES = 1000  # characters before the end of a block among which a place to cut unspaced text is looked for
MAX_RUN = 12  # longest run of an unspaced script that is a query as a whole; a longer run is a sentence; not swept


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of one page: `ids` are indices into `words` in document order; chunk c has ids[at[c]:at[c+1]]."""

    words: Sequence[str]
    ids: Ints
    at: Ints

    def slice(self, tree: TagTree, row: int = 0) -> Ints:
        """Return the term ids of a subtree."""
        return self.ids[self.at[tree.text_at[row]] : self.at[tree.text_end[row]]]

    def counts(self, tree: TagTree, row: int = 0) -> Ints:
        """Return how often each word occurs in a subtree."""
        return np.bincount(self.slice(tree, row), minlength=len(self.words)).astype(np.int32)


class LateWords(Sequence[str]):
    """Words of a long text, each of which is copied from the text when it is read: a str needs 60 bytes, a word here eight."""

    def __init__(self, text: str, spans: Ints) -> None:
        self._text, self._spans = text, spans  # begin and end of each word

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "LateWords": ...
    def __getitem__(self, at: int | slice) -> "str | LateWords":
        if isinstance(at, slice):
            return LateWords(self._text, self._spans[at])
        begin, end = self._spans[at].tolist()
        return self._text[begin:end]

    def __iter__(self) -> Iterator[str]:
        edges = iter(memoryview(self._spans.reshape(-1).data))
        return (self._text[begin:end] for begin, end in zip(edges, edges, strict=True))

    def where(self, kept: NDArray[np.bool_]) -> "LateWords":
        """Return some of the words."""
        return LateWords(self._text, self._spans[kept])


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in order.

    >>> tokens("Don't panic: 42 towels of 1,250, 深層網")
    ["don't", 'panic', '42', 'towels', 'of', '1,250', '深層', '層網']
    """
    if compiled is not None and (fast := compiled.tokens(text)) is not None:
        return fast
    return plain_tokens(text)


def plain_tokens(text: str) -> list[str]:
    """Return the same in pure Python; also used for scripts with combining marks or without spaces."""
    raw = _raw_tokens(text)
    return raw if text.isascii() or not UNSPACED_RUN.search(text) else _pairs(raw)


def token_blocks(text: str) -> Iterator[list[str]]:
    """Yield the tokens of a text in order, those of a part at a time.

    >>> list(token_blocks("two words"))
    [['two', 'words']]
    """
    at = 0
    while at < len(text):
        end, at_next = _cut_between_tokens(text, at, at + BLOCK_CHARS)
        yield tokens(text[at:end])
        at = at_next


def _cut_between_tokens(text: str, first: int, wanted: int) -> tuple[int, int]:
    """Return the end of a part of a text that begins at `first`, near `wanted`, and the beginning of the next part.

    Parts end at white space. In unspaced text they share a character, so that each pair of characters is in one of them.
    """
    if wanted >= len(text):
        return len(text), len(text)
    space = max(text.rfind(" ", first + 1, wanted), text.rfind("\n", first + 1, wanted))
    if space > 0:
        return space, space
    for at in range(wanted, max(first + 2, wanted - MAX_CUT_TRIES), -1):
        around = text[at - 2 : at + 3]
        if len(around) == 5 and CJK_RUN.fullmatch(around) and around.isalnum() and not MARK.search(around):
            return at + 1, at
    later = SPACE.search(text, wanted)
    return (later.start(), later.start()) if later else (len(text), len(text))


def query_words(text: str) -> list[str]:
    """Return all words by which a source may find a text: its tokens; for unspaced scripts characters, their pairs, and whole runs.

    Some sources index every character of such a text, some its words, some only runs between spaces or punctuation.

    >>> query_words("the 検索エンジン")
    ['the', '検索', '索エ', 'エン', 'ンジ', 'ジン', '検索エンジン', 'エンジン', '検', '索', 'エ', 'ン', 'ジ']
    """
    if text.isascii() or not UNSPACED_RUN.search(text):
        return tokens(text)
    raw = _raw_tokens(text)
    words = dict.fromkeys(_pairs(raw))
    for token in raw:
        if is_unspaced(token):
            runs = [token, *(part for part in SAME_SCRIPT.findall(token) if len(part) > 2)]
            words.update(dict.fromkeys(run for run in runs if len(run) <= MAX_RUN))
    words.update(dict.fromkeys(character for run in CJK_RUN.findall(text) for character in run))
    return list(words)


def words_of_query(query: str) -> list[str]:
    """Return the words of a query; runs of unspaced scripts stay whole. A matching text has them among its `query_words`."""
    return _raw_tokens(query)


def characters(word: str) -> list[str]:
    """Return the characters of a word, each with its combining marks.

    >>> characters("हिन्दी")
    ['हि', 'न्', 'दी']
    """
    return CHARACTER.findall(word)


def _raw_tokens(text: str) -> list[str]:
    pattern = PLAIN_TOKEN if text.isascii() else TOKEN
    return pattern.findall(text.lower().replace("’", "'"))


def terms_of(tree: TagTree, *, stemmed: bool = False, stops: bool = True) -> Terms:
    """Return the terms of a page's visible text, stemmed or without stop words in the page's language if requested.

    A word that continues in the next chunk (`<b>Pyth</b>on`) belongs to the chunk in which it begins.
    """
    chunks: Sequence[str] = tree.chunks
    if not chunks:
        nothing = np.zeros(1, dtype=np.int32)
        return Terms((), nothing[:0], nothing)
    glued = [c for c in np.flatnonzero(tree.chunk_gap == GLUED).tolist() if c]
    if glued:
        chunks = _joined_chunks(chunks, glued)
    words, ids, at = _numbered_terms(EDGE.join(chunks))
    if glued:
        _divide_terms(at, tree.chunks, glued)
    return _normalize(words, ids, at, tree.language, stemmed, stops)


def _numbered_terms(text: str) -> tuple[Sequence[str], Ints, Ints]:
    """Compute `plain_terms`, in native code if there is any."""
    if compiled is None:
        return plain_terms(text)
    words: Sequence[str]
    if len(text) > MAX_COPIED_CHARS:
        (low, spans), numbers, begins, left = compiled.terms(text, [], True)
        words = LateWords(low, np.frombuffer(spans, np.int32).reshape(-1, 2))
    else:
        words, numbers, begins, left = compiled.terms(text, [])
    if left:  # chunks in scripts that only Python splits
        words, numbers, begins, left = compiled.terms(text, [plain_tokens(chunk) for chunk in left])
    return words, np.frombuffer(numbers, np.int32), np.frombuffer(bytearray(begins), np.int32)


def _joined_chunks(chunks: Sequence[str], glued: Sequence[int]) -> list[str]:
    """Return the chunks with each glued chunk appended to the chunk in which its word begins, and empty itself."""
    joined = list(chunks)
    for first, end in _glued_runs(glued):
        joined[first] = "".join(chunks[first:end])
        joined[first + 1 : end] = [""] * (end - first - 1)
    return joined


def _glued_runs(glued: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of chunks that are joined: the first, and one past the last."""
    first = end = 0
    for c in glued:
        if c != end:
            if end:
                yield first, end
            first = c - 1
        end = c + 1
    yield first, end


def _divide_terms(at: Ints, chunks: Sequence[str], glued: Sequence[int]) -> None:
    """Divide the terms of joined chunks, which are stored with the first of them, among them, in place.

    The terms of a chunk begin after those of the text before it. White space separates terms, so only the text since the last white space
    is split again for each chunk; text without white space is split at MAX_GLUED_CHARS.
    """
    for first, end in _glued_runs(glued):
        begin, last = int(at[first]), int(at[first + 1])
        tail = ""  # text before a chunk whose terms are not counted in `begin` yet
        for c in range(first + 1, end):
            tail += chunks[c - 1]
            number = len(tokens(tail))
            at[c] = min(begin + number, last)
            space = tail.rfind(" ")
            if space >= 0:
                rest = tail[space + 1 :]
                begin, tail = begin + number - len(tokens(rest)), rest
            elif len(tail) > MAX_GLUED_CHARS:
                begin, tail = begin + number, ""


def plain_terms(text: str) -> tuple[list[str], Ints, Ints]:
    """Return the distinct words of EDGE-separated chunks, the word ids in order, and the offsets of the chunks."""
    pattern = PLAIN_TOKEN_OR_EDGE if text.isascii() else TOKEN_OR_EDGE
    raw = pattern.findall(text.lower().replace("’", "'"))
    if not text.isascii() and UNSPACED_RUN.search(text):
        raw = _pairs(raw)
    words = [word for word in dict.fromkeys(raw) if word != EDGE]
    index = {word: i for i, word in enumerate(words)} | {EDGE: -1}
    ids = np.fromiter(map(index.__getitem__, raw), np.int32, len(raw))
    edges = np.flatnonzero(ids == -1)
    at = np.zeros(len(edges) + 2, dtype=np.int32)
    at[1:-1] = edges - np.arange(len(edges))
    ids = ids[ids != -1]
    at[-1] = len(ids)
    return words, ids, at


def _normalize(words: Sequence[str], ids: Ints, at: Ints, language: str, stemmed: bool, stops: bool) -> Terms:
    """Stem words and remove stop words, and renumber the ids accordingly."""
    if isinstance(words, list):
        words = tuple(words)
    stemmed = stemmed and language in STEMMERS
    if stops and not stemmed:
        return Terms(words, ids, at)
    drop = frozenset[str]() if stops else stop_words_of(language)
    if not stemmed:
        kept_words = np.fromiter((word not in drop for word in words), np.bool_, len(words))
        numbers = np.cumsum(kept_words, dtype=np.int32)
        numbers -= 1
        numbers[~kept_words] = -1
        left = words.where(kept_words) if isinstance(words, LateWords) else tuple(compress(words, kept_words.tolist()))
        return _without_dropped(left, numbers[ids], at)
    names = stem(list(words), language)
    target: dict[str, int] = {}
    to = np.array(
        [-1 if word in drop else target.setdefault(name, len(target)) for word, name in zip(words, names, strict=True)],
        dtype=np.int32,
    )
    return _without_dropped(tuple(target), to[ids] if len(words) else ids, at)


def _without_dropped(words: Sequence[str], ids: Ints, at: Ints) -> Terms:
    """Return the terms whose ids are not -1."""
    kept = ids >= 0
    if kept.all():
        return Terms(words, ids, at)
    before = np.zeros(len(ids) + 1, dtype=np.int32)
    np.cumsum(kept, out=before[1:])
    return Terms(words, ids[kept], before[at])


def stem(words: list[str], language: str) -> list[str]:
    """Return the Snowball stem of each word; unchanged if the language has no stemmer."""
    return list(_stemmer(language).stemWords(words)) if language in STEMMERS else words


@cache
def stop_words_of(language: str) -> frozenset[str]:
    """Return the stop words of a language; empty if there is no list."""
    name = {"cs": "cz", "no": "nb", "nn": "nb"}.get(language, language)
    if name not in stop_words.LANGUAGE_MAPPING:
        return frozenset()
    return frozenset(word.lower().replace("’", "'") for word in stop_words.get_stop_words(name))


STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


@cache
def _stemmer(language: str) -> "Stemmer.Stemmer":
    known = STEMMERS[language]
    return Stemmer.Stemmer(known if known in Stemmer.algorithms() else "porter")


def _pairs(raw: Sequence[str]) -> list[str]:
    """Split runs of unspaced scripts into overlapping pairs of characters (a single character stays); keep other tokens."""
    result: list[str] = []
    known: dict[str, str] = {}  # each pair is stored once
    for token in raw:
        if not UNSPACED_RUN.search(token):
            result.append(token)
            continue
        for run in MIXED.findall(token):
            if not UNSPACED_RUN.match(run):
                result.append(run)
            elif len(run) > 1 and not MARK.search(run):
                pairs = (run[i : i + 2] for i in range(len(run) - 1))
                result.extend(known.setdefault(pair, pair) for pair in pairs)
            elif len(parts := characters(run)) > 1:
                result.extend(character + following for character, following in pairwise(parts))
            else:
                result.append(run)
    return result
