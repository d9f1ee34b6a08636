"""Words to try an interface with: those of the site's records, and common words of its language."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest

import numpy as np

from upwell.lexicon.frequent_words import MAX_FREQUENT, list_language, most_frequent, zipf
from upwell.lexicon.scripts import is_latin, is_unspaced
from upwell.page import tokens as terms
from upwell.page.language import language_of
from upwell.page.tokens import characters, query_words
from upwell.page.tree import TagTree

__all__ = ["dictionary", "nonsense", "of_page", "probes", "trial_words"]

# --- Words to probe a source with: of its language's dictionary, its own, and nonsense that no source holds (Thor §IV, Entity §5).

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
NONSENSE_LENGTH = 12  # 26¹² strings: none is a word
# Ranks in the list of a language's words that probe words are drawn from: after the function words, before what only novels use.
FIRST_RANK, LAST_RANK = 200, 10_000
MIN_LETTERS, MIN_CHARACTERS = 3, 2  # of a probe word; two Chinese characters say as much as a word elsewhere
MANY_LETTERS = 500  # a script with more has a sign for each syllable or word
NONSENSE_CHARACTERS = 6  # of such a script
HAN, HANGUL = (0x4E00, 0x9FA6), (0xAC00, 0xD7A4)  # as the charsets of the web have them, and the syllables


def nonsense(rng: np.random.Generator, count: int, language: str = "en") -> tuple[str, ...]:
    """Random strings that match nothing, to see what the source says then.

    In a language of another script every other one is written in it: a source may look at nothing else. Sources without spaces may
    search single characters, so there the characters are rare ones.
    """
    latin = list(ALPHABET)
    own = latin if is_latin(language) else _letters(language) or latin
    lengths = NONSENSE_LENGTH, NONSENSE_LENGTH if len(own) < MANY_LETTERS else NONSENSE_CHARACTERS
    made = []
    for i in range(count):
        letters, length = (own, lengths[1]) if i % 2 else (latin, lengths[0])
        made.append("".join(rng.choice(letters, length)))
    return tuple(made)


@cache
def _letters(language: str) -> list[str]:
    """The letters of a language's words; of Han and hangul, which have thousands, those that no frequent word has."""
    words = most_frequent(language, MAX_FREQUENT) if list_language(language) == language else []
    used = {letter for word in words for letter in word if letter.isalpha() and not letter.isascii()}
    for first, last in (HAN, HANGUL):
        some = {chr(code) for code in range(first, last)}
        if len(used & some) > len(used) / 2:
            return sorted(some - used)
    return sorted(used)


def dictionary(rng: np.random.Generator, count: int, language: str = "en") -> tuple[str, ...]:
    """Words of a language (English where it has no list) in random order, commoner ones more likely."""
    stops = terms.stop_words_of(list_language(language))
    words = [
        word
        for word in most_frequent(language, LAST_RANK)[FIRST_RANK:]
        if _is_long(word) and word not in stops and not any(c.isdigit() for c in word)
    ]
    weight = 1 / np.arange(FIRST_RANK, FIRST_RANK + len(words))
    drawn = rng.choice(len(words), min(count, len(words)), replace=False, p=weight / weight.sum())
    return tuple(words[i] for i in drawn)


def of_page(tree: TagTree) -> tuple[str, ...]:
    """The content words of a page, the rarer ones on it first: the words of records rather than those of menus.

    Of scripts without spaces, runs and pairs of characters by turns: some sources find only the one, some only the other.
    """
    content = terms.terms_of(tree, stops=False)
    counts = np.bincount(content.ids, minlength=len(content.words))
    words = [
        word for i in np.argsort(counts, kind="stable") if _is_long(word := content.words[i]) and not word.isdigit()
    ]
    runs = [run for run in terms.query_words(tree.text()) if is_unspaced(run) and len(run) > MIN_CHARACTERS]
    if not runs:
        return tuple(words)
    return tuple(word for both in zip_longest(dict.fromkeys(runs), words) for word in both if word is not None)


def _is_long(word: str) -> bool:
    return len(word) >= (MIN_CHARACTERS if is_unspaced(word) else MIN_LETTERS)


def probes(rng: np.random.Generator, tree: TagTree, count: int = 100) -> Iterator[str]:
    """The site's own words and dictionary words of its language by turns, each once (Thor §IV: 100)."""
    own, listed = iter(of_page(tree)), iter(dictionary(rng, count, language_of(tree)))
    given: set[str] = set()
    for turn in range(4 * count):
        word = next(own if turn % 2 else listed, None)
        if word is not None and word not in given:
            given.add(word)
            yield word
            if len(given) == count:
                return


# --- (main part)

OUTSIDE_CONTENT = ("nav", "header", "footer", "form", "button", "label", "aside", "h1")
# Zipf frequencies between which a word is on some records: everybody's words are on none or on all, unheard-of ones on one.
MIN_ZIPF, MAX_ZIPF = 2.0, 5.3
COMMON_RANKS = slice(250, 700)  # of the words of a language: after the function words
COMMON_STEP = 8  # every eighth of them, so that the words differ
MIN_COMMON_CHARS = 5
MIN_OWN_CHARS = 4
MIN_UNSPACED_CHARS = 2  # of both in scripts without spaces
GAPS = ("", " ", "\n")  # between chunks, as `page.tree` numbers them


def trial_words(page: TagTree, home: TagTree, working_words: list[str], count: int) -> list[str]:
    """Words to try with: those that worked elsewhere on the site, words of the page's content, common words of its language."""
    language = language_of(page if page.language or not home.language else home)
    ranked = most_frequent(language, COMMON_RANKS.stop)[COMMON_RANKS]
    common = [word for word in ranked if _trial_words_is_long(word, MIN_COMMON_CHARS)][::COMMON_STEP]
    own = _content_words(page, language) or _content_words(home, language)
    half = count // 2 + 1
    return list(dict.fromkeys([*working_words, *own[:half], *common[: count - half]]))


def _content_words(page: TagTree, language: str) -> list[str]:
    """The words of a page outside of its menus and forms: fairly rare words of the language first, then by how often they stand there.

    Of scripts without spaces, words and whole runs by turns: some sources find only what stands between spaces and signs.
    """
    is_outside = np.zeros(len(page.chunks) + 1, dtype=np.int32)  # 1 where such a part begins, -1 where it ends
    for row in page.rows(*OUTSIDE_CONTENT):
        is_outside[page.text_at[row]] += 1
        is_outside[page.text_end[row]] -= 1
    inside = [i for i, depth in enumerate(np.cumsum(is_outside[:-1]).tolist()) if not depth]
    text = "".join(GAPS[page.chunk_gap[i]] + page.chunks[i] for i in inside)
    counts = Counter(
        word for part in text.split() for word in query_words(part) if _trial_words_is_long(word, MIN_OWN_CHARS)
    )
    is_fairly_rare = {word: MIN_ZIPF <= zipf(word, language) <= MAX_ZIPF for word in counts}
    words = sorted(counts, key=lambda word: (not is_fairly_rare[word], -counts[word]))
    runs = [word for word in words if is_unspaced(word) and len(characters(word)) > MIN_UNSPACED_CHARS]
    if not runs:
        return words
    others = [word for word in words if word not in set(runs)]
    return [word for both in zip_longest(others, runs) for word in both if word is not None]


def _trial_words_is_long(word: str, min_chars: int) -> bool:
    return (is_unspaced(word) and len(word) >= MIN_UNSPACED_CHARS) or (len(word) >= min_chars and _is_letters(word))


def _is_letters(word: str) -> bool:
    return all(c.isalpha() for c in (part[0] for part in characters(word)))
