"""The coverage statement from each kind of evidence."""

from collections.abc import Sequence

import numpy as np
import pytest

from upwell.arrays.key_set import KeySet
from upwell.choose.coverage import CoverageEvidence, CoverageStatement, ListView
from upwell.choose.record_numbers import RecordNumbers
from upwell.choose.size_sample import SampledQuery, SizeSample
from upwell.choose.word_index import WordIndex
from upwell.types import Record


def coverage(held: int = 100, **evidence: object) -> CoverageEvidence:
    sets = {name: KeySet(keys) for name, keys in evidence.items() if isinstance(keys, set)}
    return CoverageEvidence(WordIndex(), held=held, **{**evidence, **sets})  # type: ignore[arg-type] # fields by name


def test_a_stated_total_is_as_exact_as_tested_totals() -> None:
    exact = coverage(stated=1003, errors=[0.0, 0.0]).statement()
    assert (exact.by, exact.state, exact.size.low, exact.size.high) == ("total", "exact", 1003, 1003)
    assert coverage(stated=1003).statement().state == "estimated", "no total was tested"
    rough = coverage(stated=1003, errors=[0.1, 0.02], is_hedged=True).statement()
    assert rough.size.low <= 803
    assert rough.size.high >= 1200
    assert coverage(held=1200, stated=1003).statement().by == "bracket", "more records are held than stated"
    assert coverage(stated=1003, largest_totals=[1003] * 3).statement().by == "bracket", (
        "the source stops counting there"
    )
    assert coverage(stated=1000, errors=[0.0]).statement().by == "bracket", "it may stop counting at a round number"


def test_a_total_that_nothing_tests_is_tested_by_a_few_drawn_queries() -> None:
    untested, tested = coverage(stated=459), coverage(stated=459, errors=[0.0])
    assert untested.needs_sample
    assert not tested.needs_sample
    untested.sample = SizeSample(untested.words)
    untested.sample.queries = [SampledQuery("a", 0.1, 100, 1)] * 4
    assert not untested.needs_sample, "their answers were too short to test it"


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


def test_few_draws_give_a_wide_interval_and_hardly_any_give_none() -> None:
    """Records of one answer resemble each other, so several count as one, and the lower end is what is held."""
    listed = {str(i) for i in range(500)}

    def after(drawn: set[str]) -> CoverageStatement:
        return coverage(held=500, listed=listed, drawn=drawn).statement()

    few, many = after({str(i) for i in range(0, 1000, 60)}), after({str(i) for i in range(0, 1000, 5)})
    assert few.state == many.state == "estimated"
    assert few.size.low == many.size.low == 500
    assert 1000 < many.size.high < few.size.high
    assert after({"1", "2", "700", "800"}).state == "at least", "four records"
    assert coverage(held=500, listed=listed, drawn=listed, is_linked_list=True).statement().is_lower_bound


def test_a_query_for_everything_that_ends_at_the_result_cap_is_no_list() -> None:
    """It never lists more, so its share of the records drawn says little, and less than what is held."""
    first = {str(i) for i in range(50)}
    others = {str(i) for i in range(44, 52)} | {str(i) for i in range(30)}
    for evidence in ({"held": 97}, {"held": 52, "is_list_capped": True}):
        assert coverage(listed=first, drawn=others, **evidence).statement().by == "bracket"
    assert coverage(held=52, listed=first, drawn=others).statement().by == "recaptured"


def test_the_last_pages_give_an_upper_bound() -> None:
    """With hardly any new record on the last pages, nearly everything is held; with mostly new records there is only a lower bound."""
    done, begun = coverage(held=1000), coverage(held=1000)
    done.pages.extend([(20, 20)] * 40)
    begun.pages.extend([(20, 1)] * 40)
    assert not done.statement().is_lower_bound
    assert done.statement().size.high < 1100
    assert begun.statement().is_lower_bound
    assert coverage(held=1000).statement().is_lower_bound, "no page was fetched"


