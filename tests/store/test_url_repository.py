"""Addresses that wait: each once, in order, and by how loaded their hosts are."""

import pickle

from upwell.store.scratch import ScratchFile
from upwell.store.url_repository import UrlRepository


def test_each_address_once_and_in_order() -> None:
    """Added twice, it comes out once, with its first note; one that is left out does not come; one may be taken from the middle."""
    urls = UrlRepository(ScratchFile())
    added = [urls.add(f"http://a.example/{n % 3000}", note=f"key {n}") for n in range(4000)]
    assert sum(added) == len(urls) == 3000
    assert "http://a.example/7" in urls
    assert urls.note("http://a.example/7") == "key 7"
    urls.leave_out("http://a.example/1")
    assert urls.take(at=2000) == ("http://a.example/2000", "key 2000")
    taken = []
    while (found := urls.take()) is not None:
        taken.append(found[0])
    assert taken == [f"http://a.example/{n}" for n in range(3000) if n not in (1, 2000)]
    assert not urls.add("http://a.example/1")


def test_hosts_are_asked_by_their_load() -> None:
    """Of two hosts, one of which takes ten times as long to answer, the quick one is asked more often, and none while it answers."""
    urls, slow, now = UrlRepository(gap=0.1), "http://slow.example/", 0.0
    for n in range(1000):
        urls.add(f"{slow}{n}")
        urls.add(f"http://quick.example/{n}")
    asked: dict[str, int] = {}
    while now < 100:
        found = []
        while (due := urls.take_due(now)) is not None:
            found.append(due[0])
        assert len({url.rsplit("/", 1)[0] for url in found}) == len(found)
        for url in found:
            asked[url.rsplit("/", 1)[0]] = asked.get(url.rsplit("/", 1)[0], 0) + 1
            urls.answered(url, now, 1.0 if url.startswith(slow) else 0.1)
        now += 0.05
    assert 15 <= asked["http://slow.example"] <= 21
    assert 150 <= asked["http://quick.example"] <= 201


def test_a_saved_repository_goes_on() -> None:
    """As a checkpoint saves it: what waits, and what was there."""
    urls = UrlRepository()
    for n in range(2000):
        urls.add(f"http://a.example/{n}")
    urls.take()
    again: UrlRepository = pickle.loads(pickle.dumps(urls))  # noqa: S301 # our own
    assert again.take() == ("http://a.example/1", "")
    assert not again.add("http://a.example/0")
