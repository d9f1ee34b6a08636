"""Create src/upwell/lexicon/word_lists from the package wordfreq: `python scripts/make_word_lists.py`; only needed to update the lists.

wordfreq needs 60 MB and further packages for Chinese, Japanese and Korean, and is loaded as a whole; the lists have 6 MB, contain only
what Upwell uses, and are read one language at a time.
"""

import bz2
import itertools
import logging
import re
import string
from pathlib import Path

import langcodes
import wordfreq
from wordfreq.numbers import has_digit_sequence

from upwell.lexicon.frequent_words import MAX_SHARED, NO_LETTER_SHARED, expand
from upwell.lexicon.scripts import CJK_RUN

FOLDER = Path(__file__).parents[1] / "src/upwell/lexicon/word_lists"
FREQUENT = 10_000  # words listed in order, with their zipf values; `lexicon.frequent_words` uses this number
MIN_ZIPF = 2.0  # smallest zipf value that `discover.probe_words` asks for
MIN_LETTERS = 4  # letters of a rarer word: `discover.probe_words` uses no shorter ones
MAX_DISTANCE = 60  # largest distance of languages that share a list, as in wordfreq itself


def main() -> None:
    logging.disable(logging.WARNING)  # wordfreq warns for each language that it uses the nearest
    available = wordfreq.available_languages()
    for old in FOLDER.glob("*.txt*"):
        old.unlink()
    codes = ["".join(letters) for n in (2, 3) for letters in itertools.product(string.ascii_lowercase, repeat=n)]
    nearest = {code: langcodes.closest_match(code, list(available), max_distance=MAX_DISTANCE)[0] for code in codes}
    lines = [f"{code} {language}\n" for code, language in nearest.items() if language != "und"]
    (FOLDER / "languages.txt").write_text("".join(lines), encoding="utf-8")
    for language in sorted(available):
        frequent, rarer = lists_of(language)
        write(f"{language}.txt.bz2", [f"{value} {' '.join(words)}" for value, words in frequent.items()])
        write(f"{language}-rarer.txt.bz2", [f"{value} {shorten(sorted(words))}" for value, words in rarer.items()])
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(available)} languages, {size / 2**20:.1f} MB in {FOLDER}")


def lists_of(language: str) -> tuple[dict[float, list[str]], dict[int, list[str]]]:
    """Return the most frequent words by zipf value, and the rarer ones by zipf value rounded down."""
    frequent: dict[float, list[str]] = {}
    rarer: dict[int, list[str]] = {}
    number = 0
    for centibels, words in enumerate(wordfreq.get_frequency_list(language)):
        value = round(9 - centibels / 100, 2)  # a word of 0 centibels would be every word of a text
        for word in words:
            if value < MIN_ZIPF or has_digit_sequence(word):
                continue
            number += 1
            if number <= FREQUENT:
                frequent.setdefault(value, []).append(word)
            elif len(word) >= MIN_LETTERS and is_plain(word):
                rarer.setdefault(int(value), []).append(word)
    return frequent, rarer


def is_plain(word: str) -> bool:
    """Return True if a word consists of letters and their marks only, in a script that separates words by spaces."""
    return not CJK_RUN.search(word) and not re.search(r"[^\w\u0300-\u036f\u0900-\u0dff]|[\d_]", word)


def shorten(words: list[str]) -> str:
    """Encode alphabetically sorted words in one line, each without the prefix that it shares with the previous word."""
    pieces, before = [], ""
    for word in words:
        shared = min(MAX_SHARED, shared_letters(before, word))
        pieces.append(chr(NO_LETTER_SHARED + shared) + word[shared:])
        before = word
    line = "".join(pieces)
    if expand(line) != words:
        raise ValueError(f"{words[0]} … {words[-1]} cannot be written in short")
    return line


def shared_letters(before: str, word: str) -> int:
    """Return the length of the common prefix of two words."""
    pairs = enumerate(zip(before, word, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(before), len(word)))


def write(name: str, lines: list[str]) -> None:
    (FOLDER / name).write_bytes(bz2.compress("".join(f"{line}\n" for line in lines).encode("utf-8")))


if __name__ == "__main__":
    main()
