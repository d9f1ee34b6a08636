"""Selection of pages by the crawler."""

from upwell.offline.crawl import CrawlQueue


def test_only_new_non_acting_pages_of_the_host_are_queued() -> None:
    """Other hosts, files, actions, print views and queued pages are left out; the depth is respected."""
    queue = CrawlQueue("http://h/", depth=1)
    kept = ["http://h/news/7", "http://h/editorial/7"]
    left_out = ["http://other/", "http://h/#top", "http://h/a.pdf", "http://h/logout", "http://h/news/7?print=1"]
    queue.add([*kept, *left_out, "http://h/news/7#comments"], 0)
    queue.add(["http://h/deep"], 1)
    fetched = []
    while queue:
        fetched.append(queue.pop())
    assert fetched == [("http://h/", 0), *((url, 1) for url in kept)]
