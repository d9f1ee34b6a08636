"""Two-word queries for words that overflow: what is expected of them, what is left out, and what a source understands."""

from upwell.choose.pairs import WordPairs
from upwell.choose.word_candidates import WordYield


def frontier(limit: int = 5) -> WordYield:
    """Ten records of one country in two regions, with a label in each."""
    found = WordYield(result_cap=limit, page_size=limit)
    for i in range(10):
        found.add_record(str(i), f"france fr label {'north' if i < 7 else 'south'} town{i}")
    return found


def test_the_pair_that_should_bring_most_comes_first() -> None:
    """Of 100 matches, 70 should be in the north and 30 in the south; labels narrow nothing, nor do words that match nothing."""
    known = frontier()
    pairs = WordPairs(known)
    pairs.add_cut_off("france", 100)
    first = pairs.next()
    assert first is not None
    assert first.b in ("north", "south")
    assert first.query in ("france north", "france south")
    known.asked("north", 0)
    known.asked("south", 0)
    again = pairs.next()
    assert again is None or again.b.startswith("town")


def test_a_word_for_the_same_records_is_not_paired_again() -> None:
    """A country and its code overflow alike; a word that no record shows can be one too."""
    pairs = WordPairs(frontier())
    pairs.add_cut_off("the", 100)
    pairs.add_cut_off("france", 100)
    pairs.add_cut_off("fr", 101)
    assert "fr" not in pairs._matches
    assert "france" in pairs._matches


def test_what_is_understood_is_learned() -> None:
    """Answers that all show both words and are fewer than for the first alone: understood. Five that are not: another way is tried."""
    pairs = WordPairs(frontier())
    pairs.add_cut_off("france", 100)
    pair = pairs.next()
    assert pair is not None
    pairs.asked(pair)
    pairs.add_first_page(pair, [f"{pair.a} {pair.b} x"] * 4, 30)
    assert pairs.understood == {"and": "{a} {b}"}
    other = WordPairs(frontier())
    other.add_cut_off("france", 100)
    for _ in range(5):
        pair = other.next()
        assert pair is not None
        other.add_first_page(pair, ["something else"] * 4, 200)
    assert other._forms["and"][0] == "{a} AND {b}"
    assert other.understood == {}


def test_words_whose_matches_all_came_bring_nothing_beside_others() -> None:
    """What the source says of the second word bounds what can be missing of both."""
    known = frontier(50)
    pairs = WordPairs(known)
    pairs.add_cut_off("france", 100)
    known.set_exhausted("north")
    first = pairs.next()
    assert first is not None
    assert first.b == "south"
    known.set_total("south", 4)  # one more than is held
    again = pairs.next()
    assert again is None or again.operator == "not" or again.b not in ("north", "south") or again.expected < 1


def test_a_pair_that_overflows_is_narrowed_again_and_asked_once_whatever_its_order() -> None:
    known = WordYield(result_cap=50, page_size=50)
    for i in range(20):
        known.add_record(str(i), f"france {'north' if i < 12 else 'south'} {'coast' if i % 2 else 'inland'} town{i}")
    pairs = WordPairs(known)
    pairs.add_cut_off("france", 200)
    pairs.add_cut_off("france north", 60, ("france", "north"))
    asked: list[object] = []
    while (pair := pairs.next()) is not None and len(asked) < 12:
        pairs.asked(pair)
        asked.append(frozenset(pair.words) if pair.operator == "and" else pair.query)
    assert frozenset(("france", "north", "coast")) in asked
    assert len(set(asked)) == len(asked)


def test_what_such_pairs_brought_is_expected_of_the_next() -> None:
    """WordPairs with a word of one record that bring nothing make way for others."""
    pairs = WordPairs(frontier(50))
    pairs.add_cut_off("france", 100)
    pair = pairs.next()
    assert pair is not None
    before = pair.expected
    for _ in range(5):
        pairs.observe_page(pair, 0)
    again = pairs.next()
    assert again is not None
    assert again.expected < before
