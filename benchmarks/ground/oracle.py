"""What one could do who knew everything: the questions that cover the records with the fewest requests, greedily, each walked whole."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks.ground.source import SimulatedSource

__all__ = ["SHARES", "oracle"]

MAX_WORDS = 20_000  # the most frequent words, as candidates
MAX_CUT_OFF, PAIRS_OF_WORD = 40, 60  # words that are cut off, and words beside each, as candidates
SHARES = (0.5, 0.9, 0.95, 0.99)


def oracle(source: SimulatedSource, queries: Iterable[str]) -> dict[str, int | None]:
    """The requests to each share of the records; None where no question reaches it.

    The candidates are `queries`, every word of the records, and for records that only cut-off answers have, two words of theirs.
    Greedy covering is within a few per cent of the best here, and never better than it.
    """
    number, page = len(source.collection), source.page_size
    covered = np.zeros(number, dtype=bool)
    requests, held = 0, 0
    reached: dict[str, int | None] = dict.fromkeys(map(str, SHARES))
    for question in (queries, _narrow(source, covered)):
        words = heapq.nlargest(MAX_WORDS, source.words, key=lambda word: len(source.places(word)))
        known = (*queries, *words, *_pairs(source, words)) if question is queries else question
        candidates = dict.fromkeys(known)
        heap = []
        for query in candidates:
            brought = source.reachable(query)
            if len(brought):
                heap.append((-len(brought) / -(-len(brought) // page), query))
        heapq.heapify(heap)
        while heap:
            query = heapq.heappop(heap)[1]
            brought = source.reachable(query)
            pages = -(-len(brought) // page)
            new = int((~covered[brought]).sum())
            if heap and -new / pages > heap[0][0]:
                if new:
                    heapq.heappush(heap, (-new / pages, query))
                continue
            if not new:
                break
            for at in range(0, len(brought), page):  # page by page, so that shares are reached where they are
                some = brought[at : at + page]
                held += int((~covered[some]).sum())
                covered[some] = True
                requests += 1
                for share in SHARES:
                    if held >= share * number and reached[str(share)] is None:
                        reached[str(share)] = requests
            if held >= SHARES[-1] * number:
                return reached
    return reached


def _pairs(source: SimulatedSource, words: Sequence[str]) -> Iterator[str]:
    """Words that are cut off, each with the words beside it that narrow it to what can come."""
    cap = source.setting.cap
    if not cap or source.setting.match == "any":
        return
    for word in words[:MAX_CUT_OFF]:
        places = source.places(word)
        if len(places) <= cap:
            break
        beside = Counter(other for number in places for other in source.collection.words_of(number))
        fitting = [other for other, number in beside.most_common() if number <= cap and other != word]
        yield from (f"{word} {other}" for other in fitting[:PAIRS_OF_WORD])


def _narrow(source: SimulatedSource, covered: np.ndarray) -> Iterator[str]:
    """For each record that no single word brings, its two rarest words."""
    for number in np.flatnonzero(~covered):
        words = sorted(source.collection.words_of(int(number)), key=lambda word: (len(source.places(word)), word))
        known = [word for word in words if len(source.places(word))]
        if len(known) > 1:
            yield f"{known[0]} {known[1]}"
