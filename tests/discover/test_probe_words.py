"""Words for the first queries of a harvest."""

import numpy as np
import pytest

from upwell.discover.probe_words import dictionary_words, nonsense, probe_words, words_of_page
from upwell.page.tree import read


def test_probe_words() -> None:
    """Dictionary words have the language asked for; words of the page and of the dictionary alternate, without repetition."""
    rng = np.random.default_rng(0)
    german = dictionary_words(rng, 200, "de")
    assert len(set(german)) == 200
    assert any(c in "äöüß" for word in german for c in word)
    assert dictionary_words(rng, 5, "xx")
    assert all(len(word) == 12 for word in nonsense(rng, 3))
    assert words_of_page(read("<html lang=en><p>cities of cities, rivers; 1999 Ob")) == ("rivers", "cities")
    words = list(probe_words(rng, read("<html lang=en><p>cities rivers mountains harbours"), 20))
    assert len(words) == len(set(words)) == 20
    assert {"cities", "rivers", "mountains", "harbours"} <= set(words)


@pytest.mark.parametrize(("language", "text"), [("zh", "數據庫"), ("ja", "東京の天気"), ("ko", "한국어")])
def test_probe_words_without_spaces(language: str, text: str) -> None:
    """Chinese, Japanese and Korean words have at least two characters."""
    words = dictionary_words(np.random.default_rng(0), 50, language)
    assert len(set(words)) == 50
    assert min(map(len, words)) == 2
    assert text[:2] in words_of_page(read(f"<html lang={language}><p>{text}"))
