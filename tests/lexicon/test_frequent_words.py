"""The word lists agree with wordfreq, from which they are created, for all its languages."""

import bz2
import time
from importlib import resources

import numpy as np
import pytest
import wordfreq
from wordfreq.tokens import tokenize

from upwell.lexicon import frequent_words
from upwell.lexicon.frequent_words import list_language, most_frequent, zipf

LANGUAGES = sorted(wordfreq.available_languages())
WITHOUT_TOKENIZER = ("ja", "ko", "zh")  # wordfreq needs further packages for the frequency of a word


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_most_frequent_words_are_the_same_in_the_same_order(language: str) -> None:
    words = [word.replace("ς", "σ") for word in most_frequent(language, 10_000)]
    assert words == wordfreq.top_n_list(language, 10_000)


def test_greek_words_end_with_the_final_sigma() -> None:
    """Sources may distinguish it from the sigma inside words."""
    words = most_frequent("el", 1000)
    assert "όπως" in words
    assert not any(word.endswith("σ") for word in words)
    assert zipf("όπως", "el") > 4


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language not in WITHOUT_TOKENIZER])
def test_a_word_is_as_frequent_as_wordfreq_says(language: str) -> None:
    """To a hundredth for the most frequent words, rounded down for rarer ones; words below 2 are not listed."""
    listed = np.array(wordfreq.top_n_list(language, 1_000_000))
    words = np.random.default_rng(0).choice(listed, 400, replace=False).tolist()
    common = {word.replace("ς", "σ") for word in most_frequent(language, 10_000)}
    for word in words:
        if tokenize(word, language) != [word]:
            continue
        truth = wordfreq.zipf_frequency(word, language)
        if word.replace("ς", "σ") in common:
            assert zipf(word, language) == pytest.approx(truth, abs=0.011)
        elif len(word) > 3 and word.isalpha():
            assert zipf(word, language) == (int(truth + 1e-9) if truth >= 2 else 0), word


def test_a_language_without_a_list_uses_that_of_a_relative_or_english() -> None:
    assert [list_language(code) for code in ("no", "nn", "hr", "iw", "tl", "eng", "xx", "")] == [
        "nb", "nb", "sh", "he", "fil", "en", "en", "en",
    ]  # fmt: skip
    assert zipf("knjiga", "sr") == zipf("књига", "sr") > 4
    assert zipf("oraşul", "ro") == zipf("orașul", "ro") > 4
    assert zipf("straße", "de") > 4  # listed as strasse


def test_only_the_list_of_the_language_is_read() -> None:
    """Reading the largest list takes less than a second."""
    frequent_words._rarer.cache_clear()
    start = time.process_time()
    assert zipf("кряква", "ru") < 4
    assert time.process_time() - start < 1
    assert frequent_words._rarer.cache_info().currsize == 1


def test_there_is_a_list_for_every_language() -> None:
    names = {path.name for path in resources.files("upwell.lexicon").joinpath("word_lists").iterdir()}
    assert names == {"README.md", "languages.txt"} | {
        f"{code}{kind}.txt.bz2" for code in LANGUAGES for kind in ("", "-rarer")
    }
    folder = resources.files("upwell.lexicon").joinpath("word_lists")
    assert bz2.decompress(folder.joinpath("en.txt.bz2").read_bytes()).startswith(b"7.73 the\n")
