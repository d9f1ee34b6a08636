"""Tokens, stems, stop words, and the slice of a subtree."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page.test_tree import pages
from upwell.page import terms
from upwell.page.tree import read


@given(pages, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_slice_equals_the_tokens_of_the_text(html: str, stemmed: bool, stops: bool) -> None:
    """The terms of any subtree are those of its chunks, one by one."""
    tree = read("<html lang=en>" + html)
    found = terms.of(tree, stemmed=stemmed, stops=stops)
    drop = frozenset() if stops else terms.stop_words_of("en")
    for row in range(len(tree)):
        chunks = tree.chunks[tree.text_at[row] : tree.text_end[row]]
        want = [word for chunk in chunks for word in terms.tokens(chunk) if word not in drop]
        want = terms.stem(want, "en") if stemmed else want
        assert [found.words[i] for i in found.slice(tree, row)] == want
        assert found.counts(tree, row).sum() == len(want)


def test_chinese_japanese_korean_become_bigrams() -> None:
    """Wisdom's Chinese pages, without its term base; Latin runs inside stay words."""
    assert terms.tokens("深層網路 web檢索 愛 검색어") == ["深層", "層網", "網路", "web", "檢索", "愛", "검색", "색어"]


def test_numbers_and_apostrophes_stay() -> None:
    """Numeric identifiers are terms too (Wisdom §4.4 lost them), and an apostrophe does not part a word."""
    assert terms.tokens("ISBN 0-306 don’t O'Neil a_b") == ["isbn", "0", "306", "don't", "o'neil", "a_b"]


def test_language_decides_stems_and_stop_words() -> None:
    """German by German rules, an unknown or unsaid language by none."""
    body = "<p>Die Häuser der Städte</p>"
    german = terms.of(read("<html lang=de>" + body), stemmed=True, stops=False)
    assert german.words == ("haus", "stadt")
    assert terms.of(read(body), stemmed=True, stops=False).words == ("die", "häuser", "der", "städte")
    assert terms.of(read("<html lang=xx>" + body), stemmed=True).words == ("die", "häuser", "der", "städte")


def test_every_stemmer_that_is_named_exists() -> None:
    """The table of languages fits the library."""
    for language in terms.STEMMERS:
        assert terms.stem(["word"], language)
