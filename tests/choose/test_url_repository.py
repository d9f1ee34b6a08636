"""Addresses that wait: each once, in order, and as a checkpoint saves them."""

import pickle

from upwell.choose.url_repository import NumberQueue, UrlRepository
from upwell.harvest.checkpoint import ScratchFile


def test_each_address_once() -> None:
    """Added twice, it has one number, its first note, and is taken once; another kind of address is another one."""
    urls = UrlRepository(ScratchFile())
    added = [urls.add("record page", f"http://a.example/{n % 3000}", note=f"key {n}") for n in range(4000)]
    assert [number for number in added if number >= 0] == list(range(3000))
    assert urls.text(7) == ("http://a.example/7", "key 7")
    assert urls.add("facet", "http://a.example/7", "5 \0") == 3000
    assert urls.text(3000) == ("http://a.example/7", "5 \0")
    assert (urls.find("record page", "http://a.example/7"), urls.find("related query", "http://a.example/7")) == (7, -1)
    assert [urls.take(7), urls.take(7), urls.is_done(7), urls.is_done(8)] == [True, False, True, False]
    assert len(urls) == 3001


def test_addresses_of_a_page_together() -> None:
    """Looked up together, with some twice among them, they get the numbers that each gets by itself."""
    together, single = UrlRepository(), UrlRepository()
    for start in range(0, 6000, 75):
        page = [(f"http://a.example/{n * n % 1777}", f"key {n}") for n in range(start, start + 75)]
        one_by_one = []
        for address, note in page:
            number = single.add("record page", address, note)
            one_by_one.append((number, True) if number >= 0 else (single.find("record page", address), False))
        assert together.add_each("record page", page) == one_by_one
    assert [together.text(n) for n in range(len(together))] == [single.text(n) for n in range(len(single))]


def test_what_waits_comes_in_order() -> None:
    """The first is taken, or one from the middle; in the end all came once."""
    waiting = NumberQueue()
    for number in range(3000):
        waiting.append(number)
    assert [waiting.take(at=2000), waiting.take(), waiting.take(at=1)] == [2000, 0, 2]
    assert [waiting.take() for _ in range(len(waiting))] == [n for n in range(3000) if n not in (0, 2, 2000)]


def test_a_saved_repository_goes_on() -> None:
    """As a checkpoint saves it: what there was, and what was taken."""
    urls = UrlRepository()
    for n in range(2000):
        urls.add("record page", f"http://a.example/{n}")
    urls.take(0)
    again: UrlRepository = pickle.loads(pickle.dumps(urls))  # noqa: S301 # our own
    assert [again.is_done(0), again.is_done(1)] == [True, False]
    assert again.add("record page", "http://a.example/0") == -1
    assert again.text(1999) == ("http://a.example/1999", "")
