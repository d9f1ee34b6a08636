"""A dictionary of queries from a snapshot (Yuan ch. 4–5), and one that allows for the source's limit on results.

random, frequency       any words; the most frequent (Yuan's "generic frequency")
cluster                 the words are clustered, and the most frequent word of each cluster is taken
packing                 words that overlap little with each other
covering                the word with most new documents for its cost, again and again
overflow                ours: the set of words with the greatest expected coverage under the limit, best first
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from upwell.errors import MissingExtra, WrongUsage
from upwell.queries.snapshot import Snapshot

__all__ = ["METHODS", "Choice", "Distance", "Linkage", "Selection", "select", "shared_documents", "word_distances"]

Distance = Literal["euclidean", "cosine", "intersection"]
Linkage = Literal["complete", "single"]
Floats = NDArray[np.float64]
Words = NDArray[np.int64]  # numbers of words in a snapshot
MAX_ROUNDS = 8  # of exchanging single words, each over the whole dictionary; not swept


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How the dictionary is chosen."""

    size: int = 150  # Yuan §6.3
    limit: int = 0  # the most results that the source gives for a query; 0: all
    distance: Distance = "intersection"  # Yuan §6.4.2: the best of his three
    linkage: Linkage = "complete"  # Yuan §6.4.3
    tolerance: float = 0.6  # Yuan §6.4.3, Δ: the least distance of two words in a packing
    query_cost: float = 1.0  # of a query, where a returned document costs 1 (Ntoulas et al., as Yuan §5.3 uses them)
    max_clustered_words: int = 4000  # more would need more than a quarter of a gigabyte for their distances
    repeat_cost: float = 0.03  # of a returned document, where a new one is worth 1; swept 0 … 0.25: docs/decisions/0040
    shakes: int = 10  # how often a part of the dictionary is replaced at random; swept 0, 10, 30: docs/decisions/0040
    shaken_share: float = 0.2  # of the dictionary that a shake replaces; swept 0.1, 0.2, 0.3


@dataclass(frozen=True, slots=True)
class Choice:
    """One query of a dictionary, and how many new documents it should bring after those before it."""

    query: str
    expected: float


def select(snapshot: Snapshot, method: str, how: Selection, rng: np.random.Generator) -> list[Choice]:
    """The dictionary that a method chooses; shorter than asked for where there are not enough words."""
    if method not in METHODS:
        raise WrongUsage(f"method {method!r} is none of {', '.join(METHODS)}")
    if how.size < 1:
        raise WrongUsage(f"a dictionary of {how.size} words is none; --size takes a number from 1")
    if how.distance not in get_args(Distance):
        raise WrongUsage(f"distance {how.distance!r} is none of {', '.join(get_args(Distance))}")
    if how.linkage not in get_args(Linkage):
        raise WrongUsage(f"linkage {how.linkage!r} is none of {', '.join(get_args(Linkage))}")
    if not 0 <= how.tolerance <= 1:
        raise WrongUsage(f"delta {how.tolerance} is no distance of words; it is from 0 to 1")
    limit = how.limit or snapshot.documents
    chosen = METHODS[method](snapshot, how, limit, rng)
    chance = np.minimum(1.0, limit / snapshot.frequency)
    unseen = np.ones(snapshot.documents)
    choices = []
    for word in chosen:
        documents = snapshot.documents_with(word)
        choices.append(Choice(snapshot.words[word], round(float(chance[word] * unseen[documents].sum()), 2)))
        unseen[documents] *= 1 - chance[word]
    return choices


def _random(snapshot: Snapshot, how: Selection, _: int, rng: np.random.Generator) -> list[int]:
    return [int(i) for i in rng.permutation(len(snapshot.words))[: how.size]]


def _frequency(snapshot: Snapshot, how: Selection, _: int, __: np.random.Generator) -> list[int]:
    return [int(i) for i in np.argsort(-snapshot.frequency, kind="stable")[: how.size]]


def word_distances(snapshot: Snapshot, distance: Distance) -> Floats:
    """The distance of every two words by the documents that they share (Yuan §4.2); departs from it: presence, not counts."""
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
    """In how many documents every two words stand together."""
    number = len(snapshot.words)
    shared = np.zeros((number, number))
    for word in range(number):
        shared[word] = snapshot.sums_of(snapshot.documents_with(word), np.ones(snapshot.frequency[word]))
    return shared


def _cluster(snapshot: Snapshot, how: Selection, _: int, rng: np.random.Generator) -> list[int]:
    """Yuan §4: agglomerative clustering, the most frequent word of each cluster; of too many words the most frequent are clustered."""
    try:
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform
    except ImportError as missing:
        raise MissingExtra("the method cluster needs the package scipy: pip install 'upwell[papers]'") from missing
    words = np.sort(np.argsort(-snapshot.frequency, kind="stable")[: how.max_clustered_words])
    part = snapshot.restricted_to(words)
    if len(words) <= how.size:
        return [int(i) for i in rng.permutation(words)]
    merges = hierarchy.linkage(squareform(word_distances(part, how.distance), checks=False), how.linkage)
    label = _cut(merges, len(words), how.size)
    order = np.lexsort((-part.frequency, label))
    first = np.concatenate(([True], np.diff(label[order]) > 0))
    return [int(words[i]) for i in rng.permutation(order[first])]  # Yuan §6.3: the order is scrambled


