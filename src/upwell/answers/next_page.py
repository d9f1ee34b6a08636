"""The next page of an answer, by whatever the page offers: a link, a button, or the request behind "load more"."""

from upwell.answers.buttons import load_more, next_button
from upwell.answers.pager import NextPage, likely_link, next_link
from upwell.model import Request
from upwell.page.form_data import form_request
from upwell.page.tree import TagTree

__all__ = ["next_link_url", "next_page", "request_of"]


def next_link_url(tree: TagTree, query: str = "") -> str | None:
    """The address of the link that people would call "next"; on a blog that can be "newer posts →", which leads back."""
    link = next_link(tree, query)
    return link.url if link else None


def next_page(tree: TagTree, query: str = "") -> NextPage | None:
    """What a harvest sends for the next page of an answer.

    In this order: a link to older entries, the link that people would call "next", a button, the request behind "load more", and a
    link that is only likely to lead on. Older entries come first because "newer posts →" leads back to what was seen.
    """
    link, likely = next_link(tree, query), likely_link(tree)
    if likely is not None and likely.via == "older":
        return likely
    return link or next_button(tree, query) or load_more(tree) or likely


def request_of(page: NextPage, query: str = "") -> Request:
    """The request for a next page, as a browser would send it.

    >>> request_of(NextPage(url="http://x/s?old=1", fields=(("q", "a b"), (">", "Next")))).url
    'http://x/s?q=a+b&%3E=Next'
    """
    if page.method == "GET" and not page.fields:
        return Request(url=page.url, query=query)
    return form_request(page.method, page.url, page.fields, charset=page.charset, enctype=page.enctype, query=query)