def test_many_new_records_do_not_raise_the_bound_by_more_than_the_margin() -> None:
    """A third of the last records was held: the pages are too optimistic already, so the bound is at most four times what is held."""
    third, one_page = coverage(held=1000), coverage(held=1000, is_one_page=True)
    for evidence in (third, one_page):
        evidence.pages.extend([(20, 7), (20, 6), (20, 7)] * 5)
    assert third.statement().state == "estimated"
    assert 3000 < third.statement().size.high < 4200
    assert one_page.statement().is_lower_bound, "pages of different queries return the same records"


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
    expected = [CoverageEvidence(words, held=200).expected_from_unasked(0.1) for words in (short, long)]
    assert expected[0] > 30 > 5 > expected[1]


def lists(held: int, *views: ListView, **evidence: object) -> CoverageStatement:
    return coverage(held, is_only_lists=True, lists=list(views), **evidence).statement()


def keys(*numbers: int) -> KeySet:
    return KeySet(str(i) for i in range(*numbers))


def test_a_list_does_not_vouch_for_itself() -> None:
    """A list read to its end shows what it contains; only a second view shows whether that is all."""
    alone = lists(600, ListView(keys(600), is_read=True))
    assert (alone.state, alone.size.low) == ("at least", 600)
    counted = lists(600, ListView(keys(600), is_read=True, stated=600))
    assert counted.state == "estimated"
    assert counted.size.high > 600, "a total of a list is no proof that nothing is left out"
    two = lists(600, ListView(keys(600), is_read=True, stated=600), ListView(keys(600), is_read=True))
    assert two.state == "exact", "the list, its total and another list agree"


@pytest.mark.parametrize(
    "contradiction",
    [
        ListView(keys(30), is_read=False),  # a sibling list that was not read
        ListView(keys(30), is_read=True, stated=40, is_short=True),  # a list that ended before its total
        ListView(keys(30), is_read=True, stated=1896),  # a count that exceeds what is held
        ListView(keys(900), is_sitemap=True, is_read=True),  # a sitemap that names more
    ],
)
def test_other_views_contradict_the_end_of_a_list(contradiction: ListView) -> None:
    statement = lists(600, ListView(keys(600), is_read=True, stated=600), contradiction)
    assert statement.state == "at least"
    assert statement.size.low >= 600


def test_two_lists_that_overlap_estimate_what_both_leave_out() -> None:
    """Lists that each leave out some of 1,000 records (capture–recapture)."""
    rng = np.random.default_rng(0)
    some = [KeySet(str(i) for i in rng.choice(1000, 700, replace=False)) for _ in range(2)]
    union = KeySet()
    for part in some:
        union.update_hashes(part.hashes())
    statement = lists(len(union), *(ListView(part, is_read=True) for part in some))
    assert statement.state == "estimated"
    assert statement.size.low < 1000 < statement.size.high


def test_one_view_never_proves_a_size() -> None:
    with pytest.raises(ValueError, match="one view"):
        CoverageStatement.exact(100, "total", ("stated total",))


def test_an_estimate_below_the_records_held_is_void() -> None:
    statement = coverage(held=1200, stated=1000, errors=[0.0])
    statement.pages.extend([(20, 20)] * 40)
    assert statement.statement().size.low >= 1200


def numbers_of(*pages: Sequence[int]) -> RecordNumbers:
    """Return the record numbers of some pages, each of which returned its records in this order."""
    noted, held = RecordNumbers(), set[str]()
    for page in pages:
        keys = [f"http://a/item/{number}" for number in page]
        noted.note(keys, [key for key in keys if key not in held])
        held.update(keys)
    return noted


def pages_of(numbers: Sequence[int]) -> list[Sequence[int]]:
    return [numbers[at : at + 20] for at in range(0, len(numbers), 20)]


