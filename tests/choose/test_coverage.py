"""How large a source is said to be, by each kind of evidence."""

from upwell.arrays.key_set import KeySet
from upwell.choose.candidates import AnswerPage, Candidate, ExpectedYield
from upwell.choose.chooser import Chooser
from upwell.choose.coverage import UNCONNECTED, Coverage
from upwell.choose.expected_yield import advantage, new_per_request
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
from upwell.choose.word_index import WordIndex
from upwell.source.model import SourceModel
from upwell.types import FormInterface, Record


def coverage(held: int = 100, **evidence: object) -> Coverage:
    sets = {name: KeySet(keys) for name, keys in evidence.items() if isinstance(keys, set)}
    return Coverage(WordIndex(), held=held, **{**evidence, **sets})  # type: ignore[arg-type] # fields by name


def test_a_stated_total_is_as_exact_as_totals_were() -> None:
    exact = coverage(stated=1000, errors=[0.0, 0.0]).statement()
    assert (exact.by, exact.size.low, exact.size.high) == ("total", 1000, 1000)
    rough = coverage(stated=1000, errors=[0.1, 0.02], is_hedged=True).statement()
    assert rough.size.low <= 800
    assert rough.size.high >= 1200
    assert coverage(held=1200, stated=1000).statement().by == "bracket", "more is held than was stated"
    assert coverage(stated=1000, largest_totals=[1000] * 3).statement().by == "bracket", "the source counts no further"


def test_a_list_walked_to_its_end_is_the_size_if_others_draw_nothing_else() -> None:
    listed = {str(i) for i in range(1000)}
    whole = coverage(held=1000, listed=listed, is_list_complete=True, drawn={str(i) for i in range(200)}).statement()
    assert whole.by == "list"
    assert 1000 <= whole.size.low <= whole.size.high <= 1020
    others = {str(i) for i in range(900, 1100)}
    assert coverage(held=1100, listed=listed, is_list_complete=True, drawn=others).statement().by == "bracket"


def test_how_much_of_a_list_has_come_is_what_others_drew_of_it() -> None:
    half = coverage(
        held=500, listed={str(i) for i in range(500)}, drawn={str(i) for i in range(0, 1000, 5)}
    ).statement()
    assert half.by == "recaptured"
    assert half.size.low < 1000 < half.size.high


def test_the_last_pages_bound_the_size_from_above() -> None:
    """A harvest that brings hardly anything new holds nearly everything; one that brings mostly new records says at least."""
    done, begun = coverage(held=1000), coverage(held=1000)
    done.pages.extend([(20, 20)] * 40)
    begun.pages.extend([(20, 1)] * 40)
    assert not done.statement().is_lower_bound
    assert done.statement().size.high < 1050
    assert begun.statement().is_lower_bound
    assert coverage(held=1000).statement().is_lower_bound, "nothing was seen yet"


def test_records_that_share_no_words_widen_it() -> None:
    words = WordIndex()
    for i in range(50):
        words.add_record(str(i), f"alone{i} shared{i % 25}")
    lonely = Coverage(words, held=50)
    lonely.pages.extend([(20, 20)] * 40)
    assert lonely.unconnected() > 100
    assert lonely.statement().is_lower_bound


def test_a_failure_costs_one_request_and_length_decides_between_equals() -> None:
    sure, unsure = ExpectedYield(1000, 100), ExpectedYield(1000, 100, chance=0.5)
    assert new_per_request(sure) == 10
    assert 9 < new_per_request(unsure) < 10
    assert advantage(ExpectedYield(1000, 100), best=10) > advantage(ExpectedYield(10, 1), best=10)


def test_a_query_that_matches_nothing_counts_once() -> None:
    """After 30 barren numbers the chance that another matches is small; an empty answer is no match."""
    interface = FormInterface(method="GET", url="http://h/", query_field="q")
    chooser = Chooser(
        SourceLedger(interface=interface, model=SourceModel()), Plan(), language="en", takes_text=True, is_about=False
    )
    records = [
        Record(key=str(i), url=None, path="", text=f"city {1000 + i}", fields={"n": str(1000 + i)}) for i in range(60)
    ]
    first = chooser.open(Candidate(query="city"))
    chooser.take(first, AnswerPage(records=records, wanted=records))
    for i in range(30):
        chooser.take(
            chooser.open(Candidate(query=str(1000 + i), kind="word", expected_yield=ExpectedYield(1, 1))), AnswerPage()
        )
    number = chooser.words.number("1040")
    assert chooser.words.chance[number] <= 2 / 30


def test_a_page_that_fails_is_asked_for_again_where_it_was() -> None:
    interface = FormInterface(method="GET", url="http://h/", query_field="q")
    chooser = Chooser(
        SourceLedger(interface=interface, model=SourceModel()), Plan(), language="en", takes_text=True, is_about=False
    )
    records = [Record(key=str(i), url=None, path="", text=f"city {i}") for i in range(20)]
    query = chooser.open(Candidate(query="city"))
    chooser.take(query, AnswerPage(records=records, wanted=records, has_next=True))
    chooser.fail(query)
    assert query in chooser.open_queries
    chooser.fail(query)
    assert query not in chooser.open_queries
    assert chooser.retry()
    assert query in chooser.open_queries
    assert query.pages.pages == 1


def test_many_words_left_and_few_of_each_record_widen_it() -> None:
    """Short texts that share few words: what the words not asked yet may bring counts, at the rate of the last pages."""
    short, long = WordIndex(), WordIndex()
    for i in range(200):
        short.add_record(str(i), f"form{i} stem{i} shared{i % 100}")
        long.add_record(str(i), " ".join([f"form{i} stem{i}", *(f"shared{j}" for j in range(40))]))
    high = []
    for words in (short, long):
        done = Coverage(words, held=200)
        done.pages.extend([(20, 20)] * 40)
        high.append(done.statement().size.high - UNCONNECTED * done.unconnected())
    assert high[0] > 230 > 205 > high[1]
