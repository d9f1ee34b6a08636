"""Which links may be followed: those that lead to pages, and never those that act."""

import re
from urllib.parse import urldefrag, urlsplit

from upwell.page.acting import words_of_address, words_of_label

__all__ = ["acts", "is_page", "page_address"]

MAX_TEXT_CHARS = 60  # of a link's text that are looked at: a longer one is a title
FILE_ENDING = re.compile(
    r"\.(?:csv|tsv|jsonl?|xml|rss|rdf|atom|ics|bib|ris|nt|ttl|txt|pdf|docx?|xlsx?|pptx?|epub|zip|gz|tgz|tar|exe|deb|whl|"
    r"png|jpe?g|gif|svg|webp|ico|css|js|mp[34]|ogg|avi|mov)$",
    re.I,
)


def page_address(url: str) -> str:
    """An address without the place in the page that it leads to; a route behind "#" is a page of its own.

    >>> page_address("http://x/a#top"), page_address("http://x/#/a"), page_address("http://x/#!a")
    ('http://x/a', 'http://x/#/a', 'http://x/#!a')
    """
    page, fragment = urldefrag(url)
    return url if fragment.startswith(("/", "!")) else page


def acts(url: str, text: str = "", query: str = "") -> bool:
    """Whether following a link may do something: log out, delete, edit, buy. A query in its address says nothing.

    >>> acts("http://x/trip/add?city=1"), acts("http://x/catalog?id=7&do=edit"), acts("http://x/addresses?edition=2")
    (True, True, False)
    """
    return bool(words_of_address(url, query) or words_of_label(text[:MAX_TEXT_CHARS], is_button=False))


def is_page(url: str) -> bool:
    """Whether an address may lead to a page: not to a file, and not to the same data in a format for machines.

    >>> is_page("http://x/list.php?format=csv"), is_page("http://x/list.CSV?q=1"), is_page("http://x/logo.png")
    (True, False, False)
    """
    last_step = url.partition("?")[0].partition("#")[0].rpartition("/")[2]  # most have no ending at all
    return "." not in last_step or not FILE_ENDING.search(urlsplit(url).path)
