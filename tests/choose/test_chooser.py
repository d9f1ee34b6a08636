"""The choice of the next request, and the results of queries."""

from upwell.answers.totals import StatedTotals
from upwell.choose.candidates import AnswerPage, Candidate
from upwell.choose.chooser import Chooser
from upwell.choose.expected_yield import ExpectedYield, advantage, new_per_request
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
from upwell.source.model import SourceModel
from upwell.types import FormInterface, Record


def test_a_miss_costs_one_request_and_of_equal_yields_the_longer_wins() -> None:
    sure, unsure = ExpectedYield(1000, 100), ExpectedYield(1000, 100, chance=0.5)
    assert new_per_request(sure) == 10
    assert 9 < new_per_request(unsure) < 10
    assert advantage(ExpectedYield(1000, 100), best=10) > advantage(ExpectedYield(10, 1), best=10)


def test_queries_without_matches_lower_the_match_chance_of_their_class() -> None:
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
    assert chooser.words.match_chances()[chooser.words.classes[number]] <= 2 / 30


def test_a_failed_page_is_retried_and_then_postponed() -> None:
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


def test_a_page_at_its_stated_cap_teaches_the_cap_without_a_pager() -> None:
    """It lacks no pager, though it states more matches than it shows."""
    interface = FormInterface(method="GET", url="http://h/", query_field="q")
    chooser = Chooser(
        SourceLedger(interface=interface, model=SourceModel()), Plan(), language="en", takes_text=True, is_about=False
    )
    records = [Record(key=str(i), url=None, path="", text=f"city {i}") for i in range(40)]
    totals = StatedTotals(total=136, cap=40)
    chooser.take(chooser.open(Candidate(query="city")), AnswerPage(records=records, totals=totals, is_open=True))

    assert chooser.ledger.result_cap == 40


def test_only_matches_about_the_topic_count_as_drawn() -> None:
    """A word also returns matches that are not about the topic and not kept; they say nothing about the list of those that are."""
    interface = FormInterface(method="GET", url="http://h/", query_field="q")
    ledger = SourceLedger(interface=interface, model=SourceModel())
    chooser = Chooser(ledger, Plan(about="red"), language="en", takes_text=True, is_about=True)
    records = [Record(key=str(i), url=None, path="", text=f"{'red' if i < 3 else 'blue'} car {i}") for i in range(9)]
    query = chooser.open(Candidate(query="car", kind="word", word="car"))
    chooser.take(query, AnswerPage(records=records, wanted=records[:3]))
    assert len(ledger) == len(ledger.coverage.drawn) == 3
