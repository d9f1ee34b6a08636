"""Decide which links may be followed: links to pages, and never links that act (delete, buy, log out …)."""

import re
from urllib.parse import urldefrag, urlsplit

from upwell.urls.acting import acting_words_in_label, acting_words_in_url

__all__ = ["acts", "is_page", "without_fragment"]

MAX_TEXT_CHARS = 60  # characters of a link text that are examined; a longer text is a title
FILE_SUFFIX = re.compile(
    r"\.(?:csv|tsv|jsonl?|xml|rss|rdf|atom|ics|bib|ris|nt|ttl|txt|pdf|docx?|xlsx?|pptx?|epub|zip|gz|tgz|tar|exe|deb|whl|"
    r"png|jpe?g|gif|svg|webp|ico|css|js|mp[34]|ogg|avi|mov)$",
    re.I,
)


def without_fragment(url: str) -> str:
    """Remove the fragment of a URL, except a client-side route ("#/…", "#!…"), which is a page of its own.

    >>> without_fragment("http://x/a#top"), without_fragment("http://x/#/a"), without_fragment("http://x/#!a")
    ('http://x/a', 'http://x/#/a', 'http://x/#!a')
    """
    page, fragment = urldefrag(url)
    return url if fragment.startswith(("/", "!")) else page


def acts(url: str, text: str = "", query: str = "") -> bool:
    """Return True if following a link may act: log out, delete, edit, buy. The query itself is ignored.

    >>> acts("http://x/trip/add?city=1"), acts("http://x/catalog?id=7&do=edit"), acts("http://x/addresses?edition=2")
    (True, True, False)
    """
    return bool(acting_words_in_url(url, query) or acting_words_in_label(text[:MAX_TEXT_CHARS], is_button=False))


def is_page(url: str) -> bool:
    """Return True if a URL may lead to a page, not to a file or a machine-readable format.

    >>> is_page("http://x/list.php?format=csv"), is_page("http://x/list.CSV?q=1"), is_page("http://x/logo.png")
    (True, False, False)
    """
    last_segment = url.partition("?")[0].partition("#")[0].rpartition("/")[2]  # most have no suffix
    return "." not in last_segment or not FILE_SUFFIX.search(urlsplit(url).path)
