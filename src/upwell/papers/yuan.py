"""Yuan: the methods of the thesis *Downloading Data from Textual Deep Web Using Clustering* (2007).

Choose, from a sample of a source's texts, a dictionary of queries that returns most documents with least overlap.

    evaluation        §2.4: `hit_rate`, `overlap_rate`
    snapshot          §3.1: `build_snapshot`, an inverted index of the sample
    word sampling     §3.2: `sample_words`
    word selection    §3.3, §4, §5: `select_queries` with one of `SELECTION_METHODS`

Selection methods:

    random, frequency    random words; the most frequent words ("generic frequency")
    cluster              §4: cluster the words and take the most frequent word of each cluster
    packing              §5.2: words that overlap little with each other
    covering             §5.3: greedily the word with most new documents for its cost
    overflow             ours: the words with the greatest expected coverage under a result cap

`upwell queries --snapshot` runs these methods and `benchmarks.papers.queries` measures them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.sparse import ranges
from upwell.errors import MissingExtra, WrongUsage
from upwell.page.tokens import stop_words_of, tokens

__all__ = [
    "SAMPLINGS",
    "SELECTION_METHODS",
    "Linkage",
    "Sampling",
    "SelectedQuery",
    "Selection",
    "Snapshot",
    "WordDistance",
    "build_snapshot",
    "expected_rates",
    "find_frequency_range",
    "hit_rate",
    "overlap_rate",
    "sample_words",
    "select_queries",
    "shared_documents",
    "word_distances",
]

Floats = NDArray[np.float64]
Words = NDArray[np.int64]  # indexes of words in a snapshot
# random: any words; popular: the most frequent; optimal: a range of document frequencies; auto: a range chosen on the snapshot; all: every word
Sampling = Literal["random", "popular", "optimal", "auto", "all"]
SAMPLINGS: tuple[Sampling, ...] = ("random", "popular", "optimal", "auto", "all")
# cost of a returned document in `find_frequency_range`, where a new one is worth 1; not swept
RETURNED_DOCUMENT_COST = 0.1
# Document frequencies, as shares of the documents, that `find_frequency_range` tries as lower and upper bound.
LOW_SHARES = (0.0005, 0.001, 0.002, 0.004, 0.008)
HIGH_SHARES = (0.02, 0.04, 0.08, 0.16, 0.32)


def hit_rate(unique: int, documents: int) -> float:
    """Yuan §2.4.1, Definition 1: return the share of a source's documents that was retrieved (HR)."""
    return unique / documents


def overlap_rate(returned: int, unique: int) -> float:
    """Yuan §2.4.2, Definition 2: return the results, including duplicates, per unique document (OR); 1 before the first document."""
    return returned / unique if unique else 1.0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Inverted index of a sample of texts (Yuan §3.1): word i is in the documents `postings[starts[i]:starts[i+1]]`, ascending."""

    words: tuple[str, ...]
    documents: int  # number of documents
    starts: NDArray[np.integer]
    postings: NDArray[np.int32]

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        """Document frequency of each word."""
        return np.asarray(np.diff(self.starts), dtype=np.int64)

    def documents_with(self, word: int) -> NDArray[np.int32]:
        """Return the documents that contain a word."""
        return self.postings[self.starts[word] : self.starts[word + 1]]

    def restricted_to(self, words: NDArray[np.integer]) -> "Snapshot":
        """Return a snapshot of the same documents with some of the words."""
        frequency = self.frequency[words]
        return Snapshot(
            tuple(self.words[i] for i in words),
            self.documents,
            np.concatenate(([0], np.cumsum(frequency))),
            self.postings[ranges(self.starts[words], frequency)],
        )

    @cached_property
    def _word_of_posting(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.words)), self.frequency)

    @cached_property
    def _words_by_document(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Forward index: the start of each document, and the words of all documents in order."""
        order = np.argsort(self.postings, kind="stable")
        lengths = np.bincount(self.postings, minlength=self.documents)
        return np.concatenate(([0], np.cumsum(lengths))), self._word_of_posting[order]

    def sums(self, values: Floats) -> Floats:
        """Return, for each word, the sum of a value per document over the documents that contain it."""
        word, number = self._word_of_posting, len(self.words)
        return np.asarray(np.bincount(word, weights=values[self.postings], minlength=number), dtype=np.float64)

    def sums_of(self, documents: NDArray[np.integer], values: Floats) -> Floats:
        """Return the same as `sums` if only some documents have a value; the cost is proportional to their words."""
        starts, words = self._words_by_document
        lengths = starts[documents + 1] - starts[documents]
        word, value = words[ranges(starts[documents], lengths)], np.repeat(values, lengths)
        return np.asarray(np.bincount(word, weights=value, minlength=len(self.words)), dtype=np.float64)


