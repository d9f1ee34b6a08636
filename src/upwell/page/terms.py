"""The words of a page: tokens, stop words, stems, and the slice of them that belongs to any subtree.

term        a token in lower case, stemmed where that is asked for; a run of a script without spaces becomes pairs of characters
character   with the marks that stand above, below and beside it, as people count them
slice       the terms of a subtree, which are a range of the page's term ids
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import Stemmer
import stop_words

from upwell.lazy import late_pattern
from upwell.page.compiled import compiled
from upwell.page.tree import GLUED, Ints, TagTree

__all__ = [
    "Terms", "characters", "is_unspaced", "of", "plain_terms", "plain_tokens", "query_words", "stem", "stop_words_of", "tokens",
    "words_of_query",
]  # fmt: skip

# Han, kana and hangul: written without spaces, or with spaces that do not part words (Wisdom §3.1; our departure: bigrams).
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
CJK_RUN = late_pattern(f"[{CJK}]+")
UNSPACED = CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and Thai, Lao, Burmese, Khmer
UNSPACED_RUN = late_pattern(f"[{UNSPACED}]+")
# Vowel signs and accents are no letters for `\w`: of the scripts from Greek to Georgian, and of those that came to Unicode later.
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
JOINERS = "\u200c\u200d"  # they part or join the shapes of letters inside a word
LETTER = rf"[\w{MARKS}]"
WORD = rf"{LETTER}+(?:[{JOINERS}]{LETTER}+)*"
CHARACTER = late_pattern(rf".[{MARKS}{JOINERS}]*", re.S)
AMOUNT = r"\b\d{1,3}(?:[.,٬]\d{3})+\b"  # an amount in groups of three digits is one token
PLAIN_TOKEN = late_pattern(rf"{AMOUNT}|\w+(?:['’]\w+)*")
TOKEN = late_pattern(rf"{AMOUNT}|{WORD}(?:['’]{WORD})*")
EDGE = "\x00"  # parts the chunks of a page while all of them are tokenised at once; the parser lets no NUL through
PLAIN_TOKEN_OR_EDGE = late_pattern(PLAIN_TOKEN.pattern + "|" + EDGE)
TOKEN_OR_EDGE = late_pattern(TOKEN.pattern + "|" + EDGE)
MIXED = late_pattern(f"[{UNSPACED}]+|[^{UNSPACED}]+")
# Where words of unspaced scripts are likely to end: a run of Han, of katakana, or of another script.
SAME_SCRIPT = late_pattern(
    "[\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[\u30a0-\u30ff]+|[\uac00-\ud7af]+"
)
MAX_RUN = 12  # characters of a run that may be asked for as a whole; a longer one is a sentence; not swept


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one page: `ids` in document order into `words`; chunk c has ids[at[c]:at[c+1]]."""

    words: tuple[str, ...]
    ids: Ints
    at: Ints

    def slice(self, tree: TagTree, row: int = 0) -> Ints:
        """The term ids of a subtree."""
        return self.ids[self.at[tree.text_at[row]] : self.at[tree.text_end[row]]]

    def counts(self, tree: TagTree, row: int = 0) -> Ints:
        """How often each word stands in a subtree."""
        return np.bincount(self.slice(tree, row), minlength=len(self.words)).astype(np.int32)


def tokens(text: str) -> list[str]:
    """The tokens of a text in order.

    >>> tokens("Don't panic: 42 towels of 1,250, 深層網")
    ["don't", 'panic', '42', 'towels', 'of', '1,250', '深層', '層網']
    """
    if compiled is not None and (fast := compiled.tokens(text)) is not None:
        return fast
    return plain_tokens(text)


def plain_tokens(text: str) -> list[str]:
    """The same without the compiled parts, which leave scripts with marks and those without spaces to this."""
    found = _raw_tokens(text)
    return found if text.isascii() or not UNSPACED_RUN.search(text) else _pairs(found)


def query_words(text: str) -> list[str]:
    """All that a text may be asked by: its tokens; of scripts without spaces the characters, their pairs, and runs as they stand.

    Some sources find every part of such a text, some its words, some only what stands between two spaces or signs.

    >>> query_words("the 検索エンジン")
    ['the', '検索', '索エ', 'エン', 'ンジ', 'ジン', '検索エンジン', 'エンジン', '検', '索', 'エ', 'ン', 'ジ']
    """
    if text.isascii() or not UNSPACED_RUN.search(text):
        return tokens(text)
    found = _raw_tokens(text)
    words = dict.fromkeys(_pairs(found))
    for token in found:
        if is_unspaced(token):
            runs = [token, *(part for part in SAME_SCRIPT.findall(token) if len(part) > 2)]
            words.update(dict.fromkeys(run for run in runs if len(run) <= MAX_RUN))
    words.update(dict.fromkeys(character for run in CJK_RUN.findall(text) for character in run))
    return list(words)


