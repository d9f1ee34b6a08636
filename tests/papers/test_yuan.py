"""Word selection: the worked example of Yuan's thesis, invariants, and our method against the published ones."""

import numpy as np
import pytest
from benchmarks.papers._text_source import TextSource, issue, with_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from upwell.errors import WrongUsage
from upwell.papers.yuan import (
    SELECTION_METHODS,
    Selection,
    build_snapshot,
    expected_rates,
    find_frequency_range,
    sample_words,
    select_queries,
    word_distances,
)

# Yuan §4.4: documents 1–6 with the terms a, b, c, d (doubled here, because single characters are not used as queries).
YUAN = ["aa", "aa bb", "aa cc", "cc", "cc", "dd"]


def generated_texts(documents: int = 400, words: int = 300, seed: int = 0, rich: float = 1.0) -> list[str]:
    """Return texts whose word frequencies follow a power law."""
    rng = np.random.default_rng(seed)
    share = rich / np.arange(3 * rich, words + 3 * rich)
    name = ["w" + "".join(chr(97 + int(c)) for c in str(i)) for i in range(words)]  # letters only: w12 is wbc
    return [
        " ".join(name[i] for i in np.flatnonzero(rng.random(words) < share * rng.uniform(0.3, 2))) or "wa"
        for _ in range(documents)
    ]


def test_word_distances_reproduce_table_4() -> None:
    """Table 4: an eclipsed word is at distance 0, disjoint words at 1, a and c at 0.67."""
    snapshot = build_snapshot(YUAN)
    distances = word_distances(snapshot, "intersection")
    index = {word: i for i, word in enumerate(snapshot.words)}
    assert distances[index["aa"], index["bb"]] == 0
    assert distances[index["aa"], index["cc"]] == pytest.approx(0.67, abs=0.01)
    assert distances[index["aa"], index["dd"]] == distances[index["bb"], index["cc"]] == 1


def test_clustering_reproduces_the_example_of_the_thesis() -> None:
    """§4.4: a, b and c form one cluster, d another; HR is 4/6 and OR 1, with a or with c."""
    snapshot = build_snapshot(YUAN)
    chosen = select_queries(snapshot, "cluster", Selection(size=2), np.random.default_rng(0))
    assert {c.query for c in chosen} in ({"aa", "dd"}, {"cc", "dd"})
    run = issue(TextSource(snapshot, 10), [c.query for c in chosen])
    assert run.hit[-1] == pytest.approx(4 / 6)
    assert run.overlap[-1] == 1


def test_packing_with_tolerance_1_has_no_overlap() -> None:
    """§5.2.1: only words that share no document are chosen."""
    snapshot = build_snapshot(YUAN)
    for seed in range(9):
        chosen = select_queries(snapshot, "packing", Selection(size=4, tolerance=1.0), np.random.default_rng(seed))
        run = issue(TextSource(snapshot, 10), [c.query for c in chosen])
        assert run.overlap[-1] == 1


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_every_method_returns_the_requested_size_and_correct_expectations(method: str) -> None:
    """Distinct words, the same for the same seed; without a result cap the expected documents are those returned."""
    snapshot = build_snapshot(generated_texts())
    params = Selection(size=20, result_cap=0)
    chosen = select_queries(snapshot, method, params, np.random.default_rng(1))
    assert len({c.query for c in chosen}) == 20 or (method == "packing" and 0 < len(chosen) <= 20)
    assert chosen == select_queries(snapshot, method, params, np.random.default_rng(1))
    run = issue(TextSource(snapshot, snapshot.documents), [c.query for c in chosen])
    assert sum(c.expected for c in chosen) == pytest.approx(run.hit[-1] * snapshot.documents, abs=0.2)
    rates = expected_rates(snapshot, [c.query for c in chosen])
    assert rates == [pytest.approx(pair) for pair in zip(run.hit, run.overlap, strict=True)]


