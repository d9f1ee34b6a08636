"""First queries for a source: nonsense that no source contains, words of the language's dictionary, and words of the site's own pages.

Probe queries learn what the answers of a source look like (Thor §IV, Entity §5); trial words test whether an interface returns records.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import compress, islice, zip_longest

import numpy as np

from upwell.lexicon.frequent_words import MAX_FREQUENT, list_language, most_frequent, zipf
from upwell.lexicon.scripts import UNSPACED_RUN, is_latin, is_unspaced
from upwell.page.language import language_of
from upwell.page.tokens import characters, query_words, stop_words_of, terms_of
from upwell.page.tree import TagTree

__all__ = ["dictionary_words", "nonsense", "probe_words", "trial_words", "words_of_links", "words_of_page"]

# Nonsense
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
NONSENSE_LETTERS = 12  # length of a nonsense word; of 26¹² strings hardly any is a word
NONSENSE_CHARACTERS = 6  # length in scripts with a character per syllable or word
MANY_LETTERS = 500  # number of letters from which a script has a character per syllable or word
HAN, HANGUL = (0x4E00, 0x9FA6), (0xAC00, 0xD7A4)  # code points: ideographs of common charsets, syllables

# Probe words
FIRST_RANK, LAST_RANK = 200, 10_000  # frequency ranks of dictionary words: after function words, before words of novels
MIN_LETTERS = 3  # length of a probe word
MIN_CHARACTERS = 2  # length in scripts without spaces: two Chinese characters say as much as a word elsewhere

# Trial words
OUTSIDE_CONTENT = (
    "nav",
    "header",
    "footer",
    "form",
    "button",
    "label",
    "aside",
    "h1",
)  # parts without words of records
# Zipf frequencies of words that some records contain: more frequent words are in no record or in all, rarer ones in one.
MIN_ZIPF, MAX_ZIPF = 2.0, 5.3
COMMON_RANKS = slice(250, 700)  # frequency ranks of common words: after the function words
COMMON_STEP = 8  # every eighth common word is used, so that the words differ
MIN_COMMON_LETTERS = 5  # length of a common word
MIN_OWN_LETTERS = 4  # length of a word of the page
MAX_LINK_CHARS = 200  # characters of a link text whose parts are counted
LETTERS = re.compile(r"[^\W\d_]+")
GAPS = ("", " ", "\n")  # separators between chunks, as `page.tree` numbers them
NO_SPACE = re.compile(r"\S+")
MAX_TEXT_CHARS = 100_000  # safety limit: text of a page from which words are chosen …
MAX_UNSPACED_CHARS = 30_000  # … and the same without spaces, where each character begins a pair
MAX_PAGE_WORDS = 10_000  # safety limit: words of a page, rare ones first; no site is asked so many


def nonsense(rng: np.random.Generator, count: int, language: str = "en") -> tuple[str, ...]:
    """Draw random strings that match nothing, to see how the source answers then.

    For a language with another script every second string uses that script, because a source may ignore other scripts. Sources without
    spaces may search single characters, so their strings consist of rare characters.
    """
    latin = list(ALPHABET)
    own = latin if is_latin(language) else _letters(language) or latin
    own_length = NONSENSE_LETTERS if len(own) < MANY_LETTERS else NONSENSE_CHARACTERS
    words = []
    for i in range(count):
        letters, length = (own, own_length) if i % 2 else (latin, NONSENSE_LETTERS)
        words.append("".join(rng.choice(letters, length)))
    return tuple(words)


@cache
def _letters(language: str) -> list[str]:
    """Return the letters of a language; for Han and Hangul, which have thousands, those that no frequent word contains."""
    words = most_frequent(language, MAX_FREQUENT) if list_language(language) == language else []
    used = {letter for word in words for letter in word if letter.isalpha() and not letter.isascii()}
    for first, last in (HAN, HANGUL):
        script = {chr(code) for code in range(first, last)}
        if len(used & script) > len(used) / 2:
            return sorted(script - used)
    return sorted(used)


def dictionary_words(rng: np.random.Generator, count: int, language: str = "en") -> tuple[str, ...]:
    """Draw words of a language (English if there is no list of its words), frequent words more likely."""
    stops = stop_words_of(list_language(language))
    words = [
        word
        for word in most_frequent(language, LAST_RANK)[FIRST_RANK:]
        if _is_long(word) and word not in stops and not any(c.isdigit() for c in word)
    ]
    weight = 1 / np.arange(FIRST_RANK, FIRST_RANK + len(words))
    drawn = rng.choice(len(words), min(count, len(words)), replace=False, p=weight / weight.sum())
    return tuple(words[i] for i in drawn)


def words_of_links(page: TagTree, count: int) -> tuple[str, ...]:
    """Return parts of words that several links of a page share, but not most: the records of a list may be named by codes.

    >>> from upwell.page.tree import read
    >>> page = read("".join(f"<a href=/{n}>{n}net_v{i}.x1</a>" for i, n in enumerate(["res", "res", "dpn", "dpn", "hrz", "vgg", "bit"])))
    >>> words_of_links(page, 3)
    ('resnet', 'dpnnet')
    """
    texts = dict.fromkeys(page.text(row).lower()[:MAX_LINK_CHARS] for row, _ in page.links())
    counts = Counter(
        part for text in texts for part in dict.fromkeys(LETTERS.findall(text)) if len(part) >= MIN_LETTERS
    )
    shared = [part for part, number in counts.most_common() if 1 < number <= max(2, len(texts) // 2)]
    return tuple(shared[:count])


def words_of_page(tree: TagTree) -> tuple[str, ...]:
    """Return the content words of a page, rare ones first, because these belong to records rather than menus.

    For scripts without spaces, runs and pairs of characters alternate: some sources find only one of the two.
    """
    content = terms_of(tree, stops=False)
    counts = np.bincount(content.ids, minlength=len(content.words)).astype(np.int32)
    order = np.argsort(counts, kind="stable").astype(np.int32)
    rare_first = (word for i in memoryview(order.data) if _is_long(word := content.words[i]) and not word.isdigit())
    words = list(islice(rare_first, MAX_PAGE_WORDS))
    text = _beginning(tree.text())
    runs = [run for run in query_words(text) if is_unspaced(run) and len(run) > MIN_CHARACTERS]
    return _alternate(list(dict.fromkeys(runs)), words) if runs else tuple(words)


def _beginning(text: str) -> str:
    """Return the text from which words are chosen."""
    text = text[:MAX_TEXT_CHARS]
    if len(text) > MAX_UNSPACED_CHARS and not text.isascii():
        unspaced = sum(map(len, UNSPACED_RUN.findall(text[:MAX_UNSPACED_CHARS])))
        text = text[:MAX_UNSPACED_CHARS] if unspaced > MAX_UNSPACED_CHARS / 2 else text
    return text


def probe_words(rng: np.random.Generator, tree: TagTree, count: int = 100) -> Iterator[str]:
    """Yield dictionary words of the site's language and words of its page in turn, each once (Thor §IV: 100 words)."""
    own, listed = iter(words_of_page(tree)), iter(dictionary_words(rng, count, language_of(tree)))
    given: set[str] = set()
    for turn in range(4 * count):
        word = next(own if turn % 2 else listed, None)
        if word is not None and word not in given:
            given.add(word)
            yield word
            if len(given) == count:
                return


