"""Counts of words; the native module and the Python implementation agree."""

import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upwell.arrays.key_set import KeyNumbers, PlainKeyNumbers, hash_of, plain_hash_of
from upwell.choose import pairs as pairs_module
from upwell.choose.pairs import WordPair, WordPairs
from upwell.choose.word_candidates import WordYield
from upwell.choose.word_index import (
    SeenRecord,
    WordIndex,
    columns_of,
    count_words,
    plain_columns_of,
    plain_count_words,
)
from upwell.native import compiled
from upwell.page.tokens import query_words

needs_native = pytest.mark.skipif(compiled is None, reason="the native module was not built here")


def test_counts_of_records_seen_once_and_twice() -> None:
    index = WordIndex()
    for key in ("1", "2", "1", "3", "1", "2"):
        index.add_record(key, f"word number{key}")
    assert (index.held, index.seen_once, index.seen_twice) == (3, 1, 1)
    with_word, once, _, _ = index.counts_for_pairs()
    assert (with_word[index.number("word")], once[index.number("word")]) == (3, 1)


@pytest.mark.parametrize("keeps_stop_words", [True, False])
def test_records_of_a_page_are_counted_like_single_records(keeps_stop_words: bool) -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, 8) % 4000) + f" the a own{i}" for i in range(3000)]
    fields = [{"first": text.split()[0], "rest": text} for text in texts]
    one, many = (WordYield(language="en", keeps_stop_words=keeps_stop_words) for _ in range(2))
    for _ in range(300):
        page = [int(i) for i in dict.fromkeys((rng.random(20) ** 2 * len(texts)).astype(int).tolist())]
        for i in page:
            one.add_record(str(i), texts[i], fields[i])
        many.add_records([SeenRecord(str(i), texts[i], fields[i]) for i in page])
        assert one.propose(1.0, 10, 0.6) == many.propose(1.0, 10, 0.6)
    assert one.words() == many.words()
    assert one.connections() == many.connections()
    assert (one.held, one.seen_once, one.seen_twice) == (many.held, many.seen_once, many.seen_twice)
    np.testing.assert_array_equal(one.classes, many.classes)
    for one_counts, many_counts in zip(one.counts_for_pairs(), many.counts_for_pairs(), strict=True):
        np.testing.assert_array_equal(one_counts[: len(one.words())], many_counts[: len(many.words())])


@needs_native
@given(st.text(st.characters(), max_size=300))
def test_hashes_agree(text: str) -> None:
    """Texts of all lengths and scripts, and lone surrogates."""
    assert hash_of(text) == plain_hash_of(text)


def _pages(seed: int) -> list[list[list[str]]]:
    """Return pages of records, each a list of words with a skewed distribution."""
    rng = random.Random(seed)
    words = [f"{rng.choice(('wört', 'w', 'the'))}{int(rng.paretovariate(0.6)) % 6000}" for _ in range(9000)]
    return [[rng.choices(words, k=rng.randrange(12)) for _ in range(rng.randrange(20))] for _ in range(150)]


@needs_native
@pytest.mark.parametrize("stops", [None, frozenset({"the1", "wört2"})])
def test_numbers_of_words_agree(stops: frozenset[str] | None) -> None:
    """Words are numbered in the order of their first occurrence; a pickle of either class can be loaded as the other."""
    compiled_numbers, plain = KeyNumbers(), PlainKeyNumbers()
    for page in _pages(1):
        assert compiled_numbers.number_words(page, stops) == plain.number_words(page, stops)
    assert len(compiled_numbers) == len(plain) > 300
    assert compiled_numbers.__reduce__()[1] == plain.__reduce__()[1]
    for numbers in (compiled_numbers, plain):
        again = pickle.loads(pickle.dumps(numbers))  # noqa: S301 # our own bytes
        hashes = [hash_of(f"w{i}") for i in range(500)]
        assert again.find(hashes) == list(plain.find(hashes))
        assert type(again) is type(numbers)


@pytest.mark.parametrize("numbers", [KeyNumbers, PlainKeyNumbers])
def test_a_damaged_pickle_is_rejected(numbers: type[PlainKeyNumbers]) -> None:
    with pytest.raises(ValueError, match=r"twice|duplicate"):
        numbers(np.array([5, 7, 5], dtype=np.int64).tobytes())