def _cut(merges: Floats, words: int, clusters: int) -> Words:
    """The cluster of each word when so many clusters are left; by merges, because most words are equally far apart (1)."""
    label = np.arange(2 * words - 1)
    for merge in range(words - clusters - 1, -1, -1):  # from the last merge back, each hands its own label down
        left, right = merges[merge, :2].astype(int)
        label[left] = label[right] = label[words + merge]
    return label[:words]


def _packing(snapshot: Snapshot, how: Selection, _: int, rng: np.random.Generator) -> list[int]:
    """Yuan §5.2: words in random order, each kept if it is at least the tolerance away from all that are kept."""
    frequency = snapshot.frequency
    closest = np.ones(len(frequency))  # the distance of each word to the nearest that is kept
    kept: list[int] = []
    for word in rng.permutation(len(frequency)):
        if closest[word] < how.tolerance:
            continue
        kept.append(int(word))
        if len(kept) == how.size:
            break
        shared = snapshot.sums_of(snapshot.documents_with(int(word)), np.ones(frequency[word]))
        closest = np.minimum(closest, 1 - shared / np.minimum(frequency, frequency[word]))
    return kept


def _covering(snapshot: Snapshot, how: Selection, _: int, rng: np.random.Generator) -> list[int]:
    """Yuan §5.3: the greatest number of new documents for the cost; knows no limit, as in the thesis; then scrambled (§6.3)."""
    cost = how.query_cost + snapshot.frequency
    new = snapshot.frequency.astype(np.float64)
    is_covered = np.zeros(snapshot.documents, dtype=bool)
    chosen: list[int] = []
    for _ in range(min(how.size, len(cost))):
        score = new / cost
        score[chosen] = -1
        word = int(np.argmax(score))
        chosen.append(word)
        documents = snapshot.documents_with(word)
        documents = documents[~is_covered[documents]]
        is_covered[documents] = True
        new -= snapshot.sums_of(documents, np.ones(len(documents)))
    return [chosen[i] for i in rng.permutation(len(chosen))]


def _overflow(snapshot: Snapshot, how: Selection, limit: int, rng: np.random.Generator) -> list[int]:
    """The words that should cover most under the limit, the most efficient first.

    A word in more documents than the limit brings each of them with chance limit/frequency. A set of words is worth the
    documents that it should bring, less a little for each that is returned. The set is found greedily, improved by
    exchanging one word at a time until nothing gains, and shaken a few times to get out of a local optimum. Last, the words
    are ordered by new documents for returned ones, so that the overlap comes late.
    """
    search = _Search(snapshot, limit, how.repeat_cost)
    best = search.improve(search.greedy(min(how.size, len(snapshot.words))))
    worth = search.worth(best)
    for _ in range(how.shakes):
        count = min(len(snapshot.words) - len(best), max(1, round(how.shaken_share * len(best))))
        if count < 1:
            break
        shaken = best.copy()
        others = np.setdiff1d(np.arange(len(snapshot.words)), best)
        shaken[rng.choice(len(best), count, replace=False)] = rng.choice(others, count, replace=False)
        shaken = search.improve(shaken)
        if search.worth(shaken) > worth:
            best, worth = shaken, search.worth(shaken)
    order = _Search(snapshot.restricted_to(best), limit, 0.0).greedy(len(best), efficient=True)
    return [int(best[i]) for i in order]


class _Search:
    """The search for the set of words with the greatest expected coverage."""

    def __init__(self, snapshot: Snapshot, limit: int, repeat_cost: float) -> None:
        self.snapshot = snapshot
        self.chance = np.minimum(1.0, limit / snapshot.frequency)  # that a word brings a document that has it
        self.is_certain = self.chance >= 1
        self.log_miss = np.log1p(-np.where(self.is_certain, 0.0, self.chance))
        self.returned = np.minimum(snapshot.frequency, limit).astype(np.float64)
        self.cost = repeat_cost * self.returned

    def greedy(self, size: int, efficient: bool = False) -> Words:
        """Word by word the one with most new documents (`efficient`: most new ones for each that is returned)."""
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
        """Exchanges one word at a time for the one that is worth most in its place, until a round changes nothing."""
        chosen = words.copy()
        certain, log_miss = np.zeros(self.snapshot.documents), np.zeros(self.snapshot.documents)
        for word in chosen:
            self._count(certain, log_miss, int(word), 1)
        is_free = np.ones(len(self.chance), dtype=bool)
        is_free[chosen] = False
        for _ in range(MAX_ROUNDS):
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
        """Adds a word to what covers its documents, or takes it away: with certainty, or with a chance."""
        documents = self.snapshot.documents_with(word)
        if self.is_certain[word]:
            certain[documents] += sign
        else:
            log_miss[documents] += sign * self.log_miss[word]

    def worth(self, words: Words) -> float:
        """Documents that a set should bring, less the cost of what it returns."""
        unseen = np.ones(self.snapshot.documents)
        for word in words.tolist():
            unseen[self.snapshot.documents_with(word)] *= 1 - self.chance[word]
        return float((1 - unseen).sum() - self.cost[words].sum())


METHODS: dict[str, Callable[[Snapshot, Selection, int, np.random.Generator], list[int]]] = {
    "random": _random,
    "frequency": _frequency,
    "cluster": _cluster,
    "packing": _packing,
    "covering": _covering,
    "overflow": _overflow,
}
