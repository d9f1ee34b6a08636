"""The pages that a crawl fetches next."""

from upwell.offline.crawl import CrawlQueue


def test_only_new_pages_of_the_host_that_do_not_act() -> None:
    """Other hosts, files, actions, print views, queued pages and deeper pages are left out."""
    queue = CrawlQueue("http://h/", depth=1)
    kept = ["http://h/news/7", "http://h/editorial/7"]
    left_out = ["http://other/", "http://h/#top", "http://h/a.pdf", "http://h/logout", "http://h/news/7?print=1"]
    queue.add([*kept, *left_out, "http://h/news/7#comments"], 0)
    queue.add(["http://h/deep"], 1)
    fetched = []
    while queue:
        fetched.append(queue.pop())
    assert fetched == [("http://h/", 0), *((url, 1) for url in kept)]
