"""Choosing a dictionary: the thesis's worked example, invariants, and that ours is worth having."""

import numpy as np
import pytest
from benchmarks.papers.text_source import TextSource, issue, with_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from upwell.errors import WrongUsage
from upwell.queries.select import METHODS, Selection, select, word_distances
from upwell.queries.snapshot import find_range, of_texts, sample

# Yuan §4.4: documents 1–6 with the terms a, b, c, d (two letters here: single characters are no queries).
YUAN = ["aa", "aa bb", "aa cc", "cc", "cc", "dd"]


def made(documents: int = 400, words: int = 300, seed: int = 0, rich: float = 1.0) -> list[str]:
    """Texts whose words are as unevenly frequent as real ones."""
    rng = np.random.default_rng(seed)
    share = rich / np.arange(3 * rich, words + 3 * rich)
    name = ["w" + "".join(chr(97 + int(c)) for c in str(i)) for i in range(words)]  # letters only: w12 is wbc
    return [
        " ".join(name[i] for i in np.flatnonzero(rng.random(words) < share * rng.uniform(0.3, 2))) or "wa"
        for _ in range(documents)
    ]


def test_the_distance_table_of_the_thesis() -> None:
    """Table 4: an eclipsed word is at distance 0, distinct ones at 1, a and c at 0.67."""
    snapshot = of_texts(YUAN)
    far = word_distances(snapshot, "intersection")
    at = {word: i for i, word in enumerate(snapshot.words)}
    assert far[at["aa"], at["bb"]] == 0
    assert far[at["aa"], at["cc"]] == pytest.approx(0.67, abs=0.01)
    assert far[at["aa"], at["dd"]] == far[at["bb"], at["cc"]] == 1


def test_the_clusters_of_the_thesis() -> None:
    """§4.4: a, b and c in one cluster, d in the other; hit rate 4/6 at overlap 1, whichever of a and c is taken."""
    snapshot = of_texts(YUAN)
    chosen = select(snapshot, "cluster", Selection(size=2), np.random.default_rng(0))
    assert {c.query for c in chosen} in ({"aa", "dd"}, {"cc", "dd"})
    run = issue(TextSource(snapshot, 10), [c.query for c in chosen])
    assert run.hit[-1] == pytest.approx(4 / 6)
    assert run.overlap[-1] == 1


def test_packing_of_the_thesis() -> None:
    """§5.2.1: with no overlap allowed, only words that share no document stand together."""
    snapshot = of_texts(YUAN)
    for seed in range(9):
        chosen = select(snapshot, "packing", Selection(size=4, tolerance=1.0), np.random.default_rng(seed))
        run = issue(TextSource(snapshot, 10), [c.query for c in chosen])
        assert run.overlap[-1] == 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_its_word(method: str) -> None:
    """So many different words as asked for, the same for the same seed, and what it expects is what comes where nothing is cut off."""
    snapshot = of_texts(made())
    how = Selection(size=20, limit=0)
    chosen = select(snapshot, method, how, np.random.default_rng(1))
    assert len({c.query for c in chosen}) == 20 or (method == "packing" and 0 < len(chosen) <= 20)
    assert chosen == select(snapshot, method, how, np.random.default_rng(1))
    run = issue(TextSource(snapshot, snapshot.documents), [c.query for c in chosen])
    assert sum(c.expected for c in chosen) == pytest.approx(run.hit[-1] * snapshot.documents, abs=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_bad_input(method: str) -> None:
    """One document, a vocabulary smaller than asked: what there is, not a crash."""
    assert select(of_texts(["one two three"]), method, Selection(size=150, limit=50), np.random.default_rng(0))
    assert len(select(of_texts(YUAN), method, Selection(size=150, limit=1), np.random.default_rng(0))) <= 4


def test_nothing_to_read_is_said() -> None:
    """No text, no words in the range, no such method."""
    with pytest.raises(WrongUsage, match="without a single word"):
        of_texts(["", "…", "\x00\x01"])
    with pytest.raises(WrongUsage, match="most frequent is in 3"):
        sample(of_texts(YUAN), "optimal", 10, np.random.default_rng(0))
    with pytest.raises(WrongUsage, match="guess"):
        select(of_texts(YUAN), "guess", Selection(), np.random.default_rng(0))


def test_ours_covers_more_and_repeats_less_under_a_limit() -> None:
    """With 20 results a query, ours beats all the others at the end, and overlaps less on the way than any that gets as far."""
    snapshot = of_texts(made(2000, 1500))
    words = sample(snapshot, "auto", 1000, np.random.default_rng(0), limit=20)
    ends, halfway = {}, {}
    for method in METHODS:
        chosen = select(words, method, Selection(size=80, limit=20), np.random.default_rng(0))
        run = issue(TextSource(words, 20), [c.query for c in chosen])
        ends[method], halfway[method] = run.hit[-1], run.overlap_at(0.3) or np.inf
    assert max(ends, key=lambda m: ends[m]) == "overflow"
    assert min(halfway, key=lambda m: halfway[m]) == "overflow"


def test_the_range_is_found() -> None:
    """It lies among the frequencies, and a dictionary from it covers at least as much as one from any words."""
    snapshot = of_texts(made(2000, 1500))
    low, high = find_range(snapshot, 300, np.random.default_rng(0), 20)
    assert 1 <= low < high <= 2000
    hits = {}
    for how in ("auto", "random"):
        words = sample(snapshot, how, 300, np.random.default_rng(0), limit=20)
        chosen = select(words, "overflow", Selection(size=60, limit=20), np.random.default_rng(0))
        hits[how] = issue(TextSource(words, 20), [c.query for c in chosen]).hit[-1]
    assert hits["auto"] > hits["random"]


def test_pairs_fit_the_limit() -> None:
    """Two-word queries are answered with the documents that have both words, all of them."""
    snapshot = of_texts(made(800, 300))
    pairs = with_pairs(snapshot, 20, np.random.default_rng(0), max_pairs=50)
    source = TextSource(snapshot, 20)
    added = pairs.words[len(snapshot.words) :]
    assert len(added) > 20
    for i, query in enumerate(added, len(snapshot.words)):
        found, total = source.answer(query)
        assert total == len(found) == pairs.frequency[i] <= 20


@given(st.lists(st.text(alphabet="abc ", max_size=12), min_size=1, max_size=12), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_hit_and_overlap_rate_by_hand(texts: list[str], limit: int) -> None:
    """HR and OR are what Definitions 1 and 2 say, and no answer exceeds the limit."""
    if not any(len(w) > 1 and w != "ab" for t in texts for w in t.split()):
        return
    snapshot = of_texts(texts, language="")
    source = TextSource(snapshot, limit)
    run = issue(source, snapshot.words)
    seen: set[int] = set()
    returned = 0
    for query, hit, overlap in zip(snapshot.words, run.hit, run.overlap, strict=True):
        found, total = source.answer(query)
        assert len(found) == min(total, limit)
        seen.update(found.tolist())
        returned += len(found)
        assert hit == pytest.approx(len(seen) / snapshot.documents)
        assert overlap == pytest.approx(returned / len(seen))