@needs_native
def test_counts_agree() -> None:
    numbers, held, totals = KeyNumbers(), 0, [np.zeros(2, np.int64), np.zeros(2, np.int64)]
    both = [
        (*(np.zeros(9000, np.int32) for _ in range(3)), np.arange(9000) % 7 == 0, bytearray(), np.zeros(4, np.int64))
        for _ in range(2)
    ]
    for page in _pages(2):
        cells, ends = (np.frombuffer(part, np.int32) for part in numbers.number_words(page, None)[:2])
        for count, counts, total in zip((count_words, plain_count_words), both, totals, strict=True):
            inside, once, first, done, shared, sharing = counts
            shared.extend(bytes(len(page)))
            total += count(cells, ends, inside, once, first, done, shared, sharing, held)
        held += len(page)
    for ours, plain in zip(*both, strict=True):
        assert bytes(ours) == bytes(plain)
    assert totals[0].tolist() == totals[1].tolist()
    assert both[0][5].sum() == held


@needs_native
def test_numbers_outside_the_arrays_are_rejected() -> None:
    """A number beyond the arrays raises an error instead of writing outside them."""
    cells, ends, small = np.array([9], np.int32), np.array([1], np.int32), np.zeros(4, np.int32)
    with pytest.raises(ValueError, match="fit"):
        count_words(cells, ends, small, small, small, np.zeros(4, bool), bytearray(1), np.zeros(4, np.int64), 0)


FIELDS = st.dictionaries(st.sampled_from("abcd"), st.text("ab Äß’'12.,-検索エ가𝔘\u0301", max_size=30), max_size=4)


@needs_native
@given(FIELDS, st.lists(st.text("abäß'12検", min_size=1, max_size=3), max_size=3))
def test_columns_of_words_agree(fields: dict[str, str], others: list[str]) -> None:
    """The last field that contains a word, in any script; None if no field does."""
    words = list(dict.fromkeys((*(word for text in fields.values() for word in query_words(text)), *others)))
    assert columns_of(words, fields) == plain_columns_of(words, fields)


@needs_native
@pytest.mark.parametrize("cap", [0, 40])
def test_values_of_words_agree(cap: int) -> None:
    """Values agree to the last bit, so that the same word is asked with and without the native module."""
    index = WordYield(keeps_stop_words=True, result_cap=cap, page_size=10)
    index.size = 5000.0
    for number, page in enumerate(_pages(3)):
        index.add_records([SeenRecord(f"{number % 50} {i}", " ".join(words), {}) for i, words in enumerate(page)])
    some = [np.arange(0, len(index.words()), 2, dtype=np.int32), np.array([5, 4, 4], dtype=np.int32)]
    share, calibration = np.linspace(0.2, 1, 64), np.linspace(0.5, 2, 64)
    words, weighed, best = index.weigh(some, share, calibration, (1000.0, 0.6, 3.0))
    plain_words, plain, plain_best = index.plain_weigh(some, share, calibration, (1000.0, 0.6, 3.0))
    order = np.argsort(words)
    assert words[order].tolist() == plain_words.tolist()
    assert weighed[:, order].tolist() == plain.tolist()
    assert words[best] == plain_words[plain_best]
    with pytest.raises(ValueError, match="fit"):
        index.weigh([np.array([10**9], dtype=np.int32)], share, calibration, (1000.0, 0.6, 3.0))


@needs_native
@pytest.mark.parametrize("cap", [0, 40])
def test_values_of_pairs_agree(cap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    index = WordYield(keeps_stop_words=True, result_cap=cap, page_size=10)
    for number, page in enumerate(_pages(4)):
        index.add_records([SeenRecord(f"{number % 90} {i}", " ".join(words), {}) for i, words in enumerate(page)])
    common = sorted(index.words(), key=index.records_with)[-3:]
    index.set_total(common[0], 5000)
    orders = []
    for module in (compiled, None):
        monkeypatch.setattr(pairs_module, "compiled", module)
        pairs = WordPairs(index)
        order: list[WordPair] = []
        for word in common:
            pairs.add_capped(word, 4 * index.records_with(word))
        while len(order) < 40 and (pair := pairs.next()) is not None:
            pairs.asked(pair)
            pairs.observe_page(pair, len(order) % 7)
            order.append(pair)
        orders.append(order)
    assert orders[0] == orders[1]
    assert len(orders[0]) == 40
