"""Pairs of words for capped queries: expected yields, exclusions, and learned operators."""

from upwell.choose.pairs import WordPairs, is_understood
from upwell.choose.word_candidates import WordYield


def french_towns(cap: int = 5) -> WordYield:
    """Return the words of ten records of one country in two regions, with a label in each."""
    index = WordYield(result_cap=cap, page_size=cap)
    for i in range(10):
        index.add_record(str(i), f"france fr label {'north' if i < 7 else 'south'} town{i}")
    return index


def test_the_pair_with_the_highest_expected_yield_comes_first() -> None:
    """Of 100 matches, 70 should be in the north and 30 in the south; labels and words without matches are excluded."""
    known = french_towns()
    pairs = WordPairs(known)
    pairs.add_capped("france", 100)
    first = pairs.next()
    assert first is not None
    assert first.b in ("north", "south")
    assert first.query in ("france north", "france south")
    known.asked("north", 0)
    known.asked("south", 0)
    again = pairs.next()
    assert again is None or again.b.startswith("town")


def test_a_synonym_of_a_capped_query_is_ignored() -> None:
    """A country and its code have the same matches."""
    pairs = WordPairs(french_towns())
    pairs.add_capped("the", 100)
    pairs.add_capped("france", 100)
    pairs.add_capped("fr", 101)
    assert "fr" not in pairs._matches
    assert "france" in pairs._matches


def test_supported_operators_are_learned() -> None:
    """After five answers that do not contain both words, another way of writing is tried."""
    pairs = WordPairs(french_towns())
    pairs.add_capped("france", 100)
    pair = pairs.next()
    assert pair is not None
    pairs.asked(pair)
    pairs.add_first_page(pair, [f"{pair.a} {pair.b} x"] * 4, 30)
    assert pairs.understood == {"and": "{a} {b}"}
    other = WordPairs(french_towns())
    other.add_capped("france", 100)
    for _ in range(5):
        pair = other.next()
        assert pair is not None
        other.add_first_page(pair, ["something else"] * 4, 200)
    assert other._forms["and"][0] == "{a} AND {b}"
    assert other.understood == {}


def test_the_total_of_the_second_word_bounds_the_yield_of_a_pair() -> None:
    known = french_towns(50)
    pairs = WordPairs(known)
    pairs.add_capped("france", 100)
    known.set_exhausted("north")
    first = pairs.next()
    assert first is not None
    assert first.b == "south"
    known.set_total("south", 4)  # three are held
    again = pairs.next()
    assert again is None or again.operator == "not" or again.b not in ("north", "south") or again.expected < 1


def test_a_capped_pair_is_narrowed_again_and_asked_once_in_any_word_order() -> None:
    known = WordYield(result_cap=50, page_size=50)
    for i in range(20):
        known.add_record(str(i), f"france {'north' if i < 12 else 'south'} {'coast' if i % 2 else 'inland'} town{i}")
    pairs = WordPairs(known)
    pairs.add_capped("france", 200)
    pairs.add_capped("france north", 60, ("france", "north"))
    asked: list[object] = []
    while (pair := pairs.next()) is not None and len(asked) < 12:
        pairs.asked(pair)
        asked.append(frozenset(pair.words) if pair.operator == "and" else pair.query)
    assert frozenset(("france", "north", "coast")) in asked
    assert len(set(asked)) == len(asked)


def test_yields_are_calibrated_by_earlier_pairs() -> None:
    pairs = WordPairs(french_towns(50))
    pairs.add_capped("france", 100)
    pair = pairs.next()
    assert pair is not None
    before = pair.expected
    for _ in range(5):
        pairs.observe_page(pair, 0)
    again = pairs.next()
    assert again is not None
    assert again.expected < before


def test_operators_are_recognised_by_the_texts_of_an_answer() -> None:
    """An answer to an OR, or one that is not smaller, does not count as support."""
    assert is_understood("and", "red", "car", ["a red car", "car, red"], alone=9)
    assert not is_understood("and", "red", "car", ["a red car", "a red tree"], alone=9)
    assert is_understood("not", "red", "car", ["a red tree"], alone=9)
    assert not is_understood("not", "red", "car", ["a red car"], alone=9)
    assert is_understood("phrase", "red", "car", ["the red car"], alone=9)
    assert not is_understood("phrase", "red", "car", ["car red"], alone=9)
    assert not is_understood("and", "red", "car", [], alone=9)
    assert not is_understood("and", "red", "car", ["red car"] * 10, alone=9)
