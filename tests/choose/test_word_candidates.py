"""The word with the highest expected yield, and the minimum length of a word, learned from answers."""

import pytest

from tests.papers.test_yuan import generated_texts
from upwell.choose.word_candidates import POOL, MinWordLength, WordYield

RECORDS = [f"{word} number{n} the" for n, word in enumerate(("cat", "dog", "ox", "river", "stone", "garden") * 2)]


def index() -> WordYield:
    words = WordYield(language="en", keeps_stop_words=True)
    for n, text in enumerate(RECORDS):
        words.add_record(str(n), text)
    return words


@pytest.mark.parametrize("is_refused", [True, False])
def test_short_words_are_rejected_after_several_without_matches(is_refused: bool) -> None:
    """They were refused, or had no matches although records contain them."""
    words = index()
    short = MinWordLength(words)
    for word in ("river", "stone", "garden"):
        short.note([word], is_found=True, is_refused=False)
    for word in ("cat", "ox", "dog"):
        assert words.accepts("cow")
        short.note([word], is_found=False, is_refused=is_refused)
    assert (words.accepts("cow"), words.accepts("cows")) == (False, True)
    given = []
    while (proposal := words.propose(0.0, 1000, 0.6)) is not None:
        given.append(proposal[0])
        words.asked(proposal[0], 1)
    assert given
    assert min(map(len, given)) >= 4


def test_other_misses_do_not_change_the_minimum_length() -> None:
    """Words that no record contains, stop words, and a short word with matches."""
    words = index()
    short = MinWordLength(words)
    for word in ("river", "stone", "garden"):
        short.note([word], is_found=True, is_refused=False)
    for word in ("bee", "fly", "ant", "the", "the", "the"):
        short.note([word], is_found=False, is_refused=False)
    short.note(["cat"], is_found=True, is_refused=False)
    for word in ("dog", "ox", "dog"):
        short.note([word], is_found=False, is_refused=False)
    assert words.accepts("cow")


def test_weighing_a_pool_of_words_is_as_good_as_weighing_all() -> None:
    """Between two proposals from all words, the pool and the changed words contain a word with 99 % of the best yield."""
    texts = generated_texts(1200, 9000, rich=8)
    pooled, complete = WordYield(result_cap=50, page_size=10), WordYield(result_cap=50, page_size=10)
    of_pool = of_all = 0.0
    for number in range(600):
        for index in (pooled, complete):
            index.add_record(str(number), texts[number])
            index.add_record(str(number // 2), texts[number // 2])
        complete._looks = 10**6
        few, best = pooled.propose(1.0, 1000, 0.6), complete.propose(1.0, 1000, 0.6)
        assert few is not None
        assert best is not None
        of_pool += few[1] / few[2]
        of_all += best[1] / best[2]
        for index in (pooled, complete):
            index.mark_asked(best[0])
    assert len(pooled.words()) > 2 * POOL
    assert of_pool >= 0.99 * of_all