def build_snapshot(texts: Iterable[str], language: str = "en") -> Snapshot:
    """Yuan §3.1: index texts by their words, without stop words and single characters."""
    stops = stop_words_of(language)
    number: dict[str, int] = {}
    words: list[int] = []
    lengths: list[int] = []
    for text in texts:
        in_text = {number.setdefault(w, len(number)): None for w in tokens(text) if len(w) > 1 and w not in stops}
        words.extend(in_text)
        lengths.append(len(in_text))
    if not number:
        raise WrongUsage(
            f"the {len(lengths)} texts of the snapshot contain no word; give a table with texts of the source"
        )
    word = np.array(words, dtype=np.int64)
    document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    starts = np.concatenate(([0], np.cumsum(np.bincount(word, minlength=len(number)))))
    return Snapshot(tuple(number), len(lengths), starts, document[np.argsort(word, kind="stable")])


def expected_rates(snapshot: Snapshot, queries: Sequence[str], result_cap: int = 0) -> list[tuple[float, float]]:
    """Return the hit rate and overlap rate expected after each query; which of its documents a capped word returns is random.

    >>> expected_rates(build_snapshot(["lima peru", "cusco peru", "quito ecuador"]), ["peru", "lima"])
    [(0.6666666666666666, 1.0), (0.6666666666666666, 1.5)]
    """
    number = {word: i for i, word in enumerate(snapshot.words)}
    missing = np.ones(snapshot.documents)
    returned, rates = 0.0, []
    for query in queries:
        documents = snapshot.documents_with(number[query])
        shown = min(len(documents), result_cap) if result_cap else len(documents)
        missing[documents] *= 1 - shown / max(1, len(documents))
        returned += shown
        held = snapshot.documents - float(missing.sum())
        rates.append((held / snapshot.documents, returned / held if held else 1.0))
    return rates


def sample_words(
    snapshot: Snapshot,
    sampling: Sampling,
    size: int,
    rng: np.random.Generator,
    *,
    result_cap: int = 0,
    low: int = 20,  # Yuan §6.4.3
    high: int = 500,  # Yuan §6.4.3
) -> Snapshot:
    """Yuan §3.2: reduce the vocabulary to at most `size` words."""
    frequency = snapshot.frequency
    if sampling == "popular":
        return snapshot.restricted_to(np.sort(np.argsort(-frequency, kind="stable")[:size]))
    if sampling == "auto":
        low, high = find_frequency_range(snapshot, size, rng, result_cap)
    candidates = np.arange(len(frequency))
    if sampling in ("optimal", "auto"):
        candidates = np.flatnonzero((frequency >= low) & (frequency <= high))
        if not len(candidates):
            raise WrongUsage(
                f"no word occurs in {low} to {high} of the {snapshot.documents} documents (the most frequent occurs in {frequency.max()}); "
                "use another sampling"
            )
    if sampling == "all" or len(candidates) <= size:
        return snapshot.restricted_to(candidates)
    return snapshot.restricted_to(np.sort(rng.choice(candidates, size, replace=False)))


def find_frequency_range(
    snapshot: Snapshot, size: int, rng: np.random.Generator, result_cap: int = 0, queries: int = 150
) -> tuple[int, int]:
    """Find the range of document frequencies whose words cover most (ours, for the first item of future work in Yuan §7).

    For each range of a grid, choose a greedy dictionary from a sample of its words under the result cap; return the range whose dictionary is
    expected to return most new documents, minus a small cost per returned document.
    """
    frequency = snapshot.frequency
    lows = sorted({max(1, round(snapshot.documents * share)) for share in LOW_SHARES})
    highs = sorted({max(2, round(snapshot.documents * share)) for share in HIGH_SHARES})
    best_worth, best_range = -1.0, (1, int(frequency.max()))
    for low in lows:
        for high in highs:
            candidates = np.flatnonzero((frequency >= low) & (frequency <= high))
            if len(candidates) < 2:
                continue
            words = candidates if len(candidates) <= size else rng.choice(candidates, size, replace=False)
            worth = _greedy_worth(snapshot.restricted_to(np.sort(words)), result_cap or snapshot.documents, queries)
            if worth > best_worth:
                best_worth, best_range = worth, (low, high)
    return best_range