def test_the_expected_curve_of_a_capped_source() -> None:
    """Words with more documents than the cap return some of them; the curve is the mean over sources that differ in which."""
    snapshot = build_snapshot(generated_texts())
    chosen = select_queries(snapshot, "overflow", Selection(size=20, result_cap=5), np.random.default_rng(1))
    queries = [c.query for c in chosen]
    runs = [issue(TextSource(snapshot, 5, seed=seed), queries) for seed in range(40)]
    hit, overlap = expected_rates(snapshot, queries, 5)[-1]
    assert hit == pytest.approx(np.mean([run.hit[-1] for run in runs]), rel=0.02)
    assert overlap == pytest.approx(np.mean([run.overlap[-1] for run in runs]), rel=0.03)


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_small_snapshots_give_short_dictionaries(method: str) -> None:
    """One document, or fewer words than requested."""
    assert select_queries(
        build_snapshot(["one two three"]), method, Selection(size=150, result_cap=50), np.random.default_rng(0)
    )
    assert (
        len(select_queries(build_snapshot(YUAN), method, Selection(size=150, result_cap=1), np.random.default_rng(0)))
        <= 4
    )


def test_unusable_input_raises_wrong_usage() -> None:
    """No text, no words in the frequency range, unknown method."""
    with pytest.raises(WrongUsage, match="contain no word"):
        build_snapshot(["", "…", "\x00\x01"])
    with pytest.raises(WrongUsage, match="most frequent occurs in 3"):
        sample_words(build_snapshot(YUAN), "optimal", 10, np.random.default_rng(0))
    with pytest.raises(WrongUsage, match="guess"):
        select_queries(build_snapshot(YUAN), "guess", Selection(), np.random.default_rng(0))


def test_overflow_covers_most_under_a_result_cap() -> None:
    """With 20 results per query, overflow has the highest hit rate at the end and the lowest overlap rate at 30 %."""
    snapshot = build_snapshot(generated_texts(2000, 1500))
    words = sample_words(snapshot, "auto", 1000, np.random.default_rng(0), result_cap=20)
    ends, halfway = {}, {}
    for method in SELECTION_METHODS:
        chosen = select_queries(words, method, Selection(size=80, result_cap=20), np.random.default_rng(0))
        run = issue(TextSource(words, 20), [c.query for c in chosen])
        ends[method], halfway[method] = run.hit[-1], run.overlap_at(0.3) or np.inf
    assert max(ends, key=lambda m: ends[m]) == "overflow"
    assert min(halfway, key=lambda m: halfway[m]) == "overflow"


def test_the_automatic_frequency_range_beats_random_words() -> None:
    """The range lies within the document frequencies."""
    snapshot = build_snapshot(generated_texts(2000, 1500))
    low, high = find_frequency_range(snapshot, 300, np.random.default_rng(0), 20)
    assert 1 <= low < high <= 2000
    hits = {}
    for sampling in ("auto", "random"):
        words = sample_words(snapshot, sampling, 300, np.random.default_rng(0), result_cap=20)
        chosen = select_queries(words, "overflow", Selection(size=60, result_cap=20), np.random.default_rng(0))
        hits[sampling] = issue(TextSource(words, 20), [c.query for c in chosen]).hit[-1]
    assert hits["auto"] > hits["random"]


def test_two_word_queries_fit_the_result_cap() -> None:
    """A two-word query returns all documents that contain both words."""
    snapshot = build_snapshot(generated_texts(800, 300))
    pairs = with_pairs(snapshot, 20, np.random.default_rng(0), max_pairs=50)
    source = TextSource(snapshot, 20)
    added = pairs.words[len(snapshot.words) :]
    assert len(added) > 20
    for i, query in enumerate(added, len(snapshot.words)):
        documents, total = source.answer(query)
        assert total == len(documents) == pairs.frequency[i] <= 20


@given(st.lists(st.text(alphabet="abc ", max_size=12), min_size=1, max_size=12), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_hit_and_overlap_rate_follow_definitions_1_and_2(texts: list[str], result_cap: int) -> None:
    """No answer exceeds the result cap."""
    if not any(len(w) > 1 and w != "ab" for t in texts for w in t.split()):
        return
    snapshot = build_snapshot(texts, language="")
    source = TextSource(snapshot, result_cap)
    run = issue(source, snapshot.words)
    seen: set[int] = set()
    returned = 0
    for query, hit, overlap in zip(snapshot.words, run.hit, run.overlap, strict=True):
        documents, total = source.answer(query)
        assert len(documents) == min(total, result_cap)
        seen.update(documents.tolist())
        returned += len(documents)
        assert hit == pytest.approx(len(seen) / snapshot.documents)
        assert overlap == pytest.approx(returned / len(seen))
