"""Names of a knowledge base as candidates: of the types that records mention, unseen names first, none twice."""

from upwell.choose.proposers import MAX_FRUITLESS_NAMES, MIN_RECORDS, KnowledgeNames
from upwell.papers.entity import EntityType, Knowledge

AUTHOR, BAND, CITY = EntityType("book", "author"), EntityType("music", "band"), EntityType("place", "city")


def base() -> Knowledge:
    rows = [("book", "author", f"Jane Writer{i}") for i in range(60)]
    rows += [("music", "band", f"The Players{i}") for i in range(60)]
    rows += [("place", "city", f"Port Harbour{i}") for i in range(60)]
    return Knowledge.of_rows(rows)


def held(records: int, *, bands: bool = False) -> KnowledgeNames:
    """Return the names to ask when records of the first 20 authors are held, optionally with a band each."""
    names_to_ask = KnowledgeNames(base())
    for i in range(records):
        names_to_ask.hold(f"A story by Jane Writer{i % 20}" + (f" with The Players{i % 20}" if bands else ""))
    return names_to_ask


def asked_until_none(names_to_ask: KnowledgeNames, matches: int) -> list[str]:
    names = []
    while (name := names_to_ask.next()) is not None:
        names.append(name)
        names_to_ask.observe(name, matches)
    return names


def test_no_name_is_asked_before_enough_records_are_held() -> None:
    """A source whose records mention no type is asked for no name."""
    assert KnowledgeNames(base()).next() is None
    assert held(MIN_RECORDS - 1).next() is None
    assert held(MIN_RECORDS).next() is not None
    other = KnowledgeNames(base())
    for _ in range(3 * MIN_RECORDS):
        other.hold("a recipe for bread")
    assert other.next() is None


def test_unseen_names_come_first_and_none_twice() -> None:
    """All names of the mentioned type: the 40 that no record mentions, then the other 20."""
    names_to_ask = held(MIN_RECORDS)
    assert names_to_ask.next() == names_to_ask.next()  # until it is asked
    assert names_to_ask.types == [AUTHOR]
    names = asked_until_none(names_to_ask, 1)
    assert len(names) == len(set(names)) == 60
    assert {int(name.removeprefix("jane writer")) for name in names[:40]} == set(range(20, 60))


def test_names_that_were_asked_or_seen_meanwhile_are_skipped() -> None:
    """A query of the user is not asked again; a name that a new record mentions goes to the end."""
    names_to_ask = held(MIN_RECORDS)
    first = names_to_ask.next()
    assert first is not None
    names_to_ask.asked(first.title())
    second = names_to_ask.next()
    assert second not in (first, None)
    names_to_ask.hold(f"{second}: her last book")
    assert names_to_ask.next() not in (first, second)
    names = asked_until_none(names_to_ask, 1)
    assert first not in names
    assert names.index(str(second)) >= 38


def test_a_type_without_matches_is_dropped() -> None:
    """Records mention two types; the names of one match nothing."""
    names_to_ask = held(MIN_RECORDS, bands=True)
    counts = {AUTHOR: 0, BAND: 0}
    assert names_to_ask.next() is not None
    assert set(names_to_ask.types) == {AUTHOR, BAND}
    while (name := names_to_ask.next()) is not None:
        kind = AUTHOR if "writer" in name else BAND
        counts[kind] += 1
        names_to_ask.observe(name, 3 if kind == AUTHOR else 0)
    assert counts == {AUTHOR: 60, BAND: MAX_FRUITLESS_NAMES}
    assert names_to_ask.types == [AUTHOR]


def test_the_match_chance_of_a_type_is_learned() -> None:
    names_to_ask = held(MIN_RECORDS)
    name = names_to_ask.next()
    assert (name is not None, names_to_ask.success) == (True, 1.0)
    for matches, success in ((0, 0.5), (0, 1 / 3), (1, 0.5)):
        names_to_ask.observe(str(names_to_ask.next()), matches)
        names_to_ask.next()
        assert names_to_ask.success == success


def test_types_are_ranked_again_when_the_records_have_doubled() -> None:
    names_to_ask = held(MIN_RECORDS)
    assert names_to_ask.next() is not None
    for i in range(MIN_RECORDS - 1):
        names_to_ask.hold(f"Port Harbour{i % 40} and The Players{i % 40}")
    names_to_ask.next()
    assert names_to_ask.types == [AUTHOR]
    names_to_ask.hold("Port Harbour1 and The Players1")
    names_to_ask.next()
    assert set(names_to_ask.types) == {AUTHOR, BAND, CITY}


def test_the_sequence_does_not_depend_on_the_order_of_the_knowledge_base() -> None:
    """The iteration order of a set of strings differs between processes."""
    turned = Knowledge({kind: frozenset(sorted(names, reverse=True)) for kind, names in base().types.items()})
    first, second = held(MIN_RECORDS), KnowledgeNames(turned)
    for i in range(MIN_RECORDS):
        second.hold(f"A story by Jane Writer{i % 20}")
    assert asked_until_none(first, 1) == asked_until_none(second, 1)
