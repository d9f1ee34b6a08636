"""Proposers: plug-ins, knowledge bases, related queries and prefixes are compared with all other candidates."""

from upwell.choose.candidates import AnswerPage, Candidate, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.expected_yield import ExpectedYield
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
from upwell.choose.prefix_queries import PrefixQueries
from upwell.choose.proposers import LogQueries
from upwell.choose.word_candidates import WordYield
from upwell.choose.word_index import WordIndex
from upwell.papers.entity import Knowledge
from upwell.source.model import SourceModel
from upwell.types import FormInterface, Record


class Zips:
    """A proposer as a user would write it."""

    def __init__(self, words: WordIndex) -> None:
        self.left, self.observed, self.held = ["10115", "80331"], list[tuple[str, int, int]](), 0

    def propose(self) -> tuple[str, ExpectedYield] | None:
        return (self.left[0], ExpectedYield(10_000, 10)) if self.left else None

    def observe(self, query: str, matches: int, new: int) -> None:
        self.observed.append((query, matches, new))
        self.left = [zip_code for zip_code in self.left if zip_code != query]

    def hold(self, text: str) -> None:
        self.held += 1


def make_chooser(plan: Plan) -> Chooser:
    interface = FormInterface(method="GET", url="http://h/", query_field="q")
    ledger = SourceLedger(interface=interface, model=SourceModel(), page_size=20)
    return Chooser(ledger, plan, language="en", takes_text=True, is_about=False)


def ask(chooser: Chooser, texts: list[str]) -> str:
    chosen = chooser.next()
    assert chosen is not None
    query = chosen if isinstance(chosen, OpenQuery) else chooser.open(chosen)
    records = [Record(key=text, url=None, path="", text=text) for text in texts]
    chooser.take(query, AnswerPage(records=records, wanted=records))
    return query.query


def test_a_plug_in_is_asked_and_observes_answers() -> None:
    chooser = make_chooser(Plan(proposers=(Zips,)))
    zips = chooser.proposers[0]
    assert isinstance(zips, Zips)
    assert ask(chooser, ["berlin mitte"]) == "10115"
    assert ask(chooser, []) == "80331"
    assert zips.observed == [("10115", 1, 1), ("80331", 0, 0)]
    assert zips.held == 1


def test_names_of_a_knowledge_base_are_asked() -> None:
    """Names of the type that the records mention, and that no record contains."""
    names = [f"given{i} family{i}" for i in range(200)]
    base = Knowledge.of_rows([("book", "author", name) for name in names] + [("film", "title", "other thing")] * 3)
    chooser = make_chooser(Plan(knowledge=base))
    first = chooser.open(Candidate(query="x"))
    records = [Record(key=str(i), url=None, path="", text=f"unique{i} by {names[i]}") for i in range(60)]
    chooser.take(first, AnswerPage(records=records, wanted=records))
    asked = [ask(chooser, []) for _ in range(60)]
    assert set(asked) & set(names[60:])


class Steady(Zips):
    """A proposer whose queries return five new records each."""

    def __init__(self, words: WordIndex) -> None:
        super().__init__(words)
        self.left = [f"steady{i}" for i in range(100)]

    def propose(self) -> tuple[str, ExpectedYield] | None:
        return self.left[0], ExpectedYield(5, 1)


def test_queries_of_a_log_are_candidates() -> None:
    """They are asked while they return more records than others would, those without a match among the records held first."""
    queries = [f"query{i}" for i in range(40)]
    counts = []
    for log_yield in (20, 0):
        chooser = make_chooser(Plan(log_queries=tuple(queries), proposers=(Steady,)))
        first = chooser.open(Candidate(query="x"))
        records = [Record(key=str(i), url=None, path="", text="query0") for i in range(20)]
        chooser.take(first, AnswerPage(records=records, wanted=records))
        proposed = next(each for each in chooser.proposers if isinstance(each, LogQueries)).propose()
        assert proposed is not None
        assert proposed[0] == "query1"
        asked = list[str]()
        for n in range(20):
            chosen = chooser.next()
            assert isinstance(chosen, Candidate)
            found = log_yield if chosen.query in queries else 5
            records = [Record(key=f"{n}/{i}", url=None, path="", text="") for i in range(found)]
            chooser.take(chooser.open(chosen), AnswerPage(records=records, wanted=records))
            asked.append(chosen.query)
        counts.append(len(set(asked) & set(queries)))
    assert counts[0] > 15
    assert 0 < counts[1] < 12


def test_related_queries_are_asked_in_representative_harvests() -> None:
    """A related query that fails is not proposed again."""
    chooser = make_chooser(Plan(goal="representative"))
    records = [Record(key=str(i), url=None, path="", text=f"thing{i}") for i in range(20)]
    first = chooser.open(Candidate(query="first"))
    chooser.take(first, AnswerPage(records=records, wanted=records, related=("green tea", "black tea", "first")))
    asked = chooser.next()
    assert isinstance(asked, Candidate)
    assert asked.query == "green tea"
    failing = chooser.open(asked)
    chooser.fail(failing)
    chooser.fail(failing)
    assert ask(chooser, ["tea"]) == "black tea"


def test_related_queries_are_not_asked_in_complete_harvests() -> None:
    chooser = make_chooser(Plan())
    records = [Record(key=str(i), url=None, path="", text=f"thing{i}") for i in range(20)]
    chooser.take(
        chooser.open(Candidate(query="first")), AnswerPage(records=records, wanted=records, related=("green tea",))
    )
    asked = chooser.next()
    assert isinstance(asked, Candidate)
    assert asked.query != "green tea"


def test_prefix_queries_stop_if_the_source_does_not_support_them() -> None:
    """The first prefixes are not words themselves; two without matches stop the rest, one with matches allows it."""
    words = WordYield(keeps_stop_words=True, page_size=10)
    for n, text in enumerate(["interest in", "interval in", "internal so", "in the inner place", "sort some"]):
        words.add_record(str(n), text)
    words.size = 50
    unknown, known = PrefixQueries(words), PrefixQueries(words)
    for _ in range(2):
        proposal = unknown.propose()
        assert proposal is not None
        assert words.records_with(proposal[0].removesuffix("*")) == 0
        unknown.observe(proposal[0], 0, 0)
    assert unknown.propose() is None
    first = known.propose()
    assert first is not None
    known.observe(first[0], 9, 7)
    assert (second := known.propose()) is not None
    assert second[0] == "in*"  # the most frequent prefix, which is also a word


def test_the_share_shown_is_measured_in_the_stored_texts() -> None:
    """Answers may show a different excerpt for each query."""
    words = WordIndex(keeps_stop_words=True)
    for n in range(6):
        words.add_record(str(n), "lima rome" if n < 2 else "rome")
    query = OpenQuery(Candidate(query="lima"))
    for n in range(6):
        query.note_held(words, str(n))
    assert query.share_shown_before == 2 / 6
