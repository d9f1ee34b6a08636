"""Texts as words for the search index: in any script, with and without spaces between words, without case and accents."""

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer, Tokenizer

__all__ = ["analyzer", "fold", "words_at", "words_of"]

MAX_WORD_BYTES = 80  # of a word that is indexed: a longer one is data, as a hash or a picture in the text
# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han. Each character is a word of its own there, and a word that
# is asked for is a phrase of characters: it is found wherever it stands, and no dictionary decides what a word is.
RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
UNSPACED = re.compile(f"[{RANGES}]")
WORD = rf"[{RANGES}]|[\p{{L}}\p{{N}}\p{{M}}&&[^{RANGES}]]+"
# Canonical combining classes (Unicode §4.3) of marks that are left out: points of Hebrew and Arabic, and accents above and below letters.
# Vowels of Indic scripts and Thai, and the voice of Japanese letters, have others and stay.
DROPPED_CLASSES = frozenset((*range(10, 36), *range(202, 241)))
DROPPED = {code: None for code in range(0x300, 0xFE30) if unicodedata.combining(chr(code)) in DROPPED_CLASSES}


def fold(text: str) -> str:
    """A text without accents, in any script, wide and narrow letters the same; with spaces between characters that need none.

    >>> fold("Café Ελλάδα Ёж ＡＢＣ 한국"), fold("東京の塔")
    ('Cafe Ελλαδα Еж ABC 한국', ' 東  京  の  塔 ')
    """
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKD", text).translate(DROPPED))
    return UNSPACED.sub(r" \g<0> ", folded)


def words_of(text: str) -> list[str]:
    """The words of a text, as the index has them.

    >>> words_of("Größe: 3,5 m – 東京")
    ['grosse', '3', '5', 'm', '東', '京']
    """
    return list(analyzer().analyze(fold(text)))


def words_at(text: str) -> list[tuple[int, int, list[str]]]:
    """Where the words of a text stand, and how the index has each.

    >>> words_at("Café 東")
    [(0, 4, ['cafe']), (5, 6, ['東'])]
    """
    tokens = _by_pattern().pre_tokenize(text).tokens
    return [(one.char_offset_from, int(one.char_offset_to or 0), words_of(one.text)) for one in tokens]


@lru_cache(maxsize=1)
def analyzer() -> "TextAnalyzer":
    """Cuts a folded text into words in small letters; letters such as ß and ø become those of ASCII."""
    from tantivy import Tokenizer

    return _analyzer(Tokenizer.simple())


@lru_cache(maxsize=1)
def _by_pattern() -> "TextAnalyzer":
    """The same for a text as it is written; four times as slow as the simple one, so that only what is shown is cut by it."""
    from tantivy import Tokenizer

    return _analyzer(Tokenizer.regex(WORD))


def _analyzer(tokenizer: "Tokenizer") -> "TextAnalyzer":
    from tantivy import Filter, TextAnalyzerBuilder

    builder = TextAnalyzerBuilder(tokenizer)
    for step in (Filter.remove_long(MAX_WORD_BYTES), Filter.lowercase(), Filter.ascii_fold()):
        builder = builder.filter(step)
    return builder.build()