def _greedy_worth(snapshot: Snapshot, result_cap: int, queries: int) -> float:
    """Return the expected new documents of a greedy dictionary, minus the cost of the documents it returns."""
    chance = np.minimum(1.0, result_cap / snapshot.frequency)
    cost = RETURNED_DOCUMENT_COST * np.minimum(snapshot.frequency, result_cap)
    unseen = np.ones(snapshot.documents)
    sums = snapshot.sums(unseen)
    worth = 0.0
    for _ in range(min(queries, len(snapshot.words))):
        gain = chance * sums - cost
        word = int(np.argmax(gain))
        if gain[word] <= 0:
            break
        worth += float(gain[word])
        documents = snapshot.documents_with(word)
        sums -= snapshot.sums_of(documents, chance[word] * unseen[documents])
        unseen[documents] *= 1 - chance[word]
    return worth


WordDistance = Literal["euclidean", "cosine", "intersection"]
Linkage = Literal["complete", "single"]
MAX_EXCHANGE_ROUNDS = 8  # rounds of exchanging single words of a dictionary (`_Search.improve`); not swept


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Parameters of word selection (Yuan §4–§6)."""

    size: int = 150  # queries in the dictionary; Yuan §6.3
    result_cap: int = 0  # most results that the source returns for a query; 0: no cap
    distance: WordDistance = "intersection"  # Yuan §6.4.2: the best of the three
    linkage: Linkage = "complete"  # Yuan §6.4.3
    tolerance: float = 0.6  # Δ, the smallest distance of two words in a packing; Yuan §6.4.3
    query_cost: float = 1.0  # cost of a query, where a returned document costs 1; Ntoulas et al., used in Yuan §5.3
    max_clustered_words: int = 4000  # bounds the distance matrix to a quarter of a gigabyte
    repeat_cost: float = (
        0.03  # cost of a returned document, where a new one is worth 1; swept 0 … 0.25 (docs/decisions/0040)
    )
    shakes: int = 10  # random restarts from a perturbed dictionary; swept 0, 10, 30 (docs/decisions/0040)
    shaken_share: float = 0.2  # share of the dictionary that a perturbation replaces; swept 0.1, 0.2, 0.3


@dataclass(frozen=True, slots=True)
class SelectedQuery:
    """Query of a dictionary (Yuan §3.3), with the expected number of documents that the queries before it did not return."""

    query: str
    expected: float


def select_queries(snapshot: Snapshot, method: str, params: Selection, rng: np.random.Generator) -> list[SelectedQuery]:
    """Yuan §3.3, §4 and §5: return the dictionary that a method chooses; it is shorter than `params.size` if there are not enough words."""
    if method not in SELECTION_METHODS:
        raise WrongUsage(f"unknown method {method!r}; choose one of {', '.join(SELECTION_METHODS)}")
    if params.size < 1:
        raise WrongUsage(f"--size is {params.size}; it must be at least 1")
    if params.distance not in get_args(WordDistance):
        raise WrongUsage(f"unknown distance {params.distance!r}; choose one of {', '.join(get_args(WordDistance))}")
    if params.linkage not in get_args(Linkage):
        raise WrongUsage(f"unknown linkage {params.linkage!r}; choose one of {', '.join(get_args(Linkage))}")
    if not 0 <= params.tolerance <= 1:
        raise WrongUsage(f"delta is {params.tolerance}; it must be from 0 to 1")
    result_cap = params.result_cap or snapshot.documents
    chosen = SELECTION_METHODS[method](snapshot, params, result_cap, rng)
    chance = np.minimum(1.0, result_cap / snapshot.frequency)
    unseen = np.ones(snapshot.documents)
    queries = []
    for word in chosen:
        documents = snapshot.documents_with(word)
        queries.append(SelectedQuery(snapshot.words[word], round(float(chance[word] * unseen[documents].sum()), 2)))
        unseen[documents] *= 1 - chance[word]
    return queries


def _random(snapshot: Snapshot, params: Selection, _: int, rng: np.random.Generator) -> list[int]:
    return [int(i) for i in rng.permutation(len(snapshot.words))[: params.size]]


def _frequency(snapshot: Snapshot, params: Selection, _: int, __: np.random.Generator) -> list[int]:
    return [int(i) for i in np.argsort(-snapshot.frequency, kind="stable")[: params.size]]


def word_distances(snapshot: Snapshot, distance: WordDistance) -> Floats:
    """Yuan §4.2: return the distance of every two words by their shared documents; from presence where the thesis uses counts."""
    shared = shared_documents(snapshot)
    frequency = snapshot.frequency.astype(np.float64)
    if distance == "euclidean":
        far = np.sqrt(np.maximum(frequency[:, None] + frequency[None, :] - 2 * shared, 0))
    elif distance == "cosine":
        far = 1 - shared / np.sqrt(np.outer(frequency, frequency))
    else:
        far = 1 - shared / np.minimum(frequency[:, None], frequency[None, :])
    np.fill_diagonal(far, 0)
    return np.asarray(np.maximum(far, 0))


def shared_documents(snapshot: Snapshot) -> Floats:
    """Return the number of documents that contain both of every two words (Yuan §4.2)."""
    number = len(snapshot.words)
    shared = np.zeros((number, number))
    for word in range(number):
        shared[word] = snapshot.sums_of(snapshot.documents_with(word), np.ones(snapshot.frequency[word]))
    return shared


def _cluster(snapshot: Snapshot, params: Selection, _: int, rng: np.random.Generator) -> list[int]:
    """Yuan §4.3: cluster the words agglomeratively and take the most frequent word of each cluster.

    If there are more words than `max_clustered_words`, only the most frequent are clustered.
    """
    try:
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform
    except ImportError as missing:
        raise MissingExtra(
            "the method cluster needs the package scipy, which is not installed: pip install 'upwell[papers]'"
        ) from missing
    words = np.sort(np.argsort(-snapshot.frequency, kind="stable")[: params.max_clustered_words])
    part = snapshot.restricted_to(words)
    if len(words) <= params.size:
        return [int(i) for i in rng.permutation(words)]
    merges = hierarchy.linkage(squareform(word_distances(part, params.distance), checks=False), params.linkage)
    label = _cut(merges, len(words), params.size)
    order = np.lexsort((-part.frequency, label))
    first = np.concatenate(([True], np.diff(label[order]) > 0))
    return [int(words[i]) for i in rng.permutation(order[first])]  # random order: Yuan §6.3


def _cut(merges: Floats, words: int, clusters: int) -> Words:
    """Cut a dendrogram into a number of clusters and return the cluster of each word.

    The cut counts merges instead of using a distance, because most pairs of words have distance 1.
    """
    label = np.arange(2 * words - 1)
    for merge in range(words - clusters - 1, -1, -1):  # from the last merge back, each passes its label down
        left, right = merges[merge, :2].astype(int)
        label[left] = label[right] = label[words + merge]
    return label[:words]


def _packing(snapshot: Snapshot, params: Selection, _: int, rng: np.random.Generator) -> list[int]:
    """Yuan §5.2: visit the words in random order and keep each that is at least the tolerance away from all kept words."""
    frequency = snapshot.frequency
    closest = np.ones(len(frequency))  # distance of each word to the nearest kept word
    kept: list[int] = []
    for word in rng.permutation(len(frequency)):
        if closest[word] < params.tolerance:
            continue
        kept.append(int(word))
        if len(kept) == params.size:
            break
        shared = snapshot.sums_of(snapshot.documents_with(int(word)), np.ones(frequency[word]))
        closest = np.minimum(closest, 1 - shared / np.minimum(frequency, frequency[word]))
    return kept


def _covering(snapshot: Snapshot, params: Selection, _: int, rng: np.random.Generator) -> list[int]:
    """Yuan §5.3: take greedily the word with most new documents for its cost; without a result cap, then in random order (§6.3)."""
    cost = params.query_cost + snapshot.frequency
    new = snapshot.frequency.astype(np.float64)
    is_covered = np.zeros(snapshot.documents, dtype=bool)
    chosen: list[int] = []
    for _ in range(min(params.size, len(cost))):
        score = new / cost
        score[chosen] = -1
        word = int(np.argmax(score))
        chosen.append(word)
        documents = snapshot.documents_with(word)
        documents = documents[~is_covered[documents]]
        is_covered[documents] = True
        new -= snapshot.sums_of(documents, np.ones(len(documents)))
    return [chosen[i] for i in rng.permutation(len(chosen))]


def _overflow(snapshot: Snapshot, params: Selection, result_cap: int, rng: np.random.Generator) -> list[int]:
    """Choose the words with the greatest expected coverage under the result cap, the most efficient first (ours).

    A word in more documents than the cap returns each of them with probability cap ÷ frequency. The worth of a set is its expected number of
    documents minus a small cost per returned document. The set is built greedily, improved by exchanging single words until nothing
    improves, and perturbed a few times to leave local optima. Finally the words are ordered by new documents per returned document.
    """
    search = _Search(snapshot, result_cap, params.repeat_cost)
    best = search.improve(search.greedy(min(params.size, len(snapshot.words))))
    worth = search.worth(best)
    for _ in range(params.shakes):
        count = min(len(snapshot.words) - len(best), max(1, round(params.shaken_share * len(best))))
        if count < 1:
            break
        shaken = best.copy()
        others = np.setdiff1d(np.arange(len(snapshot.words)), best)
        shaken[rng.choice(len(best), count, replace=False)] = rng.choice(others, count, replace=False)
        shaken = search.improve(shaken)
        if search.worth(shaken) > worth:
            best, worth = shaken, search.worth(shaken)
    order = _Search(snapshot.restricted_to(best), result_cap, 0.0).greedy(len(best), efficient=True)
    return [int(best[i]) for i in order]


class _Search:
    """Local search for the set of words with the greatest expected coverage."""

    def __init__(self, snapshot: Snapshot, result_cap: int, repeat_cost: float) -> None:
        self.snapshot = snapshot
        self.chance = np.minimum(1.0, result_cap / snapshot.frequency)  # that a word returns a document containing it
        self.is_certain = self.chance >= 1
        self.log_miss = np.log1p(-np.where(self.is_certain, 0.0, self.chance))
        self.returned = np.minimum(snapshot.frequency, result_cap).astype(np.float64)
        self.cost = repeat_cost * self.returned

    def greedy(self, size: int, efficient: bool = False) -> Words:
        """Choose words one by one by expected new documents, or with `efficient` by new documents per returned document."""
        unseen = np.ones(self.snapshot.documents)
        is_free = np.ones(len(self.chance), dtype=bool)
        chosen = np.zeros(size, dtype=np.int64)
        for i in range(size):
            gain = self.chance * self.snapshot.sums(unseen)
            gain = gain / self.returned if efficient else gain - self.cost
            word = int(np.argmax(np.where(is_free, gain, -np.inf)))
            chosen[i], is_free[word] = word, False
            unseen[self.snapshot.documents_with(word)] *= 1 - self.chance[word]
        return chosen

    def improve(self, words: Words) -> Words:
        """Replace one word at a time by the word that is worth most in its place, until a round changes nothing."""
        chosen = words.copy()
        certain, log_miss = np.zeros(self.snapshot.documents), np.zeros(self.snapshot.documents)
        for word in chosen:
            self._count(certain, log_miss, int(word), 1)
        is_free = np.ones(len(self.chance), dtype=bool)
        is_free[chosen] = False
        for _ in range(MAX_EXCHANGE_ROUNDS):
            changed = False
            unseen = np.where(certain > 0.5, 0.0, np.exp(log_miss))
            sums = self.snapshot.sums(unseen)
            for i, old in enumerate(chosen.tolist()):
                documents = self.snapshot.documents_with(old)
                self._count(certain, log_miss, old, -1)
                is_free[old] = True
                without = np.where(certain[documents] > 0.5, 0.0, np.exp(log_miss[documents]))
                sums_without = sums + self.snapshot.sums_of(documents, without - unseen[documents])
                gain = np.where(is_free, self.chance * sums_without - self.cost, -np.inf)
                new = int(np.argmax(gain))
                new = new if gain[new] > gain[old] + 1e-9 else old
                self._count(certain, log_miss, new, 1)
                chosen[i], is_free[new] = new, False
                if new != old:
                    changed = True
                    unseen[documents] = without
                    documents = self.snapshot.documents_with(new)
                    now = np.where(certain[documents] > 0.5, 0.0, np.exp(log_miss[documents]))
                    sums = sums_without + self.snapshot.sums_of(documents, now - unseen[documents])
                    unseen[documents] = now
            if not changed:
                break
        return chosen

    def _count(self, certain: Floats, log_miss: Floats, word: int, sign: int) -> None:
        """Add (`sign` 1) or remove (-1) a word from the coverage of its documents."""
        documents = self.snapshot.documents_with(word)
        if self.is_certain[word]:
            certain[documents] += sign
        else:
            log_miss[documents] += sign * self.log_miss[word]

    def worth(self, words: Words) -> float:
        """Return the expected documents of a set of words, minus the cost of the documents it returns."""
        unseen = np.ones(self.snapshot.documents)
        for word in words.tolist():
            unseen[self.snapshot.documents_with(word)] *= 1 - self.chance[word]
        return float((1 - unseen).sum() - self.cost[words].sum())


SELECTION_METHODS: dict[str, Callable[[Snapshot, Selection, int, np.random.Generator], list[int]]] = {
    "random": _random,
    "frequency": _frequency,
    "cluster": _cluster,
    "packing": _packing,
    "covering": _covering,
    "overflow": _overflow,
}
