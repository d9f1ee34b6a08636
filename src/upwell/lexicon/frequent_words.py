"""The most frequent words of a language, and how frequent a word is in it; the lists are made by scripts/make_word_lists.py.

zipf    the logarithm of how often a word occurs in a billion words of text: 7.7 for "the", 3.0 for once in a million
list    <language>.txt.bz2: the 10,000 most frequent words in order, and <language>-rarer.txt.bz2: those below, from zipf 2.0 on
"""

import bz2
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import resources

from upwell.lexicon.scripts import is_latin, is_unspaced

__all__ = ["EVERYTHING", "broad_queries", "frequent_parts", "list_language", "most_frequent", "zipf"]

EVERYTHING = ("", "*", "%")  # queries that ask for everything, where the source understands them
FREQUENT_WORDS = 4  # the most frequent words of the language, asked as broad questions

DEFAULT = "en"  # for languages without a list
MAX_FREQUENT = 10_000
# In a list of rarer words each word has before it one character that says how many letters it shares with the word before it.
NO_LETTER_SHARED, MAX_SHARED = 0x21, 15
ONE_LETTER_SHARED = chr(NO_LETTER_SHARED + 1)
ALIKE_WORDS = re.compile('[!"][^!"]*')  # in such a list: words in a row with the same two letters at their beginning
# How words are written in the lists where pages write them in two ways: Romanian with commas below, Serbian in Latin letters.
FINAL_SIGMA = re.compile("σ$")  # the lists have the Greek letter as it stands inside words
COMMAS_BELOW = str.maketrans("şţ", "șț")
SERBIAN_LATIN = str.maketrans(
    dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
    | {"љ": "lj", "њ": "nj", "џ": "dž"}
)
# The most frequent letters, pairs and endings in texts of Latin script, for sources that search parts of words.
LATIN_PARTS = ("e", "a", "er", "in", "ing", "ter")
PARTS_OF_EACH_LENGTH = 2
SPELLINGS: dict[str, Mapping[int, int | str]] = {"ro": COMMAS_BELOW, "sh": SERBIAN_LATIN}


def most_frequent(language: str, count: int) -> list[str]:
    """The most frequent words of a language (of English where it has no list), at most 10,000, the most frequent first.

    >>> most_frequent("de", 4), most_frequent("zh", 3), most_frequent("tlh", 2)
    (['die', 'der', 'und', 'in'], ['的', '是', '在'], ['the', 'to'])
    """
    words = list(_frequent(list_language(language)))[:count]
    return [FINAL_SIGMA.sub("ς", word) for word in words] if list_language(language) == "el" else words


@cache
def frequent_parts(language: str) -> tuple[str, ...]:
    """Letters, pairs and triples that most words of a language have; none where words are not parted by spaces.

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
    """How frequent a word in lower case is in a language; 0 below 2, and rounded down to 3 or 2 past the 10,000 most frequent.

    >>> zipf("the", "en"), zipf("towel", "en"), zipf("trilobite", "en"), zipf("qzxv", "en")
    (7.73, 3.94, 2.0, 0.0)
    """
    listed = list_language(language)
    known = word.casefold().translate(SPELLINGS.get(listed, {}))
    return _frequent(listed).get(known) or _rarer(listed, known[:2]).get(known, 0.0)


def list_language(language: str) -> str:
    """The language whose list is used: its own, that of its nearest relative (Croatian: Serbo-Croatian), or English."""
    return _languages().get(language, DEFAULT)


@cache
def _languages() -> dict[str, str]:
    return dict(line.split() for line in _read("languages.txt").splitlines())


@cache
def _frequent(language: str) -> dict[str, float]:
    """The words in order with their zipf values: each line has a value and the words that have it."""
    words: dict[str, float] = {}
    for line in _read(f"{language}.txt.bz2").splitlines():
        value, *some = line.split(" ")
        words.update(dict.fromkeys(some, float(value)))
    return words


@cache
def _rarer(language: str, beginning: str) -> dict[str, float]:
    """The rarer words that begin with two letters: a page has words with few of all beginnings."""
    return {word: value for value, part in _rarer_parts(language).get(beginning, ()) for word in expand(part)}


@cache
def _rarer_parts(language: str) -> dict[str, list[tuple[float, str]]]:
    """The list of rarer words as it is, by their first two letters, with the values."""
    parts: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in _read(f"{language}-rarer.txt.bz2").splitlines():
        value, _, shortened = line.partition(" ")
        letter = ""
        for part in ALIKE_WORDS.findall(shortened):
            letter = letter if part[0] == ONE_LETTER_SHARED else part[1:2]
            whole = f"{chr(NO_LETTER_SHARED)}{letter}{part[1:]}" if part[0] == ONE_LETTER_SHARED else part
            parts[expand(whole[: 1 + MAX_SHARED])[0][:2]].append((float(value), whole))
    return parts


def expand(shortened: str) -> list[str]:
    """The words of a line that says of each word only what differs from the one before it.

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
    """Queries that may match nearly everything, the likeliest first."""
    return (*EVERYTHING, *frequent_parts(language), *most_frequent(language, FREQUENT_WORDS))
