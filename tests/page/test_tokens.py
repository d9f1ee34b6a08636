"""Tokens, stems and stop words of texts and subtrees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page.test_tree import pages
from upwell.page import tokens as terms
from upwell.page.tree import BROKEN, GLUED, read


@given(pages, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_slice_equals_the_tokens_of_the_text(html: str, stemmed: bool, stops: bool) -> None:
    """For any subtree that does not begin or end inside a word."""
    tree = read("<html lang=en>" + html)
    page_terms = terms.terms_of(tree, stemmed=stemmed, stops=stops)
    drop = frozenset() if stops else terms.stop_words_of("en")
    gaps = [*tree.chunk_gap.tolist(), BROKEN]
    for row in range(len(tree)):
        first, last = int(tree.text_at[row]), int(tree.text_end[row])
        if first < last and GLUED in (gaps[first], gaps[last]):
            continue
        text = "".join(("" if gaps[i] == GLUED else "\n") + tree.chunks[i] for i in range(first, last))
        want = [word for line in text.split("\n") for word in terms.tokens(line) if word not in drop]
        want = terms.stem(want, "en") if stemmed else want
        assert [page_terms.words[i] for i in page_terms.slice(tree, row)] == want
        assert page_terms.counts(tree, row).sum() == len(want)
    assert (np.diff(page_terms.at) >= 0).all()


def test_highlights_inside_words_do_not_divide_them() -> None:
    tree = read("<p><strong>Pyth</strong>on, 検<em>索</em>エンジン<p>mono<wbr>rail")
    assert terms.terms_of(tree).words == ("python", "検索", "索エ", "エン", "ンジ", "ジン", "monorail")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में खोज", ["हिन्दी", "में", "खोज"]),
        ("cafe\u0301 crème", ["cafe\u0301", "crème"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("ភាសា\u200bខ្មែរ", ["ភាសា", "ខ្មែ", "មែរ"]),
        ("Поиск: ёлка", ["поиск", "ёлка"]),
    ],
)
def test_combining_characters_belong_to_words(text: str, words: list[str]) -> None:
    """Vowel signs, accents and joiners are not letters in Python's regular expressions."""
    assert terms.tokens(text) == words


def test_chinese_japanese_korean_become_bigrams() -> None:
    """Wisdom uses a term base for Chinese pages; Latin words between them are tokens."""
    assert terms.tokens("深層網路 web檢索 愛 검색어") == ["深層", "層網", "網路", "web", "檢索", "愛", "검색", "색어"]


def test_numbers_are_tokens_and_apostrophes_do_not_divide_words() -> None:
    """Wisdom §4.4 loses numeric identifiers."""
    assert terms.tokens("ISBN 0-306 don’t O'Neil a_b") == ["isbn", "0", "306", "don't", "o'neil", "a_b"]


def test_stems_and_stop_words_depend_on_the_language() -> None:
    """A page in an unknown language has neither."""
    body = "<p>Die Häuser der Städte</p>"
    german = terms.terms_of(read("<html lang=de>" + body), stemmed=True, stops=False)
    assert german.words == ("haus", "stadt")
    assert terms.terms_of(read(body), stemmed=True, stops=False).words == ("die", "häuser", "der", "städte")
    assert terms.terms_of(read("<html lang=xx>" + body), stemmed=True).words == ("die", "häuser", "der", "städte")


def test_every_named_stemmer_exists() -> None:
    for language in terms.STEMMERS:
        assert terms.stem(["word"], language)


MIXED_TEXT = st.text(alphabet="aéΣ’'1,. \n中文字かアกำ\u3099\u2e80", max_size=150)


@given(MIXED_TEXT, st.sampled_from([7, 20, 64]))
@settings(max_examples=300, deadline=None)
def test_a_long_text_has_the_same_tokens_in_parts(text: str, size: int) -> None:
    """Parts are cut at white space, and between characters of a script without spaces so that no pair is lost."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(terms, "BLOCK_CHARS", size)
        assert [token for block in terms.token_blocks(text) for token in block] == terms.tokens(text)


@given(MIXED_TEXT, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_long_page_has_the_same_terms(text: str, stemmed: bool, stops: bool) -> None:
    """Its words are copied only when they are read."""
    tree = read(f"<html lang=en><p>{text}<p>the End of {text[:9]}")
    small = terms.terms_of(tree, stemmed=stemmed, stops=stops)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(terms, "MAX_COPIED_CHARS", 0)
        large = terms.terms_of(tree, stemmed=stemmed, stops=stops)
    assert (tuple(large.words), large.ids.tolist(), large.at.tolist()) == (
        small.words,
        small.ids.tolist(),
        small.at.tolist(),
    )
    assert [large.words[i] for i in range(len(large.words))] == list(small.words)
