"""Which record has which words, in memory and in a scratch file: as plain lists have it."""

import numpy as np
import pytest

from upwell.choose.record_words import Blobs, MemoryBlobs, RecordWords, WordTexts
from upwell.harvest.checkpoint import ScratchFile


@pytest.mark.parametrize("blobs", [MemoryBlobs, ScratchFile])
def test_records_and_words_are_found_as_in_plain_lists(blobs: type[Blobs]) -> None:
    """Words of records, and records with one or several words, from any number on, past several blocks."""
    rng, index, plain = np.random.default_rng(1), RecordWords(blobs()), list[list[int]]()
    for _ in range(5000):
        words = sorted(set((rng.pareto(0.8, 6) * 3).astype(int).clip(0, 20_000).tolist()))
        plain.append(words)
        index.extend(np.array(words, dtype=np.int32), np.array([len(words)], dtype=np.int32))
    assert len(index) == 5000
    for number in (0, 1023, 1024, 4095, 4999):
        assert index.words_of_one(number).tolist() == plain[number]
    for some in ([3], [0, 1, 2, 1500, 4990, 4999], list(range(0, 5000, 7)), list(range(1000, 2200))):
        found = [word for part in index.words_of(np.array(some)) for word in part.tolist()]
        assert found == [word for number in some for word in plain[number]]
    for word in (0, 1, 2, 40, 19_999):
        for first in (0, 1024, 3000, 4999):
            expected = [n for n in range(first, 5000) if word in plain[n]]
            assert index.records_with(word, first).tolist() == expected
    both = [n for n in range(5000) if {0, 2} <= set(plain[n])]
    assert index.records_with_all([2, 0]).tolist() == both
    assert index.records_with_all([2, 0], 2500).tolist() == [n for n in both if n >= 2500]


@pytest.mark.parametrize("blobs", [MemoryBlobs, ScratchFile])
def test_texts_come_back_by_number(blobs: type[Blobs]) -> None:
    """Words of any script, those that were put away and those that were not yet."""
    texts = WordTexts(blobs())
    for number in range(2500):
        texts.append(f"wört{number}深\ud800")
    assert len(texts) == 2500
    assert texts[0] == "wört0深\ud800"
    assert texts[1024] == "wört1024深\ud800"
    assert texts[2499] == list(texts.since(0))[2499] == next(texts.since(2499)) == "wört2499深\ud800"
