"""The next query while harvesting, what a source understands, and how big it is."""

import numpy as np
import pytest
from benchmarks.papers.text_source import Order, TextSource

from tests.papers.test_yuan import generated_texts
from upwell.choose import pairs as grammar
from upwell.choose import size
from upwell.choose import word_candidates as policy
from upwell.choose.word_index import Floats, SeenRecord
from upwell.discover.probe_words import dictionary_words, nonsense, probe_words, words_of_page
from upwell.page.tree import read
from upwell.papers.yuan import build_snapshot


def harvest(asks: policy.Policy, texts: list[str], source: TextSource, share: float) -> tuple[int, int, set[int]]:
    """Requests, results and what is held when so much is reached."""
    held: set[int] = set()
    returned, query = 0, "wf"
    for sent in range(1, 2000):
        found, _ = source.answer(query)
        returned += len(found)
        for i in found.tolist():
            held.add(i)
            asks.add_record(str(i), texts[i])
        asks.asked(query, len(found))
        following = asks.next()
        if len(held) >= share * len(texts) or following is None:
            return sent, returned, held
        query = following
    return 2000, returned, held


def test_frequent_words_first_and_no_word_twice() -> None:
    """The word of most records is asked first, stop words never; after it was asked it does not come again."""
    asks = policy.Frequency(language="en")
    for key, text in enumerate(("the red house", "the red car", "a blue car", "the red tree")):
        asks.add_record(str(key), text)
    assert asks.next() == "red"
    asks.asked("red", 3)
    assert asks.next() == "car"
    asked = []
    while (word := asks.next()) is not None:
        asks.asked(word, 1)
        asked.append(word)
    assert sorted(asked) == ["blue", "car", "house", "tree"]


def test_words_of_records_that_were_seen_once_promise_more() -> None:
    """Two words in as many records: the one whose records keep coming back has little left."""
    asks = policy.WordYield()
    for i in range(6):
        asks.add_record(f"a{i}", "worn")
        asks.add_record(f"b{i}", "fresh")
        asks.add_record(f"a{i}", "worn")
    assert asks.next() == "fresh"


def test_a_shape_that_never_matches_is_given_up() -> None:
    """After numbers brought nothing, words of letters come first though they are rarer."""
    asks = policy.WordYield()
    for i in range(6):
        asks.add_record(str(i), f"78 77 {'name' if i < 3 else ''}")
    for i in range(8):
        asks.asked(f"{i}5", 0)
    assert asks.next() == "name"


def test_the_counts_are_those_of_the_records() -> None:
    """Records held, seen once and twice, and words inside, however they come."""
    asks = policy.Frequency()
    for key in ("1", "2", "1", "3", "1", "2"):
        asks.add_record(key, f"word number{key}")
    assert (asks.held, asks.seen_once, asks.seen_twice) == (3, 1, 1)
    inside = dict(zip(asks.words(), asks.inside.tolist(), strict=True))
    once = dict(zip(asks.words(), asks.inside_once.tolist(), strict=True))
    assert inside["word"] == 3
    assert once["word"] == 1


def test_a_policy_of_ones_own_is_ten_lines() -> None:
    """A subclass that prefers long words."""

    class Longest(policy.Policy):
        def worth(self) -> Floats:
            return np.array([float(len(word)) for word in self.words()])

    asks = Longest()
    asks.add_record("1", "a tiny enormousness")
    assert asks.next() == "enormousness"


def test_ours_needs_few_requests() -> None:
    """To 90 % of a made source whose words know nothing of each other, where there is nothing to learn but frequencies:
    far fewer than random, no more than one in twenty over the best. (On real texts ours is the best: `python -m benchmarks.papers queries`.)
    """
    texts = generated_texts(1500, 2500)
    source = TextSource(build_snapshot(texts), 20)
    needed = {
        name: harvest(kind(result_cap=20), texts, source, 0.9)[0]
        for name, kind in (
            ("r", policy.Random),
            ("f", policy.Frequency),
            ("g", policy.Greedy),
            ("ours", policy.WordYield),
        )
    }
    assert needed["ours"] < 0.7 * needed["r"]
    assert needed["ours"] <= 1.05 * min(needed.values())


