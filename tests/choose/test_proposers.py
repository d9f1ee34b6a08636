"""Questions of one's own, and of a knowledge base, are compared with all others."""

from upwell.choose.candidates import AnswerPage, Candidate, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.expected_yield import ExpectedYield
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
from upwell.choose.prefix_queries import PrefixQueries
from upwell.choose.word_candidates import WordYield
from upwell.choose.word_index import WordIndex
from upwell.papers.entity import Knowledge
from upwell.source.model import SourceModel
from upwell.types import FormInterface, Record


class Zips:
    """A proposer as a person would write it."""

    def __init__(self, words: WordIndex) -> None:
        self.left, self.heard, self.held = ["10115", "80331"], list[tuple[str, int, int]](), 0

    def propose(self) -> tuple[str, ExpectedYield] | None:
        return (self.left[0], ExpectedYield(10_000, 10)) if self.left else None

    def observe(self, query: str, matches: int, new: int) -> None:
        self.heard.append((query, matches, new))
        self.left = [zip_code for zip_code in self.left if zip_code != query]

    def hold(self, text: str) -> None:
        self.held += 1


def chooser(plan: Plan) -> Chooser:
    interface = FormInterface(method="GET", url="http://h/", query_field="q")
    ledger = SourceLedger(interface=interface, model=SourceModel(), page_size=20)
    return Chooser(ledger, plan, language="en", takes_text=True, is_about=False)


def ask(one: Chooser, texts: list[str]) -> str:
    chosen = one.next()
    assert chosen is not None
    query = chosen if isinstance(chosen, OpenQuery) else one.open(chosen)
    records = [Record(key=text, url=None, path="", text=text) for text in texts]
    one.take(query, AnswerPage(records=records, wanted=records))
    return query.query


def test_a_proposer_of_ones_own() -> None:
    """It is asked when it promises most, and hears what came."""
    one = chooser(Plan(proposers=(Zips,)))
    zips = one.proposers[0]
    assert isinstance(zips, Zips)
    assert ask(one, ["berlin mitte"]) == "10115"
    assert ask(one, []) == "80331"
    assert zips.heard == [("10115", 1, 1), ("80331", 0, 0)]
    assert zips.held == 1


def test_names_of_a_knowledge_base_are_asked() -> None:
    """Without a log: the names of the types that the records mention, and that none of them shows."""
    names = [f"given{i} family{i}" for i in range(200)]
    base = Knowledge.of_rows([("book", "author", name) for name in names] + [("film", "title", "other thing")] * 3)
    one = chooser(Plan(knowledge=base))
    first = one.open(Candidate(query="x"))
    records = [Record(key=str(i), url=None, path="", text=f"unique{i} by {names[i]}") for i in range(60)]
    one.take(first, AnswerPage(records=records, wanted=records))
    asked = [ask(one, []) for _ in range(60)]
    assert set(asked) & set(names[60:])


def test_related_queries_are_asked_where_first_pages_are_wanted() -> None:
    """Queries that an answer links to are questions of a representative harvest; one that fails is not proposed again."""
    one = chooser(Plan(goal="representative"))
    records = [Record(key=str(i), url=None, path="", text=f"thing{i}") for i in range(20)]
    first = one.open(Candidate(query="first"))
    one.take(first, AnswerPage(records=records, wanted=records, related=("green tea", "black tea", "first")))
    asked = one.next()
    assert isinstance(asked, Candidate)
    assert asked.query == "green tea"
    failing = one.open(asked)
    one.fail(failing)
    one.fail(failing)
    assert ask(one, ["tea"]) == "black tea"


def test_related_queries_are_left_alone_where_everything_is_wanted() -> None:
    """A complete harvest walks answers to their end; it does not ask what they link to."""
    one = chooser(Plan())
    records = [Record(key=str(i), url=None, path="", text=f"thing{i}") for i in range(20)]
    one.take(one.open(Candidate(query="first")), AnswerPage(records=records, wanted=records, related=("green tea",)))
    asked = one.next()
    assert isinstance(asked, Candidate)
    assert asked.query != "green tea"


def test_beginnings_are_given_up_where_the_star_means_nothing() -> None:
    """The first trials are no words themselves; two that bring nothing end them, one that matches opens the rest."""
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
    assert second[0] == "in*"  # most records have it, and it is a word itself


def test_texts_that_differ_with_the_query() -> None:
    """Of matches that were held before, it counts whose held text has the word: what a passage shows now says nothing of that."""
    words = WordIndex(keeps_stop_words=True)
    for n in range(6):
        words.add_record(str(n), "lima rome" if n < 2 else "rome")
    query = OpenQuery(Candidate(query="lima"))
    for n in range(6):
        query.note_held(words, str(n))
    assert query.share_shown_before == 2 / 6