def test_record_numbers_bound_the_size_unless_they_grow_while_a_list_is_read() -> None:
    rng = np.random.default_rng(0)
    by_chance = numbers_of(*pages_of((rng.permutation(1000)[:600] + 1).tolist()))
    most = by_chance.most()
    assert most is not None
    assert 1000 <= most < 1100
    assert numbers_of(*pages_of(range(1, 601))).most() is None
    descending = numbers_of(*pages_of(range(1000, 400, -1)))
    newest_first = descending.most()
    assert newest_first is not None
    assert 1000 <= newest_first < 1050
    assert not descending.has_no_gaps
    codes, keys = RecordNumbers(), [f"http://a/item/{i % 20}-{i}" for i in range(600)]
    codes.note(keys, keys)
    assert codes.most() is None, "the numbers do not identify the records"


def test_pages_in_ascending_order_say_nothing_about_the_newest_record() -> None:
    """A list in ascending order was read nearly to its end, after some queries had returned large numbers by chance."""
    rng = np.random.default_rng(0)
    by_chance = [(rng.permutation(1680)[:3] + 1).tolist() for _ in range(20)]
    by_chance[0].append(1681)
    most = numbers_of(*by_chance, *pages_of(range(1, 1661))).most()
    assert most is not None
    assert most > 1800, "as uncertain as sixty numbers are"
    assert numbers_of(*by_chance[:5], *pages_of(range(1, 1661))).most() is None


def test_numbers_that_were_given_out_contradict_the_end_of_a_list_in_any_order() -> None:
    """A list in ascending order says nothing about the newest number, but the largest one was given out."""
    ascending, dense = numbers_of(*pages_of(range(8, 4808, 8))), numbers_of(*pages_of(range(1, 601)))
    assert ascending.most() is None
    assert ascending.given_out == 4800
    view = ListView(keys(600), is_read=True, stated=600)
    assert lists(600, view, numbers=ascending).state == "at least"
    assert lists(600, view, numbers=dense).state == "estimated"


def sample_of(texts: Sequence[str], found_by: Sequence[str]) -> SizeSample:
    """Return a sample of a source of which every other record is held; `found_by`: what is searched of each record."""
    words, held = WordIndex(page_size=50), KeySet()
    for i in range(0, len(texts), 2):
        words.add_record(str(i), texts[i])
        held.update([str(i)])
    sample = SizeSample(words)
    for _ in range(120):
        drawn = sample.next(50)
        assert drawn is not None
        found = [i for i, text in enumerate(found_by) if drawn.query in text.split()]
        sample.add(drawn, [Record(key=str(i), url=None, path="", text=texts[i]) for i in found], held)
        drawn.is_complete = len(found) <= 50
    sample.note_new(texts[1:200:2])
    return sample


def drawn_texts() -> list[str]:
    rng = np.random.default_rng(1)
    return [" ".join(f"w{w}" for w in rng.zipf(1.3, rng.integers(4, 20)) % 400) for _ in range(1000)]


def test_queries_drawn_at_random_estimate_the_size() -> None:
    """The estimate is right although frequent words are drawn more often and records differ in their number of words."""
    texts = drawn_texts()
    sample = sample_of(texts, texts)
    size = sample.size(500, 1000.0)
    assert size is not None
    assert size.low < 1000 < size.high
    assert size.high - size.low < 300
    assert {row["query"] for row in sample.rows()} == {drawn.query for drawn in sample.queries}
    assert sample.size(1400, 1400.0) is None, "more is held than the sample allows"


def test_words_that_are_shown_but_not_searched_do_not_lower_the_estimate() -> None:
    """Each record shows numbers of its own and a column that the source does not search."""
    texts = drawn_texts()
    shown = [f"{text} n{i} n{i}a c{i % 97}" for i, text in enumerate(texts)]
    size = sample_of(shown, texts).size(500, 1000.0)
    assert size is not None
    assert size.low < 1000 < size.high
    assert size.estimate > 800
