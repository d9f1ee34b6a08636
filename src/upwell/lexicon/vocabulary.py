"""Read the word lists of this package: one file per meaning (`next.toml`), one key per language.

Entries are words or regular expressions, as the first lines of each file say. The key `symbol` has signs of no language.
"""

import tomllib
import unicodedata
from functools import cache, lru_cache
from pkgutil import get_data

__all__ = ["alternatives", "fold_accents", "whole_words", "word_starts", "words"]

# Letters that Unicode does not decompose into a base letter and an accent.
WITHOUT_DECOMPOSITION = str.maketrans({
    "ı": "i", "ß": "ss", "ẞ": "ss", "ł": "l", "Ł": "l", "ø": "o", "Ø": "o", "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "æ": "ae", "Æ": "ae",
    "œ": "oe", "Œ": "oe", "þ": "th", "Þ": "th", "ħ": "h", "Ħ": "h", "ə": "e", "Ə": "e", "ŋ": "n", "ʻ": "", "ʼ": "",
})  # fmt: skip
UNSPACED = ("ja", "zh", "ko")  # languages whose words have no boundaries that a regular expression could find


@cache
def _by_language(meaning: str) -> dict[str, list[str]]:
    content = get_data("upwell.lexicon", f"{meaning}.toml")  # faster at start-up than importlib.resources
    if content is None:
        raise FileNotFoundError(f"{meaning}.toml")
    return tomllib.loads(content.decode("utf-8"))


def alternatives(meaning: str) -> str:
    """Return the entries of all languages as the alternatives of a regular expression.

    >>> alternatives("range_to")
    'to|through|thru|until|bis|à|au|al?|até|tot|till?|til|do|до|по|至|から'
    """
    return "|".join(entry for entries in _by_language(meaning).values() for entry in entries)


def whole_words(meaning: str) -> str:
    """Return a regular expression for the entries as whole words; entries in languages without spaces match anywhere.

    >>> whole_words("page_missing").endswith(r"|страница не найдена)\\b|页面不存在|ページが見つかりません")
    True
    """
    spaced, unspaced = _by_spacing(meaning)
    return "|".join([rf"\b(?:{'|'.join(spaced)})\b", *unspaced])


def word_starts(meaning: str) -> str:
    """Return a regular expression for the entries at the beginning of words; entries in languages without spaces match anywhere."""
    spaced, unspaced = _by_spacing(meaning)
    return "|".join([rf"\b(?:{'|'.join(spaced)})", *unspaced])


def _by_spacing(meaning: str) -> tuple[list[str], list[str]]:
    """Return the entries in languages with spaces between words, and the others."""
    spaced: list[str] = []
    unspaced: list[str] = []
    for language, entries in _by_language(meaning).items():
        (unspaced if language in UNSPACED else spaced).extend(entries)
    return spaced, unspaced


@cache
def words(meaning: str) -> frozenset[str]:
    """Return the words of all languages, folded by `fold_accents`."""
    return frozenset(fold_accents(word) for entries in _by_language(meaning).values() for word in entries)


@lru_cache(16384)
def fold_accents(text: str) -> str:
    """Fold case, accents and width: `löschen`, `LÖSCHEN` and `ｌöschen` become the same text.

    >>> fold_accents("LÖSCHEN"), fold_accents("bağış"), fold_accents("إلغاء") == fold_accents("الغاء")
    ('loschen', 'bagis', True)
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.translate(WITHOUT_DECOMPOSITION))
    return "".join(sign for sign in plain.lower() if unicodedata.category(sign) not in ("Mn", "Cf"))
