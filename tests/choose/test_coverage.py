"""The coverage statement from each kind of evidence."""

from upwell.arrays.key_set import KeySet
from upwell.choose.coverage import UNCONNECTED, CoverageEvidence
from upwell.choose.word_index import WordIndex


def coverage(held: int = 100, **evidence: object) -> CoverageEvidence:
    sets = {name: KeySet(keys) for name, keys in evidence.items() if isinstance(keys, set)}
    return CoverageEvidence(WordIndex(), held=held, **{**evidence, **sets})  # type: ignore[arg-type] # fields by name


def test_a_stated_total_is_as_exact_as_tested_totals() -> None:
    exact = coverage(stated=1000, errors=[0.0, 0.0]).statement()
    assert (exact.by, exact.size.low, exact.size.high) == ("total", 1000, 1000)
    rough = coverage(stated=1000, errors=[0.1, 0.02], is_hedged=True).statement()
    assert rough.size.low <= 800
    assert rough.size.high >= 1200
    assert coverage(held=1200, stated=1000).statement().by == "bracket", "more records are held than stated"
    assert coverage(stated=1000, largest_totals=[1000] * 3).statement().by == "bracket", (
        "the source stops counting there"
    )


def test_a_complete_list_is_the_size_if_it_contains_independent_draws() -> None:
    listed = {str(i) for i in range(1000)}
    whole = coverage(held=1000, listed=listed, is_list_complete=True, drawn={str(i) for i in range(200)}).statement()
    assert whole.by == "list"
    assert 1000 <= whole.size.low <= whole.size.high <= 1020
    others = {str(i) for i in range(900, 1100)}
    assert coverage(held=1100, listed=listed, is_list_complete=True, drawn=others).statement().by == "bracket"


def test_the_fetched_share_of_a_list_is_estimated_by_recapture() -> None:
    half = coverage(
        held=500, listed={str(i) for i in range(500)}, drawn={str(i) for i in range(0, 1000, 5)}
    ).statement()
    assert half.by == "recaptured"
    assert half.size.low < 1000 < half.size.high


def test_the_last_pages_give_an_upper_bound() -> None:
    """With hardly any new record on the last pages, nearly everything is held; with mostly new records there is only a lower bound."""
    done, begun = coverage(held=1000), coverage(held=1000)
    done.pages.extend([(20, 20)] * 40)
    begun.pages.extend([(20, 1)] * 40)
    assert not done.statement().is_lower_bound
    assert done.statement().size.high < 1050
    assert begun.statement().is_lower_bound
    assert coverage(held=1000).statement().is_lower_bound, "no page was fetched"


def test_unconnected_records_raise_the_upper_bound() -> None:
    words = WordIndex()
    for i in range(50):
        words.add_record(str(i), f"alone{i} shared{i % 25}")
    lonely = CoverageEvidence(words, held=50)
    lonely.pages.extend([(20, 20)] * 40)
    assert lonely.unconnected() > 100
    assert lonely.statement().is_lower_bound


def test_unasked_words_raise_the_upper_bound() -> None:
    """Short texts share few words, so each unasked word may return new records."""
    short, long = WordIndex(), WordIndex()
    for i in range(200):
        short.add_record(str(i), f"form{i} stem{i} shared{i % 100}")
        long.add_record(str(i), " ".join([f"form{i} stem{i}", *(f"shared{j}" for j in range(40))]))
    high = []
    for words in (short, long):
        done = CoverageEvidence(words, held=200)
        done.pages.extend([(20, 20)] * 40)
        high.append(done.statement().size.high - UNCONNECTED * done.unconnected())
    assert high[0] > 230 > 205 > high[1]