def trial_words(page: TagTree, home: TagTree, working_words: list[str], count: int) -> list[str]:
    """Return words to try an interface with: words that worked elsewhere on the site, words of the page, common words of its language."""
    language = language_of(page if page.language or not home.language else home)
    ranked = most_frequent(language, COMMON_RANKS.stop)[COMMON_RANKS]
    common = [word for word in ranked if _is_trial_word(word, MIN_COMMON_LETTERS)][::COMMON_STEP]
    own = _content_words(page, language) or _content_words(home, language)
    half = count // 2 + 1
    return list(dict.fromkeys([*working_words, *own[:half], *common[: count - half]]))


def _content_words(page: TagTree, language: str) -> tuple[str, ...]:
    """Return the words of a page outside of its menus and forms: fairly rare words first, then by frequency on the page.

    For scripts without spaces, words and whole runs alternate: some sources match only between spaces and punctuation.
    """
    depth_change = np.zeros(len(page.chunks) + 1, dtype=np.int32)  # 1 where an excluded part begins, -1 where it ends
    for row in page.rows(*OUTSIDE_CONTENT):
        depth_change[page.text_at[row]] += 1
        depth_change[page.text_end[row]] -= 1
    pieces, chars = [], 0
    for i in compress(range(len(page.chunks)), memoryview((np.cumsum(depth_change[:-1], dtype=np.int32) == 0).data)):
        pieces.append(GAPS[page.chunk_gap[i]] + page.chunks[i])
        chars += len(pieces[-1])
        if chars >= MAX_TEXT_CHARS:
            break
    text = _beginning("".join(pieces))
    counts = Counter(
        word
        for part in NO_SPACE.finditer(text)
        for word in query_words(part[0])
        if _is_trial_word(word, MIN_OWN_LETTERS)
    )
    is_fairly_rare = {word: MIN_ZIPF <= zipf(word, language) <= MAX_ZIPF for word in counts}
    words = sorted(counts, key=lambda word: (not is_fairly_rare[word], -counts[word]))
    runs = [word for word in words if is_unspaced(word) and len(characters(word)) > MIN_CHARACTERS]
    if not runs:
        return tuple(words)
    is_run = set(runs)
    return _alternate([word for word in words if word not in is_run], runs)


def _alternate(words: list[str], others: list[str]) -> tuple[str, ...]:
    """Interleave two lists; the rest of the longer one follows."""
    return tuple(word for pair in zip_longest(words, others) for word in pair if word is not None)


def _is_long(word: str) -> bool:
    return len(word) >= (MIN_CHARACTERS if is_unspaced(word) else MIN_LETTERS)


def _is_trial_word(word: str, min_letters: int) -> bool:
    if is_unspaced(word) and len(word) >= MIN_CHARACTERS:
        return True
    return len(word) >= min_letters and all(part[0].isalpha() for part in characters(word))
