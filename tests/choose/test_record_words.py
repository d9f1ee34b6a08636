"""The inverted index agrees with plain lists, in memory and in a scratch file."""

import numpy as np
import pytest

from upwell.choose.record_words import Blobs, MemoryBlobs, RecordWords, WordTexts
from upwell.harvest.checkpoint import ScratchFile


@pytest.mark.parametrize("blobs", [MemoryBlobs, ScratchFile])
def test_lookups_agree_with_plain_lists(blobs: type[Blobs]) -> None:
    """Words of records, and records with one or several words, across several blocks."""
    rng, index, plain = np.random.default_rng(1), RecordWords(blobs()), list[list[int]]()
    for _ in range(5000):
        words = sorted(set((rng.pareto(0.8, 6) * 3).astype(int).clip(0, 20_000).tolist()))
        plain.append(words)
        index.extend(np.array(words, dtype=np.int32), np.array([len(words)], dtype=np.int32))
    assert len(index) == 5000
    for number in (0, 1023, 1024, 4095, 4999):
        assert index.words_of_one(number).tolist() == plain[number]
    for numbers in ([3], [0, 1, 2, 1500, 4990, 4999], list(range(0, 5000, 7)), list(range(1000, 2200))):
        words = [word for part in index.words_of(np.array(numbers)) for word in part.tolist()]
        assert words == [word for number in numbers for word in plain[number]]
    for word in (0, 1, 2, 40, 19_999):
        for first in (0, 1024, 3000, 4999):
            expected = [n for n in range(first, 5000) if word in plain[n]]
            assert index.records_with(word, first).tolist() == expected
    both = [n for n in range(5000) if {0, 2} <= set(plain[n])]
    assert index.records_with_all([2, 0]).tolist() == both
    assert index.records_with_all([2, 0], 2500).tolist() == [n for n in both if n >= 2500]


@pytest.mark.parametrize("blobs", [MemoryBlobs, ScratchFile])
def test_texts_are_returned_by_number(blobs: type[Blobs]) -> None:
    """Texts of any script, in stored blocks and in memory."""
    texts = WordTexts(blobs())
    for number in range(2500):
        texts.append(f"wört{number}深\ud800")
    assert len(texts) == 2500
    assert texts[0] == "wört0深\ud800"
    assert texts[1024] == "wört1024深\ud800"
    assert texts[2499] == list(texts.since(0))[2499] == next(texts.since(2499)) == "wört2499深\ud800"