@pytest.mark.parametrize("order", ["none", "rank"])
def test_check_queries_find_the_size(order: Order) -> None:
    """When half of a made source is held, the estimate is near, and the interval holds the truth most times."""
    texts = generated_texts(1500, 4000, rich=4)
    source = TextSource(build_snapshot(texts), 20, order)
    asks = policy.WordYield(result_cap=20)
    _, _, held = harvest(asks, texts, source, 0.5)
    estimates = []
    for draw in range(8):
        check = size.CheckSample(result_cap=20)
        for query in check.draw({str(i): texts[i] for i in held}, np.random.default_rng(draw), 200):
            found, total = source.answer(query)
            check.add(query, {str(i): texts[i] for i in found.tolist()}, total > len(found))
        said = check.size(map(str, held))
        assert said is not None
        estimates.append(said)
    truth = len(texts)
    assert np.mean([e.estimate for e in estimates]) == pytest.approx(truth, rel=0.12)
    assert sum(e.low <= truth <= e.high for e in estimates) >= 6


def test_too_few_checks_say_nothing() -> None:
    """Before there is enough, there is no estimate; records that do not show the word do not count."""
    check = size.CheckSample(result_cap=20)
    assert check.draw({}, np.random.default_rng(0), 5) == []
    assert check.size(["a"]) is None
    for word in check.draw({str(i): f"w{chr(97 + i % 26)} common" for i in range(50)}, np.random.default_rng(0), 9):
        check.add(word, {"x": "other text"}, overflow=False)
    assert check.size(map(str, range(50))) is None


def test_chao_by_hand() -> None:
    """10 seen once, 5 twice, 5 more: 20 + 10·9/(2·6) = 27.5; all seen often: what is held is all there is."""
    said = size.chao(20, 10, 5)
    assert said.estimate == pytest.approx(27.5)
    assert 20 < said.low < 27.5 < said.high
    assert size.chao(8, 0, 0).high == 8
    assert size.chao(0, 0, 0).estimate == 0


def test_lu_li_by_hand() -> None:
    """OR = 2: 1 − 2^−1.1 = 0.5335 is held; nothing seen twice gives no upper end."""
    assert size.lu_li(500, 1000, 50).estimate == pytest.approx(500 / (1 - 2**-1.1))
    assert size.lu_li(500, 1000, 50, uniform=True).estimate == pytest.approx(500 / (1 - 2**-2.1))
    assert size.lu_li(500, 1000, 50, overflow=3.0).estimate == pytest.approx(1500 / (1 - 2**-1.1))
    assert size.lu_li(10, 10, 2).high == np.inf


def test_what_the_next_requests_bring() -> None:
    """A steady yield goes on, a falling one falls, none stays none."""
    assert size.next_new([(i, 5 * i) for i in range(1, 200)]) == pytest.approx(500, rel=0.02)
    falling = [(i, round(1000 * (1 - 0.99**i))) for i in range(1, 300)]
    truth = 1000 * (0.99**299 - 0.99**399)
    assert size.next_new(falling) == pytest.approx(truth, rel=0.3)
    assert size.next_new([(i, 40) for i in range(1, 100)]) == 0


def test_what_two_ways_of_asking_have_in_common_says_how_much_there_is() -> None:
    """A question that lists 900 of 1,000, and others that drew 300 of them at random: about 1,000; nothing from a handful."""
    listed = {str(i) for i in range(900)}
    drawn = {str(i) for i in range(0, 1000, 3)}
    said = size.recaptured(len(listed), len(drawn), len(listed & drawn))
    assert said is not None
    assert said.estimate == pytest.approx(1000, rel=0.03)
    assert said.low < 1000 < said.high
    assert size.recaptured(900, 20, 20) is None
    whole = size.recaptured(900, 900, 900)
    assert whole is not None
    assert whole.estimate == pytest.approx(900, abs=1)


