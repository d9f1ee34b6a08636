"""Trial words in several languages."""

import pytest

from upwell.discover.probe_words import trial_words
from upwell.page.tree import read


@pytest.mark.parametrize(
    ("language", "text", "own"),
    [
        ("en", "the trilobite is a fossil; the trilobite was here with you", "trilobite"),
        ("zh", "數據庫和圖書館 圖書館", "圖書"),
        ("ja", "東京の図書館 東京", "東京"),
        ("ko", "한국어 도서관 도서관", "도서"),
        ("no", "biblioteket i byen har biblioteket", "biblioteket"),
    ],
)
def test_words_of_the_page_precede_common_words(language: str, text: str, own: str) -> None:
    page = read(f"<html lang={language}><p>{text}")
    words = trial_words(page, page, ["worked"], 9)
    assert words[0] == "worked"
    assert own in words[1:6]
    assert len(words) >= 6
