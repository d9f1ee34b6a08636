"""The URL repository and its queue."""

import pickle

from upwell.choose.url_repository import NumberQueue, UrlRepository
from upwell.harvest.checkpoint import ScratchFile


def test_a_url_is_added_and_taken_once() -> None:
    """A URL has one number and its first note; the same URL of another kind is separate."""
    urls = UrlRepository(ScratchFile())
    added = [urls.add("record page", f"http://a.example/{n % 3000}", note=f"key {n}") for n in range(4000)]
    assert [number for number in added if number >= 0] == list(range(3000))
    assert urls.text(7) == ("http://a.example/7", "key 7")
    assert urls.add("facet", "http://a.example/7", "5 \0") == 3000
    assert urls.text(3000) == ("http://a.example/7", "5 \0")
    assert (urls.find("record page", "http://a.example/7"), urls.find("related query", "http://a.example/7")) == (7, -1)
    assert [urls.take(7), urls.take(7), urls.is_done(7), urls.is_done(8)] == [True, False, True, False]
    assert len(urls) == 3001


def test_adding_several_urls_is_like_adding_each() -> None:
    together, single = UrlRepository(), UrlRepository()
    for start in range(0, 6000, 75):
        page = [(f"http://a.example/{n * n % 1777}", f"key {n}") for n in range(start, start + 75)]
        one_by_one = []
        for address, note in page:
            number = single.add("record page", address, note)
            one_by_one.append((number, True) if number >= 0 else (single.find("record page", address), False))
        assert together.add_each("record page", page) == one_by_one
    assert [together.text(n) for n in range(len(together))] == [single.text(n) for n in range(len(single))]


def test_the_queue_keeps_its_order() -> None:
    """The first number is taken, or one from the middle; each number once."""
    waiting = NumberQueue()
    for number in range(3000):
        waiting.append(number)
    assert [waiting.take(at=2000), waiting.take(), waiting.take(at=1)] == [2000, 0, 2]
    assert [waiting.take() for _ in range(len(waiting))] == [n for n in range(3000) if n not in (0, 2, 2000)]


def test_a_pickled_repository_keeps_its_urls() -> None:
    urls = UrlRepository()
    for n in range(2000):
        urls.add("record page", f"http://a.example/{n}")
    urls.take(0)
    again: UrlRepository = pickle.loads(pickle.dumps(urls))  # noqa: S301 # our own
    assert [again.is_done(0), again.is_done(1)] == [True, False]
    assert again.add("record page", "http://a.example/0") == -1
    assert again.text(1999) == ("http://a.example/1999", "")