def words_of_query(query: str) -> list[str]:
    """The words of a query, which are among the `query_words` of a text that shows them; a run stays whole."""
    return _raw_tokens(query)


def is_unspaced(word: str) -> bool:
    """Whether a word has characters of a script that is written without spaces."""
    return not word.isascii() and UNSPACED_RUN.search(word) is not None


def characters(word: str) -> list[str]:
    """The characters of a word as people count them: each with its marks.

    >>> characters("हिन्दी")
    ['हि', 'न्', 'दी']
    """
    return CHARACTER.findall(word)


def _raw_tokens(text: str) -> list[str]:
    pattern = PLAIN_TOKEN if text.isascii() else TOKEN
    return pattern.findall(text.lower().replace("’", "'"))


def of(tree: TagTree, *, stemmed: bool = False, stops: bool = True) -> Terms:
    """The terms of a page's visible text; `stems` and `stops` (keep stop words) go by the page's own language.

    A word that goes on in the next chunk (`<b>Pyth</b>on`) is a term of the chunk in which it begins.
    """
    chunks = tree.chunks
    if not chunks:
        nothing = np.zeros(1, dtype=np.int32)
        return Terms((), nothing[:0], nothing)
    glued = [c for c in np.flatnonzero(tree.chunk_gap == GLUED).tolist() if c]
    begun: dict[int, str] = {}  # by the number of a glued chunk, what stands right before it
    if glued:
        joined = list(chunks)
        for c in glued:
            begun[c] = begun.get(c - 1, "") + chunks[c - 1]
        for c in reversed(glued):
            joined[c - 1] += joined[c]
            joined[c] = ""
        chunks = tuple(joined)
    text = EDGE.join(chunks)
    if compiled is None:
        words, ids, at = plain_terms(text)
    else:
        words, numbers, begins = compiled.terms(text, plain_tokens)
        ids, at = np.frombuffer(numbers, np.int32), np.frombuffer(bytearray(begins), np.int32)
    for c, before in reversed(begun.items()):  # the terms of joined chunks stand at the first of them
        first = c
        while first in begun:
            first -= 1
        at[c] = min(at[first] + len(tokens(before)), at[first + 1])
    return _mapped(words, ids, at, tree.language, stemmed, stops)


def plain_terms(text: str) -> tuple[list[str], Ints, Ints]:
    """The words of a text in parts, the number of each word in order, and where each part begins and the last one ends."""
    pattern = PLAIN_TOKEN_OR_EDGE if text.isascii() else TOKEN_OR_EDGE
    found = pattern.findall(text.lower().replace("’", "'"))
    if not text.isascii() and UNSPACED_RUN.search(text):
        found = _pairs(found)
    words = [word for word in dict.fromkeys(found) if word != EDGE]
    index = {word: i for i, word in enumerate(words)} | {EDGE: -1}
    ids = np.fromiter(map(index.__getitem__, found), np.int32, len(found))
    edges = np.flatnonzero(ids == -1)
    at = np.zeros(len(edges) + 2, dtype=np.int32)
    at[1:-1] = edges - np.arange(len(edges))
    ids = ids[ids != -1]
    at[-1] = len(ids)
    return words, ids, at


def _mapped(words: list[str], ids: Ints, at: Ints, language: str, stemmed: bool, stops: bool) -> Terms:
    """Renames the words (stems, no stop words), which may make several one, and renumbers the ids."""
    if stops and not stemmed:
        return Terms(tuple(words), ids, at)
    drop = frozenset[str]() if stops else stop_words_of(language)
    names = stem(words, language) if stemmed else words
    target: dict[str, int] = {}
    to = np.array(
        [-1 if word in drop else target.setdefault(name, len(target)) for word, name in zip(words, names, strict=True)],
        dtype=np.int32,
    )
    if len(words):
        ids = to[ids]
    if not stops:
        kept = ids >= 0
        at = np.concatenate(([0], np.cumsum(kept)))[at].astype(np.int32)
        ids = ids[kept]
    return Terms(tuple(target), ids, at)


def stem(words: list[str], language: str) -> list[str]:
    """Snowball stems, word by word; unchanged in a language that has no stemmer."""
    return list(_stemmer(language).stemWords(words)) if language in STEMMERS else words


@cache
def stop_words_of(language: str) -> frozenset[str]:
    """The function words of a language; empty where there is no list."""
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


def _pairs(found: Sequence[str]) -> list[str]:
    """Every run of an unspaced script as overlapping pairs of characters (a lone one as itself); the rest as it is."""
    result: list[str] = []
    for token in found:
        if not UNSPACED_RUN.search(token):
            result.append(token)
            continue
        for run in MIXED.findall(token):
            if not UNSPACED_RUN.match(run):
                result.append(run)
            elif len(parts := characters(run)) > 1:
                result.extend(one + next_one for one, next_one in pairwise(parts))
            else:
                result.append(run)
    return result
