"""Frequent words of each language, and the frequency of a word.

zipf    decimal logarithm of the occurrences of a word in a billion words of text: 7.7 for "the", 3.0 for once in a million
list    <language>.txt.bz2: the 10,000 most frequent words in order; <language>-rarer.txt.bz2: rarer words down to zipf 2.0

The lists are created by scripts/make_word_lists.py.
"""

import bz2
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import resources

from upwell.lexicon.scripts import is_latin, is_unspaced

__all__ = ["EVERYTHING", "broad_queries", "frequent_parts", "list_language", "most_frequent", "zipf"]

EVERYTHING = ("", "*", "%")  # queries that match everything on some sources
FREQUENT_WORDS = 4  # most frequent words among the broad queries

DEFAULT = "en"  # list of languages without their own
MAX_FREQUENT = 10_000  # words of a list of frequent words
# Lists of rarer words are front-coded: each word follows a character for the number of letters that it shares with the word before it.
NO_LETTER_SHARED, MAX_SHARED = 0x21, 15
ONE_LETTER_SHARED = chr(NO_LETTER_SHARED + 1)
SAME_START = re.compile('[!"][^!"]*')  # in a front-coded line: consecutive words with the same first two letters
FINAL_SIGMA = re.compile("σ$")  # the lists have the Greek letter in its form inside words
# Spelling of the lists where pages use two: Romanian with commas below, Serbian in Latin letters.
COMMAS_BELOW = str.maketrans("şţ", "șț")
SERBIAN_LATIN = str.maketrans(
    dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
    | {"љ": "lj", "њ": "nj", "џ": "dž"}
)
# Frequent letters, pairs and triples of Latin script, for sources that match parts of words.
LATIN_PARTS = ("e", "a", "er", "in", "ing", "ter")
PARTS_OF_EACH_LENGTH = 2  # for other scripts
SPELLINGS: dict[str, Mapping[int, int | str]] = {"ro": COMMAS_BELOW, "sh": SERBIAN_LATIN}


def most_frequent(language: str, count: int) -> list[str]:
    """Return the most frequent words of a language (of English if it has no list), at most 10,000, most frequent first.

    >>> most_frequent("de", 4), most_frequent("zh", 3), most_frequent("tlh", 2)
    (['die', 'der', 'und', 'in'], ['的', '是', '在'], ['the', 'to'])
    """
    words = list(_frequent(list_language(language)))[:count]
    return [FINAL_SIGMA.sub("ς", word) for word in words] if list_language(language) == "el" else words


@cache
def frequent_parts(language: str) -> tuple[str, ...]:
    """Return the letters, pairs and triples that occur in most words of a language; none for scripts without spaces.

    >>> frequent_parts("ru"), frequent_parts("ja")
    (('о', 'а', 'ст', 'ни', 'ени', 'ост'), ())
    """
    if is_latin(language):
        return LATIN_PARTS
    words = [word for word in most_frequent(language, MAX_FREQUENT) if not word.isascii()]
    if not words or is_unspaced(words[0]):
        return ()
    parts: list[str] = []
    for length in (1, 2, 3):
        often = Counter(
            part for word in words for part in {word[i : i + length] for i in range(len(word) - length + 1)}
        )
        parts += [part for part, _ in often.most_common(PARTS_OF_EACH_LENGTH)]
    return tuple(parts)


def zipf(word: str, language: str) -> float:
    """Return the zipf value of a word; rounded down to 3 or 2 after the 10,000 most frequent words, 0 if it is below 2.

    >>> zipf("the", "en"), zipf("towel", "en"), zipf("trilobite", "en"), zipf("qzxv", "en")
    (7.73, 3.94, 2.0, 0.0)
    """
    listed = list_language(language)
    known = word.casefold().translate(SPELLINGS.get(listed, {}))
    if frequent := _frequent(listed).get(known):
        return frequent
    # only first letters of the list are cached: a page of Chinese has as many pairs of characters as characters
    return _rarer(listed, known[:2]).get(known, 0.0) if known[:2] in _rarer_parts(listed) else 0.0


def list_language(language: str) -> str:
    """Return the language whose list is used: the language itself, its nearest relative (Croatian: Serbo-Croatian), or English."""
    return _languages().get(language, DEFAULT)


@cache
def _languages() -> dict[str, str]:
    return dict(line.split() for line in _read("languages.txt").splitlines())


@cache
def _frequent(language: str) -> dict[str, float]:
    """Return the frequent words in order with their zipf values; each line of a list has a value and its words."""
    words: dict[str, float] = {}
    for line in _read(f"{language}.txt.bz2").splitlines():
        value, *line_words = line.split(" ")
        words.update(dict.fromkeys(line_words, float(value)))
    return words


@cache
def _rarer(language: str, first_letters: str) -> dict[str, float]:
    """Return the rarer words with these first two letters; the words of a page have only a few different ones."""
    return {word: value for value, part in _rarer_parts(language)[first_letters] for word in expand(part)}


@cache
def _rarer_parts(language: str) -> dict[str, list[tuple[float, str]]]:
    """Return the front-coded list of rarer words with their values, by their first two letters."""
    parts: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in _read(f"{language}-rarer.txt.bz2").splitlines():
        value, _, shortened = line.partition(" ")
        letter = ""
        for part in SAME_START.findall(shortened):
            letter = letter if part[0] == ONE_LETTER_SHARED else part[1:2]
            whole = f"{chr(NO_LETTER_SHARED)}{letter}{part[1:]}" if part[0] == ONE_LETTER_SHARED else part
            parts[expand(whole[: 1 + MAX_SHARED])[0][:2]].append((float(value), whole))
    return parts


def expand(shortened: str) -> list[str]:
    """Decode the words of a front-coded line.

    >>> expand("!carbon$gos&o")
    ['carbon', 'cargos', 'cargoo']
    """
    words: list[str] = []
    before = ""
    start, shared = 0, 0
    for at, character in enumerate(shortened):
        if ord(character) <= NO_LETTER_SHARED + MAX_SHARED:
            if at:
                before = before[:shared] + shortened[start:at]
                words.append(before)
            start, shared = at + 1, ord(character) - NO_LETTER_SHARED
    return [*words, before[:shared] + shortened[start:]] if shortened else []


def _read(name: str) -> str:
    content = resources.files("upwell.lexicon").joinpath("word_lists", name).read_bytes()
    return (bz2.decompress(content) if name.endswith(".bz2") else content).decode("utf-8")


def broad_queries(language: str) -> tuple[str, ...]:
    """Return queries that may match nearly everything, most likely first."""
    return (*EVERYTHING, *frequent_parts(language), *most_frequent(language, FREQUENT_WORDS))
