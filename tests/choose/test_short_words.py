"""The letters that a source wants of a word, learned from its answers."""

import pytest

from upwell.choose.word_candidates import MinWordLength, WordYield

RECORDS = [f"{word} number{n} the" for n, word in enumerate(("cat", "dog", "ox", "river", "stone", "garden") * 2)]


def index() -> WordYield:
    words = WordYield(language="en", keeps_stop_words=True)
    for n, text in enumerate(RECORDS):
        words.add_record(str(n), text)
    return words


@pytest.mark.parametrize("is_refused", [True, False])
def test_short_words_are_left_out_once_some_were_not_found(is_refused: bool) -> None:
    """Refused, or not found though records have them: from then on only longer words are given."""
    words = index()
    short = MinWordLength(words)
    for word in ("river", "stone", "garden"):
        short.note([word], is_found=True, is_refused=False)
    for word in ("cat", "ox", "dog"):
        assert words.takes("cow")
        short.note([word], is_found=False, is_refused=is_refused)
    assert (words.takes("cow"), words.takes("cows")) == (False, True)
    given = []
    while (proposed := words.next()) is not None:
        given.append(proposed)
        words.asked(proposed, 1)
    assert given
    assert min(map(len, given)) >= 4


def test_what_says_nothing_about_length() -> None:
    """Words that no record has, stop words, words that all records have, and a short one that is found."""
    words = index()
    short = MinWordLength(words)
    for word in ("river", "stone", "garden"):
        short.note([word], is_found=True, is_refused=False)
    for word in ("bee", "fly", "ant", "the", "the", "the"):
        short.note([word], is_found=False, is_refused=False)
    short.note(["cat"], is_found=True, is_refused=False)
    for word in ("dog", "ox", "dog"):
        short.note([word], is_found=False, is_refused=False)
    assert words.takes("cow")
