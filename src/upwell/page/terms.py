"""The words of a page: tokens, stop words, stems, and the slice of them that belongs to any subtree.

term    a token in lower case, stemmed where that is asked for; Chinese, Japanese and Korean runs become bigrams
slice   the terms of a subtree, which are a range of the page's term ids
"""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import Stemmer
import stop_words

from upwell.page.compiled import compiled
from upwell.page.tree import Ints, TagTree

__all__ = ["CJK_LANGUAGES", "Terms", "of", "plain_terms", "plain_tokens", "stem", "stop_words_of", "tokens"]

# Han, kana and hangul: written without spaces, or with spaces that do not part words (Wisdom §3.1; our departure: bigrams).
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
CJK_LANGUAGES = frozenset(("ja", "ko", "zh"))
CJK_RUN = re.compile(f"[{CJK}]+")
TOKEN = re.compile(r"\b\d{1,3}(?:[.,]\d{3})+\b|\w+(?:['’]\w+)*")  # an amount in groups of three digits is one token
EDGE = "\x00"  # parts the chunks of a page while all of them are tokenised at once; the parser lets no NUL through
TOKEN_OR_EDGE = re.compile(TOKEN.pattern + "|" + EDGE)
MIXED = re.compile(f"[{CJK}]+|[^{CJK}]+")


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
    """The same without the compiled parts, and for Chinese, Japanese and Korean."""
    found = TOKEN.findall(text.lower().replace("’", "'"))
    return _bigrams(found) if CJK_RUN.search(text) else found


def of(tree: TagTree, *, stemmed: bool = False, stops: bool = True) -> Terms:
    """The terms of a page's visible text; `stems` and `stops` (keep stop words) go by the page's own language."""
    if not tree.chunks:
        nothing = np.zeros(1, dtype=np.int32)
        return Terms((), nothing[:0], nothing)
    text = EDGE.join(tree.chunks)
    if compiled is None or (fast := compiled.terms(text)) is None:
        words, ids, at = plain_terms(text)
    else:
        words, ids, at = fast[0], np.frombuffer(fast[1], np.int32), np.frombuffer(fast[2], np.int32)
    return _mapped(words, ids, at, tree.language, stemmed, stops)


def plain_terms(text: str) -> tuple[list[str], Ints, Ints]:
    """The words of a text in parts, the number of each word in order, and where each part begins and the last one ends."""
    found = TOKEN_OR_EDGE.findall(text.lower().replace("’", "'"))
    if CJK_RUN.search(text):
        found = _bigrams(found)
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


def _bigrams(found: list[str]) -> list[str]:
    """Every CJK run as overlapping pairs of characters (a lone one as itself); the rest as it is."""
    result: list[str] = []
    for token in found:
        if not CJK_RUN.search(token):
            result.append(token)
            continue
        for run in MIXED.findall(token):
            if len(run) > 1 and CJK_RUN.match(run):
                result.extend(run[i : i + 2] for i in range(len(run) - 1))
            else:
                result.append(run)
    return result
