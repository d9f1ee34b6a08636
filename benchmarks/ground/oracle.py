"""Requests needed with complete knowledge of the source: the queries that cover the records, chosen greedily, with all their pages."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks.ground.source import SimulatedSource

__all__ = ["SHARES", "oracle"]

MAX_WORDS = 20_000  # most frequent words that are candidates
MAX_CAPPED, PAIRS_OF_WORD = 40, 60  # capped words, and co-occurring words of each, that are candidates
SHARES = (0.5, 0.9, 0.95, 0.99)


def oracle(source: SimulatedSource, queries: Iterable[str]) -> dict[str, int | None]:
    """Return the requests needed for each share of the records; None if no query reaches it.

    The candidates are `queries`, all words of the records, and pairs of words for records that only capped answers contain. Greedy
    covering is within a few per cent of the optimum here.
    """
    number, page = len(source.collection), source.page_size
    covered = np.zeros(number, dtype=bool)
    requests, held = 0, 0
    reached: dict[str, int | None] = dict.fromkeys(map(str, SHARES))
    for group in (queries, _narrow(source, covered)):
        words = heapq.nlargest(MAX_WORDS, source.words, key=lambda word: len(source.places(word)))
        known = (*queries, *words, *_pairs(source, words)) if group is queries else group
        candidates = dict.fromkeys(known)
        heap = []
        for query in candidates:
            matches = source.reachable(query)
            if len(matches):
                heap.append((-len(matches) / -(-len(matches) // page), query))
        heapq.heapify(heap)
        while heap:
            query = heapq.heappop(heap)[1]
            matches = source.reachable(query)
            pages = -(-len(matches) // page)
            new = int((~covered[matches]).sum())
            if heap and -new / pages > heap[0][0]:
                if new:
                    heapq.heappush(heap, (-new / pages, query))
                continue
            if not new:
                break
            for at in range(0, len(matches), page):  # page by page, to count the requests until each share
                on_page = matches[at : at + page]
                held += int((~covered[on_page]).sum())
                covered[on_page] = True
                requests += 1
                for share in SHARES:
                    if held >= share * number and reached[str(share)] is None:
                        reached[str(share)] = requests
            if held >= SHARES[-1] * number:
                return reached
    return reached


def _pairs(source: SimulatedSource, words: Sequence[str]) -> Iterator[str]:
    """Yield pairs of a capped word and a co-occurring word whose matches are below the cap."""
    cap = source.setting.cap
    if not cap or source.setting.match == "any":
        return
    for word in words[:MAX_CAPPED]:
        places = source.places(word)
        if len(places) <= cap:
            break
        cooccurring = Counter(other for number in places for other in source.collection.words_of(number))
        fitting = [other for other, number in cooccurring.most_common() if number <= cap and other != word]
        yield from (f"{word} {other}" for other in fitting[:PAIRS_OF_WORD])


def _narrow(source: SimulatedSource, covered: np.ndarray) -> Iterator[str]:
    """Yield the two rarest words of each record that no single word returns."""
    for number in np.flatnonzero(~covered):
        words = sorted(source.collection.words_of(int(number)), key=lambda word: (len(source.places(word)), word))
        known = [word for word in words if len(source.places(word))]
        if len(known) > 1:
            yield f"{known[0]} {known[1]}"