def test_grammar_is_judged_by_what_comes_back() -> None:
    """AND, NOT and phrases by the texts of a trial; an OR, or an answer that was not narrowed, is not taken for them."""
    assert grammar.is_understood("and", "red", "car", ["a red car", "car, red"], alone=9)
    assert not grammar.is_understood("and", "red", "car", ["a red car", "a red tree"], alone=9)
    assert grammar.is_understood("not", "red", "car", ["a red tree"], alone=9)
    assert not grammar.is_understood("not", "red", "car", ["a red car"], alone=9)
    assert grammar.is_understood("phrase", "red", "car", ["the red car"], alone=9)
    assert not grammar.is_understood("phrase", "red", "car", ["car red"], alone=9)
    assert not grammar.is_understood("and", "red", "car", [], alone=9)
    assert not grammar.is_understood("and", "red", "car", ["red car"] * 10, alone=9)


def test_probe_words() -> None:
    """Dictionary words in the language asked for, nonsense in none, own and dictionary words by turns, each once."""
    rng = np.random.default_rng(0)
    german = dictionary_words(rng, 200, "de")
    assert len(set(german)) == 200
    assert any(c in "äöüß" for word in german for c in word)
    assert dictionary_words(rng, 5, "xx")
    assert all(len(word) == 12 for word in nonsense(rng, 3))
    assert words_of_page(read("<html lang=en><p>cities of cities, rivers; 1999 Ob")) == ("rivers", "cities")
    words = list(probe_words(rng, read("<html lang=en><p>cities rivers mountains harbours"), 20))
    assert len(words) == len(set(words)) == 20
    assert {"cities", "rivers", "mountains", "harbours"} <= set(words)


@pytest.mark.parametrize(("language", "text"), [("zh", "數據庫"), ("ja", "東京の天気"), ("ko", "한국어")])
def test_probe_words_without_spaces(language: str, text: str) -> None:
    """Chinese, Japanese and Korean have words to ask for as well: of two characters."""
    words = dictionary_words(np.random.default_rng(0), 50, language)
    assert len(set(words)) == 50
    assert min(map(len, words)) == 2
    assert text[:2] in words_of_page(read(f"<html lang={language}><p>{text}"))


def test_looking_at_few_words_finds_what_looking_at_all_finds() -> None:
    """Between two looks at all words, the best of then and those that changed: a word that promises as much as the best of all."""
    texts = generated_texts(1200, 9000, rich=8)
    some, all_of_them = policy.WordYield(result_cap=50, page_size=10), policy.WordYield(result_cap=50, page_size=10)
    promised = at_best = 0.0
    for number in range(600):
        for asks in (some, all_of_them):
            asks.add_record(str(number), texts[number])
            asks.add_record(str(number // 2), texts[number // 2])
        all_of_them._looks = 10**6
        few, best = some.propose(1.0, 1000, 0.6), all_of_them.propose(1.0, 1000, 0.6)
        assert few is not None
        assert best is not None
        promised += few[1] / few[2]
        at_best += best[1] / best[2]
        for asks in (some, all_of_them):
            asks.mark_asked(best[0])
    assert len(some.words()) > 2 * policy.POOL
    assert promised >= 0.99 * at_best


@pytest.mark.parametrize("keeps_stop_words", [True, False])
def test_a_page_at_once_counts_like_one_record_after_the_other(keeps_stop_words: bool) -> None:
    """Taking in the records of a page together gives the same words, numbers and counts, also where some came before."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, 8) % 4000) + f" the a own{i}" for i in range(3000)]
    fields = [{"first": text.split()[0], "rest": text} for text in texts]
    one, many = (policy.WordYield(language="en", keeps_stop_words=keeps_stop_words) for _ in range(2))
    for _ in range(300):
        page = [int(i) for i in dict.fromkeys((rng.random(20) ** 2 * len(texts)).astype(int).tolist())]
        for i in page:
            one.add_record(str(i), texts[i], fields[i])
        many.add_records([SeenRecord(str(i), texts[i], fields[i]) for i in page])
        assert one.propose(1.0, 10, 0.6) == many.propose(1.0, 10, 0.6)
    assert one.words() == many.words()
    assert one.connections() == many.connections()
    assert (one.held, one.seen_once, one.seen_twice) == (many.held, many.seen_once, many.seen_twice)
    for counts in ("inside", "inside_once", "classes"):
        np.testing.assert_array_equal(getattr(one, counts), getattr(many, counts))
