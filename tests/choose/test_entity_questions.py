"""Names of a knowledge base while harvesting: the right types, what is not held first, nothing twice, fruitless types left."""

from upwell.choose.proposers import MAX_FRUITLESS_NAMES, MIN_RECORDS, KnowledgeNames
from upwell.papers.entity import EntityNames, EntityType, Knowledge

AUTHOR, BAND, CITY = EntityType("book", "author"), EntityType("music", "band"), EntityType("place", "city")


def base() -> Knowledge:
    rows = [("book", "author", f"Jane Writer{i}") for i in range(60)]
    rows += [("music", "band", f"The Players{i}") for i in range(60)]
    rows += [("place", "city", f"Port Harbour{i}") for i in range(60)]
    return Knowledge.of_rows(rows)


def held(records: int, *, bands: bool = False) -> KnowledgeNames:
    """Questions that hold records by the first 20 authors, each with a band too if wanted."""
    questions = KnowledgeNames(base())
    for i in range(records):
        questions.hold(f"A story by Jane Writer{i % 20}" + (f" with The Players{i % 20}" if bands else ""))
    return questions


def asked_until_none(questions: KnowledgeNames, matches: int) -> list[str]:
    names = []
    while (name := questions.next()) is not None:
        names.append(name)
        questions.observe(name, matches)
    return names


def test_nothing_is_asked_before_enough_is_held() -> None:
    """The types of a few records would be chance; a source about something else is asked nothing."""
    assert KnowledgeNames(base()).next() is None
    assert held(MIN_RECORDS - 1).next() is None
    assert held(MIN_RECORDS).next() is not None
    other = KnowledgeNames(base())
    for _ in range(3 * MIN_RECORDS):
        other.hold("a recipe for bread")
    assert other.next() is None


def test_names_not_shown_come_first_and_none_twice() -> None:
    """Of the type that the records mention, all names: the 40 that are not held, then the 20 that are."""
    questions = held(MIN_RECORDS)
    assert questions.next() == questions.next()  # until it is asked
    assert questions.types == [AUTHOR]
    names = asked_until_none(questions, 1)
    assert len(names) == len(set(names)) == 60
    assert {int(name.removeprefix("jane writer")) for name in names[:40]} == set(range(20, 60))


def test_what_was_asked_otherwise_or_is_shown_since_is_passed_over() -> None:
    """A query of the user or of a log is not asked again; a name that a new record shows goes to the end."""
    questions = held(MIN_RECORDS)
    first = questions.next()
    assert first is not None
    questions.asked(first.title())
    second = questions.next()
    assert second not in (first, None)
    questions.hold(f"{second}: her last book")
    assert questions.next() not in (first, second)
    names = asked_until_none(questions, 1)
    assert first not in names
    assert names.index(str(second)) >= 38


def test_a_fruitless_type_is_dropped_and_a_fruitful_one_goes_on() -> None:
    """Two types are mentioned; the names of one match nothing."""
    questions = held(MIN_RECORDS, bands=True)
    counts = {AUTHOR: 0, BAND: 0}
    assert questions.next() is not None
    assert set(questions.types) == {AUTHOR, BAND}
    while (name := questions.next()) is not None:
        kind = AUTHOR if "writer" in name else BAND
        counts[kind] += 1
        questions.observe(name, 3 if kind == AUTHOR else 0)
    assert counts == {AUTHOR: 60, BAND: MAX_FRUITLESS_NAMES}
    assert questions.types == [AUTHOR]


def test_the_chance_of_a_match_is_learned() -> None:
    """`success` of the name given last is for the caller to weigh it against other questions."""
    questions = held(MIN_RECORDS)
    name = questions.next()
    assert (name is not None, questions.success) == (True, 1.0)
    for matches, success in ((0, 0.5), (0, 1 / 3), (1, 0.5)):
        questions.observe(str(questions.next()), matches)
        questions.next()
        assert questions.success == success


def test_types_are_ranked_again_when_twice_as_much_is_held() -> None:
    """What the first records mention may be a corner of the source."""
    questions = held(MIN_RECORDS)
    assert questions.next() is not None
    for i in range(MIN_RECORDS - 1):
        questions.hold(f"Port Harbour{i % 40} and The Players{i % 40}")
    questions.next()
    assert questions.types == [AUTHOR]
    questions.hold("Port Harbour1 and The Players1")
    questions.next()
    assert set(questions.types) == {AUTHOR, BAND, CITY}


def test_the_order_does_not_depend_on_the_order_of_the_base() -> None:
    """Sets of texts have another order in every process."""
    turned = Knowledge({kind: frozenset(sorted(names, reverse=True)) for kind, names in base().types.items()})
    first, second = held(MIN_RECORDS), KnowledgeNames(turned)
    for i in range(MIN_RECORDS):
        second.hold(f"A story by Jane Writer{i % 20}")
    assert asked_until_none(first, 1) == asked_until_none(second, 1)


def test_every_name_of_a_long_text_is_found() -> None:
    """Unlike in a query, where only the longest mention counts; at each word the longest name wins."""
    names = EntityNames(["new york", "new york times", "times square", "lima"])
    words = ["the", "new", "york", "times", "of", "lima", "on", "times", "square", "in", "new", "york"]
    assert list(names.all_mentions(words)) == ["new york times", "lima", "times square", "new york"]


def test_the_names_of_a_base_are_indexed_once() -> None:
    """All sources share them."""
    knowledge = base()
    assert knowledge.names is knowledge.names
